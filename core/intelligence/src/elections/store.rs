//! Imported elections, kept by the world, because the forecast reads them in the same turn in which it runs.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::calendar;
use super::model::{DateCertainty, Election, ElectionType};
use crate::import::removal;
use crate::reference::KnownRows;
use crate::{Result, forecast};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Table, Write};

pub const ENTRIES: &[Entry] = &[
    operation::<AddElections>(),
    operation::<DropElections>(),
    query::<Elections>(),
    query::<ElectionsEpoch>(),
    query::<super::history::ReadCalendar>(),
];

/// Rows of one operation, at most.
pub const AT_ONCE: usize = 500;

/// (country, date as text, type).
const ELECTIONS: Table<(String, String, String), Election> = Table::new(54);
/// Number of removals so far.
const REMOVALS: Table<(), u64> = Table::new(55);

fn key(election: &Election) -> (String, String, String) {
    (election.country.clone(), election.when.text(), election.kind.as_str().to_owned())
}

/// Enters an election in place of a known one with the same country, date and type. Returns whether anything changes.
pub(super) fn enter(space: &mut (impl Write + ?Sized), election: &Election) -> Result<bool> {
    let known = ELECTIONS.get(space, &key(election))?;
    let changes = known.as_ref() != Some(election);
    if changes {
        ELECTIONS.put(space, &key(election), election)?;
    }
    Ok(changes)
}

fn imported(view: &impl Read) -> Result<Vec<Election>> {
    let rows = ELECTIONS.scan(view, &ELECTIONS.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|(_, election)| election).collect())
}

/// Imported elections and those of the calendar inside the binary, by date. Imported elections of a country, type and
/// year replace those of the calendar, so that no election stays under an old date.
pub(super) fn all(view: &impl Read) -> Result<Vec<Election>> {
    let mut found = imported(view)?;
    let year = |election: &Election| (election.country.clone(), election.kind, election.when.year());
    let told: BTreeSet<_> = found.iter().map(year).collect();
    found.extend(calendar::all().iter().filter(|election| !told.contains(&year(election))).cloned());
    found.sort_unstable();
    Ok(found)
}

/// Every election whose day is known, that was not cancelled and is more than local: country code and day since the
/// epoch, by day. Local elections are left out because no shutdown is known for a local vote alone, and some countries
/// hold one every month.
///
/// # Errors
///
/// Fails when the rows cannot be read.
pub fn dates(view: &impl Read) -> Result<Vec<(String, i32)>> {
    let counts = |of: &Election| of.status != DateCertainty::Cancelled && of.kind != ElectionType::Local;
    let known = all(view)?.into_iter().filter(counts);
    Ok(known.filter_map(|election| Some((election.country, election.when.day()?))).collect())
}

/// Enters elections. Each replaces a known row of the same country, date and type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddElections {
    /// At most [`AT_ONCE`].
    pub elections: Vec<Election>,
    pub dry_run: bool,
    /// Number of removals when the import began.
    pub epoch: u64,
}

impl Operation for AddElections {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "add_elections";
    type Reply = KnownRows;

    fn run(self, turn: &mut Turn<'_>) -> Result<KnownRows> {
        removal::check(self.epoch, REMOVALS.get(turn, &())?.unwrap_or_default())?;
        let (mut known, mut changed) = (0, false);
        for election in &self.elections {
            let changes = match self.dry_run {
                true => ELECTIONS.get(turn, &key(election))?.as_ref() != Some(election),
                false => enter(turn, election)?,
            };
            known += u64::from(!changes);
            changed |= changes && !self.dry_run;
        }
        if changed {
            forecast::soon(turn)?;
        }
        Ok(KnownRows { known })
    }
}

/// Removes the imported elections. Returns the number of rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropElections;

impl Operation for DropElections {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "drop_elections";
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        let removals = REMOVALS.get(turn, &())?.unwrap_or_default();
        REMOVALS.put(turn, &(), &(removals + 1))?;
        let rows = ELECTIONS.scan(turn, &ELECTIONS.range(), Direction::Ascending, usize::MAX)?;
        for (key, _) in &rows {
            ELECTIONS.delete(turn, key);
        }
        if !rows.is_empty() {
            forecast::soon(turn)?;
        }
        Ok(rows.len() as u64)
    }
}

/// Asks how often imported elections were removed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ElectionsEpoch;

impl Query for ElectionsEpoch {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "elections_epoch";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        Ok(REMOVALS.get(view, &())?.unwrap_or_default())
    }
}

/// Asks for all elections, by date.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Elections;

impl Query for Elections {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "elections";
    type Reply = Vec<Election>;

    fn run(self, view: &View<'_>) -> Result<Vec<Election>> {
        all(view)
    }
}
