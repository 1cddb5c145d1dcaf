//! Makes imports and removals of the same source exclude each other (decision licence-and-removal).
//!
//! The actor that holds the data of a source counts the source's removals. An import reads this number when it begins
//! and sends it with everything that it stores. If the parts of a file come in several requests, they carry it in the
//! parameter `epoch`. Data with an earlier number is refused, so an import during which a removal happens leaves
//! nothing behind and ends with an error. No import begins while a removal runs.

use super::ImportKind;
use crate::elections::ElectionsEpoch;
use crate::reference::{self, Reference, ReferenceEpoch};
use crate::world::{self, SourceEpoch, Task};
use crate::{Error, Result};
use engine::runtime::{self, Runtime};

/// The error for an import that begins while its source is being removed.
pub fn running() -> Error {
    Error::conflict("This source is being removed. Import it once that is done.")
}

/// Refuses to store data of an import that began before the last removal.
pub fn check(begun: u64, removals: u64) -> Result<()> {
    match begun < removals {
        true => Err(Error::conflict("This source was removed after the import began. Start the import again.")),
        false => Ok(()),
    }
}

/// The number of removals of the source of this kind, for an import that begins now or began at `begun`.
pub async fn epoch(rt: &dyn Runtime, kind: ImportKind, begun: Option<u64>) -> Result<u64> {
    let task = |task| async move { runtime::query(rt, world::actor().name, &SourceEpoch { task }).await };
    let table = |what| async move { runtime::query(rt, reference::actor().name, &ReferenceEpoch { what }).await };
    let removals = match kind.source() {
        Some(source) => task(Task::DropSource(source.code())).await?,
        None => match kind {
            ImportKind::Blocklist => task(Task::DropLists).await?,
            ImportKind::Asn => table(Reference::Networks).await?,
            ImportKind::TestList => table(Reference::TestLists).await?,
            ImportKind::Targets => table(Reference::Targets).await?,
            ImportKind::Elections => runtime::query(rt, world::actor().name, &ElectionsEpoch).await?,
            _ => 0,
        },
    };
    check(begun.unwrap_or(removals), removals)?;
    Ok(removals)
}
