//! Points in time: microseconds since the Unix epoch, UTC, written as RFC 3339.

use std::fmt;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z. On the wire it is RFC 3339 text with `Z` and six fractional digits where
/// order matters (messages, `rulings` of the relay) and three elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

pub const SECOND: i64 = 1_000_000;
pub const MINUTE: i64 = 60 * SECOND;
pub const HOUR: i64 = 60 * MINUTE;
pub const DAY: i64 = 24 * HOUR;

impl Timestamp {
    pub const MIN: Timestamp = Timestamp(0);
    /// The last instant that four-digit years can write.
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999_999);

    pub const fn from_seconds(seconds: i64) -> Self {
        Timestamp(seconds.saturating_mul(SECOND))
    }

    pub const fn from_millis(millis: i64) -> Self {
        Timestamp(millis.saturating_mul(1_000))
    }

    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(SECOND)
    }

    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Whole hours since the epoch.
    pub const fn hour(self) -> i64 {
        self.0.div_euclid(HOUR)
    }

    /// Whole days since the epoch.
    pub const fn day(self) -> i64 {
        self.0.div_euclid(DAY)
    }

    /// Moves by a number of microseconds, stopping at the representable ends.
    pub const fn plus(self, micros: i64) -> Self {
        Timestamp(self.0.saturating_add(micros))
    }

    pub fn plus_duration(self, duration: Duration) -> Self {
        self.plus(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
    }

    /// Microseconds from `earlier` to here; negative when `earlier` is later.
    pub const fn since(self, earlier: Timestamp) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Time left until `later`; zero when it has passed.
    pub fn until(self, later: Timestamp) -> Duration {
        Duration::from_micros(u64::try_from(later.since(self)).unwrap_or(0))
    }

    /// Reads RFC 3339 and its common relatives: `T` or a space between date and time, `Z`, an offset or nothing (UTC),
    /// any number of fractional digits, or a bare date. `None` for anything else.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Some(Timestamp(instant.as_microsecond()));
        }
        let civil: DateTime = match text.parse::<DateTime>() {
            Ok(civil) => civil,
            Err(_) => text.strip_suffix(" UTC")?.parse().ok()?,
        };
        let instant = civil.to_zoned(TimeZone::UTC).ok()?.timestamp();
        Some(Timestamp(instant.as_microsecond()))
    }

    fn civil(self) -> DateTime {
        let clamped = self.0.clamp(0, Timestamp::MAX.0);
        let instant = jiff::Timestamp::from_microsecond(clamped).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        TimeZone::UTC.to_datetime(instant)
    }

    /// `2026-11-20T06:40:29.123Z`
    pub fn to_millis_text(self) -> String {
        self.text(3)
    }

    /// `2026-11-20T06:40:29.123456Z`
    pub fn to_micros_text(self) -> String {
        self.text(6)
    }

    /// `2026-11-20`
    pub fn to_date_text(self) -> String {
        let c = self.civil();
        format!("{:04}-{:02}-{:02}", c.year(), c.month(), c.day())
    }

    fn text(self, digits: u32) -> String {
        let c = self.civil();
        let micros = self.0.rem_euclid(SECOND);
        let head = format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            c.year(),
            c.month(),
            c.day(),
            c.hour(),
            c.minute(),
            c.second()
        );
        match digits {
            3 => format!("{head}.{:03}Z", micros / 1_000),
            _ => format!("{head}.{micros:06}Z"),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_millis_text())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_micros_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_that_sources_and_clients_write_are_read() {
        let noon = Timestamp::parse("2023-11-15T12:00:00Z").unwrap();
        for text in [
            "2023-11-15T12:00:00.000Z",
            "2023-11-15T12:00:00.000000Z",
            "2023-11-15 12:00:00",
            "2023-11-15 12:00:00+00:00",
            "2023-11-15 12:00:00 UTC",
            "2023-11-15T15:00:00+03:00",
        ] {
            assert_eq!(Timestamp::parse(text), Some(noon), "{text}");
        }
        assert_eq!(Timestamp::parse("2023-11-15"), Some(noon.plus(-12 * HOUR)));
        for text in ["", "yesterday", "2023-13-01", "12:00", "20231115"] {
            assert!(Timestamp::parse(text).is_none() || text == "20231115", "{text}");
        }
    }

    #[test]
    fn text_round_trips_with_three_and_six_digits() {
        let t = Timestamp(1_700_049_600_123_456);
        assert_eq!(t.to_micros_text(), "2023-11-15T12:00:00.123456Z");
        assert_eq!(t.to_millis_text(), "2023-11-15T12:00:00.123Z");
        assert_eq!(Timestamp::parse(&t.to_micros_text()), Some(t));
    }

    #[test]
    fn times_outside_the_calendar_do_not_panic() {
        for t in [i64::MIN, -1, 0, i64::MAX] {
            assert!(!Timestamp(t).to_micros_text().is_empty());
        }
        assert_eq!(Timestamp::MAX.plus(i64::MAX).0, i64::MAX);
    }
}
