//! JSON patches, RFC 6902.

use serde_json::Value;

/// Why a JSON patch cannot be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JsonPatchError {
    /// The patch is not a list of operations.
    #[error("the JSON patch is malformed: {0}")]
    Malformed(serde_json::Error),
    /// An operation failed: its path does not exist, or a test did not hold.
    #[error("the JSON patch does not apply: {0}")]
    Failed(::json_patch::PatchError),
}

/// Applies a JSON patch. If an operation fails, nothing is applied.
///
/// ```
/// use genclient_merge::json_patch;
/// use serde_json::json;
///
/// let value = json!({ "spec": { "replicas": 1 } });
/// let patch = json!([{ "op": "replace", "path": "/spec/replicas", "value": 2 }]);
/// assert_eq!(json_patch::apply(&value, &patch)?, json!({ "spec": { "replicas": 2 } }));
/// # Ok::<(), genclient_merge::json_patch::JsonPatchError>(())
/// ```
pub fn apply(value: &Value, patch: &Value) -> Result<Value, JsonPatchError> {
    let patch: ::json_patch::Patch =
        serde::Deserialize::deserialize(patch).map_err(JsonPatchError::Malformed)?;
    let mut patched = value.clone();
    ::json_patch::patch(&mut patched, &patch).map_err(JsonPatchError::Failed)?;
    Ok(patched)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_that_fails_says_why() {
        let value = json!({ "a": 1 });
        let malformed = apply(&value, &json!({ "op": "add" })).unwrap_err();
        assert!(malformed.to_string().starts_with("the JSON patch is malformed: "), "{malformed}");
        let failed = apply(&value, &json!([{ "op": "test", "path": "/a", "value": 2 }])).unwrap_err();
        assert!(failed.to_string().starts_with("the JSON patch does not apply: "), "{failed}");
    }
}
