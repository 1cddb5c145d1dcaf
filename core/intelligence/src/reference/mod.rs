//! Imported reference data: networks, fingerprints, test lists, platforms of target lists.
//!
//! One actor holds them. A country announces the networks that occur in its measurements. It gets their names and
//! numbers of addresses at once, and again whenever the table changes. All countries get the sites that the index
//! needs. A block list is about one country, so the actor of that country keeps it ([`crate::country`]).
//!
//! | Module | What |
//! |---|---|
//! | `fingerprints` | signatures of block pages |
//! | `inform` | sending countries what they need; removing reference data |
//! | `targets` | platforms of target lists |

mod fingerprints;
mod inform;
mod targets;

pub use fingerprints::{AddFingerprints, FingerprintSet, fingerprint_lines, fingerprints};
pub use inform::{Announce, AnnounceEvents, CountriesOf, DropReference, Inform, Interested, Reference, ReferenceEpoch};
pub use targets::{
    AddTargets, ListedOwner, ListedPlatforms, ListedTarget, Owner, TargetList, label, owner, owners, platform,
    platforms, read as read_targets, subject,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analytics::SetCategories;
use crate::country::{Catalogue, SetCatalogue};
use crate::{Error, Result};
use engine::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Row, Table};

pub const ENTRIES: &[Entry] = &[
    operation::<AddNetworks>(),
    operation::<AddList>(),
    operation::<AddFingerprints>(),
    operation::<AddTargets>(),
    operation::<Announce>(),
    operation::<AnnounceEvents>(),
    operation::<Inform>(),
    operation::<DropReference>(),
    query::<Interested>(),
    query::<CountriesOf>(),
    query::<ReferenceEpoch>(),
    query::<FingerprintSet>(),
    query::<ReadLists>(),
    query::<ReadSites>(),
    query::<Names>(),
    query::<ListedPlatforms>(),
    query::<ListedOwner>(),
];

/// The one reference actor.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Reference)
}

/// A network in the imported table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkEntry {
    pub name: String,
    /// IPv4 addresses; 0 when the table has no such column.
    pub addresses: u64,
}

/// The row of the network table that holds a number. An import changes a limited number of rows per operation.
pub const fn block_of(asn: u32) -> u32 {
    asn / BLOCK
}

/// A row of the network table: 256 consecutive numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Block(BTreeMap<u32, NetworkEntry>);
impl Row for Block {}

/// The sites of one test list with their categories.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SiteList(BTreeMap<String, String>);
impl Row for SiteList {}

const NETWORKS: Table<(u32,), Block> = Table::new(16);
const LISTS: Table<(String,), SiteList> = Table::new(18);

const BLOCK: u32 = 256;
/// Most sites of one list. A list is one row.
const MAX_SITES: usize = 30_000;

/// How many of the given rows were stored before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownRows {
    pub known: u64,
}

/// Adds networks to the table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddNetworks {
    pub networks: Vec<(u32, NetworkEntry)>,
    pub dry_run: bool,
    /// Number of removals of the table when the import began.
    pub epoch: u64,
}

impl Operation for AddNetworks {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "add_networks";
    type Reply = KnownRows;

    fn run(self, turn: &mut Turn<'_>) -> Result<KnownRows> {
        Reference::Networks.check(turn, self.epoch)?;
        let mut blocks: BTreeMap<u32, Vec<(u32, NetworkEntry)>> = BTreeMap::new();
        for (asn, entry) in self.networks {
            blocks.entry(block_of(asn)).or_default().push((asn, entry));
        }
        let (mut known, mut changed) = (0, false);
        for (number, entries) in blocks {
            let before = NETWORKS.get(turn, &(number,))?.unwrap_or_default();
            let mut after = before.clone();
            for (asn, entry) in entries {
                known += u64::from(before.0.contains_key(&asn));
                after.0.insert(asn, entry);
            }
            if after != before && !self.dry_run {
                NETWORKS.put(turn, &(number,), &after)?;
                changed = true;
            }
        }
        if changed {
            inform::all(turn)?;
        }
        Ok(KnownRows { known })
    }
}

fn network(view: &impl Read, asn: u32) -> Result<Option<NetworkEntry>> {
    Ok(NETWORKS.get(view, &(block_of(asn),))?.and_then(|mut block| block.0.remove(&asn)))
}

/// Adds sites to a test list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddList {
    /// `global`, or the name of the list.
    pub list: String,
    /// Domain to category code.
    pub sites: BTreeMap<String, String>,
    pub dry_run: bool,
    /// Number of removals of test lists when the import began.
    pub epoch: u64,
}

impl Operation for AddList {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "add_list";
    type Reply = KnownRows;

    fn run(self, turn: &mut Turn<'_>) -> Result<KnownRows> {
        Reference::TestLists.check(turn, self.epoch)?;
        let before = LISTS.get(turn, &(self.list.clone(),))?.unwrap_or_default();
        let mut after = before.clone();
        let mut known = 0;
        for (domain, category) in self.sites {
            known += u64::from(before.0.get(&domain) == Some(&category));
            after.0.insert(domain, category);
        }
        if after.0.len() > MAX_SITES {
            return Err(Error::bad_request(format!("A test list has at most {MAX_SITES} sites.")));
        }
        if after != before && !self.dry_run {
            let changed = after.0.iter().filter(|(domain, category)| before.0.get(*domain) != Some(category));
            let changed = changed.map(|(domain, category)| (domain.clone(), category.clone())).collect();
            SetCategories::send(turn, &self.list, changed)?;
            LISTS.put(turn, &(self.list,), &after)?;
            inform::all(turn)?;
        }
        Ok(KnownRows { known })
    }
}

/// The catalogue that country actors need: the sites of the global list, the sites of any list with a category of
/// interest, and the listed platforms.
fn catalogue(view: &impl Read) -> Result<SetCatalogue> {
    use facts::starter::categories::{CONTROL, Focus};
    let mut catalogue = Catalogue::default();
    let mut political = std::collections::BTreeSet::new();
    let mut control = std::collections::BTreeSet::new();
    for ((list,), sites) in LISTS.scan(view, &LISTS.range(), Direction::Ascending, usize::MAX)? {
        for (domain, category) in &sites.0 {
            if Focus::of(category) == Some(Focus::PoliticalSpeech) {
                political.insert(domain.clone());
            } else if category == CONTROL {
                control.insert(domain.clone());
            }
        }
        if list == "global" {
            catalogue.global = sites.0.into_keys().collect();
        }
    }
    catalogue.platforms = targets::listed(view)?;
    catalogue.political = political.into_iter().collect();
    // A few control sites are enough to see that a network is broken. Reading all of them would cost every answer.
    Ok(SetCatalogue { catalogue, control: control.into_iter().take(20).collect() })
}

/// Names of the imported lists with their number of sites.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadLists;

impl Query for ReadLists {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "lists";
    type Reply = Vec<(String, u64)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(String, u64)>> {
        let rows = LISTS.scan(view, &LISTS.range(), Direction::Ascending, usize::MAX)?;
        Ok(rows.into_iter().map(|((list,), sites)| (list, sites.0.len() as u64)).collect())
    }
}

/// The first sites of a list with their categories.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadSites {
    pub list: String,
    pub limit: u32,
}

impl Query for ReadSites {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "sites";
    type Reply = Vec<(String, String)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(String, String)>> {
        let sites = LISTS.get(view, &(self.list,))?.unwrap_or_default().0;
        Ok(sites.into_iter().take(self.limit as usize).collect())
    }
}

/// The entries of some networks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Names {
    pub networks: Vec<u32>,
}

impl Query for Names {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "names";
    type Reply = Vec<(u32, NetworkEntry)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(u32, NetworkEntry)>> {
        let mut found = Vec::new();
        for asn in self.networks {
            found.extend(network(view, asn)?.map(|entry| (asn, entry)));
        }
        Ok(found)
    }
}
