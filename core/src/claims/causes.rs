//! Why a claim says that it was so, and at what event: neither is told by measurements.

use super::dates::Reader;
use super::measures::names_a_measure;
use super::relative::quantity;
use super::senses::{Sense, meanings};
use super::words::{Pause, Word};

/// Events that shutdowns are made for, and that claims give as their time: words for one kind in a row.
const OCCASIONS: [&[&str]; 7] = [
    &["election", "elections", "vote", "votes", "poll", "polls", "referendum"],
    &["exam", "exams", "examination", "examinations", "baccalaureate", "cheating"],
    &["protest", "protests", "demonstrations", "strike", "strikes", "unrest", "riots"],
    &["clashes", "violence", "war", "conflict", "crackdown"],
    &["coup"],
    &["flood", "floods", "earthquake", "quake", "storm", "cyclone", "hurricane", "drought", "fire"],
    &[
        "holiday",
        "holidays",
        "anniversary",
        "birthday",
        "cup",
        "olympics",
        "festival",
        "tournament",
        "crisis",
        "summit",
        "pandemic",
        "lockdown",
    ],
];
/// Of those, what nobody makes.
const DISASTERS: [&str; 10] =
    ["earthquake", "quake", "storm", "cyclone", "hurricane", "flood", "floods", "fire", "lightning", "landslide"];
/// Words between "for" and the occasion.
const MOST_BETWEEN: usize = 4;

/// Kinds of [`OCCASIONS`], one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Occasions {
    kinds: u8,
    /// Another cause is given, or an occasion that has no name.
    other: bool,
}

impl Occasions {
    /// Whether the occasion that a source gives is all that is said.
    pub fn are(self, told: &str) -> bool {
        self.kinds != 0 && !self.other && kinds(told.split(letterless)) & self.kinds == self.kinds
    }

    /// Whether a source gives another occasion than any of these.
    pub fn differ(self, told: &str) -> bool {
        let told = kinds(told.split(letterless));
        self.kinds != 0 && told != 0 && told & self.kinds == 0
    }
}

fn letterless(letter: char) -> bool {
    !letter.is_alphabetic()
}

fn kinds<'w>(words: impl Iterator<Item = &'w str>) -> u8 {
    let of = |word: &str| {
        let word = word.to_lowercase();
        OCCASIONS.iter().position(|names| names.contains(&word.as_str())).map_or(0, |kind| 1 << kind)
    };
    words.fold(0, |kinds, word| kinds | of(word))
}

/// Whether a word at a place is one of [`OCCASIONS`].
pub fn is_occasion(reader: &Reader<'_>, at: usize) -> bool {
    OCCASIONS.iter().any(|names| reader.is(at, names))
}

/// The occasions that a clause gives as its cause or time.
pub fn occasions(words: &[Word<'_>]) -> Occasions {
    let reader = Reader { words, shouting: false };
    let events = (0..words.len()).filter(|at| is_event(&reader, *at));
    causes(&reader).into_iter().chain(events).fold(Occasions::default(), |all, at| {
        let named = kinds((at + 1..=at + MOST_BETWEEN).map(|at| reader.lower(at)));
        Occasions { kinds: all.kinds | named, other: all.other || named == 0 }
    })
}

/// Where words say why it was so: "because of elections", "for school exams", "a court ordered".
pub fn causes(reader: &Reader<'_>) -> Vec<usize> {
    let mut said = meanings(reader.words).into_iter();
    let first = said.find(|(_, sense)| !matches!(sense, Sense::Aside | Sense::Good)).map(|(at, _)| at);
    (0..reader.words.len()).filter(|at| is_cause(reader, *at, first.is_some_and(|first| first < *at))).collect()
}

/// Whether words at a place say why; `said` tells that what it was stands before.
fn is_cause(reader: &Reader<'_>, at: usize, said: bool) -> bool {
    let next = |list: &[&str]| reader.is(at + 1, list);
    let near = |list: &[&str]| (at + 1..at + 1 + MOST_BETWEEN).any(|at| reader.is(at, list));
    let occasion = || (at + 1..at + 1 + MOST_BETWEEN).any(|at| is_occasion(reader, at));
    // "Because of a ban" says no more than that it is banned.
    let itself = names_a_measure(reader.words.get(at + 1..reader.words.len().min(at + 5)).unwrap_or_default());
    reader.is(at, &["technical", "glitch", "maintenance", "accident", "accidental", "accidentally"])
        || reader.is(at, &["cable", "fibre", "fiber"]) && next(&["cut", "cuts", "fault", "damage"])
        || reader.is(at, &["power"]) && next(&["cut", "cuts", "outage", "outages", "failure", "blackout"])
        || reader.is(at, &["not", "wasn't", "isn't", "no"]) && next(&["censorship", "deliberate"])
        || reader.is(at, &["due", "owing"]) && next(&["to"]) && !itself
        || reader.is(at, &["because"]) && !itself && (next(&["of"]) || said)
        || reader.is(at, &["caused", "prompted", "triggered", "provoked"])
        || reader.is(at, &["ordered", "fearing", "revenge", "punishment", "security", "request", "behest"])
        || reader.is(at, &["for", "on"]) && near(&["reason", "reasons", "grounds", "purposes"])
        || reader.is(at, &["order", "orders"]) && near(&["court", "judge"])
        || reader.is(at, &["since"]) && next(&["it", "they", "he", "she"]) && said
        || reader.is(at, &["led"]) && (at + 1..at + 4).any(|at| reader.is(at, &["to"]))
        || reader.is(at, &["in"]) && next(&["response", "retaliation", "revenge", "reaction"])
        || reader.is(at, &["court", "judge"]) && near(&["order", "ordered", "orders", "ruling", "ruled"])
        || reader.is(at, &["for", "over", "amid", "amidst"]) && occasion() && is_one_phrase(reader, at)
        || reader.is(at, &["after", "following"]) && next(&["a", "an", "the"]) && near(&DISASTERS)
        || reader.is(at, &["over"]) && said && is_a_matter(reader, at + 1)
        || reader.is(at, &["to"]) && next(&PURPOSES) && said
}

/// "Over fake news", and not "over a month" or "over mobile data".
fn is_a_matter(reader: &Reader<'_>, at: usize) -> bool {
    const NONE: [&str; 16] = [
        "the", "its", "their", "this", "these", "time", "night", "there", "here", "and", "again", "mobile", "fixed",
        "wifi", "all", "half",
    ];
    let plain =
        reader.word(at).is_some_and(|word| word.pause == Pause::None && word.text.starts_with(char::is_lowercase));
    plain && !reader.is(at, &NONE) && quantity(reader, at).is_none() && !reader.is(at, &["weekend", "weekends", "vpn"])
}

/// What a block is said to be for.
const PURPOSES: [&str; 14] = [
    "stop", "prevent", "curb", "combat", "fight", "quell", "silence", "punish", "protect", "hide", "counter", "stem",
    "deter", "suppress",
];

fn is_one_phrase(reader: &Reader<'_>, at: usize) -> bool {
    let to = (at + 1..).find(|at| reader.word(*at).is_none() || is_occasion(reader, *at)).unwrap_or(at);
    (at + 1..=to).all(|at| {
        let plain = reader.word(at).is_some_and(|word| word.pause == Pause::None);
        plain && !reader.is(at, &["in", "on", "during", "after", "before", "by", "ahead"])
    })
}

/// Whether words at a place name an event as the time: "during the 2023 floods", "after the election of 2023".
pub fn is_event(reader: &Reader<'_>, at: usize) -> bool {
    let lead = reader.is(
        at,
        &["during", "after", "following", "before", "amid", "around", "ahead", "since", "at", "when", "on", "day"],
    );
    lead && (at + 1..at + 1 + MOST_BETWEEN).any(|at| is_occasion(reader, at)) && is_one_phrase(reader, at)
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn an_occasion_is_compared_with_that_of_a_source() {
        for (text, source, are, differ) in [
            ("cut because of the national exams", "Exam: National exams", true, false),
            ("cut for school exams", "Elections", false, true),
            ("cut during the protests", "Protests", true, false),
            ("cut after the election", "Exam", false, true),
            ("cut because of elections and protests", "Elections", false, false),
            ("a court ordered it because of exams", "Exam", false, false),
            ("cut due to a technical fault", "Exam", false, false),
            ("cut because of exams", "Information control", false, false),
        ] {
            let found = occasions(&split(text));
            assert_eq!((found.are(source), found.differ(source)), (are, differ), "{text}: {source}");
        }
    }
}
