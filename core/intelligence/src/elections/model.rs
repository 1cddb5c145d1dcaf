//! An election: its date, country and kind, and how certain the date is.

use serde::{Deserialize, Serialize};

use engine::kv::Row;
use engine::time::Date;

/// How precisely a date is known (decision features-dates-retries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    Day,
    Month,
    Year,
}

impl Precision {
    /// The name in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Precision::Day => "day",
            Precision::Month => "month",
            Precision::Year => "year",
        }
    }
}

/// A day, a month or a year. A day is never guessed (decision features-dates-retries).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ElectionDate {
    /// Days since the epoch; both belong to the span.
    pub first: i32,
    pub last: i32,
}

impl ElectionDate {
    /// Reads `2027-04-25`, `2027-04` or `2027`.
    pub fn parse(text: &str) -> Option<ElectionDate> {
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
        Some(ElectionDate { first: i32::try_from(first.days()).ok()?, last: i32::try_from(last.days()).ok()? })
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

    /// The same form as [`ElectionDate::parse`] reads.
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

/// The office or question that is voted on. A general election counts as the highest office that it fills.
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

    /// The name in answers and in files.
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

/// How certain the date is, within its precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DateCertainty {
    /// The day follows from a law that names a weekday of a month.
    FixedByLaw,
    /// The date was named by those who call the election.
    Announced,
    /// The term of office ends then, but the election is not yet called.
    Expected,
    /// It took place.
    Held,
    /// The election does not take place on this date.
    Cancelled,
}

impl DateCertainty {
    pub const ALL: [DateCertainty; 5] = [
        DateCertainty::FixedByLaw,
        DateCertainty::Announced,
        DateCertainty::Expected,
        DateCertainty::Held,
        DateCertainty::Cancelled,
    ];

    /// The name in answers and in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            DateCertainty::FixedByLaw => "fixed_by_law",
            DateCertainty::Announced => "announced",
            DateCertainty::Expected => "expected",
            DateCertainty::Held => "held",
            DateCertainty::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<DateCertainty> {
        DateCertainty::ALL.into_iter().find(|status| status.as_str().eq_ignore_ascii_case(text))
    }
}

/// An election, referendum or nationwide local vote.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Election {
    pub when: ElectionDate,
    /// ISO 3166 alpha-2.
    pub country: String,
    pub kind: ElectionType,
    pub title: String,
    pub status: DateCertainty,
    /// How the date is known: a rule and earlier days that followed it, a term, who announced it, or an address. Behind
    /// `In doubt: ` stands what speaks against the date.
    pub source: String,
}
impl Row for Election {}

/// In a source, this stands before what speaks against the date.
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
