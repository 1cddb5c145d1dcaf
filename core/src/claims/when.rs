//! The time that a claim speaks of: days and spans of days, in UTC.

use std::ops::Range;

use super::dates::{self, Reader};
use super::feasts;
use super::later::{Later, later};
use super::lexicon::Words;
use super::relative::weekday;
use super::times;
use super::words::{Pause, Word};
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
    /// At some time between two: "between May and June".
    Between,
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
    /// Days of the date that was named, of two the first: 30 of "until June".
    pub named: i64,
    /// Days of the last date that was named.
    pub closing: i64,
}

/// Days that a span without a beginning reaches back. Our choice: a year.
pub const OPEN: i64 = 365;

impl When {
    pub fn new(first: Date, last: Date) -> When {
        let named = last.days() - first.days() + 1;
        When { first, last, span: Span::During, named, closing: named }
    }

    pub fn day(day: Date) -> When {
        When::new(day, day)
    }

    pub fn is_one_day(self) -> bool {
        self.first == self.last
    }

    /// Whether other days are some of these and not all.
    fn holds(self, other: When) -> bool {
        self.first <= other.first && other.last <= self.last && (self.first, self.last) != (other.first, other.last)
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

/// The times that a clause speaks of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spoken {
    /// More than one where it lists them: "in 2022 and again in 2023".
    pub days: Vec<When>,
    /// Why a date that it names cannot be.
    pub unread: Option<Unread>,
    /// Words that say how long after another clause it was.
    pub later: Option<(Range<usize>, Later)>,
}

/// Why a date cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    /// The calendar does not have it, or it cannot be read.
    NoSuchDate,
    /// It is another day of the week than the claim says.
    OtherWeekday,
}

impl Unread {
    pub const fn as_str(self) -> &'static str {
        match self {
            Unread::NoSuchDate => "The claim names a date that does not exist or cannot be read.",
            Unread::OtherWeekday => "The claim names a date that is another day of the week than it says.",
        }
    }
}

/// A time where a sentence names it.
struct Named {
    at: usize,
    to: usize,
    /// `None` stands for one that cannot be.
    days: Vec<Option<When>>,
    opens: bool,
    weekday: bool,
    /// It is said to be a day of the week that it is not.
    other_weekday: bool,
}

/// "Gabon had no internet": what follows "had" where it is no auxiliary.
const HAVING: [&str; 10] = ["no", "a", "an", "the", "its", "their", "internet", "limited", "only", "little"];

/// Words between times that are listed.
static LISTING: Words = Words::of("when listing");

/// The days that a clause speaks of, as seen from `now`; a date without a year may be of the `year` that the rest of the
/// sentence names.
pub fn when(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Spoken {
    let Times { mut found, background, behind } = times(words, now, year);
    let reader = reader(words);
    if found.is_empty() {
        found.extend(background);
    }
    // "The Easter Sunday attacks in April 2019": a date says more than a day of the week.
    if found.iter().any(|named| !named.weekday) {
        found.retain(|named| !named.weekday);
    }
    let mut spoken = chosen(words, &found);
    // Of a feast whose day is not known the year says too little.
    let dated = |when: &When| when.last.days() - when.first.days() < 31;
    if !spoken.days.iter().any(dated) && (0..words.len()).any(|at| feasts::moving(&reader, at)) {
        return Spoken { unread: Some(Unread::NoSuchDate), ..Spoken::default() };
    }
    // "It deleted a tweet on 2 June 2021; three days later it was banned."
    if let ([day], Some((at, later)), Some(named)) = (spoken.days.as_mut_slice(), &behind, found.first()) {
        let stop = words.get(at.start).is_some_and(|word| word.pause == Pause::Stop);
        let apart = at.start > named.to && (stop || at.start > named.to + 1);
        *day = later.behind(*day).filter(|_| apart).unwrap_or(*day);
    }
    Spoken { later: behind, ..spoken }
}

/// The words that name times, and the days of each; of days that are counted from others there are none.
pub fn spans(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Vec<(Range<usize>, Vec<When>)> {
    let Times { found, background, behind } = times(words, now, year);
    let dated = found.into_iter().chain(background);
    let dated = dated.map(|named| (named.at..named.to, named.days.into_iter().flatten().collect()));
    dated.chain(behind.map(|(range, _)| (range, Vec::new()))).collect()
}

/// The times of a sentence.
struct Times {
    found: Vec<Named>,
    /// Said of what had been before.
    background: Option<Named>,
    behind: Option<(Range<usize>, Later)>,
}

fn reader<'a>(words: &'a [Word<'a>]) -> Reader<'a> {
    let is_lower = |word: &Word<'_>| word.text.chars().any(char::is_lowercase);
    Reader { words, shouting: !words.iter().any(is_lower) }
}

fn times(words: &[Word<'_>], now: Timestamp, year: Option<i64>) -> Times {
    let ahead = words.iter().any(|word| matches!(word.lower.as_str(), "will" | "shall" | "plans" | "going"));
    let reader = reader(words);
    let times = times::Times { reader, today: Date::from_days(now.day()), ahead, year };
    let mut found: Vec<Named> = Vec::new();
    let (mut at, mut from, mut background, mut behind) = (0, 0, None, None);
    while at < words.len() {
        if let Some((length, found)) = later(&reader, at) {
            behind = behind.or(Some((at..at + length, found)));
            at += length;
            continue;
        }
        let Some((length, days)) = times.at(at).or_else(|| Some((reader.unreadable(at)?, vec![None]))) else {
            at += 1;
            continue;
        };
        let (length, days) = with_its_year(&reader, at, length, days);
        let opens = times.lead(at).1 == "from";
        let other_weekday = is_other_weekday(&reader, at, length, &days);
        let days = days.into_iter().map(|days| days.and_then(|days| times.seen_from_around(at, length, days)));
        let weekday = reader.word(at).and_then(weekday).is_some();
        let named = Named { at, to: at + length, days: days.collect(), opens, weekday, other_weekday };
        // "Telegram, which had been blocked since 2018, was unblocked on 18 June 2020": what had been is background, and
        // "now" says less than a date.
        if reader.is(at, &["now", "currently"])
            || (from..at).any(|at| reader.is(at, &["which"]) || reader.is(at, &["had"]) && !reader.is(at + 1, &HAVING))
        {
            background = background.or(Some(named));
        } else {
            found.push(named);
        }
        at += length;
        from = at;
    }
    Times { found, background, behind }
}

/// A date with the figure behind it that was meant to be its year and is none: "14 January 20211".
fn with_its_year(reader: &Reader<'_>, at: usize, length: usize, days: Vec<Option<When>>) -> (usize, Vec<Option<When>>) {
    let near = |word: &Word<'_>| word.pause == Pause::None || reader.month(at).is_some();
    let long = reader.is_overlong_year(at + length) && reader.word(at + length).is_some_and(near);
    if long { (length + 1, vec![None]) } else { (length, days) }
}

/// "Tuesday, 13 November 2023", "13 November 2023 (Tuesday)": that was a Monday.
fn is_other_weekday(reader: &Reader<'_>, at: usize, length: usize, days: &[Option<When>]) -> bool {
    let [Some(when)] = days else { return false };
    let dated = when.is_one_day() && reader.written(at).is_some_and(|(_, date)| date.is_day());
    let before = 1 + usize::from(reader.before(at, 1) == "the");
    let behind = at + length + usize::from(reader.is(at + length, &["a"]));
    let beside = reader.word(at + length).filter(|word| word.pause == Pause::Comma);
    let said = at.checked_sub(before).and_then(|at| reader.word(at)).and_then(weekday);
    let said = said.or_else(|| beside.and_then(|_| reader.word(behind)).and_then(weekday));
    dated && said.is_some_and(|said| said != when.first.weekday())
}

/// The times that are claimed, of those that a clause names: the first, and those that are listed with it.
fn chosen(words: &[Word<'_>], found: &[Named]) -> Spoken {
    let none = found.iter().flat_map(|named| &named.days).any(Option::is_none);
    let other = found.iter().any(|named| named.other_weekday).then_some(Unread::OtherWeekday);
    let unread = none.then_some(Unread::NoSuchDate).or(other);
    let Some(first) = found.first() else { return Spoken::default() };
    let mut days = first.days.clone();
    let mut to = first.to;
    for next in found.iter().skip(1) {
        let between = words.get(to..next.at).unwrap_or_default();
        let pause = words.get(next.at).is_some_and(|word| word.pause == Pause::Comma);
        let listed = between.iter().all(|word| LISTING.contains(&word.lower.as_str()))
            && (pause
                || between.iter().any(|word| word.lower == "and" || word.lower == "again" || word.lower == "well"));
        if !listed {
            break;
        }
        days.extend(&next.days);
        to = next.to;
    }
    let mut days: Vec<When> = days.into_iter().flatten().collect();
    let next = found.get(1).and_then(|named| named.days.first().copied().flatten());
    if let ([first], Some(next)) = (days.as_mut_slice(), next) {
        // "From 8 November Kenya blocked it, until 24 November."
        if first.span == Span::During && first.holds(next) {
            // "In 2021 it was cut, on 13 January."
            *first = next;
        } else if found.first().is_some_and(|named| named.opens) && next.span == Span::Until && first.first <= next.last
        {
            let (named, closing) = (first.named, next.named);
            *first = When { span: Span::Range, named, closing, ..When::new(first.first, next.last) };
        }
    }
    // "In 2023 and in November 2023" says no more than the month does.
    let all = days.clone();
    days.retain(|when| !(when.span == Span::During && all.iter().any(|other| when.holds(*other))));
    days.dedup();
    if unread.is_some() {
        days.clear();
    }
    Spoken { days, unread, later: None }
}

/// The year that a sentence names, when all its dates are of one.
pub fn only_year(words: &[Word<'_>]) -> Option<i64> {
    let mut years = words.iter().filter_map(dates::year);
    let first = years.next()?;
    years.all(|year| year == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    /// As of Friday 20 November 2026.
    fn read(text: &str) -> Option<String> {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        when(&split(text), now, None).days.first().map(|when| format!("{}/{}", when.first, when.last))
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
        use Span::{After, Before, Between, By, During, Range, Since, Throughout, Until};
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
            ("in 2023/24", "2023-01-01", "2024-12-31", During),
            ("in 2023-24", "2023-01-01", "2024-12-31", During),
            ("in 2011-12", "2011-12-01", "2011-12-31", During),
            ("on 13 Janury 2021", "2021-01-13", "2021-01-13", During),
            ("on Feburary 14, 2021", "2021-02-14", "2021-02-14", During),
            ("in Septembre 2023", "2023-09-01", "2023-09-30", During),
            ("on 5.6.21", "2021-06-05", "2021-06-05", During),
            ("the day before the vote of 14 January 2021", "2021-01-13", "2021-01-13", During),
            ("on the eve of its 14 January 2021 vote", "2021-01-13", "2021-01-13", During),
            ("on the evening of 14 January 2021", "2021-01-14", "2021-01-14", During),
            ("it ended on 2 June 2021; it was cut three days later", "2021-06-05", "2021-06-05", During),
            ("in November of last year", "2025-11-01", "2025-11-30", During),
            ("on 3 May last year", "2025-05-03", "2025-05-03", During),
            ("in May this year", "2026-05-01", "2026-05-31", During),
            ("three hours ago", "2026-11-23", "2026-11-24", During),
            ("a minute ago", "2026-11-23", "2026-11-24", During),
            ("the other day", "2026-11-17", "2026-11-24", During),
            ("on the 9th", "2026-11-09", "2026-11-09", During),
            ("on the 28th", "2026-10-28", "2026-10-28", During),
            ("on 9.11.", "2026-11-09", "2026-11-09", During),
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
            ("over the past month", "2026-10-25", "2026-11-24", Since),
            ("for the past three weeks", "2026-11-03", "2026-11-24", Since),
            ("blocked the last two weeks", "2026-11-10", "2026-11-24", Since),
            ("in the past three weeks", "2026-11-03", "2026-11-24", During),
            ("in recent days", "2026-11-17", "2026-11-24", During),
            ("tomorrow", "2026-11-25", "2026-11-25", During),
            ("next week", "2026-11-30", "2026-12-06", During),
            ("next month", "2026-12-01", "2026-12-31", During),
            ("next year", "2027-01-01", "2027-12-31", During),
            ("on 08.11.2023", "2023-11-08", "2023-11-08", During),
            ("on 20230604", "2023-06-04", "2023-06-04", During),
            ("in 11/2023", "2023-11-01", "2023-11-30", During),
            ("on Nov 15 '23", "2023-11-15", "2023-11-15", During),
            ("two days before polling on January 14th, 2021", "2021-01-12", "2021-01-12", During),
            ("a day after the vote of 14 January 2021", "2021-01-15", "2021-01-15", During),
            ("three days before 14 January 2021", "2021-01-11", "2021-01-11", During),
            ("for six weeks from 5 June 2021", "2021-06-05", "2021-07-17", Range),
            ("for three days after the vote of August 9, 2020", "2020-08-09", "2020-08-12", Range),
            ("from 14 January 2021 for five days", "2021-01-14", "2021-01-19", Range),
            ("for five days starting 13 January 2021", "2021-01-13", "2021-01-18", Range),
            ("in May, June or July 2022", "2022-05-01", "2022-07-31", During),
            ("25 Oct 2021 – 18 Nov 2021", "2021-10-25", "2021-11-18", Range),
            ("25 Oct 2021 -- 18 Nov 2021", "2021-10-25", "2021-11-18", Range),
            ("25 Oct 2021-18 Nov 2021", "2021-10-25", "2021-11-18", Range),
            ("after the Easter Sunday attacks in April 2019", "2019-04-01", "2019-04-30", During),
            ("in 2021 it was cut, on 13 January 2021", "2021-01-13", "2021-01-13", During),
            ("on the twenty-first of May 2022", "2022-05-21", "2022-05-21", During),
            ("in may 2022", "2022-05-01", "2022-05-31", During),
            ("since march 8, 2022", "2022-03-08", "2026-11-24", Since),
            ("it had been blocked since 2018, and was open on 18 June 2020", "2020-06-18", "2020-06-18", During),
            ("it is now blocked, since 8 May 2022", "2022-05-08", "2026-11-24", Since),
            ("in the month of May 2022", "2022-05-01", "2022-05-31", During),
            ("in the last week of May 2022", "2022-05-25", "2022-05-31", During),
            ("on 29 February 2024", "2024-02-29", "2024-02-29", During),
            ("between 3 and 9 June 2023", "2023-06-03", "2023-06-09", Between),
            ("three days ago", "2026-11-21", "2026-11-21", During),
            ("since at least 8 May 2022", "2022-05-08", "2026-11-24", Since),
            ("beginning in May 2022", "2022-05-01", "2026-11-24", Since),
            ("on the last day of 2022", "2022-12-31", "2022-12-31", During),
            ("for two weeks in June 2023", "2023-06-01", "2023-06-30", During),
            ("on Wednesday, 15 November 2023", "2023-11-15", "2023-11-15", During),
            ("from 8 May 2022 it was blocked, until 9 June 2022", "2022-05-08", "2022-06-09", Range),
        ] {
            let found = when(&split(text), now, None)
                .days
                .first()
                .map(|when| (when.first.to_string(), when.last.to_string(), when.span));
            assert_eq!(found, Some((first.to_owned(), last.to_owned(), span)), "{text}");
        }
        for text in ["Mon State", "24/7", "9/11", "under law 50/2021", "12 November reports of 40 networks"] {
            assert_eq!(when(&split(text), now, None).unread, None, "{text}");
        }
    }

    /// A date that cannot be is told from none: without it a claim would be one of all times.
    #[test]
    fn dates_that_do_not_exist_or_cannot_be_read_are_told_from_none() {
        let now = Timestamp::parse("2026-11-24T09:00:00Z").unwrap();
        for text in [
            "on 30 February 2023",
            "on February 30",
            "in the third term of 2023",
            "in the last three days of May 2023",
            "on 13/13/2023",
            "on 29 February 2023",
            "in 2023/25",
            "on 14 January 20211",
            "on January 14, 20211",
            "in 20233",
            "on 9Nov2023",
            "on Nov.9",
            "on 31.02.2023",
            "on 32 November 2023",
            "in November 45, 2023",
            "on 2023-02-31",
            "from 15 to 6 November 2023",
            "in 1850",
        ] {
            assert_eq!(
                when(&split(text), now, None),
                Spoken { unread: Some(Unread::NoSuchDate), ..Spoken::default() },
                "{text}"
            );
        }
        for text in ["on Tuesday 13 November 2023", "on Wed, Nov 13, 2023", "on 13 November 2023 (a Friday)"] {
            assert_eq!(when(&split(text), now, None).unread, Some(Unread::OtherWeekday), "{text}");
        }
        for text in
            ["on Monday 13 November 2023", "on Monday the 13th of November 2023", "on 13 November 2023, a Monday"]
        {
            let spoken = when(&split(text), now, None);
            assert_eq!((spoken.unread, spoken.days.len()), (None, 1), "{text}");
        }
    }

    #[test]
    fn each_date_of_a_list_is_one_of_its_own() {
        let now = Timestamp::parse("2026-11-24T09:00:00Z").unwrap();
        for (text, expected) in [
            ("in 2023 and again in 2022", "2023-01-01/2023-12-31 2022-01-01/2022-12-31"),
            ("in November 2022 and November 2023", "2022-11-01/2022-11-30 2023-11-01/2023-11-30"),
            ("on 6 and 15 November 2023", "2023-11-06/2023-11-06 2023-11-15/2023-11-15"),
            ("on 15 and 6 November 2023", "2023-11-15/2023-11-15 2023-11-06/2023-11-06"),
            ("in August 2024 and in August 2023", "2024-08-01/2024-08-31 2023-08-01/2023-08-31"),
            ("on 8, 9 and 10 November 2023", "2023-11-08/2023-11-08 2023-11-09/2023-11-09 2023-11-10/2023-11-10"),
            ("Nov 8 and Nov 24 of 2023", "2023-11-08/2023-11-08 2023-11-24/2023-11-24"),
            ("in May, June and July 2022", "2022-05-01/2022-05-31 2022-06-01/2022-06-30 2022-07-01/2022-07-31"),
            ("on 28 December and 3 January 2023", "2022-12-28/2022-12-28 2023-01-03/2023-01-03"),
            ("in November 2022 and December", "2022-11-01/2022-11-30 2022-12-01/2022-12-31"),
            ("in 2023 and in November 2023", "2023-11-01/2023-11-30"),
            ("between November 2022 and November 2023", "2022-11-01/2023-11-30"),
            ("Gabon had no internet on 6 May 2023 and on 8 May 2023", "2023-05-06/2023-05-06 2023-05-08/2023-05-08"),
            ("from 2018 to 2020 and in 2022", "2018-01-01/2020-12-31 2022-01-01/2022-12-31"),
            ("yesterday and today", "2026-11-23/2026-11-23 2026-11-24/2026-11-24"),
        ] {
            let found: Vec<String> =
                when(&split(text), now, None).days.iter().map(|when| format!("{}/{}", when.first, when.last)).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
