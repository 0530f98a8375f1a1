//! The host that a request names.

use std::net::IpAddr;

use http::{HeaderMap, Uri, header, uri::Authority};

/// Returns whether a request was sent to an address of loopback. A web page that reaches this server by a name that
/// its owner made point to it sends that name.
pub(super) fn is_local(uri: &Uri, headers: &HeaderMap) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_loopback_and_localhost_are_local() {
        let local = |host: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, http::HeaderValue::from_static(host))]);
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
            headers.append(header::HOST, http::HeaderValue::from_static(host));
        }
        assert!(!is_local(&Uri::from_static("/api"), &headers));
    }
}
