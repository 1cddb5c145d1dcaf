//! What a claim says is or was blocked.

use super::relative::weekday;
use super::stance::{Sense, meanings};
use super::words::{Lazy, Pause, Phrases, Reader, Word, is_top_level};
use super::{each_once, lexicon, networks};
use crate::engine::small_sort;
use crate::facts::starter::{self, Platform};
use crate::facts::subject::Subject;
use crate::facts::tracked::Tracked;
use crate::intelligence::incidents::INTERNET;
use crate::intelligence::reference::{self};

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
        let sites = starter::rows::<2>(BRANDS).filter(|[_, domain]| *domain == own && own.contains('.'));
        let names = [own.to_owned()].into_iter().chain(platform).chain(domain);
        each_once(names.chain(sites.map(|[name, _]| plain(name))), PartialEq::eq)
    }
}

fn brands() -> &'static Phrases<&'static str> {
    static NAMES: Lazy<&'static str> = Lazy::new();
    NAMES.get_or_init(|| {
        let platform = |platform: &'static Platform| {
            let names = [platform.slug, platform.label].into_iter().chain(platform.aliases());
            names.map(|name| (name.to_owned(), platform.slug))
        };
        let sites = starter::rows::<2>(BRANDS).map(|[name, domain]| (name.to_owned(), domain));
        Phrases::new(sites.chain(Platform::all().iter().flat_map(platform)))
    })
}

/// The domain or service that a text stands for which is a name and nothing else, whatever its case.
pub fn brand(text: &str) -> Option<&'static str> {
    let words = super::words::split(text);
    brands().at(&words, 0).filter(|(length, _)| *length == words.len()).map(|(_, name)| name)
}

/// Phrases for connectivity as a whole, and such as hold a word for it and mean something else.
fn connectivity() -> &'static Phrases<bool> {
    static PHRASES: Lazy<bool> = Lazy::new();
    PHRASES.get_or_init(|| {
        let of = |name, about: bool| lexicon::list(name).items.iter().map(move |phrase| ((*phrase).to_owned(), about));
        Phrases::new(of("subjects.connectivity", true).chain(of("subjects.no_connectivity", false)))
    })
}

/// The words that name connectivity as a whole: the first, and how many.
fn connections(words: &[Word<'_>]) -> impl Iterator<Item = (usize, usize)> {
    let found = connectivity().all(words).into_iter().filter(|(.., about)| *about);
    found.map(|(at, length, _)| (at, length))
}

/// Social media as a whole, as incidents call them.
pub const SOCIAL_MEDIA: &str = "social media";
/// The words that name connectivity or social media as a whole: the first, and how many.
pub fn general(text: Reader<'_>) -> Vec<(usize, usize)> {
    let social = (0..text.words.len()).filter(|at| is_general(text, *at)).map(|at| (at, 1));
    connections(text.words).chain(social).collect()
}

/// Whether a word is part of what names connectivity or social media as a noun: "mobile data".
pub fn is_general(text: Reader<'_>, at: usize) -> bool {
    text.fits(at, "subjects.general")
}

/// Whether words say something of social media as a whole, and not of what is said there. "Social media users were cut
/// off": of those who use it the same is said as of it.
fn names_social_media(text: Reader<'_>) -> bool {
    let is = |at: usize| {
        let users = || text.is(at + 2, "users|user") && connections(text.words).next().is_none();
        let first = (at + 3..at + 8).find(|at| text.of_list(*at, "subjects.cut") || text.of_list(*at, "aside.reports"));
        let cut_off = || users() && first.is_some_and(|first| text.of_list(first, "subjects.cut"));
        text.fits(at, "subjects.social_media")
            && !networks::is_excepted(text, at)
            && (!text.of_list(at + 2, "subjects.who") || cut_off())
    };
    (0..text.words.len()).any(is)
}

/// Whether words name connectivity as a whole, and no trouble with one service.
pub fn names_connectivity(words: &[Word<'_>]) -> bool {
    let one_too = |at: usize| Reader::of(words).is(at, "online|offline|outage|shutdown|blackout|networks");
    connections(words).any(|(at, length)| length > 1 || !one_too(at))
}

/// Platforms of target lists by their names, which may be ordinary words: one counts only when written like a name.
pub struct Listed<'l>(Phrases<&'l Tracked>);

impl<'l> Listed<'l> {
    pub fn new(platforms: &'l [Tracked]) -> Self {
        let of = |platform: &'l Tracked| {
            [platform.label.clone(), reference::label(&platform.slug)].map(|name| (name, platform))
        };
        Listed(Phrases::new(platforms.iter().flat_map(of)))
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
    let text = Reader::of(words);
    let retweet = text.pause(2) == Pause::Colon && words.first().is_some_and(|word| word.text == "RT");
    let is_brand = |(at, length, _): &(usize, usize, &str)| {
        let plain = text.of_list(*at, "subjects.need_capital") && !text.capital(*at);
        let plain = plain && !text.fits(*at, "subjects.as_a_name");
        let first_of_two = text.is(*at, "x") && text.joined(at + 1);
        // "RT @netblocks: ..."
        !(*length == 1 && (plain || first_of_two) || taken(*at) || *at == 0 && retweet)
    };
    // Labels and a top level of letters, none of it an abbreviation.
    let is_host = |(_, word): &(usize, &Word<'_>)| {
        let parts = word.lower.rsplit_once('.').filter(|_| !word.is("u.s|u.k|e.g|i.e|a.m|p.m"));
        parts.is_some_and(|(host, top)| !host.is_empty() && is_top_level(top))
    };
    let listed = listed.0.all(words).into_iter().filter(|(at, ..)| text.capital(*at) && !taken(*at));
    let listed = listed.map(|(at, length, platform)| (at, length, Some(platform.subject())));
    let brands = brands().all(words).into_iter().filter(is_brand);
    let brands = brands.map(|(at, length, name)| (at, length, Subject::parse(name).ok()));
    let hosts = words.iter().enumerate().filter(is_host).map(|(at, word)| (at, 1, Subject::parse(&word.lower).ok()));
    let all = each_once(listed.chain(brands).chain(hosts), |a, b| a.0 == b.0);
    let named = |(at, length, subject)| Some(Named { at, length, topic: Topic::Subject(subject?) });
    let mut found: Vec<Named> = all.into_iter().filter_map(named).collect();
    small_sort::sort_by_key(&mut found, |named| named.at);
    found
}

/// What a sentence is about that names these services, each once. Connectivity counts when nothing else is named.
pub fn topics(text: Reader<'_>, named: &[Named]) -> Vec<Topic> {
    let claimed = named.iter().filter(|named| !text.word(named.at).is_some_and(|word| word.aside));
    let found = each_once(claimed.map(|named| named.topic.clone()), PartialEq::eq);
    if !found.is_empty() {
        return found;
    }
    let excepted = |at: usize| networks::is_excepted(text, at - usize::from(text.was(at, 1, "the")));
    // "Social networks" are none that carry the internet.
    let connected = connections(text.words).any(|(at, _)| !excepted(at) && !text.was(at, 1, "social"));
    let social = || Topic::Subject(Subject { name: SOCIAL_MEDIA.to_owned(), service: true, roles: Vec::new() });
    let social = names_social_media(text).then(social);
    connected.then_some(Topic::Internet).into_iter().chain(social).collect()
}

/// Most words between a name and its verb: "Twitter users in Uganda have reported".
const MOST_BETWEEN: usize = 5;

struct Group<'n> {
    named: &'n [Named],
    from: usize,
    to: usize,
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

/// Marks the names of which nothing is claimed, as long as something else is named that is: who reports a block, where it was
/// read, and what people get around it with. "BBC reported that Telegram is blocked in Iran" is about Telegram.
pub fn mark_asides(words: &mut [Word<'_>], named: &[Named]) {
    let beside = beside(Reader::of(words), named);
    for (at, length) in beside {
        words.iter_mut().skip(at).take(length).for_each(|word| word.aside = true);
    }
}

fn beside(text: Reader<'_>, named: &[Named]) -> Vec<(usize, usize)> {
    let groups = groups(text, named);
    // Only the next name may tell why: a sentence of many must not be read once for each two.
    let why = |group: &Group<'_>| {
        let next = groups.iter().find(|other| other.from >= group.to);
        next.filter(|next| is_told_why(text, group, next)).map(|_| Role::Cited)
    };
    let mut roles: Vec<Option<Role>> = groups.iter().map(|group| role(text, group).or_else(|| why(group))).collect();
    let claimed = |roles: &[Option<Role>], from: usize| {
        groups.iter().zip(roles).any(|(group, role)| role.is_none() && group.from >= from)
    };
    // Its own name may hold a word of connectivity.
    let connected = |from: usize, to: usize| names_connectivity(text.part(from..to).words);
    let end = text.words.len();
    // "Telegram: blocked in Iran, Reuters reported": what stands before a colon reports only what is named behind it.
    for at in 0..roles.len() {
        if let Some(Some(Role::Heads(colon))) = roles.get(at)
            && !claimed(&roles, *colon)
            && !connected(*colon, end)
            && let Some(role) = roles.get_mut(at)
        {
            *role = None;
        }
    }
    // "..., as Reuters reported on Monday": the report stands behind what it reports.
    let paused = |at: usize| text.word(at).is_some_and(|word| word.pause != Pause::None);
    let stands_behind = |group: &Group<'_>, verb: usize| {
        let before = text.was(group.from, 1, "as|the") && paused(group.from - 1);
        (paused(group.from) || before) && verb + 3 > end
    };
    let is_beside = |(group, role): (&Group<'_>, &Option<Role>)| {
        let behind = match role {
            None => return false,
            Some(Role::Reports(behind)) if !stands_behind(group, *behind) => *behind,
            Some(Role::Heads(colon)) => *colon,
            Some(_) => 0,
        };
        claimed(&roles, behind) || connected(behind.max(group.to), end) || behind == 0 && connected(0, group.from)
    };
    let beside = groups.iter().zip(&roles).filter(|one| is_beside(*one));
    beside.flat_map(|(group, _)| group.named.iter().map(|named| (named.at, named.length))).collect()
}

fn groups<'n>(text: Reader<'_>, named: &'n [Named]) -> Vec<Group<'n>> {
    let joins = |a: &Named, b: &Named| {
        let to = a.at + a.length;
        // What is cited ends with a comma: "According to the BBC, Signal is blocked".
        let most = if is_cited(text, a.at) { Pause::None } else { Pause::Comma };
        (to..b.at).all(|at| text.is(at, "and|or|the|both")) && (to..=b.at).all(|at| text.pause(at) <= most)
    };
    let side_by_side = named.chunk_by(joins).flat_map(|members| {
        let (first, last) = (members.first().map_or(0, |one| one.at), members.last().map_or(0, |one| one.at));
        // Two names with a comma alone are no list.
        let listed = (first..last).any(|at| text.is(at, "and|or"));
        members.chunks(if listed { members.len() } else { 1 })
    });
    let group = |named: &'n [Named]| Group {
        named,
        from: named.first().map_or(0, |first| first.at),
        to: named.last().map_or(0, |last| last.at + last.length),
    };
    side_by_side.map(group).collect()
}

fn role(text: Reader<'_>, group: &Group<'_>) -> Option<Role> {
    if let Some(role) = reports(text, group.to).map(Role::Reports).or_else(|| heads(text, group).map(Role::Heads)) {
        return Some(role);
    }
    let tool = |named: &Named| lexicon::list("aside.tools").has(named.topic.name());
    // "Used Tor", "with tools like Psiphon", and no "together with Tor".
    let using = || (0..group.from).rev().find(|at| !text.of_list(*at, "aside.uses_between"));
    let used = || using().is_some_and(|at| text.of_list(at, "means.using") && !text.was(at, 1, "along|together"));
    let cited = text.fits(group.to, "aside.staff")
        || group.named.iter().all(tool) && used()
        || is_cited(text, group.from)
        || is_read_on(text, group)
        // "Because people use it to read the BBC": what the blocked service serves for.
        || (group.from.saturating_sub(6)..group.from).any(|at| {
            text.matches(at, "aside.serves").is_some_and(|length| at + length <= group.from)
        });
    cited.then_some(Role::Cited)
}

/// "Signal downloads soared after Telegram was blocked": of the first nothing is said that is a claim of ours.
fn is_told_why(text: Reader<'_>, group: &Group<'_>, other: &Group<'_>) -> bool {
    let why = |at: &usize| text.is(*at, "after|when|because|since|once");
    let Some(why) = (group.to..other.from).rev().take(3).find(why) else { return false };
    let one = (0..other.to).all(|at| text.pause(at) < Pause::Colon);
    let silent = meanings(text.part(0..why).words).iter().all(|(_, sense)| *sense == Sense::Aside);
    text.is(other.to, "is|was|got|went|has") && one && silent
}

/// "BBC reported that", "Twitter users in Uganda say": the place behind the verb.
fn reports(text: Reader<'_>, from: usize) -> Option<usize> {
    for at in from..=from + MOST_BETWEEN {
        let word = text.word(at).filter(|word| word.pause == Pause::None)?;
        let verb = word.is_of("aside.reports");
        // "Telegram is reported blocked" has no reporter.
        if verb && !text.of_list(at + 1, "aside.reports") && !text.of_list(at + 1, "aside.reported_as") {
            return Some(at + 1);
        }
        if !(verb || weekday(word).is_some() || word.is_capital() || word.is_of("aside.between")) {
            return None;
        }
    }
    None
}

/// "Reuters: WhatsApp blocked in Uganda": a name before a colon, in the same sentence.
fn heads(text: Reader<'_>, group: &Group<'_>) -> Option<usize> {
    let begins = (0..group.from).all(|at| text.capital(at) && !text.ends(at));
    let colon = (group.to..group.to + 3).find(|at| text.ends(*at))?;
    let named = (group.to..colon).all(|at| text.capital(at) || text.is(at, "news"));
    let one = (colon + 1..text.words.len()).all(|at| text.pause(at) != Pause::Stop);
    (begins && named && one && text.pause(colon) == Pause::Colon).then_some(colon)
}

/// "According to the BBC", "(source: BBC)", ", says the BBC".
fn is_cited(text: Reader<'_>, from: usize) -> bool {
    let from = from - usize::from(text.was(from, 1, "the"));
    text.fits(from, "aside.cited") || from > 0 && text.of_list(from - 1, "aside.reports") && text.ends(from - 1)
}

/// "I read on Facebook that", "on Twitter people say".
fn is_read_on(text: Reader<'_>, group: &Group<'_>) -> bool {
    let Some(on) = (0..group.from).rev().find(|at| !text.is(*at, "a|an|the|some")) else { return false };
    if !text.is(on, "on|in|via") {
        return false;
    }
    let read = (on.saturating_sub(3)..on).any(|at| text.of_list(at, "aside.read"));
    let unread = (0..on).any(|at| text.of_list(at, "aside.unread"));
    read && !unread || text.fits(group.to, "aside.people_say")
}
