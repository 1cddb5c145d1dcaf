//! Moves names to their new keys, a batch each turn. They are names from before [`likeness::key`] compared names.
//!
//! Until all have moved, a name is also looked for under its earlier key ([`old_key`]). When two stored names are the
//! same now, the agent that registered first keeps the name. The other agent loses it, as when the directory gives a
//! name to another agent.

use serde::{Deserialize, Serialize};

use super::{Did, Hold, NAMES, Name, fold, forget_end, likeness, put, search};
use crate::Result;
use crate::agent::record::LoseName;
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Table};

/// The last key that was looked at, while names move.
const MOVING: Table<(), String> = Table::new(150);
/// Names that one turn looks at; each has up to five rows.
const BATCH: usize = 100;
/// Key of the timer.
const REKEY: &str = "rekey_names";

/// Starts the move, for a directory from before [`likeness::key`].
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    if NAMES.first(turn, &NAMES.range())?.is_none() {
        return Ok(());
    }
    MOVING.put(turn, &(), &String::new())?;
    let now = turn.now;
    turn.schedule(REKEY, now, &Rekey)
}

/// The earlier key of a name, if names are still moving and it differs from `key`.
pub(super) fn old_key(turn: &Turn<'_>, name: &str, key: &str) -> Result<Option<String>> {
    if !MOVING.contains(turn, &())? {
        return Ok(None);
    }
    Ok(Some(fold(name)).filter(|old| old != key))
}

/// Goes on moving names.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rekey;

impl Operation for Rekey {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "rekey_names";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(after) = MOVING.get(turn, &())? else { return Ok(()) };
        let rows = NAMES.scan(turn, &NAMES.after(NAMES.range(), &(after,)), Direction::Ascending, BATCH)?;
        let next = rows.last().map(|((key,), _)| key.clone()).filter(|_| rows.len() == BATCH);
        for ((old,), row) in rows {
            settle(turn, old, row)?;
        }
        match next {
            Some(next) => {
                MOVING.put(turn, &(), &next)?;
                let now = turn.now;
                turn.schedule(REKEY, now, &Rekey)
            }
            None => {
                MOVING.delete(turn, &());
                Ok(())
            }
        }
    }
}

/// Moves one name, unless it is under its key already.
fn settle(turn: &mut Turn<'_>, old: String, row: Name) -> Result<()> {
    let key = likeness::key(&row.shown);
    if key == old {
        return Ok(());
    }
    forget_end(turn, &old)?;
    NAMES.delete(turn, &(old,));
    let now = turn.now;
    if !row.counts(now) {
        return Ok(());
    }
    match NAMES.get(turn, &(key.clone(),))?.filter(|other| other.counts(now)) {
        Some(other) if claim(turn, &other)? < claim(turn, &row)? => lose(turn, row, other.did),
        Some(other) => {
            lose(turn, other, row.did)?;
            put(turn, key, &row)
        }
        None => put(turn, key, &row),
    }
}

/// Decides between two holders of one name: the smaller value wins.
fn claim(turn: &Turn<'_>, row: &Name) -> Result<(u8, i64, Did)> {
    let hold = match row.hold {
        Hold::Held => 0,
        Hold::Quarantined(_) => 1,
        Hold::Reserved(_) => 2,
    };
    let registered = search::registered(turn, row.did)?.map_or(i64::MAX, |registered| registered.0);
    Ok((hold, registered, row.did))
}

fn lose(turn: &mut Turn<'_>, row: Name, to: Did) -> Result<()> {
    if row.hold != Hold::Held || row.did == to {
        return Ok(());
    }
    turn.send(actor_id(&row.did), &LoseName { name: row.shown })
}
