//! Rows under changes.

use std::collections::VecDeque;
use std::sync::Arc;

use heliograph_core::engine::kv::{Direction, Pair, Range, Read, Room, StoreError, Visit};

use super::super::rows::collect;
use super::changes::{Changes, Value};

/// Changed rows that are fetched at a time, at least and at most. Nothing may be locked while rows are visited.
const FETCHED: (usize, usize) = (4, 64);

/// The rows of a space under the changes of at most two generations, as of a commit.
pub struct Layered<'a, R> {
    base: &'a R,
    /// The younger changes first.
    changes: [Option<Arc<Changes>>; 2],
    /// The number of the last commit that is seen.
    seen: u64,
}

impl<'a, R: Read> Layered<'a, R> {
    pub fn new(base: &'a R, changes: [Option<Arc<Changes>>; 2], seen: u64) -> Self {
        Layered { base, changes, seen }
    }

    fn layers(&self) -> impl Iterator<Item = &Changes> {
        self.changes.iter().flatten().map(|changes| &**changes)
    }
}

/// The changed rows of a range, in the order of a direction: of a row that several layers changed, the value of the
/// youngest.
struct Changed<'a> {
    layers: Vec<Layer<'a>>,
    direction: Direction,
    seen: u64,
    /// How many rows to fetch at a time.
    page: usize,
}

struct Layer<'a> {
    changes: &'a Changes,
    /// The range that is not fetched yet; `None` at its end.
    rest: Option<Range>,
    fetched: VecDeque<(Arc<[u8]>, Value)>,
}

impl Layer<'_> {
    fn fill(&mut self, direction: Direction, seen: u64, page: usize) {
        let Some(rest) = self.rest.take() else { return };
        self.fetched = self.changes.page(&rest, direction, seen, page).into();
        if self.fetched.len() == page {
            self.rest = self.fetched.back().map(|(key, _)| rest.beyond(key, direction));
        }
    }
}

impl Changed<'_> {
    /// The next changed row.
    fn peek(&mut self) -> Option<&(Arc<[u8]>, Value)> {
        let at = self.first()?;
        self.layers.get(at)?.fetched.front()
    }

    /// The layer with the next row; the youngest of several.
    fn first(&mut self) -> Option<usize> {
        let (direction, seen, page) = (self.direction, self.seen, self.page);
        self.layers
            .iter_mut()
            .filter(|layer| layer.fetched.is_empty())
            .for_each(|layer| layer.fill(direction, seen, page));
        let keys = self.layers.iter().enumerate().filter_map(|(at, layer)| Some((at, &layer.fetched.front()?.0)));
        let before = |a: &Arc<[u8]>, b: &Arc<[u8]>| match direction {
            Direction::Ascending => a < b,
            Direction::Descending => a > b,
        };
        let first = |best: (usize, _), next: (usize, _)| if before(next.1, best.1) { next } else { best };
        keys.reduce(first).map(|(at, _)| at)
    }

    /// Takes the next changed row out of all layers.
    fn take(&mut self) -> Option<(Arc<[u8]>, Value)> {
        let at = self.first()?;
        let row = self.layers.get_mut(at)?.fetched.pop_front()?;
        for layer in &mut self.layers {
            if layer.fetched.front().is_some_and(|(key, _)| *key == row.0) {
                layer.fetched.pop_front();
            }
        }
        Some(row)
    }
}

impl<R: Read> Read for Layered<'_, R> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.layers().find_map(|changes| changes.get(key, self.seen)) {
            Some(value) => Ok(value.map(|value| value.to_vec())),
            None => self.base.get(key),
        }
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        collect(self, range, direction, limit)
    }

    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let layer = |changes| Layer { changes, rest: Some(range.clone()), fetched: VecDeque::new() };
        let mut changed = Changed {
            layers: self.layers().map(layer).collect(),
            direction,
            seen: self.seen,
            page: page.clamp(FETCHED.0, FETCHED.1),
        };
        if changed.peek().is_none() {
            return self.base.visit(range, direction, page, visit);
        }
        let comes_before = |changed: &[u8], row: &[u8]| match direction {
            Direction::Ascending => changed < row,
            Direction::Descending => changed > row,
        };
        let mut more = true;
        self.base.visit(range, direction, page, &mut |key, value| {
            while let Some((next, _)) = changed.peek().filter(|(next, _)| comes_before(next, key)) {
                let next = next.clone();
                let value = changed.take().and_then(|(_, value)| value);
                if let Some(value) = value {
                    more = visit(&next, &value)?;
                    if !more {
                        return Ok(false);
                    }
                }
            }
            more = match changed.peek() {
                Some((next, _)) if **next == *key => match changed.take() {
                    Some((_, Some(value))) => visit(key, &value)?,
                    _ => true,
                },
                _ => visit(key, value)?,
            };
            Ok(more)
        })?;
        while more && let Some((key, value)) = changed.take() {
            if let Some(value) = value {
                more = visit(&key, &value)?;
            }
        }
        Ok(())
    }

    fn room(&self) -> Option<Room> {
        self.base.room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heliograph_core::engine::kv::{Batch, Change, MemoryStore, Store as _};
    use heliograph_core::engine::testing::Dice;
    use std::collections::BTreeMap;

    const DIRECTIONS: [Direction; 2] = [Direction::Ascending, Direction::Descending];

    fn key(dice: &mut Dice) -> Vec<u8> {
        // Few keys, so that most are changed in several layers; some begin others.
        let length = 1 + dice.below(2) as usize;
        (0..length).map(|_| dice.below(14) as u8).collect()
    }

    fn range(dice: &mut Dice) -> Range {
        Range { start: key(dice), end: (dice.below(3) > 0).then(|| key(dice)) }
    }

    /// Random rows in the tree, in the older and in the younger generation, looked at as of every commit.
    #[test]
    fn rows_under_changes_are_those_of_a_store_that_applied_them() {
        for seed in 0..60 {
            let mut dice = Dice(seed);
            let mut base = MemoryStore::default();
            let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
            let mut batch = Batch::default();
            for n in 0..dice.below(120) {
                let key = key(&mut dice);
                batch.put(key.clone(), vec![n as u8]);
                model.insert(key, vec![n as u8]);
            }
            base.apply(batch).unwrap();
            let layers = [Arc::new(Changes::default()), Arc::new(Changes::default())];
            let mut history = vec![model.clone()];
            for commit in 1..60_u64 {
                let layer = &layers[usize::from(commit > 30)];
                let mut batch = Batch::default();
                for _ in 0..1 + dice.below(8) {
                    let (key, value) = (key(&mut dice), vec![commit as u8; 1 + commit as usize % 3]);
                    match dice.below(3) > 0 {
                        true => batch.put(key.clone(), value.clone()),
                        false => batch.delete(key.clone()),
                    }
                    match batch.get(&key) {
                        Some(Change::Put(value)) => drop(model.insert(key, value.clone())),
                        _ => drop(model.remove(&key)),
                    }
                }
                layer.add(commit, batch);
                history.push(model.clone());
            }
            let [older, younger] = layers;
            for (seen, model) in history.into_iter().enumerate() {
                let view = Layered::new(&base, [Some(younger.clone()), Some(older.clone())], seen as u64);
                let mut expected = MemoryStore::default();
                let mut batch = Batch::default();
                model.iter().for_each(|(key, value)| batch.put(key.clone(), value.clone()));
                expected.apply(batch).unwrap();
                for _ in 0..6 {
                    let (range, limit) = (range(&mut dice), dice.below(90) as usize);
                    for direction in DIRECTIONS {
                        let [a, b] = [view.scan(&range, direction, limit), expected.scan(&range, direction, limit)];
                        assert_eq!(a.unwrap(), b.unwrap(), "seed {seed} as of {seen}: {range:?} {direction:?}");
                    }
                    let key = key(&mut dice);
                    assert_eq!(view.get(&key).unwrap(), expected.get(&key).unwrap());
                }
            }
        }
    }

    /// More changed rows than are fetched at a time, and long runs of removed ones.
    #[test]
    fn runs_of_removed_rows_are_passed_in_both_directions() {
        let number = |n: u32| n.to_be_bytes().to_vec();
        let mut base = MemoryStore::default();
        let mut batch = Batch::default();
        (0..1_000).for_each(|n| batch.put(number(2 * n), vec![0]));
        base.apply(batch).unwrap();
        let changes = Arc::new(Changes::default());
        let (mut removed, mut put) = (Batch::default(), Batch::default());
        (100..1_900).for_each(|n| removed.delete(number(n)));
        (500..510).for_each(|n| put.put(number(n), vec![1]));
        changes.add(1, removed);
        changes.add(2, put);
        let view = Layered::new(&base, [Some(changes), None], 2);
        let expected: Vec<u32> = (0..50).map(|n| 2 * n).chain(500..510).chain((950..1_000).map(|n| 2 * n)).collect();
        let keys = |direction| -> Vec<u32> {
            let rows = view.scan(&Range::all(), direction, usize::MAX).unwrap();
            rows.into_iter().map(|(key, _)| u32::from_be_bytes(key.try_into().unwrap())).collect()
        };
        assert_eq!(keys(Direction::Ascending), expected);
        assert_eq!(keys(Direction::Descending), expected.into_iter().rev().collect::<Vec<_>>());
        assert_eq!(view.scan(&Range::prefix(&[0, 0, 1]), Direction::Descending, 3).unwrap().len(), 3);
    }
}
