use proptest::prelude::*;

use super::*;
use engine::kv::{MemoryStore, Overlay, Store};

const TABLE: PackedTable = Table::new(16);
const TARGET: &str = "example.org";

/// The stored cells, by place.
type Model = BTreeMap<(u32, u32), (Vec<u8>, Vec<u8>)>;

fn write(store: &mut MemoryStore, work: impl FnOnce(&mut Overlay<'_>)) {
    let mut space = Overlay::new(store);
    work(&mut space);
    let batch = space.into_batch();
    store.apply(batch).unwrap();
}

/// Unites cells with the stored cells, a day at a time.
fn add(store: &mut MemoryStore, more: &Model) {
    for ((day, asn), (entries, rows)) in more {
        let known = load(&TABLE, store, (TARGET, 1), *day).unwrap();
        let mut cells: Model = BTreeMap::new();
        for kept in known.walk().map(Result::unwrap) {
            cells.insert(kept.place(), (kept.entries.to_vec(), kept.rows.to_vec()));
        }
        let cell = cells.entry((*day, *asn)).or_default();
        cell.0 = unite(&cell.0, entries, ENTRY_LEN, 8, |a, _, out| out.extend(a)).0;
        cell.1 = unite(&cell.1, rows, HASH_LEN, HASH_LEN, |a, _, out| out.extend(a)).0;
        let mut now = Vec::new();
        for ((day, asn), (entries, rows)) in &cells {
            StoredCell { day: *day, asn: *asn, entries, rows }.write(&mut now);
        }
        let rows = known.rows(TARGET, 1, now).unwrap();
        write(store, |space| rows.iter().for_each(|(key, cells)| TABLE.put(space, key, cells).unwrap()));
    }
}

fn all_rows(store: &MemoryStore) -> Vec<(PartKey, Cells)> {
    TABLE.scan(store, &TABLE.range(), Direction::Ascending, usize::MAX).unwrap()
}

/// The entries that are read for some days.
fn read(store: &MemoryStore, days: (u32, u32)) -> BTreeMap<(u32, u32), Vec<u8>> {
    let mut seen: BTreeMap<(u32, u32), Vec<u8>> = BTreeMap::new();
    visit_days(&TABLE, store, TARGET, days, |day, asn, source, entries| {
        assert_eq!(source, 1);
        seen.entry((day, asn)).or_default().extend(entries);
    })
    .unwrap();
    seen
}

/// Records of this width, in order. Their first bytes are spread like hashes.
fn records(numbers: std::ops::Range<u32>, width: usize) -> Vec<u8> {
    let mut numbers: Vec<u32> = numbers.map(|n| n.wrapping_mul(2_654_435_761)).collect();
    numbers.sort_unstable();
    let record = |n: &u32| [n.to_be_bytes().as_slice(), &vec![7; width - 4]].concat();
    numbers.iter().flat_map(record).collect()
}

fn cell(day: u32, asn: u32, numbers: std::ops::Range<u32>) -> Model {
    let (entries, rows) = (records(numbers.clone(), ENTRY_LEN), records(numbers, HASH_LEN));
    BTreeMap::from([((day, asn), (entries, rows))])
}

/// Removes every cell for which `goes` is true, row by row.
fn remove(store: &mut MemoryStore, goes: impl Fn(u32, u32) -> bool) {
    loop {
        let rows = all_rows(store);
        let holds = |(key, cells): &&(PartKey, Cells)| {
            cells.walk(key.1).map(Result::unwrap).any(|kept| goes(kept.day, kept.asn))
        };
        let Some((key, cells)) = rows.iter().find(holds) else { return };
        let mut left = Vec::new();
        for kept in cells.walk(key.1).map(Result::unwrap).filter(|kept| !goes(kept.day, kept.asn)) {
            kept.write(&mut left);
        }
        write(store, |space| shrink(&TABLE, space, key, left).unwrap());
    }
}

fn entries(model: &Model) -> BTreeMap<(u32, u32), Vec<u8>> {
    model.iter().map(|(place, (entries, _))| (*place, entries.clone())).collect()
}

#[test]
fn a_month_of_a_target_is_one_row_and_a_cell_of_one_measurement_takes_few_bytes() {
    let mut store = MemoryStore::default();
    for day in 64..96 {
        add(&mut store, &cell(day, 4_200_000_000, day..day + 1));
    }
    let rows = all_rows(&store);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].0, (TARGET.to_owned(), 2, 1, 0, 0));
    assert_eq!(rows[0].1.0.len(), 32 * (1 + 5 + ENTRY_LEN + HASH_LEN));
    add(&mut store, &cell(96, 1, 0..1));
    assert_eq!(all_rows(&store).len(), 2, "the next day is of the next block");
    assert_eq!(read(&store, (70, 71)).into_keys().collect::<Vec<_>>(), [(70, 4_200_000_000), (71, 4_200_000_000)]);
    assert_eq!(read(&store, (95, 200)).len(), 2);
    assert!(read(&store, (0, 63)).is_empty() && read(&store, (97, u32::MAX)).is_empty());
}

#[test]
fn large_blocks_and_days_are_kept_in_smaller_rows_whatever_the_steps_and_come_together_again() {
    let small = cell(40, 9, 0..3);
    let busy = cell(33, 1, 0..40_000);
    let medium = cell(34, 2, 0..1_000);
    let (mut once, mut stepwise) = (MemoryStore::default(), MemoryStore::default());
    let all: Model = [&busy, &small, &medium].into_iter().flat_map(Clone::clone).collect();
    add(&mut once, &all);
    for part in [&medium, &cell(33, 1, 10_000..40_000), &small, &cell(33, 1, 0..20_000), &small] {
        add(&mut stepwise, part);
    }
    assert!(all_rows(&once) == all_rows(&stepwise));
    let keys: Vec<(u8, u8)> = all_rows(&once).into_iter().map(|((.., day, part), _)| (day, part)).collect();
    let parts = (1..=16).map(|part| (2, part));
    let expected: Vec<(u8, u8)> = [(0, 0), (2, 0)].into_iter().chain(parts).chain([(3, 0), (9, 0)]).collect();
    assert_eq!(keys, expected, "a mark, a day in parts behind its mark, two days");
    assert!(read(&once, (0, 99)) == entries(&all));
    assert!(read(&once, (34, 40)) == entries(&medium.into_iter().chain(small.clone()).collect()));
    for (day, first, last) in [(0, 33, 33), (34, 34, 33), (35, 40, 34), (41, 0, 40)] {
        assert_eq!(first_day(&TABLE, &once, TARGET, day).unwrap().unwrap_or(0), first, "from {day}");
        if day > 33 {
            assert_eq!(last_day(&TABLE, &once, TARGET, day).unwrap(), Some(last), "before {day}");
        }
    }
    assert_eq!(last_day(&TABLE, &once, TARGET, 33).unwrap(), None);
    remove(&mut once, |day, _| day == 33);
    assert_eq!(all_rows(&once).len(), 1, "what is left fits into one row");
    assert_eq!(read(&once, (0, 99)).len(), 2);
    remove(&mut once, |_, _| true);
    assert!(all_rows(&once).is_empty());
}

#[test]
fn damaged_rows_are_errors_and_never_a_panic() {
    let mut store = MemoryStore::default();
    add(&mut store, &cell(3, 300, 0..2));
    let bytes = all_rows(&store)[0].1.0.clone();
    for end in 1..bytes.len() {
        let cut = Cells(bytes[..end].to_vec());
        let read: Vec<_> = cut.walk(0).collect();
        assert!(matches!(read.as_slice(), [Err(_)]), "{end} bytes");
    }
    for byte in [0x00, 0x1F, 0x20, 0x7F, 0xFF] {
        let damaged = Cells(vec![byte; 9]);
        assert!(damaged.walk(u32::MAX).all(|kept| kept.is_err()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Decision order-of-data: the layout depends only on what is stored, also after something was removed.
    #[test]
    fn any_order_and_any_removal_leaves_the_rows_of_what_is_left(
        cells in prop::collection::vec((30u32..70, 1u32..4, 0u32..900, 1u32..1_200), 1..20),
        order in any::<prop::sample::Index>(),
        gone in (30u32..70, 0u32..20),
    ) {
        let cells: Vec<Model> =
            cells.into_iter().map(|(day, asn, from, count)| cell(day, asn, from..from + count)).collect();
        let goes = |day: u32| (gone.0..gone.0 + gone.1).contains(&day);
        let (mut once, mut other, mut left) = Default::default();
        cells.iter().for_each(|cell| add(&mut once, cell));
        let mut turned = cells.clone();
        turned.rotate_left(order.index(cells.len()));
        turned.iter().rev().for_each(|cell| add(&mut other, cell));
        prop_assert!(all_rows(&once) == all_rows(&other));
        remove(&mut once, |day, _| goes(day));
        for cell in cells.iter().filter(|cell| !cell.keys().any(|(day, _)| goes(*day))) {
            add(&mut left, cell);
        }
        prop_assert!(all_rows(&once) == all_rows(&left));
    }
}

#[test]
fn union_keeps_order_and_counts_repeats() {
    let (out, repeats) = unite(&[1, 3, 5], &[2, 3, 6], 1, 1, |a, _, out| out.extend(a));
    assert_eq!((out, repeats), (vec![1, 2, 3, 5, 6], 1));
}
