//! The network that a claim is about: "blocked on AS30844", "Safaricom blocks Telegram".

use super::lexicon::Words;
use super::relative;
use super::words::{Lazy, Pause, Phrases, Word, split, stem};
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

/// Words in names of operators that tell none from another.
static GENERIC: Words = Words::of("networks generic");

/// The words of a name, in lower case.
fn tokens(name: &str) -> Vec<String> {
    let parts = name.split(|letter: char| !letter.is_alphanumeric()).filter(|part| !part.is_empty());
    parts.map(|part| part.to_lowercase().replace('ü', "u").replace('é', "e").replace('ó', "o")).collect()
}

/// Whether a word of a name tells an operator from others of its country.
fn is_distinct(token: &str) -> bool {
    let place = || {
        let mut letters = token.chars();
        let capital: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        !super::places::mentions(&split(&capital)).is_empty()
    };
    token.len() >= 3 && !GENERIC.contains(&token) && !place()
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
    let places = super::places::mentions(&split(name)).iter().map(|mention| mention.code).collect();
    let known = tokens(name);
    // "Safaricom Ethiopia" is another than Safaricom.
    let same = |operator: &str| {
        let operator = tokens(operator);
        let told = operator.iter().any(|token| is_distinct(token));
        told && operator.iter().filter(|token| !GENERIC.contains(&token.as_str())).all(|token| known.contains(token))
    };
    let named = |[operator, code]: [&'static str; 2]| Some(code).filter(|code| !code.is_empty() && same(operator));
    one(places).or_else(|| one(starter::rows::<2>(OPERATORS).filter_map(named).collect()))
}

/// Operators whose names are other words as well.
const ORDINARY: [&str; 12] =
    ["orange", "claro", "jazz", "vivo", "inter", "roshan", "robi", "moov", "tigo", "mts", "unifi", "mpt"];
/// Words before the name of a network.
static BEFORE: Words = Words::of("networks before");
/// Words behind one.
static BEHIND: Words = Words::of("networks behind");
/// Verbs behind one that only says what others do.
const SAYS: [&str; 10] =
    ["says", "said", "say", "reports", "reported", "told", "announced", "announces", "warns", "warned"];

/// The networks that a clause names; `taken` tells of words that name something else.
pub fn named(words: &[Word<'_>], taken: impl Fn(usize) -> bool) -> Vec<Network> {
    joined(places(words, taken))
}

/// The words that name networks: the first, and how many.
pub fn spans(words: &[Word<'_>], taken: impl Fn(usize) -> bool) -> Vec<(usize, usize)> {
    let reported = operators().all(words).into_iter().filter(|(at, length, _)| says(words, at + length));
    let reported = reported.map(|(at, length, _)| (at, length));
    places(words, taken).into_iter().map(|(at, length, _)| (at, length)).chain(reported).collect()
}

fn places(words: &[Word<'_>], taken: impl Fn(usize) -> bool) -> Vec<(usize, usize, Network)> {
    let mut found: Vec<(usize, usize, Network)> = numbers(words);
    for (at, length, country) in operators().all(words) {
        let meant = |word: &&Word<'_>| word.is_capital() && !says(words, at + length) && !is_excepted(words, at);
        let Some(word) = words.get(at).filter(meant) else { continue };
        if !ORDINARY.contains(&word.lower.as_str()) || length > 1 || has_context(words, at, at + length) {
            found.push((at, length, Network { asn: None, name: Some(text(words, at, length)), country }));
        }
    }
    found.extend(stated(words, &found, taken));
    small_sort::sort_by_key(&mut found, |(at, ..)| *at);
    found
}

/// "AS30844", "AS 30844".
fn numbers(words: &[Word<'_>]) -> Vec<(usize, usize, Network)> {
    let shouting = !words.iter().any(|word| word.text.chars().any(char::is_lowercase));
    let number = |text: &str| text.parse::<u32>().ok().filter(|asn| *asn > 0);
    let one = |(at, word): (usize, &Word<'_>)| {
        let digits = word.lower.strip_prefix("asn").or_else(|| word.lower.strip_prefix("as"))?;
        let (length, asn) = match number(digits) {
            Some(asn) => (1, asn),
            None if matches!(word.text, "AS" | "ASN" | "asn") && !shouting => (2, number(&words.get(at + 1)?.lower)?),
            None => return None,
        };
        Some((at, length, Network { asn: Some(asn), name: None, country: None }))
    };
    words.iter().enumerate().filter_map(one).collect()
}

/// "Every provider except Liquid", "all networks other than Liquid".
pub fn is_excepted(words: &[Word<'_>], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| words.get(at)).map_or("", |word| word.lower.as_str());
    match before(1) {
        "except" | "excluding" | "besides" | "save" => true,
        "for" | "from" | "than" => matches!(before(2), "except" | "apart" | "aside" | "other"),
        "but" => (2..=5).any(|back| matches!(before(back), "all" | "every" | "each" | "everything")),
        _ => false,
    }
}

fn text(words: &[Word<'_>], at: usize, length: usize) -> String {
    words.iter().skip(at).take(length).map(|word| word.text).collect::<Vec<_>>().join(" ")
}

fn says(words: &[Word<'_>], at: usize) -> bool {
    words.get(at).is_some_and(|word| word.pause == Pause::None && SAYS.contains(&word.lower.as_str()))
}

fn has_context(words: &[Word<'_>], at: usize, to: usize) -> bool {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let acts = |at: usize| BEHIND.contains(&lower(at)) || is_state(lower(at));
    at.checked_sub(1).is_some_and(|before| BEFORE.contains(&lower(before)))
        || acts(to)
        || matches!(lower(to), "is" | "was" | "has" | "have" | "also") && acts(to + 1)
        || words.get(to).is_some_and(|word| numbers(std::slice::from_ref(word)).len() == 1)
}

/// What is named after "on" and is no network.
static NO_NETWORKS: Words = Words::of("networks no networks");
/// Words of what a network does to a service, without their endings.
static STATES: Words = Words::of("networks states");

/// "Blocked on", and not "the block on".
fn is_state(word: &str) -> bool {
    STATES.contains(&stem(word).as_str()) && !matches!(word, "ban" | "bans" | "block" | "blocks" | "filter" | "filters")
}

/// Whether a day of the week or a month is named at a place.
pub fn is_day(words: &[Word<'_>], at: usize) -> bool {
    let reader = super::dates::Reader { words, shouting: false };
    let weekday = |word: &Word<'_>| relative::weekday(word).or_else(|| relative::weekdays(word)).is_some();
    words.get(at).is_some_and(weekday) || reader.month(at).is_some()
}

/// Names that no table has and the sentence says to be networks: "blocked on Jamii in Kenya", "the ISP Jamii".
fn stated(
    words: &[Word<'_>],
    known: &[(usize, usize, Network)],
    taken: impl Fn(usize) -> bool,
) -> Vec<(usize, usize, Network)> {
    let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
    let free = |at: usize| {
        let inside = known.iter().any(|(from, length, _)| (*from..*from + *length).contains(&at));
        words.get(at).is_some_and(Word::is_capital) && !taken(at) && !inside && !is_day(words, at)
    };
    let mut found = Vec::new();
    for at in 1..words.len() {
        let isp = matches!(lower(at - 1), "isp" | "operator" | "provider" | "carrier");
        // "... but not on Jamii" leaves its verb to another clause.
        let state = at >= 2 && (is_state(lower(at - 2)) || lower(at - 2) == "not");
        let on = lower(at - 1) == "on" && !words.get(at - 1).is_some_and(Word::is_capital) && state;
        let begins = words.get(at).is_some_and(|word| word.pause == Pause::None);
        if !(isp || on) || !begins || !free(at) || NO_NETWORKS.contains(&lower(at)) {
            continue;
        }
        let mut to = at + 1;
        while free(to) && words.get(to).is_some_and(|word| word.pause == Pause::None) {
            to += 1;
        }
        let ends = words.get(to).is_none_or(|word| {
            word.pause != Pause::None
                || matches!(
                    word.lower.as_str(),
                    "in" | "and" | "but" | "since" | "for" | "network" | "from" | "has" | "blocks" | "blocked"
                )
        });
        if ends && !says(words, to) {
            let name = text(words, at, to - at);
            found.push((at, to - at, Network { asn: None, name: Some(name), country: None }));
        }
    }
    found
}

/// "Safaricom (AS33771)" is one network.
fn joined(found: Vec<(usize, usize, Network)>) -> Vec<Network> {
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
pub fn candidates(words: &[Word<'_>], taken: impl Fn(usize) -> bool) -> Vec<String> {
    let used = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        before.is_some_and(|word| matches!(word.lower.as_str(), "use" | "uses" | "used" | "using" | "to"))
    };
    let free = |(at, word): &(usize, &Word<'_>)| {
        word.is_capital()
            && !taken(*at)
            && !word.aside
            && !used(*at)
            && !says(words, at + 1)
            && !is_excepted(words, *at)
    };
    words.iter().enumerate().filter(free).map(|(_, word)| word.lower.clone()).filter(|word| is_distinct(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_are_those_of_operators() {
        let network = |name: &str| Network { asn: None, name: Some(name.to_owned()), country: None };
        for (claimed, known) in [
            ("Safaricom", "SAFARICOM-LIMITED"),
            ("Türk Telekom", "Turk Telekom"),
            ("Liquid Telecom", "Liquid Telecommunications Operations Limited"),
            ("Airtel", "Airtel Networks Kenya Limited"),
            ("Telecom Egypt", "Telecom Egypt Data"),
        ] {
            assert!(network(claimed).is(1, Some(known)), "{claimed}");
        }
        assert!(!network("Safaricom").is(1, Some("Airtel Networks Kenya Limited")));
        assert!(!network("Telkom Kenya").is(1, Some("Safaricom Kenya")));
        assert!(!network("Safaricom").is(1, None));
        let numbered = Network { asn: Some(33_771), ..network("Safaricom") };
        assert!(numbered.is(33_771, None) && !numbered.is(37_061, Some("SAFARICOM-LIMITED")));
        let home = |name| home(name).map(|country| country.code);
        assert_eq!(home("SAFARICOM-LIMITED"), Some("KE"));
        assert_eq!(home("Airtel Networks Kenya Limited"), Some("KE"));
        assert_eq!(home("EXAMPLE-NET"), None);
        assert_eq!(called("Kenya JAMII-TELECOM").as_deref(), Some("jamii"));
    }
}
