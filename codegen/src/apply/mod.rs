//! From kinds to the types of their apply configurations.
//!
//! Such a type has the fields of another one, all of them optional. Structs with named fields in the
//! annotated crates get one, wherever a kind leads to them through `Option`, `Box`, `Vec` and maps, if they
//! derive `Serialize`, `Deserialize`, `Clone` and `Debug`. So do
//! those of Kubernetes' structs that cannot be written in part, because a field of them or of one in them is
//! required. All other types are used as they are. A type that generated code cannot name, or whose format
//! only code of its crate knows (`#[serde(with = "…")]`), is JSON.

mod docs;
mod names;
mod structs;
mod types;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    decl::{self, CustomResourceDecl, ResourceDecl, Shape},
    kubernetes::{Part, Parts},
    model::{ApplyField, ApplyFieldType, ApplyRoot, ApplyType, Model, Resource, TypePath},
    names::Name,
    parse::Found,
    source::{PublicPaths, Sources},
    verb::Verb,
};
use names::Named;
use structs::Structs;

/// Where the fields of a kind from a source crate are declared.
pub(crate) enum Declared<'a> {
    Annotated(&'a Found<ResourceDecl>),
    Custom(&'a Found<CustomResourceDecl>),
}

/// The types of the apply configurations of all kinds that can be applied. `declared` has the kinds of the source
/// crates by their types; all others are Kubernetes' own.
pub(crate) fn types(
    sources: &Sources,
    declared: &BTreeMap<TypePath, Declared<'_>>,
    paths: &[PublicPaths],
    model: &Model,
) -> Vec<ApplyType> {
    let mut builder = Builder {
        crates: sources.crates.iter().map(|krate| krate.name.as_str()).collect(),
        structs: Structs::of(sources),
        paths,
        parts: Parts::of(sources),
        numbers: BTreeMap::new(),
        drafts: Vec::new(),
        queue: VecDeque::new(),
    };
    for (group, version, resource) in model.resources() {
        if !resource.verbs.contains(&Verb::Apply) {
            continue;
        }
        let number = builder.drafts.len();
        builder.drafts.push(Draft {
            named: Named::root(&group.ident, &version.ident, resource),
            path: Some(resource.type_path.clone()),
            root: Some(ApplyRoot {
                api_version: group.api_version(version),
                namespaced: resource.namespaced,
                status: resource.verbs.contains(&Verb::ApplyStatus),
            }),
            ..Draft::default()
        });
        builder.kind(number, sources, declared.get(&resource.type_path), resource);
        builder.drafts[number].users.insert(group.name.clone());
    }
    builder.nested();
    builder.finish(model)
}

/// A struct that an apply configuration is made for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// One of a source crate, by the crate's number and the names that lead to its definition.
    Source(usize, Vec<Name>),
    /// One of Kubernetes, by its path.
    Kubernetes(Vec<Name>),
}

/// Where the names in a type are looked up.
#[derive(Clone, Debug)]
enum Scope {
    /// A module of a source crate, and the struct around the type.
    Module { krate: usize, module: Vec<Name>, this: Option<Vec<Name>> },
    /// Kubernetes, whose sources write paths in full.
    Kubernetes,
}

/// A type on its way.
#[derive(Default)]
struct Draft {
    named: Named,
    path: Option<TypePath>,
    root: Option<ApplyRoot>,
    rename_all: Option<String>,
    fields: Vec<ApplyField>,
    comparable: bool,
    users: BTreeSet<String>,
}

struct Builder<'a> {
    /// The names of the source crates.
    crates: Vec<&'a str>,
    structs: Structs<'a>,
    paths: &'a [PublicPaths],
    parts: Parts<'a>,
    numbers: BTreeMap<Origin, usize>,
    drafts: Vec<Draft>,
    /// The structs that have a number and no fields yet.
    queue: VecDeque<Origin>,
}

impl Builder<'_> {
    /// Reads the fields of a kind.
    fn kind(
        &mut self,
        number: usize,
        sources: &Sources,
        declared: Option<&Declared<'_>>,
        resource: &Resource,
    ) {
        match declared {
            Some(Declared::Annotated(found)) => {
                let scope = Scope::Module { krate: found.krate, module: found.module.clone(), this: None };
                self.struct_fields(number, &found.decl.shape, &scope);
            }
            Some(Declared::Custom(found)) => self.custom_fields(number, found),
            // k8s-openapi has a file for each type.
            None => {
                let file = sources.files.get(resource.location.file);
                let Some(part) = file.and_then(|file| Part::parse(&file.text)) else { return };
                self.part_fields(number, &part);
            }
        }
    }

    /// The fields of one of kube's custom resources.
    fn custom_fields(&mut self, number: usize, found: &Found<CustomResourceDecl>) {
        let scope = Scope::Module { krate: found.krate, module: found.module.clone(), this: None };
        let spec = self.named_type(number, &scope, &found.decl.ident.to_string());
        let spec = ApplyField { flatten: found.decl.no_spec, ..field("spec", spec) };
        let status = found.decl.status.as_deref().map(|status| self.named_type(number, &scope, status));
        let status = status.map(|status| field("status", status));
        let draft = &mut self.drafts[number];
        draft.fields = std::iter::once(spec).chain(status).collect();
        // Only what is read from their sources is known of their types.
        draft.comparable = draft
            .fields
            .iter()
            .all(|field| matches!(field.of, ApplyFieldType::Apply(_) | ApplyFieldType::Json));
    }

    /// The type of a name or path in a scope.
    fn named_type(&mut self, near: usize, scope: &Scope, name: &str) -> ApplyFieldType {
        match syn::parse_str(name) {
            Ok(of_type) => self.field_type(near, scope, &of_type),
            Err(_) => ApplyFieldType::Json,
        }
    }

    /// Reads the fields of the structs that kinds lead to, and of those that these lead to.
    fn nested(&mut self) {
        while let Some(origin) = self.queue.pop_front() {
            let Some(number) = self.numbers.get(&origin).copied() else { continue };
            match &origin {
                Origin::Source(krate, definition) => {
                    let Some(shape) = self.structs.take_apart(*krate, definition) else { continue };
                    let module = definition.split_last().map(|(_, module)| module.to_vec());
                    let scope = Scope::Module {
                        krate: *krate,
                        module: module.unwrap_or_default(),
                        this: Some(definition.clone()),
                    };
                    self.struct_fields(number, &shape, &scope);
                }
                Origin::Kubernetes(path) => {
                    let Some(part) = self.parts.get(path) else { continue };
                    self.part_fields(number, &part);
                }
            }
        }
    }

    /// The fields of a struct of a source crate.
    fn struct_fields(&mut self, number: usize, shape: &Shape, scope: &Scope) {
        let rule = shape.serde.both_ways("rename_all").write.map(|rule| rule.value);
        let is_root = self.drafts[number].root.is_some();
        let mut fields = Vec::new();
        // Those of a kind may depend on a condition, and then be there twice.
        let uncertain = match scope {
            Scope::Module { krate, module, .. } if is_root => {
                let definition = [&module[..], &[Name::from(&shape.ident)]].concat();
                self.structs.uncertain_fields(*krate, &definition)
            }
            _ => BTreeSet::new(),
        };
        for field in &shape.fields {
            let is_written = ["skip", "skip_serializing"].iter().all(|word| field.serde.says(word).is_none());
            let is_twice = fields.iter().any(|other: &ApplyField| other.name.as_str() == field.name);
            if !is_written || is_twice || is_root && field.name == "metadata" {
                continue;
            }
            let of = match structs::has_own_format(field) || uncertain.contains(&field.name) {
                true => ApplyFieldType::Json,
                false => self.field_type(number, scope, &field.ty),
            };
            fields.push(ApplyField {
                name: Name::new(&field.name),
                key: decl::written_key(field, &shape.serde),
                flatten: field.serde.says("flatten").is_some(),
                of,
                docs: decl::docs(&field.attrs),
            });
        }
        // JSON takes all that the fields before it have left.
        fields.sort_by_key(|field| field.flatten && field.of == ApplyFieldType::Json);
        let draft = &mut self.drafts[number];
        draft.comparable = structs::derives(&shape.attrs, "PartialEq");
        draft.rename_all = rule;
        draft.fields = fields;
    }

    /// The fields of a struct of Kubernetes.
    fn part_fields(&mut self, number: usize, part: &Part) {
        let is_root = self.drafts[number].root.is_some();
        let mut fields = Vec::new();
        for declared in &part.item.fields {
            let Some(name) = declared.ident.as_ref().map(ToString::to_string) else { continue };
            if is_root && name == "metadata" {
                continue;
            }
            let of = self.field_type(number, &Scope::Kubernetes, &declared.ty);
            let docs = docs::first_sentence(&decl::docs(&declared.attrs));
            fields.push(ApplyField { key: part.key(&name), docs, ..field(&name, of) });
        }
        let draft = &mut self.drafts[number];
        draft.comparable = true;
        draft.rename_all = Some("camelCase".to_owned());
        draft.fields = fields;
    }

    /// The number of the apply configuration of a struct, which is near another one.
    fn number(&mut self, origin: Origin, near: usize) -> usize {
        if let Some(number) = self.numbers.get(&origin) {
            return *number;
        }
        let number = self.drafts.len();
        let near = &self.drafts[near].named;
        let (named, path) = match &origin {
            Origin::Source(krate, definition) => {
                let path = self.paths[*krate].path(definition);
                // It is called as other crates know it.
                (Named::beside(near, path.as_deref().unwrap_or(definition)), path)
            }
            Origin::Kubernetes(path) => (Named::of_kubernetes(path), Some(path.clone())),
        };
        self.drafts.push(Draft { named, path: path.map(TypePath), ..Draft::default() });
        self.numbers.insert(origin.clone(), number);
        self.queue.push_back(origin);
        number
    }

    fn finish(mut self, model: &Model) -> Vec<ApplyType> {
        self.compare();
        self.spread_users();
        let named: Vec<_> = self.drafts.iter().map(|draft| draft.named.clone()).collect();
        let names = names::choose(named, model);
        let types = self.drafts.into_iter().zip(names).map(|(draft, chosen)| ApplyType {
            name: chosen.name,
            group: chosen.group,
            version: chosen.version,
            module: chosen.module,
            of: draft.named.of,
            path: draft.path,
            root: draft.root,
            rename_all: draft.rename_all,
            fields: draft.fields,
            comparable: draft.comparable,
            users: draft.users,
        });
        types.collect()
    }

    /// The numbers of the types in the fields of each type.
    fn parts_of(&self) -> Vec<Vec<usize>> {
        let parts = |draft: &Draft| draft.fields.iter().flat_map(|field| field.of.applies()).collect();
        self.drafts.iter().map(parts).collect()
    }

    /// A type with a field that cannot be compared cannot be compared either.
    fn compare(&mut self) {
        let parts = self.parts_of();
        loop {
            let before: Vec<bool> = self.drafts.iter().map(|draft| draft.comparable).collect();
            for (draft, parts) in self.drafts.iter_mut().zip(&parts) {
                draft.comparable &= parts.iter().all(|part| before[*part]);
            }
            if self.drafts.iter().map(|draft| draft.comparable).eq(before) {
                return;
            }
        }
    }

    /// Propagates the users of a type to the types of its fields.
    fn spread_users(&mut self) {
        let parts = self.parts_of();
        for root in 0..self.drafts.len() {
            let users = self.drafts[root].users.clone();
            if self.drafts[root].root.is_none() {
                continue;
            }
            let mut seen = BTreeSet::from([root]);
            let mut next = vec![root];
            while let Some(number) = next.pop() {
                self.drafts[number].users.extend(users.iter().cloned());
                next.extend(parts[number].iter().copied().filter(|part| seen.insert(*part)));
            }
        }
    }
}

/// A field whose key is its name.
fn field(name: &str, of: ApplyFieldType) -> ApplyField {
    ApplyField { name: Name::new(name), key: name.to_owned(), flatten: false, of, docs: Vec::new() }
}
