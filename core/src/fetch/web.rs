//! Requests to others: what is asked, what came back, and where a request may go.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;

use crate::measurement::failure::is_bogon;
use crate::{Error, Result};

/// Most bytes of an answer.
pub const MAX_BYTES: usize = 8 << 20;

/// A GET request of this deployment to another host.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub url: String,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    /// For the whole exchange.
    pub timeout: Duration,
    /// An answer over this is an error, not a part of one.
    pub max_bytes: usize,
    /// Whether it may go to private addresses. The runtime must refuse them after it resolved the name, so that no name
    /// leads inside, and follows no redirect.
    pub private: bool,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub status: u16,
    /// Seconds, from `Retry-After`; a date there counts as absent.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

/// Refuses addresses that a deployment must never be sent to: anything but http(s), user names, and private or reserved
/// addresses written out. With `private` only the form is checked.
pub fn check_url(url: &str, private: bool) -> Result<()> {
    let refused = |why: &str| Err(Error::bad_request(format!("No request goes to {url:?}: {why}.")));
    let Some((scheme, rest)) = url.split_once("://") else { return refused("it is no address") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.is_empty() || authority.contains(['@', '\\']) || !url.is_ascii() {
        return refused("its host is not plain");
    }
    if !matches!((scheme, private), ("https", _) | ("http", true)) {
        return refused("only https is allowed");
    }
    let host = crate::measurement::domain::host_of(url).trim_matches(['[', ']']).to_ascii_lowercase();
    let inside =
        ["localhost", "local", "internal"].iter().any(|name| host == *name || host.ends_with(&format!(".{name}")));
    match host.parse::<IpAddr>() {
        _ if private => Ok(()),
        Ok(address) if !is_public(address) => refused("its address is private or reserved"),
        Err(_) if inside => refused("its name is of this machine or its network"),
        _ => Ok(()),
    }
}

/// Whether an address is one of the open Internet, also behind a translation from IPv6 to IPv4 (NAT64, 6to4).
pub fn is_public(address: IpAddr) -> bool {
    let translated = match address {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, .., high, low] | [0x2002, high, low, ..] => {
                Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            // Site-local, and IPv4 addresses written as IPv6 ones.
            [first, ..] if first == 0 || first & 0xffc0 == 0xfec0 => return v6.to_ipv4_mapped().is_some_and(public_v4),
            _ => None,
        },
        IpAddr::V4(v4) => return public_v4(v4),
    };
    translated.is_none_or(public_v4) && !is_bogon(&address.to_string())
}

fn public_v4(address: Ipv4Addr) -> bool {
    !is_bogon(&address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_request_goes_inside() {
        for url in [
            "http://example.org/",
            "https://127.0.0.1/x",
            "https://[::1]/x",
            "https://10.0.0.1:8443/",
            "https://169.254.169.254/latest",
            "https://[fe80::1]/",
            "https://[::ffff:192.168.0.1]/",
            "https://user@example.org/",
            "https://localhost/",
            "https://a.internal/",
            "file:///etc/passwd",
            "https:///x",
            "example.org",
        ] {
            assert!(check_url(url, false).is_err(), "{url}");
        }
        assert!(check_url("https://api.example.org/v2?x=1", false).is_ok());
        assert!(check_url("http://127.0.0.1:1234/x", true).is_ok());
        assert!(check_url("ftp://127.0.0.1/x", true).is_err());
        let public = |address: &str| is_public(address.parse().unwrap());
        for outside in ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"] {
            assert!(public(outside), "{outside}");
        }
        for inside in [
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::a00:1",
            "2002:a00:1::1",
            "fd00::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(inside), "{inside}");
        }
    }
}
