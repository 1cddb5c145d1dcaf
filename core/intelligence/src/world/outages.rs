//! Countries where something is blocked or cut off according to their active incidents, for the overview.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::documents::OVERVIEW;
use crate::Result;
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Row, Table};

/// How much of a country is cut off. The store keeps the place of a variant in this list, so a new variant comes last.
/// The order by severity is that of `Ord`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outage {
    Partial,
    /// At least half of the country is cut off: an incident about connectivity is critical (decision incident-grades).
    Full,
    /// Nothing is cut off, but an incident about a site or a service goes on. Such a country is not `normal` (decision
    /// answers-lead-on).
    Degraded,
}
impl Row for Outage {}

impl Ord for Outage {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let rank = |outage: &Outage| match outage {
            Outage::Degraded => 0,
            Outage::Partial => 1,
            Outage::Full => 2,
        };
        rank(self).cmp(&rank(other))
    }
}

impl PartialOrd for Outage {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Outage {
    /// The word of the overview.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outage::Partial => "partial_outage",
            Outage::Full => "full_outage",
            Outage::Degraded => "degraded",
        }
    }
}

const OUTAGES: Table<(String,), Outage> = Table::new(39);

/// A country's outage changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetOutage {
    pub country: String,
    pub outage: Option<Outage>,
}

impl Operation for SetOutage {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "set_outage";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match self.outage {
            Some(outage) => OUTAGES.put(turn, &(self.country,), &outage)?,
            None => OUTAGES.delete(turn, &(self.country,)),
        }
        turn.publish(OVERVIEW)
    }
}

/// The outage of every country with an active incident, by code.
pub fn outages(view: &View<'_>) -> Result<BTreeMap<String, Outage>> {
    let rows = OUTAGES.scan(view, &OUTAGES.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((country,), outage)| (country, outage)).collect())
}
