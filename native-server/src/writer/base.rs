//! Where a commit goes: straight into a transaction of the tree, or into the journal.

use std::collections::BTreeMap;
use std::path::Path;

use heliograph_core::engine::actor::ActorId;
use heliograph_core::engine::kv::{Batch, Patched, Read};
use heliograph_core::{Error, Timestamp};
use redb::{ReadableTable, Table, WriteTransaction};

use super::timers::Timers;
use crate::store::{
    ChangedRows, DOCUMENTS, DOCUMENTS_SPACE, DUE, DUE_SPACE, Fault, ROWS, Rows, TIMERS, TIMERS_SPACE, View,
    WRITE_CHECK, WRITE_CHECK_SPACE, apply, prefix, timer_key,
};

/// Most bytes of changed rows that wait to be written to the table.
const UNAPPLIED: usize = 1 << 20;

/// Full keys of rows, for a backup.
type Keys = Vec<Vec<u8>>;

pub(super) enum Base<'t> {
    Tree(Box<Transaction<'t>>),
    Journal(Journaled<'t>),
}

/// The tables of an open transaction.
pub(super) struct Transaction<'t> {
    rows: Table<'t, &'static [u8], &'static [u8]>,
    timers: Table<'t, (i64, &'static str), ()>,
    due: Table<'t, &'static str, i64>,
    documents: Table<'t, &'static str, &'static [u8]>,
    /// Changes that are not in `rows` yet, by the prefix of their actor. A row that many operations change, such as the
    /// state of the ledger, is written once, not once for each.
    unapplied: BTreeMap<Vec<u8>, Batch>,
    unapplied_bytes: usize,
    transaction: &'t WriteTransaction,
    file: &'t Path,
    /// Whether to note the keys of changed rows, and those that were noted.
    record: bool,
    keys: Keys,
}

/// A view, and the changes of the commit.
pub(super) struct Journaled<'t> {
    view: View,
    changes: ChangedRows,
    timers: &'t mut Timers,
    file: &'t Path,
    record: bool,
}

fn fault(error: Error) -> Fault {
    match error.code {
        heliograph_core::ErrorCode::Damaged => Fault::Damaged(error.to_string()),
        _ => Fault::System(error.to_string()),
    }
}

impl<'t> Base<'t> {
    pub fn tree(transaction: &'t WriteTransaction, file: &'t Path, record: bool) -> Result<Self, Fault> {
        Ok(Base::Tree(Box::new(Transaction {
            rows: transaction.open_table(ROWS)?,
            timers: transaction.open_table(TIMERS)?,
            due: transaction.open_table(DUE)?,
            documents: transaction.open_table(DOCUMENTS)?,
            unapplied: BTreeMap::new(),
            unapplied_bytes: 0,
            transaction,
            file,
            record,
            keys: Keys::new(),
        })))
    }

    pub fn journal(view: View, file: &'t Path, timers: &'t mut Timers, record: bool) -> Self {
        Base::Journal(Journaled { view, changes: ChangedRows::new(), timers, file, record })
    }

    /// Reads the rows of an actor, including the changes so far.
    pub fn read<T>(&self, actor: &ActorId, body: impl FnOnce(&dyn Read) -> T) -> T {
        let prefix = prefix(actor);
        match self {
            Base::Tree(tree) => {
                let rows = Rows::new(&tree.rows, &prefix).of_file(tree.file);
                match tree.unapplied.get(&prefix) {
                    Some(changes) => body(&Patched { base: &rows, changes }),
                    None => body(&rows),
                }
            }
            Base::Journal(front) => front.view.actor(actor, front.file, front.changes.get(&prefix), body),
        }
    }

    /// Changes rows of an actor.
    pub fn change(&mut self, actor: &ActorId, batch: Batch) -> Result<(), Fault> {
        let changes = match self {
            Base::Tree(tree) => {
                tree.unapplied_bytes += batch.bytes();
                &mut tree.unapplied
            }
            Base::Journal(front) => &mut front.changes,
        };
        changes.entry(prefix(actor)).or_default().extend(batch);
        match self {
            Base::Tree(tree) if tree.unapplied_bytes > UNAPPLIED => tree.apply(),
            _ => Ok(()),
        }
    }

    pub fn write_check(&mut self, now: Timestamp) -> Result<(), Fault> {
        match self {
            Base::Tree(tree) => drop(tree.transaction.open_table(WRITE_CHECK)?.insert((), now.0)?),
            Base::Journal(front) => front.space(WRITE_CHECK_SPACE).put(Vec::new(), now.0.to_le_bytes().to_vec()),
        }
        Ok(())
    }

    pub fn put_document(&mut self, key: &str, bytes: Vec<u8>) -> Result<(), Fault> {
        match self {
            Base::Tree(tree) => drop(tree.documents.insert(key, bytes.as_slice())?),
            Base::Journal(front) => front.space(DOCUMENTS_SPACE).put(key.into(), bytes),
        }
        Ok(())
    }

    /// The earliest due time of any actor, and its name.
    pub fn earliest(&mut self) -> Result<Option<(Timestamp, String)>, Fault> {
        match self {
            Base::Tree(tree) => {
                let first = tree.timers.first()?;
                Ok(first.map(|(key, _)| (Timestamp(key.value().0), key.value().1.to_owned())))
            }
            Base::Journal(front) => {
                let Journaled { view, changes, timers, .. } = front;
                let more = |from: &[u8], limit| view.timers(changes.get(TIMERS_SPACE), from, limit);
                let first = timers.first(more).map_err(fault)?;
                Ok(first.map(|(due, name)| (Timestamp(due), name)))
            }
        }
    }

    pub fn remove_timer(&mut self, due: i64, name: &str) -> Result<(), Fault> {
        match self {
            Base::Tree(tree) => drop(tree.timers.remove((due, name))?),
            Base::Journal(front) => front.remove_timer(due, name),
        }
        Ok(())
    }

    /// Sets the due time of an actor. True if it was another one.
    pub fn set_due(&mut self, name: &str, next: Option<i64>) -> Result<bool, Fault> {
        let before = match self {
            Base::Tree(tree) => tree.due.get(name)?.map(|due| due.value()),
            Base::Journal(front) => front.view.due(name, front.changes.get(DUE_SPACE)).map_err(fault)?,
        };
        if before == next {
            return Ok(false);
        }
        if let Some(before) = before {
            self.remove_timer(before, name)?;
        }
        match (self, next) {
            (Base::Tree(tree), Some(next)) => {
                tree.timers.insert((next, name), ())?;
                tree.due.insert(name, next)?;
            }
            (Base::Tree(tree), None) => drop(tree.due.remove(name)?),
            (Base::Journal(front), Some(next)) => {
                let key = timer_key((next, name));
                front.timers.add(&key);
                front.space(TIMERS_SPACE).put(key, Vec::new());
                front.space(DUE_SPACE).put(name.into(), next.to_le_bytes().to_vec());
            }
            (Base::Journal(front), None) => front.space(DUE_SPACE).delete(name.into()),
        }
        Ok(true)
    }

    /// The changes that are in no transaction, and the keys of changed rows if they were to be noted.
    pub fn finish(self) -> Result<(ChangedRows, Keys), Fault> {
        match self {
            Base::Tree(mut tree) => {
                tree.apply()?;
                Ok((ChangedRows::new(), tree.keys))
            }
            Base::Journal(front) => {
                let of_actors = front.changes.iter().filter(|(space, _)| front.record && space.first() != Some(&0));
                let full = |(space, batch): (&Vec<u8>, &Batch)| -> Keys {
                    batch.iter().map(|(key, _)| [space.as_slice(), key].concat()).collect()
                };
                let keys = of_actors.flat_map(full).collect();
                Ok((front.changes, keys))
            }
        }
    }
}

impl Transaction<'_> {
    /// Writes the changes so far to the table.
    fn apply(&mut self) -> Result<(), Fault> {
        self.unapplied_bytes = 0;
        let (record, keys) = (self.record, &mut self.keys);
        for (prefix, batch) in std::mem::take(&mut self.unapplied) {
            apply(&mut self.rows, &prefix, &batch, |key| {
                if record {
                    keys.push(key.to_vec());
                }
            })?;
        }
        Ok(())
    }
}

impl Journaled<'_> {
    fn space(&mut self, space: &[u8]) -> &mut Batch {
        self.changes.entry(space.to_vec()).or_default()
    }

    fn remove_timer(&mut self, due: i64, name: &str) {
        let key = timer_key((due, name));
        self.timers.remove(&key);
        self.space(TIMERS_SPACE).delete(key);
    }
}
