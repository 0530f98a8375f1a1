//! `scale(…)`: the scale subresource of the CRD.

use proc_macro2::Span;

use super::{
    entry::Entry,
    json_path::{LABEL_SELECTOR_PATH, SPEC_REPLICAS_PATH, STATUS_REPLICAS_PATH},
    keys::Keys,
};
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
        let spec =
            keys.required(cx, "spec_replicas_path").and_then(|key| key.checked(cx, &SPEC_REPLICAS_PATH));
        let status =
            keys.required(cx, "status_replicas_path").and_then(|key| key.checked(cx, &STATUS_REPLICAS_PATH));
        let selector = match keys.optional("label_selector_path") {
            Some(key) => key.checked(cx, &LABEL_SELECTOR_PATH).map(|path| Some(path.value)),
            None => Some(None),
        };
        Some(Self {
            span: entry.span(),
            spec_replicas_path: spec?.value,
            status_replicas_path: status?.value,
            label_selector_path: selector?,
        })
    }
}
