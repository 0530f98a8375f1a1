//! `clientset/scheme.rs`: the known types, and manifests decoded into them.

use quote::{format_ident, quote};

use super::file::{Files, condition, doc};
use crate::model::Model;

pub(super) fn render(model: &Model, files: &mut Files<'_>) {
    let mut uses = files.uses(["Object".to_owned()]);
    let (known_object, known_type) = (uses.runtime("scheme::KnownObject"), uses.runtime("scheme::KnownType"));
    let (decode_error, value) = (uses.runtime("scheme::DecodeError"), uses.runtime("Value"));
    let scheme = uses.runtime("scheme");
    let mut variants = Vec::new();
    let mut known = Vec::new();
    let mut decoders = Vec::new();
    let mut encoders = Vec::new();
    for (group, version, resource) in model.resources() {
        let api_version = group.api_version(version);
        let list = resource.list_path.as_ref().map(|path| (format!("{}List", resource.kind), path));
        let types = std::iter::once((resource.kind.clone(), &resource.type_path)).chain(list);
        for (kind, path) in types {
            let variant = format_ident!("{}{kind}", group.camel(version));
            let object = uses.of_group(group, |uses| uses.api_type(path, &group.accessor(version)));
            let condition = condition(group);
            let docs = doc([format!("`{kind}` of `{api_version}`.")]);
            variants.push(quote!(#docs #condition #variant(Box<#object>),));
            known.push(quote!(#condition #known_type::new(#api_version, #kind),));
            decoders.push(
                quote!(#condition (#api_version, #kind) => #scheme::from_value(value).map(Self::#variant),),
            );
            encoders.push(quote!(#condition Self::#variant(object) => #scheme::to_value(object),));
        }
    }
    files.add(
        "clientset/scheme.rs",
        &["The known types. Manifests of these types decode into [`Object`].".to_owned()],
        uses,
        quote! {
            /// An object of any known type.
            #[derive(Clone, Debug)]
            pub enum Object {
                #(#variants)*
            }

            /// Decodes a YAML or JSON manifest of one or more documents.
            ///
            /// # Errors
            ///
            /// Returns an error for the first document that is not an object of a known type.
            pub fn decode(manifest: &str) -> Result<Vec<Object>, #decode_error> {
                #scheme::decode(manifest)
            }

            /// Encodes objects as a YAML manifest with one document per object.
            ///
            /// # Errors
            ///
            /// Returns an error if an object cannot be encoded as YAML.
            pub fn encode(objects: &[Object]) -> Result<String, #decode_error> {
                #scheme::encode(objects)
            }

            impl #known_object for Object {
                const KNOWN_TYPES: &'static [#known_type] = &[#(#known)*];

                fn from_value(known_type: &#known_type, value: #value) -> Result<Self, #decode_error> {
                    match (known_type.api_version, known_type.kind) {
                        #(#decoders)*
                        _ => Err(#decode_error::unknown::<Self>(known_type.api_version, known_type.kind)),
                    }
                }

                fn to_value(&self) -> Result<#value, #decode_error> {
                    match self {
                        #(#encoders)*
                    }
                }
            }
        },
    );
}
