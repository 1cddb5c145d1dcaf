//! Spans of time that measurements are counted by.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, Timestamp};
use engine::time::{Date, HOUR};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grain {
    Hour,
    Day,
    /// From Sunday on, as in the interface that this one follows.
    Week,
    Month,
    Year,
}

const ALL: [Grain; 5] = [Grain::Hour, Grain::Day, Grain::Week, Grain::Month, Grain::Year];

/// The name that stands for the finest grain that fits.
const AUTO: &str = "auto";

impl Grain {
    pub const fn as_str(self) -> &'static str {
        match self {
            Grain::Hour => "hour",
            Grain::Day => "day",
            Grain::Week => "week",
            Grain::Month => "month",
            Grain::Year => "year",
        }
    }

    /// The grains that fit a range of so many hours, the finest first.
    pub const fn fitting(hours: i64) -> &'static [Grain] {
        match hours {
            ..=168 => &[Grain::Hour, Grain::Day],
            169..=720 => &[Grain::Day, Grain::Week],
            721..=8_760 => &[Grain::Day, Grain::Week, Grain::Month],
            _ => &[Grain::Day, Grain::Week, Grain::Month, Grain::Year],
        }
    }

    /// Reads the grain of a range of so many hours. One that does not fit the range is refused.
    pub fn parse(text: Option<&str>, hours: i64) -> Result<Grain> {
        let fitting = Grain::fitting(hours);
        let known = text.unwrap_or(AUTO).trim().to_ascii_lowercase();
        if known == AUTO {
            return Ok(fitting.first().copied().unwrap_or(Grain::Day));
        }
        let found = fitting.iter().copied().find(|grain| grain.as_str() == known);
        found.ok_or_else(|| {
            let names: Vec<&str> = fitting.iter().map(|grain| grain.as_str()).collect();
            let why = match ALL.iter().any(|grain| grain.as_str() == known) {
                true => "for a range of this length",
                false => "here",
            };
            Error::bad_request(format!("`time_grain` must be one of {}, {AUTO} {why}.", names.join(", ")))
        })
    }

    /// The hour, since the epoch, in which the span of another hour begins.
    pub fn begin(self, hour: i64) -> i64 {
        let date = Date::from_days(hour.div_euclid(24));
        match self {
            Grain::Hour => hour,
            Grain::Day => date.days() * 24,
            Grain::Week => (date.days() - (date.weekday() + 1) % 7) * 24,
            Grain::Month => date.first_of_month().days() * 24,
            Grain::Year => Date { month: 1, day: 1, ..date }.days() * 24,
        }
    }

    /// How the span that begins in this hour is written.
    pub fn write(self, begin: i64) -> String {
        match self {
            Grain::Hour => format!("{}T{:02}:00:00Z", Timestamp(begin * HOUR).to_date_text(), begin.rem_euclid(24)),
            _ => Timestamp(begin * HOUR).to_date_text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hour(text: &str) -> i64 {
        Timestamp::parse(text).unwrap().hour()
    }

    #[test]
    fn an_hour_lies_in_the_span_that_begins_last_before_it() {
        for (grain, begin) in [
            (Grain::Hour, "2024-02-29T13:00:00Z"),
            (Grain::Day, "2024-02-29"),
            (Grain::Week, "2024-02-25"),
            (Grain::Month, "2024-02-01"),
            (Grain::Year, "2024-01-01"),
        ] {
            let found = grain.begin(hour("2024-02-29T13:00:00Z"));
            assert_eq!((found, grain.write(found)), (hour(begin), begin.to_owned()), "{grain:?}");
            assert_eq!(grain.begin(found), found, "{grain:?}: a span begins with itself");
        }
        // A Sunday begins its week, and the Saturday before ends one.
        assert_eq!(Grain::Week.begin(hour("2024-02-25T00:00:00Z")), hour("2024-02-25"));
        assert_eq!(Grain::Week.begin(hour("2024-02-24T23:00:00Z")), hour("2024-02-18"));
    }

    #[test]
    fn a_grain_fits_the_length_of_its_range_or_is_refused_with_those_that_do() {
        let days = |days: i64| days * 24;
        for (length, fitting) in [
            (days(7), "hour, day, auto"),
            (days(7) + 1, "day, week, auto"),
            (days(30), "day, week, auto"),
            (days(365), "day, week, month, auto"),
            (days(366), "day, week, month, year, auto"),
        ] {
            for grain in ALL {
                let parsed = Grain::parse(Some(grain.as_str()), length);
                match fitting.contains(grain.as_str()) {
                    true => assert_eq!(parsed.unwrap(), grain),
                    false => {
                        let message = parsed.unwrap_err().message.clone();
                        assert!(message.contains(fitting), "{length}: {message}");
                    }
                }
            }
            let finest = fitting.split(',').next().unwrap();
            for auto in [None, Some("auto"), Some("AUTO")] {
                assert_eq!(Grain::parse(auto, length).unwrap().as_str(), finest);
            }
            assert!(Grain::parse(Some("fortnight"), length).is_err());
        }
    }
}
