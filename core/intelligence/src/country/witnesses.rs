//! The measurements behind an incident that can be looked up, page by page. The incident itself keeps only a few of
//! them (decision what-numbers-mean).

use serde::{Deserialize, Serialize};

use super::changes::witness;
use super::tables::WITNESSES;
use crate::Result;
use crate::incidents::EvidenceRow;
use engine::actor::{Kind, Query, View};
use engine::kv::Direction;
use facts::source::Source;

/// Cells read for one page. Those of other networks are passed over.
const LOOKED_AT: usize = 2_000;

/// The place of a cell: index of its series in the question, day, network and source.
pub type WitnessPlace = (u32, u32, u32, u8);

/// Asks for a page of witnesses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WitnessPage {
    /// Domains and roles.
    pub series: Vec<String>,
    /// Networks, each with the first and the last day on which it took part.
    pub networks: Vec<(u32, u32, u32)>,
    /// The last cell of the page before.
    pub after: Option<WitnessPlace>,
    /// A page ends with the cell that brings it to this many rows or more.
    pub limit: u32,
}

/// A page: rows without confidence and signal, and the last cell, `None` at the end.
pub type Witnessed = (Vec<EvidenceRow>, Option<WitnessPlace>);

impl Query for WitnessPage {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "witness_page";
    type Reply = Witnessed;

    fn computes(&self) -> bool {
        true
    }

    fn run(self, view: &View<'_>) -> Result<Witnessed> {
        let first = self.networks.iter().map(|(_, first, _)| *first).min().unwrap_or(0);
        let last = self.networks.iter().map(|(.., last)| *last).max().unwrap_or(0);
        let (from, mut looked, mut rows) = (self.after.map_or(0, |(at, ..)| at), 0, Vec::new());
        let mut place = None;
        for (at, target) in (0..).zip(&self.series).skip(from as usize) {
            let days = WITNESSES.between(&(target.clone(), first), &(target.clone(), last.saturating_add(1)));
            let range = match self.after.filter(|(series, ..)| *series == at) {
                Some((_, day, asn, source)) => WITNESSES.after(days, &(target.clone(), day, asn, source)),
                None => days,
            };
            WITNESSES.visit(view, range, Direction::Ascending, |(_, day, asn, source), kept| {
                let takes_part = |of: &(u32, u32, u32)| of.0 == asn && (of.1..=of.2).contains(&day);
                if let Some(known) = Source::from_code(source).filter(|_| self.networks.iter().any(takes_part)) {
                    rows.extend(kept.0.iter().filter_map(|one| witness(view, target, (day, asn), known, one)));
                }
                looked += 1;
                place = Some((at, day, asn, source));
                Ok(rows.len() < self.limit as usize && looked < LOOKED_AT)
            })?;
            if rows.len() >= self.limit as usize || looked >= LOOKED_AT {
                return Ok((rows, place));
            }
        }
        Ok((rows, None))
    }
}
