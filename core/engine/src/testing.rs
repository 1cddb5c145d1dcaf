//! What tests share: a time to begin at, numbers that look random and are the same in every run, and the real data.

use std::path::PathBuf;

use crate::Timestamp;
use crate::program::Program;

/// The engine by itself.
pub static PROGRAM: Program = Program::new(&[&super::layer::LAYER]);

/// 2026-01-01T00:00:00Z
pub const START: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// Numbers that look random and are the same in every run (a linear congruential generator, Knuth's MMIX).
pub struct Dice(pub u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// From 0 to `n` - 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    /// From 0 to under 1.
    pub fn share(&mut self) -> f64 {
        self.roll() as f64 / (1_u64 << 31) as f64
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// The folder of real measurements, lists and tables: beside the checkout, or where `HELIOGRAPH_TEST_DATA` says.
pub fn real_data_folder() -> PathBuf {
    let named = std::env::var_os("HELIOGRAPH_TEST_DATA").map(PathBuf::from);
    named.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data").into())
}

/// A file of the real data, or `None` with a message that begins with "skipped:". A user's machine need not have it.
pub fn real_data(path: &str) -> Option<Vec<u8>> {
    let path = real_data_folder().join(path);
    let found = std::fs::read(&path).ok();
    if found.is_none() {
        println!("skipped: {} is not here", path.display());
    }
    found
}
