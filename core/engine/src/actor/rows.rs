//! All rows of an actor, whatever its kind: reading them page by page, and putting them into another deployment.
//!
//! These are the operations of `dump` and `load` (decision dump-and-load). They know no table, so an actor of a later
//! kind is moved like every other one.

use serde::{Deserialize, Serialize};

use super::registry::Run;
use super::{Call, FIRST_OWN_TABLE, Kind, Operation, Turn, View, decode, encode};
use crate::deployment::Start;
use crate::kv::{Direction, Range, Read, Write};
use crate::roster::Enrol;
use crate::{Error, ErrorCode, Result, documents};

/// Most rows of one page, below what an operation may change.
const PAGE_ROWS: usize = 900;
/// Bytes after which a page takes no further row.
const PAGE_BYTES: usize = 1 << 20;
/// Rows read at once; each can be nearly 2 MB.
const STEP: usize = 8;

/// What the edge notes of documents that its platform's store does not have yet: of no use elsewhere, since every
/// document is published anew after a load.
const UNSTORED_TABLE: u8 = 12;

/// The names of the operations, which every kind has.
pub const READ: &str = "rows/read";
pub const PUT: &str = "rows/put";
pub const CLEAR: &str = "rows/clear";

pub(super) const ENTRIES: &[(&str, Run)] = &[
    (READ, Run::Query(|arguments, view| encode(&read(view, &decode(arguments)?)?))),
    (PUT, Run::Operation(|arguments, turn| encode(&put(turn, decode(arguments)?)?))),
    (CLEAR, Run::Operation(|_, turn| encode(&clear(turn)?))),
];

/// Whether this operation moves rows, of whatever version and while the deployment is closed.
pub(super) fn moves(name: &str) -> bool {
    [READ, PUT, CLEAR].contains(&name)
}

/// Whether this operation runs while the deployment is closed: that of a start, and the list of actors that a load
/// makes.
pub(super) fn may_begin(call: &Call) -> bool {
    call.actor.kind == Kind::Deployment && [Start::NAME, Enrol::NAME].contains(&call.name.as_str())
}

#[cold]
pub(super) fn closed() -> Error {
    let message = "This deployment is closed for changes while it is moved; retry later.";
    Error::new(ErrorCode::Unavailable, message).retry_after(60)
}

/// Rows after a key, in the order of keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReadRows {
    pub after: Option<Vec<u8>>,
}

/// Some rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    pub rows: Vec<(Vec<u8>, Vec<u8>)>,
    pub more: bool,
}

impl Page {
    /// Rows of the actor's kind, without those of the machinery.
    pub fn own(&self) -> usize {
        self.rows.iter().filter(|(key, _)| is_own(key)).count()
    }
}

/// Whether a key is of a table of the actor's kind.
pub fn is_own(key: &[u8]) -> bool {
    key.first().is_some_and(|table| *table >= FIRST_OWN_TABLE)
}

fn read(view: &View<'_>, wanted: &ReadRows) -> Result<Page> {
    let all = Range::all();
    let mut rest = wanted.after.as_ref().map_or_else(|| all.clone(), |after| all.beyond(after, Direction::Ascending));
    let (mut page, mut bytes) = (Page::default(), 0);
    loop {
        let rows = view.scan(&rest, Direction::Ascending, STEP)?;
        let Some((last, _)) = rows.last() else { return Ok(page) };
        rest = rest.beyond(last, Direction::Ascending);
        for (key, value) in rows {
            if page.rows.len() >= PAGE_ROWS || (!page.rows.is_empty() && bytes + value.len() > PAGE_BYTES) {
                page.more = true;
                return Ok(page);
            }
            if key.first() != Some(&UNSTORED_TABLE) {
                bytes += key.len() + value.len();
                page.rows.push((key, value));
            }
        }
    }
}

/// Puts rows as they are, and has every document published anew: bodies do not move with the rows.
fn put(turn: &mut Turn<'_>, rows: Vec<(Vec<u8>, Vec<u8>)>) -> Result<()> {
    let keys: Vec<Vec<u8>> = rows.iter().map(|(key, _)| key.clone()).collect();
    for (key, value) in rows {
        turn.put(key, value);
    }
    for key in keys {
        documents::publish_again(turn, &key)?;
    }
    Ok(())
}

/// Takes rows out, as many as an operation may; whether there may be more.
fn clear(turn: &mut Turn<'_>) -> Result<bool> {
    let page = read(&turn.view(), &ReadRows::default())?;
    for (key, _) in page.rows {
        turn.delete(key);
    }
    Ok(page.more)
}
