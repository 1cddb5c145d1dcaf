//! The core's [`Runtime`] on one data file.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use fnv::FnvBuildHasher;
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::{ActorId, Call, Memo, View, host};
use heliograph_core::engine::apart::Asker;
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::http::{Coder, Ready};
use heliograph_core::engine::kv::Read;
use heliograph_core::engine::runtime::{BoxFuture, ByteStream, Environment, Maintenance, Runtime, StorageHealth};
use heliograph_core::engine::settings::Settings;
use heliograph_core::engine::web::Incoming;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::relay::agent::stream::OpenStream;
use heliograph_core::{Error, Result, Timestamp};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;

use crate::census::Census;
use crate::coding::Codings;
use crate::connection::Door;
use crate::current::Current;
use crate::log;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::pool::Pool;
use crate::rotation::Rotation;
use crate::store::Store;
use crate::streams::Streams;
use crate::tls::Tls;
use crate::writer::{Listener, Writer};
use crate::{clock, connection, trace};

/// Compressed answers have 1/`CODED` of the memory for answers.
const CODED: usize = 4;

/// Unpredictable while the system gives randomness; where it gives none, requests end the process.
fn seed() -> u64 {
    let mut seed = [0; 8];
    let _ = getrandom::fill(&mut seed);
    u64::from_le_bytes(seed)
}

/// The parts of the server that request handlers use.
pub struct Native {
    pub(crate) store: Arc<Store>,
    pub(crate) writer: Arc<Writer>,
    environment: Current<Environment>,
    /// The same settings as those of the environment, for the writer and the streams.
    settings: Arc<Current<Settings>>,
    /// Told when other settings are in force.
    pub(crate) changed: watch::Sender<()>,
    /// Set by the listener for clients.
    pub(crate) door: OnceLock<Door>,
    /// Set where connections have TLS.
    pub(crate) tls: OnceLock<Arc<Tls>>,
    documents: Arc<Documents>,
    streams: Arc<Streams>,
    pub(crate) rotation: Rotation,
    /// Held by the scrub that runs, so that there is only one.
    pub(crate) scrubbing: tokio::sync::Mutex<()>,
    /// What single actors held when they were last counted.
    pub(crate) census: RwLock<Option<Arc<Census>>>,
    memo: Arc<Memo>,
    codings: Codings,
    metrics: Metrics,
    /// The threads that long computations run on.
    pub pool: Pool,
    /// Limits the requests to other hosts.
    places: Places,
}

impl Native {
    pub fn new(
        store: Arc<Store>,
        writer: Writer,
        (environment, settings): (Environment, Arc<Current<Settings>>),
        documents: Arc<Documents>,
        streams: Arc<Streams>,
        pool: Pool,
    ) -> Self {
        let bytes = usize::try_from(environment.settings.answer_cache_bytes).unwrap_or(usize::MAX);
        let memo = Arc::new(Memo::of_bytes(bytes - bytes / CODED));
        let codings = Codings::new(bytes / CODED, seed());
        let (rotation, writer) = (Rotation::default(), Arc::new(writer));
        let places = Places::default();
        let scrubbing = tokio::sync::Mutex::default();
        Native {
            store,
            writer,
            environment: Current::new(environment),
            settings,
            changed: watch::Sender::default(),
            door: OnceLock::new(),
            tls: OnceLock::new(),
            documents,
            streams,
            rotation,
            scrubbing,
            census: RwLock::default(),
            memo,
            codings,
            metrics: Metrics::default(),
            pool,
            places,
        }
    }

    pub fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// What is counted where requests are answered.
    pub(crate) fn counted(&self) -> &Metrics {
        &self.metrics
    }

    fn answer(&self, call: &Call) -> Result<Vec<u8>> {
        answer(&self.store, &self.environment().settings, &self.memo, call)
    }

    /// Puts other settings and another operator key in force.
    pub(crate) fn change(&self, settings: Settings, admin_key: String) {
        let running = self.environment.get();
        let secrets = running.secrets.with_admin_key(admin_key);
        self.environment.replace(running.with_settings(settings.clone(), secrets));
        if let Some(door) = self.door.get() {
            door.adjust(&settings);
        }
        self.settings.replace(settings);
        self.changed.send_replace(());
    }
}

/// Runs a query on a snapshot. A panic in it is an internal error of this request alone.
pub fn answer(store: &Store, settings: &Settings, memo: &Memo, call: &Call) -> Result<Vec<u8>> {
    let run = || {
        store.read_actor(&call.actor, |rows| {
            host::answer(&View::new(&PROGRAM, &call.actor, rows, clock::now(), settings).remembering(memo), call)
        })
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let what = format!("panic in query {} of {}", call.name, call.actor);
        Err(if store.damaged_pages() > 0 { Error::damaged(what) } else { Error::internal(what) })
    })
}

impl Runtime for Native {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(self.writer.call(call))
    }

    /// Reads run on the thread that asks: handing a short read to another thread costs more than the read, and a caller
    /// with a long read has waited for room before.
    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        Box::pin(std::future::ready(self.answer(&call)))
    }

    fn remembered(&self, call: &Call) -> Option<Vec<u8>> {
        let settings = &self.environment().settings;
        let look = |rows: &dyn Read| {
            host::remembered(
                &View::new(&PROGRAM, &call.actor, rows, clock::now(), settings).remembering(&self.memo),
                call,
            )
        };
        self.store.read_actor(&call.actor, |rows| Ok(look(rows))).ok().flatten()
    }

    fn apart<'a>(&'a self, asker: &'a Asker, work: BoxFuture<'static, ()>) -> BoxFuture<'a, Result<()>> {
        // The work goes on elsewhere, and still belongs to the request.
        let work = match trace::current() {
            Some(trace) => Box::pin(trace::within(trace, work)),
            None => work,
        };
        Box::pin(self.pool.run(asker, work))
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>> {
        Box::pin(std::future::ready(Ok(self.documents.get(key))))
    }

    fn stream(&self, open: OpenStream) -> BoxFuture<'_, Result<ByteStream>> {
        Box::pin(async move {
            let stream = self.streams.open(open, connection::cut()).await?;
            Ok(Box::pin(stream) as ByteStream)
        })
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }

    fn now(&self) -> Timestamp {
        clock::now()
    }

    fn random(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        if let Err(error) = getrandom::fill(&mut bytes) {
            // Without randomness every key and nonce could be guessed, so the process stops.
            log::error!("the operating system gives no randomness: {error}");
            std::process::abort();
        }
        bytes
    }

    fn environment(&self) -> &Environment {
        self.environment.get()
    }

    fn write_check(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            self.writer.write_check().await?;
            // The journal may still take writes that the tree no longer gets.
            match self.store.condition().failing() {
                None => Ok(()),
                Some(_) => Err(self.store.condition().refusal()),
            }
        })
    }

    fn fetch(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Incoming>> {
        Box::pin(async move {
            let _place = self.places.take(&outgoing.url).await?;
            let answer = crate::fetch::send(&outgoing).await;
            let status = answer.as_ref().map_or(0, |answer| usize::from(answer.status / 100));
            if let Some(count) = self.metrics.outgoing.get(status) {
                count.add(1);
            }
            answer
        })
    }

    fn coder(&self) -> Option<&dyn Coder> {
        Some(&self.codings)
    }

    fn metrics(&self) -> BoxFuture<'_, Result<Option<String>>> {
        Box::pin(async move { crate::metrics::text(self).await.map(Some) })
    }

    fn storage(&self) -> StorageHealth {
        StorageHealth { failing: self.store.condition().failing(), damaged_pages: self.store.damaged_pages() }
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        Some(self)
    }
}

/// The published documents in memory: a lookup takes a read lock for the time of one hash. The hash is a quick one,
/// because no key comes from a client.
#[derive(Default)]
pub struct Documents {
    by_key: RwLock<HashMap<String, Arc<Ready>, FnvBuildHasher>>,
}

impl Documents {
    pub fn get(&self, key: &str) -> Option<Arc<Ready>> {
        self.by_key.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub fn put(&self, documents: Vec<Document>) {
        let mut by_key = self.by_key.write().unwrap_or_else(PoisonError::into_inner);
        for document in documents {
            by_key.insert(document.key.clone(), Arc::new(document.into()));
        }
    }
}

/// Publishes what the writer changed: documents, and news for streams.
pub struct News {
    pub store: Arc<Store>,
    pub documents: Arc<Documents>,
    pub streams: Arc<Streams>,
    /// To [`crate::outgoing::run`]. The actors bound its length: each waits for the answer to a request before it asks
    /// again.
    pub outgoing: UnboundedSender<(ActorId, String)>,
}

impl Listener for News {
    fn published(&self, documents: Vec<Document>) {
        self.documents.put(documents);
    }

    fn wake(&self, actor: &ActorId) {
        self.streams.wake(actor);
    }

    fn reach_out(&self, actor: ActorId, key: String) {
        // If nobody receives it, the actor's own timer asks again.
        let _ = self.outgoing.send((actor, key));
    }

    fn reopened(&self) {
        match self.store.documents() {
            Ok(documents) => self.documents.put(documents),
            Err(error) => log::error!("cannot read the documents again: {error}"),
        }
        self.streams.wake_all();
    }
}
