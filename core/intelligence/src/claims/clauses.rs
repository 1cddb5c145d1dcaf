//! A sentence as clauses: each says something of its own about a place and a service.

use super::*;

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
    let asks = from > 0 && link == Link::And && text.fits(from, "clauses.asks");
    if from < end && !asks {
        found.push(Piece { range: from..end, link });
    }
    found
}

/// Whether nothing but names stands from one place to another, and more of them and a date of theirs behind.
fn dated_list(text: Reader<'_>, from: usize, and: usize) -> bool {
    let names = |at: usize| names_to(text, at).filter(|to| *to > at);
    let dated = |to: usize| text.fits(to, "clauses.dated");
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
    let mut to = at + text.matches(at, "clauses.name")?;
    while let Some(length) = text.matches(to, "clauses.next_name") {
        to += length;
    }
    Some(to)
}

/// The words at a place that begin a clause: how many are no part of it, and how it hangs on the one before.
fn border(text: Reader<'_>, at: usize) -> Option<(usize, Link)> {
    let names = |at: usize| names_to(text, at);
    if let Some(length) = text.matches(at, "clauses.despite") {
        return Some((length, Link::Despite));
    }
    let everything = text.is(at, "but") && text.was(at, 1, "everything");
    let which = text.fits(at, "clauses.which");
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
    match text.lower(at) {
        "unlike" => Some((1, Link::Unlike)),
        _ if at == 0 && text.fits(0, "clauses.led") => Some((1, Link::Aside)),
        _ if at == 0
            && let Some(length) = comparison(text) =>
        {
            Some((length, Link::Aside))
        }
        "like" if is_compared(text, at) => Some((1, Link::Aside)),
        // "Cut the internet rather than block Facebook": each verb with what it is said of.
        "rather" | "instead" if text.fits(at, "clauses.verb_contrasted") && text.part(0..at).says("clauses.object") => {
            Some((2, Link::Contrast))
        }
        "rather" | "instead" if text.is(at + 1, "than|of") => names(at + 2).map(|_| (2, Link::Contrast)),
        _ if text.fits(at, "clauses.denied") && but() => Some((1, Link::Contrast)),
        _ if which => Some((1, Link::Aside)),
        "and" => Some((1, Link::And)),
        _ => match text.pause(at) {
            Pause::Stop => Some((0, Link::But)),
            // "And, a day later, the internet" is one piece.
            Pause::Comma if text.fits(at, "clauses.set_apart") => None,
            Pause::Colon if text.fits(at, "clauses.heading") => None,
            Pause::Comma | Pause::Colon => Some((0, Link::And)),
            Pause::None => None,
        },
    }
}

fn names_a_place(text: Reader<'_>, range: Range<usize>) -> bool {
    !places::mentions(text.part(range).words).is_empty()
}

/// "Just as in Senegal, ...", "After Senegal in 2023, ...": how many words lead to countries that are only compared.
fn comparison(text: Reader<'_>) -> Option<usize> {
    let (from, end) = (text.matches(0, "clauses.comparing")?, text.words.len());
    let to = from + text.matches(from, "clauses.to_a_comma").filter(|to| from + to < end)?;
    (names_a_place(text, from..to) && names_a_place(text, to..end)).then_some(from)
}

/// "Ghana, like Senegal, blocked it": countries to compare with, unlike those of "countries like Senegal".
fn is_compared(text: Reader<'_>, at: usize) -> bool {
    let Some(to) = names_to(text, at + 1).filter(|to| text.ends(*to)) else { return false };
    let end = text.words.len();
    let apart = text.ends(at) || at > 0 && to == end;
    apart && names_a_place(text, at + 1..to) && (names_a_place(text, 0..at) || names_a_place(text, to..end))
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

/// Reads the mood of a clause; `good` tells that it only speaks of a service that works, `bad` that one is blocked.
pub fn mood(text: Reader<'_>, good: bool, bad: bool) -> Mood {
    if is_ahead(text, good) || bad && text.has("unless") {
        return Mood::Ahead;
    }
    // "After it deleted a tweet" says why something was blocked.
    let account = |at: usize| {
        text.of_list(at, "clauses.accounts")
            && !text.fits(at, "clauses.said_there")
            && !text.part(0..at).says("clauses.why")
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
    let on = || text.fits(at, "clauses.posted_on") && !text.fits(at, "clauses.cited");
    (text.fits(at, "clauses.part_of") || on()) && !(at + 1..at + 8).any(|at| text.of_list(at, "aside.reports"))
}

const LONGEST: usize = 5;

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
    // "The blocking of roads", "shut down its office"
    let first = verb + text.matches(verb, "objects.verb_of").unwrap_or(1);
    let ends = |at: &usize| text.ends(*at) || text.of_list(*at, "objects.behind") || *at >= first + LONGEST;
    let end = (first..).find(ends).unwrap_or(first);
    let things = |range: Range<usize>| text.part(range).says("objects.things");
    // "Exports of phones": what stands behind "of" is no object.
    let head = (first..end).find(|at| text.is(*at, "of") && things(first..*at)).unwrap_or(end);
    let object = text.part(first..head);
    // "Telegram blocked channels", "asked Telegram to block channels", "Twitter banned Nigeria": the service did it.
    let country = || text.fits(verb, "objects.verb_of_services") && names_a_place(text, first..head);
    let by_itself = text.fits(verb, "objects.by_a_service") && (object.says("objects.own") || country());
    // "Blocked Maria on WhatsApp": her, and not the service.
    let on_it = first < head && text.fits(head, "objects.on_it");
    // "Blocked him from using it" is about what he uses.
    let online =
        text.fits(head, "objects.kept_from") || object.has("internet|connectivity|access|mobile|data|web|networks");
    text.fits(verb, "objects.has_me")
        || (things(first..head) || by_itself || on_it) && !online && !object.says("objects.service")
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
