//! Time and randomness of the operating system, in the types of the core.

use std::time::{SystemTime, UNIX_EPOCH};

use heliograph_core::Timestamp;

pub fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::MIN.plus_duration(passed)
}
