//! The baseline for everything durable: appends 512 bytes and calls fdatasync, again and again.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

/// The rate of one thread on a disk.
#[derive(Debug, Clone, Copy)]
pub struct SyncRate {
    /// Synced appends per second.
    pub rate: f64,
    /// Microseconds.
    pub p50: u32,
    pub p99: u32,
}

/// Measures on the disk of `folder` for `window`.
pub fn sync_rate(folder: &Path, window: Duration) -> SyncRate {
    let path = folder.join("synced");
    let mut file = File::create(&path).unwrap();
    let start = Instant::now();
    let mut latencies = Vec::new();
    while start.elapsed() < window {
        let before = Instant::now();
        file.write_all(&[0x5a; 512]).unwrap();
        file.sync_data().unwrap();
        latencies.push(u32::try_from(before.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    let rate = latencies.len() as f64 / start.elapsed().as_secs_f64();
    std::fs::remove_file(path).unwrap();
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
    SyncRate { rate, p50: at(0.5), p99: at(0.99) }
}
