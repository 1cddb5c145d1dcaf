//! Measures how many durable operations a second the writer makes, beside the raw rate of the disk: `cargo run
//! --release -p heliograph --example write_rate [seconds]`.
//!
//! It uses one process and no HTTP. The difference to a measurement over HTTP is the cost of the shell and of the
//! handler.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use heliograph::current::Current;
use heliograph::store::{Options, Store};
use heliograph::testing::folder;
use heliograph::writer::{Listener, Writer};
use heliograph_core::engine::actor::host::counter::Add;
use heliograph_core::engine::actor::{ActorId, Call};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::settings::Settings;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

struct Nobody;

impl Listener for Nobody {
    fn published(&self, _documents: Vec<Document>) {}
    fn reach_out(&self, _: ActorId, _: String) {}
    fn wake(&self, _actor: &ActorId) {}
    fn reopened(&self) {}
}

/// Appends 512 bytes and syncs, again and again.
fn raw(path: &std::path::Path, seconds: u64) -> std::io::Result<f64> {
    let mut file = std::fs::File::create(path)?;
    file.write_all(&[0; 4096])?;
    file.sync_all()?;
    let started = Instant::now();
    let mut count = 0u64;
    while started.elapsed() < Duration::from_secs(seconds) {
        file.write_all_at(&[1; 512], 4096 + count * 512)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

async fn rate(writer: &Arc<Writer>, in_flight: usize, seconds: u64) -> f64 {
    let started = Instant::now();
    let until = started + Duration::from_secs(seconds);
    let note = "x".repeat(1_000);
    let tasks: Vec<_> = (0..in_flight)
        .map(|task| {
            let (writer, note) = (writer.clone(), note.clone());
            tokio::spawn(async move {
                let mut count = 0u64;
                while Instant::now() < until {
                    let add = Add { amount: 1, note: note.clone(), fail: None };
                    if let Ok(call) = Call::operation(format!("box-{task}"), &add) {
                        count += u64::from(writer.call(call).await.is_ok());
                    }
                }
                count
            })
        })
        .collect();
    let mut total = 0;
    for task in tasks {
        total += task.await.unwrap_or_default();
    }
    total as f64 / started.elapsed().as_secs_f64()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let folder = folder("write-rate");
    let store = Arc::new(Store::open(Options::new(folder.file("d.redb")))?);
    let (writer, _thread) =
        Writer::spawn(store, Arc::new(Current::new(Settings::default())), Arc::new(Nobody), (None, false))?;
    let writer = Arc::new(writer);
    for round in 1..=3 {
        let before = raw(&folder.file("raw"), seconds.min(2))?;
        print!("round {round}: fdatasync {before:.0}/s");
        for in_flight in [1, 16, 64] {
            let rate = rate(&writer, in_flight, seconds).await;
            print!("; {in_flight} in flight {rate:.0}/s ({:.2} x)", rate / before);
        }
        println!();
    }
    Ok(())
}
