//! Dates as people write them: days, months, years and named parts of those, of which the year may be missing; numbers
//! in words; and figures that look like a date and are none. Patterns of the lexicon have their forms
//! ("dates.written"), and here is what they mean.

use super::*;

/// A date as written: so many years, or from a day of a month to one of another. That is in the next year where its
/// month comes first ("winter"); a last day behind the end of its month stands for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub year: Option<i64>,
    pub from: (i64, i64),
    pub to: (i64, i64),
    /// How many years; none of a part of one.
    pub years: i64,
    /// It was counted from today, and nobody wrote it.
    pub counted: bool,
}

impl Written {
    pub const fn years(first: i64, years: i64) -> Written {
        Written { year: Some(first), from: (1, 1), to: (12, 31), years, counted: false }
    }

    pub const fn months(year: Option<i64>, (from, to): (i64, i64)) -> Written {
        Written { year, from: (from, 1), to: (to, 31), years: 0, counted: false }
    }

    const fn day(year: Option<i64>, month: i64, day: i64) -> Written {
        Written { year, from: (month, day), to: (month, day), years: 0, counted: false }
    }

    pub const fn counted(When { first, last, .. }: When) -> Written {
        let (from, to) = ((first.month, first.day), (last.month, last.day));
        Written { year: Some(first.year), from, to, years: last.year - first.year + 1, counted: true }
    }

    /// From what a pattern kept: a day, or a month, a year or a part of one.
    fn of(taken: &PatternMatch) -> Option<Written> {
        let (year, month, day) = (taken.number("year"), taken.number("month"), taken.number("day"));
        let part = taken.pair("part").or(lexicon::pair(taken.says));
        Some(match (month.zip(day).or(taken.pair("date")), month, part) {
            (Some((month, day)), ..) => Written::day(year, month, day),
            (None, Some(month), Some((first, last))) => {
                // The last days of a month differ by its length; without its year, as of the longest.
                let length = Date::new(year.unwrap_or(2000), month, 1)?.last_of_month().day;
                let first = if first > 0 { first } else { length + first };
                Written { year, from: (month, first), to: (month, last), years: 0, counted: false }
            }
            (None, Some(month), None) => Written::months(year, (month, month)),
            (None, None, Some(months)) => Written::months(year, months),
            (None, None, None) => match taken.number("decade") {
                Some(first) => Written::years(first, 10),
                None => Written::years(year?, 1),
            },
        })
    }

    pub fn is_day(self) -> bool {
        self.from == self.to
    }

    pub fn in_year(self, year: i64) -> Option<When> {
        let last_year = year + (self.years - 1).max(i64::from(self.to.0 < self.from.0));
        let last = |day: i64| Date::new(last_year, self.to.0, day);
        let last = last(self.to.1).or(Some(last(1)?.last_of_month()));
        Some(When::new(Date::new(year, self.from.0, self.from.1)?, last?))
    }

    /// The days it means; without a year those of the latest one that has begun or, of what is to come, of the next to
    /// end.
    pub fn resolve(self, today: Date, ahead: bool) -> Option<When> {
        let mut years = (0..=8).filter_map(|by| self.in_year(if ahead { today.year + by } else { today.year - by }));
        match self.year {
            Some(year) => self.in_year(year),
            None => years.find(|when| if ahead { when.last >= today } else { when.first <= today }),
        }
    }
}

pub fn digits(text: &str, most: usize) -> Option<i64> {
    let plain = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

fn number(word: &Word<'_>) -> Option<i64> {
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

/// "The 1990s".
pub fn decade(word: &Word<'_>) -> Option<i64> {
    let first = digits(word.lower.strip_suffix('s')?.trim_end_matches('\''), 4)?;
    Some(first).filter(|first| first % 10 == 0 && YEARS.contains(first))
}

pub const YEARS: std::ops::RangeInclusive<i64> = 1990..=2099;

const fn century(short: i64) -> i64 {
    if short < 90 { 2000 + short } else { 1900 + short }
}

/// Days since Monday of a day of the week. Short forms need a capital; "Sat", "Sun" and "Mon" are other words too
/// often.
pub fn weekday(word: &Word<'_>) -> Option<i64> {
    let short = || word.is_capital().then(|| lexicon::value("weekdays.short", &word.lower))?;
    lexicon::value("weekdays", &word.lower).or_else(short)
}

/// A small number in figures or words, with how many words it is. Vague ones are what most people mean.
pub fn quantity(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let named = text.take(at, "numbers").and_then(|taken| Some((taken.length, taken.says.parse().ok()?)));
    named.or_else(|| text.read(at, number).map(|figure| (1, figure)))
}

/// A date in figures, before the calendar is asked.
fn numbers(year: i64, month: i64, day: Option<i64>) -> Option<Written> {
    let fits = YEARS.contains(&year) && (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
    let written = day.map_or(Written::months(Some(year), (month, month)), |day| Written::day(Some(year), month, day));
    fits.then_some(written)
}

impl Reader<'_> {
    /// A month by name. "may", "march" and some short forms are other words too: those are months with a capital, and
    /// in lower case only where the words around leave nothing else.
    pub fn month(&self, at: usize) -> Option<i64> {
        let word = self.word(at)?;
        if let Some(month) = lexicon::value("months", &word.lower) {
            let capital = word.is_capital() && at > 0 && !word.shouted;
            return (capital || self.fits(at, "dates.surely_a_month")).then_some(month);
        }
        // "13 Janury 2021": beside a day or a year the name of a month may have a slip.
        month_misspelt(&word.lower).filter(|_| self.fits(at, "dates.beside_a_month"))
    }

    /// A year that is not the beginning of `2023-11-08`.
    pub fn year(&self, at: usize) -> Option<i64> {
        self.read(at, year).filter(|_| !self.fits(at, "dates.goes_on"))
    }

    /// A date that begins at a place, with its number of words.
    pub fn written(&self, at: usize) -> Option<(usize, Written)> {
        let form = || self.take(at, "dates.written").and_then(|taken| Some((taken.length, Written::of(&taken)?)));
        self.numeric(at).or_else(form)
    }

    /// `2023-11-08`, `8/11/2023`, `2023/11`, `11/2023`, `08.11.2023`, `20231108`, "on 5.6.21", "2023/24".
    fn numeric(&self, at: usize) -> Option<(usize, Written)> {
        self.word(at).filter(|word| word.is_figure())?;
        let dotted = self.lower(at).contains('.');
        // The time may follow the day: 2023-11-08T12.
        let plain = |at: usize| self.lower(at).split('t').next().unwrap_or_default();
        let joined = (at + 1..).take_while(|at| self.joined(*at) && digits(plain(*at), 4).is_some()).take(2);
        let all: Vec<&str> = match dotted {
            true => self.lower(at).split('.').collect(),
            false => std::iter::once(self.lower(at)).chain(joined.map(plain)).collect(),
        };
        let figures: Option<Vec<(i64, usize)>> = all.iter().map(|part| Some((digits(part, 8)?, part.len()))).collect();
        // Two figures after a point may be a version.
        let short = !dotted || self.fits(at, "dates.no_version");
        // Day first, unless only the other order is a date.
        let of = |a, b, year| if b > 12 { numbers(year, a, Some(b)) } else { numbers(year, b, Some(a)) };
        let written = match *figures?.as_slice() {
            [(all, 8)] => numbers(all / 10_000, all / 100 % 100, Some(all % 100)),
            [(year, 4), (next, 2)]
                if self.fits(at, "dates.two_years") && next == (year + 1) % 100 && !(1..=12).contains(&next) =>
            {
                Some(Written::years(year, 2))
            }
            [(year, 4), (month, ..=2)] if !dotted => numbers(year, month, None),
            [(year, 4), (month, ..=2), (day, ..=2)] => numbers(year, month, Some(day)),
            [(month, ..=2), (year, 4)] => numbers(year, month, None),
            [(day, ..=2), (month, ..=2), (year, 4)] => of(day, month, year),
            [(day, ..=2), (month, ..=2), (year @ 10..=40, 2)] if short => of(day, month, century(year)),
            [(day @ 1..=31, ..=2), (month @ 1..=12, ..=2)] if dotted && short => Some(Written::day(None, month, day)),
            _ => None,
        };
        Some((if dotted { 1 } else { all.len() }, written?))
    }

    /// Several days of one month: `8 to 24 November 2023`, `November 8-24`, `8, 9 and 10 November`; with their words.
    pub fn days_of_a_month(&self, at: usize) -> Option<(usize, Vec<Written>)> {
        let taken = self.take(at, "dates.several")?;
        let (days, month, year) = (taken.all("day"), taken.number("month")?, taken.number("year"));
        let once = each_once(days.iter(), PartialEq::eq).len() == days.len();
        once.then(|| (taken.length, days.into_iter().map(|day| Written::day(year, month, day)).collect()))
    }

    pub fn is_overlong_year(&self, at: usize) -> bool {
        self.read(at, |word| digits(&word.lower, 5)).is_some_and(|year| (19_000..21_000).contains(&year))
    }

    /// How many words at a place look like a date and are none: `2023/25`, `13/13/2023`, `32 November`, `1850` after
    /// "in".
    pub fn unreadable(&self, at: usize) -> Option<usize> {
        let lower = self.lower(at);
        // "9Nov2023", "Nov.9"
        let letters = lower.trim_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let glued = letters.len() < lower.len() && lexicon::says("months", letters).is_some();
        let is = |list: &str, within: std::ops::Range<i64>| {
            let figure = self.take(at, list).and_then(|taken| taken.number("digits"));
            figure.is_some_and(|figure| within.contains(&figure))
        };
        let long = self.is_overlong_year(at) && self.fits(at, "dates.in_it");
        let old = lower.len() == 4 && is("dates.of_old", 1_000..2_999);
        // The 32nd of a month.
        let no_day = lower.len() < 3 && (is("dates.no_day", 0..1) || is("dates.no_day", 32..100));
        (glued || long || old || no_day).then_some(1).or_else(|| self.matches(at, "dates.no_figures"))
    }
}

const LONG: usize = 5;

/// A month whose long name differs from a word by one letter, or by two that changed places: "janury", "septembre".
pub fn month_misspelt(word: &str) -> Option<i64> {
    let near = |name: &str| name.len() >= LONG && is_one_slip(word.as_bytes(), name.as_bytes());
    let plain = word.is_ascii() && !lexicon::list("months.others").has(word);
    let (_, month) = lexicon::list("months").pairs().find(|(name, _)| plain && near(name))?;
    month.parse().ok()
}

/// Whether one letter was left out, added or changed, or two that stand side by side changed places.
fn is_one_slip(a: &[u8], b: &[u8]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = |of: &[u8], from: usize| of.get(same + from..).unwrap_or_default().to_vec();
    let swapped = a.get(same) == b.get(same + 1) && b.get(same) == a.get(same + 1) && tail(a, 2) == tail(b, 2);
    a != b && (swapped || tail(a, 1) == tail(b, 1) || tail(a, 1) == tail(b, 0) || tail(a, 0) == tail(b, 1))
}

/// Puts figures in place of years in words, so that whoever reads dates need not know of them.
pub fn in_figures(words: Vec<Word<'_>>) -> Vec<Word<'_>> {
    let text = Reader::of(&words);
    let (mut told, mut at) = (Vec::with_capacity(words.len()), 0);
    while let Some(word) = words.get(at) {
        // What follows other words may be a number of anything: "in twenty two networks" is of 22.
        let year = text.take(at, "years").and_then(|taken| {
            let parts = ["tens", "teens", "ones"].iter().filter_map(|part| taken.number(part));
            Some((taken.length, taken.says.parse::<i64>().ok()? + parts.sum::<i64>()))
        });
        let year = year.filter(|(_, year)| YEARS.contains(year));
        told.push(Word {
            lower: year.map_or_else(|| word.lower.clone(), |(_, year)| year.to_string()),
            ..word.clone()
        });
        at += year.map_or(1, |(length, _)| length);
    }
    told
}
