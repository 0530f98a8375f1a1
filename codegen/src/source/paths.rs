//! The path under which another crate reaches a type.
//!
//! A breadth-first search over what a crate exports: from its root through public modules and
//! `pub use`, renamed or not, of a path or of all names of a module. The place of the definition
//! wins where it is reachable itself; else the shortest path, and of those the first in the alphabet.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syn::{Item, UseTree, Visibility};

use super::{Module, SourceCrate};

/// A module or type of the crate, by the names that lead to its definition.
type Definition = Vec<String>;

/// Where every type of a crate can be reached from outside.
#[derive(Debug)]
pub(crate) struct PublicPaths<'a> {
    krate: &'a SourceCrate,
    modules: HashMap<Definition, &'a Module>,
    public: BTreeMap<Definition, Vec<String>>,
}

/// One name that a `use` brings in.
struct Import {
    /// The name it has here; `None` for a glob.
    name: Option<String>,
    /// The path as written, without the leading `::`.
    path: Vec<String>,
    public: bool,
}

/// What a path within the crate, or into another one, names.
pub(crate) enum Resolved {
    /// A type or module of this crate.
    Local(Definition),
    /// A path that starts with the name of another crate.
    External(Vec<String>),
}

impl<'a> PublicPaths<'a> {
    pub fn of(krate: &'a SourceCrate) -> Self {
        let modules = krate.root.walk().map(|module| (module.path.clone(), module)).collect();
        let mut paths = Self { krate, modules, public: BTreeMap::new() };
        paths.search();
        paths
    }

    /// The path of a type, starting with the crate's name.
    pub fn path(&self, definition: &[String]) -> Option<Vec<String>> {
        let found = self.public.get(definition)?;
        Some([std::slice::from_ref(&self.krate.name), found].concat())
    }

    /// What a path means in a module: its own names first, then its imports, then other crates.
    pub fn resolve(&self, module: &[String], path: &[String]) -> Option<Resolved> {
        self.resolve_within(module, path, &mut BTreeSet::new())
    }

    fn search(&mut self) {
        // Each entry is a module and the public path that leads to its names.
        let mut level: BTreeSet<(Vec<String>, Definition)> = BTreeSet::from([(Vec::new(), Vec::new())]);
        let mut seen: BTreeSet<Definition> = BTreeSet::new();
        while !level.is_empty() {
            let mut next = BTreeSet::new();
            let mut glob_queue: Vec<(Vec<String>, Definition)> = level.into_iter().collect();
            let mut at = 0;
            while let Some((public, definition)) = glob_queue.get(at).cloned() {
                at += 1;
                // A module's names are of use once; the first way to it is the shortest.
                if !seen.insert(definition.clone()) {
                    continue;
                }
                let Some(module) = self.modules.get(&definition).copied() else { continue };
                for name in types(module, true) {
                    let own = [&definition[..], std::slice::from_ref(&name)].concat();
                    let reached = [&public[..], std::slice::from_ref(&name)].concat();
                    self.offer(own, reached);
                }
                for child in module.children.iter().filter(|child| child.public) {
                    let name = child.path.last().cloned().unwrap_or_default();
                    next.insert(([&public[..], &[name]].concat(), child.path.clone()));
                }
                for import in imports(module).into_iter().filter(|import| import.public) {
                    let Some(Resolved::Local(target)) =
                        self.resolve_within(&definition, &import.path, &mut BTreeSet::new())
                    else {
                        continue;
                    };
                    let is_module = self.modules.contains_key(&target);
                    match import.name {
                        None if is_module => glob_queue.push((public.clone(), target)),
                        None => {}
                        Some(name) => {
                            let reached = [&public[..], &[name]].concat();
                            match is_module {
                                true => {
                                    next.insert((reached, target));
                                }
                                false => self.offer(target, reached),
                            }
                        }
                    }
                }
            }
            level = next;
        }
    }

    fn offer(&mut self, definition: Definition, reached: Vec<String>) {
        let better = match self.public.get(&definition) {
            None => true,
            Some(_) if reached == definition => true,
            Some(known) if *known == definition => false,
            Some(known) => (reached.len(), &reached) < (known.len(), known),
        };
        if better {
            self.public.insert(definition, reached);
        }
    }

    fn resolve_within(
        &self,
        module: &[String],
        path: &[String],
        visiting: &mut BTreeSet<(Definition, Vec<String>)>,
    ) -> Option<Resolved> {
        // Imports can name each other in a circle; such a path leads nowhere.
        if !visiting.insert((module.to_vec(), path.to_vec())) {
            return None;
        }
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.descend(Vec::new(), rest, visiting),
            "self" => self.descend(module.to_vec(), rest, visiting),
            "super" => {
                let parent = module[..module.len().checked_sub(1)?].to_vec();
                match rest.first().map(String::as_str) {
                    Some("super") => self.resolve_within(&parent, rest, visiting),
                    _ => self.descend(parent, rest, visiting),
                }
            }
            _ => match self.descend(module.to_vec(), path, visiting) {
                Some(found) => Some(found),
                // A bare first name that is nothing of this crate's is another crate's.
                None if rest.is_empty() => None,
                None => Some(Resolved::External(path.to_vec())),
            },
        }
    }

    /// Follows the names from a module on.
    fn descend(
        &self,
        from: Definition,
        path: &[String],
        visiting: &mut BTreeSet<(Definition, Vec<String>)>,
    ) -> Option<Resolved> {
        let Some((name, rest)) = path.split_first() else { return Some(Resolved::Local(from)) };
        let module = self.modules.get(&from)?;
        let own = [&from[..], std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&own) {
            return self.descend(own, rest, visiting);
        }
        if rest.is_empty() && types(module, false).any(|known| known == *name) {
            return Some(Resolved::Local(own));
        }
        let imports = imports(module);
        for import in imports.iter().filter(|import| import.name.as_ref() == Some(name)) {
            let full = [&import.path[..], rest].concat();
            // `use k8s_openapi;` imports a crate under its own name.
            if full == path {
                continue;
            }
            if let Some(found) = self.resolve_within(&from, &full, visiting) {
                return Some(found);
            }
        }
        imports.iter().filter(|import| import.name.is_none()).find_map(|import| {
            match self.resolve_within(&from, &import.path, visiting)? {
                Resolved::Local(target) if target != from => self.descend(target, path, visiting),
                _ => None,
            }
        })
    }
}

/// The names of the types that a module defines.
fn types(module: &Module, public_only: bool) -> impl Iterator<Item = String> {
    module.items.iter().filter_map(move |item| {
        let (vis, ident) = match item {
            Item::Struct(item) => (&item.vis, &item.ident),
            Item::Enum(item) => (&item.vis, &item.ident),
            Item::Union(item) => (&item.vis, &item.ident),
            Item::Type(item) => (&item.vis, &item.ident),
            _ => return None,
        };
        (!public_only || matches!(vis, Visibility::Public(_))).then(|| ident.to_string())
    })
}

fn imports(module: &Module) -> Vec<Import> {
    let mut imports = Vec::new();
    for item in &module.items {
        if let Item::Use(item) = item {
            let public = matches!(item.vis, Visibility::Public(_));
            collect(&item.tree, &mut Vec::new(), public, &mut imports);
        }
    }
    imports
}

fn collect(tree: &UseTree, prefix: &mut Vec<String>, public: bool, out: &mut Vec<Import>) {
    let mut add = |name: Option<String>, last: Option<String>| {
        let path = prefix.iter().cloned().chain(last).collect();
        out.push(Import { name, path, public });
    };
    match tree {
        UseTree::Name(name) if name.ident == "self" => add(prefix.last().cloned(), None),
        UseTree::Name(name) => add(Some(name.ident.to_string()), Some(name.ident.to_string())),
        UseTree::Rename(rename) if rename.ident == "self" => add(Some(rename.rename.to_string()), None),
        UseTree::Rename(rename) => add(Some(rename.rename.to_string()), Some(rename.ident.to_string())),
        UseTree::Glob(_) => add(None, None),
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            collect(&path.tree, prefix, public, out);
            prefix.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, prefix, public, out);
            }
        }
    }
}
