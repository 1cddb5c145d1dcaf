//! Time and randomness of the operating system, in the core's terms.

use std::time::{SystemTime, UNIX_EPOCH};

use heliograph_core::Timestamp;

/// The wall clock.
pub fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::MIN.plus_duration(passed)
}
