//! The items of the source crates, and which of the structs can be taken apart.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Attribute, Fields, Item, ItemStruct, ext::IdentExt as _};

use crate::{
    attr::SerdeAttrs,
    decl::{Field, Shape},
    diag::Ctxt,
    names::Name,
    parse::derive_names,
    source::{Condition, Configured, Sources},
};

/// The traits that a struct must derive to be taken apart. A manual impl may use another format or redact
/// fields in `Debug`.
const DERIVED: &[&str] = &["Clone", "Debug", "Serialize", "Deserialize"];

/// What serde's attributes say of a struct whose JSON is not an object of its fields.
const NOT_ITS_FIELDS: &[&str] = &["from", "into", "remote", "tag", "transparent", "try_from", "untagged"];

/// The structs and type aliases of all source crates that depend on no condition.
pub(super) struct Structs<'a> {
    items: Vec<BTreeMap<Vec<Name>, &'a Item>>,
}

impl<'a> Structs<'a> {
    pub fn of(sources: &'a Sources) -> Self {
        let items = sources.crates.iter().map(|krate| {
            let mut items = BTreeMap::new();
            for module in krate.root.walk().filter(|module| module.condition.is_none()) {
                for item in &module.items {
                    let (Item::Struct(ItemStruct { ident, attrs, .. })
                    | Item::Type(syn::ItemType { ident, attrs, .. })) = item
                    else {
                        continue;
                    };
                    if matches!(Condition::of(attrs), Condition::True) {
                        let name = Name::from(ident);
                        items.insert([&module.path[..], std::slice::from_ref(&name)].concat(), item);
                    }
                }
            }
            items
        });
        Self { items: items.collect() }
    }

    /// The type that an alias without parameters stands for.
    pub fn alias(&self, krate: usize, definition: &[Name]) -> Option<&'a syn::Type> {
        match self.items[krate].get(definition)? {
            Item::Type(alias) if alias.generics.params.is_empty() => Some(&alias.ty),
            _ => None,
        }
    }

    /// The fields of a struct that depend on a condition, or whose attributes do.
    pub fn uncertain_fields(&self, krate: usize, definition: &[Name]) -> BTreeSet<String> {
        let Some(Item::Struct(item)) = self.items[krate].get(definition) else { return BTreeSet::new() };
        let is_uncertain = |field: &&syn::Field| {
            let Configured { condition, uncertain, .. } = Configured::of(&field.attrs);
            matches!(condition, Condition::Unknown(_))
                || uncertain.iter().any(|(attr, _)| attr.path().is_ident("serde"))
        };
        let names = item.fields.iter().filter(is_uncertain).filter_map(|field| field.ident.as_ref());
        names.map(|ident| ident.unraw().to_string()).collect()
    }

    /// The fields of a struct, if its JSON is an object of them.
    pub fn take_apart(&self, krate: usize, definition: &[Name]) -> Option<Shape> {
        match self.items[krate].get(definition)? {
            Item::Struct(item) => take_apart(item),
            _ => None,
        }
    }
}

fn take_apart(item: &ItemStruct) -> Option<Shape> {
    let Fields::Named(named) = &item.fields else { return None };
    let matters = |attr: &Attribute| attr.path().is_ident("serde") || attr.path().is_ident("derive");
    let read = |attrs: &[Attribute]| {
        // What is wrong with them is serde's to tell.
        let ignored = Ctxt::new();
        let serde = SerdeAttrs::read(&ignored, attrs);
        let _ = ignored.check();
        serde
    };
    let configured = Configured::of(&item.attrs);
    let serde = read(&configured.attrs);
    if !item.generics.params.is_empty()
        || configured.uncertain.iter().any(|(attr, _)| matters(attr))
        || !DERIVED.iter().all(|name| derives(&configured.attrs, name))
        || NOT_ITS_FIELDS.iter().any(|word| serde.says(word).is_some())
    {
        return None;
    }
    let mut fields = Vec::new();
    for field in &named.named {
        let Configured { condition, attrs, uncertain } = Configured::of(&field.attrs);
        match condition {
            Condition::False => continue,
            Condition::Unknown(_) => return None,
            Condition::True if uncertain.iter().any(|(attr, _)| matters(attr)) => return None,
            Condition::True => {}
        }
        let ident = field.ident.clone()?;
        fields.push(Field {
            name: ident.unraw().to_string(),
            ident,
            ty: field.ty.clone(),
            serde: read(&attrs),
            attrs,
        });
    }
    // Each of several would read what is left of the object, the others' part too.
    let rests = fields.iter().filter(|field| has_own_format(field) && field.serde.says("flatten").is_some());
    (rests.count() < 2).then_some(Shape { ident: item.ident.clone(), serde, attrs: configured.attrs, fields })
}

/// Whether only code of its crate knows how a field is written.
pub(super) fn has_own_format(field: &Field) -> bool {
    let words = ["with", "serialize_with", "deserialize_with", "skip_deserializing"];
    let is_serde_as =
        |attr: &Attribute| attr.path().segments.last().is_some_and(|last| last.ident == "serde_as");
    words.iter().any(|word| field.serde.says(word).is_some()) || field.attrs.iter().any(is_serde_as)
}

/// Whether a derive of this name is among the attributes.
pub(super) fn derives(attrs: &[Attribute], name: &str) -> bool {
    attrs.iter().flat_map(derive_names).any(|derived| derived == name)
}
