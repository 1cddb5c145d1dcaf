//! Usage counters: when an agent was last seen and how many messages it sent.
//!
//! They decide nothing, so they are kept in memory and written at most once a minute for each agent. A crash may lose
//! that minute (decision counts-in-memory). A runtime calls [`flush`] once a minute and at shutdown.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use serde::{Deserialize, Serialize};

use super::activity::{self, ActivityCounts};
use super::record::USAGE;
use super::stats;
use crate::unwritten::{Batch, BatchNumber, Pending, Unwritten};
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::{self, Row, StoreError};
use engine::runtime::{self, Environment, Runtime};

/// The stored usage of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    pub last_seen: Option<Timestamp>,
    /// Messages sent; those with a sealed sender are not counted.
    pub messages: u64,
    /// The batch that was added last.
    pub last_batch: BatchNumber,
}
impl Row for UsageRow {
    const VERSION: u8 = 2;

    /// Version 1 ended before `last_batch`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        kv::appended(version, 1, bytes, &[0])
    }
}

impl UsageRow {
    fn add(&mut self, since: &Since) {
        self.last_seen = self.last_seen.max(since.last_seen);
        self.messages = self.messages.saturating_add(since.counts.sent);
    }

    /// The row with what waits in memory.
    pub fn with(mut self, pending: &Pending<Since>) -> UsageRow {
        pending.beside(self.last_batch).for_each(|since| self.add(since));
        self
    }
}

/// Counts that are not written yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Since {
    pub last_seen: Option<Timestamp>,
    /// Counts for [`activity`] that no operation of the agent counts.
    pub counts: ActivityCounts,
}

/// Agents that are remembered between two flushes; further agents are not counted until the next flush.
const MAX_AGENTS: usize = 1_000_000;

/// Counts since the last flush, by agent actor.
#[derive(Debug, Default)]
pub struct Usage(Unwritten<String, Since>);

impl Usage {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Usage> {
        environment.shared()
    }

    /// Notes an authenticated request.
    pub fn seen(&self, actor: &str, now: Timestamp) {
        self.0.change(actor, MAX_AGENTS, |since| since.last_seen = since.last_seen.max(Some(now)));
    }

    /// Counts a message sent under the agent's own name.
    pub fn sent(&self, actor: &str) {
        self.0.change(actor, MAX_AGENTS, |since| since.counts.sent += 1);
    }

    /// Counts a post in a channel.
    pub fn posted(&self, actor: &str) {
        self.0.change(actor, MAX_AGENTS, |since| since.counts.channel_posts += 1);
    }

    /// Whether the agent has counts that are not written yet.
    pub fn is_pending(&self, actor: &str) -> bool {
        self.0.has(actor)
    }
}

/// What an agent's rows may lack. Take it before they are read.
pub fn pending(rt: &dyn Runtime, actor: &str) -> Pending<Since> {
    Usage::of(rt.environment()).0.pending(actor, || rt.random())
}

/// Writes the counts since the last flush. Counts that cannot be written stay for the next flush.
pub async fn flush(rt: &dyn Runtime) -> Result<()> {
    let usage = Usage::of(rt.environment());
    let write = async |(actor, batch): (String, Batch<Since>)| {
        let record = RecordUsage { batch };
        runtime::call(rt, actor.as_str(), &record).await?;
        usage.0.written(&actor, &record.batch);
        Ok(())
    };
    let all = stream::iter(usage.0.send(|| rt.random())).map(write).buffer_unordered(AT_ONCE);
    let written = all.fold(Ok(()), async |sum, result| sum.and(result)).await;
    written.and(crate::federation::tally::flush(rt).await)
}

/// Rows that are written at the same time, so that they share commits.
const AT_ONCE: usize = 64;

pub const ENTRIES: &[Entry] = &[operation::<RecordUsage>()];

/// Adds to the stored counters.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordUsage {
    pub batch: Batch<Since>,
}

impl Operation for RecordUsage {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "record_usage";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(agent) = super::record::lasting(turn)? else { return Ok(()) };
        let mut row = USAGE.get(turn, &())?.unwrap_or_default();
        if !self.batch.is_new_to(&mut row.last_batch) {
            return Ok(());
        }
        let since = &self.batch.sum;
        row.add(since);
        USAGE.put(turn, &(), &row)?;
        activity::count(turn, &since.counts)?;
        stats::tell(turn, &agent, None)
    }
}
