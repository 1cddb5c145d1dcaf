//! Operations on the data file for the operator: what it holds, and copies of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream;
use heliograph_core::app::PROGRAM;
use heliograph_core::crypto::sealing::KeyId;
use heliograph_core::engine::actor::{ActorId, Kind, Query, View, outbox_summary};
use heliograph_core::engine::kv::{Range, Read};
use heliograph_core::engine::runtime::{BoxFuture, FileCopy, FileInfo, Maintenance, Runtime, Scrub};
use heliograph_core::engine::settings::Settings;
use heliograph_core::relay::agent::reseal::{CountSealed, SealedCounts};
use heliograph_core::{Error, Result, Timestamp, intelligence::alert, relay::channel, relay::federation};
use redb::ReadableTableMetadata;
use tokio::io::AsyncReadExt;

use crate::clock;
use crate::log;
use crate::runtime::Native;
use crate::store::{self, DOCUMENTS, ROWS, Rows, Store, refused};

/// How long a count holds one snapshot.
const SLICE: Duration = Duration::from_millis(200);
/// Bytes of a copy sent at a time.
const PIECE: usize = 256 << 10;

impl Maintenance for Native {
    fn info(&self) -> BoxFuture<'_, Result<FileInfo>> {
        let (store, settings) = (self.store.clone(), self.environment().settings.clone());
        let current = self.environment().secrets.sealing().current().id();
        let resealing = self.rotation.is_running();
        Box::pin(async move {
            self.writer.settle().await?;
            Ok(FileInfo { resealing, ..info(&store, &settings, current)? })
        })
    }

    fn actors(&self, after: Option<ActorId>, limit: usize) -> BoxFuture<'_, Result<Vec<ActorId>>> {
        let store = self.store.clone();
        Box::pin(async move {
            // Whoever lists all actors gets those that are there at the beginning.
            if after.is_none() {
                self.writer.settle().await?;
            }
            actors(&store, after.as_ref(), limit)
        })
    }

    fn scrub(&self) -> BoxFuture<'_, Result<Scrub>> {
        Box::pin(crate::scrub::now(self, crate::scrub::ASKED))
    }

    fn rotate_master(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(self.rotation.rotate(self))
    }

    fn backup(&self) -> BoxFuture<'_, Result<FileCopy>> {
        let (store, writer) = (self.store.clone(), self.writer.clone());
        let runtime = tokio::runtime::Handle::current();
        let work = tokio::task::spawn_blocking(move || {
            let draft = Draft::beside(store.path());
            store::backup(&store, &writer, &runtime, &draft.0).map(|()| draft)
        });
        Box::pin(async move { send(work.await.map_err(Error::internal)??).await })
    }
}

/// A temporary file, removed when dropped.
struct Draft(PathBuf);

impl Draft {
    fn beside(data: &Path) -> Draft {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mut name = data.as_os_str().to_owned();
        name.push(format!(".copy-{}-{number}", std::process::id()));
        Draft(PathBuf::from(name))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // The file may never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn send(draft: Draft) -> Result<FileCopy> {
    let file = tokio::fs::File::open(&draft.0).await.map_err(Error::internal)?;
    let bytes = file.metadata().await.map_err(Error::internal)?.len();
    let stream = stream::unfold((file, draft), |(mut file, draft)| async move {
        let mut piece = Vec::with_capacity(PIECE);
        let read = (&mut file).take(PIECE as u64).read_to_end(&mut piece).await;
        match read {
            Ok(0) => None,
            Ok(_) => Some((Bytes::from(piece), (file, draft))),
            Err(error) => {
                // The receiver sees from the stated length that the copy is not complete.
                log::error!("a backup ended early: {error}");
                None
            }
        }
    });
    Ok(FileCopy { bytes, stream: Box::pin(stream) })
}

/// All kinds in the order of a dump: the deployment's own rows come first.
fn kinds() -> impl Iterator<Item = Kind> {
    let others = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Deployment);
    std::iter::once(Kind::Deployment).chain(others)
}

/// The actors in the file that come after `after`.
fn actors(store: &Store, after: Option<&ActorId>, limit: usize) -> Result<Vec<ActorId>> {
    let kinds = kinds().skip_while(|kind| after.is_some_and(|after| after.kind != *kind));
    store::actors_of(store, kinds, after, limit)
}

/// Shows actor after actor from a key on, as of the last fold, for the time of one snapshot. Returns the key to go on
/// from; `None` after the last actor.
pub fn some_actors(
    store: &Store,
    settings: &Settings,
    (start, slice): (Vec<u8>, Duration),
    mut each: impl FnMut(&View<'_>) -> Result<()>,
) -> Result<Option<Vec<u8>>> {
    store.read(|snapshot| {
        let until = Instant::now() + slice;
        let table = snapshot.open_table(ROWS).map_err(refused)?;
        let mut start = start;
        loop {
            let mut rows = table.range::<&[u8]>(start.as_slice()..).map_err(refused)?;
            let Some(row) = rows.next() else { return Ok(None) };
            let (key, _) = row.map_err(refused)?;
            let actor = store::actor_of(key.value()).ok_or_else(|| Error::internal("a row of no actor"))?;
            let prefix = store::prefix(&actor);
            let rows: &dyn Read = &Rows::new(&table, &prefix);
            each(&View::new(&PROGRAM, &actor, rows, clock::now(), settings))?;
            match Range::prefix(&prefix).end {
                Some(end) => start = end,
                None => return Ok(None),
            }
            if Instant::now() >= until {
                return Ok(Some(start));
            }
        }
    })
}

/// Counts actors, their outboxes and their sealed values, in short snapshots.
fn info(store: &Store, settings: &Settings, current: KeyId) -> Result<FileInfo> {
    let bytes = std::fs::metadata(store.path()).map_or(0, |meta| meta.len());
    let mut info = FileInfo { bytes, ..FileInfo::default() };
    let mut oldest: Option<Timestamp> = None;
    let mut from = Some(Vec::new());
    while let Some(start) = from.take() {
        from = some_actors(store, settings, (start, SLICE), |view| {
            let kind = view.actor().kind;
            let outbox = outbox_summary(view)?;
            let sealed = match kind {
                Kind::Agent => CountSealed { current }.run(view)?,
                Kind::Channel => channel::key::counted(view, current)?,
                Kind::Relay => federation::key::counted(view, current)?,
                Kind::Account => alert::subscription::counted(view, current)?,
                _ => SealedCounts::default(),
            };
            info.sealed_values += sealed.all;
            info.sealed_under_earlier_keys += sealed.earlier;
            *info.actors.entry(kind.as_str().to_owned()).or_default() += 1;
            info.outbox_waiting += outbox.waiting;
            info.outbox_parked += outbox.parked;
            oldest = [oldest, outbox.oldest].into_iter().flatten().min();
            Ok(())
        })?;
    }
    info.documents = store.read(|snapshot| {
        let table = snapshot.open_table(DOCUMENTS).map_err(refused)?;
        table.len().map_err(refused)
    })?;
    info.outbox_oldest = oldest.map(|at| at.to_string());
    info.next_due = store.earliest()?.map(|at| at.to_string());
    info.damaged_pages = store.damaged_pages();
    let (converting, scrubbed) = store.checksums();
    (info.converting, info.scrubbed_at) = (converting, scrubbed.map(|at| at.to_string()));
    Ok(info)
}
