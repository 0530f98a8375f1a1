//! The struct that a derive stands on: its fields, and what the API server asks of them.

use proc_macro2::Ident;
use syn::{Data, DeriveInput, Fields, Type, ext::IdentExt, spanned::Spanned as _};

use crate::{
    attr::SerdeAttrs,
    diag::{Ctxt, Diagnostic},
};

/// A struct with named fields.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The struct's name.
    pub ident: Ident,
    /// What `#[serde(…)]` says of the struct.
    pub serde: SerdeAttrs,
    /// All attributes of the struct.
    pub attrs: Vec<syn::Attribute>,
    /// The fields.
    pub fields: Vec<Field>,
}

/// A field of such a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// The field's name, as it was written.
    pub ident: Ident,
    /// The field's name, without `r#`.
    pub name: String,
    /// The field's type.
    pub ty: Type,
    /// What `#[serde(…)]` says of the field.
    pub serde: SerdeAttrs,
    /// All attributes of the field.
    pub attrs: Vec<syn::Attribute>,
}

impl Shape {
    /// Reads the struct that `derive` stands on.
    pub(super) fn parse(cx: &Ctxt, input: &DeriveInput, derive: &str) -> Option<Self> {
        let what = match &input.data {
            Data::Struct(data) => match &data.fields {
                Fields::Named(fields) => {
                    if !input.generics.params.is_empty() {
                        cx.error(
                            Diagnostic::new(
                                input.generics.span(),
                                format!("`#[derive({derive})]` cannot be put on a generic struct"),
                            )
                            .help("an API type has one fixed shape: write the types out"),
                        );
                        return None;
                    }
                    return Some(Self {
                        ident: input.ident.clone(),
                        serde: SerdeAttrs::read(cx, &input.attrs),
                        attrs: input.attrs.clone(),
                        fields: fields.named.iter().filter_map(|field| Field::parse(cx, field)).collect(),
                    });
                }
                Fields::Unnamed(_) => "a tuple struct",
                Fields::Unit => "a struct without fields",
            },
            Data::Enum(_) => "an enum",
            Data::Union(_) => "a union",
        };
        cx.error(
            Diagnostic::new(input.ident.span(), format!("`#[derive({derive})]` cannot be put on {what}"))
                .help("an API type is a struct with named fields, `metadata` among them"),
        );
        None
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Checks that there is a field `metadata` of this type.
    pub(super) fn check_metadata(&self, cx: &Ctxt, expected: &str) {
        let Some(metadata) = self.field("metadata") else {
            cx.error(
                Diagnostic::new(self.ident.span(), format!("`{}` has no field `metadata`", self.ident))
                    .help(format!("add `pub metadata: {expected}`")),
            );
            return;
        };
        let found = match &metadata.ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        if found.as_deref() == Some(expected) {
            return;
        }
        let error =
            Diagnostic::new(metadata.ty.span(), format!("`metadata` must be of the type `{expected}`"));
        cx.error(match (found.as_deref(), expected) {
            (Some("ObjectMeta"), _) => {
                error.help("`ListMeta` is for lists; if this is a kind, derive `GenClient` and nothing else")
            }
            (Some("ListMeta"), _) => error.help(
                "`ObjectMeta` is for kinds; if this is a list, derive `GenClientList` and nothing else",
            ),
            _ => error.help(format!("use `k8s_openapi::apimachinery::pkg::apis::meta::v1::{expected}`")),
        });
    }

    /// Checks that an object without a status can be read, as each one is before a controller has
    /// looked at it.
    pub(super) fn check_status(&self, cx: &Ctxt) {
        let Some(status) = self.field("status").filter(|status| status.option_item().is_none()) else {
            return;
        };
        let ty = quote::ToTokens::to_token_stream(&status.ty).to_string().replace(' ', "");
        cx.error(Diagnostic::new(status.ty.span(), "`status` must be an `Option`").help(format!(
            "write `pub status: Option<{ty}>`: a new object has no status until something writes it",
        )));
    }
}

impl Field {
    fn parse(cx: &Ctxt, field: &syn::Field) -> Option<Self> {
        let ident = field.ident.clone()?;
        Some(Self {
            name: ident.unraw().to_string(),
            ident,
            ty: field.ty.clone(),
            serde: SerdeAttrs::read(cx, &field.attrs),
            attrs: field.attrs.clone(),
        })
    }

    /// `T` of `Option<T>`.
    pub fn option_item(&self) -> Option<&Type> {
        wrapped(&self.ty, "Option")
    }

    /// `T` of `Vec<T>`.
    pub(super) fn vec_item(&self) -> Option<&Type> {
        wrapped(&self.ty, "Vec")
    }
}

/// `T` of `Wrapper<T>`.
fn wrapped<'t>(ty: &'t Type, wrapper: &str) -> Option<&'t Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == wrapper)?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(item) if arguments.args.len() == 1 => Some(item),
        _ => None,
    }
}
