//! The shape of an attribute: entries between commas, each a word, `word = value` or `word(…)`.

use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Lit, LitBool, LitInt, LitStr, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream, Parser},
    spanned::Spanned as _,
};

use super::rule::Rule;
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

/// Whether none of the others is the same; where one is, that is reported.
pub(super) fn given_once<'a>(
    cx: &Ctxt,
    what: &str,
    text: &Spanned<String>,
    others: impl IntoIterator<Item = &'a Spanned<String>>,
) -> bool {
    let Some(first) = others.into_iter().find(|other| other.value == text.value) else { return true };
    cx.error(
        Diagnostic::new(text.span, format!("the {what} `{}` is given twice", text.value))
            .help("remove one of them")
            .related(first.span, "first given here"),
    );
    false
}

/// Cuts a list of tokens at its commas and reads each piece as an entry; a piece that is none is an
/// error of its own and leaves the others alone.
pub(crate) fn entries(cx: &Ctxt, tokens: TokenStream) -> Vec<Entry> {
    pieces(tokens).into_iter().filter_map(|piece| cx.ok(Entry::parse(piece))).collect()
}

/// The tokens between the commas, without a last empty piece. A comma between the angle brackets of generic arguments
/// separates nothing.
fn pieces(tokens: TokenStream) -> Vec<TokenStream> {
    let mut pieces = Vec::new();
    let mut current = TokenStream::new();
    let (mut depth, mut before) = (0_usize, [' '; 2]);
    for tree in tokens {
        let punct = if let TokenTree::Punct(punct) = &tree { punct.as_char() } else { ' ' };
        match (punct, before) {
            ('<', [':', ':']) => depth += 1,
            ('<', _) if depth > 0 => depth += 1,
            ('>', [_, '-' | '=']) => {}
            ('>', _) => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = [before[1], punct];
        match &tree {
            TokenTree::Punct(punct) if punct.as_char() == ',' && depth == 0 => {
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
    /// What is written after `=`, without the quotes of a string.
    pub fn text(&self) -> String {
        match &self.value {
            Value::Assign(tokens) => match syn::parse2::<LitStr>(tokens.clone()) {
                Ok(text) => text.value(),
                Err(_) => tokens.to_string(),
            },
            Value::Flag | Value::Args(_) => String::new(),
        }
    }

    fn parse(piece: TokenStream) -> Result<Self, Diagnostic> {
        let mut trees = piece.into_iter();
        let name = match trees.next() {
            Some(TokenTree::Ident(name)) => name,
            // What a macro puts in as a whole is in a group without delimiters.
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
                return Self::parse(group.stream().into_iter().chain(trees).collect());
            }
            other => {
                let span = other.map_or_else(Span::call_site, |tree| tree.span());
                return Err(Diagnostic::new(span, "expected the name of an attribute").help(
                    "write attributes as `name`, `name = value` or `name(…)`, with commas between them",
                ));
            }
        };
        let value = match trees.next() {
            None => Value::Flag,
            Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {
                let value: TokenStream = trees.by_ref().collect();
                if value.is_empty() {
                    return Err(Diagnostic::new(name.span(), format!("`{name} =` needs a value"))
                        .help("write a value after `=`"));
                }
                Value::Assign(value)
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => {
                Value::Args(group.stream())
            }
            Some(other) => {
                return Err(Diagnostic::new(
                    other.span(),
                    format!("expected `=`, `(` or `,` after `{name}`"),
                )
                .help("put a comma between two attributes"));
            }
        };
        if let Some(more) = trees.next() {
            return Err(Diagnostic::new(more.span(), format!("expected `,` after `{name}`"))
                .help("put a comma between two attributes"));
        }
        Ok(Self { name, value })
    }

    /// The place to mark when the entry as a whole is wrong.
    pub fn span(&self) -> Span {
        self.name.span()
    }

    /// Reports that the entry has another form than the one which the help shows.
    pub fn wrong_form(&self, cx: &Ctxt, form: &str) {
        let name = &self.name;
        let message = match &self.value {
            Value::Flag => format!("`{name}` needs a value"),
            Value::Assign(_) => format!("`{name}` takes nothing after `=`"),
            Value::Args(_) => format!("`{name}` takes nothing between parentheses"),
        };
        cx.error(Diagnostic::new(self.span(), message).help(format!("write `{form}`")));
    }

    /// The value after `=`, which must be a `T`.
    fn assigned<T: Parse>(&self, cx: &Ctxt, what: &str, form: &str) -> Option<T> {
        let Value::Assign(tokens) = &self.value else {
            self.wrong_form(cx, form);
            return None;
        };
        let parsed = syn::parse2::<T>(tokens.clone()).ok();
        if parsed.is_none() {
            cx.error(
                Diagnostic::new(tokens.span(), format!("the value of `{}` must be {what}", self.name))
                    .help(format!("write `{form}`")),
            );
        }
        parsed
    }

    /// A word that takes no value.
    pub fn flag(&self, cx: &Ctxt) -> Option<Span> {
        if !matches!(self.value, Value::Flag) {
            self.wrong_form(cx, &self.name.to_string());
            return None;
        }
        Some(self.span())
    }

    /// `word = "text"`.
    pub fn string(&self, cx: &Ctxt) -> Option<Spanned<String>> {
        let text: LitStr = self.assigned(cx, "a string", &format!("{} = \"…\"", self.name))?;
        Some(Spanned { span: text.span(), value: text.value() })
    }

    /// `word = "text"` where the text must follow a rule.
    pub(super) fn checked(&self, cx: &Ctxt, rule: &Rule) -> Option<Spanned<String>> {
        let text = self.string(cx)?;
        let Err(why) = (rule.check)(&text.value) else { return Some(text) };
        let shown = text.value.replace('\n', "\\n");
        cx.error(
            Diagnostic::new(text.span, format!("`{shown}` is not a valid {}: {why}", rule.what))
                .help(rule.help),
        );
        None
    }

    /// `word`, `word = true` or `word = false`.
    pub fn bool(&self, cx: &Ctxt) -> Option<Spanned<bool>> {
        if matches!(self.value, Value::Flag) {
            return Some(Spanned { span: self.span(), value: true });
        }
        let form = format!("{0}` or `{0} = false", self.name);
        let flag: LitBool = self.assigned(cx, "`true` or `false`", &form)?;
        Some(Spanned { span: flag.span(), value: flag.value })
    }

    /// `word = 1`.
    pub fn int(&self, cx: &Ctxt) -> Option<i32> {
        let number: Number = self.assigned(cx, "a 32-bit integer", &format!("{} = 1", self.name))?;
        Some(number.0)
    }

    /// `word(…)`, with an example of what stands between the parentheses.
    pub fn args(&self, cx: &Ctxt, example: &str) -> Option<TokenStream> {
        match &self.value {
            Value::Args(tokens) => Some(tokens.clone()),
            _ => {
                self.wrong_form(cx, &format!("{}({example})", self.name));
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
        let Some(Ok([key, value])) = strings.map(<[_; 2]>::try_from) else {
            cx.error(
                Diagnostic::new(
                    self.span(),
                    format!("`{}` needs a key and a value, both strings", self.name),
                )
                .help(format!("write `{}({example})`", self.name)),
            );
            return None;
        };
        Some((key, value))
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

/// A whole number, perhaps with a minus sign, which is a token of its own.
struct Number(i32);

impl Parse for Number {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let minus: Option<Token![-]> = input.parse()?;
        let digits = input.parse::<LitInt>()?;
        let sign = if minus.is_some() { "-" } else { "" };
        let number = format!("{sign}{}", digits.base10_digits()).parse();
        number.map(Self).map_err(|why| syn::Error::new(digits.span(), why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_between_generic_arguments_separates_nothing() {
        for (text, expected) in [
            ("a, b = 1,", 2),
            ("a = f::<B, C>(), d", 2),
            ("a = f::<B, g::<C, D>>(), d", 2),
            ("a = f::<fn(u8) -> u8, C>()", 1),
            ("a = x < y, b = z > w", 2),
        ] {
            assert_eq!(pieces(text.parse().unwrap()).len(), expected, "{text}");
        }
    }
}
