//! Data that clients have not read yet: pages of streams, and large answers.
//!
//! A client that reads holds its page for microseconds; a client that does not read holds it as long as it may. All
//! pages together have a budget. When the budget is used up, the client that has held its page the longest is cut, so
//! that clients that read never wait for clients that don't.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Time that a client has to take its page while others wait for room.
const GRACE: Duration = Duration::from_secs(1);

/// All data that clients have not read yet.
#[derive(Debug)]
pub struct Queue {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    next: u64,
    /// By age, the oldest first.
    holders: BTreeMap<u64, Holder>,
}

#[derive(Debug)]
struct Holder {
    since: Instant,
    bytes: usize,
    /// Ends the connection, which releases its data.
    cut: Arc<Notify>,
}

/// A place in the queue; released when it is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    queue: Arc<Queue>,
    number: u64,
}

impl Queue {
    pub fn new(most: u64) -> Arc<Queue> {
        Arc::new(Queue { most: usize::try_from(most).unwrap_or(usize::MAX), state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if so many more bytes fit. If not, clients that have held their data for more than [`GRACE`] are cut, the
    /// oldest first.
    pub fn has_room(&self, bytes: usize) -> bool {
        let mut state = self.state();
        let missing = (state.bytes + bytes).saturating_sub(self.most);
        if missing > 0 {
            state.cut_for(missing, Instant::now());
        }
        missing == 0
    }

    /// Counts the bytes that a client is given; `cut` ends its connection.
    pub fn hold(self: &Arc<Self>, bytes: usize, cut: Arc<Notify>) -> HeldBytes {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.bytes += bytes;
        state.holders.insert(number, Holder { since: Instant::now(), bytes, cut });
        HeldBytes { queue: self.clone(), number }
    }

    /// Cuts every client that has held the same data for longer than `age`.
    pub fn cut_older(&self, age: Duration) {
        let (now, state) = (Instant::now(), self.state());
        let old = state.holders.values().take_while(|holder| now.duration_since(holder.since) >= age);
        old.for_each(|holder| holder.cut.notify_one());
    }

    /// Bytes that clients have not read.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }
}

impl State {
    fn cut_for(&mut self, missing: usize, now: Instant) {
        let mut freed = 0;
        for holder in self.holders.values() {
            if freed >= missing || now.duration_since(holder.since) < GRACE {
                return;
            }
            holder.cut.notify_one();
            freed += holder.bytes;
        }
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if let Some(holder) = state.holders.remove(&self.number) {
            state.bytes -= holder.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn is_cut(cut: &Notify) -> bool {
        cut.notified().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn where_there_is_no_room_who_held_longest_is_cut_and_nobody_else() {
        let queue = Queue::new(100);
        let cuts: Vec<Arc<Notify>> = (0..3).map(|_| Arc::default()).collect();
        let mut held = Vec::new();
        for cut in &cuts {
            held.push(queue.hold(30, cut.clone()));
            tokio::time::advance(GRACE / 2).await;
        }
        assert!(queue.has_room(10) && !cuts.iter().any(|cut| is_cut(cut)));
        assert!(!queue.has_room(20));
        assert_eq!(cuts.iter().map(|cut| is_cut(cut)).collect::<Vec<_>>(), [true, false, false]);
        held.remove(0);
        assert!(queue.has_room(20));
        // The other clients have not held their data long enough to be cut.
        tokio::time::advance(GRACE / 4).await;
        assert!(!queue.has_room(100));
        assert_eq!(cuts.iter().map(|cut| is_cut(cut)).collect::<Vec<_>>(), [false, true, false]);
        drop(held);
        assert_eq!(queue.bytes(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_for_long_is_cut_even_where_there_is_room() {
        let queue = Queue::new(100);
        let (old, young) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let _old = queue.hold(1, old.clone());
        tokio::time::advance(Duration::from_secs(20)).await;
        let _young = queue.hold(1, young.clone());
        tokio::time::advance(Duration::from_secs(10)).await;
        queue.cut_older(Duration::from_secs(30));
        assert_eq!((is_cut(&old), is_cut(&young)), (true, false));
    }
}
