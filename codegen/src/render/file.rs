//! The one way in which generated files are written: header, module docs, `use` lines, items.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::{GeneratedFile, HEADER, docs};
use crate::{model::TypePath, names};

/// The files rendered so far.
pub(super) struct Files {
    command: String,
    files: BTreeMap<String, String>,
}

impl Files {
    pub fn new(command: &str) -> Self {
        Self { command: command.to_owned(), files: BTreeMap::new() }
    }

    /// Adds a file: its module docs and its items, which take their imports from `uses`.
    pub fn add(&mut self, path: impl Into<String>, docs: &[String], uses: Uses, items: TokenStream) {
        let body = uses.render(items);
        let ast = syn::parse2::<syn::File>(body)
            .unwrap_or_else(|error| unreachable!("a template gives code that does not parse: {error}"));
        let mut text = format!("// {HEADER}\n// Regenerate with `{}`.\n\n", self.command);
        for line in docs {
            text.push_str(format!("//! {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&space_out(&prettyplease::unparse(&ast)));
        self.files.insert(path.into(), text);
    }

    pub fn finish(self) -> Vec<GeneratedFile> {
        self.files.into_iter().map(|(path, text)| GeneratedFile { path, text }).collect()
    }
}

/// The imports of one file. A name that the file defines itself is never imported: it is written
/// with its whole path instead, so that a kind may have any name.
#[derive(Default)]
pub(super) struct Uses {
    own: BTreeSet<String>,
    /// What is imported from the runtime, by its module; its root is the empty one.
    runtime: BTreeMap<&'static str, BTreeSet<&'static str>>,
    others: BTreeSet<String>,
}

impl Uses {
    /// For a file that defines these types.
    pub fn new(own: impl IntoIterator<Item = String>) -> Self {
        Self { own: own.into_iter().collect(), ..Self::default() }
    }

    /// A name of the runtime, with the module that it is in: `Client`, `client::Get`.
    pub fn runtime(&mut self, path: &'static str) -> TokenStream {
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        let ident = ident(name);
        if self.own.contains(name) {
            let module = (!module.is_empty()).then(|| self::ident(module)).into_iter();
            return quote!(::genclient_runtime::#(#module::)*#ident);
        }
        self.runtime.entry(module).or_default().insert(name);
        quote!(#ident)
    }

    /// Any other import, as it stands after `use`.
    pub fn import(&mut self, path: TokenStream) {
        self.others.insert(path.to_string());
    }

    /// A type of the API, through its module: `v1::Network`. `alias` is the name that the module gets.
    pub fn api_type(&mut self, path: &TypePath, alias: &str) -> TokenStream {
        let name = ident(path.name());
        let module = path.module();
        if module.is_empty() {
            return quote!(::#name);
        }
        let alias = ident(alias);
        let names = module.iter().map(|name| ident(name.as_str()));
        match module.last().is_some_and(|last| alias == last.as_str()) && module.len() > 1 {
            true => self.import(quote!(#(#names)::*)),
            false => self.import(quote!(#(#names)::* as #alias)),
        }
        quote!(#alias::#name)
    }

    fn render(self, items: TokenStream) -> TokenStream {
        let others = self.others.iter().map(|path| {
            let path: TokenStream =
                path.parse().unwrap_or_else(|error| unreachable!("an import is a path: {error}"));
            quote!(use #path;)
        });
        let runtime = self.runtime.iter().map(|(module, names)| {
            let module = (!module.is_empty()).then(|| ident(module)).into_iter();
            let names = names.iter().map(|name| ident(name));
            quote!(use genclient_runtime::#(#module::)*{#(#names),*};)
        });
        quote! {
            #(#runtime)*
            #(#others)*
            #items
        }
    }
}

/// A type by its whole path.
pub(super) fn type_path(path: &TypePath) -> TokenStream {
    // What k8s-openapi defines is reached through the runtime, which is the one crate that generated
    // code depends on beside the API types.
    let through_runtime =
        path.0.first().is_some_and(|first| ["k8s_openapi", "kube"].contains(&first.as_str()));
    let names = path.0.iter().map(|name| ident(name.as_str()));
    match through_runtime {
        true => quote!(::genclient_runtime::#(#names)::*),
        false => quote!(::#(#names)::*),
    }
}

/// A Rust identifier.
pub(super) fn ident(name: &str) -> Ident {
    match names::is_keyword(name) {
        true => Ident::new_raw(name, Span::call_site()),
        false => Ident::new(name, Span::call_site()),
    }
}

/// A documentation comment of these lines.
pub(super) fn doc<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> TokenStream {
    let lines = lines.into_iter().map(|line| match line.as_ref() {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// A first sentence and, after an empty line, the API type's own documentation.
pub(super) fn doc_with(sentence: &str, docs: &[String]) -> TokenStream {
    let mut lines = vec![sentence.to_owned()];
    if !docs.is_empty() {
        lines.push(String::new());
        lines.extend(docs::for_another_crate(docs));
    }
    doc(lines)
}

/// Puts blank lines between items and between methods, which the formatter leaves out.
fn space_out(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut previous: Option<&str> = None;
    for line in text.lines() {
        if let Some(before) = previous {
            let indent = |line: &str| line.len() - line.trim_start().len();
            let comment = before.trim_start().starts_with("//");
            let ends_item =
                !comment && (before.trim_start() == "}," || before.ends_with(';') || before.ends_with('}'));
            let same_level = indent(before) == indent(line) && indent(line) <= 4;
            let kind = |line: &str| {
                let word = line.trim_start();
                ["use ", "pub use ", "mod ", "pub mod "]
                    .iter()
                    .find(|start| word.starts_with(**start))
                    .copied()
            };
            // The last line of an import that takes several lines is only its bracket.
            let same_kind = kind(line).is_some() && (kind(before) == kind(line) || before == "};");
            let statement = indent(line) == 4 && !starts_item(line);
            if ends_item
                && same_level
                && !same_kind
                && !statement
                && !line.trim().is_empty()
                && line.trim() != "}"
            {
                out.push('\n');
            }
        }
        out.push_str(line);
        out.push('\n');
        previous = Some(line);
    }
    out
}

/// Whether a line can be the first of a method or associated item.
fn starts_item(line: &str) -> bool {
    ["///", "#[", "pub ", "fn ", "async fn ", "const ", "type "]
        .iter()
        .any(|start| line.trim_start().starts_with(start))
}
