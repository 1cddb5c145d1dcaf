//! A sentence as clauses: each says something of its own about a place and a service.

use std::ops::Range;

use super::lexicon;
use super::places::{is_person, mentions};
use super::stance::{Sense, meanings};
use super::subjects::brand;
use super::words::{Pause, Reader, stem};

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
        let listed = next == Some((1, Link::And)) && from > 0 && link == Link::And && dated_list(text, from, at);
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
    let verb = text.of_list(from, "clauses.auxiliaries") || text.lower(from).ends_with("n't");
    let asks = from > 0 && link == Link::And && from + 2 == end && verb && text.is(from + 1, "it|they|he|she|there");
    if from < end && !asks {
        found.push(Piece { range: from..end, link });
    }
    found
}

/// Whether nothing but names stands from one place to another, and more of them and a date of theirs behind.
fn dated_list(text: Reader<'_>, from: usize, and: usize) -> bool {
    let names = |at: usize| names_to(text, at).filter(|to| *to > at);
    let dated = |to: usize| {
        text.is(to, "on|in|since|from") && (text.figure(to + 1) || text.figure(to + 2) || text.capital(to + 1))
    };
    text.capital(from) && names(from).is_some_and(|to| to >= and) && names(and + 1).is_some_and(dated)
}

/// Where the names end that a piece sets against others: "not Ghana", "rather than in Ghana or Togo".
fn contrasted(text: Reader<'_>, from: usize, link: Link) -> Option<usize> {
    let not = text.is(from, "not");
    let end = names_to(text, from + usize::from(not))?;
    ((not && matches!(link, Link::And | Link::But)) || link == Link::Contrast).then_some(end)
}

/// The word behind names or figures that begin at a place, which a preposition may precede.
fn names_to(text: Reader<'_>, at: usize) -> Option<usize> {
    let is_name = |at: usize| text.capital(at) || text.figure(at) || brand(text.lower(at)).is_some();
    let first = (at..at + 3).find(|at| !text.is(*at, "in|on|from|by|the|at")).filter(|first| is_name(*first))?;
    let mut to = first + 1;
    while !text.ends(to) {
        let links = usize::from(text.is(to, "and|or|nor|of"));
        if !is_name(to + links) || text.ends(to + links) {
            break;
        }
        to += links + 1;
    }
    Some(to)
}

/// The words at a place that begin a clause: how many are no part of it, and how it hangs on the one before.
fn border(text: Reader<'_>, at: usize) -> Option<(usize, Link)> {
    let names = |at: usize| names_to(text, at);
    if let Some(length) = text.matches(at, "clauses.despite") {
        return Some((length, Link::Despite));
    }
    // "Everything but available"
    let everything = text.is(at, "but") && text.was(at, 1, "everything");
    let comma = text.pause(at) == Pause::Comma;
    let which = comma && text.is(at, "which|who|whose");
    // ", which is untrue" takes back what stands before.
    let taken_back = || {
        let said = meanings(text.part(at..at + 4).words);
        !said.is_empty() && said.iter().all(|(_, sense)| *sense == Sense::Denies)
    };
    if text.fits(at, "clauses.no_but")
        || everything && !meanings(text.part(at - 1..at + 2).words).is_empty()
        || which && text.is(at, "which") && taken_back()
    {
        return None;
    }
    if text.fits(at, "clauses.but") {
        return Some((1, Link::But));
    }
    // "Not Kenya but Tanzania", "It isn't TikTok but X that Ghana blocks"
    let but = || names(at + 1).is_some_and(|end| text.is(end, "but") && names(end + 1).is_some());
    let denied = text.is(at, "not|neither") || text.is(at, "isn't|wasn't") && text.was(at, 1, "it");
    match text.lower(at) {
        "unlike" => Some((1, Link::Unlike)),
        // "Like Nigeria in 2021, Brazil blocked it."
        "like" if at == 0 && ends_with_a_comma(text, 1) => Some((1, Link::Aside)),
        "as" if at == 0 && text.is(1, "in") && ends_with_a_comma(text, 1) => Some((1, Link::Aside)),
        _ if at == 0
            && let Some(length) = comparison(text) =>
        {
            Some((length, Link::Aside))
        }
        "like" if is_compared(text, at) => Some((1, Link::Aside)),
        "rather" | "instead" if is_verb_contrasted(text, at) => Some((2, Link::Contrast)),
        "rather" if text.is(at + 1, "than") => names(at + 2).map(|_| (2, Link::Contrast)),
        "instead" if text.is(at + 1, "of") => names(at + 2).map(|_| (2, Link::Contrast)),
        _ if denied && but() => Some((1, Link::Contrast)),
        _ if which => Some((1, Link::Aside)),
        "and" => Some((1, Link::And)),
        _ => match text.pause(at) {
            Pause::Stop => Some((0, Link::But)),
            // "And, a day later, the internet" is one piece.
            Pause::Comma if is_set_apart(text, at) => None,
            // "Kenya: Telegram blocked" is a clause.
            Pause::Colon if is_heading(text, at) => None,
            Pause::Comma | Pause::Colon => Some((0, Link::And)),
            Pause::None => None,
        },
    }
}

/// "Cut the internet rather than block Facebook": each verb with what it is said of.
fn is_verb_contrasted(text: Reader<'_>, at: usize) -> bool {
    let named = |at: usize| text.is(at, "internet|social") || brand(text.lower(at)).is_some();
    let verb = lexicon::list("ahead.done").has(&stem(text.lower(at + 2)));
    let object = at + 3 + usize::from(text.is(at + 3, "the"));
    text.is(at + 1, "than|of") && verb && named(object) && (0..at).any(named)
}

fn names_a_place(text: Reader<'_>, range: Range<usize>) -> bool {
    !mentions(text.part(range).words).is_empty()
}

/// "Just as in Senegal, ...", "Similar to Senegal, ...", "After Senegal in 2023, ...": how many words lead to the countries
/// that a sentence begins with to compare, or to say which came first.
fn comparison(text: Reader<'_>) -> Option<usize> {
    let (from, end) = (text.matches(0, "clauses.comparing")?, text.words.len());
    let to = (from + 1..end).find(|at| text.ends(*at))?;
    let compared = names_a_place(text, from..to) && names_a_place(text, to..end);
    (ends_with_a_comma(text, from) && compared).then_some(from)
}

/// "Ghana, like Senegal, blocked it", "Ghana blocked it like Senegal": countries to compare with, and none of "countries
/// like Senegal", which are meant.
fn is_compared(text: Reader<'_>, at: usize) -> bool {
    let Some(to) = names_to(text, at + 1).filter(|to| text.ends(*to)) else { return false };
    let end = text.words.len();
    let apart = text.ends(at) || at > 0 && to == end;
    apart && names_a_place(text, at + 1..to) && (names_a_place(text, 0..at) || names_a_place(text, to..end))
}

/// Whether nothing but names and dates stands from a place to the first comma.
fn ends_with_a_comma(text: Reader<'_>, from: usize) -> bool {
    let plain = |at: usize| text.capital(at) || text.figure(at) || text.is(at, "in|and|of|the|did|does|has|had");
    let to = (from + 1..text.words.len()).find(|at| text.ends(*at));
    to.is_some_and(|to| (from..to).all(plain))
}

/// Whether a name alone stands between the end of a sentence, or the beginning of all, and a place.
fn is_heading(text: Reader<'_>, at: usize) -> bool {
    let name = |at: usize| text.capital(at) && !text.of_list(at, "clauses.elliptic");
    let from = (0..at).rev().take(3).take_while(|at| name(*at)).find(|at| text.pause(*at) == Pause::Stop);
    from.is_some() || at <= 3 && (0..at).all(name)
}

/// Whether a few words before a comma an "and" stands with a comma behind it.
fn is_set_apart(text: Reader<'_>, at: usize) -> bool {
    let between = |and: usize| (and + 2..at).all(|at| !text.ends(at) && !text.is(at, "and"));
    let and = |back: usize| at.checked_sub(back).filter(|and| text.is(*and, "and"));
    (1..=6).filter_map(and).any(|and| text.pause(and + 1) == Pause::Comma && between(and))
}

/// Whether a clause leaves its verb to another one ("but Russia does", "not in Sweden"); then whether it negates that.
pub fn elliptic(text: Reader<'_>, known: impl Fn(usize) -> bool) -> Option<bool> {
    let all = (0..text.words.len()).all(|at| text.of_list(at, "clauses.elliptic") || known(at));
    let negated = text.says("clauses.negations");
    (all && (negated || text.says("clauses.auxiliaries"))).then_some(negated)
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

/// Reads the mood of a clause; `good` tells that it only speaks of a service that works, `bad` that something is
/// blocked.
pub fn mood(text: Reader<'_>, good: bool, bad: bool) -> Mood {
    if is_ahead(text, good) || bad && text.has("unless") {
        return Mood::Ahead;
    }
    // "After it deleted a tweet" says why something was blocked.
    let account = |at: usize| {
        text.of_list(at, "clauses.accounts") && !is_where_it_was_said(text, at) && !text.part(0..at).says("clauses.why")
    };
    let account = |at: usize| account(at) || is_part_of_a_service(text, at);
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
    let service = |at: usize| brand(text.lower(at)).is_some();
    let of = at > 0 && text.of_list(at, "clauses.parts") && service(at - 1);
    let cited = || is_where_it_was_said(text, at) || text.was(at, 1, "to") && text.was(at, 2, "according");
    let on = text.of_list(at, "clauses.posted") && text.is(at + 1, "on") && service(at + 2) && !cited();
    (of || on) && !(at + 1..at + 8).any(|at| text.of_list(at, "aside.reports"))
}

/// "In a tweet", "on account of".
fn is_where_it_was_said(text: Reader<'_>, at: usize) -> bool {
    let before = (0..at).rev().find(|at| !text.is(*at, "a|an|the|his|her|their|its|this|several"));
    before.is_some_and(|before| text.is(before, "in|on|via|from|by"))
}

/// Most words of an object.
const LONGEST: usize = 5;

/// Whether all that a clause says to be blocked is a road, a bill, a person; `service` tells of words that name a service.
pub fn are_others(text: Reader<'_>, service: &dyn Fn(usize) -> bool) -> bool {
    // Verbs whose object may be anything.
    let is_verb = |at: usize| lexicon::list("objects.verbs").has(&stem(text.lower(at)));
    let bad = meanings(text.words)
        .into_iter()
        .filter(|(_, sense)| matches!(sense, Sense::Bad(_) | Sense::Fails(_) | Sense::Forbids | Sense::Suspends));
    // "Shut down": one verb.
    let particle = |at: usize| text.is(at, "down|off") && at > 0 && is_verb(at - 1);
    let mut bad = bad.map(|(at, _)| at).filter(|at| !particle(*at)).peekable();
    bad.peek().is_some() && bad.all(|at| is_verb(at) && is_other(text, at, service))
}

fn is_other(text: Reader<'_>, verb: usize, service: &dyn Fn(usize) -> bool) -> bool {
    if (1..=2).any(|back| text.was(verb, back, "is|are|was|were|been|be|being|got|gets")) {
        return is_other_subject(text, verb, service);
    }
    // "Has me blocked on WhatsApp"
    if text.was(verb, 1, "me|him|her") && text.is(verb + 1, "on") && service(verb + 2) {
        return true;
    }
    // "The blocking of roads", "shut down its office"
    let first = verb + 1 + usize::from(text.is(verb + 1, "of|on|down|off"));
    let ends = |at: &usize| text.ends(*at) || text.of_list(*at, "objects.behind") || *at >= first + LONGEST;
    let end = (first..).find(ends).unwrap_or(first);
    let things = |range: Range<usize>| range.into_iter().any(|at| text.of_list(at, "objects.things"));
    // "Exports of phones": what stands behind "of" is no object.
    let head = (first..end).find(|at| text.is(*at, "of") && things(first..*at)).unwrap_or(end);
    // "Telegram blocked channels", "asked Telegram to block channels", "Twitter banned Nigeria": the service did it.
    let by_itself = verb.checked_sub(if text.was(verb, 1, "to") { 2 } else { 1 }).is_some_and(service);
    let country = || lexicon::list("objects.verbs_of_services").has(&stem(text.lower(verb)));
    let country = || country() && !mentions(text.part(first..head).words).is_empty();
    let own = || (first..head).any(|at| text.of_list(at, "objects.own"));
    // "Blocked Maria on WhatsApp": her, and not the service.
    let on_it = text.is(head, "on") && service(head + 1) && first < head;
    // "Blocked him from using it" is about what he uses.
    let kept_from = text.is(head, "from") && (head + 1..text.words.len()).any(service);
    let online = text.part(first..head).has("internet|connectivity|access|mobile|data|web|networks");
    (things(first..head) || by_itself && (own() || country()) || on_it)
        && !online
        && !kept_from
        && !(first..head).any(service)
}

/// "Roads were blocked", and people: "I was blocked on Twitter".
fn is_other_subject(text: Reader<'_>, verb: usize, service: &dyn Fn(usize) -> bool) -> bool {
    let from = (0..verb).rev().find(|at| text.ends(*at)).unwrap_or(0);
    let before = text.part(from..verb);
    // "Trump was banned from Twitter", unlike "Kenyans were": one, and not many. "Bots were banned": what is on it.
    let one = text.was(verb, 1, "was|is|got|gets") && !before.says("objects.many");
    let who = |at: usize| text.of_list(at, "objects.somebody") || is_person(text, at);
    let on_one = text.is(verb + 1, "on|by|from") && service(verb + 2) && (one || (from..verb).any(who));
    // "Blocked by his ex on WhatsApp", "blocked on X by Mary": by a person, and on a service.
    let behind = text.is(verb + 1, "on") && service(verb + 2);
    let by = verb + 1 + if behind { 2 } else { 0 };
    let on = (by + 2..by + LONGEST).find(|at| text.is(*at, "on") && service(at + 1)).or(behind.then_some(by + 3));
    let somebody = |end: usize| (by + 1..end).any(|at| text.of_list(at, "objects.people"));
    let by_one = text.is(by, "by") && on.is_some_and(somebody);
    (before.says("objects.things") || on_one || by_one) && !(from..verb).any(service)
}
