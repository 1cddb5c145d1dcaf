//! Tests on the shared sample data (skipped with a message if it is absent), and properties of the types.

mod broken;
mod censored_planet;
mod convicts;
mod formats;
mod forms;
mod kenya;
mod laws;
mod lists;
mod live;
pub mod made;
mod mutation;

use std::path::PathBuf;

/// A file of the sample data, or `None` with a message.
pub fn sample(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data")).join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Some(bytes),
        Err(_) => {
            println!("skipped: {} is not here", path.display());
            None
        }
    }
}

/// A limit that no test reaches.
pub const LIMIT: u64 = 1 << 32;
