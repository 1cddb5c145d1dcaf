//! Services that a sentence names and claims nothing of: who reports a block, where it was read, and what people get around
//! it with. "BBC reported that Telegram is blocked in Iran" is about Telegram.

use super::lexicon::Words;
use super::means::USING;
use super::senses::{Sense, meanings};
use super::subjects::{Named, names_connectivity};
use super::words::{Pause, Word};

/// Verbs of reporting.
pub static REPORTS: Words = Words::of("aside reports");
/// After one of these the verb is passive: "Telegram is reported blocked" has no reporter.
static REPORTED_AS: Words = Words::of("aside reported as");
/// Words between a name and its verb: "Twitter users in Uganda have reported".
static BETWEEN: Words = Words::of("aside between");
/// Most of them.
const MOST_BETWEEN: usize = 5;
/// People of a medium, who are no subject wherever they are.
const STAFF: [&str; 6] = ["journalists", "journalist", "reporters", "reporter", "correspondents", "correspondent"];
/// Words before a medium that is cited.
const CITES: [&str; 8] = ["citing", "quoting", "per", "source", "sources", "cites", "quotes", "cited"];
/// What is read, seen or said "on" a service.
static READ: Words = Words::of("aside read");
/// Before what is read, they say that it cannot be.
static UNREAD: Words = Words::of("aside unread");
/// Services that get around blocks.
static TOOLS: Words = Words::of("aside tools");
/// Words between one of [`USING`] and the tool.
static USES_BETWEEN: Words = Words::of("aside uses between");

/// Words that say that a block is only said.
static HEARSAY: Words = Words::of("aside hearsay");
/// ... and those that do so before "to have" and "to be".
const SAID_TO: [&str; 5] = ["said", "reported", "believed", "claimed", "thought"];

/// Whether words tell of a block as of something that is said: "allegedly", "was accused of", "is said to have".
pub fn is_hearsay(words: &[Word<'_>]) -> bool {
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    (0..words.len())
        .any(|at| is(at, &HEARSAY) || is(at, &SAID_TO) && is(at + 1, &["to"]) && is(at + 2, &["have", "be"]))
}

/// Names side by side: "Tor and Psiphon".
struct Group<'n> {
    named: &'n [Named],
    from: usize,
    /// The word behind it.
    to: usize,
}

/// Marks the names of which nothing is claimed, as long as something else is named that is.
pub fn mark(words: &mut [Word<'_>], named: &[Named]) {
    let groups = groups(words, named);
    // Only the next name may tell why: a sentence of many must not be read once for each two.
    let why = |group: &Group<'_>| {
        let next = groups.iter().find(|other| other.from >= group.to);
        next.filter(|next| is_told_why(words, group, next)).map(|_| Role::Cited)
    };
    let mut roles: Vec<Option<Role>> = groups.iter().map(|group| role(words, group).or_else(|| why(group))).collect();
    let claimed = |roles: &[Option<Role>], from: usize| {
        groups.iter().zip(roles).any(|(group, role)| role.is_none() && group.from >= from)
    };
    // "Telegram: blocked in Iran, Reuters reported": what stands before a colon reports only what is named behind it.
    for at in 0..roles.len() {
        if let Some(Some(Role::Heads(colon))) = roles.get(at)
            && !claimed(&roles, *colon)
            && !names_connectivity(words.get(*colon..).unwrap_or_default())
            && let Some(role) = roles.get_mut(at)
        {
            *role = None;
        }
    }
    let mut beside: Vec<(usize, usize)> = Vec::new();
    for (group, role) in groups.iter().zip(&roles) {
        let behind = match role {
            None => continue,
            Some(Role::Reports(behind)) if !stands_behind(words, group, *behind) => *behind,
            Some(Role::Heads(colon)) => *colon,
            Some(_) => 0,
        };
        // Its own name may hold a word of connectivity.
        let outside = |range: std::ops::Range<usize>| names_connectivity(words.get(range).unwrap_or_default());
        let connectivity = outside(behind.max(group.to)..words.len()) || behind == 0 && outside(0..group.from);
        if claimed(&roles, behind) || connectivity {
            beside.extend(group.named.iter().map(|named| (named.at, named.length)));
        }
    }
    for (at, length) in beside {
        words.iter_mut().skip(at).take(length).for_each(|word| word.aside = true);
    }
}

fn groups<'n>(words: &[Word<'_>], named: &'n [Named]) -> Vec<Group<'n>> {
    let mut groups: Vec<Group<'n>> = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(last) = named.get(at) {
        let to = last.at + last.length;
        at += 1;
        // What is cited ends with a comma: "According to the BBC, Signal is blocked".
        let first = named.get(from).map_or(0, |first| first.at);
        let pause = if is_cited(words, first) { Pause::None } else { Pause::Comma };
        let joined = named.get(at).is_some_and(|next| {
            let between = words.get(to..next.at).unwrap_or_default();
            between.iter().all(|word| matches!(word.lower.as_str(), "and" | "or" | "the" | "both"))
                && words.get(to..=next.at).unwrap_or_default().iter().all(|word| word.pause <= pause)
        });
        if !joined {
            // Two names with a comma alone are no list.
            let listed = (first..to).any(|at| words.get(at).is_some_and(|w| matches!(w.lower.as_str(), "and" | "or")));
            let members = named.get(from..at).unwrap_or_default();
            for one in members.chunks(if listed { members.len() } else { 1 }) {
                let from = one.first().map_or(0, |first| first.at);
                let to = one.last().map_or(0, |last| last.at + last.length);
                groups.push(Group { named: one, from, to });
            }
            from = at;
        }
    }
    groups
}

/// Why nothing is claimed of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// It reports what is said from this word on.
    Reports(usize),
    /// It stands before a colon, and what it reports behind.
    Heads(usize),
    /// It is cited, or read, or a means.
    Cited,
}

fn role(words: &[Word<'_>], group: &Group<'_>) -> Option<Role> {
    if let Some(role) = reports(words, group.to).map(Role::Reports).or_else(|| heads(words, group).map(Role::Heads)) {
        return Some(role);
    }
    let staff = words.get(group.to).is_some_and(|word| STAFF.contains(&word.lower.as_str()));
    let tool = group.named.iter().all(|named| TOOLS.contains(&named.topic.name())) && is_used(words, group.from);
    (staff || tool || is_cited(words, group.from) || is_read_on(words, group) || is_read_with(words, group.from))
        .then_some(Role::Cited)
}

/// "Signal downloads soared after Telegram was blocked": of the first nothing is said that is a claim of ours.
fn is_told_why(words: &[Word<'_>], group: &Group<'_>, other: &Group<'_>) -> bool {
    let why = |at: &usize| {
        words
            .get(*at)
            .is_some_and(|word| matches!(word.lower.as_str(), "after" | "when" | "because" | "since" | "once"))
    };
    let Some(why) = (group.to..other.from).rev().take(3).find(why) else { return false };
    let is =
        words.get(other.to).is_some_and(|word| matches!(word.lower.as_str(), "is" | "was" | "got" | "went" | "has"));
    let one = words.get(..other.to).unwrap_or_default().iter().all(|word| word.pause < Pause::Colon);
    let silent = meanings(words.get(..why).unwrap_or_default()).iter().all(|(_, sense)| *sense == Sense::Aside);
    is && one && silent
}

/// "BBC reported that", "Twitter users in Uganda say": the place behind the verb.
fn reports(words: &[Word<'_>], from: usize) -> Option<usize> {
    for at in from..=from + MOST_BETWEEN {
        let word = words.get(at).filter(|word| word.pause == Pause::None)?;
        let next = words.get(at + 1).map_or("", |word| word.lower.as_str());
        let verb = REPORTS.contains(&word.lower.as_str());
        if verb && !REPORTS.contains(&next) && !REPORTED_AS.contains(&next) {
            return Some(at + 1);
        }
        let day = super::relative::weekday(word).is_some();
        if !(verb || day || word.is_capital() || BETWEEN.contains(&word.lower.as_str())) {
            return None;
        }
    }
    None
}

/// Whether a report stands behind what it reports: "..., as Reuters reported on Monday".
fn stands_behind(words: &[Word<'_>], group: &Group<'_>, verb: usize) -> bool {
    let word = |at: Option<usize>| at.and_then(|at| words.get(at));
    let before = word(group.from.checked_sub(1)).filter(|word| matches!(word.lower.as_str(), "as" | "the"));
    let pause = |word: Option<&Word<'_>>| word.is_some_and(|word| word.pause != Pause::None);
    (pause(word(Some(group.from))) || pause(before)) && verb + 3 > words.len()
}

/// "Reuters: WhatsApp blocked in Uganda": a name before a colon, in the same sentence.
fn heads(words: &[Word<'_>], group: &Group<'_>) -> Option<usize> {
    let begins = words.get(..group.from)?.iter().all(|word| word.is_capital() && word.pause == Pause::None);
    let colon = (group.to..group.to + 3).find(|at| words.get(*at).is_none_or(|word| word.pause != Pause::None))?;
    let named = words.get(group.to..colon)?.iter().all(|word| word.is_capital() || word.lower == "news");
    let one = words.get(colon..)?.iter().skip(1).all(|word| word.pause != Pause::Stop);
    (begins && named && one && words.get(colon)?.pause == Pause::Colon).then_some(colon)
}

/// "according to the BBC", "(source: BBC)", ", says the BBC".
fn is_cited(words: &[Word<'_>], from: usize) -> bool {
    let back = |back: usize| from.checked_sub(back).and_then(|at| words.get(at));
    let the = usize::from(back(1).is_some_and(|word| word.lower == "the"));
    let lower = |steps: usize| back(the + steps).map_or("", |word| word.lower.as_str());
    let report = |word: &str| REPORTS.contains(&word) || matches!(word, "article" | "investigation" | "seen" | "cited");
    match lower(1) {
        "to" => lower(2) == "according",
        "by" | "from" => report(lower(2)),
        "told" | "tells" => true,
        verb if REPORTS.contains(&verb) => back(the + 1).is_some_and(|word| word.pause != Pause::None),
        word => CITES.contains(&word),
    }
}

/// "I read on Facebook that", "on Twitter people say".
fn is_read_on(words: &[Word<'_>], group: &Group<'_>) -> bool {
    let before = words.get(..group.from).unwrap_or_default();
    let lower = |word: &Word<'_>| word.lower.clone();
    let Some(on) = before.iter().rposition(|word| matches!(word.lower.as_str(), "on" | "in" | "via")) else {
        return false;
    };
    let article = |word: &Word<'_>| matches!(word.lower.as_str(), "a" | "an" | "the" | "some");
    if !before.get(on + 1..).unwrap_or_default().iter().all(article) {
        return false;
    }
    let clause = before.get(..on).unwrap_or_default();
    let read = clause.iter().rev().take(3).any(|word| READ.contains(&lower(word).as_str()));
    let unread = clause.iter().any(|word| UNREAD.contains(&lower(word).as_str()));
    let behind = words.get(group.to..).unwrap_or_default();
    let people = |word: &Word<'_>| {
        matches!(
            word.lower.as_str(),
            "people" | "users" | "they" | "someone" | "somebody" | "many" | "some" | "i" | "he"
        )
    };
    let said =
        behind.first().is_some_and(people) && behind.iter().take(3).any(|word| REPORTS.contains(&lower(word).as_str()));
    (read && !unread) || said
}

/// "because people use it to read the BBC": what the blocked service serves for.
fn is_read_with(words: &[Word<'_>], from: usize) -> bool {
    let before = words.get(from.saturating_sub(6)..from).unwrap_or_default();
    let is = |word: Option<&Word<'_>>, list: &[&str]| word.is_some_and(|word| list.contains(&word.lower.as_str()));
    (0..before.len()).any(|at| {
        is(before.get(at), &["use", "uses", "used", "using"])
            && is(before.get(at + 1), &["it", "them", "this"])
            && is(before.get(at + 2), &["to", "for"])
    })
}

/// "used Tor", "with tools like Psiphon".
fn is_used(words: &[Word<'_>], from: usize) -> bool {
    let before = words.get(..from).unwrap_or_default().iter().rev();
    let mut before = before.skip_while(|word| USES_BETWEEN.contains(&word.lower.as_str()));
    let using = before.next().is_some_and(|word| USING.contains(&word.lower.as_str()));
    // "Together with Tor" is no use of it.
    using && !before.next().is_some_and(|word| matches!(word.lower.as_str(), "along" | "together"))
}
