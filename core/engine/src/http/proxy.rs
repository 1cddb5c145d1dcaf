//! Who asks, where proxies stand between.
//!
//! A proxy says in a header for whom it asks. Anybody can send that header, so it counts only from peers that the operator
//! trusts. Each proxy adds the address that it saw at the right end: read from there, addresses of trusted proxies are
//! passed over, and the first other one is the client. What stands to the left of it, the client itself may have written.

use std::net::{IpAddr, Ipv6Addr};

use http::HeaderMap;

use crate::settings::Settings;
use crate::web::Networks;

/// Headers by which proxies say that they pass something on. The first two say for whom.
const FORWARDING: [&str; 6] =
    ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "cf-connecting-ip", "true-client-ip"];

/// Whose word counts about where a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    trusted: Networks,
    /// The one header to read, where the operator names one; lower-case.
    header: Option<String>,
}

/// Where a request comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The client: the peer, or whom trusted proxies name. A proxy that does not say stands for its clients.
    pub client: IpAddr,
    /// Whether a trusted proxy passed it on.
    pub forwarded: bool,
    /// Why a header was not heard.
    pub unheard: Option<Unheard>,
}

/// Why a header that names a client was not heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unheard {
    /// The peer is not trusted.
    Stranger,
    /// `Forwarded` and `X-Forwarded-For` name different clients. A proxy writes one of them and lets the other through as
    /// the client sent it, and which is which cannot be known.
    Disagreeing,
}

impl Proxies {
    /// As the settings say. They were checked when they were set.
    pub fn of(settings: &Settings) -> Proxies {
        let header = settings.client_address_header.to_ascii_lowercase();
        Proxies {
            trusted: Networks::parse(&settings.trusted_proxies).unwrap_or_default(),
            header: Some(header).filter(|header| !header.is_empty()),
        }
    }

    /// Whether this address is a trusted proxy's.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.contains(address)
    }

    /// Where a request with these headers comes from, that came over a connection from `peer`.
    pub fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> Origin {
        let peer = peer.to_canonical();
        let names = FORWARDING.into_iter().chain(self.header.as_deref());
        let direct = Origin { client: peer, forwarded: false, unheard: None };
        if !names.into_iter().any(|name| headers.contains_key(name)) {
            return direct;
        }
        if !self.trusts(peer) {
            return Origin { unheard: Some(Unheard::Stranger), ..direct };
        }
        let heard = Origin { forwarded: true, ..direct };
        if let Some(header) = &self.header {
            return Origin { client: self.named(peer, headers, header).unwrap_or(peer), ..heard };
        }
        match (self.named(peer, headers, FORWARDING[0]), self.named(peer, headers, FORWARDING[1])) {
            (Some(one), Some(other)) if one != other => Origin { unheard: Some(Unheard::Disagreeing), ..heard },
            (one, other) => Origin { client: one.or(other).unwrap_or(peer), ..heard },
        }
    }

    /// The client by one header; none without it.
    fn named(&self, peer: IpAddr, headers: &HeaderMap, header: &str) -> Option<IpAddr> {
        let mut lines = headers.get_all(header).iter().rev().peekable();
        lines.peek()?;
        let mut client = peer;
        // Elements are taken off at commas from the right, whatever is quoted further left: an open quote of the client's
        // own must not swallow what the proxy wrote behind it.
        let texts = lines.flat_map(|line| line.to_str().unwrap_or("?").rsplit(','));
        for text in texts.map(str::trim).filter(|text| !text.is_empty()) {
            let stated = if header == FORWARDING[0] { stated_for(text) } else { Some(text) };
            // A name that hides an address (`unknown`, `_hidden`) ends what can be known.
            let Some(address) = stated.and_then(address) else { break };
            client = address;
            if !self.trusts(address) {
                break;
            }
        }
        Some(client)
    }
}

/// What stands for `for` in one element of `Forwarded` (RFC 7239 section 4), without its quotes.
fn stated_for(element: &str) -> Option<&str> {
    let value = element.split(';').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| value.trim())
    })?;
    Some(value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value))
}

/// An address, possibly with a port, an IPv6 one perhaps in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    // A port may be a word that hides it (RFC 7239 section 6).
    let without_port = || match text.strip_prefix('[') {
        Some(text) => text.split_once("]:")?.0.parse().ok().map(IpAddr::V6),
        None => text.split_once(':')?.0.parse().ok().map(IpAddr::V4),
    };
    bare.parse().ok().or_else(without_port).map(|address: IpAddr| address.to_canonical())
}

/// The address that budgets of addresses count for: whoever has an IPv6 address has its whole /64.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn proxies(trusted: &str, header: &str) -> Proxies {
        let mut settings = Settings::default();
        settings.set("trusted_proxies", trusted).unwrap();
        settings.set("client_address_header", header).unwrap();
        Proxies::of(&settings)
    }

    fn headers(all: &[(&str, &str)]) -> HeaderMap {
        let pairs = all.iter().map(|(name, value)| (HeaderName::try_from(*name).unwrap(), value.parse().unwrap()));
        pairs.fold(HeaderMap::new(), |mut headers, (name, value)| {
            headers.append(name, value);
            headers
        })
    }

    #[track_caller]
    fn client(proxies: &Proxies, peer: &str, all: &[(&str, &str)], expected: &str) -> Origin {
        let origin = proxies.origin(peer.parse().unwrap(), &headers(all));
        assert_eq!(origin.client, expected.parse::<IpAddr>().unwrap(), "{peer} {all:?}");
        origin
    }

    #[test]
    fn a_header_from_anybody_but_a_trusted_proxy_counts_for_nothing() {
        let proxies = proxies("10.0.0.0/8", "");
        for name in ["forwarded", "x-forwarded-for", "x-real-ip", "cf-connecting-ip"] {
            let origin = client(&proxies, "198.51.100.1", &[(name, "203.0.113.9")], "198.51.100.1");
            assert_eq!((origin.forwarded, origin.unheard), (false, Some(Unheard::Stranger)));
        }
        let origin = client(&proxies, "198.51.100.1", &[("x-forwarded-fro", "203.0.113.9")], "198.51.100.1");
        assert_eq!(origin.unheard, None);
    }

    #[test]
    fn loopback_is_trusted_by_default_and_nobody_where_the_setting_is_empty() {
        let usual = Proxies::of(&Settings::default());
        for peer in ["127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"] {
            assert!(client(&usual, peer, &[("x-forwarded-for", "203.0.113.9")], "203.0.113.9").forwarded);
        }
        let nobody = proxies("", "");
        assert!(!client(&nobody, "127.0.0.1", &[("x-forwarded-for", "203.0.113.9")], "127.0.0.1").forwarded);
        assert!(!client(&usual, "127.0.0.1", &[], "127.0.0.1").forwarded);
    }

    #[test]
    fn the_rightmost_address_that_is_not_trusted_is_the_client_whatever_stands_left_of_it() {
        let proxies = proxies("10.0.0.0/8,2001:db8:1::/48,192.0.2.7", "");
        let peer = "10.0.0.1";
        for (value, expected) in [
            ("203.0.113.9", "203.0.113.9"),
            ("1.1.1.1, 203.0.113.9", "203.0.113.9"),
            ("1.1.1.1,203.0.113.9 , 10.9.9.9, 192.0.2.7,2001:db8:1::5", "203.0.113.9"),
            ("nonsense, \"x, 203.0.113.9,10.0.0.2", "203.0.113.9"),
            ("203.0.113.9,", "203.0.113.9"),
            // All are proxies: the furthest one.
            ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
            ("2001:db8::9", "2001:db8::9"),
            ("[2001:db8::9]:4711", "2001:db8::9"),
            ("[2001:db8::9]", "2001:db8::9"),
            ("203.0.113.9:4711", "203.0.113.9"),
            ("::ffff:203.0.113.9", "203.0.113.9"),
        ] {
            assert!(client(&proxies, peer, &[("x-forwarded-for", value)], expected).forwarded);
        }
        let lines =
            [("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "10.1.1.1")];
        client(&proxies, peer, &lines, "203.0.113.9");
    }

    #[test]
    fn a_name_that_hides_the_client_leaves_the_proxy_that_wrote_it() {
        let proxies = proxies("10.0.0.0/8", "");
        for hidden in ["unknown", "_hidden", "_x:_y", "", "203.0.113.999", "::g", "1::2:g", "a b"] {
            let value = format!("1.1.1.1, {hidden}, 10.0.0.2");
            let expected = if hidden.is_empty() { "1.1.1.1" } else { "10.0.0.2" };
            client(&proxies, "10.0.0.1", &[("x-forwarded-for", &value)], expected);
            let origin =
                client(&proxies, "10.0.0.1", &[("forwarded", &format!("for=1.1.1.1, for={hidden}"))], "10.0.0.1");
            assert!(origin.forwarded);
        }
    }

    #[test]
    fn forwarded_is_read_as_its_standard_writes_it() {
        let proxies = proxies("10.0.0.0/8", "");
        for (value, expected) in [
            ("for=203.0.113.9", "203.0.113.9"),
            ("For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"),
            ("for=\"[2001:db8:cafe::17]\"", "2001:db8:cafe::17"),
            ("for=\"203.0.113.9:_port\";proto=https", "203.0.113.9"),
            ("by=10.0.0.1 ; FOR = 203.0.113.9;host=example.org;proto=http", "203.0.113.9"),
            ("for=1.1.1.1, for=203.0.113.9;by=10.0.0.2, for=\"10.0.0.2:80\"", "203.0.113.9"),
            // A quote that the client left open.
            ("for=\"1.1.1.1, for=203.0.113.9", "203.0.113.9"),
            ("for=\"1.1.1.1;x=\\\", for=203.0.113.9;proto=https", "203.0.113.9"),
            // An element that names nobody.
            ("for=1.1.1.1, proto=https", "10.0.0.1"),
        ] {
            client(&proxies, "10.0.0.1", &[("forwarded", value)], expected);
        }
    }

    #[test]
    fn two_headers_that_name_different_clients_leave_the_proxy_and_the_operator_may_choose_one() {
        let both = [("forwarded", "for=1.1.1.1"), ("x-forwarded-for", "203.0.113.9"), ("x-real-ip", "198.51.100.4")];
        let origin = client(&proxies("10.0.0.1", ""), "10.0.0.1", &both, "10.0.0.1");
        assert_eq!((origin.forwarded, origin.unheard), (true, Some(Unheard::Disagreeing)));
        for (header, expected) in [
            ("X-Forwarded-For", "203.0.113.9"),
            ("forwarded", "1.1.1.1"),
            ("X-Real-IP", "198.51.100.4"),
            ("true-client-ip", "10.0.0.1"),
        ] {
            let origin = client(&proxies("10.0.0.1", header), "10.0.0.1", &both, expected);
            assert_eq!((origin.forwarded, origin.unheard), (true, None));
        }
        let same = [("forwarded", "for=203.0.113.9"), ("x-forwarded-for", "1.1.1.1, 203.0.113.9")];
        client(&proxies("10.0.0.1", ""), "10.0.0.1", &same, "203.0.113.9");
    }

    #[test]
    fn whoever_has_an_ipv6_address_has_its_whole_64() {
        let of = |text: &str| neighbourhood(text.parse().unwrap()).to_string();
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(of("::ffff:203.0.113.9"), "203.0.113.9");
        assert_eq!(of("203.0.113.9"), "203.0.113.9");
    }
}
