//! Receive streams.

use serde::{Deserialize, Serialize};

/// A request to open a receive stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Open {
    /// The agent actor's name.
    pub agent: String,
}
