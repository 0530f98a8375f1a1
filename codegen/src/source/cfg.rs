//! Conditional compilation, as far as it can be known without compiling.
//!
//! The rule: what is for tests only is skipped, and what depends on anything else (a feature, a
//! platform) cannot be known here, so an annotated type under it is refused.

use proc_macro2::Span;
use syn::{Attribute, Meta, Token, punctuated::Punctuated, spanned::Spanned as _};

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
        let mut condition = Self::True;
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("cfg")) {
            let this = match attr.parse_args::<Meta>() {
                Ok(predicate) => evaluate(&predicate),
                Err(_) => None,
            };
            match this {
                Some(true) => {}
                Some(false) => return Self::False,
                None => condition = Self::Unknown(attr.span()),
            }
        }
        condition
    }
}

/// The value of a predicate outside of tests, or `None` where it is not known.
fn evaluate(predicate: &Meta) -> Option<bool> {
    match predicate {
        Meta::Path(path) if path.is_ident("test") || path.is_ident("doctest") => Some(false),
        Meta::List(list) => {
            let inner = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
            let mut values = inner.iter().map(evaluate);
            if list.path.is_ident("not") {
                values.next().flatten().map(|value| !value)
            } else if list.path.is_ident("all") {
                values
                    .try_fold(Some(true), |all, value| match value {
                        Some(false) => Err(()),
                        Some(true) => Ok(all),
                        None => Ok(None),
                    })
                    .unwrap_or(Some(false))
            } else if list.path.is_ident("any") {
                values
                    .try_fold(Some(false), |any, value| match value {
                        Some(true) => Err(()),
                        Some(false) => Ok(any),
                        None => Ok(None),
                    })
                    .unwrap_or(Some(true))
            } else {
                None
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_for_tests_is_known_to_be_absent() {
        for (attribute, expected) in [
            ("#[cfg(test)]", Some(false)),
            ("#[cfg(not(test))]", Some(true)),
            ("#[cfg(all(test, feature = \"x\"))]", Some(false)),
            ("#[cfg(any(test, feature = \"x\"))]", None),
            ("#[cfg(any(not(test), feature = \"x\"))]", Some(true)),
            ("#[cfg(feature = \"x\")]", None),
            ("#[cfg(unix)] #[cfg(test)]", Some(false)),
            ("#[derive(Clone)]", Some(true)),
        ] {
            let item: syn::ItemStruct = syn::parse_str(&format!("{attribute} struct A;")).unwrap();
            let known = match Condition::of(&item.attrs) {
                Condition::True => Some(true),
                Condition::False => Some(false),
                Condition::Unknown(_) => None,
            };
            assert_eq!(known, expected, "{attribute}");
        }
    }
}
