//! Three queues to the writer: interactive work first, bulk work in the gaps (decision bounded-commits), and follow-up
//! work that delays neither of them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heliograph_core::engine::actor::Call;
use heliograph_core::{Error, Result};
use tokio::sync::oneshot;

use crate::store::Frozen;

/// Work for the writer. The answer is sent after the commit that holds it; a dropped sender means that the work was not
/// done.
pub(super) enum Job {
    Perform {
        call: Call,
        reply: oneshot::Sender<Result<Vec<u8>>>,
    },
    /// Writes one row durably, to prove that writing works.
    WriteCheck(oneshot::Sender<Result<()>>),
    /// Asks for a snapshot between two commits, with the keys changed since the last one.
    Freeze(oneshot::Sender<Result<Frozen>>),
    /// Wants everything so far in the tree.
    Settle(oneshot::Sender<Result<()>>),
}

impl Job {
    pub(super) fn refuse(self, error: Error) {
        // A missing receiver no longer wants the answer.
        match self {
            Job::Perform { reply, .. } => drop(reply.send(Err(error))),
            Job::WriteCheck(reply) => drop(reply.send(Err(error))),
            Job::Freeze(reply) => drop(reply.send(Err(error))),
            Job::Settle(reply) => drop(reply.send(Err(error))),
        }
    }
}

/// Who waits for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// A person or an agent.
    Interactive,
    /// An import or the like: a piece of a large amount of work.
    Bulk,
    /// Nobody: it follows from a request that was answered already.
    Follows,
}

/// Most jobs that wait in one queue. Further ones are refused with 503 rather than answered after their callers gave
/// up.
const CAPACITY: usize = 20_000;

#[derive(Default)]
struct Waiting {
    interactive: VecDeque<Job>,
    bulk: VecDeque<Job>,
    follows: VecDeque<Job>,
    closing: bool,
}

#[derive(Default)]
pub(super) struct Queues {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

impl Queues {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job, rank: Rank) {
        let mut waiting = self.lock();
        let closing = waiting.closing;
        let queue = match rank {
            Rank::Interactive => &mut waiting.interactive,
            Rank::Bulk => &mut waiting.bulk,
            Rank::Follows => &mut waiting.follows,
        };
        if closing || queue.len() >= CAPACITY {
            drop(waiting);
            let cause = if closing { "the server is stopping" } else { "the writer's queue is full" };
            return job.refuse(Error::unavailable(cause));
        }
        queue.push_back(job);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits until there is work, the time is up, or the server stops. Takes at most `limit` interactive jobs. While
    /// the writer is `resting`, follow-up work does not count as work. In a `crowd` the first job is seldom alone, so
    /// other threads on this core may first hand in theirs.
    pub(super) fn next(&self, limit: usize, timeout: Option<Duration>, resting: bool, crowd: bool) -> Next {
        let idle = |waiting: &mut Waiting| {
            let follows = resting || waiting.follows.is_empty();
            waiting.interactive.is_empty() && waiting.bulk.is_empty() && follows && !waiting.closing
        };
        let waiting = self.lock();
        let mut waiting = match timeout {
            Some(timeout) => {
                self.arrived.wait_timeout_while(waiting, timeout, idle).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.arrived.wait_while(waiting, idle).unwrap_or_else(PoisonError::into_inner),
        };
        if crowd {
            drop(waiting);
            std::thread::yield_now();
            waiting = self.lock();
        }
        let taken = limit.min(waiting.interactive.len());
        let interactive: VecDeque<Job> = waiting.interactive.drain(..taken).collect();
        let empty = interactive.is_empty() && waiting.bulk.is_empty() && waiting.follows.is_empty();
        Next { interactive, finished: waiting.closing && empty }
    }

    /// Puts jobs that did not fit into a commit back in front.
    pub(super) fn put_back(&self, jobs: VecDeque<Job>) {
        let mut waiting = self.lock();
        for job in jobs.into_iter().rev() {
            waiting.interactive.push_front(job);
        }
    }

    /// The lengths of the queues.
    pub(super) fn waiting(&self) -> [(&'static str, usize); 3] {
        let waiting = self.lock();
        [("interactive", waiting.interactive.len()), ("bulk", waiting.bulk.len()), ("follows", waiting.follows.len())]
    }

    pub(super) fn pop_bulk(&self) -> Option<Job> {
        self.lock().bulk.pop_front()
    }

    pub(super) fn pop_follows(&self) -> Option<Job> {
        self.lock().follows.pop_front()
    }

    /// Takes all waiting jobs.
    pub(super) fn drain(&self) -> Vec<Job> {
        let mut waiting = self.lock();
        let Waiting { interactive, bulk, follows, .. } = &mut *waiting;
        interactive.drain(..).chain(bulk.drain(..)).chain(follows.drain(..)).collect()
    }

    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.arrived.notify_all();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }
}

pub(super) struct Next {
    pub interactive: VecDeque<Job>,
    /// True if the server stops and nothing waits.
    pub finished: bool,
}
