//! `POST /v1/agent/export` and `GET /v1/agent/exports`: everything that is stored for an agent, as one JSON object.
//!
//! Each part consists of the answers that the agent's own requests get, page after page. So the data looks the same as
//! in those answers, and a mailbox of any size can be exported (decision agent-exports). The record of an export stays
//! for 30 days.
//!
//! `pieces` makes the parts of an export one after the other.

mod pieces;

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mailbox::Local;
use super::{custody, record, wire};
use crate::agent::authentication::Calling;
use crate::{Error, ErrorCode, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Body, Cx, Response, Route, handler};
use engine::kv::{Desc, Direction, Row, Table};
use engine::runtime;
use engine::time::{DAY, HOUR};

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/export", handler!(export))
        .agent()
        .accepts::<ExportRequest>()
        .answers(&["application/json"])
        .summary(
            "Everything that is stored for the calling agent, streamed as one JSON object: `identity`, the parts asked \
             for, then `stats`. An object that is cut off is a failed export.",
        ),
    Route::get("/v1/agent/exports", handler!(list))
        .agent()
        .returns::<ExportList>()
        .summary("The exports of the last 30 days, newest first."),
];

/// How long a record is kept, in microseconds.
const KEPT: i64 = 30 * DAY;
/// Exports that an agent may begin within an hour; our choice.
const PER_HOUR: usize = 20;
/// Records that are kept, so that all of them can be read or deleted in one step; the oldest go first. Our choice.
const MAX_RECORDS: usize = 400;
/// How long the export retries an unreadable page before it breaks off.
const PATIENCE: Duration = Duration::from_secs(10);
/// Key of the timer that deletes old records.
const TIMER: &str = "exports";

/// The parts to include. Without any member, all parts; with some `true`, only those; with only `false`, all others.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct ExportRequest {
    pub include_messages: Option<bool>,
    /// Also includes memberships.
    pub include_channels: Option<bool>,
    pub include_tasks: Option<bool>,
    pub include_attestations: Option<bool>,
    /// Values are exported as they were stored, encrypted ones encrypted.
    pub include_memory: Option<bool>,
    pub include_trust: Option<bool>,
}

/// Parts of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExportParts")]
pub struct Parts {
    pub messages: bool,
    pub channels: bool,
    pub tasks: bool,
    pub attestations: bool,
    pub memory: bool,
    pub trust: bool,
}

impl ExportRequest {
    fn parts(&self) -> Parts {
        let ExportRequest {
            include_messages,
            include_channels,
            include_tasks,
            include_attestations,
            include_memory,
            include_trust,
        } = self;
        let all =
            [include_messages, include_channels, include_tasks, include_attestations, include_memory, include_trust];
        let others = !all.into_iter().flatten().any(|flag| *flag);
        Parts {
            messages: include_messages.unwrap_or(others),
            channels: include_channels.unwrap_or(others),
            tasks: include_tasks.unwrap_or(others),
            attestations: include_attestations.unwrap_or(others),
            memory: include_memory.unwrap_or(others),
            trust: include_trust.unwrap_or(others),
        }
    }
}

/// How many items an export holds; null for a part that was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportStats {
    pub messages: Option<u64>,
    /// Channels that the agent created and is a member of.
    pub channels: Option<u64>,
    pub memberships: Option<u64>,
    pub tasks: Option<u64>,
    pub attestations: Option<u64>,
    pub capabilities: Option<u64>,
    pub memory_entries: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    pub parts: Parts,
    /// When the export was complete, and what it held.
    pub finished: Option<(Timestamp, ExportStats)>,
}
impl Row for Exported {}

const EXPORTS: Table<(Desc<Timestamp>, Local), Exported> = Table::new(94);

pub const ENTRIES: &[Entry] =
    &[operation::<Begin>(), operation::<Finish>(), operation::<DropExports>(), query::<ReadExports>()];

/// Deletes all records. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in EXPORTS.scan(turn, &EXPORTS.range(), Direction::Ascending, MAX_RECORDS)? {
        EXPORTS.delete(turn, &key);
    }
    Ok(())
}

/// Begins an export. 429 after [`PER_HOUR`] exports within an hour.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Begin {
    pub local: Local,
    pub parts: Parts,
}

impl Operation for Begin {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "begin_export";
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        record::active(turn)?.ok_or_else(record::gone)?;
        let newest = EXPORTS.scan(turn, &EXPORTS.range(), Direction::Ascending, PER_HOUR)?;
        if let Some(((Desc(oldest), _), _)) = newest.last().filter(|_| newest.len() == PER_HOUR)
            && turn.now.since(*oldest) < HOUR
        {
            let wait = u32::try_from((HOUR - turn.now.since(*oldest)) / 1_000_000 + 1).unwrap_or(u32::MAX);
            let message = format!("At most {PER_HOUR} exports can begin within an hour.");
            return Err(Error::new(ErrorCode::RateLimited, message).retry_after(wait));
        }
        EXPORTS.put(turn, &(Desc(turn.now), self.local), &Exported { parts: self.parts, finished: None })?;
        let kept = EXPORTS.scan(turn, &EXPORTS.range(), Direction::Ascending, MAX_RECORDS + 1)?;
        for (key, _) in kept.iter().skip(MAX_RECORDS) {
            EXPORTS.delete(turn, key);
        }
        DropExports.run(turn)?;
        Ok(turn.now)
    }
}

/// Notes that the export is complete.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finish {
    pub began: Timestamp,
    pub local: Local,
    pub stats: ExportStats,
}

impl Operation for Finish {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "finish_export";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (Desc(self.began), self.local);
        let Some(known) = EXPORTS.get(turn, &key)? else { return Ok(()) };
        Ok(EXPORTS.put(turn, &key, &Exported { finished: Some((turn.now, self.stats)), ..known })?)
    }
}

/// Deletes records that are older than [`KEPT`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropExports;

impl Operation for DropExports {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "drop_exports";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let old = EXPORTS.range();
        for (key, _) in EXPORTS.scan(turn, &old, Direction::Descending, 100)? {
            if key.0.0.plus(KEPT) <= turn.now {
                EXPORTS.delete(turn, &key);
            }
        }
        if let Some(((Desc(oldest), _), _)) = EXPORTS.last(turn, &EXPORTS.range())? {
            turn.schedule(TIMER, oldest.plus(KEPT).max(turn.now), &DropExports)?;
        }
        Ok(())
    }
}

/// The records of exports, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadExports;

impl Query for ReadExports {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "exports";
    type Reply = Vec<(Timestamp, Local, Exported)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = EXPORTS.scan(view, &EXPORTS.range(), Direction::Ascending, MAX_RECORDS)?;
        let kept = rows.into_iter().filter(|((Desc(at), _), _)| at.plus(KEPT) > view.now);
        Ok(kept.map(|((Desc(at), local), exported)| (at, local, exported)).collect())
    }
}

/// The record of an export.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportRecord {
    pub export_id: String,
    /// The same as `export_id`.
    pub id: String,
    pub exported_at: String,
    /// `complete`, or `incomplete` for an export that is under way or broke off.
    pub status: &'static str,
    pub completed_at: Option<String>,
    /// When this record is deleted.
    pub expires_at: String,
    pub included: Parts,
    pub stats: Option<ExportStats>,
}

/// Exports, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportList {
    pub exports: Vec<ExportRecord>,
    pub count: usize,
}

async fn list(cx: Cx) -> Result<Response> {
    let actor = cx.caller.agent()?.actor.as_str();
    let known = runtime::query(&*cx.rt, actor, &ReadExports).await?;
    let shown = |(at, local, Exported { parts, finished }): (Timestamp, Local, Exported)| {
        let id = wire::message_id(actor, &local);
        let (completed, stats) = finished.unzip();
        ExportRecord {
            export_id: id.clone(),
            id,
            exported_at: at.to_string(),
            status: if completed.is_some() { "complete" } else { "incomplete" },
            completed_at: completed.map(|at| at.to_string()),
            expires_at: at.plus(KEPT).to_string(),
            included: parts,
            stats,
        }
    };
    let exports: Vec<ExportRecord> = known.into_iter().map(shown).collect();
    Response::json(&ExportList { count: exports.len(), exports })
}

async fn export(cx: Cx) -> Result<Response> {
    let parts = cx.json::<ExportRequest>()?.parts();
    let actor = cx.caller.agent()?.actor.clone();
    let local = custody::local(&*cx.rt);
    let began = runtime::call(&*cx.rt, actor.as_str(), &Begin { local, parts }).await?;
    let export = pieces::Export::new(cx, local, began, parts);
    let pieces = stream::unfold(export, |mut export| async move {
        let piece = export.next().await?;
        Some((piece, export))
    });
    let mut response = Response::new(StatusCode::OK, "application/json", Bytes::new());
    response.set("cache-control", "no-store");
    response.body = Body::Stream(Box::pin(pieces));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn nothing_said_means_everything_and_what_is_said_counts() {
        let parts = |body: &str| serde_json::from_str::<ExportRequest>(body).unwrap().parts();
        let everything = parts("{}");
        assert!(everything.messages && everything.trust && everything.memory);
        assert_eq!(parts(r#"{"include_tasks":null}"#), everything);
        let some = parts(r#"{"include_messages":true,"include_trust":false}"#);
        assert_eq!((some.messages, some.tasks, some.trust), (true, false, false));
        let others = parts(r#"{"include_memory":false}"#);
        assert_eq!(others, Parts { memory: false, ..everything });
    }
}
