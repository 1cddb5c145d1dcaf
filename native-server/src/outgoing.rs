//! The task that makes the requests that actors ask for: deliveries of webhooks, and requests to peers.
//!
//! One incident can ask for ten thousand requests at once. Nobody waits for them, while clients wait for the effects of
//! their own requests. So deliveries of alerts wait in a queue that is emptied at a steady pace, which takes little of
//! a core. Requests of other actors, of which there is one for each action of a client, bypass the queue.

use std::sync::Arc;
use std::time::Duration;

use heliograph_core::engine::actor::{ActorId, Kind};
use heliograph_core::{engine::apart, engine::runtime};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::log;
use crate::runtime::Native;

/// Requests that are prepared, wait for a place ([`crate::places`]) or are in progress at once; a webhook has one at a
/// time.
const AT_ONCE: usize = 16_384;
/// Deliveries of alerts that begin in a second, for each core that the process may use: one core takes 25 seconds for
/// ten thousand.
const PER_SECOND: u32 = 400;
/// Time between two batches of deliveries.
const BEAT: Duration = Duration::from_millis(5);

/// A request that an actor asked for under a key.
type Wish = (ActorId, String);

/// Makes the requests of actors for as long as the server runs.
pub async fn run(native: Arc<Native>, asked: UnboundedReceiver<Wish>) {
    let starter = Starter { native, room: Arc::new(Semaphore::new(AT_ONCE)) };
    let (line, waiting) = unbounded_channel();
    let cores = std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1));
    let lot = lot(cores);
    tokio::join!(sort(asked, line, |wish| starter.start(wish)), paced(waiting, lot, |wish| starter.start(wish)));
}

/// Deliveries that begin with each beat.
fn lot(cores: u32) -> usize {
    let beats = 1_000 / u32::try_from(BEAT.as_millis()).unwrap_or(1);
    usize::try_from((PER_SECOND.saturating_mul(cores) / beats).max(1)).unwrap_or(1)
}

struct Starter {
    native: Arc<Native>,
    room: Arc<Semaphore>,
}

impl Starter {
    async fn start(&self, (actor, key): Wish) {
        let Ok(place) = self.room.clone().acquire_owned().await else { return };
        let native = self.native.clone();
        tokio::spawn(async move {
            let (runtime, who) = (native.clone(), actor.clone());
            let attempt = Box::pin(async move { runtime::reach_out(runtime, &who, &key).await });
            if let Err(error) = apart::by_ourselves(native, attempt).await.flatten() {
                log::warning!("a delivery of {actor} is tried again later: {error}");
            }
            drop(place);
        });
    }
}

/// Puts deliveries of alerts into the queue, and begins all other requests at once.
async fn sort<F: Future<Output = ()>>(
    mut asked: UnboundedReceiver<Wish>,
    line: UnboundedSender<(Instant, Wish)>,
    begin: impl Fn(Wish) -> F,
) {
    while let Some(wish) = asked.recv().await {
        match wish.0.kind {
            Kind::Account => drop(line.send((Instant::now(), wish))),
            _ => begin(wish).await,
        }
    }
}

/// Begins `lot` deliveries with each beat. A delivery that was in the queue for longer than its lease is dropped at no
/// cost, because the lease asks for it again; it must not keep the others waiting.
async fn paced<F: Future<Output = ()>>(
    mut line: UnboundedReceiver<(Instant, Wish)>,
    lot: usize,
    begin: impl Fn(Wish) -> F,
) {
    let latest = Duration::from_micros(heliograph_core::relay::webhook::LATEST.unsigned_abs());
    let mut beat = interval(BEAT);
    // Beats that were missed during a pause are not made up for.
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut left = lot;
    while let Some((since, wish)) = line.recv().await {
        if since.elapsed() >= latest {
            continue;
        }
        if left == 0 {
            beat.tick().await;
            left = lot;
        }
        left -= 1;
        begin(wish).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn wish(kind: Kind, number: usize) -> Wish {
        (ActorId::new(kind, "AAAAAAAAAAAAAAAAAAAAAA"), number.to_string())
    }

    /// The requests that began, and when.
    type Begun = Arc<Mutex<Vec<(Duration, Wish)>>>;

    fn note(begun: &Begun, from: Instant) -> impl Fn(Wish) -> std::future::Ready<()> {
        let begun = begun.clone();
        move |wish| {
            begun.lock().unwrap().push((from.elapsed(), wish));
            std::future::ready(())
        }
    }

    /// The alerts of one incident to 10,000 subscriptions take little of the machine, and are sent within 60 s.
    #[tokio::test(start_paused = true)]
    async fn ten_thousand_deliveries_begin_at_a_pace_and_what_others_ask_for_goes_past_them() {
        let (ask, asked) = unbounded_channel();
        let (line, waiting) = unbounded_channel();
        let (begun, from) = (Begun::default(), Instant::now());
        for number in 0..10_000 {
            ask.send(wish(Kind::Account, number)).unwrap();
        }
        ask.send(wish(Kind::Agent, 0)).unwrap();
        drop(ask);
        tokio::join!(sort(asked, line, note(&begun, from)), paced(waiting, lot(1), note(&begun, from)));
        let begun = begun.lock().unwrap();
        assert_eq!(begun.len(), 10_001);
        let (agent, _) = begun.iter().find(|(_, wish)| wish.0.kind == Kind::Agent).unwrap();
        assert!(*agent < Duration::from_millis(5), "{agent:?}");
        let last = begun.last().unwrap().0;
        assert!(last > Duration::from_secs(20) && last < Duration::from_secs(30), "{last:?}");
        for second in 0..last.as_secs() {
            let in_it = begun.iter().filter(|(at, _)| at.as_secs() == second).count();
            assert!(in_it <= 410, "{in_it} in second {second}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_stood_in_line_for_too_long_keeps_nobody_waiting() {
        let (line, waiting) = unbounded_channel();
        let old = Instant::now();
        tokio::time::advance(Duration::from_secs(40)).await;
        for number in 0..100_000 {
            line.send((old, wish(Kind::Account, number))).unwrap();
        }
        line.send((Instant::now(), wish(Kind::Account, 7))).unwrap();
        drop(line);
        let (begun, from) = (Begun::default(), Instant::now());
        paced(waiting, 1, note(&begun, from)).await;
        let begun = begun.lock().unwrap();
        assert_eq!(begun.len(), 1);
        assert!(begun[0].0 < Duration::from_millis(5), "{:?}", begun[0].0);
    }
}
