//! `scale(…)`: the scale subresource of the CRD.

use proc_macro2::Span;

use super::{entry::Entry, json_path::json_path, keys::Keys};
use crate::diag::Ctxt;

/// `scale(…)`.
#[derive(Clone, Debug)]
pub struct Scale {
    /// Where it was written.
    pub span: Span,
    /// Where the wanted number is.
    pub spec_replicas_path: String,
    /// Where the present number is.
    pub status_replicas_path: String,
    /// Where the selector is, as a text.
    pub label_selector_path: Option<String>,
}

const KEYS: &[&str] = &["spec_replicas_path", "status_replicas_path", "label_selector_path"];

impl Scale {
    pub(super) fn read(cx: &Ctxt, entry: &Entry) -> Option<Self> {
        let example = "spec_replicas_path = \".spec.replicas\", status_replicas_path = \".status.replicas\"";
        let keys = Keys::read(cx, entry, KEYS, example)?;
        let path =
            |name: &str| keys.required(cx, name).and_then(|key| key.checked(cx, "JSON path", json_path));
        let (spec, status) = (path("spec_replicas_path"), path("status_replicas_path"));
        Some(Self {
            span: entry.span(),
            spec_replicas_path: spec?.value,
            status_replicas_path: status?.value,
            label_selector_path: keys.optional_string(cx, "label_selector_path"),
        })
    }
}
