//! What a route reads from its query, for the documentation.

use serde_json::{Value, json};

/// What a query parameter may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Text,
    /// A text that fits this pattern.
    Like(&'static str),
    /// A text of so many characters.
    Length(u32, u32),
    /// As many entries with commas, each of which fits this pattern.
    Several(&'static str, u32),
    /// As many of these words with commas.
    SeveralOf(&'static [&'static str], u32),
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
    /// A time or a day from 1970 on.
    KnownTime,
    /// A day, `2026-10-01`.
    Day,
    /// Two letters of ISO 3166-1.
    Country,
}

/// Numbers of networks have 32 bits.
pub const NETWORK: &str =
    "^([Aa][Ss])?([0-9]{1,9}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|4294[0-8][0-9]{5})$";

/// No control characters.
pub const LINE: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// No control characters but line feeds and tabs.
pub const PROSE: &str = "^([^\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]|\\r\\n)*$";

/// What the code of a country looks like: ISO 3166-1 alpha-2, in any case.
pub const COUNTRY_PATTERN: &str = "^[A-Za-z]{2}$";

/// Years from 1970 on.
const KNOWN_TIME: &str = "^(19[7-9]|[2-9][0-9]{2})[0-9]-";

/// The pattern of a list. Spaces around an entry do not count.
fn with_commas(one: &str, most: u32) -> String {
    format!("^ *({one}) *(, *({one}) *){{0,{}}}$", most.saturating_sub(1))
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

    /// A time that something may be known of, as `known_time` reads it.
    pub const fn known_time(self) -> Self {
        self.shape(Shape::KnownTime)
    }

    /// A day in ISO 8601.
    pub const fn day(self) -> Self {
        self.shape(Shape::Day)
    }

    /// An ISO 3166-1 alpha-2 code, in capitals or not.
    pub const fn country(self) -> Self {
        self.shape(Shape::Country)
    }

    /// A text that fits a pattern; others are refused.
    pub const fn like(self, pattern: &'static str) -> Self {
        self.shape(Shape::Like(pattern))
    }

    /// A text of so many characters; shorter and longer ones are refused.
    pub const fn length(self, min: u32, max: u32) -> Self {
        self.shape(Shape::Length(min, max))
    }

    /// At most so many entries with commas; each fits a pattern.
    pub const fn several(self, pattern: &'static str, most: u32) -> Self {
        self.shape(Shape::Several(pattern, most))
    }

    /// At most so many of these words with commas.
    pub const fn several_of(self, words: &'static [&'static str], most: u32) -> Self {
        self.shape(Shape::SeveralOf(words, most))
    }

    /// The number of a network, with or without `AS`.
    pub const fn network(self) -> Self {
        self.like(NETWORK)
    }

    /// A text of one line, without control characters.
    pub const fn line(self) -> Self {
        self.like(LINE)
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
            // An empty value is the same as none.
            Shape::Text if self.required => json!({ "type": "string", "minLength": 1 }),
            Shape::Text => json!({ "type": "string" }),
            Shape::Like(pattern) => json!({ "type": "string", "pattern": pattern }),
            Shape::Length(min, max) => json!({ "type": "string", "minLength": min, "maxLength": max }),
            Shape::Several(pattern, most) => {
                let one = pattern.trim_start_matches('^').trim_end_matches('$');
                json!({ "type": "string", "pattern": with_commas(one, most) })
            }
            Shape::SeveralOf(words, most) => {
                json!({ "type": "string", "pattern": with_commas(&words.join("|"), most) })
            }
            Shape::OneOf(words) => json!({ "type": "string", "enum": words }),
            Shape::Integer(min, max) => {
                let mut schema = json!({ "type": "integer" });
                // A format has bounds too, which only numbers with a bound have.
                if min.is_some() && max.is_some() {
                    schema["format"] = "int64".into();
                }
                for (name, bound) in [("minimum", min), ("maximum", max)] {
                    if let Some(bound) = bound {
                        schema[name] = bound.into();
                    }
                }
                schema
            }
            // Any number above the most means the most, so no format bounds it.
            Shape::Count { default, .. } => json!({ "type": "integer", "minimum": 1, "default": default }),
            Shape::Number(min, max) => json!({ "type": "number", "format": "double", "minimum": min, "maximum": max }),
            Shape::Boolean => json!({ "type": "boolean" }),
            Shape::Time => json!({ "type": "string", "format": "date-time" }),
            Shape::KnownTime => json!({ "type": "string", "format": "date-time", "pattern": KNOWN_TIME }),
            Shape::Day => json!({ "type": "string", "format": "date" }),
            Shape::Country => json!({ "type": "string", "pattern": COUNTRY_PATTERN }),
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
            Shape::Time | Shape::KnownTime => Some("2026-10-01T00:00:00Z"),
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
            Shape::Text
            | Shape::Like(_)
            | Shape::Length(..)
            | Shape::Several(..)
            | Shape::SeveralOf(..)
            | Shape::OneOf(_)
            | Shape::Time
            | Shape::KnownTime
            | Shape::Day
            | Shape::Country => None,
        };
        read.unwrap_or_else(|| text.into())
    }
}
