//! Says why a body in JSON does not fit, in words of JSON. The library that reads bodies speaks of types of this program,
//! and does not name the member.

use serde::de::IgnoredAny;

/// Most characters of a value that are repeated.
const SHOWN: usize = 60;

/// Why a text was not read: one sentence.
pub fn reason(text: &str, error: &serde_json::Error) -> String {
    let said = error.to_string();
    let bare = said.rfind(" at line ").and_then(|at| said.get(..at)).unwrap_or(&said);
    if !error.is_data() && serde_json::from_str::<IgnoredAny>(text).is_err() {
        return format!("The body is not valid JSON: {said}.");
    }
    told(&place(text, offset(text, error)), bare)
}

/// The place of an error in bytes.
fn offset(text: &str, error: &serde_json::Error) -> usize {
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
    before + error.column()
}

/// Where a reader is: in a list at an index, or in an object at a member.
enum Level {
    List(usize),
    Object(Option<String>),
}

/// The member that ends at a place, such as `items[2].to`; empty for the whole text.
fn place(text: &str, end: usize) -> String {
    let mut levels: Vec<Level> = Vec::new();
    let mut rest = text.get(..end).unwrap_or(text).char_indices();
    while let Some((at, c)) = rest.next() {
        match c {
            '{' => levels.push(Level::Object(None)),
            '[' => levels.push(Level::List(0)),
            '}' | ']' => drop(levels.pop()),
            ',' => match levels.last_mut() {
                Some(Level::List(index)) => *index += 1,
                Some(Level::Object(member)) => *member = None,
                None => {}
            },
            '"' => {
                let mut escaped = false;
                let closes = rest.by_ref().find(|(_, c)| {
                    let closes = *c == '"' && !escaped;
                    escaped = *c == '\\' && !escaped;
                    closes
                });
                if let (Some(Level::Object(member @ None)), Some((to, _))) = (levels.last_mut(), closes) {
                    *member = text.get(at..=to).and_then(|name| serde_json::from_str(name).ok());
                }
            }
            _ => {}
        }
    }
    let mut place = String::new();
    for level in levels {
        match level {
            Level::List(index) => place.push_str(&format!("[{index}]")),
            Level::Object(Some(member)) if place.is_empty() => place = member,
            Level::Object(Some(member)) => place.push_str(&format!(".{member}")),
            Level::Object(None) => {}
        }
    }
    place
}

/// What the library says of a member, in words of JSON.
fn told(place: &str, said: &str) -> String {
    let of = if place.is_empty() { "The body".to_owned() } else { format!("`{place}`") };
    let wrong = said.strip_prefix("invalid type: ").or_else(|| said.strip_prefix("invalid value: "));
    if let Some((given, wanted)) = wrong.and_then(|wrong| wrong.split_once(", expected ")) {
        return format!("{of} must be {}, not {}.", kind(wanted), value(given));
    }
    if let Some(member) = quoted(said, "missing field ") {
        let dot = if place.is_empty() { "" } else { "." };
        return format!("`{place}{dot}{member}` is required.");
    }
    if let (Some(given), Some((_, known))) = (quoted(said, "unknown variant "), said.split_once(", expected ")) {
        return format!("{of} must be {known}, not {:?}.", cut(given));
    }
    if let Some(member) = quoted(said, "duplicate field ") {
        return format!("`{member}` stands in the body twice.");
    }
    if said == "expected value" {
        return format!("{of} is of another kind than it must be.");
    }
    format!("{of} does not fit: {said}.")
}

/// The name in backticks behind a beginning.
fn quoted<'s>(said: &'s str, beginning: &str) -> Option<&'s str> {
    said.strip_prefix(beginning)?.strip_prefix('`')?.split_once('`').map(|(name, _)| name)
}

/// A type of this program as the kind of a value.
fn kind(wanted: &str) -> String {
    let kind = match wanted {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a string" | "a borrowed string" | "string or map" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        other if other.starts_with("struct ") || other.contains("enum ") => "an object",
        other => other,
    };
    kind.to_owned()
}

/// A value as it was given.
fn value(given: &str) -> String {
    match given {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        other => {
            let bare = other.split_once('`').map_or(other, |(_, number)| number.trim_end_matches('`'));
            cut(bare.strip_prefix("string ").unwrap_or(bare))
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Tier {
        Free,
        Pro,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Inner {
        to: String,
        amount: i64,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code)]
    struct Body {
        number: Option<u32>,
        share: Option<f64>,
        tier: Option<Tier>,
        items: Option<Vec<Inner>>,
        proof: Option<Inner>,
        tags: Option<BTreeMap<String, bool>>,
    }

    fn refused(text: &str) -> String {
        reason(text, &serde_json::from_str::<Body>(text).unwrap_err())
    }

    #[test]
    fn a_body_that_does_not_fit_is_told_by_its_member_and_in_words_of_json() {
        for (text, expected) in [
            (r#"{"number":"x"}"#, r#"`number` must be a whole number from 0 to 4294967295, not "x"."#),
            (r#"{"number":-1, "share":2}"#, "`number` must be a whole number from 0 to 4294967295, not -1."),
            (r#"{"number":1.5}"#, "`number` must be a whole number from 0 to 4294967295, not 1.5."),
            (r#"{"share":true}"#, "`share` must be a number, not true."),
            (r#"{"tier":"gold"}"#, "`tier` must be `free` or `pro`, not \"gold\"."),
            (r#"{"tier":5}"#, "`tier` is of another kind than it must be."),
            (r#"{"items":{}}"#, "`items` must be a list, not an object."),
            (r#"{"items":[{"to":"a","amount":1},{"to":7,"amount":1}]}"#, "`items[1].to` must be a text, not 7."),
            (r#"{"items":[{"to":"a"}]}"#, "`items[0].amount` is required."),
            (r#"{"proof":1}"#, "`proof` must be an object, not 1."),
            ("{\"a\":\"}\\\"{\",\n \"proof\":{\"to\":\"x\"}}", "`proof.amount` is required."),
            (r#"{"tags":{"x":"yes"}}"#, r#"`tags.x` must be true or false, not "yes"."#),
            ("{\"number\":1,\"number\":2}", "`number` stands in the body twice."),
        ] {
            assert_eq!(refused(text), expected, "{text}");
        }
        let long = refused(&format!(r#"{{"number":"{}"}}"#, "é".repeat(500)));
        assert!(long.len() < 250 && long.ends_with("…."), "{long}");
    }

    #[test]
    fn a_text_that_is_no_json_is_told_with_its_place() {
        assert_eq!(
            refused("{\"number\":"),
            "The body is not valid JSON: EOF while parsing a value at line 1 column 10."
        );
    }
}
