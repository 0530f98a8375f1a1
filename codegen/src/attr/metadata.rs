//! `annotation("…", "…")` and `label("…", "…")`: the metadata of the CRD.

use super::entry::{Entry, Spanned, given_once};
use crate::{
    diag::{Ctxt, Diagnostic},
    names,
};

/// A key and its value.
type Pair = (Spanned<String>, Spanned<String>);

fn keys(pairs: &[Pair]) -> impl Iterator<Item = &Spanned<String>> {
    pairs.iter().map(|(key, _)| key)
}

/// Reads one `annotation(…)`. The API server does not mind upper case in the prefix of its key.
pub(super) fn annotation(cx: &Ctxt, entry: &Entry, others: &[Pair]) -> Option<Pair> {
    let pair = entry.pair(cx)?;
    let valid = check(cx, "key of an annotation", &pair.0, |key| qualified_name(&key.to_ascii_lowercase()));
    let once = given_once(cx, "annotation", &pair.0, keys(others));
    (valid && once).then_some(pair)
}

/// Reads one `label(…)`.
pub(super) fn label(cx: &Ctxt, entry: &Entry, others: &[Pair]) -> Option<Pair> {
    let pair = entry.pair(cx)?;
    let valid = check(cx, "key of a label", &pair.0, qualified_name);
    let valid = check(cx, "value of a label", &pair.1, label_value) && valid;
    let once = given_once(cx, "label", &pair.0, keys(others));
    (valid && once).then_some(pair)
}

fn check(cx: &Ctxt, what: &str, text: &Spanned<String>, rule: impl Fn(&str) -> Result<(), String>) -> bool {
    let Err(why) = rule(&text.value) else { return true };
    let help = if what.starts_with("key") {
        "a key is a name such as `note`, or one with a domain in front, such as `example.com/note`"
    } else {
        "a value is empty or a name such as `fixtures`; other texts go into annotations"
    };
    cx.error(Diagnostic::new(text.span, format!("`{}` is not a valid {what}: {why}", text.value)).help(help));
    false
}

/// A name, perhaps with a DNS subdomain and a slash in front.
fn qualified_name(text: &str) -> Result<(), String> {
    match text.split_once('/') {
        None => name(text),
        Some(("", _)) => Err("there is nothing before the `/`".into()),
        Some((_, rest)) if rest.contains('/') => Err("it has more than one `/`".into()),
        Some((prefix, rest)) => names::dns_subdomain(prefix).and_then(|()| name(rest)),
    }
}

fn label_value(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { name(text) }
}

/// Letters, digits, `-`, `_` and `.`, at most 63, with a letter or a digit at either end.
fn name(text: &str) -> Result<(), String> {
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.len() > 63 {
        return Err(format!("it has {} characters, and 63 are allowed", text.len()));
    }
    if let Some(bad) = text.chars().find(|c| !alphanumeric(*c) && !matches!(c, '-' | '_' | '.')) {
        return Err(format!("`{}` is not a letter, a digit, `-`, `_` or `.`", bad.escape_default()));
    }
    if !text.starts_with(alphanumeric) || !text.ends_with(alphanumeric) {
        return Err("it must start and end with a letter or a digit".into());
    }
    Ok(())
}
