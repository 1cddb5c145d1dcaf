//! Details of a claim that the record may bear out or speak against: on how many networks it was so, at what hours, for how
//! long. Any other detail is left over, for nothing tells it.

use super::causes::{Occasions, is_occasion};
use super::dates::Reader;
use super::hours::{Hours, hours};
use super::length::{Length, duration, number_of};
use super::method::{self, Methods};
use super::shares::{Share, share};
use super::stance::Stance;
use super::when::{Span, When};
use super::words::Word;

/// A detail that is compared with incidents and verdicts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beyond {
    /// "All Kenyan ISPs", "every provider except Liquid": verdicts of networks may tell it.
    HowMany(Share),
    /// "At night", "on weekends", "around the clock": the schedule of an incident may tell it.
    Hours(Hours),
    /// "Nationwide", "across Kenya": verdicts of networks may tell it.
    Nationwide,
    /// "For an entire month": incidents with a beginning and an end may tell it.
    HowLong(Length),
    /// "By DNS poisoning": what was measured tells it.
    Method(Methods),
    /// "Because of exams", "during the 2023 floods": the occasion on record may tell it.
    Occasion,
    /// "Began on": incidents tell it.
    Beginning,
}

impl Beyond {
    /// As the end of "the data do not tell".
    pub const fn as_str(&self) -> &'static str {
        match self {
            Beyond::HowMany(_) => "on how many networks or services",
            Beyond::Nationwide => "that it was so in the whole country",
            Beyond::Hours(_) => "at what hours or on what days of the week",
            Beyond::HowLong(_) => "for how long",
            Beyond::Method(_) => "by which method",
            Beyond::Occasion => "for what reason or at what event",
            Beyond::Beginning => "when it began or ended",
        }
    }
}

/// The details of a clause that says these days, occasions and stance.
pub fn beyond(words: &[Word<'_>], days: &[When], occasions: Occasions, stance: Stance) -> Vec<Beyond> {
    let words: Vec<Word<'_>> = words.iter().filter(|word| !word.aside).cloned().collect();
    let reader = Reader { words: &words, shouting: false };
    let places = || 0..words.len();
    let nationwide = places().any(|at| is_nationwide(&reader, at)).then_some(Beyond::Nationwide);
    let share = places().find_map(|at| share(&words, at));
    // "Not blocked nationwide", unlike "accessible nationwide".
    if stance.negated && !stance.over {
        let whole = share.filter(|share| matches!(share, Share::All | Share::Most)).map(Beyond::HowMany);
        let denied = places().any(|at| reader.is(at, &NOT));
        return whole.into_iter().chain(nationwide).filter(|_| denied).collect();
    }
    let during = days.iter().all(|when| when.span == Span::During) && !days.is_empty();
    let begun = during && !stance.over && places().any(|at| begins(&reader, at));
    let hours = places().find_map(|at| hours(&reader, at)).map(|(_, hours)| Beyond::Hours(hours));
    // "Lifted after three weeks": so long it was.
    let after = |at: usize| reader.is(at, &["after"]).then(|| number_of(&reader, at + 1)).flatten();
    let over = places().find_map(after).filter(|_| stance.over && days.is_empty());
    let length = places().find_map(|at| duration(&words, at)).or(over).map(Beyond::HowLong);
    let method = method::methods(&reader).map(Beyond::Method);
    let occasion = occasions.is_any().then_some(Beyond::Occasion);
    let found = [share.map(Beyond::HowMany), hours, length, method, nationwide, occasion];
    found.into_iter().flatten().chain(begun.then_some(Beyond::Beginning)).collect()
}

const NOT: [&str; 8] = ["not", "wasn't", "isn't", "weren't", "aren't", "didn't", "hasn't", "never"];

/// "Nationwide", "across Kenya", "the entire country"; and no "national exams".
fn is_nationwide(reader: &Reader<'_>, at: usize) -> bool {
    let place = |at: usize| reader.is(at, &["country", "nation"]) || reader.word(at).is_some_and(Word::is_capital);
    let over = reader.is(at, &["across", "throughout"])
        || reader.is(at, &["all"]) && reader.is(at + 1, &["over"])
        || reader.is(at, &["whole", "entire", "everywhere"]);
    let behind = (at + 1..at + 4).find(|at| !reader.is(*at, &["of", "in", "over", "the", "whole", "entire", "all"]));
    let scale = ["shutdown", "blackout", "block", "ban", "outage", "internet", "scale", "level", "scope"];
    // "During nationwide protests", "protests across Kenya"
    if is_occasion(reader, at + 1) || at.checked_sub(1).is_some_and(|before| is_occasion(reader, before)) {
        return false;
    }
    reader.is(at, &["nationwide", "countrywide"])
        || reader.is(at, &["national"]) && reader.is(at + 1, &scale)
        || over && behind.is_some_and(place)
}

/// "Began", "started", "from 5 August": and no other word dates a beginning.
fn begins(reader: &Reader<'_>, at: usize) -> bool {
    let from = reader.is(at, &["from"]) && reader.written(at + 1 + usize::from(reader.is(at + 1, &["the"]))).is_some();
    from || reader.is(at, &["began", "begun", "started", "begins", "starts"])
}

#[cfg(test)]
mod tests {
    use super::super::causes::occasions;
    use super::super::stance::Kind;
    use super::super::when::when;
    use super::super::words::split;
    use super::*;
    use crate::Timestamp;

    fn said(text: &str) -> Vec<Beyond> {
        let (words, now) = (split(text), Timestamp::parse("2026-11-24T09:00:00Z").unwrap());
        let stance =
            Stance { kind: Kind::Block, negated: false, over: false, deliberate: true, never: false, any_kind: false };
        beyond(&words, &when(&words, now, None).days, occasions(&words), stance)
    }

    #[test]
    fn details_are_found_where_a_clause_says_them() {
        for (detail, texts) in [
            (
                "how many networks",
                "blocked by all Kenyan ISPs|every provider except Liquid blocked it|most networks in Kenya blocked it|it was \
                 blocked on one network|one Nigerian telco blocked it|two of four telcos blocked it|all regions were cut \
                 off|it was blocked on two networks|10 Kenyan networks blocked it|at least ten networks block it|More than \
                 twenty ISPs block it|Fewer than three networks block it|Up to fifteen networks block it|99 percent of \
                 networks block it",
            ),
            (
                "what hours",
                "it was blocked at 18:00 on 5 May 2023|it was blocked at 6pm on 5 May 2023|it was blocked at 6 p.m. on 5 May \
                 2023|it was blocked on weekends|it was blocked at night|it was blocked around the clock in May 2023|it was \
                 blocked every day in May 2023|it was blocked in Kenya each November",
            ),
            (
                "at what event",
                "it was blocked because of elections in May 2023|it was blocked over protests in May 2023|it was cut for \
                 school exams in May 2023|it was cut after an earthquake in May 2023|it was blocked during the 2023 floods",
            ),
            (
                "for how long",
                "it was cut for two weeks in May 2023|a 10-day shutdown|it was cut for 3 days from 5 to 8 May 2023",
            ),
            ("when it began", "it began to be blocked on 5 May 2023|the block started on 5 May 2023"),
        ] {
            for text in texts.split('|') {
                let first = said(text).first().map_or("nothing", Beyond::as_str);
                assert!(first.contains(detail), "{text}: {first}");
            }
        }
    }

    #[test]
    fn what_is_no_detail_is_none() {
        for text in "it was blocked in May 2023|it can be reached only with a VPN|not only Kenya blocked it|the Daily Nation was \
                     blocked in May 2023|it was blocked after it deleted a post \
                     in May 2023|on 15 November Kenyan networks blocked it|one activist's network|it was blocked for the \
                     public in May 2023|it was blocked for the past week|it was blocked for the first time in 3 years|it has \
                     been blocked since Monday|a court ordered the blocking of it"
            .split('|')
        {
            assert_eq!(said(text), [], "{text}");
        }
    }
}
