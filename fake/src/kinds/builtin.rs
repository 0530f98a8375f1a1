//! Kubernetes' own kinds.
//!
//! `builtin.txt` is the discovery document of an API server with its default settings, a line for each kind:
//! version, kind, plural, singular, scope, short names, categories, verbs and subresources.

use std::sync::{Arc, LazyLock, OnceLock};

use super::{Kind, ResourceId, Subresource, fields, prefix};

static KINDS: LazyLock<Vec<Arc<Kind>>> = LazyLock::new(|| {
    let lines = include_str!("builtin.txt").lines();
    lines.filter(|line| !line.starts_with('#')).filter_map(parse).map(Arc::new).collect()
});

/// The body of the subresource `scale`, which is no resource.
pub(super) static SCALE: LazyLock<Kind> =
    LazyLock::new(|| parse("autoscaling/v1 Scale - - N - - - -").expect("the line names everything"));

/// Returns all of them, in the order of discovery.
pub(super) fn all() -> &'static [Arc<Kind>] {
    &KINDS
}

/// Returns the kind that is served at a path.
pub(super) fn get(group: &str, version: &str, plural: &str) -> Option<Arc<Kind>> {
    let found =
        KINDS.iter().find(|kind| kind.plural == plural && kind.version == version && kind.group == group);
    found.cloned()
}

fn parse(line: &str) -> Option<Kind> {
    let mut words = line.split(' ');
    let mut next = || words.next();
    let (group, version) = {
        let api_version = next()?;
        api_version.split_once('/').unwrap_or(("", api_version))
    };
    let (kind, plural, singular) = (next()?, next()?, next()?);
    let namespaced = next()? == "N";
    let (short_names, categories, verbs) = (list(next()?), list(next()?), list(next()?));
    let subresources = next()?.split(';').filter_map(subresource).collect();
    Some(Kind {
        resource: ResourceId::new(if group == "events.k8s.io" { "" } else { group }, plural),
        qualified_plural: ResourceId::new(group, plural).to_string(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        plural: plural.to_owned(),
        singular: singular.to_owned(),
        short_names,
        categories,
        namespaced,
        verbs,
        subresources,
        prefix: prefix(group, version, kind),
        selectable: fields::of_builtin(group, kind),
        storage_version: storage_version(group, version, kind).into(),
        fingerprint: 0,
        custom: None,
        schema: OnceLock::new(),
        blank: OnceLock::new(),
    })
}

/// Returns the version in which the objects of a kind are stored.
fn storage_version<'v>(group: &str, version: &'v str, kind: &str) -> &'v str {
    match (group, kind) {
        ("apiextensions.k8s.io", _) => "v1beta1",
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding") => {
            "v1beta1"
        }
        ("autoscaling", _) => "v2",
        _ => version,
    }
}

/// Reads a list; `-` is an empty one.
fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|item| *item != "-").map(str::to_owned).collect()
}

/// Reads `status:get,patch` or `scale=autoscaling/v1/Scale:get,patch`.
fn subresource(text: &str) -> Option<Subresource> {
    let (name, verbs) = text.split_once(':')?;
    let (name, body) = match name.split_once('=') {
        Some((name, body)) => {
            let (api_version, kind) = body.rsplit_once('/')?;
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            (name, Some((group.to_owned(), version.to_owned(), kind.to_owned())))
        }
        None => (name, None),
    };
    Some(Subresource { name: name.to_owned(), body, verbs: list(verbs) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines = include_str!("builtin.txt").lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(all().len(), lines);
        let deployment = get("apps", "v1", "deployments").unwrap();
        assert_eq!(deployment.short_names, ["deploy"]);
        assert!(deployment.namespaced && deployment.has_status());
        let scale = deployment.subresource("scale").unwrap();
        assert_eq!(scale.body.as_ref().unwrap().2, "Scale");
    }
}
