//! What a claim says beyond what is checked: on how many networks it was so, at what hours, for how long.

use super::relative::{quantity, unit};
use super::stance::Stance;
use super::when::{Span, When};
use super::words::Word;
use super::{dates::Reader, means};

/// A detail that incidents and verdicts of days do not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beyond {
    /// "All Kenyan ISPs", "every provider except Liquid".
    HowMany,
    /// "Only on Safaricom".
    Only,
    /// "At night", "on weekends", "around the clock".
    Hours,
    /// "For an entire month".
    HowLong,
    /// "Began on", "was first blocked in": incidents tell it.
    Beginning,
}

impl Beyond {
    /// As the end of "the data do not tell".
    pub const fn as_str(self) -> &'static str {
        match self {
            Beyond::HowMany => "on how many networks",
            Beyond::Only => "that it was nowhere else",
            Beyond::Hours => "at what hours or on what days of the week",
            Beyond::HowLong => "for how long",
            Beyond::Beginning => "that it began then",
        }
    }
}

const PROVIDERS: [&str; 18] = [
    "isp",
    "isps",
    "operator",
    "operators",
    "provider",
    "providers",
    "network",
    "networks",
    "carrier",
    "carriers",
    "telecoms",
    "telcos",
    "telco",
    "companies",
    "company",
    "services",
    "platforms",
    "regions",
];
const HOW_MANY: [&str; 12] =
    ["all", "every", "each", "most", "some", "few", "several", "half", "majority", "both", "multiple", "many"];
const HOURS: [&str; 17] = [
    "weekend",
    "weekends",
    "weekday",
    "weekdays",
    "nightly",
    "overnight",
    "nights",
    "daily",
    "hourly",
    "evenings",
    "mornings",
    "afternoons",
    "intermittently",
    "sporadically",
    "repeatedly",
    "constantly",
    "permanently",
];
/// Where "daily" and the like are part of a name they begin with a capital.
const SPANS: [&str; 8] = ["hour", "hours", "minutes", "day", "week", "month", "year", "night"];

/// The first such detail of a clause that says these days and this stance.
pub fn beyond(words: &[Word<'_>], days: &[When], stance: Stance) -> Option<Beyond> {
    if stance.negated && !stance.over {
        return None;
    }
    let spanned = days.iter().any(|when| matches!(when.span, Span::Range));
    let during = days.iter().all(|when| when.span == Span::During) && !days.is_empty();
    let words: Vec<&Word<'_>> = words.iter().filter(|word| !word.aside).collect();
    let owned: Vec<Word<'_>> = words.iter().map(|word| (*word).clone()).collect();
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let any = |wanted: &dyn Fn(usize) -> bool| (0..words.len()).any(wanted);
    let provider = |at: usize| HOW_MANY.contains(&lower(at)) && (1..=4).any(|on| PROVIDERS.contains(&lower(at + on)));
    if any(&provider) {
        return Some(Beyond::HowMany);
    }
    if any(&|at| is_exclusive(&lower, at)) {
        return Some(Beyond::Only);
    }
    let plain = |at: usize| words.get(at).is_some_and(|word| !word.is_capital());
    let hours = |at: usize| {
        (plain(at) && HOURS.contains(&lower(at)))
            || matches!((lower(at), lower(at + 1)), ("at", "night" | "nights" | "noon" | "midnight"))
            || matches!(lower(at), "every" | "each") && (SPANS.contains(&lower(at + 1)) || is_month(&owned, at + 1))
            || matches!(lower(at), "around" | "round") && (lower(at + 1), lower(at + 2)) == ("the", "clock")
            || (lower(at), lower(at + 1)) == ("24", "7")
    };
    if any(&hours) {
        return Some(Beyond::Hours);
    }
    if !spanned && any(&|at| is_duration(&owned, at)) {
        return Some(Beyond::HowLong);
    }
    let begins = |at: usize| {
        matches!(lower(at), "began" | "begun" | "started")
            || lower(at) == "first" && matches!(lower(at + 1), "blocked" | "banned" | "cut" | "restricted" | "time")
            || lower(at) == "first" && matches!(lower(at.wrapping_sub(1)), "was" | "were")
    };
    (during && !stance.over && any(&begins)).then_some(Beyond::Beginning)
}

fn is_month(words: &[Word<'_>], at: usize) -> bool {
    Reader { words, shouting: false }.month(at).is_some()
}

/// "Only on Safaricom", and neither "not only" nor "only with a VPN".
fn is_exclusive<'a>(lower: &impl Fn(usize) -> &'a str, at: usize) -> bool {
    let before = at.checked_sub(1).map_or("", lower);
    let only = matches!(lower(at), "only" | "solely" | "exclusively") && !matches!(before, "not" | "the" | "didn't");
    let way = (1..=3).any(|on| means::MEANS.contains(&lower(at + on)));
    only && !way
}

/// "For six months", "an entire week", "a 10-day shutdown".
fn is_duration(words: &[Word<'_>], at: usize) -> bool {
    let reader = Reader { words, shouting: false };
    let of_time = |at: usize| {
        let word = reader.lower(at);
        unit(word).is_some() || matches!(word, "hour" | "hours" | "minute" | "minutes")
    };
    if reader.is(at, &["entire", "whole", "full"]) {
        return of_time(at + 1);
    }
    if reader.is(at, &["for", "lasted", "lasting"]) {
        const ABOUT: [&str; 9] = ["about", "almost", "nearly", "over", "more", "than", "at", "least", "around"];
        let from = (at + 1..).find(|at| !reader.is(*at, &ABOUT)).unwrap_or(at);
        let counted = quantity(&reader, from).is_some_and(|(length, _)| of_time(from + length));
        return counted || reader.is(from, &["days", "weeks", "months", "years", "hours", "minutes"]);
    }
    // "a 10-day shutdown"
    reader.joined(at + 1) && of_time(at + 1) && quantity(&reader, at).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::stance::Kind;
    use super::super::when::when;
    use super::super::words::split;
    use super::*;
    use crate::Timestamp;

    fn said(text: &str) -> Option<Beyond> {
        let (words, now) = (split(text), Timestamp::parse("2026-11-24T09:00:00Z").unwrap());
        let stance =
            Stance { kind: Kind::Block, negated: false, over: false, deliberate: true, never: false, any_kind: false };
        beyond(&words, &when(&words, now, None).days, stance)
    }

    #[test]
    fn details_that_are_not_checked_are_found() {
        for (text, expected) in [
            ("blocked by all Kenyan ISPs", Beyond::HowMany),
            ("every provider except Liquid blocked it", Beyond::HowMany),
            ("most networks in Kenya blocked it", Beyond::HowMany),
            ("it was only blocked on Safaricom", Beyond::Only),
            ("it was blocked exclusively in Nairobi", Beyond::Only),
            ("it was blocked on weekends", Beyond::Hours),
            ("it was blocked at night", Beyond::Hours),
            ("it was blocked around the clock in May 2023", Beyond::Hours),
            ("it was blocked every day in May 2023", Beyond::Hours),
            ("it was blocked in Kenya each November", Beyond::Hours),
            ("it was cut for an entire month in May 2023", Beyond::HowLong),
            ("it was cut for two weeks in May 2023", Beyond::HowLong),
            ("it was cut for nearly 5 days in May 2023", Beyond::HowLong),
            ("a 10-day shutdown", Beyond::HowLong),
            ("it was first blocked in May 2023", Beyond::Beginning),
            ("it began to be blocked on 5 May 2023", Beyond::Beginning),
        ] {
            assert_eq!(said(text), Some(expected), "{text}");
        }
        for text in [
            "it was blocked in May 2023",
            "it can be reached only with a VPN",
            "not only Kenya blocked it",
            "the Daily Nation was blocked in May 2023",
            "it was blocked for 3 days from 5 to 8 May 2023",
            "it was blocked for exams in May 2023",
            "it was blocked on two networks",
        ] {
            assert_eq!(said(text), None, "{text}");
        }
    }
}
