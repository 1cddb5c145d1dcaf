//! Countries that are cut off, for the overview: as their active incidents say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::documents::OVERVIEW;
use crate::Result;
use crate::actor::{Kind, Operation, Turn, View};
use crate::kv::{Direction, Row, Table};

/// How much of a country is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Outage {
    Partial,
    /// At least half of it: an incident about connectivity that is critical (ruling intelligence 30).
    Full,
}
impl Row for Outage {}

impl Outage {
    /// The word of the overview (spec intelligence 0.4).
    pub const fn as_str(self) -> &'static str {
        match self {
            Outage::Partial => "partial_outage",
            Outage::Full => "full_outage",
        }
    }
}

const OUTAGES: Table<(String,), Outage> = Table::new(39);

/// A country is cut off, more or less than before, or not any more.
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

/// Every country that is cut off, by code.
pub fn outages(view: &View<'_>) -> Result<BTreeMap<String, Outage>> {
    let rows = OUTAGES.scan(view, &OUTAGES.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((country,), outage)| (country, outage)).collect())
}
