//! Counts distinct measurements. They come in any order, and one test may measure several roles.

/// A hash table of identities. Identities are hashes already, so their low bits choose the place; if it is taken, the
/// next places are tried. Filling such a table costs a fraction of sorting.
#[derive(Debug, Default)]
pub struct Distinct {
    /// 0 is a free place.
    places: Vec<u64>,
    zero: bool,
    count: usize,
}

impl Distinct {
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn insert(&mut self, identity: u64) {
        if identity == 0 {
            self.count += usize::from(!self.zero);
            self.zero = true;
            return;
        }
        if self.places.len() < 2 * (self.count + 1) {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = identity as usize & mask;
        while let Some(place) = self.places.get_mut(at) {
            if *place == identity {
                return;
            }
            if *place == 0 {
                *place = identity;
                self.count += 1;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let larger = vec![0; (4 * (self.count + 1)).next_power_of_two().max(64)];
        let known = std::mem::replace(&mut self.places, larger);
        self.count = usize::from(self.zero);
        known.into_iter().filter(|identity| *identity != 0).for_each(|identity| self.insert(identity));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_counts_once_whatever_the_order() {
        let mut distinct = Distinct::default();
        for round in 0..3_u64 {
            for n in 0..5_000_u64 {
                // Many identities share their low bits.
                distinct.insert((n * (round + 1) % 5_000) << (n % 3 * 20));
            }
        }
        let mut known: Vec<u64> =
            (0..3_u64).flat_map(|r| (0..5_000_u64).map(move |n| (n * (r + 1) % 5_000) << (n % 3 * 20))).collect();
        known.sort_unstable();
        known.dedup();
        assert_eq!(distinct.len(), known.len());
    }
}
