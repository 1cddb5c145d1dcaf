//! Time, randomness and waiting from the platform.

use std::time::Duration;

use heliograph_core::Timestamp;
use worker::{Date, Delay};

/// The time of the last I/O in whole milliseconds: the platform's clock stands still while code runs.
pub fn now() -> Timestamp {
    Timestamp::from_millis(i64::try_from(Date::now().as_millis()).unwrap_or(i64::MAX))
}

/// 32 new unpredictable bytes.
#[allow(clippy::panic)]
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    if let Err(error) = getrandom::fill(&mut bytes) {
        // Without randomness every key and nonce could be guessed, so this instance ends.
        panic!("the platform gives no randomness: {error}");
    }
    bytes
}

pub async fn sleep(duration: Duration) {
    // The platform's timer takes a 32-bit number of milliseconds.
    Delay::from(duration.clamp(Duration::from_millis(1), Duration::from_millis(i32::MAX as u64))).await;
}
