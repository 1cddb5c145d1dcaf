//! Time and randomness of the operating system, in the types of the core.

use std::time::{SystemTime, UNIX_EPOCH};

use heliograph_core::Timestamp;

pub fn now() -> Timestamp {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::MIN.plus_duration(passed)
}

/// Random bytes of the operating system; the error is a sentence for people.
pub fn random<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| format!("the operating system gives no randomness: {error}"))?;
    Ok(bytes)
}
