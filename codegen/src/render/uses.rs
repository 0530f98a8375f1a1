//! The imports of a generated file.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Item, parse_quote};

use super::file::ident;
use crate::{
    layout::Layout,
    model::{Group, TypePath},
};

/// What imports are sorted by: the path, the name in the file, and the feature.
type Key = (String, String, Option<String>);

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
    /// The feature that the next imports depend on.
    feature: Option<String>,
    /// The imported names by their modules and features.
    names: BTreeMap<(Vec<String>, Option<String>), BTreeSet<String>>,
    /// The imported modules of the API types by the name that they have in the file, with their features.
    modules: BTreeMap<String, (Vec<String>, Option<String>)>,
}

impl<'a> Uses<'a> {
    /// For a file that defines these types.
    pub fn new(layout: &'a Layout, own: impl IntoIterator<Item = String>) -> Self {
        let own = own.into_iter().collect();
        Self { layout, own, feature: None, names: BTreeMap::new(), modules: BTreeMap::new() }
    }

    /// Lets the imports that `add` needs depend on the feature of a group, if it has one.
    pub fn of_group<T>(&mut self, group: &Group, add: impl FnOnce(&mut Self) -> T) -> T {
        self.feature = group.feature.as_ref().map(|feature| feature.name.clone());
        let added = add(self);
        self.feature = None;
        added
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
        let always = (module, None);
        if self.names.get(&always).is_none_or(|names| !names.contains(&name)) {
            self.names.entry((always.0, self.feature.clone())).or_default().insert(name);
        }
        quote!(#ident)
    }

    /// A type of the API, through its module: `v1::Network`. `alias` is the name that the module gets.
    pub fn api_type(&mut self, path: &TypePath, alias: &str) -> TokenStream {
        let mut module = self.whole_names(path);
        module.pop();
        let found = (module, self.feature.clone());
        let taken = self.modules.get(alias).is_some_and(|other| *other != found);
        if found.0.is_empty() || taken {
            return whole_path(&self.whole_names(path));
        }
        self.modules.insert(alias.to_owned(), found);
        let (alias, name) = (ident(alias), ident(path.name()));
        quote!(#alias::#name)
    }

    /// Imports a type from any crate by its full path.
    pub fn other_type(&mut self, path: &TypePath) -> TokenStream {
        let names = self.whole_names(path);
        // An import hides what the prelude has, which the templates use.
        match names.len() < 2 || PRELUDE.contains(&path.name()) {
            true => whole_path(&names),
            false => self.import(&names.join("::")),
        }
    }

    /// The whole path of a type, for a link in the documentation.
    pub fn whole(&self, path: &TypePath) -> TokenStream {
        let idents = self.whole_names(path).into_iter().map(|name| ident(&name)).collect::<Vec<_>>();
        quote!(#(#idents)::*)
    }

    /// The path of a module of the runtime, as text.
    pub fn runtime_path(&self, module: &str) -> String {
        format!("{}::{module}", self.layout.runtime)
    }

    /// Whether a name means something else in the file.
    fn is_taken(&self, name: &str, module: &[String]) -> bool {
        let same = |other: &(Vec<String>, Option<String>)| {
            other.0 == module && (other.1.is_none() || other.1 == self.feature)
        };
        let mut others = self.names.iter().filter(|(other, _)| !same(other));
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
        let mut groups: [BTreeMap<Key, Item>; 3] = Default::default();
        let mut add = |path: &[String], alias: &str, feature: &Option<String>, tree: TokenStream| {
            let group = match path.first().map(String::as_str) {
                Some("std") => 0,
                Some("crate" | "self" | "super") => 2,
                _ => 1,
            };
            let condition = feature.as_ref().map(|feature| quote!(#[cfg(feature = #feature)]));
            let item = parse_quote!(#condition use #tree;);
            groups[group].insert((path.join("::"), alias.to_owned(), feature.clone()), item);
        };
        for ((module, feature), names) in &self.names {
            let path = module.iter().map(|name| ident(name));
            let names: Vec<_> = names.iter().map(|name| ident(name)).collect();
            match &names[..] {
                [name] => add(module, "", feature, quote!(#(#path::)*#name)),
                names => add(module, "", feature, quote!(#(#path::)*{#(#names),*})),
            }
        }
        for (alias, (module, feature)) in &self.modules {
            let path = module.iter().map(|name| ident(name));
            let alias_ident = ident(alias);
            match module.len() > 1 && module.last() == Some(alias) {
                true => add(module, alias, feature, quote!(#(#path)::*)),
                false => add(module, alias, feature, quote!(#(#path)::* as #alias_ident)),
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
