//! The network that a claim is about: "blocked on AS30844", "Safaricom blocks Telegram".

use super::words::{Lazy, Phrases, Reader, Word, is_shouted, split, stem};
use super::{lexicon, places};
use crate::engine::small_sort;
use crate::facts::starter::{self, Country};

const OPERATORS: &str = include_str!("operators.tsv");

/// A network as a claim names it: by number, by name or by both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    pub asn: Option<u32>,
    pub name: Option<String>,
    /// Where its operator is, when that is one country.
    pub country: Option<&'static str>,
}

impl Network {
    /// For people: "AS33771 (Safaricom)".
    pub fn label(&self) -> String {
        match (self.asn, &self.name) {
            (Some(asn), Some(name)) => format!("AS{asn} ({name})"),
            (Some(asn), None) => format!("AS{asn}"),
            (None, name) => name.clone().unwrap_or_default(),
        }
    }

    /// Whether a network of this number and name is meant. A number says more than a name.
    pub fn is(&self, asn: u32, name: Option<&str>) -> bool {
        match (self.asn, &self.name, name) {
            (Some(number), ..) => number == asn,
            (None, Some(own), Some(name)) => is_same(own, name),
            _ => false,
        }
    }
}

fn tokens(name: &str) -> Vec<String> {
    let parts = name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(|part| part.to_lowercase().replace('ü', "u").replace('é', "e").replace('ó', "o")).collect()
}

/// Whether a word of a name tells an operator from others of its country.
fn is_distinct(token: &str) -> bool {
    let place = || {
        let mut letters = token.chars();
        let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        !places::mentions(&split(&capital)).is_empty()
    };
    token.len() >= 3 && !lexicon::list("networks.generic").has(token) && !place()
}

/// Whether the name of a claim and that of a table are of the same operator: "Safaricom", "SAFARICOM-LIMITED".
fn is_same(claimed: &str, known: &str) -> bool {
    let (claimed, known) = (tokens(claimed), tokens(known));
    let mut distinct = claimed.iter().filter(|token| is_distinct(token)).peekable();
    if distinct.peek().is_none() {
        return claimed.iter().all(|token| known.contains(token));
    }
    distinct.any(|token| known.contains(token)) || known.contains(&claimed.concat())
}

/// The word by which people call a network of a table: the first that tells it from others.
pub fn called(name: &str) -> Option<String> {
    tokens(name).into_iter().find(|token| is_distinct(token))
}

fn operators() -> &'static Phrases<Option<&'static str>> {
    static NAMES: Lazy<Option<&'static str>> = Lazy::new();
    NAMES.get_or_init(|| {
        let country = |code: &'static str| Country::by_code(code).map(|country| country.code);
        Phrases::new(starter::rows::<2>(OPERATORS).map(|[name, code]| (name.to_owned(), country(code))))
    })
}

/// The country of a network by the name that a table gives it, when that names one or belongs to an operator of one.
pub fn home(name: &str) -> Option<&'static Country> {
    let one = |mut codes: Vec<&'static str>| {
        codes.sort_unstable();
        codes.dedup();
        if let [code] = codes.as_slice() { Country::by_code(code) } else { None }
    };
    let places = places::mentions(&split(name)).iter().map(|mention| mention.code).collect();
    let known = tokens(name);
    // "Safaricom Ethiopia" is another than Safaricom.
    let same = |operator: &str| {
        let operator = tokens(operator);
        let is_known = |token: &String| lexicon::list("networks.generic").has(token) || known.contains(token);
        operator.iter().any(|token| is_distinct(token)) && operator.iter().all(is_known)
    };
    let named = |[operator, code]: [&'static str; 2]| Some(code).filter(|code| !code.is_empty() && same(operator));
    one(places).or_else(|| one(starter::rows::<2>(OPERATORS).filter_map(named).collect()))
}

/// A network where a sentence names it: the first word, and how many.
type Placed = (usize, usize, Network);

/// The networks that a clause names; `taken` tells of words that name something else.
pub fn named(text: Reader<'_>, taken: impl Fn(usize) -> bool) -> Vec<Network> {
    joined(placed(text, taken))
}

/// The words that name networks: the first, and how many.
pub fn spans(text: Reader<'_>, taken: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let reported = operators().all(text.words).into_iter().filter(|(at, length, _)| says(text, at + length));
    let named = placed(text, taken).into_iter().map(|(at, length, _)| (at, length));
    named.chain(reported.map(|(at, length, _)| (at, length))).collect()
}

fn placed(text: Reader<'_>, taken: impl Fn(usize) -> bool) -> Vec<Placed> {
    let mut found: Vec<Placed> = (0..text.words.len()).filter_map(|at| numbered(text, at)).collect();
    for (at, length, country) in operators().all(text.words) {
        let (meant, to) = (text.capital(at) && !says(text, at + length) && !is_excepted(text, at), at + length);
        // Its name may be another word as well.
        let doubtful = length == 1 && text.of_list(at, "networks.ordinary");
        if meant && (!doubtful || text.of_list(at.wrapping_sub(1), "networks.before") || acts(text, to)) {
            found.push((at, length, Network { asn: None, name: Some(name(text, at, length)), country }));
        }
    }
    found.extend(stated(text, &found, taken));
    small_sort::sort_by_key(&mut found, |(at, ..)| *at);
    found
}

/// "AS30844", "AS 30844".
fn numbered(text: Reader<'_>, at: usize) -> Option<Placed> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|asn| *asn > 0);
    let word = text.word(at)?;
    let digits = word.lower.strip_prefix("asn").or_else(|| word.lower.strip_prefix("as"))?;
    let apart = || matches!(word.text, "AS" | "ASN" | "asn") && !is_shouted(text.words);
    let (length, asn) = match number(digits) {
        Some(asn) => (1, asn),
        None => (2, apart().then(|| number(text.lower(at + 1)))??),
    };
    Some((at, length, Network { asn: Some(asn), name: None, country: None }))
}

/// "Every provider except Liquid", "all networks other than Liquid".
pub fn is_excepted(text: Reader<'_>, at: usize) -> bool {
    text.fits(at, "networks.excepted")
}

fn name(text: Reader<'_>, at: usize, length: usize) -> String {
    text.part(at..at + length).words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ")
}

fn says(text: Reader<'_>, at: usize) -> bool {
    text.fits(at, "networks.says")
}

/// Whether what stands behind a name is said of networks.
fn acts(text: Reader<'_>, to: usize) -> bool {
    let acts = |at: usize| text.of_list(at, "networks.behind") || is_state(text.lower(at));
    acts(to) || text.is(to, "is|was|has|have|also") && acts(to + 1) || numbered(text.part(to..to + 1), 0).is_some()
}

/// "Blocked on", and not "the block on".
fn is_state(word: &str) -> bool {
    let noun = matches!(word, "ban" | "bans" | "block" | "blocks" | "filter" | "filters");
    !noun && lexicon::list("networks.states").has(&stem(word))
}

/// Names that no table has and the sentence says to be networks: "blocked on Jamii in Kenya", "the ISP Jamii".
fn stated(text: Reader<'_>, known: &[Placed], taken: impl Fn(usize) -> bool) -> Vec<Placed> {
    let free = |at: usize| {
        let inside = known.iter().any(|(from, length, _)| (*from..*from + *length).contains(&at));
        text.capital(at) && !taken(at) && !inside && !text.fits(at, "networks.day")
    };
    let mut found = Vec::new();
    for at in 1..text.words.len() {
        let isp = text.was(at, 1, "isp|operator|provider|carrier");
        // "... but not on Jamii" leaves its verb to another clause.
        let on =
            text.was(at, 1, "on") && !text.capital(at - 1) && (text.was(at, 2, "not") || is_state(text.before(at, 2)));
        if !(isp || on) || text.ends(at) || !free(at) || text.of_list(at, "networks.no_networks") {
            continue;
        }
        let to = (at + 1..).find(|to| !free(*to) || text.ends(*to)).unwrap_or(at + 1);
        let ends = text.ends(to) || text.is(to, "in|and|but|since|for|network|from|has|blocks|blocked");
        if ends && !says(text, to) {
            let network = Network { asn: None, name: Some(name(text, at, to - at)), country: None };
            found.push((at, to - at, network));
        }
    }
    found
}

/// "Safaricom (AS33771)" is one network.
fn joined(found: Vec<Placed>) -> Vec<Network> {
    let mut all: Vec<(usize, Network)> = Vec::new();
    for (at, length, network) in found {
        if all.iter().any(|(_, known)| *known == network) {
            continue;
        }
        match all.last_mut() {
            Some((to, last)) if *to == at && last.asn.is_some() != network.asn.is_some() => {
                (last.asn, last.country) = (last.asn.or(network.asn), last.country.or(network.country));
                last.name = last.name.take().or(network.name);
                *to = at + length;
            }
            _ => all.push((at + length, network)),
        }
    }
    all.into_iter().map(|(_, network)| network).collect()
}

/// Words of a clause that may be names of networks which only measurements know, in lower case.
pub fn candidates(text: Reader<'_>, taken: impl Fn(usize) -> bool) -> Vec<String> {
    let free = |(at, word): &(usize, &Word<'_>)| {
        let used = text.was(*at, 1, "use|uses|used|using|to");
        word.is_capital() && !taken(*at) && !word.aside && !used && !says(text, at + 1) && !is_excepted(text, *at)
    };
    let free = text.words.iter().enumerate().filter(free);
    free.map(|(_, word)| word.lower.clone()).filter(|word| is_distinct(word)).collect()
}
