//! Rotates the master key (decision master-key-file), and seals existing values again under the new one.
//!
//! The order keeps every value readable if the server stops at any point. First the key file with the new key is
//! durable. Then the data records the key; from then on a start with the old key file is refused. Only then is anything
//! sealed under the new key. Existing values move in the background, over all agents and channels in bounded steps; a
//! start continues what an earlier run left.
//!
//! An old data file may hold some texts that are not sealed. The same task seals them, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use heliograph_core::engine::actor::{ActorId, Call, Kind};
use heliograph_core::engine::deployment::{self, SetTextsSealed, Start, TextsSealed};
use heliograph_core::engine::runtime::{self, Runtime};
use heliograph_core::relay::agent::reseal::{Progress, reseal};
use heliograph_core::{Error, Result, intelligence::alert, relay::channel, relay::federation};
use tokio::sync::{Mutex, Notify};

use crate::keyfile;
use crate::log;
use crate::runtime::Native;
use crate::store::{self, Store};

/// Actors that are moved at once; their changes share commits.
const BATCH: usize = 32;
/// Pause between two batches, so that requests of agents come first.
const PAUSE: Duration = Duration::from_millis(10);
/// Pause after storage refused a write.
const RETRY: Duration = Duration::from_secs(5);
/// Pause before one more visit: a request that began before the rotation may have stored a value under the earlier key
/// since.
const AGAIN: Duration = Duration::from_secs(60);

/// The state of rotation and moving.
#[derive(Default)]
pub struct Rotation {
    one_at_a_time: Mutex<()>,
    /// How often moving was requested, and which of these requests are done.
    asked: AtomicU64,
    done: AtomicU64,
    wanted: Notify,
}

impl Rotation {
    /// True if values are being moved, or soon will be.
    pub fn is_running(&self) -> bool {
        self.asked.load(Ordering::SeqCst) != self.done.load(Ordering::SeqCst)
    }

    /// Wakes the background task, which looks for values under earlier keys, if there can be any.
    pub fn wake(&self, native: &Native) {
        if native.environment().secrets.sealing().earlier() > 0 {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.wanted.notify_one();
        }
    }

    /// Makes a new master key and uses it for sealing from now on. If the request is cancelled halfway, the key file
    /// has a newer key than the data; the next rotation or start continues with it.
    pub async fn rotate(&self, native: &Native) -> Result<()> {
        let _alone = self.one_at_a_time.lock().await;
        let secrets = &native.environment().secrets;
        let (path, in_use) = (native.store.path().to_owned(), secrets.sealing());
        let written = tokio::task::spawn_blocking(move || keyfile::rotate(&path, &in_use));
        let ring = written.await.map_err(Error::internal)?.map_err(Error::internal)?.ring();
        let start = Start { brand: native.environment().settings.brand.clone(), key_checks: ring.check_values() };
        native.writer.call(Call::operation(deployment::actor().name, &start)?).await?;
        secrets.replace(ring);
        self.wake(native);
        Ok(())
    }
}

/// The background task: whenever it is woken, it moves every value that is under an earlier key.
pub async fn run(native: Arc<Native>) {
    seal_texts(&native).await;
    loop {
        native.rotation.wanted.notified().await;
        let asked = native.rotation.asked.load(Ordering::SeqCst);
        finish(&native).await;
        native.rotation.done.store(asked, Ordering::SeqCst);
        // A new rotation starts at once, without waiting for the last visit.
        tokio::select! {
            () = native.rotation.wanted.notified() => native.rotation.wanted.notify_one(),
            () = tokio::time::sleep(AGAIN) => finish(&native).await,
        }
    }
}

/// Seals the texts of an old data file, unless an earlier start has done it.
async fn seal_texts(native: &Arc<Native>) {
    // A closed deployment takes no changes, so nothing can be sealed; opening it again restarts the server.
    if native.environment().settings.closed {
        return;
    }
    let deployment = deployment::actor().name;
    if !matches!(runtime::query(&**native, deployment.as_str(), &TextsSealed).await, Ok(false)) {
        return;
    }
    finish(native).await;
    if let Err(error) = runtime::call(&**native, deployment, &SetTextsSealed).await {
        log::warning!("all texts are sealed, but this cannot be recorded, so the next start looks again: {error}");
    }
}

/// Visits all actors with sealed values until a visit finds nothing to do.
async fn finish(native: &Arc<Native>) {
    let (mut told, mut paused) = (false, false);
    loop {
        match visit(native).await {
            Ok(done) => {
                paused = false;
                if done.unopened > 0 && !told {
                    log::error!("{} sealed values open under none of the master keys", done.unopened);
                    told = true;
                }
                if done.complete && done.resealed == 0 {
                    return;
                }
            }
            Err(error) => {
                // The reason has been told where it arose, and each try would repeat it.
                if !paused {
                    log::warning!("re-sealing pauses: {error}");
                    paused = true;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Visits every actor with sealed values once.
async fn visit(native: &Arc<Native>) -> Result<Progress> {
    let mut total = Progress { complete: true, ..Progress::default() };
    let mut after = None;
    native.writer.settle().await?;
    loop {
        let store = native.store.clone();
        let look = tokio::task::spawn_blocking(move || holders(&store, after.as_ref()));
        let batch = look.await.map_err(Error::internal)??;
        let Some(last) = batch.last().cloned() else { return Ok(total) };
        let mut visits = stream::iter(batch)
            .map(|actor| async move {
                match actor.kind {
                    Kind::Channel => channel::key::reseal(&**native, &actor.name).await,
                    Kind::Relay => federation::key::reseal(&**native).await,
                    Kind::Account => alert::secret::reseal(&**native, &actor.name).await,
                    _ => reseal(&**native, &actor.name, usize::MAX).await,
                }
            })
            .buffer_unordered(BATCH);
        while let Some(progress) = visits.next().await {
            let Progress { resealed, unopened, complete } = progress?;
            total.resealed += resealed;
            total.unopened += unopened;
            total.complete &= complete;
        }
        after = Some(last);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Kinds of actors that have sealed values.
const HOLDERS: [Kind; 4] = [Kind::Account, Kind::Agent, Kind::Channel, Kind::Relay];

/// The next such actors in the file, by kind in the order of their names.
fn holders(store: &Store, after: Option<&ActorId>) -> Result<Vec<ActorId>> {
    let kinds = HOLDERS.into_iter().skip_while(|kind| after.is_some_and(|after| after.kind != *kind));
    store::actors_of(store, kinds, after, BATCH)
}
