//! Typed tables inside one key space.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Direction, Key, Pair, Range, Read, StoreError, Write, for_each};

/// A stored value: one version byte, then the value in postcard encoding.
///
/// Changing the shape of a stored type means raising `VERSION` and reading the older bytes in [`Row::upgrade`].
pub trait Row: Serialize + DeserializeOwned {
    const VERSION: u8 = 1;

    /// Reads bytes that an earlier version wrote (without their version byte).
    fn upgrade(version: u8, _bytes: &[u8]) -> Result<Self, StoreError> {
        Err(StoreError::Corrupt(format!("{} has no version {version}", std::any::type_name::<Self>())))
    }
}

impl Row for () {}
impl Row for u64 {}
impl Row for i64 {}
impl Row for String {}
impl Row for Vec<u8> {}
impl<const N: usize> Row for [u8; N] where [u8; N]: Serialize + DeserializeOwned {}
impl Row for crate::Timestamp {}

/// For [`Row::upgrade`]: version `before` is the present shape without members at its end, whose bytes are `missing`.
pub fn appended<V: Row>(version: u8, before: u8, bytes: &[u8], missing: &[u8]) -> Result<V, StoreError> {
    if version != before {
        return Err(StoreError::Corrupt(format!("{} has no version {version}", std::any::type_name::<V>())));
    }
    let whole = [bytes, missing].concat();
    postcard::from_bytes(&whole).map_err(|error| undecodable(std::any::type_name::<V>(), &error))
}

/// The stored bytes of a row.
pub fn encode_row<V: Row>(value: &V) -> Result<Vec<u8>, StoreError> {
    postcard::to_extend(value, vec![V::VERSION]).map_err(|error| unencodable(&error))
}

/// The row in stored bytes.
pub fn decode_row<V: Row>(bytes: &[u8]) -> Result<V, StoreError> {
    match bytes.split_first() {
        Some((version, rest)) if *version == V::VERSION => {
            postcard::from_bytes(rest).map_err(|error| undecodable(std::any::type_name::<V>(), &error))
        }
        Some((version, rest)) => V::upgrade(*version, rest),
        None => Err(empty()),
    }
}

/// What a stored row of `V` begins with, where it lies; `None` for what another version wrote, or is unreadable.
pub fn beginning<'a, V: Row, B: Deserialize<'a>>(bytes: &'a [u8]) -> Option<B> {
    let (version, row) = bytes.split_first()?;
    let (beginning, _) = postcard::take_from_bytes(row).ok().filter(|_| *version == V::VERSION)?;
    Some(beginning)
}

// What need not be compiled anew for every type of row.

#[cold]
fn unencodable(error: &postcard::Error) -> StoreError {
    StoreError::Refused(format!("cannot encode row: {error}"))
}

#[cold]
fn undecodable(name: &str, error: &postcard::Error) -> StoreError {
    StoreError::Corrupt(format!("{name}: {error}"))
}

#[cold]
fn empty() -> StoreError {
    StoreError::Corrupt("empty row".into())
}

#[cold]
fn unreadable(table: u8) -> StoreError {
    StoreError::Corrupt(format!("key of table {table} unreadable"))
}

fn check_size(table: u8, bytes: usize) -> Result<(), StoreError> {
    if bytes > super::MAX_VALUE_BYTES {
        return Err(StoreError::Refused(format!("row of {bytes} bytes in table {table}")));
    }
    Ok(())
}

/// A table of `V` by `K`, told apart from the others of the same key space by its first byte.
///
/// Numbers below 16 belong to the actor machinery, the rest to the actor kind. A number is never reused.
pub struct Table<K, V> {
    number: u8,
    derived: bool,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K: Key, V: Row> Table<K, V> {
    pub const fn new(number: u8) -> Self {
        Table { number, derived: false, types: PhantomData }
    }

    /// A table that is made from others: verdicts, summaries, and what is still to be done. Its changes do not raise
    /// `View::revision`, so no answer that is kept under a revision may read it. Documents of a country may, because they
    /// are kept under `View::basis`.
    pub const fn derived(number: u8) -> Self {
        Table { number, derived: true, types: PhantomData }
    }

    /// What tells it apart.
    pub const fn number(&self) -> u8 {
        self.number
    }

    pub(super) fn key(&self, key: &impl Key) -> Vec<u8> {
        let mut bytes = vec![self.number];
        key.write_key(&mut bytes);
        bytes
    }

    pub(super) fn entry(&self, (key, value): &Pair) -> Result<(K, V), StoreError> {
        Ok((self.decode_key(key)?, decode_row(value)?))
    }

    pub(super) fn decode_key(&self, key: &[u8]) -> Result<K, StoreError> {
        key.get(1..).and_then(K::read_key).ok_or_else(|| self.unreadable())
    }

    pub(super) fn unreadable(&self) -> StoreError {
        unreadable(self.number)
    }

    /// The bytes of a value, if they are not too many.
    pub(super) fn encode(&self, value: &V) -> Result<Vec<u8>, StoreError> {
        let bytes = encode_row(value)?;
        check_size(self.number, bytes.len())?;
        Ok(bytes)
    }

    pub fn get(&self, view: &(impl Read + ?Sized), key: &K) -> Result<Option<V>, StoreError> {
        match self.stored(view, key)? {
            Some(bytes) => Ok(Some(decode_row(&bytes)?)),
            None => Ok(None),
        }
    }

    /// The stored bytes of a row, for who needs a part of a large one.
    pub fn stored(&self, view: &(impl Read + ?Sized), key: &K) -> Result<Option<Vec<u8>>, StoreError> {
        view.get(&self.key(key))
    }

    pub fn contains(&self, view: &(impl Read + ?Sized), key: &K) -> Result<bool, StoreError> {
        Ok(self.stored(view, key)?.is_some())
    }

    pub fn put(&self, space: &mut (impl Write + ?Sized), key: &K, value: &V) -> Result<(), StoreError> {
        let bytes = self.encode(value)?;
        self.declare_to(space);
        space.put(self.key(key), bytes);
        Ok(())
    }

    pub fn delete(&self, space: &mut (impl Write + ?Sized), key: &K) {
        self.declare_to(space);
        space.delete(self.key(key));
    }

    fn declare_to(&self, space: &mut (impl Write + ?Sized)) {
        space.of_table(self.number, self.derived, std::any::type_name::<(K, V)>());
    }

    /// Every key of the table.
    pub fn range(&self) -> Range {
        Range::prefix(&[self.number])
    }

    /// Every key that begins with these leading parts.
    pub fn prefix(&self, parts: &impl Key) -> Range {
        Range::prefix(&self.key(parts))
    }

    /// Keys from `from` (inclusive) to `to` (exclusive), each given by leading parts of the key.
    pub fn between(&self, from: &impl Key, to: &impl Key) -> Range {
        Range { start: self.key(from), end: Some(self.key(to)) }
    }

    /// The keys of `range` after this one, ascending.
    pub fn after(&self, range: Range, key: &K) -> Range {
        Range { start: self.prefix(key).end.unwrap_or_default(), ..range }
    }

    /// At most `limit` rows of `range`.
    pub fn scan(
        &self,
        view: &(impl Read + ?Sized),
        range: &Range,
        direction: Direction,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        let pairs = view.scan(range, direction, limit)?;
        let mut rows = Vec::with_capacity(pairs.len());
        for pair in &pairs {
            rows.push(self.entry(pair)?);
        }
        Ok(rows)
    }

    /// The first row of `range`.
    pub fn first(&self, view: &(impl Read + ?Sized), range: &Range) -> Result<Option<(K, V)>, StoreError> {
        Ok(self.scan(view, range, Direction::Ascending, 1)?.pop())
    }

    /// The last row of `range`.
    pub fn last(&self, view: &(impl Read + ?Sized), range: &Range) -> Result<Option<(K, V)>, StoreError> {
        Ok(self.scan(view, range, Direction::Descending, 1)?.pop())
    }

    /// Visits the rows of `range` in order, read in pages, until `visit` answers `false`.
    pub fn visit(
        &self,
        view: &(impl Read + ?Sized),
        range: Range,
        direction: Direction,
        mut visit: impl FnMut(K, V) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for_each(view, range, direction, |key, value| visit(self.decode_key(key)?, decode_row(value)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryStore, Overlay, Store};
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Second {
        name: String,
        size: u64,
    }

    impl Row for Second {
        const VERSION: u8 = 2;
        fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
            match version {
                1 => Ok(Second { name: String::from_utf8_lossy(bytes).into_owned(), size: 0 }),
                _ => Err(StoreError::Corrupt("unknown version".into())),
            }
        }
    }

    #[test]
    fn rows_of_an_earlier_version_are_upgraded_when_read() {
        assert_eq!(decode_row::<Second>(b"\x01old").unwrap(), Second { name: "old".into(), size: 0 });
        let now = Second { name: "new".into(), size: 7 };
        assert_eq!(encode_row(&now).unwrap(), b"\x02\x03new\x07");
        assert_eq!(decode_row::<Second>(b"\x02\x03new\x07").unwrap(), now);
        for broken in [&b""[..], b"\x03new", b"\x02\x09new"] {
            assert!(decode_row::<Second>(broken).is_err());
        }
    }

    #[test]
    fn tables_of_one_space_do_not_mix_and_ranges_select_by_leading_parts() {
        let names: Table<(String, u64), u64> = Table::new(16);
        let others: Table<(String, u64), u64> = Table::new(17);
        let mut store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        for n in 0..600 {
            names.put(&mut space, &("a".into(), n), &n).unwrap();
            others.put(&mut space, &("a".into(), n), &(n + 1)).unwrap();
        }
        names.put(&mut space, &("b".into(), 1), &99).unwrap();
        let batch = space.into_batch();
        store.apply(batch).unwrap();

        let mut seen = Vec::new();
        names
            .visit(&store, names.prefix(&("a".to_string(),)), Direction::Descending, |(_, n), value| {
                assert_eq!(n, value);
                seen.push(n);
                Ok(true)
            })
            .unwrap();
        assert_eq!(seen, (0..600).rev().collect::<Vec<_>>());
        let some = names.between(&("a".to_string(), 10u64), &("a".to_string(), 13u64));
        assert_eq!(names.scan(&store, &some, Direction::Ascending, 99).unwrap().len(), 3);
        assert_eq!(names.last(&store, &names.range()).unwrap(), Some((("b".into(), 1), 99)));
    }

    #[test]
    fn a_row_over_the_platform_limit_is_refused_before_it_is_written() {
        let blobs: Table<(u8,), Vec<u8>> = Table::new(16);
        let store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        assert!(blobs.put(&mut space, &(1,), &vec![0; super::super::MAX_VALUE_BYTES]).is_err());
        assert!(space.changes().is_empty());
    }
}
