//! The board of the probe network: an actor that knows all nodes and the sums of all shards. It serves the pages that
//! are not about a single node or domain.
//!
//! It is an actor of the same kind as the shards, named `probe/main`. Each shard sends it the nodes that changed and
//! the present sums of the shard: at most once a minute, or once in six publish intervals (decision counts-in-memory).
//! So a list takes one read of one actor, however many shards there are, and the two pages about the whole network are
//! documents (decision published-documents). A shard always sends whole sums, never differences, so a message that
//! comes twice changes nothing.
//!
//! The board keeps its nodes in the same table as the shards, without the hashes of their tokens.

use serde::{Deserialize, Serialize};

use super::record::{HISTORY_DAYS, HOURS, Hour, NODES, Node, NodeKey, TOTAL};
use crate::{Result, Timestamp};
use engine::actor::{ActorId, Kind, Operation, Query, Turn, View};
use engine::kv::{Desc, Direction, Read, Row, Table};
use engine::time::{DAY, MINUTE, SECOND};

/// Prefixes of the documents that the board publishes.
pub const NETWORK: &str = "probe-network";
pub const STATS: &str = "probe-stats";

/// The board.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Probe)
}

/// A shard reports its changes at most once in this many publish intervals: once a minute by default.
const INTERVALS: i64 = 6;
/// Nodes in one report, at most; also domains in one report, at most.
const AT_ONCE: usize = 200;
/// Nodes that a shard puts into its first report, at most. They are in files written before there was a board.
const AT_FIRST: usize = 500;
/// Key of the timer on which a shard reports, and on which the board makes its pages anew.
const TIMER: &str = "board";
/// How often the pages are made anew while nodes submit. The status of a node changes with time alone.
const PAGES: i64 = 15 * MINUTE;
/// Domains that one run of the timer checks for their age.
const SWEEP: usize = 500;
/// Nodes on a page, at most. Those that submitted latest come first.
const MAX_NODES: usize = 10_000;

// In a shard: changes that are not yet reported, and the time of the last report.
const UNTOLD: Table<(NodeKey,), ()> = Table::new(25);
const UNTOLD_DOMAINS: Table<(String,), ()> = Table::new(26);
const TOLD: Table<(), Timestamp> = Table::new(27);

// On the board.
const BY_TOTAL: Table<(Desc<u64>, NodeKey), ()> = Table::new(30);
const BY_SEEN: Table<(Desc<Timestamp>, NodeKey), ()> = Table::new(31);
/// The last day on which each domain was measured.
const DOMAINS: Table<(String,), u64> = Table::new(32);
const DOMAIN_COUNT: Table<(), u64> = Table::new(33);
/// By shard.
const SUMS: Table<(String,), Sums> = Table::new(34);
/// How far the sweep of domains has come.
const CURSOR: Table<(), String> = Table::new(35);

/// Notes that a node changed, and reports it to the board: at once, or when a minute has passed since the last report.
pub(super) fn changed(turn: &mut Turn<'_>, key: &NodeKey) -> Result<()> {
    UNTOLD.put(turn, &(*key,), &())?;
    if turn.scheduled(TIMER)?.is_some() {
        return Ok(());
    }
    let interval = INTERVALS * i64::from(turn.settings.publish_interval) * SECOND;
    let due = TOLD.get(turn, &())?.map(|told| told.plus(interval));
    match due.filter(|due| *due > turn.now) {
        Some(due) => turn.schedule(TIMER, due, &Touch),
        None => tell(turn),
    }
}

/// Notes the first measurement of a domain on a day. It is reported together with the node that measured.
pub(super) fn measured(turn: &mut Turn<'_>, domain: &str) -> Result<()> {
    Ok(UNTOLD_DOMAINS.put(turn, &(domain.to_owned(),), &())?)
}

fn tell(turn: &mut Turn<'_>) -> Result<()> {
    if TOLD.get(turn, &())?.is_none() {
        for (key, _) in NODES.scan(turn, &NODES.range(), Direction::Ascending, AT_FIRST)? {
            UNTOLD.put(turn, &key, &())?;
        }
    }
    let now = turn.now;
    TOLD.put(turn, &(), &now)?;
    let mut nodes = Vec::new();
    for (key, ()) in UNTOLD.scan(turn, &UNTOLD.range(), Direction::Ascending, AT_ONCE)? {
        UNTOLD.delete(turn, &key);
        nodes.push((key.0, NODES.get(turn, &key)?.map(|node| Node { token_hash: [0; 32], ..node })));
    }
    let mut domains = Vec::new();
    for (key, ()) in UNTOLD_DOMAINS.scan(turn, &UNTOLD_DOMAINS.range(), Direction::Ascending, AT_ONCE)? {
        UNTOLD_DOMAINS.delete(turn, &key);
        domains.push(key.0);
    }
    let more = nodes.len() == AT_ONCE || domains.len() == AT_ONCE;
    let young = HOURS.between(&(turn.now.hour() - 23,), &(turn.now.hour() + 2,));
    let hours = HOURS.scan(turn, &young, Direction::Ascending, 48)?.into_iter().map(|((hour,), row)| (hour, row));
    let sums = Sums { total: TOTAL.get(turn, &())?.unwrap_or_default(), hours: hours.collect() };
    let shard = turn.actor().name.clone();
    turn.send(actor().name, &Tell { shard, nodes, domains, sums })?;
    if more { turn.schedule(TIMER, turn.now.plus(SECOND), &Touch) } else { Ok(()) }
}

/// The timer of a shard: it is time for the next report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Touch;

impl Operation for Touch {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "touch";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        tell(turn)
    }
}

/// Sums of a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// Readings of all time.
    pub total: u64,
    /// Readings of the last day, by hour since the epoch.
    pub hours: Vec<(i64, Hour)>,
}
impl Row for Sums {}

/// A report of a shard to the board.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tell {
    pub shard: String,
    /// Changed nodes as they are now; `None` for a node that was removed.
    pub nodes: Vec<(NodeKey, Option<Node>)>,
    /// Domains that were measured.
    pub domains: Vec<String>,
    pub sums: Sums,
}

impl Operation for Tell {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "tell";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (key, node) in self.nodes {
            enter(turn, key, node)?;
        }
        let today = u64::try_from(turn.now.day()).unwrap_or(0);
        let mut count = DOMAIN_COUNT.get(turn, &())?.unwrap_or_default();
        for domain in self.domains {
            let key = (domain,);
            count += u64::from(!DOMAINS.contains(turn, &key)?);
            DOMAINS.put(turn, &key, &today)?;
        }
        DOMAIN_COUNT.put(turn, &(), &count)?;
        SUMS.put(turn, &(self.shard,), &self.sums)?;
        publish(turn)?;
        match turn.scheduled(TIMER)? {
            Some(due) if due <= turn.now.plus(PAGES) => Ok(()),
            _ => turn.schedule(TIMER, turn.now.plus(PAGES), &Turned),
        }
    }
}

fn publish(turn: &mut Turn<'_>) -> Result<()> {
    turn.publish(NETWORK)?;
    turn.publish(STATS)
}

/// Puts a node into the tables of the board. A node that never submitted anything is on no page, so it is left out.
fn enter(turn: &mut Turn<'_>, key: NodeKey, node: Option<Node>) -> Result<()> {
    if let Some(before) = NODES.get(turn, &(key,))? {
        BY_TOTAL.delete(turn, &(Desc(before.total), key));
        before.last_seen.into_iter().for_each(|seen| BY_SEEN.delete(turn, &(Desc(seen), key)));
    }
    match node.and_then(|node| Some((node.last_seen?, node))) {
        Some((seen, node)) => {
            BY_TOTAL.put(turn, &(Desc(node.total), key), &())?;
            BY_SEEN.put(turn, &(Desc(seen), key), &())?;
            Ok(NODES.put(turn, &(key,), &node)?)
        }
        None => {
            NODES.delete(turn, &(key,));
            Ok(())
        }
    }
}

/// Makes the pages anew, and forgets some domains that nobody measured for a year.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turned;

impl Operation for Turned {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "turned";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let range = match CURSOR.get(turn, &())? {
            Some(after) => DOMAINS.after(DOMAINS.range(), &(after,)),
            None => DOMAINS.range(),
        };
        let rows = DOMAINS.scan(turn, &range, Direction::Ascending, SWEEP)?;
        match rows.last().filter(|_| rows.len() == SWEEP) {
            Some(((last,), _)) => CURSOR.put(turn, &(), last)?,
            None => CURSOR.delete(turn, &()),
        }
        let oldest = u64::try_from(turn.now.day()).unwrap_or(0).saturating_sub(u64::from(HISTORY_DAYS));
        let mut count = DOMAIN_COUNT.get(turn, &())?.unwrap_or_default();
        for (key, _) in rows.into_iter().filter(|(_, day)| *day < oldest) {
            DOMAINS.delete(turn, &key);
            count = count.saturating_sub(1);
        }
        DOMAIN_COUNT.put(turn, &(), &count)?;
        publish(turn)?;
        // After a day without submissions the pages change only slowly.
        let newest = BY_SEEN.first(turn, &BY_SEEN.range())?.map(|((Desc(seen), _), ())| seen);
        let lively = newest.is_some_and(|seen| turn.now.since(seen) <= DAY + PAGES);
        turn.schedule(TIMER, turn.now.plus(if lively { PAGES } else { DAY }), &Turned)
    }
}

/// The nodes that submitted after a time, the latest first: how many there are, and at most `limit` of them.
pub(super) fn latest(
    view: &(impl Read + ?Sized),
    since: Timestamp,
    limit: usize,
) -> Result<(usize, Vec<(NodeKey, Node)>)> {
    let (mut total, mut keys) = (0, Vec::new());
    BY_SEEN.visit(view, BY_SEEN.range(), Direction::Ascending, |(Desc(seen), key), ()| {
        if seen <= since {
            return Ok(false);
        }
        total += 1;
        if keys.len() < limit {
            keys.push(key);
        }
        Ok(true)
    })?;
    Ok((total, read(view, keys)?))
}

fn read(view: &(impl Read + ?Sized), keys: Vec<NodeKey>) -> Result<Vec<(NodeKey, Node)>> {
    let mut nodes = Vec::with_capacity(keys.len());
    for key in keys {
        nodes.extend(NODES.get(view, &(key,))?.map(|node| (key, node)));
    }
    Ok(nodes)
}

/// The contents of the pages about the network.
pub(super) struct Overview {
    /// How many nodes submitted since the given time, and the latest of them.
    pub total: usize,
    pub nodes: Vec<(NodeKey, Node)>,
    /// Readings of all time, and those of the last 24 hours including the present hour.
    pub readings: u64,
    pub day: Hour,
    /// Domains with a measurement in the last year.
    pub domains: u64,
}

impl Overview {
    pub fn of(view: &View<'_>, since: Timestamp) -> Result<Overview> {
        let (total, nodes) = latest(view, since, MAX_NODES)?;
        let (mut readings, mut day) = (0, Hour::default());
        for (_, sums) in SUMS.scan(view, &SUMS.range(), Direction::Ascending, usize::from(super::SHARDS))? {
            readings += sums.total;
            let oldest = view.now.hour() - 23;
            sums.hours.into_iter().filter(|(hour, _)| *hour >= oldest).for_each(|(_, hour)| day.add(hour));
        }
        let domains = DOMAIN_COUNT.get(view, &())?.unwrap_or_default();
        Ok(Overview { total, nodes, readings, day, domains })
    }
}

/// The nodes that submitted after a time, the latest first, and how many there are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadLatestNodes {
    pub since: Timestamp,
    pub limit: u32,
}

impl Query for ReadLatestNodes {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "latest";
    type Reply = (usize, Vec<(NodeKey, Node)>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        latest(view, self.since, self.limit as usize)
    }
}

/// The nodes with the most submitted rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Foremost {
    pub limit: u32,
}

impl Query for Foremost {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "foremost";
    type Reply = Vec<(NodeKey, Node)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let (mut nodes, limit) = (Vec::new(), self.limit as usize);
        BY_TOTAL.visit(view, BY_TOTAL.range(), Direction::Ascending, |(_, key), ()| {
            nodes.extend(NODES.get(view, &(key,))?.filter(|node| !node.is_suspended()).map(|node| (key, node)));
            Ok(nodes.len() < limit)
        })?;
        Ok(nodes)
    }
}
