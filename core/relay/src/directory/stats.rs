//! Numbers over all agents: `GET /v1/agent/stats`.
//!
//! They are in the actor of the leaderboard. Agents tell it their changes as differences, at most once a minute
//! (decision counts-in-memory), so nothing here is counted again from the beginning.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::leaderboard::SHARD;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::documents::{Family, Rendered};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Desc, Direction, Row, Table};
use engine::time::HOUR;

/// Name of the document.
pub const DOCUMENT: &str = "agent-stats";
/// Most names of capabilities that are shown.
const SHOWN: usize = 100;
/// Hours that count as the last day: 24 whole hours, in addition to the present one.
const HOURS_SHOWN: u32 = 24;
/// Key of the timer that drops old hours.
const TIMER: &str = "stats";

pub const FAMILIES: &[Family] = &[Family {
    prefix: DOCUMENT,
    owner: Kind::Directory,
    max_age: 60,
    render: |view, _| Rendered::json(&stats(view)?),
}];

pub const ROUTES: &[Route] = &[Route::get("/v1/agent/stats", handler!(read))
    .returns::<Stats>()
    .summary("Numbers over all agents; a minute or two old.")];

pub const ENTRIES: &[Entry] = &[operation::<TellChanges>(), operation::<Turned>(), query::<ReadTotals>()];

/// Sums over all agents, a minute or two old.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryTotals {
    /// Active agents.
    pub agents: u64,
    /// Messages ever sent under an agent's own name.
    pub messages: u64,
}
impl Row for DirectoryTotals {}

const TOTALS: Table<(), DirectoryTotals> = Table::new(46);
/// Agents by the hour, since 1970, in which they were last seen. Hours that are too old are deleted.
const HOURS: Table<(u32,), u64> = Table::new(47);
/// Active agents by the folded name of a capability.
const NAMES: Table<(String,), u64> = Table::new(48);
const BY_COUNT: Table<(Desc<u64>, String), ()> = Table::new(49);

/// The hour of a time, since 1970.
pub fn hour_of(at: Timestamp) -> u32 {
    u32::try_from(at.0.div_euclid(HOUR)).unwrap_or_default()
}

/// The changes of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TellChanges {
    /// 1 for a new agent, -1 for an agent that ended, otherwise 0.
    pub agents: i8,
    /// Messages sent since the last time.
    pub messages: u64,
    /// The hour in which it was last seen: as told before, and now.
    pub seen: (Option<u32>, Option<u32>),
    /// Folded names of capabilities; so is `lost`.
    pub gained: Vec<String>,
    pub lost: Vec<String>,
}

/// The actor that gets [`TellChanges`].
pub const ACTOR: &str = SHARD;

impl Operation for TellChanges {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "tell_stats";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut totals = TOTALS.get(turn, &())?.unwrap_or_default();
        totals.agents = totals.agents.saturating_add_signed(i64::from(self.agents));
        totals.messages = totals.messages.saturating_add(self.messages);
        TOTALS.put(turn, &(), &totals)?;
        if let Some(count) = self.seen.0.map(|hour| HOURS.get(turn, &(hour,))).transpose()?.flatten() {
            let hour = (self.seen.0.unwrap_or_default(),);
            match count {
                0 | 1 => HOURS.delete(turn, &hour),
                more => HOURS.put(turn, &hour, &(more - 1))?,
            }
        }
        if let Some(hour) = self.seen.1 {
            let count = HOURS.get(turn, &(hour,))?.unwrap_or_default() + 1;
            HOURS.put(turn, &(hour,), &count)?;
        }
        for (names, more) in [(&self.gained, true), (&self.lost, false)] {
            for name in names {
                hold(turn, name, more)?;
            }
        }
        turn.publish(DOCUMENT)?;
        go_on(turn)
    }
}

/// Reads the sums, for `GET /v1/relay/info`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTotals;

impl Query for ReadTotals {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "totals";
    type Reply = DirectoryTotals;

    fn run(self, view: &View<'_>) -> Result<DirectoryTotals> {
        Ok(TOTALS.get(view, &())?.unwrap_or_default())
    }
}

/// Counts one more, or one less, agent with a capability.
fn hold(turn: &mut Turn<'_>, name: &str, more: bool) -> Result<()> {
    let key = (name.to_owned(),);
    let before = NAMES.get(turn, &key)?.unwrap_or_default();
    let after = if more { before + 1 } else { before.saturating_sub(1) };
    BY_COUNT.delete(turn, &(Desc(before), name.to_owned()));
    if after == 0 {
        NAMES.delete(turn, &key);
        return Ok(());
    }
    BY_COUNT.put(turn, &(Desc(after), name.to_owned()), &())?;
    Ok(NAMES.put(turn, &key, &after)?)
}

/// Deletes hours that are too old, and schedules the time when the next one is.
fn go_on(turn: &mut Turn<'_>) -> Result<()> {
    let first = hour_of(turn.now).saturating_sub(HOURS_SHOWN);
    for (hour, _) in HOURS.scan(turn, &HOURS.between(&(0_u32,), &(first,)), Direction::Ascending, 500)? {
        HOURS.delete(turn, &hour);
    }
    match HOURS.first(turn, &HOURS.range())? {
        None => turn.cancel(TIMER),
        Some(((hour,), _)) => {
            let due = Timestamp((i64::from(hour) + i64::from(HOURS_SHOWN) + 1) * HOUR);
            if turn.scheduled(TIMER)? == Some(due) { Ok(()) } else { turn.schedule(TIMER, due, &Turned) }
        }
    }
}

/// Called when an hour has become too old.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turned;

impl Operation for Turned {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "turn_stats";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        go_on(turn)?;
        turn.publish(DOCUMENT)
    }
}

/// Version and cryptography of this relay.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayWords")]
pub struct Relay {
    pub version: &'static str,
    pub encryption: &'static str,
    pub signing: &'static str,
    pub identity: String,
}

/// The use of the relay in numbers.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayTotals")]
pub struct Numbers {
    /// Active agents.
    pub total_agents: u64,
    /// Agents that were seen in the last 24 whole hours or in the present hour.
    pub active_agents_24h: u64,
    /// Messages ever sent under an agent's own name; messages with a sealed sender are not counted.
    pub total_messages: u64,
    /// The most frequent capabilities of active agents; at most 100 names, in lower case.
    pub capabilities: Vec<String>,
}

/// Numbers over all agents.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RelayStats")]
pub struct Stats {
    pub relay: Relay,
    pub stats: Numbers,
}

fn stats(view: &View<'_>) -> Result<Stats> {
    let DirectoryTotals { agents, messages } = TOTALS.get(view, &())?.unwrap_or_default();
    let first = hour_of(view.now).saturating_sub(HOURS_SHOWN);
    let mut active = 0;
    HOURS.visit(view, HOURS.between(&(first,), &(u32::MAX,)), Direction::Ascending, |_, count| {
        active += count;
        Ok(true)
    })?;
    let names = BY_COUNT.scan(view, &BY_COUNT.range(), Direction::Ascending, SHOWN)?;
    Ok(Stats {
        relay: Relay {
            version: env!("CARGO_PKG_VERSION"),
            encryption: "X25519 and XSalsa20-Poly1305, hybrid with ML-KEM-768 between agents that keep their own keys",
            signing: "Ed25519",
            identity: format!("did:{}: and base58 of the first 16 bytes of the first Ed25519 key", view.settings.brand),
        },
        stats: Numbers {
            total_agents: agents,
            active_agents_24h: active,
            total_messages: messages,
            capabilities: names.into_iter().map(|((_, name), ())| name).collect(),
        },
    })
}

async fn read(cx: Cx) -> Result<Response> {
    cx.document(DOCUMENT).await
}
