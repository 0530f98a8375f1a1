//! The formats of names that the library `format` checks.

use std::sync::LazyLock;

use regex::Regex;

use super::super::{formats, url};

/// A format that a rule can name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Format {
    Dns1123Label,
    Dns1123Subdomain,
    Dns1035Label,
    QualifiedName,
    Dns1123LabelPrefix,
    Dns1123SubdomainPrefix,
    Dns1035LabelPrefix,
    LabelValue,
    Uri,
    Uuid,
    Byte,
    Date,
    DateTime,
}

impl Format {
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "dns1123Label" => Self::Dns1123Label,
            "dns1123Subdomain" => Self::Dns1123Subdomain,
            "dns1035Label" => Self::Dns1035Label,
            "qualifiedName" => Self::QualifiedName,
            "dns1123LabelPrefix" => Self::Dns1123LabelPrefix,
            "dns1123SubdomainPrefix" => Self::Dns1123SubdomainPrefix,
            "dns1035LabelPrefix" => Self::Dns1035LabelPrefix,
            "labelValue" => Self::LabelValue,
            "uri" => Self::Uri,
            "uuid" => Self::Uuid,
            "byte" => Self::Byte,
            "date" => Self::Date,
            "datetime" => Self::DateTime,
            _ => return None,
        })
    }
}

struct Rule {
    max: usize,
    regex: LazyLock<Regex>,
    message: &'static str,
}

macro_rules! rule {
    ($name:ident, $max:expr, $pattern:literal, $message:expr) => {
        static $name: Rule = Rule {
            max: $max,
            regex: LazyLock::new(|| Regex::new(concat!("^", $pattern, "$")).expect("a constant expression")),
            message: $message,
        };
    };
}

rule!(
    LABEL,
    63,
    "[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
     with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
);
rule!(
    SUBDOMAIN,
    253,
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and \
     end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
);
rule!(
    LABEL_1035,
    63,
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, \
     and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
     '[a-z]([-a-z0-9]*[a-z0-9])?')"
);
rule!(
    QUALIFIED,
    63,
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]",
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
     character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
);
rule!(
    LABEL_VALUE,
    63,
    "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
     end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
);

impl Rule {
    fn errors(&self, text: &str, prefix: &str) -> Vec<String> {
        let mut errors = Vec::new();
        if text.len() > self.max {
            errors.push(format!("{prefix}must be no more than {} bytes", self.max));
        }
        if !self.regex.is_match(text) {
            errors.push(format!("{prefix}{}", self.message));
        }
        errors
    }
}

/// What is wrong with a text; nothing if it is of the format.
pub(super) fn validate(format: Format, text: &str) -> Vec<String> {
    let known = |format: &str, error: &str| {
        if formats::accepts(format, text) { Vec::new() } else { vec![error.to_owned()] }
    };
    // The prefix of a name may end with a hyphen, because more follows it.
    let prefix = || {
        if text.len() > 1 && text.ends_with('-') {
            format!("{}a", &text[..text.len() - 1])
        } else {
            text.to_owned()
        }
    };
    match format {
        Format::Dns1123Label => LABEL.errors(text, ""),
        Format::Dns1123Subdomain => SUBDOMAIN.errors(text, ""),
        Format::Dns1035Label => LABEL_1035.errors(text, ""),
        Format::Dns1123LabelPrefix => LABEL.errors(&prefix(), ""),
        Format::Dns1123SubdomainPrefix => SUBDOMAIN.errors(&prefix(), ""),
        Format::Dns1035LabelPrefix => LABEL_1035.errors(&prefix(), ""),
        Format::LabelValue => LABEL_VALUE.errors(text, ""),
        Format::QualifiedName => qualified(text),
        Format::Uri => url::parse(text).err().into_iter().collect(),
        Format::Uuid => known("uuid", "does not match the UUID format"),
        Format::Byte => known("byte", "invalid base64"),
        Format::Date => known("date", "invalid date"),
        Format::DateTime => known("datetime", "invalid datetime"),
    }
}

fn qualified(text: &str) -> Vec<String> {
    let parts: Vec<_> = text.split('/').collect();
    let (mut errors, name) = match parts.as_slice() {
        [name] => (Vec::new(), *name),
        ["", name] => (vec!["prefix part must be non-empty".to_owned()], *name),
        [prefix, name] => (SUBDOMAIN.errors(prefix, "prefix part "), *name),
        _ => {
            return vec![format!(
                "a qualified name {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                QUALIFIED.message.trim_start_matches("name part ")
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > QUALIFIED.max {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !QUALIFIED.regex.is_match(name) {
        errors.push(QUALIFIED.message.to_owned());
    }
    errors
}
