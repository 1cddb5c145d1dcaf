//! Times where a sentence names them, and how the words around mean them.

use super::dates::{self, BETWEEN, Reader, Written};
use super::lexicon::Words;
use super::relative::{quantity, relative, unit, weekday};
use super::when::{OPEN, Span, When};
use super::words::Pause;
use crate::engine::time::Date;

/// Words between a number of days and the date that they are counted from. Our choice.
const MOST_COUNTED: usize = 9;

/// Dates side by side without a word between them that are read as one list. Our choice: each is looked at for each.
const MOST_LISTED: usize = 8;

/// A date, or days that are counted from today.
#[derive(Clone, Copy)]
enum Time {
    Date(Written),
    Days(When),
}

pub struct Times<'a> {
    pub reader: Reader<'a>,
    pub today: Date,
    /// The sentence speaks of what is to come.
    pub ahead: bool,
    /// That of the sentence.
    pub year: Option<i64>,
}

/// Words between a time and what says how it is meant.
static FILLERS: Words = Words::of("times fillers");

/// From one time to another, unless that comes before it.
fn ends(from: When, to: When) -> Option<When> {
    let whole = When { named: from.named, closing: to.named, ..When::new(from.first, to.last) };
    (from.first <= to.last).then_some(whole)
}

impl<'a> Times<'a> {
    /// The times that are named at a place, ranges too, and the number of words; without days when the calendar has none.
    pub fn at(&self, at: usize) -> Option<(usize, Vec<Option<When>>)> {
        let reader = self.reader;
        if let Some((length, days)) = reader.days_of_a_month(at) {
            let joined = (at + 1..at + length).any(|at| reader.joined(at));
            let times: Vec<Time> = days.into_iter().map(Time::Date).collect();
            return Some((length, self.several(&times, at, length, joined)));
        }
        let (mut length, first) = self.single(at)?;
        if reader.divided(at) && !matches!(first, Time::Date(date) if date.is_day()) {
            return Some((length, vec![None]));
        }
        let (mut times, mut pending, mut dash, mut ranged) = (vec![first], Vec::new(), false, false);
        let mut behind = length;
        loop {
            let next = at + behind;
            let word = reader.is(next, BETWEEN);
            // "From 2018 to 2020 and in 2022": a range has two ends.
            if ranged && reader.is(next, &["and", "or"]) {
                break;
            }
            let mut from = next + usize::from(word);
            from += usize::from(word && reader.is(from, &["on", "in"]));
            from += usize::from(word && reader.is(from, &["the"]));
            let Some((more, time)) = self.single(from) else { break };
            behind = from + more - at;
            if word || reader.joined(next) {
                dash |= reader.joined(next);
                ranged |= dash || !reader.is(next, &["and", "or"]);
                times.append(&mut pending);
                times.push(time);
                length = behind;
            } else if matches!((first, time), (Time::Date(a), Time::Date(b)) if a.is_like(b)) {
                // "in May, June and July": those in the middle have nothing in between.
                pending.push(time);
                if pending.len() > MOST_LISTED {
                    break;
                }
            } else {
                break;
            }
        }
        Some((length, self.several(&times, at, length, dash)))
    }

    /// Times side by side: the ends of a range, or a list.
    fn several(&self, times: &[Time], at: usize, length: usize, dash: bool) -> Vec<Option<When>> {
        let ([first, .., last], words) = (times, at..at + length) else {
            return times.iter().map(|time| self.resolve(*time)).collect();
        };
        let linked = |list: &[&str]| words.clone().any(|at| self.reader.is(at, list));
        let ranges: Vec<&str> = BETWEEN.iter().copied().filter(|word| !matches!(*word, "and" | "or")).collect();
        if dash || linked(&ranges) || matches!(self.lead(at).1, "between" | "from") {
            let span = if self.lead(at).1 == "between" { Span::Between } else { Span::Range };
            return vec![self.range(*first, *last).map(|when| When { span, ..when })];
        }
        let list = self.list(times);
        // "In May or June 2022": at some time of both.
        if linked(&["or"]) {
            let known = || list.iter().flatten();
            let hull = known().map(|when| when.first).min().zip(known().map(|when| when.last).max());
            return vec![hull.map(|(first, last)| When::new(first, last)).filter(|_| list.iter().all(Option::is_some))];
        }
        list
    }

    /// The times of a list; a year that one lacks is that of the next.
    fn list(&self, times: &[Time]) -> Vec<Option<When>> {
        let year = times.iter().find_map(|time| if let Time::Date(date) = time { date.year } else { None });
        let (mut list, mut next): (Vec<Option<When>>, Option<When>) = (Vec::new(), None);
        for time in times.iter().rev() {
            let when = match (time, next) {
                (Time::Date(date), None) if date.year.is_none() && year.is_some() => {
                    year.and_then(|year| date.in_year(year))
                }
                (Time::Date(date), Some(next)) if date.year.is_none() => {
                    let same = date.in_year(next.first.year);
                    let turned =
                        same.is_some_and(|when| when.first > next.first && when.first.month > next.first.month);
                    if turned { date.in_year(next.first.year - 1) } else { same }
                }
                (time, _) => self.resolve(*time),
            };
            next = when.or(next);
            list.push(when);
        }
        list.reverse();
        list
    }

    fn single(&self, at: usize) -> Option<(usize, Time)> {
        let date = self.reader.written(at).map(|(length, date)| match self.year_beside(at + length) {
            // "In November of last year"
            Some((more, year)) if date.year.is_none() => {
                (length + more, Time::Date(Written { year: Some(year), ..date }))
            }
            _ => (length, Time::Date(date)),
        });
        date.or_else(|| self.day_alone(at)).or_else(|| {
            let (length, days) = relative(&self.reader, at, self.today, self.ahead)?;
            Some((length, Time::Days(days)))
        })
    }

    /// "On the 9th", where nothing else names a month: the latest one.
    fn day_alone(&self, at: usize) -> Option<(usize, Time)> {
        let reader = self.reader;
        if reader.before(at, 1) != "the" || reader.before(at, 2) != "on" {
            return None;
        }
        let word = reader.word(at)?;
        let ordinal = ["st", "nd", "rd", "th"].iter().any(|end| word.lower.ends_with(end));
        let day = dates::number(word).filter(|day| ordinal && (1..=31).contains(day))?;
        let ends = reader.word(at + 1).is_none_or(|next| next.pause != Pause::None || next.lower == "in");
        let dated = self.year.is_some() || (0..reader.words.len()).any(|at| reader.month(at).is_some());
        if dated || !ends {
            return None;
        }
        let month = |back: i64| {
            let months = self.today.year * 12 + self.today.month - 1 - back;
            Date::new(months.div_euclid(12), months.rem_euclid(12) + 1, day)
        };
        let latest = (0..4).filter_map(month).find(|date| *date <= self.today)?;
        Some((1, Time::Days(When::day(latest))))
    }

    /// "Of last year", "this year" behind a date: the number of words, and the year.
    fn year_beside(&self, at: usize) -> Option<(usize, i64)> {
        let of = usize::from(self.reader.is(at, &["of"]));
        let back = match self.reader.lower(at + of) {
            "last" => 1,
            "this" => 0,
            _ => return None,
        };
        self.reader.is(at + of + 1, &["year"]).then_some((of + 2, self.today.year - back))
    }

    fn resolve(&self, time: Time) -> Option<When> {
        match time {
            Time::Date(date) => self.of_the_year(date).resolve(self.today, self.ahead),
            Time::Days(when) => Some(when),
        }
    }

    fn of_the_year(&self, date: Written) -> Written {
        Written { year: date.year.or(self.year), ..date }
    }

    fn range(&self, first: Time, last: Time) -> Option<When> {
        if let (Time::Date(first), Time::Date(last)) = (first, last) {
            return self.dates(first, last);
        }
        let (from, to) = (self.resolve(first)?, self.resolve(last)?);
        // "From Monday to Wednesday", said on a Tuesday.
        let from = if from.is_one_day() && from.first > to.last { When::day(from.first.plus(-7)) } else { from };
        ends(from, to)
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
                let to = self.of_the_year(last).resolve(self.today, self.ahead)?;
                let from = first.in_year(to.first.year)?;
                (if to.last < from.first { first.in_year(to.first.year - 1)? } else { from }, to)
            }
            _ => (first.resolve(self.today, false)?, last.resolve(self.today, false)?),
        };
        ends(from, to)
    }

    /// Where the word stands that says how the time at a place is meant, and the word.
    pub fn lead(&self, at: usize) -> (usize, &'a str) {
        let filler = |at: usize| {
            let weekday = self.reader.word(at).and_then(weekday).is_some();
            weekday || self.reader.is(at, &FILLERS)
        };
        let lead = (1..=7).find_map(|back| at.checked_sub(back).filter(|at| !filler(*at)));
        lead.map_or((at, ""), |lead| (lead, self.reader.lower(lead)))
    }

    /// Days that are counted from a date: "two days before polling on 14 January", "for six months from 5 June".
    fn counted(&self, at: usize, length: usize, found: When) -> Option<When> {
        let reader = self.reader;
        let counted = |from: usize| {
            let (length, count) = quantity(&reader, from)?;
            Some((
                from + length + 1,
                unit(reader.lower(from + length))?.checked_mul(count).filter(|days| *days < 4_000)?,
            ))
        };
        let ranged = |days: i64| When {
            span: Span::Range,
            named: found.named,
            closing: 1,
            ..When::new(found.first, found.first.plus(days))
        };
        // "from 14 January for five days"
        if reader.is(at + length, &["for"])
            && found.is_one_day()
            && let Some((_, days)) = counted(at + length + 1)
        {
            return Some(ranged(days));
        }
        // "The day before the election of 14 January", "on the eve of".
        let day = |from: usize| {
            let eve = reader.is(from, &["eve"]) && reader.is(from + 1, &["of"]);
            let day = reader.is(from, &["day"]) && reader.before(from, 1) == "the";
            (eve || day).then_some((from + 1, 1))
        };
        let (side, days) = (1..=MOST_COUNTED).find_map(|back| {
            let from = at.checked_sub(back)?;
            let (side, days) = counted(from).or_else(|| day(from))?;
            let near = side < at && (side + 1..=at).all(|at| reader.word(at).is_some_and(|w| w.pause == Pause::None));
            (near && reader.before(from, 1) != "than").then_some((side, days))
        })?;
        let for_so_long = (1..=3).any(|back| reader.is(side.wrapping_sub(1 + back), &["for", "lasting", "lasted"]));
        let from = reader.is(side, &["from", "starting", "beginning", "after", "following", "since"]);
        match reader.lower(side) {
            _ if for_so_long => (from && found.is_one_day()).then(|| ranged(days)),
            "of" if !reader.is(side.wrapping_sub(1), &["eve"]) => None,
            "before" | "of" if found.is_one_day() => Some(When::day(found.first.plus(-days))),
            "after" if found.is_one_day() => Some(When::day(found.first.plus(days))),
            _ => None,
        }
    }

    /// The days as the words around them mean them.
    pub fn seen_from_around(&self, at: usize, length: usize, found: When) -> Option<When> {
        if let Some(counted) = self.counted(at, length, found) {
            return Some(counted);
        }
        let reader = self.reader;
        let (lead, word) = self.lead(at);
        let (before, after) = (reader.before(lead, 1), at + length);
        // "After the 2021 coup" tells when the coup was.
        let bare = reader.word(at).and_then(dates::year).is_some() || reader.month(at).is_some();
        let event = reader.before(at, 1) == "the" && bare && !found.is_one_day();
        const STARTING: [&str; 4] = ["starting", "beginning", "effective", "commencing"];
        let onwards = reader.is(after, &["onward", "onwards", "forward"]);
        let span = match word {
            // "Since 8 November until 24 November".
            "since" if found.span == Span::Range => return Some(found),
            "since" => Span::Since,
            _ if onwards || STARTING.contains(&word) => Span::Since,
            "on" | "in" | "from" if STARTING.contains(&before) => Span::Since,
            // "For the last two weeks", "over the past month": up to now, from a day that is named.
            _ if self.is_up_to_now(at, word) => {
                return Some(When { named: 1, ..self.spanned(found, Span::Since) });
            }
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

    /// Whether a length of time ends now: "for the past month", "blocked the last two weeks", and not "in the last days".
    fn is_up_to_now(&self, at: usize, lead: &str) -> bool {
        let reader = self.reader;
        let counted =
            quantity(&reader, at + 1).is_some_and(|(length, _)| unit(reader.lower(at + 1 + length)).is_some());
        let past = reader.is(at, &["past"]) && unit(reader.lower(at + 1)).is_some();
        reader.is(at, &["last", "past"])
            && (lead == "for" || (counted || past) && !matches!(lead, "in" | "within" | "during" | "since" | "of"))
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
            Span::During | Span::Throughout | Span::Range | Span::Between => (found.first, found.last),
        };
        When { first, last, span, named: found.named, closing: found.named }
    }
}
