//! The imports of a generated file.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, parse_quote};

use super::file::ident;
use crate::{layout::Layout, model::TypePath};

/// What needs no import, and what an import would hide.
const PRELUDE: [&str; 16] = [
    "Box", "Clone", "Debug", "Default", "Drop", "Err", "From", "Into", "Iterator", "None", "Ok", "Option",
    "Result", "Some", "String", "Vec",
];

/// The imports of one file. A name that the file defines itself is never imported: it is written
/// with its whole path instead, so that a kind may have any name.
pub(super) struct Uses<'a> {
    layout: &'a Layout,
    own: BTreeSet<String>,
    /// The imported names by their modules.
    names: BTreeMap<Vec<String>, BTreeSet<String>>,
    /// The imported modules of the API types by the name that they have in the file.
    modules: BTreeMap<String, Vec<String>>,
}

impl<'a> Uses<'a> {
    /// For a file that defines these types.
    pub fn new(layout: &'a Layout, own: impl IntoIterator<Item = String>) -> Self {
        let own = own.into_iter().collect();
        Self { layout, own, names: BTreeMap::new(), modules: BTreeMap::new() }
    }

    /// A name of the runtime, with the module that it is in: `Client`, `client::Get`.
    pub fn runtime(&mut self, path: &str) -> TokenStream {
        self.import(&format!("{}::{path}", self.layout.runtime))
    }

    /// A name of the generated code itself, from its root: `clientset::Clientset`.
    pub fn generated(&mut self, path: &str) -> TokenStream {
        self.import(&self.layout.within(path))
    }

    /// A name by the path that stands after `use`.
    pub fn import(&mut self, path: &str) -> TokenStream {
        let mut module: Vec<String> = path.split("::").map(str::to_owned).collect();
        let name = module.pop().unwrap_or_default();
        if self.is_taken(&name, &module) {
            module.push(name);
            return whole_path(&module);
        }
        let ident = ident(&name);
        self.names.entry(module).or_default().insert(name);
        quote!(#ident)
    }

    /// A type of the API, through its module: `v1::Network`. `alias` is the name that the module gets.
    pub fn api_type(&mut self, path: &TypePath, alias: &str) -> TokenStream {
        let module = self.layout.seen_from_here(path.module());
        let taken = self.modules.get(alias).is_some_and(|other| *other != module);
        if module.is_empty() || taken {
            return whole_path(&self.whole_names(path));
        }
        self.modules.insert(alias.to_owned(), module);
        let (alias, name) = (ident(alias), ident(path.name()));
        quote!(#alias::#name)
    }

    /// A type that somebody else has named, wherever it is.
    pub fn other_type(&mut self, path: &TypePath) -> TokenStream {
        let names = self.whole_names(path);
        // An import hides what the prelude has, which the templates use.
        match names.len() < 2 || PRELUDE.contains(&path.name()) {
            true => whole_path(&names),
            false => self.import(&names.join("::")),
        }
    }

    /// Whether a name means something else in the file.
    fn is_taken(&self, name: &str, module: &[String]) -> bool {
        let mut others = self.names.iter().filter(|(other, _)| *other != module);
        self.own.contains(name) || others.any(|(_, names)| names.contains(name))
    }

    fn whole_names(&self, path: &TypePath) -> Vec<String> {
        let mut names = self.layout.seen_from_here(&path.0);
        // What kube and k8s-openapi define is reached through the runtime, which is the one crate that
        // generated code depends on beside the API types.
        if names.first().is_some_and(|first| first == "k8s_openapi" || first == "kube") {
            names.splice(0..0, self.layout.runtime.split("::").map(str::to_owned));
        }
        names
    }

    /// The imports as items: the standard library's, those of other crates, those of this crate.
    pub fn items(self) -> Vec<Vec<Item>> {
        let mut groups: [BTreeMap<(String, String), Item>; 3] = Default::default();
        let mut add = |path: &[String], alias: &str, item: Item| {
            let group = match path.first().map(String::as_str) {
                Some("std") => 0,
                Some("crate" | "self" | "super") => 2,
                _ => 1,
            };
            groups[group].insert((path.join("::"), alias.to_owned()), item);
        };
        for (module, names) in &self.names {
            let path = module.iter().map(|name| ident(name));
            let names: Vec<_> = names.iter().map(|name| ident(name)).collect();
            match &names[..] {
                [name] => add(module, "", parse_quote!(use #(#path::)*#name;)),
                names => add(module, "", parse_quote!(use #(#path::)*{#(#names),*};)),
            }
        }
        for (alias, module) in &self.modules {
            let path = module.iter().map(|name| ident(name));
            let alias_ident = ident(alias);
            match module.len() > 1 && module.last() == Some(alias) {
                true => add(module, alias, parse_quote!(use #(#path)::*;)),
                false => add(module, alias, parse_quote!(use #(#path)::* as #alias_ident;)),
            }
        }
        let groups = groups.into_iter().map(|group| group.into_values().collect());
        groups.filter(|group: &Vec<Item>| !group.is_empty()).collect()
    }
}

fn whole_path(names: &[String]) -> TokenStream {
    let idents = names.iter().map(|name| ident(name));
    match names.first().map(String::as_str) {
        Some("crate" | "self" | "super") => quote!(#(#idents)::*),
        _ => quote!(::#(#idents)::*),
    }
}
