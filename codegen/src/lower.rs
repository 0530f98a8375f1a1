//! From declarations to the model: groups and versions gathered, paths resolved, names chosen.

use std::collections::BTreeMap;

use crate::{
    apply::{self, Declared},
    attr::{MethodAttr, Spanned, TypeRef},
    decl::{CustomResourceDecl, ListDecl, ResourceDecl},
    diag::{Ctxt, Diagnostic},
    kubernetes,
    model::{Group, Method, Model, Resource, Shared, TypePath, Version},
    names::{self, Name},
    parse::{Declarations, Found, GroupVersion},
    source::{Location, PublicPaths, Resolved, SourceCrate, Sources, locate},
};

/// A kind, from whichever front end, and the group and version that it belongs to.
type Kind = (GroupVersion, Resource);

/// Builds the model; what cannot be resolved is told to `cx`.
pub(crate) fn lower(sources: &Sources, declarations: &Declarations, cx: &Ctxt<Option<Location>>) -> Model {
    let paths: Vec<PublicPaths> = sources.crates.iter().map(PublicPaths::of).collect();
    let (mut kinds, mut declared) = (Vec::new(), BTreeMap::new());
    for (found, group_version) in &declarations.resources {
        let resource = Lowering::of(&paths, found, cx).resource(found, &declarations.lists);
        let Some(resource) = resource else { continue };
        declared.insert(resource.type_path.clone(), Declared::Annotated(found));
        kinds.push((group_version.clone(), resource));
    }
    for found in &declarations.custom_resources {
        let crd = sources.crates[found.krate].crds;
        let Some(kind) = Lowering::of(&paths, found, cx).custom_resource(&found.decl, crd) else { continue };
        declared.insert(kind.1.type_path.clone(), Declared::Custom(found));
        kinds.push(kind);
    }
    orphaned_lists(declarations, cx);
    kinds.extend(kubernetes::kinds(sources, cx));
    let mut model = gather(kinds, sources, cx);
    model.apply = apply::types(sources, &declared, &paths, &model);
    model
}

/// Whether a type of a crate is deprecated.
fn has_deprecated(krate: &SourceCrate) -> bool {
    krate.root.walk().flat_map(|module| &module.items).any(|item| {
        let attributes = match item {
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            syn::Item::Type(item) => &item.attrs,
            _ => return false,
        };
        attributes.iter().any(|attribute| attribute.path().is_ident("deprecated"))
    })
}

/// Sorts the kinds into groups and versions and gives them their names in generated code.
fn gather(kinds: Vec<Kind>, sources: &Sources, cx: &Ctxt<Option<Location>>) -> Model {
    let idents = group_idents(&kinds, cx);
    shared_idents(&idents, &kinds, cx);
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    for (group_version, mut resource) in kinds {
        let ident = idents.get(&group_version.group).cloned().unwrap_or_default();
        let crates = sources.crates.iter().map(|krate| krate.name.as_str());
        let version = names::version_ident(&ident, &group_version.version, crates);
        resource.accessor = names::escape(&names::snake_plural(&resource.kind, &resource.plural));
        resource.module = names::module_within(&version, &names::snake(&resource.kind));
        let group = groups.entry(group_version.group.clone()).or_insert_with(|| Group {
            name: group_version.group.clone(),
            ident,
            versions: Vec::new(),
            feature: None,
        });
        match group.versions.iter_mut().find(|version| version.name == group_version.version) {
            Some(version) => version.resources.push(resource),
            None => group.versions.push(Version {
                name: group_version.version.clone(),
                ident: version,
                resources: vec![resource],
            }),
        }
    }
    let mut model = Model {
        groups: groups.into_values().collect(),
        apply: Vec::new(),
        has_deprecated: sources.crates.iter().any(has_deprecated),
    };
    model.groups.sort_by(|a, b| a.ident.cmp(&b.ident));
    for group in &mut model.groups {
        group.versions.sort_by(|a, b| a.ident.cmp(&b.ident));
        for version in &mut group.versions {
            version.resources.sort_by(|a, b| a.module.cmp(&b.module).then_with(|| a.kind.cmp(&b.kind)));
        }
    }
    model
}

/// The name of each group in generated code: the given one, else the first label of the group's
/// name, with as many more labels as tell it from the others.
fn group_idents(kinds: &[Kind], cx: &Ctxt<Option<Location>>) -> BTreeMap<String, String> {
    let mut given: BTreeMap<&str, (&str, &Location)> = BTreeMap::new();
    for (group_version, _) in kinds {
        let Some((ident, location)) = &group_version.ident else { continue };
        match given.get(group_version.group.as_str()) {
            Some((other, first)) if other != ident => cx.error(
                Diagnostic::new(
                    Some(location.clone()),
                    format!("the group `{}` is called `{other}` elsewhere", group_version.group),
                )
                .help("give one group the same `ident` in every version")
                .related(Some((*first).clone()), format!("here it is `{other}`")),
            ),
            Some(_) => {}
            None => {
                let clash = given.iter().find(|(_, (other, _))| other == ident);
                if let Some((group, (_, first))) = clash {
                    cx.error(
                        Diagnostic::new(
                            Some(location.clone()),
                            format!(
                                "the groups `{group}` and `{}` are both called `{ident}`",
                                group_version.group
                            ),
                        )
                        .help("choose another `ident` for one of them")
                        .related(Some((*first).clone()), "the first one is here"),
                    );
                }
                given.insert(&group_version.group, (ident, location));
            }
        }
    }
    let all: std::collections::BTreeSet<&str> =
        kinds.iter().map(|(group_version, _)| group_version.group.as_str()).collect();
    let derived = |group: &str, labels: usize| match group {
        "" => "core".to_owned(),
        _ => group.split('.').take(labels).collect::<Vec<_>>().join("_").replace('-', "_"),
    };
    let mut idents = BTreeMap::new();
    for group in &all {
        if let Some((ident, _)) = given.get(group) {
            idents.insert((*group).to_owned(), (*ident).to_owned());
            continue;
        }
        let total = group.split('.').count();
        let taken = |ident: &str, labels: usize| {
            all.iter().any(|other| {
                other != group
                    && match given.get(other) {
                        Some((other, _)) => *other == ident,
                        None => derived(other, labels) == ident,
                    }
            })
        };
        let labels = (1..=total).find(|labels| !taken(&derived(group, *labels), *labels)).unwrap_or(total);
        let mut ident = derived(group, labels);
        // A label may start with a digit, an identifier may not, nor the types that are called after it.
        if ident.starts_with(|c: char| c.is_ascii_digit()) {
            ident.insert_str(0, "group_");
        }
        // The folders in which the groups' modules are.
        if ["apply", "typed", "listers", "informers"].contains(&ident.as_str()) {
            ident.push('_');
        }
        idents.insert((*group).to_owned(), names::escape(&ident));
    }
    idents
}

/// Two groups under one name would be one folder. Where both names are given, that has been told of.
fn shared_idents(idents: &BTreeMap<String, String>, kinds: &[Kind], cx: &Ctxt<Option<Location>>) {
    let place = |group: &str| kinds.iter().find(|(found, _)| found.group == group);
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    for (group, ident) in idents {
        let Some(other) = seen.insert(ident, group) else { continue };
        let (Some((here, resource)), Some((there, first))) = (place(group), place(other)) else { continue };
        if here.ident.is_some() && there.ident.is_some() {
            continue;
        }
        cx.error(
            Diagnostic::new(
                Some(resource.location.clone()),
                format!("the groups `{other}` and `{group}` would both be called `{ident}`"),
            )
            .help("choose another name for one of them: `group_version!(\"…\", ident = \"…\")`")
            .related(Some(first.location.clone()), "the first one is here"),
        );
    }
}

/// A list whose items are not annotated serves nobody.
fn orphaned_lists(declarations: &Declarations, cx: &Ctxt<Option<Location>>) {
    for list in &declarations.lists {
        let item =
            list.decl.item.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let known = declarations.resources.iter().any(|(found, _)| {
            found.krate == list.krate && found.module == list.module && found.decl.ident == item
        });
        if !known {
            cx.error(
                Diagnostic::new(
                    Some(list.location.clone()),
                    format!("the items of `{}` are not of an annotated type in this module", list.decl.ident),
                )
                .help(format!("put `#[derive(GenClient)]` on `{item}`, in the same module")),
            );
        }
    }
}

/// The place of a declaration, from which its names are resolved.
struct Lowering<'a> {
    paths: &'a PublicPaths,
    module: &'a [Name],
    location: &'a Location,
    cx: &'a Ctxt<Option<Location>>,
}

impl<'a> Lowering<'a> {
    fn of<T>(paths: &'a [PublicPaths], found: &'a Found<T>, cx: &'a Ctxt<Option<Location>>) -> Self {
        Self { paths: &paths[found.krate], module: &found.module, location: &found.location, cx }
    }

    /// A struct with `#[derive(GenClient)]`.
    fn resource(&self, found: &Found<ResourceDecl>, lists: &[Found<ListDecl>]) -> Option<Resource> {
        let decl = &found.decl;
        let kind = decl.ident.to_string();
        let type_path = self.type_path(&kind, decl.attrs.path.as_ref());
        let list = lists.iter().find(|list| {
            list.krate == found.krate
                && list.module == found.module
                && list.decl.ident == format!("{kind}List")
        });
        let list_path = match (list, &decl.attrs.path) {
            (None, _) => Some(None),
            // The list is expected beside its items.
            (Some(list), Some(path)) => {
                let mut path = written_path(&path.value);
                path.0.pop();
                path.0.push(Name::from(&list.decl.ident));
                Some(Some(path))
            }
            (Some(list), None) => self.public_path(&list.decl.ident.to_string(), &list.location).map(Some),
        };
        let methods = self.methods(&decl.attrs.methods)?;
        Some(Resource {
            docs: decl.docs.clone(),
            namespaced: !decl.attrs.cluster_scoped,
            verbs: decl.attrs.verbs.verbs(decl.status_subresource()),
            methods,
            type_path,
            list_path: list_path.flatten(),
            crd: !decl.attrs.no_crd,
            storage: decl.attrs.storage.as_ref().map(|storage| storage.value),
            annotations: pairs(&decl.attrs.annotations),
            shared: Shared {
                singular: match &decl.attrs.singular {
                    Some(singular) => singular.value.clone(),
                    None => kind.to_lowercase(),
                },
                short_names: values(&decl.attrs.shortnames),
                categories: values(&decl.attrs.categories),
                labels: pairs(&decl.attrs.labels),
            },
            location: found.location.clone(),
            plural: decl.plural(),
            ..Resource::new(kind)
        })
    }

    /// A struct with kube's `#[derive(CustomResource)]`, which stands for another one.
    fn custom_resource(&self, decl: &CustomResourceDecl, crd: bool) -> Option<Kind> {
        let type_path = self.type_path(&decl.root, decl.attrs.path.as_ref());
        let methods = self.methods(&decl.attrs.methods)?;
        let resource = Resource {
            docs: decl.docs.clone(),
            plural: decl.plural.clone(),
            namespaced: decl.namespaced,
            verbs: decl.attrs.verbs.verbs(decl.has_status),
            methods,
            type_path,
            crd,
            storage: Some(decl.storage),
            annotations: decl.annotations.clone(),
            location: self.location.clone(),
            ..Resource::new(decl.kind.clone())
        };
        let (group, version) = (decl.group.clone(), decl.version.clone());
        Some((GroupVersion { group, version, ident: None }, resource))
    }

    /// The path of a kind's struct. One without a path has been told of, and still counts in what is checked
    /// next.
    fn type_path(&self, name: &str, given: Option<&Spanned<String>>) -> TypePath {
        let path = match given {
            Some(path) => self.given_path(name, path),
            None => self.public_path(name, self.location),
        };
        path.unwrap_or_else(|| TypePath(self.definition(name)))
    }

    /// The extra methods, if the types that they name can be found.
    fn methods(&self, attrs: &[MethodAttr]) -> Option<Vec<Method>> {
        let mut methods = Vec::new();
        for method in attrs {
            let input = self.type_of(method.input.as_ref());
            let result = self.type_of(method.result.as_ref());
            methods.push(Method {
                name: Name::new(&method.name.value).as_str().to_owned(),
                verb: method.verb,
                subresource: method.subresource.as_ref().map(|name| name.value.clone()),
                input: input?,
                result: result?,
            });
        }
        Some(methods)
    }

    /// The names that lead to a type of this module.
    fn definition(&self, name: &str) -> Vec<Name> {
        [self.module, &[Name::new(name)]].concat()
    }

    /// The path that a person gave. It may lead where the sources do not show it, but not elsewhere.
    fn given_path(&self, kind: &str, path: &Spanned<String>) -> Option<TypePath> {
        let given = written_path(&path.value);
        match self.paths.leads_to(&given.0) {
            Some(other) if other != self.definition(kind) => {
                self.cx.error(
                    Diagnostic::new(
                        Some(locate(self.location.file, path.span)),
                        format!("`{}` leads to a different type", path.value),
                    )
                    .help(format!("name the path under which other crates find this `{kind}`")),
                );
                None
            }
            _ => Some(given),
        }
    }

    /// The path of a type of this module from outside the crate.
    fn public_path(&self, name: &str, at: &Location) -> Option<TypePath> {
        let definition = self.definition(name);
        let path = self.paths.path(&definition);
        if path.is_none() {
            let help = match self.paths.rival(&definition) {
                Some(rival) => format!(
                    "`{}` is ambiguous, private or another item; add a `pub use` under another name, \
                     or name the path with `#[genclient(path = \"…\")]`",
                    TypePath(rival)
                ),
                None => "make it and the modules on the way `pub`, add a `pub use` for it, \
                         or name its path with `#[genclient(path = \"…\")]`"
                    .to_owned(),
            };
            self.cx.error(
                Diagnostic::new(Some(at.clone()), format!("`{name}` cannot be reached from other crates"))
                    .help(help),
            );
        }
        path.map(TypePath)
    }

    /// The path of a type that a method names: `Some(None)` where it names none.
    fn type_of(&self, reference: Option<&TypeRef>) -> Option<Option<TypePath>> {
        let Some(reference) = reference else { return Some(None) };
        if reference.absolute {
            return Some(Some(written_path(&reference.path)));
        }
        let at = locate(self.location.file, reference.span);
        let written = written_path(&reference.path).0;
        let path = match self.paths.resolve(self.module, &written) {
            Some(Resolved::Local(definition)) => self.paths.path(&definition),
            Some(Resolved::External(path)) => Some(path),
            None => None,
        };
        if path.is_none() {
            self.cx.error(
                Diagnostic::new(
                    Some(at),
                    format!(
                        "the type `{}` cannot be found or cannot be reached from other crates",
                        reference.path
                    ),
                )
                .help("make it public, or write its path from outside as a string"),
            );
        }
        path.map(|path| Some(TypePath(path)))
    }
}

fn values(texts: &[Spanned<String>]) -> Vec<String> {
    texts.iter().map(|text| text.value.clone()).collect()
}

fn pairs(pairs: &[(Spanned<String>, Spanned<String>)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| (key.value.clone(), value.value.clone())).collect()
}

/// A path that a person wrote, as names.
fn written_path(text: &str) -> TypePath {
    TypePath(text.trim_start_matches("::").split("::").map(|name| Name::new(name.trim())).collect())
}
