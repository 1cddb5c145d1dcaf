//! JSON of signed texts: a strict reader, and the canonical form that is signed (decision strict-ledger-json).
//!
//! If two readers could understand one signed text differently, its signature would prove nothing. So members that come
//! twice, half surrogate pairs, numbers that are not whole, and deep nesting are refused wherever they occur.
//!
//! The canonical form is that of RFC 8785 for the values that can occur, without members that are null at any depth:
//! members sorted, no white space, the shortest escapes, whole numbers in decimal digits.

use std::collections::BTreeMap;

/// Deepest nesting of a signed value (decision strict-ledger-json).
pub const MAX_DEPTH: usize = 8;
/// Largest magnitude of a number, up to which JavaScript counts exactly.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;
/// Digits of [`MAX_INTEGER`].
const MAX_DIGITS: usize = 16;

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// A number that is mathematically whole and within ±[`MAX_INTEGER`], however it was written.
    Integer(i64),
    /// Any other number. It has no canonical form.
    Inexact,
    Text(String),
    List(Vec<Json>),
    Object(Members),
}

/// Members in the order of the canonical form.
pub type Members = BTreeMap<String, Json>;

/// Reads a whole text whose values nest at most `depth` deep. `None`: it is not JSON, or has more than one meaning.
pub fn parse(text: &[u8], depth: usize) -> Option<Json> {
    let mut reader = Reader { rest: std::str::from_utf8(text).ok()? };
    let value = reader.value(depth)?;
    reader.space();
    reader.rest.is_empty().then_some(value)
}

impl Json {
    /// Removes members that are null, at every depth. A null in a list stays.
    pub fn without_nulls(self) -> Json {
        match self {
            Json::List(items) => Json::List(items.into_iter().map(Json::without_nulls).collect()),
            Json::Object(members) => {
                let given = members.into_iter().filter(|(_, value)| *value != Json::Null);
                Json::Object(given.map(|(name, value)| (name, value.without_nulls())).collect())
            }
            other => other,
        }
    }

    /// The bytes that are signed. `None` when a number is not whole. Null members must have been removed before.
    pub fn canonical(&self) -> Option<Vec<u8>> {
        let mut out = String::new();
        self.write(&mut out)?;
        Some(out.into_bytes())
    }

    fn write(&self, out: &mut String) -> Option<()> {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(true) => out.push_str("true"),
            Json::Bool(false) => out.push_str("false"),
            Json::Integer(number) => out.push_str(&number.to_string()),
            Json::Inexact => return None,
            Json::Text(text) => write_text(text, out),
            Json::List(items) => {
                out.push('[');
                for (n, item) in items.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    item.write(out)?;
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (n, (name, value)) in members.iter().enumerate() {
                    if n > 0 {
                        out.push(',');
                    }
                    write_text(name, out);
                    out.push(':');
                    value.write(out)?;
                }
                out.push('}');
            }
        }
        Some(())
    }
}

/// Whether a byte stands for itself inside quotes. All bytes of characters beyond ASCII do.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

/// Takes off the longest beginning that needs no escapes.
fn plain<'a>(rest: &mut &'a str) -> &'a str {
    // The byte that ends it is ASCII, so it ends between characters.
    let end = rest.bytes().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
    let (plain, after) = rest.split_at(end);
    *rest = after;
    plain
}

fn write_text(mut text: &str, out: &mut String) {
    out.push('"');
    out.push_str(plain(&mut text));
    while let Some(c) = text.chars().next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
        text = text.get(c.len_utf8()..).unwrap_or_default();
        out.push_str(plain(&mut text));
    }
    out.push('"');
}

/// The part of a text that is not read yet.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Steps over `word` if it is next.
    fn skip(&mut self, word: &str) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.space();
        match self.rest.as_bytes().first()? {
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.list(depth.checked_sub(1)?),
            b'"' => self.text().map(Json::Text),
            b'-' | b'0'..=b'9' => self.number(),
            _ if self.skip("null") => Some(Json::Null),
            _ if self.skip("true") => Some(Json::Bool(true)),
            _ if self.skip("false") => Some(Json::Bool(false)),
            _ => None,
        }
    }

    fn object(&mut self, depth: usize) -> Option<Json> {
        self.skip("{");
        let mut members = Members::new();
        self.space();
        if self.skip("}") {
            return Some(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.text()?;
            self.space();
            if !self.skip(":") || members.insert(name, self.value(depth)?).is_some() {
                return None;
            }
            self.space();
            match self.take()? {
                ',' => {}
                '}' => return Some(Json::Object(members)),
                _ => return None,
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Json> {
        self.skip("[");
        let mut items = Vec::new();
        self.space();
        if self.skip("]") {
            return Some(Json::List(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            match self.take()? {
                ',' => {}
                ']' => return Some(Json::List(items)),
                _ => return None,
            }
        }
    }

    fn text(&mut self) -> Option<String> {
        if !self.skip("\"") {
            return None;
        }
        let mut text = plain(&mut self.rest).to_owned();
        loop {
            match self.take()? {
                '"' => return Some(text),
                '\\' => text.push(self.escape()?),
                _ => return None,
            }
            text.push_str(plain(&mut self.rest));
        }
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.take()? {
            c @ ('"' | '\\' | '/') => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.unit()?;
                match unit {
                    // The first half of a pair needs the second; neither half is a character.
                    0xd800..=0xdbff if self.skip("\\u") => {
                        let low = self.unit().filter(|low| (0xdc00..=0xdfff).contains(low))?;
                        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?
                    }
                    unit => char::from_u32(unit)?,
                }
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hex { u32::from_str_radix(digits, 16).ok() } else { None }
    }

    fn digits(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }

    fn number(&mut self) -> Option<Json> {
        let negative = self.skip("-");
        let whole = self.digits();
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
            return None;
        }
        let fraction = if self.skip(".") { Some(self.digits()).filter(|digits| !digits.is_empty())? } else { "" };
        let mut exponent = 0;
        if self.skip("e") || self.skip("E") {
            let down = self.skip("-");
            if !down {
                self.skip("+");
            }
            let digits = Some(self.digits()).filter(|digits| !digits.is_empty())?;
            // An exponent beyond the length of any body makes the number too large, or a fraction.
            let size = digits.parse::<i64>().unwrap_or(i64::MAX / 4).min(i64::MAX / 4);
            exponent = if down { -size } else { size };
        }
        Some(integer(negative, &[whole, fraction].concat(), exponent, fraction.len()))
    }
}

/// The number `digits` × 10^(`exponent` - `fraction`) when it is whole and small enough.
fn integer(negative: bool, digits: &str, exponent: i64, fraction: usize) -> Json {
    let significant = digits.trim_end_matches('0');
    let zeros = digits.len() - significant.len();
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return Json::Integer(0);
    }
    let shift =
        i64::try_from(zeros).unwrap_or(i64::MAX / 4) + exponent - i64::try_from(fraction).unwrap_or(i64::MAX / 4);
    let Ok(shift) = usize::try_from(shift) else { return Json::Inexact };
    if significant.len().saturating_add(shift) > MAX_DIGITS {
        return Json::Inexact;
    }
    let text = format!("{significant}{}", "0".repeat(shift));
    match text.parse::<u64>().ok().filter(|number| *number <= MAX_INTEGER).and_then(|number| i64::try_from(number).ok())
    {
        Some(number) => Json::Integer(if negative { -number } else { number }),
        None => Json::Inexact,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn canonical(text: &str) -> Option<String> {
        let bytes = parse(text.as_bytes(), MAX_DEPTH)?.without_nulls().canonical()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn members_are_sorted_at_every_depth_and_white_space_goes() {
        for (text, form) in [
            (r#"{"b":1,"a":2}"#, r#"{"a":2,"b":1}"#),
            (" { \"b\" : [ { \"d\" : 1 , \"c\" : 2 } ] }\r\n\t", r#"{"b":[{"c":2,"d":1}]}"#),
            ("{}", "{}"),
            ("[ ]", "[]"),
            (r#"{"a":true,"b":false}"#, r#"{"a":true,"b":false}"#),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(form));
        }
    }

    #[test]
    fn members_that_are_null_go_at_every_depth_and_nulls_in_lists_stay() {
        assert_eq!(
            canonical(r#"{"a":null,"b":{"c":null,"d":[null,{"e":null}]}}"#).unwrap(),
            r#"{"b":{"d":[null,{}]}}"#
        );
    }

    #[test]
    fn whole_numbers_have_one_form_however_they_are_written() {
        for (text, form) in [
            ("5.0", "5"),
            ("-0", "0"),
            ("-0.0e9", "0"),
            ("5e0", "5"),
            ("50E-1", "5"),
            ("0.5e+1", "5"),
            ("1e15", "1000000000000000"),
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991.000", "-9007199254740991"),
            ("0e99999999999999999999", "0"),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(form), "{text}");
        }
    }

    /// Decision strict-ledger-json.
    #[test]
    fn numbers_without_a_single_meaning_have_no_form() {
        for text in ["1.5", "1e-1", "9007199254740992", "9007199254740991.5", "1e16", "1e400", "1e99999999999999999999"]
        {
            assert_eq!(parse(text.as_bytes(), 1), Some(Json::Inexact), "{text}");
            assert_eq!(canonical(text), None);
        }
        for text in ["01", "+1", "1.", ".5", "1e", "1e+", "--1", "0x1", "NaN", "Infinity", "-", "1_0"] {
            assert_eq!(parse(text.as_bytes(), 1), None, "{text}");
        }
    }

    /// Decision strict-ledger-json.
    #[test]
    fn members_that_come_twice_and_half_pairs_are_refused() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"a":null,"a":1}"#,
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\u0041""#,
            r#""\ud800x""#,
            r#""\udbff\ud800""#,
        ] {
            assert_eq!(parse(text.as_bytes(), 2), None, "{text}");
        }
        assert_eq!(canonical(r#""\ud83d\ude00\u00e9\/""#).unwrap(), "\"\u{1f600}é/\"");
    }

    /// Decision strict-ledger-json.
    #[test]
    fn nesting_over_eight_is_refused_without_using_the_stack() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(nested(8).as_bytes(), MAX_DEPTH).is_some());
        assert_eq!(parse(nested(9).as_bytes(), MAX_DEPTH), None);
        assert_eq!(parse("{\"a\":".repeat(100_000).as_bytes(), MAX_DEPTH), None);
    }

    #[test]
    fn escapes_are_the_shortest_and_all_else_is_raw() {
        let text = r#""\"\\\/\b\f\n\r\t\u0000\u001F\u007f\u2028é""#;
        assert_eq!(canonical(text).unwrap(), "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\u{2028}é\"");
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "{,}",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "'a'",
            "\"a",
            "\"\t\"",
            "nul",
            "truex",
            "1 2",
            "[1 2]",
            "{\"a\":1,}",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u+123\"",
            "\u{feff}1",
            "/**/1",
        ] {
            assert_eq!(parse(text.as_bytes(), MAX_DEPTH), None, "{text}");
        }
        assert_eq!(parse(b"\"\xff\"", 1), None);
    }

    proptest! {
        /// The library takes every text that this reader takes, and both give it the same meaning.
        #[test]
        fn the_reader_agrees_with_the_library(text in "[ \\[\\]{}:,\"a\\\\u0dn1e.+-]{0,24}") {
            let Some(form) = parse(text.as_bytes(), MAX_DEPTH).and_then(|value| value.canonical()) else { return Ok(()) };
            prop_assert_eq!(parse(&form, MAX_DEPTH).and_then(|value| value.canonical()), Some(form.clone()));
            let theirs: serde_json::Value = serde_json::from_str(&text).unwrap();
            // The library reads these as floating point.
            if !text.contains(['e', '.']) && !text.contains("-0") {
                prop_assert_eq!(serde_json::from_slice::<serde_json::Value>(&form).unwrap(), theirs);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = parse(&bytes, MAX_DEPTH);
        }
    }
}
