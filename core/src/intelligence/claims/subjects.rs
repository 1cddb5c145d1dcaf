//! What a claim says is or was blocked.

use std::collections::BTreeSet;

use super::lexicon::Words;
use super::words::{Lazy, Pause, Phrases, Word, is_top_level};
use crate::engine::small_sort;
use crate::facts::starter::{self, Platform};
use crate::facts::subject::Subject;
use crate::intelligence::incidents::INTERNET;
use crate::intelligence::reference::{self, Tracked};

const BRANDS: &str = include_str!("brands.tsv");

/// What is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topic {
    /// A domain or a service.
    Subject(Subject),
    /// Connectivity as a whole.
    Internet,
}

impl Topic {
    /// The slug, the domain, or `internet`.
    pub fn name(&self) -> &str {
        match self {
            Topic::Subject(subject) => &subject.name,
            Topic::Internet => INTERNET,
        }
    }

    /// All names that incidents may have for it: its own first.
    pub fn names(&self) -> Vec<String> {
        let own = self.name();
        let plain = |name: &str| name.to_lowercase().replace(' ', "_");
        let platform = Platform::by_domain(own).map(|platform| platform.slug.to_owned());
        let domain = brand(&reference::label(own)).map(str::to_owned);
        // Only sites have names in the table of brands alone.
        let called = starter::rows::<2>(BRANDS).filter(|[_, domain]| *domain == own).map(|[name, _]| plain(name));
        let mut names = vec![own.to_owned()];
        for name in platform.into_iter().chain(domain).chain(called) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn brands() -> &'static Phrases<&'static str> {
    static NAMES: Lazy<&'static str> = Lazy::new();
    NAMES.get_or_init(|| {
        let mut names: Vec<(String, &'static str)> =
            starter::rows::<2>(BRANDS).map(|[name, domain]| (name.to_owned(), domain)).collect();
        for platform in Platform::all() {
            for name in [platform.slug, platform.label].into_iter().chain(platform.aliases()) {
                names.push((name.to_owned(), platform.slug));
            }
        }
        names.extend(OTHER_NAMES.map(|(name, slug)| (name.to_owned(), slug)));
        Phrases::new(names)
    })
}

/// The domain or service that a text stands for which is a name and nothing else, whatever its case.
pub fn brand(text: &str) -> Option<&'static str> {
    let words = super::words::split(text);
    brands().at(&words, 0).filter(|(length, _)| *length == words.len()).map(|(_, name)| name)
}

/// Platforms as people write them beside their names.
const OTHER_NAMES: [(&str, &str); 13] = [
    ("Twitter (X)", "twitter"),
    ("X (Twitter)", "twitter"),
    ("X (formerly Twitter)", "twitter"),
    ("X/Twitter", "twitter"),
    ("Tor Browser", "tor"),
    ("Tor network", "tor"),
    ("The Onion Router", "tor"),
    ("Telegram Messenger", "telegram"),
    ("Signal Messenger", "signal"),
    ("WhatsApp Messenger", "whatsapp"),
    ("Whats App", "whatsapp"),
    ("Tik Tok", "tiktok"),
    ("Insta", "instagram"),
];

/// Ordinary words that are a name only when written like one.
const NEED_CAPITAL: [&str; 12] =
    ["x", "medium", "signal", "line", "zoom", "steam", "threads", "messenger", "rt", "vk", "dw", "fb"];

/// Phrases for connectivity as a whole.
static CONNECTIVITY: Words = Words::of("subjects connectivity");

/// Phrases that hold a word for connectivity and mean something else.
const NO_CONNECTIVITY: [&str; 4] = ["power outage", "power outages", "power blackout", "government shutdown"];

fn connectivity() -> &'static Phrases<bool> {
    static PHRASES: Lazy<bool> = Lazy::new();
    PHRASES.get_or_init(|| {
        let about = CONNECTIVITY.iter().map(|phrase| ((*phrase).to_owned(), true));
        let not = NO_CONNECTIVITY.iter().map(|phrase| ((*phrase).to_owned(), false));
        Phrases::new(about.chain(not))
    })
}

/// Social media as a whole, as incidents call them.
pub const SOCIAL_MEDIA: &str = "social media";
/// Platforms of which two make social media.
pub static SOCIAL: Words = Words::of("subjects social");

/// The words that name connectivity or social media as a whole: the first, and how many.
pub fn general(words: &[Word<'_>]) -> Vec<(usize, usize)> {
    let about = connectivity().all(words).into_iter().filter(|(.., about)| *about);
    let social = (0..words.len()).filter(|at| is_general(words, *at)).map(|at| (at, 1));
    about.map(|(at, length, _)| (at, length)).chain(social).collect()
}

/// Whether words say something of social media as a whole, and not of what is said there.
fn names_social_media(words: &[Word<'_>]) -> bool {
    const THERE: [&str; 4] = ["on", "via", "over", "in"];
    static WHO: Words = Words::of("subjects who");
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    (0..words.len()).any(|at| {
        let social = lower(at) == "social" && matches!(lower(at + 1), "media" | "network" | "networks" | "platforms");
        let there = at.checked_sub(1).is_some_and(|at| THERE.contains(&lower(at)));
        social
            && !there
            && !super::networks::is_excepted(words, at)
            && (!WHO.contains(&lower(at + 2)) || are_cut_off(words, at + 2))
    })
}

/// Whether a word is part of what names connectivity or social media as a noun: "mobile data".
pub fn is_general(words: &[Word<'_>], at: usize) -> bool {
    const SECOND: [&str; 6] = ["media", "data", "networks", "platforms", "internet", "broadband"];
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let first = |at: usize| is(at, &["social", "mobile"]) && is(at + 1, &SECOND);
    is(at, &["internet", "broadband"]) || first(at) || at.checked_sub(1).is_some_and(first)
}

/// "Social media users were cut off": of those who use it the same is said as of it.
fn are_cut_off(words: &[Word<'_>], users: usize) -> bool {
    static CUT: Words = Words::of("subjects cut");
    let is = |at: usize, list: &[&str]| words.get(at).is_some_and(|word| list.contains(&word.lower.as_str()));
    let says = |at: usize| words.get(at).is_some_and(|word| super::aside::REPORTS.contains(&word.lower.as_str()));
    let mut behind = users + 1..users + 6;
    is(users, &["users", "user"])
        && !connectivity().all(words).iter().any(|(.., about)| *about)
        && behind.find(|at| is(*at, &CUT) || says(*at)).is_some_and(|at| is(at, &CUT))
}

/// Whether words name connectivity as a whole, and no trouble with one service.
pub fn names_connectivity(words: &[Word<'_>]) -> bool {
    const OF_ONE_TOO: [&str; 6] = ["online", "offline", "outage", "shutdown", "blackout", "networks"];
    let found = connectivity().all(words).into_iter().filter(|(.., about)| *about);
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    found.into_iter().any(|(at, length, _)| length > 1 || !OF_ONE_TOO.contains(&lower(at)))
}

/// Platforms of target lists by their names. A list may call one by an ordinary word, so a name counts only when written like
/// one.
pub struct Listed<'l> {
    platforms: &'l [Tracked],
    /// With the place of the platform.
    names: Phrases<usize>,
}

impl<'l> Listed<'l> {
    pub fn new(platforms: &'l [Tracked]) -> Self {
        let of = |(number, platform): (usize, &Tracked)| {
            [platform.label.clone(), reference::label(&platform.slug)].map(|name| (name, number))
        };
        Listed { platforms, names: Phrases::new(platforms.iter().enumerate().flat_map(of)) }
    }

    /// Words that name one, and how many, with the platform.
    fn all(&self, words: &[Word<'_>]) -> Vec<(usize, usize, &'l Tracked)> {
        let found = self.names.all(words).into_iter().filter(|(at, ..)| words.get(*at).is_some_and(Word::is_capital));
        found.filter_map(|(at, length, number)| Some((at, length, self.platforms.get(number)?))).collect()
    }
}

/// A service or domain where a sentence names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Place of the first word, and how many.
    pub at: usize,
    pub length: usize,
    pub topic: Topic,
}

/// Every service and domain that a sentence names, in its order; `listed` are the platforms of target lists.
pub fn named(words: &[Word<'_>], listed: &Listed<'_>, taken: impl Fn(usize) -> bool) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    for (at, length, platform) in listed.all(words) {
        if !taken(at) {
            found.push(Named { at, length, topic: Topic::Subject(platform.subject()) });
        }
    }
    let mut known: BTreeSet<usize> = found.iter().map(|named| named.at).collect();
    let mut add = |at: usize, length: usize, name: &str| {
        if let Some(subject) = Some(at).filter(|at| known.insert(*at)).and_then(|_| Subject::parse(name).ok()) {
            found.push(Named { at, length, topic: Topic::Subject(subject) });
        }
    };
    for (at, length, name) in brands().all(words) {
        let plain = |word: &Word<'_>| {
            NEED_CAPITAL.contains(&word.lower.as_str()) && !word.is_capital() && !stands_as_a_name(words, at)
        };
        let first_of_two = words.get(at + 1).is_some_and(|next| next.joined);
        let word = words.get(at);
        if (length == 1 && word.is_some_and(plain))
            || (length == 1 && first_of_two && word.is_some_and(|w| w.lower == "x"))
            || taken(at)
            || is_retweet(words, at)
        {
            continue;
        }
        add(at, length, name);
    }
    for (at, word) in words.iter().enumerate() {
        if is_domain(&word.lower) {
            add(at, 1, &word.lower);
        }
    }
    small_sort::sort_by_key(&mut found, |named| named.at);
    found
}

/// "RT @netblocks: ..."
fn is_retweet(words: &[Word<'_>], at: usize) -> bool {
    let colon = words.get(2).is_some_and(|word| word.pause == Pause::Colon);
    at == 0 && colon && words.first().is_some_and(|word| word.text == "RT")
}

/// What a sentence is about, in its order, each once. Connectivity counts when nothing else is named.
pub fn topics(words: &[Word<'_>], listed: &Listed<'_>, taken: impl Fn(usize) -> bool) -> Vec<Topic> {
    let mut found: Vec<Topic> = Vec::new();
    for named in named(words, listed, taken) {
        if !words.get(named.at).is_some_and(|word| word.aside) && !found.contains(&named.topic) {
            found.push(named.topic);
        }
    }
    if !found.is_empty() {
        return found;
    }
    // "Social networks" are none that carry the internet.
    let excepted = |at: usize| {
        let the = at.checked_sub(1).is_some_and(|at| words.get(at).is_some_and(|word| word.lower == "the"));
        super::networks::is_excepted(words, at - usize::from(the))
    };
    let about = |(at, _, about): (usize, usize, bool)| {
        about
            && !excepted(at)
            && at.checked_sub(1).and_then(|at| words.get(at)).is_none_or(|word| word.lower != "social")
    };
    if connectivity().all(words).into_iter().any(about) {
        found.push(Topic::Internet);
    }
    if names_social_media(words) {
        let subject = Subject { name: SOCIAL_MEDIA.to_owned(), service: true, roles: Vec::new() };
        found.push(Topic::Subject(subject));
    }
    found
}

/// Whether an ordinary word in lower case stands where only a name can: without an article, and blocked or blocking it.
fn stands_as_a_name(words: &[Word<'_>], at: usize) -> bool {
    const BLOCKED: [&str; 6] = ["blocked", "banned", "censored", "restricted", "throttled", "unblocked"];
    static BLOCKS: Words = Words::of("subjects blocks");
    let lower = |at: Option<usize>| at.and_then(|at| words.get(at)).map_or("", |word| word.lower.as_str());
    let before = lower(at.checked_sub(1));
    let is = matches!(lower(Some(at + 1)), "is" | "was" | "has" | "remains" | "stays");
    let aside = matches!(lower(Some(at + 2)), "still" | "now" | "not" | "been" | "again" | "also");
    let subject = is && BLOCKED.contains(&lower(Some(at + 2 + usize::from(aside))));
    let begins = at == 0 || matches!(before, "and" | "or" | "that" | "if" | "now");
    // "blocked signal in", and not "blocked signal boosters".
    let ends =
        matches!(lower(Some(at + 1)), "" | "in" | "on" | "since" | "for" | "across" | "and" | "during" | "after");
    (subject && begins) || (BLOCKS.contains(&before) && ends)
}

/// Whether a word can only be a host: labels and a top level of letters, none of it an abbreviation.
fn is_domain(word: &str) -> bool {
    let Some((host, top)) = word.rsplit_once('.') else { return false };
    !host.is_empty() && is_top_level(top) && !matches!(word, "u.s" | "u.k" | "e.g" | "i.e" | "a.m" | "p.m")
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    /// A platform of a target list is named like those of the project; an ordinary word is none.
    #[test]
    fn platforms_of_target_lists_are_named_too() {
        let role = |key: &str| crate::facts::subject::Role { key: key.to_owned(), essential: true };
        let tracked = |slug: &str, label: &str, key: &str| Tracked {
            slug: slug.to_owned(),
            label: label.to_owned(),
            roles: vec![role(key)],
        };
        let listed = [tracked("hub", "The Hub", "hub.example"), tracked("github", "Github", "github.com")];
        let named = |text: &str| -> Vec<String> {
            topics(&split(text), &Listed::new(&listed), |_| false).iter().map(|topic| topic.name().to_owned()).collect()
        };
        assert_eq!(named("The Hub is blocked"), ["hub"]);
        assert_eq!(named("Hub and Telegram are blocked"), ["hub", "telegram"]);
        assert_eq!(named("GitHub is blocked"), ["github"], "and not the host alone");
        assert_eq!(named("a hub of trade, and Telegram"), ["telegram"]);
        let Some(Topic::Subject(subject)) = topics(&split("Hub"), &Listed::new(&listed), |_| false).pop() else {
            panic!()
        };
        assert_eq!(subject.roles, [role("hub.example")]);
    }

    /// Incidents may call a site by its name, and a claim by its domain.
    #[test]
    fn a_site_goes_by_its_domain_and_by_its_names() {
        let names = |text: &str| topics(&split(text), &Listed::new(&[]), |_| false).pop().unwrap().names();
        assert_eq!(names("grindr.com is blocked"), ["grindr.com", "grindr"]);
        assert_eq!(names("Discord is blocked"), ["discord.com", "discord"]);
        assert!(names("VKontakte is blocked").contains(&"vkontakte".to_owned()));
        assert_eq!(names("Telegram is blocked"), ["telegram"]);
        let slug = Topic::Subject(Subject { name: "discord".to_owned(), service: true, roles: Vec::new() });
        assert_eq!(slug.names(), ["discord", "discord.com"]);
    }

    #[test]
    fn every_brand_leads_to_a_domain_or_service() {
        for [name, domain] in starter::rows::<2>(BRANDS) {
            assert!(Subject::parse(domain).is_ok(), "{name}");
        }
    }
}
