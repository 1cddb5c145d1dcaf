//! What a tool takes. The schema that clients see and the check of arguments are made from the same list.

use serde_json::{Map, Value, json};

use crate::engine::http::COUNTRY_PATTERN;

/// One argument of a tool.
pub struct Input {
    pub name: &'static str,
    pub required: bool,
    pub kind: Kind,
    pub doc: &'static str,
}

/// What an argument may be.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Text of 1 to so many characters.
    Text(u32),
    /// A country by its two letters, in any case.
    Country,
    /// A whole number in this range.
    Number(u32, u32),
    Flag,
    OneOf(&'static [&'static str]),
    /// A list of this kind with so many members.
    List(&'static Kind, usize, usize),
}

impl Input {
    pub const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Input {
        Input { name, required: true, kind, doc }
    }

    pub const fn optional(name: &'static str, kind: Kind, doc: &'static str) -> Input {
        Input { name, required: false, kind, doc }
    }
}

impl Kind {
    fn schema(self) -> Value {
        match self {
            Kind::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
            Kind::Country => json!({ "type": "string", "pattern": COUNTRY_PATTERN }),
            Kind::Number(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
            Kind::Flag => json!({ "type": "boolean" }),
            Kind::OneOf(words) => json!({ "type": "string", "enum": words }),
            Kind::List(of, least, most) => {
                json!({ "type": "array", "items": of.schema(), "minItems": least, "maxItems": most })
            }
        }
    }

    fn fits(self, value: &Value) -> bool {
        match self {
            Kind::Text(most) => value.as_str().is_some_and(|text| {
                let characters = text.chars().take(most as usize + 1).count();
                (1..=most as usize).contains(&characters)
            }),
            Kind::Country => {
                value.as_str().is_some_and(|text| text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic()))
            }
            Kind::Number(least, most) => {
                value.as_u64().is_some_and(|number| (u64::from(least)..=u64::from(most)).contains(&number))
            }
            Kind::Flag => value.is_boolean(),
            Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Kind::List(of, least, most) => value
                .as_array()
                .is_some_and(|list| (least..=most).contains(&list.len()) && list.iter().all(|member| of.fits(member))),
        }
    }

    fn words(self) -> String {
        match self {
            Kind::Text(most) => format!("text of 1 to {most} characters"),
            Kind::Country => "a country of two letters, such as KE".to_owned(),
            Kind::Number(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Flag => "true or false".to_owned(),
            Kind::OneOf(words) => format!("one of {}", words.join(", ")),
            Kind::List(of, least, most) => format!("a list of {least} to {most}, each {}", of.words()),
        }
    }
}

/// The JSON schema of all arguments. It takes no others.
pub fn schema(inputs: &[Input]) -> Value {
    let mut properties = Map::new();
    for input in inputs {
        let mut schema = input.kind.schema();
        schema["description"] = json!(input.doc);
        properties.insert(input.name.to_owned(), schema);
    }
    let required: Vec<&str> = inputs.iter().filter(|input| input.required).map(|input| input.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Arguments that fit.
#[derive(Debug)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// The error says in words which argument is wrong. Null counts as absent: models send it for what they leave out.
    pub fn read(inputs: &[Input], mut given: Map<String, Value>) -> Result<Arguments, String> {
        given.retain(|_, value| !value.is_null());
        if let Some(unknown) = given.keys().find(|name| inputs.iter().all(|input| input.name != *name)) {
            let known = inputs.iter().map(|input| input.name).collect::<Vec<_>>().join(", ");
            let unknown: String = unknown.chars().take(100).collect();
            return Err(format!("There is no argument `{unknown}`; there are {known}."));
        }
        for input in inputs {
            match given.get(input.name) {
                None if input.required => return Err(format!("`{}` is required: {}", input.name, input.doc)),
                Some(value) if !input.kind.fits(value) => {
                    return Err(format!("`{}` must be {}.", input.name, input.kind.words()));
                }
                _ => {}
            }
        }
        Ok(Arguments(given))
    }

    /// A text; empty where it is absent, which no required one is.
    pub fn text(&self, name: &str) -> &str {
        self.optional(name).unwrap_or_default()
    }

    pub fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    pub fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    /// The texts of a list; none where it is absent.
    pub fn list(&self, name: &str) -> Vec<&str> {
        self.0.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// A country in the upper case that routes want.
    pub fn country(&self, name: &str) -> Option<String> {
        self.optional(name).map(str::to_ascii_uppercase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUTS: &[Input] = &[
        Input::required("domain", Kind::Text(5), "A site."),
        Input::optional("limit", Kind::Number(1, 10), "How many."),
        Input::optional("countries", Kind::List(&Kind::Country, 2, 3), "Where."),
        Input::optional("deep", Kind::Flag, "More."),
        Input::optional("how", Kind::OneOf(&["a", "b"]), "How."),
    ];

    fn read(given: Value) -> Result<Arguments, String> {
        let Value::Object(given) = given else { panic!("no object") };
        Arguments::read(INPUTS, given)
    }

    #[test]
    fn arguments_are_taken_strictly_and_the_error_names_the_wrong_one() {
        read(json!({ "domain": "ääääx", "limit": 10, "countries": ["ke", "UG"], "deep": false, "how": "b" })).unwrap();
        assert_eq!(read(json!({ "domain": "a", "limit": null })).unwrap().number("limit"), None);
        for (given, named) in [
            (json!({}), "domain"),
            (json!({ "domain": "" }), "domain"),
            (json!({ "domain": "abcdef" }), "domain"),
            (json!({ "domain": ["a"] }), "domain"),
            (json!({ "domain": "a", "limit": 0 }), "limit"),
            (json!({ "domain": "a", "limit": 11 }), "limit"),
            (json!({ "domain": "a", "limit": 1.5 }), "limit"),
            (json!({ "domain": "a", "limit": "3" }), "limit"),
            (json!({ "domain": "a", "countries": ["KE"] }), "countries"),
            (json!({ "domain": "a", "countries": ["KE", "KEN"] }), "countries"),
            (json!({ "domain": "a", "deep": 1 }), "deep"),
            (json!({ "domain": "a", "how": "c" }), "how"),
            (json!({ "domain": "a", "site": "b" }), "site"),
        ] {
            let error = read(given.clone()).expect_err(&given.to_string());
            assert!(error.contains(&format!("`{named}`")), "{given}: {error}");
        }
    }

    #[test]
    fn the_schema_says_what_is_checked() {
        let schema = schema(INPUTS);
        assert_eq!((&schema["required"], &schema["additionalProperties"]), (&json!(["domain"]), &json!(false)));
        let limit = json!({ "type": "integer", "minimum": 1, "maximum": 10, "description": "How many." });
        assert_eq!(schema["properties"]["limit"], limit);
        assert_eq!(schema["properties"]["countries"]["items"]["pattern"], COUNTRY_PATTERN);
    }
}
