//! What every backend must do. Each function takes a fresh store; [`run`] runs them all.
//!
//! Failures panic with the name of the broken rule: these functions are tests that a backend's crate calls.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::{Batch, Direction, MAX_VALUE_BYTES, Range, Read, Store};

/// Runs every rule on stores made by `fresh`.
pub fn run<S: Store>(mut fresh: impl FnMut() -> S) {
    let rules: &[fn(S)] = &[
        an_empty_store_has_nothing,
        a_batch_is_readable_after_apply,
        deleting_what_is_absent_succeeds,
        scans_are_ordered_by_bytes_in_both_directions,
        scan_bounds_are_half_open_and_limits_hold,
        inverted_and_empty_ranges_yield_nothing,
        values_of_every_size_up_to_the_limit_round_trip,
        keys_and_values_may_be_any_bytes,
        random_batches_match_a_model,
    ];
    for rule in rules {
        rule(fresh());
    }
}

fn apply<S: Store>(store: &mut S, changes: &[(&[u8], Option<&[u8]>)]) {
    let mut batch = Batch::default();
    for (key, value) in changes {
        match value {
            Some(value) => batch.put(key.to_vec(), value.to_vec()),
            None => batch.delete(key.to_vec()),
        }
    }
    store.apply(batch).unwrap();
}

fn keys<S: Store>(store: &S, range: &Range, direction: Direction, limit: usize) -> Vec<Vec<u8>> {
    store.scan(range, direction, limit).unwrap().into_iter().map(|(key, _)| key).collect()
}

fn an_empty_store_has_nothing<S: Store>(store: S) {
    assert_eq!(store.get(b"a"), Ok(None));
    assert_eq!(store.scan(&Range::all(), Direction::Ascending, 10), Ok(vec![]));
    assert_eq!(store.scan(&Range::all(), Direction::Descending, 10), Ok(vec![]));
}

fn a_batch_is_readable_after_apply<S: Store>(mut store: S) {
    apply(&mut store, &[(b"a", Some(b"1")), (b"b", Some(b"2"))]);
    apply(&mut store, &[(b"a", Some(b"3")), (b"b", None), (b"c", Some(b""))]);
    assert_eq!(store.get(b"a"), Ok(Some(b"3".to_vec())));
    assert_eq!(store.get(b"b"), Ok(None));
    assert_eq!(store.get(b"c"), Ok(Some(vec![])));
    store.apply(Batch::default()).unwrap();
}

fn deleting_what_is_absent_succeeds<S: Store>(mut store: S) {
    apply(&mut store, &[(b"a", None)]);
    assert_eq!(store.get(b"a"), Ok(None));
}

fn scans_are_ordered_by_bytes_in_both_directions<S: Store>(mut store: S) {
    let mut sorted: Vec<&[u8]> =
        vec![b"", b"\0", b"\0\0", b"a", b"a\0", b"aa", b"b", b"\x7f", b"\x80", b"\xff", b"\xff\xff"];
    let mixed: Vec<_> = sorted.iter().rev().map(|key| (*key, Some(&b"v"[..]))).collect();
    apply(&mut store, &mixed);
    sorted.sort_unstable();
    assert_eq!(keys(&store, &Range::all(), Direction::Ascending, 100), sorted);
    sorted.reverse();
    assert_eq!(keys(&store, &Range::all(), Direction::Descending, 100), sorted);
}

fn scan_bounds_are_half_open_and_limits_hold<S: Store>(mut store: S) {
    apply(&mut store, &[(b"a", Some(b"")), (b"b", Some(b"")), (b"c", Some(b"")), (b"d", Some(b""))]);
    let middle = Range { start: b"b".to_vec(), end: Some(b"d".to_vec()) };
    assert_eq!(keys(&store, &middle, Direction::Ascending, 9), [b"b", b"c"]);
    assert_eq!(keys(&store, &middle, Direction::Descending, 9), [b"c", b"b"]);
    assert_eq!(keys(&store, &middle, Direction::Descending, 1), [b"c"]);
    assert_eq!(keys(&store, &middle, Direction::Ascending, 0), Vec::<Vec<u8>>::new());
    assert_eq!(keys(&store, &Range::prefix(b"c"), Direction::Ascending, 9), [b"c"]);
}

fn inverted_and_empty_ranges_yield_nothing<S: Store>(mut store: S) {
    apply(&mut store, &[(b"a", Some(b"")), (b"b", Some(b""))]);
    for (start, end) in [(b"b", b"a"), (b"a", b"a")] {
        let range = Range { start: start.to_vec(), end: Some(end.to_vec()) };
        assert_eq!(keys(&store, &range, Direction::Ascending, 9), Vec::<Vec<u8>>::new());
        assert_eq!(keys(&store, &range, Direction::Descending, 9), Vec::<Vec<u8>>::new());
    }
}

fn values_of_every_size_up_to_the_limit_round_trip<S: Store>(mut store: S) {
    for size in [0, 1, 255, 4_096, 65_537, MAX_VALUE_BYTES] {
        let value: Vec<u8> = (0..size).map(|n| (n % 251) as u8).collect();
        apply(&mut store, &[(b"k", Some(&value))]);
        assert_eq!(store.get(b"k"), Ok(Some(value)));
    }
}

fn keys_and_values_may_be_any_bytes<S: Store>(mut store: S) {
    for byte in 0..=u8::MAX {
        apply(&mut store, &[(&[byte, 0, byte], Some(&[byte, 0]))]);
    }
    for byte in 0..=u8::MAX {
        assert_eq!(store.get(&[byte, 0, byte]), Ok(Some(vec![byte, 0])));
    }
    let wide = vec![7; super::MAX_KEY_BYTES];
    apply(&mut store, &[(&wide, Some(b"v"))]);
    assert_eq!(store.get(&wide), Ok(Some(b"v".to_vec())));
}

fn random_batches_match_a_model<S: Store>(mut store: S) {
    let mut model = super::MemoryStore::default();
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move |below: u64| {
        // xorshift64: any fixed sequence serves here.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..60 {
        let mut batch = Batch::default();
        for _ in 0..next(20) {
            let key: Vec<u8> = (0..next(4)).map(|_| next(5) as u8 * 63).collect();
            match next(3) {
                0 => batch.delete(key),
                _ => batch.put(key, next(1_000).to_be_bytes().to_vec()),
            }
        }
        store.apply(batch.clone()).unwrap();
        model.apply(batch).unwrap();
        let start: Vec<u8> = (0..next(3)).map(|_| next(5) as u8 * 63).collect();
        let end = (next(2) == 0).then(|| (0..next(3)).map(|_| next(5) as u8 * 63).collect());
        let range = Range { start, end };
        for direction in [Direction::Ascending, Direction::Descending] {
            let limit = next(9) as usize;
            assert_eq!(store.scan(&range, direction, limit), model.scan(&range, direction, limit));
        }
    }
}
