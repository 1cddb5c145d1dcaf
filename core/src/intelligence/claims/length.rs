//! How long a claim says that it was so: "for less than a week", "an entire month", "a 10-day shutdown".

use super::dates::Reader;
use super::relative::{quantity, unit};
use super::words::Word;

/// Days, at least and at most, as a record may have them that bears the claim out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length {
    pub least: f64,
    pub most: f64,
}

/// How far a length may be off that is said to be about so long, as a share of it.
const ABOUT_SHARE: f64 = 0.25;
/// Sources date by days: a beginning and an end are off by so many days together.
const SLACK: f64 = 2.0;
/// ... and a bound ("more than a week") by so many.
const BOUND_SLACK: f64 = 1.0;
/// Who counts months or years rounds to half of one.
const ROUNDED: f64 = 0.5;

/// Most days of what is called short-lived. Our choice.
const SHORT: f64 = 3.0;

impl Length {
    /// `count` units of so many days.
    fn of(count: f64, days: f64, about: bool) -> Length {
        let rounded = if days >= 30.0 { days * ROUNDED } else { 0.0 };
        let share = if about { count * days * ABOUT_SHARE } else { 0.0 };
        // Of hours nobody is two days off.
        let slack = if days < 1.0 { BOUND_SLACK } else { SLACK };
        let off = slack.max(rounded).max(share);
        Length { least: count * days - off, most: count * days + off }
    }

    /// "An entire month": nothing less.
    fn whole(days: f64) -> Length {
        let off = if days >= 30.0 { 2.0 * SLACK } else { SLACK };
        Length { least: days - off, most: days + off }
    }

    /// Whether something that took so many days took as long.
    pub fn holds(self, days: f64) -> bool {
        days >= self.least && days <= self.most
    }

    /// Whether it took longer.
    pub fn is_below(self, days: f64) -> bool {
        days > self.most
    }

    /// The other way round; of what is said to have no end nobody can tell.
    pub fn is_above(self, days: f64) -> bool {
        self.least.is_finite() && days < self.least
    }
}

/// Words between "for" and a length: how they mean it.
const LESS: [&str; 4] = ["less", "under", "fewer", "up"];
const MORE: [&str; 3] = ["more", "over", "least"];
const NEARLY: [&str; 11] =
    ["about", "around", "than", "at", "just", "only", "some", "roughly", "well", "almost", "nearly"];

/// Days of a unit of time; hours are parts of one.
fn days(name: &str) -> Option<f64> {
    match name {
        "hour" | "hours" => Some(1.0 / 24.0),
        "minute" | "minutes" => Some(1.0 / 1_440.0),
        name => unit(name).map(|days| days as f64),
    }
}

/// Whether a word before a length says that it is about so long.
fn is_about(reader: &Reader<'_>, at: usize) -> bool {
    reader.is(at, &["about", "around", "roughly", "some", "approximately", "almost", "nearly", "well", "circa"])
}

/// A length that begins at a place.
pub fn duration(words: &[Word<'_>], at: usize) -> Option<Length> {
    let reader = Reader { words, shouting: false };
    if reader.is(at, &["entire", "whole", "full"]) || reader.is(at, &["all"]) && !reader.lower(at + 1).ends_with('s') {
        return days(reader.lower(at + 1)).map(Length::whole);
    }
    // "A week-long blackout", "a short-lived ban"
    if reader.is(at + 1, &["long", "lived"]) && reader.joined(at + 1) {
        let short = reader.is(at, &["short"]).then_some(Length { least: 0.0, most: SHORT });
        return short.or_else(|| days(reader.lower(at)).map(|days| Length::of(1.0, days, false)));
    }
    if reader.is(at, &["weeklong", "monthlong", "yearlong", "daylong"]) {
        return days(reader.lower(at).trim_end_matches("long")).map(|days| Length::of(1.0, days, false));
    }
    let without_end = reader.is(at, &["for"]) && reader.is(at + 1, &["good", "ever"])
        || reader.is(at, &["forever", "indefinitely"])
        || reader.is(at, &["until"]) && reader.is(at + 1, &["further"]);
    if without_end {
        return Some(Length { least: f64::INFINITY, most: f64::INFINITY });
    }
    if !reader.is(at, &["for", "lasted", "lasting", "lasts"]) {
        // "a 10-day shutdown"
        let (length, count) = quantity(&reader, at)?;
        if reader.is(at + length + 1, &["without", "offline"]) {
            return number_of(&reader, at);
        }
        if !reader.joined(at + 1) {
            return None;
        }
        let about = at.checked_sub(1).is_some_and(|before| is_about(&reader, before));
        return days(reader.lower(at + 1)).map(|days| Length::of(count as f64, days, about));
    }
    let filler =
        |at: usize| [&LESS[..], &MORE, &NEARLY].iter().any(|list| reader.is(at, list)) || is_up_to(&reader, at);
    let from = (at + 1..).find(|at| !filler(*at)).unwrap_or(at);
    let has = |list: &[&str]| (at + 1..from).any(|at| reader.is(at, list));
    let length = number_of(&reader, from)?;
    // What is a bound is not rounded.
    let bound = (length.least + length.most) / 2.0;
    Some(match () {
        () if has(&LESS) => Length { least: 0.0, most: bound + BOUND_SLACK },
        () if has(&MORE) => Length { least: bound - BOUND_SLACK, most: f64::INFINITY },
        () if (at + 1..from).any(|at| is_about(&reader, at)) => {
            let off = (bound * ABOUT_SHARE).max(length.most - bound);
            Length { least: bound - off, most: bound + off }
        }
        () => length,
    })
}

fn is_up_to(reader: &Reader<'_>, at: usize) -> bool {
    reader.is(at, &["to"]) && reader.before(at, 1) == "up"
}

/// "Four hours a day" are hours of the day, and no length.
pub fn is_of_each_day(reader: &Reader<'_>, at: usize) -> bool {
    let each = reader.is(at, &["a", "per", "each", "every"]) && reader.is(at + 1, &["day", "night", "week"]);
    each || reader.is(at, &["daily", "nightly"])
}

/// "Three days", "several weeks", "months".
pub fn number_of(reader: &Reader<'_>, at: usize) -> Option<Length> {
    // Without a number: more than one, and fewer than make the next larger unit.
    let plural = match reader.lower(at) {
        "minutes" => Some(0.1),
        "hours" => Some(1.0),
        "days" => Some(14.0),
        "weeks" => Some(60.0),
        "months" => Some(730.0),
        "years" => Some(f64::INFINITY),
        _ => None,
    };
    if let (Some(most), Some(one)) = (plural, days(reader.lower(at))) {
        return Some(Length { least: one * 1.5, most });
    }
    let (mut length, count) = quantity(reader, at)?;
    length += usize::from(reader.is(at + length, &["single", "mere", "whole", "full", "entire"]));
    if is_of_each_day(reader, at + length + 1) {
        return None;
    }
    let one = days(reader.lower(at + length))?;
    let all = one * count as f64;
    let vague = (at..at + length).any(|at| reader.is(at, &["few", "several", "couple"]));
    // "An hour", "a few hours": where it took days, it took longer.
    let hours = one < 1.0;
    Some(match vague {
        true => Length { least: all * 0.5, most: if hours { 1.0 } else { all * 2.5 } },
        false => Length::of(count as f64, one, false),
    })
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn lengths_hold_for_what_took_as_long_and_for_nothing_else() {
        for (text, holds, fails) in [
            ("for less than a week", 3.0, 20.0),
            ("for more than a month", 200.0, 10.0),
            ("for more than a week", 7.0, 5.0),
            ("for over a year", 500.0, 200.0),
            ("for several days", 6.0, 40.0),
            ("for a few hours", 0.2, 5.0),
            ("for nearly two weeks", 13.0, 30.0),
            ("for up to three days", 2.0, 9.0),
            ("for at least 10 days", 12.0, 4.0),
            ("for months", 200.0, 10.0),
            ("for five days", 5.0, 16.0),
            ("it lasted three days", 5.0, 6.0),
            ("for about 20 days", 24.0, 26.0),
            ("for 20 days", 22.0, 23.0),
            ("for seven months", 222.0, 240.0),
            ("an entire month", 30.0, 5.0),
            ("a 10-day shutdown", 10.0, 3.0),
            ("it lasted about a week", 7.0, 30.0),
            ("all year", 362.0, 222.0),
            ("five days without internet", 5.0, 20.0),
        ] {
            let words = split(text);
            let length = (0..words.len()).find_map(|at| duration(&words, at));
            let length = length.unwrap_or_else(|| panic!("{text}"));
            assert!(length.holds(holds) && !length.holds(fails), "{text}: {length:?}");
        }
        for text in [
            "for 24 hours a day",
            "for exams",
            "for the vote",
            "for more on this",
            "two days before",
            "over the weekend",
        ] {
            let words = split(text);
            assert!((0..words.len()).all(|at| duration(&words, at).is_none()), "{text}");
        }
    }
}
