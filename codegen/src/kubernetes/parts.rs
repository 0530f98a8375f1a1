//! The structs that Kubernetes' kinds are made of, each parsed when it is asked for.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use syn::{Fields, GenericArgument, ItemStruct, PathArguments, Type};

use super::parse::struct_of;
use crate::{names::Name, source::Sources};

/// All structs with named fields, by their path.
pub(crate) struct Parts<'a> {
    texts: BTreeMap<&'a [Name], &'a str>,
    parsed: BTreeMap<Vec<Name>, Option<Rc<Part>>>,
    needed: BTreeMap<Vec<Name>, bool>,
}

/// One of the structs.
pub(crate) struct Part {
    pub item: ItemStruct,
    /// The keys under which the fields are written, by the fields' names.
    keys: BTreeMap<String, String>,
}

impl<'a> Parts<'a> {
    pub fn of(sources: &'a Sources) -> Self {
        let parts = sources.kubernetes.iter().flat_map(|kubernetes| &kubernetes.parts);
        Self {
            texts: parts.map(|(path, text)| (&path[..], text.as_str())).collect(),
            parsed: BTreeMap::new(),
            needed: BTreeMap::new(),
        }
    }

    /// The struct of this path, which is not a kind.
    pub fn get(&mut self, path: &[Name]) -> Option<Rc<Part>> {
        if let Some(known) = self.parsed.get(path) {
            return known.clone();
        }
        // Every field of the metadata is optional, and it is the same in all of Kubernetes.
        let is_metadata = path.last().is_some_and(|name| name.as_str() == "ObjectMeta");
        let text = self.texts.get(path).filter(|_| !is_metadata);
        let part = text.and_then(|text| Part::parse(text)).map(Rc::new);
        self.parsed.insert(path.to_vec(), part.clone());
        part
    }

    /// Whether the struct of this path, or one in it, has a field that is not optional.
    pub fn is_required(&mut self, path: &[Name]) -> bool {
        if let Some(known) = self.needed.get(path) {
            return *known;
        }
        let mut seen = BTreeSet::from([path.to_vec()]);
        let mut next = vec![path.to_vec()];
        let mut required = false;
        while let Some(path) = next.pop().filter(|_| !required) {
            let Some(part) = self.get(&path) else { continue };
            for field in &part.item.fields {
                required |= !is_option(&field.ty);
                let mut references = Vec::new();
                collect(&field.ty, &mut references);
                next.extend(references.into_iter().filter(|path| seen.insert(path.clone())));
            }
        }
        self.needed.insert(path.to_vec(), required);
        required
    }
}

impl Part {
    /// Reads the file of a struct with named fields.
    pub fn parse(text: &str) -> Option<Self> {
        let item = struct_of(text).filter(|item| matches!(item.fields, Fields::Named(_)))?;
        let key = |line: &str| {
            let (key, field) = line.trim().strip_suffix(',')?.split_once(" => Field::Key_")?;
            Some((field.to_owned(), key.trim_matches('"').to_owned()))
        };
        Some(Self { item, keys: text.lines().filter_map(key).collect() })
    }

    /// The key of the field of this name.
    pub fn key(&self, field: &str) -> String {
        self.keys.get(field).cloned().unwrap_or_else(|| field.to_owned())
    }
}

/// The names of the crate in k8s-openapi's own sources, as they are for other crates.
pub(crate) fn from_outside(path: &[Name]) -> Option<Vec<Name>> {
    let (first, rest) = path.split_first()?;
    (first.as_str() == "crate").then(|| [&[Name::new("k8s_openapi")], rest].concat())
}

fn is_option(of_type: &Type) -> bool {
    let Type::Path(path) = of_type else { return false };
    path.path.segments.last().is_some_and(|last| last.ident == "Option")
}

/// Adds the paths of all types of Kubernetes in a type.
fn collect(of_type: &Type, out: &mut Vec<Vec<Name>>) {
    let Type::Path(path) = of_type else { return };
    let names: Vec<_> = path.path.segments.iter().map(|segment| Name::from(&segment.ident)).collect();
    out.extend(from_outside(&names));
    for segment in &path.path.segments {
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else { continue };
        for argument in &arguments.args {
            if let GenericArgument::Type(inner) = argument {
                collect(inner, out);
            }
        }
    }
}
