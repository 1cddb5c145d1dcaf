//! Receive streams: one task per listening agent serves its streams in opening order (ruling foundation-relay 8).
//!
//! The core's `Hub` decides what each stream gets; this module moves bytes. The writer wakes a task without sending
//! data; the task reads a page per stream from a fresh snapshot and buffers one page (ruling foundation-relay 7).

mod slot;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use heliograph_core::actor::{ActorId, Kind, View};
use heliograph_core::agent::stream::{Emission, Hub, Open, StreamId};
use heliograph_core::runtime::ByteStream;
use heliograph_core::settings::Settings;
use heliograph_core::{Error, Result, Timestamp};
use tokio::sync::Notify;

use crate::clock;
use crate::store::Store;
use slot::Inlet;

/// Pause before a page that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Everything that listens.
pub struct Streams {
    store: Arc<Store>,
    settings: Settings,
    agents: Mutex<HashMap<String, Arc<Agent>>>,
    stopping: AtomicBool,
}

/// One agent with open streams.
struct Agent {
    id: ActorId,
    /// Something to do: an opening, a new message, a client that took its page or left.
    changed: Arc<Notify>,
    openings: Mutex<Vec<(Open, Inlet)>>,
}

impl Streams {
    pub fn new(store: Arc<Store>, settings: Settings) -> Arc<Self> {
        Arc::new(Streams { store, settings, agents: Mutex::default(), stopping: AtomicBool::new(false) })
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<String, Arc<Agent>>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a stream; refused while the data file is closed after a fault (the caller tries again, patiently).
    pub fn open(self: &Arc<Self>, open: Open) -> Result<ByteStream> {
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
        let (inlet, outlet) = slot::pair(agent.changed.clone());
        // Still under the lock of `agents`: a task that is about to end looks here once more under the same lock.
        agent.openings.lock().unwrap_or_else(PoisonError::into_inner).push((open, inlet));
        agent.changed.notify_one();
        Ok(Box::pin(outlet))
    }

    /// Rows of this actor changed that its streams look at.
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

    /// Ends every stream and refuses new ones.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.wake_all();
    }

    /// Agents that listen at present.
    pub fn listening(&self) -> usize {
        self.agents().len()
    }

    /// Takes an agent without streams off; false when one was opened meanwhile.
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
                eprintln!("error: cannot read for the streams of {}: {error}", agent.id);
                RETRY
            }
        };
        // A wake that comes in between is kept by the notifier. Running into the time limit is no failure.
        let _ = tokio::time::timeout(wait, agent.changed.notified()).await;
    }
}

/// A page or the last words on the way to a stream.
type Parcel = (StreamId, Emission);

/// Hands out pages until no stream takes more. Returns when to call again.
async fn turn(streams: &Streams, agent: &ActorId, hub: &mut Hub, inlets: &mut Inlets) -> Result<Option<Timestamp>> {
    loop {
        let mut parcels: Vec<Parcel> = Vec::new();
        let now = clock::now();
        let next = streams.store.read_actor(agent, |rows| {
            let view = View::new(agent, rows, now, &streams.settings);
            let ready = |id: StreamId| inlets.iter().any(|(known, inlet)| *known == id && inlet.is_ready());
            hub.turn(&view, &mut { ready }, &mut |id, emission| parcels.push((id, emission)))
        });
        let paged = parcels.iter().any(|(_, emission)| matches!(emission, Emission::Page(_)));
        for (id, emission) in parcels {
            hand_over(inlets, id, emission);
            // The scheduler runs the connection it woke last first. Giving way here lets each connection write before
            // the next one is woken, so that the first opened is the first served.
            tokio::task::yield_now().await;
        }
        let next = next?;
        // After its last page a stream is not read again: what came meanwhile left a wake with the notifier.
        if !paged || next.is_none_or(|next| next > now) {
            return Ok(next);
        }
    }
}

fn hand_over(inlets: &mut Inlets, id: StreamId, emission: Emission) {
    let (bytes, last) = match emission {
        Emission::Page(bytes) => (bytes, false),
        Emission::Last(bytes) => (bytes, true),
    };
    if let Some((_, inlet)) = inlets.iter().find(|(known, _)| *known == id) {
        inlet.put(bytes, last);
    }
    if last {
        inlets.retain(|(known, _)| *known != id);
    }
}
