//! The time that a claim speaks of: days and spans of days, in UTC.

use super::dates::{self, BETWEEN, Reader, Written};
use super::relative::{relative, weekday};
use super::words::Word;
use crate::Timestamp;
use crate::time::{DAY, Date};

/// How a claim stands to its days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// At some time within them: "in 2023", "on 8 November".
    During,
    /// On all of them: "throughout 2023", "for all of May".
    Throughout,
    /// From a first day to a last one: "from 8 to 24 November".
    Range,
    /// From the first of them until today: "since May", "from 8 November onwards".
    Since,
    /// At some time after an event or day; the first day is the one after it.
    After,
    /// At some time before a day that is no longer among them: the last is the one before it.
    Before,
    /// Up to the last of them, when it changed: "until 24 November".
    Until,
    /// Not later than the last of them, and so on that day: "by 26 November".
    By,
}

/// Whole days, both ends included. Spans that are open to the past begin [`OPEN`] days before their end; those that are
/// open to the future end today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct When {
    pub first: Date,
    pub last: Date,
    pub span: Span,
}

/// Days that a span without a beginning reaches back. Our choice: a year.
pub const OPEN: i64 = 365;

impl When {
    pub const fn new(first: Date, last: Date) -> When {
        When { first, last, span: Span::During }
    }

    pub const fn day(day: Date) -> When {
        When::new(day, day)
    }

    pub fn is_one_day(self) -> bool {
        self.first == self.last
    }

    /// Whether it is a time through which something goes on.
    pub fn is_lasting(self) -> bool {
        matches!(self.span, Span::Since | Span::Throughout | Span::Range)
    }

    pub fn start(self) -> Timestamp {
        midnight(self.first)
    }

    /// The instant after the last day.
    pub fn end(self) -> Timestamp {
        midnight(self.last).plus(DAY)
    }
}

fn midnight(date: Date) -> Timestamp {
    Timestamp(date.days().saturating_mul(DAY))
}

/// The days that a sentence speaks of, as seen from `now`; `None` when it names none, or one that does not exist.
pub fn when(words: &[Word<'_>], now: Timestamp) -> Option<When> {
    let is_lower = |word: &Word<'_>| word.text.chars().any(char::is_lowercase);
    let ahead = words.iter().any(|word| matches!(word.lower.as_str(), "will" | "shall" | "plans" | "going"));
    let reader = Reader { words, shouting: !words.iter().any(is_lower) };
    let times = Times { reader, today: Date::from_days(now.day()), ahead };
    let mut found: Vec<(Option<When>, bool)> = Vec::new();
    let (mut at, mut from, mut background) = (0, 0, None);
    while at < words.len() {
        let Some((length, days)) = times.at(at) else {
            at += 1;
            continue;
        };
        let opens = times.lead(at).1 == "from";
        let when = days.and_then(|days| times.seen_from_around(at, length, days));
        // "Telegram, which had been blocked since 2018, was unblocked on 18 June 2020": what had been is background, and
        // "now" says less than a date.
        if reader.is(at, &["now", "currently"])
            || words.get(from..at).unwrap_or_default().iter().any(|word| word.lower == "had" || word.lower == "which")
        {
            background = background.or(Some((when, opens)));
        } else {
            found.push((when, opens));
        }
        at += length;
        from = at;
    }
    let (first, opens) = found.first().copied().or(background)?;
    let first = first?;
    // "From 8 November Kenya blocked it, until 24 November."
    match found.get(1).and_then(|(end, _)| *end) {
        Some(end) if opens && end.span == Span::Until && first.first <= end.last => {
            Some(When { first: first.first, last: end.last, span: Span::Range })
        }
        _ => Some(first),
    }
}

/// A date, or days that are counted from today.
#[derive(Clone, Copy)]
enum Time {
    Date(Written),
    Days(When),
}

struct Times<'a> {
    reader: Reader<'a>,
    today: Date,
    /// The sentence speaks of what is to come.
    ahead: bool,
}

/// Words between a time and what says how it is meant.
const FILLERS: [&str; 18] = [
    "at",
    "least",
    "the",
    "about",
    "around",
    "approximately",
    "roughly",
    "night",
    "morning",
    "evening",
    "afternoon",
    "hours",
    "of",
    "year",
    "month",
    "late",
    "early",
    "earlier",
];

impl<'a> Times<'a> {
    /// The time that is named at a place, a range too, and its number of words; without days when the calendar has none.
    fn at(&self, at: usize) -> Option<(usize, Option<When>)> {
        let reader = self.reader;
        let between = matches!(self.lead(at).1, "between" | "from");
        let ends =
            |from: usize, to: usize| (from..to).any(|at| reader.is(at, BETWEEN) && !reader.is(at, &["and", "or"]));
        let spanned = |when: When, range: bool| if range { When { span: Span::Range, ..when } } else { when };
        if let Some((length, first, last)) = reader.days_of_a_month(at) {
            let range = between || ends(at, at + length) || (at + 1..at + length).any(|at| reader.joined(at));
            return Some((length, self.dates(first, last).map(|when| spanned(when, range))));
        }
        let (mut length, first) = self.single(at)?;
        if reader.divided(at) && !matches!(first, Time::Date(date) if date.is_day()) {
            return Some((length, None));
        }
        let (mut last, mut pending, mut dash) = (None, 0, false);
        loop {
            let next = at + length + pending;
            let word = reader.is(next, BETWEEN);
            let mut from = next + usize::from(word);
            from += usize::from(word && reader.is(from, &["on", "in"]));
            from += usize::from(word && reader.is(from, &["the"]));
            let Some((more, time)) = self.single(from) else { break };
            if word || reader.joined(next) {
                dash |= reader.joined(next);
                (last, length, pending) = (Some(time), from + more - at, 0);
            } else if matches!((first, time), (Time::Date(a), Time::Date(b)) if a.is_like(b)) {
                // "in May, June and July": those in the middle have nothing in between.
                pending = from + more - at - length;
            } else {
                break;
            }
        }
        let Some(last) = last else { return Some((length, self.resolve(first))) };
        let range = between || dash || ends(at, at + length);
        Some((length, self.range(first, last).map(|when| spanned(when, range))))
    }

    fn single(&self, at: usize) -> Option<(usize, Time)> {
        let date = self.reader.written(at).map(|(length, date)| (length, Time::Date(date)));
        date.or_else(|| {
            let (length, days) = relative(&self.reader, at, self.today, self.ahead)?;
            Some((length, Time::Days(days)))
        })
    }

    fn resolve(&self, time: Time) -> Option<When> {
        match time {
            Time::Date(written) => written.resolve(self.today, self.ahead),
            Time::Days(when) => Some(when),
        }
    }

    fn range(&self, first: Time, last: Time) -> Option<When> {
        if let (Time::Date(first), Time::Date(last)) = (first, last) {
            return self.dates(first, last);
        }
        let (from, to) = (self.resolve(first)?, self.resolve(last)?);
        // "From Monday to Wednesday", said on a Tuesday.
        let from = if from.is_one_day() && from.first > to.last { When::day(from.first.plus(-7)) } else { from };
        (from.first <= to.last).then(|| When::new(from.first, to.last))
    }

    /// From a date to a date; a year that one end lacks is the other's, or the one next to it where the year turns.
    fn dates(&self, first: Written, last: Written) -> Option<When> {
        let (from, to) = match (first.year, last.year) {
            (Some(year), None) => {
                let from = first.in_year(year)?;
                let to = last.in_year(year)?;
                (from, if to.last < from.first { last.in_year(year + 1)? } else { to })
            }
            (None, _) => {
                let to = last.resolve(self.today, self.ahead)?;
                let from = first.in_year(to.first.year)?;
                (if to.last < from.first { first.in_year(to.first.year - 1)? } else { from }, to)
            }
            _ => (first.resolve(self.today, false)?, last.resolve(self.today, false)?),
        };
        (from.first <= to.last).then(|| When::new(from.first, to.last))
    }

    /// Where the word stands that says how the time at a place is meant, and the word.
    fn lead(&self, at: usize) -> (usize, &'a str) {
        let filler = |at: usize| {
            let weekday = self.reader.word(at).and_then(weekday).is_some();
            weekday || self.reader.is(at, &FILLERS)
        };
        let lead = (1..=7).find_map(|back| at.checked_sub(back).filter(|at| !filler(*at)));
        lead.map_or((at, ""), |lead| (lead, self.reader.lower(lead)))
    }

    /// The days as the words around them mean them.
    fn seen_from_around(&self, at: usize, length: usize, found: When) -> Option<When> {
        let reader = self.reader;
        let (lead, word) = self.lead(at);
        let (before, after) = (reader.before(lead, 1), at + length);
        // "After the 2021 coup" tells when the coup was.
        let bare = reader.word(at).and_then(dates::year).is_some() || reader.month(at).is_some();
        let event = reader.before(at, 1) == "the" && bare && !found.is_one_day();
        const STARTING: [&str; 4] = ["starting", "beginning", "effective", "commencing"];
        let onwards = reader.is(after, &["onward", "onwards", "forward"]);
        let span = match word {
            "since" => Span::Since,
            _ if onwards || STARTING.contains(&word) => Span::Since,
            "on" | "in" | "from" if STARTING.contains(&before) => Span::Since,
            "for" if reader.is(at, &["last", "past"]) => Span::Since,
            "throughout" | "whole" | "entire" => Span::Throughout,
            "all" if lead + 1 < at => Span::Throughout,
            "through" if before == "all" => Span::Throughout,
            _ if event => return Some(found),
            "after" | "following" => Span::After,
            "before" | "ahead" => Span::Before,
            "to" if before == "prior" => Span::Before,
            "until" | "till" | "til" | "through" => Span::Until,
            "to" if before == "up" => Span::Until,
            "by" => Span::By,
            "than" => match (before, reader.before(lead, 2)) {
                ("later", "no" | "not") => Span::By,
                ("later", _) => Span::After,
                ("earlier", _) => Span::Before,
                _ => return Some(found),
            },
            _ => return Some(found),
        };
        Some(self.spanned(found, span))
    }

    fn spanned(&self, found: When, span: Span) -> When {
        let today = self.today;
        let (first, last) = match span {
            Span::Since => (found.first, today.max(found.last)),
            Span::After => (found.last.plus(1), today.max(found.last.plus(1))),
            Span::Before | Span::Until | Span::By => {
                let last = if span == Span::Before { found.first.plus(-1) } else { found.last };
                let first = if self.ahead && last > today { today.plus(1) } else { last.min(today).plus(-OPEN) };
                (first, last)
            }
            Span::During | Span::Throughout | Span::Range => (found.first, found.last),
        };
        When { first, last, span }
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    /// As of Friday 20 November 2026.
    fn read(text: &str) -> Option<String> {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        when(&split(text), now).map(|when| format!("{}/{}", when.first, when.last))
    }

    #[test]
    fn dates_ranges_and_relative_times_are_read() {
        for (text, expected) in [
            ("on 8 November 2023", "2023-11-08/2023-11-08"),
            ("on the 8th of November 2023", "2023-11-08/2023-11-08"),
            ("on November 8th, 2023", "2023-11-08/2023-11-08"),
            ("on Nov. 8, 2023", "2023-11-08/2023-11-08"),
            ("on 2023-11-08", "2023-11-08/2023-11-08"),
            ("at 2023-11-08T12:00:00Z", "2023-11-08/2023-11-08"),
            ("on 13/11/2023", "2023-11-13/2023-11-13"),
            ("on 11/13/2023", "2023-11-13/2023-11-13"),
            ("on 8/11/2023", "2023-11-08/2023-11-08"),
            ("in November 2023", "2023-11-01/2023-11-30"),
            ("in late November 2023", "2023-11-21/2023-11-30"),
            ("in Feb 2024", "2024-02-01/2024-02-29"),
            ("in 2021", "2021-01-01/2021-12-31"),
            ("during the 2021 election", "2021-01-01/2021-12-31"),
            ("from 8 to 24 November 2023", "2023-11-08/2023-11-24"),
            ("8-24 November 2023", "2023-11-08/2023-11-24"),
            ("8–24 Nov 2023", "2023-11-08/2023-11-24"),
            ("November 8-24, 2023", "2023-11-08/2023-11-24"),
            ("between 8 November and 24 November 2023", "2023-11-08/2023-11-24"),
            ("between Nov 8 and Nov 24, 2023", "2023-11-08/2023-11-24"),
            ("between the 8th and the 24th of November 2023", "2023-11-08/2023-11-24"),
            ("from 2023-11-08 to 2023-11-24", "2023-11-08/2023-11-24"),
            ("from 28 October to 3 November 2023", "2023-10-28/2023-11-03"),
            ("from December 2022 to January 2023", "2022-12-01/2023-01-31"),
            ("from 2019 to 2021", "2019-01-01/2021-12-31"),
            ("2019-2021", "2019-01-01/2021-12-31"),
            ("since 2019", "2019-01-01/2026-11-20"),
            ("since March 2024", "2024-03-01/2026-11-20"),
            ("after March 2024", "2024-04-01/2026-11-20"),
            ("after the April 2019 bombings", "2019-04-01/2019-04-30"),
            ("since the 3rd of May 2026", "2026-05-03/2026-11-20"),
            ("on 3 March", "2026-03-03/2026-03-03"),
            ("on 24 December", "2025-12-24/2025-12-24"),
            ("in December", "2025-12-01/2025-12-31"),
            ("from 28 December to 3 January", "2025-12-28/2026-01-03"),
            ("today", "2026-11-20/2026-11-20"),
            ("yesterday", "2026-11-19/2026-11-19"),
            ("this week", "2026-11-16/2026-11-20"),
            ("last week", "2026-11-09/2026-11-15"),
            ("this month", "2026-11-01/2026-11-20"),
            ("last month", "2026-10-01/2026-10-31"),
            ("last year", "2025-01-01/2025-12-31"),
            ("last June", "2026-06-01/2026-06-30"),
            ("three days ago", "2026-11-17/2026-11-17"),
            ("2 weeks ago", "2026-11-06/2026-11-06"),
            ("in the last 10 days", "2026-11-10/2026-11-20"),
        ] {
            assert_eq!(read(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "they may march", "31 networks", "port 443", "on 31 February 2024", "AS33771", "4G"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn open_and_partial_spans_are_no_wider_than_what_is_said() {
        use Span::{After, Before, By, During, Range, Since, Throughout, Until};
        let now = Timestamp::parse("2026-11-24T09:00:00Z").unwrap();
        for (text, first, last, span) in [
            ("before 8 May 2023", "2022-05-07", "2023-05-07", Before),
            ("until 24 May 2023", "2022-05-24", "2023-05-24", Until),
            ("by the end of May 2023", "2022-05-31", "2023-05-31", By),
            ("after 8 May 2023", "2023-05-09", "2026-11-24", After),
            ("from 8 May 2023 onwards", "2023-05-08", "2026-11-24", Since),
            ("starting 8 May 2023", "2023-05-08", "2026-11-24", Since),
            ("throughout 2022", "2022-01-01", "2022-12-31", Throughout),
            ("for all of May 2022", "2022-05-01", "2022-05-31", Throughout),
            ("in the first half of 2022", "2022-01-01", "2022-06-30", During),
            ("in the second week of May 2022", "2022-05-08", "2022-05-14", During),
            ("in the summer of 2022", "2022-06-01", "2022-08-31", During),
            ("Q3 2022", "2022-07-01", "2022-09-30", During),
            ("H2 of 2022", "2022-07-01", "2022-12-31", During),
            ("in early 2022", "2022-01-01", "2022-04-30", During),
            ("from late 2022 to early 2023", "2022-09-01", "2023-04-30", Range),
            ("in the 1990s", "1990-01-01", "1999-12-31", During),
            ("since the night of 11 July 2021", "2021-07-11", "2026-11-24", Since),
            ("since last Tuesday", "2026-11-17", "2026-11-24", Since),
            ("on Sunday", "2026-11-22", "2026-11-22", During),
            ("last Friday", "2026-11-20", "2026-11-20", During),
            ("this morning", "2026-11-24", "2026-11-24", During),
            ("last night", "2026-11-23", "2026-11-24", During),
            ("yesterday evening", "2026-11-23", "2026-11-23", During),
            ("the day before yesterday", "2026-11-22", "2026-11-22", During),
            ("from Monday to Wednesday", "2026-11-16", "2026-11-18", Range),
            ("over the past month", "2026-10-25", "2026-11-24", During),
            ("in recent days", "2026-11-17", "2026-11-24", During),
            ("tomorrow", "2026-11-25", "2026-11-25", During),
            ("next week", "2026-11-30", "2026-12-06", During),
            ("next month", "2026-12-01", "2026-12-31", During),
            ("next year", "2027-01-01", "2027-12-31", During),
            ("on 08.11.2023", "2023-11-08", "2023-11-08", During),
            ("on 20230604", "2023-06-04", "2023-06-04", During),
            ("in 11/2023", "2023-11-01", "2023-11-30", During),
            ("Nov 8 and Nov 24 of 2023", "2023-11-08", "2023-11-24", During),
            ("on Nov 15 '23", "2023-11-15", "2023-11-15", During),
            ("on 8, 9 and 10 November 2023", "2023-11-08", "2023-11-10", During),
            ("in May, June and July 2022", "2022-05-01", "2022-07-31", During),
            ("on the twenty-first of May 2022", "2022-05-21", "2022-05-21", During),
            ("in may 2022", "2022-05-01", "2022-05-31", During),
            ("since march 8, 2022", "2022-03-08", "2026-11-24", Since),
            ("it had been blocked since 2018, and was open on 18 June 2020", "2020-06-18", "2020-06-18", During),
            ("it is now blocked, since 8 May 2022", "2022-05-08", "2026-11-24", Since),
            ("in the month of May 2022", "2022-05-01", "2022-05-31", During),
            ("in the last week of May 2022", "2022-05-25", "2022-05-31", During),
            ("on 29 February 2024", "2024-02-29", "2024-02-29", During),
            ("between 3 and 9 June 2023", "2023-06-03", "2023-06-09", Range),
            ("three days ago", "2026-11-21", "2026-11-21", During),
            ("since at least 8 May 2022", "2022-05-08", "2026-11-24", Since),
            ("beginning in May 2022", "2022-05-01", "2026-11-24", Since),
            ("on the last day of 2022", "2022-12-31", "2022-12-31", During),
            ("for two weeks in June 2023", "2023-06-01", "2023-06-30", During),
            ("on Wednesday, 15 November 2023", "2023-11-15", "2023-11-15", During),
            ("from 8 May 2022 it was blocked, until 9 June 2022", "2022-05-08", "2022-06-09", Range),
        ] {
            let found = when(&split(text), now).map(|when| (when.first.to_string(), when.last.to_string(), when.span));
            assert_eq!(found, Some((first.to_owned(), last.to_owned(), span)), "{text}");
        }
        for text in [
            "on 30 February 2023",
            "in the third term of 2023",
            "in the last three days of May 2023",
            "Mon State",
            "on 13/13/2023",
            "on 29 February 2023",
        ] {
            assert_eq!(when(&split(text), now), None, "{text}");
        }
    }
}
