//! Stores measurements. Any order, split or repeat of the same input ends in the same rows.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::packed::{self, CellKey, HASH_LEN, Loaded, StoredCell};
use super::rollup::{self, PREFIX_LEN, Prefix};
use super::tables::{
    ENTRIES, EPOCHS, META, Meta, NETWORKS, NetworkRow, PEERS_CHANGED, ROLLED, RULES_VERSION, SOURCES, SourceRow,
    TARGETS, WITNESSES, WitnessRow, Witnesses,
};
use super::{changes, days, noise};
use crate::import::removal;
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::Read;
use facts::measurement::{ENTRY_LEN, Entry};
use facts::source::Source;
use facts::starter;

/// Bytes of an entry that identify its measurement.
const IDENTITY_LEN: usize = 8;

/// Most rows that one fold may change if every block of cells is one row (`packed`).
pub const MAX_COST: usize = 750;
/// Most additional rows of a fold. A block may be stored in several rows, or come to be; then the fold leaves the cells
/// behind it to the next fold. With [`MAX_COST`] this leaves room for timers and messages.
const MORE_ROWS: usize = 150;

/// The measurements of one (target, day, network, source) in one chunk of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub target: String,
    /// Days since the epoch.
    pub day: u32,
    /// 0 if the network is withheld.
    pub asn: u32,
    pub source: u8,
    /// Encoded [`Entry`]s, sorted, one per identity.
    #[serde(with = "engine::kv::bytes")]
    pub entries: Vec<u8>,
    /// Hashes of the source rows that have this target as their first, 4 bytes each, sorted, distinct.
    #[serde(with = "engine::kv::bytes")]
    pub rows: Vec<u8>,
    pub witnesses: Vec<WitnessRow>,
    /// For each of `rows`, the first bytes of the identity of its measurement.
    #[serde(with = "engine::kv::bytes")]
    pub owners: Vec<u8>,
}

impl Cell {
    fn key(&self) -> CellKey {
        (self.target.clone(), self.day, self.asn, self.source)
    }

    /// Joins another part of the same import about the same cell. Returns how many of its source rows were known.
    pub fn join(&mut self, more: Cell) -> u64 {
        let (entries, _) = packed::unite(&self.entries, &more.entries, ENTRY_LEN, IDENTITY_LEN, join_entries);
        let owned = |cell: &Cell| -> Vec<u8> {
            let rows = cell.rows.chunks_exact(HASH_LEN).zip(cell.owners.chunks_exact(PREFIX_LEN));
            rows.flat_map(|(row, owner)| [row, owner].concat()).collect()
        };
        // If two rows share a hash, the smaller owner stays, whichever comes first.
        let least = |a: &[u8], b: &[u8], out: &mut Vec<u8>| out.extend_from_slice(a.min(b));
        let (rows, repeats) = packed::unite(&owned(self), &owned(&more), HASH_LEN + PREFIX_LEN, HASH_LEN, least);
        self.entries = entries;
        self.rows.clear();
        self.owners.clear();
        for (row, owner) in rows.chunks_exact(HASH_LEN + PREFIX_LEN).filter_map(|both| both.split_at_checked(HASH_LEN))
        {
            self.rows.extend_from_slice(row);
            self.owners.extend_from_slice(owner);
        }
        let mut witnesses = Witnesses(std::mem::take(&mut self.witnesses));
        more.witnesses.into_iter().for_each(|witness| witnesses.add(witness));
        self.witnesses = witnesses.0;
        repeats
    }

    /// The place of the cell in a fold.
    pub fn place(&self) -> (&str, u8, u32, u32) {
        (&self.target, self.source, self.day, self.asn)
    }
}

/// Adds measurements of this country.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Fold {
    /// Cells ordered by target, source, day and network, each once.
    pub cells: Vec<Cell>,
    /// Number of removals of the source when the import began.
    pub epoch: u64,
}

/// What a fold found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldReport {
    /// Number of cells at the front that were folded. The rest must be sent again.
    pub cells: usize,
    /// Measurements (per target) that were not known.
    pub new: u64,
    /// Measurements that were known; their evidence was united.
    pub known: u64,
    /// Source rows that were known exactly.
    pub repeats: u64,
}

impl FoldReport {
    /// Adds the report of further cells.
    pub fn add(&mut self, more: &FoldReport) {
        self.cells += more.cells;
        self.new += more.new;
        self.known += more.known;
        self.repeats += more.repeats;
    }

    fn count(&mut self, change: &Change) {
        self.cells += 1;
        self.new += change.new;
        self.known += change.known;
        self.repeats += change.repeats;
    }
}

/// The effect of one cell.
struct Change {
    /// Whether the stored cell changes.
    stored: bool,
    witnesses: Option<Witnesses>,
    /// Whether its entries change.
    altered: bool,
    new: u64,
    /// Measurements that are now counted here and were not before.
    counted: u64,
    known: u64,
    new_rows: u64,
    repeats: u64,
    /// Change of the number of measurements by hour of the day.
    hours: [i64; 24],
    /// Change of the number of failed measurements.
    failed: [i64; 24],
}

fn join_entries(known: &[u8], more: &[u8], out: &mut Vec<u8>) {
    let decode = |bytes: &[u8]| <&[u8; ENTRY_LEN]>::try_from(bytes).ok().and_then(Entry::decode);
    match (decode(known), decode(more)) {
        (Some(a), Some(b)) => out.extend(a.merge(b).encode()),
        // An entry of a later version outranks one that this version can read.
        (None, _) => out.extend(known),
        (_, None) => out.extend(more),
    }
}

/// Counts each measurement once, at the series where it is counted, and the failed ones separately.
fn count_hours(entries: &[u8], sign: i64, hours: &mut [i64; 24], failed: &mut [i64; 24]) {
    let entries = entries.chunks_exact(ENTRY_LEN).filter_map(|bytes| Entry::decode(bytes.try_into().ok()?));
    for entry in entries.filter(|entry| entry.primary) {
        let lost = i64::from(noise::is_failure(entry.outcome.evaluate().vote));
        for (counts, more) in [(&mut *hours, sign), (&mut *failed, sign * lost)] {
            if let Some(count) = counts.get_mut(usize::from(entry.hour)) {
                *count += more;
            }
        }
    }
}

/// The part of a cell that is not rolled up, and how many entries and rows are rolled up already.
struct Fresh<'a> {
    entries: Cow<'a, [u8]>,
    rows: Cow<'a, [u8]>,
    known: u64,
    repeats: u64,
}

impl<'a> Fresh<'a> {
    fn of(view: &impl Read, now: Timestamp, cell: &'a Cell) -> Result<Fresh<'a>> {
        let rolled = match cell.day < rollup::first_young_day(now) {
            true => ROLLED.get(view, &cell.key())?,
            false => None,
        };
        let Some(rolled) = rolled else {
            let (entries, rows) = (cell.entries.as_slice().into(), cell.rows.as_slice().into());
            return Ok(Fresh { entries, rows, known: 0, repeats: 0 });
        };
        let rolled = rolled.known();
        let is_fresh = |bytes: &[u8]| !bytes.first_chunk().is_some_and(|prefix: &Prefix| rolled.contains(prefix));
        let entries: Vec<u8> =
            cell.entries.chunks_exact(ENTRY_LEN).filter(|entry| is_fresh(entry)).flatten().copied().collect();
        let owned = cell.rows.chunks_exact(HASH_LEN).zip(cell.owners.chunks_exact(PREFIX_LEN));
        let rows: Vec<u8> = owned.filter(|(_, owner)| is_fresh(owner)).flat_map(|(row, _)| row).copied().collect();
        Ok(Fresh {
            known: ((cell.entries.len() - entries.len()) / ENTRY_LEN) as u64,
            repeats: ((cell.rows.len() - rows.len()) / HASH_LEN) as u64,
            entries: entries.into(),
            rows: rows.into(),
        })
    }
}

/// Joins the known records with more records. If none are known, the others are returned without a copy.
fn united<'a>(
    known: &[u8],
    more: &'a [u8],
    width: usize,
    key: usize,
    join: impl FnMut(&[u8], &[u8], &mut Vec<u8>),
) -> (Cow<'a, [u8]>, u64) {
    if known.is_empty() {
        return (Cow::Borrowed(more), 0);
    }
    let (all, repeats) = packed::unite(known, more, width, key, join);
    (Cow::Owned(all), repeats)
}

/// Folds one cell into the stored cell and writes the result.
fn change(view: &impl Read, now: Timestamp, cell: &Cell, before: &StoredCell<'_>, out: &mut Vec<u8>) -> Result<Change> {
    let fresh = Fresh::of(view, now, cell)?;
    let (entries, known) = united(before.entries, &fresh.entries, ENTRY_LEN, IDENTITY_LEN, join_entries);
    let (rows, repeats) =
        united(before.rows, &fresh.rows, HASH_LEN, HASH_LEN, |hash, _, out| out.extend_from_slice(hash));
    StoredCell { day: cell.day, asn: cell.asn, entries: &entries, rows: &rows }.write(out);
    let new_rows = ((rows.len() - before.rows.len()) / HASH_LEN) as u64;
    let mut witnesses = None;
    if !cell.witnesses.is_empty() {
        let kept = WITNESSES.get(view, &cell.key())?.unwrap_or_default();
        let mut after = kept.clone();
        for witness in &cell.witnesses {
            after.add(witness.clone());
        }
        witnesses = (after != kept).then_some(after);
    }
    let altered = *entries != *before.entries;
    let (mut hours, mut failed) = ([0; 24], [0; 24]);
    if altered {
        count_hours(&entries, 1, &mut hours, &mut failed);
        count_hours(before.entries, -1, &mut hours, &mut failed);
    }
    Ok(Change {
        hours,
        failed,
        altered,
        new: ((entries.len() - before.entries.len()) / ENTRY_LEN) as u64,
        // A merge never removes the mark.
        counted: Entry::primaries(&entries).saturating_sub(Entry::primaries(before.entries)),
        stored: altered || new_rows > 0,
        witnesses,
        known: known + fresh.known,
        new_rows,
        repeats: repeats + fresh.repeats,
    })
}

/// Those of the first cells of a fold that are stored together, folded.
struct Unit<'a> {
    cells: &'a [Cell],
    /// One for each cell.
    changes: Vec<Change>,
    known: Loaded,
    /// All cells that are stored together, in their new form.
    now: Vec<u8>,
}

impl<'a> Unit<'a> {
    fn of(view: &impl Read, now: Timestamp, rest: &'a [Cell]) -> Result<Option<Unit<'a>>> {
        let Some(first) = rest.first() else { return Ok(None) };
        let known = packed::load(&ENTRIES, view, (&first.target, first.source), first.day)?;
        let together =
            |cell: &&Cell| cell.target == first.target && cell.source == first.source && known.speaks_of(cell.day);
        let cells = rest.get(..rest.iter().take_while(together).count()).unwrap_or_default();
        let mut unit = Unit { cells, changes: Vec::with_capacity(cells.len()), now: Vec::new(), known };
        let added: usize = cells.iter().map(|cell| cell.entries.len() + cell.rows.len() + 16).sum();
        let mut all = Vec::with_capacity(unit.known.bytes() + added);
        let mut kept = unit.known.walk();
        let mut next = kept.next().transpose()?;
        for cell in cells {
            let place = (cell.day, cell.asn);
            while let Some(before) = next.filter(|before| before.place() < place) {
                before.write(&mut all);
                next = kept.next().transpose()?;
            }
            let before = match next.filter(|before| before.place() == place) {
                Some(before) => {
                    next = kept.next().transpose()?;
                    before
                }
                None => StoredCell { day: cell.day, asn: cell.asn, entries: &[], rows: &[] },
            };
            unit.changes.push(change(view, now, cell, &before, &mut all)?);
        }
        while let Some(before) = next {
            before.write(&mut all);
            next = kept.next().transpose()?;
        }
        unit.now = all;
        Ok(Some(unit))
    }

    /// Each cell with its change.
    fn changes(&self) -> impl Iterator<Item = (&'a Cell, &Change)> {
        self.cells.iter().zip(&self.changes)
    }

    /// The rows to store; none if nothing changed.
    fn rows(&mut self) -> Result<Vec<(packed::PartKey, packed::Cells)>> {
        match self.cells.first().filter(|_| self.changes.iter().any(|change| change.stored)) {
            Some(first) => Ok(self.known.rows(&first.target, first.source, std::mem::take(&mut self.now))?),
            None => Ok(Vec::new()),
        }
    }
}

impl Fold {
    /// Refuses cells that no importer of this version writes.
    fn check(&self) -> Result<()> {
        if !self.cells.is_sorted_by(|a, b| a.place() < b.place()) {
            return Err(Error::internal("the cells to fold are not in order"));
        }
        for cell in &self.cells {
            let sorted = |bytes: &[u8], width: usize, key: usize| {
                bytes.len().is_multiple_of(width)
                    && bytes.chunks_exact(width).map(|r| r.get(..key)).is_sorted_by(|a, b| a < b)
            };
            let readable = cell
                .entries
                .chunks_exact(ENTRY_LEN)
                .all(|bytes| <&[u8; ENTRY_LEN]>::try_from(bytes).ok().and_then(Entry::decode).is_some());
            let owned = cell.owners.len() / PREFIX_LEN == cell.rows.len() / HASH_LEN;
            let normal = readable
                && owned
                && sorted(&cell.entries, ENTRY_LEN, IDENTITY_LEN)
                && sorted(&cell.rows, HASH_LEN, HASH_LEN);
            if !normal {
                return Err(Error::internal("a cell to fold is not in its normal form"));
            }
        }
        Ok(())
    }
}

/// Sums over the cells of one operation.
#[derive(Default)]
struct Totals<'a> {
    /// New measurements, first and last day.
    targets: BTreeMap<&'a str, (u64, u32, u32)>,
    /// New measurements, first day by source.
    networks: BTreeMap<u32, (u64, BTreeMap<u8, u32>)>,
    sources: BTreeMap<u8, SourceRow>,
    oldest: Option<u32>,
    /// First and last day that changed.
    changed: BTreeMap<&'a str, (u32, u32)>,
    /// Whether the target of the latest cells needs peers. Cells come ordered by target.
    needs_peers: bool,
    peers: BTreeSet<(&'a str, u32)>,
    /// Change of the number of measurements, by day and source.
    volumes: BTreeMap<(u32, u8), changes::VolumeChanges>,
}

impl<'a> Totals<'a> {
    fn add(&mut self, cell: &'a Cell, change: &Change) {
        let source =
            self.sources.entry(cell.source).or_insert(SourceRow { last_hour: i64::MIN, ..SourceRow::default() });
        source.entries += change.new;
        source.measurements += change.counted;
        source.rows += change.new_rows;
        if change.new > 0 {
            let target = self.targets.entry(cell.target.as_str()).or_insert((0, u32::MAX, 0));
            *target = (target.0 + change.new, target.1.min(cell.day), target.2.max(cell.day));
            let (entries, firsts) = self.networks.entry(cell.asn).or_default();
            *entries += change.new;
            firsts.entry(cell.source).and_modify(|day| *day = cell.day.min(*day)).or_insert(cell.day);
            source.last_hour = source.last_hour.max(last_hour(cell));
        }
        // Volunteers come and go, so a silence of their probes means nothing.
        let more = [change.hours, change.failed];
        if more != [[0; 24]; 2] && cell.source != Source::Probe.code() {
            let heard = self.volumes.entry((cell.day, cell.source)).or_default();
            for (all, more) in heard.iter_mut().zip(more).filter(|(_, more)| *more != [0; 24]) {
                let sums = all.entry(cell.asn).or_default();
                sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        }
        if change.altered {
            self.oldest = Some(self.oldest.map_or(cell.day, |oldest| oldest.min(cell.day)));
            let days = self.changed.entry(cell.target.as_str()).or_insert_with(|| {
                self.needs_peers = needs_peers(&cell.target);
                (cell.day, cell.day)
            });
            *days = (days.0.min(cell.day), days.1.max(cell.day));
            if self.needs_peers {
                self.peers.insert((&cell.target, cell.day));
            }
        }
    }
}

fn last_hour(cell: &Cell) -> i64 {
    let hours = cell.entries.chunks_exact(ENTRY_LEN).filter_map(|bytes| Entry::decode(bytes.try_into().ok()?));
    i64::from(cell.day) * 24 + hours.map(|entry| i64::from(entry.hour)).max().unwrap_or(0)
}

/// Whether measurements of this target come without a control of their own: roles of services, and hosts of platforms,
/// which service tests visit without a control (decision controls-from-peers).
pub fn needs_peers(target: &str) -> bool {
    target.contains('/') || starter::Platform::by_domain(target).is_some()
}

impl Operation for Fold {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "fold";
    type Reply = FoldReport;

    fn run(self, turn: &mut Turn<'_>) -> Result<FoldReport> {
        self.check()?;
        for source in self.cells.iter().map(|cell| cell.source).collect::<BTreeSet<_>>() {
            removal::check(self.epoch, EPOCHS.get(turn, &(source,))?.unwrap_or_default())?;
        }
        let mut report = FoldReport::default();
        let mut totals = Totals::default();
        let mut more_rows = 0;
        while let Some(mut unit) = Unit::of(turn, turn.now, self.cells.get(report.cells..).unwrap_or_default())? {
            let rows = unit.rows()?;
            more_rows += rows.len().saturating_sub(1);
            if more_rows > MORE_ROWS && report.cells > 0 {
                break;
            }
            for (key, cells) in &rows {
                ENTRIES.put(turn, key, cells)?;
            }
            for (cell, change) in unit.changes() {
                report.count(change);
                totals.add(cell, change);
                if let Some(witnesses) = &change.witnesses {
                    WITNESSES.put(turn, &cell.key(), witnesses)?;
                }
            }
        }
        record(turn, totals)?;
        Ok(report)
    }
}

fn record(turn: &mut Turn<'_>, totals: Totals<'_>) -> Result<()> {
    for (target, (new, first, last)) in totals.targets {
        let key = (target.to_owned(),);
        let mut row = TARGETS.get(turn, &key)?.unwrap_or_default();
        row.first_day = if row.entries == 0 { first } else { row.first_day.min(first) };
        row.last_day = row.last_day.max(last);
        row.entries += new;
        TARGETS.put(turn, &key, &row)?;
    }
    let mut announced = Vec::new();
    for (asn, (new, firsts)) in totals.networks {
        let mut row = match NETWORKS.get(turn, &(asn,))? {
            Some(row) => row,
            None => {
                announced.push(asn);
                NetworkRow::default()
            }
        };
        row.entries += new;
        for (source, day) in firsts {
            row.firsts.entry(source).and_modify(|first| *first = day.min(*first)).or_insert(day);
        }
        NETWORKS.put(turn, &(asn,), &row)?;
    }
    for (source, more) in totals.sources {
        let mut row = SOURCES.get(turn, &(source,))?.unwrap_or_default();
        if more.entries + more.rows + more.measurements > 0 {
            row.entries += more.entries;
            row.measurements += more.measurements;
            row.rows += more.rows;
            row.last_hour = row.last_hour.max(more.last_hour);
            SOURCES.put(turn, &(source,), &row)?;
        }
    }
    for (target, days) in &totals.changed {
        // A success is also a control for failures of the day before (decision controls-from-peers).
        days::queue(turn, target, days.0.saturating_sub(1))?;
        changes::measured(turn, target, *days)?;
    }
    for (key, heard) in &totals.volumes {
        changes::heard(turn, *key, heard)?;
    }
    for (target, day) in totals.peers {
        PEERS_CHANGED.put(turn, &(target.to_owned(), day), &())?;
    }
    if META.get(turn, &())?.is_none() && !totals.changed.is_empty() {
        META.put(turn, &(), &Meta { rules_version: RULES_VERSION })?;
    }
    if !announced.is_empty() {
        let announce = crate::reference::Announce { country: turn.actor().name.clone(), networks: announced };
        turn.send(crate::reference::actor().name, &announce)?;
    }
    if let Some(oldest) = totals.oldest {
        changes::soon(turn)?;
        super::refresh::soon(turn)?;
        rollup::plan(turn, oldest)?;
    }
    Ok(())
}

/// Returns the report of [`Fold`] without storing anything.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FoldPreview(pub Fold);

impl Query for FoldPreview {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "fold_preview";
    type Reply = FoldReport;

    fn run(self, view: &View<'_>) -> Result<FoldReport> {
        self.0.check()?;
        let mut report = FoldReport::default();
        while let Some(unit) = Unit::of(view, view.now, self.0.cells.get(report.cells..).unwrap_or_default())? {
            unit.changes().for_each(|(_, change)| report.count(change));
        }
        Ok(report)
    }
}
