//! Deletes expired messages by timer, bucket after bucket (decision timers-and-alarms).
//!
//! An expired message is invisible at once, since every reader compares its expiry with the time. This module frees its
//! room. Messages that came in the same minute and expire in the same minute share a row, so most sends write none.

use serde::{Deserialize, Serialize};

use super::{ENDS, GONE, GoneMessageRow, MESSAGES, MessageRow, bucket, forget, remove, stored};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Direction;

/// Key of the timer.
const TIMER: &str = "purge";
/// Messages and ids that a run looks at; a message has up to seven rows, and a run changes at most 500 rows.
const BATCH: usize = 64;

/// Notes when to look for a message that just got this stamp.
pub(super) fn note(turn: &mut Turn<'_>, stamp: Timestamp, expires: Timestamp) -> Result<()> {
    let (end, minute) = (bucket(expires), bucket(stamp));
    if ENDS.contains(turn, &(end, minute))? {
        return Ok(());
    }
    ENDS.put(turn, &(end, minute), &stamp)?;
    schedule(turn, end)
}

/// Makes sure that a purge runs at the end of a bucket.
pub(super) fn schedule(turn: &mut Turn<'_>, bucket: Timestamp) -> Result<()> {
    if turn.scheduled(TIMER)?.is_none_or(|due| due > bucket) {
        turn.schedule(TIMER, bucket, &Purge)?;
    }
    Ok(())
}

/// Deletes expired messages, a batch at a time, and forgets ids for which no repeat is expected any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Purge;

impl Operation for Purge {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "purge";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let left = forget_due(turn, BATCH)?;
        expire(turn, left)?;
        let gone = GONE.first(turn, &GONE.range())?.map(|((end, _), _)| end);
        let ends = ENDS.first(turn, &ENDS.range())?.map(|((end, _), _)| end);
        if let Some(end) = gone.into_iter().chain(ends).min() {
            turn.schedule(TIMER, end.max(turn.now), &Purge)?;
        }
        Ok(())
    }
}

/// Forgets at most `limit` ids that are due. Returns how many messages may still be looked at.
fn forget_due(turn: &mut Turn<'_>, limit: usize) -> Result<usize> {
    let due = GONE.scan(turn, &GONE.between(&(), &(turn.now.plus(1),)), Direction::Ascending, limit)?;
    let left = limit - due.len();
    for ((end, local), GoneMessageRow { from }) in due {
        // The id may belong to a later message by now, which expires at its own time.
        let over = |stored: &MessageRow| MessageRow::repeats_end(stored.stamp) <= turn.now;
        match MESSAGES.get(turn, &(local,))?.filter(over) {
            Some(MessageRow { stamp, .. }) if stored::get(turn, stamp)?.is_none() => forget(turn, &local, stamp, from)?,
            _ => GONE.delete(turn, &(end, local)),
        }
    }
    Ok(left)
}

/// Looks at no more than `left` messages and deletes the expired ones.
fn expire(turn: &mut Turn<'_>, mut left: usize) -> Result<()> {
    let due = ENDS.between(&(), &(turn.now.plus(1),));
    for ((end, minute), from) in ENDS.scan(turn, &due, Direction::Ascending, left)? {
        if left == 0 {
            return Ok(());
        }
        let found = stored::all(turn, from, minute.plus(1), left)?;
        // An empty minute counts as one, since its row changes.
        let all = found.len() < left;
        left -= found.len().max(1);
        let reached = found.last().map_or(from, |(stamp, _)| stamp.plus(1));
        for (stamp, message) in found {
            if message.head.expires <= turn.now {
                remove(turn, stamp, &message)?;
            }
        }
        match all {
            true => ENDS.delete(turn, &(end, minute)),
            false => ENDS.put(turn, &(end, minute), &reached)?,
        }
    }
    Ok(())
}
