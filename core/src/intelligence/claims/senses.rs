//! The words that say that something is blocked, slowed, cut off or reachable.

use super::lexicon;
use super::lexicon::Words;
use super::stance::Kind;
use super::words::{Lazy, Pause, Phrases, Word, stem};

/// The meaning of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Interference that somebody does.
    Bad(Kind),
    /// It does not work, whoever or whatever the cause.
    Fails(Kind),
    /// Forbids people to use a service, or an authority to interfere.
    Forbids,
    /// Ends a measure; says nothing without one.
    Ends,
    /// Blocks a service, but ends a measure.
    Suspends,
    /// It works.
    Good,
    /// It worked again: interference is over, so it had been there.
    Over,
    /// As [`Sense::Over`], but of a measure that it is there again: "reinstated the ban".
    Restores,
    /// Negates what follows.
    Not,
    /// Negates what stands in the same clause, before it or behind.
    Denies,
    /// As [`Sense::Denies`], of something that had been: "stopped", "no longer".
    Ceases,
    /// With a negation: that something had been.
    AnyMore,
    /// Says by itself that nothing is done: "does nothing against".
    Spares,
    /// Holds a word of negation and negates nothing.
    Aside,
}

/// The lists of words in any form of theirs ([`stem`]), and of phrases of them.
const LISTS: [(&str, Sense); 17] = [
    ("sense bad block", Sense::Bad(Kind::Block)),
    ("sense fails block", Sense::Fails(Kind::Block)),
    ("sense fails shutdown", Sense::Fails(Kind::Shutdown)),
    ("sense forbids", Sense::Forbids),
    ("sense restores", Sense::Restores),
    ("sense denies", Sense::Denies),
    ("sense ceases", Sense::Ceases),
    ("sense any more", Sense::AnyMore),
    ("sense bad throttling", Sense::Bad(Kind::Throttling)),
    ("sense bad shutdown", Sense::Bad(Kind::Shutdown)),
    ("sense good", Sense::Good),
    ("sense over", Sense::Over),
    ("sense ends", Sense::Ends),
    ("sense suspends", Sense::Suspends),
    ("sense not", Sense::Not),
    ("sense aside", Sense::Aside),
    ("sense spares", Sense::Spares),
];

/// Verbs that say what happens to a line together with "off", "down" or "on", which may stand behind the object.
const VERBS: [&str; 12] =
    ["shut", "clos", "kill", "turn", "switch", "cut", "take", "took", "taken", "knock", "keep", "kept"];
/// Those that need no particle when they are said of a line.
const CLOSE: [&str; 3] = ["shut", "clos", "kill"];
/// Words between such a verb and its particle.
const GAP: usize = 5;

fn senses() -> &'static Phrases<Sense> {
    static SENSES: Lazy<Sense> = Lazy::new();
    SENSES.get_or_init(|| {
        let stems = |text: &str| text.split(' ').map(stem).collect::<Vec<String>>().join(" ");
        Phrases::new(LISTS.iter().flat_map(|(name, sense)| lexicon::list(name).map(move |text| (stems(text), *sense))))
    })
}

/// What each word or phrase of a sentence says, with its place, in order.
pub fn meanings(words: &[Word<'_>]) -> Vec<(usize, Sense)> {
    spans(words).into_iter().map(|(at, _, sense)| (at, sense)).collect()
}

/// The same with the number of words.
pub fn spans(words: &[Word<'_>]) -> Vec<(usize, usize, Sense)> {
    let stems: Vec<Word<'_>> = words.iter().map(|word| Word { lower: stem(&word.lower), ..word.clone() }).collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(word) = stems.get(at) {
        let (length, sense) = match senses().at(&stems, at) {
            Some((length, sense)) => (length, Some(sense)),
            None => (1, particle(&stems, at).or_else(|| prefixed(word)).or_else(|| missed(&stems, at))),
        };
        // "No, it is not blocked" answers a question, and negates once.
        let answers = at == 0 && word.lower == "no" && stems.get(1).is_some_and(|next| next.pause != Pause::None);
        // "Isn't Telegram blocked?" asks whether it is.
        let inverted = at == 0
            && matches!(
                word.lower.as_str(),
                "isn't" | "wasn't" | "aren't" | "weren't" | "didn't" | "doesn't" | "hasn't"
            )
            && words.get(1).is_some_and(|next| next.is_capital() || next.lower == "the");
        // "Fined" is not "fine".
        let fined = words.get(at).is_some_and(|word| matches!(word.lower.as_str(), "fined" | "fines" | "fining"));
        // "No fue bloqueado" is another language.
        let foreign =
            word.lower == "no" && stems.get(at + 1).is_some_and(|next| FOREIGN.contains(&next.lower.as_str()));
        let sense = if is_verdict(words, at) { Some(Sense::Denies) } else { sense };
        found.extend(sense.filter(|_| !answers && !inverted && !fined && !foreign).map(|sense| (at, length, sense)));
        at += length;
    }
    found
}

/// Verbs of Spanish, Portuguese and Italian behind "no".
const FOREIGN: [&str; 8] = ["fue", "es", "está", "esta", "ha", "han", "fueron", "son"];

/// "... - NOT", "..., they say. Wrong.": one word that takes back what stands before it.
fn is_verdict(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at).filter(|_| at > 0) else { return false };
    // A short word before it takes its full stop for that of an abbreviation.
    let begins = word.pause == Pause::Stop || word.is_capital() && word.text != word.text.to_uppercase();
    let alone = begins && words.get(at + 1).is_none_or(|next| next.pause == Pause::Stop);
    let shouted =
        word.text == "NOT" && at + 1 == words.len() && words.iter().any(|word| word.text.contains(char::is_lowercase));
    shouted || alone && matches!(word.lower.as_str(), "wrong" | "nonsense" | "nope" | "rubbish" | "bogus" | "not")
}

/// "Almost blocked" is not blocked.
fn missed(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    let nearly = stems.get(at).is_some_and(|word| matches!(word.lower.as_str(), "almost" | "nearly"));
    let next = senses().at(stems, at + 1).map(|(_, sense)| sense).or_else(|| particle(stems, at + 1));
    (nearly && matches!(next, Some(Sense::Bad(_) | Sense::Forbids | Sense::Suspends))).then_some(Sense::Not)
}

/// "shut TikTok down", "switch mobile data off", "turn the internet on".
fn particle(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    let verb = stems.get(at).filter(|word| VERBS.contains(&word.lower.as_str()))?;
    let behind = stems.iter().skip(at + 1).take(GAP).map(|word| word.lower.as_str());
    let mut behind = behind.filter(|word| matches!(*word, "off" | "down" | "on" | "back"));
    match behind.next() {
        Some("on") if matches!(verb.lower.as_str(), "turn" | "switch" | "keep" | "kept") => Some(Sense::Good),
        Some("off" | "down") => Some(Sense::Bad(Kind::Shutdown)),
        // "back on" is found where it stands, and "on" may belong to a date.
        _ => closes(stems, at),
    }
}

/// "shut the internet", "mobile data was shut", "shut TikTok".
fn closes(stems: &[Word<'_>], at: usize) -> Option<Sense> {
    static LINES: Words = Words::of("senses lines");
    let lower = |word: &Word<'_>| word.lower.clone();
    let line = |word: &Word<'_>| LINES.contains(&lower(word).as_str());
    let around = stems.get(at.saturating_sub(3)..stems.len().min(at + GAP + 1)).unwrap_or_default();
    let name = stems.get(at + 1).is_some_and(|word| word.is_capital() && !word.aside);
    let shuts = CLOSE.contains(&stems.get(at)?.lower.as_str()) && (around.iter().any(line) || name);
    shuts.then_some(Sense::Bad(Kind::Shutdown))
}

/// "unusable", "inaccessible": a syllable turns what follows it round.
fn prefixed(stem: &Word<'_>) -> Option<Sense> {
    let rest = stem.lower.strip_prefix("un").or_else(|| stem.lower.strip_prefix("in"))?;
    let rest = [Word { lower: rest.to_owned(), ..stem.clone() }];
    match senses().at(&rest, 0)?.1 {
        Sense::Good => Some(Sense::Fails(Kind::Block)),
        Sense::Bad(_) | Sense::Fails(_) => Some(Sense::Good),
        _ => None,
    }
}
