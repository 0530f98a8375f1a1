//! `#[serde(…)]` on an API type and its fields, as far as the derives must know it.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::{LitStr, spanned::Spanned as _};

use super::entry::{Entry, Spanned, Value, entries};
use crate::diag::{Ctxt, Diagnostic};

/// What every `#[serde(…)]` of one struct or field says.
#[derive(Clone, Debug, Default)]
pub struct SerdeAttrs {
    entries: Vec<Entry>,
}

/// What an attribute says for writing and for reading, which can differ.
#[derive(Clone, Debug, Default)]
pub struct BothWays {
    /// For `Serialize`.
    pub write: Option<Spanned<String>>,
    /// For `Deserialize`.
    pub read: Option<Spanned<String>>,
}

impl SerdeAttrs {
    /// Reads the attributes. Their meaning is serde's to check; only their shape is checked here.
    pub(crate) fn read(cx: &Ctxt, attrs: &[syn::Attribute]) -> Self {
        let mut all = Vec::new();
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            match &attr.meta {
                syn::Meta::List(list) => all.extend(entries(cx, list.tokens.clone())),
                _ => cx.error(
                    Diagnostic::new(attr.span(), "`serde` is written `#[serde(…)]`")
                        .help("put what it should say between parentheses"),
                ),
            }
        }
        Self { entries: all }
    }

    /// Whether there is no attribute at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where this word stands, if it does.
    pub fn says(&self, word: &str) -> Option<Span> {
        self.entry(word).map(Entry::span)
    }

    /// The text of `word = "text"`.
    pub fn text(&self, word: &str) -> Option<LitStr> {
        self.entry(word).and_then(literal)
    }

    /// Every text of `word = "text"`.
    pub(crate) fn texts(&self, word: &str) -> impl Iterator<Item = Spanned<String>> {
        self.entries.iter().filter(move |entry| entry.name == word).filter_map(literal).map(spanned)
    }

    /// The texts of `word = "text"` or `word(serialize = "text", deserialize = "text")`.
    pub(crate) fn both_ways(&self, word: &str) -> BothWays {
        let Some(entry) = self.entry(word) else { return BothWays::default() };
        match &entry.value {
            Value::Flag => BothWays::default(),
            Value::Assign(_) => {
                let text = literal(entry).map(spanned);
                BothWays { write: text.clone(), read: text }
            }
            Value::Args(tokens) => {
                // What does not parse is serde's to report.
                let ignored = Ctxt::new();
                let inner = Self { entries: entries(&ignored, tokens.clone()) };
                let _ = ignored.check();
                BothWays {
                    write: inner.text("serialize").map(spanned),
                    read: inner.text("deserialize").map(spanned),
                }
            }
        }
    }

    /// The attributes without these words, as they were written.
    pub fn without(&self, words: &[&str]) -> impl Iterator<Item = TokenStream> {
        self.entries
            .iter()
            .filter(move |entry| !words.iter().any(|word| entry.name == word))
            .map(ToTokens::to_token_stream)
    }

    fn entry(&self, word: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == word)
    }
}

fn literal(entry: &Entry) -> Option<LitStr> {
    match &entry.value {
        Value::Assign(tokens) => syn::parse2(tokens.clone()).ok(),
        _ => None,
    }
}

fn spanned(text: LitStr) -> Spanned<String> {
    Spanned { span: text.span(), value: text.value() }
}
