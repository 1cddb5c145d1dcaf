//! Counts request heads of which only a part has arrived.
//!
//! A head that comes in one piece, as nearly all do, is not counted. So a client that sends half heads takes nothing
//! from the others.

use std::net::IpAddr;
use std::sync::Arc;

use super::marks::Marks;
use crate::budgets::Budget;

/// The first bytes of a connection over HTTP/2 (RFC 9113 section 3.4). HTTP/2 has its own limits for heads.
const HTTP2: &[u8] = b"PRI ";

/// Looks at what arrives on one connection.
pub struct Heads {
    marks: Arc<Marks>,
    budget: Arc<Budget>,
    address: Option<IpAddr>,
    first: bool,
    /// Number of requests that had begun or ended at the last look.
    seen: u64,
    part: Part,
}

/// How much of a head has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Nothing,
    /// The bytes that came at once.
    First,
    /// The bytes that came at once; nothing more has arrived since.
    Waiting,
    /// More than one part; the head is charged to the budget.
    Counted,
}

impl Heads {
    pub fn new(marks: Arc<Marks>, budget: Arc<Budget>, address: Option<IpAddr>) -> Heads {
        Heads { marks, budget, address, first: true, seen: 0, part: Part::Nothing }
    }

    /// Notes that no more bytes are here for now.
    pub fn waiting(&mut self) {
        if self.part == Part::First {
            self.part = Part::Waiting;
        }
    }

    /// Notes the bytes that arrived. False when they are the second part of a head and the budget of half heads is used
    /// up.
    pub fn arrived(&mut self, bytes: &[u8]) -> bool {
        if std::mem::take(&mut self.first) && bytes.starts_with(HTTP2) {
            self.marks.carries_other();
        }
        if bytes.is_empty() || !self.marks.has_heads() {
            return true;
        }
        let (at_work, seen) = self.marks.requests();
        if at_work > 0 || seen != self.seen {
            // These bytes are a body, or the first part of the next head.
            (self.seen, self.part) = (seen, if at_work > 0 { Part::Nothing } else { Part::First });
            return true;
        }
        match self.part {
            Part::Nothing => self.part = Part::First,
            // One read may be shorter than the bytes that came at once.
            Part::First | Part::Counted => {}
            Part::Waiting => match self.budget.take(self.address, 1) {
                Some(charge) => {
                    self.marks.charge_head(charge);
                    self.part = Part::Counted;
                }
                None => return false,
            },
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::Turn;
    use super::*;

    #[test]
    fn heads_that_come_whole_are_not_counted_and_halves_are_until_they_are_whole() {
        let (marks, budget) = (Arc::new(Marks::default()), Budget::new(1, 1));
        let mut heads = Heads::new(marks.clone(), budget.clone(), None);
        for _ in 0..3 {
            assert!(heads.arrived(b"GET / HTTP/1.1\r\n\r\n"));
            drop(Turn::begin(&marks));
        }
        assert_eq!(budget.all(), 0);
        // Two reads of bytes that came at once.
        assert!(heads.arrived(b"POST / HT") && heads.arrived(b"TP/1.1\r\n"));
        assert_eq!(budget.all(), 0);
        heads.waiting();
        assert!(heads.arrived(b"a: b\r\n") && heads.arrived(b"c: d\r\n"));
        assert_eq!(budget.all(), 1);
        let other = Arc::new(Marks::default());
        let mut others = Heads::new(other.clone(), budget.clone(), None);
        assert!(others.arrived(b"G"));
        others.waiting();
        assert!(!others.arrived(b"E"));
        let turn = Turn::begin(&marks);
        assert_eq!(budget.all(), 0);
        // The body of the request.
        assert!((0..5).all(|_| heads.arrived(b"xxx")));
        drop(turn);
        assert!(heads.arrived(b"GET / HTTP/1.1\r\n\r\n"));
        assert_eq!(budget.all(), 0);
    }

    #[test]
    fn http_2_and_what_follows_an_upgrade_are_no_heads() {
        let (marks, budget) = (Arc::new(Marks::default()), Budget::new(0, 0));
        let mut heads = Heads::new(marks.clone(), budget.clone(), None);
        assert!(heads.arrived(b"PRI * HTTP/2.0"));
        heads.waiting();
        assert!((0..9).all(|_| heads.arrived(b"frame")));
        let upgraded = Arc::new(Marks::default());
        let mut heads = Heads::new(upgraded.clone(), budget, None);
        assert!(heads.arrived(b"GET /"));
        upgraded.carries_other();
        heads.waiting();
        assert!((0..9).all(|_| heads.arrived(b"frame")));
    }
}
