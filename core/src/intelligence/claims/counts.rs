//! Counts and comparisons: how many shutdowns a country had, which of two had more, which had most. The rows of the shutdown
//! table answer them for the days that it covers.

use super::check::{Judgement, Verdict, Why};
use super::clauses::Mood;
use super::dates::{self, Reader, digits};
use super::lexicon::Words;
use super::parse::Reading;
use super::places::Mention;
use super::relative::quantity;
use super::subjects::Topic;
use super::when::When;
use super::words::{Pause, Word};
use crate::engine::runtime::{self, Runtime};
use crate::facts::source::Source;
use crate::facts::starter::Country;
use crate::intelligence::world::{self, EventHistory, EventMark};
use crate::{Result, engine::small_sort};

/// What a claim counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Counting {
    pub country: &'static Country,
    pub kind: Kind,
    pub when: Option<When>,
    /// Places of the words that say so.
    pub words: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// So many, at least and at most.
    Number {
        least: f64,
        most: f64,
    },
    MoreThan(&'static Country),
    FewerThan(&'static Country),
    /// The most of all, or of a continent.
    Most(Option<&'static str>),
}

/// What the table says to it.
pub struct Answer {
    pub judgement: Judgement,
    /// One sentence that names the source.
    pub reason: String,
    /// The licence of the table.
    pub licence: &'static str,
}

/// A number may be off by this share of what the table has; one that is "about" so many by the second.
const OFF: f64 = 0.05;
const ABOUT: f64 = 0.25;
/// How sure it is what a table of rows that people wrote says of their number. Our choice.
const SURE: f64 = 0.9;
/// The table covers a time whose end lies so many days or fewer behind its newest row. Our choice.
const COVERED: i64 = 31;

static NOUNS: Words = Words::of("counts nouns");
const CONTINENTS: [&str; 5] = ["Africa", "Asia", "Europe", "Americas", "Oceania"];
/// Words between a number and what is counted.
const MOST_BETWEEN: usize = 3;

/// What a claim counts or compares, when it does.
pub fn counting(words: &[Word<'_>], mentions: &[Mention], readings: &[Reading]) -> Option<Counting> {
    let reader = Reader { words, shouting: false };
    let noun = |from: usize| (from..=from + MOST_BETWEEN).find(|at| reader.is(*at, &NOUNS));
    let country = |mention: &Mention| Country::by_code(mention.code);
    let places = |mention: &Mention| mention.at..mention.at + mention.length;
    let when = readings.iter().find_map(|reading| reading.when);
    let of_services = readings.iter().flat_map(|reading| &reading.topics).any(|topic| *topic != Topic::Internet);
    if readings.iter().any(|reading| reading.mood != Mood::Fact || reading.stance.is_some_and(|stance| stance.negated))
    {
        return None;
    }
    let found = |kind: Kind, first: usize, last: usize, of: &Mention, with: Option<&Mention>| {
        let named = places(of).chain(with.map(places).unwrap_or_default());
        Some(Counting { country: country(of)?, kind, when, words: (first..=last).chain(named).collect() })
    };
    for at in 0..words.len() {
        let more = reader.is(at, &["more"]);
        let end = noun(at + 1).filter(|_| more || reader.is(at, &["fewer", "less"]));
        let than = end.and_then(|end| (end + 1..end + 5).find(|at| reader.is(*at, &["than"])));
        if let Some(than) = than {
            let of = mentions.iter().find(|mention| mention.at < at)?;
            let with = mentions.iter().find(|mention| mention.at > than)?;
            let kind = if more { Kind::MoreThan } else { Kind::FewerThan };
            return found(kind(country(with)?), at, than, of, Some(with));
        }
        if let Some(end) = superlative(&reader, at, noun) {
            let continent = (0..words.len()).find_map(|at| {
                let name = CONTINENTS.iter().find(|name| name.eq_ignore_ascii_case(reader.lower(at)))?;
                Some((at, *name))
            });
            let counting = found(Kind::Most(continent.map(|(_, name)| name)), at, end, mentions.first()?, None)?;
            let world =
                (0..words.len()).filter(|at| reader.is(*at, &["world", "worldwide", "any", "other", "globally"]));
            let more = world.chain(continent.map(|(at, _)| at));
            return Some(Counting { words: counting.words.into_iter().chain(more).collect(), ..counting });
        }
        let number = number(&reader, at, noun).filter(|(end, _)| !of_services || !reader.is(*end, &["times"]));
        if let Some((end, kind)) = number {
            return found(kind, bound(&reader, at), end, mentions.first()?, None);
        }
    }
    None
}

/// "The most internet shutdowns", "the highest number of shutdowns", "led the world in shutdowns": its last word.
fn superlative(reader: &Reader<'_>, at: usize, noun: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    // "Most shutdowns in India are regional" compares none.
    let had = reader.is(at.wrapping_sub(1), &["the", "had", "has", "saw", "recorded", "imposed", "with"]);
    let most = reader.is(at, &["most"]) && had || reader.is(at, &["highest", "largest", "biggest", "greatest"]);
    let led = reader.is(at, &["led", "leads", "topped", "tops"]);
    most.then(|| noun(at + 1)).flatten().or_else(|| led.then(|| noun(at + 1).or_else(|| noun(at + 4))).flatten())
}

/// "106 internet shutdowns", "shut down the internet 106 times": its last word, and what is claimed.
fn number(reader: &Reader<'_>, at: usize, noun: impl Fn(usize) -> Option<usize>) -> Option<(usize, Kind)> {
    let (length, count) = figure(reader, at)?;
    let behind = at + length;
    let near = |end: usize| (behind..=end).all(|at| reader.word(at).is_some_and(|word| word.pause == Pause::None));
    // "Twice" is of services too; of the internet, it is so many shutdowns.
    let end = noun(behind).or_else(|| Some(behind).filter(|at| reader.is(*at, &["times"])))?;
    if !near(end) || reader.is(behind, &["of", "day", "days", "hours", "week", "weeks", "month", "months"]) {
        return None;
    }
    let (least, most) = match (reader.before(at, 2), reader.before(at, 1)) {
        ("at", "least") => (count, f64::INFINITY),
        ("more", "than") | (_, "over") => (count + 1.0, f64::INFINITY),
        ("fewer" | "less", "than") | (_, "under") => (0.0, count - 1.0),
        (_, "about" | "around" | "nearly" | "almost" | "roughly" | "some" | "approximately") => {
            (count * (1.0 - ABOUT), count * (1.0 + ABOUT))
        }
        _ => (count, count),
    };
    Some((end, Kind::Number { least, most }))
}

/// Where the words begin that bound a number.
fn bound(reader: &Reader<'_>, at: usize) -> usize {
    let two =
        matches!((reader.before(at, 2), reader.before(at, 1)), ("at", "least") | ("more" | "fewer" | "less", "than"));
    let one = matches!(
        reader.before(at, 1),
        "over" | "under" | "about" | "around" | "nearly" | "almost" | "roughly" | "some"
    );
    at - if two { 2 } else { usize::from(one) }
}

/// A number of more than one that is no year: "106", "5,000", "twelve".
fn figure(reader: &Reader<'_>, at: usize) -> Option<(usize, f64)> {
    let plain = reader.read(at, |word| digits(&word.lower, 6));
    if let Some(thousands) = plain.filter(|_| reader.lower(at).len() < 4)
        && let Some(rest) = reader.read(at + 1, |word| digits(&word.lower, 3).filter(|_| word.lower.len() == 3))
        && reader.word(at + 1).is_some_and(|word| word.pause == Pause::Comma)
    {
        return Some((2, (thousands * 1_000 + rest) as f64));
    }
    if reader.read(at, dates::year).is_some() {
        return None;
    }
    let vague = reader.is(at, &["a", "an", "few", "several", "couple", "one"]);
    let named = quantity(reader, at).filter(|_| !vague);
    plain.map(|count| (1, count as f64)).or(named.map(|(length, count)| (length, count as f64)))
}

/// Rows of the table by country, of which some began in the days and others only went on in them.
struct Table {
    rows: Vec<(String, EventMark)>,
    days: Option<(i64, i64)>,
}

impl Table {
    /// How many began in the days, and how many were in force on one of them.
    fn of(&self, code: &str) -> (f64, f64) {
        let of = || self.rows.iter().filter(|(country, _)| country == code).map(|(_, mark)| mark);
        let Some((first, last)) = self.days else { return (of().count() as f64, of().count() as f64) };
        let begun = of().filter(|mark| (first..=last).contains(&i64::from(mark.start))).count();
        let during =
            of().filter(|mark| i64::from(mark.start) <= last && i64::from(mark.end.unwrap_or(mark.start)) >= first);
        (begun as f64, during.count() as f64)
    }
}

/// What the shutdown table says; `None` where it does not cover the days, or there is none.
pub async fn check(rt: &dyn Runtime, counting: &Counting) -> Result<Option<Answer>> {
    let history = runtime::query(rt, world::actor().name, &EventHistory { country: None }).await?;
    let rows: Vec<(String, EventMark)> = history
        .into_iter()
        .filter(|(_, source, _)| *source == Source::AccessNow.code())
        .map(|(country, _, mark)| (country, mark))
        .collect();
    let days = counting.when.map(|when| (when.first.days(), when.last.days()));
    let starts = || rows.iter().map(|(_, mark)| i64::from(mark.start));
    let (Some(oldest), Some(newest)) = (starts().min(), starts().max()) else { return Ok(None) };
    if days.is_some_and(|(_, last)| last > newest + COVERED || last < oldest) {
        return Ok(None);
    }
    Ok(Some(answer(counting, &Table { rows, days })))
}

fn answer(counting: &Counting, table: &Table) -> Answer {
    let (source, own) = (Source::AccessNow.name(), counting.country);
    let (begun, during) = table.of(own.code);
    let time = match counting.when {
        Some(when) if when.is_one_day() => format!(" on {}", when.first),
        Some(when) => format!(" from {} to {}", when.first, when.last),
        None => String::new(),
    };
    let rows = |country: &Country, count: f64| {
        format!("{count} {} of {}", if count == 1.0 { "shutdown" } else { "shutdowns" }, country.name)
    };
    let (holds, said) = match &counting.kind {
        Kind::Number { least, most } => {
            let holds = *least <= during * (1.0 + OFF) && *most >= begun * (1.0 - OFF);
            (holds, format!("{source} has {} that began{time}", rows(own, begun)))
        }
        Kind::MoreThan(other) | Kind::FewerThan(other) => {
            let (theirs, _) = table.of(other.code);
            let more = matches!(counting.kind, Kind::MoreThan(_));
            let holds = if more { begun > theirs } else { begun < theirs };
            (holds, format!("{source} has {} and {} that began{time}", rows(own, begun), rows(other, theirs)))
        }
        Kind::Most(continent) => {
            let within = |country: &&Country| continent.is_none_or(|name| country.subregion.region == name);
            let mut all: Vec<(&Country, f64)> =
                Country::all().iter().filter(within).map(|country| (country, table.of(country.code).0)).collect();
            small_sort::sort_by(&mut all, |(_, a), (_, b)| b.total_cmp(a));
            let first = all.first().copied().unwrap_or((own, begun));
            let known = if first.0.code == own.code { String::new() } else { format!("{} and ", rows(own, begun)) };
            (
                begun >= first.1 && begun > 0.0,
                format!("{source} has {known}{} that began{time}, the most", rows(first.0, first.1)),
            )
        }
    };
    let verdict = if holds { Verdict::Confirmed } else { Verdict::Unconfirmed };
    Answer {
        judgement: Judgement { verdict, confidence: SURE, contradicted: !holds, why: Why::Counted },
        reason: format!("{said}."),
        licence: Source::AccessNow.licence(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;
    use crate::Timestamp;

    fn counted(text: &str) -> Option<(&'static str, String)> {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        let counting = parse(text, now, &[]).count?;
        let kind = match counting.kind {
            Kind::Number { least, most } => format!("{least}..{most}"),
            Kind::MoreThan(other) => format!("> {}", other.code),
            Kind::FewerThan(other) => format!("< {}", other.code),
            Kind::Most(continent) => format!("most {}", continent.unwrap_or("")),
        };
        Some((counting.country.code, kind))
    }

    #[test]
    fn counts_and_comparisons_are_told_from_other_numbers() {
        for (text, country, kind) in [
            ("5000 shutdowns in India in 2021", "IN", "5000..5000"),
            ("India shut down the internet 106 times in 2021", "IN", "106..106"),
            ("India had more than 5,000 internet shutdowns", "IN", "5001..inf"),
            ("Uganda had more shutdowns than India", "UG", "> IN"),
            ("Uganda recorded fewer internet blackouts than India in 2021", "UG", "< IN"),
            ("In 2021 India had the most internet shutdowns in the world", "IN", "most "),
            ("Ethiopia had the highest number of shutdowns in Africa in 2021", "ET", "most Africa"),
            ("India led the world in internet shutdowns in 2021", "IN", "most "),
        ] {
            assert_eq!(counted(text), Some((country, kind.to_owned())), "{text}");
        }
        for text in [
            "Kenya blocked Telegram on 15 November 2023",
            "The 2021 shutdowns in Uganda",
            "A 10-day shutdown in Uganda",
            "Telegram was blocked on 3 networks in Kenya",
            "A shutdown in India",
        ] {
            assert_eq!(counted(text), None, "{text}");
        }
    }
}
