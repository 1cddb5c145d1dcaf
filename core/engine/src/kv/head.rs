//! Rows at the head of a group of rows.

use super::{Direction, KeyPart, Pair, Read, Row, StoreError, Table, Write};

/// A table of one row for each name that begins the keys of another table, whose number it shares: a row here stands right
/// before the rows there that begin with its name. What changes one and adds to the others, as a payment does with a wallet
/// and its history, changes one page of a B-tree and not two that lie far apart.
pub struct Head<K, V> {
    rows: Table<(K,), V>,
}

impl<K: KeyPart, V: Row> Head<K, V> {
    /// A table before the one of that number, whose keys have more parts than one, the first of them a `K`.
    pub const fn of(number: u8) -> Self {
        Head { rows: Table::new(number) }
    }

    pub fn get(&self, view: &(impl Read + ?Sized), key: &(K,)) -> Result<Option<V>, StoreError> {
        self.rows.get(view, key)
    }

    pub fn contains(&self, view: &(impl Read + ?Sized), key: &(K,)) -> Result<bool, StoreError> {
        self.rows.contains(view, key)
    }

    // Writes go past `Table`, which would declare these types for a number that the other table declares.

    pub fn put(&self, space: &mut (impl Write + ?Sized), key: &(K,), value: &V) -> Result<(), StoreError> {
        space.put(self.rows.key(key), self.rows.encode(value)?);
        Ok(())
    }

    pub fn delete(&self, space: &mut (impl Write + ?Sized), key: &(K,)) {
        space.delete(self.rows.key(key));
    }

    /// Whether this is the key of a row here.
    #[cfg(any(test, feature = "conformance"))]
    pub fn holds(&self, key: &[u8]) -> bool {
        self.rows.range().contains(key) && self.rows.decode_key(key).is_ok()
    }

    /// At most `limit` rows in the order of their names: those after `after`, or from the first on. A group costs one or two
    /// look-ups, however many rows it has.
    pub fn page(
        &self,
        view: &(impl Read + ?Sized),
        after: Option<&(K,)>,
        limit: usize,
    ) -> Result<Vec<(K, V)>, StoreError> {
        let mut rest = match after {
            Some(key) => self.rows.after(self.rows.range(), key),
            None => self.rows.range(),
        };
        let mut page = Vec::new();
        while page.len() < limit {
            let Some(pair) = view.scan(&rest, Direction::Ascending, 1)?.pop() else { break };
            // A group need not have a head.
            if self.rows.decode_key(&pair.0).is_ok() {
                let ((name,), value) = self.rows.entry(&pair)?;
                page.push((name, value));
            }
            rest.start = self.past_group(&pair)?;
        }
        Ok(page)
    }

    /// Where the next group begins.
    fn past_group(&self, (key, _): &Pair) -> Result<Vec<u8>, StoreError> {
        let mut parts = key.get(1..).unwrap_or_default();
        let name = K::read(&mut parts).ok_or_else(|| self.rows.unreadable())?;
        Ok(self.rows.prefix(&(name,)).end.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryStore, Overlay, Store};
    use super::*;

    const HEADS: Head<String, u64> = Head::of(20);
    const LINES: Table<(String, u64), u64> = Table::new(20);

    fn key(name: &str) -> (String,) {
        (name.to_owned(),)
    }

    fn store() -> MemoryStore {
        let mut store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        Table::<(u64,), u64>::new(19).put(&mut space, &(1,), &1).unwrap();
        Table::<(u64,), u64>::new(21).put(&mut space, &(1,), &1).unwrap();
        // "b" has lines and no head, "c" a head and no lines; one name begins another.
        for (name, head, lines) in [("a", true, 3), ("a\0", true, 2), ("ab", true, 1), ("b", false, 2), ("c", true, 0)]
        {
            if head {
                HEADS.put(&mut space, &key(name), &7).unwrap();
            }
            for line in 0..lines {
                LINES.put(&mut space, &(name.to_owned(), line), &line).unwrap();
            }
        }
        let batch = space.into_batch();
        store.apply(batch).unwrap();
        store
    }

    #[test]
    fn heads_page_out_in_order_whatever_lies_between_them() {
        let store = store();
        let names = ["a", "a\0", "ab", "c"];
        for limit in 1..=5 {
            let (mut seen, mut after) = (Vec::new(), None);
            loop {
                let page = HEADS.page(&store, after.as_ref(), limit).unwrap();
                assert!(page.len() <= limit && page.iter().all(|(_, value)| *value == 7));
                seen.extend(page.iter().map(|(name, _)| name.clone()));
                match page.len() == limit {
                    true => after = page.into_iter().next_back().map(|(name, _)| (name,)),
                    false => break,
                }
            }
            assert_eq!(seen, names);
        }
        // From between two of them, and from a group without a head.
        let from = |name: &str| HEADS.page(&store, Some(&key(name)), 1).unwrap().pop().map(|(name, _)| name);
        assert_eq!([from("aa"), from("b"), from("c")], [Some("ab".into()), Some("c".into()), None]);
    }

    #[test]
    fn the_lines_of_a_name_are_found_without_its_head() {
        let store = store();
        assert_eq!((HEADS.get(&store, &key("a")), HEADS.contains(&store, &key("b"))), (Ok(Some(7)), Ok(false)));
        let lines = LINES.between(&("a".to_owned(), 0_u64), &("a".to_owned(), u64::MAX));
        let lines = LINES.scan(&store, &lines, Direction::Ascending, 9).unwrap();
        assert_eq!(lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), [0, 1, 2]);
        let all = store.scan(&LINES.range(), Direction::Ascending, usize::MAX).unwrap();
        assert_eq!((all.len(), all.iter().filter(|(key, _)| HEADS.holds(key)).count()), (12, 4));
        let mut space = Overlay::new(&store);
        HEADS.delete(&mut space, &key("a"));
        assert_eq!(HEADS.page(&space, None, 1).unwrap(), [("a\0".to_owned(), 7)]);
    }
}
