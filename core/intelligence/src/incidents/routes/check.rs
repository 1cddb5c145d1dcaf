//! Checks the values in requests about incidents.

use std::collections::BTreeSet;

use super::list::subject_of;
use crate::incidents::text;
use crate::{Error, ErrorCode, Result, Timestamp};
use engine::http::Cx;
use engine::moment::last_moment;
use facts::verdict::Technique;

/// Reads a subject: a platform, a domain, or `internet`.
pub async fn subject(cx: &Cx, text: &str) -> Result<String> {
    if text.trim().eq_ignore_ascii_case(text::INTERNET) {
        return Ok(text::INTERNET.to_owned());
    }
    subject_of(cx, text).await
}

/// Characters in a source's name for a service, at most.
const MAX_NAME: usize = 200;

/// Reads a subject to select by: one that [`subject`] knows, or else a name that sources use, which some incident may
/// have.
pub async fn service(cx: &Cx, text: &str) -> Result<String> {
    match subject(cx, text).await {
        Err(error) if error.code == ErrorCode::BadRequest => {
            line("service", Some(text), MAX_NAME)?.map(|name| name.to_lowercase()).ok_or(error)
        }
        known => known,
    }
}

/// Reads a domain. A service is refused.
pub fn domain(text: &str) -> Result<String> {
    let subject = facts::subject::Subject::parse(text)?;
    if subject.service {
        return Err(Error::bad_request(format!("{text:?} is a service, not a domain.")));
    }
    Ok(subject.name)
}

/// What [`asn`] reads: a number of 32 bits that is not 0.
pub const ASN_PATTERN: &str = "^[Aa]*[Ss]*0*([1-9][0-9]{0,8}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|\
    4294[0-8][0-9]{5}|42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|429496729[0-5])$";

/// Reads `AS64496` or `64496`.
pub fn asn(text: &str) -> Result<u32> {
    let digits = text.trim().trim_start_matches(['A', 'a']).trim_start_matches(['S', 's']);
    let number = digits.parse().ok().filter(|asn| *asn > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()));
    number.ok_or_else(|| Error::bad_request(format!("{text:?} is not an AS number such as AS64496.")))
}

/// What the names of methods look like, in any case.
pub const METHOD_PATTERN: &str = "^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$";

/// Reads methods under the names that measurements use.
pub fn methods(texts: &[String]) -> Result<Vec<String>> {
    let known: BTreeSet<&str> = Technique::ALL.iter().map(|technique| technique.method()).collect();
    let one = |text: &String| {
        let name = text.trim().to_ascii_lowercase();
        let all = || known.iter().copied().collect::<Vec<_>>().join(", ");
        let unknown = || Error::bad_request(format!("{text:?} is not a method; methods are {}.", all()));
        known.contains(name.as_str()).then_some(name).ok_or_else(unknown)
    };
    let mut methods = texts.iter().map(one).collect::<Result<Vec<_>>>()?;
    sorted(&mut methods, 50, "methods")?;
    Ok(methods)
}

/// Sorts a list and removes repetitions. A list that is too long is refused.
pub fn sorted<T: Ord>(list: &mut Vec<T>, most: usize, name: &str) -> Result<()> {
    list.sort();
    list.dedup();
    if list.len() > most {
        return Err(Error::bad_request(format!("`{name}` takes at most {most}.")));
    }
    Ok(())
}

/// Reads a time in ISO 8601, from 1970 on.
pub fn time(name: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    moment(name, text, Timestamp::parse)
}

/// Reads an end in the same form. A bare date stands for the end of that day.
pub fn end(text: Option<&str>) -> Result<Option<Timestamp>> {
    moment("end", text, last_moment)
}

fn moment(name: &str, text: Option<&str>, read: fn(&str) -> Option<Timestamp>) -> Result<Option<Timestamp>> {
    let wrong = || Error::bad_request(format!("`{name}` must be an ISO 8601 time."));
    text.map(|text| read(text).filter(|at| at.0 >= 0).ok_or_else(wrong)).transpose()
}

/// Checks that a number is from 0 to 1.
pub fn share(name: &str, value: Option<f64>) -> Result<Option<f64>> {
    match value {
        Some(value) if !(0.0..=1.0).contains(&value) => Err(Error::bad_request(format!("`{name}` must be 0 to 1."))),
        value => Ok(value),
    }
}

/// Reads one line of text without control characters. It is trimmed; `None` when empty.
pub fn line(name: &str, text: Option<&str>, most: usize) -> Result<Option<String>> {
    if text.is_some_and(|text| text.contains(['\n', '\t'])) {
        return Err(Error::bad_request(format!("`{name}` must be one line.")));
    }
    prose(name, text, most)
}

/// Reads text that may have several lines. It is checked as it was sent, so that the document of the interface can say
/// the same bounds, and then trimmed.
pub fn prose(name: &str, text: Option<&str>, most: usize) -> Result<Option<String>> {
    let Some(text) = text else { return Ok(None) };
    if text.chars().count() > most {
        return Err(Error::bad_request(format!("`{name}` must be at most {most} characters.")));
    }
    let text = text.replace("\r\n", "\n");
    if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err(Error::bad_request(format!("`{name}` must be without control characters.")));
    }
    Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Most characters of an address.
pub const MAX_LINK: usize = 2_000;
/// What [`link`] reads.
pub const LINK_PATTERN: &str = r"^(https://[!$-.0-;=A-\[\]-_a-~]*[.][!$-.0-;=A-\[\]-_a-~]*([/?#][!#-;=?-_a-~]*)?)?$";

/// Reads an https address without user info.
pub fn link(name: &str, text: Option<String>) -> Result<Option<String>> {
    let Some(text) = line(name, text.as_deref(), MAX_LINK)? else { return Ok(None) };
    let host = text.strip_prefix("https://").map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let plain = |host: &str| host.contains('.') && !host.contains(['@', '\\']);
    if host.is_some_and(plain) && text.is_ascii() && !text.contains([' ', '"', '<', '>', '`']) {
        return Ok(Some(text));
    }
    Err(Error::bad_request(format!("`{name}` must be an https address without user info.")))
}

#[cfg(test)]
mod tests {
    use engine::http::{LINE, PROSE};

    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        regex_lite::Regex::new(pattern).unwrap().is_match(text)
    }

    #[test]
    fn patterns_take_what_is_read_and_no_more() {
        for text in [
            "1",
            "AS64496",
            "as1",
            "A1",
            "AAS007",
            "4294967295",
            "4294967296",
            "0",
            "AS0",
            "SA1",
            "1A",
            "",
            "-1",
            "+1",
            "AS 1",
        ] {
            assert_eq!(fits(ASN_PATTERN, text), asn(text).is_ok(), "{text:?}");
        }
        for text in [
            "",
            "https://example.org",
            "https://example.org/a?b=@#c",
            "https://a.b:1/~[x]^|",
            "https://localhost",
            "https://user@example.org",
            "http://example.org",
            "https://example.org/a b",
            "https://example.org/<a>",
            "https://example.org/\u{e4}",
            "https://example.org?a`",
            "https://a\\.org",
        ] {
            assert_eq!(fits(LINK_PATTERN, text), link("url", Some(text.to_owned())).is_ok(), "{text:?}");
        }
        for technique in Technique::ALL {
            assert!(fits(METHOD_PATTERN, technique.method()), "{}", technique.method());
        }
        for (text, line_fits, prose_fits) in [
            ("a b", true, true),
            ("a\nb", false, true),
            ("a\r\nb", false, true),
            ("a\rb", false, false),
            ("a\u{85}b", false, false),
            ("a\n", false, true),
            ("\u{85}a", false, false),
            (" a ", true, true),
        ] {
            assert_eq!((fits(LINE, text), line("a", Some(text), 9).is_ok()), (line_fits, line_fits), "{text:?}");
            assert_eq!((fits(PROSE, text), prose("a", Some(text), 9).is_ok()), (prose_fits, prose_fits), "{text:?}");
        }
    }
}
