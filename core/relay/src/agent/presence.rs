//! Presence: a heartbeat that an agent sends of its own accord (decision private-activity).
//!
//! Other agents see the time of the last `POST ping` and nothing else that the agent did. With presence switched off in
//! the profile they see nothing at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{self, AGENT, OwnProfile, Public, ReadProfile, ReadPublic};
use super::wire;
use crate::agent::authentication::Calling;
use crate::agent::usage;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Read, Row, Table};
use engine::runtime;
use engine::time::{DAY, HOUR, MINUTE};

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/ping", handler!(ping)).agent().bodiless().returns::<Pong>().summary(
        "Send a heartbeat of the caller. Everybody can see the time of the last one, unless the profile hides it.",
    ),
    Route::get("/v1/agent/ping/{did}", handler!(look))
        .returns::<Presence>()
        .summary("When an agent last sent a heartbeat."),
];

/// An agent counts as online for this long after its heartbeat, in microseconds.
const ONLINE: i64 = 5 * MINUTE;
/// An agent counts as idle for this long after its heartbeat, in microseconds.
const IDLE: i64 = 60 * MINUTE;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Heart {
    /// Whether the profile has presence switched off.
    hidden: bool,
    last: Option<Timestamp>,
}
impl Row for Heart {}

const HEART: Table<(), Heart> = Table::new(79);

pub const ENTRIES: &[Entry] = &[operation::<Ping>(), query::<ReadPing>()];

/// Whether other agents may see heartbeats.
pub(super) fn shown(view: &(impl Read + ?Sized)) -> Result<bool> {
    Ok(!HEART.get(view, &())?.unwrap_or_default().hidden)
}

/// Switches presence on or off. Off forgets the last heartbeat.
pub(super) fn switch(turn: &mut Turn<'_>, on: bool) -> Result<()> {
    let last = HEART.get(turn, &())?.and_then(|heart| heart.last).filter(|_| on);
    Ok(HEART.put(turn, &(), &Heart { hidden: !on, last })?)
}

/// Forgets everything. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) {
    HEART.delete(turn, &());
}

/// A heartbeat. Each one is stored: the agent publishes it itself, so it reveals nothing else that the agent did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ping;

impl Operation for Ping {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ping";
    /// The time of the heartbeat, and whether others see it.
    type Reply = (Timestamp, bool);

    fn run(self, turn: &mut Turn<'_>) -> Result<(Timestamp, bool)> {
        record::active(turn)?.ok_or_else(wire::unknown_agent)?;
        let mut heart = HEART.get(turn, &())?.unwrap_or_default();
        if !heart.hidden {
            heart.last = Some(turn.now);
            HEART.put(turn, &(), &heart)?;
        }
        Ok((turn.now, !heart.hidden))
    }
}

/// Reads the last heartbeat, if others may see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPing;

impl Query for ReadPing {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "pinged";
    type Reply = Option<Timestamp>;

    fn run(self, view: &View<'_>) -> Result<Option<Timestamp>> {
        let active = AGENT.get(view, &())?.is_some_and(|agent| agent.is_active());
        Ok(HEART.get(view, &())?.filter(|heart| active && !heart.hidden).and_then(|heart| heart.last))
    }
}

/// The answer to a heartbeat.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pong {
    pub pong: bool,
    pub did: String,
    pub name: Option<String>,
    /// `online`, or `hidden` when the profile has presence switched off.
    pub status: &'static str,
    pub uptime: Uptime,
    /// Messages sent; those with a sealed sender are not counted.
    pub message_count: u64,
    pub server_time: String,
}

/// Time since the registration.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentUptime")]
pub struct Uptime {
    pub days: i64,
    /// The hours beyond the whole days, 0 to 23.
    pub hours: i64,
}

/// The public presence of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Presence {
    pub did: String,
    pub name: Option<String>,
    /// `online` for 5 minutes after a heartbeat, `idle` for 60 minutes, then `offline`.
    pub online_status: &'static str,
    /// The last heartbeat; null when there was none or presence is switched off.
    pub last_seen: Option<String>,
    pub minutes_since_seen: Option<i64>,
    /// Days since the registration.
    pub uptime_days: i64,
}

async fn ping(cx: Cx) -> Result<Response> {
    let caller = cx.caller.agent()?;
    let pending = usage::pending(&*cx.rt, &caller.actor);
    let profile = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadProfile).await?;
    let OwnProfile { public: Public { name, created, .. }, usage: stored, .. } =
        profile.ok_or_else(wire::unknown_agent)?;
    let (now, shown) = runtime::call(&*cx.rt, caller.actor.as_str(), &Ping).await?;
    let up = now.since(created).max(0);
    Response::json(&Pong {
        pong: true,
        did: caller.did.clone(),
        name,
        status: if shown { "online" } else { "hidden" },
        uptime: Uptime { days: up / DAY, hours: up % DAY / HOUR },
        message_count: stored.with(&pending).messages,
        server_time: now.to_string(),
    })
}

async fn look(cx: Cx) -> Result<Response> {
    let actor = wire::known_actor(cx.settings(), cx.path("did")?)?;
    let public = runtime::query(&*cx.rt, actor.as_str(), &ReadPublic).await?;
    let Public { did, name, created, .. } = public.ok_or_else(wire::unknown_agent)?;
    let last = runtime::query(&*cx.rt, actor.as_str(), &ReadPing).await?;
    let now = cx.now();
    let online_status = match last.map(|last| now.since(last)) {
        Some(age) if age < ONLINE => "online",
        Some(age) if age < IDLE => "idle",
        _ => "offline",
    };
    Response::json(&Presence {
        did,
        name,
        online_status,
        last_seen: last.map(|last| last.to_string()),
        minutes_since_seen: last.map(|last| now.since(last).max(0) / MINUTE),
        uptime_days: now.since(created).max(0) / DAY,
    })
}
