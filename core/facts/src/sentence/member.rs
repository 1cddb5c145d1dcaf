//! The member `sentences` of an answer: the code and the parameters of each text beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Parameter, Sentence};

/// What the texts of an object say, by the names of its members. A text that somebody wrote has no code and is left
/// out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentences(Vec<(&'static str, Said)>);

/// What one member says.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// No sentence of the table.
    Nothing,
    One(Sentence),
    /// The texts of an object, by the names of its members.
    Named(Vec<(&'static str, Sentence)>),
    /// The sentences of a list, or those of one text with spaces between. A text that somebody wrote is `None`.
    Several(Vec<Option<Sentence>>),
}

impl Sentences {
    pub const fn new() -> Sentences {
        Sentences(Vec::new())
    }

    /// Adds a member by its name in JSON.
    #[must_use]
    pub fn with(mut self, member: &'static str, said: impl Into<Said>) -> Sentences {
        match said.into() {
            Said::Nothing => {}
            Said::Several(said) if said.is_empty() => {}
            said => self.0.push((member, said)),
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
        match sentences {
            [one] => self.with(member, one),
            several => self.with(member, several),
        }
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
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (member, said) in &self.0 {
            match said {
                Said::Nothing => {}
                Said::Named(named) => {
                    let coded: BTreeMap<_, _> = named.iter().map(|(name, said)| (*name, Coded(said))).collect();
                    map.serialize_entry(member, &coded)?;
                }
                Said::One(sentence) => map.serialize_entry(member, &Coded(sentence))?,
                Said::Several(sentences) => {
                    let coded: Vec<Option<Coded<'_>>> = sentences.iter().map(|said| said.as_ref().map(Coded)).collect();
                    map.serialize_entry(member, &coded)?;
                }
            }
        }
        map.end()
    }
}

/// A sentence as its code and parameters: `{"code": ..., "parameters": {...}}`.
#[derive(Debug, Clone, Copy)]
pub struct Coded<'a>(pub &'a Sentence);

struct Parameters<'a>(&'a [(&'static str, Parameter)]);

impl Serialize for Coded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Coded(Sentence { code, parameters }) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("code", code)?;
        if !parameters.is_empty() {
            map.serialize_entry("parameters", &Parameters(parameters))?;
        }
        map.end()
    }
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

impl JsonSchema for Coded<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Sentence".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A sentence of `/data/sentences`, which has the template and the types of the parameters.",
            "properties": {
                "code": { "type": "string" },
                "parameters": { "type": "object", "additionalProperties": true },
            },
            "required": ["code"],
        })
    }
}

impl JsonSchema for Sentences {
    fn schema_name() -> Cow<'static, str> {
        "Sentences".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let sentence = generator.subschema_for::<Coded<'_>>();
        let one_of_list = json_schema!({ "anyOf": [sentence.clone(), { "type": "null" }] });
        json_schema!({
            "type": "object",
            "description": "The code and the parameters of each text of this object, by the name of the member: one \
                sentence, or those of a list (or of a text of several sentences, with spaces between), or of an object of \
                texts. A text without a code was written by somebody.",
            "additionalProperties": { "anyOf": [
                sentence,
                { "type": "array", "items": one_of_list },
                { "type": "object", "additionalProperties": sentence },
            ] },
        })
    }
}
