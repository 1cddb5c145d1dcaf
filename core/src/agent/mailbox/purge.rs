//! Taking expired messages out, by timer, bucket after bucket (ruling foundation-relay 17).
//!
//! An expired message is invisible at once, since every reader compares its end with the time; this frees its room.

use serde::{Deserialize, Serialize};

use super::{ENDS, HEADS, LOCALS, REPEATS, bucket, forget, remove};
use crate::actor::{Kind, Operation, Turn};
use crate::kv::Direction;
use crate::{Result, Timestamp};

/// Key of the timer.
const TIMER: &str = "purge";
/// Messages a run takes out; each is up to ten rows, and a run does at most 500.
const BATCH: usize = 48;

/// Makes sure that a purge runs at the end of a bucket.
pub(super) fn schedule(turn: &mut Turn<'_>, bucket: Timestamp) -> Result<()> {
    if turn.scheduled(TIMER)?.is_none_or(|due| due > bucket) {
        turn.schedule(TIMER, bucket, &Purge)?;
    }
    Ok(())
}

/// Takes out what has expired, a batch at a time, and forgets ids that nobody repeats any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Purge;

impl Operation for Purge {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "purge";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let due = ENDS.between(&(), &(turn.now.plus(1),));
        for ((end, stamp), ending) in ENDS.scan(turn, &due, Direction::Ascending, BATCH)? {
            ENDS.delete(turn, &(end, stamp));
            let head = HEADS.get(turn, &(stamp,))?.filter(|head| head.local == ending.local);
            if let Some(head) = head {
                remove(turn, stamp, &head)?;
            }
            // The id may have been given to a later message since, which has an end of its own.
            let own = LOCALS.get(turn, &(ending.local,))?.is_some_and(|place| place.stamp == stamp);
            let repeats_end = stamp.plus(REPEATS);
            if own && repeats_end > turn.now {
                ENDS.put(turn, &(bucket(repeats_end), stamp), &ending)?;
            } else if own {
                forget(turn, &ending.local, ending.from)?;
            }
        }
        if let Some(((end, _), _)) = ENDS.first(turn, &ENDS.range())? {
            turn.schedule(TIMER, end.max(turn.now), &Purge)?;
        }
        Ok(())
    }
}
