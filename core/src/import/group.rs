//! Gathering parsed measurements by country and cell, ready to fold.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::country::{Cell, Fold, MAX_COST, MAX_WITNESSES, Prefix, Source, WitnessRow, Witnesses, prefix};
use crate::measurement::{Entry, Parsed, TargetKey, Witness};
use crate::time::HOUR;
use crate::verdict::Vote;

type Place = ([u8; 2], TargetKey, u32, u32);

#[derive(Default)]
struct Gathered {
    entries: HashMap<[u8; 8], Entry>,
    /// Hashes of rows, with the first bytes of the identity of their measurement.
    rows: HashMap<u32, Prefix>,
    witnesses: Witnesses,
}

impl Gathered {
    /// Adds a row; false for one that is there already.
    fn row(&mut self, parsed: &Parsed) -> bool {
        let owner = prefix(&parsed.identity);
        match self.rows.entry(parsed.row_hash) {
            Slot::Vacant(place) => {
                place.insert(owner);
                true
            }
            Slot::Occupied(mut known) => {
                // Only where two rows share a hash: whatever comes first.
                let smaller = owner.min(*known.get());
                known.insert(smaller);
                false
            }
        }
    }
}

/// What one chunk says, by cell.
#[derive(Default)]
pub struct Groups {
    cells: HashMap<Place, Gathered>,
    /// Exact repeats within the chunk, by country.
    pub repeats: BTreeMap<[u8; 2], u64>,
}

impl Groups {
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds one measurement.
    pub fn add(&mut self, parsed: Parsed) {
        let day = u32::try_from(parsed.time.day()).unwrap_or(0);
        let hour = u8::try_from(parsed.time.0.div_euclid(HOUR).rem_euclid(24)).unwrap_or(0);
        let asn = parsed.asn.unwrap_or(0);
        if parsed.contributions.is_empty() {
            // It says nothing of any target, but it was read: its repeats are duplicates too.
            let nothing = TargetKey::from_stored("");
            if !self.cells.entry((parsed.country, nothing, day, asn)).or_default().row(&parsed) {
                *self.repeats.entry(parsed.country).or_default() += 1;
            }
            return;
        }
        let mut witness = None;
        for (index, contribution) in parsed.contributions.iter().enumerate() {
            // A suspicion per contribution, not per session, so that the choice of witnesses does not depend on order.
            let suspicious = matches!(contribution.outcome.evaluate().vote, Vote::Blocked | Vote::NeedsControl);
            let gathered = self.cells.entry((parsed.country, contribution.target.clone(), day, asn)).or_default();
            if index == 0 && !gathered.row(&parsed) {
                *self.repeats.entry(parsed.country).or_default() += 1;
                return;
            }
            let entry = Entry {
                identity: parsed.identity,
                form: parsed.form,
                hour,
                vote_key: parsed.vote_key,
                primary: parsed.primary == Some(index),
                outcome: contribution.outcome,
            };
            gathered.entries.entry(parsed.identity).and_modify(|known| *known = known.merge(entry)).or_insert(entry);
            let wanted = gathered.witnesses.0.len() < MAX_WITNESSES
                || gathered.witnesses.0.last().is_some_and(|last| parsed.identity <= last.identity);
            if suspicious && wanted {
                gathered.witnesses.add(witness.get_or_insert_with(|| witness_row(&parsed)).clone());
            }
        }
    }

    /// The folds of each country, none over what one operation may change.
    pub fn folds(self, source: Source, epoch: u64) -> BTreeMap<String, Vec<Fold>> {
        let mut countries: BTreeMap<[u8; 2], Vec<Cell>> = BTreeMap::new();
        for ((country, target, day, asn), gathered) in self.cells {
            let mut entries: Vec<Entry> = gathered.entries.into_values().collect();
            entries.sort_unstable_by_key(|entry| entry.identity);
            let mut rows: Vec<(u32, Prefix)> = gathered.rows.into_iter().collect();
            rows.sort_unstable();
            countries.entry(country).or_default().push(Cell {
                target: target.as_str().to_owned(),
                day,
                asn,
                source: source.code(),
                entries: entries.iter().flat_map(Entry::encode).collect(),
                rows: rows.iter().flat_map(|(row, _)| row.to_be_bytes()).collect(),
                witnesses: gathered.witnesses.0,
                owners: rows.iter().flat_map(|(_, owner)| *owner).collect(),
            });
        }
        let code = |country: [u8; 2]| String::from_utf8_lossy(&country).into_owned();
        countries.into_iter().map(|(country, cells)| (code(country), split(cells, epoch))).collect()
    }
}

/// Cuts the cells of one country into operations by the rows they can change: up to three per cell, three per target, one
/// per (target, day), one per network and two per (day, network).
fn split(mut cells: Vec<Cell>, epoch: u64) -> Vec<Fold> {
    cells.sort_unstable_by(|a, b| (&a.target, a.day, a.asn).cmp(&(&b.target, b.day, b.asn)));
    let mut folds = Vec::new();
    let mut fold = Fold { epoch, ..Fold::default() };
    let (mut cost, mut networks, mut days) = (0, HashSet::new(), HashSet::new());
    for cell in cells {
        let last = fold.cells.last();
        let same_target = last.is_some_and(|last| last.target == cell.target);
        let same_day = same_target && last.is_some_and(|last| last.day == cell.day);
        cost += 3 + if same_target { 0 } else { 3 } + usize::from(!same_day) + usize::from(networks.insert(cell.asn));
        cost += 2 * usize::from(days.insert((cell.day, cell.asn)));
        if cost > MAX_COST {
            folds.push(std::mem::replace(&mut fold, Fold { epoch, ..Fold::default() }));
            networks = HashSet::from([cell.asn]);
            days = HashSet::from([(cell.day, cell.asn)]);
            cost = 10;
        }
        fold.cells.push(cell);
    }
    if !fold.cells.is_empty() {
        folds.push(fold);
    }
    folds
}

fn witness_row(parsed: &Parsed) -> WitnessRow {
    let (uid, report_id, input) = match &parsed.witness {
        Witness::Uid(uid) => (Some(uid.clone()), None, None),
        Witness::Report { report_id, input } => (None, Some(report_id.clone()), input.clone()),
    };
    WitnessRow { identity: parsed.identity, uid, report_id, input }
}
