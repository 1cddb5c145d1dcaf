//! The place between a serving task and a client: one page, and the last words.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::Notify;

#[derive(Default)]
struct Slot {
    page: Option<Bytes>,
    last: Option<Bytes>,
    /// Nothing more comes after `page` and `last`.
    ended: bool,
    /// The client left.
    gone: bool,
    /// The task found the page not taken yet and waits to hear that it was.
    stalled: bool,
    reader: Option<Waker>,
}

type Shared = Arc<Mutex<Slot>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Slot> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The task's end. Dropping it ends the stream.
pub(super) struct Inlet(Shared);

/// The client's end: a stream of pages. Dropping it tells the task.
pub(super) struct Outlet {
    slot: Shared,
    task: Arc<Notify>,
}

/// A new slot; `task` is notified when the client made room or left.
pub(super) fn pair(task: Arc<Notify>) -> (Inlet, Outlet) {
    let slot = Shared::default();
    (Inlet(slot.clone()), Outlet { slot, task })
}

impl Inlet {
    /// Whether the last page was taken. When not, the task is notified once it is.
    pub(super) fn is_ready(&self) -> bool {
        let mut slot = lock(&self.0);
        slot.stalled = slot.page.is_some();
        !slot.stalled
    }

    pub(super) fn is_gone(&self) -> bool {
        lock(&self.0).gone
    }

    /// Puts a page in, or the last words, for which there is always room.
    pub(super) fn put(&self, bytes: Bytes, last: bool) {
        let mut slot = lock(&self.0);
        match last {
            true => slot.last = Some(bytes),
            false => slot.page = Some(bytes),
        }
        if let Some(reader) = slot.reader.take() {
            drop(slot);
            reader.wake();
        }
    }
}

impl Drop for Inlet {
    fn drop(&mut self) {
        let mut slot = lock(&self.0);
        slot.ended = true;
        if let Some(reader) = slot.reader.take() {
            drop(slot);
            reader.wake();
        }
    }
}

impl Stream for Outlet {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let mut slot = lock(&self.slot);
        if let Some(page) = slot.page.take() {
            if std::mem::take(&mut slot.stalled) {
                self.task.notify_one();
            }
            return Poll::Ready(Some(page));
        }
        if let Some(last) = slot.last.take() {
            return Poll::Ready(Some(last));
        }
        if slot.ended {
            return Poll::Ready(None);
        }
        slot.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Outlet {
    fn drop(&mut self) {
        lock(&self.slot).gone = true;
        self.task.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, StreamExt};

    #[test]
    fn one_page_is_buffered_and_the_last_words_always_fit() {
        let task = Arc::new(Notify::new());
        let (inlet, mut outlet) = pair(task.clone());
        assert!(inlet.is_ready());
        inlet.put(Bytes::from_static(b"one"), false);
        assert!(!inlet.is_ready());
        inlet.put(Bytes::from_static(b"end"), true);
        drop(inlet);
        assert!(task.notified().now_or_never().is_none());
        let all = outlet.by_ref().collect::<Vec<_>>().now_or_never().unwrap();
        assert_eq!(all, ["one", "end"]);
        // The task had found it full, so it heard that there is room.
        assert!(task.notified().now_or_never().is_some());
    }

    #[test]
    fn a_client_that_leaves_is_noticed() {
        let task = Arc::new(Notify::new());
        let (inlet, outlet) = pair(task.clone());
        drop(outlet);
        assert!(inlet.is_gone());
        assert!(task.notified().now_or_never().is_some());
    }
}
