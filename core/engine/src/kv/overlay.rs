//! Writes that are not applied yet, readable as if they were.

use super::{Batch, Change, Direction, Pair, Range, Read, Room, StoreError, Write};

/// A view of `base` as it is with these changes.
pub struct Patched<'a> {
    pub base: &'a dyn Read,
    pub changes: &'a Batch,
}

impl Patched<'_> {
    /// Merges one page of `base` with the changes that fall into the span the page covers.
    fn merge(&self, base: Vec<Pair>, span: &Range, direction: Direction) -> Vec<Pair> {
        let mut merged: Vec<Pair> = base.into_iter().filter(|(key, _)| self.changes.get(key).is_none()).collect();
        for (key, change) in self.changes.range(&span.start, span.end.as_deref()) {
            if let Change::Put(value) = change {
                merged.push((key.clone(), value.clone()));
            }
        }
        match direction {
            Direction::Ascending => merged.sort_unstable_by(|a, b| a.0.cmp(&b.0)),
            Direction::Descending => merged.sort_unstable_by(|a, b| b.0.cmp(&a.0)),
        }
        merged
    }
}

impl Read for Patched<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.changes.get(key) {
            Some(Change::Put(value)) => Ok(Some(value.clone())),
            Some(Change::Delete) => Ok(None),
            None => self.base.get(key),
        }
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        if range.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        if self.changes.range(&range.start, range.end.as_deref()).next().is_none() {
            return self.base.scan(range, direction, limit);
        }
        let mut found = Vec::new();
        let mut rest = range.clone();
        loop {
            let page = self.base.scan(&rest, direction, limit)?;
            let ended = page.len() < limit;
            // The page speaks for the keys up to its last one only; beyond it the base is not known yet.
            let span = match page.last() {
                Some((last, _)) if !ended => match direction {
                    Direction::Ascending => {
                        let mut end = last.clone();
                        end.push(0);
                        Range { start: rest.start.clone(), end: Some(end) }
                    }
                    Direction::Descending => Range { start: last.clone(), end: rest.end.clone() },
                },
                _ => rest.clone(),
            };
            let last = page.last().map(|(key, _)| key.clone());
            found.extend(self.merge(page, &span, direction));
            if ended || found.len() >= limit {
                found.truncate(limit);
                return Ok(found);
            }
            if let Some(last) = last {
                rest = rest.beyond(&last, direction);
            }
        }
    }

    /// As it was before the changes.
    fn room(&self) -> Option<Room> {
        self.base.room()
    }
}

/// A view of `base` with changes on top. Dropping it undoes them; [`Overlay::into_batch`] hands them over.
pub struct Overlay<'a> {
    base: &'a dyn Read,
    changes: Batch,
}

impl<'a> Overlay<'a> {
    pub fn new(base: &'a dyn Read) -> Self {
        Overlay { base, changes: Batch::default() }
    }

    pub fn changes(&self) -> &Batch {
        &self.changes
    }

    pub fn into_batch(self) -> Batch {
        self.changes
    }

    fn view(&self) -> Patched<'_> {
        Patched { base: self.base, changes: &self.changes }
    }
}

impl Read for Overlay<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.view().get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.view().scan(range, direction, limit)
    }

    fn room(&self) -> Option<Room> {
        self.view().room()
    }
}

impl Write for Overlay<'_> {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.changes.put(key, value);
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.changes.delete(key);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryStore, Store};
    use super::*;
    use proptest::prelude::*;

    fn change() -> impl Strategy<Value = (Vec<u8>, Option<Vec<u8>>)> {
        (prop::collection::vec(0u8..4, 0..3), prop::option::of(prop::collection::vec(any::<u8>(), 0..3)))
    }

    fn batch(changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Batch {
        let mut batch = Batch::default();
        for (key, value) in changes {
            match value {
                Some(value) => batch.put(key.clone(), value.clone()),
                None => batch.delete(key.clone()),
            }
        }
        batch
    }

    proptest! {
        #[test]
        fn an_overlay_reads_as_if_its_changes_were_applied(
            stored in prop::collection::vec(change(), 0..20),
            pending in prop::collection::vec(change(), 0..20),
            start in prop::collection::vec(0u8..4, 0..3),
            end in prop::option::of(prop::collection::vec(0u8..4, 0..3)),
            limit in 0usize..8,
            down in any::<bool>(),
        ) {
            let mut base = MemoryStore::default();
            base.apply(batch(&stored)).unwrap();
            let mut applied = base.clone();
            applied.apply(batch(&pending)).unwrap();
            let mut overlay = Overlay::new(&base);
            for (key, value) in &pending {
                match value {
                    Some(value) => overlay.put(key.clone(), value.clone()),
                    None => overlay.delete(key.clone()),
                }
            }
            let range = Range { start, end };
            let direction = if down { Direction::Descending } else { Direction::Ascending };
            prop_assert_eq!(overlay.scan(&range, direction, limit), applied.scan(&range, direction, limit));
            for (key, _) in stored.iter().chain(&pending) {
                prop_assert_eq!(overlay.get(key), applied.get(key));
            }
        }
    }
}
