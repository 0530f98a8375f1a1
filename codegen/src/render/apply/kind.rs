//! The apply configuration of a kind.

use proc_macro2::TokenStream;
use quote::quote;

use super::{attributes, fields};
use crate::{
    decl,
    model::{ApplyRoot, ApplyType, Model},
    render::{
        file::{doc, ident, link},
        uses::Uses,
    },
};

/// The methods of a kind's apply configuration beside those of its fields.
const METHODS: &[&str] = &[
    "labels",
    "annotations",
    "finalizers",
    "owner_references",
    "extract",
    "extract_status",
    "metadata",
    "api_version",
    "kind",
];

pub(super) fn render(model: &Model, of: &ApplyType, root: &ApplyRoot, uses: &mut Uses<'_>) -> TokenStream {
    let name = ident(&of.name);
    let Some(path) = &of.path else { return TokenStream::new() };
    let object = uses.api_type(path, &of.version);
    let attributes = attributes(of, uses, &[]);
    let configuration = uses.runtime("apply::ApplyConfiguration");
    let (api_version, kind) = (uses.runtime("apply::ApiVersion"), uses.runtime("apply::Kind"));
    let metadata = uses.runtime("apply::ObjectMetaApply");
    let own = uses.runtime("k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference");
    let fields::Fields { declared, setters } = fields::render(model, of, uses, METHODS);
    let names: Vec<_> = of.fields.iter().map(|field| ident(field.name.as_str())).collect();
    let nothing = of.fields.iter().map(fields::nothing);
    let extract = extract(root, &object, uses);
    let docs = doc([format!("Server-side apply configuration for [`{}`].", link(&object))]);
    // serde's rule must not change what the API server knows by name.
    let rename = |name: &str| {
        let renamed = of.rename_all.as_ref().map(|rule| decl::renamed(name, rule));
        renamed.filter(|renamed| renamed != name).map(|_| quote!(rename = #name,))
    };
    let (rename_kind, rename_metadata) =
        (rename("kind"), rename("metadata").map(|rename| quote!(#[serde(#rename)])));
    let (parameters, named) = match root.namespaced {
        true => (
            quote!(name: impl Into<String>, namespace: impl Into<String>),
            quote!(#metadata::new(name).namespace(namespace)),
        ),
        false => (quote!(name: impl Into<String>), quote!(#metadata::new(name))),
    };
    let strings = quote!(impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>);
    quote! {
        #docs
        #attributes
        pub struct #name {
            /// Set automatically.
            #[serde(rename = "apiVersion", default)]
            pub api_version: #api_version<#object>,
            /// Set automatically.
            #[serde(#rename_kind default)]
            pub kind: #kind<#object>,
            /// The name of the object, and the metadata to apply.
            #rename_metadata
            pub metadata: #metadata,
            #declared
        }

        impl #name {
            /// Creates a configuration that names the object and sets no field.
            pub fn new(#parameters) -> Self {
                Self {
                    api_version: #api_version::default(),
                    kind: #kind::default(),
                    metadata: #named,
                    #(#names: #nothing,)*
                }
            }

            #extract

            /// Sets the labels and replaces those set before.
            pub fn labels(mut self, labels: #strings) -> Self {
                self.metadata = self.metadata.labels(labels);
                self
            }

            /// Sets the annotations and replaces those set before.
            pub fn annotations(mut self, annotations: #strings) -> Self {
                self.metadata = self.metadata.annotations(annotations);
                self
            }

            /// Sets the finalizers and replaces those set before.
            pub fn finalizers(mut self, finalizers: impl IntoIterator<Item = impl Into<String>>) -> Self {
                self.metadata = self.metadata.finalizers(finalizers);
                self
            }

            /// Sets the owner references and replaces those set before.
            pub fn owner_references(mut self, owners: impl IntoIterator<Item = #own>) -> Self {
                self.metadata = self.metadata.owner_references(owners);
                self
            }

            #setters
        }

        impl #configuration for #name {
            type Object = #object;

            fn metadata(&self) -> &#metadata {
                &self.metadata
            }
        }
    }
}

/// The methods that read what a manager has applied.
fn extract(root: &ApplyRoot, object: &TokenStream, uses: &mut Uses<'_>) -> TokenStream {
    let error = uses.runtime("apply::ExtractError");
    let extract = uses.runtime("apply::extract");
    let status = root.status.then(|| {
        let extract = uses.runtime("apply::extract_status");
        quote! {
            /// Returns the configuration that a field manager has applied to the status.
            ///
            /// # Errors
            ///
            /// Returns an error if the object has no `managedFields`, or if this type cannot hold exactly the
            /// applied fields.
            pub fn extract_status(object: &#object, field_manager: &str) -> Result<Self, #error> {
                #extract(object, field_manager)
            }
        }
    });
    quote! {
        /// Returns the configuration that a field manager has applied to the object.
        ///
        /// # Errors
        ///
        /// Returns an error if the object has no `managedFields`, or if this type cannot hold exactly the
        /// applied fields.
        pub fn extract(object: &#object, field_manager: &str) -> Result<Self, #error> {
            #extract(object, field_manager)
        }

        #status
    }
}
