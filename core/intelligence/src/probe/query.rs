//! The questions that a shard answers.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::record::{self, DAYS, DomainReadings, Hour, LATEST, LatestReading, NODES, Node, NodeKey};
use crate::Result;
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use engine::time::DAY;

/// Nodes of one shard that the page of a domain lists, at most.
const MAX_NODES: usize = 5_000;
/// Rows that one question about a domain reads, at most.
const MAX_ROWS: usize = 20_000;

/// Finds a node by its id, or by its name on the page of nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindNode {
    pub id: String,
}

impl Query for FindNode {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "find";
    type Reply = Option<(NodeKey, Node)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        record::find(view, &self.id)
    }
}

/// Returns the node if the token belongs to it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Check {
    pub key: NodeKey,
    pub token_hash: [u8; 32],
}

impl Query for Check {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "check";
    type Reply = Option<Node>;

    fn run(self, view: &View<'_>) -> Result<Option<Node>> {
        let node = NODES.get(view, &(self.key,))?;
        Ok(node.filter(|node| bool::from(node.token_hash.ct_eq(&self.token_hash))))
    }
}

impl Hour {
    /// Adds the readings of another `Hour`.
    pub fn add(&mut self, more: Hour) {
        (self.total, self.blocked) = (self.total + more.total, self.blocked + more.blocked);
        more.methods.into_iter().for_each(|(method, n)| *self.methods.entry(method).or_default() += n);
        self.found.iter_mut().zip(more.found).for_each(|(sum, found)| *sum += found);
    }
}

/// The measurements of a domain in the last 24 hours, by node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DomainNow {
    pub domain: String,
}

impl Query for DomainNow {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "domain_now";
    type Reply = Vec<(NodeKey, Node, LatestReading)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found = Vec::new();
        let rows = LATEST.scan(view, &LATEST.prefix(&(self.domain,)), Direction::Ascending, MAX_NODES)?;
        for ((_, key), latest) in rows.into_iter().filter(|(_, row)| view.now.since(row.reading.at) <= DAY) {
            if let Some(node) = NODES.get(view, &(key,))? {
                found.push((key, node, latest));
            }
        }
        Ok(found)
    }
}

/// The daily counts of a domain by country, from a given day on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DomainDays {
    pub domain: String,
    pub from: u32,
}

impl Query for DomainDays {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "domain_days";
    type Reply = Vec<(u32, String, DomainReadings)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let range = DAYS.between(&(self.domain.clone(), self.from), &(self.domain, u32::MAX));
        let rows = DAYS.scan(view, &range, Direction::Ascending, MAX_ROWS)?;
        Ok(rows.into_iter().map(|((_, day, country), row)| (day, country, row)).collect())
    }
}
