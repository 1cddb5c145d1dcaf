//! The common part of all readers of events: it counts each row once and limits what is kept of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Event;
use crate::Timestamp;
use crate::brands;
use crate::measurement::ImportCounts;
use crate::measurement::domain::TargetKey;
use crate::measurement::types::{CLOCK_AHEAD, Rejection};
use crate::source::Source;
use crate::starter::Platform;
use engine::kv::Row;
use engine::time::DAY;

/// Most characters of a text from a source.
const MAX_TEXT: usize = 120;
/// Most characters of a sentence from a source: more than any event of the STOP table has, so that quotes are whole.
pub const MAX_PROSE: usize = 2_000;
/// Separates a cause in the source's vocabulary from the source's other words about it.
pub const CAUSE_ENDS: &str = ": ";
/// Most characters of an address.
const MAX_URL: usize = 500;
/// Most characters of an id; longer ones become a hash.
const MAX_ID: usize = 64;
/// Most networks, services or areas of an event.
const MAX_LISTED: usize = 200;
/// How far in the future an announced event may begin.
pub const AHEAD: i64 = 366 * DAY;
/// 1 January 1995. No table of shutdowns begins before it.
const EARLIEST: Timestamp = Timestamp::from_seconds(788_918_400);

/// Stands for the newest date of a table until the whole table is read ([`Rows::cover`]).
pub const UNTIL_THE_NEWEST: Timestamp = Timestamp::MAX;

/// An event, and the values that decide between two reports of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    pub event: Event,
    /// The year or revision of the report, 0 if it has none. Of two reports the higher one stays.
    pub version: u32,
    /// True for one of the events of a row: the row is counted by this event.
    pub leads: bool,
}
impl Row for Reported {}

impl Reported {
    /// Joins two reports of one event. The higher version stays. Of equal versions, the one with an end stays, then the
    /// later end, then the one with more services, then the greater text. This is the join of a semilattice, so order,
    /// splits and repeats never matter (decision order-of-data). The latest `heard` of both is kept.
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

    /// True if both reports say the same, even if they were counted differently.
    pub fn says_the_same(&self, other: &Reported) -> bool {
        self.event == other.event && self.version == other.version
    }
}

/// The rows of one stream.
pub struct Rows<'a> {
    pub source: Source,
    /// The country of rows that name none.
    pub country: Option<&'a str>,
    pub now: Timestamp,
    pub counts: ImportCounts,
    found: BTreeMap<(String, String), Reported>,
}

impl<'a> Rows<'a> {
    pub fn new(source: Source, country: Option<&'a str>, now: Timestamp) -> Self {
        Rows { source, country, now, counts: ImportCounts::default(), found: BTreeMap::new() }
    }

    /// Counts a row that gives no event.
    pub fn reject(&mut self, rejection: Rejection) {
        self.counts.reject(rejection);
    }

    /// Takes the result of a row: one event for each country it names, or the reason why it has none.
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
            // The first event represents the row. If it is known already, the row is a repeat or a later version.
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
        // A source that measures can only report the past. Other sources may announce events.
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

    /// Sets the end of the newest day as `heard` of the events that go on without a date of their own.
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

/// The first 16 hex digits of SHA-256 over the values that identify a row.
pub fn hashed_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.trim().as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The source's own id if it is short and plain; otherwise a hash of it.
pub fn own_id(text: &str) -> Option<String> {
    let text = text.trim();
    match text.is_empty() {
        true => None,
        false if text.len() <= MAX_ID && text.bytes().all(|byte| byte.is_ascii_graphic()) => Some(text.to_owned()),
        false => Some(hashed_id(&[text])),
    }
}

/// A text from a source, trimmed and shortened; `None` if it says nothing.
pub fn text(text: &str) -> Option<String> {
    bounded(text, MAX_TEXT)
}

/// The same for sentences.
pub fn prose(text: &str) -> Option<String> {
    bounded(text, MAX_PROSE)
}

fn bounded(text: &str, most: usize) -> Option<String> {
    let text: String = text.trim().chars().filter(|c| !c.is_control()).take(most).collect();
    let nothing = ["", "n/a", "none", "unknown", "null", "-"].iter().any(|word| text.eq_ignore_ascii_case(word));
    (!nothing).then_some(text)
}

/// The texts of a cell, separated by `;` or `,`. The last text often begins with an `and` that is no part of it.
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

/// The AS numbers in some texts: `AS123`, `123`, `AS (123)`.
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

/// Most characters and words in the name of a service. A longer text is a sentence.
const MAX_NAME: (usize, usize) = (40, 4);
/// Words before and after a name that are no part of it.
const BEFORE: [&str; 6] = ["and", "&", "other", "several", "some", "unspecified"];
const BEHIND: [&str; 2] = ["only", "possibly"];
/// Names of access to the Internet, which is not a service.
const NO_SERVICE: [&str; 5] = ["internet", "mobile internet", "broadband", "mobile data", "connectivity"];

/// The service that a text names: the slug of a platform, the domain of a site or of a known brand, else the name
/// itself in lower case. `None` if the text names no service.
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
    if let Some(known) = brands::named(&name) {
        return Some(known.to_owned());
    }
    let short = name.chars().count() <= MAX_NAME.0 && words.len() <= MAX_NAME.1;
    let plain = name.chars().any(char::is_alphabetic) && !name.contains(['.', '/', ':', '@']);
    (short && plain && !NO_SERVICE.contains(&name.as_str()) && text(&name).is_some()).then_some(name)
}

/// All services that the parts of a cell name.
pub fn services(cell: &str) -> Vec<String> {
    let parts = cell.split([';', ',', '(', ')', '\n']).flat_map(|part| part.split(". "));
    let mut found: Vec<String> = parts.flat_map(|part| part.split(" and ")).filter_map(service).collect();
    found.sort();
    found.dedup();
    found.truncate(MAX_LISTED);
    found
}
