//! Block lists about this country (decision kinds-of-lists).

use serde::{Deserialize, Serialize};

use super::tables::{EPOCHS, LISTED, LISTED_SINCE, LISTS, LISTS_EPOCH, TARGETS};
use super::{days, documents, past, refresh};
use crate::import::{ListKind, removal};
use crate::world::{self, GivenEvents, ListedIn, SourceTotal};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read};

/// Adds domains of a list. For each domain and kind, the newest date of a list stays, and the earliest day that a row
/// gives. Order and repeats therefore change nothing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddListed {
    pub kind: u8,
    pub date: Timestamp,
    /// Distinct keys in normal form, each with the day since which the list has it, if the list says so.
    pub domains: Vec<(String, Option<Timestamp>)>,
    /// Number of removals of block lists when the import began.
    pub epoch: u64,
}

impl AddListed {
    fn is_known(&self, view: &impl Read, domain: &str) -> Result<Option<Timestamp>> {
        Ok(LISTED.get(view, &(domain.to_owned(), self.kind))?)
    }
}

impl Operation for AddListed {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "add_listed_since";
    /// How many of the domains were listed under this kind before.
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        removal::check(self.epoch, EPOCHS.get(turn, &(LISTS_EPOCH,))?.unwrap_or_default())?;
        let (mut known, mut changed, mut again, mut entered) = (0, false, false, Vec::new());
        let mut row = LISTS.get(turn, &(self.kind,))?.unwrap_or_default();
        let is_measured = TARGETS.first(turn, &TARGETS.range())?.is_some();
        for (domain, since) in &self.domains {
            if let Some(since) = since {
                let at = (domain.clone(), self.kind);
                if LISTED_SINCE.get(turn, &at)?.is_none_or(|known| known > *since) {
                    LISTED_SINCE.put(turn, &at, since)?;
                }
            }
            match self.is_known(turn, domain)? {
                Some(date) => {
                    known += 1;
                    if date >= self.date {
                        continue;
                    }
                }
                None => {
                    row.domains += 1;
                    entered.push(domain.clone());
                }
            }
            changed = true;
            again |= is_measured && days::queue_listed(turn, domain)?;
            LISTED.put(turn, &(domain.clone(), self.kind), &self.date)?;
        }
        if !entered.is_empty() && ListKind::from_code(self.kind).is_some_and(ListKind::sets_status) {
            let country = turn.actor().name.clone();
            turn.send(world::actor().name, &ListedIn { country, domains: entered })?;
        }
        if changed {
            row.date = row.date.max(self.date);
            LISTS.put(turn, &(self.kind,), &row)?;
            tell(turn)?;
            publish(turn)?;
            past::changed(turn)?;
        }
        if again {
            refresh::soon(turn)?;
        }
        Ok(known)
    }
}

/// Tells the world how many domains block lists of all kinds name here, and their newest date.
fn tell(turn: &mut Turn<'_>) -> Result<()> {
    let lists = LISTS.scan(turn, &LISTS.range(), Direction::Ascending, 16)?;
    let rows = lists.iter().map(|(_, row)| row.domains).sum();
    let newest = lists.iter().map(|(_, row)| row.date).max().unwrap_or_default();
    let country = turn.actor().name.clone();
    let given = GivenEvents { country, source: LISTS_EPOCH, given: SourceTotal { rows, newest }, marks: Vec::new() };
    turn.send(world::actor().name, &given)
}

/// Publishes the pages again that show what lists name.
pub(super) fn publish(turn: &mut Turn<'_>) -> Result<()> {
    let country = turn.actor().name.clone();
    for family in [documents::COUNTRY, documents::ACCESSIBILITY] {
        turn.publish(&[family, &country].concat())?;
    }
    Ok(())
}

/// Returns the answer of [`AddListed`] without storing anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListedPreview(pub AddListed);

impl Query for ListedPreview {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "listed_preview_since";
    type Reply = u64;

    fn run(self, view: &View<'_>) -> Result<u64> {
        let mut known = 0;
        for (domain, _) in &self.0.domains {
            known += u64::from(self.0.is_known(view, domain)?.is_some());
        }
        Ok(known)
    }
}
