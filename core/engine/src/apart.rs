//! Work that takes long, apart from the threads that accept and answer.
//!
//! A request begins where it was accepted. When it is about to compute, it waits for [`room`]; whoever runs it sees that and
//! hands the rest of it to [`Runtime::apart`], where it goes on. So what is kept is answered at once, and only what has to be
//! computed waits in a queue. The rest of an answer that is sent piece by piece is made there too ([`stream`]).
//!
//! Where a piece of work is being run is a property of the thread that runs it at that moment. It is noted by thread, for
//! the length of one poll, so that no function between a handler and a query has to carry it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::stream::{self, StreamExt};

use crate::runtime::{BoxFuture, ByteStream, MaybeSend, Runtime};
use crate::{Error, ErrorCode, Result};

/// Seconds after which a client that found no room may try again.
const RETRY: u32 = 5;

/// For whom work is run apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// Whose turn it is: a client address, or one word for the operator and one for the service itself. Turns go round
    /// between those that wait.
    pub name: Arc<str>,
    /// Goes on with what was let in before, or is work of the service itself: it waits its turn and is never refused.
    pub begun: bool,
}

impl Asker {
    /// Somebody who may be refused.
    pub fn new(name: &str) -> Self {
        Asker { name: name.into(), begun: false }
    }

    /// The service itself, for what follows from events and that nobody waits for.
    pub fn ourselves() -> Self {
        Asker { name: "".into(), begun: true }
    }
}

/// The answer to who finds no room.
pub fn busy() -> Error {
    let message = "As many questions that must be computed wait as may; retry after the stated time.";
    Error::new(ErrorCode::Busy, message).retry_after(RETRY)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nobody looks: what wants room goes on. So it is on the command line and in tests of a part.
    Anywhere,
    /// Where requests are accepted and answered: what wants room is moved.
    Front,
    /// The same, and it wants room.
    Wanting,
    /// Where it may take long.
    Apart,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Anywhere) };
    /// Of the work that is run apart: whether nobody waits for it any more.
    static LEFT: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Notes a place for as long as it lives.
struct Stay(Place);

impl Stay {
    fn at(place: Place) -> Stay {
        Stay(PLACE.replace(place))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// Waits until what follows may take long. Work that nobody waits for any more waits for ever, and is dropped.
pub fn room() -> Room {
    Room
}

/// See [`room`].
#[must_use = "futures do nothing unless polled"]
pub struct Room;

impl Future for Room {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match PLACE.get() {
            Place::Anywhere => Poll::Ready(()),
            Place::Apart if has_left() => Poll::Pending,
            Place::Apart => Poll::Ready(()),
            Place::Front | Place::Wanting => {
                PLACE.set(Place::Wanting);
                // One of several that are run together is looked at again only when it was woken.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

fn has_left() -> bool {
    LEFT.with_borrow(|left| left.as_ref().is_some_and(|left| left.load(Ordering::Relaxed)))
}

/// Whether this runs where it may take long.
pub fn is_apart() -> bool {
    PLACE.get() == Place::Apart
}

/// Runs work in front, until it ends or wants room: `None`, and the work can go on elsewhere.
pub async fn until_room<T>(work: &mut BoxFuture<'static, T>) -> Option<T> {
    poll_fn(|cx| {
        let stay = (!is_apart()).then(|| Stay::at(Place::Front));
        let polled = work.as_mut().poll(cx);
        let wanting = PLACE.get() == Place::Wanting;
        drop(stay);
        match polled {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending if wanting => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Work in the place where it may take long.
struct Apart<T> {
    work: BoxFuture<'static, T>,
    left: Arc<AtomicBool>,
}

impl<T> Future for Apart<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let _stay = Stay::at(Place::Apart);
        let before = LEFT.replace(Some(self.left.clone()));
        let polled = self.work.as_mut().poll(cx);
        LEFT.set(before);
        polled
    }
}

/// Says when nobody waits any more.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs work apart and gives what came of it; [`ErrorCode::Busy`] when there is no room for it. Who stops waiting gives up
/// its place, and work that was begun ends with its next question.
pub async fn run<T: MaybeSend + 'static>(rt: &dyn Runtime, asker: &Asker, work: BoxFuture<'static, T>) -> Result<T> {
    let left = Arc::new(AtomicBool::new(false));
    let done = Arc::new(Mutex::new(None));
    let (work, end) = (Apart { work, left: left.clone() }, done.clone());
    let _waiting = Waiting(left);
    rt.apart(asker, Box::pin(async move { *locked(&end) = Some(work.await) })).await?;
    let value = locked(&done).take();
    value.ok_or_else(|| Error::internal("what ran apart ended without an answer"))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Written once, as a whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work of the service itself that may come to compute: it goes on apart from there.
pub async fn by_ourselves<T: MaybeSend + 'static>(rt: Arc<dyn Runtime>, mut work: BoxFuture<'static, T>) -> Result<T> {
    match until_room(&mut work).await {
        Some(value) => Ok(value),
        None => run(&*rt, &Asker::ourselves(), work).await,
    }
}

/// The pieces of an answer, each made apart, in turn with what others ask.
pub fn stream(rt: Arc<dyn Runtime>, asker: &Asker, pieces: ByteStream) -> ByteStream {
    let asker = Asker { begun: true, ..asker.clone() };
    Box::pin(stream::unfold((rt, asker, pieces), |(rt, asker, mut pieces)| async move {
        let work = Box::pin(async move { (pieces.next().await, pieces) });
        // What has begun is never refused.
        let (piece, pieces) = run(&*rt, &asker, work).await.ok()?;
        Some((piece?, (rt, asker, pieces)))
    }))
}
