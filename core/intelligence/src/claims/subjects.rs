//! What a claim says is or was blocked.

use super::*;

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
        let domain = brands::named(&reference::label(own)).map(str::to_owned);
        // Only sites have names in the table of brands alone.
        let sites = brands::sites().filter(|(_, domain)| *domain == own && own.contains('.'));
        let names = [own.to_owned()].into_iter().chain(platform).chain(domain);
        each_once(names.chain(sites.map(|(name, _)| plain(name))), PartialEq::eq)
    }
}

static NAMES: LazyLock<Phrases<&'static str>> =
    LazyLock::new(|| Phrases::new(brands::names().map(|(name, stands_for)| (name.to_owned(), stands_for))));

/// The words that name connectivity as a whole: the first, and how many.
fn connections(text: Reader<'_>) -> impl Iterator<Item = (usize, usize)> {
    (0..text.words.len()).filter_map(move |at| Some((at, text.matches(at, "subjects.connections")?)))
}

/// Social media as a whole, as incidents call them.
pub const SOCIAL_MEDIA: &str = "social media";

/// The words that name connectivity or social media as a whole: the first, and how many.
pub fn general(text: Reader<'_>) -> Vec<(usize, usize)> {
    let social = (0..text.words.len()).filter(|at| text.fits(*at, "subjects.general")).map(|at| (at, 1));
    connections(text).chain(social).collect()
}

/// Whether words name connectivity as a whole, and no trouble with one service.
fn names_connectivity(text: Reader<'_>) -> bool {
    connections(text).any(|(at, length)| length > 1 || !text.of_list(at, "subjects.of_one_too"))
}

/// Platforms of target lists by their names, which may be ordinary words: one counts only when written like a name.
pub fn listed(platforms: &[Tracked]) -> Phrases<&Tracked> {
    let of = |platform: &'_ Tracked| [platform.label.clone(), reference::label(&platform.slug)];
    Phrases::new(platforms.iter().flat_map(|platform| of(platform).map(|name| (name, platform))))
}

/// A service or domain where a sentence names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTopic {
    /// Place of the first word, and how many.
    pub at: usize,
    pub length: usize,
    pub topic: Topic,
}

/// Every service and domain that a sentence names, in its order; `listed` are the platforms of target lists.
pub fn named(words: &[Word<'_>], listed: &Phrases<&Tracked>) -> Vec<NamedTopic> {
    let text = Reader::of(words);
    let taken = |at: usize| text.word(at).is_some_and(|word| word.name.is_some());
    let retweet = text.pause(2) == Pause::Colon && words.first().is_some_and(|word| word.text == "RT");
    let is_brand = |(at, length, _): &(usize, usize, &str)| {
        let plain = text.of_list(*at, "subjects.need_capital") && !text.capital(*at);
        let plain = plain && !text.fits(*at, "subjects.as_a_name");
        let first_of_two = text.is(*at, "x") && text.joined(at + 1);
        // "RT @netblocks: ..."
        !(*length == 1 && (plain || first_of_two) || taken(*at) || *at == 0 && retweet)
    };
    let is_host = |(_, word): &(usize, &Word<'_>)| words::is_host(&word.lower) && !word.is("u.s|u.k|e.g|i.e|a.m|p.m");
    let listed = listed.all(words).into_iter().filter(|(at, ..)| text.capital(*at) && !taken(*at));
    let listed = listed.map(|(at, length, platform)| (at, length, Some(platform.subject())));
    let brands = NAMES.all(words).into_iter().filter(is_brand);
    let brands = brands.map(|(at, length, name)| (at, length, Subject::parse(name).ok()));
    let hosts = words.iter().enumerate().filter(is_host).map(|(at, word)| (at, 1, Subject::parse(&word.lower).ok()));
    let all = each_once(listed.chain(brands).chain(hosts), |a, b| a.0 == b.0);
    let named = |(at, length, subject)| Some(NamedTopic { at, length, topic: Topic::Subject(subject?) });
    let mut found: Vec<NamedTopic> = all.into_iter().filter_map(named).collect();
    found.sort_by_key(|named| named.at);
    found
}

/// What a sentence is about that names these services, each once. Connectivity counts when nothing else is named.
pub fn topics(text: Reader<'_>, named: &[NamedTopic]) -> Vec<Topic> {
    let claimed = named.iter().filter(|named| !text.word(named.at).is_some_and(|word| word.aside));
    let found = each_once(claimed.map(|named| named.topic.clone()), PartialEq::eq);
    if !found.is_empty() {
        return found;
    }
    // "Social networks" are none that carry the internet.
    let connected = connections(text).any(|(at, _)| !text.fits(at, "places.excepted") && !text.was(at, 1, "social"));
    let social = || Topic::Subject(Subject { name: SOCIAL_MEDIA.to_owned(), service: true, roles: Vec::new() });
    // Of what is said there nothing is claimed, and of its users only that they are cut off.
    let cut_off = || text.says("subjects.users_cut") && connections(text).next().is_none();
    let social = (text.says("subjects.social_media") || cut_off()).then(social);
    connected.then_some(Topic::Internet).into_iter().chain(social).collect()
}

/// Names side by side.
struct Group<'n> {
    named: &'n [NamedTopic],
    from: usize,
    to: usize,
    /// Where nothing is claimed of them: the word from which on is said what they report. It is the first one where
    /// they are cited, read or a means.
    reports: Option<usize>,
    /// They stand before a colon.
    heads: bool,
}

/// Marks the names of which nothing is claimed, as long as something else is named that is: who reports a block, where
/// it was read, and what people get around it with. "BBC reported that Telegram is blocked in Iran" is about Telegram.
pub fn mark_asides(words: &mut [Word<'_>], named: &[NamedTopic]) {
    for (at, length) in beside(Reader::of(words), named) {
        words.iter_mut().skip(at).take(length).for_each(|word| word.aside = true);
    }
}

fn beside(text: Reader<'_>, named: &[NamedTopic]) -> Vec<(usize, usize)> {
    let (mut groups, end) = (groups(text, named), text.words.len());
    let claimed =
        |groups: &[Group<'_>], from: usize| groups.iter().any(|group| group.reports.is_none() && group.from >= from);
    // Its own name may hold a word of connectivity.
    let connected = |from: usize, to: usize| names_connectivity(text.part(from..to));
    // "Telegram: blocked in Iran, Reuters reported": what stands before a colon reports only what is named behind it.
    for at in 0..groups.len() {
        let colon = groups.get(at).filter(|group| group.heads).and_then(|group| group.reports);
        let nothing = colon.is_some_and(|colon| !claimed(&groups, colon) && !connected(colon, end));
        groups.iter_mut().skip(at).take(usize::from(nothing)).for_each(|group| group.reports = None);
    }
    let is_beside = |group: &&Group<'_>| {
        let told = |from: usize| {
            claimed(&groups, from) || connected(from.max(group.to), end) || from == 0 && connected(0, group.from)
        };
        group.reports.is_some_and(told)
    };
    let beside = groups.iter().filter(is_beside).flat_map(|group| group.named);
    beside.map(|named| (named.at, named.length)).collect()
}

fn groups<'n>(text: Reader<'_>, named: &'n [NamedTopic]) -> Vec<Group<'n>> {
    let joins = |a: &NamedTopic, b: &NamedTopic| {
        let to = a.at + a.length;
        // What is cited ends with a comma: "According to the BBC, Signal is blocked".
        let most = if text.fits(a.at, "aside.cited") { Pause::None } else { Pause::Bracket };
        (to..b.at).all(|at| text.is(at, "and|or|the|both")) && (to..=b.at).all(|at| text.pause(at) <= most)
    };
    let side_by_side = named.chunk_by(joins).flat_map(|members| {
        let (first, last) = (members.first().map_or(0, |one| one.at), members.last().map_or(0, |one| one.at));
        // Two names with a comma alone are no list.
        let listed = (first..last).any(|at| text.is(at, "and|or"));
        members.chunks(if listed { members.len() } else { 1 })
    });
    let group = |named: &'n [NamedTopic]| {
        let to = named.last().map_or(0, |last| last.at + last.length);
        Group { named, from: named.first().map_or(0, |first| first.at), to, reports: None, heads: false }
    };
    let mut groups: Vec<Group<'n>> = side_by_side.map(group).collect();
    for at in 0..groups.len() {
        // Only the next name may tell why: a sentence of many must not be read once for each two.
        let why = groups.get(at).zip(groups.get(at + 1)).is_some_and(|(one, next)| is_told_why(text, one, next));
        groups.iter_mut().skip(at).take(1).for_each(|group| group.read(text, why));
    }
    groups
}

impl Group<'_> {
    fn read(&mut self, text: Reader<'_>, why: bool) {
        let (from, to) = (self.from, self.to);
        // "..., as Reuters reported on Monday": the report stands behind what it reports.
        let behind = |verb: usize| text.fits(from, "aside.behind") && verb + 3 > text.words.len();
        let verb = text.matches(to, "aside.reporting").map(|length| to + length);
        let verb = verb.map(|verb| if behind(verb) { 0 } else { verb });
        // "Reuters: WhatsApp blocked in Uganda": a name before a colon, in the same sentence.
        let colon = text.matches(to, "aside.heading").map(|length| to + length).filter(|_| verb.is_none());
        let tool = |named: &NamedTopic| lexicon::list("aside.tools").has(named.topic.name());
        let unread = || text.part(0..from).says("aside.unread");
        let cited = why
            || text.fits(to, "aside.staff")
            // "Used Tor", "with tools like Psiphon", and no "together with Tor".
            || self.named.iter().all(tool) && text.fits(from, "aside.used")
            || text.fits(from, "aside.cited")
            // "I read on Facebook that", "on Twitter people say"
            || text.fits(from, "aside.read_on") && !unread()
            || text.fits(from, "aside.on_it") && text.fits(to, "aside.people_say")
            // "Because people use it to read the BBC": what the blocked service serves for.
            || text.fits(from, "aside.serves");
        (self.reports, self.heads) = (verb.or(colon).or(cited.then_some(0)), colon.is_some());
    }
}

/// "Signal downloads soared after Telegram was blocked": of the first nothing is said that is a claim of ours.
fn is_told_why(text: Reader<'_>, group: &Group<'_>, other: &Group<'_>) -> bool {
    let why = |at: &usize| text.is(*at, "after|when|because|since|once");
    let Some(why) = (group.to..other.from).rev().take(3).find(why) else { return false };
    let one = (0..other.to).all(|at| text.pause(at) < Pause::Colon);
    let silent = meanings(text.part(0..why).words).iter().all(|(_, sense)| *sense == Sense::Aside);
    text.is(other.to, "is|was|got|went|has") && one && silent
}
