//! Time and waiting of a native program.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// ISO 8601 with milliseconds.
pub fn text_of(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or(jiff::Timestamp::MAX);
    format!("{time:.3}")
}

/// Waits.
pub async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
