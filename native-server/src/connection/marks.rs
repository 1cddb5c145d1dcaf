//! What happens on a connection, marked by those who see it happen, and looked at from time to time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

use crate::budgets::Charge;

/// Looks at a connection in the time that its client has.
pub const LOOKS: u32 = 3;

/// What happened on a connection.
#[derive(Default)]
pub struct Marks {
    /// Requests at work, in the lower half; in the upper half, how many were begun and ended.
    requests: AtomicU64,
    /// The number of the stall, while there is no room to send; else 0.
    stall: AtomicU64,
    /// A piece of an answer was handed over and is not sent yet.
    unsent: AtomicBool,
    /// Who has the next piece, while the one before is not sent.
    sender: AtomicWaker,
    /// Its client takes nothing and holds what others need.
    cut: Arc<Notify>,
    /// It carries something else than requests of HTTP/1.
    other: AtomicBool,
    head_is_charged: AtomicBool,
    head: Mutex<Option<Charge>>,
}

const HALF: u32 = 32;

impl Marks {
    /// Requests at work, and a number that changes with each that begins or ends.
    pub fn requests(&self) -> (u64, u64) {
        let requests = self.requests.load(Ordering::Relaxed);
        (requests & ((1 << HALF) - 1), requests >> HALF)
    }

    /// Marks that there is no room to send, for the so-and-so-many-th time; 0 when there is room again.
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

    /// Whether the piece before is still not sent; wakes the waker once it is.
    pub fn is_unsent(&self, waker: &Waker) -> bool {
        if !self.unsent.load(Ordering::Acquire) {
            return false;
        }
        self.sender.register(waker);
        self.unsent.load(Ordering::Acquire)
    }

    /// What ends the connection when it is notified.
    pub fn cut(&self) -> &Arc<Notify> {
        &self.cut
    }

    /// Marks that what follows are no heads of HTTP/1.
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

/// What was seen on a connection, look by look.
#[derive(Default)]
pub struct Watch {
    requests: u64,
    stall: u64,
    /// Looks that found no request at work and nothing new.
    quiet: u32,
    /// Looks that found the same stall.
    stuck: u32,
}

impl Watch {
    /// Whether the client has stalled for too long.
    pub fn look(&mut self, marks: &Marks) -> bool {
        let (requests, stall) = (marks.requests.load(Ordering::Relaxed), marks.stall.load(Ordering::Relaxed));
        let waiting = requests << HALF == 0 && requests == self.requests;
        let stuck = stall != 0 && stall == self.stall;
        self.quiet = if waiting { self.quiet + 1 } else { 0 };
        self.stuck = if stuck { self.stuck + 1 } else { 0 };
        (self.requests, self.stall) = (requests, stall);
        // The first look comes at once, and what it finds new is as old as the look before.
        self.quiet > LOOKS || self.stuck > LOOKS
    }
}

/// A request at work, from its head to the end of its answer.
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

    /// Whether looks find the client stalled, doing something before each.
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
