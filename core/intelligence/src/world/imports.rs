//! What the sources gave each country: numbers of rows, short forms of events, and how the last import of each source
//! went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::shutdowns;
use crate::country::LISTS_EPOCH;
use crate::import::ImportKind;
use crate::{Result, Timestamp, classifier, forecast};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, StoreError, Table, decode_row};
use engine::time::{DAY, MINUTE};
use facts::measurement::ImportCounts;
use facts::reported::{Cause, Event, EventKind, Scope, report};
use facts::source::Source;

/// Short forms of all events; the key is (country, source code, event id).
const MARKS: Table<(String, u8, String), EventMark> = Table::new(50);
/// What a source gave a country; the key is (source code, country). Block lists are stored under [`LISTS_EPOCH`].
const GIVEN: Table<(u8, String), SourceTotal> = Table::new(51);
/// The last import, by name of the source.
const IMPORTS: Table<(String,), ImportRow> = Table::new(52);

/// A part belongs to the same import when it follows the part before within this time.
const ONE_IMPORT: i64 = 2 * MINUTE;
/// Most reasons that are kept of an import.
const MAX_REASONS: usize = 20;

/// The short form of an event, which forecasts learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventMark {
    /// Days since the epoch.
    pub start: u32,
    /// The last day; `None` if the event goes on or its end is unknown.
    pub end: Option<u32>,
    pub kind: EventKind,
    pub scope: Scope,
    pub cause: Cause,
    /// Whether the occasion, in the words of the source, gives exams as the cause. False in rows of version 1, which
    /// did not store it.
    pub exams: bool,
    /// A number for the named areas: the same for the same areas, 0 for none. 0 in rows of version 1.
    pub place: u32,
}
impl Row for EventMark {
    const VERSION: u8 = 2;

    fn upgrade(_: u8, bytes: &[u8]) -> std::result::Result<Self, StoreError> {
        // Version 1 did not have the last two members. As zeros they take a byte each.
        decode_row(&[&[Self::VERSION], bytes, &[0, 0]].concat())
    }
}

impl EventMark {
    pub fn of(event: &Event) -> EventMark {
        let day = |time: Timestamp| u32::try_from(time.0.div_euclid(DAY)).unwrap_or(0);
        // An end at midnight belongs to the day before.
        let last = |end: Timestamp| day(Timestamp(end.0.saturating_sub(1))).max(day(event.start));
        EventMark {
            start: day(event.start),
            end: event.end.map(last),
            kind: event.kind,
            scope: event.scope,
            cause: event.cause,
            exams: event.occasion.as_ref().is_some_and(|occasion| {
                let cause = occasion.split(report::CAUSE_ENDS).next().unwrap_or_default();
                cause.to_lowercase().contains("exam")
            }),
            place: place(&event.areas),
        }
    }
}

/// The first four bytes of SHA-256 over the names of areas.
fn place(areas: &[String]) -> u32 {
    if areas.is_empty() {
        return 0;
    }
    let mut hash = Sha256::new();
    for area in areas {
        hash.update(area.as_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(4).fold(0, |place, byte| place << 8 | u32::from(*byte))
}

/// How many rows a source gave a country, and the time of the newest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTotal {
    pub rows: u64,
    pub newest: Timestamp,
}
impl Row for SourceTotal {}

/// A country reports what a source of events or counts gave it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GivenEvents {
    pub country: String,
    pub source: u8,
    pub given: SourceTotal,
    /// New and changed events.
    pub marks: Vec<(String, EventMark)>,
}

impl Operation for GivenEvents {
    const ACTOR: Kind = Kind::World;
    /// An older operation, `given_events`, has marks with two members less. Therefore this one has another name.
    const NAME: &'static str = "given_marks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        GIVEN.put(turn, &(self.source, self.country.clone()), &self.given)?;
        if self.source == Source::AccessNow.code() {
            shutdowns::soon(turn)?;
        }
        if !self.marks.is_empty() {
            forecast::soon(turn)?;
            classifier::soon(turn)?;
        }
        for (id, mark) in self.marks {
            MARKS.put(turn, &(self.country.clone(), self.source, id), &mark)?;
        }
        Ok(())
    }
}

/// The newest time in what a source gave any country; `None` if it gave nothing.
pub(super) fn newest_of(view: &View<'_>, source: Source) -> Result<Option<Timestamp>> {
    let rows = GIVEN.scan(view, &GIVEN.prefix(&(source.code(),)), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, given)| given.newest).max())
}

/// A country lost events of a source. With `all`, it has nothing of the source any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetGiven {
    pub country: String,
    pub source: u8,
    /// The events that the country removed in one step.
    pub ids: Vec<String>,
    pub all: bool,
}

impl Operation for ForgetGiven {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forget_given";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if !self.ids.is_empty() {
            forecast::forgotten(turn)?;
        }
        for id in self.ids {
            MARKS.delete(turn, &(self.country.clone(), self.source, id));
        }
        if self.all {
            GIVEN.delete(turn, &(self.source, self.country));
            if self.source == Source::AccessNow.code() {
                shutdowns::soon(turn)?;
            }
        }
        Ok(())
    }
}

/// Reads the short forms of events: (country, source code, mark), ordered by country, source and id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventHistory {
    /// Only events of this country, if given.
    pub country: Option<String>,
}

impl Query for EventHistory {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "event_history";
    type Reply = Vec<(String, u8, EventMark)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let range = self.country.map_or_else(|| MARKS.range(), |country| MARKS.prefix(&(country,)));
        let rows = MARKS.scan(view, &range, Direction::Ascending, usize::MAX)?;
        Ok(rows.into_iter().map(|((country, source, _), mark)| (country, source, mark)).collect())
    }
}

/// The result of the last import of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportRow {
    pub kind: String,
    pub began: Timestamp,
    pub ended: Timestamp,
    pub counts: ImportCounts,
    /// Time and message of the last failure of an import of this source.
    pub failed: Option<(Timestamp, String)>,
}
impl Row for ImportRow {}

/// A part of an import is done, or failed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NoteImport {
    /// Identifier of the source.
    pub source: String,
    pub kind: String,
    pub counts: ImportCounts,
    pub error: Option<String>,
}

impl Operation for NoteImport {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "note_import";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.source,);
        let mut row = IMPORTS.get(turn, &key)?.unwrap_or_default();
        if row.kind != self.kind || turn.now.since(row.ended) > ONE_IMPORT {
            row = ImportRow { began: turn.now, failed: row.failed, ..ImportRow::default() };
        }
        row.kind = self.kind;
        row.ended = turn.now;
        row.counts.add(&self.counts);
        while row.counts.reasons.len() > MAX_REASONS {
            row.counts.reasons.pop_last();
        }
        if let Some(error) = self.error {
            row.failed = Some((turn.now, error.chars().take(200).collect()));
        }
        Ok(IMPORTS.put(turn, &key, &row)?)
    }
}

/// Forgets the imports of a source that is removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetImports {
    pub source: String,
}

impl Operation for ForgetImports {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "forget_imports";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        IMPORTS.delete(turn, &(self.source,));
        Ok(())
    }
}

/// The answer of [`SourceState`] about one source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRows {
    /// Measurements, events or days with counts.
    pub rows: u64,
    pub countries: u32,
    pub newest: Option<Timestamp>,
}

/// Reads the state of every source: its rows and its last import, both by identifier.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SourceState;

impl Query for SourceState {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "source_state";
    type Reply = (BTreeMap<String, SourceRows>, BTreeMap<String, ImportRow>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found: BTreeMap<String, SourceRows> = BTreeMap::new();
        let mut add = |source: &str, rows: u64, newest: Timestamp| {
            let row = found.entry(source.to_owned()).or_default();
            row.rows += rows;
            row.countries += 1;
            row.newest = row.newest.max(Some(newest));
        };
        for ((code, _), given) in GIVEN.scan(view, &GIVEN.range(), Direction::Ascending, usize::MAX)? {
            let source = Source::from_code(code).map(Source::id);
            let lists = (code == LISTS_EPOCH).then(|| ImportKind::Blocklist.as_str());
            if let Some(id) = source.or(lists) {
                add(id, given.rows, given.newest);
            }
        }
        for summary in super::summaries(view)? {
            for source in &summary.sources {
                add(&source.source, source.measurements, source.last_seen);
            }
        }
        let imports = IMPORTS.scan(view, &IMPORTS.range(), Direction::Ascending, 100)?;
        Ok((found, imports.into_iter().map(|((name,), row)| (name, row)).collect()))
    }
}
