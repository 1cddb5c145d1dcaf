//! What a route reads from its query, for the documentation.

use serde_json::{Value, json};

/// What a query parameter may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Text,
    /// One of these words and nothing else.
    OneOf(&'static [&'static str]),
    /// A whole number within both bounds, `None` where there is none.
    Integer(Option<i64>, Option<i64>),
    /// A whole number from 1 with a default. Above the most that is given, the most is taken.
    Count {
        default: u32,
        most: u32,
    },
    /// A number within both bounds.
    Number(i64, i64),
    Boolean,
    /// A time or a day, as `Timestamp::parse` reads them.
    Time,
    /// A day, `2026-10-01`.
    Day,
    /// Two letters of ISO 3166-1.
    Country,
}

/// A query parameter, for the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Param {
    pub name: &'static str,
    pub required: bool,
    pub doc: &'static str,
    pub shape: Shape,
    /// What is taken when the parameter is left out, as it would be written in the query.
    pub default: Option<&'static str>,
    /// An accepted value, as it would be written in the query.
    pub given: Option<&'static str>,
}

impl Param {
    pub const fn optional(name: &'static str, doc: &'static str) -> Self {
        Param { name, required: false, doc, shape: Shape::Text, default: None, given: None }
    }

    pub const fn required(name: &'static str, doc: &'static str) -> Self {
        Param { required: true, ..Param::optional(name, doc) }
    }

    const fn shape(mut self, shape: Shape) -> Self {
        self.shape = shape;
        self
    }

    /// Only these words are accepted.
    pub const fn one_of(self, words: &'static [&'static str]) -> Self {
        self.shape(Shape::OneOf(words))
    }

    /// A whole number; anything outside of the bounds is refused.
    pub const fn integer(self, min: i64, max: i64) -> Self {
        self.shape(Shape::Integer(Some(min), Some(max)))
    }

    /// A whole number; anything below is refused.
    pub const fn at_least(self, min: i64) -> Self {
        self.shape(Shape::Integer(Some(min), None))
    }

    /// A whole number from 1, as `Cx::count` reads it.
    pub const fn count(self, default: u32, most: u32) -> Self {
        self.shape(Shape::Count { default, most })
    }

    /// A whole number, as the ledger reads the size of a page: below 1 it is 1, above the most it is the most.
    pub const fn rows(self, default: &'static str) -> Self {
        self.shape(Shape::Integer(None, None)).default(default)
    }

    /// A number; anything outside of the bounds is refused.
    pub const fn number(self, min: i64, max: i64) -> Self {
        self.shape(Shape::Number(min, max))
    }

    pub const fn boolean(self) -> Self {
        self.shape(Shape::Boolean)
    }

    /// A time in ISO 8601, or a day.
    pub const fn date(self) -> Self {
        self.shape(Shape::Time)
    }

    /// A day in ISO 8601.
    pub const fn day(self) -> Self {
        self.shape(Shape::Day)
    }

    /// An ISO 3166-1 alpha-2 code, in capitals or not.
    pub const fn country(self) -> Self {
        self.shape(Shape::Country)
    }

    pub const fn default(mut self, text: &'static str) -> Self {
        self.default = Some(text);
        self
    }

    /// A value that is accepted.
    pub const fn such_as(mut self, text: &'static str) -> Self {
        self.given = Some(text);
        self
    }

    /// The JSON schema of a value, with its default.
    pub fn schema(&self) -> Value {
        let mut schema = match self.shape {
            Shape::Text => json!({ "type": "string" }),
            Shape::OneOf(words) => json!({ "type": "string", "enum": words }),
            Shape::Integer(min, max) => {
                let mut schema = json!({ "type": "integer", "format": "int64" });
                for (name, bound) in [("minimum", min), ("maximum", max)] {
                    if let Some(bound) = bound {
                        schema[name] = bound.into();
                    }
                }
                schema
            }
            Shape::Count { default, .. } => {
                json!({ "type": "integer", "format": "int32", "minimum": 1, "default": default })
            }
            Shape::Number(min, max) => json!({ "type": "number", "format": "double", "minimum": min, "maximum": max }),
            Shape::Boolean => json!({ "type": "boolean" }),
            Shape::Time => json!({ "type": "string", "format": "date-time" }),
            Shape::Day => json!({ "type": "string", "format": "date" }),
            Shape::Country => json!({ "type": "string", "pattern": "^[A-Za-z]{2}$" }),
        };
        if let Some(default) = self.default {
            schema["default"] = self.value(default);
        }
        schema
    }

    /// A value that is accepted: the one that is declared, or one of its shape.
    pub fn example(&self) -> Option<&'static str> {
        self.given.or(match self.shape {
            Shape::Country => Some("KE"),
            Shape::Time => Some("2026-10-01T00:00:00Z"),
            Shape::Day => Some("2026-10-01"),
            _ => None,
        })
    }

    /// A text of the query as the JSON value that it stands for.
    pub fn value(&self, text: &str) -> Value {
        let read = match self.shape {
            Shape::Integer(..) | Shape::Count { .. } | Shape::Number(..) | Shape::Boolean => {
                serde_json::from_str(text).ok()
            }
            Shape::Text | Shape::OneOf(_) | Shape::Time | Shape::Day | Shape::Country => None,
        };
        read.unwrap_or_else(|| text.into())
    }
}
