//! From the file of a kind to the kind.

use std::collections::BTreeSet;

use syn::{Expr, ImplItem, Item, ItemImpl, ItemStruct, Lit, Type};

use super::{Kubernetes, table};
use crate::{
    decl,
    diag::{Ctxt, Diagnostic, did_you_mean},
    model::{Method, Resource, TypePath},
    names::Name,
    parse::GroupVersion,
    source::{Error, Location, SourceFile, Sources, locate},
    verb::Verb,
};

/// The kinds of one version of Kubernetes.
pub(super) fn kinds(
    sources: &Sources,
    kubernetes: &Kubernetes,
    cx: &Ctxt<Option<Location>>,
) -> Vec<(GroupVersion, Resource)> {
    let mut kinds = Vec::new();
    let mut groups = BTreeSet::new();
    for (number, module) in &kubernetes.files {
        let Some(kind) = cx.ok(parse(*number, &sources.files[*number])) else { continue };
        if let Some((group_version, resource)) = kind.and_then(|kind| kind.into_resource(module)) {
            groups.insert(shown(&group_version.group).to_owned());
            if kubernetes.groups.is_empty()
                || kubernetes.groups.iter().any(|name| shown(&group_version.group) == name)
            {
                kinds.push((group_version, resource));
            }
        }
    }
    for name in kubernetes.groups.iter().filter(|name| !groups.contains(*name)) {
        let error = Diagnostic::new(None, format!("Kubernetes {} has no group `{name}`", kubernetes.version));
        let all: Vec<_> = groups.iter().map(String::as_str).collect();
        cx.error(match nearest(name, &all) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("it has {}", all.join(", "))),
        });
    }
    kinds
}

/// A group as `groups` has it.
fn shown(group: &str) -> &str {
    if group.is_empty() { "core" } else { group }
}

/// The group that a name may mean: one that starts with it, or is spelt like it.
fn nearest<'a>(name: &str, groups: &[&'a str]) -> Option<&'a str> {
    let longer = groups.iter().find(|group| group.split('.').next() == Some(name));
    longer.copied().or_else(|| did_you_mean(name, groups.iter().copied()))
}

/// What the file of a kind says.
struct Kind {
    item: ItemStruct,
    group: String,
    version: String,
    plural: String,
    scope: String,
    listable: bool,
    /// Whether the metadata is an `ObjectMeta`.
    is_object: bool,
    location: Location,
}

/// Reads the file of a kind. `None` where the type is no kind after all.
fn parse(number: usize, file: &SourceFile) -> Result<Option<Kind>, Error> {
    let parsed = syn::parse_file(head(&file.text)).map_err(|error| {
        Error::new(Some(locate(number, error.span())), format!("this file does not parse: {error}"))
            .help("genclient does not know this release of k8s-openapi")
    })?;
    let mut found = None;
    let mut kind = None;
    for item in parsed.items {
        match item {
            Item::Struct(item) if found.is_none() => found = Some(item),
            Item::Impl(item) => {
                let Some(name) = trait_name(&item) else { continue };
                let kind: &mut Kind = match (&mut kind, found.clone()) {
                    (Some(kind), _) => kind,
                    (none, Some(item)) => none.insert(Kind::new(number, item)),
                    (None, None) => continue,
                };
                kind.read(&name, &item);
            }
            _ => {}
        }
    }
    Ok(kind.filter(|kind| !kind.version.is_empty()))
}

/// The struct that a file defines.
pub(super) fn struct_of(text: &str) -> Option<ItemStruct> {
    let items = syn::parse_file(head(text)).ok()?.items;
    items.into_iter().find_map(|item| match item {
        Item::Struct(item) => Some(item),
        _ => None,
    })
}

/// A file without the parts that read and write its type: nine tenths of the file, and of the time.
fn head(text: &str) -> &str {
    let end = ["impl crate::DeepMerge for", "impl<'de> crate::serde::Deserialize<'de> for"]
        .iter()
        .filter_map(|start| text.find(start))
        .min();
    &text[..end.unwrap_or(text.len())]
}

/// The name of the trait that an `impl` is of.
fn trait_name(item: &ItemImpl) -> Option<String> {
    let (path, _) = item.trait_.as_ref()?;
    Some(path.segments.last()?.ident.to_string())
}

impl Kind {
    fn new(number: usize, item: ItemStruct) -> Self {
        Self {
            location: locate(number, item.ident.span()),
            item,
            group: String::new(),
            version: String::new(),
            plural: String::new(),
            scope: String::new(),
            listable: false,
            is_object: false,
        }
    }

    /// Takes over what the `impl` of a trait says.
    fn read(&mut self, of: &str, item: &ItemImpl) {
        let text = |name: &str| item.items.iter().find_map(|item| constant(item, name));
        match of {
            "Resource" => {
                self.group = text("GROUP").unwrap_or_default();
                self.version = text("VERSION").unwrap_or_default();
                self.plural = text("URL_PATH_SEGMENT").unwrap_or_default();
                self.scope = associated(item, "Scope").unwrap_or_default();
            }
            "ListableResource" => self.listable = true,
            "Metadata" => self.is_object = associated(item, "Ty").as_deref() == Some("ObjectMeta"),
            _ => {}
        }
    }

    /// The kind as the model has it; `None` for a type that has no place of its own on the server.
    fn into_resource(self, module: &[Name]) -> Option<(GroupVersion, Resource)> {
        let namespaced = match self.scope.as_str() {
            "NamespaceResourceScope" => true,
            "ClusterResourceScope" => false,
            _ => return None,
        };
        if !self.is_object {
            return None;
        }
        let kind = self.item.ident.to_string();
        let type_path = TypePath([module, &[Name::new(&kind)]].concat());
        let mut verbs = table::verbs(&self.group, &kind, self.listable);
        if self.listable && self.has_status_field() && table::has_status(&self.group, &kind) {
            verbs.extend(Verb::STATUS);
        }
        let mut methods = Vec::new();
        if table::ANSWERED_WITH_STATUS.contains(&type_path.to_string().as_str()) {
            verbs.clear();
            methods.push(method("create", Verb::Create, None, Some(&type_path.to_string())));
        }
        for subresource in table::subresources(&self.group, &kind) {
            for (name, verb) in subresource.methods {
                methods.push(method(name, *verb, Some(subresource.name), subresource.of_type));
            }
        }
        let resource = Resource {
            plural: self.plural,
            docs: decl::docs(&self.item.attrs),
            namespaced,
            verbs,
            methods,
            type_path,
            location: self.location,
            ..Resource::new(kind)
        };
        Some((GroupVersion { group: self.group, version: self.version, ident: None }, resource))
    }

    fn has_status_field(&self) -> bool {
        self.item.fields.iter().any(|field| field.ident.as_ref().is_some_and(|name| name == "status"))
    }
}

fn method(name: &str, verb: Verb, subresource: Option<&str>, of_type: Option<&str>) -> Method {
    let result = match of_type {
        Some(of_type) if table::ANSWERED_WITH_STATUS.contains(&of_type) => Some(table::STATUS_TYPE),
        of_type => of_type,
    };
    let path = |path: &str| TypePath(path.split("::").map(Name::new).collect());
    Method {
        name: name.to_owned(),
        verb,
        subresource: subresource.map(str::to_owned),
        input: of_type.filter(|_| verb.takes_input()).map(path),
        result: result.map(path),
    }
}

/// The text of a constant.
fn constant(item: &ImplItem, name: &str) -> Option<String> {
    let ImplItem::Const(item) = item else { return None };
    match &item.expr {
        Expr::Lit(literal) if item.ident == name => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The last name of an associated type.
fn associated(item: &ItemImpl, name: &str) -> Option<String> {
    item.items.iter().find_map(|item| match item {
        ImplItem::Type(item) if item.ident == name => match &item.ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        },
        _ => None,
    })
}
