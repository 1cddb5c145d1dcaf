//! Pages and headers of documents as text. Documents hold them as text, or as base64 of bytes in some character set.
//!
//! Clients write what is not UTF-8 as `{"format": "base64", "data": ...}`. Block pages of many countries come like
//! this, and no fingerprint matches before they are decoded.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use serde_json::Value;

/// Bytes of a page that are decoded, from its beginning. Block pages are small, but pages can have megabytes.
pub const DECODED: usize = 64 << 10;
/// Bytes of a page in which a browser looks for the name of the character set.
const PRESCANNED: usize = 1024;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The text of a member: the member itself if it is text, or the decoded beginning of `{format, data}`; `None` for
/// anything else. `content_type` is the header of the same answer.
pub fn text<'v>(value: &'v Value, content_type: Option<&str>) -> Option<Cow<'v, str>> {
    if let Value::String(text) = value {
        return Some(Cow::Borrowed(text));
    }
    let data = value.get("data").and_then(Value::as_str)?;
    match value.get("format").and_then(Value::as_str) {
        Some("base64") => Some(Cow::Owned(decode(&bytes(data)?, content_type))),
        _ => None,
    }
}

/// The first bytes of a base64 text, which may have line ends and may lack padding.
fn bytes(data: &str) -> Option<Vec<u8>> {
    let digits = data.bytes().filter(|byte| !byte.is_ascii_whitespace()).take(DECODED.div_ceil(3) * 4);
    LENIENT.decode(digits.collect::<Vec<u8>>()).ok()
}

/// Bytes as text, as a browser reads them. The character set comes from the byte order mark, the header or the page
/// itself; else it is UTF-8 if the bytes fit, and Windows-1252 if they do not.
pub fn decode(bytes: &[u8], content_type: Option<&str>) -> String {
    let set = content_type.and_then(charset).or_else(|| {
        let head = bytes.get(..PRESCANNED).unwrap_or(bytes);
        charset(&head.iter().map(|byte| char::from(*byte)).collect::<String>())
    });
    let guess = || match std::str::from_utf8(bytes) {
        // The page may have been cut inside of a letter.
        Err(error) if error.error_len().is_some() => WINDOWS_1252,
        _ => UTF_8,
    };
    set.unwrap_or_else(guess).decode(bytes).0.into_owned()
}

/// The character set after `charset=` in a header or page.
fn charset(text: &str) -> Option<&'static Encoding> {
    let text = text.to_ascii_lowercase();
    let (_, rest) = text.split_once("charset")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let rest = rest.trim_start_matches(['"', '\'']);
    let label = rest.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | ':')).next()?;
    Encoding::for_label(label.as_bytes())
}

/// The headers of an answer: an object of names, or the list of pairs that newer documents have in addition.
pub fn headers(response: &Value) -> Vec<(&str, Cow<'_, str>)> {
    let object = response.get("headers").and_then(Value::as_object).into_iter().flatten();
    let object = object.filter_map(|(name, value)| {
        // Some tools write a list of values for each name.
        let value = value.as_array().and_then(|values| values.first()).unwrap_or(value);
        Some((name.as_str(), text(value, None)?))
    });
    let mut found: Vec<(&str, Cow<'_, str>)> = object.collect();
    if found.is_empty() {
        let pairs = response.get("headers_list").and_then(Value::as_array).into_iter().flatten();
        found.extend(pairs.filter_map(|pair| Some((pair.get(0)?.as_str()?, text(pair.get(1)?, None)?))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn packed(bytes: &[u8]) -> Value {
        json!({ "format": "base64", "data": base64::engine::general_purpose::STANDARD.encode(bytes) })
    }

    /// "Access is limited" in Russian.
    const RUSSIAN: &str =
        "\u{414}\u{43e}\u{441}\u{442}\u{443}\u{43f} \u{43e}\u{433}\u{440}\u{430}\u{43d}\u{438}\u{447}\u{435}\u{43d}";

    #[test]
    fn a_page_is_read_in_the_character_set_that_its_header_or_itself_names() {
        let (bytes, ..) = encoding_rs::WINDOWS_1251.encode(RUSSIAN);
        let page = packed(&bytes);
        assert_eq!(text(&page, Some("text/html; charset=windows-1251")).as_deref(), Some(RUSSIAN));
        assert_eq!(text(&page, Some("text/html; Charset=\"cp1251\"")).as_deref(), Some(RUSSIAN));
        for meta in
            ["<meta charset='windows-1251'>", "<META http-equiv=x content=\"text/html; charset = windows-1251\">"]
        {
            let mut whole = meta.as_bytes().to_vec();
            whole.extend_from_slice(&bytes);
            assert!(text(&packed(&whole), Some("text/html")).unwrap().ends_with(RUSSIAN), "{meta}");
        }
        let (korean, ..) = encoding_rs::EUC_KR.encode("\u{cc28}\u{b2e8}");
        assert_eq!(text(&packed(&korean), Some("text/html;charset=euc-kr")).as_deref(), Some("\u{cc28}\u{b2e8}"));
    }

    #[test]
    fn a_page_without_a_character_set_is_utf8_where_it_fits() {
        assert_eq!(text(&packed(RUSSIAN.as_bytes()), None).as_deref(), Some(RUSSIAN));
        assert_eq!(text(&packed(b"caf\xe9 blocked"), None).as_deref(), Some("caf\u{e9} blocked"));
        let marked = [b"\xff\xfe".as_slice(), &[b'n', 0, b'o', 0]].concat();
        assert_eq!(text(&packed(&marked), None).as_deref(), Some("no"));
        // The page is cut inside of a letter.
        let long = "\u{416}".repeat(DECODED);
        let page = packed(long.as_bytes());
        let read = text(&page, None).unwrap();
        assert!(read.len() >= DECODED - 4 && read.starts_with("\u{416}\u{416}"));
    }

    #[test]
    fn what_is_no_page_is_none() {
        for value in [json!(null), json!(5), json!({}), json!({ "format": "base64" }), json!({ "data": "eA==" })] {
            assert_eq!(text(&value, None), None, "{value}");
        }
        assert_eq!(text(&json!({ "format": "base64", "data": "e-A" }), None), None);
        assert_eq!(text(&json!({ "format": "base64", "data": "YmxvY2tl\nZA" }), None).as_deref(), Some("blocked"));
        assert_eq!(text(&json!("text"), None).as_deref(), Some("text"));
    }

    #[test]
    fn headers_come_as_an_object_or_as_a_list() {
        let old = json!({ "headers": { "Server": "a", "X": { "format": "base64", "data": "Yg==" }, "Y": ["c", "d"] } });
        let read: Vec<(&str, String)> = headers(&old).into_iter().map(|(k, v)| (k, v.into_owned())).collect();
        assert_eq!(read, [("Server", "a".into()), ("X", "b".into()), ("Y", "c".into())]);
        let new = json!({ "headers_list": [["Server", "a"], ["X", { "format": "base64", "data": "Yg==" }], [], 4] });
        assert_eq!(headers(&new).len(), 2);
    }
}
