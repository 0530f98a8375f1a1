//! The one way in which generated files are written: header, module docs, imports, items.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::{GeneratedFile, HEADER, format::format, uses::Uses};
use crate::{layout::Layout, model::Group, names};

/// The files rendered so far.
pub(super) struct Files<'a> {
    pub layout: &'a Layout,
    command: &'a str,
    /// Whether each method is compiled where it is used, and not at all where it is not.
    inline: bool,
    files: BTreeMap<String, String>,
}

impl<'a> Files<'a> {
    pub fn new(layout: &'a Layout, command: &'a str, inline: bool) -> Self {
        Self { layout, command, inline, files: BTreeMap::new() }
    }

    /// The imports of a file that defines these types.
    pub fn uses(&self, own: impl IntoIterator<Item = String>) -> Uses<'a> {
        Uses::new(self.layout, own)
    }

    /// Adds a source file: its module docs and its items, which take their imports from `uses`.
    pub fn add(&mut self, file: impl AsRef<str>, docs: &[String], uses: Uses<'_>, items: TokenStream) {
        self.add_at(self.layout.source(file.as_ref()), docs, uses, items);
    }

    /// Adds a file by its path in the package.
    pub fn add_at(&mut self, path: String, docs: &[String], uses: Uses<'_>, items: TokenStream) {
        let mut items = syn::parse2::<syn::File>(items)
            .unwrap_or_else(|error| unreachable!("a template gives code that does not parse: {error}"));
        if self.inline {
            items.items.iter_mut().for_each(inline_methods);
        }
        let mut text = format!("// {HEADER}\n// Regenerate with `{}`.\n\n", self.command);
        for line in docs {
            text.push_str(format!("//! {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
        text.push_str(&format(uses.items(), items.items));
        self.files.insert(path, text);
    }

    pub fn finish(self) -> Vec<GeneratedFile> {
        self.files.into_iter().map(|(path, text)| GeneratedFile { path, text }).collect()
    }
}

/// Lets the methods of an `impl` be compiled where they are used. Each one is an instance of the runtime's
/// generic code, and a program uses a few of the thousands that a large client has.
fn inline_methods(item: &mut syn::Item) {
    let syn::Item::Impl(item) = item else { return };
    for item in &mut item.items {
        if let syn::ImplItem::Fn(method) = item {
            method.attrs.push(syn::parse_quote!(#[inline]));
        }
    }
}

/// A Rust identifier.
pub(super) fn ident(name: &str) -> Ident {
    match names::is_keyword(name) && !matches!(name, "crate" | "self" | "super" | "Self") {
        true => Ident::new_raw(name, Span::call_site()),
        false => Ident::new(name, Span::call_site()),
    }
}

/// The condition under which the code of a group exists, if it has one.
pub(super) fn condition(group: &Group) -> Option<TokenStream> {
    let name = &group.feature.as_ref()?.name;
    Some(quote!(#[cfg(feature = #name)]))
}

/// The condition under which the code of at least one of these groups exists, if it has one.
pub(super) fn any_condition<'g>(groups: impl IntoIterator<Item = &'g Group>) -> Option<TokenStream> {
    let names = groups.into_iter().map(|group| Some(&group.feature.as_ref()?.name));
    match &names.collect::<Option<Vec<_>>>()?[..] {
        [name] => Some(quote!(#[cfg(feature = #name)])),
        names => Some(quote!(#[cfg(any(#(feature = #names),*))])),
    }
}

/// The modules of these groups.
pub(super) fn group_modules<'g>(groups: impl IntoIterator<Item = &'g Group>) -> TokenStream {
    let modules = groups.into_iter().map(|group| {
        let (condition, module) = (condition(group), ident(&group.ident));
        quote!(#condition pub mod #module;)
    });
    quote!(#(#modules)*)
}

/// The text of a path in the documentation.
pub(super) fn link(path: &TokenStream) -> String {
    path.to_string().replace(' ', "")
}

/// A documentation comment of these lines.
pub(super) fn doc<L: AsRef<str>>(lines: impl IntoIterator<Item = L>) -> TokenStream {
    let lines = lines.into_iter().map(|line| match line.as_ref() {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}

/// A first sentence and, after an empty line, the first paragraph of the API type's own documentation.
///
/// The paragraph is left out unless it is plain words: a link, an address or a code block means
/// something else in another crate, or nothing. The sentence leads to the type, which has it all.
pub(super) fn doc_with(sentence: &str, docs: &[String]) -> TokenStream {
    let mut lines = vec![sentence.to_owned()];
    if let Some(paragraph) = plain_paragraph(docs) {
        lines.push(String::new());
        lines.extend(paragraph);
    }
    doc(lines)
}

/// The first paragraph, if there is one and it means the same in any crate.
pub(super) fn plain_paragraph(docs: &[String]) -> Option<Vec<String>> {
    let paragraph: Vec<_> =
        docs.iter().map(String::as_str).take_while(|line| !line.trim().is_empty()).collect();
    let plain = !paragraph.is_empty() && paragraph.iter().all(|line| is_plain(line));
    plain.then(|| paragraph.iter().map(|line| line.trim().to_owned()).collect())
}

/// Whether a line of documentation means the same in any crate.
fn is_plain(line: &str) -> bool {
    let indented = line.starts_with("    ") || line.starts_with('\t');
    let fenced = ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
    // Characters that turn the direction of writing are refused by the compiler.
    let odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let means_more = line.contains(['[', ']', '<', '>']) || line.contains("://");
    !(indented || fenced || means_more || line.contains(odd))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(docs: &str) -> Option<String> {
        let lines: Vec<String> = docs.split('\n').map(str::to_owned).collect();
        let tokens = doc_with("First.", &lines);
        let file: syn::File = syn::parse_quote!(#tokens struct A;);
        let text = prettyplease::unparse(&file);
        text.strip_prefix("/// First.\n///\n").map(|rest| rest.replace("struct A;\n", ""))
    }

    #[test]
    fn the_first_paragraph_is_carried_over() {
        assert_eq!(
            carried("A network.\nOf `cables`.\n\nMore."),
            Some("/// A network.\n/// Of `cables`.\n".into())
        );
    }

    #[test]
    fn what_another_crate_would_take_for_something_else_is_not() {
        for docs in [
            "",
            "[`Spec`] is a link",
            "see https://example.com",
            "<b>bold</b>",
            "    code();",
            "\tcode();",
            "```\ncode();\n```",
            "~~~rust",
            "a\rb",
            "a\u{202e}b",
        ] {
            assert_eq!(carried(docs), None, "{docs:?}");
        }
    }
}
