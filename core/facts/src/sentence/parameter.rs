//! Parameters of sentences: data, never words of a language.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Sentence;
use crate::Timestamp;

/// The value of a parameter. What it means is said by the table: a text may be a date, the code of a country, the
/// number of a network, or a name as a source writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Parameter {
    /// It does not apply: null in JSON.
    None,
    Text(String),
    Count(u64),
    Number(f64),
    Flag(bool),
    Texts(Vec<String>),
    Sentence(Box<Sentence>),
    Sentences(Vec<Sentence>),
}

impl Parameter {
    /// A network by its number: `AS33771`.
    pub fn network(asn: u32) -> Parameter {
        Parameter::Text(format!("AS{asn}"))
    }

    /// Reads a parameter of an answer.
    pub fn from_json(value: &Value) -> Option<Parameter> {
        Some(match value {
            Value::Null => Parameter::None,
            Value::Bool(flag) => Parameter::Flag(*flag),
            Value::String(text) => Parameter::Text(text.clone()),
            Value::Number(number) => match number.as_u64() {
                Some(count) => Parameter::Count(count),
                None => Parameter::Number(number.as_f64()?),
            },
            Value::Object(_) => Parameter::Sentence(Box::new(Sentence::from_json(value)?)),
            Value::Array(values) if values.iter().all(Value::is_string) => {
                Parameter::Texts(values.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            }
            Value::Array(values) => {
                Parameter::Sentences(values.iter().map(Sentence::from_json).collect::<Option<_>>()?)
            }
        })
    }

    /// The value by which a template chooses.
    pub(super) fn key(&self) -> String {
        match self {
            Parameter::None => "null".to_owned(),
            Parameter::Text(text) => text.clone(),
            Parameter::Count(count) => count.to_string(),
            Parameter::Number(number) => number.to_string(),
            Parameter::Flag(flag) => flag.to_string(),
            Parameter::Texts(_) | Parameter::Sentence(_) | Parameter::Sentences(_) => "other".to_owned(),
        }
    }

    pub(super) fn number(&self) -> f64 {
        match self {
            Parameter::Count(count) => *count as f64,
            Parameter::Number(number) => *number,
            _ => 0.0,
        }
    }
}

macro_rules! from {
    ($($of:ty: $value:ident => $made:expr;)+) => {
        $(impl From<$of> for Parameter {
            fn from($value: $of) -> Parameter {
                $made
            }
        })+
    };
}

from! {
    &str: text => Parameter::Text(text.to_owned());
    &String: text => Parameter::Text(text.clone());
    String: text => Parameter::Text(text);
    u8: count => Parameter::Count(count.into());
    u16: count => Parameter::Count(count.into());
    u32: count => Parameter::Count(count.into());
    u64: count => Parameter::Count(count);
    usize: count => Parameter::Count(count as u64);
    f64: number => Parameter::Number(number);
    bool: flag => Parameter::Flag(flag);
    // The day is what sentences name.
    Timestamp: time => Parameter::Text(time.to_date_text());
    Vec<String>: texts => Parameter::Texts(texts);
    &[String]: texts => Parameter::Texts(texts.to_vec());
    Sentence: sentence => Parameter::Sentence(Box::new(sentence));
    Vec<Sentence>: sentences => Parameter::Sentences(sentences);
}

impl<T: Into<Parameter>> From<Option<T>> for Parameter {
    fn from(value: Option<T>) -> Parameter {
        value.map_or(Parameter::None, Into::into)
    }
}
