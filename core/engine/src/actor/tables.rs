//! What is declared of the tables of a kind of actor. No two share a number, because rows of one would be read as rows of
//! the other; and for tests, which of them are derived.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Kind;

/// Whether a table is derived, and its types.
type Declared = (bool, &'static str);

/// What was put so far, by kind and number.
static CLAIMED: Mutex<BTreeMap<(&str, u8), Declared>> = Mutex::new(BTreeMap::new());

/// Panics where another table of that number was put before; for debug builds, so for every test.
pub fn claim(kind: Kind, number: u8, derived: bool, types: &'static str) {
    let mut claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let first = *claimed.entry((kind.as_str(), number)).or_insert((derived, types));
    drop(claimed);
    let now = (derived, types);
    assert!(first == now, "table {number} of {} is both {first:?} and {now:?}", kind.as_str());
}

/// The derived tables of a kind that were put so far in this process.
#[cfg(any(test, feature = "conformance"))]
pub fn derived(kind: Kind) -> Vec<u8> {
    let claimed = CLAIMED.lock().unwrap_or_else(PoisonError::into_inner);
    let of_kind = claimed.iter().filter(|((name, _), (derived, _))| *name == kind.as_str() && *derived);
    of_kind.map(|((_, number), _)| *number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "is both")]
    fn two_tables_of_one_number_are_noticed() {
        claim(Kind::World, 255, false, "one");
        claim(Kind::World, 255, false, "another");
    }
}
