//! What is generated from: plain data, the same for every front end.
//!
//! `Model > Group > Version > Resource`. Everything is sorted by name, so that the same sources give
//! the same output whatever their order.

mod apply;

use std::fmt;

pub use apply::{ApplyField, ApplyFieldType, ApplyRoot, ApplyType};

use crate::{
    names::{self, Name},
    source::Location,
    verb::{Verb, Verbs},
};

/// All kinds of one client.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The groups, by their ident.
    pub groups: Vec<Group>,
    /// The types of apply configurations. A field refers to one by its number.
    pub apply: Vec<ApplyType>,
    /// Whether a type of the sources is deprecated, so that code that names it has to allow that.
    pub has_deprecated: bool,
}

/// An API group.
#[derive(Clone, Debug)]
pub struct Group {
    /// The group's name, empty for the core group.
    pub name: String,
    /// Its name in generated code, in snake case.
    pub ident: String,
    /// Its versions.
    pub versions: Vec<Version>,
    /// The Cargo feature that its code depends on, if it does.
    pub feature: Option<Feature>,
}

/// The Cargo feature of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// The feature's name.
    pub name: String,
    /// The features of the groups whose types the clients of the group take or answer with.
    pub needs: Vec<String>,
}

/// One version of a group.
#[derive(Clone, Debug)]
pub struct Version {
    /// The version's name.
    pub name: String,
    /// Its name in generated code.
    pub ident: String,
    /// The kinds.
    pub resources: Vec<Resource>,
}

/// One kind.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The kind, and the name of the Rust type.
    pub kind: String,
    /// The plural, as in URLs.
    pub plural: String,
    /// The plural in snake case: the accessors' name.
    pub accessor: String,
    /// The kind in snake case: the modules' name.
    pub module: String,
    /// The documentation of the type, a line each.
    pub docs: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The verbs of the client.
    pub verbs: Verbs,
    /// The extra methods of the client.
    pub methods: Vec<Method>,
    /// The type's public path.
    pub type_path: TypePath,
    /// The public path of the list type; `None` where the runtime's generic list serves.
    pub list_path: Option<TypePath>,
    /// Whether a CRD is written.
    pub crd: bool,
    /// Whether this version is marked as the stored one.
    pub storage: Option<bool>,
    /// The annotations of the CRD.
    pub annotations: Vec<(String, String)>,
    /// What else the CRD says once for all versions.
    pub shared: Shared,
    /// The type's name in its source.
    pub location: Location,
}

impl Resource {
    /// A kind of which nothing else is known yet. Whoever gathers the kinds of a version fills in the names.
    pub(crate) fn new(kind: String) -> Self {
        Self {
            kind,
            plural: String::new(),
            accessor: String::new(),
            module: String::new(),
            docs: Vec::new(),
            namespaced: true,
            verbs: Verbs::new(),
            methods: Vec::new(),
            type_path: TypePath(Vec::new()),
            list_path: None,
            crd: false,
            storage: None,
            annotations: Vec::new(),
            shared: Shared::default(),
            location: Location { file: 0, range: 0..0, line: 0 },
        }
    }

    /// The name of the client.
    pub fn client_name(&self) -> String {
        format!("{}Client", self.kind)
    }

    /// The name of the client for all namespaces, where there is one.
    pub fn all_name(&self) -> Option<String> {
        let reads = [Verb::List, Verb::Watch].iter().any(|verb| self.verbs.contains(verb));
        (self.namespaced && reads).then(|| format!("All{}", names::camel(&self.accessor)))
    }

    /// Whether a lister is generated.
    pub fn has_lister(&self) -> bool {
        self.verbs.contains(&Verb::Get) && self.verbs.contains(&Verb::List)
    }

    /// Whether an informer is generated.
    pub fn has_informer(&self) -> bool {
        self.verbs.contains(&Verb::List) && self.verbs.contains(&Verb::Watch)
    }
}

/// What a CRD says once for all versions of a kind, beside its plural, scope and annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// The singular.
    pub singular: String,
    /// The short names.
    pub short_names: Vec<String>,
    /// The categories.
    pub categories: Vec<String>,
    /// The labels of the CRD.
    pub labels: Vec<(String, String)>,
}

/// An extra method of a client.
#[derive(Clone, Debug)]
pub struct Method {
    /// The method's name.
    pub name: String,
    /// What it does.
    pub verb: Verb,
    /// The subresource it acts on.
    pub subresource: Option<String>,
    /// The type of its body; `None` for the kind's own.
    pub input: Option<TypePath>,
    /// The type of its answer; `None` for the kind's own.
    pub result: Option<TypePath>,
}

/// The path of a type, from a crate's name on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypePath(pub Vec<Name>);

impl TypePath {
    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.0.last().map(Name::as_str).unwrap_or_default()
    }

    /// The path without the last name.
    pub fn module(&self) -> &[Name] {
        self.0.split_last().map(|(_, module)| module).unwrap_or_default()
    }
}

impl fmt::Display for TypePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&names.join("::"))
    }
}

impl Model {
    /// Gives each group a feature of its own, and finds the other groups that it needs.
    #[must_use]
    pub fn with_features(mut self) -> Self {
        let needs = |group: &Group| -> Vec<String> {
            let resources = group.versions.iter().flat_map(|version| &version.resources);
            let methods = resources.flat_map(|resource| &resource.methods);
            let types: Vec<_> = methods
                .flat_map(|method| [&method.input, &method.result])
                .flatten()
                .map(TypePath::module)
                .collect();
            let needed = self.groups.iter().filter(|other| {
                let mut resources = other.versions.iter().flat_map(|version| &version.resources);
                other.name != group.name
                    && resources.any(|resource| types.contains(&resource.type_path.module()))
            });
            needed.map(|other| feature_name(&other.ident)).collect()
        };
        let needs: Vec<_> = self.groups.iter().map(needs).collect();
        for (group, needs) in self.groups.iter_mut().zip(needs) {
            group.feature = Some(Feature { name: feature_name(&group.ident), needs });
        }
        self
    }

    /// Every kind with its group and version, in order.
    pub fn resources(&self) -> impl Iterator<Item = (&Group, &Version, &Resource)> {
        self.groups.iter().flat_map(|group| {
            group.versions.iter().flat_map(move |version| {
                version.resources.iter().map(move |resource| (group, version, resource))
            })
        })
    }
}

impl Group {
    /// The group and a version as `apiVersion` has them.
    pub fn api_version(&self, version: &Version) -> String {
        match self.name.is_empty() {
            true => version.name.clone(),
            false => format!("{}/{}", self.name, version.name),
        }
    }

    /// The name of a version in the clientset: `samplecrd_v1`.
    pub fn accessor(&self, version: &Version) -> String {
        // An underscore that keeps the ident from being a keyword is not needed here.
        format!("{}_{}", self.ident.trim_end_matches('_'), version.ident)
    }

    /// The start of the names of a version's types: `SamplecrdV1`.
    pub fn camel(&self, version: &Version) -> String {
        format!("{}{}", names::camel(&self.ident), names::camel(&version.ident))
    }

    /// The group's name as a person reads it.
    pub fn display_name(&self) -> &str {
        if self.name.is_empty() { "core" } else { &self.name }
    }
}

/// The feature of a group. An underscore that keeps an ident from being a keyword is not needed here.
fn feature_name(ident: &str) -> String {
    ident.trim_end_matches('_').to_owned()
}
