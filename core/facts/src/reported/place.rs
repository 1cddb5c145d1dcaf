//! Reads the countries in tables of events.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::measurement::types::Rejection;
use crate::starter::Country;

/// Names of places that belong to a country or territory in the list, and other names of it.
const PARTS: [(&str, &str); 9] = [
    ("somaliland", "SO"),
    ("bonaire sint eustatius and saba", "BQ"),
    ("bonaire sint eustatius saba", "BQ"),
    ("hong kong sar", "HK"),
    ("china hong kong sar", "HK"),
    ("hong kong sar china", "HK"),
    ("macao sar", "MO"),
    ("china macao sar", "MO"),
    ("macao sar china", "MO"),
];

/// A name in lower case, without accents and punctuation.
pub fn plain(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        match c {
            'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' => out.push('a'),
            'è' | 'é' | 'ê' | 'ë' => out.push('e'),
            'ì' | 'í' | 'î' | 'ï' => out.push('i'),
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' => out.push('o'),
            'ù' | 'ú' | 'û' | 'ü' => out.push('u'),
            'ç' => out.push('c'),
            'ñ' => out.push('n'),
            '&' => out.push_str(" and "),
            '\'' | '\u{2019}' | '.' => {}
            c if c.is_alphanumeric() => out.push(c),
            _ => out.push(' '),
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn names() -> &'static BTreeMap<String, &'static str> {
    static NAMES: OnceLock<BTreeMap<String, &'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let listed = Country::all().iter().flat_map(|country| country.names().map(|name| (plain(name), country.code)));
        listed.chain(PARTS.map(|(name, code)| (name.to_owned(), code))).collect()
    })
}

/// The country of one name or code: `IR`, `Iran (Islamic Republic of)`, `Tanzania, United Republic of`,
/// `Myanmar/Burma`, `Ivory Coast (Cote d'Ivoire)`.
pub fn country(text: &str) -> Option<&'static str> {
    let text = text.trim();
    if let Some(known) = Country::by_code(text) {
        return Some(known.code);
    }
    let known = |name: &str| names().get(&plain(name)).copied();
    if let Some(code) = known(text) {
        return Some(code);
    }
    let bracketed = text.strip_suffix(')').and_then(|text| text.split_once('('));
    if let Some((head, tail)) = bracketed.or_else(|| text.split_once(',')) {
        // `Congo (Democratic Republic of the)` is not `Congo`, and `Korea, South` is not all of Korea.
        if plain(tail).ends_with(" of") || plain(tail).ends_with(" of the") {
            return known(&format!("{tail} {head}"))
                .or_else(|| if plain(head) == "congo" { None } else { known(head) });
        }
        return match (known(head), known(tail)) {
            // The two names must be of the same country.
            (Some(one), Some(other)) => (one == other).then_some(one),
            _ if bracketed.is_none() => known(&format!("{tail} {head}")),
            // `Democratic Republic of (DRC)`: the part before the bracket names no country.
            (one, other) => one.or(other).or_else(|| (plain(tail) == "drc").then_some("CD")),
        };
    }
    // Two names of the same country, or one name written with a slash.
    let (first, second) = text.split_once('/')?;
    match (known(first), known(second)) {
        (Some(one), Some(other)) => (one == other).then_some(one),
        _ => known(&format!("{first} {second}")),
    }
}

/// Phrases for the whole of a country, without accents and punctuation.
const WHOLE: [&str; 8] = [
    "nationwide",
    "national",
    "countrywide",
    "country wide",
    "entire country",
    "whole country",
    "the entire country",
    "the whole country",
];

/// The words of a text after a phrase for the whole country (`Nationwide`, `National except the North`); mostly empty.
/// `None` if the text is an area, such as `National Capital Territory`.
pub fn beyond_the_country(area: &str) -> Option<String> {
    let plain = plain(area);
    let of_its_name = ["entire ", "whole ", "all of "].iter().find_map(|word| plain.strip_prefix(word));
    if of_its_name.is_some_and(|name| country(name).is_some()) {
        return Some(String::new());
    }
    let rest = WHOLE.iter().filter_map(|phrase| plain.strip_prefix(phrase)).min_by_key(|rest| rest.len())?;
    let exception = ["except", "excluding", "but", "shutdown"].iter().any(|word| rest.trim_start().starts_with(word));
    (rest.is_empty() || (rest.starts_with(' ') && exception)).then(|| rest.trim_start().to_owned())
}

/// All countries of a cell, which may name several with various separators (`Laos; Myanmar`, `Ethiopia/Eritrea`, `Chad
/// and Niger`). If one name is no country, the whole cell is refused: half of its statement would be another statement.
pub fn countries(cell: &str) -> Result<Vec<&'static str>, Rejection> {
    let mut found = Vec::new();
    for part in cell.split([';', '\n', '|', '+']).map(str::trim).filter(|part| !part.is_empty()) {
        found.extend(listed(part).ok_or(Rejection::Refused("unknown_country"))?);
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err(Rejection::Refused("no_country")) } else { Ok(found) }
}

/// Words and signs that stand between names of countries, and also inside of some names.
const BETWEEN: [&str; 4] = [",", "/", " and ", " & "];

/// Most separators in a cell.
const MOST: usize = 60;

/// The countries of a list whose separators may also be part of names (`Bosnia and Herzegovina`, `Korea, Republic of`).
/// From the left, the longest text that is one name wins.
fn listed(text: &str) -> Option<Vec<&'static str>> {
    let mut cuts: Vec<(usize, usize)> =
        BETWEEN.iter().flat_map(|sign| text.match_indices(sign)).map(|(at, sign)| (at, at + sign.len())).collect();
    cuts.sort_unstable();
    cuts.push((text.len(), text.len()));
    if cuts.len() > MOST {
        return None;
    }
    // Works from the end: holds the countries of the rest after each separator.
    let mut rests: BTreeMap<usize, Vec<&'static str>> = BTreeMap::from([(text.len(), Vec::new())]);
    let begins: Vec<usize> = std::iter::once(0).chain(cuts.iter().map(|(_, next)| *next)).collect();
    for begin in begins.into_iter().rev().filter(|begin| *begin < text.len()) {
        let found = cuts.iter().rev().filter(|(end, _)| *end >= begin).find_map(|(end, next)| {
            let name = text.get(begin..*end)?.trim();
            let mut found = rests.get(next)?.clone();
            let last = name.strip_prefix("and ").unwrap_or(name);
            // Two separators may follow each other: `Chad, and Niger`.
            if !last.is_empty() {
                found.push(country(last)?);
            }
            Some(found)
        });
        found.into_iter().for_each(|found| drop(rests.insert(begin, found)));
    }
    rests.remove(&0)
}
