//! What is blocked, where it is nothing that we check: a road, a bill, a person.

use super::lexicon::Words;
use super::senses::{Sense, meanings};
use super::words::{Pause, Word, stem};

/// Verbs, without their endings, whose object may be anything.
const VERBS: [&str; 12] =
    ["block", "ban", "bar", "cut", "restrict", "suspend", "prohibit", "outlaw", "censor", "limit", "shut", "clos"];
/// Things and people that are no part of the internet.
static THINGS: Words = Words::of("objects things");
/// What is cut or blocked where the internet is.
const INTERNET: [&str; 7] = ["internet", "connectivity", "access", "mobile", "data", "web", "networks"];
/// Many people: what they are blocked from is blocked.
const MANY: [&str; 10] =
    ["public", "everyone", "everybody", "nation", "country", "people", "population", "access", "site", "app"];
/// What a service blocks by itself.
static OWN: Words = Words::of("objects own");
/// Words that end what a verb takes as its object.
static BEHIND: Words = Words::of("objects behind");
/// Most words of an object.
const LONGEST: usize = 5;

/// Whether everything that a clause says to be blocked is something else than a service; `service` tells of the words
/// that name one.
pub fn are_others(words: &[Word<'_>], service: impl Fn(usize) -> bool) -> bool {
    let is_verb = |at: usize| words.get(at).is_some_and(|word| VERBS.contains(&stem(&word.lower).as_str()));
    let bad = meanings(words)
        .into_iter()
        .filter(|(_, sense)| matches!(sense, Sense::Bad(_) | Sense::Fails(_) | Sense::Forbids | Sense::Suspends));
    // "Shut down": one verb.
    let particle = |at: usize| words.get(at).is_some_and(|word| matches!(word.lower.as_str(), "down" | "off"));
    let behind = |at: usize| at.checked_sub(1).is_some_and(is_verb);
    let mut bad = bad.map(|(at, _)| at).filter(|at| !(particle(*at) && behind(*at))).peekable();
    bad.peek().is_some() && bad.all(|at| is_verb(at) && is_other(words, at, &service))
}

fn is_other(words: &[Word<'_>], verb: usize, service: &dyn Fn(usize) -> bool) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let is = |at: usize, list: &[&str]| list.contains(&lower(at));
    let helped = (1..=2).any(|back| {
        verb.checked_sub(back)
            .is_some_and(|at| is(at, &["is", "are", "was", "were", "been", "be", "being", "got", "gets"]))
    });
    if helped {
        return is_other_subject(words, verb, service);
    }
    // "Has me blocked on WhatsApp"
    if verb.checked_sub(1).is_some_and(|at| is(at, &["me", "him", "her"])) && is(verb + 1, &["on"]) && service(verb + 2)
    {
        return true;
    }
    // "The blocking of roads", "shut down its office"
    let first = verb + 1 + usize::from(is(verb + 1, &["of", "on", "down", "off"]));
    let ends = |at: usize| {
        words.get(at).is_none_or(|word| word.pause != Pause::None) || is(at, &BEHIND) || at >= first + LONGEST
    };
    let object = first..(first..).find(|at| ends(*at)).unwrap_or(first);
    // "Telegram blocked channels", "asked Telegram to block channels"
    let back = if verb > 0 && is(verb - 1, &["to"]) { 2 } else { 1 };
    let by_itself = verb.checked_sub(back).is_some_and(service);
    // "Exports of phones": what stands behind "of" is no object.
    let head = object.clone().find(|at| lower(*at) == "of" && (object.start..*at).any(|at| is(at, &THINGS)));
    let object = object.start..head.unwrap_or(object.end);
    // "Twitter banned Nigeria": the service did it.
    let country = || {
        let named = super::places::mentions(words.get(object.clone()).unwrap_or_default());
        matches!(stem(lower(verb)).as_str(), "ban" | "block") && !named.is_empty()
    };
    let thing = object.clone().any(|at| is(at, &THINGS) || by_itself && is(at, &OWN)) || by_itself && country();
    // "Blocked Maria on WhatsApp": her, and not the service.
    let on_it = is(object.end, &["on"]) && service(object.end + 1) && !object.is_empty();
    let online = object.clone().any(|at| is(at, &INTERNET));
    // "Blocked him from using it" is about what he uses.
    let kept_from = is(object.end, &["from"]) && (object.end + 1..words.len()).any(service);
    (thing || on_it) && !online && !kept_from && !object.clone().any(service)
}

/// "Roads were blocked", and people: "I was blocked on Twitter".
fn is_other_subject(words: &[Word<'_>], verb: usize, service: &dyn Fn(usize) -> bool) -> bool {
    let from = (0..verb).rev().find(|at| words.get(*at).is_none_or(|word| word.pause != Pause::None)).unwrap_or(0);
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let on_one = is(verb + 1, &["on", "by", "from"]) && service(verb + 2);
    // "Trump was banned from Twitter", unlike "Kenyans were": one, and not many.
    let one = verb.checked_sub(1).is_some_and(|at| is(at, &["was", "is", "got", "gets"]))
        && !(from..verb).any(|at| is(at, &MANY));
    // "Bots were banned from Telegram": what is on it.
    let who = |at: usize| is(at, &SOMEBODY) || is(at, &ON_IT) || super::places::is_person(words, at);
    let person = on_one && (one || (from..verb).any(who)) || is_by_somebody(words, verb, service);
    let mut before = from..verb;
    let thing = before.clone().any(|at| is(at, &THINGS));
    (thing || person) && !before.any(service)
}

/// "Blocked by his ex on WhatsApp", "by Mary on X": by a person, and on a service.
fn is_by_somebody(words: &[Word<'_>], verb: usize, service: &dyn Fn(usize) -> bool) -> bool {
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let by = verb + 1 + usize::from(is(verb + 1, &["on"]) && service(verb + 2)) * 2;
    let on = (by + 2..by + LONGEST).find(|at| is(*at, &["on"]) && service(at + 1));
    let end = match on {
        Some(on) => on,
        None if by > verb + 1 => by + 3,
        None => return false,
    };
    is(by, &["by"]) && (by + 1..end).any(|at| is(at, &THEIRS) || is(at, &PEOPLE))
}

/// What there is on a service and is no user.
const ON_IT: [&str; 6] = ["bots", "ads", "posts", "channels", "groups", "hashtags"];
/// Words for one who may be blocked by others, and for others of theirs who do it.
const SOMEBODY: [&str; 7] = ["i", "he", "she", "i've", "he's", "she's", "i'm"];
const THEIRS: [&str; 6] = ["his", "her", "my", "your", "our", "their"];
static PEOPLE: Words = Words::of("objects people");
