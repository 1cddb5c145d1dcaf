//! `cargo xtask ci`: runs everything that a change must pass, and prints the time of each step.

use std::time::Instant;

use crate::cache::{self, Cache};
use crate::run::{self, Result, step};
use crate::{check, edge, project, test};

pub fn ci() -> Result<()> {
    let start = Instant::now();
    let cache = enter();
    let result = everything();
    if let Some(cache) = cache
        && let Err(error) = cache.bound()
    {
        eprintln!("--- build folder: {error}");
    }
    eprint!("\n{}", run::table(start.elapsed()));
    result
}

/// Copies the sources into the build folder and works there from now on; if that is not possible, it works in the
/// checkout.
fn enter() -> Option<Cache> {
    let folder = std::env::var_os(cache::VARIABLE).filter(|folder| !folder.is_empty())?;
    let checkout = project::checkout();
    let entered = Cache::open(folder.as_ref(), &checkout).and_then(|cache| {
        let copied = step("copy the sources", || cache.copy(&checkout))?;
        let (files, source) = (copied.files, cache.source());
        eprintln!("--- {files} files in {}: {} written, {} removed", source.display(), copied.written, copied.removed);
        project::work_in(source)?;
        Ok(cache)
    });
    entered.inspect_err(|reason| eprintln!("--- building in the checkout: {reason}")).ok()
}

fn everything() -> Result<()> {
    check::check()?;
    test::test(&[])?;
    edge::dry_run::dry_run()
}
