//! Days that are counted from those of the clause before: "it was restored five days later", "the day before".

use super::dates::Reader;
use super::relative::{period, quantity, unit};
use super::when::{Span, When};

/// How long behind other days, or before them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    by: By,
    /// It is a time only with those days: "five days later", and unlike "after five days".
    pub counted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// So many days, at least and at most.
    Days(i64, i64),
    /// The calendar's next day, week, month or year.
    Next(&'static str),
    /// The day before.
    DayBefore,
}

/// Days of a distance that people round to months, and to years, may be so many more or fewer. Our choice.
const ROUNDED: (i64, i64) = (15, 60);

/// Such a time at a place, with its number of words.
pub fn later(reader: &Reader<'_>, at: usize) -> Option<(usize, Later)> {
    next(reader, at).or_else(|| counted(reader, at))
}

/// "The next day", "the following week", "the day after", "the day before". Without an article "next week" is one of today's.
fn next(reader: &Reader<'_>, at: usize) -> Option<(usize, Later)> {
    let of = |name: &'static str| Some((2, Later { by: By::Next(name), counted: true }));
    let the = reader.before(at, 1) == "the";
    if the && reader.is(at, &["day"]) && reader.is(at + 1, &["after"]) && ends(reader, at + 2) {
        return of("day");
    }
    let before = the && reader.is(at, &["day"]) && reader.is(at + 1, &["before", "earlier"]) && ends(reader, at + 2);
    let previous = the && reader.is(at, &["previous", "preceding"]) && reader.is(at + 1, &["day", "evening", "night"]);
    if before || previous {
        return Some((2, Later { by: By::DayBefore, counted: true }));
    }
    if !reader.is(at, &["next", "following"]) {
        return None;
    }
    match reader.lower(at + 1) {
        "day" | "morning" | "afternoon" | "evening" | "night" => of("day"),
        "week" if the => of("week"),
        "month" if the => of("month"),
        "year" if the => of("year"),
        _ => None,
    }
}

/// "Five days later", "36 hours after", "after two weeks", "a week earlier".
fn counted(reader: &Reader<'_>, at: usize) -> Option<(usize, Later)> {
    let after = usize::from(reader.is(at, &["after"]));
    let (length, count) = quantity(reader, at + after)?;
    let name_at = at + after + length;
    let vague = (at..name_at).any(|at| reader.is(at, &["few", "several", "couple"]));
    let end = name_at + 1;
    let ahead = reader.is(end, &["earlier"]) || reader.is(end, &["before"]) && ends(reader, end + 1);
    let by = distance(if ahead { -count } else { count }, reader.lower(name_at), vague)?;
    if ahead {
        return Some((end + 1 - at, Later { by, counted: true }));
    }
    if after == 1 {
        // "After a 10-day shutdown", "after two weeks of protests" are no distance from other days.
        let bare = !reader.joined(name_at) && !reader.is(end, &["of", "without", "ago", "from"]) && !reader.joined(end);
        return bare.then_some((end - at, Later { by, counted: false }));
    }
    let behind = reader.is(end, &["later", "afterwards", "thereafter"]);
    let behind = behind || reader.is(end, &["after"]) && ends(reader, end + 1);
    behind.then_some((end + 1 - at, Later { by, counted: true }))
}

/// Whether nothing of the same part of the sentence follows.
fn ends(reader: &Reader<'_>, at: usize) -> bool {
    reader.word(at).is_none_or(|word| word.pause != super::words::Pause::None)
}

fn distance(count: i64, name: &str, vague: bool) -> Option<By> {
    if matches!(name, "hour" | "hours") {
        let (least, most) = (count.div_euclid(24), (count + 23).div_euclid(24));
        return (count.abs() < 1_000).then_some(By::Days(least, most));
    }
    let days = unit(name)?.checked_mul(count).filter(|days| days.abs() < 4_000)?;
    let round = match name.trim_end_matches('s') {
        "month" => ROUNDED.0,
        "year" => ROUNDED.1,
        _ if vague => days.abs() / 2,
        _ => 0,
    };
    Some(By::Days(days - round, days + round))
}

impl Later {
    /// The days so long behind others: behind the beginning of what goes on since, and the end of what ended.
    pub fn behind(self, base: When) -> Option<When> {
        let (first, last) = match base.span {
            Span::Since | Span::After => (base.first, base.first.plus(base.named - 1)),
            Span::Range | Span::Until | Span::By | Span::Throughout => (base.last, base.last),
            Span::During | Span::Between | Span::Before => (base.first, base.last),
        };
        match self.by {
            By::Days(least, most) => Some(When::new(first.plus(least), last.plus(most))),
            By::Next(name) => period(last, name, 1),
            By::DayBefore => Some(When::day(first.plus(-1))),
        }
    }
}
