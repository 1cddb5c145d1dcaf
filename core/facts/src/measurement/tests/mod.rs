//! Tests on the shared sample data (skipped with a message if it is absent), and properties of the types.

mod broken;
mod censored_planet;
mod convicts;
mod formats;
mod forms;
mod kenya;
mod laws;
mod lists;
mod mutation;

pub use engine::testing::real_data as sample;

/// A limit that no test reaches.
pub const LIMIT: u64 = 1 << 32;
