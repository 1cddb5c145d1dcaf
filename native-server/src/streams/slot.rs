//! The slot between a serving task and a client: one page, and the last words.
//!
//! A page is read for a client only when it has read the page before. So a client that doesn't read holds one page,
//! which counts in the [`Queue`](crate::queue::Queue) until it is sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;
use heliograph_core::relay::agent::stream::StreamEnd;
use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::queue::HeldBytes;

struct Slot {
    page: Option<(Bytes, HeldBytes)>,
    last: Option<Bytes>,
    /// Nothing comes after `page` and `last`; the reason, if the task gave one.
    ended: Option<Option<StreamEnd>>,
    /// The client left.
    gone: bool,
    /// The client read everything that it was given.
    wanting: bool,
    /// The task found that the client had not, and waits until it has.
    stalled: bool,
    reader: Option<Waker>,
}

type Shared = Arc<Mutex<Slot>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Slot> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task's side. Dropping it ends the stream.
pub(super) struct Inlet {
    slot: Shared,
    /// Ends the client's connection.
    pub(super) cut: Arc<Notify>,
}

/// The client's side: a stream of pages. Dropping it tells the task.
pub struct Outlet {
    slot: Shared,
    task: Arc<Notify>,
    /// The place of the last page in the queue, until the client asks for the next one.
    held: Option<HeldBytes>,
    /// Its place among all streams.
    _place: OwnedSemaphorePermit,
}

/// Makes a slot; `task` is notified when the client made room or left.
pub(super) fn pair(task: Arc<Notify>, cut: Arc<Notify>, place: OwnedSemaphorePermit) -> (Inlet, Outlet) {
    let slot = Slot { page: None, last: None, ended: None, gone: false, wanting: true, stalled: false, reader: None };
    let slot = Arc::new(Mutex::new(slot));
    (Inlet { slot: slot.clone(), cut }, Outlet { slot, task, held: None, _place: place })
}

impl Inlet {
    /// True if the client read everything. If not, the task is notified once it has.
    pub(super) fn is_ready(&self) -> bool {
        let mut slot = lock(&self.slot);
        slot.stalled = !slot.wanting;
        slot.wanting
    }

    pub(super) fn is_gone(&self) -> bool {
        lock(&self.slot).gone
    }

    pub(super) fn put(&self, page: Bytes, held: HeldBytes) {
        let mut slot = lock(&self.slot);
        slot.page = Some((page, held));
        slot.wanting = false;
        Inlet::wake(slot);
    }

    /// Sends the last words, for which there is always room.
    pub(super) fn end(self, last: Bytes, end: StreamEnd) {
        let mut slot = lock(&self.slot);
        slot.last = Some(last).filter(|last| !last.is_empty());
        slot.ended = Some(Some(end));
        Inlet::wake(slot);
    }

    fn wake(mut slot: MutexGuard<'_, Slot>) {
        if let Some(reader) = slot.reader.take() {
            drop(slot);
            reader.wake();
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        let mut slot = lock(&self.slot);
        slot.ended.get_or_insert(None);
        Inlet::wake(slot);
    }
}

impl Outlet {
    /// Why the stream ended; `None` while it goes on, and when the server stops.
    pub fn end(&self) -> Option<StreamEnd> {
        lock(&self.slot).ended.flatten()
    }
}

impl Stream for Outlet {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let this = &mut *self;
        // A client that asks for more has sent what it had.
        this.held = None;
        let mut slot = lock(&this.slot);
        if let Some((page, held)) = slot.page.take() {
            this.held = Some(held);
            return Poll::Ready(Some(page));
        }
        if let Some(last) = slot.last.take() {
            return Poll::Ready(Some(last));
        }
        if slot.ended.is_some() {
            return Poll::Ready(None);
        }
        slot.wanting = true;
        slot.reader = Some(cx.waker().clone());
        if std::mem::take(&mut slot.stalled) {
            drop(slot);
            this.task.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        let mut slot = lock(&self.slot);
        slot.gone = true;
        slot.page = None;
        drop(slot);
        self.task.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;
    use futures_util::{FutureExt, StreamExt};
    use tokio::sync::Semaphore;

    fn pair_of(task: &Arc<Notify>) -> (Inlet, Outlet) {
        let place = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        pair(task.clone(), Arc::default(), place)
    }

    #[test]
    fn one_page_is_buffered_and_the_last_words_always_fit() {
        let (task, queue) = (Arc::new(Notify::new()), Queue::new(10));
        let (inlet, mut outlet) = pair_of(&task);
        assert!(inlet.is_ready());
        inlet.put(Bytes::from_static(b"one"), queue.hold(3, Arc::default()));
        assert!(!inlet.is_ready());
        inlet.end(Bytes::from_static(b"end"), StreamEnd::Displaced);
        assert!(task.notified().now_or_never().is_none());
        let all = outlet.by_ref().collect::<Vec<_>>().now_or_never().unwrap();
        assert_eq!(all, ["one", "end"]);
        assert_eq!((outlet.end(), queue.bytes()), (Some(StreamEnd::Displaced), 0));
    }

    #[test]
    fn a_page_counts_until_the_client_asks_for_the_next_and_none_is_read_before() {
        let (task, queue) = (Arc::new(Notify::new()), Queue::new(10));
        let (inlet, mut outlet) = pair_of(&task);
        inlet.put(Bytes::from_static(b"one"), queue.hold(3, Arc::default()));
        assert_eq!(outlet.next().now_or_never().unwrap().unwrap(), "one");
        // The client has the page, but has not sent it.
        assert!(!inlet.is_ready());
        assert_eq!(queue.bytes(), 3);
        assert!(outlet.next().now_or_never().is_none());
        assert!(inlet.is_ready());
        assert_eq!(queue.bytes(), 0);
        // The task had found the slot full, so it is told that there is room.
        assert!(task.notified().now_or_never().is_some());
    }

    #[test]
    fn a_client_that_leaves_is_noticed_and_gives_up_what_it_held() {
        let (task, queue) = (Arc::new(Notify::new()), Queue::new(10));
        let (inlet, outlet) = pair_of(&task);
        inlet.put(Bytes::from_static(b"one"), queue.hold(3, Arc::default()));
        drop(outlet);
        assert!(inlet.is_gone());
        assert_eq!(queue.bytes(), 0);
        assert!(task.notified().now_or_never().is_some());
    }
}
