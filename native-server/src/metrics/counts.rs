//! Counters, and times in buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Upper ends of the buckets, in microseconds; one more bucket has whatever took longer.
const ENDS: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 2_500_000, 10_000_000];

/// How often something happened, and how long it took.
#[derive(Debug, Default)]
pub struct Times {
    /// Not cumulative.
    buckets: [AtomicU64; ENDS.len() + 1],
    micros: AtomicU64,
}

impl Times {
    pub fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let at = ENDS.partition_point(|end| *end < micros);
        if let Some(bucket) = self.buckets.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum()
    }

    /// All times together, in seconds.
    pub fn seconds(&self) -> f64 {
        Duration::from_micros(self.micros.load(Ordering::Relaxed)).as_secs_f64()
    }

    /// Upper ends in seconds, and how often something took that long and longer than the end before.
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let ends = ENDS.iter().map(|end| Duration::from_micros(*end).as_secs_f64()).chain([f64::INFINITY]);
        ends.zip(&self.buckets).map(|(end, bucket)| (end, bucket.load(Ordering::Relaxed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_bucket_that_ends_with_it_or_next_after_it() {
        let times = Times::default();
        for micros in [0, 100, 101, 10_000_000, 10_000_001] {
            times.took(Duration::from_micros(micros));
        }
        let buckets = times.buckets();
        assert_eq!(buckets.iter().map(|(_, count)| *count).collect::<Vec<_>>()[..3], [2, 1, 0]);
        assert_eq!(buckets[13..], [(10.0, 1), (f64::INFINITY, 1)]);
        assert_eq!((times.count(), times.seconds()), (5, 20.000_202));
    }
}
