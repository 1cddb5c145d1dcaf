//! What a clause only supposes, fears or demands: it may or will be, and nothing says that it is.

use super::lexicon::Words;
use super::measures::names_a_measure;
use super::words::{Word, stem};

/// What is done to a service, without endings.
pub const DONE_TO: [&str; 10] =
    ["block", "ban", "shut", "cut", "throttl", "restrict", "censor", "unblock", "lift", "restor"];

/// With what is done to a service: it was tried, or can be, and whether it was done is not said.
static ABLE: Words = Words::of("ahead able");
/// What says by itself that the rest is supposed.
static SUPPOSING: Words = Words::of("ahead supposing");
/// Before a measure: it is to be expected.
static PROSPECTS: Words = Words::of("ahead prospects");

/// Whether a clause supposes what it says; `good` tells that it only speaks of a service that works.
pub fn is_supposed(words: &[Word<'_>], good: bool) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let done = |at: usize| DONE_TO.contains(&stem(lower(at)).as_str());
    (0..words.len()).any(|at| {
        let (word, next) = (lower(at), lower(at + 1));
        let before = at.checked_sub(1).map_or("", lower);
        match word {
            // "Can Ghana block X?", "Ghana can block X"
            "can" => !good && (at == 0 && !matches!(next, "not" | "no") || done(at + 1)),
            // "Who says that it is blocked?"
            "who" => at == 0 && matches!(next, "says" | "said"),
            "verge" | "brink" => next == "of",
            "thought" | "thinking" | "thinks" => matches!(next, "about" | "of"),
            "case" => before == "in" && next != "of",
            "looms" | "looming" | "loomed" => true,
            // "Asked ISPs to block it"
            "asked" | "asks" => (at + 2..at + 6).any(|to| lower(to) == "to" && done(to + 1)),
            word if SUPPOSING.contains(&word) => !matches!(next, "to" | "of" | "for"),
            word if ABLE.contains(&word) && next == "to" && done(at + 2) => true,
            word if PROSPECTS.contains(&word) => {
                let expected = matches!(next, "for" | "of" | "a" | "an" | "possible" | "over");
                expected && names_a_measure(words.get(at + 1..words.len().min(at + 5)).unwrap_or_default())
            }
            _ => false,
        }
    })
}
