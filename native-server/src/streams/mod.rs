//! Receive streams: one task per listening agent serves its streams in opening order (decision stream-lifetimes).
//!
//! The core's `Hub` decides what each stream gets; this module moves the bytes. The writer wakes a task without sending
//! data. The task reads a page per stream from a new snapshot and buffers one page (decision wake-without-data). The
//! module `slot` is the place between the task and a client.

mod slot;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::{ActorId, Kind, View};
use heliograph_core::engine::settings::Settings;
use heliograph_core::relay::agent::stream::{CONNECT_PATIENCE, Emission, Hub, OpenStream, StreamId};
use heliograph_core::{Error, Result, Timestamp};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::clock;
use crate::current::Current;
use crate::log;
use crate::queue::Queue;
use crate::store::Store;
use slot::Inlet;
pub use slot::Outlet;

/// Pause before a page that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// Pause before the next look for room for a page, while clients that hold other pages are being cut.
const SHORT: Duration = Duration::from_millis(100);

/// All streams of listening agents.
pub struct Streams {
    store: Arc<Store>,
    settings: Arc<Current<Settings>>,
    /// Places in all, which the settings gave at the start.
    most: usize,
    agents: Mutex<HashMap<String, Arc<Agent>>>,
    stopping: AtomicBool,
    /// Places for streams, and for clients that wait for one.
    places: Arc<Semaphore>,
    waiting: Semaphore,
    /// How many streams there was no place for.
    refused: AtomicU64,
    queue: Arc<Queue>,
}

/// One agent with open streams.
struct Agent {
    id: ActorId,
    /// Notified when there is something to do: an opening, a new message, a client that read its page or left.
    changed: Arc<Notify>,
    openings: Mutex<Vec<(OpenStream, Inlet)>>,
}

impl Streams {
    /// `queue` has the data that clients have not read yet.
    pub fn new(store: Arc<Store>, settings: Arc<Current<Settings>>, queue: Arc<Queue>) -> Arc<Self> {
        let places = |most: u32| usize::try_from(most).unwrap_or(Semaphore::MAX_PERMITS);
        let most = places(settings.get().streams);
        Arc::new(Streams {
            places: Arc::new(Semaphore::new(most)),
            waiting: Semaphore::new(places(settings.get().streams_waiting)),
            most,
            refused: AtomicU64::new(0),
            store,
            settings,
            agents: Mutex::default(),
            stopping: AtomicBool::new(false),
            queue,
        })
    }

    /// Data that clients have not read yet.
    pub fn queue(&self) -> &Arc<Queue> {
        &self.queue
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<String, Arc<Agent>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for a stream. When there is none, the caller waits until one is free: a refused client would come
    /// back at once, and streams end every few seconds.
    async fn place(&self) -> Result<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let busy = || {
            self.refused.fetch_add(1, Ordering::Relaxed);
            Error::busy("The server has as many streams open as it may.")
        };
        let _waiting = self.waiting.try_acquire().map_err(|_| busy())?;
        match tokio::time::timeout(CONNECT_PATIENCE, self.places.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) => Err(Error::unavailable("the server is stopping")),
            Err(_) => Err(busy()),
        }
    }

    /// Opens a stream. Refused while the data file is closed after a fault; the caller tries again after a while. `cut`
    /// ends the client's connection when it reads nothing.
    pub async fn open(self: &Arc<Self>, open: OpenStream, cut: Arc<Notify>) -> Result<Outlet> {
        let place = self.place().await?;
        if !self.store.is_open() {
            return Err(Error::unavailable("a stream was asked for while the data file is closed"));
        }
        let mut agents = self.agents();
        if self.stopping.load(Ordering::SeqCst) {
            return Err(Error::unavailable("the server is stopping"));
        }
        let agent = match agents.get(&open.agent) {
            Some(agent) => agent.clone(),
            None => {
                let agent = Arc::new(Agent {
                    id: ActorId::new(Kind::Agent, open.agent.clone()),
                    changed: Arc::new(Notify::new()),
                    openings: Mutex::default(),
                });
                agents.insert(open.agent.clone(), agent.clone());
                tokio::spawn(serve(self.clone(), agent.clone()));
                agent
            }
        };
        let (inlet, outlet) = slot::pair(agent.changed.clone(), cut, place);
        // This happens under the lock of `agents`, because a task that is about to end looks here once more under the
        // same lock.
        agent.openings.lock().unwrap_or_else(PoisonError::into_inner).push((open, inlet));
        agent.changed.notify_one();
        Ok(outlet)
    }

    /// Rows of this actor changed that its streams read.
    pub fn wake(&self, actor: &ActorId) {
        if actor.kind == Kind::Agent
            && let Some(agent) = self.agents().get(&actor.name)
        {
            agent.changed.notify_one();
        }
    }

    pub fn wake_all(&self) {
        self.agents().values().for_each(|agent| agent.changed.notify_one());
    }

    /// Ends every stream with the words that have its client connect again, and refuses new ones.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.places.close();
        self.wake_all();
    }

    /// How many streams are open, how many there may be, and how many there was no place for.
    pub fn places(&self) -> (usize, usize, u64) {
        let used = self.most.saturating_sub(self.places.available_permits());
        (used, self.most, self.refused.load(Ordering::Relaxed))
    }

    /// Number of agents that listen now.
    pub fn listening(&self) -> usize {
        self.agents().len()
    }

    /// Removes an agent without streams; false when one was opened meanwhile.
    fn leave(&self, agent: &Agent) -> bool {
        let mut agents = self.agents();
        let empty = agent.openings.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if empty {
            agents.remove(&agent.id.name);
        }
        empty
    }
}

type Inlets = Vec<(StreamId, Inlet)>;

async fn serve(streams: Arc<Streams>, agent: Arc<Agent>) {
    let mut hub = Hub::default();
    let mut inlets = Inlets::new();
    loop {
        if streams.stopping.load(Ordering::SeqCst) {
            hub.stop(&mut |id, emission| hand_over(&streams, &mut inlets, id, emission));
            streams.agents().remove(&agent.id.name);
            return;
        }
        let openings = std::mem::take(&mut *agent.openings.lock().unwrap_or_else(PoisonError::into_inner));
        for (open, inlet) in openings {
            inlets.push((hub.open(open, clock::now()), inlet));
        }
        inlets.retain(|(id, inlet)| {
            let gone = inlet.is_gone();
            if gone {
                hub.close(*id);
            }
            !gone
        });
        if hub.is_empty() {
            match streams.leave(&agent) {
                true => return,
                false => continue,
            }
        }
        let wait = match turn(&streams, &agent.id, &mut hub, &mut inlets).await {
            Ok(Some(deadline)) => clock::now().until(deadline),
            Ok(None) => Duration::MAX,
            Err(error) => {
                log::error!("cannot read for the streams of {}: {error}", agent.id);
                RETRY
            }
        };
        // The notifier keeps a wake that comes in between. Running into the time limit is no failure.
        let _ = tokio::time::timeout(wait, agent.changed.notified()).await;
    }
}

/// A page or the last words for a stream.
type Parcel = (StreamId, Emission);

/// Hands out pages until no stream takes more. Returns when to call again.
async fn turn(streams: &Streams, agent: &ActorId, hub: &mut Hub, inlets: &mut Inlets) -> Result<Option<Timestamp>> {
    let page = usize::try_from(streams.settings.get().stream_bytes).unwrap_or(usize::MAX);
    loop {
        let mut parcels: Vec<Parcel> = Vec::new();
        let now = clock::now();
        let (mut reserved, mut short) = (0, false);
        let next = streams.store.read_actor(agent, |rows| {
            let view = View::new(&PROGRAM, agent, rows, now, streams.settings.get());
            let mut ready = |id: StreamId| {
                let wants = inlets.iter().any(|(known, inlet)| *known == id && inlet.is_ready());
                let fits = wants && streams.queue.has_room(reserved + page);
                (reserved, short) = (reserved + usize::from(fits) * page, short || (wants && !fits));
                fits
            };
            hub.turn(&view, &mut ready, &mut |id, emission| parcels.push((id, emission)))
        });
        let paged = parcels.iter().any(|(_, emission)| matches!(emission, Emission::Page(_)));
        for (id, emission) in parcels {
            hand_over(streams, inlets, id, emission);
            // The scheduler runs the connection that was woken last first. Yielding here lets each connection write
            // before the next one is woken, so that streams are served in the order of their opening.
            tokio::task::yield_now().await;
        }
        let next = next?;
        if short {
            return Ok(Some(now.plus_duration(SHORT)));
        }
        // After its last page a stream is not read again: a message that came meanwhile left a wake with the notifier.
        if !paged || next.is_none_or(|next| next > now) {
            return Ok(next);
        }
    }
}

fn hand_over(streams: &Streams, inlets: &mut Inlets, id: StreamId, emission: Emission) {
    let Some(at) = inlets.iter().position(|(known, _)| *known == id) else { return };
    match emission {
        Emission::Page(page) => {
            if let Some((_, inlet)) = inlets.get(at) {
                inlet.put(page.clone(), streams.queue.hold(page.len(), inlet.cut.clone()));
            }
        }
        Emission::Last(last, end) => inlets.remove(at).1.end(last, end),
    }
}
