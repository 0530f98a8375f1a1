//! The fields of an apply configuration, and the methods that set them.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    decl,
    model::{ApplyField, ApplyFieldType, ApplyType, Model, TypePath},
    render::{
        file::{doc, ident, plain_paragraph},
        uses::Uses,
    },
};

/// The methods of the types besides those of their fields. The method of a field must not hide one of these.
const METHODS: &[&str] = &[
    "new",
    "default",
    "clone",
    "clone_from",
    "eq",
    "ne",
    "fmt",
    "into",
    "serialize",
    "deserialize",
    "to_owned",
    // What operators call.
    "add",
    "bitand",
    "bitor",
    "bitxor",
    "div",
    "mul",
    "rem",
    "shl",
    "shr",
    "sub",
];

/// The fields of a type.
pub(super) struct Fields {
    /// The fields of the struct.
    pub declared: TokenStream,
    /// The methods that set them.
    pub setters: TokenStream,
}

/// Renders the fields of a type that has methods of these names too.
pub(super) fn render(model: &Model, of: &ApplyType, uses: &mut Uses<'_>, methods: &[&str]) -> Fields {
    let (mut declared, mut setters) = (TokenStream::new(), TokenStream::new());
    let mut taken: Vec<String> = METHODS.iter().chain(methods).map(|name| (*name).to_owned()).collect();
    let own = of.fields.iter().map(|field| field.name.as_str().to_owned());
    // A field may be called as another one's method would be.
    let mut names: Vec<String> = own.collect();
    for (at, field) in of.fields.iter().enumerate() {
        let mut method = field.name.as_str().to_owned();
        while taken.contains(&method)
            || names.iter().enumerate().any(|(other, name)| other != at && *name == method)
        {
            method.push('_');
        }
        taken.push(method.clone());
        names[at].clone_from(&method);
        declared.extend(declare(model, of, field, uses));
        setters.extend(setter(model, of, field, &method, uses));
    }
    Fields { declared, setters }
}

/// Whether a field has a value that says nothing, and so needs no `Option`.
fn is_plain(field: &ApplyField) -> bool {
    field.flatten
        && (matches!(field.of, ApplyFieldType::Apply(_))
            || map(&field.of).is_some()
            || boxed(&field.of).is_some_and(|inner| matches!(inner, ApplyFieldType::Apply(_))))
}

/// The value of a field that is not set.
pub(super) fn nothing(field: &ApplyField) -> TokenStream {
    if is_plain(field) { quote!(Default::default()) } else { quote!(None) }
}

fn declare(model: &Model, of: &ApplyType, field: &ApplyField, uses: &mut Uses<'_>) -> TokenStream {
    let name = ident(field.name.as_str());
    let of_type = type_of(model, of, &field.of, uses);
    let docs = match plain_paragraph(&field.docs) {
        Some(lines) => doc(lines),
        None if field.flatten => doc([format!("The fields of `{}`.", field.name.as_str())]),
        None => doc([format!("The value of `{}`.", field.key)]),
    };
    let renamed = match &of.rename_all {
        Some(rule) => decl::renamed(field.name.as_str(), rule),
        None => field.name.as_str().to_owned(),
    };
    let key = &field.key;
    let mut serde = Vec::new();
    if !field.flatten && renamed != *key {
        serde.push(quote!(rename = #key));
    }
    if field.flatten {
        serde.push(quote!(flatten));
    }
    if is_plain(field) {
        return quote!(#docs #[serde(#(#serde),*)] pub #name: #of_type,);
    }
    serde.push(quote!(skip_serializing_if = "Option::is_none"));
    quote!(#docs #[serde(#(#serde),*)] pub #name: Option<#of_type>,)
}

fn setter(
    model: &Model,
    of: &ApplyType,
    field: &ApplyField,
    method: &str,
    uses: &mut Uses<'_>,
) -> TokenStream {
    let (name, method) = (ident(field.name.as_str()), ident(method));
    let docs = doc([format!("Sets `{}`.", field.name.as_str())]);
    let Argument { name: argument, of_type, value } = Argument::of(model, of, &field.of, uses);
    let value = if is_plain(field) { value } else { quote!(Some(#value)) };
    quote! {
        #docs
        pub fn #method(mut self, #argument: #of_type) -> Self {
            self.#name = #value;
            self
        }
    }
}

/// What the method of a field takes, and what it makes of it.
struct Argument {
    name: TokenStream,
    of_type: TokenStream,
    value: TokenStream,
}

impl Argument {
    fn of(model: &Model, of: &ApplyType, field: &ApplyFieldType, uses: &mut Uses<'_>) -> Self {
        let (value, values) = (quote!(value), quote!(values));
        if is_string(field) || *field == ApplyFieldType::Json {
            let of_type = type_of(model, of, field, uses);
            return Self { name: value, of_type: quote!(impl Into<#of_type>), value: quote!(value.into()) };
        }
        if let Some(inner) = boxed(field) {
            let inner = Self::of(model, of, inner, uses);
            let boxed = &inner.value;
            return Self { value: quote!(Box::new(#boxed)), ..inner };
        }
        if let Some([item]) = field.arguments_of("Vec") {
            let converted = if is_string(item) {
                quote!(values.into_iter().map(Into::into))
            } else {
                quote!(values.into_iter())
            };
            let item = lenient(model, of, item, uses);
            return Self {
                name: values,
                of_type: quote!(impl IntoIterator<Item = #item>),
                value: quote!(#converted.collect()),
            };
        }
        if let Some((key, item)) = map(field) {
            let converted = match (is_string(key), is_string(item)) {
                (true, true) => quote!(values.into_iter().map(|(key, value)| (key.into(), value.into()))),
                (true, false) => quote!(values.into_iter().map(|(key, value)| (key.into(), value))),
                (false, true) => quote!(values.into_iter().map(|(key, value)| (key, value.into()))),
                (false, false) => quote!(values.into_iter()),
            };
            let (key, item) = (lenient(model, of, key, uses), lenient(model, of, item, uses));
            return Self {
                name: values,
                of_type: quote!(impl IntoIterator<Item = (#key, #item)>),
                value: quote!(#converted.collect()),
            };
        }
        let of_type = type_of(model, of, field, uses);
        Self { name: value.clone(), of_type, value }
    }
}

/// The type of an argument; a string may come as anything that becomes one.
fn lenient(model: &Model, of: &ApplyType, field: &ApplyFieldType, uses: &mut Uses<'_>) -> TokenStream {
    let of_type = type_of(model, of, field, uses);
    if is_string(field) { quote!(impl Into<#of_type>) } else { of_type }
}

fn is_string(of_type: &ApplyFieldType) -> bool {
    of_type.arguments_of("String").is_some()
}

fn boxed(of_type: &ApplyFieldType) -> Option<&ApplyFieldType> {
    of_type.arguments_of("Box").and_then(<[_]>::first)
}

/// The keys and values of a map.
fn map(of_type: &ApplyFieldType) -> Option<(&ApplyFieldType, &ApplyFieldType)> {
    let arguments = ["BTreeMap", "HashMap"].iter().find_map(|name| of_type.arguments_of(name))?;
    match arguments {
        [key, value] => Some((key, value)),
        _ => None,
    }
}

/// Whether a type is in the module of the type whose fields these are, and the module is that of the version.
fn is_beside(of: &ApplyType, path: &TypePath) -> bool {
    let module = path.module();
    of.path.as_ref().is_some_and(|own| own.module() == module)
        && (of.root.is_some() || module.last().is_some_and(|last| last.as_str() == of.version))
}

/// A type as the file of an apply configuration writes it.
fn type_of(model: &Model, of: &ApplyType, field: &ApplyFieldType, uses: &mut Uses<'_>) -> TokenStream {
    match field {
        ApplyFieldType::Path(path, arguments) => {
            let name = match &path.0[..] {
                [name] => {
                    let name = ident(name.as_str());
                    quote!(#name)
                }
                _ if is_beside(of, path) => uses.api_type(path, &of.version),
                _ => uses.other_type(path),
            };
            let arguments: Vec<_> = arguments.iter().map(|inner| type_of(model, of, inner, uses)).collect();
            if arguments.is_empty() { name } else { quote!(#name<#(#arguments),*>) }
        }
        ApplyFieldType::Tuple(items) => {
            let items = items.iter().map(|item| type_of(model, of, item, uses));
            quote!((#(#items,)*))
        }
        ApplyFieldType::Array(item, length) => {
            let (item, length) =
                (type_of(model, of, item, uses), proc_macro2::Literal::usize_unsuffixed(*length));
            quote!([#item; #length])
        }
        ApplyFieldType::Apply(number) => {
            let Some(other) = model.apply.get(*number) else { return quote!() };
            if (&other.group, &other.version, &other.name) == (&of.group, &of.version, &of.name) {
                let name = ident(&of.name);
                return quote!(#name);
            }
            uses.generated(&format!("apply::{}::{}::{}", other.group, other.version, other.name))
        }
        ApplyFieldType::Json => uses.runtime("Value"),
    }
}
