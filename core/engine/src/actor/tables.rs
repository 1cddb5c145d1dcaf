//! No two tables of a kind of actor share a number: rows of one would be read as rows of the other.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Kind;

/// What was put so far, by kind and number.
static CLAIMED: Mutex<BTreeMap<(&str, u8), &str>> = Mutex::new(BTreeMap::new());

/// Panics where another table of that number was put before; for debug builds, so for every test.
pub fn claim(kind: Kind, number: u8, types: &'static str) {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let first = *claimed.entry((kind.as_str(), number)).or_insert(types);
    drop(claimed);
    assert!(first == types, "table {number} of {} is both {first} and {types}", kind.as_str());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "is both")]
    fn two_tables_of_one_number_are_noticed() {
        claim(Kind::World, 255, "one");
        claim(Kind::World, 255, "another");
    }
}
