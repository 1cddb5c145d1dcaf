//! Checks the sentences of answers: the English of each text is its template, filled with the parameters beside it.

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
            let sentences = object.get("sentences").and_then(Value::as_object);
            for (member, said) in sentences.into_iter().flatten() {
                one(object, member, said, codes);
            }
            for member in ALWAYS {
                let shown = object.get(member).is_some_and(|text| match text {
                    Value::String(_) => true,
                    Value::Array(texts) => !texts.is_empty(),
                    _ => false,
                });
                let coded = sentences.is_some_and(|sentences| sentences.contains_key(member));
                assert!(!shown || coded, "{member} has no code: {}", Value::from(object.clone()));
            }
            object.iter().filter(|(member, _)| *member != "sentences").for_each(|(_, value)| visit(value, codes));
        }
        _ => {}
    }
}

#[track_caller]
fn one(object: &Map<String, Value>, member: &str, said: &Value, codes: &mut Vec<String>) {
    let text = object.get(member).unwrap_or_else(|| panic!("no {member} beside its sentence: {object:?}"));
    match (text, said) {
        (Value::String(text), Value::Object(_)) => assert_eq!(*text, english(said, codes), "{member}: {said}"),
        (Value::String(text), Value::Array(all)) => {
            let parts: Vec<String> = all.iter().map(|said| english(said, codes)).collect();
            assert_eq!(*text, parts.join(" "), "{member}: {said}");
        }
        (Value::Array(texts), Value::Array(all)) => {
            assert_eq!(texts.len(), all.len(), "{member}: {texts:?} {said}");
            for (text, said) in texts.iter().zip(all).filter(|(_, said)| !said.is_null()) {
                assert_eq!(text.as_str(), Some(english(said, codes).as_str()), "{member}: {said}");
            }
        }
        (Value::Object(texts), Value::Object(all)) => {
            assert!(texts.keys().eq(all.keys()), "{member}: {texts:?} {said}");
            for (name, said) in all {
                assert_eq!(texts[name].as_str(), Some(english(said, codes).as_str()), "{member}: {said}");
            }
        }
        (text, said) => panic!("{member}: {text} is not said by {said}"),
    }
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
        let said = json!({ "code": "incident.unknown.end" });
        assert!(!fails(json!({ "notKnown": [end], "sentences": { "notKnown": [said] } })));
        assert!(fails(json!({ "notKnown": ["Another text."], "sentences": { "notKnown": [said] } })));
        assert!(fails(json!({ "notKnown": [end], "sentences": { "notKnown": [said, said] } })));
        assert!(fails(json!({ "notKnown": [end] })), "a text without a code");
        assert!(fails(json!({ "text": end, "sentences": { "other": said } })), "a sentence without its text");
        let days = json!({ "code": "driver.days", "parameters": { "days": 7 } });
        assert!(!fails(json!({ "text": "in the last 7 days", "sentences": { "text": days } })));
        let more = json!({ "code": "driver.days", "parameters": { "days": 7, "weeks": 1 } });
        assert!(fails(json!({ "text": "in the last 7 days", "sentences": { "text": more } })), "a parameter too many");
    }
}
