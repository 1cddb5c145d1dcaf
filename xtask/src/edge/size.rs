//! `cargo xtask edge size`: prints the size of the bundle, plain and as gzip, with the project's limit.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::edge::build::{Bundle, MODULES};
use crate::project::read;
use crate::run::Result;

/// Largest bundle, in bytes of gzip. The platform accepts far more: 64 MiB before compression, on every plan, for a
/// Worker that starts within a second. This limit is the project's own choice, so that growth is noticed
/// (`docs/decisions/ci.md`).
const LIMIT: usize = 5_000_000;

/// Prints the sizes and fails above the limit.
pub fn size() -> Result<()> {
    let total = gzip_bytes()?;
    eprintln!("{:>14} {total:>25} gzip, limit {LIMIT}", "bundle");
    if total > LIMIT {
        return Err(format!("the bundle has {total} bytes of gzip, {} above the limit", total - LIMIT));
    }
    Ok(())
}

/// Size of the bundle as gzip in bytes, summed over its modules.
pub fn gzip_bytes() -> Result<usize> {
    let mut total = 0;
    for module in MODULES {
        let bytes = read(&Bundle::Worker.folder().join(module))?;
        let compressed = gzip(&bytes)?;
        eprintln!("{module:>14} {:>9} bytes {compressed:>9} gzip", bytes.len());
        total += compressed;
    }
    Ok(total)
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map(|out| out.len()).map_err(|error| error.to_string())
}
