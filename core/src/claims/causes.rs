//! Why a claim says that it was so, and at what event: neither is told by measurements.

use super::dates::Reader;
use super::measures::names_a_measure;
use super::senses::{Sense, meanings};
use super::words::Pause;

/// Events that shutdowns are made for, and that claims give as their time.
const OCCASIONS: [&str; 41] = [
    "holidays",
    "cup",
    "olympics",
    "festival",
    "tournament",
    "election",
    "elections",
    "vote",
    "votes",
    "poll",
    "polls",
    "referendum",
    "exam",
    "exams",
    "examinations",
    "baccalaureate",
    "protest",
    "protests",
    "demonstrations",
    "strike",
    "strikes",
    "unrest",
    "riots",
    "clashes",
    "violence",
    "coup",
    "war",
    "crisis",
    "summit",
    "pandemic",
    "lockdown",
    "flood",
    "floods",
    "earthquake",
    "quake",
    "storm",
    "cyclone",
    "hurricane",
    "drought",
    "fire",
    "crackdown",
];
/// Of those, what nobody makes.
const DISASTERS: [&str; 10] =
    ["earthquake", "quake", "storm", "cyclone", "hurricane", "flood", "floods", "fire", "lightning", "landslide"];
/// Words between "for" and the occasion.
const MOST_BETWEEN: usize = 4;

/// Whether words at a place say why it was so: "because of elections", "for school exams", "a court ordered".
pub fn is_cause(reader: &Reader<'_>, at: usize) -> bool {
    let next = |list: &[&str]| reader.is(at + 1, list);
    let near = |list: &[&str]| (at + 1..at + 1 + MOST_BETWEEN).any(|at| reader.is(at, list));
    // "Because of a ban" says no more than that it is banned.
    let itself = names_a_measure(reader.words.get(at + 1..reader.words.len().min(at + 5)).unwrap_or_default());
    let said = || {
        let before = reader.words.get(..at).unwrap_or_default();
        meanings(before).iter().any(|(_, sense)| !matches!(sense, Sense::Aside | Sense::Good))
    };
    reader.is(at, &["technical", "glitch", "maintenance", "accident", "accidental", "accidentally"])
        || reader.is(at, &["cable", "fibre", "fiber"]) && next(&["cut", "cuts", "fault", "damage"])
        || reader.is(at, &["power"]) && next(&["cut", "cuts", "outage", "outages", "failure", "blackout"])
        || reader.is(at, &["not", "wasn't", "isn't", "no"]) && next(&["censorship", "deliberate"])
        || reader.is(at, &["due", "owing"]) && next(&["to"]) && !itself
        || reader.is(at, &["because"]) && !itself && (next(&["of"]) || said())
        || reader.is(at, &["caused", "prompted", "triggered", "provoked"])
        || reader.is(at, &["ordered", "fearing", "revenge", "punishment", "security"])
        || reader.is(at, &["order", "orders"]) && near(&["court", "judge"])
        || reader.is(at, &["since"]) && next(&["it", "they", "he", "she"]) && said()
        || reader.is(at, &["led"]) && next(&["to"])
        || reader.is(at, &["in"]) && next(&["response", "retaliation", "revenge", "reaction"])
        || reader.is(at, &["court", "judge"]) && near(&["order", "ordered", "orders", "ruling", "ruled"])
        || reader.is(at, &["for", "over", "amid", "amidst"]) && near(&OCCASIONS) && is_one_phrase(reader, at)
        || reader.is(at, &["after", "following"]) && next(&["a", "an", "the"]) && near(&DISASTERS)
        || reader.is(at, &["to"]) && next(&PURPOSES) && said()
}

/// What a block is said to be for.
const PURPOSES: [&str; 14] = [
    "stop", "prevent", "curb", "combat", "fight", "quell", "silence", "punish", "protect", "hide", "counter", "stem",
    "deter", "suppress",
];

fn is_one_phrase(reader: &Reader<'_>, at: usize) -> bool {
    let to = (at + 1..).find(|at| reader.word(*at).is_none() || reader.is(*at, &OCCASIONS)).unwrap_or(at);
    (at + 1..=to).all(|at| {
        let plain = reader.word(at).is_some_and(|word| word.pause == Pause::None);
        plain && !reader.is(at, &["in", "on", "during", "after", "before", "by", "ahead"])
    })
}

/// Whether words at a place name an event as the time: "during the 2023 floods", "after the election of 2023".
pub fn is_event(reader: &Reader<'_>, at: usize) -> bool {
    let lead =
        reader.is(at, &["during", "after", "following", "before", "amid", "around", "ahead", "since", "at", "when"]);
    lead && (at + 1..at + 1 + MOST_BETWEEN).any(|at| reader.is(at, &OCCASIONS)) && is_one_phrase(reader, at)
}
