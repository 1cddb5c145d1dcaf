//! Sorting and gathering with one copy of the algorithm for all types.
//!
//! `slice::sort_by`, and `collect` into a `BTreeMap` or `BTreeSet` (which sorts first), are compiled anew for every type:
//! each costs 1 KB of the Worker's bundle. These serve wherever some hundred items are put in order once per request;
//! hot loops use the standard library's.

use std::cmp::Ordering;

/// As `slice::sort_by`: stable.
pub fn sort_by<T>(items: &mut Vec<T>, mut compare: impl FnMut(&T, &T) -> Ordering) {
    let places = places(items.len(), &mut |a, b| match (items.get(a), items.get(b)) {
        (Some(a), Some(b)) => compare(a, b),
        _ => Ordering::Equal,
    });
    let mut taken: Vec<Option<T>> = items.drain(..).map(Some).collect();
    items.extend(places.into_iter().filter_map(|place| taken.get_mut(place)?.take()));
}

/// As `slice::sort_by_key`: stable.
pub fn sort_by_key<T, K: Ord>(items: &mut Vec<T>, key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Where each item of the sorted sequence stands in the unsorted one.
fn places(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|a, b| compare(*a, *b));
    places
}

/// As `collect`, item by item. Of equal keys the last stays.
pub fn gather<C: Default + Extend<T>, T>(items: impl IntoIterator<Item = T>) -> C {
    let mut all = C::default();
    all.extend(items);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn items_end_where_the_standard_sort_puts_them_and_equals_keep_their_order() {
        for length in [0, 1, 2, 30, 1_000] {
            let items: Vec<(usize, String)> = (0..length).map(|n| (n * 7_919 % 13, n.to_string())).collect();
            let (mut ours, mut expected) = (items.clone(), items);
            sort_by_key(&mut ours, |(key, _)| *key);
            expected.sort_by_key(|(key, _)| *key);
            assert_eq!(ours, expected);
        }
    }

    #[test]
    fn of_equal_keys_the_last_stays_as_with_collect() {
        let pairs = [(2, 'a'), (1, 'b'), (2, 'c')];
        assert_eq!(gather::<BTreeMap<_, _>, _>(pairs), pairs.into_iter().collect());
    }
}
