//! The paths of fields, as causes name them.

/// Appends the name of a field: `spec` and `ports` are `spec.ports`.
pub(super) fn child(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

/// Appends the key of a map: `labels` and `app` are `labels[app]`.
pub(super) fn key(parent: &str, name: &str) -> String {
    format!("{parent}[{name}]")
}

/// Appends an index: `ports` and 0 are `ports[0]`.
pub(super) fn index(parent: &str, index: usize) -> String {
    format!("{parent}[{index}]")
}
