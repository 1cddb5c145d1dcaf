//! An election: where, when, of what, and how certain that is.

use serde::{Deserialize, Serialize};

use crate::engine::kv::Row;
use crate::engine::time::Date;

/// How much of a date is known (decision features-dates-retries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    Day,
    Month,
    Year,
}

impl Precision {
    /// On the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Precision::Day => "day",
            Precision::Month => "month",
            Precision::Year => "year",
        }
    }
}

/// A day, a month or a year: never a guessed day (decision features-dates-retries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct When {
    /// Days since the epoch, both counted.
    pub first: i32,
    pub last: i32,
}

impl When {
    /// Reads `2027-04-25`, `2027-04` or `2027`.
    pub fn parse(text: &str) -> Option<When> {
        let number = |text: &str, digits: usize| -> Option<i64> {
            (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
        };
        let mut parts = text.splitn(3, '-');
        let year = number(parts.next()?, 4)?;
        let month = parts.next().map(|month| number(month, 2));
        let day = parts.next().map(|day| number(day, 2));
        let (first, last) = match (month, day) {
            (None, _) => (Date::new(year, 1, 1)?, Date::new(year, 12, 31)?),
            (Some(month), None) => {
                let first = Date::new(year, month?, 1)?;
                (first, first.last_of_month())
            }
            (Some(month), Some(day)) => {
                let day = Date::new(year, month?, day?)?;
                (day, day)
            }
        };
        Some(When { first: i32::try_from(first.days()).ok()?, last: i32::try_from(last.days()).ok()? })
    }

    pub fn precision(self) -> Precision {
        match self.last - self.first {
            ..=0 => Precision::Day,
            1..=30 => Precision::Month,
            _ => Precision::Year,
        }
    }

    /// The day, where it is known.
    pub fn day(self) -> Option<i32> {
        (self.precision() == Precision::Day).then_some(self.first)
    }

    pub fn year(self) -> i64 {
        Date::from_days(i64::from(self.first)).year
    }

    /// As it is read.
    pub fn text(self) -> String {
        let full = Date::from_days(i64::from(self.first)).to_string();
        let length = match self.precision() {
            Precision::Day => 10,
            Precision::Month => 7,
            Precision::Year => 4,
        };
        full.get(..length).unwrap_or(&full).to_owned()
    }
}

/// What is elected. A general election stands as the highest office that it fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ElectionType {
    Presidential,
    Parliamentary,
    Regional,
    Referendum,
    Local,
}

impl ElectionType {
    pub const ALL: [ElectionType; 5] = [
        ElectionType::Presidential,
        ElectionType::Parliamentary,
        ElectionType::Regional,
        ElectionType::Referendum,
        ElectionType::Local,
    ];

    /// On the wire and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            ElectionType::Presidential => "presidential",
            ElectionType::Parliamentary => "parliamentary",
            ElectionType::Regional => "regional",
            ElectionType::Referendum => "referendum",
            ElectionType::Local => "local",
        }
    }

    pub fn parse(text: &str) -> Option<ElectionType> {
        ElectionType::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text))
    }

    /// Whether it decides who governs the country.
    pub const fn is_national(self) -> bool {
        matches!(self, ElectionType::Presidential | ElectionType::Parliamentary)
    }

    /// `high`, `medium` or `low`.
    pub const fn importance(self) -> &'static str {
        match self {
            ElectionType::Presidential | ElectionType::Parliamentary => "high",
            ElectionType::Regional | ElectionType::Referendum => "medium",
            ElectionType::Local => "low",
        }
    }
}

/// How certain the date is, to its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Status {
    /// The day follows from a weekday of a month that a law names.
    FixedByLaw,
    /// Who calls the election named it.
    Announced,
    /// The term of office ends then; nobody called the election yet.
    Expected,
    /// It took place.
    Held,
    /// It does not take place then.
    Cancelled,
}

impl Status {
    pub const ALL: [Status; 5] =
        [Status::FixedByLaw, Status::Announced, Status::Expected, Status::Held, Status::Cancelled];

    /// On the wire and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::FixedByLaw => "fixed_by_law",
            Status::Announced => "announced",
            Status::Expected => "expected",
            Status::Held => "held",
            Status::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(text))
    }
}

/// An election, referendum or nationwide local vote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Election {
    pub when: When,
    /// ISO 3166 alpha-2.
    pub country: String,
    pub kind: ElectionType,
    pub title: String,
    pub status: Status,
    /// How the date is known: the rule and earlier days that followed it, the term, who announced it, or an address;
    /// after `In doubt: ` what speaks against it.
    pub source: String,
}
impl Row for Election {}

/// What stands in a source before that which speaks against the date.
const DOUBT: &str = "In doubt: ";

impl Election {
    /// How the date is known, and what speaks against it.
    pub fn known(&self) -> (&str, Option<&str>) {
        match self.source.split_once(DOUBT) {
            Some((source, doubt)) => (source.trim_end_matches([' ', '.']), Some(doubt)),
            None => (&self.source, None),
        }
    }
}
