//! The host that a request names (RFC 9110 section 7.2; RFC 9112 section 3.2; RFC 9113 section 8.3.1).
//!
//! Proxies and caches tell requests apart by their host. If two programs could read different hosts from one request,
//! one of them could be deceived, so such a request is refused.

use heliograph_core::Error;
use http::uri::Authority;
use http::{HeaderValue, Version, header, request};

/// The error if the host of a request is missing, doubled or malformed.
pub fn wrong(head: &request::Parts) -> Option<Error> {
    let mut hosts = head.headers.get_all(header::HOST).iter();
    let authority = head.uri.authority();
    let refuse = |message: &'static str| Some(Error::bad_request(message));
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => refuse("The request has more than one Host header."),
        // Before HTTP/1.1 requests had no host.
        (None, None) if head.version < Version::HTTP_11 => None,
        (None, None) if head.version > Version::HTTP_11 && authority.is_some() => None,
        (None, None) => refuse("The request names no host: the Host header is missing."),
        // The header is empty when the address of the request has no host.
        (Some(host), None) if host.is_empty() => None,
        (Some(host), None) => match Authority::try_from(host.as_bytes()) {
            Ok(host) if host.as_str().contains('@') => refuse("The Host header is not a host."),
            Ok(host) if head.version > Version::HTTP_11 && authority.is_some_and(|other| *other != host) => {
                refuse("The Host header and the :authority of the request differ.")
            }
            Ok(_) => None,
            Err(_) => refuse("The Host header is not a host."),
        },
    }
}

/// Has the `Host` header say the host that HTTP/2 says elsewhere, so that there is one place to read it.
pub fn stated(head: &mut request::Parts) {
    let authority = head.uri.authority().filter(|_| !head.headers.contains_key(header::HOST));
    if let Some(host) = authority.and_then(|authority| HeaderValue::from_str(authority.as_str()).ok()) {
        head.headers.insert(header::HOST, host);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_http_2_states_is_read_like_any_other() {
        for (host, expected) in [(None, "a.example:80"), (Some("b.example"), "b.example")] {
            let mut request = http::Request::builder().version(Version::HTTP_2).uri("http://a.example:80/x");
            if let Some(host) = host {
                request = request.header(header::HOST, host);
            }
            let (mut head, ()) = request.body(()).unwrap().into_parts();
            stated(&mut head);
            assert_eq!(head.headers[header::HOST], expected);
        }
    }

    /// True if a request of this version, to this address, with these hosts is refused.
    fn refused(version: Version, uri: &str, hosts: &[&str]) -> bool {
        let mut request = http::Request::builder().version(version).uri(uri);
        for host in hosts {
            request = request.header("host", *host);
        }
        wrong(&request.body(()).unwrap().into_parts().0).is_some()
    }

    #[test]
    fn a_request_names_one_host_and_no_two_readers_find_two() {
        let (old, usual, new) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        for (version, uri, hosts) in [
            (usual, "/", &["a.example"][..]),
            (usual, "/", &["a.example:8787"]),
            (usual, "/", &["[::1]:8787"]),
            (usual, "/", &["127.0.0.1"]),
            (usual, "/", &[""]),
            // The host in the request's address wins over the header, and every program reads the same one.
            (usual, "http://b.example/", &["a.example"]),
            (old, "/", &[]),
            (old, "/", &["a.example"]),
            (new, "http://a.example/", &[]),
            (new, "http://a.example/", &["A.example"]),
            (new, "/", &["a.example"]),
        ] {
            assert!(!refused(version, uri, hosts), "{version:?} {uri} {hosts:?}");
        }
        for (version, uri, hosts) in [
            (usual, "/", &[][..]),
            (usual, "http://b.example/", &[]),
            (usual, "/", &["a.example", "b.example"]),
            (usual, "/", &["a.example", "a.example"]),
            (usual, "/", &["a.example, b.example"]),
            (usual, "/", &["a.example/path"]),
            (usual, "/", &["user@a.example"]),
            (usual, "/", &["a b"]),
            (old, "/", &["a.example", "b.example"]),
            (new, "/", &[]),
            (new, "http://a.example/", &["b.example"]),
            (new, "http://a.example/", &["a.example", "a.example"]),
        ] {
            assert!(refused(version, uri, hosts), "{version:?} {uri} {hosts:?}");
        }
    }
}
