//! Marks of what happens on a connection. They are set where it happens and looked at from time to time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use crate::budgets::Charge;

/// Number of looks at a connection within `client_seconds`.
pub const LOOKS: u32 = 3;

/// The marks of one connection.
#[derive(Default)]
pub struct Marks {
    /// In the lower half the requests in progress; in the upper half the number of requests that began or ended.
    requests: AtomicU64,
    /// The number of the stall while there is no room to send, otherwise 0.
    stall: AtomicU64,
    /// A piece of an answer was handed over and is not sent yet.
    unsent: AtomicBool,
    /// Woken when the next piece may be handed over.
    sender: AtomicWaker,
    /// Notified to end a connection whose client reads nothing and holds resources that others need.
    cut: Arc<Notify>,
    /// The connection carries something other than HTTP/1 requests.
    other: AtomicBool,
    head_is_charged: AtomicBool,
    head: Mutex<Option<Charge>>,
}

const HALF: u32 = 32;

impl Marks {
    /// The requests in progress, and a number that changes with each request that begins or ends.
    pub fn requests(&self) -> (u64, u64) {
        let requests = self.requests.load(Ordering::Relaxed);
        (requests & ((1 << HALF) - 1), requests >> HALF)
    }

    /// Marks that there is no room to send; `number` counts such stalls, and 0 says that there is room again.
    pub fn stalled(&self, number: u64) {
        self.stall.store(number, Ordering::Relaxed);
    }

    /// Marks that everything handed over has been sent.
    pub fn sent(&self) {
        if self.unsent.load(Ordering::Relaxed) {
            self.unsent.store(false, Ordering::Release);
            self.sender.wake();
        }
    }

    /// Marks that a piece was handed over.
    pub fn handed_over(&self) {
        self.unsent.store(true, Ordering::Release);
    }

    /// True if the previous piece is still not sent; the waker is woken once it is.
    pub fn is_unsent(&self, waker: &Waker) -> bool {
        if !self.unsent.load(Ordering::Acquire) {
            return false;
        }
        self.sender.register(waker);
        self.unsent.load(Ordering::Acquire)
    }

    /// Notifying this ends the connection.
    pub fn cut(&self) -> &Arc<Notify> {
        &self.cut
    }

    /// Marks that the bytes that follow are not HTTP/1 heads.
    pub fn carries_other(&self) {
        self.other.store(true, Ordering::Relaxed);
    }

    pub fn has_heads(&self) -> bool {
        !self.other.load(Ordering::Relaxed)
    }

    /// Keeps the charge of a head until its request begins.
    pub fn charge_head(&self, charge: Charge) {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = Some(charge);
        self.head_is_charged.store(true, Ordering::Relaxed);
    }
}

/// What the looks at a connection have seen.
#[derive(Default)]
pub struct Watch {
    requests: u64,
    stall: u64,
    /// Number of looks that found no request in progress and nothing new.
    quiet: u32,
    /// Number of looks that found the same stall.
    stuck: u32,
}

impl Watch {
    /// Looks at the connection; true if the client has stalled for too long.
    pub fn look(&mut self, marks: &Marks) -> bool {
        let (requests, stall) = (marks.requests.load(Ordering::Relaxed), marks.stall.load(Ordering::Relaxed));
        let waiting = requests << HALF == 0 && requests == self.requests;
        let stuck = stall != 0 && stall == self.stall;
        self.quiet = if waiting { self.quiet + 1 } else { 0 };
        self.stuck = if stuck { self.stuck + 1 } else { 0 };
        (self.requests, self.stall) = (requests, stall);
        // The first look comes at once, and what it finds new happened after the look before.
        self.quiet > LOOKS || self.stuck > LOOKS
    }
}

/// A request in progress, from its head to the end of its answer.
pub struct Turn(pub Arc<Marks>);

impl Turn {
    pub fn begin(marks: &Arc<Marks>) -> Turn {
        marks.requests.fetch_add((1 << HALF) + 1, Ordering::Relaxed);
        if marks.head_is_charged.load(Ordering::Relaxed) && marks.head_is_charged.swap(false, Ordering::Relaxed) {
            marks.head.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        Turn(marks.clone())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.requests.fetch_add((1 << HALF) - 1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if looks find the client stalled; `before` runs before each look.
    fn stalls(looks: u32, mut before: impl FnMut(u32), marks: &Marks) -> bool {
        let mut watch = Watch::default();
        (0..looks).any(|at| {
            before(at);
            watch.look(marks)
        })
    }

    #[test]
    fn a_client_that_asks_nothing_is_found_after_its_time_and_not_before() {
        let marks = Marks::default();
        assert!(!stalls(LOOKS, |_| {}, &marks));
        assert!(stalls(LOOKS + 1, |_| {}, &marks));
    }

    #[test]
    fn a_request_at_work_keeps_its_connection_and_the_time_begins_anew_at_its_end() {
        let marks = Arc::new(Marks::default());
        let mut turn = Some(Turn::begin(&marks));
        assert!(!stalls(100, |_| {}, &marks));
        assert!(!stalls(
            100 + LOOKS,
            |at| if at == 99 {
                turn = None
            },
            &marks
        ));
        assert!(!stalls(100, |_| drop(Turn::begin(&marks)), &marks));
        assert!(stalls(100, |_| {}, &marks));
    }

    #[test]
    fn an_answer_that_nobody_takes_is_found_and_one_that_moves_is_not() {
        let marks = Arc::new(Marks::default());
        let _turn = Turn::begin(&marks);
        let mut number = 0;
        assert!(!stalls(
            100,
            |_| {
                number += 1;
                marks.stalled(number)
            },
            &marks
        ));
        assert!(stalls(100, |_| {}, &marks));
    }

    #[test]
    fn the_next_piece_waits_until_the_one_before_is_sent() {
        let marks = Marks::default();
        assert!(!marks.is_unsent(Waker::noop()));
        marks.handed_over();
        assert!(marks.is_unsent(Waker::noop()));
        marks.sent();
        assert!(!marks.is_unsent(Waker::noop()));
    }
}
