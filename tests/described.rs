//! Makes the examples of the OpenAPI document of what the tests recorded (decision recorded-examples).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::path::{Path, PathBuf};

use heliograph_tests::described;
use heliograph_tests::recorded::{self, Kept};
use serde_json::{Map, Value, json};

/// An example that tells much has at most so many bytes of compact JSON.
const ENOUGH: usize = 700;
/// Largest example, in bytes of compact JSON.
const MOST: usize = 4_000;
/// Longest text in an example, in characters.
const TEXT: usize = 120;

/// Lists with so many entries, those inside of them with as many as the second number, and shorter texts, since the
/// schema says the rest.
fn cut(value: &Value, (entries, inside): (usize, usize)) -> Value {
    match value {
        Value::Array(all) => Value::Array(all.iter().take(entries).map(|one| cut(one, (inside, inside))).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), cut(value, (entries, inside)))).collect())
        }
        Value::String(text) if text.chars().count() > TEXT => beginning(text).into(),
        other => other.clone(),
    }
}

/// The beginning of a text: whole sentences, or else whole words.
fn beginning(text: &str) -> String {
    let begin: String = text.chars().take(TEXT).collect();
    match (begin.rfind(". "), begin.rfind(' ')) {
        (Some(end), _) => begin[..=end].to_owned(),
        (None, Some(end)) => format!("{} …", &begin[..end]),
        (None, None) => begin,
    }
}

#[test]
fn an_example_ends_a_long_text_between_sentences_or_words() {
    let words = "word ".repeat(40);
    assert_eq!(beginning(&format!("One sentence. {words}")), "One sentence.");
    assert_eq!(beginning(&words), format!("{} …", "word ".repeat(24).trim_end()));
    assert_eq!(beginning(&"k".repeat(200)), "k".repeat(TEXT));
}

/// Members with a value, inside of others too.
fn told(value: &Value) -> usize {
    match value {
        Value::Array(all) => all.iter().map(told).sum(),
        Value::Object(members) => members.values().map(told).sum(),
        Value::Null => 0,
        _ => 1,
    }
}

/// A request and its answer as an example has them; either body may be absent.
#[derive(Debug)]
struct Exchange {
    /// Path and query, where they are not always the same.
    address: Option<String>,
    bodies: [Option<Value>; 2],
}

const PARTS: [&str; 2] = ["request", "response"];

/// The address of an example of an operation that has parameters.
fn needed(name: &str, address: &str) -> Option<String> {
    let parameters = described::parameters_of(name, address)?;
    (!parameters.is_empty()).then(|| address.to_owned())
}

/// What of a recorded body can stand in an example: whole, or with shorter lists.
fn fitting(name: &str, part: &str, body: &Value) -> Option<Value> {
    let schema = described::schema_of(name, part)?;
    if !body.is_object() && !body.is_array() || *body == json!({}) {
        return None;
    }
    let cuts = [(1, 1), (1, usize::MAX), (usize::MAX, usize::MAX)].map(|entries| cut(body, entries));
    let fits = cuts.into_iter().find(|value| described::fits(schema, value).is_ok());
    fits.filter(|value| value.to_string().len() <= MOST)
}

/// What the request names in its body or its address, and the answer names too, of the same type and with another value.
/// Letters may be in another case, unless `with_case` says otherwise.
fn contradictions(name: &str, exchange: &Exchange, with_case: bool) -> usize {
    let text = |value: &Value| if with_case { value.to_string() } else { value.to_string().to_lowercase() };
    let [request, Some(Value::Object(response))] = &exchange.bodies else { return 0 };
    let parameters = exchange.address.as_ref().and_then(|address| described::parameters_of(name, address));
    // Moments and ids have several forms.
    let asked = parameters.into_iter().flatten().filter(|(name, _)| !["as_of", "id"].contains(&name.as_str()));
    let asked = asked.map(|(name, value)| (name, Value::String(value)));
    let members = request.as_ref().and_then(Value::as_object).into_iter().flatten();
    let asked: Vec<(String, Value)> = asked.chain(members.map(|(name, value)| (name.clone(), value.clone()))).collect();
    let both = asked.iter().filter_map(|(name, asked)| Some((asked, response.get(name)?)));
    let same_type = |(asked, answered): &(&Value, &Value)| discriminant(*asked) == discriminant(*answered);
    both.filter(same_type).filter(|(asked, answered)| text(asked) != text(answered)).count()
}

/// Whether a body has what only a test of limits sends: control characters, or a country that does not exist.
fn is_odd(value: &Value) -> bool {
    match value {
        Value::Array(all) => all.iter().any(is_odd),
        Value::Object(members) => members.values().any(is_odd),
        Value::String(text) => text.contains(char::is_control) || ["QQ", "XX", "ZZ"].contains(&text.as_str()),
        _ => false,
    }
}

/// The exchange that tells the most of those that are short; the shortest if there is none. One that says the same in both
/// of its parts comes first. Equal ones are taken in the order of their text, so that the choice does not depend on the
/// order of the tests.
fn best(name: &str, exchanges: impl Iterator<Item = Exchange>) -> Option<Exchange> {
    let length = |value: &Option<Value>| value.as_ref().map_or(0, |value| value.to_string().len());
    let told = |value: &Option<Value>| value.as_ref().map_or(0, told);
    exchanges.min_by_key(|exchange| {
        let lengths = exchange.bodies.each_ref().map(length);
        let is_long = lengths.iter().any(|length| *length > ENOUGH);
        let parts = exchange.bodies.each_ref().map(Option::is_none);
        let much = exchange.bodies.iter().map(told).sum::<usize>();
        let order = if is_long { lengths.iter().sum() } else { usize::MAX - much };
        let parameters = exchange.address.as_ref().and_then(|address| described::parameters_of(name, address));
        let odd_parameter = |(name, value): &(String, String)| {
            !value.starts_with(if name == "did" { "did:" } else { "" })
                || value.starts_with('-')
                || !value.contains(char::is_alphanumeric)
                || is_odd(&value.as_str().into())
        };
        // Only tests write more signs than are needed.
        let odd_address = |address: &String| address.ends_with('?') || address.replace("%20", "").contains(['%', '\'']);
        let is_odd = exchange.bodies.iter().flatten().any(is_odd)
            || parameters.iter().flatten().any(odd_parameter)
            || exchange.address.iter().any(odd_address);
        (
            parts,
            contradictions(name, exchange, false),
            is_odd,
            contradictions(name, exchange, true),
            is_long,
            order,
            format!("{exchange:?}"),
        )
    })
}

#[test]
fn examples_are_written_anew() {
    let Some(folder) = std::env::var_os("HELIOGRAPH_RECORDED") else {
        println!("skipped: HELIOGRAPH_RECORDED does not name a folder of recorded answers");
        return;
    };
    let mut by_name: BTreeMap<String, Vec<Kept>> = BTreeMap::new();
    for kept in recorded::all(Path::new(&folder)) {
        by_name.entry(kept.operation.clone()).or_default().push(kept);
    }
    let (file, mut examples) = examples();
    for (name, recorded) in &by_name {
        let exchanges = recorded.iter().map(|kept| Exchange {
            address: needed(name, &kept.address),
            bodies: [fitting(name, PARTS[0], &kept.request), fitting(name, PARTS[1], &kept.response)],
        });
        // What stands there comes from a server with sample data. It stays until its schema changes.
        let stands = examples.get(name).map(exchange_of);
        let stays = |exchange: &Exchange| {
            let fits =
                |(part, value): (&&str, &Option<Value>)| value.as_ref().is_none_or(|value| fits(name, part, value));
            let has_address =
                exchange.address.is_some() || recorded.iter().all(|kept| needed(name, &kept.address).is_none());
            has_address && PARTS.iter().zip(&exchange.bodies).all(fits) && contradictions(name, exchange, false) == 0
        };
        let Some(chosen) = stands.filter(stays).or_else(|| best(name, exchanges)) else { continue };
        let bodies = PARTS.into_iter().zip(chosen.bodies).filter_map(|(part, value)| Some((part.to_owned(), value?)));
        let mut example: Map<String, Value> = bodies.collect();
        if example.is_empty() {
            continue;
        }
        example.extend(chosen.address.map(|address| ("address".to_owned(), address.into())));
        examples.insert(name.clone(), Value::Object(example));
    }
    let text = serde_json::to_string_pretty(&examples).unwrap() + "\n";
    std::fs::write(file, text).unwrap();
}

/// The file of the examples, and what is in it.
fn examples() -> (PathBuf, Map<String, Value>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/app/openapi/examples.json");
    let examples = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    (file, examples)
}

/// An example that joins a request with the answer to another one misleads who reads it.
#[test]
fn no_example_answers_another_request() {
    for (name, example) in examples().1 {
        let exchange = exchange_of(&example);
        assert_eq!(contradictions(&name, &exchange, false), 0, "{name}");
        let address = exchange.address.as_deref();
        assert!(address.is_none_or(|address| needed(&name, address).is_some()), "{name}: {address:?}");
    }
}

fn exchange_of(example: &Value) -> Exchange {
    let address = example.get("address").and_then(Value::as_str).map(str::to_owned);
    Exchange { address, bodies: PARTS.map(|part| example.get(part).cloned()) }
}

fn fits(name: &str, part: &str, value: &Value) -> bool {
    described::schema_of(name, part).is_some_and(|schema| described::fits(schema, value).is_ok())
}

/// Operations whose answers are no examples, each with the reason.
const WITHOUT: &[(&str, &str)] = &[
    ("getDataFile", "Only the native server has a data file, and the recording is made in memory."),
    ("getMethodology", "Longer than an example may be."),
    ("getOpenApiDocument", "It is the document itself."),
    ("listSentences", "Longer than an example may be."),
    ("rotateMasterKey", "The suite asks it of servers that the recording is not made with."),
];

#[test]
fn every_operation_that_answers_json_has_a_recorded_answer_or_a_reason_why_not() {
    let answers = described::with_answers();
    let lacking: Vec<&str> = answers.iter().filter(|(_, has)| !has).map(|(name, _)| *name).collect();
    let excused: Vec<&str> = WITHOUT.iter().map(|(name, _)| *name).collect();
    for name in &lacking {
        assert!(excused.contains(name), "{name} has no recorded answer");
    }
    for name in excused {
        assert!(lacking.contains(&name), "{name} has an answer by now");
    }
}
