//! Counts in the background what single actors hold, for `/metrics`. Requests of clients come first.
//!
//! Sums that are kept with each write would make every send wait for one actor. So everything is looked at again and
//! again, a bounded piece at a time, as of the last fold of the journal.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use heliograph_core::engine::actor::{Kind, View, outbox_summary};
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::relay::agent::mailbox::{self, Held};
use heliograph_core::relay::webhook;
use heliograph_core::{Error, Result, Timestamp};

use crate::runtime::Native;
use crate::{clock, log, maintenance, store};

/// How long one snapshot is held.
const SLICE: Duration = Duration::from_millis(20);
/// How many times as long as it works the census rests.
const RESTS: u32 = 19;
/// Least time between the end of one and the beginning of the next.
const PAUSE: Duration = Duration::from_secs(60);

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    /// When it ended.
    pub at: Timestamp,
    /// By kind of actor.
    pub kinds: BTreeMap<&'static str, OfKind>,
    pub mailboxes: Held,
    /// Bytes of the mailbox that has the most.
    pub largest_mailbox: u64,
    pub webhooks: Webhooks,
    /// Bytes of the data file that hold nothing.
    pub free_inside: u64,
}

/// The actors of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfKind {
    pub actors: u64,
    /// Messages in their outboxes.
    pub waiting: u64,
    /// Messages in the outbox that has the most.
    pub largest: u64,
    pub parked: u64,
    pub oldest: Option<Timestamp>,
}

/// Webhooks of agents, and subscriptions to alerts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Webhooks {
    pub all: u64,
    pub disabled: u64,
    pub failing: u64,
    /// Deliveries that wait.
    pub waiting: u64,
}

impl Census {
    fn add(&mut self, view: &View<'_>) -> Result<()> {
        let kind = view.actor().kind;
        let outbox = outbox_summary(view)?;
        let of = self.kinds.entry(kind.as_str()).or_default();
        of.actors += 1;
        of.waiting += outbox.waiting;
        of.largest = of.largest.max(outbox.waiting);
        of.parked += outbox.parked;
        of.oldest = [of.oldest, outbox.oldest].into_iter().flatten().min();
        if kind == Kind::Agent {
            let held = mailbox::held(view)?;
            self.mailboxes.messages += held.messages;
            self.mailboxes.unread += held.unread;
            self.mailboxes.bytes += held.bytes;
            self.largest_mailbox = self.largest_mailbox.max(held.bytes);
        }
        if matches!(kind, Kind::Agent | Kind::Account) {
            for (_, hook) in webhook::all(view)? {
                self.webhooks.all += 1;
                self.webhooks.disabled += u64::from(hook.disabled.is_some());
                self.webhooks.failing += u64::from(hook.failures > 0);
                self.webhooks.waiting += u64::from(hook.waiting);
            }
        }
        Ok(())
    }
}

/// Counts again and again, until the task ends.
pub async fn run(native: Arc<Native>) {
    loop {
        let began = Instant::now();
        match now(&native).await {
            Ok(census) => {
                *native.census.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(census));
            }
            // The log has what is wrong with the file already.
            Err(error) => log::debug!("what actors hold was not counted: {error}"),
        }
        tokio::time::sleep(PAUSE.max(began.elapsed())).await;
    }
}

async fn now(native: &Arc<Native>) -> Result<Census> {
    let (mut census, mut from) = (Census::default(), Some(Vec::new()));
    while let Some(start) = from {
        let native = native.clone();
        let began = Instant::now();
        let some = move || {
            let settings = &native.environment().settings;
            let next = maintenance::some_actors(&native.store, settings, (start, SLICE), |view| census.add(view))?;
            Ok::<_, Error>((census, next))
        };
        (census, from) = tokio::task::spawn_blocking(some).await.map_err(Error::internal)??;
        tokio::time::sleep(began.elapsed().min(SLICE * 2) * RESTS).await;
    }
    let store = native.store.clone();
    let rest = |took: Duration| std::thread::sleep(took.min(SLICE * 2) * RESTS);
    let walk = tokio::task::spawn_blocking(move || store::free_inside(&store, SLICE, &rest));
    census.free_inside = walk.await.map_err(Error::internal)??;
    census.at = clock::now();
    Ok(census)
}
