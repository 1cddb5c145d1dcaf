//! Counts for each peer. They decide nothing, so they are kept in memory and written at most once a minute
//! (decision counts-in-memory), by [`crate::agent::usage::flush`].

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};

use super::peers::Count;
use super::{MAX_PEERS, PeerId, actor};
use crate::unwritten::{Pending, Unwritten};
use crate::{Result, Timestamp};
use engine::runtime::{self, Environment, Runtime};
use engine::time::SECOND;

/// Counts for one peer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages accepted from it or by it.
    pub routed: u64,
    /// When it last accepted or delivered a message.
    pub reached: Option<Timestamp>,
    /// When it last did not answer, or answered that it cannot.
    pub failed: Option<Timestamp>,
}

impl Tally {
    pub fn plus(&self, since: &Tally) -> Tally {
        Tally {
            routed: self.routed.saturating_add(since.routed),
            reached: self.reached.max(since.reached),
            failed: self.failed.max(since.failed),
        }
    }
}

/// Counts that are not written yet, and whether there are any peers.
#[derive(Debug, Default)]
pub struct Tallies {
    unwritten: Unwritten<PeerId, Tally>,
    /// Until when this process assumes that there is no peer, in microseconds.
    alone_until: AtomicI64,
}

/// How long a process assumes that there is no peer. A peer that another process added is used that much later.
const ALONE: i64 = 10 * SECOND;

impl Tallies {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Tallies> {
        environment.shared()
    }

    /// Adds to the counts of a peer.
    pub fn add(&self, peer: PeerId, happened: &Tally) {
        self.unwritten.change(&peer, 2 * MAX_PEERS, |sum| *sum = sum.plus(happened));
    }

    /// Whether there is no peer.
    pub fn is_alone(&self, now: Timestamp) -> bool {
        now.0 < self.alone_until.load(Ordering::Relaxed)
    }

    /// Notes that there was no peer just now.
    pub fn found_none(&self, now: Timestamp) {
        self.alone_until.store(now.plus(ALONE).0, Ordering::Relaxed);
    }

    /// Notes that a peer was added.
    pub fn added(&self) {
        self.alone_until.store(0, Ordering::Relaxed);
    }

    /// Counts a message that was exchanged with the peer.
    pub fn routed(&self, peer: PeerId, now: Timestamp) {
        self.add(peer, &Tally { routed: 1, reached: Some(now), failed: None });
    }

    /// Notes that the peer did not answer, or could not.
    pub fn failed(&self, peer: PeerId, now: Timestamp) {
        self.add(peer, &Tally { failed: Some(now), ..Tally::default() });
    }
}

/// What the rows of peers may lack. Take it before they are read.
pub fn pending(rt: &dyn Runtime) -> HashMap<PeerId, Pending<Tally>> {
    Tallies::of(rt.environment()).unwritten.all_pending(|| rt.random())
}

/// Writes the counts since the last time. Counts that cannot be written stay for the next time.
pub async fn flush(rt: &dyn Runtime) -> Result<()> {
    let tallies = Tallies::of(rt.environment());
    let batches = tallies.unwritten.send(|| rt.random());
    if batches.is_empty() {
        return Ok(());
    }
    let count = Count { batches };
    runtime::call(rt, actor().name, &count).await?;
    count.batches.iter().for_each(|(peer, batch)| tallies.unwritten.written(peer, batch));
    Ok(())
}
