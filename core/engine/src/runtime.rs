//! What a request handler needs from outside.

use std::any::Any;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::Stream;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::actor::{ActorId, Call, Operation, Query, decode, encode};
use crate::apart::{self, Asker};
use crate::documents::{self, Document};
use crate::http::{Coder, Proxies, Ready};
use crate::limits::Buckets;
use crate::program::Program;
use crate::settings::Settings;
use crate::stream::OpenStream;
use crate::time::SECOND;
use crate::{Error, Result, Timestamp};

/// `Send` natively, nothing on wasm, where futures cannot have it.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send + ?Sized> MaybeSend for T {}
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSend for T {}

/// `Sync` natively, nothing on wasm.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSync: Sync {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Sync + ?Sized> MaybeSync for T {}
#[cfg(target_arch = "wasm32")]
pub trait MaybeSync {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSync for T {}

/// A future that may be moved between threads natively.
///
/// Boxing costs some tens of nanoseconds a call and lets all handlers compile once, in this crate, instead of once per
/// runtime.
#[cfg(not(target_arch = "wasm32"))]
pub type BoxFuture<'a, T> = futures_util::future::BoxFuture<'a, T>;
#[cfg(target_arch = "wasm32")]
pub type BoxFuture<'a, T> = futures_util::future::LocalBoxFuture<'a, T>;

/// A body that arrives piece by piece.
#[cfg(not(target_arch = "wasm32"))]
pub type ByteStream = std::pin::Pin<Box<dyn Stream<Item = bytes::Bytes> + Send>>;
#[cfg(target_arch = "wasm32")]
pub type ByteStream = std::pin::Pin<Box<dyn Stream<Item = bytes::Bytes>>>;

/// The world around a handler. One implementation per runtime; the simulator has its own.
pub trait Runtime: MaybeSend + MaybeSync {
    /// Runs an operation; its changes are durable when the reply arrives, and the first delivery of its effects has
    /// been attempted (at most `effect_wait_ms`).
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>>;

    /// Runs a query on a snapshot that contains every change answered before.
    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>>;

    /// The reply to a query where it is kept ([`crate::actor::host::remembered`]); never computes anything.
    fn remembered(&self, _call: &Call) -> Option<Vec<u8>> {
        None
    }

    /// Runs work that takes long where it holds up nobody who asks for little: natively on a thread of its own pool, so
    /// many at once, in turn between those who ask. It is dropped when nobody waits for it any more.
    /// [`ErrorCode::Busy`](crate::ErrorCode::Busy): there is no room for it. See [`crate::apart`].
    fn apart<'a>(&'a self, _asker: &'a Asker, work: BoxFuture<'static, ()>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            work.await;
            Ok(())
        })
    }

    /// The published document; `None` when none was published yet. May be up to a minute old on the edge.
    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>>;

    /// Opens a receive stream on an agent.
    fn stream(&self, open: OpenStream) -> BoxFuture<'_, Result<ByteStream>>;

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()>;

    fn now(&self) -> Timestamp;

    /// 32 fresh unpredictable bytes.
    fn random(&self) -> [u8; 32];

    fn environment(&self) -> &Environment;

    /// Whether an answered write is possible right now, for `/readyz`.
    fn write_check(&self) -> BoxFuture<'_, Result<()>>;

    /// Asks another host; see [`crate::web::Outgoing`] for what the runtime must refuse. An error
    /// `RATE_LIMITED` says that nothing was tried, for want of room.
    fn fetch(&self, _outgoing: crate::web::Outgoing) -> BoxFuture<'_, Result<crate::web::Incoming>> {
        Box::pin(std::future::ready(Err(crate::web::no_way_out())))
    }

    /// Where sealed segments of the ledger are kept outside its actor; `None`: they stay among its rows.
    fn archive(&self) -> Option<&dyn Archive> {
        None
    }

    /// Answers that all processes of one place share for a while; `None` where there is one process.
    fn shared_answers(&self) -> Option<&dyn SharedAnswers> {
        None
    }

    /// What compresses answers; `None`: they are sent as they are.
    fn coder(&self) -> Option<&dyn Coder> {
        None
    }

    /// What the process counts of itself, in the text format of Prometheus; `None` where there is no one process that
    /// could count, as on the edge.
    fn metrics(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// What is wrong with storage, for the health checks; nothing where the platform keeps the data.
    fn storage(&self) -> StorageHealth {
        StorageHealth::default()
    }

    /// The operator's view of the data file; `None` where the platform keeps the data, as on the edge.
    fn maintenance(&self) -> Option<&dyn Maintenance> {
        None
    }
}

/// What is wrong with storage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StorageHealth {
    /// Why writes fail, in the words of the system; `None` while they succeed.
    pub failing: Option<String>,
    /// Pages of the data file that are known to be damaged.
    pub damaged_pages: u64,
}

/// A place beside the actors for what never changes: on the edge Workers KV.
pub trait Archive: MaybeSend + MaybeSync {
    /// Durable when it returns; elsewhere it may be seen a minute later.
    fn put<'a>(&'a self, name: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<()>>;

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>>;
}

/// A cache beside the processes of one place: on the edge the Cache API. It may forget anything at any time, and fail
/// like a cache that is empty.
pub trait SharedAnswers: MaybeSend + MaybeSync {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Option<Bytes>>;

    /// Keeps an answer for so many seconds, at least 1.
    fn put<'a>(&'a self, key: &'a [u8], answer: Vec<u8>, seconds: u32) -> BoxFuture<'a, ()>;
}

/// What an operator can do with a data file.
pub trait Maintenance: MaybeSend + MaybeSync {
    /// Counts what is stored; takes time in proportion to the number of actors.
    fn info(&self) -> BoxFuture<'_, Result<FileInfo>>;

    /// The actors after one, in an order of their own, those of kind `deployment` first; at most so many.
    fn actors(&self, after: Option<ActorId>, limit: usize) -> BoxFuture<'_, Result<Vec<ActorId>>>;

    /// A consistent copy of the data file as of some moment during the call.
    fn backup(&self) -> BoxFuture<'_, Result<FileCopy>>;

    /// Reads all that is stored and compares it with its checksums; takes time in proportion to the file.
    fn scrub(&self) -> BoxFuture<'_, Result<Scrub>>;

    /// Makes a new master key, durable beside the data, that seals from here on; the earlier ones stay. What is sealed
    /// under those moves in the background.
    fn rotate_master(&self) -> BoxFuture<'_, Result<()>>;
}

/// A copy of a data file on its way.
pub struct FileCopy {
    /// Its whole length: a stream that ends earlier has failed.
    pub bytes: u64,
    pub stream: ByteStream,
}

/// What reading the whole data file found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scrub {
    /// Blocks of 4,096 bytes that hold something, all of which were read.
    pub pages: u64,
    /// Rows in them, of all tables.
    pub rows: u64,
    /// Whether pages from before there were checksums are still being given theirs.
    pub converting: bool,
    /// When it ended, ISO 8601.
    pub ended_at: String,
    /// How many places are damaged.
    pub damaged: u64,
    /// The first 1,000 of them.
    pub damage: Vec<Damage>,
}

/// A damaged page, and what it held. Keys are text with the escapes of a Rust byte string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StorageDamage")]
pub struct Damage {
    /// Its place in the file: the first of its blocks of 4096 bytes, counted from 0 as the storage engine counts them.
    pub page: u64,
    /// Where it begins in the file, in bytes.
    pub offset: u64,
    /// The table it belongs to: `rows`, `timers`, `due`, `documents`, or one of the storage engine's own.
    pub table: String,
    /// `leaf` (rows), `branch` (all that lies under it) or `unknown`.
    pub kind: String,
    /// Whose rows they are, when the table is `rows`: the actor of the first key and that of the last.
    pub actors: Vec<String>,
    /// Every key on it is greater than this one; null: from the first on.
    pub after: Option<String>,
    /// No key on it is greater than this one; null: to the last.
    pub up_to: Option<String>,
    /// Keys that can still be read on it, though they may be damaged too; the first 100.
    pub keys: Vec<String>,
}

/// What a data file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileInfo {
    /// Size of the file.
    pub bytes: u64,
    /// Actors by kind.
    pub actors: BTreeMap<String, u64>,
    pub documents: u64,
    /// Values sealed under a master key: private keys of agents, their sessions, and keys of channels.
    pub sealed_values: u64,
    /// Those of them that are under an earlier master key (decision master-key-file).
    pub sealed_under_earlier_keys: u64,
    /// Whether they are being moved under the current one.
    pub resealing: bool,
    /// Messages between actors that wait for delivery.
    pub outbox_waiting: u64,
    /// Messages given up after 7 days (decision outbox-order).
    pub outbox_parked: u64,
    /// When the longest waiting message was sent, ISO 8601.
    pub outbox_oldest: Option<String>,
    /// When the next timer or delivery is due, ISO 8601.
    pub next_due: Option<String>,
    /// Pages that are known to be damaged.
    #[serde(default)]
    pub damaged_pages: u64,
    /// Whether pages from before there were checksums are still being given theirs.
    #[serde(default)]
    pub converting: bool,
    /// When the whole file was last read and compared with its checksums, ISO 8601.
    #[serde(default)]
    pub scrubbed_at: Option<String>,
}

/// What stays the same from request to request, until an operator changes settings.
pub struct Environment {
    pub program: &'static Program,
    pub settings: Settings,
    /// The settings for what a proxy passed on: public figures, where the operator chose none, in place of those of a
    /// server that only its own machine reaches (decision faucet-addresses).
    pub proxied: Settings,
    /// Whose word counts about where a request comes from.
    pub proxies: Proxies,
    pub secrets: crate::secrets::Secrets,
    pub buckets: Arc<Buckets>,
    /// Answers that took the asking of many actors or rows, kept for a publish interval;
    /// [`crate::http::Cx::kept`].
    pub pages: Arc<crate::actor::Memo>,
    /// The deployment's id, made at first start.
    pub deployment: String,
    /// Whether replies that may be late are shared ([`late`]): a Worker's isolate does.
    pub shares_reads: bool,
    /// What features keep for the life of the process, by type.
    shared: Arc<RwLock<Vec<Arc<dyn Any + Send + Sync>>>>,
}

impl Environment {
    /// The beginning of a process: full buckets, nothing counted.
    pub fn new(
        program: &'static Program,
        settings: Settings,
        secrets: crate::secrets::Secrets,
        deployment: String,
    ) -> Self {
        let mut proxied = settings.clone();
        proxied.open_to_the_world();
        Environment {
            proxies: Proxies::of(&settings),
            settings,
            proxied,
            secrets,
            program,
            buckets: Arc::default(),
            pages: Default::default(),
            deployment,
            shares_reads: false,
            shared: Arc::default(),
        }
    }

    /// The same process with other settings: what is counted and kept goes on.
    pub fn with_settings(&self, settings: Settings, secrets: crate::secrets::Secrets) -> Self {
        Environment {
            buckets: self.buckets.clone(),
            pages: self.pages.clone(),
            shared: self.shared.clone(),
            shares_reads: self.shares_reads,
            ..Environment::new(self.program, settings, secrets, self.deployment.clone())
        }
    }

    /// What a feature keeps for the life of the process: counters that wait to be written, what was decoded last. Made
    /// when it is first asked for.
    pub fn shared<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let find = |all: &[Arc<dyn Any + Send + Sync>]| all.iter().find_map(|one| one.clone().downcast().ok());
        if let Some(known) = find(&self.shared.read().unwrap_or_else(PoisonError::into_inner)) {
            return known;
        }
        let mut all = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been here meanwhile.
        find(&all).unwrap_or_else(|| {
            let made = Arc::new(T::default());
            all.push(made.clone());
            made
        })
    }

    /// Has [`Environment::shared`] begin with this value.
    pub fn share<T: Any + Send + Sync>(&self, value: T) {
        self.shared.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(value));
    }
}

/// Runs a typed operation on the actor of that name.
pub fn call<'a, O: Operation>(rt: &'a dyn Runtime, name: impl Into<String>, operation: &O) -> Reply<'a, O::Reply> {
    Reply::new(Call::operation(name, operation).map(|call| rt.call(call)))
}

/// Runs a typed query on the actor of that name; one that computes waits for room first, unless its answer is kept.
pub fn query<'a, Q: Query>(rt: &'a dyn Runtime, name: impl Into<String>, query: &Q) -> Reply<'a, Q::Reply> {
    let computes = query.computes();
    Reply::new(Call::query(name, query).map(|call| if computes { computed(rt, call) } else { rt.query(call) }))
}

/// The reply to a query that may compute: what is kept at once, else once there is room.
fn computed(rt: &dyn Runtime, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
    Box::pin(async move {
        if !apart::is_apart()
            && let Some(reply) = rt.remembered(&call)
        {
            return Ok(reply);
        }
        apart::room().await;
        rt.query(call).await
    })
}

/// A reply that may be late, and since when it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late<T> {
    pub value: T,
    pub at: Timestamp,
}

/// As [`query`] where reading costs nothing. On the edge, where every read is a request to the one object that also
/// decides, the reply may be one that this isolate got less than `pay_reads_seconds` ago (decision
/// shared-market-reads).
pub async fn late<Q: Query>(rt: &dyn Runtime, name: impl Into<String>, query: &Q) -> Result<Late<Q::Reply>> {
    let (at, reply) = late_reply(rt, Call::query(name, query)?).await?;
    Ok(Late { value: decode(&reply)?, at })
}

async fn late_reply(rt: &dyn Runtime, call: Call) -> Result<(Timestamp, Bytes)> {
    let (now, environment) = (rt.now(), rt.environment());
    let seconds = if environment.shares_reads { environment.settings.pay_reads_seconds } else { 0 };
    let Some(period) = now.0.checked_div_euclid(i64::from(seconds) * SECOND) else {
        return Ok((now, rt.query(call).await?.into()));
    };
    let key = encode(&("late", period, &call))?;
    if let Some(kept) = environment.pages.get(&key) {
        return decode::<(Timestamp, Bytes)>(&kept);
    }
    let reply = Bytes::from(rt.query(call).await?);
    environment.pages.put(key, encode(&(now, &reply))?.into());
    Ok((now, reply))
}

/// The reply of an actor on its way. Not an `async fn`: those are compiled anew into everybody who waits for one, which
/// was a tenth of the Worker.
#[must_use = "futures do nothing unless polled"]
pub struct Reply<'a, T> {
    bytes: BoxFuture<'a, Result<Vec<u8>>>,
    reply: PhantomData<fn() -> T>,
}

impl<'a, T> Reply<'a, T> {
    fn new(asked: Result<BoxFuture<'a, Result<Vec<u8>>>>) -> Self {
        let bytes = asked.unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))));
        Reply { bytes, reply: PhantomData }
    }
}

impl<T: DeserializeOwned> Future for Reply<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        self.bytes.as_mut().poll(cx).map(|bytes| decode(&bytes?))
    }
}

/// Tries again, once a second, while storage cannot answer; gives its last error when `patience` is over.
pub async fn retry_unavailable<T, F: Future<Output = Result<T>>>(
    rt: &dyn Runtime,
    patience: Duration,
    attempt: impl Fn() -> F,
) -> Result<T> {
    let end = rt.now().plus_duration(patience);
    loop {
        match attempt().await {
            Err(error) if error.code == crate::ErrorCode::Unavailable && rt.now() < end => {
                rt.sleep(Duration::from_secs(1)).await;
            }
            result => return result,
        }
    }
}

/// What is done for an actor outside of its turn, once its changes are durable: it reaches out for it under a key.
pub struct Errand {
    /// The whole key, or its beginning up to and including `/`; empty for whatever has no other errand.
    pub key: &'static str,
    /// Whether it asks somebody else's server, who may take his time; else it asks only actors.
    pub asks_a_stranger: bool,
    /// Given the actor, and the key or what follows its beginning. Records what came of it; an error means that nothing
    /// was recorded, and the actor's timer asks again.
    pub run: RunErrand,
}

pub type RunErrand = for<'a> fn(Arc<dyn Runtime>, &'a ActorId, &'a str) -> BoxFuture<'a, Result<()>>;

impl Errand {
    pub(crate) fn fits(&self, key: &str) -> bool {
        if self.key.is_empty() || self.key.ends_with('/') { key.starts_with(self.key) } else { key == self.key }
    }

    fn rest<'k>(&self, key: &'k str) -> &'k str {
        if self.key.ends_with('/') { key.strip_prefix(self.key).unwrap_or(key) } else { key }
    }
}

/// Does what an actor reached out for under `key` ([`crate::actor::Turn::reach_out`]). An error means that
/// nothing was recorded; the actor's timer asks again.
pub async fn reach_out(rt: Arc<dyn Runtime>, actor: &ActorId, key: &str) -> Result<()> {
    match rt.environment().program.errand(key) {
        Some(errand) => (errand.run)(rt.clone(), actor, errand.rest(key)).await,
        None => Err(Error::internal(format!("nothing is done for {key}"))),
    }
}

/// Whether [`reach_out`] asks somebody else's server under this key, who may take his time; else it asks only actors.
pub fn asks_a_stranger(program: &Program, key: &str) -> bool {
    program.errand(key).is_some_and(|errand| errand.asks_a_stranger)
}

/// A document as published, or rendered now by its owner when it never was.
pub async fn document(rt: &dyn Runtime, key: &str) -> Result<Arc<Ready>> {
    match rt.document(key).await? {
        Some(document) => Ok(document),
        None => {
            let document: Document =
                decode(&computed(rt, documents::render_call(rt.environment().program, key)?).await?)?;
            Ok(Arc::new(document.into()))
        }
    }
}
