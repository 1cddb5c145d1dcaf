//! What a tool says: a text for the model, and the members that matter for programs.

use serde_json::{Map, Value, json};

/// The answer of a tool.
pub struct Told {
    text: String,
    structured: Map<String, Value>,
}

impl Told {
    /// A text, and the members it rests on.
    pub fn new(text: impl Into<String>, structured: Map<String, Value>) -> Told {
        Told { text: text.into(), structured }
    }

    /// Where the answer can be looked up and cited; it is told in both forms.
    pub fn cited(mut self, address: &str) -> Told {
        self.text += &format!("\nCite: {address}");
        self.structured.insert("citation".into(), json!(address));
        self
    }

    pub fn written(self) -> Map<String, Value> {
        result(&self.text, Value::Object(self.structured))
    }
}

/// The members of a result.
pub fn result(text: &str, structured: Value) -> Map<String, Value> {
    Map::from_iter([
        ("content".to_owned(), json!([{ "type": "text", "text": text }])),
        ("structuredContent".to_owned(), structured),
    ])
}

/// These members of an answer, without those that say nothing.
pub fn picked(answer: &Value, names: &[&str]) -> Map<String, Value> {
    let said = |value: &&Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    let of = |name: &&str| Some(((*name).to_owned(), answer.get(*name).filter(said)?.clone()));
    names.iter().filter_map(of).collect()
}

/// Shortens a list of an answer; how many were left out is said in a member of its own.
pub fn shorten(members: &mut Map<String, Value>, name: &str, most: usize) {
    let Some(Value::Array(list)) = members.get_mut(name) else { return };
    let left_out = list.len().saturating_sub(most);
    list.truncate(most);
    if left_out > 0 {
        members.insert(format!("{name}LeftOut"), json!(left_out));
    }
}

pub fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A number as a person would write it: at most two digits after the point.
pub fn number(answer: &Value, name: &str) -> Option<String> {
    let value = answer.get(name)?.as_f64()?;
    let rounded = format!("{value:.2}");
    Some(match rounded.contains('.') {
        true => rounded.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => rounded,
    })
}

pub fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list, by comma, at most so many.
pub fn joined(answer: &Value, name: &str, most: usize) -> String {
    list(answer, name).iter().filter_map(Value::as_str).take(most).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_what_is_left_out_is_said() {
        let answer = json!({ "a": 0.98765, "b": 3, "c": 0.5, "d": null, "e": "", "f": [1, 2, 3], "g": 100 });
        let said: Vec<_> = ["a", "b", "c", "d", "g"].iter().map(|name| number(&answer, name)).collect();
        assert_eq!(said, [Some("0.99"), Some("3"), Some("0.5"), None, Some("100")].map(|text| text.map(str::to_owned)));
        let mut members = picked(&answer, &["b", "d", "e", "f", "x"]);
        shorten(&mut members, "f", 2);
        assert_eq!(Value::Object(members), json!({ "b": 3, "f": [1, 2], "fLeftOut": 1 }));
    }
}
