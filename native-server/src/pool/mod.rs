//! The threads that compute, apart from the threads that accept and answer requests.
//!
//! The threads serve the askers in turn. Work that waits for a commit or a timer holds no thread meanwhile; when it is
//! woken, it is put into the line again. The pool accepts as much work as fits on the threads and in the line together,
//! including work that has begun. When an asker stops waiting, its work leaves the line at once. The module `line`
//! keeps the line.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use async_task::{Builder, Runnable};
use heliograph_core::engine::apart::{self, Asker};
use heliograph_core::engine::runtime::BoxFuture;
use heliograph_core::engine::settings::Settings;
use heliograph_core::{Error, Result};
use tokio::runtime::Handle;

mod line;

use line::Line;

pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    /// Most work that is accepted at once.
    most: usize,
    /// How much work was not accepted, or gave way to other work.
    refused: AtomicU64,
    state: Mutex<State>,
    /// Notified when work was put into the line.
    more: Condvar,
}

#[derive(Default)]
struct State {
    line: Line<Runnable<Ticket>>,
    /// The amount of accepted work that has not ended.
    inside: usize,
    /// The number of the next ticket.
    next: u64,
    stopped: bool,
}

/// The data about accepted work.
struct Ticket {
    name: Arc<str>,
    id: u64,
    begun: AtomicBool,
    /// The work was removed to make room for another asker.
    turned_out: Arc<AtomicBool>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No panic can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Accepts work, if necessary by removing work of another asker.
    fn let_in(self: &Arc<Self>, name: &str) -> Result<QueuePlace> {
        let mut state = self.state();
        let turned_out = match state.inside < self.most {
            true => None,
            false => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Some(state.line.give_way(name).ok_or_else(apart::busy)?)
            }
        };
        state.inside += 1;
        drop(state);
        if let Some(runnable) = turned_out {
            runnable.metadata().turned_out.store(true, Ordering::Relaxed);
            // Dropping it gives its place back, which takes the lock.
            drop(runnable);
        }
        Ok(QueuePlace(self.clone()))
    }

    fn push(&self, runnable: Runnable<Ticket>) {
        let mut state = self.state();
        if state.stopped {
            drop(state);
            return;
        }
        let Ticket { name, id, begun, .. } = runnable.metadata();
        let (name, id, begun) = (name.clone(), *id, begun.load(Ordering::Relaxed));
        state.line.push(&name, id, begun, runnable);
        drop(state);
        self.more.notify_one();
    }

    /// The next work; `None` when the pool has stopped.
    fn pop(&self) -> Option<Runnable<Ticket>> {
        let mut state = self.state();
        loop {
            if state.stopped {
                return None;
            }
            match state.line.pop() {
                Some(runnable) => return Some(runnable),
                None => state = self.more.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        let left = state.line.clear();
        drop(state);
        drop(left);
        self.more.notify_all();
    }
}

/// Room for one piece of work until it ends or is dropped.
struct QueuePlace(Arc<Shared>);

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
    }
}

/// Somebody waits for the work. When this is dropped, work that has not begun leaves the line.
struct Waits {
    shared: Arc<Shared>,
    name: Arc<str>,
    id: u64,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let left = self.shared.state().line.remove(&self.name, self.id);
        // Dropping it gives its place back, which takes the lock.
        drop(left);
    }
}

/// Number of threads that compute, from the settings. The default is one less than the cores, so that one core is left
/// for cheap requests.
fn threads(settings: &Settings) -> usize {
    match settings.computing_threads as usize {
        0 => std::thread::available_parallelism().map_or(1, usize::from).saturating_sub(1).max(1),
        chosen => chosen,
    }
}

impl Pool {
    /// Starts the threads. Work on them may use timers and other things of `runtime`.
    pub fn start(settings: &Settings, runtime: &Handle) -> std::io::Result<Pool> {
        let threads = threads(settings);
        let most = threads + settings.computing_queue as usize;
        let shared =
            Arc::new(Shared { most, refused: AtomicU64::new(0), state: Mutex::default(), more: Condvar::new() });
        let pool = Pool { shared };
        for _ in 0..threads {
            let (shared, runtime) = (pool.shared.clone(), runtime.clone());
            std::thread::Builder::new().name("computing".to_owned()).spawn(move || {
                let _runtime = runtime.enter();
                while let Some(runnable) = shared.pop() {
                    runnable.metadata().begun.store(true, Ordering::Relaxed);
                    // A panic ends only this work; the asker is told.
                    let _ = catch_unwind(AssertUnwindSafe(|| runnable.run()));
                }
            })?;
        }
        Ok(pool)
    }

    /// Runs work on a thread of the pool. A panic in the work continues in the asker. When the asker stops waiting, the
    /// work is cancelled.
    pub fn run(&self, asker: &Asker, work: BoxFuture<'static, ()>) -> impl Future<Output = Result<()>> + Send + use<> {
        let (shared, asker) = (self.shared.clone(), asker.clone());
        async move {
            let place = if asker.begun { None } else { Some(shared.let_in(&asker.name)?) };
            let work = async move {
                let _place = place;
                work.await;
            };
            let id = {
                let mut state = shared.state();
                state.next += 1;
                state.next
            };
            let turned_out = Arc::new(AtomicBool::new(false));
            let (name, out, line) = (asker.name.clone(), turned_out.clone(), shared.clone());
            let ticket = Ticket { name: name.clone(), id, begun: AtomicBool::new(asker.begun), turned_out: out };
            let (runnable, task) = Builder::new().metadata(ticket).spawn(|_| work, move |runnable| line.push(runnable));
            runnable.schedule();
            let _waits = Waits { shared: shared.clone(), name, id };
            match task.fallible().await {
                Some(()) => Ok(()),
                None if turned_out.load(Ordering::Relaxed) => Err(apart::busy()),
                None if shared.state().stopped => Err(Error::unavailable("the server stops")),
                None => resume_unwind(Box::new("panic in work that ran apart")),
            }
        }
    }

    /// The amount of accepted work that has not ended: it runs, waits in line, or waits for something else.
    pub fn inside(&self) -> usize {
        self.shared.state().inside
    }

    /// Most work that is accepted at once.
    pub fn most(&self) -> usize {
        self.shared.most
    }

    /// How much work was not accepted, or gave way to other work.
    pub fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }

    /// Stops the threads, each after its present work; waiting work is dropped.
    pub fn stop(&self) {
        self.shared.stop();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
