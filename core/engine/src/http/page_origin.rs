//! Origins of web pages (RFC 6454), as the header `Origin` and settings name them.

use std::net::IpAddr;

use http::Uri;

/// Scheme, host and port. Two are equal when browsers hold them for the same origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOrigin {
    pub scheme: String,
    /// In lower case; an IPv6 address without its brackets.
    pub host: String,
    pub port: u16,
}

impl PageOrigin {
    /// An origin of http or https; `None` for anything else, such as `null` or an address with a path.
    pub fn parse(text: &str) -> Option<PageOrigin> {
        let rest = text.split_once("://")?.1;
        (!rest.contains(['/', '?', '#'])).then(|| PageOrigin::of(text))?
    }

    /// The origin of an address of http or https.
    pub fn of(address: &str) -> Option<PageOrigin> {
        let address: Uri = address.parse().ok()?;
        let usual = match address.scheme_str()? {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = address.authority().filter(|authority| !authority.as_str().contains('@'))?;
        Some(PageOrigin {
            scheme: address.scheme_str()?.to_owned(),
            host: bare(authority.host()),
            port: authority.port_u16().unwrap_or(usual),
        })
    }
}

/// The name in a `Host` header, in lower case, without the port and the brackets of an IPv6 address.
pub fn host_name(header: &str) -> Option<String> {
    let authority: http::uri::Authority = header.trim().parse().ok()?;
    (!authority.as_str().contains('@')).then(|| bare(authority.host()))
}

fn bare(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Whether a host, as [`PageOrigin`] has it, is a name or an address of the machine itself.
pub fn is_this_machine(host: &str) -> bool {
    let loopback = |address: IpAddr| address.to_canonical().is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_browsers_hold_for_one_origin_is_one() {
        let of = |text: &str| PageOrigin::parse(text).unwrap();
        assert_eq!(of("https://App.Example.org"), of("https://app.example.org:443"));
        assert_eq!(of("http://[::1]:8787").host, "::1");
        assert_ne!(of("http://app.example.org"), of("https://app.example.org"));
        assert_ne!(of("https://app.example.org"), of("https://app.example.org:8443"));
        for wrong in
            ["null", "", "app.example.org", "https://a.example/", "https://u@a.example", "file://x", "https://"]
        {
            assert_eq!(PageOrigin::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_that_only_look_like_this_machine_are_others() {
        for host in ["localhost", "app.localhost", "127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["localhost.evil.example", "127.0.0.1.evil.example", "192.168.1.5", "0.0.0.0", "notlocalhost", ""] {
            assert!(!is_this_machine(host), "{host}");
        }
        assert_eq!(host_name("Relay.Example.:8787").as_deref(), Some("relay.example"));
        assert_eq!(host_name("[::1]:8787").as_deref(), Some("::1"));
        assert_eq!(host_name("a b"), None);
    }
}
