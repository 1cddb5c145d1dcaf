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
use crate::engine::time::{DAY, Date};

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
        } else if (first.span == Span::Since || found.first().is_some_and(|named| named.opens))
            && next.span == Span::Until
            && first.first <= next.last
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
