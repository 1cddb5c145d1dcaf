//! The tables of a shard, and the operations that change them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::wire::Reading;
use super::{
    ADVISORY, ALIAS, DOMAINS_PER_NODE, ID, NodePage, ROWS_PER_DAY, SHARDS, board, bytes_of, named, shard_of_bytes,
    vote_key,
};
use crate::country::probed::{AddProbed, ProbeStanding, SetProbe};
use crate::import::group::Groups;
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Read, Row, StoreError, Table, appended};
use engine::time::{DAY, HOUR};
use facts::source::Source;
use facts::starter;

/// The bytes of a node's id, which identify the node.
pub type NodeKey = [u8; 8];

/// A node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub token_hash: [u8; 32],
    /// ISO 3166 alpha-2, or `XX` when the node does not state it.
    pub country: String,
    pub city: Option<String>,
    pub version: Option<String>,
    pub label: Option<String>,
    /// Number of the network that the node states.
    pub asn: Option<u32>,
    pub standing: ProbeStanding,
    pub registered: Timestamp,
    pub last_seen: Option<Timestamp>,
    /// Rows that were taken, and how many of them say that a site is blocked.
    pub total: u64,
    pub blocked: u64,
    /// Blocked measurements that other nodes confirm.
    pub confirmed: u64,
    pub agreed: u64,
    pub disagreed: u64,
    /// 0-1, as computed by the country of the node.
    pub trust: f64,
    /// Moving mean of the latency, milliseconds; 0 before anything was measured.
    pub latency: f64,
    /// The day of the last submission, and the number of rows on that day.
    pub day: i64,
    pub of_day: u32,
    pub domains: u32,
    /// Random names, one for each [`NodePage`].
    pub aliases: [NodeKey; 4],
    /// The name under which its owner claimed it.
    pub claimed_by: Option<String>,
}
impl Row for Node {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> std::result::Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

impl Node {
    /// Whether public pages show the node under other names, because its country is on the advisory list.
    pub fn is_shielded(&self) -> bool {
        ADVISORY.contains(&self.country.as_str())
    }

    pub fn is_suspended(&self) -> bool {
        self.standing == ProbeStanding::Suspended
    }

    /// The name of the node on a public page.
    pub fn shown(&self, key: &NodeKey, page: NodePage) -> String {
        match self.aliases.get(page as usize).filter(|_| self.is_shielded()) {
            Some(alias) => named(ALIAS, alias),
            None => named(ID, key),
        }
    }
}

/// The latest reading of a domain by a node, and its number of readings in each hour of the last day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatestReading {
    pub reading: Reading,
    /// Hour since the epoch, readings, readings that say blocked.
    pub hours: Vec<(i64, u32, u32)>,
}
impl Row for LatestReading {}

/// Readings of an hour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hour {
    pub total: u64,
    pub blocked: u64,
    /// Blocked readings by method.
    pub methods: BTreeMap<String, u64>,
    /// Findings of each kind: SNI, DNS, TCP, TLS, HTTP, certificate.
    pub found: [u64; 6],
}
impl Row for Hour {}

/// Readings of a domain in a country on one day.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainReadings {
    pub total: u64,
    pub blocked: u64,
    /// Blocked readings by method.
    pub methods: BTreeMap<String, u64>,
}
impl Row for DomainReadings {}

/// The result of a submission. It is kept so that a repeated submission gets the same answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionCounts {
    pub accepted: u32,
    /// All rows of a submission that came before.
    pub duplicates: u32,
    pub rejected: u32,
}
impl Row for SubmissionCounts {}

pub(super) const NODES: Table<(NodeKey,), Node> = Table::new(16);
/// The node behind each name on the page of nodes.
pub(super) const ALIASES: Table<(NodeKey,), Vec<u8>> = Table::new(17);
/// Submissions by node and hash of their id, and the same by time.
const SEEN: Table<(NodeKey, [u8; 16]), SubmissionCounts> = Table::new(18);
const SEEN_AT: Table<(Timestamp, NodeKey, [u8; 16]), ()> = Table::new(19);
pub(super) const LATEST: Table<(String, NodeKey), LatestReading> = Table::new(20);
pub(super) const DAYS: Table<(String, u32, String), DomainReadings> = Table::new(21);
/// By hour since the epoch.
pub(super) const HOURS: Table<(i64,), Hour> = Table::new(22);
/// Readings of all time.
pub(super) const TOTAL: Table<(), u64> = Table::new(23);
/// The position of the sweep: the last key that it looked at, and in which table.
const CURSOR: Table<(), Cursor> = Table::new(24);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    latest: Option<(String, NodeKey)>,
    day: Option<(String, u32, String)>,
    node: Option<NodeKey>,
}
impl Row for Cursor {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> std::result::Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

/// How long submissions are remembered. Clients repeat a submission for 24 hours.
const SEEN_FOR: i64 = 3 * DAY;
/// How long the latest reading of a node is kept when no newer one comes, in microseconds.
const LATEST_FOR: i64 = 90 * DAY;
/// When a node is forgotten, in microseconds: after its registration if it never submitted anything, or else after its
/// last submission. A node whose standing the operator set stays.
const UNUSED_FOR: i64 = 30 * DAY;
const SILENT_FOR: i64 = 400 * DAY;
/// Days that the history of a domain covers.
pub const HISTORY_DAYS: u32 = 366;
/// Rows of each table that one run of the sweep looks at.
const AT_ONCE: usize = 200;
/// Key of the timer.
const TIMER: &str = "sweep";

fn unknown() -> Error {
    Error::unauthorized("The node token is not valid.")
}

/// Registers a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Register {
    pub key: NodeKey,
    pub token_hash: [u8; 32],
    pub country: String,
    pub city: Option<String>,
    pub version: Option<String>,
    pub label: Option<String>,
    pub asn: Option<u32>,
}

impl Operation for Register {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "register";
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        if NODES.contains(turn, &(self.key,))? {
            return Err(Error::conflict("A node with this id exists already."));
        }
        let [shard, ..] = self.key;
        let mut aliases = [[0; 8]; 4];
        for alias in &mut aliases {
            *alias = turn.random();
            // The alias must name the same shard as the id, because requests find the shard by it.
            let [first, ..] = alias;
            *first = (*first & !(SHARDS - 1)) | (shard % SHARDS);
        }
        let [of_nodes, ..] = aliases;
        ALIASES.put(turn, &(of_nodes,), &self.key.to_vec())?;
        let node = Node {
            token_hash: self.token_hash,
            country: self.country,
            city: self.city,
            version: self.version,
            label: self.label,
            asn: self.asn,
            standing: ProbeStanding::Normal,
            registered: turn.now,
            last_seen: None,
            total: 0,
            blocked: 0,
            confirmed: 0,
            agreed: 0,
            disagreed: 0,
            trust: 0.5,
            latency: 0.0,
            day: 0,
            of_day: 0,
            domains: 0,
            aliases,
            claimed_by: None,
        };
        NODES.put(turn, &(self.key,), &node)?;
        sweep_soon(turn)?;
        Ok(turn.now)
    }
}

/// Takes the measurements of a node, once for each submission id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Submit {
    pub key: NodeKey,
    pub token_hash: [u8; 32],
    /// Hash of the submission id.
    pub submission: [u8; 16],
    /// Hash of the address block that the submission came from.
    pub block: u64,
    /// Used for a node that registered without a country.
    pub country: Option<String>,
    /// Number of the network that the submission came from, where the platform knows it. It replaces the number that
    /// the node stated.
    pub network: Option<u32>,
    pub readings: Vec<Reading>,
    /// Rows that could not be read.
    pub rejected: u32,
}

impl Operation for Submit {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "submit";
    type Reply = SubmissionCounts;

    fn run(self, turn: &mut Turn<'_>) -> Result<SubmissionCounts> {
        let mut node = NODES.get(turn, &(self.key,))?.ok_or_else(unknown)?;
        if !bool::from(node.token_hash.ct_eq(&self.token_hash)) {
            return Err(unknown());
        }
        let id = (self.key, self.submission);
        if let Some(before) = SEEN.get(turn, &id)? {
            return Ok(SubmissionCounts { accepted: 0, duplicates: before.accepted + before.duplicates, ..before });
        }
        if let (true, Some(country)) = (node.country == "XX", &self.country) {
            node.country.clone_from(country);
        }
        node.asn = self.network.or(node.asn);
        let mut outcome = SubmissionCounts { rejected: self.rejected, ..SubmissionCounts::default() };
        let mut taken = Vec::with_capacity(self.readings.len());
        if node.day != turn.now.day() {
            (node.day, node.of_day) = (turn.now.day(), 0);
        }
        for reading in self.readings {
            match node.of_day < ROWS_PER_DAY && keep(turn, &self.key, &mut node, &reading)? {
                true => taken.push(reading),
                false => outcome.rejected += 1,
            }
        }
        outcome.accepted = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        node.last_seen = Some(turn.now);
        SEEN.put(turn, &id, &outcome)?;
        SEEN_AT.put(turn, &(turn.now, self.key, self.submission), &())?;
        NODES.put(turn, &(self.key,), &node)?;
        count(turn, &taken)?;
        tell(turn, &self.key, &node, self.block, &taken)?;
        board::changed(turn, &self.key)?;
        sweep_soon(turn)?;
        Ok(outcome)
    }
}

fn sweep_soon(turn: &mut Turn<'_>) -> Result<()> {
    match turn.scheduled(TIMER)? {
        Some(_) => Ok(()),
        None => turn.schedule(TIMER, turn.now.plus(HOUR), &SweepReadings),
    }
}

/// Keeps one reading. Returns `false` when the node has no room for another domain.
fn keep(turn: &mut Turn<'_>, key: &NodeKey, node: &mut Node, reading: &Reading) -> Result<bool> {
    let place = (reading.target.clone(), *key);
    let hour = reading.at.hour();
    let mut row = match LATEST.get(turn, &place)? {
        Some(row) => row,
        None if node.domains >= DOMAINS_PER_NODE => return Ok(false),
        None => {
            node.domains += 1;
            LatestReading { reading: reading.clone(), hours: Vec::new() }
        }
    };
    if reading.at >= row.reading.at {
        row.reading = reading.clone();
    }
    let blocked = u32::from(reading.blocked());
    match row.hours.iter_mut().find(|(known, ..)| *known == hour) {
        Some((_, total, lost)) => (*total, *lost) = (*total + 1, *lost + blocked),
        None => row.hours.push((hour, 1, blocked)),
    }
    let oldest = turn.now.hour() - 24;
    row.hours.retain(|(hour, ..)| *hour > oldest);
    LATEST.put(turn, &place, &row)?;
    node.of_day += 1;
    node.total += 1;
    node.blocked += u64::from(blocked);
    if let Some(latency) = reading.latency_ms.map(f64::from) {
        node.latency = if node.latency == 0.0 { latency } else { 0.9 * node.latency + 0.1 * latency };
    }
    Ok(true)
}

/// Adds the readings to the sums by hour and by day.
fn count(turn: &mut Turn<'_>, taken: &[Reading]) -> Result<()> {
    let mut hours: BTreeMap<i64, Hour> = BTreeMap::new();
    for reading in taken {
        let hour = hours.entry(reading.at.hour()).or_default();
        hour.total += 1;
        hour.blocked += u64::from(reading.blocked());
        if let Some(method) = reading.method() {
            *hour.methods.entry(method.to_owned()).or_default() += 1;
        }
        hour.found.iter_mut().zip(reading.found()).for_each(|(sum, found)| *sum += u64::from(found));
    }
    for (hour, more) in hours {
        let mut row = HOURS.get(turn, &(hour,))?.unwrap_or_default();
        (row.total, row.blocked) = (row.total + more.total, row.blocked + more.blocked);
        more.methods.into_iter().for_each(|(method, n)| *row.methods.entry(method).or_default() += n);
        row.found.iter_mut().zip(more.found).for_each(|(sum, found)| *sum += found);
        HOURS.put(turn, &(hour,), &row)?;
    }
    let total = TOTAL.get(turn, &())?.unwrap_or_default();
    Ok(TOTAL.put(turn, &(), &(total + taken.len() as u64))?)
}

/// Adds the readings to the history of their domains, and sends them to the country.
fn tell(turn: &mut Turn<'_>, key: &NodeKey, node: &Node, block: u64, taken: &[Reading]) -> Result<()> {
    for reading in taken {
        let day = u32::try_from(reading.at.day()).unwrap_or(0);
        let place = (reading.target.clone(), day, node.country.clone());
        let mut row = match DAYS.get(turn, &place)? {
            Some(row) => row,
            None => {
                board::measured(turn, &reading.target)?;
                DomainReadings::default()
            }
        };
        row.total += 1;
        row.blocked += u64::from(reading.blocked());
        if let Some(method) = reading.method() {
            *row.methods.entry(method.to_owned()).or_default() += 1;
        }
        DAYS.put(turn, &place, &row)?;
    }
    let known = starter::Country::by_code(&node.country);
    let Some(country) = known.filter(|_| node.standing != ProbeStanding::Suspended) else { return Ok(()) };
    let id = named(ID, key);
    let mut groups = Groups::default();
    for parsed in taken.iter().filter_map(|reading| reading.parsed(&id, country.code, node.asn)) {
        groups.add(parsed);
    }
    for (country, folds) in groups.folds(Source::Probe, 0) {
        for fold in folds {
            let add = AddProbed { node: id.clone(), key: vote_key(&id), block, cells: fold.cells };
            turn.send(country.clone(), &add)?;
        }
    }
    Ok(())
}

/// Results of comparisons with other nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TakeComparisons {
    pub agreed: u32,
    pub disagreed: u32,
    /// Blocked measurements that other nodes confirm.
    pub confirmed: u32,
}

/// Sets the trust that a country computed for a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetTrust {
    pub node: String,
    /// 0-1.
    pub trust: f64,
    pub compared: TakeComparisons,
}

impl Operation for SetTrust {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "set_trust";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(key) = bytes_of(&self.node) else { return Ok(()) };
        let Some(mut node) = NODES.get(turn, &(key,))? else { return Ok(()) };
        node.trust = self.trust;
        node.agreed += u64::from(self.compared.agreed);
        node.disagreed += u64::from(self.compared.disagreed);
        node.confirmed += u64::from(self.compared.confirmed);
        NODES.put(turn, &(key,), &node)?;
        board::changed(turn, &key)
    }
}

/// Changes that the operator makes to a node. Absent members stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OperateNode {
    pub key: NodeKey,
    pub standing: Option<ProbeStanding>,
    pub asn: Option<u32>,
}

impl Operation for OperateNode {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "operate";
    type Reply = Node;

    fn run(self, turn: &mut Turn<'_>) -> Result<Node> {
        let mut node = NODES.get(turn, &(self.key,))?.ok_or_else(|| Error::not_found("There is no such node."))?;
        node.asn = self.asn.or(node.asn);
        node.standing = self.standing.unwrap_or(node.standing);
        NODES.put(turn, &(self.key,), &node)?;
        board::changed(turn, &self.key)?;
        if let (Some(standing), Some(country)) = (self.standing, starter::Country::by_code(&node.country)) {
            let id = named(ID, &self.key);
            turn.send(country.code, &SetProbe { key: vote_key(&id), node: id, standing })?;
        }
        Ok(node)
    }
}

/// Claims a node under a handle, if the token belongs to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClaimNode {
    pub key: NodeKey,
    pub token_hash: [u8; 32],
    /// `None` gives the claim up.
    pub handle: Option<String>,
}

impl Operation for ClaimNode {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "claim";
    /// The node; `None` when the token does not belong to it.
    type Reply = Option<Node>;

    fn run(self, turn: &mut Turn<'_>) -> Result<Option<Node>> {
        let node = NODES.get(turn, &(self.key,))?;
        let Some(node) = node.filter(|node| bool::from(node.token_hash.ct_eq(&self.token_hash))) else {
            return Ok(None);
        };
        let node = Node { claimed_by: self.handle, ..node };
        NODES.put(turn, &(self.key,), &node)?;
        board::changed(turn, &self.key)?;
        Ok(Some(node))
    }
}

/// Removes rows that are too old, some at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SweepReadings;

impl Operation for SweepReadings {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "sweep";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let now = turn.now;
        let old = SEEN_AT.between(&(), &(now.plus(-SEEN_FOR),));
        let seen = SEEN_AT.scan(turn, &old, Direction::Ascending, AT_ONCE)?;
        for (key, ()) in &seen {
            SEEN_AT.delete(turn, key);
            SEEN.delete(turn, &(key.1, key.2));
        }
        let old = HOURS.between(&(), &(now.hour() - 48,));
        for (key, _) in HOURS.scan(turn, &old, Direction::Ascending, AT_ONCE)? {
            HOURS.delete(turn, &key);
        }
        let cursor = CURSOR.get(turn, &())?.unwrap_or_default();
        let next = Cursor {
            latest: latest(turn, cursor.latest)?,
            day: days(turn, cursor.day)?,
            node: silent(turn, cursor.node)?,
        };
        let more = seen.len() == AT_ONCE || next != Cursor::default();
        CURSOR.put(turn, &(), &next)?;
        // The sweep runs once a minute until it has gone through all rows, then it rests for an hour.
        turn.schedule(TIMER, now.plus(if more { HOUR / 60 } else { HOUR }), &SweepReadings)
    }
}

/// Removes old readings among the next rows. Returns the key to go on from.
fn latest(turn: &mut Turn<'_>, after: Option<(String, NodeKey)>) -> Result<Option<(String, NodeKey)>> {
    let range = after.map_or(LATEST.range(), |after| LATEST.after(LATEST.range(), &after));
    let rows = LATEST.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
    let last = rows.last().map(|(key, _)| key.clone()).filter(|_| rows.len() == AT_ONCE);
    for (key, row) in rows {
        if turn.now.since(row.reading.at) <= LATEST_FOR {
            continue;
        }
        LATEST.delete(turn, &key);
        if let Some(mut node) = NODES.get(turn, &(key.1,))? {
            node.domains = node.domains.saturating_sub(1);
            NODES.put(turn, &(key.1,), &node)?;
        }
    }
    Ok(last)
}

/// Removes old days among the next rows. Returns the key to go on from.
fn days(turn: &mut Turn<'_>, after: Option<(String, u32, String)>) -> Result<Option<(String, u32, String)>> {
    let range = after.map_or(DAYS.range(), |after| DAYS.after(DAYS.range(), &after));
    let rows = DAYS.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
    let last = rows.last().map(|(key, _)| key.clone()).filter(|_| rows.len() == AT_ONCE);
    let oldest = u32::try_from(turn.now.day()).unwrap_or(0).saturating_sub(HISTORY_DAYS);
    for (key, _) in rows.into_iter().filter(|((_, day, _), _)| *day < oldest) {
        DAYS.delete(turn, &key);
    }
    Ok(last)
}

/// Forgets long silent nodes among the next rows. Returns the key to go on from. The measurements of a forgotten node
/// stay with its country.
fn silent(turn: &mut Turn<'_>, after: Option<NodeKey>) -> Result<Option<NodeKey>> {
    let range = after.map_or(NODES.range(), |after| NODES.after(NODES.range(), &(after,)));
    let rows = NODES.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
    let last = rows.last().map(|((key,), _)| *key).filter(|_| rows.len() == AT_ONCE);
    for ((key,), node) in rows {
        let (since, patience) = node.last_seen.map_or((node.registered, UNUSED_FOR), |seen| (seen, SILENT_FOR));
        if node.standing != ProbeStanding::Normal || turn.now.since(since) <= patience {
            continue;
        }
        NODES.delete(turn, &(key,));
        let [of_nodes, ..] = node.aliases;
        ALIASES.delete(turn, &(of_nodes,));
        board::changed(turn, &key)?;
    }
    Ok(last)
}

/// The node with this id, or with this name on the page of nodes.
pub(super) fn find(view: &(impl Read + ?Sized), text: &str) -> Result<Option<(NodeKey, Node)>> {
    let Some(bytes) = bytes_of(text) else { return Ok(None) };
    let key = match text.starts_with(ALIAS) {
        false => Some(bytes),
        true => ALIASES.get(view, &(bytes,))?.and_then(|key| key.try_into().ok()),
    };
    let Some(key) = key else { return Ok(None) };
    Ok(NODES.get(view, &(key,))?.map(|node| (key, node)))
}

/// The shard of a node.
pub fn shard(key: &NodeKey) -> String {
    shard_of_bytes(key)
}
