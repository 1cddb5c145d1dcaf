//! Counts and comparisons: how many shutdowns a country had, which of two had more, which had most. The rows of the
//! shutdown table answer them for the days that it covers.

use super::*;
use crate::world::{self, EventHistory};
use facts::sentence::Sentence as Said;
use facts::source::Source;

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
    /// At least and at most.
    Number(f64, f64),
    /// Than another country: more, or fewer.
    Than(&'static Country, bool),
    Most(Option<&'static str>),
}

/// A number may be off by this share of what the table has.
const OFF: f64 = 0.05;
/// How sure it is what a table of rows that people wrote says of their number. Our choice.
const SURE: f64 = 0.9;
/// The table covers a time whose end lies so many days or fewer behind its newest row. Our choice.
const COVERED: i64 = 31;

/// What a claim counts or compares, when it does.
pub fn counting(text: Reader<'_>, mentions: &[Mention], readings: &[Reading]) -> Option<Counting> {
    let country = |mention: &Mention| Country::by_code(mention.code);
    let when = readings.iter().find_map(|reading| reading.when);
    let denied = |reading: &Reading| reading.stance.is_some_and(|stance| stance.negated);
    if readings.iter().any(|reading| reading.mood != Mood::Fact || denied(reading)) {
        return None;
    }
    // "Twice" is of services too; of the internet, it is so many shutdowns.
    let of_services = readings.iter().flat_map(|reading| &reading.topics).any(|topic| *topic != Topic::Internet);
    for at in 0..text.words.len() {
        let Some(taken) = text.take(at, "counts") else { continue };
        let (end, first) = (at + taken.length, mentions.first());
        let (mut words, mut named): (Vec<usize>, Vec<&Mention>) = ((at..end).collect(), first.into_iter().collect());
        let kind = match taken.says {
            "than" => {
                let of = mentions.iter().find(|mention| mention.at < at)?;
                let with = mentions.iter().find(|mention| mention.at >= end)?;
                named = vec![of, with];
                Kind::Than(country(with)?, text.is(at, "more"))
            }
            // "Most shutdowns in India are regional" compares none.
            "most" => {
                let mut continents = Country::all().iter().map(|country| country.subregion.region);
                words.extend((0..text.words.len()).filter(|at| text.of_list(*at, "counts.world")));
                Kind::Most(continents.find(|name| text.has(&name.to_lowercase())))
            }
            _ if of_services && text.is(end - 1, "times") => continue,
            _ => {
                let (back, least, most) = beyond::bounds(text, at, taken.number("figure")? as f64);
                words.extend(at - back..at);
                Kind::Number(least, most)
            }
        };
        words.extend(named.iter().flat_map(|mention| mention.at..mention.at + mention.length));
        return Some(Counting { country: country(named.first()?)?, kind, when, words });
    }
    None
}

/// A number of more than one that is no year: "106", "5,000", "twelve".
pub fn figure(text: Reader<'_>, at: usize) -> Option<(usize, i64)> {
    let plain = |at: usize, most: usize| text.read(at, |word| dates::digits(&word.lower, most));
    let rest = plain(at + 1, 3).filter(|_| text.lower(at + 1).len() == 3 && text.pause(at + 1) == Pause::Comma);
    match (plain(at, 3).zip(rest), plain(at, 6)) {
        (Some((thousands, rest)), _) => Some((2, thousands * 1_000 + rest)),
        _ if text.read(at, dates::year).is_some() => None,
        (None, Some(count)) => Some((1, count)),
        (None, None) => quantity(text, at).filter(|_| !text.is(at, "a|an|few|several|couple|one")),
    }
}

/// What the shutdown table says, with its reason; `None` where it does not cover the days, or there is none.
pub async fn check(rt: &dyn Runtime, counting: &Counting) -> Result<Option<(Judgement, Said)>> {
    let history = runtime::query(rt, world::actor().name, &EventHistory { country: None }).await?;
    let table = history.into_iter().filter(|(_, source, _)| *source == Source::AccessNow.code());
    let mut rows: Vec<(String, i64)> = table.map(|(country, _, mark)| (country, i64::from(mark.start))).collect();
    let starts = || rows.iter().map(|(_, start)| *start);
    let (Some(oldest), Some(newest)) = (starts().min(), starts().max()) else { return Ok(None) };
    if let Some((first, last)) = counting.when.map(|when| (when.first.days(), when.last.days())) {
        if last > newest + COVERED || last < oldest {
            return Ok(None);
        }
        rows.retain(|(_, start)| (first..=last).contains(start));
    }
    Ok(Some(answer(counting, rows.into_iter().map(|(country, _)| country).collect())))
}

/// The answer from the country of each row of the table that began in the days.
fn answer(counting: &Counting, table: Vec<String>) -> (Judgement, Said) {
    let (source, own) = (Source::AccessNow.name(), counting.country);
    let of = |country: &Country| table.iter().filter(|code| *code == country.code).count() as f64;
    let time = counting.when.map(|when| match when.is_one_day() {
        true => Said::new("claim.count.on").with("day", when.first.to_string()),
        false => {
            let days = Said::new("claim.count.between").with("first", when.first.to_string());
            days.with("last", when.last.to_string())
        }
    });
    let begun = of(own);
    let rows = |country: &Country| {
        let rows = table.iter().filter(|code| *code == country.code).count();
        Said::new("claim.count.rows").with("count", rows).with("country", country.code)
    };
    let said = |code| Said::new(code).with("source", source).with("time", time.clone());
    let (holds, said) = match &counting.kind {
        Kind::Number(least, most) => {
            let holds = *least <= begun * (1.0 + OFF) && *most >= begun * (1.0 - OFF);
            (holds, said("claim.count.number").with("own", rows(own)))
        }
        Kind::Than(other, more) => {
            let holds = if *more { begun > of(other) } else { begun < of(other) };
            (holds, said("claim.count.than").with("own", rows(own)).with("other", rows(other)))
        }
        Kind::Most(continent) => {
            let within = |country: &&Country| continent.is_none_or(|name| country.subregion.region == name);
            let most = |a: &&Country, b: &&Country| of(a).total_cmp(&of(b)).then(b.code.cmp(a.code));
            let first = Country::all().iter().filter(within).max_by(most).unwrap_or(own);
            let other = (first.code != own.code).then(|| rows(own));
            let holds = begun >= of(first) && begun > 0.0;
            (holds, said("claim.count.most").with("own", other).with("first", rows(first)))
        }
    };
    let verdict = if holds { Verdict::Confirmed } else { Verdict::Unconfirmed };
    (Judgement { verdict, confidence: SURE, contradicted: !holds, why: Why::Counted }, said)
}
