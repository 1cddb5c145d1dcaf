//! Requests to others: what is asked, what came back, and where a request may go.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::bogon::is_bogon;
use crate::moment::moment;
use crate::time::SECOND;
use crate::{Error, Result, Timestamp};

/// Most bytes of an answer.
pub const MAX_BYTES: usize = 8 << 20;

/// A request of this deployment to another host: GET, or POST where it has a body.
#[derive(Debug, Clone)]
pub struct Outgoing {
    pub url: String,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Option<Bytes>,
    /// For the whole exchange.
    pub timeout: Duration,
    /// An answer over this is an error, not a part of one; of 0 nothing is read but the head.
    pub max_bytes: usize,
    /// Where it may go beyond the open Internet. The runtime must refuse everything else after it resolved the name, and
    /// connect to an address that it checked, so that no name leads inside, and follows no redirect.
    pub beyond: Networks,
}

/// A list of networks, as settings name them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// Every address there is.
    pub fn all() -> Networks {
        Networks(vec![Ipv4Net::default().into(), Ipv6Net::default().into()])
    }

    /// Networks as `address/bits`, or single addresses, by comma; the empty text is none.
    pub fn parse(text: &str) -> Option<Networks> {
        let one = |text: &str| text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
        let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
        texts.map(one).collect::<Option<Vec<_>>>().map(Networks)
    }

    fn is_all(&self) -> bool {
        *self == Networks::all()
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Whether a request may go to this address: one of the open Internet, or of these networks.
    pub fn reach(&self, address: IpAddr) -> bool {
        is_public(address) || self.contains(address)
    }
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Incoming {
    pub status: u16,
    /// Seconds, from `Retry-After`; a date there counts as absent.
    pub retry_after: Option<u64>,
    pub body: Bytes,
}

/// Ports that requests go to outside the networks allowed beyond the open Internet.
const PORTS: [u16; 2] = [443, 8443];

/// Names of machines and networks that are nobody's on the open Internet.
const INSIDE: [&str; 7] = ["localhost", "localdomain", "local", "internal", "home.arpa", "lan", "onion"];

/// What an address looks like that [`check_url`] may allow.
pub const ADDRESS_PATTERN: &str = r"^https?://[!\u0022$&-.0->A-\[\]-~]+([/?#][!-\[\]-~]*)?$";

/// Refuses addresses that a deployment must never be sent to: anything but https on its usual ports, user names, private
/// and reserved addresses, whatever their spelling, and names of the own machine or network. Into `beyond`, written out
/// as an address, plain http and every port are allowed.
pub fn check_url(url: &str, beyond: &Networks) -> Result<()> {
    let refused = |why: &str| Err(Error::bad_request(format!("No request goes to {url:?}: {why}.")));
    let Some((scheme, rest)) = url.split_once("://") else { return refused("it is no address") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    // The rest of the check must read the host as every client does: nothing that one would decode, fold or drop.
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) || url.contains('\\') || authority.contains(['@', '%']) {
        return refused("its host is not plain");
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':').or(rest.is_empty().then_some(""))),
        None => authority.split_once(':').map_or((authority, Some("")), |(host, port)| (host, Some(port))),
    };
    let port = match port {
        Some("") => None,
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => port.parse::<u16>().ok().or(Some(0)),
        _ => return refused("its port is none"),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let address = host.parse::<IpAddr>().ok();
    let own = beyond.is_all() || address.is_some_and(|address| beyond.contains(address));
    if authority.starts_with('[') && !address.is_some_and(|address| address.is_ipv6()) {
        return refused("its address is none");
    }
    if host.is_empty() || !matches!((scheme, own), ("https", _) | ("http", true)) {
        return refused("only https is allowed");
    }
    if own {
        return Ok(());
    }
    if port.is_some_and(|port| !PORTS.contains(&port)) {
        return refused("only the ports 443 and 8443 are allowed");
    }
    match address {
        Some(address) if !is_public(address) => refused("its address is private or reserved"),
        Some(_) => Ok(()),
        None if !is_name(&host) => refused("its host is no name"),
        None if INSIDE.iter().any(|name| host == *name || host.ends_with(&format!(".{name}"))) => {
            refused("its name is of this machine or its network")
        }
        None => Ok(()),
    }
}

/// Whether a host is a full name. Clients read one whose last part is a number as an IPv4 address in another spelling
/// (`2130706433`, `0x7f.1`, `017700000001`).
fn is_name(host: &str) -> bool {
    let last = host.rsplit('.').next().unwrap_or("");
    let hexadecimal = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    host.contains('.')
        && host.len() <= 253
        && host.bytes().all(plain)
        && !host.split('.').any(str::is_empty)
        && !hexadecimal
        && !last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether an address is one of the open Internet, also behind a translation from IPv6 to IPv4 (NAT64, 6to4).
pub fn is_public(address: IpAddr) -> bool {
    let translated = match address {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, .., high, low] | [0x2002, high, low, ..] => {
                Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            // Teredo hides the address that a packet ends at; its neighbours are no hosts either (RFC 2928).
            [0x2001, ..0x200, ..] => return false,
            // Discarded, documentation, segment identifiers (RFC 6666, 9637, 9602).
            [0x100 | 0x5f00, ..] | [0x3fff, ..0x1000, ..] => return false,
            // Site-local, and IPv4 addresses written as IPv6 ones.
            [first, ..] if first == 0 || first & 0xffc0 == 0xfec0 => return v6.to_ipv4_mapped().is_some_and(public_v4),
            _ => None,
        },
        IpAddr::V4(v4) => return public_v4(v4),
    };
    translated.is_none_or(public_v4) && !is_bogon(&address.to_string())
}

fn public_v4(address: Ipv4Addr) -> bool {
    // Relays of 6to4, which are no more (RFC 7526).
    !is_bogon(&address.to_string()) && !matches!(address.octets(), [192, 88, 99, _])
}

/// The seconds that a `Retry-After` header asks to wait: a number, or a date (RFC 9110, section 10.2.3) as seen at `now`.
pub fn retry_after(header: &str, now: Timestamp) -> Option<u64> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(seconds);
    }
    let until = moment(header).filter(|until| header.ends_with("GMT") && *until >= Timestamp(0))?;
    u64::try_from(until.since(now).max(0)).ok().map(|wait| wait.div_ceil(SECOND.unsigned_abs()))
}

/// The error of a runtime that cannot reach out.
pub fn no_way_out() -> Error {
    Error::internal("this runtime makes no requests of its own")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses that lead inside, or are none, by all the spellings that clients understand, each under its refusal.
    const HOSTILE: &[(&str, &[&str])] = &[
        (
            "only https is allowed",
            &[
                "http://example.org/",
                "ftp://example.org/",
                "file:///etc/passwd",
                "gopher://example.org/",
                "https:///x",
                "https://",
                "https://?x",
                "https://#x",
                "https://:443/",
                "https://./",
                "https://../",
                "ws://example.org/",
                "data://x,y",
                "HTTPS://127.0.0.1/",
            ],
        ),
        ("it is no address", &["javascript:alert(1)", "//example.org/", "https:/example.org/", "example.org", ""]),
        (
            "its address is private or reserved",
            &[
                "https://127.0.0.1/x",
                "https://127.0.0.1./",
                "https://127.255.255.254/",
                "https://0.0.0.0/",
                "https://10.0.0.1:8443/",
                "https://172.16.0.1/",
                "https://172.31.255.255/",
                "https://192.168.1.1/",
                "https://169.254.169.254/latest/meta-data/",
                "https://100.64.0.1/",
                "https://100.100.100.200/",
                "https://192.0.0.192/",
                "https://198.18.0.1/",
                "https://198.51.100.7/",
                "https://203.0.113.7/",
                "https://224.0.0.1/",
                "https://240.0.0.1/",
                "https://255.255.255.255/",
                "https://[::1]/x",
                "https://[::]/",
                "https://[0:0:0:0:0:0:0:1]/",
                "https://[::ffff:192.168.0.1]/",
                "https://[::ffff:7f00:1]/",
                "https://[::127.0.0.1]/",
                "https://[64:ff9b::7f00:1]/",
                "https://[64:ff9b:1::a00:1]/",
                "https://[2002:7f00:1::]/",
                "https://[2001:0:1::1]/",
                "https://[2001:db8::1]/",
                "https://[fe80::1]/",
                "https://[fc00::1]/",
                "https://[fd00:ec2::254]/",
                "https://[fec0::1]/",
                "https://[ff02::1]/",
                "https://[::ffff:0:127.0.0.1]/",
                "https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/",
                "https://[64:ff9b::a9fe:a9fe]/",
                "https://[3fff::1]/",
                "https://[100::1]/",
                "https://[5f00::1]/",
                "https://[2001:2::1]/",
                "https://[2001:10::1]/",
                "https://192.88.99.1/",
                "https://127.0.0.1#@example.org/",
                "https://127.0.0.1?@example.org/",
                "https://10.0.0.1.:443/",
            ],
        ),
        (
            "its host is no name",
            &[
                "https://127.1/",
                "https://2130706433/",
                "https://0x7f000001/",
                "https://0x7f.0.0.1/",
                "https://0X7F.1/",
                "https://0177.0.0.1/",
                "https://017700000001/",
                "https://127.0.0.0x1/",
                "https://0/",
                "https://0x/",
                "https://1.2.3.4.5/",
                "https://localhost/",
                "https://LOCALHOST/",
                "https://localhost./",
                "https://intranet/",
                "https://a..example.org/",
                "https://0x7f.1/",
                "https://0177.1/",
                "https://127.0.1/",
            ],
        ),
        (
            "its host is not plain",
            &[
                "https://[fe80::1%25eth0]/",
                "https://user@example.org/",
                "https://user:word@example.org/",
                "https://example.org@127.0.0.1/",
                "https://127.0.0.1\\@example.org/",
                "https://example.org\\.127.0.0.1/",
                "https://127.0.0.1%2f.example.org/",
                "https://%31%32%37.0.0.1/",
                "https://example.org%00.x/",
                "https://exa mple.org/",
                "https://example.org/\r\nhost: x",
                "https://\tlocalhost/",
                "https://\u{2460}\u{2461}\u{2466}.0.0.1/",
                "https://\u{ff4c}ocalhost/",
                "https://[fe80::1%eth0]/",
                "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
                "https://example\u{3002}org/",
                "https://b\u{fc}cher.example/",
                "https://example.org/\u{0}",
                " https://example.org/",
                "https://example.org/ ",
            ],
        ),
        (
            "its port is none",
            &[
                "https://[::1/",
                "https://[::1]x/",
                "https://example.org:443x/",
                "https://example.org:-1/",
                "https://example.org:443:22/",
                "https://127.0.0.1:443./",
            ],
        ),
        ("its address is none", &["https://[example.org]/"]),
        (
            "its name is of this machine or its network",
            &[
                "https://a.localhost/",
                "https://a.internal/",
                "https://metadata.google.internal/computeMetadata/v1/",
                "https://printer.local/",
                "https://router.home.arpa/",
                "https://localhost.localdomain/",
                "https://wpad.lan/",
                "https://example.onion/",
            ],
        ),
        (
            "only the ports 443 and 8443 are allowed",
            &[
                "https://example.org:22/",
                "https://example.org:80/",
                "https://example.org:0/",
                "https://example.org:65979/",
            ],
        ),
    ];

    #[test]
    fn no_request_goes_inside() {
        let all = || HOSTILE.iter().flat_map(|(why, urls)| urls.iter().map(move |url| (*why, *url)));
        assert!(all().count() >= 60);
        for (why, url) in all() {
            let refused = check_url(url, &Networks::default()).expect_err(url);
            assert_eq!(refused.code, crate::ErrorCode::BadRequest, "{url}");
            assert!(refused.message.ends_with(&format!(": {why}.")), "{url:?}: {}, not {why}", refused.message);
        }
        for url in [
            "https://api.example.org/v2?x=1",
            "https://example.org",
            "https://example.org./",
            "https://xn--bcher-kva.example/",
            "https://example.org:8443/x@y",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]:443/",
            "https://0x7f.example.org/",
        ] {
            check_url(url, &Networks::default()).unwrap();
        }
        let private = Networks::all();
        assert!(check_url("http://127.0.0.1:1234/x", &private).is_ok());
        assert!(check_url("http://mirror:1234/x", &private).is_ok());
        assert!(check_url("ftp://127.0.0.1/x", &private).is_err());
    }

    #[test]
    fn networks_open_exactly_themselves_and_plain_http_only_there() {
        let networks = Networks::parse("127.0.0.0/8, fd00::/16").unwrap();
        for inside in
            ["http://127.0.0.1:8080/", "https://127.9.9.9/", "http://[fd00:1::1]:81/", "http://[::ffff:127.0.0.1]/"]
        {
            check_url(inside, &networks).unwrap();
        }
        for outside in
            ["http://126.0.0.1/", "http://128.0.0.1/", "https://10.0.0.1/", "http://[fd01::1]/", "http://localhost/"]
        {
            assert!(check_url(outside, &networks).is_err(), "{outside}");
        }
        let reach = |networks: &str, address: &str| Networks::parse(networks).unwrap().reach(address.parse().unwrap());
        assert!(reach("", "8.8.8.8") && reach("10.0.0.0/8", "8.8.8.8") && !reach("", "10.1.2.3"));
        assert!(reach("10.1.2.3/32", "10.1.2.3") && !reach("10.1.2.3/32", "10.1.2.2"));
        assert!(reach("0.0.0.0/0", "10.1.2.3") && !reach("0.0.0.0/0", "::1") && reach("::/0", "::1"));
        assert!(reach("10.1.2.3", "10.1.2.3") && !reach("10.1.2.3", "10.1.2.4"));
        for bad in ["127.0.0.1:80", "127.0.0.1/33", "::/129", "localhost/8", "127.0.0.0/8;::/0"] {
            assert_eq!(Networks::parse(bad), None, "{bad}");
        }
        assert_eq!(Networks::parse(" "), Some(Networks::default()));
    }

    #[test]
    fn addresses_of_the_open_internet_are_told_from_all_others() {
        let public = |address: &str| is_public(address.parse().unwrap());
        for outside in
            ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2001:4860::1"]
        {
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
            "100::1",
            "3fff::1",
            "5f00::1",
            "2001:2::1",
            "192.88.99.1",
        ] {
            assert!(!public(inside), "{inside}");
        }
    }

    #[test]
    fn a_source_says_when_to_come_back_in_seconds_or_as_a_date() {
        let now = Timestamp::parse("1994-11-06T08:48:07.5Z").unwrap();
        for (header, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(90)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
            ("1994-11-06T08:49:37Z", None),
            ("", None),
        ] {
            assert_eq!(retry_after(header, now), seconds, "{header}");
        }
    }
}
