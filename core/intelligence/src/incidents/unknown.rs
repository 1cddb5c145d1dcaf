//! Which times of an incident are unknown.

use serde::{Deserialize, Serialize};

/// Which times of a draft are only bounds. It is stored in one byte, where older rows have only whether the end is
/// unknown, so they are read correctly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
pub struct Unknown {
    /// Nobody said when it ended. `end` is the last time when it was said to go on, and it may still go on.
    pub end: bool,
    /// It already went on when it was first measured. `start` is that time, but it began before.
    pub start: bool,
}

const END: u8 = 1;
const START: u8 = 2;

impl Unknown {
    /// Its beginning is known, and its end is known or it goes on.
    pub const NOTHING: Unknown = Unknown { end: false, start: false };
}

impl From<u8> for Unknown {
    fn from(bits: u8) -> Unknown {
        Unknown { end: bits & END != 0, start: bits & START != 0 }
    }
}

impl From<Unknown> for u8 {
    fn from(unknown: Unknown) -> u8 {
        (if unknown.end { END } else { 0 }) | (if unknown.start { START } else { 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_program_that_knew_of_unknown_ends_alone_are_read_as_they_were_meant() {
        for end in [false, true] {
            let stored = postcard::to_allocvec(&(7_u8, end, "rest")).unwrap();
            let read: (u8, Unknown, &str) = postcard::from_bytes(&stored).unwrap();
            assert_eq!(read, (7, Unknown { end, start: false }, "rest"));
        }
    }

    #[test]
    fn both_are_kept() {
        for (end, start) in [(false, false), (false, true), (true, false), (true, true)] {
            let unknown = Unknown { end, start };
            let stored = postcard::to_allocvec(&unknown).unwrap();
            assert_eq!((postcard::from_bytes::<Unknown>(&stored).unwrap(), stored.len()), (unknown, 1));
        }
    }
}
