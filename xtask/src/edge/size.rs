//! `cargo xtask edge size`: bytes of the bundle as built and as gzip, with the project's limit.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::edge::build::{Bundle, MODULES};
use crate::project::read;
use crate::run::Result;

/// Largest bundle, in bytes of gzip. The platform's own limit is 3 MB on the free plan.
const LIMIT: usize = 1_000_000;

pub fn size() -> Result<()> {
    let mut total = (0, 0);
    for module in MODULES {
        let bytes = read(&Bundle::Worker.folder().join(module))?;
        let compressed = gzip(&bytes)?;
        eprintln!("{module:>14} {:>9} bytes {compressed:>9} gzip", bytes.len());
        total = (total.0 + bytes.len(), total.1 + compressed);
    }
    eprintln!("{:>14} {:>9} bytes {:>9} gzip, limit {LIMIT}", "bundle", total.0, total.1);
    if total.1 > LIMIT {
        return Err(format!("the bundle has {} bytes of gzip, {} above the limit", total.1, total.1 - LIMIT));
    }
    Ok(())
}

/// Bytes of the present bundle as gzip.
pub fn total() -> Result<usize> {
    MODULES.iter().map(|module| gzip(&read(&Bundle::Worker.folder().join(module))?)).sum()
}

fn gzip(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).map(|out| out.len()).map_err(|error| error.to_string())
}
