//! Starting and stopping a deployment on its data file.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::deployment::{self, Start};
use heliograph_core::engine::runtime::Environment;
use heliograph_core::engine::secrets::Secrets;
use heliograph_core::engine::settings::Settings;
use heliograph_core::intelligence::incidents::search::Shared;
use heliograph_core::intelligence::incidents::search::vectors::Vectors;
use heliograph_core::relay::agent::usage;
use heliograph_core::{engine::actor, engine::actor::Call};

use tokio::runtime::Handle;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::JoinHandle;

use crate::current::Current;
use crate::files::Tried;
use crate::keyfile::{self, KeyFile};
use crate::log;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::runtime::{Documents, Native, News};
use crate::store::{self, Front, OpenError, Options, Store};
use crate::streams::Streams;
use crate::writer::{Writer, WriterThread};
use crate::{census, config, fetch, outgoing, rotation, scrub, tls};

/// Time between two writes of usage counters.
const USAGE_INTERVAL: Duration = Duration::from_secs(60);

/// A running deployment on its data file. Dropping it finishes queued writes and closes the file.
pub struct Deployment {
    native: Arc<Native>,
    thread: WriterThread,
    usage: JoinHandle<()>,
    resealing: JoinHandle<()>,
    fetching: JoinHandle<()>,
    outgoing: JoinHandle<()>,
    scrubbing: JoinHandle<()>,
    counting: JoinHandle<()>,
}

/// The operator's file of word vectors, if there is one.
fn vectors(settings: &Settings) -> Result<Option<Vectors>, String> {
    if settings.vectors_file.is_empty() {
        return Ok(None);
    }
    let path = Path::new(&settings.vectors_file);
    let bytes = std::fs::read(path).map_err(|error| format!("vectors_file: {}", Tried::Read.cannot(path, &error)))?;
    Vectors::parse(&bytes).map(Some).map_err(|error| format!("vectors_file {}: {error}", path.display()))
}

/// What is wrong with the files that the settings name, and with settings that need each other.
pub fn mistakes(settings: &Settings) -> Vec<String> {
    let files = [vectors(settings).err(), tls::Tls::of_files(settings).err()];
    files.into_iter().flatten().chain(config::same_address(settings)).collect()
}

impl Deployment {
    /// Opens or creates the data file and its key file. Must run inside a tokio runtime. The error is for the operator.
    pub async fn open(settings: Settings, options: Options) -> Result<Deployment, String> {
        let fresh = is_fresh(&options.path)?;
        if fresh && options.must_exist {
            return Err(OpenError::Missing(options.path).to_string());
        }
        let mut options = options;
        let alone = options.alone;
        if let Some(bytes) = store::cache::set(&settings) {
            options.cache_bytes = bytes;
        }
        let journal =
            (!alone && !options.looking).then(|| usize::try_from(settings.journal_bytes).unwrap_or(usize::MAX));
        options.journal = journal;
        // The key file is made first: the server refuses to start on data without keys.
        let keys = keyfile::load_or_create(&options.path, fresh)?;
        let store = Arc::new(Store::open(options).map_err(|error| error.to_string())?);
        let front = match journal {
            Some(bytes) => {
                let front = Front::open(store.clone(), bytes);
                Some(front.map_err(|error| OpenError::of_journal(error, store.path()).to_string())?)
            }
            None => None,
        };
        let secrets = secrets(&keys, &settings);

        let documents = Arc::new(Documents::default());
        documents.put(store.documents().map_err(|error| error.to_string())?);
        let live = Arc::new(Current::new(settings.clone()));
        let streams = Streams::new(store.clone(), live.clone(), Queue::new(settings.streams_bytes));
        let (outgoing, asked) = unbounded_channel();
        let news = News { store: store.clone(), documents: documents.clone(), streams: streams.clone(), outgoing };
        let (writer, thread) = Writer::spawn(store.clone(), live.clone(), Arc::new(news), (front, alone))
            .map_err(|error| format!("cannot start the writer: {error}"))?;

        let start = Start { brand: settings.brand.clone(), key_checks: secrets.key_checks() };
        let call = Call::operation(deployment::actor().name, &start).map_err(|error| error.to_string())?;
        let reply = writer.call(call).await.map_err(|error| error.into_details().message.into_owned())?;
        let identity: deployment::Identity = actor::decode(&reply).map_err(|error| error.to_string())?;

        let vectors = vectors(&settings)?;
        let environment = Environment::new(&PROGRAM, settings, secrets, identity.id);
        environment.share(Shared::with(vectors));
        let pool = Pool::start(&environment.settings, &Handle::current())
            .map_err(|error| format!("cannot start the threads that compute: {error}"))?;
        let native = Arc::new(Native::new(store, writer, (environment, live), documents, streams, pool));
        let usage = tokio::spawn(write_usage(native.clone()));
        let resealing = tokio::spawn(rotation::run(native.clone()));
        let fetching = tokio::spawn(fetch::run(native.clone()));
        let outgoing = tokio::spawn(outgoing::run(native.clone(), asked));
        // A command ends before a scrub would be of use.
        let scrubbing = if alone { tokio::spawn(async {}) } else { tokio::spawn(scrub::run(native.clone())) };
        let counting = if alone { tokio::spawn(async {}) } else { tokio::spawn(census::run(native.clone())) };
        Ok(Deployment { native, thread, usage, resealing, fetching, outgoing, scrubbing, counting })
    }

    pub fn native(&self) -> &Arc<Native> {
        &self.native
    }

    /// Writes what is only in memory, finishes queued writes, and closes the file once nothing else holds it.
    pub async fn close(self) {
        self.usage.abort();
        self.resealing.abort();
        self.fetching.abort();
        self.outgoing.abort();
        self.native.pool.stop();
        self.scrubbing.abort();
        self.counting.abort();
        flush(&self.native).await;
        // Waits for the last commit, which is short, and for what is only in the journal, which `journal_bytes` bounds.
        self.thread.stop();
        // Cancelled requests may hold the store for a moment longer, but the file must be closed properly now.
        self.native.store.close();
    }
}

/// Writes usage counters once a minute (decision counts-in-memory).
async fn write_usage(native: Arc<Native>) {
    let mut minute = tokio::time::interval(USAGE_INTERVAL);
    minute.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        minute.tick().await;
        flush(&native).await;
    }
}

async fn flush(native: &Arc<Native>) {
    if let Err(error) = usage::flush(&**native).await {
        log::warning!("usage counters are kept for later: {error}");
    }
}

/// Whether there is no data yet. The error says why nobody can know that.
fn is_fresh(path: &Path) -> Result<bool, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.is_dir() => Err(format!("{} is a folder; name the data file in it", path.display())),
        Ok(meta) => Ok(meta.len() == 0),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Tried::Read.cannot(path, &error)),
    }
}

fn secrets(keys: &KeyFile, settings: &Settings) -> Secrets {
    let admin_key = match settings.admin_key.as_str() {
        "" => keys.admin_key.clone(),
        chosen => chosen.to_owned(),
    };
    Secrets::new(keys.ring(), admin_key)
}
