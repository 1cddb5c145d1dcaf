//! A sentence as clauses: each says something of its own about a place and a service.

use serde::Deserialize;

use super::*;

/// How a piece of a sentence hangs on what stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub range: Range<usize>,
    pub link: Link,
}

/// Pieces that are told apart; the last has the rest. Our choice: each costs a reading of what stands before it.
pub const MOST_PIECES: usize = 40;

/// Cuts a sentence wherever a clause may begin.
pub fn pieces(text: Reader<'_>) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let (mut from, mut link) = (0, Link::And);
    let (mut at, mut contrast, end) = (0, None, text.words.len());
    while at < end {
        let room = found.len() < MOST_PIECES && contrast.is_none_or(|end| at >= end);
        // Behind what is contrasted the clause goes on.
        let next = || border(text, at).or_else(|| (contrast == Some(at)).then_some((0, Link::And)));
        let next = if room { next() } else { None };
        // "..., and Signal and Medium on 5 May": names that are listed stay together where a date follows.
        let list = || text.capital(from) && names_to(text, from).is_some_and(|to| to >= at);
        let listed = next == Some((1, Link::And)) && from > 0 && link == Link::And && list();
        let listed = listed && text.fits(at + 1, "clauses.names_dated");
        let Some((length, next)) = next.filter(|_| !listed) else {
            at += 1;
            continue;
        };
        if from < at {
            found.push(Piece { range: from..at, link });
        }
        (from, link) = (at + length, next);
        contrast = contrasted(text, from, link);
        at += length.max(1);
    }
    // ", didn't it?" only asks for assent.
    let asks = from > 0 && link == Link::And && text.fits(from, "clauses.asks");
    if from < end && !asks {
        found.push(Piece { range: from..end, link });
    }
    found
}

/// Where the names end that a piece sets against others: "not Ghana", "rather than in Ghana or Togo".
fn contrasted(text: Reader<'_>, from: usize, link: Link) -> Option<usize> {
    let not = text.is(from, "not");
    let end = names_to(text, from + usize::from(not))?;
    ((not && matches!(link, Link::And | Link::But)) || link == Link::Contrast).then_some(end)
}

/// The word behind names or figures that begin at a place, which a preposition may precede.
fn names_to(text: Reader<'_>, at: usize) -> Option<usize> {
    text.matches(at, "clauses.names").map(|length| at + length)
}

/// The words at a place that begin a clause: how many are no part of it, and how it hangs on the one before.
fn border(text: Reader<'_>, at: usize) -> Option<(usize, Link)> {
    let said = |range: Range<usize>| meanings(text.part(range).words);
    // ", which is untrue" takes back what stands before.
    let taken_back = || {
        let said = said(at..at + 4);
        !said.is_empty() && said.iter().all(|(_, sense)| *sense == Sense::Denies)
    };
    let taken = text.take(at, "clauses.border")?;
    let none = match text.lower(at) {
        "but" => text.was(at, 1, "everything") && !said(at - 1..at + 2).is_empty(),
        "which" => taken_back(),
        _ => false,
    };
    lexicon::named(taken.says).filter(|_| !none).map(|link| (taken.length, link))
}

/// Whether a clause leaves its verb to another one ("but Russia does", "not in Sweden"); then whether it negates that.
pub fn elliptic(text: Reader<'_>) -> Option<bool> {
    let negated = text.says("clauses.negations");
    (text.fits(0, "clauses.all_elliptic") && (negated || text.says("clauses.auxiliaries"))).then_some(negated)
}

/// What a clause is about, when it is no fact about access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Fact,
    Ahead,
    /// Somebody's account or post, and not a service.
    Account,
}

/// Reads the mood of a clause; `good` tells that it only speaks of a service that works, `bad` that one is blocked.
pub fn mood(text: Reader<'_>, good: bool, bad: bool) -> Mood {
    if is_ahead(text, good) || bad && text.has("unless") {
        return Mood::Ahead;
    }
    // "After it deleted a tweet" says why something was blocked.
    let why = |at: usize| text.part(0..at).says("clauses.why");
    let account = |at: usize| text.fits(at, "clauses.account") && !why(at) || is_part_of_a_service(text, at);
    if bad && !good && (0..text.words.len()).any(account) { Mood::Account } else { Mood::Fact }
}

/// Whether a clause only supposes, demands or expects what it says.
pub fn is_ahead(text: Reader<'_>, good: bool) -> bool {
    text.says("ahead.ahead")
        || !good && text.says("ahead.unless_good")
        || text.says("clauses.intending") && !text.has("outage")
}

/// "A Telegram channel was blocked", "ads on X are banned": not the service, unless the channel is who says so.
fn is_part_of_a_service(text: Reader<'_>, at: usize) -> bool {
    text.fits(at, "clauses.part_of") && !(at + 1..at + 8).any(|at| text.of_list(at, "aside.reports"))
}

/// Whether all that a clause says to be blocked is a road, a bill, a person.
pub fn are_others(text: Reader<'_>) -> bool {
    let bad = |sense: Sense| matches!(sense, Sense::Bad(_) | Sense::Fails(_) | Sense::Forbids | Sense::Suspends);
    let bad = meanings(text.words).into_iter().filter(|(_, sense)| bad(*sense)).map(|(at, _)| at);
    let mut bad = bad.filter(|at| !text.fits(*at, "objects.particle")).peekable();
    bad.peek().is_some() && bad.all(|at| text.fits(at, "objects.verb") && is_other(text, at))
}

fn is_other(text: Reader<'_>, verb: usize) -> bool {
    if text.fits(verb, "objects.passive") {
        return is_other_subject(text, verb);
    }
    text.fits(verb, "objects.other")
}

/// "Roads were blocked", and people: "I was blocked on Twitter".
fn is_other_subject(text: Reader<'_>, verb: usize) -> bool {
    let from = (0..verb).rev().find(|at| text.ends(*at)).unwrap_or(0);
    let before = text.part(from..verb);
    // "Trump was banned from Twitter", unlike "Kenyans were": one, and not many. "Bots were banned": what is on it.
    let one = text.was(verb, 1, "was|is|got|gets") && !before.says("objects.many");
    let somebody = || before.says("objects.somebody") || (from..verb).any(|at| places::is_person(text, at));
    let on_one = text.fits(verb, "objects.on_a_service") && (one || somebody());
    // "Blocked by his ex on WhatsApp", "blocked on X by Mary": by a person, and on a service.
    let by_one = text.fits(verb, "objects.by_somebody");
    (before.says("objects.things") || on_one || by_one) && !before.says("objects.service")
}
