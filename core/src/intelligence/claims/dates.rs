//! Dates as people write them: days, months, years and named parts of those, of which the year may be missing.

use super::feasts;
use super::lexicon::Words;
use super::months;
use super::when::When;
use super::words::Word;
use crate::engine::time::Date;

/// What of a year is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// So many years that begin with it.
    Years(i64),
    /// From a month to a month; one that comes before the first lies in the next year ("winter").
    Months(i64, i64),
    /// Days of a month; a last one behind its end stands for its end.
    Days {
        month: i64,
        first: i64,
        last: i64,
    },
    Day {
        month: i64,
        day: i64,
    },
}

/// A date as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub year: Option<i64>,
    pub part: Part,
}

impl Written {
    pub const fn year(year: i64) -> Written {
        Written { year: Some(year), part: Part::Years(1) }
    }

    pub const fn month(year: Option<i64>, month: i64) -> Written {
        Written { year, part: Part::Months(month, month) }
    }

    const fn day(year: Option<i64>, month: i64, day: i64) -> Written {
        Written { year, part: Part::Day { month, day } }
    }

    pub fn is_day(self) -> bool {
        matches!(self.part, Part::Day { .. })
    }

    /// Whether both name the same kind of part.
    pub fn is_like(self, other: Written) -> bool {
        std::mem::discriminant(&self.part) == std::mem::discriminant(&other.part)
    }

    pub fn in_year(self, year: i64) -> Option<When> {
        let (first, last) = match self.part {
            Part::Years(count) => (Date::new(year, 1, 1)?, Date::new(year + count - 1, 12, 31)?),
            Part::Months(from, to) => {
                let last = Date::new(year + i64::from(to < from), to, 1)?;
                (Date::new(year, from, 1)?, last.last_of_month())
            }
            Part::Days { month, first, last } => {
                let first = Date::new(year, month, first)?;
                (first, Date::new(year, month, last).unwrap_or(first.last_of_month()))
            }
            Part::Day { month, day } => (Date::new(year, month, day)?, Date::new(year, month, day)?),
        };
        Some(When::new(first, last))
    }

    /// The days it means. Without a year those of the latest one that does not lie ahead, or, of what is to come, of the
    /// next one that does.
    pub fn resolve(self, today: Date, ahead: bool) -> Option<When> {
        if let Some(year) = self.year {
            return self.in_year(year);
        }
        // 29 February is not in every year.
        match ahead {
            false => (0..=8).filter_map(|back| self.in_year(today.year - back)).find(|when| when.first <= today),
            true => (0..=8).filter_map(|on| self.in_year(today.year + on)).find(|when| when.last >= today),
        }
    }

    /// Its beginning, middle or end: thirds of a month or year. `None` where that is not a usual thing to say.
    fn third(self, which: Third) -> Option<Written> {
        let part = match (self.part, which) {
            (Part::Years(1), Third::Early) => Part::Months(1, 4),
            (Part::Years(1), Third::Mid) => Part::Months(5, 8),
            (Part::Years(1), Third::Late) => Part::Months(9, 12),
            (Part::Years(1), Third::End) => Part::Months(12, 12),
            (Part::Months(month, to), _) if month == to => {
                let (first, last) = match which {
                    Third::Early => (1, 10),
                    Third::Mid => (11, 20),
                    Third::Late | Third::End => (21, 31),
                };
                Part::Days { month, first, last }
            }
            _ => return None,
        };
        Some(Written { part, ..self })
    }

    /// The `number`th of its halves, quarters or weeks; -1 is the last.
    fn division(self, number: i64, unit: &str) -> Option<Written> {
        let of = |count: i64| (1..=count).contains(&number).then_some(number).or((number == -1).then_some(count));
        let part = match (self.part, unit) {
            (Part::Years(1), "half") => Part::Months(of(2)? * 6 - 5, of(2)? * 6),
            (Part::Years(1), "quarter" | "trimester") => Part::Months(of(4)? * 3 - 2, of(4)? * 3),
            (Part::Years(1), "day") if number == -1 => Part::Day { month: 12, day: 31 },
            (Part::Years(1), "day") if number == 1 => Part::Day { month: 1, day: 1 },
            (Part::Years(1), "month" | "months") => Part::Months(of(12)?, of(12)?),
            (Part::Months(month, to), "half") if month == to => {
                let first = if of(2)? == 1 { 1 } else { 16 };
                Part::Days { month, first, last: if first == 1 { 15 } else { 31 } }
            }
            (Part::Months(month, to), "week") if month == to => {
                // The last seven days of a month differ by its length; without its year, as of the longest.
                let length = Date::new(self.year.unwrap_or(2000), month, 1)?.last_of_month().day;
                let first = if number == -1 { length - 6 } else { of(5)? * 7 - 6 };
                Part::Days { month, first, last: if number == -1 { 31 } else { first + 6 } }
            }
            (Part::Months(month, to), "days" | "day") if month == to && matches!(number, 1 | -1) => match number {
                1 => Part::Days { month, first: 1, last: if unit == "day" { 1 } else { 7 } },
                _ => {
                    let length = Date::new(self.year.unwrap_or(2000), month, 1)?.last_of_month().day;
                    Part::Days { month, first: if unit == "day" { length } else { length - 6 }, last: 31 }
                }
            },
            _ => return None,
        };
        Some(Written { part, ..self })
    }
}

#[derive(Debug, Clone, Copy)]
enum Third {
    Early,
    Mid,
    Late,
    End,
}

/// Words that divide a span of time: one that is not understood names fewer days than what it divides.
static UNITS: Words = Words::of("dates units");

static ORDINALS: Words = Words::of("dates ordinals");

pub fn digits(text: &str, most: usize) -> Option<i64> {
    let plain = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

pub fn number(word: &Word<'_>) -> Option<i64> {
    let text = word.lower.as_str();
    digits(["st", "nd", "rd", "th"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text), 4)
}

pub fn day(word: &Word<'_>) -> Option<i64> {
    number(word).filter(|day| (1..=31).contains(day))
}

/// A year in four digits, or behind an apostrophe in two.
pub fn year(word: &Word<'_>) -> Option<i64> {
    if let Some(short) = word.lower.strip_prefix('\'') {
        return digits(short, 2).filter(|_| short.len() == 2).map(century);
    }
    (word.lower.len() == 4).then(|| digits(&word.lower, 4))?.filter(|year| YEARS.contains(year))
}

/// Years that a claim may speak of.
pub const YEARS: std::ops::RangeInclusive<i64> = 1990..=2099;

const fn century(short: i64) -> i64 {
    if short < 90 { 2000 + short } else { 1900 + short }
}

/// "1990s"
fn decade(word: &Word<'_>) -> Option<i64> {
    let first = digits(word.lower.strip_suffix('s')?.trim_end_matches('\''), 4)?;
    (first % 10 == 0 && YEARS.contains(&first)).then_some(first)
}

/// Whether a year, month and day could be a date, before the calendar is asked.
fn numbers(year: i64, month: i64, day: Option<i64>) -> Option<Written> {
    let fits = (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
    fits.then(|| day.map_or(Written::month(Some(year), month), |day| Written::day(Some(year), month, day)))
}

/// Day and month in figures: day first, unless only the other order is a date.
fn day_and_month(first: i64, second: i64, year: i64) -> Option<Written> {
    let (day, month) = if second > 12 { (second, first) } else { (first, second) };
    numbers(year, month, Some(day))
}

/// `08.11.2023`, `2023.11.08`, `11.2023`, `20231108`: in one word.
fn in_one_word(word: &Word<'_>) -> Option<Written> {
    if let Some(all) = digits(&word.lower, 8).filter(|_| word.lower.len() == 8) {
        return numbers(all / 10_000, all / 100 % 100, Some(all % 100)).filter(|_| YEARS.contains(&(all / 10_000)));
    }
    let mut parts = Vec::with_capacity(3);
    for part in word.lower.split('.') {
        parts.push((digits(part, 4)?, part.len()));
    }
    match *parts.as_slice() {
        [(day, ..=2), (month, ..=2), (year, 4)] if YEARS.contains(&year) => day_and_month(day, month, year),
        [(year, 4), (month, ..=2), (day, ..=2)] if YEARS.contains(&year) => numbers(year, month, Some(day)),
        [(month, ..=2), (year, 4)] if YEARS.contains(&year) => numbers(year, month, None),
        _ => None,
    }
}

/// First and last month of a season.
pub fn season(name: &str) -> Option<(i64, i64)> {
    Some(match name {
        "spring" => (3, 5),
        "summer" => (6, 8),
        "autumn" | "fall" => (9, 11),
        "winter" => (12, 2),
        _ => return None,
    })
}

/// What stands between the two ends of a range, or the last two of a list.
pub const BETWEEN: &[&str] = &["to", "and", "or", "until", "till", "through", "thru"];

/// Reads dates at places of a sentence.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    pub words: &'a [Word<'a>],
    /// Nothing in it is in lower case: capitals tell nothing.
    pub shouting: bool,
}

/// A date at a place, with its number of words.
type Read = Option<(usize, Written)>;

impl<'a> Reader<'a> {
    pub fn word(&self, at: usize) -> Option<&'a Word<'a>> {
        self.words.get(at)
    }

    pub fn lower(&self, at: usize) -> &'a str {
        self.word(at).map_or("", |word| word.lower.as_str())
    }

    /// The word so many places before; empty when there is none.
    pub fn before(&self, at: usize, back: usize) -> &'a str {
        at.checked_sub(back).map_or("", |at| self.lower(at))
    }

    pub fn is(&self, at: usize, list: &[&str]) -> bool {
        list.contains(&self.lower(at))
    }

    pub fn joined(&self, at: usize) -> bool {
        self.word(at).is_some_and(|word| word.joined)
    }

    pub fn read<T>(&self, at: usize, read: impl Fn(&Word<'_>) -> Option<T>) -> Option<T> {
        self.word(at).and_then(read)
    }

    /// A month by name. "may", "march" and some short forms are other words too: those are months with a capital, and in
    /// lower case only where the words around leave nothing else.
    pub fn month(&self, at: usize) -> Option<i64> {
        let word = self.word(at)?;
        let Some(month) = months::named(&word.lower) else { return self.misspelt_month(at) };
        let doubtful = matches!(word.lower.as_str(), "may" | "march" | "mar" | "jan" | "dec");
        let capital = word.is_capital() && at > 0 && !self.shouting;
        (!doubtful || capital || self.is_surely_a_month(at)).then_some(month)
    }

    /// "13 Janury 2021": beside a day or a year the name of a month may have a slip.
    fn misspelt_month(&self, at: usize) -> Option<i64> {
        let back = if self.before(at, 1) == "of" { 2 } else { 1 };
        let day_before = at.checked_sub(back).is_some_and(|at| self.read(at, day).is_some());
        let figure = |word: &Word<'_>| year(word).or_else(|| day(word));
        (day_before || self.read(at + 1, figure).is_some()).then(|| months::misspelt(self.lower(at)))?
    }

    fn is_surely_a_month(&self, at: usize) -> bool {
        const BEFORE: [&str; 9] = ["in", "on", "since", "from", "until", "till", "by", "before", "after"];
        let of = |back: usize| BEFORE.contains(&self.before(at, back));
        let day_before = at.checked_sub(1).is_some_and(|at| self.read(at, day).is_some());
        self.read(at + 1, year).is_some()
            || (self.is(at + 1, &["of"]) && self.read(at + 2, year).is_some())
            || (of(1) && self.read(at + 1, day).is_some())
            || (day_before && (of(2) || self.before(at, 2) == "the"))
            || (self.before(at, 1) == "of" && at.checked_sub(2).is_some_and(|at| self.read(at, day).is_some()))
    }

    /// A year at a place, which "of" may precede: its number of words.
    fn year_of(&self, at: usize) -> (usize, Option<i64>) {
        let of = usize::from(self.is(at, &["of", "in"]));
        match self.read(at + of, year) {
            Some(year) if !self.begins_other_date(at + of) => (of + 1, Some(year)),
            _ => (0, None),
        }
    }

    /// Whether the year at a place is the beginning of `2023-11-08`.
    fn begins_other_date(&self, at: usize) -> bool {
        let figure = self.joined(at + 1) && self.read(at + 1, number).is_some() && self.read(at + 1, year).is_none();
        // "25 Oct 2021-18 Nov 2021": the figure belongs to a day of its own.
        figure && self.month(at + 2).is_none()
    }

    /// A date that begins at `at`.
    pub fn written(&self, at: usize) -> Read {
        self.part(at)
            .or_else(|| self.numeric(at))
            .or_else(|| self.day_of_month(at))
            .or_else(|| self.month_and_more(at))
            .or_else(|| self.season(at))
            .or_else(|| self.feast(at))
            .or_else(|| self.years(at))
    }

    /// `Christmas Eve 2023`, `on New Year's Day`: a day that has a name.
    fn feast(&self, at: usize) -> Read {
        let (length, month, day) = feasts::fixed(self, at)?;
        let (more, mut year) = self.year_of(at + length);
        year = year.or_else(|| self.read(at.checked_sub(1)?, self::year));
        // Without a year it may be part of a name.
        const BEFORE: [&str; 10] = ["on", "at", "over", "by", "until", "till", "since", "before", "after", "from"];
        (year.is_some() || BEFORE.contains(&self.before(at, 1)))
            .then(|| (length + more, Written::day(year, month, day)))
    }

    fn years(&self, at: usize) -> Read {
        if let Some(first) = self.read(at, decade) {
            return Some((1, Written { year: Some(first), part: Part::Years(10) }));
        }
        let year = self.read(at, year)?;
        // A part of a longer figure is no year: 13/13/2023.
        let behind_figure = self.joined(at) && at.checked_sub(1).is_some_and(|at| self.read(at, number).is_some());
        let of_range = at.checked_sub(1).is_some_and(|at| self.read(at, self::year).is_some());
        let alone =
            (!behind_figure || of_range) && !self.begins_other_date(at) && feasts::fixed(self, at + 1).is_none();
        if let Some((length, quarter)) = self.short_part(at + 1).filter(|_| alone) {
            return Some((1 + length, Written { year: Some(year), part: quarter }));
        }
        alone.then_some((1, Written::year(year)))
    }

    /// `2023-11-08`, `8/11/2023`, `2023/11`, `11/2023`, `08.11.2023`, `20231108`.
    fn numeric(&self, at: usize) -> Read {
        if let Some(written) = self.read(at, in_one_word).or_else(|| self.in_short(at)) {
            return Some((1, written));
        }
        let joined = |at: usize| self.word(at).filter(|word| word.joined);
        let second = joined(at + 1)?;
        if let Some(year) = self.read(at, year) {
            if let Some(both) = self.season_of_years(at, year, second) {
                return Some((2, both));
            }
            // The time may follow the day: 2023-11-08T12.
            let third = joined(at + 2).and_then(|word| digits(word.lower.split('t').next()?, 2));
            return Some((if third.is_some() { 3 } else { 2 }, numbers(year, number(second)?, third)?));
        }
        let first = self.read(at, |word| digits(&word.lower, 2))?;
        if let Some(year) = year(second) {
            return Some((2, numbers(year, first, None)?)).filter(|_| joined(at + 2).is_none());
        }
        let third = joined(at + 2)?;
        let short = |word: &Word<'_>| digits(&word.lower, 2).filter(|short| (10..=40).contains(short)).map(century);
        Some((3, day_and_month(first, digits(&second.lower, 2)?, year(third).or_else(|| short(third))?)?))
    }

    /// "On 5.6.21": without a word before it, it may be a version.
    fn in_short(&self, at: usize) -> Option<Written> {
        let parts: Option<Vec<i64>> = self.lower(at).split('.').map(|part| digits(part, 2)).collect();
        let after = matches!(self.before(at, 1), "on" | "since" | "from" | "until" | "by" | "before" | "after");
        let parts = parts.filter(|_| after)?;
        if let [day, month] = *parts.as_slice() {
            let fits = (1..=31).contains(&day) && (1..=12).contains(&month);
            return fits.then_some(Written::day(None, month, day));
        }
        let [day, month, year] = *parts.as_slice() else { return None };
        (10..=40).contains(&year).then(|| day_and_month(day, month, century(year)))?
    }

    /// "2023/24": two years, unless the second figure is a month.
    fn season_of_years(&self, at: usize, first: i64, second: &Word<'_>) -> Option<Written> {
        let next = digits(&second.lower, 2).filter(|next| *next == (first + 1) % 100 && !(1..=12).contains(next));
        let alone = !self.joined(at) && !self.joined(at + 2) && !self.is_numbered(at);
        next.filter(|_| alone).map(|_| Written { year: Some(first), part: Part::Years(2) })
    }

    /// A day as a figure or in words, with its number of words: `8`, `8th`, `eighth`, `twenty-first`. One in words counts
    /// only before "of".
    fn day(&self, at: usize) -> Option<(usize, i64)> {
        if let Some(day) = self.read(at, day) {
            return Some((1, day));
        }
        let (length, day) = self.ordinal(at)?;
        self.is(at + length, &["of"]).then_some((length, day))
    }

    pub fn ordinal(&self, at: usize) -> Option<(usize, i64)> {
        let simple = |at: usize| {
            let index = ORDINALS.iter().position(|name| *name == self.lower(at))?;
            i64::try_from(index + 1).ok()
        };
        let tens = match self.lower(at) {
            "twenty" => 20,
            "thirty" => 30,
            "thirtieth" => return Some((1, 30)),
            "last" | "final" => return Some((1, -1)),
            _ => {
                return simple(at)
                    .or_else(|| self.read(at, |word| number(word).filter(|n| *n < 5 && word.lower.len() == 3)))
                    .map(|n| (1, n));
            }
        };
        simple(at + 1).filter(|one| *one < 10).map(|one| (2, tens + one))
    }

    /// `8 November 2023`, `the 8th of November`.
    fn day_of_month(&self, at: usize) -> Read {
        let (length, day) = self.day(at)?;
        let month_at = at + length + usize::from(self.is(at + length, &["of"]));
        let month = self.month(month_at)?;
        let (more, year) = self.year_of(month_at + 1);
        Some((month_at + 1 + more - at, Written::day(year, month, day)))
    }

    /// `November 8, 2023`, `November the 8th`, `November 2023`, `Nov`.
    fn month_and_more(&self, at: usize) -> Read {
        let month = self.month(at)?;
        let next = at + 1;
        if let (more, Some(year)) = self.year_of(next) {
            return Some((1 + more, Written::month(Some(year), month)));
        }
        let the = usize::from(self.is(next, &["the"]));
        if let Some(day) = self.read(next + the, day) {
            let (more, year) = self.year_of(next + the + 1);
            return Some((2 + the + more, Written::day(year, month, day)));
        }
        Some((1, Written::month(None, month)))
    }

    /// `summer 2023`, `the autumn of 2023`: of the northern half of the world. The winter of a year begins in its December.
    fn season(&self, at: usize) -> Read {
        let (from, to) = season(self.lower(at))?;
        let (more, year) = self.year_of(at + 1);
        year.map(|year| (1 + more, Written { year: Some(year), part: Part::Months(from, to) }))
    }

    /// `Q4`, `H1`: a quarter or half of a year.
    fn short_part(&self, at: usize) -> Option<(usize, Part)> {
        let part = match self.lower(at) {
            "q1" => Part::Months(1, 3),
            "q2" => Part::Months(4, 6),
            "q3" => Part::Months(7, 9),
            "q4" => Part::Months(10, 12),
            "h1" => Part::Months(1, 6),
            "h2" => Part::Months(7, 12),
            _ => return None,
        };
        Some((1, part))
    }

    /// `Q4 2023`, `the first half of 2023`, `the second week of November`, `late November 2023`, `the end of 2023`.
    fn part(&self, at: usize) -> Read {
        if let Some((length, part)) = self.short_part(at) {
            let (more, year) = self.year_of(at + length);
            return year.map(|year| (length + more, Written { year: Some(year), part }));
        }
        let third = match self.lower(at) {
            "early" | "beginning" | "start" => Third::Early,
            "mid" | "middle" => Third::Mid,
            "late" => Third::Late,
            "end" | "close" => Third::End,
            _ => {
                let (length, number) = self.ordinal(at)?;
                let unit = Some(self.lower(at + length)).filter(|unit| UNITS.contains(unit))?;
                let (more, whole) = self.whole(at + length + 1)?;
                return Some((length + 1 + more, whole.division(number, unit)?));
            }
        };
        let named = !self.is(at, &["early", "mid", "late"]);
        let (more, whole) = if named {
            self.whole(at + 1).filter(|_| self.is(at + 1, &["of"]))?
        } else {
            self.month_and_more(at + 1).or_else(|| self.years(at + 1))?
        };
        // "Until the end of 2023": its last day.
        let last = matches!(third, Third::End) && matches!(whole.part, Part::Years(1));
        if last && matches!(self.before(at, 2), "until" | "till" | "by" | "through") {
            return Some((1 + more, Written { part: Part::Day { month: 12, day: 31 }, ..whole }));
        }
        Some((1 + more, whole.third(third)?))
    }

    /// "of" and a month or year.
    fn whole(&self, at: usize) -> Read {
        if !self.is(at, &["of", "in"]) {
            return None;
        }
        let the = usize::from(self.is(at + 1, &["the"]));
        let (more, whole) = self.month_and_more(at + 1 + the).or_else(|| self.years(at + 1))?;
        Some((1 + the + more, whole))
    }

    /// Whether the date at `at` is divided by words that are not understood: "the third term of 2023".
    pub fn divided(&self, at: usize) -> bool {
        let back = if self.before(at, 1) == "of" { 2 } else { 1 };
        let unit = self.before(at, back);
        back == 2 && UNITS.contains(&unit) && !matches!(unit, "month" | "day")
    }

    /// Several days of one month, the ends of a range or a list: `8 to 24 November 2023`, `November 8-24`, `8, 9 and 10
    /// November`. With the number of words.
    pub fn days_of_a_month(&self, at: usize) -> Option<(usize, Vec<Written>)> {
        if let Some((next, days)) = self.days(at) {
            let month_at = next + usize::from(self.is(next, &["of"]));
            let month = self.month(month_at)?;
            let (more, year) = self.year_of(month_at + 1);
            let days = days.into_iter().map(|day| Written::day(year, month, day)).collect();
            return Some((month_at + 1 + more - at, days));
        }
        let month = self.month(at)?;
        let (next, days) = self.days(at + 1)?;
        // "November 8 to 24 December" is a range of two dates.
        if self.month(next).is_some() {
            return None;
        }
        let (more, year) = self.year_of(next);
        Some((next + more - at, days.into_iter().map(|day| Written::day(year, month, day)).collect()))
    }

    /// Two or more days, and where the sentence goes on. Those before the last may stand without a word in between.
    fn days(&self, at: usize) -> Option<(usize, Vec<i64>)> {
        let (length, first) = self.day(at).or_else(|| self.ordinal(at).filter(|(_, day)| *day > 0))?;
        let (mut next, mut days) = (at + length, vec![first]);
        loop {
            let linked = self.joined(next) || self.is(next, BETWEEN);
            let mut from = next + usize::from(self.is(next, BETWEEN));
            from += usize::from(self.is(from, &["the"]));
            let (length, day) = self.day(from)?;
            if days.contains(&day) {
                return None;
            }
            days.push(day);
            next = from + length;
            if linked && !self.is(next, BETWEEN) {
                return Some((next, days));
            }
        }
    }
}
