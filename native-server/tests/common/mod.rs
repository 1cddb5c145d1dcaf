//! A store with its writer, and the counter actors of the engine's tests.
#![allow(dead_code)]

#[cfg(unix)]
pub mod disk;
pub mod server;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use heliograph::current::Current;
use heliograph::runtime::answer;
use heliograph::store::fault::Faults;
use heliograph::store::{Front, OpenError, Options, Store, WrapBackend};
use heliograph::writer::{Listener, Writer, WriterThread};
use heliograph_core::engine::actor::host::counter::{Add, ReadCounter};
use heliograph_core::engine::actor::{ActorId, Call, Memo, Operation, Query, decode};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::settings::Settings;
use heliograph_core::{ErrorCode, Result};

/// What the writer has reported.
#[derive(Default)]
pub struct WriterReports {
    pub published: Mutex<Vec<Document>>,
    pub woken: Mutex<Vec<String>>,
    pub reopened: Mutex<u32>,
    /// Run on the writer thread after each reopening, before the write check.
    pub on_reopened: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Listener for WriterReports {
    fn published(&self, documents: Vec<Document>) {
        self.published.lock().unwrap().extend(documents);
    }

    fn reach_out(&self, _: ActorId, _: String) {}

    fn wake(&self, actor: &ActorId) {
        self.woken.lock().unwrap().push(actor.to_string());
    }

    fn reopened(&self) {
        if let Some(then) = &*self.on_reopened.lock().unwrap() {
            then();
        }
        *self.reopened.lock().unwrap() += 1;
    }
}

/// Memory for rows of the journal: little, so that much is folded.
pub const JOURNAL: usize = 1 << 16;

/// An open data file with its store and writer.
pub struct Bench {
    pub store: Arc<Store>,
    pub writer: Arc<Writer>,
    pub thread: WriterThread,
    pub heard: Arc<WriterReports>,
    pub settings: Arc<Settings>,
}

impl Bench {
    /// With a journal, as a server has it.
    pub fn open(path: &Path) -> Bench {
        Bench::with(Options { journal: Some(JOURNAL), ..Options::new(path) }).unwrap()
    }

    pub fn faulty(path: &Path, faults: &Arc<Faults>) -> Bench {
        Bench::wrapped(path, Some(JOURNAL), Faults::wrap(faults)).unwrap()
    }

    /// Without a journal, as a command alone has it.
    pub fn faulty_tree(path: &Path, faults: &Arc<Faults>) -> Bench {
        Bench::wrapped(path, None, Faults::wrap(faults)).unwrap()
    }

    pub fn wrapped(path: &Path, journal: Option<usize>, wrap: WrapBackend) -> Result<Bench, String> {
        // The cache is small, so that reads after a fault cannot all come from memory.
        Bench::with(Options { cache_bytes: 1 << 20, journal, wrap: Some(wrap), ..Options::new(path) })
    }

    pub fn with(options: Options) -> Result<Bench, String> {
        let journal = options.journal;
        let store = Arc::new(Store::open(options).map_err(|error| error.to_string())?);
        let front = journal.map(|bytes| Front::open(store.clone(), bytes)).transpose();
        let front = front.map_err(|error| OpenError::of_journal(error, store.path()).to_string())?;
        let mut settings = Settings::default();
        settings.publish_interval = 0;
        let settings = Arc::new(settings);
        let heard = Arc::new(WriterReports::default());
        let live = Arc::new(Current::new(Settings::clone(&settings)));
        let (writer, thread) = Writer::spawn(store.clone(), live, heard.clone(), (front, false)).unwrap();
        Ok(Bench { store, writer: Arc::new(writer), thread, heard, settings })
    }

    /// Ends the writer and closes the file, then opens it again.
    pub fn restart(self) -> Bench {
        let path: PathBuf = self.store.path().to_owned();
        self.thread.stop();
        drop((self.writer, self.store));
        Bench::open(&path)
    }

    pub async fn call<O: Operation>(&self, name: &str, operation: &O) -> Result<O::Reply> {
        decode(&self.writer.call(Call::operation(name, operation)?).await?)
    }

    pub async fn call_owned<O: Operation>(&self, name: String, operation: O) -> Result<O::Reply> {
        self.call(&name, &operation).await
    }

    pub fn query<Q: Query>(&self, name: &str, query: &Q) -> Result<Q::Reply> {
        decode(&answer(&self.store, &self.settings, &Memo::default(), &Call::query(name, query)?)?)
    }

    /// Count and log of a counter.
    pub fn counter(&self, name: &str) -> (u64, Vec<String>) {
        self.query(name, &ReadCounter).unwrap()
    }

    pub fn count(&self, name: &str) -> u64 {
        self.counter(name).0
    }
}

pub fn add(note: &str) -> Add {
    Add { amount: 1, note: note.to_owned(), fail: None }
}

pub fn failing_add(code: ErrorCode) -> Add {
    Add { amount: 1, note: "never".to_owned(), fail: Some(code) }
}

/// Waits until `check` holds.
pub async fn until(what: &str, mut check: impl FnMut() -> bool) {
    let started = Instant::now();
    while !check() {
        assert!(started.elapsed() < Duration::from_secs(20), "waited too long: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
