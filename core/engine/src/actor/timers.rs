//! Timers as rows: what an actor wants to do later.

use serde::{Deserialize, Serialize};

use super::{Call, Turn};
use crate::kv::{Direction, Read, Row, Table};
use crate::{Result, Timestamp};

/// A timer that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Timer {
    pub due: Timestamp,
    pub call: Call,
    /// Failed runs so far.
    pub attempts: u32,
}

impl Row for Timer {}

const TIMERS: Table<(String,), Timer> = Table::new(6);
const BY_DUE: Table<(Timestamp, String), ()> = Table::new(7);

pub(super) fn schedule(turn: &mut Turn<'_>, key: &str, due: Timestamp, call: Call) -> Result<()> {
    set(turn, key, Timer { due, call, attempts: 0 })
}

fn set(turn: &mut Turn<'_>, key: &str, timer: Timer) -> Result<()> {
    cancel(turn, key)?;
    BY_DUE.put(turn, &(timer.due, key.to_owned()), &())?;
    TIMERS.put(turn, &(key.to_owned(),), &timer)?;
    Ok(())
}

pub(super) fn due(view: &impl Read, key: &str) -> Result<Option<Timestamp>> {
    Ok(TIMERS.get(view, &(key.to_owned(),))?.map(|timer| timer.due))
}

pub(super) fn cancel(turn: &mut Turn<'_>, key: &str) -> Result<()> {
    if let Some(timer) = TIMERS.get(turn, &(key.to_owned(),))? {
        BY_DUE.delete(turn, &(timer.due, key.to_owned()));
        TIMERS.delete(turn, &(key.to_owned(),));
    }
    Ok(())
}

pub(super) fn earliest(view: &(impl Read + ?Sized)) -> Result<Option<Timestamp>> {
    Ok(BY_DUE.first(view, &BY_DUE.range())?.map(|((due, _), ())| due))
}

/// Keys of timers due at `now`, earliest first.
pub(super) fn due_keys(view: &(impl Read + ?Sized), now: Timestamp, limit: usize) -> Result<Vec<String>> {
    let due = BY_DUE.between(&(), &(now.plus(1),));
    let rows = BY_DUE.scan(view, &due, Direction::Ascending, limit)?;
    Ok(rows.into_iter().map(|((_, key), ())| key).collect())
}

/// Takes a due timer off; `None` when it was cancelled or moved meanwhile.
pub(super) fn take(turn: &mut Turn<'_>, key: &str) -> Result<Option<Timer>> {
    let Some(timer) = TIMERS.get(turn, &(key.to_owned(),))? else { return Ok(None) };
    if timer.due > turn.now {
        return Ok(None);
    }
    cancel(turn, key)?;
    Ok(Some(timer))
}

/// Puts a timer whose operation failed back, later.
pub(super) fn postpone(turn: &mut Turn<'_>, key: &str, mut timer: Timer) -> Result<()> {
    timer.attempts = timer.attempts.saturating_add(1);
    timer.due = turn.now.plus(super::outbox::backoff(turn, timer.attempts));
    set(turn, key, timer)
}
