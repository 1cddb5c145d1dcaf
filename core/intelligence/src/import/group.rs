//! Gathers parsed measurements by country and cell, in the form in which they are folded.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::country::{
    BLOCK_DAYS, Cell, Fold, MAX_COST, MAX_WITNESSES, Prefix, WitnessRow, Witnesses, needs_peers, prefix,
};
use engine::time::HOUR;
use facts::measurement::{ENTRY_LEN, Entry, Parsed, TargetKey, Witness};
use facts::source::Source;
use facts::verdict::Vote;

/// Number of the target, day, number of the network.
type CellPlace = (u32, u32, u32);

/// The measurements of one country. The lists are flat because most cells hold one measurement: 60 bytes of memory
/// each.
#[derive(Default)]
struct Country {
    /// Encoded entries begin with their identity, so they sort in the order in which they are stored.
    entries: Vec<(CellPlace, [u8; ENTRY_LEN])>,
    /// Hashes of rows, each with the first bytes of the identity of its measurement.
    rows: Vec<(CellPlace, [u8; 4], Prefix)>,
    witnesses: HashMap<CellPlace, Witnesses>,
}

/// Numbers the names of targets.
#[derive(Default)]
struct Targets {
    names: Vec<TargetKey>,
    numbers: HashMap<TargetKey, u32>,
}

impl Targets {
    fn number(&mut self, target: &TargetKey) -> u32 {
        if let Some(number) = self.numbers.get(target) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(target.clone());
        self.numbers.insert(target.clone(), number);
        number
    }
}

/// The measurements of some chunks, by country.
#[derive(Default)]
pub struct Groups {
    targets: Targets,
    countries: BTreeMap<[u8; 2], Country>,
}

impl Groups {
    /// The number of entries or rows, counted by country; of each country the greater one.
    pub fn len(&self) -> usize {
        self.countries.values().map(|country| country.entries.len().max(country.rows.len())).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.countries.is_empty()
    }

    /// Adds one measurement.
    pub fn add(&mut self, parsed: Parsed) {
        let day = u32::try_from(parsed.time.day()).unwrap_or(0);
        let hour = u8::try_from(parsed.time.0.div_euclid(HOUR).rem_euclid(24)).unwrap_or(0);
        let asn = parsed.asn.unwrap_or(0);
        let country = self.countries.entry(parsed.country).or_default();
        // A measurement that is about no target is kept as a row too, so that its repeats count as duplicates.
        let first = match parsed.contributions.first() {
            Some(first) => self.targets.number(&first.target),
            None => self.targets.number(&TargetKey::from_stored("")),
        };
        country.rows.push(((first, day, asn), parsed.row_hash.to_be_bytes(), prefix(&parsed.identity)));
        let mut witness = None;
        for (index, contribution) in parsed.contributions.iter().enumerate() {
            let place = (self.targets.number(&contribution.target), day, asn);
            let entry = Entry {
                identity: parsed.identity,
                form: parsed.form,
                hour,
                vote_key: parsed.vote_key,
                primary: parsed.primary == Some(index),
                outcome: contribution.outcome,
            };
            country.entries.push((place, entry.encode()));
            // Witnesses are chosen for each contribution and not for each session, so that the choice does not depend
            // on order.
            if matches!(contribution.outcome.evaluate().vote, Vote::Blocked | Vote::NeedsControl) {
                let known = country.witnesses.entry(place).or_default();
                let wanted = known.0.len() < MAX_WITNESSES
                    || known.0.last().is_some_and(|last| parsed.identity <= last.identity);
                if wanted {
                    known.add(witness.get_or_insert_with(|| witness_row(&parsed)).clone());
                }
            }
        }
    }

    /// Adds the measurements of other chunks.
    pub fn join(&mut self, other: Groups) {
        let numbers: Vec<u32> = other.targets.names.iter().map(|name| self.targets.number(name)).collect();
        let here = |(target, day, asn): CellPlace| (renumbered(&numbers, target), day, asn);
        for (code, more) in other.countries {
            let country = self.countries.entry(code).or_default();
            country.entries.extend(more.entries.into_iter().map(|(place, entry)| (here(place), entry)));
            country.rows.extend(more.rows.into_iter().map(|(place, row, owner)| (here(place), row, owner)));
            for (place, witnesses) in more.witnesses {
                let known = country.witnesses.entry(here(place)).or_default();
                witnesses.0.into_iter().for_each(|witness| known.add(witness));
            }
        }
    }

    /// Sorts everything into the order in which it is folded.
    pub fn sorted(self) -> Sorted {
        let mut order: Vec<u32> = (0..).take(self.targets.names.len()).collect();
        let name = |number: &u32| self.targets.names.get(*number as usize);
        order.sort_by(|a, b| name(a).cmp(&name(b)));
        let mut ranks = vec![0; order.len()];
        for (rank, number) in (0..).zip(&order) {
            if let Some(place) = ranks.get_mut(*number as usize) {
                *place = rank;
            }
        }
        let targets = order.iter().filter_map(name).cloned().collect();
        let (mut repeats, mut countries) = (0, self.countries);
        for country in countries.values_mut() {
            repeats += country.sort(&ranks);
        }
        Sorted { targets, countries, repeats }
    }

    /// The folds of each country. None changes more than one operation may.
    pub fn folds(self, source: Source, epoch: u64) -> BTreeMap<String, Vec<Fold>> {
        let sorted = self.sorted();
        sorted.countries().map(|code| (text(code), sorted.folds(code, source, epoch))).collect()
    }
}

fn renumbered(numbers: &[u32], number: u32) -> u32 {
    numbers.get(number as usize).copied().unwrap_or(number)
}

/// A country code in the form of actor names.
pub(super) fn text(code: [u8; 2]) -> String {
    String::from_utf8_lossy(&code).into_owned()
}

impl Country {
    /// Sorts by place, using the new numbers of targets. Keeps one entry of each identity in a cell, and one row of
    /// each hash. Returns how many rows were repeats.
    fn sort(&mut self, numbers: &[u32]) -> u64 {
        self.entries.iter_mut().for_each(|(place, _)| place.0 = renumbered(numbers, place.0));
        self.rows.iter_mut().for_each(|(place, ..)| place.0 = renumbered(numbers, place.0));
        let witnesses = std::mem::take(&mut self.witnesses).into_iter();
        self.witnesses =
            witnesses.map(|((target, day, asn), w)| ((renumbered(numbers, target), day, asn), w)).collect();
        self.entries.sort_unstable();
        self.entries.dedup_by(|next, kept| {
            let same = next.0 == kept.0 && next.1.first_chunk::<8>() == kept.1.first_chunk::<8>();
            if same && let (Some(a), Some(b)) = (Entry::decode(&kept.1), Entry::decode(&next.1)) {
                kept.1 = a.merge(b).encode();
            }
            same
        });
        self.rows.sort_unstable();
        let all = self.rows.len();
        // Of two rows with the same hash, the one with the smaller owner stays, whatever order they came in.
        self.rows.dedup_by_key(|(place, row, _)| (*place, *row));
        (all - self.rows.len()) as u64
    }
}

/// Measurements in the order of their cells.
pub struct Sorted {
    /// By name.
    targets: Vec<TargetKey>,
    countries: BTreeMap<[u8; 2], Country>,
    /// Rows that were exact repeats of others.
    pub repeats: u64,
}

impl Sorted {
    /// Countries with measurements, by code.
    pub fn countries(&self) -> impl Iterator<Item = [u8; 2]> {
        self.countries.keys().copied()
    }

    /// The cells of a country, in the order in which they are folded.
    pub fn cells(&self, country: [u8; 2], source: Source) -> impl Iterator<Item = Cell> {
        let gathered = self.countries.get(&country);
        let mut entries = gathered.map_or(&[][..], |all| &all.entries).chunk_by(|a, b| a.0 == b.0).peekable();
        let mut rows = gathered.map_or(&[][..], |all| &all.rows).chunk_by(|a, b| a.0 == b.0).peekable();
        std::iter::from_fn(move || {
            let of_entries = entries.peek().and_then(|cell| cell.first()).map(|(place, _)| *place);
            let of_rows = rows.peek().and_then(|cell| cell.first()).map(|(place, ..)| *place);
            let place = of_entries.into_iter().chain(of_rows).min()?;
            let entries = entries.next_if(|_| of_entries == Some(place)).unwrap_or_default();
            let rows = rows.next_if(|_| of_rows == Some(place)).unwrap_or_default();
            let (target, day, asn) = place;
            let witnesses = gathered.and_then(|all| all.witnesses.get(&place));
            Some(Cell {
                target: self.targets.get(target as usize).map(|name| name.as_str().to_owned()).unwrap_or_default(),
                day,
                asn,
                source: source.code(),
                entries: entries.iter().flat_map(|(_, entry)| entry).copied().collect(),
                rows: rows.iter().flat_map(|(_, row, _)| row).copied().collect(),
                witnesses: witnesses.map(|known| known.0.clone()).unwrap_or_default(),
                owners: rows.iter().flat_map(|(.., owner)| owner).copied().collect(),
            })
        })
    }

    /// The folds of a country. None changes more than one operation may.
    pub fn folds(&self, country: [u8; 2], source: Source, epoch: u64) -> Vec<Fold> {
        let mut folds = Folds::new(epoch);
        let mut done: Vec<Fold> = self.cells(country, source).filter_map(|cell| folds.add(cell)).collect();
        done.extend(folds.finish());
        done
    }
}

/// Bytes of entries and hashes in one operation, at most, so that it holds the writer only for a short time.
const MAX_BYTES: usize = 256 << 10;

/// The rows that an operation may change: three per target, one per block of cells, one per cell with witnesses, one
/// per (target, day) whose peers change, one per network, and two per day.
#[derive(Default)]
struct Cost {
    rows: usize,
    bytes: usize,
    peers: bool,
    networks: HashSet<u32>,
    days: HashSet<u32>,
}

impl Cost {
    fn add(&mut self, last: Option<&Cell>, cell: &Cell) {
        let same_target = last.is_some_and(|last| last.target == cell.target);
        let same = |unit: u32| same_target && last.is_some_and(|last| last.day / unit == cell.day / unit);
        if !same_target {
            self.rows += 3;
            self.peers = needs_peers(&cell.target);
        }
        self.rows += usize::from(!same(BLOCK_DAYS)) + usize::from(self.peers && !same(1));
        self.rows += usize::from(!cell.witnesses.is_empty());
        self.rows += usize::from(self.networks.insert(cell.asn)) + 2 * usize::from(self.days.insert(cell.day));
        self.bytes += cell.entries.len() + cell.rows.len();
    }
}

/// Cuts the cells of one country, in the order of targets and days, into operations that change a bounded number of
/// rows.
pub struct Folds {
    fold: Fold,
    cost: Cost,
}

impl Folds {
    /// For `epoch` see [`Fold::epoch`].
    pub fn new(epoch: u64) -> Folds {
        Folds { fold: Fold { epoch, ..Fold::default() }, cost: Cost::default() }
    }

    /// Adds a cell. If the operation is full without it, returns that operation.
    pub fn add(&mut self, cell: Cell) -> Option<Fold> {
        self.cost.add(self.fold.cells.last(), &cell);
        let full = self.cost.rows > MAX_COST || self.cost.bytes > MAX_BYTES;
        let done = if full { self.finish() } else { None };
        if done.is_some() {
            self.cost.add(None, &cell);
        }
        self.fold.cells.push(cell);
        done
    }

    /// The operation with the remaining cells.
    pub fn finish(&mut self) -> Option<Fold> {
        let next = Fold { epoch: self.fold.epoch, ..Fold::default() };
        self.cost = Cost::default();
        Some(std::mem::replace(&mut self.fold, next)).filter(|fold| !fold.cells.is_empty())
    }
}

fn witness_row(parsed: &Parsed) -> WitnessRow {
    let (uid, report_id, input) = match &parsed.witness {
        Witness::Uid(uid) => (Some(uid.clone()), None, None),
        Witness::Report { report_id, input } => (None, Some(report_id.clone()), input.clone()),
    };
    WitnessRow { identity: parsed.identity, uid, report_id, input }
}
