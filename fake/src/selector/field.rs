//! Field selectors.
//!
//! A selector is a list of `path=value`, `path==value` and `path!=value`, separated by commas. A backslash
//! before a comma, an equals sign or a backslash takes its meaning away.

use crate::{kinds::Kind, status::Failure, storage::Object};

/// Selects objects by their fields.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldSelector(Vec<Requirement>);

#[derive(Clone, Debug)]
struct Requirement {
    path: String,
    equal: bool,
    value: String,
}

impl FieldSelector {
    /// Reads a selector.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let mut requirements = Vec::new();
        for term in terms(text) {
            if term.is_empty() {
                continue;
            }
            let invalid =
                || Failure::bad_request(format!("invalid selector: '{text}'; can't understand '{term}'"));
            let (path, equal, value) = split(term).ok_or_else(invalid)?;
            let value = unescape(value).ok_or_else(|| {
                Failure::bad_request(format!("invalid field selector: invalid escape sequence in {value:?}"))
            })?;
            requirements.push(Requirement { path: path.to_owned(), equal, value });
        }
        Ok(Self(requirements))
    }

    /// Checks that the kind has the paths.
    pub(super) fn check(&self, kind: &Kind) -> Result<(), Failure> {
        let is_known = |path: &str| {
            path == "metadata.name"
                || (path == "metadata.namespace" && (kind.namespaced || kind.is_custom()))
                || kind.selectable.iter().any(|field| field == path)
        };
        match self.0.iter().map(|requirement| requirement.path.as_str()).find(|path| !is_known(path)) {
            None => Ok(()),
            Some(path) if kind.is_custom() => {
                Err(Failure::bad_request(format!("field label not supported: {path}")))
            }
            Some(path) => Err(Failure::bad_request(unsupported(kind, path))),
        }
    }

    pub(super) fn and_name(mut self, name: &str) -> Self {
        self.0.push(Requirement { path: "metadata.name".to_owned(), equal: true, value: name.to_owned() });
        self
    }

    /// Returns whether the selector asks for a name.
    pub(super) fn names_object(&self) -> bool {
        self.0.iter().any(|requirement| requirement.equal && requirement.path == "metadata.name")
    }

    pub(super) fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|requirement| {
            let value = match requirement.path.as_str() {
                "metadata.name" => &object.name,
                "metadata.namespace" => &object.namespace,
                path => match object.fields.iter().find(|(field, _)| field == path) {
                    Some((_, value)) => value,
                    None => "",
                },
            };
            (*value == requirement.value) == requirement.equal
        })
    }
}

/// Says that a kind does not have the field, as its group words it.
fn unsupported(kind: &Kind, path: &str) -> String {
    match kind.group.as_str() {
        "" if matches!(
            kind.kind.as_str(),
            "Pod" | "Node" | "Namespace" | "Secret" | "Service" | "ReplicationController" | "Event"
        ) =>
        {
            format!("field label not supported: {path}")
        }
        "events.k8s.io" => format!("field label not supported: {path}"),
        "apps" | "batch" if kind.kind == "Job" => {
            format!("field label {path:?} not supported for {}", kind.kind)
        }
        _ => {
            format!("{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
    }
}

/// Splits a selector at the commas that are not escaped.
fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b',' => {
                terms.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

/// Splits a term at its operator.
fn split(term: &str) -> Option<(&str, bool, &str)> {
    let mut escaped = false;
    for (index, byte) in term.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'!' if term[index..].starts_with("!=") => {
                return Some((&term[..index], false, &term[index + 2..]));
            }
            b'=' => {
                let rest = &term[index + 1..];
                return Some((&term[..index], true, rest.strip_prefix('=').unwrap_or(rest)));
            }
            _ => {}
        }
    }
    None
}

fn unescape(value: &str) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next()? {
                escaped @ ('\\' | ',' | '=') => text.push(escaped),
                _ => return None,
            },
            ',' | '=' => return None,
            other => text.push(other),
        }
    }
    Some(text)
}
