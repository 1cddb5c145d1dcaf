//! The task that reads everything once a day and compares it with its checksums. Requests of clients come first.

use std::sync::Arc;
use std::time::Duration;

use heliograph_core::engine::runtime::Scrub;
use heliograph_core::engine::time::DAY;
use heliograph_core::{Error, Result, Timestamp};

use crate::clock;
use crate::log;
use crate::runtime::Native;
use crate::store;

/// How many times as long as it works the scrub rests: the daily one, and one that somebody waits for.
const DAILY: u32 = 9;
pub const ASKED: u32 = 1;
/// Pause before the first scrub after a start, and after one that failed.
const PAUSE: Duration = Duration::from_secs(30);

/// Runs one scrub; the next one waits until it has ended.
pub async fn now(native: &Native, rests: u32) -> Result<Scrub> {
    let _one = native.scrubbing.lock().await;
    // What is only in the journal is to be read too. A damaged tree takes not all of it, and is read all the same.
    let _ = native.writer.settle().await;
    let store = native.store.clone();
    let work = tokio::task::spawn_blocking(move || store::scrub(&store, &|took| std::thread::sleep(took * rests)));
    let found = work.await.map_err(Error::internal)??;
    if found.damaged > 0 {
        log::error!("{} places of the data file are damaged; `heliograph db check` names them", found.damaged);
    }
    Ok(found)
}

/// Scrubs once a day, and soon after the start when old pages still have no checksums.
pub async fn run(native: Arc<Native>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let (converting, scrubbed) = native.store.checksums();
        let due = scrubbed.map_or(Timestamp::MIN, |at| at.plus(DAY));
        if !converting && clock::now() < due {
            continue;
        }
        if let Err(error) = look(&native, converting).await {
            log::warning!("the check of everything that is stored is put off: {error}");
        }
    }
}

async fn look(native: &Arc<Native>, converting: bool) -> Result<()> {
    now(native, DAILY).await?;
    if converting {
        let store = native.store.clone();
        let work = tokio::task::spawn_blocking(move || store::convert(&store, &std::thread::sleep));
        work.await.map_err(Error::internal)??;
    }
    Ok(())
}
