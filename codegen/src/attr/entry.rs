//! The shape of an attribute: entries between commas, each a word, `word = value` or `word(…)`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Lit, LitBool, LitInt, LitStr, Token,
    ext::IdentExt,
    parse::{ParseStream, Parser},
    spanned::Spanned as _,
};

use crate::diag::{Ctxt, Diagnostic};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// Where it was written.
    pub span: Span,
    /// The value.
    pub value: T,
}

/// One entry of an attribute.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub name: Ident,
    pub value: Value,
}

/// What follows the name of an entry.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Nothing.
    Flag,
    /// `= …`
    Assign(TokenStream),
    /// `(…)`
    Args(TokenStream),
}

/// Cuts a list of tokens at its commas and reads each piece as an entry; a piece that is none is an
/// error of its own and leaves the others alone.
pub(crate) fn entries(cx: &Ctxt, tokens: TokenStream) -> Vec<Entry> {
    pieces(tokens).into_iter().filter_map(|piece| cx.ok(Entry::parse.parse2(piece))).collect()
}

/// The tokens between the commas, without a last empty piece.
fn pieces(tokens: TokenStream) -> Vec<TokenStream> {
    let mut pieces = Vec::new();
    let mut current = TokenStream::new();
    for tree in tokens {
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                // An empty piece is kept with its comma, so that the error has a place.
                if current.is_empty() {
                    current.extend([tree]);
                }
                pieces.push(std::mem::take(&mut current));
            }
            _ => current.extend([tree]),
        }
    }
    if !current.is_empty() {
        pieces.push(current);
    }
    pieces
}

impl ToTokens for Entry {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let name = &self.name;
        tokens.extend(match &self.value {
            Value::Flag => quote!(#name),
            Value::Assign(value) => quote!(#name = #value),
            Value::Args(args) => quote!(#name(#args)),
        });
    }
}

impl Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(syn::Ident::peek_any) {
            return Err(input.error("expected the name of an attribute"));
        }
        let name = Ident::parse_any(input)?;
        let value = if input.is_empty() {
            Value::Flag
        } else if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            if input.is_empty() {
                return Err(syn::Error::new(name.span(), format!("`{name} =` needs a value")));
            }
            return Ok(Self { name, value: Value::Assign(input.parse()?) });
        } else {
            match input.parse::<TokenTree>()? {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    Value::Args(group.stream())
                }
                other => {
                    return Err(syn::Error::new(
                        other.span(),
                        format!("expected `=`, `(` or `,` after `{name}`"),
                    ));
                }
            }
        };
        if !input.is_empty() {
            return Err(input.error(format!("expected `,` after `{name}`")));
        }
        Ok(Self { name, value })
    }

    /// The place to mark when the entry as a whole is wrong.
    pub fn span(&self) -> Span {
        self.name.span()
    }

    fn wrong(&self, expected: &str) -> Diagnostic {
        Diagnostic::new(self.span(), format!("`{}` is written `{expected}`", self.name))
    }

    /// A word that takes no value.
    pub fn flag(&self, cx: &Ctxt) -> Option<Span> {
        match &self.value {
            Value::Flag => Some(self.span()),
            _ => {
                let name = self.name.to_string();
                cx.error(self.wrong(&name).help(format!("`{name}` takes no value")));
                None
            }
        }
    }

    /// `word = "text"`.
    pub fn string(&self, cx: &Ctxt) -> Option<Spanned<String>> {
        match &self.value {
            Value::Assign(tokens) => match syn::parse2::<LitStr>(tokens.clone()) {
                Ok(text) => Some(Spanned { span: text.span(), value: text.value() }),
                Err(_) => {
                    cx.error(Diagnostic::new(
                        tokens.span(),
                        format!("expected a string, as in `{} = \"…\"`", self.name),
                    ));
                    None
                }
            },
            _ => {
                cx.error(self.wrong(&format!("{} = \"…\"", self.name)));
                None
            }
        }
    }

    /// `word = "text"` where the text must follow a rule.
    pub fn checked(
        &self,
        cx: &Ctxt,
        what: &str,
        rule: impl Fn(&str) -> Result<(), String>,
    ) -> Option<Spanned<String>> {
        let text = self.string(cx)?;
        match rule(&text.value) {
            Ok(()) => Some(text),
            Err(why) => {
                cx.error(Diagnostic::new(
                    text.span,
                    format!("`{}` is not a valid {what}: {why}", text.value),
                ));
                None
            }
        }
    }

    /// `word`, `word = true` or `word = false`.
    pub fn bool(&self, cx: &Ctxt) -> Option<Spanned<bool>> {
        match &self.value {
            Value::Flag => Some(Spanned { span: self.span(), value: true }),
            Value::Assign(tokens) => match syn::parse2::<LitBool>(tokens.clone()) {
                Ok(flag) => Some(Spanned { span: flag.span(), value: flag.value }),
                Err(_) => {
                    cx.error(Diagnostic::new(
                        tokens.span(),
                        format!("expected `true` or `false`, as in `{} = false`", self.name),
                    ));
                    None
                }
            },
            Value::Args(_) => {
                cx.error(self.wrong(&format!("{0}` or `{0} = false", self.name)));
                None
            }
        }
    }

    /// `word = 1`.
    pub fn int(&self, cx: &Ctxt) -> Option<i32> {
        let Value::Assign(tokens) = &self.value else {
            cx.error(self.wrong(&format!("{} = 1", self.name)));
            return None;
        };
        // A minus sign is a token of its own.
        let negative =
            matches!(tokens.clone().into_iter().next(), Some(TokenTree::Punct(p)) if p.as_char() == '-');
        let digits: TokenStream = tokens.clone().into_iter().skip(usize::from(negative)).collect();
        let number = syn::parse2::<LitInt>(digits).and_then(|number| number.base10_parse::<i32>());
        match number {
            Ok(number) => Some(if negative { -number } else { number }),
            Err(_) => {
                cx.error(Diagnostic::new(
                    tokens.span(),
                    format!("expected a number, as in `{} = 1`", self.name),
                ));
                None
            }
        }
    }

    /// `word(…)`, with an example of what stands between the parentheses.
    pub fn args(&self, cx: &Ctxt, example: &str) -> Option<TokenStream> {
        match &self.value {
            Value::Args(tokens) => Some(tokens.clone()),
            _ => {
                cx.error(self.wrong(&format!("{}({example})", self.name)));
                None
            }
        }
    }

    /// `word("key", "value")`.
    pub fn pair(&self, cx: &Ctxt) -> Option<(Spanned<String>, Spanned<String>)> {
        let example = "\"key\", \"value\"";
        let pieces = pieces(self.args(cx, example)?);
        let strings: Option<Vec<_>> = pieces
            .iter()
            .map(|piece| match syn::parse2::<Lit>(piece.clone()) {
                Ok(Lit::Str(text)) => Some(Spanned { span: text.span(), value: text.value() }),
                _ => None,
            })
            .collect();
        match strings.map(<[_; 2]>::try_from) {
            Some(Ok([key, value])) => Some((key, value)),
            _ => {
                cx.error(self.wrong(&format!("{}({example})", self.name)));
                None
            }
        }
    }

    /// `word(a, b)`: identifiers.
    pub fn words(&self, cx: &Ctxt, example: &str) -> Option<Vec<Ident>> {
        let mut words = Vec::new();
        let pieces = pieces(self.args(cx, example)?);
        let empty = pieces.is_empty();
        for piece in pieces {
            let span = piece.to_token_stream().span();
            match Ident::parse_any.parse2(piece) {
                Ok(word) => words.push(word),
                Err(_) => cx.error(
                    Diagnostic::new(span, "expected a word")
                        .help(format!("write `{}({example})`", self.name)),
                ),
            }
        }
        // Where nothing that is left is a word, that has been told, and is not the same as nothing.
        (empty || !words.is_empty()).then_some(words)
    }
}
