//! Usage counters: when an agent was last seen and how many messages it sent.
//!
//! They decide nothing, so they are kept in memory and written at most once a minute for each agent. A crash may lose
//! that minute (decision counts-in-memory). A runtime calls [`flush`] once a minute and at shutdown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};

use super::activity::{self, Counts};
use super::record::USAGE;
use super::stats;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::Row;
use engine::runtime::{self, Environment, Runtime};

/// The stored usage of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    pub last_seen: Option<Timestamp>,
    /// Messages sent; those with a sealed sender are not counted.
    pub messages: u64,
}
impl Row for UsageRow {}

impl UsageRow {
    /// The sum with the usage since then.
    pub fn plus(&self, since: &UsageRow) -> UsageRow {
        UsageRow {
            last_seen: self.last_seen.max(since.last_seen),
            messages: self.messages.saturating_add(since.messages),
        }
    }
}

/// Counts that are not written yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    pub usage: UsageRow,
    /// Counts for [`activity`] that no operation of the agent counts.
    pub counts: Counts,
}

impl Since {
    fn plus(&self, other: &Since) -> Since {
        Since { usage: self.usage.plus(&other.usage), counts: self.counts.plus(&other.counts) }
    }
}

/// Agents that are remembered between two flushes; further agents are not counted until the next flush.
const MAX_AGENTS: usize = 1_000_000;

/// Counts since the last flush, by agent actor.
#[derive(Debug, Default)]
pub struct Usage {
    agents: Mutex<HashMap<String, Since>>,
}

impl Usage {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Usage> {
        environment.shared()
    }

    fn change(&self, actor: &str, change: impl FnOnce(&mut Since)) {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(row) = agents.get_mut(actor) {
            change(row);
        } else if agents.len() < MAX_AGENTS {
            change(agents.entry(actor.to_owned()).or_default());
        }
    }

    /// Notes an authenticated request.
    pub fn seen(&self, actor: &str, now: Timestamp) {
        self.change(actor, |since| since.usage.last_seen = since.usage.last_seen.max(Some(now)));
    }

    /// Counts a message sent under the agent's own name.
    pub fn sent(&self, actor: &str) {
        self.change(actor, |since| {
            since.usage.messages = since.usage.messages.saturating_add(1);
            since.counts.sent += 1;
        });
    }

    /// Counts a post in a channel.
    pub fn posted(&self, actor: &str) {
        self.change(actor, |since| since.counts.channel_posts += 1);
    }

    /// The counts that are not written yet.
    pub fn pending(&self, actor: &str) -> Since {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        agents.get(actor).cloned().unwrap_or_default()
    }

    fn take(&self) -> HashMap<String, Since> {
        std::mem::take(&mut *self.agents.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put_back(&self, actor: &str, earlier: &Since) {
        self.change(actor, |since| *since = since.plus(earlier));
    }
}

/// Writes the counts since the last flush. Counts that cannot be written stay for the next flush.
pub async fn flush(rt: &dyn Runtime) -> Result<()> {
    let usage = Usage::of(rt.environment());
    let write = async |(actor, since): (String, Since)| {
        let record = RecordUsage { since };
        let result = runtime::call(rt, actor.as_str(), &record).await;
        if result.is_err() {
            usage.put_back(&actor, &record.since);
        }
        result
    };
    let all = stream::iter(usage.take()).map(write).buffer_unordered(AT_ONCE);
    let written = all.fold(Ok(()), async |sum, result| sum.and(result)).await;
    written.and(crate::federation::tally::flush(rt).await)
}

/// Rows that are written at the same time, so that they share commits.
const AT_ONCE: usize = 64;

pub const ENTRIES: &[Entry] = &[operation::<RecordUsage>()];

/// Adds to the stored counters.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordUsage {
    pub since: Since,
}

impl Operation for RecordUsage {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "record_usage";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(agent) = super::record::lasting(turn)? else { return Ok(()) };
        let row = USAGE.get(turn, &())?.unwrap_or_default().plus(&self.since.usage);
        USAGE.put(turn, &(), &row)?;
        activity::count(turn, &self.since.counts)?;
        stats::tell(turn, &agent, None)
    }
}
