//! The rules that texts in attributes follow.

use crate::names;

/// A rule for the text of an attribute.
pub(super) struct Rule {
    /// What the text is, as in "is not a valid plural".
    pub what: &'static str,
    /// Says why a text breaks the rule.
    pub check: fn(&str) -> Result<(), String>,
    /// What to write instead.
    pub help: &'static str,
}

pub(super) const PLURAL: Rule = Rule {
    what: "plural",
    check: names::dns_1035_label,
    help: "a plural is in lower case, such as `networks`",
};

pub(super) const SINGULAR: Rule = Rule {
    what: "singular",
    check: names::dns_1035_label,
    help: "a singular is in lower case, such as `network`",
};

pub(super) const SHORT_NAME: Rule = Rule {
    what: "short name",
    check: names::dns_1035_label,
    help: "a short name is in lower case, such as `net`",
};

pub(super) const CATEGORY: Rule = Rule {
    what: "category",
    check: names::dns_1035_label,
    help: "a category is in lower case, such as `all`",
};

pub(super) const SUBRESOURCE: Rule = Rule {
    what: "subresource",
    check: names::dns_label,
    help: "a subresource is in lower case, such as `scale`",
};

/// What the API server shows to whoever uses a deprecated version.
pub(super) const WARNING: Rule = Rule {
    what: "warning",
    check: warning,
    help: "write one line of at most 256 characters, or `deprecated` alone for the API server's own warning",
};

fn warning(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.len() > 256 {
        return Err(format!("it has {} bytes, and 256 are allowed", text.len()));
    }
    match text.chars().find(|c| c.is_control() || (c.is_whitespace() && *c != ' ')) {
        Some(bad) => Err(format!("`{}` cannot be printed", bad.escape_default())),
        None => Ok(()),
    }
}
