//! Names from before [`likeness::key`] was what makes two names one: they move to their new keys, some a turn.
//!
//! Until all have moved, a name is also looked for where it was kept before ([`old_key`]). Where two stored names are one
//! now, the agent that registered first keeps it; the other's name ends as one that the directory gave away.

use serde::{Deserialize, Serialize};

use super::{Did, Hold, NAMES, Name, fold, forget_end, likeness, put, search};
use crate::Result;
use crate::crypto::encoding::actor_id;
use crate::engine::actor::{Kind, Operation, Turn};
use crate::engine::kv::{Direction, Table};
use crate::relay::agent::record::LoseName;

/// While names move: the last key that was gone through.
const MOVING: Table<(), String> = Table::new(150);
/// Names that one turn looks at; each is up to five rows.
const BATCH: usize = 100;
/// Key of the timer.
const REKEY: &str = "rekey_names";

/// Begins, for a directory from before.
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    if NAMES.first(turn, &NAMES.range())?.is_none() {
        return Ok(());
    }
    MOVING.put(turn, &(), &String::new())?;
    let now = turn.now;
    turn.schedule(REKEY, now, &Rekey)
}

/// Where a name may still be kept, if that is elsewhere than under its key.
pub(super) fn old_key(turn: &Turn<'_>, name: &str, key: &str) -> Result<Option<String>> {
    if !MOVING.contains(turn, &())? {
        return Ok(None);
    }
    Ok(Some(fold(name)).filter(|old| old != key))
}

/// Goes on with it.
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

/// Moves one name, unless it stands under its key.
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

/// What decides between two holders of one name: less is better.
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
