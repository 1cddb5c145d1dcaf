//! Dates and times as tables of events and Go programs write them.

use crate::Timestamp;
use crate::time::{DAY, SECOND};

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Reads ISO 8601, `Wednesday, March 17, 2021, 4:40:00 PM`, `May 27, 2018, 11:00 PM`, `2:30: AM` and
/// `4/3/2020 15:15:00 PM` (month first), all UTC. Hours over 12 stand as they are, whatever is written behind them.
pub fn moment(text: &str) -> Option<Timestamp> {
    if let Some(time) = Timestamp::parse(text) {
        return Some(time);
    }
    let mut numbers: Vec<u32> = Vec::new();
    let (mut month, mut afternoon) = (None, None);
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let lower = word.to_ascii_lowercase();
        if let Ok(number) = lower.parse() {
            numbers.push(number);
        } else if lower == "am" || lower == "pm" {
            afternoon = Some(lower == "pm");
        } else if month.is_none() && !lower.ends_with("day") {
            month = MONTHS.iter().position(|name| lower.starts_with(name)).map(|at| at + 1);
        }
    }
    let mut numbers = numbers.into_iter();
    let month = match month {
        Some(month) => u32::try_from(month).ok()?,
        None => numbers.next()?,
    };
    let (day, year) = (numbers.next()?, numbers.next()?);
    let (hour, minute, second) =
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let hour = match (hour, afternoon) {
        (12, Some(false)) => 0,
        (1..=11, Some(true)) => hour + 12,
        _ => hour,
    };
    Timestamp::parse(&format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// Reads a time as Go prints it: `2021-10-20 14:51:41.221546144 -0400 EDT m=+13035.126037108`, or RFC 3339.
pub fn go_time(text: &str) -> Option<Timestamp> {
    let mut words = text.split_whitespace();
    let (Some(date), Some(time)) = (words.next(), words.next()) else { return Timestamp::parse(text) };
    let Some(offset) = words.next().filter(|offset| offset.len() == 5 && offset.starts_with(['+', '-'])) else {
        return Timestamp::parse(&format!("{date} {time}"));
    };
    let (hours, minutes) = offset.split_at_checked(3)?;
    Timestamp::parse(&format!("{date}T{time}{hours}:{minutes}"))
}

/// Whether a text gives a day and no time of day, as [`Timestamp::parse`] reads it.
pub fn is_day(text: &str) -> bool {
    text.trim().bytes().all(|byte| byte == b'-' || byte.is_ascii_digit()) && Timestamp::parse(text).is_some()
}

/// The end that a text means: people who write a bare date mean the whole of that day.
pub fn last_moment(text: &str) -> Option<Timestamp> {
    let at = Timestamp::parse(text)?;
    Some(if is_day(text) { at.plus(DAY - SECOND) } else { at })
}
