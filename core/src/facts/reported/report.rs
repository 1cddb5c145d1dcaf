//! What all readers of events share: each row is counted once, and what it says is kept inside bounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Event;
use crate::Timestamp;
use crate::engine::kv::Row;
use crate::engine::time::DAY;
use crate::facts::measurement::ImportCounts;
use crate::facts::measurement::domain::TargetKey;
use crate::facts::measurement::types::{CLOCK_AHEAD, Rejection};
use crate::facts::source::Source;
use crate::facts::starter::Platform;
use crate::intelligence::claims;

/// Most characters of a text that a source wrote.
const MAX_TEXT: usize = 120;
/// Most characters of a sentence that a source wrote.
const MAX_PROSE: usize = 400;
/// Between a cause in a source's vocabulary and what it says beside it.
pub const CAUSE_ENDS: &str = ": ";
/// Most characters of an address.
const MAX_URL: usize = 500;
/// Most characters of an id; longer ones become a hash.
const MAX_ID: usize = 64;
/// Most networks, services and areas of an event.
const MAX_LISTED: usize = 200;
/// How far in the future an announced event may begin.
pub const AHEAD: i64 = 366 * DAY;
/// 1 January 1995: no table of shutdowns reaches further back.
const EARLIEST: Timestamp = Timestamp::from_seconds(788_918_400);

/// Stands for the newest date of a table until all of it is read ([`Rows::cover`]).
pub const UNTIL_THE_NEWEST: Timestamp = Timestamp::MAX;

/// An event with what decides between two reports of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    pub event: Event,
    /// The year or revision under which the source tells it, 0 where it has none: of two reports the higher stays.
    pub version: u32,
    /// Among the events of one row, the one that the row is counted by.
    pub leads: bool,
}
impl Row for Reported {}

impl Reported {
    /// Joins two reports of one event. The higher version stays; of equal ones that with an end, then the later end,
    /// then that which names more services, then the greater text: a join of a semilattice, so order, splits and
    /// repeats never matter (decision order-of-data). That it went on until some day stays known, though a later
    /// version says no more.
    pub fn join(self, other: Reported) -> Reported {
        let leads = self.leads || other.leads;
        let heard = self.event.heard.max(other.event.heard);
        let rank = |report: &Reported| {
            let told = Event { heard: None, ..report.event.clone() };
            (report.version, told.end, told.services.len(), format!("{told:?}"))
        };
        let stays = if rank(&self) >= rank(&other) { self } else { other };
        Reported { leads, event: Event { heard, ..stays.event }, ..stays }
    }

    /// Whether it says the same, however it was counted.
    pub fn says_the_same(&self, other: &Reported) -> bool {
        self.event == other.event && self.version == other.version
    }
}

/// The rows of one stream.
pub struct Rows<'a> {
    pub source: Source,
    /// Stands in for a country that a row does not name.
    pub country: Option<&'a str>,
    pub now: Timestamp,
    pub counts: ImportCounts,
    found: BTreeMap<(String, String), Reported>,
}

impl<'a> Rows<'a> {
    pub fn new(source: Source, country: Option<&'a str>, now: Timestamp) -> Self {
        Rows { source, country, now, counts: ImportCounts::default(), found: BTreeMap::new() }
    }

    /// Counts a row that says nothing.
    pub fn reject(&mut self, rejection: Rejection) {
        self.counts.reject(rejection);
    }

    /// Takes what a row became: one event per country it names, or the reason why not.
    pub fn take(&mut self, row: Result<(Vec<Event>, u32), Rejection>) {
        let (events, version) = match row.and_then(|(events, version)| self.check(&events).map(|()| (events, version)))
        {
            Ok(taken) => taken,
            Err(rejection) => return self.reject(rejection),
        };
        let mut leads = true;
        for event in events {
            let key = (event.country.clone(), event.id.clone());
            let known = self.found.remove(&key);
            // The row is told by its first event; where that is known, the row is a repeat or a later version.
            match (leads, known.is_some()) {
                (true, true) => self.counts.duplicate += 1,
                (true, false) => self.counts.accepted += 1,
                _ => {}
            }
            let report = Reported { event, version, leads };
            leads = false;
            let stays = match known {
                Some(known) => known.join(report),
                None => report,
            };
            self.found.insert(key, stays);
        }
    }

    fn check(&self, events: &[Event]) -> Result<(), Rejection> {
        let Some(first) = events.first() else { return Err(Rejection::Unusable("no_country")) };
        if first.start < EARLIEST {
            return Err(Rejection::Unusable("too_early"));
        }
        // What a source measured lies behind it; others announce what is to come.
        if self.source == Source::Ioda && first.start > self.now.plus(DAY) {
            return Err(CLOCK_AHEAD);
        }
        if first.start > self.now.plus(AHEAD) {
            return Err(Rejection::Unusable("too_far_ahead"));
        }
        match first.end.is_some_and(|end| end < first.start) {
            true => Err(Rejection::Unusable("end_before_start")),
            false => Ok(()),
        }
    }

    /// Where a row says that an event goes on and not until when, its table covers it until the end of this day.
    pub fn cover(&mut self, newest: Timestamp) {
        let newest = Timestamp(newest.day().saturating_add(1).saturating_mul(DAY));
        for event in self.found.values_mut().map(|told| &mut told.event) {
            if event.heard == Some(UNTIL_THE_NEWEST) {
                event.heard = Some(newest.max(event.start));
            }
        }
    }

    /// The counts, and the events in the order of countries and ids.
    pub fn finish(self) -> (ImportCounts, Vec<Reported>) {
        (self.counts, self.found.into_values().collect())
    }
}

/// The first 16 hex digits of SHA-256 over what identifies a row.
pub fn hashed_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.trim().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A source's own id, when it is short and plain.
pub fn own_id(text: &str) -> Option<String> {
    let text = text.trim();
    match text.is_empty() {
        true => None,
        false if text.len() <= MAX_ID && text.bytes().all(|byte| byte.is_ascii_graphic()) => Some(text.to_owned()),
        false => Some(hashed_id(&[text])),
    }
}

/// A text as a source wrote it, trimmed and bounded; `None` when it says nothing.
pub fn text(text: &str) -> Option<String> {
    bounded(text, MAX_TEXT)
}

/// The same for whole sentences.
pub fn prose(text: &str) -> Option<String> {
    bounded(text, MAX_PROSE)
}

fn bounded(text: &str, most: usize) -> Option<String> {
    let text: String = text.trim().chars().filter(|c| !c.is_control()).take(most).collect();
    let nothing = ["", "n/a", "none", "unknown", "null", "-"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (!nothing).then_some(text)
}

/// Several texts in one cell, by `;` or `,`; the last often begins with an `and` that belongs to none.
pub fn texts(cell: &str) -> Vec<String> {
    let bare = |part: &str| {
        let part = part.trim();
        let (first, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        text(if matches!(first.to_ascii_lowercase().as_str(), "and" | "&") { rest } else { part })
    };
    let mut found: Vec<String> = cell.split([';', ',', '\n']).filter_map(bare).collect();
    found.sort();
    found.dedup();
    found.truncate(MAX_LISTED);
    found
}

/// The first https address of a cell.
pub fn address(cell: &str) -> Option<String> {
    let mut words = cell.split(|c: char| c.is_whitespace() || matches!(c, ';' | '"' | '<' | '>' | '|'));
    words
        .find(|word| word.starts_with("https://") && word.len() <= MAX_URL)
        .map(|word| word.trim_end_matches(',').into())
}

/// AS numbers in a text: `AS123`, `123`, `AS (123)`.
pub fn asns<'t>(parts: impl Iterator<Item = &'t str>) -> Vec<u32> {
    let number = |part: &str| {
        let digits = part.trim().trim_start_matches(['A', 'S', 'a', 's', ' ', '(']).trim_end_matches([')', ' ']);
        digits.parse::<u32>().ok().filter(|asn| *asn != 0)
    };
    let mut found: Vec<u32> = parts.filter_map(number).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(MAX_LISTED);
    found
}

/// Most characters and words of a service's name; what is longer is a sentence.
const MAX_NAME: (usize, usize) = (40, 4);
/// Words before and behind a name that belong to none.
const BEFORE: [&str; 6] = ["and", "&", "other", "several", "some", "unspecified"];
const BEHIND: [&str; 2] = ["only", "possibly"];
/// What is no service, but the way to them.
const NO_SERVICE: [&str; 5] = ["internet", "mobile internet", "broadband", "mobile data", "connectivity"];

/// The service that a text names: a platform's slug, the domain of a site or a known brand, else the name as it is
/// written, in lower case. `None` for texts that name none.
pub fn service(name: &str) -> Option<String> {
    let name = name.trim().to_lowercase();
    if let Some(platform) = Platform::by_slug(&name) {
        return Some(platform.slug.to_owned());
    }
    if let Ok(key) = TargetKey::from_url(&name) {
        return Some(match Platform::by_domain(key.as_str()) {
            Some(platform) => platform.slug.to_owned(),
            None => key.as_str().to_owned(),
        });
    }
    let mut words: Vec<&str> = name.split_whitespace().map(|word| word.trim_matches(['"', '.', '\'', ':'])).collect();
    words.retain(|word| !word.is_empty());
    while words.first().is_some_and(|word| BEFORE.contains(word)) {
        words.remove(0);
    }
    while words.last().is_some_and(|word| BEHIND.contains(word)) {
        words.pop();
    }
    let name = words.join(" ");
    if let Some(known) = claims::brand(&name) {
        return Some(known.to_owned());
    }
    let short = name.chars().count() <= MAX_NAME.0 && words.len() <= MAX_NAME.1;
    let plain = name.chars().any(char::is_alphabetic) && !name.contains(['.', '/', ':', '@']);
    (short && plain && !NO_SERVICE.contains(&name.as_str()) && text(&name).is_some()).then_some(name)
}

/// Every service that the parts of a cell name.
pub fn services(cell: &str) -> Vec<String> {
    let parts = cell.split([';', ',', '(', ')', '\n']).flat_map(|part| part.split(". "));
    let mut found: Vec<String> = parts.flat_map(|part| part.split(" and ")).filter_map(service).collect();
    found.sort();
    found.dedup();
    found.truncate(MAX_LISTED);
    found
}
