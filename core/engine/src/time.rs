//! Points in time: microseconds since the Unix epoch, UTC, written as RFC 3339.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01T00:00:00Z. On the wire it is RFC 3339 text with `Z` and six fractional digits where
/// order matters (messages of the relay) and three elsewhere.
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

    /// The last instant of a day since the epoch.
    pub const fn end_of_day(day: u32) -> Self {
        Timestamp((day as i64 + 1) * DAY - 1)
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

    /// Reads RFC 3339 and its common relatives: `T` or a space between date and time, with or without `-` and `:`,
    /// `Z`, an offset, ` UTC` or nothing (UTC), any number of fractional digits (those after the sixth are dropped), or
    /// a bare date. `None` for anything else, and for what is outside the years 0000 to 9999.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let text = text.trim();
        let civil = text.strip_suffix(" UTC");
        let mut reader = Reader(civil.unwrap_or(text).as_bytes());
        let mut micros = reader.date()?.days() * DAY;
        if reader.skip(b"Tt ") {
            micros += reader.time_of_day()?;
            micros -= if civil.is_none() { reader.offset()? } else { 0 };
        }
        (reader.0.is_empty() && micros <= Timestamp::MAX.0).then_some(Timestamp(micros))
    }

    /// The moment that a question is about. A day stands for its end, so that the answer has all of that day; today
    /// stands for `now`.
    pub fn parse_moment(text: &str, now: Timestamp) -> Option<Timestamp> {
        let time = Timestamp::parse(text)?;
        let whole_day = Timestamp::parse(&format!("{}T23:59:59.999Z", text.trim()));
        Some(match whole_day {
            Some(_) if time.day() == now.day() => now,
            Some(end) => end,
            None => time,
        })
    }

    /// The same time of day, so many months later; where that month is too short, on its last day.
    pub fn plus_months(self, months: i64) -> Self {
        let date = Date::from_days(self.day()).plus_months(months);
        Timestamp(date.days().saturating_mul(DAY)).plus(self.0.rem_euclid(DAY))
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
        let mut text = String::with_capacity(10);
        self.write_date(&mut text);
        text
    }

    /// `Wed, 08 Nov 2023 11:46:09 GMT`, as HTTP and RSS have it (RFC 9110 section 5.6.7).
    pub fn to_http_text(self) -> String {
        const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
        const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        fn name(names: &'static [&'static str], at: i64) -> &'static str {
            usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
        }
        let date = Date::from_days(self.writable().day());
        let (weekday, month) = (name(&DAYS, date.weekday()), name(&MONTHS, date.month - 1));
        let second = self.writable().0.rem_euclid(DAY) / SECOND;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        format!("{weekday}, {:02} {month} {:04} {hour:02}:{minute:02}:{second:02} GMT", date.day, date.year)
    }

    fn write_date(self, text: &mut String) {
        let Date { year, month, day } = Date::from_days(self.writable().day());
        for (before, number, digits) in [("", year, 4), ("-", month, 2), ("-", day, 2)] {
            text.push_str(before);
            write_digits(text, number, digits);
        }
    }

    /// Answers hold so many times that the formatter of the standard library is a tenth of what some of them cost.
    fn text(self, digits: u32) -> String {
        let mut text = String::with_capacity(27);
        self.write_date(&mut text);
        let micros = self.writable().0.rem_euclid(DAY);
        let (hour, minute, second) = (micros / HOUR, micros / MINUTE % 60, micros / SECOND % 60);
        for (before, number) in [("T", hour), (":", minute), (":", second)] {
            text.push_str(before);
            write_digits(&mut text, number, 2);
        }
        text.push('.');
        write_digits(&mut text, micros % SECOND / 10_i64.pow(6 - digits), digits);
        text.push('Z');
        text
    }

    /// The nearest instant that [`Timestamp::text`] can write.
    fn writable(self) -> Self {
        self.clamp(Timestamp::MIN, Timestamp::MAX)
    }
}

/// The last digits of a number that is not negative.
fn write_digits(text: &mut String, number: i64, digits: u32) {
    for place in (0..digits).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        text.push(char::from(b'0' + u8::try_from(digit).unwrap_or_default()));
    }
}

/// A day of the Gregorian calendar: month 1 to 12, day 1 to 31. Written `2026-11-20`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

/// Days of 400 years, after which the calendar repeats.
const ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// Both directions count years from March, so that the leap day is the last (H. Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms").
impl Date {
    /// `None` when there is no such day.
    pub fn new(year: i64, month: i64, day: i64) -> Option<Date> {
        let exists = (1..=12).contains(&month) && (1..=Date::days_in(year, month)).contains(&day);
        exists.then_some(Date { year, month, day })
    }

    fn days_in(year: i64, month: i64) -> i64 {
        match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// So many days later.
    pub fn plus(self, days: i64) -> Date {
        Date::from_days(self.days() + days)
    }

    /// The same day so many months later; where that month is too short, its last day.
    pub fn plus_months(self, months: i64) -> Date {
        let month = self.year * 12 + self.month - 1 + months;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        Date { year, month, day: self.day.min(Date::days_in(year, month)) }
    }

    pub fn first_of_month(self) -> Date {
        Date { day: 1, ..self }
    }

    pub fn last_of_month(self) -> Date {
        Date { day: Date::days_in(self.year, self.month), ..self }
    }

    /// Days since Monday.
    pub fn weekday(self) -> i64 {
        // 1 January 1970 was a Thursday.
        (self.days() + 3).rem_euclid(7)
    }

    /// Days since 1970-01-01.
    pub fn days(self) -> i64 {
        let year = if self.month > 2 { self.year } else { self.year - 1 };
        let of_era = year.rem_euclid(400);
        let of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        year.div_euclid(400) * ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH
    }

    pub fn from_days(days: i64) -> Date {
        let days = days + EPOCH;
        let of_era = days.rem_euclid(ERA);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        let year = days.div_euclid(ERA) * 400 + year + i64::from(month <= 2);
        Date { year, month, day: of_year - (153 * from_march + 2) / 5 + 1 }
    }
}

/// What a time looks like, as [`Timestamp::parse`] reads it.
pub fn time_pattern() -> String {
    pattern_of("[0-9]{4}")
}

/// What a time from 1970 on looks like.
pub fn known_time_pattern() -> String {
    pattern_of("(19[7-9]|[2-9][0-9]{2})[0-9]")
}

fn pattern_of(year: &str) -> String {
    let (month, day, minute) = ("(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])", "[0-5][0-9]");
    let (hour, second) = ("([01][0-9]|2[0-3])", "([0-5][0-9]|60)([.,][0-9]+)?");
    let time = format!("{hour}(:{minute}(:{second})?|{minute}(:?{second})?)");
    let offset = format!("[+-]{hour}(:?{minute})?");
    format!("^{year}(-{month}-{day}|{month}{day})([Tt ]{time}( UTC|[Zz]|{offset})?| UTC)?$")
}

/// What is left of a text that is read from its start.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Steps over one of these bytes if it is next.
    fn skip(&mut self, bytes: &[u8]) -> bool {
        let Some((_, rest)) = self.0.split_first().filter(|(first, _)| bytes.contains(first)) else { return false };
        self.0 = rest;
        true
    }

    /// A number of exactly so many digits, at most `max`.
    fn number(&mut self, digits: usize, max: i64) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        self.0 = rest;
        let digit = |byte: &u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
        let number = number.iter().try_fold(0, |number, byte| Some(number * 10 + digit(byte)?))?;
        (number <= max).then_some(number)
    }

    fn date(&mut self) -> Option<Date> {
        let year = self.number(4, 9_999)?;
        let dashed = self.skip(b"-");
        let month = self.number(2, 12)?;
        if self.skip(b"-") != dashed {
            return None;
        }
        Date::new(year, month, self.number(2, 31)?)
    }

    /// Microseconds since midnight. A leap second counts as the one before it.
    fn time_of_day(&mut self) -> Option<i64> {
        let mut micros = self.number(2, 23)? * HOUR;
        let colons = self.skip(b":");
        micros += self.number(2, 59)? * MINUTE;
        if self.skip(b":") || !colons && self.0.first().is_some_and(u8::is_ascii_digit) {
            micros += self.number(2, 60)?.min(59) * SECOND;
            if self.skip(b".,") {
                micros += self.fraction()?;
            }
        }
        Some(micros)
    }

    /// Microseconds of the digits after the decimal sign.
    fn fraction(&mut self) -> Option<i64> {
        let mut unit = SECOND;
        let mut micros = 0;
        self.0.first().filter(|byte| byte.is_ascii_digit())?;
        while self.0.first().is_some_and(u8::is_ascii_digit) {
            unit /= 10;
            micros += self.number(1, 9)? * unit;
        }
        Some(micros)
    }

    /// `Z`, `+HH:MM`, `-HHMM`, `+HH` or nothing, as microseconds east of UTC.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.skip(b"Zz") {
            return Some(0);
        }
        let sign = if self.skip(b"+") {
            1
        } else if self.skip(b"-") {
            -1
        } else {
            return None;
        };
        let mut offset = self.number(2, 23)? * HOUR;
        if self.skip(b":") || !self.0.is_empty() {
            offset += self.number(2, 59)? * MINUTE;
        }
        Some(sign * offset)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Date { year, month, day } = self;
        write!(f, "{year:04}-{month:02}-{day:02}")
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
            "2023-11-15T12:00:00,0000009z",
            "2023-11-15 06:30-0530",
            "20231115T120000Z",
        ] {
            assert_eq!(Timestamp::parse(text), Some(noon), "{text}");
        }
        assert_eq!(Timestamp::parse("2023-11-15"), Some(noon.plus(-12 * HOUR)));
        for text in [
            "",
            "yesterday",
            "2023-13-01",
            "2023-02-29",
            "2023-00-01",
            "2023-1-01",
            "12:00",
            "2023-11-15T",
            "2023-11-15T24:00:00Z",
            "2023-11-15T12:60:00Z",
            "2023-11-15T12:00:00.Z",
            "2023-11-15T12:00:00+3",
            "2023-11-15T12:00:00+24:00",
            "2023-11-15T12:00:00-25:30",
            "2023-11-15T12:00:00Z UTC",
            "2023-11-15T12:00:00Zulu",
            "2023-11-15T12:00:00\u{663}",
            "9999-12-31T23:59:59-01:00",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_question_about_a_day_is_about_all_of_it() {
        let moment = |text| Timestamp::parse_moment(text, Timestamp::parse("2023-11-15T09:30:00Z").unwrap());
        for (text, expected) in [
            ("2023-11-14", "2023-11-14T23:59:59.999Z"),
            (" 20231114 ", "2023-11-14T23:59:59.999Z"),
            ("2023-11-15", "2023-11-15T09:30:00Z"),
            ("2023-11-16", "2023-11-16T23:59:59.999Z"),
            ("2023-11-14T00:00:00Z", "2023-11-14T00:00:00Z"),
            ("2023-11-15T23:00:00Z", "2023-11-15T23:00:00Z"),
        ] {
            assert_eq!(moment(text), Timestamp::parse(expected), "{text}");
        }
        assert_eq!(moment("yesterday"), None);
    }

    #[test]
    fn text_round_trips_with_three_and_six_digits() {
        let t = Timestamp(1_700_049_600_123_456);
        assert_eq!(t.to_micros_text(), "2023-11-15T12:00:00.123456Z");
        assert_eq!(t.to_millis_text(), "2023-11-15T12:00:00.123Z");
        assert_eq!(t.to_date_text(), "2023-11-15");
        assert_eq!(Timestamp(0).to_micros_text(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(
            Timestamp(HOUR * 23 + MINUTE * 9 + SECOND * 8 + 7_006).to_micros_text(),
            "1970-01-01T23:09:08.007006Z"
        );
        assert_eq!(Timestamp::MAX.to_micros_text(), "9999-12-31T23:59:59.999999Z");
        assert_eq!(Timestamp::parse(&t.to_micros_text()), Some(t));
    }

    #[test]
    fn times_are_written_as_http_and_rss_want_them() {
        let at = |text: &str| Timestamp::parse(text).unwrap().to_http_text();
        assert_eq!(at("1970-01-01T00:00:00Z"), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(at("2023-11-08T11:46:09.5Z"), "Wed, 08 Nov 2023 11:46:09 GMT");
        assert_eq!(at("2024-02-29T23:59:59Z"), "Thu, 29 Feb 2024 23:59:59 GMT");
    }

    #[test]
    fn days_and_months_are_those_of_the_calendar() {
        let mut date = jiff::civil::date(1, 1, 1);
        let first = Timestamp::parse("0001-01-01").unwrap().day();
        for day in first.. {
            let Date { year, month, day: of_month } = Date::from_days(day);
            assert_eq!((year, month, of_month), (date.year().into(), date.month().into(), date.day().into()));
            assert_eq!(Date { year, month, day: of_month }.days(), day);
            if day % 97 == 0 {
                let later = Date::from_days(Timestamp(day * DAY + HOUR).plus_months(24).day());
                let expected = date.saturating_add(jiff::Span::new().months(24));
                assert_eq!((later.month, later.day), (expected.month().into(), expected.day().into()), "{date}");
            }
            match date.tomorrow() {
                Ok(tomorrow) if tomorrow.year() < 9_990 => date = tomorrow,
                _ => break,
            }
        }
    }

    #[test]
    fn times_outside_the_calendar_do_not_panic() {
        for t in [i64::MIN, -1, 0, i64::MAX] {
            assert!(!Timestamp(t).to_micros_text().is_empty());
        }
        assert_eq!(Timestamp::MAX.plus(i64::MAX).0, i64::MAX);
    }
}
