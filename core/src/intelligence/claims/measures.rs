//! Measures against a service by name: "the ban", and unlike "to ban".

use super::lexicon::Words;
use super::words::Word;

/// Measures by name: what ends one ends the interference.
static MEASURES: Words = Words::of("measures measures");
/// Before one of these words, "block" and "ban" are no names.
const BEFORE_A_VERB: [&str; 12] =
    ["to", "not", "and", "or", "will", "would", "can", "could", "did", "didn't", "does", "doesn't"];

/// Whether a sentence names a measure, as in "the ban" and unlike "to ban".
pub fn names_a_measure(words: &[Word<'_>]) -> bool {
    measure(words).is_some()
}

/// Where it first names one.
pub fn measure(words: &[Word<'_>]) -> Option<usize> {
    let verb = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|word| BEFORE_A_VERB.contains(&word.lower.as_str()))
    };
    words.iter().enumerate().position(|(at, word)| MEASURES.contains(&word.lower.as_str()) && !verb(at))
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    #[test]
    fn a_measure_is_a_name_and_no_verb() {
        for (text, at) in [("lifted the ban", Some(2)), ("the order to block it", Some(1)), ("will ban it", None)] {
            assert_eq!(measure(&split(text)), at, "{text}");
        }
    }
}
