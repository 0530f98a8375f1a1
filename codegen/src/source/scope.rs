//! What the names in each module of a crate mean, as the compiler resolves them.
//!
//! Only the type namespace counts, where modules and types are:
//!
//! - A name that a module defines, or imports by itself, hides the same name from a glob. An import whose
//!   target cannot be found here, because a macro makes it, hides it too.
//! - A glob brings in what is visible to it. Two globs with different things under one name make the
//!   name ambiguous.
//! - A name passes on to other crates only if every step on the way is `pub`.
//!
//! Imports refer to each other in any order and in circles, so the tables of all modules are filled in
//! rounds until a round changes nothing. What is ambiguous, or depends on a condition or on a macro,
//! stays in the tables and is not [certain](Binding::certain).

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::Item;

use super::{
    Condition, Configured, Module, SourceCrate,
    import::{Import, imports},
};
use crate::{decl::CustomResourceDecl, names::Name};

/// A module or type of the crate, by the names that lead to its definition.
pub(super) type Definition = Vec<Name>;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resolved {
    /// A type or module of this crate.
    Local(Definition),
    /// A path that starts with the name of another crate.
    External(Vec<Name>),
}

/// Who sees a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Visibility {
    /// Other crates too.
    Public,
    /// This module and those in it.
    Within(Definition),
}

impl Visibility {
    /// The visibility that is written in a module.
    pub fn of(written: &syn::Visibility, module: &[Name]) -> Self {
        match written {
            syn::Visibility::Public(_) => Self::Public,
            syn::Visibility::Restricted(restricted) => {
                let mut within = module.to_vec();
                for (i, segment) in restricted.path.segments.iter().enumerate() {
                    match segment.ident.to_string().as_str() {
                        "self" => {}
                        "super" => drop(within.pop()),
                        "crate" => within.clear(),
                        // The edition of 2015 leaves `crate` out.
                        _ if i == 0 => within = vec![Name::from(&segment.ident)],
                        _ => within.push(Name::from(&segment.ident)),
                    }
                }
                Self::Within(within)
            }
            syn::Visibility::Inherited => Self::Within(module.to_vec()),
        }
    }

    fn includes(&self, module: &[Name]) -> bool {
        match self {
            Self::Public => true,
            Self::Within(within) => module.starts_with(within),
        }
    }

    fn narrower(self, other: Self) -> Self {
        if self.depth() >= other.depth() { self } else { other }
    }

    fn wider(self, other: Self) -> Self {
        if self.depth() <= other.depth() { self } else { other }
    }

    /// Two visibilities of one name lie on one line from the crate's root.
    fn depth(&self) -> usize {
        match self {
            Self::Public => 0,
            Self::Within(within) => within.len() + 1,
        }
    }
}

/// What a name means in a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binding {
    pub meaning: Resolved,
    pub visibility: Visibility,
    /// Whether the compiler is sure to see the same.
    pub certain: bool,
}

impl Binding {
    fn public(meaning: Resolved) -> Self {
        Self { meaning, visibility: Visibility::Public, certain: true }
    }

    fn is_local(&self) -> bool {
        matches!(self.meaning, Resolved::Local(_))
    }

    /// One name for two things.
    fn or(self, other: Self) -> Self {
        let same = self.meaning == other.meaning;
        Self {
            certain: if same { self.certain || other.certain } else { false },
            visibility: self.visibility.wider(other.visibility),
            meaning: self.meaning,
        }
    }
}

pub(super) type Table = BTreeMap<Name, Binding>;

fn add(table: &mut Table, name: Name, binding: Binding) {
    let binding = match table.remove(&name) {
        Some(other) => other.or(binding),
        None => binding,
    };
    table.insert(name, binding);
}

/// The names of every module of a crate.
#[derive(Debug)]
pub(super) struct Scopes {
    /// What each module defines itself. The variants of an enum are names in it.
    own: BTreeMap<Definition, Table>,
    imports: BTreeMap<Definition, Vec<Import>>,
    /// The functions, constants and macros of each module. Their namespaces are not that of types.
    values: BTreeMap<Definition, BTreeSet<Name>>,
    /// The words of the macros in each module that has some: each may be a type that they define.
    macro_words: BTreeMap<Definition, BTreeSet<Name>>,
    /// Crates under a name that the root gives them, which holds in every module.
    extern_crates: Table,
    /// Whether a `use` starts at the crate's root, as it does in the edition of 2015.
    uses_from_root: bool,
    tables: BTreeMap<Definition, Table>,
}

impl Scopes {
    pub fn of(krate: &SourceCrate) -> Self {
        let mut scopes = Self {
            own: BTreeMap::new(),
            imports: BTreeMap::new(),
            values: BTreeMap::new(),
            macro_words: BTreeMap::new(),
            extern_crates: Table::new(),
            uses_from_root: krate.edition_2015,
            tables: BTreeMap::new(),
        };
        let mut macro_rules = BTreeSet::new();
        for module in krate.root.walk() {
            scopes.define(module, &mut macro_rules);
        }
        for words in scopes.macro_words.values_mut() {
            words.extend(macro_rules.iter().cloned());
        }
        scopes.fill();
        scopes
    }

    /// The names in a module.
    pub fn table(&self, definition: &[Name]) -> Option<&Table> {
        self.tables.get(definition)
    }

    /// What a path in a module means. The path is not that of an import.
    pub fn resolve(&self, module: &[Name], path: &[Name]) -> Option<Binding> {
        let first = path.first()?;
        let table = self.tables.get(module)?;
        let start = table.get(first).or_else(|| self.extern_crates.get(first)).cloned();
        self.follow(module, path, start)
    }

    fn define(&mut self, module: &Module, macro_rules: &mut BTreeSet<Name>) {
        let mut table = Table::new();
        for child in &module.children {
            let Some(name) = child.path.last() else { continue };
            let binding = Binding {
                meaning: Resolved::Local(child.path.clone()),
                visibility: Visibility::of(&child.vis, &module.path),
                certain: child.condition.is_none(),
            };
            add(&mut table, name.clone(), binding);
        }
        for item in &module.items {
            let (attrs, vis, ident) = match item {
                Item::Struct(item) => (&item.attrs, &item.vis, &item.ident),
                Item::Enum(item) => (&item.attrs, &item.vis, &item.ident),
                Item::Union(item) => (&item.attrs, &item.vis, &item.ident),
                Item::Type(item) => (&item.attrs, &item.vis, &item.ident),
                Item::Trait(item) => (&item.attrs, &item.vis, &item.ident),
                Item::TraitAlias(item) => (&item.attrs, &item.vis, &item.ident),
                Item::ExternCrate(item) => (&item.attrs, &item.vis, &item.ident),
                Item::Fn(syn::ItemFn { sig: syn::Signature { ident, .. }, .. })
                | Item::Const(syn::ItemConst { ident, .. })
                | Item::Static(syn::ItemStatic { ident, .. }) => {
                    self.values.entry(module.path.clone()).or_default().insert(Name::from(ident));
                    continue;
                }
                Item::Macro(item) => {
                    if item.mac.path.is_ident("macro_rules") {
                        words(item.mac.tokens.clone(), macro_rules);
                    } else if !is_group_version(&item.mac.path) {
                        let known = self.macro_words.entry(module.path.clone()).or_default();
                        words(item.mac.tokens.clone(), known);
                    }
                    continue;
                }
                Item::Verbatim(tokens) => {
                    words(tokens.clone(), self.macro_words.entry(module.path.clone()).or_default());
                    continue;
                }
                _ => continue,
            };
            let certain = match Condition::of(attrs) {
                Condition::True => true,
                Condition::False => continue,
                Condition::Unknown(_) => false,
            };
            let name = Name::from(ident);
            let definition = [&module.path[..], std::slice::from_ref(&name)].concat();
            let visibility = Visibility::of(vis, &module.path);
            if let Item::ExternCrate(item) = item {
                let meaning = match item.ident == "self" {
                    true => Resolved::Local(Definition::new()),
                    false => Resolved::External(vec![name.clone()]),
                };
                let name = item.rename.as_ref().map_or(name, |(_, rename)| Name::from(rename));
                let binding = Binding { meaning, visibility, certain };
                if module.path.is_empty() {
                    add(&mut self.extern_crates, name.clone(), binding.clone());
                }
                add(&mut table, name, binding);
                continue;
            }
            if let Item::Enum(item) = item {
                let variants = item.variants.iter().map(|variant| Name::from(&variant.ident));
                let variants = variants.map(|variant| {
                    let definition = [&definition[..], std::slice::from_ref(&variant)].concat();
                    (variant, Binding::public(Resolved::Local(definition)))
                });
                self.own.insert(definition.clone(), variants.collect());
            }
            if let Item::Struct(item) = item
                && let Some(root) = kube_root(&item.attrs)
            {
                let definition = [&module.path[..], std::slice::from_ref(&root)].concat();
                let binding =
                    Binding { meaning: Resolved::Local(definition), visibility: visibility.clone(), certain };
                add(&mut table, root, binding);
            }
            add(&mut table, name, Binding { meaning: Resolved::Local(definition), visibility, certain });
        }
        self.own.entry(module.path.clone()).or_insert(table);
        self.imports.entry(module.path.clone()).or_insert_with(|| imports(module));
    }

    /// Fills the tables round by round.
    fn fill(&mut self) {
        self.tables = self.own.clone();
        // Each round settles at least the next import of the longest chain: first what it leads to, then
        // whether that is certain.
        let rounds = 2 * (self.own.len() + self.imports.values().map(Vec::len).sum::<usize>() + 1);
        for _ in 0..rounds {
            let next = self.round();
            if next == self.tables {
                return;
            }
            self.tables = next;
        }
        // Imports that never settle are an error for the compiler; nothing may depend on them.
        let next = self.round();
        for (definition, table) in &mut self.tables {
            for (name, binding) in table {
                binding.certain &= next.get(definition).and_then(|table| table.get(name)) == Some(&*binding);
            }
        }
    }

    fn round(&self) -> BTreeMap<Definition, Table> {
        let table = |definition: &Definition, own: &Table| {
            let mut table = own.clone();
            let Some(imports) = self.imports.get(definition) else { return table };
            let mut globs = Table::new();
            let mut unresolved = BTreeSet::new();
            for import in imports {
                match (self.import(definition, import), &import.name) {
                    (Some(found), Some(name)) => explicit(&mut table, name.clone(), found),
                    (Some(found), None) => self.glob(definition, &found, &mut globs),
                    (None, Some(name)) if !self.is_value(definition, import) => {
                        unresolved.insert(name);
                    }
                    (None, _) => {}
                }
            }
            let words = self.macro_words.get(definition);
            for (name, mut binding) in globs {
                let hidden = unresolved.contains(&name) || words.is_some_and(|words| words.contains(&name));
                binding.certain &= !hidden;
                // What may not be there hides nothing for sure.
                if table.get(&name).is_none_or(|explicit| !explicit.certain) {
                    add(&mut table, name, binding);
                }
            }
            table
        };
        self.own.iter().map(|(definition, own)| (definition.clone(), table(definition, own))).collect()
    }

    /// Whether an import brings in a function, a constant or a macro alone, and so hides no type.
    fn is_value(&self, module: &[Name], import: &Import) -> bool {
        let Some((name, path)) = import.path.split_last() else { return false };
        let Some(Resolved::Local(target)) = self.path(module, import, path).map(|found| found.meaning) else {
            return false;
        };
        let has = |names: &BTreeMap<Definition, BTreeSet<Name>>| {
            names.get(&target).is_some_and(|names| names.contains(name))
        };
        has(&self.values) && !has(&self.macro_words)
    }

    /// What an import leads to, as visible as the import makes it.
    fn import(&self, module: &[Name], import: &Import) -> Option<Binding> {
        let found = self.path(module, import, &import.path)?;
        let visibility = match import.name {
            Some(_) => import.visibility.clone().narrower(found.visibility),
            None => import.visibility.clone(),
        };
        Some(Binding { visibility, certain: found.certain && import.certain, ..found })
    }

    /// What the path of an import, or its first names, mean in a module.
    fn path(&self, module: &[Name], import: &Import, path: &[Name]) -> Option<Binding> {
        let first = path.first()?;
        let extern_crate = || self.extern_crates.get(first);
        let start = match self.uses_from_root {
            true => self.tables.get(&Definition::new())?.get(first).or_else(extern_crate),
            false if import.from_crate => extern_crate(),
            // In `use network::network` the first name is not what this import brings in.
            false if import.name.as_ref() == Some(first) => {
                self.own.get(module)?.get(first).or_else(extern_crate)
            }
            false => self.tables.get(module)?.get(first).or_else(extern_crate),
        };
        self.follow(module, path, start.cloned())
    }

    /// The names that a glob brings into a module.
    fn glob(&self, module: &[Name], found: &Binding, globs: &mut Table) {
        let Resolved::Local(target) = &found.meaning else { return };
        let visible = |binding: &&Binding| binding.visibility.includes(module);
        for (name, binding) in self.tables.get(target).into_iter().flatten() {
            let Some(binding) = Some(binding).filter(visible) else { continue };
            let binding = Binding {
                meaning: binding.meaning.clone(),
                visibility: found.visibility.clone().narrower(binding.visibility.clone()),
                certain: found.certain && binding.certain,
            };
            add(globs, name.clone(), binding);
        }
    }

    /// Follows a path whose first name, if it is no keyword, means `start`, or else another crate.
    fn follow(&self, module: &[Name], path: &[Name], start: Option<Binding>) -> Option<Binding> {
        let mut names = path.iter().peekable();
        let first = names.next()?;
        let mut at = match first.as_str() {
            "crate" => Binding::public(Resolved::Local(Definition::new())),
            "self" | "super" => {
                let mut from = module.to_vec();
                if first.as_str() == "super" {
                    from.pop()?;
                }
                while names.next_if(|name| name.as_str() == "super").is_some() {
                    from.pop()?;
                }
                Binding::public(Resolved::Local(from))
            }
            _ => start.unwrap_or_else(|| Binding::public(Resolved::External(vec![first.clone()]))),
        };
        for name in names {
            at = match at.meaning {
                Resolved::External(mut path) => {
                    path.push(name.clone());
                    Binding { meaning: Resolved::External(path), ..at }
                }
                Resolved::Local(definition) => {
                    let next = self.tables.get(&definition)?.get(name)?.clone();
                    if !next.visibility.includes(module) {
                        return None;
                    }
                    Binding { certain: at.certain && next.certain, ..next }
                }
            };
        }
        Some(at)
    }
}

/// Adds what a module imports by name. Two things of one namespace cannot have one name, so where the
/// other crate's is one of them, it is a function or a macro.
fn explicit(table: &mut Table, name: Name, found: Binding) {
    match table.get(&name) {
        Some(other) if other.is_local() && !found.is_local() => {}
        Some(other) if !other.is_local() && found.is_local() => drop(table.insert(name, found)),
        _ => add(table, name, found),
    }
}

/// The struct that kube's derive writes beside the one with these attributes.
fn kube_root(attrs: &[syn::Attribute]) -> Option<Name> {
    let attrs = Configured::of(attrs).attrs;
    CustomResourceDecl::root_of(&attrs).map(|root| Name::new(&root))
}

/// Whether a macro of this path is `group_version!`.
pub(crate) fn is_group_version(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident == "group_version")
}

/// Every word among the tokens.
fn words(tokens: TokenStream, out: &mut BTreeSet<Name>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(ident) => drop(out.insert(Name::from(&ident))),
            TokenTree::Group(group) => words(group.stream(), out),
            _ => {}
        }
    }
}
