//! Sends the country actors the reference data that they need, because a country cannot read this actor's tables.

use serde::{Deserialize, Serialize};

use super::{catalogue, network};
use crate::analytics::DropCategories;
use crate::country::{SetCatalogue, SetNetworks};
use crate::import::removal;
use crate::{Result, world};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Key, Read, Row, Table};

/// Networks that occur in the measurements of each country.
const WANTED: Table<(String, u32), ()> = Table::new(20);
/// Countries that have measurements or events.
const INTERESTED: Table<(String,), ()> = Table::new(19);
/// Countries among them that have events but no measurements.
const REPORTED: Table<(String,), ()> = Table::new(23);

/// Number of removals of each kind of reference data.
const EPOCHS: Table<(u8,), u64> = Table::new(21);

/// Countries informed in one step. Each may get a message of some hundred kilobytes.
const AT_ONCE: usize = 4;
/// Networks in one message.
const NETWORKS_AT_ONCE: usize = 400;

/// A country announces networks that occur in its measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Announce {
    pub country: String,
    pub networks: Vec<u32>,
}

impl Operation for Announce {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "announce";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut known = Vec::new();
        for asn in &self.networks {
            WANTED.put(turn, &(self.country.clone(), *asn), &())?;
            known.extend(network(turn, *asn)?.map(|entry| (*asn, entry)));
        }
        if !known.is_empty() {
            turn.send(self.country.clone(), &SetNetworks { networks: known })?;
        }
        REPORTED.delete(turn, &(self.country.clone(),));
        interest(turn, &self.country)?;
        Ok(())
    }
}

/// A country announces that other sources report events there. Such events may be about platforms of target lists, so
/// the country gets the lists before it has measurements: an incident must not change its subject with the first
/// measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnnounceEvents {
    pub country: String,
}

impl Operation for AnnounceEvents {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "announce_events";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if interest(turn, &self.country)? {
            REPORTED.put(turn, &(self.country,), &())?;
        }
        Ok(())
    }
}

/// Sends the catalogue to a country that was not informed before. Returns whether the country is new.
fn interest(turn: &mut Turn<'_>, country: &str) -> Result<bool> {
    let key = (country.to_owned(),);
    if INTERESTED.contains(turn, &key)? {
        return Ok(false);
    }
    INTERESTED.put(turn, &key, &())?;
    let catalogue = catalogue(turn)?;
    if catalogue != SetCatalogue::default() {
        turn.send(country.to_owned(), &catalogue)?;
    }
    Ok(true)
}

/// Countries that have or had measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Interested;

impl Query for Interested {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "interested";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        let rows = INTERESTED.scan(view, &INTERESTED.range(), Direction::Ascending, usize::MAX)?;
        let reported = REPORTED.scan(view, &REPORTED.range(), Direction::Ascending, usize::MAX)?;
        let measured = rows.into_iter().filter(|row| reported.binary_search(row).is_err());
        Ok(measured.map(|((country,), ())| country).collect())
    }
}

/// Countries that have or had measurements of a network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountriesOf {
    pub asn: u32,
}

impl Query for CountriesOf {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "countries_of";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for ((country,), ()) in INTERESTED.scan(view, &INTERESTED.range(), Direction::Ascending, usize::MAX)? {
            if WANTED.contains(view, &(country.clone(), self.asn))? {
                found.push(country);
            }
        }
        Ok(found)
    }
}

/// Reference data that can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Reference {
    Networks = 1,
    TestLists = 2,
    Targets = 3,
}

/// Rows removed in one step.
const DROPPED_AT_ONCE: usize = 400;

impl Reference {
    const fn timer(self) -> &'static str {
        match self {
            Reference::Networks => "drop_networks",
            Reference::TestLists => "drop_lists",
            Reference::Targets => "drop_targets",
        }
    }

    fn epoch(self, view: &impl Read) -> Result<u64> {
        Ok(EPOCHS.get(view, &(self as u8,))?.unwrap_or_default())
    }

    /// Refuses rows of an import that began before the last removal.
    pub(super) fn check(self, view: &impl Read, begun: u64) -> Result<()> {
        removal::check(begun, self.epoch(view)?)
    }
}

/// Removes the network table, the test lists or the target lists, some rows at a time by timer. Then the countries are
/// informed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DropReference {
    pub what: Reference,
    /// True in the later steps of a removal.
    pub goes_on: bool,
}

impl Operation for DropReference {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "drop_reference";
    /// Rows removed by this step.
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        if !self.goes_on {
            let epoch = self.what.epoch(turn)?;
            EPOCHS.put(turn, &(self.what as u8,), &(epoch + 1))?;
        }
        let removed = match self.what {
            Reference::Networks => remove(turn, &super::NETWORKS)?,
            Reference::TestLists => remove(turn, &super::LISTS)?,
            Reference::Targets => remove(turn, &super::targets::TARGETS)?,
        };
        if removed == DROPPED_AT_ONCE {
            let now = turn.now;
            turn.schedule(self.what.timer(), now, &DropReference { goes_on: true, ..self })?;
        } else {
            match self.what {
                Reference::Networks => all(turn)?,
                Reference::TestLists => {
                    turn.send(world::actor().name, &DropCategories)?;
                    all(turn)?;
                }
                Reference::Targets => super::targets::changed(turn, Vec::new())?,
            }
        }
        Ok(removed as u64)
    }
}

/// The number of removals of one kind of reference data. Fails while a removal is running.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReferenceEpoch {
    pub what: Reference,
}

impl Query for ReferenceEpoch {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "reference_epoch";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        match view.scheduled(self.what.timer())? {
            Some(_) => Err(removal::running()),
            None => self.what.epoch(view),
        }
    }
}

fn remove<K: Key, V: Row>(turn: &mut Turn<'_>, table: &Table<K, V>) -> Result<usize> {
    let rows = table.scan(turn, &table.range(), Direction::Ascending, DROPPED_AT_ONCE)?;
    for (key, _) in &rows {
        table.delete(turn, key);
    }
    Ok(rows.len())
}

/// Informs all countries again, some at a time, after the publish interval.
pub(super) fn all(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(i64::from(turn.settings.publish_interval) * engine::time::SECOND);
    turn.schedule("inform", due, &Inform { after: None, network: 0 })
}

/// Informs the countries after `after`. In the first of them, it starts with the network `network`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Inform {
    pub after: Option<String>,
    pub network: u32,
}

impl Operation for Inform {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "inform";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut range = INTERESTED.range();
        if let Some(after) = &self.after {
            range.start = INTERESTED.prefix(&(after.clone(),)).end.unwrap_or_default();
        }
        let countries = INTERESTED.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
        let catalogue = catalogue(turn)?;
        let mut from = self.network;
        let mut done = self.after;
        for ((country,), ()) in &countries {
            let wanted = WANTED.between(&(country.clone(), from), &(country.clone(), u32::MAX));
            let rows = WANTED.scan(turn, &wanted, Direction::Ascending, NETWORKS_AT_ONCE)?;
            let mut known = Vec::new();
            for ((_, asn), ()) in &rows {
                // A network without an entry is sent too, because the table may have been removed.
                known.push((*asn, network(turn, *asn)?.unwrap_or_default()));
            }
            if !known.is_empty() {
                turn.send(country.clone(), &SetNetworks { networks: known })?;
            }
            if from == 0 {
                turn.send(country.clone(), &catalogue)?;
            }
            if rows.len() == NETWORKS_AT_ONCE {
                let next = rows.last().map_or(u32::MAX, |((_, asn), ())| asn.saturating_add(1));
                return turn.schedule("inform", turn.now, &Inform { after: done, network: next });
            }
            from = 0;
            done = Some(country.clone());
        }
        if countries.len() == AT_ONCE {
            turn.schedule("inform", turn.now, &Inform { after: done, network: 0 })?;
        }
        Ok(())
    }
}
