//! Names of agents: who holds which, over all agents of a deployment.
//!
//! A name belongs to one agent, whatever its letters' case. The agent's own record says what its name is; the directory
//! decides who may have it. Registration and renaming reserve a name here for a minute, then let the agent's own
//! operation decide, whose effect confirms the reservation (ruling foundation-relay 1). A reservation that nobody
//! confirms lapses by itself.
//!
//! [`search`] finds agents by name, DID and capability; [`discover`] is its endpoint; [`capabilities`] finds what they offer.
//! [`leaderboard`] orders them by trust; [`stats`] counts them.
//! Table numbers: 16 and 17 names, 18 to 21 [`search`], 34 and 35 [`capabilities`], 38 and 39 [`leaderboard`],
//! 46 to 49 [`stats`].

pub mod capabilities;
pub mod discover;
pub mod leaderboard;
pub mod search;
pub mod stats;

use serde::{Deserialize, Serialize};

use crate::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::kv::{Direction, Row, Table};
use crate::time::{DAY, MINUTE};
use crate::{Error, Result, Timestamp};

/// Most characters in a name (interface section 8).
pub const MAX_NAME: usize = 128;
/// How long a reservation waits to be confirmed, in microseconds.
pub const RESERVATION: i64 = MINUTE;
/// How long the name of a deactivated agent stays taken (spec relay 2.8), in microseconds.
pub const QUARANTINE: i64 = 30 * DAY;

/// What an agent is called here: the 16 bytes of its DID.
pub type Did = [u8; 16];

/// Why a name is not free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Hold {
    /// Until the reservation is confirmed or lapses.
    Reserved(Timestamp),
    Held,
    /// Given up, but not free before then.
    Quarantined(Timestamp),
}

impl Hold {
    fn ends(&self) -> Option<Timestamp> {
        match self {
            Hold::Reserved(end) | Hold::Quarantined(end) => Some(*end),
            Hold::Held => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Name {
    /// As its holder writes it.
    shown: String,
    did: Did,
    hold: Hold,
}
impl Row for Name {}

const NAMES: Table<(String,), Name> = Table::new(16);
const ENDS: Table<(Timestamp, String), ()> = Table::new(17);

pub const ENTRIES: &[Entry] =
    &[operation::<Reserve>(), operation::<Confirm>(), operation::<Release>(), operation::<Sweep>(), query::<Lookup>()];

/// The form under which two names are the same: every character's simple lower case, one by one, so that the result
/// does not depend on its neighbours (a final sigma is an ordinary one). No normalization and no full folding: `ß` and
/// `ss` differ, and so do a letter with an accent and a letter followed by one.
pub fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// The directory actor that decides about a name. There is one shard; more are a matter of this function and a move.
pub fn shard(_name: &str) -> &'static str {
    "0"
}

/// Checks the shape of a name: 1 to 128 characters, none of them a control character, not only white space.
pub fn check_name(name: &str) -> Result<()> {
    if name.trim().is_empty() {
        return Err(Error::bad_request("`name` must not be blank."));
    }
    if name.chars().count() > MAX_NAME {
        return Err(Error::bad_request("`name` must be at most 128 characters."));
    }
    if name.chars().any(char::is_control) {
        return Err(Error::bad_request("`name` must not contain control characters."));
    }
    Ok(())
}

fn taken() -> Error {
    Error::conflict("This name is taken.")
}

fn put(turn: &mut Turn<'_>, key: String, name: &Name) -> Result<()> {
    forget_end(turn, &key)?;
    if let Some(end) = name.hold.ends() {
        ENDS.put(turn, &(end, key.clone()), &())?;
        if turn.scheduled(SWEEP)?.is_none_or(|due| due > end) {
            turn.schedule(SWEEP, end, &Sweep)?;
        }
    }
    Ok(NAMES.put(turn, &(key,), name)?)
}

fn forget_end(turn: &mut Turn<'_>, key: &str) -> Result<()> {
    if let Some(end) = NAMES.get(turn, &(key.to_owned(),))?.and_then(|name| name.hold.ends()) {
        ENDS.delete(turn, &(end, key.to_owned()));
    }
    Ok(())
}

/// The row that keeps `did` from having this name now.
fn obstacle(turn: &Turn<'_>, key: &str, did: &Did) -> Result<Option<Name>> {
    let row = NAMES.get(turn, &(key.to_owned(),))?;
    Ok(row.filter(|row| row.did != *did && row.hold.ends().is_none_or(|end| end > turn.now)))
}

/// Keeps a name for one agent for [`RESERVATION`]. 409 when another agent has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reserve {
    pub name: String,
    pub did: Did,
}

impl Operation for Reserve {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "reserve";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = fold(&self.name);
        if obstacle(turn, &key, &self.did)?.is_some() {
            return Err(taken());
        }
        let own = NAMES.get(turn, &(key.clone(),))?.filter(|row| row.did == self.did);
        if own.is_some_and(|row| row.hold == Hold::Held) {
            return Ok(());
        }
        let hold = Hold::Reserved(turn.now.plus(RESERVATION));
        put(turn, key, &Name { shown: self.name, did: self.did, hold })
    }
}

/// Makes a name an agent's own. 409 when its reservation lapsed and another agent was quicker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Confirm {
    pub name: String,
    pub did: Did,
}

impl Operation for Confirm {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "confirm";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = fold(&self.name);
        if obstacle(turn, &key, &self.did)?.is_some() {
            return Err(taken());
        }
        put(turn, key, &Name { shown: self.name, did: self.did, hold: Hold::Held })
    }
}

/// Gives a name up, at once or at a later time. A name of somebody else stays as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Release {
    pub name: String,
    pub did: Did,
    /// When it becomes free; `None` means now.
    pub free_at: Option<Timestamp>,
}

impl Operation for Release {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "release";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = fold(&self.name);
        let Some(row) = NAMES.get(turn, &(key.clone(),))?.filter(|row| row.did == self.did) else { return Ok(()) };
        match self.free_at {
            Some(end) if end > turn.now => put(turn, key, &Name { hold: Hold::Quarantined(end), ..row }),
            _ => {
                forget_end(turn, &key)?;
                NAMES.delete(turn, &(key,));
                Ok(())
            }
        }
    }
}

/// Key of the timer that drops what has ended.
const SWEEP: &str = "sweep";

/// Drops reservations and quarantines that have ended. They already count for nothing; this frees their rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sweep;

impl Operation for Sweep {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "sweep";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let ended = ENDS.between(&(), &(turn.now.plus(1),));
        for ((end, key), ()) in ENDS.scan(turn, &ended, Direction::Ascending, 200)? {
            ENDS.delete(turn, &(end, key.clone()));
            NAMES.delete(turn, &(key,));
        }
        if let Some(((end, _), ())) = ENDS.first(turn, &ENDS.range())? {
            turn.schedule(SWEEP, end.max(turn.now), &Sweep)?;
        }
        Ok(())
    }
}

/// Who holds a name, as that agent writes it; reservations and quarantined names do not count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lookup {
    pub name: String,
}

impl Query for Lookup {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "lookup";
    type Reply = Option<(String, Did)>;

    fn run(self, view: &View<'_>) -> Result<Option<(String, Did)>> {
        let row = NAMES.get(view, &(fold(&self.name),))?;
        Ok(row.filter(|row| row.hold == Hold::Held).map(|row| (row.shown, row.did)))
    }
}

#[cfg(test)]
mod tests;
