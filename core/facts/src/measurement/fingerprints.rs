//! Block page fingerprints: addresses and names in DNS answers, text in pages and headers.
//!
//! A match confirms blocking when the country is expected or the scope is national or an ISP's; scope `fp` is a known
//! false positive and never confirms.

use std::collections::HashMap;
use std::io::BufRead;

use regex_lite::Regex;

use super::domain::normal_host;
use super::guards::Guarded;
use super::rows::for_each_row;
use super::types::{ImportCounts, ImportError, Rejection};

/// The origin of a fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Seen nationwide.
    National,
    /// Seen at one provider.
    Isp,
    /// The filter of an institution such as a school or a company. It is proof in its countries, but whole content
    /// networks show the same words.
    Institution,
    /// A product of a vendor, an injector or an unclear origin: proof only in the countries it is expected in, else
    /// mere evidence.
    Other,
    /// A known false positive.
    FalsePositive,
}

impl Scope {
    fn parse(text: &str) -> Scope {
        match text {
            "nat" => Scope::National,
            "isp" => Scope::Isp,
            "inst" => Scope::Institution,
            "fp" => Scope::FalsePositive,
            _ => Scope::Other,
        }
    }
}

/// The place in which a page fingerprint is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Body,
    /// A header, by its name in lower case.
    Header(String),
}

/// The way a pattern is compared.
#[derive(Debug, Clone)]
pub enum Pattern {
    Full(String),
    Prefix(String),
    Contains(String),
    Regex(Regex),
}

impl Pattern {
    fn parse(kind: &str, pattern: &str) -> Option<Pattern> {
        match kind {
            _ if pattern.is_empty() => None,
            "full" => Some(Pattern::Full(pattern.to_owned())),
            "prefix" => Some(Pattern::Prefix(pattern.to_owned())),
            "contains" => Some(Pattern::Contains(pattern.to_owned())),
            "regexp" => Regex::new(pattern).or_else(|_| Regex::new(&literal_braces(pattern))).ok().map(Pattern::Regex),
            _ => None,
        }
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Pattern::Full(pattern) => text == pattern,
            Pattern::Prefix(pattern) => text.starts_with(pattern.as_str()),
            Pattern::Contains(pattern) => text.contains(pattern.as_str()),
            Pattern::Regex(pattern) => pattern.is_match(text),
        }
    }
}

/// Escapes braces that are no repetition, because the patterns are written for engines that take such braces literally.
fn literal_braces(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern.chars().peekable();
    let mut repetition = false;
    while let Some(c) = rest.next() {
        match c {
            '{' => {
                repetition = rest.peek().is_some_and(char::is_ascii_digit) && !out.is_empty();
                out.push_str(if repetition { "{" } else { "\\{" });
            }
            '}' => {
                out.push_str(if repetition { "}" } else { "\\}" });
                repetition = false;
            }
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
            _ => out.push(c),
        }
    }
    out
}

#[derive(Debug, Clone)]
struct Origin {
    name: String,
    scope: Scope,
    countries: Vec<[u8; 2]>,
}

impl Origin {
    fn confirms(&self, country: [u8; 2]) -> bool {
        match self.scope {
            Scope::FalsePositive => false,
            Scope::National | Scope::Isp => true,
            Scope::Institution | Scope::Other => self.countries.contains(&country),
        }
    }
}

/// The fingerprints that match one page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageMatch {
    /// Name of a fingerprint that confirms a block in this country.
    pub confirmed: Option<String>,
    /// Only the text of the page confirms, no header.
    pub only_text: bool,
    /// Only fingerprints of institutions confirm.
    pub only_institutions: bool,
    /// A fingerprint matched that proves nothing in this country.
    pub suspected: bool,
    /// A known false positive matched: it masks a difference of pages (decision scenario-truths).
    pub false_positive: bool,
}

impl PageMatch {
    /// True if the match confirms a block. Words do not confirm in a page that is the site's own, and an institution's
    /// filter does not confirm in a page that a content network delivered.
    pub fn confirms(&self, guarded: Guarded, own: bool) -> bool {
        let excused = (self.only_text && own) || (self.only_institutions && guarded.delivered);
        self.confirmed.is_some() && !excused
    }
}

/// A set of fingerprints, which may be empty.
#[derive(Debug, Clone, Default)]
pub struct Fingerprints {
    /// Addresses, and the names of block page servers in lower case (answers of type CNAME).
    answers: HashMap<String, Origin>,
    pages: Vec<(Place, Pattern, Origin)>,
}

/// Bytes of a page that are searched, from its beginning. Block pages are small, but pages can have megabytes.
const SEARCHED: usize = 64 << 10;

impl Fingerprints {
    /// True when nothing was added.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.pages.is_empty()
    }

    /// Number of fingerprints.
    pub fn len(&self) -> usize {
        self.answers.len() + self.pages.len()
    }

    /// Adds the address or name of a block page server. `countries` are ISO 3166 alpha-2.
    pub fn add_answer(&mut self, name: &str, scope: Scope, answer: &str, countries: &[[u8; 2]]) {
        let origin = Origin { name: name.to_owned(), scope, countries: countries.to_vec() };
        self.answers.insert(answer.to_owned(), origin);
    }

    /// Adds a page fingerprint.
    pub fn add_page(&mut self, name: &str, scope: Scope, place: Place, pattern: Pattern, countries: &[[u8; 2]]) {
        self.pages.push((place, pattern, Origin { name: name.to_owned(), scope, countries: countries.to_vec() }));
    }

    /// True if the answer of a resolver (an address, or the name of an alias) is known for a block page that confirms
    /// in this country.
    pub fn confirms_answer(&self, answer: &str, country: [u8; 2]) -> bool {
        if answer.is_empty() || self.answers.is_empty() {
            return false;
        }
        let known = self.answers.get(answer).or_else(|| {
            let name = normal_host(answer).ok()?;
            self.answers.get(name.as_ref())
        });
        known.is_some_and(|origin| origin.confirms(country))
    }

    /// Compares a page. `headers` gives the value of a header by lower-case name.
    pub fn page<'a>(&self, body: &str, headers: &dyn Fn(&str) -> Option<&'a str>, country: [u8; 2]) -> PageMatch {
        let mut end = body.len().min(SEARCHED);
        while !body.is_char_boundary(end) {
            end -= 1;
        }
        let body = body.get(..end).unwrap_or_default();
        let mut found = PageMatch { only_text: true, only_institutions: true, ..PageMatch::default() };
        for (place, pattern, origin) in &self.pages {
            let text = match place {
                Place::Body => body,
                Place::Header(name) => match headers(name) {
                    Some(value) => value,
                    None => continue,
                },
            };
            if text.is_empty() || !pattern.matches(text) {
                continue;
            }
            match origin.scope {
                Scope::FalsePositive => found.false_positive = true,
                _ if origin.confirms(country) => {
                    found.confirmed.get_or_insert_with(|| origin.name.clone());
                    found.only_text &= *place == Place::Body;
                    found.only_institutions &= origin.scope == Scope::Institution;
                }
                _ => found.suspected = true,
            }
        }
        if found.confirmed.is_none() {
            (found.only_text, found.only_institutions) = (false, false);
        }
        found
    }

    /// Adds fingerprints from a CSV, found by the names of its columns. `location_found` tells DNS from HTTP.
    pub fn import(&mut self, reader: &mut dyn BufRead, limit: u64) -> Result<ImportCounts, ImportError> {
        let mut counts = ImportCounts::default();
        for_each_row(reader, limit, &["name", "scope", "pattern"], &mut counts, &mut |header, row| {
            self.add_row(&|name| header.get(row, name))
        })?;
        Ok(counts)
    }

    fn add_row<'r>(&mut self, field: &dyn Fn(&str) -> &'r str) -> Result<bool, Rejection> {
        let (name, scope, pattern) = (field("name"), Scope::parse(field("scope")), field("pattern"));
        let countries: Vec<[u8; 2]> = field("expected_countries")
            .split(',')
            .filter_map(|code| <[u8; 2]>::try_from(code.trim().as_bytes()).ok())
            .collect();
        let place = match field("location_found") {
            "dns" => {
                let answer = match pattern.parse::<std::net::IpAddr>() {
                    Ok(_) => pattern.into(),
                    Err(_) => normal_host(pattern).map_err(|_| Rejection::Refused("bad_address"))?,
                };
                let known = self.answers.contains_key(answer.as_ref());
                self.add_answer(name, scope, &answer, &countries);
                return Ok(!known);
            }
            "body" => Place::Body,
            other => match other.strip_prefix("header.") {
                Some(header) => Place::Header(header.to_ascii_lowercase()),
                None => return Err(Rejection::Unsupported("unsupported_location")),
            },
        };
        let parsed = Pattern::parse(field("pattern_type"), pattern).ok_or(Rejection::Refused("bad_pattern"))?;
        self.add_page(name, scope, place, parsed, &countries);
        Ok(true)
    }
}
