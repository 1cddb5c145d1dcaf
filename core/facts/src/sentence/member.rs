//! The member `sentences` of an answer: the code and the parameters of each text beside it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Parameter, Sentence};

/// What the texts of an object say, by the names of its members. A text that somebody wrote has no code and is left
/// out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentences(Vec<Placed>);

/// What one member says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// No sentence of the table.
    Nothing,
    One(Sentence),
    /// The texts of an object, by the names of its members.
    Named(Vec<(&'static str, Sentence)>),
    /// The sentences of one text, with spaces between.
    Text(Vec<Sentence>),
    /// The texts of a list. One that somebody wrote is `None`.
    Several(Vec<Option<Sentence>>),
}

impl Sentences {
    pub const fn new() -> Sentences {
        Sentences(Vec::new())
    }

    /// Adds a member by its name in JSON.
    #[must_use]
    pub fn with(mut self, member: &'static str, said: impl Into<Said>) -> Sentences {
        let mut add = |text: String, sentence| self.0.push(Placed { text, sentence });
        match said.into() {
            Said::Nothing => {}
            Said::One(sentence) => add(format!("/{member}"), sentence),
            Said::Text(sentences) => sentences.into_iter().for_each(|sentence| add(format!("/{member}"), sentence)),
            Said::Named(named) => named.into_iter().for_each(|(name, said)| add(format!("/{member}/{name}"), said)),
            Said::Several(texts) => {
                let coded = texts.into_iter().enumerate().filter_map(|(at, said)| Some((at, said?)));
                coded.for_each(|(at, said)| add(format!("/{member}/{at}"), said));
            }
        }
        self
    }

    /// Adds a member by its name in JSON, and returns its value.
    pub fn add<T>(&mut self, member: &'static str, value: T) -> T
    where
        for<'a> &'a T: Into<Said>,
    {
        *self = std::mem::take(self).with(member, &value);
        value
    }

    /// Adds a member that is an object of texts.
    #[must_use]
    pub fn with_named(self, member: &'static str, named: &[(&'static str, Sentence)]) -> Sentences {
        self.with(member, Said::Named(named.to_vec()))
    }

    /// Adds a text of one sentence or several.
    #[must_use]
    pub fn with_text(self, member: &'static str, sentences: &[Sentence]) -> Sentences {
        self.with(member, Said::Text(sentences.to_vec()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&Sentence> for Said {
    fn from(sentence: &Sentence) -> Said {
        Said::One(sentence.clone())
    }
}

impl From<Sentence> for Said {
    fn from(sentence: Sentence) -> Said {
        Said::One(sentence)
    }
}

impl From<&Option<Sentence>> for Said {
    fn from(sentence: &Option<Sentence>) -> Said {
        sentence.clone().into()
    }
}

impl From<Option<Sentence>> for Said {
    fn from(sentence: Option<Sentence>) -> Said {
        sentence.map_or(Said::Nothing, Said::One)
    }
}

impl From<&[Sentence]> for Said {
    fn from(sentences: &[Sentence]) -> Said {
        Said::Several(sentences.iter().cloned().map(Some).collect())
    }
}

impl From<&Vec<Sentence>> for Said {
    fn from(sentences: &Vec<Sentence>) -> Said {
        sentences.as_slice().into()
    }
}

impl<const N: usize> From<&[Sentence; N]> for Said {
    fn from(sentences: &[Sentence; N]) -> Said {
        sentences.as_slice().into()
    }
}

impl From<Vec<Option<Sentence>>> for Said {
    fn from(sentences: Vec<Option<Sentence>>) -> Said {
        Said::Several(sentences)
    }
}

impl Serialize for Sentences {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A sentence with the JSON Pointer (RFC 6901) of its text, in the object that has the member `sentences`. No name of a
/// member has a character that a pointer escapes.
#[derive(Debug, Clone, PartialEq)]
struct Placed {
    text: String,
    sentence: Sentence,
}

impl Serialize for Placed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("text", &self.text)?;
        coded(&self.sentence, &mut map)?;
        map.end()
    }
}

/// A sentence as its code and parameters: `{"code": ..., "parameters": {...}}`.
#[derive(Debug, Clone, Copy)]
pub struct Coded<'a>(pub &'a Sentence);

struct Parameters<'a>(&'a [(&'static str, Parameter)]);

impl Serialize for Coded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        coded(self.0, &mut map)?;
        map.end()
    }
}

fn coded<M: SerializeMap>(Sentence { code, parameters }: &Sentence, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("code", code)?;
    if parameters.is_empty() { Ok(()) } else { map.serialize_entry("parameters", &Parameters(parameters)) }
}

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in self.0 {
            match value {
                Parameter::None => map.serialize_entry(name, &())?,
                Parameter::Text(text) => map.serialize_entry(name, text)?,
                Parameter::Count(count) => map.serialize_entry(name, count)?,
                Parameter::Number(number) => map.serialize_entry(name, number)?,
                Parameter::Flag(flag) => map.serialize_entry(name, flag)?,
                Parameter::Texts(texts) => map.serialize_entry(name, texts)?,
                Parameter::Sentence(sentence) => map.serialize_entry(name, &Coded(sentence))?,
                Parameter::Sentences(all) => {
                    map.serialize_entry(name, &all.iter().map(Coded).collect::<Vec<_>>())?;
                }
            }
        }
        map.end()
    }
}

impl JsonSchema for Placed {
    fn schema_name() -> Cow<'static, str> {
        "Sentence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A sentence of `/data/sentences`, which has the template and the types of the parameters.",
            "properties": {
                "text": { "type": "string", "description": "Its text: a JSON Pointer in the object beside." },
                "code": { "type": "string" },
                "parameters": { "type": "object", "additionalProperties": true },
            },
            "required": ["text", "code"],
        })
    }
}

impl JsonSchema for Sentences {
    fn schema_name() -> Cow<'static, str> {
        "Sentences".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "description": "The code and the parameters of each text of this object. A text of several sentences has \
                them in their order, with spaces between. A text without a code was written by somebody.",
            "items": generator.subschema_for::<Placed>(),
        })
    }
}
