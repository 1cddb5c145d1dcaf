//! Times that are counted from today: "last Tuesday", "three weeks ago", "next month".

use super::dates::{Part, Reader, Written, YEARS, number};
use super::later::later;
use super::lexicon::Words;
use super::when::When;
use super::words::Word;
use crate::engine::time::Date;

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Days since Monday of a day of the week. The short forms that are other words as well need a capital; "Sat" and "Sun"
/// are left out, and so is "Mon", a state.
pub fn weekday(word: &Word<'_>) -> Option<i64> {
    let name = word.lower.as_str();
    let short = word.is_capital() && matches!(name, "tue" | "tues" | "wed" | "thu" | "thur" | "thurs" | "fri");
    let is = |full: &&str| *full == name || (short && full.starts_with(name));
    WEEKDAYS.iter().position(is).and_then(|day| i64::try_from(day).ok())
}

/// Days since Monday of "on Saturdays".
pub fn weekdays(word: &Word<'_>) -> Option<i64> {
    let name = word.lower.strip_suffix('s')?;
    WEEKDAYS.iter().position(|full| *full == name).and_then(|day| i64::try_from(day).ok())
}

/// Small numbers in words, for "two weeks ago", with how many words they are. Vague ones are what most people mean.
pub fn quantity(reader: &Reader<'_>, at: usize) -> Option<(usize, i64)> {
    static WORDS: Words = Words::of("relative words");
    let few = |at: usize| match reader.lower(at) {
        "couple" => Some((1 + usize::from(reader.is(at + 1, &["of"])), 2)),
        "few" => Some((1, 3)),
        "several" => Some((1, 5)),
        _ => None,
    };
    if reader.is(at, &["a", "an"]) {
        return few(at + 1).map(|(length, count)| (length + 1, count)).or(Some((1, 1)));
    }
    let word = reader.word(at)?;
    let named = WORDS.iter().position(|name| *name == word.lower).and_then(|n| i64::try_from(n).ok());
    named.or_else(|| number(word)).map(|count| (1, count)).or_else(|| few(at))
}

/// Days of a unit of time.
pub fn unit(word: &str) -> Option<i64> {
    Some(match word.trim_end_matches('s') {
        "day" => 1,
        "week" => 7,
        "month" => 30,
        "year" => 365,
        _ => return None,
    })
}

/// The calendar week, month or year that lies so many before or after the one of a day.
pub fn period(today: Date, unit: &str, away: i64) -> Option<When> {
    Some(match unit.trim_end_matches('s') {
        "day" => When::day(today.plus(away)),
        "week" => {
            let monday = today.plus(away.checked_mul(7)? - today.weekday());
            When::new(monday, monday.plus(6))
        }
        "weekend" => {
            let monday = today.plus(away.checked_mul(7)? - today.weekday());
            When::new(monday.plus(5), monday.plus(6))
        }
        "month" => {
            let month = (today.year * 12 + today.month - 1).checked_add(away)?;
            let first = Date::new(month.div_euclid(12), month.rem_euclid(12) + 1, 1)?;
            When::new(first, first.last_of_month())
        }
        "year" => Written::year(today.year.checked_add(away)?).in_year(today.year + away)?,
        _ => return None,
    })
}

/// A time that begins at `at`, with its number of words.
pub fn relative(reader: &Reader<'_>, at: usize, today: Date, ahead: bool) -> Option<(usize, When)> {
    let day = |length: usize, away: i64| Some((length, When::day(today.plus(away))));
    let part_of_day = usize::from(reader.is(at + 1, &["morning", "afternoon", "evening", "night"]));
    match reader.lower(at) {
        // "The next day" is none of today's.
        "next" | "following" | "previous" | "day" if later(reader, at).is_some() => None,
        // An organisation.
        "now" if reader.before(at, 1) == "access" && reader.word(at).is_some_and(Word::is_capital) => None,
        "today" | "tonight" | "currently" | "now" => day(1, 0),
        "yesterday" => day(1 + part_of_day, -1),
        "tomorrow" => day(1 + part_of_day, 1),
        "day" if reader.is(at + 1, &["before"]) && reader.is(at + 2, &["yesterday"]) => day(3, -2),
        "day" if reader.is(at + 1, &["after"]) && reader.is(at + 2, &["tomorrow"]) => day(3, 2),
        "this" if part_of_day == 1 => day(2, 0),
        "other" if reader.before(at, 1) == "the" && reader.is(at + 1, &["day"]) => Some((2, around(today, -7))),
        // A night belongs to two days.
        "last" if reader.is(at + 1, &["night"]) => Some((2, When::new(today.plus(-1), today))),
        "this" | "last" | "past" | "previous" | "recent" | "next" | "coming" | "following" => beside(reader, at, today),
        _ => ago(reader, at, today).or_else(|| {
            let weekday = reader.word(at).and_then(weekday)?;
            // "Wednesday 15 November": the date says more.
            let next = at + 1 + usize::from(reader.is(at + 1, &["the"]));
            let dated = reader.written(next).is_some_and(|(_, date)| date.is_day());
            let away = if ahead {
                (weekday - today.weekday()).rem_euclid(7)
            } else {
                -(today.weekday() - weekday).rem_euclid(7)
            };
            (!dated && reader.days_of_a_month(next).is_none()).then(|| day(1, away))?
        }),
    }
}

/// "three days ago": that day; of months and years the whole one.
fn ago(reader: &Reader<'_>, at: usize, today: Date) -> Option<(usize, When)> {
    let (length, count) = quantity(reader, at)?;
    let name = reader.lower(at + length);
    if matches!(name, "hour" | "hours" | "minute" | "minutes") && reader.is(at + length + 1, &["ago"]) {
        let back = if name.starts_with('h') { (count + 23) / 24 } else { 1 };
        return Some((length + 2, When::new(today.plus(-back), today))).filter(|(_, when)| is_read(*when));
    }
    let days = unit(name)?.checked_mul(count)?;
    // "Since 3 days" is how many say "for 3 days".
    if reader.before(at, 1) == "since" && !reader.is(at + length + 1, &["ago", "after", "before"]) {
        return Some((length + 1, When::new(today.plus(-days), today))).filter(|(_, when)| is_read(*when));
    }
    if !reader.is(at + length + 1, &["ago"]) {
        return None;
    }
    let when =
        if days < 30 || name.starts_with("week") { When::day(today.plus(-days)) } else { period(today, name, -count)? };
    Some((length + 2, when)).filter(|(_, when)| is_read(*when))
}

fn is_read(when: When) -> bool {
    YEARS.contains(&when.first.year)
}

/// What follows "this", "last" or "next".
fn beside(reader: &Reader<'_>, at: usize, today: Date) -> Option<(usize, When)> {
    let which = reader.lower(at);
    let side = match which {
        "this" => 0,
        "next" | "coming" | "following" => 1,
        _ => -1,
    };
    if let Some((length, count)) = quantity(reader, at + 1).filter(|_| side != 0) {
        let days = unit(reader.lower(at + 1 + length))?.checked_mul(count)?;
        // "the last three days of May" are none of today's.
        if reader.is(at + 2 + length, &["of"]) {
            return None;
        }
        return Some((length + 2, around(today, side * days)));
    }
    let name = reader.lower(at + 1);
    // "the last week of 2023"
    if reader.is(at + 2, &["of"]) {
        return None;
    }
    // "The past week" and "recent weeks" end today, "last week" on its Sunday.
    if matches!(which, "past" | "recent" | "coming") && unit(name).is_some() {
        let plural = match name {
            "days" => 7,
            "weeks" => 30,
            "months" => 90,
            _ => unit(name)?,
        };
        return Some((2, around(today, side * plural)));
    }
    if let Some(weekday) = reader.word(at + 1).and_then(weekday) {
        let away = weekday - today.weekday();
        let away = match side {
            0 => away,
            1 => (away - 1).rem_euclid(7) + 1,
            _ => -((-away - 1).rem_euclid(7) + 1),
        };
        return Some((2, When::day(today.plus(away))));
    }
    if let Some(when) = period(today, name, side).filter(|_| unit(name).is_none() || !name.ends_with('s')) {
        return Some((2, this_so_far(reader, at, when, side, today)));
    }
    let part = reader.month(at + 1).map(|month| Part::Months(month, month)).or_else(|| season(name))?;
    let named = Written { year: None, part };
    let when = match side {
        1 => (0..=1).filter_map(|on| named.in_year(today.year + on)).find(|when| when.first > today)?,
        0 => named.in_year(today.year)?,
        _ => (0..=2).filter_map(|back| named.in_year(today.year - back)).find(|when| when.last < today)?,
    };
    Some((2, when))
}

/// "This month" ends today, and "later this month" begins tomorrow.
fn this_so_far(reader: &Reader<'_>, at: usize, when: When, side: i64, today: Date) -> When {
    match (side, reader.before(at, 1)) {
        (0, "later") => When::new(today.plus(1).min(when.last), when.last),
        (0, _) if when.first <= today => When::new(when.first, when.last.min(today)),
        _ => when,
    }
}

/// So many days up to today, or from today on.
fn around(today: Date, days: i64) -> When {
    if days < 0 { When::new(today.plus(days), today) } else { When::new(today.plus(1), today.plus(days)) }
}

/// The months of a season in the northern half of the world.
fn season(name: &str) -> Option<Part> {
    super::dates::season(name).map(|(from, to)| Part::Months(from, to))
}
