//! Mends a damaged file that was not closed cleanly, so that the engine can open it.
//!
//! After an unclean stop the engine compares everything with its own checksums and refuses a file in which one is
//! wrong. The damaged pages are lost, but the rest of the file is not. The pages above a damaged one are changed to
//! have the checksum of the page that stands for it, and then the engine opens the file. Requests that need the damaged
//! page are refused as before.
//!
//! Changed pages get another kind of checksum, so that a later check can tell them from pages of an interrupted commit.
//! The head is written last: until then the file is unchanged.

use std::io;
use std::ops::ControlFlow;

use redb::StorageBackend;

use super::tree::{Reading, Slot, Walk, WalkResult};
use super::{Pages, Shared, checksum_of_mended, locked};

/// Mends the file; `false` when it has no state that can be mended.
pub fn mend(pages: &std::sync::Arc<Pages>) -> io::Result<bool> {
    let shared = Shared(pages.clone());
    if shared.len()? == 0 {
        return Ok(false);
    }
    let (mut engine, synced) = {
        let head = locked(&pages.head);
        (head.engine, head.synced)
    };
    let mut found = Vec::new();
    // A state from before the last answered commit is never used, however sound it is.
    for slot in Slot::all(&engine).into_iter().filter(|slot| slot.id >= synced) {
        found.extend(walk(pages, &engine, slot)?.map(|walked| (slot, walked)));
    }
    // Takes the newer state, unless its commit was interrupted: such a commit was not answered.
    let whole = found.iter().position(|(slot, (found, _))| found.torn == 0 || slot.id == synced).unwrap_or(0);
    if found.is_empty() {
        return Ok(false);
    }
    let (slot, (found, sums)) = found.swap_remove(whole);
    for (block, page) in &found.mended {
        pages.write_blocks(*block, page, checksum_of_mended)?;
    }
    shared.sync_data()?;
    slot.take(&mut engine, sums);
    let mut head = locked(&pages.head);
    head.engine = engine;
    pages.write_head(&head)?;
    drop(head);
    shared.sync_data()?;
    for (block, count) in found.bad.iter().filter_map(|bad| bad.place) {
        pages.note(block, count);
    }
    Ok(true)
}

fn walk(pages: &Pages, engine: &[u8; super::ENGINE], slot: Slot) -> io::Result<Option<(WalkResult, [u128; 2])>> {
    let mut walk = Walk::new(pages, engine, Reading { mend: true, ..Reading::default() });
    let mut sums = [0; 2];
    for ((root, prefix), sum) in slot.roots.into_iter().zip(["", "system "]).zip(&mut sums) {
        let Some(root) = root else { continue };
        match walk.tables(root, prefix)? {
            ControlFlow::Continue(now) => *sum = now,
            ControlFlow::Break(()) => return Ok(None),
        }
    }
    // Without the list of tables nothing can be read.
    let lost = walk.found.bad.iter().any(|bad| bad.table == "tables");
    Ok((!lost).then_some((walk.found, sums)))
}
