//! What can be asked of a shard.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::record::{self, DAYS, Day, HOURS, Hour, LATEST, Latest, NODES, Node, NodeKey, TOTAL};
use crate::actor::{Kind, Query, View};
use crate::kv::Direction;
use crate::time::DAY;
use crate::{Result, Timestamp};

/// Nodes of a shard that a list looks at, at most.
const MAX_NODES: usize = 5_000;
/// Rows that one question about a domain reads, at most.
const MAX_ROWS: usize = 20_000;
/// Domains of a shard that are told apart.
const MAX_DOMAINS: usize = 5_000;

/// A node by its id, or by its name on the page of nodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Find {
    pub id: String,
}

impl Query for Find {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "find";
    type Reply = Option<(NodeKey, Node)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        record::find(view, &self.id)
    }
}

/// The node, if the token is its own.
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

/// Nodes that were heard of after a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Nodes {
    pub since: Timestamp,
}

impl Query for Nodes {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "nodes";
    type Reply = Vec<(NodeKey, Node)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut nodes = Vec::new();
        NODES.visit(view, NODES.range(), Direction::Ascending, |(key,), node| {
            if node.last_seen.is_some_and(|seen| seen > self.since) {
                nodes.push((key, node));
            }
            Ok(nodes.len() < MAX_NODES)
        })?;
        Ok(nodes)
    }
}

/// Sums of a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    pub total: u64,
    /// Of the last 24 hours, newest hour included.
    pub day: Hour,
    pub domains: Vec<String>,
}

/// The sums, with the domains when they are wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Overview {
    pub domains: bool,
}

impl Query for Overview {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "overview";
    type Reply = Sums;

    fn run(self, view: &View<'_>) -> Result<Sums> {
        let mut sums = Sums { total: TOTAL.get(view, &())?.unwrap_or_default(), ..Sums::default() };
        let young = HOURS.between(&(view.now.hour() - 23,), &(view.now.hour() + 2,));
        for (_, hour) in HOURS.scan(view, &young, Direction::Ascending, 48)? {
            sums.day.add(hour);
        }
        let mut range = DAYS.range();
        while self.domains && sums.domains.len() < MAX_DOMAINS {
            let Some(((domain, ..), _)) = DAYS.first(view, &range)? else { break };
            range.start = DAYS.prefix(&(domain.clone(),)).end.unwrap_or_default();
            sums.domains.push(domain);
        }
        Ok(sums)
    }
}

impl Hour {
    /// Adds the readings of another one.
    pub fn add(&mut self, more: Hour) {
        (self.total, self.blocked) = (self.total + more.total, self.blocked + more.blocked);
        more.methods.into_iter().for_each(|(method, n)| *self.methods.entry(method).or_default() += n);
        self.found.iter_mut().zip(more.found).for_each(|(sum, found)| *sum += found);
    }
}

/// What nodes measured of a domain in the last 24 hours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DomainNow {
    pub domain: String,
}

impl Query for DomainNow {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "domain_now";
    type Reply = Vec<(NodeKey, Node, Latest)>;

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

/// The days of a domain from one on, by country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DomainDays {
    pub domain: String,
    pub from: u32,
}

impl Query for DomainDays {
    const ACTOR: Kind = Kind::Probe;
    const NAME: &'static str = "domain_days";
    type Reply = Vec<(u32, String, Day)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let range = DAYS.between(&(self.domain.clone(), self.from), &(self.domain, u32::MAX));
        let rows = DAYS.scan(view, &range, Direction::Ascending, MAX_ROWS)?;
        Ok(rows.into_iter().map(|((_, day, country), row)| (day, country, row)).collect())
    }
}
