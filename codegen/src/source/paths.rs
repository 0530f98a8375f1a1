//! The path under which another crate reaches a type.
//!
//! A breadth-first search over what a crate exports: from its root through public modules and
//! `pub use`, renamed or not, of a path or of all names of a module. The place of the definition
//! wins where it is reachable itself; else the shortest path, and of those the first in the alphabet.
//! Each step is one that the compiler takes too, see [`scope`](super::scope): a path that leads
//! elsewhere for the compiler, or nowhere, is never chosen.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    SourceCrate,
    scope::{Binding, Definition, Resolved, Scopes, Visibility},
};
use crate::names::Name;

/// Where every type of a crate can be reached from outside.
#[derive(Debug)]
pub(crate) struct PublicPaths {
    krate: Name,
    scopes: Scopes,
    /// The first path of every module and type that can be reached.
    public: BTreeMap<Definition, Vec<Name>>,
}

impl PublicPaths {
    pub fn of(krate: &SourceCrate) -> Self {
        let mut paths =
            Self { krate: Name::new(&krate.name), scopes: Scopes::of(krate), public: BTreeMap::new() };
        paths.search();
        paths
    }

    /// The path of a type, starting with the crate's name.
    pub fn path(&self, definition: &[Name]) -> Option<Vec<Name>> {
        let is_definition = |found: Binding| found.meaning == Resolved::Local(definition.to_vec());
        let found = match self.exported(definition).is_some_and(is_definition) {
            true => definition,
            false => self.public.get(definition)?,
        };
        Some([std::slice::from_ref(&self.krate), found].concat())
    }

    /// A path that looks like one of the type and is not: its name means something else there, or
    /// depends on a condition or a macro, or is ambiguous.
    pub fn rival(&self, definition: &[Name]) -> Option<Vec<Name>> {
        let name = definition.last()?;
        let root = (Definition::new(), Vec::new());
        let modules = std::iter::once((&root.0, &root.1)).chain(&self.public);
        let rivals = modules
            .filter(|(module, _)| self.scopes.table(module).is_some_and(|table| table.contains_key(name)));
        let paths = rivals
            .map(|(_, path)| [std::slice::from_ref(&self.krate), path, std::slice::from_ref(name)].concat());
        paths.min_by_key(Vec::len)
    }

    /// What a path means in a module: its own names first, then its imports, then other crates.
    pub fn resolve(&self, module: &[Name], path: &[Name]) -> Option<Resolved> {
        let found = self.scopes.resolve(module, path)?;
        // One name alone is not that of a crate, where a type is meant.
        let crate_alone = matches!(&found.meaning, Resolved::External(path) if path.len() == 1);
        (found.certain && !crate_alone).then_some(found.meaning)
    }

    /// What a path that starts with the name of a crate leads to, where it is this crate's and known.
    pub fn leads_to(&self, path: &[Name]) -> Option<Definition> {
        let (krate, rest) = path.split_first()?;
        if *krate != self.krate {
            return None;
        }
        match self.exported(rest)?.meaning {
            Resolved::Local(definition) => Some(definition),
            Resolved::External(_) => None,
        }
    }

    /// What another crate finds under a path from the root.
    fn exported(&self, path: &[Name]) -> Option<Binding> {
        let mut module: &[Name] = &[];
        let (last, modules) = path.split_last()?;
        for name in modules {
            match &self.step(module, name)?.meaning {
                Resolved::Local(definition) => module = definition,
                Resolved::External(_) => return None,
            }
        }
        self.step(module, last).cloned()
    }

    fn step(&self, module: &[Name], name: &Name) -> Option<&Binding> {
        self.scopes.table(module)?.get(name).filter(|binding| is_exported(binding))
    }

    fn search(&mut self) {
        // Each entry is the public path of a module, and the module.
        let mut level: BTreeSet<(Vec<Name>, Definition)> = BTreeSet::from([(Vec::new(), Vec::new())]);
        let mut seen: BTreeSet<Definition> = BTreeSet::new();
        while !level.is_empty() {
            let mut next = BTreeSet::new();
            for (public, module) in level {
                // A module's names are of use once; the first way to it is the shortest.
                if !seen.insert(module.clone()) {
                    continue;
                }
                let table = self.scopes.table(&module).into_iter().flatten();
                for (name, binding) in table.filter(|(_, binding)| is_exported(binding)) {
                    let Resolved::Local(definition) = &binding.meaning else { continue };
                    let reached = [&public[..], std::slice::from_ref(name)].concat();
                    // The levels come in the order of their length, each in that of the alphabet.
                    self.public.entry(definition.clone()).or_insert_with(|| reached.clone());
                    next.insert((reached, definition.clone()));
                }
            }
            level = next;
        }
    }
}

fn is_exported(binding: &Binding) -> bool {
    binding.certain && binding.visibility == Visibility::Public
}
