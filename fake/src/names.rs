//! The rules for names, labels and annotations, in the words of the API server.

use crate::schema::LABEL_RULE;

/// The longest DNS label.
const LABEL: usize = 63;
/// The longest DNS subdomain.
const SUBDOMAIN: usize = 253;
/// The largest sum of all annotations, in bytes.
const ANNOTATIONS: usize = 256 * 1024;

/// Which rule the names of a kind follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// A DNS subdomain, RFC 1123.
    Subdomain,
    /// A DNS label, RFC 1123.
    Label,
    /// Whatever can be part of a path.
    PathSegment,
}

impl NameRule {
    /// Returns the rule of a kind.
    pub(crate) fn of(group: &str, kind: &str, custom: bool) -> Self {
        match (group, kind) {
            _ if custom => Self::Subdomain,
            ("", "Namespace") => Self::Label,
            ("", "Service") => Self::Label,
            ("rbac.authorization.k8s.io", _) => Self::PathSegment,
            _ => Self::Subdomain,
        }
    }

    /// Returns what is wrong with a name. A prefix is what `generateName` has.
    pub(crate) fn check(self, name: &str, prefix: bool) -> Vec<String> {
        // Nothing is said of a dash at the end of a prefix, because more follows.
        let checked = if prefix && name.ends_with('-') && name.len() > 1 {
            format!("{}a", &name[..name.len() - 1])
        } else {
            name.to_owned()
        };
        match self {
            Self::Subdomain => subdomain(&checked),
            Self::Label => label(&checked),
            Self::PathSegment => path_segment(name, prefix),
        }
    }
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

fn is_label_text(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let ends = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(ends) && bytes.last().is_some_and(ends) && bytes.iter().all(inner)
}

/// Returns what keeps a text from being a DNS subdomain.
pub(crate) fn subdomain(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > SUBDOMAIN {
        problems.push(too_long(SUBDOMAIN));
    }
    if !text.split('.').all(is_label_text) {
        problems.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
                .to_owned(),
        );
    }
    problems
}

/// Returns what keeps a text from being a DNS label.
pub(crate) fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL {
        problems.push(too_long(LABEL));
    }
    if !is_label_text(text) {
        if text.split('.').all(is_label_text) {
            problems.push("must not contain dots".to_owned());
        } else {
            problems.push(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                    .to_owned(),
            );
        }
    }
    problems
}

/// Returns what keeps a text from being a DNS label that begins with a letter.
pub(crate) fn label_1035(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL {
        problems.push(too_long(LABEL));
    }
    if !is_label_text(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        problems.push(LABEL_RULE.to_owned());
    }
    problems
}

/// Returns what keeps a text from being a part of a path.
pub(crate) fn path_segment(name: &str, prefix: bool) -> Vec<String> {
    if !prefix && (name == "." || name == "..") {
        return vec![format!("may not be '{name}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|part| name.contains(**part))
        .map(|part| format!("may not contain '{part}'"))
        .collect()
}

/// Returns what keeps a text from being the key of a label.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                problems
                    .extend(subdomain(prefix).into_iter().map(|problem| format!("prefix part {problem}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                qualified_text()
            )];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL {
        problems.push(format!("name part must be no more than {LABEL} bytes"));
    }
    if !is_label_value(name) || name.is_empty() {
        problems.push(format!("name part {}", qualified_text()));
    }
    problems
}

fn qualified_text() -> &'static str {
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
     (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
}

fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.is_empty()
        || (bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')))
}

/// Returns what keeps a text from being the value of a label.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL {
        problems.push(format!("must be no more than {LABEL} bytes"));
    }
    if !is_label_value(text) {
        problems.push(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        );
    }
    problems
}

/// Returns whether annotations of this size, keys and values together, are too large.
pub(crate) fn annotations_too_large(size: usize) -> Option<String> {
    (size > ANNOTATIONS).then(|| format!("may not be more than {ANNOTATIONS} bytes"))
}
