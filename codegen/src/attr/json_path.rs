//! The paths to fields that a CRD names.

/// A path from the object on, such as `.spec.cidr`.
pub(super) fn json_path(text: &str) -> Result<(), String> {
    match text.strip_prefix('.') {
        Some(rest) if !rest.is_empty() => Ok(()),
        _ => Err("it must start at the object, as in `.spec.cidr`".into()),
    }
}
