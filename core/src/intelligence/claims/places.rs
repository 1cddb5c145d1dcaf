//! The country that a claim is about.

use super::lexicon::Words;
use super::words::{Lazy, Pause, Phrases, Word, flag, stem};
use crate::facts::starter::{self, Country};

const TEXT: &str = include_str!("places.tsv");
const FOREIGN: &str = include_str!("foreign.tsv");

/// How a country was named: nearer to the statement first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum How {
    Name,
    Place,
    Adjective,
}

/// A country where a sentence names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    pub code: &'static str,
    /// Place of the first word, and how many.
    pub at: usize,
    pub length: usize,
    /// The city or region, when one was named and not the country; as [`TEXT`] writes it.
    pub area: Option<Area>,
    how: How,
    /// After "in", "across" and the like: where it happens, not who says or does it.
    located: bool,
    /// Named as one where it is otherwise: "unlike Iran", "but not in Hong Kong".
    aside: bool,
}

impl Mention {
    /// "Kenyan": who or what is of a country.
    pub fn is_adjective(&self) -> bool {
        self.how == How::Adjective
    }
}

/// A part of a country.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    pub name: &'static str,
    /// The region that it lies in, where the table says it.
    pub region: Option<&'static str>,
}

/// The areas of a country that a sentence names, each once.
pub fn areas(mentions: &[Mention], code: &str) -> Vec<Area> {
    let mut found: Vec<Area> = Vec::new();
    for area in mentions.iter().filter(|mention| mention.code == code).filter_map(|mention| mention.area) {
        if !found.contains(&area) {
            found.push(area);
        }
    }
    found
}

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
struct Meaning {
    code: &'static str,
    how: How,
    /// Where it is the name of one.
    area: Option<Area>,
    /// The seat of the government: it may stand for that one ("Tehran lifted the ban").
    seat: bool,
}

impl Meaning {
    const fn country(code: &'static str, how: How) -> Meaning {
        Meaning { code, how, area: None, seat: false }
    }

    /// A place as the table writes it, and its name.
    fn place(code: &'static str, text: &'static str) -> (String, Meaning) {
        let plain = text.trim_start_matches('*');
        let (name, region) = plain.split_once('<').map_or((plain, None), |(name, region)| (name, Some(region)));
        let area = (!NO_AREAS.contains(&name.to_lowercase().as_str())).then_some(Area { name, region });
        (name.to_owned(), Meaning { code, how: How::Place, area, seat: plain.len() < text.len() })
    }
}

/// Names in the column of places that are the whole country, or speak for its government.
static NO_AREAS: Words = Words::of("places no areas");

fn names() -> &'static Phrases<Meaning> {
    static NAMES: Lazy<Meaning> = Lazy::new();
    NAMES.get_or_init(|| {
        let mut phrases = Vec::new();
        for [code, names] in starter::rows::<2>(FOREIGN) {
            phrases.extend(names.split('|').map(|name| (name.to_owned(), Meaning::country(code, How::Name))));
        }
        for country in Country::all() {
            phrases.extend(country.names().map(|name| (name.to_owned(), Meaning::country(country.code, How::Name))));
        }
        for [code, adjectives, places] in starter::rows::<3>(TEXT) {
            let parts = |list: &'static str| list.split('|').filter(|name| !name.is_empty());
            // The file has the plurals that are no mere "s".
            let plural = |name: &str| name.ends_with(['n', 'i', 'r']).then(|| format!("{name}s"));
            let people: Vec<String> = parts(adjectives).filter_map(plural).collect();
            phrases.extend(
                parts(adjectives)
                    .map(str::to_owned)
                    .chain(people)
                    .map(|name| (name, Meaning::country(code, How::Adjective))),
            );
            phrases.extend(parts(places).map(|text| Meaning::place(code, text)));
        }
        Phrases::new(phrases)
    })
}

/// Words that are names only with a capital letter ("polish", "us", "turkey" is left: nobody blocks a site in a bird).
static NEED_CAPITAL: Words = Words::of("places need capital");

const BEFORE_A_PLACE: [&str; 12] =
    ["in", "across", "throughout", "inside", "within", "from", "around", "of", "for", "over", "near", "entire"];

/// Every country that a sentence names.
pub fn mentions(words: &[Word<'_>]) -> Vec<Mention> {
    let located = |at: usize| {
        let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map(|word| word.lower.as_str());
        let first = before(1).filter(|word| {
            !matches!(
                *word,
                "the" | "all" | "most" | "parts" | "northern" | "southern" | "eastern" | "western" | "central"
            )
        });
        let word = if first.is_some() { first } else { before(2) };
        word.is_some_and(|word| BEFORE_A_PLACE.contains(&word))
    };
    let mut found: Vec<Mention> = names()
        .all(words)
        .into_iter()
        .filter(|(at, length, _)| *length > 1 || !is_person(words, *at))
        .filter(|(at, length, _)| {
            *length > 1
                || words.get(*at).is_some_and(|word| word.is_capital() || !NEED_CAPITAL.contains(&word.lower.as_str()))
        })
        .map(|(at, length, meaning)| {
            let located = located(at);
            let area = meaning.area.filter(|_| located || !(meaning.seat && governs(words, at, length)));
            let length = length + usize::from(is_code_of(words, at + length, meaning.code));
            Mention { code: meaning.code, at, length, area, how: meaning.how, located, aside: aside(words, at) }
        })
        .collect();
    if found.is_empty() {
        found.extend(codes(words, &located));
    }
    found
}

/// "Kenya (KE)", "Kenya 🇰🇪": the code behind the name says no more than the name.
fn is_code_of(words: &[Word<'_>], at: usize, code: &str) -> bool {
    // "IN INDIA IN 2023"
    let plain = || words.iter().any(|word| word.text.chars().any(char::is_lowercase));
    let same = |word: &Word<'_>| word.text == code && plain() || flag(word.text).is_some_and(|flag| flag == code);
    words.get(at).is_some_and(same)
}

/// Whether the name of a seat of government stands for that government: "Tehran lifted the ban", "blocked by Minsk",
/// "Beijing's censors". Where it does not, it is a city like others: "Tehran's internet was cut".
fn governs(words: &[Word<'_>], at: usize, length: usize) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    if at.checked_sub(1).is_some_and(|at| lower(at) == "by") {
        return true;
    }
    let Some(verb) = (at + length..at + length + 4).find(|at| !HELPERS.contains(&lower(*at))) else { return false };
    let cut_off =
        lower(verb + 1) == "off" && !super::subjects::names_connectivity(words.get(verb..).unwrap_or_default());
    !cut_off && GOVERNING.contains(&stem(lower(verb)).as_str())
}

/// Words between a government and what it does.
static HELPERS: Words = Words::of("places helpers");
/// What a government does, and by name what it has, without their endings.
static GOVERNING: Words = Words::of("places governing");

/// Whether a clause speaks of a country as a whole: "nationwide", "the whole of Pakistan", "all over Iraq".
pub fn is_nationwide(words: &[Word<'_>], mentions: &[Mention]) -> bool {
    let before = |at: usize, back: usize| at.checked_sub(back).map_or("", |at| words.get(at).map_or("", |w| &w.lower));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.lower.as_str()));
    let whole = |mention: &Mention| {
        let (near, far) = (before(mention.at, 1), before(mention.at, 2));
        match near {
            "of" | "over" | "in" => matches!(far, "whole" | "all" | "everywhere" | "anywhere" | "entirety"),
            near => mention.how != How::Adjective && WHOLE.contains(&near),
        }
    };
    has(&NATIONWIDE) || has(&["country"]) && has(&WHOLE) || mentions.iter().any(|m| m.area.is_none() && whole(m))
}

const NATIONWIDE: [&str; 4] = ["nationwide", "countrywide", "nation", "national"];
const WHOLE: [&str; 4] = ["whole", "entire", "across", "throughout"];

/// The capital of a country where it is not named: "Myanmar's capital". Its names, of which an incident may have any.
pub fn capital(words: &[Word<'_>], code: &str) -> Vec<Area> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let is = |at: usize| lower(at) == "capital" && !matches!(lower(at + 1), "controls" | "market" | "punishment");
    if !(0..words.len()).any(is) {
        return Vec::new();
    }
    let own = starter::rows::<3>(TEXT).filter(|[of, ..]| *of == code).flat_map(|[.., places]| places.split('|'));
    let seats = own.filter_map(|place| place.strip_prefix('*'));
    let area = |name: &'static str| Area { name, region: None };
    // Where no name of it is known, no area is it.
    std::iter::once(area("capital")).chain(seats.map(area)).collect()
}

/// Names of places that people bear.
static GIVEN: Words = Words::of("places given");
/// Words before somebody's name.
static WHO: Words = Words::of("places who");
/// Names of what a state has, which follow its name with a capital as a surname does.
static OF_A_STATE: Words = Words::of("places of a state");

/// Whether the name of a place at `at` is that of a person: "Jordan Henderson", "my friend Chad".
pub fn is_person(words: &[Word<'_>], at: usize) -> bool {
    let Some(word) = words.get(at).filter(|word| word.is_capital() && GIVEN.contains(&word.lower.as_str())) else {
        return false;
    };
    let before = |list: &[&str]| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|before| list.contains(&before.lower.as_str())) && word.pause == Pause::None
    };
    if before(&WHO) {
        return true;
    }
    // "Jordan Henderson was", and no headline of capitals: "Jordan Blocks TikTok".
    let surname = words.get(at + 1).is_some_and(|next| {
        let plain = next.pause == Pause::None && !next.joined && next.is_capital();
        plain
            && next.text.chars().skip(1).all(char::is_lowercase)
            && !OF_A_STATE.contains(&next.lower.as_str())
            && super::subjects::brand(&next.lower).is_none()
    });
    let acts = words
        .get(at + 2)
        .is_some_and(|next| next.pause == Pause::None && VERBS_OF_PEOPLE.contains(&next.lower.as_str()));
    surname
        && acts
        && !before(&BEFORE_A_PLACE)
        && super::senses::meanings(words.get(at + 1..at + 2).unwrap_or_default()).is_empty()
}

/// Verbs behind the name of somebody who is blocked, or blocks.
const VERBS_OF_PEOPLE: [&str; 12] =
    ["is", "was", "has", "had", "got", "gets", "blocked", "banned", "said", "says", "cannot", "can't"];

/// How one country stands to another that is named behind.
const STANDING_TO: [&str; 6] = ["neighbour", "neighbor", "ally", "rival", "partner", "adversary"];

/// What another country gave, of which nothing is claimed.
const PROMPTED: [&str; 8] = ["request", "behest", "help", "support", "pressure", "behalf", "advice", "assistance"];

fn aside(words: &[Word<'_>], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map_or("", |word| word.lower.as_str());
    let the = usize::from(before(1) == "the");
    // "Kenya's neighbour Uganda": the other one.
    if words.get(at + 1).is_some_and(|word| STANDING_TO.contains(&word.lower.as_str())) {
        return true;
    }
    if super::networks::is_excepted(words, at - the) {
        return true;
    }
    match before(1 + the) {
        "unlike" | "outside" => true,
        // "At the request of the United States".
        "of" => PROMPTED.contains(&before(2 + the)),
        "in" => before(2 + the) == "not" && before(3 + the) == "but",
        _ => false,
    }
}

/// Two capital letters after "in", or in a sentence that is not all capitals: a code.
fn codes(words: &[Word<'_>], located: &dyn Fn(usize) -> bool) -> Vec<Mention> {
    let shouting = !words.iter().any(|word| word.text.chars().any(char::is_lowercase));
    let code = |(at, word): (usize, &Word<'_>)| {
        let capitals = word.text.len() == 2 && word.text.bytes().all(|byte| byte.is_ascii_uppercase());
        let plausible =
            located(at) || !matches!(word.text, "TV" | "IP" | "AI" | "PM" | "AM" | "ID" | "IT" | "VK" | "DW");
        let written = capitals && plausible && !shouting;
        let country = match flag(word.text) {
            Some(code) => Country::by_code(&code)?,
            None => written.then(|| Country::by_code(word.text))??,
        };
        Some(Mention {
            code: country.code,
            at,
            length: 1,
            area: None,
            how: How::Name,
            located: located(at),
            aside: aside(words, at),
        })
    };
    words.iter().enumerate().filter_map(code).collect()
}

/// The country that a claim is about: where it happens, else whose name comes first.
pub fn choose(mentions: &[Mention]) -> Option<&'static Country> {
    let rank = |mention: &&Mention| {
        (mention.aside, !(mention.located && mention.how != How::Adjective), mention.how, mention.at)
    };
    mentions.iter().min_by_key(rank).and_then(|mention| Country::by_code(mention.code))
}

/// Words between countries that are named side by side.
static BESIDE: Words = Words::of("places beside");

/// "Kenya (November 2023), Uganda (January 2021)": a date in brackets behind the first, and something behind the second.
fn are_dated(words: &[Word<'_>], a: &Mention, b: &Mention) -> bool {
    let apart = |at: usize| words.get(at).is_none_or(|word| word.pause != Pause::None);
    let date = |word: &Word<'_>| {
        word.text.starts_with(|c: char| c.is_ascii_digit())
            || super::months::named(&word.lower).is_some()
            || BESIDE.contains(&word.lower.as_str())
    };
    let between = words.get(a.at + a.length..b.at).unwrap_or_default();
    apart(a.at + a.length) && apart(b.at + b.length) && between.iter().all(date)
}

/// The country that a clause is about, and those that are named side by side with it: "in Turkey and Sweden".
pub fn chosen(mentions: &[Mention], words: &[Word<'_>]) -> Vec<Mention> {
    let Some(country) = choose(mentions) else { return Vec::new() };
    let beside = |a: &Mention, b: &Mention| {
        let between = words.get(a.at + a.length..b.at).unwrap_or_default();
        (a.how == How::Adjective) == (b.how == How::Adjective)
            && (between.iter().all(|word| BESIDE.contains(&word.lower.as_str())) || are_dated(words, a, b))
    };
    let mut groups: Vec<Vec<Mention>> = Vec::new();
    for mention in mentions {
        match groups.last_mut() {
            Some(group) if group.last().is_some_and(|last| beside(last, mention)) => group.push(*mention),
            _ => groups.push(vec![*mention]),
        }
    }
    groups.retain(|group| group.iter().any(|mention| mention.code == country.code));
    groups.into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::words::split;
    use super::*;

    /// A city or region is named as the table writes it; a country by another name has none.
    #[test]
    fn the_area_that_was_named_is_told() {
        let area = |text: &str| {
            let mentions = mentions(&split(text));
            let code = choose(&mentions).map(|country| country.code).unwrap();
            areas(&mentions, code).iter().map(|area| area.name).collect::<Vec<_>>()
        };
        assert_eq!(area("no internet in Srinagar and Jammu"), ["Srinagar", "Jammu"]);
        assert_eq!(area("no internet in Tehran"), ["Tehran"]);
        assert!(area("Tehran lifted the ban").is_empty(), "the government and not the city");
        let quetta = mentions(&split("Quetta is offline")).pop().unwrap();
        assert_eq!(quetta.area.unwrap().region, Some("Balochistan"));
        assert_eq!(area("the Pakistani city of Quetta"), ["Quetta"]);
        assert!(area("the Kremlin blocked it").is_empty() && area("in Britain").is_empty());
    }

    #[test]
    fn every_row_is_of_a_country_and_no_name_has_two() {
        let mut seen = std::collections::BTreeMap::new();
        for [code, adjectives, places] in starter::rows::<3>(TEXT) {
            assert!(Country::is_valid_code(code), "{code}");
            let names = adjectives.split('|').chain(places.split('|')).filter(|name| !name.is_empty());
            for name in names.map(|name| name.trim_start_matches('*').split('<').next().unwrap()) {
                assert_eq!(seen.insert(name.to_lowercase(), code), None, "{name}");
            }
        }
    }
}
