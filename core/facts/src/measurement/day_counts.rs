//! Counts of a day as a source gives them.

use serde::{Deserialize, Serialize};

use engine::kv::Row;

/// Measurements of one day as their source counted them. Failures overlap the other counts, so the parts need not sum
/// to the whole (decision import-counts).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DayCounts {
    pub measurements: u64,
    /// With the confirmed ones.
    pub anomalies: u64,
    pub confirmed: u64,
    pub failures: u64,
    pub ok: u64,
}
impl Row for DayCounts {}
