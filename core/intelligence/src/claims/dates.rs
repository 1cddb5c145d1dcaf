//! Dates as people write them: days, months, years and named parts of those, of which the year may be missing; and figures
//! that look like a date and are none.

use super::*;

/// A date as written: so many years, or from a day of a month to one of another. That is in the next year where its month
/// comes first ("winter"); a last day behind the end of its month stands for its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub year: Option<i64>,
    pub from: (i64, i64),
    pub to: (i64, i64),
    /// How many years; none of a part of one.
    pub years: i64,
}

impl Written {
    pub const fn years(first: i64, years: i64) -> Written {
        Written { year: Some(first), from: (1, 1), to: (12, 31), years }
    }

    pub const fn months(year: Option<i64>, (from, to): (i64, i64)) -> Written {
        Written { year, from: (from, 1), to: (to, 31), years: 0 }
    }

    const fn days(year: Option<i64>, month: i64, (first, last): (i64, i64)) -> Written {
        Written { year, from: (month, first), to: (month, last), years: 0 }
    }

    const fn day(year: Option<i64>, month: i64, day: i64) -> Written {
        Written::days(year, month, (day, day))
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

    /// The days it means; without a year those of the latest one that has begun or, of what is to come, of the next to end.
    pub fn resolve(self, today: Date, ahead: bool) -> Option<When> {
        let mut years = (0..=8).filter_map(|by| self.in_year(if ahead { today.year + by } else { today.year - by }));
        match self.year {
            Some(year) => self.in_year(year),
            None => years.find(|when| if ahead { when.last >= today } else { when.first <= today }),
        }
    }

    /// A part of a year or a month by its name, or by its number and unit; the -1st is the last.
    fn divided_by(self, name: &str) -> Option<Written> {
        let month = self.from.0;
        match (self.years, name) {
            (1, "1 day") => Some(Written::day(self.year, 1, 1)),
            (1, "-1 day") => Some(Written::day(self.year, 12, 31)),
            (1, _) => Some(Written::months(self.year, span("dates.of_a_year", name)?)),
            // Nobody divides other parts.
            (0, _) if self == Written::months(self.year, (month, month)) => {
                let (first, last) = span("dates.of_a_month", name)?;
                // The last days of a month differ by its length; without its year, as of the longest.
                let length = Date::new(self.year.unwrap_or(2000), month, 1)?.last_of_month().day;
                Some(Written::days(self.year, month, (if first > 0 { first } else { length + first }, last)))
            }
            _ => None,
        }
    }
}

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

pub const YEARS: std::ops::RangeInclusive<i64> = 1990..=2099;

const fn century(short: i64) -> i64 {
    if short < 90 { 2000 + short } else { 1900 + short }
}

/// A date in figures, before the calendar is asked.
fn numbers(year: i64, month: i64, day: Option<i64>) -> Option<Written> {
    let fits = YEARS.contains(&year) && (1..=12).contains(&month) && day.is_none_or(|day| (1..=31).contains(&day));
    let written = day.map_or(Written::months(Some(year), (month, month)), |day| Written::day(Some(year), month, day));
    fits.then_some(written)
}

/// The two numbers that a list gives to a name: of a part of a year, its first and last month.
pub fn span(list: &str, name: &str) -> Option<(i64, i64)> {
    let (first, last) = lexicon::value(list, name)?.split_once(' ')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// What stands between the two ends of a range, or the last two of a list.
pub const BETWEEN: &str = "to|and|or|until|till|through|thru";

type Read = Option<(usize, Written)>;

impl Reader<'_> {
    /// A month by name. "may", "march" and some short forms are other words too: those are months with a capital, and in
    /// lower case only where the words around leave nothing else.
    pub fn month(&self, at: usize) -> Option<i64> {
        let word = self.word(at)?;
        let Some(month) = month_named(&word.lower) else {
            // "13 Janury 2021": beside a day or a year the name of a month may have a slip.
            return month_misspelt(&word.lower).filter(|_| self.fits(at, "dates.beside_a_month"));
        };
        let doubtful = word.is("may|march|mar|jan|dec");
        let capital = word.is_capital() && at > 0 && !self.shouting;
        (!doubtful || capital || self.fits(at, "dates.surely_a_month")).then_some(month)
    }

    /// A year at a place, which "of" may precede: its number of words.
    fn year_of(&self, at: usize) -> (usize, Option<i64>) {
        let of = usize::from(self.is(at, "of|in"));
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

    pub fn written(&self, at: usize) -> Read {
        self.named(at, "dates.parts")
            .or_else(|| self.part_of_a_year(at))
            .or_else(|| self.numeric(at))
            .or_else(|| self.day_of_month(at))
            .or_else(|| self.month_and_more(at))
            .or_else(|| self.named(at, "dates.seasons"))
            .or_else(|| self.feast(at))
            .or_else(|| self.years(at))
    }

    /// `Christmas Eve 2023`, `on New Year's Day`: a day that has a name, which without a year may be part of another.
    fn feast(&self, at: usize) -> Read {
        let (length, month, day) = feast(*self, at)?;
        let (more, year) = self.year_of(at + length);
        let year = year.or_else(|| self.read(at.checked_sub(1)?, self::year));
        let known = year.is_some() || self.fits(at, "feasts.led");
        known.then(|| (length + more, Written::day(year, month, day)))
    }

    fn years(&self, at: usize) -> Read {
        let decade = |word: &Word<'_>| digits(word.lower.strip_suffix('s')?.trim_end_matches('\''), 4);
        if let Some(first) = self.read(at, decade).filter(|first| first % 10 == 0 && YEARS.contains(first)) {
            return Some((1, Written::years(first, 10)));
        }
        let year = self.read(at, year)?;
        // A part of a longer figure is no year: 13/13/2023.
        let before = at.checked_sub(1).filter(|before| self.joined(at) && self.read(*before, number).is_some());
        let of_range = before.is_none_or(|before| self.read(before, self::year).is_some());
        let alone = of_range && !self.begins_other_date(at) && feast(*self, at + 1).is_none();
        if let Some(months) = span("dates.parts", self.lower(at + 1)).filter(|_| alone) {
            return Some((2, Written::months(Some(year), months)));
        }
        alone.then_some((1, Written::years(year, 1)))
    }

    /// `2023-11-08`, `8/11/2023`, `2023/11`, `11/2023`, `08.11.2023`, `20231108`, "on 5.6.21", "2023/24".
    fn numeric(&self, at: usize) -> Read {
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
        let short = !dotted || self.was(at, 1, "on|since|from|until|by|before|after");
        let of_two = !self.joined(at) && !self.joined(at + 2) && !self.of_list(at.wrapping_sub(1), "dates.numbered");
        // Day first, unless only the other order is a date.
        let of = |a, b, year| if b > 12 { numbers(year, a, Some(b)) } else { numbers(year, b, Some(a)) };
        let written = match *figures?.as_slice() {
            [(all, 8)] => numbers(all / 10_000, all / 100 % 100, Some(all % 100)),
            [(year, 4), (next, 2)] if !dotted && of_two && next == (year + 1) % 100 && !(1..=12).contains(&next) => {
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

    /// A day as a figure or in words, with its number of words: `8`, `8th`, or `eighth` before "of".
    fn day(&self, at: usize) -> Option<(usize, i64)> {
        if let Some(day) = self.read(at, day) {
            return Some((1, day));
        }
        let (length, day) = self.ordinal(at)?;
        self.is(at + length, "of").then_some((length, day))
    }

    pub fn ordinal(&self, at: usize) -> Option<(usize, i64)> {
        let simple =
            |at: usize| lexicon::place("dates.ordinals", |name| name == self.lower(at)).map(|before| before + 1);
        let figure = || self.read(at, |word| number(word).filter(|n| *n < 5 && word.lower.len() == 3));
        let tens = match self.lower(at) {
            "twenty" => 20,
            "thirty" => 30,
            "thirtieth" => return Some((1, 30)),
            "last" | "final" => return Some((1, -1)),
            _ => return simple(at).or_else(figure).map(|n| (1, n)),
        };
        simple(at + 1).filter(|one| *one < 10).map(|one| (2, tens + one))
    }

    fn day_of_month(&self, at: usize) -> Read {
        let (length, day) = self.day(at)?;
        let month_at = at + length + usize::from(self.is(at + length, "of"));
        let month = self.month(month_at)?;
        let (more, year) = self.year_of(month_at + 1);
        Some((month_at + 1 + more - at, Written::day(year, month, day)))
    }

    /// `November 8, 2023`, `November the 8th`, `November 2023`, `Nov`.
    fn month_and_more(&self, at: usize) -> Read {
        let month = self.month(at)?;
        let next = at + 1;
        if let (more, Some(year)) = self.year_of(next) {
            return Some((1 + more, Written::months(Some(year), (month, month))));
        }
        let the = usize::from(self.is(next, "the"));
        if let Some(day) = self.read(next + the, day) {
            let (more, year) = self.year_of(next + the + 1);
            return Some((2 + the + more, Written::day(year, month, day)));
        }
        Some((1, Written::months(None, (month, month))))
    }

    /// `summer 2023`, `the autumn of 2023`, `Q4 2023`. The winter of a year begins in its December.
    fn named(&self, at: usize, list: &str) -> Read {
        let months = span(list, self.lower(at))?;
        let (more, year) = self.year_of(at + 1);
        year.map(|year| (1 + more, Written::months(Some(year), months)))
    }

    /// `the first half of 2023`, `the second week of November`, `late November 2023`, `the end of 2023`.
    fn part_of_a_year(&self, at: usize) -> Read {
        if let Some((length, number)) = self.ordinal(at) {
            let (more, whole) = self.whole(at + length + 1).filter(|_| self.of_list(at + length, "dates.units"))?;
            return Some((length + 1 + more, whole.divided_by(&format!("{number} {}", self.lower(at + length)))?));
        }
        let (more, whole) = if self.is(at, "early|mid|late") {
            self.month_and_more(at + 1).or_else(|| self.years(at + 1))?
        } else {
            let third = self.is(at, "beginning|start|middle|end|close") && self.is(at + 1, "of");
            self.whole(at + 1).filter(|_| third)?
        };
        // "Until the end of 2023": its last day.
        let last = self.is(at, "end|close") && self.was(at, 2, "until|till|by|through") && whole.years == 1;
        Some((1 + more, whole.divided_by(if last { "-1 day" } else { self.lower(at) })?))
    }

    fn whole(&self, at: usize) -> Read {
        if !self.is(at, "of|in") {
            return None;
        }
        let the = usize::from(self.is(at + 1, "the"));
        let (more, whole) = self.month_and_more(at + 1 + the).or_else(|| self.years(at + 1))?;
        Some((1 + the + more, whole))
    }

    /// Several days of one month: `8 to 24 November 2023`, `November 8-24`, `8, 9 and 10 November`; with their words.
    pub fn days_of_a_month(&self, at: usize) -> Option<(usize, Vec<Written>)> {
        let led = self.month(at).is_some();
        let (mut next, days) = self.days(at + usize::from(led))?;
        let month_at = if led { at } else { next + usize::from(self.is(next, "of")) };
        let month = self.month(month_at)?;
        // "November 8 to 24 December" is a range of two dates.
        if led && self.month(next).is_some() {
            return None;
        }
        next = next.max(month_at + 1);
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
            from += usize::from(self.is(from, "the"));
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

    pub fn is_overlong_year(&self, at: usize) -> bool {
        let text = self.lower(at);
        let long = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        long && (text.starts_with("19") || text.starts_with("20"))
    }

    /// How many words at a place look like a date and are none: `2023/25`, `13/13/2023`, `32 November`, `1850` after "in".
    pub fn unreadable(&self, at: usize) -> Option<usize> {
        let led = self.was(at, 1, "in|since|until|during");
        // "9Nov2023", "Nov.9"
        let letters = self.lower(at).trim_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        let glued = letters.len() < self.lower(at).len() && month_named(letters).is_some();
        if glued || self.is_overlong_year(at) && led {
            return Some(1);
        }
        let figure = |at: usize| self.read(at, number);
        figure(at).filter(|_| at == 0 || !self.joined(at))?;
        let length = 1 + (at + 1..).take_while(|at| self.joined(*at) && figure(*at).is_some()).count();
        if length > 1 {
            let year = (at..at + length).any(|at| self.read(at, year).is_some());
            return (!self.of_list(at.wrapping_sub(1), "dates.numbered") && year).then_some(length);
        }
        let plain = |most: usize| self.read(at, |word| digits(&word.lower, most));
        let of_old = plain(4).is_some_and(|year| (1000..2999).contains(&year)) && self.fits(at + 1, "dates.ends");
        // The 32nd of a month.
        let alone = self.read(at, day).is_none() && plain(2).is_some() && self.fits(at, "dates.beside_its_month");
        (alone || of_old && led).then_some(length)
    }
}

const LONG: usize = 5;

/// A month by its name or short form, in lower case.
pub fn month_named(name: &str) -> Option<i64> {
    let short = name.len() == 3 || name == "sept";
    lexicon::place("months", |month| month == name || short && month.starts_with(name)).map(|before| before + 1)
}

/// A month whose long name differs from a word by one letter, or by two that changed places: "janury", "septembre".
pub fn month_misspelt(word: &str) -> Option<i64> {
    let near = |name: &str| name.len() >= LONG && is_one_slip(word.as_bytes(), name.as_bytes());
    let plain = word.is_ascii() && !lexicon::list("months.others").has(word);
    lexicon::place("months", |month| plain && near(month)).map(|before| before + 1)
}

/// Whether one letter was left out, added or changed, or two that stand side by side changed places.
fn is_one_slip(a: &[u8], b: &[u8]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let tail = |of: &[u8], from: usize| of.get(same + from..).unwrap_or_default().to_vec();
    let swapped = a.get(same) == b.get(same + 1) && b.get(same) == a.get(same + 1) && tail(a, 2) == tail(b, 2);
    a != b && (swapped || tail(a, 1) == tail(b, 1) || tail(a, 1) == tail(b, 0) || tail(a, 0) == tail(b, 1))
}

/// The number of words of a phrase, where a sentence has it at a place with a capital letter.
fn length_of(text: Reader<'_>, at: usize, phrase: &str) -> Option<usize> {
    let mut words = phrase.split(' ').enumerate();
    let named = (text.shouting || text.capital(at)) && words.all(|(on, word)| text.lower(at + on) == word);
    named.then(|| phrase.split(' ').count())
}

/// A feast of one day everywhere at a place: its number of words, month and day.
pub fn feast(text: Reader<'_>, at: usize) -> Option<(usize, i64, i64)> {
    if at.checked_sub(1).is_some_and(|before| is_moving_feast(text, before)) {
        return None;
    }
    lexicon::list("feasts.fixed").items.iter().find_map(|item| {
        let (date, phrase) = item.split_once(' ')?;
        let (month, day) = date.split_once('-')?;
        Some((length_of(text, at, phrase)?, digits(month, 2)?, digits(day, 2)?))
    })
}

/// Whether a day begins at a place that has a name and moves, or is another one in each country.
pub fn is_moving_feast(text: Reader<'_>, at: usize) -> bool {
    // "On its founding day", "Mashujaa Day", "Black Friday"
    let named = text.fits(at, "feasts.of_a_day") || !text.shouting && text.fits(at, "feasts.named");
    let moving = lexicon::list("feasts.moving").items.iter().find_map(|phrase| length_of(text, at, phrase));
    moving.or(named.then_some(2)).is_some_and(|length| !text.fits(at + length, "feasts.no_day"))
}

/// Puts figures in place of years in words, so that whoever reads dates need not know of them.
pub fn in_figures(words: Vec<Word<'_>>) -> Vec<Word<'_>> {
    let text = Reader::of(&words);
    let (mut told, mut at) = (Vec::with_capacity(words.len()), 0);
    while let Some(word) = words.get(at) {
        let (length, lower) = match year_in_words(text, at) {
            Some((length, year)) => (length, year.to_string()),
            None => (1, word.lower.clone()),
        };
        told.push(Word { lower, ..word.clone() });
        at += length;
    }
    told
}

/// "In twenty twenty-three", "since two thousand and nineteen": what follows other words may be a number of anything.
fn year_in_words(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let (length, century) = match text.lower(at) {
        "nineteen" => (1, 1900),
        "twenty" => (1, 2000),
        "two" if text.is(at + 1, "thousand") => (2 + usize::from(text.is(at + 2, "and")), 2000),
        _ => return None,
    };
    let before = at.checked_sub(1).and_then(|at| text.word(at))?;
    let leads = before.is_of("years.before") || number(before).is_some() || month_named(&before.lower).is_some();
    let (more, rest) = below_hundred(text, at + length)?;
    // "In twenty two networks" is of 22.
    let two_parts = length > 1 || rest > 9;
    (leads && two_parts && YEARS.contains(&(century + rest))).then_some((length + more, century + rest))
}

fn below_hundred(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let small = |at: usize| {
        let named = !text.is(at, "|a|an|few|several") && text.read(at, number).is_none();
        quantity(text, at).filter(|(length, _)| named && *length == 1)
    };
    let Some(tens) = lexicon::place("numbers.tens", |name| name == text.lower(at)) else { return small(at) };
    let one = small(at + 1).filter(|(_, one)| *one < 10);
    Some(one.map_or((1, (tens + 2) * 10), |(_, one)| (2, (tens + 2) * 10 + one)))
}
