//! The types and the crate that attributes name.

use proc_macro2::Span;
use syn::spanned::Spanned as _;

use super::{
    entry::{Entry, Value},
    rule::Rule,
};
use crate::diag::{Ctxt, Diagnostic};

/// A type named in an attribute.
#[derive(Clone, Debug)]
pub struct TypeRef {
    /// Where it was written.
    pub span: Span,
    /// The path, without spaces.
    pub path: String,
    /// The path as tokens, for the derive to refer to.
    pub tokens: syn::Path,
    /// Written as a string: the path holds from anywhere and is not resolved.
    pub absolute: bool,
}

impl TypeRef {
    /// `input = Scale`, `input = other::Scale` or `input = "any::path::Scale"`.
    pub(super) fn read(cx: &Ctxt, key: &Entry) -> Option<Self> {
        let Value::Assign(tokens) = &key.value else {
            key.wrong_form(cx, &format!("{} = Type", key.name));
            return None;
        };
        let (text, parsed, absolute) = match syn::parse2::<syn::LitStr>(tokens.clone()) {
            Ok(_) => {
                let text = key.checked(cx, &TYPE_PATH)?.value;
                let parsed = syn::parse_str::<syn::Path>(&text);
                (text, parsed, true)
            }
            Err(_) => (tokens.to_string(), syn::parse2::<syn::Path>(tokens.clone()), false),
        };
        match parsed {
            Ok(path) if path.segments.iter().all(|segment| segment.arguments.is_empty()) => Some(Self {
                span: tokens.span(),
                path: text.split_whitespace().collect(),
                tokens: path,
                absolute,
            }),
            _ => {
                cx.error(
                    Diagnostic::new(tokens.span(), format!("`{}` must be the path of a type", key.name))
                        .help("generic arguments are not allowed; give the type a name with `type`"),
                );
                None
            }
        }
    }
}

/// A path that holds in any crate.
pub(super) const TYPE_PATH: Rule = Rule {
    what: "path",
    check: type_path,
    help: "the generated crate uses this path: it starts with the name of a crate that it depends on, as in \
           `samplecrd_apis::v1::Network`; `k8s_openapi` and `kube` are reached through the runtime",
};

fn type_path(text: &str) -> Result<(), String> {
    let path = syn::parse_str::<syn::Path>(text).map_err(|_| "it is not a Rust path".to_owned())?;
    if !path.segments.iter().all(|segment| segment.arguments.is_empty()) {
        return Err("it must not have generic arguments".into());
    }
    // The generated crate is another one, so that only a path from a crate's name on holds there.
    let from_crate = path.segments.len() > 1
        && path
            .segments
            .iter()
            .all(|segment| !["crate", "self", "super", "Self"].iter().any(|word| segment.ident == word));
    if !from_crate {
        return Err("it does not start with the name of a crate".into());
    }
    Ok(())
}

/// `crate = "rt"`: the path of the runtime.
pub(crate) fn crate_path(cx: &Ctxt, entry: &Entry) -> Option<syn::Path> {
    const RULE: Rule = Rule {
        what: "path",
        check: |text| match syn::parse_str::<syn::Path>(text) {
            Ok(_) => Ok(()),
            Err(_) => Err("it is not a Rust path".into()),
        },
        help: "it is the name of `genclient-runtime` in `Cargo.toml`, or a path to a re-export of it",
    };
    let text = entry.checked(cx, &RULE)?;
    syn::LitStr::new(&text.value, text.span).parse().ok()
}
