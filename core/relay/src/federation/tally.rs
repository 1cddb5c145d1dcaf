//! Counts for each peer. They decide nothing, so they are kept in memory and written at most once a minute
//! (decision counts-in-memory), by [`crate::agent::usage::flush`].

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::peers::Count;
use super::{MAX_PEERS, PeerId, actor};
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
    sums: Mutex<BTreeMap<PeerId, Tally>>,
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
        let mut all = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < 2 * MAX_PEERS || all.contains_key(&peer) {
            let sum = all.entry(peer).or_default();
            *sum = sum.plus(happened);
        }
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

    /// The counts of one peer that are not written yet.
    pub fn pending(&self, peer: &PeerId) -> Tally {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).get(peer).cloned().unwrap_or_default()
    }
}

/// Writes the counts since the last time. Counts that cannot be written stay for the next time.
pub async fn flush(rt: &dyn Runtime) -> Result<()> {
    let tallies = Tallies::of(rt.environment());
    let since: Vec<(PeerId, Tally)> =
        std::mem::take(&mut *tallies.sums.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect();
    if since.is_empty() {
        return Ok(());
    }
    let count = Count { since };
    let written = runtime::call(rt, actor().name, &count).await;
    if written.is_err() {
        count.since.iter().for_each(|(peer, tally)| tallies.add(*peer, tally));
    }
    written
}
