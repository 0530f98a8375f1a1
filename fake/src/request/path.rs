//! The paths of the API.

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// `/`
    Root,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/api/{version}` or `/apis/{group}/{version}`
    Resources { group: String, version: String },
    /// A resource, one of its objects, or a subresource of one.
    Resource(ResourcePath),
    /// `/version`
    Version,
    /// `/healthz`, `/livez` and `/readyz`
    Health,
    /// `/openapi/v3`
    OpenApiIndex,
    /// `/openapi/v3/api/{version}` or `/openapi/v3/apis/{group}/{version}`
    OpenApi { group: String, version: String },
    /// A path that the server does not know.
    Unknown,
}

/// The path of a resource, of one of its objects, or of a subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    /// The namespace, or an empty text.
    pub(crate) namespace: String,
    pub(crate) plural: String,
    /// The name, or an empty text for the collection.
    pub(crate) name: String,
    /// The subresource, or an empty text.
    pub(crate) subresource: String,
    /// What follows the subresource, as in `pods/web/proxy/index.html`.
    pub(crate) rest: String,
    /// Whether the path is one of the old `…/watch/…` ones.
    pub(crate) watch: bool,
}

impl Path {
    /// Reads the path of a request, still encoded.
    pub(crate) fn parse(path: &str) -> Self {
        // As on the server, a slash that is encoded separates like any other.
        let Some(path) = decode(path).filter(|path| !path.starts_with("//")) else { return Self::Unknown };
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        match segments.as_slice() {
            [""] => Self::Root,
            ["version"] => Self::Version,
            ["healthz" | "livez" | "readyz", ..] => Self::Health,
            ["api"] => Self::CoreVersions,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group((*group).to_owned()),
            ["openapi", "v3"] => Self::OpenApiIndex,
            ["openapi", "v3", "api", version] => {
                Self::OpenApi { group: String::new(), version: (*version).to_owned() }
            }
            ["openapi", "v3", "apis", group, version] => {
                Self::OpenApi { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version] => Self::Resources { group: String::new(), version: (*version).to_owned() },
            ["apis", group, version] => {
                Self::Resources { group: (*group).to_owned(), version: (*version).to_owned() }
            }
            ["api", version, rest @ ..] => resource("", version, rest),
            ["apis", group, version, rest @ ..] => resource(group, version, rest),
            _ => Self::Unknown,
        }
    }
}

fn resource(group: &str, version: &str, segments: &[&str]) -> Path {
    let (watch, segments) = match segments {
        ["watch", rest @ ..] if !rest.is_empty() => (true, rest),
        segments => (false, segments),
    };
    // `namespaces/x` is the namespace itself, and so are its subresources.
    let (namespace, segments) = match segments {
        ["namespaces", _, "status" | "finalize"] => ("", segments),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        segments => ("", segments),
    };
    let at = |index: usize| segments.get(index).copied().unwrap_or_default().to_owned();
    Path::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: at(0),
        name: at(1),
        subresource: at(2),
        rest: segments.get(3..).unwrap_or_default().join("/"),
        watch,
    })
}

/// Decodes `%xx`. Bytes that are not UTF-8 are replaced.
fn decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource_of(path: &str) -> ResourcePath {
        match Path::parse(path) {
            Path::Resource(resource) => resource,
            other => panic!("{path} is {other:?}"),
        }
    }

    #[test]
    fn a_namespace_is_an_object_and_a_part_of_other_paths() {
        let namespace = resource_of("/api/v1/namespaces/default");
        assert_eq!((namespace.plural.as_str(), namespace.name.as_str()), ("namespaces", "default"));
        let status = resource_of("/api/v1/namespaces/default/status");
        assert_eq!((status.plural.as_str(), status.subresource.as_str()), ("namespaces", "status"));
        let pod = resource_of("/api/v1/namespaces/default/pods/web/log");
        assert_eq!(
            (pod.namespace.as_str(), pod.name.as_str(), pod.subresource.as_str()),
            ("default", "web", "log")
        );
    }

    #[test]
    fn segments_are_decoded() {
        assert_eq!(
            resource_of("/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode").name,
            "system:node"
        );
        assert_eq!(resource_of("/api/v1/pods/%ff").name, "\u{fffd}");
        assert_eq!(resource_of("/api/v1/pods/a%2Flog").subresource, "log");
        assert_eq!(Path::parse("/api/v1/pods/%2"), Path::Unknown);
    }
}
