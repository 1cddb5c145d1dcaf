//! What a reader sees: a snapshot of the tree under the commits that are not in it yet, as of one commit.

use std::path::Path;
use std::sync::Arc;

use heliograph_core::engine::actor::{self, ActorId};
use heliograph_core::engine::documents::Document;
use heliograph_core::engine::kv::{Batch, Direction, Patched, Range, Read};
use heliograph_core::{Error, ErrorCode, Result, Timestamp};

use super::known::Remembered;
use super::recent::{Changes, Generation, Layered};
use super::rows::{Rows, prefix};
use super::tree::{
    DOCUMENTS_SPACE, DUE_SPACE, DocumentRows, DueRows, TIMERS_SPACE, TimerRows, Tree, number_of, timer_of,
};

use crate::log;

/// One value that is swapped whole, so no reader sees a newer part beside an older one.
#[derive(Clone)]
pub struct View {
    pub(super) tree: Arc<Tree>,
    /// The younger one first.
    pub(super) generations: [Option<Arc<Generation>>; 2],
    /// Number of the last commit that is seen.
    pub(super) seen: u64,
}

impl View {
    fn changes(&self, space: &[u8]) -> [Option<Arc<Changes>>; 2] {
        let of = |generation: &Option<Arc<Generation>>| generation.as_ref()?.space(space);
        [of(&self.generations[0]), of(&self.generations[1])]
    }

    /// Runs `body` on a space whose rows in the tree are `base`, under changes that are no commit yet.
    fn under<R: Read, T>(
        &self,
        base: &R,
        space: &[u8],
        pending: Option<&Batch>,
        body: impl FnOnce(&dyn Read) -> T,
    ) -> T {
        let changes = self.changes(space);
        let known = changes.iter().any(Option::is_some);
        let layered = Layered::new(base, changes, self.seen);
        let committed: &dyn Read = if known { &layered } else { base };
        match pending.filter(|pending| !pending.is_empty()) {
            Some(pending) => body(&Patched { base: committed, changes: pending }),
            None => body(committed),
        }
    }

    /// Runs `body` on the rows of an actor, in the data file that is at `file`.
    pub fn actor<T>(
        &self,
        actor: &ActorId,
        file: &Path,
        pending: Option<&Batch>,
        body: impl FnOnce(&dyn Read) -> T,
    ) -> T {
        let prefix = prefix(actor);
        let rows = Rows::new(&self.tree.rows, &prefix).of_file(file);
        match &self.tree.known {
            Some(known) => self.under(&Remembered { rows, space: &prefix, known }, &prefix, pending, body),
            None => self.under(&rows, &prefix, pending, body),
        }
    }

    /// Keys of the first timers from a key on, at most `limit`.
    pub fn timers(&self, pending: Option<&Batch>, from: &[u8], limit: usize) -> Result<Vec<Vec<u8>>> {
        let range = Range { start: from.to_vec(), end: None };
        let first = |timers: &dyn Read| timers.scan(&range, Direction::Ascending, limit);
        let found = self.under(&TimerRows(&self.tree.timers), TIMERS_SPACE, pending, first)?;
        Ok(found.into_iter().map(|(key, _)| key).collect())
    }

    /// The earliest work of any actor.
    pub fn earliest(&self) -> Result<Option<Timestamp>> {
        let first = self.timers(None, &[], 1)?;
        Ok(first.first().and_then(|key| timer_of(key)).map(|(due, _)| Timestamp(due)))
    }

    /// Bytes of the rows that are not in the tree.
    pub fn unfolded(&self) -> usize {
        self.generations.iter().flatten().map(|generation| generation.bytes()).sum()
    }

    /// The due time of an actor.
    pub fn due(&self, name: &str, pending: Option<&Batch>) -> Result<Option<i64>> {
        let get = |due: &dyn Read| due.get(name.as_bytes());
        let found = self.under(&DueRows(&self.tree.due), DUE_SPACE, pending, get)?;
        Ok(found.as_deref().and_then(number_of))
    }

    /// Every stored document that can be read, for the copies in memory. A request for another document reads it from
    /// its owner's rows.
    pub fn documents(&self) -> Result<Vec<Document>> {
        let mut found = Vec::new();
        let all = |documents: &dyn Read| {
            documents.visit(&Range::all(), Direction::Ascending, 64, &mut |_, bytes| {
                found.extend(actor::decode(bytes).ok());
                Ok(true)
            })
        };
        let read = self.under(&DocumentRows(&self.tree.documents), DOCUMENTS_SPACE, None, all);
        match read.map_err(Error::from) {
            Err(error) if error.code == ErrorCode::Damaged => log::error!("some documents are damaged: {error}"),
            read => read?,
        }
        Ok(found)
    }
}
