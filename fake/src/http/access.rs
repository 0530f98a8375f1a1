//! Which requests are answered.

use std::net::IpAddr;

use http::{
    HeaderMap, Uri,
    header::{self, HeaderName},
    request::Parts,
    uri::Authority,
};

use crate::status::Failure;

/// Says whether a browser sends a request for the page that it shows, for the same origin, or for another one.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What everybody may read, as on a real API server.
const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// Decides which requests are answered.
#[derive(Clone, Debug)]
pub(super) struct Access {
    /// The bearer token that a request must have; `None` answers requests without one.
    token: Option<String>,
}

impl Access {
    /// Answers local requests that have this token, or all local requests without one.
    pub(super) fn new(token: Option<String>) -> Self {
        Self { token }
    }

    /// Refuses a request that comes from a web page, or that lacks the token.
    ///
    /// A page may address this server by a name that its owner made point to loopback, or by its address; it may
    /// write without reading the answer. Browsers send the headers that give it away.
    pub(super) fn check(&self, request: &Parts) -> Result<(), Failure> {
        let forbidden = |why| Err(Failure::new(403, "Forbidden", why));
        if !is_local(&request.uri, &request.headers) {
            return forbidden(
                "the Host of the request is not a loopback address: this server answers local clients only",
            );
        }
        if is_cross_site(&request.headers) {
            return forbidden("the request comes from a web page of another site");
        }
        let Some(token) = &self.token else { return Ok(()) };
        if has_token(&request.headers, token) || PUBLIC.contains(&request.uri.path()) {
            return Ok(());
        }
        let why = "Unauthorized: use the kubeconfig that this server has written, which holds its token, or serve \
                   without tokens (`--insecure`)";
        Err(Failure::new(401, "Unauthorized", why))
    }
}

/// Returns whether a request was sent to an address of loopback.
fn is_local(uri: &Uri, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (uri.authority(), hosts.next(), hosts.next()) {
        (Some(authority), ..) => Some(authority.clone()),
        (None, Some(host), None) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
        // HTTP/1.0 has no hosts.
        (None, None, _) => return true,
        (None, Some(_), Some(_)) => None,
    };
    let Some(host) = host else { return false };
    let name = host.host();
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

/// Returns whether a browser sends a request for a page that this server has not served.
fn is_cross_site(headers: &HeaderMap) -> bool {
    let other_site = headers.get(FETCH_SITE).is_some_and(|site| site != "same-origin" && site != "none");
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let other_origin = headers.get_all(header::ORIGIN).iter().any(|origin| {
        let origin =
            origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, origin)| origin);
        origin.is_none() || origin != host
    });
    other_site || other_origin
}

/// Returns whether a request has a bearer token. Its bytes are compared in constant time.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(header::AUTHORIZATION).and_then(|given| given.to_str().ok());
    let given = given.and_then(|given| given.split_once(' '));
    given.is_some_and(|(scheme, given)| {
        let bytes = given.bytes().zip(token.bytes());
        scheme.eq_ignore_ascii_case("bearer")
            && given.len() == token.len()
            && bytes.fold(0, |differences, (a, b)| differences | (a ^ b)) == 0
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, Request};

    use super::*;

    #[test]
    fn only_addresses_of_loopback_and_localhost_are_local() {
        let local = |host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            is_local(&Uri::from_static("/api"), &headers)
        };
        for host in ["127.0.0.1:8001", "127.0.0.2", "localhost:1", "LOCALHOST", "[::1]:8001", "[::1]"] {
            assert!(local(host), "{host}");
        }
        for host in
            ["example.com", "127.0.0.1.example.com:80", "10.0.0.1", "localhost.example.com", "", "a b"]
        {
            assert!(!local(host), "{host}");
        }
        assert!(is_local(&Uri::from_static("/api"), &HeaderMap::new()));
        assert!(!is_local(&Uri::from_static("http://example.com/api"), &HeaderMap::new()));
    }

    #[test]
    fn a_request_with_two_hosts_is_not_local() {
        let mut headers = HeaderMap::new();
        for host in ["127.0.0.1", "example.com"] {
            headers.append(header::HOST, HeaderValue::from_static(host));
        }
        assert!(!is_local(&Uri::from_static("/api"), &headers));
    }

    /// The code with which a request with these headers is refused; 200 if it is not.
    fn code(token: Option<&str>, path: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = Request::get(path).header("host", "127.0.0.1:8001");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        Access::new(token.map(str::to_owned)).check(&parts).map_or_else(|failure| failure.code, |()| 200)
    }

    #[test]
    fn a_request_of_a_web_page_is_refused_with_and_without_tokens() {
        for token in [None, Some("secret")] {
            for headers in [
                [("sec-fetch-site", "cross-site"), ("authorization", "Bearer secret")],
                [("sec-fetch-site", "same-site"), ("authorization", "Bearer secret")],
                [("origin", "http://evil.example"), ("authorization", "Bearer secret")],
                [("origin", "http://127.0.0.1:9999"), ("authorization", "Bearer secret")],
                [("origin", "null"), ("authorization", "Bearer secret")],
                [("origin", ""), ("authorization", "Bearer secret")],
            ] {
                assert_eq!(code(token, "/api", &headers), 403, "{headers:?}");
                assert_eq!(code(token, "/healthz", &headers), 403, "{headers:?}");
            }
            for headers in [
                [("origin", "https://127.0.0.1:8001"), ("authorization", "Bearer secret")],
                [("sec-fetch-site", "none"), ("authorization", "bearer secret")],
                [("sec-fetch-site", "same-origin"), ("authorization", "BEARER secret")],
            ] {
                assert_eq!(code(token, "/api", &headers), 200, "{headers:?}");
            }
        }
    }

    #[test]
    fn a_request_without_the_token_reads_nothing_but_health_and_version() {
        for given in
            ["", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Bearer Secret", "Basic secret"]
        {
            assert_eq!(
                code(Some("secret"), "/api/v1/secrets", &[("authorization", given)]),
                401,
                "{given:?}"
            );
        }
        assert_eq!(code(Some("secret"), "/api/v1/secrets", &[]), 401);
        for path in PUBLIC {
            assert_eq!(code(Some("secret"), path, &[]), 200, "{path}");
        }
        assert_eq!(code(Some("secret"), "/healthz/x", &[]), 401);
    }
}
