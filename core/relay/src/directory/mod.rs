//! Names of agents: which agent holds which name, over all agents of a deployment; and searches for agents.
//!
//! A name belongs to one agent, and names that look alike are the same name ([`likeness`]). The agent's own record
//! contains its name, but the directory decides which agent may have it. Registration and renaming reserve a name here
//! for a minute and then run the agent's own operation, whose effect confirms the reservation. When that operation
//! fails, the reservation ends with it ([`settled`]). A reservation that is never confirmed ends by itself.
//!
//! | Module | What |
//! |---|---|
//! | [`likeness`] | when two names count as the same, and which characters they may have |
//! | [`search`], [`discover`] | search for agents by name, DID and capability; its endpoint |
//! | [`capabilities`] | search for capabilities |
//! | [`leaderboard`] | agents in the order of their trust |
//! | [`stats`] | numbers over all agents |
//! | [`rekey`] | moves names from before [`likeness`] to their new keys |
//!
//! Table numbers: 16 and 17 names, 18 to 21 [`search`], 34 and 35 [`capabilities`], 38 and 39 [`leaderboard`], 46 to 49
//! [`stats`], 150 [`rekey`].

pub mod capabilities;
pub mod discover;
pub mod leaderboard;
pub mod likeness;
pub mod rekey;
pub mod search;
pub mod stats;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Row, Table};
use engine::runtime::{self, Runtime};
use engine::time::{DAY, MINUTE};

/// Most characters in a name.
pub const MAX_NAME: usize = 128;
/// How long a reservation waits to be confirmed, in microseconds.
pub const RESERVATION: i64 = MINUTE;
/// How long the name of a deactivated agent stays taken, in microseconds.
pub const QUARANTINE: i64 = 30 * DAY;

/// The key of an agent here: the 16 bytes of its DID.
pub type Did = [u8; 16];

/// The reason why a name is not free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Hold {
    /// Reserved until this time, unless it is confirmed before.
    Reserved(Timestamp),
    Held,
    /// Released, but not free before this time.
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
    /// The name as its holder writes it.
    shown: String,
    did: Did,
    hold: Hold,
}
impl Row for Name {}

impl Name {
    /// Whether the row still keeps other agents from the name.
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
    operation::<SweepNames>(),
    operation::<rekey::Rekey>(),
    query::<Lookup>(),
];

/// The form in which searches compare texts: every character in its simple lower case, one by one. So the result does
/// not depend on neighbouring characters, and the beginning of a text gives the beginning of its form. Whether two
/// names are the same is decided by [`likeness::key`].
pub fn fold(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).collect()
}

/// The directory actor that decides about a name. There is one shard; for more, change this function and move the rows.
pub fn shard(_name: &str) -> &'static str {
    "0"
}

/// Checks the form of a name: 1 to 128 visible characters, not only white space.
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
            turn.schedule(SWEEP, end, &SweepNames)?;
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

/// All rows about a name, with their keys.
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

/// Deletes an agent's rows about a name, and returns the first of them.
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

/// [`take`] for an agent that wants the name: 409 when another agent has it.
fn take_free(turn: &mut Turn<'_>, name: &str, did: &Did) -> Result<Option<Name>> {
    match rows(turn, name)?.iter().any(|(_, row)| row.did != *did && row.counts(turn.now)) {
        true => Err(taken()),
        false => take(turn, name, did),
    }
}

/// Reserves a name for an agent for [`RESERVATION`]. 409 when another agent has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reserve {
    pub name: String,
    pub did: Did,
}

impl Operation for Reserve {
    const ACTOR: Kind = Kind::Directory;
    const NAME: &'static str = "reserve_name";
    /// Whether the agent had no claim on the name before.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        let end = turn.now.plus(RESERVATION);
        let own = take_free(turn, &self.name, &self.did)?.filter(|own| own.counts(turn.now));
        let fresh = own.is_none();
        let row = match own {
            Some(own) if own.hold == Hold::Held => own,
            // A failed request does not shorten the time for which the name is kept from other agents.
            Some(Name { hold: Hold::Quarantined(until), .. }) => {
                Name { shown: self.name, did: self.did, hold: Hold::Quarantined(until.max(end)) }
            }
            _ => Name { shown: self.name, did: self.did, hold: Hold::Reserved(end) },
        };
        put(turn, likeness::key(&row.shown), &row)?;
        Ok(fresh)
    }
}

/// A name that is reserved for an agent until its own operation has decided.
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

/// Ends a reservation at once when the agent's own operation was refused, so that a failed request keeps no name. A
/// reservation by another request of the same agent stays. When the outcome is unknown, the reservation ends by itself.
pub async fn settled<T>(rt: &dyn Runtime, reserved: Option<Reserved>, outcome: Result<T>) -> Result<T> {
    let known = |error: &Error| !matches!(error.code, ErrorCode::Unavailable | ErrorCode::Internal);
    if let Some(Reserved { reserve: Reserve { name, did }, fresh: true }) = reserved
        && outcome.as_ref().is_err_and(known)
    {
        // A failure here is no error of the request, since the reservation ends by itself.
        let _ = runtime::call(rt, shard(&name), &Unreserve { name: name.clone(), did }).await;
    }
    outcome
}

/// Ends a reservation. A name that the agent holds, and a name of another agent, stay as they are.
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

/// Makes a name an agent's own. 409 when its reservation ended and another agent took the name.
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

/// Releases a name, at once or at a later time. A name of another agent stays as it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Release {
    pub name: String,
    pub did: Did,
    /// When it becomes free; `None` for now.
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

/// Key of the timer that deletes ended rows.
const SWEEP: &str = "sweep";

/// Deletes reservations and quarantines that have ended. They have no effect any more; this frees their rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepNames;

impl Operation for SweepNames {
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
            turn.schedule(SWEEP, end.max(turn.now), &SweepNames)?;
        }
        Ok(())
    }
}

/// Reads the holder of a name, and the name as the holder writes it. Reservations and quarantined names do not count.
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
