//! A sentence as clauses: each says something of its own about a place and a service.

use std::ops::Range;

use super::ahead::{DONE_TO, is_supposed};
use super::aside::REPORTS;
use super::lexicon::Words;
use super::places::mentions;
use super::senses::{Sense, meanings};
use super::subjects::brand;
use super::words::{Pause, Word, stem};

/// How a piece of a sentence hangs on what stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// By "and" or a comma: a clause of its own only when it says what the one before says, of something else.
    And,
    /// By "but", "while" or a full stop.
    But,
    /// "Unlike Iran": the opposite holds there.
    Unlike,
    /// "Rather than Ghana": the same where it interrupts a clause.
    Contrast,
    /// "Despite the ban": what is conceded, and not claimed.
    Despite,
    /// ", which had been blocked before,": said beside.
    Aside,
}

/// A piece: words without the one that links it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub range: Range<usize>,
    pub link: Link,
}

/// Pieces that are told apart; the last has the rest. Our choice: each costs a reading of what stands before it.
pub const MOST_PIECES: usize = 40;

/// Cuts a sentence wherever a clause may begin.
pub fn pieces(words: &[Word<'_>]) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let (mut from, mut link) = (0, Link::And);
    let (mut at, mut contrast) = (0, None);
    while at < words.len() {
        let room = found.len() < MOST_PIECES;
        let next = if contrast.is_some_and(|end| at < end) || !room {
            None
        } else {
            // Behind what is contrasted the clause goes on.
            border(words, at).or_else(|| (contrast == Some(at)).then_some((0, Link::And)))
        };
        // "..., and Signal and Medium on 5 May": names that are listed stay together where a date follows.
        let listed = next == Some((1, Link::And)) && from > 0 && link == Link::And && dated_list(words, from, at);
        if let Some((length, next)) = next.filter(|_| !listed) {
            if from < at {
                found.push(Piece { range: from..at, link });
            }
            (from, link) = (at + length, next);
            contrast = contrasted(words, from, link);
            at += length.max(1);
        } else {
            at += 1;
        }
    }
    if from < words.len() && !is_tag(words, from, link) {
        found.push(Piece { range: from..words.len(), link });
    }
    found
}

/// ", didn't it?": a question that only asks for assent.
fn is_tag(words: &[Word<'_>], from: usize, link: Link) -> bool {
    let [verb, who] = words.get(from..).unwrap_or_default() else { return false };
    let verb = AUXILIARIES.contains(&verb.lower.as_str()) || verb.lower.ends_with("n't");
    link == Link::And && from > 0 && verb && matches!(who.lower.as_str(), "it" | "they" | "he" | "she" | "there")
}

/// Whether nothing but names stands from one place to another, and more of them and a date of theirs behind.
fn dated_list(words: &[Word<'_>], from: usize, and: usize) -> bool {
    let names = |at: usize| names_to(words, at).filter(|to| *to > at);
    let capital = |at: usize| words.get(at).is_some_and(Word::is_capital);
    let on =
        |at: usize| words.get(at).is_some_and(|word| matches!(word.lower.as_str(), "on" | "in" | "since" | "from"));
    let figure = |at: usize| words.get(at).is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()));
    capital(from)
        && names(from).is_some_and(|to| to >= and)
        && names(and + 1).is_some_and(|to| on(to) && (figure(to + 1) || figure(to + 2) || capital(to + 1)))
}

/// Where the names end that a piece sets against others: "not Ghana", "rather than in Ghana or Togo".
fn contrasted(words: &[Word<'_>], from: usize, link: Link) -> Option<usize> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let not = lower(from) == "not";
    let end = names_to(words, from + usize::from(not))?;
    ((not && matches!(link, Link::And | Link::But)) || link == Link::Contrast).then_some(end)
}

/// The word behind names or figures that begin at a place, which a preposition may precede.
fn names_to(words: &[Word<'_>], at: usize) -> Option<usize> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let goes_on = |to: usize| words.get(to).is_some_and(|word| word.pause == Pause::None);
    let is_name = |at: usize| {
        let figure = |word: &Word<'_>| word.text.starts_with(|letter: char| letter.is_ascii_digit());
        words.get(at).is_some_and(|word| word.is_capital() || figure(word) || brand(&word.lower).is_some())
    };
    let first = (at..at + 3).find(|at| !matches!(lower(*at), "in" | "on" | "from" | "by" | "the" | "at"))?;
    if !is_name(first) {
        return None;
    }
    let mut to = first + 1;
    while goes_on(to) {
        let links = usize::from(matches!(lower(to), "and" | "or" | "nor" | "of"));
        if !is_name(to + links) || !goes_on(to + links) {
            break;
        }
        to += links + 1;
    }
    Some(to)
}

/// The words at a place that begin a clause: how many are no part of it, and how it hangs on the one before.
fn border(words: &[Word<'_>], at: usize) -> Option<(usize, Link)> {
    let word = words.get(at)?;
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let before = at.checked_sub(1).map_or("", lower);
    match word.lower.as_str() {
        "even" if matches!(lower(at + 1), "though" | "if") => Some((2, Link::Despite)),
        "in" if (lower(at + 1), lower(at + 2)) == ("spite", "of") => Some((3, Link::Despite)),
        "although" | "though" | "despite" | "notwithstanding" => Some((1, Link::Despite)),
        "but" if matches!(before, "nothing" | "nobody" | "none" | "anything") => None,
        // "Everything but available"
        "but" if before == "everything" && !meanings(words.get(at - 1..words.len().min(at + 2))?).is_empty() => None,
        "but" | "whereas" | "however" | "while" | "whilst" | "then" => Some((1, Link::But)),
        // "has yet to" is none.
        "yet" if lower(at + 1) != "to" && !matches!(before, "not" | "has" | "have" | "had" | "as") => {
            Some((1, Link::But))
        }
        "unlike" => Some((1, Link::Unlike)),
        // "Like Nigeria in 2021, Brazil blocked it."
        "like" if at == 0 && ends_with_a_comma(words, 1) => Some((1, Link::Aside)),
        _ if at == 0
            && let Some(length) = comparison(words) =>
        {
            Some((length, Link::Aside))
        }
        "like" if is_compared(words, at) => Some((1, Link::Aside)),
        "as" if at == 0 && lower(1) == "in" && ends_with_a_comma(words, 1) => Some((1, Link::Aside)),
        "rather" | "instead" if is_verb_contrasted(words, at) => Some((2, Link::Contrast)),
        "rather" if lower(at + 1) == "than" => names_to(words, at + 2).map(|_| (2, Link::Contrast)),
        "instead" if lower(at + 1) == "of" => names_to(words, at + 2).map(|_| (2, Link::Contrast)),
        // "Not Kenya but Tanzania"
        "not" | "neither"
            if names_to(words, at + 1).is_some_and(|end| lower(end) == "but" && names_to(words, end + 1).is_some()) =>
        {
            Some((1, Link::Contrast))
        }
        // "It isn't TikTok but X that Ghana blocks"
        "isn't" | "wasn't"
            if before == "it"
                && names_to(words, at + 1)
                    .is_some_and(|end| lower(end) == "but" && names_to(words, end + 1).is_some()) =>
        {
            Some((1, Link::Contrast))
        }
        // ", which is untrue" takes back what stands before.
        "which" if word.pause == Pause::Comma && is_taken_back(words, at) => None,
        "which" | "who" | "whose" if word.pause == Pause::Comma => Some((1, Link::Aside)),
        "and" => Some((1, Link::And)),
        _ => match word.pause {
            Pause::Stop => Some((0, Link::But)),
            // "And, a day later, the internet" is one piece.
            Pause::Comma if (1..=6).any(|back| is_set_apart(words, at, back)) => None,
            // "Kenya: Telegram blocked" is a clause.
            Pause::Colon if is_heading(words, at) => None,
            Pause::Comma | Pause::Colon => Some((0, Link::And)),
            Pause::None => None,
        },
    }
}

fn is_taken_back(words: &[Word<'_>], at: usize) -> bool {
    let said = meanings(words.get(at..words.len().min(at + 4)).unwrap_or_default());
    !said.is_empty() && said.iter().all(|(_, sense)| *sense == Sense::Denies)
}

/// "Cut the internet rather than block Facebook": each verb with what it is said of.
fn is_verb_contrasted(words: &[Word<'_>], at: usize) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let named = |at: usize| matches!(lower(at), "internet" | "social") || brand(lower(at)).is_some();
    let verb = DONE_TO.contains(&stem(lower(at + 2)).as_str());
    let object = at + 3 + usize::from(lower(at + 3) == "the");
    matches!(lower(at + 1), "than" | "of") && verb && named(object) && (0..at).any(named)
}

/// "Just as in Senegal, ...", "Similar to Senegal, ...", "After Senegal in 2023, ...": how many words lead to the countries
/// that a sentence begins with to compare, or to say which came first.
fn comparison(words: &[Word<'_>]) -> Option<usize> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let from = usize::from(matches!(lower(0), "just" | "much"));
    let length = match (lower(from), lower(from + 1)) {
        ("similar", "to") => 2,
        ("like" | "as" | "following" | "after", _) => 1,
        _ => return None,
    };
    let from = from + length;
    let to = (from + 1..words.len()).find(|at| words.get(*at).is_some_and(|word| word.pause != Pause::None))?;
    let named = |range: Range<usize>| !mentions(words.get(range).unwrap_or_default()).is_empty();
    (ends_with_a_comma(words, from) && named(from..to) && named(to..words.len())).then_some(from)
}

/// "Ghana, like Senegal, blocked it", "Ghana blocked it like Senegal": countries to compare with, and none of "countries
/// like Senegal", which are meant.
fn is_compared(words: &[Word<'_>], at: usize) -> bool {
    let Some(end) = names_to(words, at + 1) else { return false };
    let ends = words.get(end).is_none_or(|word| word.pause != Pause::None);
    let named = |range: Range<usize>| !mentions(words.get(range).unwrap_or_default()).is_empty();
    let apart = words.get(at).is_some_and(|word| word.pause != Pause::None) || at > 0 && end == words.len();
    let other = || named(0..at) || named(end..words.len());
    ends && apart && named(at + 1..end) && other()
}

/// Whether nothing but names and dates stands from a place to the first comma.
fn ends_with_a_comma(words: &[Word<'_>], from: usize) -> bool {
    let to = (from + 1..words.len()).find(|at| words.get(*at).is_some_and(|word| word.pause != Pause::None));
    let plain = |word: &Word<'_>| {
        word.is_capital()
            || word.text.starts_with(|letter: char| letter.is_ascii_digit())
            || matches!(word.lower.as_str(), "in" | "and" | "of" | "the" | "did" | "does" | "has" | "had")
    };
    to.is_some_and(|to| words.get(from..to).unwrap_or_default().iter().all(plain))
}

/// Whether a name alone stands between the end of a sentence, or the beginning of all, and a place.
fn is_heading(words: &[Word<'_>], at: usize) -> bool {
    let name = |word: &&Word<'_>| word.is_capital() && !is_elliptic(word);
    let before = words.get(..at).unwrap_or_default().iter().rev().take_while(name);
    let to_stop = before.take(3).position(|word| word.pause == Pause::Stop).map(|back| back + 1);
    let from_start = at <= 3 && words.get(..at).unwrap_or_default().iter().all(|word| name(&word));
    to_stop.is_some() || from_start
}

/// Whether so many words before a comma an "and" stands with a comma behind it.
fn is_set_apart(words: &[Word<'_>], at: usize, back: usize) -> bool {
    let and = at.checked_sub(back).filter(|and| words.get(*and).is_some_and(|word| word.lower == "and"));
    and.is_some_and(|and| {
        let between = |range: Range<usize>| words.get(range).unwrap_or_default().iter();
        words.get(and + 1).is_some_and(|word| word.pause == Pause::Comma)
            && between(and + 2..at).all(|word| word.pause == Pause::None && word.lower != "and")
    })
}

/// Words of a clause that leaves its verb to another one: "but Russia does", "not in Sweden", "WhatsApp is".
static ELLIPTIC: Words = Words::of("clauses elliptic");
static NEGATIONS: Words = Words::of("clauses negations");
static AUXILIARIES: Words = Words::of("clauses auxiliaries");

pub fn is_elliptic(word: &Word<'_>) -> bool {
    ELLIPTIC.contains(&word.lower.as_str())
}

/// Whether a clause leaves its verb to another one; then whether it negates that.
pub fn elliptic(words: &[Word<'_>], known: impl Fn(usize) -> bool) -> Option<bool> {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.lower.as_str()));
    let all = words.iter().enumerate().all(|(at, word)| is_elliptic(word) || known(at));
    let negated = has(&NEGATIONS);
    (all && (negated || has(&AUXILIARIES))).then_some(negated)
}

/// What a clause is about, when it is no fact about access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    Fact,
    /// It is to be, may be or would be.
    Ahead,
    /// Somebody's account or post, and not a service.
    Account,
}

/// Verbs of intending, as they begin.
static INTENDING: Words = Words::of("clauses intending");
static INTENDING_TO: Words = Words::of("clauses intending to");
static CONSIDERING: Words = Words::of("clauses considering");

/// Words before an "if" that asks and supposes nothing.
const ASKING: [&str; 13] =
    ["as", "even", "see", "ask", "asks", "asked", "check", "know", "knows", "wonder", "unclear", "tell", "say"];

/// "in may 2022" names a month, however it is written.
fn is_month(before: &str, next: &str) -> bool {
    next.starts_with(|letter: char| letter.is_ascii_digit())
        || matches!(before, "in" | "since" | "of" | "until" | "from" | "last" | "early" | "late" | "mid")
}

/// Reads the mood of a clause; `good` tells that it only speaks of a service that works, `bad` that something is
/// blocked.
pub fn mood(words: &[Word<'_>], good: bool, bad: bool) -> Mood {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let ahead = is_demanded(words)
        || is_supposed(words, good)
        || words.iter().enumerate().any(|(at, word)| {
            let next = lower(at + 1);
            let before = at.checked_sub(1).map_or("", lower);
            let negated = matches!(next, "not" | "never" | "no");
            match word.lower.as_str() {
                // "It will not load" is how it is now.
                "will" | "would" => !(negated && good),
                "won't" | "wouldn't" => !good,
                "shall" => true,
                // "Should have blocked it" tells that it did not.
                "should" => true,
                "must" => next != "have",
                "might" | "may" => !word.is_capital() && next != "have" && !is_month(before, next),
                "could" => !negated && !good,
                "if" => !ASKING.contains(&before),
                "unless" => bad,
                lower if INTENDING.contains(&lower) => !words.iter().any(|word| word.lower == "outage"),
                lower if INTENDING_TO.contains(&lower) => next == "to",
                lower if CONSIDERING.contains(&lower) => {
                    matches!(next, "a" | "an" | "the" | "whether" | "new") || next.ends_with("ing")
                }
                _ => false,
            }
        });
    let account = words.iter().enumerate().any(|(at, word)| {
        is_part_of_a_service(words, at)
            || matches!(word.lower.as_str(), "account" | "accounts" | "profile" | "profiles" | "tweet" | "tweets")
                && !is_where_it_was_said(words, at)
                && !words.iter().take(at).any(|word| WHY.contains(&word.lower.as_str()))
    });
    match (ahead, account && bad && !good) {
        (true, _) => Mood::Ahead,
        (false, true) => Mood::Account,
        (false, false) => Mood::Fact,
    }
}

/// "The court ordered them to unblock it", "urged Kenya to lift the ban": what is demanded is not done yet.
fn is_demanded(words: &[Word<'_>]) -> bool {
    static DEMANDS: Words = Words::of("clauses demands");
    static UNDONE: Words = Words::of("clauses undone");
    const WISHES: [&str; 8] = ["unblock", "restore", "lift", "stop", "end", "unban", "let", "free"];
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let undo = |at: usize| is(at, &["to", "for"]) && is(at + 1 + usize::from(is(at + 1, &["be"])), &UNDONE);
    // "Unblock it now!"
    let first = usize::from(is(0, &["please", "pls"]));
    let wished = is(first, &WISHES) && !is(first + 1, &["of", "me", "us"]);
    wished || (0..words.len()).any(|at| is(at, &DEMANDS) && (at + 1..at + 9).any(undo))
}

/// What follows says why something was blocked: "after it deleted a tweet".
const WHY: [&str; 9] = ["after", "because", "following", "over", "since", "when", "retaliation", "revenge", "response"];

/// What there is on a service.
static POSTED: Words = Words::of("clauses posted");

/// "A Telegram channel was blocked": not the service, unless the channel is who says so.
fn is_part_of_a_service(words: &[Word<'_>], at: usize) -> bool {
    const PARTS: [&str; 10] =
        ["hashtag", "hashtags", "channel", "channels", "group", "groups", "bot", "bots", "page", "pages"];
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let of = at.checked_sub(1).is_some_and(|at| brand(lower(at)).is_some());
    // "Ads on X are banned"
    let cited = is_where_it_was_said(words, at) || at > 1 && (lower(at - 2), lower(at - 1)) == ("according", "to");
    let on = lower(at + 1) == "on" && brand(lower(at + 2)).is_some() && !cited;
    let part = of && PARTS.contains(&lower(at)) || on && POSTED.contains(&lower(at));
    part && !(at + 1..at + 8).any(|at| REPORTS.contains(&lower(at)))
}

/// "In a tweet", "on account of".
fn is_where_it_was_said(words: &[Word<'_>], at: usize) -> bool {
    let mut before = words.get(..at).unwrap_or_default().iter().rev().map(|word| word.lower.as_str());
    let article =
        |word: &&str| matches!(*word, "a" | "an" | "the" | "his" | "her" | "their" | "its" | "this" | "several");
    before.find(|word| !article(word)).is_some_and(|word| matches!(word, "in" | "on" | "via" | "from" | "by"))
}
