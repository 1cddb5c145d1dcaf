//! Checks the sentences of answers: the English of each text is its template, filled with the parameters beside it.

use std::collections::BTreeMap;

use heliograph_core::facts::sentence::{Sentence, table, template};
use serde_json::{Map, Value};

/// Members that only hold sentences: whoever shows one must state its code.
const ALWAYS: [&str; 14] = [
    "caveat",
    "caveats",
    "honest_caveat",
    "honest_caveats",
    "interpretation",
    "keyDrivers",
    "key_drivers",
    "limitations",
    "low_confidence_reason",
    "merge_note",
    "notKnown",
    "not_known",
    "recommendations",
    "validationNote",
];

/// Checks every object of an answer, and returns the codes that it names.
///
/// # Panics
/// If a text and its sentence differ, a parameter is missing or too many, or a text of a member that only holds
/// sentences has no code.
#[track_caller]
pub fn check(answer: &Value) -> Vec<String> {
    let mut codes = Vec::new();
    // Tools for language models show parts of answers, in few words, and the document has schemas of sentences.
    if answer.get("jsonrpc").is_none() && answer.get("openapi").is_none() {
        visit(answer, &mut codes);
    }
    codes
}

#[track_caller]
fn visit(value: &Value, codes: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| visit(value, codes)),
        Value::Object(object) => {
            let said = texts(object);
            for (place, said) in &said {
                let text = value.pointer(place).and_then(Value::as_str);
                let parts: Vec<String> = said.iter().map(|said| english(said, codes)).collect();
                assert_eq!(text, Some(parts.join(" ").as_str()), "{place}: {said:?}");
            }
            for member in ALWAYS {
                let shown: Vec<String> = match object.get(member) {
                    Some(Value::String(_)) => vec![format!("/{member}")],
                    Some(Value::Array(texts)) => (0..texts.len()).map(|at| format!("/{member}/{at}")).collect(),
                    _ => Vec::new(),
                };
                for place in shown {
                    assert!(said.contains_key(place.as_str()), "{place} has no code: {value}");
                }
            }
            object.iter().filter(|(member, _)| *member != "sentences").for_each(|(_, value)| visit(value, codes));
        }
        _ => {}
    }
}

/// The first sentence of a text of an object, by the JSON Pointer of the text; null if it has none.
pub fn of<'a>(object: &'a Value, place: &str) -> &'a Value {
    let all = object["sentences"].as_array();
    all.into_iter().flatten().find(|said| said["text"] == place).unwrap_or(&Value::Null)
}

/// The sentences of an object, by the JSON Pointers of their texts.
fn texts(object: &Map<String, Value>) -> BTreeMap<&str, Vec<&Value>> {
    let mut texts: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for said in object.get("sentences").and_then(Value::as_array).into_iter().flatten() {
        // A row of the table of all sentences.
        if said.get("english").is_some() {
            continue;
        }
        let Some(place) = said["text"].as_str() else { panic!("no pointer: {said}") };
        texts.entry(place).or_default().push(said);
    }
    texts
}

/// The English of a sentence, after a check of its parameters and of those of the sentences within it.
#[track_caller]
fn english(said: &Value, codes: &mut Vec<String>) -> String {
    parameters(said, codes);
    Sentence::from_json(said).unwrap_or_else(|| panic!("no sentence: {said}")).english()
}

#[track_caller]
fn parameters(said: &Value, codes: &mut Vec<String>) {
    let code = said["code"].as_str().unwrap_or_else(|| panic!("no code: {said}"));
    let text = table::text(code).unwrap_or_else(|| panic!("{code} is not in the table"));
    let mut wanted: Vec<&str> = template::parameters(text).iter().map(|parameter| parameter.name).collect();
    let given = said.get("parameters").and_then(Value::as_object);
    let mut named: Vec<&str> = given.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    wanted.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, wanted, "{said}");
    codes.push(code.to_owned());
    for value in given.into_iter().flat_map(Map::values) {
        match value {
            Value::Object(_) => parameters(value, codes),
            Value::Array(values) => {
                values.iter().filter(|value| value.is_object()).for_each(|value| parameters(value, codes))
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fails(answer: Value) -> bool {
        std::panic::catch_unwind(|| check(&answer)).is_err()
    }

    #[test]
    fn a_text_that_its_sentence_does_not_say_is_noticed() {
        let end = "When it ended is not known.";
        let said = |text: &str| json!({ "text": text, "code": "incident.unknown.end" });
        let first = said("/notKnown/0");
        assert!(!fails(json!({ "notKnown": [end], "sentences": [first] })));
        assert!(fails(json!({ "notKnown": ["Another text."], "sentences": [first] })));
        assert!(fails(json!({ "notKnown": [end], "sentences": [first, said("/notKnown/1")] })));
        assert!(fails(json!({ "notKnown": [end], "sentences": [first, first] })), "a text of two sentences");
        assert!(fails(json!({ "notKnown": [end, end], "sentences": [first] })), "a text without a code");
        assert!(fails(json!({ "text": end, "sentences": [said("/other")] })), "a sentence without its text");
        let days = |parameters: Value| json!({ "text": "/text", "code": "driver.days", "parameters": parameters });
        assert!(!fails(json!({ "text": "in the last 7 days", "sentences": [days(json!({ "days": 7 }))] })));
        let more = days(json!({ "days": 7, "weeks": 1 }));
        assert!(fails(json!({ "text": "in the last 7 days", "sentences": [more] })), "a parameter too many");
    }
}
