//! The table and its templates.

use serde_json::{Value, json};

use super::template::{fill, parameters};
use super::*;
use crate::Timestamp;

const TYPES: [&str; 13] = [
    "choice", "count", "country", "date", "flag", "list", "network", "number", "sentence", "share", "subject",
    "subjects", "text",
];

/// What is between braces, at every depth.
fn placeholders(text: &str) -> Vec<&str> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => open.push(at),
            b'}' => found.push(&text[open.pop().expect(text) + 1..at]),
            _ => {}
        }
    }
    assert!(open.is_empty(), "{text}");
    found
}

#[test]
fn every_template_can_be_filled_and_every_choice_has_a_last_resort() {
    for (code, text) in table::all() {
        for inside in placeholders(text) {
            if inside.contains(", plural,") || inside.contains(", select,") {
                assert!(inside.contains("other {"), "{code}: {inside}");
            }
        }
        for parameter in parameters(text) {
            assert!(TYPES.contains(&parameter.kind), "{code}: {parameter:?}");
            assert!(
                parameter.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
                "{code}: {parameter:?}"
            );
        }
    }
}

#[test]
fn every_code_is_there_once_and_every_row_has_two_fields() {
    let rows = include_str!("sentences.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rules = crate::verdict::RULES.len();
    assert_eq!(rows.skip(1).count() + rules, table::all().len(), "a row has not two fields");
    for pair in table::all().windows(2) {
        assert_ne!(pair[0].0, pair[1].0);
    }
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.');
    assert!(table::all().iter().all(|(code, _)| code.bytes().all(letter)));
}

#[test]
fn templates_choose_plurals_and_cases_and_write_data_in_english() {
    let said = |template: &str, value: Parameter| fill(Language::English, template, &[("x", value)]);
    let plural = "{x, plural, =0 {none} one {{x} network} other {{x} networks}}";
    assert_eq!([0_u32, 1, 7].map(|count| said(plural, count.into())), ["none", "1 network", "7 networks"]);
    assert_eq!(said(plural, 1.0.into()), "1 network");
    let select = "a{x, select, null {} true { yes} other { {x}}}b";
    assert_eq!(said(select, Parameter::None), "ab");
    assert_eq!(said(select, true.into()), "a yesb");
    assert_eq!(said(select, "dns".into()), "a dnsb");
    let day = Timestamp::parse("2023-11-08T12:00:00Z").unwrap();
    assert_eq!(said("{x, date}", day.into()), "8 Nov 2023");
    assert_eq!(said("{x, date, iso}", day.into()), "2023-11-08");
    assert_eq!(said("{x, share} {x, share, 1} {x, number, 2} {x, number, +1}", 0.625.into()), "62% 62.5% 0.62 +0.6");
    assert_eq!(said("{x, country} {x, country, the}", "GB".into()), "United Kingdom the United Kingdom");
    assert_eq!(said("{x, country}", "ZZ".into()), "ZZ");
    assert_eq!(said("{x, network}", Parameter::network(33_771)), "AS33771");
    let subjects = |names: &[&str]| Parameter::from(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(said("{x, subjects}", subjects(&["telegram", "a.example", "signal"])), "Telegram, a.example and Signal");
    assert_eq!(said("{x, subjects}", subjects(&["telegram"])), "Telegram");
    assert_eq!(said("{x, list}|{x, list, quoted}", subjects(&["a", "b"])), "a, b|\"a\", \"b\"");
    let inner = Sentence::new("incident.unknown.end");
    assert_eq!(
        said("{x, sentence, clause}; {x, sentence}", inner.into()),
        "When it ended is not known; When it ended is not known."
    );
}

fn nested() -> Sentence {
    let what = Sentence::new("what.subjects").with("subjects", vec!["telegram".to_owned()]);
    Sentence::new("claim.and").with("said", what).with("more", Sentence::new("claim.doubtful").with("confidence", 0.5))
}

#[test]
fn a_sentence_is_its_english_in_json_and_its_code_beside_that() {
    assert_eq!(
        serde_json::to_value(nested()).unwrap(),
        json!("Telegram; that is doubtful, its confidence being 0.50.")
    );
    let sentences = Sentences::new()
        .with("reason", nested())
        .with("notes", vec![None, Some(Sentence::new("incident.unknown.end"))])
        .with("title", None::<Sentence>);
    let found = serde_json::to_value(sentences).unwrap();
    let and = json!({
        "said": { "code": "what.subjects", "parameters": { "subjects": ["telegram"] } },
        "more": { "code": "claim.doubtful", "parameters": { "confidence": 0.5 } },
    });
    let expected = json!([
        { "text": "/reason", "code": "claim.and", "parameters": and },
        { "text": "/notes/1", "code": "incident.unknown.end" },
    ]);
    assert_eq!(found, expected);
    assert_eq!(Sentence::from_json(&found[0]), Some(nested()));
    assert_eq!(Sentence::from_json(&json!({ "code": "no.such_code" })), None);
    assert_eq!(Sentence::from_json(&Value::Null), None);
}

#[test]
fn stored_sentences_keep_their_parameters_and_stored_texts_find_their_code() {
    let bytes = postcard::to_allocvec(&nested()).unwrap();
    assert_eq!(postcard::from_bytes::<Sentence>(&bytes).unwrap(), nested());
    let unknown = postcard::to_allocvec(&("no.such_code", Vec::<(String, Parameter)>::new())).unwrap();
    assert!(postcard::from_bytes::<Sentence>(&unknown).is_err());
    assert_eq!(Sentence::stored("When it ended is not known.").code, "incident.unknown.end");
    let written = Sentence::stored("Whatever an operator wrote.");
    assert_eq!((written.code, written.english().as_str()), ("text", "Whatever an operator wrote."));
}

#[test]
fn parameters_are_listed_with_the_type_that_says_most() {
    let found = parameters(
        "{n, plural, one {{n}} other {{n}}} {s, select, a {{m}} other {}} {o, select, null {} other {{o, date}}}",
    );
    let of: Vec<(&str, &str)> = found.iter().map(|found| (found.name, found.kind)).collect();
    assert_eq!(of, [("n", "count"), ("s", "choice"), ("m", "text"), ("o", "date")]);
    assert_eq!(found[1].values, ["a"]);
}
