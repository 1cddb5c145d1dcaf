//! Sentences with a code: everything that answers say in words is a code with typed parameters, and its English is made
//! from one table (decision sentences-with-a-code).
//!
//! | Module | What |
//! |---|---|
//! | [`language`] | the languages, and which table each has |
//! | [`member`] | the code and the parameters beside a member of an answer |
//! | [`names`] | names of countries, sources and states in each language |
//! | [`parameter`] | the kinds of parameters |
//! | [`table`] | the table of sentences, as a file of tabs |
//! | [`template`] | a sentence of the table with its places for parameters |

pub mod language;
pub mod member;
pub mod names;
pub mod parameter;
pub mod table;
pub mod template;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use language::Language;
pub use member::{Coded, Sentences};
pub use parameter::Parameter;

/// A sentence, or a part of one. In JSON it is its English text; [`Sentences`] shows its code beside that. In stored
/// rows it is the code with the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Sentence {
    /// A code of the table.
    pub code: &'static str,
    pub parameters: Vec<(&'static str, Parameter)>,
}

impl Sentence {
    /// A sentence to which [`Sentence::with`] adds what it needs.
    pub const fn new(code: &'static str) -> Sentence {
        Sentence { code, parameters: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Parameter>) -> Sentence {
        self.parameters.push((name, value.into()));
        self
    }

    /// A text that has no code of its own, because somebody wrote it or it was stored as a text.
    pub fn written(text: impl Into<Parameter>) -> Sentence {
        Sentence::new("text").with("text", text)
    }

    /// The sentence of a text that a row stores.
    pub fn stored(text: &str) -> Sentence {
        Sentence::of_text(text).unwrap_or_else(|| Sentence::written(text))
    }

    /// Reads what [`Coded`] writes, with the parameters in the order of the template. `None` for a code or a parameter
    /// that the table does not have.
    pub fn from_json(value: &Value) -> Option<Sentence> {
        let code = table::known(value.get("code")?.as_str()?)?;
        let named = template::parameters(table::text(code)?);
        let given = value.get("parameters").and_then(Value::as_object);
        let mut parameters = Vec::with_capacity(named.len());
        for known in named {
            if let Some(value) = given.and_then(|given| given.get(known.name)) {
                parameters.push((known.name, Parameter::from_json(value)?));
            }
        }
        (parameters.len() == given.map_or(0, Map::len)).then_some(Sentence { code, parameters })
    }

    /// Adds those of the parameters that the template names.
    #[must_use]
    pub fn with_used(mut self, parameters: impl IntoIterator<Item = (&'static str, Parameter)>) -> Sentence {
        let named = template::parameters(table::text(self.code).unwrap_or_default());
        let used = |name: &str| named.iter().any(|known| known.name == name);
        self.parameters.extend(parameters.into_iter().filter(|(name, _)| used(name)));
        self
    }

    /// The sentence of the table that is this text and has no parameters. Stored rows hold some texts in English.
    pub fn of_text(text: &str) -> Option<Sentence> {
        table::code_of(text).map(Sentence::new)
    }

    /// The text of the table, filled in.
    pub fn english(&self) -> String {
        self.text_in(Language::English)
    }

    /// The text in a language; a code that the language lacks is said in English.
    pub fn text_in(&self, language: Language) -> String {
        template::fill(language, language.template(self.code).unwrap_or(self.code), &self.parameters)
    }
}

/// The English of several sentences with spaces between.
pub fn text(sentences: &[Sentence]) -> String {
    let english: Vec<String> = sentences.iter().map(Sentence::english).collect();
    english.join(" ")
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.english())
    }
}

/// A sentence as stored rows and messages between actors have it.
#[derive(Serialize)]
struct StoredSentence<'a> {
    code: &'a str,
    parameters: &'a [(&'static str, Parameter)],
}

#[derive(Deserialize)]
struct ReadSentence {
    code: String,
    parameters: Vec<(String, Parameter)>,
}

impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        StoredSentence { code: self.code, parameters: &self.parameters }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sentence {
    /// Reads the stored form. A row may have been written by another version of the program, with another table.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sentence, D::Error> {
        let ReadSentence { code, parameters } = ReadSentence::deserialize(deserializer)?;
        let code = table::known(&code).ok_or_else(|| D::Error::custom("a sentence with an unknown code"))?;
        let names = template::parameters(table::text(code).unwrap_or_default());
        let named = parameters.into_iter().filter_map(|(name, value)| {
            let known = names.iter().find(|known| known.name == name)?;
            Some((known.name, value))
        });
        Ok(Sentence { code, parameters: named.collect() })
    }
}

/// A sentence in an answer is a text.
impl JsonSchema for Sentence {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SentenceText".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl engine::kv::Row for Sentence {}
