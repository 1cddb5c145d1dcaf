//! An agent: its client, its store, its keys.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crypto::conversation::{AgentKeys, Peer};
use futures_util::lock::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::keyring::{ApiKey, Keyring};
use super::register::Registration;
use crate::http::call::Call;
use crate::http::{Client, Method};
use crate::store::Store;
use crate::{Error, Result};

/// The name of the agent's keys in its store.
const KEYS: &str = "agent";
/// Peers whose keys are remembered.
const MAX_PEERS: usize = 500;
/// How long the keys of a peer are believed without asking again, in milliseconds.
const PEER_AGE: i64 = 5 * 60_000;

/// An agent. Clones are the same agent.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    store: Box<dyn Store>,
    keyring: Mutex<Keyring>,
    /// Changes of the keys, one after the other.
    changing: AsyncMutex<()>,
    peers: Mutex<BTreeMap<String, Known>>,
    /// One lock for each peer: the steps of a session are taken, stored and posted one after the other.
    locks: Mutex<BTreeMap<String, Arc<AsyncMutex<()>>>>,
}

/// A peer as the service last showed it.
#[derive(Clone)]
pub(crate) struct Known {
    pub peer: Peer,
    /// Whether it says that it opens sessions from prekeys.
    pub opens_prekeys: bool,
    /// When it was asked, in milliseconds since 1970.
    pub at: i64,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("did", &self.did()).finish_non_exhaustive()
    }
}

impl Client {
    /// Opens the agent whose keys are in the store.
    ///
    /// Errors: [`Error::Store`] if there are none.
    pub async fn open(&self, store: impl Store + 'static) -> Result<Agent> {
        let kept = store.read(KEYS).await?.map(zeroize::Zeroizing::new);
        let kept = kept.ok_or_else(|| Error::store("it holds no agent; register one first"))?;
        Ok(Agent::new(self.clone(), Box::new(store), Keyring::decode(&kept)?))
    }

    /// Opens the agent whose keys are in the store, or registers one and keeps its keys there.
    pub async fn open_or_register(&self, store: impl Store + 'static, registration: Registration) -> Result<Agent> {
        match store.read(KEYS).await? {
            Some(_) => self.open(store).await,
            None => self.register(store, registration).await,
        }
    }
}

impl Agent {
    pub(crate) fn new(client: Client, store: Box<dyn Store>, keyring: Keyring) -> Agent {
        let inner = Inner {
            client,
            store,
            keyring: Mutex::new(keyring),
            changing: AsyncMutex::new(()),
            peers: Mutex::default(),
            locks: Mutex::default(),
        };
        Agent { inner: Arc::new(inner) }
    }

    /// The deployment that the agent is registered with.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The agent's DID.
    pub fn did(&self) -> String {
        self.with_keyring(|keyring| keyring.did.clone())
    }

    /// Whether the agent holds its keys itself; otherwise the service does.
    pub fn holds_keys(&self) -> bool {
        self.with_keyring(|keyring| !keyring.generations.is_empty())
    }

    /// The API key, for other programs of the same agent. Whoever has it can act as the agent.
    pub fn api_key(&self) -> ApiKey {
        self.with_keyring(|keyring| keyring.api_key.clone())
    }

    pub(crate) fn with_keyring<T>(&self, read: impl FnOnce(&Keyring) -> T) -> T {
        read(&self.inner.keyring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The present keys.
    pub(crate) fn keys(&self) -> Result<AgentKeys> {
        self.with_keyring(|keyring| keyring.keys().cloned())
    }

    /// Changes the keys and stores them. What is not stored is not in use: if the store fails, nothing has changed.
    pub(crate) async fn change_keyring<T>(&self, change: impl FnOnce(&mut Keyring) -> T) -> Result<T> {
        let _one_at_a_time = self.inner.changing.lock().await;
        let mut changed = self.with_keyring(Keyring::clone);
        let result = change(&mut changed);
        self.inner.store.write(KEYS, &changed.encode()?).await?;
        *self.inner.keyring.lock().unwrap_or_else(PoisonError::into_inner) = changed;
        Ok(result)
    }

    pub(crate) fn store(&self) -> &dyn Store {
        &*self.inner.store
    }

    /// A call with the agent's key under `/v1/agent`.
    pub(crate) fn call(&self, method: Method, segments: &[&str]) -> Call<'_> {
        self.with_keyring(|keyring| self.inner.client.agent(method, segments).key(keyring.api_key.expose()))
    }

    /// Any other route, with the agent's key: `path` is sent as it is, with its query. Only a GET is tried again.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&serde_json::Value>,
    ) -> Result<serde_json::Value> {
        let call = self.with_keyring(|keyring| {
            Call::new(&self.inner.client, method, path.to_owned()).key(keyring.api_key.expose())
        });
        match body {
            Some(body) => call.json(body).send().await,
            None => call.send().await,
        }
    }

    /// Waits until nobody else works on the sessions with this peer.
    pub(crate) async fn lock_peer(&self, did: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.inner.locks.lock().unwrap_or_else(PoisonError::into_inner);
            if locks.len() > MAX_PEERS {
                locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            }
            locks.entry(did.to_owned()).or_default().clone()
        };
        lock.lock_owned().await
    }

    pub(crate) fn known(&self, did: &str) -> Option<Known> {
        let peers = self.inner.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.get(did).filter(|known| crate::platform::now() - known.at < PEER_AGE).cloned()
    }

    pub(crate) fn remember_peer(&self, known: Known) {
        let mut peers = self.inner.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if peers.len() >= MAX_PEERS {
            let oldest = peers.iter().min_by_key(|(_, known)| known.at).map(|(did, _)| did.clone());
            oldest.and_then(|did| peers.remove(&did));
        }
        peers.insert(known.peer.did.clone(), known);
    }

    /// Asks for the keys of a peer again before the next message to it.
    pub fn forget_peer(&self, did: &str) {
        self.inner.peers.lock().unwrap_or_else(PoisonError::into_inner).remove(did);
    }
}

/// Stores the keys of an agent that is not made yet.
pub(crate) async fn keep(store: &dyn Store, keyring: &Keyring) -> Result<()> {
    store.write(KEYS, &keyring.encode()?).await
}
