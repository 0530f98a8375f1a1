//! The features of a package, which are known where cargo has resolved them.

use std::collections::BTreeSet;

use proc_macro2::{Group, Ident, TokenStream, TokenTree};

/// Replaces each `feature = "…"` in the conditions of a file by what it is.
///
/// Conditions are then evaluated as far as features go; see [`cfg`](super::cfg).
pub(super) fn resolve(tokens: TokenStream, features: &BTreeSet<String>) -> TokenStream {
    let mut out = Vec::new();
    let mut after_hash = false;
    for tree in tokens {
        let is_hash = matches!(&tree, TokenTree::Punct(punct) if matches!(punct.as_char(), '#' | '!'));
        out.push(match tree {
            TokenTree::Group(group) => {
                let inner = match after_hash && is_condition(&group) {
                    true => values(group.stream(), features),
                    false => resolve(group.stream(), features),
                };
                regroup(&group, inner)
            }
            tree => tree,
        });
        after_hash = is_hash;
    }
    out.into_iter().collect()
}

/// Whether this is the inside of `#[cfg(…)]` or `#[cfg_attr(…)]`.
fn is_condition(group: &Group) -> bool {
    matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "cfg" || word == "cfg_attr")
}

/// Replaces every `feature = "…"` by `true` or `false`.
fn values(tokens: TokenStream, features: &BTreeSet<String>) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        if let [TokenTree::Ident(word), TokenTree::Punct(is), TokenTree::Literal(name), ..] = &trees[at..]
            && word == "feature"
            && is.as_char() == '='
        {
            let name = name.to_string();
            let value = features.contains(name.trim_matches('"'));
            out.push(TokenTree::Ident(Ident::new(if value { "true" } else { "false" }, word.span())));
            at += 3;
            continue;
        }
        out.push(match tree {
            TokenTree::Group(group) => regroup(group, values(group.stream(), features)),
            tree => tree.clone(),
        });
        at += 1;
    }
    out.into_iter().collect()
}

/// The same brackets around other tokens.
fn regroup(group: &Group, inner: TokenStream) -> TokenTree {
    let mut new = Group::new(group.delimiter(), inner);
    new.set_span(group.span());
    TokenTree::Group(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_become_what_they_are() {
        let source = "#![cfg(feature = \"on\")] mod a { #[cfg_attr(not(feature = \"off\"), b(c))] struct D; } \
                      #[serde(feature = \"on\")] fn e() { let feature = \"on\"; }";
        let resolved = resolve(source.parse().unwrap(), &BTreeSet::from(["on".to_owned()]));
        let expected = "#![cfg(true)] mod a { #[cfg_attr(not(false), b(c))] struct D; } \
                        #[serde(feature = \"on\")] fn e() { let feature = \"on\"; }";
        assert_eq!(resolved.to_string(), expected.parse::<TokenStream>().unwrap().to_string());
    }
}
