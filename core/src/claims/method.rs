//! By which method a claim says that it was blocked: "by DNS poisoning", "reset TLS connections".

use super::dates::Reader;
use super::words::Pause;

/// Methods: words that name one, and parts of the names that measurements give it.
const METHODS: [(&[&str], &[&str]); 10] = [
    (&["bgp", "keyword", "keywords"], &["bgp"]),
    (&["dns"], &["dns"]),
    (&["ip"], &["tcp-timeout", "tcp-refused", "ip_"]),
    (
        &["blockpage", "blockpages", "redirect", "redirects", "redirected", "redirecting"],
        &["blockpage", "redirect", "451"],
    ),
    (&["reset", "resets", "resetting"], &["reset"]),
    (&["sni", "tls", "ssl"], &["tls"]),
    (&["dpi"], &["tls", "http", "tcp-reset", "dpi"]),
    (&["timeout", "timeouts"], &["timeout"]),
    (&["http"], &["http", "blockpage", "redirect", "451"]),
    // Measurements give none of these names; beside another method they say no more than that one.
    (&["injection", "injections", "injecting", "packet", "spoofing", "blackholing", "url", "urls"], &[]),
];

/// Some of [`METHODS`], one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods(u16);

impl Methods {
    /// Whether each of them is among those that were measured.
    pub fn are_among(self, measured: &[&str]) -> bool {
        let held = |parts: &[&str]| measured.iter().any(|name| parts.iter().any(|part| name.contains(part)));
        METHODS.iter().enumerate().all(|(bit, (_, parts))| self.0 & 1 << bit == 0 || held(parts))
    }
}

/// The methods that a clause names, when it names any.
pub fn methods(reader: &Reader<'_>) -> Option<Methods> {
    let named = |at: usize, words: &[&str]| {
        let two = |first: &str, second: &[&str]| reader.is(at, &[first]) && reader.is(at + 1, second);
        let page = words.contains(&"blockpage") && two("block", &["page", "pages"]);
        // "http://example.com" is an address.
        let address = reader.word(at + 1).is_some_and(|next| next.joined && next.pause == Pause::Colon);
        page || reader.is(at, words) && !address || words.contains(&"dpi") && two("deep", &["packet"])
    };
    let says = |words: &[&str]| (0..reader.words.len()).any(|at| named(at, words));
    let bits =
        METHODS.iter().enumerate().filter(|(_, (words, _))| says(words)).fold(0, |bits, (bit, _)| bits | 1 << bit);
    let known = bits & !(1 << (METHODS.len() - 1));
    Some(Methods(if known == 0 { bits } else { known })).filter(|_| bits != 0)
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    fn fit(text: &str, measured: &[&str]) -> Option<bool> {
        let words = split(text);
        methods(&Reader { words: &words, shouting: false }).map(|methods| methods.are_among(measured))
    }

    #[test]
    fn a_method_fits_what_was_measured_by_that_method() {
        for (text, measured, fits) in [
            ("X is blocked by DNS", "dns-poison", true),
            ("X is DNS-blocked", "tls-reset", false),
            ("Telegram's DNS was hijacked", "tls-timeout", false),
            ("reset TLS connections to it", "tls-reset", true),
            ("blocked via SNI filtering", "tls-timeout", true),
            ("bbc.com is IP-blocked", "tls-reset", false),
            ("it redirects to a block page", "blockpage", true),
            ("deep packet inspection was used", "tls-reset", true),
            ("DPI and DNS poisoning were used", "tls-reset", false),
            ("it was blocked by HTTP injection", "tls-reset", false),
            ("it was blocked by HTTP injection", "http-451", true),
            ("it was blocked by DNS injection", "dns-poison", true),
            ("it was blocked by packet injection", "tls-reset", false),
            ("it was blocked by URL filtering", "tls-reset", false),
            ("https://www.bbc.com is blocked by DNS", "dns-poison", true),
        ] {
            assert_eq!(fit(text, &[measured]), Some(fits), "{text}");
        }
        assert_eq!(fit("http://bbc.com is blocked in Ghana", &["dns-poison"]), None);
        assert_eq!(fit("X is blocked in Ghana", &["dns-poison"]), None);
        assert_eq!(fit("X is blocked by DNS", &[]), Some(false));
    }
}
