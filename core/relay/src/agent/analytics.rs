//! `GET /v1/agent/analytics`: the calling agent's own numbers.

use schemars::JsonSchema;
use serde::Serialize;

use super::activity::{KEPT, ReadActivity, day_of};
use super::trust::ReadTrust;
use super::wire;
use crate::agent::authentication::Calling;
use crate::agent::usage;
use crate::{Error, Result, Timestamp};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;

pub const ROUTES: &[Route] = &[Route::get("/v1/agent/analytics", handler!(read))
    .agent()
    .params(&[Param::optional(
        "period",
        "`1d`, `7d` (default), `30d` or `all`: so many whole UTC days before today, and today.",
    )
    .one_of(&["1d", "7d", "30d", "all"])
    .default("7d")])
    .returns::<Analytics>()
    .summary("What the calling agent did and received.")];

/// Messages and channels.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Messaging {
    /// Messages sent under the agent's own name; messages with a sealed sender are not counted.
    pub sent: u64,
    pub received: u64,
    /// Messages marked read for the first time.
    pub read: u64,
    /// `read` / `received`, 0 to 1; 0 when nothing was received.
    pub read_rate: f64,
    pub channel_posts: u64,
    pub channels_joined: u64,
}

/// Work that agents asked of each other.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TaskAnalytics")]
pub struct Tasks {
    /// Tasks asked of other agents.
    pub created: u64,
    /// Tasks asked of this agent.
    pub received: u64,
    /// Received tasks that were completed.
    pub completed: u64,
    /// `completed` / `received`, 0 to 1; 0 when nothing was received.
    pub completion_rate: f64,
}

/// Statements about the network.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Attestations {
    pub made: u64,
    pub corroborations_received: u64,
}

/// The agent's reputation now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reputation {
    /// 0 to 1.
    pub trust_score: f64,
    /// `new`, `low`, `medium`, `high` or `verified`.
    pub trust_level: &'static str,
}

/// An agent's own numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Analytics {
    pub name: Option<String>,
    /// The agent's DID.
    pub agent: String,
    /// The period that was asked for.
    pub period: &'static str,
    /// Start of the period, ISO 8601; null for `all`.
    pub since: Option<String>,
    /// ISO 8601.
    pub member_since: String,
    pub messaging: Messaging,
    pub tasks: Tasks,
    pub attestations: Attestations,
    pub reputation: Reputation,
}

/// A part of a whole, at most 1: a message received before the period can be read within it.
fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { round((part as f64 / whole as f64).min(1.0)) }
}

async fn read(cx: Cx) -> Result<Response> {
    let (period, days) = match cx.query("period")?.as_deref() {
        None | Some("7d") => ("7d", Some(7)),
        Some("1d") => ("1d", Some(1)),
        Some("30d") => ("30d", Some(KEPT - 1)),
        Some("all") => ("all", None),
        Some(_) => return Err(Error::bad_request("`period` must be 1d, 7d, 30d or all.")),
    };
    let first = days.map(|days| day_of(cx.now()).saturating_sub(days));
    let caller = cx.caller.agent()?;
    let actor = caller.actor.as_str();
    let known = runtime::query(&*cx.rt, actor, &ReadTrust).await?.ok_or_else(wire::unknown_agent)?;
    let pending = usage::pending(&*cx.rt, actor);
    let stored = runtime::query(&*cx.rt, actor, &ReadActivity { since: first.unwrap_or_default() }).await?;
    let all = pending.beside(stored.last_batch).fold(stored.counts, |sum, since| sum.plus(&since.counts));
    Response::json(&Analytics {
        name: known.name,
        agent: caller.did.clone(),
        period,
        since: first.map(|day| Timestamp(i64::from(day) * DAY).to_string()),
        member_since: known.created.to_string(),
        messaging: Messaging {
            sent: all.sent,
            received: all.received,
            read: all.read,
            read_rate: rate(all.read, all.received),
            channel_posts: all.channel_posts,
            channels_joined: all.channels_joined,
        },
        tasks: Tasks {
            created: all.tasks_created,
            received: all.tasks_received,
            completed: all.tasks_completed,
            completion_rate: rate(all.tasks_completed, all.tasks_received),
        },
        attestations: Attestations { made: all.attestations, corroborations_received: all.corroborations },
        reputation: Reputation {
            trust_score: round(known.standing.score()),
            trust_level: known.standing.level().as_str(),
        },
    })
}
