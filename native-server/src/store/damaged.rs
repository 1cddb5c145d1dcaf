//! Random tests of the storage engine on damaged pages.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::{Fault, Options, ROWS, Store, pages_in_use};
use crate::testing::folder;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn key(&mut self) -> Vec<u8> {
        let n = self.below(6_000) as u32;
        [n.to_be_bytes().as_slice(), &vec![b'k'; n as usize % 40]].concat()
    }

    fn value(&mut self) -> Vec<u8> {
        let len = if self.below(50) == 0 { 9_000 } else { self.below(400) };
        vec![self.below(256) as u8; len]
    }
}

fn open(path: &Path) -> Store {
    Store::open(Options { cache_bytes: 0, ..Options::new(path) }).unwrap()
}

/// Runs one transaction; the result says whether it became durable.
fn change(store: &Store, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<(), Fault> {
    let transaction = store.begin_write()?;
    {
        let mut table = transaction.open_table(ROWS).map_err(Fault::of)?;
        for (key, value) in changes {
            match value {
                Some(value) => drop(table.insert(key.as_slice(), value.as_slice()).map_err(Fault::of)?),
                None => drop(table.remove(key.as_slice()).map_err(Fault::of)?),
            }
        }
    }
    transaction.commit().map_err(Fault::of)
}

fn fill(path: &Path, numbers: &mut Numbers) -> Model {
    let store = open(path);
    let mut model = Model::new();
    for _ in 0..30 {
        let changes: Vec<_> = (0..150).map(|_| (numbers.key(), Some(numbers.value()))).collect();
        change(&store, &changes).unwrap();
        model.extend(changes.into_iter().map(|(key, value)| (key, value.unwrap())));
    }
    model
}

/// Reads one row, and a span of rows from it on; returns how many of these reads were refused.
fn look(store: &Store, model: &Model, key: &[u8]) -> usize {
    let mut refused = 0;
    let got = store.read(|snapshot| {
        let table = snapshot.open_table(ROWS).map_err(super::refused)?;
        Ok(table.get(key).map_err(super::refused)?.map(|value| value.value().to_vec()))
    });
    match got {
        Ok(found) => assert_eq!(found.as_ref(), model.get(key), "{key:?}"),
        Err(_) => refused += 1,
    }
    let mut expected = model.range(key.to_vec()..).take(60);
    let spanned = store.read(|snapshot| {
        let table = snapshot.open_table(ROWS).map_err(super::refused)?;
        for row in table.range(key..).map_err(super::refused)?.take(60) {
            let (key, value) = row.map_err(super::refused)?;
            let (model_key, model_value) = expected.next().unwrap();
            assert!(key.value() == model_key.as_slice() && value.value() == model_value.as_slice());
        }
        assert!(expected.next().is_none());
        Ok(())
    });
    refused + usize::from(spanned.is_err())
}

/// Flips a bit on a page in use, or overwrites the page.
fn damage(path: &Path, numbers: &mut Numbers, only: Option<&str>) -> bool {
    let store = Store::open(Options { looking: true, ..Options::new(path) }).unwrap();
    let mut pages = pages_in_use(&store).unwrap();
    pages.retain(|page| page.table == "rows" && only.is_none_or(|kind| page.kind == kind));
    if pages.is_empty() {
        return false;
    }
    let page = &pages[numbers.below(pages.len())];
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let at = page.offset + numbers.below(64) as u64;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << numbers.below(8)], at).unwrap();
    true
}

fn walk(seed: u64, unclean: bool) -> (usize, usize) {
    let folder = folder("damaged-walk");
    let path = folder.file("d.redb");
    let mut numbers = Numbers(seed);
    let mut model = fill(&path, &mut numbers);
    if unclean {
        let store = open(&path);
        change(&store, &[(vec![0], Some(vec![1]))]).unwrap();
        model.insert(vec![0], vec![1]);
        std::fs::copy(&path, folder.file("crashed.redb")).unwrap();
        drop(store);
        std::fs::rename(folder.file("crashed.redb"), &path).unwrap();
    }
    damage(&path, &mut numbers, None);
    if numbers.below(3) == 0 {
        damage(&path, &mut numbers, Some("branch"));
    }
    let (mut refused, mut panics) = (0, 0);
    let mut store = open(&path);
    for _ in 0..120 {
        let key = numbers.key();
        refused += look(&store, &model, &key);
        let changes: Vec<_> = (0..=numbers.below(12))
            .map(|_| {
                let value = (numbers.below(3) == 0).then(|| numbers.value());
                (numbers.key(), value)
            })
            .collect();
        let done = catch_unwind(AssertUnwindSafe(|| change(&store, &changes)));
        match done {
            Ok(Ok(())) => {
                for (key, value) in changes {
                    match value {
                        Some(value) => drop(model.insert(key, value)),
                        None => drop(model.remove(&key)),
                    }
                }
            }
            Ok(Err(Fault::Damaged(_))) => refused += 1,
            other => {
                panics += usize::from(other.is_err());
                store.close();
                store.reopen().unwrap();
            }
        }
    }
    drop(store);
    store = open(&path);
    let keys: Vec<Vec<u8>> = model.keys().cloned().collect();
    for key in keys {
        look(&store, &model, &key);
    }
    (refused, panics)
}

#[test]
fn whatever_is_done_on_damaged_pages_is_right_or_refused() {
    let (mut refused, mut panics) = (0, 0);
    for seed in 0..12 {
        let (more, stops) = walk(seed, seed % 3 == 0);
        (refused, panics) = (refused + more, panics + stops);
    }
    assert!(refused > 50, "{refused} refusals: the damage was not met");
    assert_eq!(panics, 0);
}

#[test]
fn a_head_with_one_damaged_copy_is_read_and_mended() {
    let folder = folder("head");
    let path = folder.file("d.redb");
    for at in [3_u64, 9, 70, 200, 330, 500, 2048 + 9, 2048 + 100] {
        drop(std::fs::remove_file(&path));
        let store = open(&path);
        change(&store, &[(vec![7], Some(vec![8]))]).unwrap();
        drop(store);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 16], at).unwrap();
        let store = open(&path);
        let value = store.read(|snapshot| {
            let table = snapshot.open_table(ROWS).map_err(super::refused)?;
            Ok(table.get([7].as_slice()).map_err(super::refused)?.map(|value| value.value().to_vec()))
        });
        assert_eq!(value.unwrap(), Some(vec![8]), "{at}");
    }
}
