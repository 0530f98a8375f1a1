//! Questions to the server, which it answers and does not store.

use serde_json::{Value, json};

use crate::kinds::Kind;

/// Returns the status with which a question is answered. Everybody is the administrator, and may do everything.
pub(super) fn status(kind: &Kind) -> Option<Value> {
    match (kind.group.as_str(), kind.kind.as_str()) {
        (
            "authorization.k8s.io",
            "LocalSubjectAccessReview" | "SelfSubjectAccessReview" | "SubjectAccessReview",
        ) => Some(json!({ "allowed": true, "reason": "everybody may do everything on this server" })),
        ("authorization.k8s.io", "SelfSubjectRulesReview") => Some(json!({
            "incomplete": false,
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
        })),
        ("authentication.k8s.io", "SelfSubjectReview") => Some(json!({
            "userInfo": {
                "username": "kubernetes-admin",
                "groups": ["system:masters", "system:authenticated"],
            },
        })),
        // Nobody has one.
        ("authentication.k8s.io", "TokenReview") => {
            Some(json!({ "user": {}, "error": "the token is not one of this server" }))
        }
        _ => None,
    }
}
