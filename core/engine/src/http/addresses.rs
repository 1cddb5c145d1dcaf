//! Addresses of the program's own routes, written.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is encoded in a path or a query: all but what RFC 3986 calls unreserved, and colons, so that addresses with times
/// and DIDs stay readable.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// A text as a part of a path or a query.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A query of those members that have a value.
pub fn query(members: &[(&str, Option<&str>)]) -> String {
    let given = members.iter().filter_map(|(name, value)| Some(format!("{name}={}", encoded((*value)?))));
    given.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_what_is_given_and_no_text_leaves_its_place() {
        let query = query(&[("a", Some("x&y=z /?#é")), ("b", None), ("c", Some("did:svc:1~2026-01-01T00:00:00Z"))]);
        assert_eq!(query, "a=x%26y%3Dz%20%2F%3F%23%C3%A9&c=did:svc:1~2026-01-01T00:00:00Z");
    }
}
