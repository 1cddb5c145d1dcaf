//! A claim in its parts.

use super::places::{self, Mention};
use super::stance::{Stance, stance};
use super::subjects::{Topic, topics};
use super::when::{When, when};
use super::words::split;
use crate::Timestamp;
use crate::reference::Tracked;
use crate::starter::Country;

/// What a sentence claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub country: Option<&'static Country>,
    /// Other countries that it names.
    pub others: Vec<&'static str>,
    /// In the order of the sentence.
    pub topics: Vec<Topic>,
    pub when: Option<When>,
    /// `None` when nothing in it speaks of blocking or reachability.
    pub stance: Option<Stance>,
    /// It speaks of the past without saying when.
    pub past: bool,
}

/// Reads a claim as somebody says it at `now`, where target lists name these platforms beside the project's own.
pub fn parse(text: &str, now: Timestamp, listed: &[Tracked]) -> Claim {
    let words = split(text);
    let mentions = places::mentions(&words);
    let country = places::choose(&mentions);
    let taken = |at: usize| mentions.iter().any(|m: &Mention| (m.at..m.at + m.length).contains(&at));
    let topics = topics(&words, listed, taken);
    let mut others: Vec<&'static str> = mentions.iter().map(|mention| mention.code).collect();
    others.retain(|code| country.is_some_and(|country| country.code != *code));
    others.dedup();
    let internet = topics.first().is_none_or(|topic| *topic == Topic::Internet);
    Claim {
        country,
        others,
        stance: stance(&words, internet),
        when: when(&words, now),
        past: words.iter().any(|word| matches!(word.lower.as_str(), "was" | "were" | "had" | "did")),
        topics,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::starter;

    /// Issue: at least 60 claims written by hand, each with the parse that a careful reader would make.
    #[test]
    fn hand_written_claims_are_read_as_a_careful_reader_would() {
        let now = Timestamp::parse("2026-11-20T09:00:00Z").unwrap();
        let text = include_str!("expected.tsv");
        let mut count = 0;
        for [claim, country, topic, when, stance] in starter::rows::<5>(text) {
            let read = parse(claim, now, &[]);
            let some = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
            let found = [
                some(read.country.map_or("", |country| country.code)),
                some(&read.topics.iter().map(Topic::name).collect::<Vec<_>>().join(" ")),
                read.when.map_or("-".to_owned(), |when| match when.is_one_day() {
                    true => when.first.to_string(),
                    false => format!("{}/{}", when.first, when.last),
                }),
                read.stance.map_or("-".to_owned(), |stance| {
                    format!("{}{}", if stance.negated { "not " } else { "" }, stance.kind.as_str())
                }),
            ];
            assert_eq!(found.join(" | "), [country, topic, when, stance].join(" | "), "{claim}");
            count += 1;
        }
        assert!(count >= 60, "{count}");
    }
}
