//! The first timers of the whole deployment, in memory.
//!
//! Between two folds the tree still has every timer that fired since the last one. Looking for the first timer would
//! pass all of them again and again, so the first ones are kept.

use std::collections::BTreeSet;

use heliograph_core::Result;

use crate::store::timer_of;

/// Timers that are read at a time.
const PAGE: usize = 512;

/// Every timer whose key is less than `until`.
pub(super) struct Timers {
    known: BTreeSet<Vec<u8>>,
    /// `None` if all timers are known.
    until: Option<Vec<u8>>,
}

impl Default for Timers {
    /// Nothing is known.
    fn default() -> Self {
        Timers { known: BTreeSet::new(), until: Some(Vec::new()) }
    }
}

impl Timers {
    fn covers(&self, key: &[u8]) -> bool {
        self.until.as_deref().is_none_or(|until| key < until)
    }

    pub fn add(&mut self, key: &[u8]) {
        if self.covers(key) {
            self.known.insert(key.to_vec());
        }
    }

    pub fn remove(&mut self, key: &[u8]) {
        self.known.remove(key);
    }

    /// The first timer: due time and name. `more` reads so many keys from a key on.
    pub fn first(&mut self, more: impl Fn(&[u8], usize) -> Result<Vec<Vec<u8>>>) -> Result<Option<(i64, String)>> {
        if self.known.is_empty()
            && let Some(until) = &self.until
        {
            let page = more(until, PAGE)?;
            // The key after the last one.
            self.until = page.last().filter(|_| page.len() == PAGE).map(|last| [last.as_slice(), &[0]].concat());
            self.known.extend(page);
        }
        let first = self.known.first().and_then(|key| timer_of(key));
        Ok(first.map(|(due, name)| (due, name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::timer_key;
    use heliograph_core::engine::testing::Dice;

    #[test]
    fn the_first_timer_is_that_of_the_whole_table_whatever_was_added_and_removed() {
        let mut dice = Dice(5);
        let mut table: BTreeSet<Vec<u8>> = (0..3_000).map(|n| timer_key((n, "a"))).collect();
        let mut timers = Timers::default();
        for _ in 0..20_000 {
            let key = timer_key((dice.below(4_000) as i64, "a"));
            match dice.below(8) {
                0 => {
                    timers.add(&key);
                    table.insert(key);
                }
                1 => {
                    timers.remove(&key);
                    table.remove(&key);
                }
                _ => {
                    let more = |from: &[u8], limit| Ok(table.range(from.to_vec()..).take(limit).cloned().collect());
                    let first = timers.first(more).unwrap();
                    let expected = table.first().cloned();
                    assert_eq!(first.map(|(due, name)| timer_key((due, &name))), expected);
                    // It fires.
                    if let Some(key) = expected {
                        timers.remove(&key);
                        table.remove(&key);
                    }
                }
            }
        }
    }
}
