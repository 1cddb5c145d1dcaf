//! A snapshot of the tree with its tables, and the tables of the whole file as spaces of rows.
//!
//! The journal and the rows in memory know only spaces. So each table that is not an actor's is a space too: its first
//! byte is 0, which no kind of actor has, and its keys have the order of the table.

use heliograph_core::engine::kv::{Direction, Pair, Range, Read, StoreError, Visit};
use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, TableError};

use super::known::KnownRows;
use super::rows::{collect, fault};
use super::{DOCUMENTS, DUE, ROWS, TIMERS, Table};

/// Spaces of the tables that are no actor's.
pub const TIMERS_SPACE: &[u8] = &[0, 1];
pub const DUE_SPACE: &[u8] = &[0, 2];
pub const DOCUMENTS_SPACE: &[u8] = &[0, 3];
pub const WRITE_CHECK_SPACE: &[u8] = &[0, 4];

/// A snapshot. Its tables are opened once, because opening one costs as much as reading a row.
pub struct Tree {
    pub rows: Table,
    pub timers: ReadOnlyTable<(i64, &'static str), ()>,
    pub due: ReadOnlyTable<&'static str, i64>,
    pub documents: ReadOnlyTable<&'static str, &'static [u8]>,
    /// Kept only for a snapshot that many requests read.
    pub known: Option<KnownRows>,
}

impl Tree {
    pub fn of(snapshot: &ReadTransaction) -> Result<Tree, TableError> {
        Ok(Tree {
            rows: snapshot.open_table(ROWS)?,
            timers: snapshot.open_table(TIMERS)?,
            due: snapshot.open_table(DUE)?,
            documents: snapshot.open_table(DOCUMENTS)?,
            known: None,
        })
    }
}

/// The key of a timer in its space: the time in the order of numbers, and the name.
pub fn timer_key((due, name): (i64, &str)) -> Vec<u8> {
    let mut key = (due ^ i64::MIN).to_be_bytes().to_vec();
    key.extend(name.as_bytes());
    key
}

/// The timer of a key; `None` for a key that [`timer_key`] did not make.
pub fn timer_of(key: &[u8]) -> Option<(i64, &str)> {
    let (due, name) = key.split_first_chunk()?;
    Some((i64::from_be_bytes(*due) ^ i64::MIN, std::str::from_utf8(name).ok()?))
}

fn text(key: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(key).map_err(|_| StoreError::Corrupt("a name that is no text".into()))
}

/// The stored bytes of a number.
pub fn number_of(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_le_bytes)
}

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident: $key:ty => $value:ty, $to_bytes:expr, $of_bytes:expr, $value_bytes:expr;)+) => {$(
        $(#[$doc])*
        pub struct $name<'a, T>(pub &'a T);

        impl<T: ReadableTable<$key, $value>> Read for $name<'_, T> {
            fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
                let found = self.0.get($of_bytes(key)?).map_err(fault)?;
                Ok(found.map(|value| $value_bytes(value.value())))
            }

            fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
                collect(self, range, direction, limit)
            }

            fn visit(
                &self,
                range: &Range,
                direction: Direction,
                _page: usize,
                visit: &mut Visit<'_>,
            ) -> Result<(), StoreError> {
                let mut rows = match range.start.is_empty() {
                    true => self.0.iter().map_err(fault)?,
                    false => self.0.range($of_bytes(&range.start)?..).map_err(fault)?,
                };
                while let Some(row) = match direction {
                    Direction::Ascending => rows.next(),
                    Direction::Descending => rows.next_back(),
                } {
                    let (key, value) = row.map_err(fault)?;
                    let key = $to_bytes(key.value());
                    if range.contains(&key) && !visit(&key, &$value_bytes(value.value()))? {
                        break;
                    }
                }
                Ok(())
            }
        }
    )+};
}

spaces! {
    /// The table of timers.
    TimerRows: (i64, &'static str) => (), timer_key,
        |key| timer_of(key).ok_or_else(|| StoreError::Corrupt("a timer without a time".into())), |()| Vec::new();
    /// The table of due times.
    DueRows: &'static str => i64, |name: &str| name.as_bytes().to_vec(), text, |due: i64| due.to_le_bytes().to_vec();
    /// The table of documents.
    DocumentRows: &'static str => &'static [u8], |name: &str| name.as_bytes().to_vec(), text, |bytes: &[u8]| bytes.to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_timers_have_the_order_of_the_table_and_lead_back() {
        let mut timers = vec![(i64::MIN, ""), (-5, "b"), (-5, "ba"), (0, "a"), (7, ""), (7, "a"), (i64::MAX, "z")];
        let keys: Vec<Vec<u8>> = timers.iter().map(|timer| timer_key(*timer)).collect();
        assert!(keys.is_sorted());
        assert_eq!(keys.iter().map(|key| timer_of(key).unwrap()).collect::<Vec<_>>(), timers);
        timers.reverse();
        assert_eq!((timer_of(b"short"), timer_of(b"\0\0\0\0\0\0\0\0\xff")), (None, None));
    }
}
