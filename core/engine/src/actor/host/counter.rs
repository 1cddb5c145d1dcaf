//! A counter on the `deployment` kind that can be told to fail, forward and repeat: the subject of runtime tests.

use serde::{Deserialize, Serialize};

use crate::actor::schema::Migration;
use crate::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::kv::{Direction, Table};
use crate::{Error, ErrorCode, Result, Timestamp};

const COUNT: Table<(), u64> = Table::new(200);
const LOG: Table<(u64,), String> = Table::new(201);

pub const ENTRIES: &[Entry] = &[
    operation::<Add>(),
    operation::<Forward>(),
    operation::<Later>(),
    operation::<Clear>(),
    operation::<Panic>(),
    operation::<PanicLater>(),
    query::<ReadCounter>(),
];

/// Adds to the counter and appends `note` to the log; fails afterwards when told to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Add {
    pub amount: u64,
    pub note: String,
    pub fail: Option<ErrorCode>,
}

impl Operation for Add {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_add";
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        let count = COUNT.get(turn, &())?.unwrap_or(0) + self.amount;
        COUNT.put(turn, &(), &count)?;
        let next = LOG.last(turn, &LOG.range())?.map_or(0, |((n,), _)| n + 1);
        LOG.put(turn, &(next,), &self.note)?;
        turn.wake();
        match self.fail {
            Some(code) => Err(Error::new(code, "told to fail")),
            None => Ok(count),
        }
    }
}

/// Sends `count` messages to another counter; a refused one is noted here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forward {
    pub to: String,
    pub count: u64,
    pub fail: Option<ErrorCode>,
}

impl Operation for Forward {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_forward";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for n in 0..self.count {
            let message = Add { amount: 1, note: format!("{}:{n}", turn.actor().name), fail: self.fail };
            let refused = Add { amount: 0, note: format!("refused {n}"), fail: None };
            turn.send_or(self.to.clone(), &message, &refused)?;
        }
        Ok(())
    }
}

/// Adds at a later time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Later {
    pub key: String,
    pub due: Timestamp,
    pub add: Add,
}

impl Operation for Later {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_later";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        turn.schedule(&self.key, self.due, &self.add)
    }
}

/// Empties the log; the counter stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clear;

impl Operation for Clear {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_clear";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (key, _) in LOG.scan(turn, &LOG.range(), Direction::Ascending, 1_000)? {
            LOG.delete(turn, &key);
        }
        Ok(())
    }
}

/// Panics, as no operation should.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Panic;

impl Operation for Panic {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_panic";
    type Reply = ();

    #[allow(clippy::panic)]
    fn run(self, _turn: &mut Turn<'_>) -> Result<()> {
        panic!("told to panic")
    }
}

/// Panics at a later time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PanicLater {
    pub due: Timestamp,
}

impl Operation for PanicLater {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_panic_later";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        turn.schedule("panic", self.due, &Panic)
    }
}

/// For tests of migrations: the counter of an earlier version counted in hundreds.
pub const MIGRATION: Migration =
    Migration { to: 2, concerns: |kind| matches!(kind, Kind::Deployment), shows: true, run: migrate };

fn migrate(turn: &mut Turn<'_>) -> Result<()> {
    match COUNT.get(turn, &())? {
        Some(count) => Ok(COUNT.put(turn, &(), &(count * 100))?),
        None => Ok(()),
    }
}

/// The counter and the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadCounter;

impl Query for ReadCounter {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "probe_read";
    type Reply = (u64, Vec<String>);

    fn run(self, view: &View<'_>) -> Result<(u64, Vec<String>)> {
        let log = LOG.scan(view, &LOG.range(), Direction::Ascending, 10_000)?;
        Ok((COUNT.get(view, &())?.unwrap_or(0), log.into_iter().map(|(_, note)| note).collect()))
    }
}
