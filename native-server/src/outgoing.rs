//! The task that makes the requests actors ask for: deliveries of webhooks, and to peers.

use std::sync::Arc;

use heliograph_core::actor::ActorId;
use heliograph_core::runtime;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::runtime::Native;

/// Requests that are prepared, wait for a place ([`crate::places`]) or are under way at once; a webhook has one at a time.
const AT_ONCE: usize = 4_096;

/// Makes requests in the order in which they are asked for, for as long as the server runs.
pub async fn run(native: Arc<Native>, mut asked: UnboundedReceiver<(ActorId, String)>) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    while let Some((actor, key)) = asked.recv().await {
        let Ok(place) = room.clone().acquire_owned().await else { return };
        let native = native.clone();
        tokio::spawn(async move {
            if let Err(error) = runtime::reach_out(native, &actor, &key).await {
                eprintln!("warning: a delivery of {actor} is tried again later: {error}");
            }
            drop(place);
        });
    }
}
