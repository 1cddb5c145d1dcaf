//! Writes commits into the tree.

use redb::{Table, WriteTransaction};

use super::journal::FileId;
use super::recent::{ChangedRow, Generation};
use super::replay::FOLDED;
use super::rows::{RowChange, apply_changes};
use super::tree::{DOCUMENTS_SPACE, DUE_SPACE, TIMERS_SPACE, WRITE_CHECK_SPACE, number_of, timer_of};
use super::{DOCUMENTS, DUE, Fault, ROWS, Store, TIMERS, WRITE_CHECK};

/// Which commits are in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// Of which data file it is.
    pub file: FileId,
    /// Number of the last commit.
    pub commit: u64,
    /// The last generation whose journal is no longer needed.
    pub generation: u64,
    /// Whether this stands in the second place for it, because the first one is damaged. Not stored.
    pub second: bool,
}

impl Folded {
    pub fn encode(&self) -> Vec<u8> {
        [self.file.as_slice(), &self.commit.to_le_bytes(), &self.generation.to_le_bytes()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Option<Folded> {
        let (file, rest) = bytes.split_first_chunk()?;
        let (commit, rest) = rest.split_first_chunk()?;
        let generation = rest.try_into().ok()?;
        let [commit, generation] = [*commit, generation].map(u64::from_le_bytes);
        Some(Folded { file: *file, commit, generation, second: false })
    }
}

/// The tables of a transaction, under the spaces of a commit.
pub struct Tables<'t> {
    rows: Table<'t, &'static [u8], &'static [u8]>,
    timers: Table<'t, (i64, &'static str), ()>,
    due: Table<'t, &'static str, i64>,
    documents: Table<'t, &'static str, &'static [u8]>,
    write_check: Table<'t, (), i64>,
}

impl<'t> Tables<'t> {
    pub fn open(transaction: &'t WriteTransaction) -> Result<Self, Fault> {
        Ok(Tables {
            rows: transaction.open_table(ROWS)?,
            timers: transaction.open_table(TIMERS)?,
            due: transaction.open_table(DUE)?,
            documents: transaction.open_table(DOCUMENTS)?,
            write_check: transaction.open_table(WRITE_CHECK)?,
        })
    }

    /// Puts so many changes of a space, in the order of their keys.
    pub fn put<'c>(
        &mut self,
        space: &[u8],
        count: usize,
        mut changes: impl Iterator<Item = RowChange<'c>>,
    ) -> Result<(), Fault> {
        if space.first() != Some(&0) {
            return Ok(apply_changes(&mut self.rows, space, count, changes, |_| {})?);
        }
        changes.try_for_each(|(key, value)| self.put_row(space, key, value))
    }

    fn put_row(&mut self, space: &[u8], key: &[u8], value: Option<&[u8]>) -> Result<(), Fault> {
        let unreadable = || Fault::Damaged("a journal with a row of no table".to_owned());
        let name = || std::str::from_utf8(key).map_err(|_| unreadable());
        match (space, value) {
            (TIMERS_SPACE, Some(_)) => drop(self.timers.insert(timer_of(key).ok_or_else(unreadable)?, ())?),
            (TIMERS_SPACE, None) => drop(self.timers.remove(timer_of(key).ok_or_else(unreadable)?)?),
            (DUE_SPACE, Some(due)) => drop(self.due.insert(name()?, number_of(due).ok_or_else(unreadable)?)?),
            (DUE_SPACE, None) => drop(self.due.remove(name()?)?),
            (DOCUMENTS_SPACE, Some(bytes)) => drop(self.documents.insert(name()?, bytes)?),
            (DOCUMENTS_SPACE, None) => drop(self.documents.remove(name()?)?),
            (WRITE_CHECK_SPACE, Some(at)) => drop(self.write_check.insert((), number_of(at).ok_or_else(unreadable)?)?),
            _ => return Err(unreadable()),
        }
        Ok(())
    }
}

/// Puts the newest rows of a generation into a transaction, space after space in the order of the tree.
pub fn fold(transaction: &WriteTransaction, generation: &Generation, folded: Folded) -> Result<(), Fault> {
    let mut tables = Tables::open(transaction)?;
    for (space, changes) in generation.spaces() {
        changes.newest(|count, newest| tables.put(&space, count, newest))?;
    }
    let [first, second] = FOLDED;
    transaction.open_table(if folded.second { second } else { first })?.insert((), folded.encode().as_slice())?;
    Ok(())
}

/// Puts some rows into the tree, in a transaction of their own.
pub fn put(store: &Store, rows: &[ChangedRow]) -> Result<(), Fault> {
    let mut transaction = store.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut tables = Tables::open(&transaction)?;
        for (space, key, value) in rows {
            tables.put(space, 1, std::iter::once((key.as_slice(), value.as_deref())))?;
        }
    }
    transaction.commit().map_err(Fault::of)
}
