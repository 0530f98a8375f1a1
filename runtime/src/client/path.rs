//! The paths of requests.

use super::{ApiObject, KindOf, TypedClient};
use crate::{
    error::{InvalidRequest, Operation},
    wire::check_namespace,
};

/// The target of a request.
#[derive(Clone, Copy)]
pub(super) enum Target<'a> {
    Collection,
    /// A new object of the collection. The name is for errors.
    New(Option<&'a str>),
    Object {
        /// `None` if the caller's object has no name, which is an error.
        name: Option<&'a str>,
        subresource: Option<&'a str>,
    },
}

impl<'a> Target<'a> {
    pub(super) fn object(name: &'a str) -> Self {
        Self::Object { name: Some(name), subresource: None }
    }

    pub(super) fn subresource(name: &'a str, subresource: &'a str) -> Self {
        Self::Object { name: Some(name), subresource: Some(subresource) }
    }
}

impl<K: ApiObject, D: KindOf<K>> TypedClient<K, D> {
    /// Returns the operation of a request, for its errors.
    pub(super) fn operation(&self, verb: &'static str, target: Target<'_>) -> Operation {
        let (name, subresource) = match target {
            Target::Collection => (None, None),
            Target::New(name) => (name, None),
            Target::Object { name, subresource } => (name, subresource),
        };
        Operation {
            verb,
            kind: self.kind.kind().into_owned(),
            namespace: self.namespace.clone(),
            name: name.map(str::to_owned),
            subresource: subresource.map(str::to_owned),
        }
    }

    pub(super) fn path(&self, target: Target<'_>) -> Result<String, InvalidRequest> {
        if let Some(namespace) = self.namespace.as_deref() {
            check_namespace(namespace)?;
        }
        let mut path = self.kind.url_path(self.namespace.as_deref())?;
        if let Target::Object { name, subresource } = target {
            push_segment(&mut path, name.ok_or(InvalidRequest::NameMissing)?, InvalidRequest::Name)?;
            if let Some(subresource) = subresource {
                push_segment(&mut path, subresource, InvalidRequest::Subresource)?;
            }
        }
        Ok(path)
    }
}

/// Appends a segment. Fails if it would change the path, by Kubernetes' rule for names in paths. The server
/// checks the stricter rules of the kinds.
fn push_segment(
    path: &mut String,
    segment: &str,
    invalid: fn(String) -> InvalidRequest,
) -> Result<(), InvalidRequest> {
    if matches!(segment, "" | "." | "..") || segment.contains(['/', '%']) {
        return Err(invalid(segment.to_owned()));
    }
    path.push('/');
    for byte in segment.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                path.push(char::from(byte));
            }
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(segment: &str) -> Result<String, InvalidRequest> {
        let mut path = "/api".to_owned();
        push_segment(&mut path, segment, InvalidRequest::Name).map(|()| path)
    }

    #[test]
    fn a_name_cannot_change_the_path() {
        for invalid in ["", ".", "..", "a/b", "%2e%2e"] {
            assert!(pushed(invalid).is_err(), "{invalid}");
        }
        assert_eq!(pushed("system:node-1.2").unwrap(), "/api/system:node-1.2");
        assert_eq!(pushed("a?b#c d").unwrap(), "/api/a%3Fb%23c%20d");
    }
}
