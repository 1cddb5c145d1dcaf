//! By which method a claim says that it was blocked: "by DNS poisoning", "reset TLS connections".

use super::dates::Reader;
use super::words::Pause;

/// Methods: words that name one, parts of the names that measurements give it, and parts of the names of others that do
/// not speak against it.
const METHODS: [(&[&str], &[&str], Against); 10] = [
    // Nobody measures these.
    (&["bgp", "keyword", "keywords"], &["bgp"], None),
    (&["dns"], &["dns"], Some(&[])),
    (&["ip"], &["tcp-timeout", "tcp-refused", "ip_"], Some(&["tcp", "ip-"])),
    (
        &["blockpage", "blockpages", "redirect", "redirects", "redirected", "redirecting"],
        &["blockpage", "redirect", "451"],
        // A wrong answer leads to a page.
        Some(&["dns", "http", "dpi"]),
    ),
    (&["reset", "resets", "resetting"], &["reset"], Some(&["sni", "dpi"])),
    (&["sni", "tls", "ssl"], &["tls", "sni"], Some(&["dpi", "tcp-reset"])),
    // Wrong answers are injected by it as well.
    (&["dpi"], &["tls", "http", "tcp-reset", "dpi", "sni"], None),
    (&["timeout", "timeouts"], &["timeout"], Some(&["sni", "dpi", "throttling"])),
    // Who measures HTTPS does not see what is done to HTTP.
    (&["http"], &["http", "blockpage", "redirect", "451"], Some(&["dpi", "tcp-reset", "tls", "sni"])),
    // Measurements give none of these names; beside another method they say no more than that one.
    (&["injection", "injections", "injecting", "packet", "spoofing", "blackholing", "url", "urls"], &[], None),
];
/// Of a method that was measured otherwise: what leaves it open; `None` where all does.
type Against = Option<&'static [&'static str]>;

/// Parts of names that say at what a method works.
const TOLD: [&str; 9] = ["dns", "tcp", "tls", "sni", "http", "ip_", "blockpage", "redirect", "451"];

/// Some of [`METHODS`], one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Methods(u16);

impl Methods {
    /// Whether each of them is among those that were measured.
    pub fn are_among(self, measured: &[&str]) -> bool {
        METHODS.iter().enumerate().all(|(bit, (_, parts, _))| self.0 & 1 << bit == 0 || held(measured, parts))
    }

    /// Whether those that were measured speak against one of them.
    pub fn are_opposed_by(self, measured: &[&str]) -> bool {
        let told = held(measured, &TOLD);
        METHODS.iter().enumerate().filter(|(bit, _)| self.0 & 1 << bit != 0).any(|(_, (_, parts, open))| {
            told && !held(measured, parts) && open.is_some_and(|open| !held(measured, open))
        })
    }
}

fn held(measured: &[&str], parts: &[&str]) -> bool {
    measured.iter().any(|name| parts.iter().any(|part| name.contains(part)))
}

/// Words before a method that is none of those that are claimed: "not by DNS", "rather than DNS".
const DENIED: [&str; 4] = ["not", "than", "without", "of"];

/// The methods that a clause names, when it names any.
pub fn methods(reader: &Reader<'_>) -> Option<Methods> {
    let named = |at: usize, words: &[&str]| {
        let two = |first: &str, second: &[&str]| reader.is(at, &[first]) && reader.is(at + 1, second);
        let page = words.contains(&"blockpage") && two("block", &["page", "pages"]);
        // "http://example.com" is an address.
        let address = reader.word(at + 1).is_some_and(|next| next.joined && next.pause == Pause::Colon);
        let denied = (1..=2).any(|back| {
            DENIED.contains(&reader.before(at, back))
                && (reader.before(at, back) != "of" || reader.before(at, back + 1) == "instead")
        });
        if denied {
            return false;
        }
        page || reader.is(at, words) && !address || words.contains(&"dpi") && two("deep", &["packet"])
    };
    let says = |words: &[&str]| (0..reader.words.len()).any(|at| named(at, words));
    let bits =
        METHODS.iter().enumerate().filter(|(_, (words, ..))| says(words)).fold(0, |bits, (bit, _)| bits | 1 << bit);
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
        assert_eq!(fit("X is blocked by TLS resets and not by DNS", &["tls-reset"]), Some(true));
    }

    #[test]
    fn another_method_that_was_measured_speaks_against_one() {
        for (text, measured, opposed) in [
            ("X is blocked by IP", &["dns-poison", "tls-reset"][..], true),
            ("X is blocked by DNS", &["tls-reset"], true),
            ("X is blocked by DNS", &["dns-nxdomain", "tls-reset"], false),
            ("X is blocked by SNI filtering", &["sni-filtering"], false),
            ("X is blocked by SNI filtering", &["dns-poison"], true),
            ("X is blocked by IP", &["throttling"], false),
            ("X is blocked by IP", &[], false),
            ("X is blocked by keywords", &["tls-reset"], false),
            ("X redirects to a block page", &["dns-poison"], false),
            ("DPI and DNS poisoning were used", &["tls-reset"], true),
        ] {
            let words = split(text);
            let methods = methods(&Reader { words: &words, shouting: false }).unwrap();
            assert_eq!(methods.are_opposed_by(measured), opposed, "{text}: {measured:?}");
        }
    }
}
