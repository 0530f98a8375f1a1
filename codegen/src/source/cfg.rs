//! Conditional compilation, as far as it can be known without compiling.
//!
//! The rule: what is for tests only is skipped, and what depends on anything else (a feature, a
//! platform) cannot be known here, so an annotated type under it is refused. Whoever reads an
//! attribute reads it from [`Configured`], which has looked into every `cfg_attr`.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::{
    Attribute, Meta, Token,
    ext::IdentExt as _,
    parenthesized,
    parse::{ParseStream, Parser as _},
    spanned::Spanned as _,
    token::Paren,
};

/// What is known of an item's `#[cfg(…)]`.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// The item is there.
    True,
    /// The item is not there: it is for tests.
    False,
    /// It depends on what only the compiler knows.
    Unknown(Span),
}

impl Condition {
    /// The condition of an item with these attributes.
    pub fn of(attrs: &[Attribute]) -> Self {
        Configured::of(attrs).condition
    }

    fn and(self, value: Option<bool>, span: Span) -> Self {
        match (self, value) {
            (Self::False, _) | (_, Some(false)) => Self::False,
            (known, Some(true)) => known,
            (Self::Unknown(first), None) => Self::Unknown(first),
            (Self::True, None) => Self::Unknown(span),
        }
    }
}

/// The attributes of an item as the compiler leaves them: each `cfg` evaluated, each `cfg_attr`
/// replaced by what is in it.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Whether the item is there.
    pub condition: Condition,
    /// The attributes that the item has.
    pub attrs: Vec<Attribute>,
    /// The attributes that the item may have, each with the `cfg_attr` that it depends on.
    pub uncertain: Vec<(Attribute, Span)>,
}

impl Configured {
    /// Evaluates these attributes.
    pub fn of(attrs: &[Attribute]) -> Self {
        let mut configured = Self { condition: Condition::True, attrs: Vec::new(), uncertain: Vec::new() };
        for attr in attrs {
            configured.add(attr.clone(), None);
        }
        configured
    }

    /// Adds an attribute; `unknown` is the condition around it that cannot be evaluated.
    fn add(&mut self, attr: Attribute, unknown: Option<Span>) {
        let span = attr.span();
        match &attr.meta {
            Meta::List(list) if list.path.is_ident("cfg") => {
                let value = predicate.parse2(list.tokens.clone()).unwrap_or(None);
                // An item under `cfg_attr(a, cfg(b))` is there unless `a` holds and `b` does not.
                match (unknown, value) {
                    (None, value) => self.condition = self.condition.and(value, span),
                    (Some(_), Some(true)) => {}
                    (Some(outer), _) => self.condition = self.condition.and(None, outer),
                }
            }
            Meta::List(list) if list.path.is_ident("cfg_attr") => {
                let Ok((value, metas)) = conditional.parse2(list.tokens.clone()) else { return };
                let unknown = match value {
                    Some(false) => return,
                    Some(true) => unknown,
                    None => unknown.or(Some(span)),
                };
                for meta in metas {
                    // What is no attribute for syn is none of those that are read here.
                    if let Ok(meta) = syn::parse2::<Meta>(meta) {
                        self.add(Attribute { meta, ..attr.clone() }, unknown);
                    }
                }
            }
            _ => match unknown {
                None => self.attrs.push(attr),
                Some(condition) => self.uncertain.push((attr, condition)),
            },
        }
    }
}

/// The value of a predicate outside of tests, or `None` where it is not known.
fn predicate(input: ParseStream<'_>) -> syn::Result<Option<bool>> {
    let word = Ident::parse_any(input)?;
    if input.peek(Paren) {
        let inner;
        parenthesized!(inner in input);
        if word != "not" && word != "all" && word != "any" {
            inner.parse::<TokenStream>()?;
            return Ok(None);
        }
        let values = inner.parse_terminated(predicate, Token![,])?;
        // `any` is decided by one that holds, `all` by one that does not.
        let decided_by = |deciding: bool| match values.iter().any(|value| *value == Some(deciding)) {
            true => Some(deciding),
            false if values.iter().all(Option::is_some) => Some(!deciding),
            false => None,
        };
        return Ok(match word.to_string().as_str() {
            "all" => decided_by(false),
            "any" => decided_by(true),
            _ => values.first().copied().flatten().map(|value| !value),
        });
    }
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        input.parse::<syn::Lit>()?;
        return Ok(None);
    }
    Ok(match word.to_string().as_str() {
        "test" | "doctest" | "false" => Some(false),
        "true" => Some(true),
        _ => None,
    })
}

/// The inside of a `cfg_attr`: the value of its predicate, and the attributes as they stand.
fn conditional(input: ParseStream<'_>) -> syn::Result<(Option<bool>, Vec<TokenStream>)> {
    let value = predicate(input)?;
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    let attributes = input.parse_terminated(
        |input| {
            let mut tokens = TokenStream::new();
            while !input.is_empty() && !input.peek(Token![,]) {
                tokens.extend([input.parse::<TokenTree>()?]);
            }
            Ok(tokens)
        },
        Token![,],
    )?;
    Ok((value, attributes.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use quote::ToTokens as _;

    use super::*;

    fn configured(attributes: &str) -> Configured {
        let item: syn::ItemStruct = syn::parse_str(&format!("{attributes} struct A;")).unwrap();
        Configured::of(&item.attrs)
    }

    #[test]
    fn only_what_is_for_tests_is_known_to_be_absent() {
        for (attribute, expected) in [
            ("#[cfg(test)]", Some(false)),
            ("#[cfg(not(test))]", Some(true)),
            ("#[cfg(true)]", Some(true)),
            ("#[cfg(false)]", Some(false)),
            ("#[cfg(not(false))]", Some(true)),
            ("#[cfg(all())]", Some(true)),
            ("#[cfg(any())]", Some(false)),
            ("#[cfg(not(any()))]", Some(true)),
            ("#[cfg(not(all(any(), unix)))]", Some(true)),
            ("#[cfg(all(test, feature = \"x\"))]", Some(false)),
            ("#[cfg(any(test, feature = \"x\"))]", None),
            ("#[cfg(any(not(test), feature = \"x\"))]", Some(true)),
            ("#[cfg(feature = \"x\")]", None),
            ("#[cfg(not(feature = \"x\"))]", None),
            ("#[cfg(target(os = \"linux\"))]", None),
            ("#[cfg(unix)] #[cfg(test)]", Some(false)),
            ("#[cfg(test)] #[cfg(unix)]", Some(false)),
            ("#[derive(Clone)]", Some(true)),
            ("#[cfg_attr(all(), cfg(test))]", Some(false)),
            ("#[cfg_attr(test, cfg(any()))]", Some(true)),
            ("#[cfg_attr(unix, cfg(test))]", None),
            ("#[cfg_attr(unix, cfg(not(test)))]", Some(true)),
            ("#[cfg_attr(all(), cfg_attr(not(test), cfg(any())))]", Some(false)),
        ] {
            let known = match configured(attribute).condition {
                Condition::True => Some(true),
                Condition::False => Some(false),
                Condition::Unknown(_) => None,
            };
            assert_eq!(known, expected, "{attribute}");
        }
    }

    #[test]
    fn an_attribute_in_a_cfg_attr_is_there_absent_or_uncertain() {
        let names = |attributes: Vec<Attribute>| -> Vec<String> {
            attributes.iter().map(|attr| attr.meta.to_token_stream().to_string()).collect()
        };
        for (attributes, certain, uncertain) in [
            ("#[a(b)] #[cfg_attr(all(), c = \"d\", e)]", &["a (b)", "c = \"d\"", "e"][..], &[][..]),
            ("#[cfg_attr(test, a)] #[b]", &["b"], &[]),
            ("#[cfg_attr(unix, a, b(c, d),)]", &[], &["a", "b (c , d)"]),
            ("#[cfg_attr(not(test), cfg_attr(unix, a), b)]", &["b"], &["a"]),
            ("#[cfg_attr(unix, cfg_attr(test, a))] #[cfg_attr(unix, cfg_attr(true, b))]", &[], &["b"]),
            ("#[cfg_attr(all())]", &[], &[]),
        ] {
            let configured = configured(attributes);
            assert_eq!(names(configured.attrs), certain, "{attributes}");
            let maybe = configured.uncertain.into_iter().map(|(attr, _)| attr).collect();
            assert_eq!(names(maybe), uncertain, "{attributes}");
        }
    }
}
