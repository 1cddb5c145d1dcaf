//! Requests that wait for a message: long polling, only when the client asks for it.
//!
//! A request with `wait` that finds no message listens like a stream, from the mailbox's last message on, and reads
//! again whenever something came. A request without `wait` is answered at once, since existing clients poll with the
//! same parameters when they read an empty inbox. The places to wait are limited. A request that finds none is answered
//! at once, too.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};

use super::mailbox::{Page, ReadPage};
use super::stream::{Framing, OpenStream, RECONNECT};
use super::wire;
use crate::agent::authentication::Calling;
use crate::{Result, Timestamp};
use engine::http::Cx;
use engine::runtime::{self, Environment};
use engine::time::SECOND;

/// Most seconds that a request waits: clients give up after 30.
pub const MAX_WAIT: u64 = 25;
/// Most requests of one agent that wait at the same time; our choice.
const PER_AGENT: usize = 8;
/// Most agents with waiting requests in one process; our choice.
const MAX_AGENTS: usize = 10_000;

/// Waiting requests by agent: the latest end of each. A request whose end is past no longer counts, even if its place
/// was not given back, as when a platform drops a request without notice.
#[derive(Debug, Default)]
pub struct Polls(Mutex<BTreeMap<String, Vec<Timestamp>>>);

/// The place of one request; dropping it frees the place.
struct PollSlot<'a> {
    polls: &'a Polls,
    agent: &'a str,
    until: Timestamp,
}

impl Polls {
    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Polls> {
        environment.shared()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Timestamp>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter<'a>(&'a self, agent: &'a str, now: Timestamp, until: Timestamp) -> Option<PollSlot<'a>> {
        let mut agents = self.lock();
        if agents.len() >= MAX_AGENTS {
            agents.retain(|_, waiting| waiting.iter().any(|until| *until > now));
        }
        if agents.len() >= MAX_AGENTS && !agents.contains_key(agent) {
            return None;
        }
        let waiting = agents.entry(agent.to_owned()).or_default();
        waiting.retain(|until| *until > now);
        if waiting.len() >= PER_AGENT {
            return None;
        }
        waiting.push(until);
        Some(PollSlot { polls: self, agent, until })
    }
}

impl Drop for PollSlot<'_> {
    fn drop(&mut self) {
        let mut agents = self.polls.lock();
        let Some(waiting) = agents.get_mut(self.agent) else { return };
        if let Some(own) = waiting.iter().position(|until| *until == self.until) {
            waiting.swap_remove(own);
        }
        if waiting.is_empty() {
            agents.remove(self.agent);
        }
    }
}

/// Waits at most `seconds` for a message that `ask` finds. `empty` is the page that was read before. It is the answer
/// when nothing comes, when there is no place to wait, and when the caller's key or the stream ends meanwhile.
pub(super) async fn wait(cx: &Cx, ask: &Page, empty: ReadPage, seconds: u64) -> Result<ReadPage> {
    let caller = cx.caller.agent()?;
    let (now, seconds) = (cx.now(), seconds.min(MAX_WAIT));
    let until = now.plus(i64::try_from(seconds).unwrap_or(0).saturating_mul(SECOND));
    let polls = Polls::of(cx.rt.environment());
    let Some(_place) = polls.enter(&caller.actor, now, until) else { return Ok(empty) };
    let open = OpenStream {
        agent: caller.actor.clone(),
        version: caller.epoch,
        after: Some(empty.newest),
        from: ask.filter.from.map(|from| wire::did_text(cx.settings(), &from)),
        // A stream with this framing ends by itself, even when nobody reads it any more.
        framing: Framing::Sse,
    };
    let Ok(mut stream) = cx.rt.stream(open).await else { return Ok(empty) };
    let mut over = pin!(cx.rt.sleep(Duration::from_secs(seconds)));
    loop {
        match select(stream.next(), over.as_mut()).await {
            Either::Left((None, _)) => return Ok(empty),
            Either::Left((Some(piece), _)) if piece == RECONNECT => return Ok(empty),
            Either::Left((Some(_), _)) => {
                let page = runtime::query(&*cx.rt, caller.actor.as_str(), ask).await?;
                if !page.items.is_empty() || page.has_more {
                    return Ok(page);
                }
            }
            Either::Right(((), _)) => return Ok(empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_wait_are_bounded_by_agent_and_given_back() {
        let polls = Polls::default();
        let (now, until) = (Timestamp(0), Timestamp(10));
        let mut places: Vec<_> = (0..PER_AGENT).map(|_| polls.enter("a", now, until).unwrap()).collect();
        assert!(polls.enter("a", now, until).is_none());
        assert!(polls.enter("b", now, until).is_some());
        places.pop();
        assert!(polls.enter("a", now, until).is_some());
        drop(places);
        assert!(polls.lock().is_empty());
    }

    #[test]
    fn a_place_that_was_never_given_back_is_free_after_its_time() {
        let polls = Polls::default();
        for agent in 0..MAX_AGENTS {
            std::mem::forget(polls.enter(&agent.to_string(), Timestamp(0), Timestamp(10)));
        }
        assert!(polls.enter("late", Timestamp(9), Timestamp(20)).is_none());
        assert!(polls.enter("7", Timestamp(9), Timestamp(20)).is_some());
        assert!(polls.enter("late", Timestamp(10), Timestamp(20)).is_some());
    }
}
