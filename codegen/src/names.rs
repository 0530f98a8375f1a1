//! Names: Kubernetes' rules for them, plurals, and their Rust spelling.

use std::fmt;

/// Why a text is not a valid name.
pub type NameError = String;

/// A DNS label (RFC 1123): lower-case letters, digits and `-`, at most 63 characters.
pub fn dns_label(text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.len() > 63 {
        return Err(format!("it has {} characters, and 63 are allowed", text.len()));
    }
    if let Some(bad) = text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        return Err(format!("`{}` is not a lower-case letter, a digit or `-`", bad.escape_default()));
    }
    if text.starts_with('-') || text.ends_with('-') {
        return Err("it must start and end with a letter or a digit".into());
    }
    Ok(())
}

/// A DNS label that starts with a letter (RFC 1035), as versions and plurals are.
pub fn dns_1035_label(text: &str) -> Result<(), NameError> {
    dns_label(text)?;
    if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return Err("it must start with a letter".into());
    }
    Ok(())
}

/// A DNS subdomain: labels joined by dots, at most 253 characters.
pub fn dns_subdomain(text: &str) -> Result<(), NameError> {
    if text.len() > 253 {
        return Err(format!("it has {} characters, and 253 are allowed", text.len()));
    }
    text.split('.').try_for_each(|label| {
        dns_label(label).map_err(|why| match label {
            "" => "it has an empty label between its dots".into(),
            _ => format!("in `{label}`, {why}"),
        })
    })
}

/// Whether the group belongs to the Kubernetes community, so that the API server asks for
/// the `api-approved.kubernetes.io` annotation on its CRDs.
pub fn is_protected_group(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// The plural of a kind, in lower case: the path segment under which the server knows it.
///
/// ```
/// use genclient::names::plural;
/// assert_eq!(plural("Ingress"), "ingresses");
/// assert_eq!(plural("NetworkPolicy"), "networkpolicies");
/// assert_eq!(plural("Endpoints"), "endpoints");
/// ```
pub fn plural(kind: &str) -> String {
    let word = kind.to_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| word.ends_with(suffix));
    let stem = |cut: usize| &word[..word.len() - cut];
    if ends(&["sis"]) {
        format!("{}es", stem(2))
    } else if ends(&["ss", "us", "is", "as", "os", "x", "z", "ch", "sh"]) {
        format!("{word}es")
    } else if word.ends_with('s') {
        // Endpoints, Settings, Metrics: the kind is a plural already.
        word
    } else if word.ends_with('y') && !ends(&["ay", "ey", "iy", "oy", "uy"]) {
        format!("{}ies", stem(1))
    } else {
        format!("{word}s")
    }
}

/// A kind in snake case; an acronym is one word: `VPCPeering` is `vpc_peering`.
pub fn snake(kind: &str) -> String {
    let chars: Vec<char> = kind.chars().collect();
    let mut out = String::with_capacity(kind.len() + 4);
    for (i, &c) in chars.iter().enumerate() {
        if c.is_uppercase() && i > 0 && chars[i - 1] != '_' {
            let after_word = !chars[i - 1].is_uppercase();
            let starts_word = chars.get(i + 1).is_some_and(|next| next.is_lowercase());
            if after_word || starts_word {
                out.push('_');
            }
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// The plural in snake case, with the word boundaries that the kind shows: for `NetworkPolicy` and
/// `networkpolicies` it is `network_policies`.
pub fn snake_plural(kind: &str, plural: &str) -> String {
    let singular = snake(kind);
    let mut out = String::new();
    let mut rest = plural.chars().peekable();
    let mut kind_chars = singular.chars().peekable();
    while let Some(&c) = kind_chars.peek() {
        if c == '_' {
            // A boundary counts only where the plural goes on like the kind.
            let next = kind_chars.clone().nth(1);
            if next.is_none() || rest.peek().copied() != next {
                break;
            }
            out.push('_');
        } else if rest.peek() == Some(&c) {
            out.push(c);
            rest.next();
        } else {
            break;
        }
        kind_chars.next();
    }
    out.extend(rest);
    out.replace('-', "_")
}

/// A lower-case name, perhaps with hyphens, dots or underscores, in camel case: `my-group` is `MyGroup`.
pub fn camel(name: &str) -> String {
    name.split(['-', '.', '_'])
        .flat_map(|word| {
            let mut chars = word.chars();
            chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>())
        })
        .collect()
}

/// Every keyword of Rust, in any edition, used or only reserved.
const KEYWORDS: &[&str] = &[
    "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self",
    "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Whether a name is a keyword, so that it cannot stand as an identifier as it is.
pub fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// The name as a Rust identifier that is no keyword: `type` is `type_`.
pub fn escape(name: &str) -> String {
    match is_keyword(name) {
        true => format!("{name}_"),
        false => name.to_owned(),
    }
}

/// The name for a module within another: one of the same name would be taken for its parent, and one
/// that is called like the runtime would hide it.
pub fn module_within(parent: &str, name: &str) -> String {
    match name == parent || name == "genclient_runtime" {
        true => format!("{name}_"),
        false => escape(name),
    }
}

/// The name of a version in generated code. It is a module, an accessor beside `new`, and the alias of
/// the module that holds the API types, which must not hide a crate that generated code names.
pub fn version_ident<'a>(group: &str, version: &str, mut crates: impl Iterator<Item = &'a str>) -> String {
    let name = version.replace('-', "_");
    match ["new", "std", "core", "alloc"].contains(&name.as_str()) || crates.any(|krate| krate == name) {
        true => format!("{name}_"),
        false => module_within(group, &name),
    }
}

/// A name in a Rust path. It is kept without the `r#` of a raw identifier, so that `r#type` and a
/// module's file `type.rs` are one name, and displayed with it where the language demands it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// The name that is written like this, raw or not.
    pub fn new(text: &str) -> Self {
        Self(text.strip_prefix("r#").unwrap_or(text).to_owned())
    }

    /// The name without `r#`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&syn::Ident> for Name {
    fn from(ident: &syn::Ident) -> Self {
        Self::new(&ident.to_string())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words that start a path have no raw form.
        let raw = is_keyword(&self.0) && !["self", "Self", "super", "crate", "_"].contains(&self.0.as_str());
        write!(f, "{}{}", if raw { "r#" } else { "" }, self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_english_and_kubernetes() {
        for (kind, expected) in [
            ("Network", "networks"),
            ("AppService", "appservices"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Gateway", "gateways"),
            ("Endpoints", "endpoints"),
            ("Settings", "settings"),
            ("Status", "statuses"),
            ("Alias", "aliases"),
            ("Box", "boxes"),
            ("Branch", "branches"),
            ("Mesh", "meshes"),
            ("Analysis", "analyses"),
            ("VPCPeering", "vpcpeerings"),
            ("DNS", "dns"),
            ("Class", "classes"),
        ] {
            assert_eq!(plural(kind), expected, "{kind}");
        }
    }

    #[test]
    fn snake_case_keeps_acronyms_together() {
        for (kind, expected) in [
            ("Network", "network"),
            ("AppService", "app_service"),
            ("VPCPeering", "vpc_peering"),
            ("HTTPRoute", "http_route"),
            ("DNS", "dns"),
            ("Type", "type"),
            ("IPv6Pool", "i_pv6_pool"),
            ("V1Thing", "v1_thing"),
        ] {
            assert_eq!(snake(kind), expected, "{kind}");
        }
    }

    #[test]
    fn accessors_are_plurals_with_the_kinds_word_boundaries() {
        for (kind, plural, expected) in [
            ("Network", "networks", "networks"),
            ("NetworkPolicy", "networkpolicies", "network_policies"),
            ("AppService", "appservices", "app_services"),
            ("AppService", "svcs", "svcs"),
            ("VPCPeering", "vpcpeerings", "vpc_peerings"),
            ("Datum", "data", "data"),
            ("HardwareSet", "hardware", "hardware"),
            ("Endpoints", "endpoints", "endpoints"),
            ("FooBar", "foo-bars", "foo_bars"),
        ] {
            assert_eq!(snake_plural(kind, plural), expected, "{kind} {plural}");
        }
    }

    #[test]
    fn a_name_is_the_same_raw_or_not() {
        for (written, name, displayed) in [
            ("v1", "v1", "v1"),
            ("r#v1", "v1", "v1"),
            ("type", "type", "r#type"),
            ("r#type", "type", "r#type"),
            ("gen", "gen", "r#gen"),
            ("crate", "crate", "crate"),
            ("Self", "Self", "Self"),
        ] {
            assert_eq!(Name::new(written).as_str(), name, "{written}");
            assert_eq!(Name::new(written).to_string(), displayed, "{written}");
        }
    }

    #[test]
    fn no_keyword_is_a_module() {
        for keyword in ["gen", "try", "async", "dyn", "yield", "box", "self", "crate", "abstract"] {
            assert_eq!(module_within("a", keyword), format!("{keyword}_"));
        }
        // These are identifiers except in some places.
        for name in ["union", "auto", "raw", "safe", "default", "macro_rules"] {
            assert_eq!(module_within("a", name), name);
        }
    }

    #[test]
    fn a_version_hides_nothing_that_generated_code_names() {
        for (version, expected) in [
            ("v1", "v1"),
            ("a-b", "a_b"),
            ("new", "new_"),
            ("std", "std_"),
            ("genclient-runtime", "genclient_runtime_"),
            ("my-apis", "my_apis_"),
            ("group", "group_"),
            ("gen", "gen_"),
        ] {
            assert_eq!(version_ident("group", version, ["my_apis"].into_iter()), expected, "{version}");
        }
    }

    #[test]
    fn names_follow_the_dns_rules() {
        assert!(dns_subdomain("samplecrd.k8s.io").is_ok());
        assert!(dns_subdomain("my-group.example.com").is_ok());
        assert_eq!(dns_subdomain("a..b").unwrap_err(), "it has an empty label between its dots");
        assert_eq!(
            dns_subdomain("Sample.io").unwrap_err(),
            "in `Sample`, `S` is not a lower-case letter, a digit or `-`"
        );
        assert!(dns_label(&"a".repeat(63)).is_ok());
        assert!(dns_label(&"a".repeat(64)).is_err());
        assert!(dns_subdomain(&format!("{}.io", "a.".repeat(125) + "b")).is_err());
        assert!(dns_1035_label("1a").is_err());
    }

    #[test]
    fn only_the_communitys_groups_are_protected() {
        assert!(is_protected_group("samplecrd.k8s.io"));
        assert!(is_protected_group("k8s.io"));
        assert!(is_protected_group("x.kubernetes.io"));
        assert!(!is_protected_group("myk8s.io"));
        assert!(!is_protected_group("example.com"));
    }
}
