//! The country that a claim is about.

use super::*;

const TEXT: &str = include_str!("places.tsv");
const FOREIGN: &str = include_str!("foreign.tsv");

/// How a country was named: nearer to the statement first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    Name,
    Place,
    Adjective,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    pub code: &'static str,
    pub at: usize,
    pub length: usize,
    /// The city or region, when one was named and not the country; as [`TEXT`] writes it.
    pub area: Option<Area>,
    pub how: How,
    /// After "in", "across" and the like: where it happens, not who says or does it.
    located: bool,
    /// Named as one where it is otherwise: "unlike Iran", "but not in Hong Kong".
    aside: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Area {
    pub name: &'static str,
    /// The region that it lies in, where the table says it.
    pub region: Option<&'static str>,
    /// The seat of the government: it may stand for that one ("Tehran lifted the ban").
    pub seat: bool,
}

pub fn areas(mentions: &[Mention], code: &str) -> Vec<Area> {
    mentions.iter().filter(|mention| mention.code == code).filter_map(|mention| mention.area).collect()
}

/// A place as the table writes it: its name, and the area where it is one.
fn place(text: &'static str) -> (&'static str, Option<Area>) {
    let plain = text.trim_start_matches('*');
    let (name, region) = plain.split_once('<').map_or((plain, None), |(name, region)| (name, Some(region)));
    let country = lexicon::list("places.no_areas").has(&name.to_lowercase());
    (name, (!country).then_some(Area { name, region, seat: plain.len() < text.len() }))
}

/// Names with the country that each stands for, how, and with which area.
type Meaning = (&'static str, How, Option<Area>);

static NAMES: LazyLock<Phrases<Meaning>> = LazyLock::new(|| {
    let parts = |list: &'static str| list.split('|').filter(|name| !name.is_empty());
    let foreign = starter::rows::<2>(FOREIGN).flat_map(|[code, names]| parts(names).map(move |name| (code, name)));
    let own = Country::all().iter().flat_map(|country| country.names().map(|name| (country.code, name)));
    let named = foreign.chain(own).map(|(code, name)| (name.to_owned(), (code, How::Name, None)));
    let mut phrases: Vec<(String, Meaning)> = named.collect();
    for [code, adjectives, places] in starter::rows::<3>(TEXT) {
        // The file has the plurals that are no mere "s".
        let plural = |name: &str| name.ends_with(['n', 'i', 'r']).then(|| format!("{name}s"));
        let people = parts(adjectives).map(str::to_owned).chain(parts(adjectives).filter_map(plural));
        phrases.extend(people.map(|name| (name, (code, How::Adjective, None))));
        let places = parts(places).map(place);
        phrases.extend(places.map(|(name, area)| (name.to_owned(), (code, How::Place, area))));
    }
    Phrases::new(phrases)
});

/// The places that a sentence names, of which it marks the words.
pub fn marked(words: &mut [Word<'_>]) -> Vec<Mention> {
    let found = mentions(words);
    found.iter().for_each(|mention| words::mark(words, (mention.at, mention.length), Name::Place));
    found
}

pub fn mentions(words: &[Word<'_>]) -> Vec<Mention> {
    let text = Reader::of(words);
    let located = |at: usize| text.fits(at, "places.located");
    let name = |at: usize| !is_person(text, at) && (text.capital(at) || !text.of_list(at, "places.need_capital"));
    let named = NAMES.all(words).into_iter().filter(|(at, length, _)| *length > 1 || name(*at));
    let mention = |(at, length, (code, how, area)): (usize, usize, Meaning)| {
        // "Tehran lifted the ban", unlike "Tehran's internet".
        let governs = || text.was(at, 1, "by") || text.fits(at + length, "places.governs");
        let area = area.filter(|area| located(at) || !(area.seat && governs()));
        // "Kenya (KE)", "Kenya 🇰🇪": the code behind the name says no more than the name. Unlike "IN INDIA IN 2023".
        let is_code =
            |word: &Word<'_>| word.text == code && !word.shouted || words::flag(word.text).as_deref() == Some(code);
        let length = length + usize::from(text.word(at + length).is_some_and(is_code));
        Mention { code, at, length, area, how, located: located(at), aside: text.fits(at, "places.aside") }
    };
    let found = in_their_countries(text, named.map(mention).collect());
    if found.is_empty() { codes(text) } else { found }
}

/// "Iran (Kurdistan)": what stands in brackets behind a country is a region of that one, and no other country.
fn in_their_countries(text: Reader<'_>, found: Vec<Mention>) -> Vec<Mention> {
    let mut all: Vec<Mention> = Vec::new();
    for mention in found {
        let country = all.last().filter(|before| before.at + before.length == mention.at && before.how == How::Name);
        match country.filter(|country| text.pause(mention.at) == Pause::Bracket && country.code != mention.code) {
            None => all.push(mention),
            Some(country) => {
                let region = mention.area.map(|area| Area { region: None, ..area });
                let inside = region.map(|_| Mention { code: country.code, area: region, ..mention });
                all.extend(inside);
            }
        }
    }
    all
}

/// Whether a clause speaks of a country as a whole: "nationwide", "the whole of Pakistan", "all over Iraq".
pub fn is_nationwide(words: &[Word<'_>], mentions: &[Mention]) -> bool {
    let text = Reader::of(words);
    let whole = |mention: &Mention| {
        let across = || mention.how != How::Adjective && text.fits(mention.at, "places.across");
        mention.area.is_none() && (text.fits(mention.at, "places.whole") || across())
    };
    text.says("places.nationwide") || mentions.iter().any(whole)
}

/// The capital of a country where it is not named: "Myanmar's capital". Its names, of which an incident may have any.
pub fn capital(words: &[Word<'_>], code: &str) -> Vec<Area> {
    if !Reader::of(words).says("places.capital") {
        return Vec::new();
    }
    let own = starter::rows::<3>(TEXT).filter(|[of, ..]| *of == code).flat_map(|[.., places]| places.split('|'));
    let seats = own.filter_map(|place| place.strip_prefix('*'));
    std::iter::once("capital").chain(seats).map(|name| Area { name, ..Area::default() }).collect()
}

/// Whether the name of a place is that of a person: "Jordan Henderson was", "my friend Chad"; unlike "Jordan Blocks
/// TikTok".
pub fn is_person(text: Reader<'_>, at: usize) -> bool {
    let small = |next: &Word<'_>| next.text.chars().skip(1).all(char::is_lowercase);
    text.fits(at, "places.friend")
        || text.fits(at, "places.with_surname")
            && text.word(at + 1).is_some_and(small)
            && stance::meanings(text.part(at + 1..at + 2).words).is_empty()
}

/// Two capital letters after "in", or in a sentence that is not all capitals: a code.
fn codes(text: Reader<'_>) -> Vec<Mention> {
    // Part of a sentence may be in capitals alone: "blocked in Kenya, IN 2023".
    let shouted = !text.words.iter().any(|word| word.text.contains(char::is_lowercase));
    let code = |(at, word): (usize, &Word<'_>)| {
        let located = text.fits(at, "places.located");
        let capitals = word.text.len() == 2 && word.text.bytes().all(|byte| byte.is_ascii_uppercase());
        let written = capitals && !shouted && (located || !word.is("tv|ip|ai|pm|am|id|it|vk|dw"));
        let country = match words::flag(word.text) {
            Some(code) => Country::by_code(&code)?,
            None => written.then(|| Country::by_code(word.text))??,
        };
        let aside = text.fits(at, "places.aside");
        Some(Mention { code: country.code, at, length: 1, area: None, how: How::Name, located, aside })
    };
    text.words.iter().enumerate().filter_map(code).collect()
}

/// The country that a claim is about: where it happens, else whose name comes first.
pub fn choose(mentions: &[Mention]) -> Option<&'static Country> {
    let rank = |mention: &&Mention| {
        (mention.aside, !(mention.located && mention.how != How::Adjective), mention.how, mention.at)
    };
    mentions.iter().min_by_key(rank).and_then(|mention| Country::by_code(mention.code))
}

/// The country that a clause is about, and those that are named side by side with it: "in Turkey and Sweden".
pub fn chosen(mentions: &[Mention], words: &[Word<'_>]) -> Vec<Mention> {
    let (text, Some(country)) = (Reader::of(words), choose(mentions)) else { return Vec::new() };
    let beside = |a: &Mention, b: &Mention| {
        let (to, all) = (a.at + a.length, |list: &str| (a.at + a.length..b.at).all(|at| text.fits(at, list)));
        // "Kenya (November 2023), Uganda (January 2021)": a date in brackets behind each.
        let dated = text.ends(to) && text.ends(b.at + b.length) && all("places.dated");
        (a.how == How::Adjective) == (b.how == How::Adjective) && (all("places.between") || dated)
    };
    let groups = mentions.chunk_by(beside);
    let chosen = groups.into_iter().find(|group| group.iter().any(|mention| mention.code == country.code));
    chosen.unwrap_or_default().to_vec()
}
