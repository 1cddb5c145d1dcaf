//! Imports larger than memory (external merge sort). Sorted runs are written out and then merged, so that rows which a
//! country keeps by target are written once for all runs.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};

use super::group::{Folds, Sorted};
use crate::country::{Cell, Fold};
use facts::source::Source;

/// Bytes of a stored cell, at most. A cell holds at most the measurements of one run.
const MAX_CELL: usize = 1 << 30;

fn unreadable() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a sorted run is unreadable")
}

/// A country and a cell, which sort in the order in which they are folded.
struct Item {
    country: [u8; 2],
    cell: Cell,
    /// Number of the run it comes from.
    run: usize,
}

impl Item {
    fn order(&self, other: &Item) -> Ordering {
        (self.country, self.cell.place()).cmp(&(other.country, other.cell.place()))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Item) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Item {}
impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Item) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Item {
    fn cmp(&self, other: &Item) -> Ordering {
        self.order(other).then(self.run.cmp(&other.run))
    }
}

/// Writes a run. Before each cell stand its length and its country.
pub fn write(sorted: &Sorted, source: Source, out: &mut impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    for country in sorted.countries() {
        for cell in sorted.cells(country, source) {
            bytes.clear();
            bytes = postcard::to_extend(&cell, bytes).map_err(io::Error::other)?;
            let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
            out.write_all(&length.to_le_bytes())?;
            out.write_all(&country)?;
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// Merges the runs of one import.
pub struct Merge<R> {
    runs: Vec<R>,
    /// The first cell of each run that has any left.
    first: BinaryHeap<Reverse<Item>>,
    folds: Folds,
    country: [u8; 2],
    /// Exact repeats between different runs.
    pub repeats: u64,
    bytes: Vec<u8>,
}

impl<R: Read> Merge<R> {
    /// For `epoch` see [`Fold::epoch`].
    pub fn new(runs: Vec<R>, epoch: u64) -> io::Result<Merge<R>> {
        let count = runs.len();
        let (first, folds) = (BinaryHeap::with_capacity(count), Folds::new(epoch));
        let mut merge = Merge { runs, first, folds, country: [0; 2], repeats: 0, bytes: Vec::new() };
        (0..count).try_for_each(|run| merge.pull(run))?;
        Ok(merge)
    }

    /// Takes the next cell from a run.
    fn pull(&mut self, run: usize) -> io::Result<()> {
        let Some(reader) = self.runs.get_mut(run) else { return Ok(()) };
        let mut length = [0; 4];
        if reader.read(&mut length[..1])? == 0 {
            return Ok(());
        }
        let mut country = [0; 2];
        reader.read_exact(&mut length[1..])?;
        reader.read_exact(&mut country)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_CELL {
            return Err(unreadable());
        }
        self.bytes.resize(length, 0);
        reader.read_exact(&mut self.bytes)?;
        let cell = postcard::from_bytes(&self.bytes).map_err(|_| unreadable())?;
        self.first.push(Reverse(Item { country, cell, run }));
        Ok(())
    }

    /// The next cell, joined from all runs that have it.
    fn next_cell(&mut self) -> io::Result<Option<([u8; 2], Cell)>> {
        let Some(Reverse(mut item)) = self.first.pop() else { return Ok(None) };
        self.pull(item.run)?;
        while let Some(Reverse(same)) = self.first.peek().filter(|Reverse(next)| next.order(&item).is_eq()) {
            let run = same.run;
            if let Some(Reverse(same)) = self.first.pop() {
                self.repeats += item.cell.join(same.cell);
            }
            self.pull(run)?;
        }
        Ok(Some((item.country, item.cell)))
    }

    /// The next operation and its country; `None` at the end.
    pub fn next_fold(&mut self) -> io::Result<Option<([u8; 2], Fold)>> {
        loop {
            let country = self.country;
            let done = match self.next_cell()? {
                Some((next, cell)) if next != country => {
                    let done = self.folds.finish();
                    self.country = next;
                    self.folds.add(cell);
                    done
                }
                Some((_, cell)) => self.folds.add(cell),
                None => return Ok(self.folds.finish().map(|fold| (country, fold))),
            };
            if let Some(fold) = done {
                return Ok(Some((country, fold)));
            }
        }
    }
}
