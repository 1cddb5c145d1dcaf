//! The network that a claim is about: "blocked on AS30844", "Safaricom blocks Telegram".

use schemars::JsonSchema;
use serde::Serialize;

use super::*;
use facts::sentence::Parameter;

const OPERATORS: &str = include_str!("operators.tsv");

/// A network as the claim names it, with what measurements know of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ClaimNetwork")]
pub struct Network {
    /// `None` when only a name is known.
    pub asn: Option<u32>,
    pub name: Option<String>,
    // Where its operator is, when that is one country.
    #[serde(skip)]
    pub country: Option<&'static str>,
}

impl Network {
    /// For people: "AS33771 (Safaricom)".
    pub fn said(&self) -> facts::sentence::Sentence {
        let network = facts::sentence::Sentence::new("network").with("asn", self.asn.map(Parameter::network));
        network.with("name", self.name.as_ref())
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

static NAMES: LazyLock<Phrases<Option<&'static str>>> = LazyLock::new(|| {
    let country = |code: &'static str| Country::by_code(code).map(|country| country.code);
    Phrases::new(starter::rows::<2>(OPERATORS).map(|[name, code]| (name.to_owned(), country(code))))
});

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

type Placed = (usize, usize, Network);

/// The networks that a clause names.
pub fn named(text: Reader<'_>) -> Vec<Network> {
    joined(placed(text))
}

/// The same where they stand: the first word of each, and how many.
pub fn placed(text: Reader<'_>) -> Vec<Placed> {
    let mut found: Vec<Placed> = (0..text.words.len()).filter_map(|at| numbered(text, at)).collect();
    for (at, length, country) in NAMES.all(text.words) {
        let to = at + length;
        let meant = text.capital(at) && !text.fits(to, "networks.says") && !text.fits(at, "networks.excepted");
        // Its name may be another word as well.
        let acts = || text.fits(to, "networks.acts") || numbered(text.part(to..to + 1), 0).is_some();
        if meant && (length > 1 || !text.fits(at, "networks.doubtful") || acts()) {
            found.push((at, length, Network { asn: None, name: Some(text.quote(at..at + length)), country }));
        }
    }
    found.extend(stated(text, &found));
    found.sort_by_key(|(at, ..)| *at);
    found
}

fn numbered(text: Reader<'_>, at: usize) -> Option<Placed> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|asn| *asn > 0);
    let word = text.word(at)?;
    let digits = word.lower.strip_prefix("asn").or_else(|| word.lower.strip_prefix("as"))?;
    let apart = || matches!(word.text, "AS" | "ASN" | "asn") && !word.shouted;
    let (length, asn) = match number(digits) {
        Some(asn) => (1, asn),
        None => (2, apart().then(|| number(text.lower(at + 1)))??),
    };
    Some((at, length, Network { asn: Some(asn), name: None, country: None }))
}

/// Names that no table has and the sentence says to be networks: "blocked on Jamii in Kenya", "the ISP Jamii".
fn stated(text: Reader<'_>, known: &[Placed]) -> Vec<Placed> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < text.words.len() {
        let inside = known.iter().any(|(from, length, _)| (*from..*from + *length).contains(&at));
        // "... but not on Jamii" leaves its verb to another clause.
        let length = text.matches(at, "networks.stated_name").filter(|_| !inside);
        let named = |length: usize| Network { asn: None, name: Some(text.quote(at..at + length)), country: None };
        found.extend(length.map(|length| (at, length, named(length))));
        at += length.unwrap_or(1);
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
pub fn candidates(text: Reader<'_>) -> Vec<String> {
    let free = (0..text.words.len()).filter(|at| text.fits(*at, "networks.candidate"));
    free.map(|at| text.lower(at).to_owned()).filter(|word| is_distinct(word)).collect()
}
