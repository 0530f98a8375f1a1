//! What apply configurations are called, and where they are.

use std::collections::BTreeSet;

use crate::{
    model::{Model, Resource},
    names::{self, Name},
};

/// A type that needs a name.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// The name of the type whose fields it has.
    pub of: String,
    /// The modules of that type, from the crate's root.
    modules: Vec<Name>,
    /// The idents of the group and version, unless they follow from the path of a type of Kubernetes.
    at: Option<(String, String)>,
    /// The module, if it is given.
    module: Option<String>,
}

/// What a type is called, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub name: String,
    pub group: String,
    pub version: String,
    pub module: String,
}

impl Named {
    /// The type of a kind.
    pub fn root(group: &str, version: &str, resource: &Resource) -> Self {
        Self {
            of: resource.kind.clone(),
            modules: resource.type_path.module().to_vec(),
            at: Some((group.to_owned(), version.to_owned())),
            module: Some(resource.module.clone()),
        }
    }

    /// The type of a struct of a source crate, where that of another one is.
    pub fn beside(other: &Self, definition: &[Name]) -> Self {
        Self { at: other.at.clone(), ..Self::of_path(definition) }
    }

    /// The type of a struct of Kubernetes.
    pub fn of_kubernetes(path: &[Name]) -> Self {
        Self::of_path(path)
    }

    fn of_path(path: &[Name]) -> Self {
        let (last, modules) = path.split_last().map_or((None, &[][..]), |(last, rest)| (Some(last), rest));
        Self {
            of: last.map(|name| name.as_str().to_owned()).unwrap_or_default(),
            modules: modules.to_vec(),
            at: None,
            module: None,
        }
    }

    /// The group and version of the kinds beside it, or those that the end of its path names.
    fn group_version(&self, model: &Model) -> (String, String) {
        if let Some(at) = &self.at {
            return at.clone();
        }
        let beside = model.resources().find(|(_, _, resource)| resource.type_path.module() == self.modules);
        if let Some((group, version, _)) = beside {
            return (group.ident.clone(), version.ident.clone());
        }
        let [.., group, version] = &self.modules[..] else { return ("core".into(), "v1".into()) };
        let mut group = names::escape(group.as_str());
        // The group of another's kinds may be called the same.
        while model.groups.iter().any(|other| other.ident == group) {
            group.push('_');
        }
        (group, version.as_str().to_owned())
    }
}

/// Chooses names that differ within a version: those of kinds first. Of two other types with one name the
/// second is called after its modules too.
pub(super) fn choose(types: Vec<Named>, model: &Model) -> Vec<Chosen> {
    let mut taken: BTreeSet<(String, String, String)> = BTreeSet::new();
    let mut modules = taken.clone();
    let mut choose = |named: &Named| {
        let (group, version) = named.group_version(model);
        let free = |name: &str, taken: &mut BTreeSet<(String, String, String)>| {
            taken.insert((group.clone(), version.clone(), name.to_owned()))
        };
        let mut stem = named.of.clone();
        let mut outer = named.modules.iter().rev();
        while !free(&format!("{stem}Apply"), &mut taken) {
            stem = match outer.next() {
                Some(module) => format!("{}{stem}", names::camel(module.as_str())),
                None => format!("{stem}_"),
            };
        }
        let snake = || names::module_within(&version, &file_name(&names::snake(&stem)));
        let mut module = named.module.clone().unwrap_or_else(snake);
        while !free(&module, &mut modules) {
            module.push('_');
        }
        Chosen { name: format!("{stem}Apply"), group, version, module }
    };
    let mut chosen = vec![None; types.len()];
    for are_kinds in [true, false] {
        for (at, named) in types.iter().enumerate().filter(|(_, named)| named.module.is_some() == are_kinds) {
            chosen[at] = Some(choose(named));
        }
    }
    chosen.into_iter().flatten().collect()
}

/// A name as that of a file, which the compiler finds only if it is of ASCII letters.
fn file_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii() { c.to_string() } else { format!("u{:x}", u32::from(c)) };
    name.chars().map(letter).collect()
}
