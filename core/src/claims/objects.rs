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
        stem(lower(verb)) == "ban" && !named.is_empty()
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

#[cfg(test)]
mod tests {
    use super::super::subjects::{Listed, named};
    use super::super::words::split;
    use super::*;

    fn others(text: &str) -> bool {
        let words = split(text);
        let named = named(&words, &Listed::new(&[]), |_| false);
        are_others(&words, |at| named.iter().any(|named| (named.at..named.at + named.length).contains(&at)))
    }

    #[test]
    fn what_is_blocked_and_is_no_service_is_told() {
        for text in [
            "Chad blocked me on WhatsApp",
            "Iran blocked the UN resolution in 2019",
            "Sri Lanka blocked a debt deal in April 2019",
            "Brazilian police blocked roads during a Telegram-organised protest",
            "Brazil's Supreme Court blocked a bill on Telegram",
            "Russia blocked grain exports",
            "roads were blocked in Kenya after Telegram posts",
            "The road to Tehran is blocked",
            "I was blocked on Twitter in Kenya",
            "Jordan Henderson was blocked on Facebook",
            "My friend Chad was blocked on Twitter",
            "Chad blocked Maria on WhatsApp in 2018",
            "Uganda blocked Bobi Wine on Facebook",
            "Trump was banned from Twitter in Nigeria",
            "Jordan got banned on TikTok",
            "Nigeria was banned by Twitter",
            "Twitter banned Nigeria's president",
            "Twitter banned Nigeria in June 2021",
            "Telegram banned a Kenyan exam cheating group in November 2023",
            "Bots were banned from Telegram in Kenya",
            "Ethiopia cut aid on 1 July 2020, internet reports say",
            "Ethiopia cut the interest rate, internet users noted",
            "Telegram blocks Hamas channels in Germany",
            "Facebook blocked news in Canada",
            "Kenya asked Telegram to block channels",
            "the blocking of roads, Telegram said",
            "Ghana banned imports of rice",
            "Kenya blocked exports of Telegram phones",
            "John was blocked by his ex on WhatsApp",
            "X shut down its office in Brazil",
            "schools were shut down in Kenya, Telegram channels said",
            "Mary was blocked on WhatsApp by a friend from Kenya",
            "I've been blocked by my boss on Telegram in Kenya",
            "Elon blocked me on X in Kenya",
            "my girlfriend in Kenya has me blocked on WhatsApp",
        ] {
            assert!(others(text), "{text}");
        }
        for text in [
            "Kenya blocked Telegram",
            "Iran blocked roads and Telegram",
            "Iran blocked the internet in 2019",
            "Russia blocked several sites",
            "China bans users from Facebook",
            "Iran blocked us from using Telegram",
            "Egypt barred him from using Signal",
            "Telegram was blocked on Safaricom",
            "Kenyans were blocked from Telegram",
            "the public was blocked from Telegram",
            "Uganda cut the internet in January 2021",
            "Uganda cut mobile data and fuel subsidies",
            "Facebook blocked in Myanmar",
            "Telegram was blocked after the protests",
            "The court suspended X and blocked payments to it",
            "a video shows that Telegram is blocked",
            "protesters blocked roads after the internet was slow",
            "WhatsApp was blocked by their government",
            "Iran shut schools and the internet",
            "Mali closed its airspace and cut the internet",
            "calls were blocked by Etisalat on WhatsApp",
            "Telegram is blocked by my provider on mobile data",
        ] {
            assert!(!others(text), "{text}");
        }
    }
}
