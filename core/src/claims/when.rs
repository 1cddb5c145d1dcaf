//! The time that a claim speaks of: days and spans of days, in UTC.

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
    const fn new(first: Date, last: Date) -> When {
        When { first, last, span: Span::During }
    }

    const fn day(day: Date) -> When {
        When::new(day, day)
    }

    pub fn is_one_day(self) -> bool {
        self.first == self.last
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

/// A date as written: parts may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Written {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
}

impl Written {
    const fn new(year: Option<i64>, month: Option<i64>, day: Option<i64>) -> Written {
        Written { year, month, day }
    }

    /// Takes what is missing from the other end of a range.
    fn or(self, other: Written) -> Written {
        let year = self.year.or(other.year);
        Written { year, month: self.month.or(if self.day.is_some() { other.month } else { None }), day: self.day }
    }

    /// The days it means; without a year those of the latest one that does not lie ahead.
    fn resolve(self, today: Date) -> Option<When> {
        let in_year = |year: i64| match (self.month, self.day) {
            (Some(month), Some(day)) => Date::new(year, month, day).map(When::day),
            (Some(month), None) => {
                let first = Date::new(year, month, 1)?;
                Some(When::new(first, first.last_of_month()))
            }
            _ => Some(When::new(Date::new(year, 1, 1)?, Date::new(year, 12, 31)?)),
        };
        match self.year {
            Some(year) => in_year(year),
            None => [today.year, today.year - 1]
                .into_iter()
                .filter_map(in_year)
                .find(|when| when.first <= today)
                // 29 February is not in every year.
                .or_else(|| (1..=8).filter_map(|back| in_year(today.year - back)).find(|when| when.first <= today)),
        }
    }
}

const MONTHS: [(&str, i64); 24] = [
    ("january", 1),
    ("jan", 1),
    ("february", 2),
    ("feb", 2),
    ("march", 3),
    ("mar", 3),
    ("april", 4),
    ("apr", 4),
    ("may", 5),
    ("june", 6),
    ("jun", 6),
    ("july", 7),
    ("jul", 7),
    ("august", 8),
    ("aug", 8),
    ("september", 9),
    ("sep", 9),
    ("sept", 9),
    ("october", 10),
    ("oct", 10),
    ("november", 11),
    ("nov", 11),
    ("december", 12),
    ("dec", 12),
];

/// A month by name. "may", "march" and "mar" are words too, and months only with a capital.
fn month(word: &Word<'_>) -> Option<i64> {
    let (_, month) = MONTHS.iter().find(|(name, _)| *name == word.lower)?;
    let doubtful = matches!(word.lower.as_str(), "may" | "march" | "mar" | "jan" | "dec");
    (!doubtful || word.is_capital()).then_some(*month)
}

fn number(word: &Word<'_>) -> Option<i64> {
    let text = word.lower.as_str();
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text);
    (digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

fn day(word: &Word<'_>) -> Option<i64> {
    number(word).filter(|day| (1..=31).contains(day))
}

fn year(word: &Word<'_>) -> Option<i64> {
    (word.lower.len() == 4).then(|| number(word))?.filter(|year| (1990..=2099).contains(year))
}

/// Small numbers in words, for "two weeks ago".
fn quantity(word: &Word<'_>) -> Option<i64> {
    const WORDS: [&str; 13] =
        ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    if matches!(word.lower.as_str(), "a" | "an") {
        return Some(1);
    }
    let named =
        WORDS.iter().position(|name| !name.is_empty() && *name == word.lower).and_then(|n| i64::try_from(n).ok());
    named.or_else(|| number(word))
}

struct Reader<'a> {
    words: &'a [Word<'a>],
    today: Date,
}

impl<'a> Reader<'a> {
    fn word(&self, at: usize) -> Option<&'a Word<'a>> {
        self.words.get(at)
    }

    fn lower(&self, at: usize) -> &str {
        self.word(at).map_or("", |word| word.lower.as_str())
    }

    fn is(&self, at: usize, list: &[&str]) -> bool {
        list.contains(&self.lower(at))
    }

    fn read<T>(&self, at: usize, read: impl Fn(&Word<'_>) -> Option<T>) -> Option<T> {
        self.word(at).and_then(read)
    }

    /// A date that begins at `at`, with its number of words.
    fn written(&self, at: usize) -> Option<(usize, Written)> {
        self.numeric(at).or_else(|| self.named(at)).or_else(|| {
            let year = self.read(at, year)?;
            let next = self.word(at + 1).filter(|next| next.joined);
            let alone = next.is_none_or(|next| self::year(next).is_some());
            alone.then_some((1, Written::new(Some(year), None, None)))
        })
    }

    /// `2023-11-08`, `8/11/2023`, `2023/11`.
    fn numeric(&self, at: usize) -> Option<(usize, Written)> {
        let joined = |at: usize| self.word(at).filter(|word| word.joined);
        let second = joined(at + 1)?;
        if let Some(year) = self.read(at, year) {
            let month = number(second).filter(|month| (1..=12).contains(month))?;
            // The time may follow the day: 2023-11-08T12.
            let third = joined(at + 2).and_then(|word| word.lower.split('t').next().map(str::to_owned));
            let day = third.and_then(|text| text.parse::<i64>().ok()).filter(|day| (1..=31).contains(day));
            return Some((if day.is_some() { 3 } else { 2 }, Written::new(Some(year), Some(month), day)));
        }
        let (first, second) = (self.read(at, day)?, day(second)?);
        let year = joined(at + 2).and_then(year)?;
        // Day first, unless only the other order is a date.
        let (day, month) = if second > 12 { (second, first) } else { (first, second) };
        (month <= 12).then_some((3, Written::new(Some(year), Some(month), Some(day))))
    }

    /// `8 November 2023`, `the 8th of November`, `November 8, 2023`, `late November 2023`, `Nov`.
    fn named(&self, at: usize) -> Option<(usize, Written)> {
        if let Some(day) = self.read(at, day) {
            let of = usize::from(self.is(at + 1, &["of"]));
            let month = self.read(at + 1 + of, month)?;
            let year = self.read(at + 2 + of, year);
            return Some((2 + of + usize::from(year.is_some()), Written::new(year, Some(month), Some(day))));
        }
        let early = usize::from(self.is(at, &["early", "mid", "late"]));
        let month = self.read(at + early, month)?;
        let next = at + early + 1;
        if let Some(year) = self.read(next, year) {
            return Some((early + 2, Written::new(Some(year), Some(month), None)));
        }
        if let Some(day) = self.read(next, day) {
            let year = self.read(next + 1, year);
            return Some((early + 2 + usize::from(year.is_some()), Written::new(year, Some(month), Some(day))));
        }
        let of = usize::from(self.is(next, &["of"]));
        let year = self.read(next + of, year);
        let length = early + 1 + if year.is_some() { of + 1 } else { 0 };
        Some((length, Written::new(year, Some(month), None)))
    }

    /// Two days of one month: `8 to 24 November 2023`, `November 8-24, 2023`, `8 and 24 November`.
    fn days_of_a_month(&self, at: usize) -> Option<(Written, Written)> {
        if let (Some(first), Some((gap, second))) = (self.read(at, day), self.second_day(at + 1)) {
            let after = at + 1 + gap + 1;
            let of = usize::from(self.is(after, &["of"]));
            let month = self.read(after + of, month)?;
            let year = self.read(after + of + 1, year);
            return Some((Written::new(year, Some(month), Some(first)), Written::new(year, Some(month), Some(second))));
        }
        let month = self.read(at, month)?;
        let first = self.read(at + 1, day)?;
        let (gap, second) = self.second_day(at + 2)?;
        // "November 8 to 24 December" is a range of two dates.
        if self.read(at + 2 + gap + 1, self::month).is_some() {
            return None;
        }
        let year = self.read(at + 2 + gap + 1, year);
        Some((Written::new(year, Some(month), Some(first)), Written::new(year, Some(month), Some(second))))
    }

    /// A day after a dash or a word for one: words in between, and the day.
    fn second_day(&self, at: usize) -> Option<(usize, i64)> {
        if self.word(at)?.joined {
            return Some((0, self.read(at, day)?));
        }
        let gap = usize::from(self.is(at, BETWEEN)) + usize::from(self.is(at, BETWEEN) && self.is(at + 1, &["the"]));
        (gap > 0).then(|| self.read(at + gap, day)).flatten().map(|day| (gap, day))
    }

    fn relative(&self, at: usize) -> Option<When> {
        let today = self.today;
        let back = |days: i64| today.plus(-days);
        let span = |days: i64| Some(When::new(back(days), today));
        match self.lower(at) {
            "today" | "tonight" | "currently" | "now" => Some(When::day(today)),
            "yesterday" => Some(When::day(back(1))),
            "this" | "last" | "past" | "previous" => {
                let last = self.lower(at) != "this";
                if let (true, Some(count)) = (last, self.read(at + 1, quantity)) {
                    return span(count.checked_mul(unit(self.lower(at + 2))?)?);
                }
                match (self.lower(at + 1), last) {
                    ("week", false) => span(today.weekday()),
                    ("week", true) => {
                        let monday = back(today.weekday() + 7);
                        Some(When::new(monday, monday.plus(6)))
                    }
                    ("month", false) => Some(When::new(today.first_of_month(), today)),
                    ("month", true) => {
                        let last = today.first_of_month().plus(-1);
                        Some(When::new(last.first_of_month(), last))
                    }
                    ("year", false) => Some(When::new(Date::new(today.year, 1, 1)?, today)),
                    ("year", true) => Written::new(Some(today.year - 1), None, None).resolve(today),
                    (_, true) => {
                        let month = self.read(at + 1, month)?;
                        Written::new(None, Some(month), None).resolve(today)
                    }
                    _ => None,
                }
            }
            _ if self.is(at + 2, &["ago"]) => {
                let count = self.read(at, quantity)?;
                let days = unit(self.lower(at + 1))?.checked_mul(count)?;
                Some(When::day(back(days)))
            }
            _ => None,
        }
    }
}

const BETWEEN: &[&str] = &["to", "and", "until", "till", "through", "thru"];

/// Days of a unit of time.
fn unit(word: &str) -> Option<i64> {
    Some(match word.trim_end_matches('s') {
        "day" => 1,
        "week" => 7,
        "month" => 30,
        "year" => 365,
        _ => return None,
    })
}

/// The days that a sentence speaks of, as seen from `now`; `None` when it names none.
pub fn when(words: &[Word<'_>], now: Timestamp) -> Option<When> {
    let today = Date::from_days(now.day());
    let reader = Reader { words, today };
    for at in 0..words.len() {
        if let Some((first, second)) = reader.days_of_a_month(at) {
            return range(first, second, today);
        }
        if let Some((length, first)) = reader.written(at) {
            let next = at + length;
            let second = if words.get(next).is_some_and(|word| word.joined) {
                reader.written(next)
            } else if reader.is(next, BETWEEN) {
                reader.written(next + 1 + usize::from(reader.is(next + 1, &["the"])))
            } else {
                None
            };
            if let Some((_, second)) = second {
                return range(first, second, today);
            }
            let found = first.resolve(today)?;
            let before = |back: usize| at.checked_sub(back).map_or("", |at| reader.lower(at));
            let word = if matches!(before(1), "the" | "early" | "mid" | "late") { before(2) } else { before(1) };
            // "after the 2021 coup" tells when the coup was.
            let event = word == "after" && before(1) == "the" && first.day.is_none();
            return Some(match word {
                "since" | "after" if !event => {
                    When { first: found.first, last: today.max(found.first), span: Span::Since }
                }
                _ => found,
            });
        }
        if let Some(found) = reader.relative(at) {
            let since = at.checked_sub(1).is_some_and(|before| reader.is(before, &["since"]));
            return Some(if since { When { last: today, span: Span::Since, ..found } } else { found });
        }
    }
    None
}

fn range(first: Written, second: Written, today: Date) -> Option<When> {
    let (first, second) = (first.or(second), second.or(first));
    let (from, to) = (first.resolve(today)?, second.resolve(today)?);
    let (from, to) = match first.year {
        // "from December to January": the year turns in between.
        None if to.last < from.first => {
            (Written { year: Some(from.first.year - 1), ..first }.resolve(today).filter(|f| f.first <= to.last)?, to)
        }
        _ => (from, to),
    };
    (from.first <= to.last).then_some(When { first: from.first, last: to.last, span: Span::Range })
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
            ("in late November 2023", "2023-11-01/2023-11-30"),
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
            ("after March 2024", "2024-03-01/2026-11-20"),
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
}
