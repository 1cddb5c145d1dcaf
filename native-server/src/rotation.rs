//! Rotating the master key (decision master-key-file), and moving what is sealed under the new one.
//!
//! The order keeps every value readable after a stop at any point: the key file with the new key is durable first, then
//! the data knows the key (from there on a start with the old key file is refused), and only then does anything seal
//! under it. Moving is background work on all agents and channels, in bounded pieces; a start takes up what an earlier
//! run left.
//!
//! A data file from before texts were sealed has some as they were written: the same work seals them, once.

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
use crate::runtime::Native;
use crate::store::{self, Store};

/// Actors taken up at once; their changes share commits.
const BATCH: usize = 32;
/// Pause between two batches: what agents wait for comes first.
const PAUSE: Duration = Duration::from_millis(10);
/// Pause after storage refused.
const RETRY: Duration = Duration::from_secs(5);
/// When to look once more: a request that began before the rotation may have stored a value under the earlier key
/// since.
const AGAIN: Duration = Duration::from_secs(60);

/// What is under way.
#[derive(Default)]
pub struct Rotation {
    one_at_a_time: Mutex<()>,
    /// How often moving was asked for, and up to which of those it is done.
    asked: AtomicU64,
    done: AtomicU64,
    wanted: Notify,
}

impl Rotation {
    /// Whether values are being moved, or soon will be.
    pub fn is_running(&self) -> bool {
        self.asked.load(Ordering::SeqCst) != self.done.load(Ordering::SeqCst)
    }

    /// Has the background task look for values under earlier keys, when there can be any.
    pub fn wake(&self, native: &Native) {
        if native.environment().secrets.sealing().earlier() > 0 {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.wanted.notify_one();
        }
    }

    /// Makes a new master key and seals with it from here on. A request that is given up in the middle leaves a key
    /// file that is ahead; the next rotation or start goes on with it.
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

/// The background task: whenever woken, moves everything that is under an earlier key.
pub async fn run(native: Arc<Native>) {
    seal_texts(&native).await;
    loop {
        native.rotation.wanted.notified().await;
        let asked = native.rotation.asked.load(Ordering::SeqCst);
        finish(&native).await;
        native.rotation.done.store(asked, Ordering::SeqCst);
        // A new rotation need not wait for the second look.
        tokio::select! {
            () = native.rotation.wanted.notified() => native.rotation.wanted.notify_one(),
            () = tokio::time::sleep(AGAIN) => finish(&native).await,
        }
    }
}

/// Seals what was written before texts were sealed, unless an earlier start has done it.
async fn seal_texts(native: &Arc<Native>) {
    // Closed for changes: nothing can be sealed, and whoever opens the deployment again starts it anew.
    if native.environment().settings.closed {
        return;
    }
    let deployment = deployment::actor().name;
    if !matches!(runtime::query(&**native, deployment.as_str(), &TextsSealed).await, Ok(false)) {
        return;
    }
    finish(native).await;
    if let Err(error) = runtime::call(&**native, deployment, &SetTextsSealed).await {
        eprintln!("warning: texts are sealed, and will be looked for again at the next start: {error}");
    }
}

/// Visits all that hold something until a visit finds nothing to do.
async fn finish(native: &Arc<Native>) {
    let mut told = false;
    loop {
        match visit(native).await {
            Ok(done) => {
                if done.unopened > 0 && !told {
                    eprintln!("error: {} sealed values open under none of the master keys", done.unopened);
                    told = true;
                }
                if done.complete && done.resealed == 0 {
                    return;
                }
            }
            Err(error) => {
                eprintln!("warning: re-sealing pauses: {error}");
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// One visit to every actor that holds something.
async fn visit(native: &Arc<Native>) -> Result<Progress> {
    let mut total = Progress { complete: true, ..Progress::default() };
    let mut after = None;
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

/// Kinds of actors that hold something sealed.
const HOLDERS: [Kind; 4] = [Kind::Account, Kind::Agent, Kind::Channel, Kind::Relay];

/// The next of them in the file, kind after kind in the order of their names.
fn holders(store: &Store, after: Option<&ActorId>) -> Result<Vec<ActorId>> {
    let kinds = HOLDERS.into_iter().skip_while(|kind| after.is_some_and(|after| after.kind != *kind));
    store::actors_of(store, kinds, after, BATCH)
}
