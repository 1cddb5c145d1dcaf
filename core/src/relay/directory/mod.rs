//! Names of agents: who holds which, over all agents of a deployment.
//!
//! A name belongs to one agent, and names that look alike are one ([`likeness`]). The agent's own record says what its
//! name is; the directory decides who may have it. Registration and renaming reserve a name here for a minute, then let
//! the agent's own operation decide, whose effect confirms the reservation. When that operation fails the reservation
//! ends with it ([`settled`]); one that nobody confirms lapses by itself.
//!
//! [`search`] finds agents by name, DID and capability; [`discover`] is its endpoint; [`capabilities`] finds what they
//! offer. [`leaderboard`] orders them by trust; [`stats`] counts them. Table numbers: 16 and 17 names, 18 to 21
//! [`search`], 34 and 35 [`capabilities`], 38 and 39 [`leaderboard`], 46 to 49 [`stats`], 150 [`rekey`].

pub mod capabilities;
pub mod discover;
pub mod leaderboard;
pub mod likeness;
pub mod rekey;
pub mod search;
pub mod stats;

use serde::{Deserialize, Serialize};

use crate::engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use crate::engine::kv::{Direction, Row, Table};
use crate::engine::runtime::{self, Runtime};
use crate::engine::time::{DAY, MINUTE};
use crate::{Error, ErrorCode, Result, Timestamp};

/// Most characters in a name.
pub const MAX_NAME: usize = 128;
/// How long a reservation waits to be confirmed, in microseconds.
pub const RESERVATION: i64 = MINUTE;
/// How long the name of a deactivated agent stays taken, in microseconds.
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

impl Name {
    /// Whether it still keeps others out.
    fn counts(&self, now: Timestamp) -> bool {
        self.hold.ends().is_none_or(|end| end > now)
    }
}

/// By [`likeness::key`].
const NAMES: Table<(String,), Name> = Table::new(16);
const ENDS: Table<(Timestamp, String), ()> = Table::new(17);

pub const ENTRIES: &[Entry] = &[
    operation::<Reserve>(),
    operation::<Confirm>(),
    operation::<Release>(),
    operation::<Unreserve>(),
    operation::<Sweep>(),
    operation::<rekey::Rekey>(),
    query::<Lookup>(),
];

/// The form in which searches compare texts: every character's simple lower case, one by one, so that the result does
/// not depend on its neighbours and the beginning of a text is the beginning of its form. What makes two names one is
/// [`likeness::key`].
pub fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// The directory actor that decides about a name. There is one shard; more are a matter of this function and a move.
pub fn shard(_name: &str) -> &'static str {
    "0"
}

/// Checks the shape of a name: 1 to 128 characters, all of which can be seen, not only white space.
pub fn check_name(name: &str) -> Result<()> {
    if name.chars().count() > MAX_NAME {
        return Err(Error::bad_request("`name` must be at most 128 characters."));
    }
    likeness::check("name", name)?;
    if likeness::key(name).is_empty() {
        return Err(Error::bad_request("`name` must not be blank."));
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

/// Every row about a name, with its key.
fn rows(turn: &Turn<'_>, name: &str) -> Result<Vec<(String, Name)>> {
    let key = likeness::key(name);
    let old = rekey::old_key(turn, name, &key)?;
    let mut found = Vec::new();
    for key in [Some(key), old].into_iter().flatten() {
        if let Some(row) = NAMES.get(turn, &(key.clone(),))? {
            found.push((key, row));
        }
    }
    Ok(found)
}

/// Takes what an agent has of a name off the directory, and gives it back.
fn take(turn: &mut Turn<'_>, name: &str, did: &Did) -> Result<Option<Name>> {
    let mut own = None;
    for (key, row) in rows(turn, name)? {
        if row.did == *did {
            forget_end(turn, &key)?;
            NAMES.delete(turn, &(key,));
            own = own.or(Some(row));
        }
    }
    Ok(own)
}

/// The same for who wants the name: 409 when another agent has it.
fn take_free(turn: &mut Turn<'_>, name: &str, did: &Did) -> Result<Option<Name>> {
    match rows(turn, name)?.iter().any(|(_, row)| row.did != *did && row.counts(turn.now)) {
        true => Err(taken()),
        false => take(turn, name, did),
    }
}

/// Keeps a name for one agent for [`RESERVATION`]. 409 when another agent has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reserve {
    pub name: String,
    pub did: Did,
}

impl Operation for Reserve {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "reserve_name";
    /// Whether the agent had nothing of the name before.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        let end = turn.now.plus(RESERVATION);
        let own = take_free(turn, &self.name, &self.did)?.filter(|own| own.counts(turn.now));
        let fresh = own.is_none();
        let row = match own {
            Some(own) if own.hold == Hold::Held => own,
            // A request that fails does not shorten the time for which a name is kept from others.
            Some(Name { hold: Hold::Quarantined(until), .. }) => {
                Name { shown: self.name, did: self.did, hold: Hold::Quarantined(until.max(end)) }
            }
            _ => Name { shown: self.name, did: self.did, hold: Hold::Reserved(end) },
        };
        put(turn, likeness::key(&row.shown), &row)?;
        Ok(fresh)
    }
}

/// A name that is kept for an agent until its own operation has decided.
pub struct Reserved {
    reserve: Reserve,
    fresh: bool,
}

/// [`Reserve`]s a name for an agent.
pub async fn reserve(rt: &dyn Runtime, name: String, did: Did) -> Result<Reserved> {
    let reserve = Reserve { name, did };
    let fresh = runtime::call(rt, shard(&reserve.name), &reserve).await?;
    Ok(Reserved { reserve, fresh })
}

/// Gives a reserved name back at once when the agent's own operation was refused, so that a request that fails keeps no
/// name. What was kept for another request of the same agent stays, and where nothing is known of the outcome the
/// reservation lapses by itself.
pub async fn settled<T>(rt: &dyn Runtime, reserved: Option<Reserved>, outcome: Result<T>) -> Result<T> {
    let known = |error: &Error| !matches!(error.code, ErrorCode::Unavailable | ErrorCode::Internal);
    if let Some(Reserved { reserve: Reserve { name, did }, fresh: true }) = reserved
        && outcome.as_ref().is_err_and(known)
    {
        // Not done is no error of the request: the reservation lapses.
        let _ = runtime::call(rt, shard(&name), &Unreserve { name: name.clone(), did }).await;
    }
    outcome
}

/// Ends a reservation. What the agent holds, and a name of somebody else, stays as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unreserve {
    pub name: String,
    pub did: Did,
}

impl Operation for Unreserve {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "unreserve_name";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = likeness::key(&self.name);
        let row = NAMES.get(turn, &(key.clone(),))?;
        if row.is_some_and(|row| row.did == self.did && matches!(row.hold, Hold::Reserved(_))) {
            forget_end(turn, &key)?;
            NAMES.delete(turn, &(key,));
        }
        Ok(())
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
        take_free(turn, &self.name, &self.did)?;
        put(turn, likeness::key(&self.name), &Name { shown: self.name, did: self.did, hold: Hold::Held })
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
        let Some(row) = take(turn, &self.name, &self.did)? else { return Ok(()) };
        match self.free_at {
            Some(end) if end > turn.now => {
                put(turn, likeness::key(&row.shown), &Name { hold: Hold::Quarantined(end), ..row })
            }
            _ => Ok(()),
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
        let row = NAMES.get(view, &(likeness::key(&self.name),))?;
        Ok(row.filter(|row| row.hold == Hold::Held).map(|row| (row.shown, row.did)))
    }
}

#[cfg(test)]
mod tests;
