//! A struct with kube's `#[derive(CustomResource)]`, read as kube reads it.

use proc_macro2::{Ident, Span};
use syn::{DeriveInput, spanned::Spanned as _};

use crate::{
    attr::{Entry, ResourceAttrs, Spanned, entries, resource_attrs},
    diag::{Ctxt, Diagnostic, did_you_mean},
    names,
};

/// Every key of `#[kube(…)]`, those of earlier versions of kube too.
const KEYS: &[&str] = &[
    "annotation",
    "attr",
    "category",
    "cel",
    "crates",
    "deprecated",
    "derive",
    "doc",
    "group",
    "kind",
    "label",
    "namespaced",
    "no_spec",
    "plural",
    "printcolumn",
    "root",
    "rule",
    "scale",
    "schema",
    "selectable",
    "served",
    "shortname",
    "singular",
    "status",
    "storage",
    "struct",
    "validation",
    "version",
];

/// The words of `#[genclient(…)]` that `#[kube(…)]` has no word for.
const CLIENT_WORDS: &[&str] =
    &["no_verbs", "readonly", "only_verbs", "skip_verbs", "method", "path", "crate"];

/// A struct with `#[derive(CustomResource)]`: the spec of a kind whose own struct kube writes.
#[derive(Clone, Debug)]
pub struct CustomResourceDecl {
    /// The struct's name.
    pub ident: Ident,
    /// The struct's documentation, a line each.
    pub docs: Vec<String>,
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The name of the kind's struct.
    pub root: String,
    /// The plural, given or derived as kube derives it.
    pub plural: String,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether the kind has a status.
    pub has_status: bool,
    /// The type of the status, as it was written.
    pub status: Option<String>,
    /// Whether the fields of the struct are those of the kind, which has no field `spec`.
    pub no_spec: bool,
    /// Whether the version is the stored one.
    pub storage: bool,
    /// The annotations of the CRD.
    pub annotations: Vec<(String, String)>,
    /// What `#[genclient(…)]` says beside it.
    pub attrs: ResourceAttrs,
}

impl CustomResourceDecl {
    /// Reads the struct. What is wrong is told to `cx`; `None` where nothing sensible is left.
    pub fn parse(cx: &Ctxt, input: &DeriveInput) -> Option<Self> {
        let kube = Kube::read(cx, input);
        let has_status = kube.status.is_some();
        check_words(cx, input);
        let attrs = resource_attrs(cx, &input.attrs, has_status);
        let (group, version, kind) = (kube.group?, kube.version?, kube.kind?);
        check_names(cx, &group, &version, &kind);
        let singular = kube.singular.unwrap_or_else(|| kind.value.to_ascii_lowercase());
        Some(Self {
            ident: input.ident.clone(),
            docs: super::docs(&input.attrs),
            root: kube.root.unwrap_or_else(|| kind.value.clone()),
            plural: kube.plural.unwrap_or_else(|| plural(&singular)),
            group: group.value,
            version: version.value,
            kind: kind.value,
            namespaced: kube.namespaced,
            has_status,
            status: kube.status,
            no_spec: kube.no_spec,
            storage: kube.storage,
            annotations: kube.annotations,
            attrs,
        })
    }

    /// The name of the struct that kube writes for such a struct, if the attributes say so.
    pub fn root_of(attrs: &[syn::Attribute]) -> Option<String> {
        let cx = Ctxt::new();
        let mut kind = None;
        let mut root = None;
        for entry in kube_entries(&cx, attrs) {
            match entry.name.to_string().as_str() {
                "kind" => kind = entry.string(&cx),
                "root" | "struct" => root = entry.string(&cx),
                _ => {}
            }
        }
        // What is wrong is told to whoever reads the kind.
        let _ = cx.check();
        root.or(kind).map(|name| name.value)
    }
}

/// What `#[kube(…)]` says of the client.
#[derive(Default)]
struct Kube {
    group: Option<Spanned<String>>,
    version: Option<Spanned<String>>,
    kind: Option<Spanned<String>>,
    root: Option<String>,
    plural: Option<String>,
    singular: Option<String>,
    namespaced: bool,
    status: Option<String>,
    no_spec: bool,
    storage: bool,
    annotations: Vec<(String, String)>,
}

impl Kube {
    fn read(cx: &Ctxt, input: &DeriveInput) -> Self {
        let mut kube = Self { storage: true, ..Self::default() };
        // A key that is there and wrong is not reported as missing too.
        let mut meant: Vec<String> = Vec::new();
        for entry in kube_entries(cx, &input.attrs) {
            let name = entry.name.to_string();
            if !KEYS.contains(&name.as_str()) {
                let near = did_you_mean(&name, KEYS.iter().copied());
                meant.extend(near.map(str::to_owned));
                let error = Diagnostic::new(entry.span(), format!("`#[kube(…)]` has no `{name}`"));
                cx.error(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.help(format!("it has {}", KEYS.join(", "))),
                });
                continue;
            }
            let text = || entry.string(cx).map(|text| text.value);
            match name.as_str() {
                "group" => kube.group = entry.string(cx),
                "version" => kube.version = entry.string(cx),
                "kind" => kube.kind = entry.string(cx),
                "root" | "struct" => kube.root = text(),
                "plural" => kube.plural = text(),
                "singular" => kube.singular = text(),
                "namespaced" => kube.namespaced = entry.bool(cx).is_some_and(|flag| flag.value),
                "status" => kube.status = Some(entry.text()),
                "no_spec" => kube.no_spec = true,
                "storage" => kube.storage = entry.bool(cx).is_none_or(|flag| flag.value),
                "annotation" => {
                    let pair = entry.pair(cx).map(|(key, value)| (key.value, value.value));
                    kube.annotations.extend(pair);
                }
                _ => {}
            }
            meant.push(name);
        }
        for (key, example) in [("group", "example.com"), ("version", "v1"), ("kind", "Network")] {
            if !meant.iter().any(|name| name == key) {
                cx.error(
                    Diagnostic::new(place(input), format!("`#[kube(…)]` on `{}` needs `{key}`", input.ident))
                        .help(format!("add `{key} = \"{example}\"`")),
                );
            }
        }
        kube
    }
}

/// Where `#[kube(…)]` is, or should be.
fn place(input: &DeriveInput) -> Span {
    let attr = input.attrs.iter().find(|attr| attr.path().is_ident("kube"));
    attr.map_or(input.ident.span(), |attr| attr.path().span())
}

/// The entries of every `#[kube(…)]`.
fn kube_entries(cx: &Ctxt, attrs: &[syn::Attribute]) -> Vec<Entry> {
    let attrs = attrs.iter().filter(|attr| attr.path().is_ident("kube"));
    let lists = attrs.filter_map(|attr| attr.meta.require_list().ok());
    lists.flat_map(|list| entries(cx, list.tokens.clone())).collect()
}

/// What kube has a word for is not said a second time.
fn check_words(cx: &Ctxt, input: &DeriveInput) {
    for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("genclient")) {
        let Ok(list) = attr.meta.require_list() else { continue };
        let ignored = Ctxt::new();
        for entry in entries(&ignored, list.tokens.clone()) {
            let name = entry.name.to_string();
            let known = crate::attr::ATTRIBUTES.iter().any(|attribute| attribute.name == name);
            if known && !CLIENT_WORDS.contains(&name.as_str()) {
                cx.error(
                    Diagnostic::new(entry.span(), format!("`{name}` has no meaning beside `#[kube(…)]`"))
                        .help(format!(
                            "`#[kube(…)]` describes the CRD; `#[genclient(…)]` adds {}",
                            CLIENT_WORDS.join(", ")
                        )),
                );
            }
        }
        // They are read again, and told of then.
        let _ = ignored.check();
    }
}

fn check_names(cx: &Ctxt, group: &Spanned<String>, version: &Spanned<String>, kind: &Spanned<String>) {
    if let Err(why) = names::dns_subdomain(&group.value) {
        cx.error(
            Diagnostic::new(group.span, format!("`{}` is not a valid API group: {why}", group.value))
                .help("a group is a DNS name such as `samplecrd.k8s.io`"),
        );
    }
    if let Err(why) = names::dns_1035_label(&version.value) {
        cx.error(
            Diagnostic::new(version.span, format!("`{}` is not a valid API version: {why}", version.value))
                .help("a version is a name such as `v1`, `v1beta2` or `v2alpha1`"),
        );
    }
    let camel = kind.value.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.value.chars().all(|c| c.is_ascii_alphanumeric());
    if !camel {
        cx.error(
            Diagnostic::new(kind.span, format!("`{}` is not a valid kind", kind.value))
                .help("a kind is in camel case, of ASCII letters and digits"),
        );
    }
}

/// The plural that kube derives, which is not always English.
fn plural(singular: &str) -> String {
    let vowel = |c: char| matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| singular.ends_with(end));
    match singular.strip_suffix('y') {
        _ if hisses => format!("{singular}es"),
        Some(stem) if stem.chars().next_back().is_some_and(|c| !vowel(c)) => format!("{stem}ies"),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_are_those_that_kube_derives() {
        for (singular, expected) in [
            ("fox", "foxes"),
            ("puppy", "puppies"),
            ("day", "days"),
            ("endpoints", "endpointses"),
            ("y", "ys"),
        ] {
            assert_eq!(plural(singular), expected);
        }
    }
}
