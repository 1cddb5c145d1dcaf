//! Keeps sealed segments in an archive beside the actor, where the deployment has one: on the edge, Workers KV.
//!
//! A segment is put there. It leaves the actor's rows only after it was read back some minutes later, because a write
//! to the archive may become visible elsewhere a minute late. The name of a segment holds its hash, so nothing is ever
//! overwritten.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::{BODIES, SEGMENTS, age, body};
use crate::book::Books;
use crate::merkle::Hash;
use crate::{ACTOR, sweep};
use crate::{Result, Timestamp};
use crypto::encoding::encode_hex;
use crypto::hash::sha256;
use engine::actor::{ActorId, Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Pair, Row, Table};
use engine::runtime::{self, Archive, Runtime};
use engine::time::MINUTE;

/// Key of the wish to archive segments ([`Turn::reach_out`]).
pub const WISH: &str = "segments";
/// Wait until a segment that was put is read back, and one that could not be put is put again, in microseconds.
const SETTLED: i64 = 5 * MINUTE;
/// Most segments of one wish.
const AT_ONCE: usize = 64;
/// Segments under way at the same time: a Worker has six connections.
const PARALLEL: usize = 6;

/// The last wish: the first segment that it was about, and its time.
const ASKED: Table<(), LastWish> = Table::new(71);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct LastWish {
    first: u64,
    at: Timestamp,
}
impl Row for LastWish {}

/// The name of a segment in an archive.
fn name(first: u64, hash: &Hash) -> String {
    format!("ledger/segment/{first}-{}", encode_hex(hash))
}

/// The packed rows of a segment from the archive; `None` if they are not there, or have another hash.
pub async fn fetch(rt: &dyn Runtime, first: u64, hash: &Hash) -> Result<Option<Vec<u8>>> {
    match rt.archive() {
        Some(archive) => found(archive, first, hash).await,
        None => Ok(None),
    }
}

async fn found(archive: &dyn Archive, first: u64, hash: &Hash) -> Result<Option<Vec<u8>>> {
    Ok(archive.get(&name(first, hash)).await?.filter(|body| sha256(body) == *hash))
}

/// Makes the wish to archive segments, if the deployment has an archive. Returns when to look again.
pub fn wish(turn: &mut Turn<'_>) -> Result<Option<Timestamp>> {
    if !turn.settings.archives_segments {
        return Ok(None);
    }
    let Some(((first, _), _)) = BODIES.first(turn, &BODIES.range())? else { return Ok(None) };
    let wait = SETTLED.min(age(turn.settings));
    let asked = ASKED.get(turn, &())?.filter(|asked| asked.first == first).map(|asked| asked.at.plus(wait));
    if let Some(again) = asked.filter(|again| *again > turn.now) {
        return Ok(Some(again));
    }
    ASKED.put(turn, &(), &LastWish { first, at: turn.now })?;
    turn.reach_out(WISH.to_owned());
    Ok(Some(turn.now.plus(wait)))
}

/// Puts segments into the archive, and removes those that are found there from the actor's rows.
pub async fn run(rt: &dyn Runtime) -> Result<()> {
    let Some(archive) = rt.archive() else { return Ok(()) };
    let waiting = runtime::query(rt, ACTOR, &Waiting).await?;
    let kept = stream::iter(waiting).map(|(first, hash)| keep_one(rt, archive, first, hash)).buffered(PARALLEL);
    let kept: Vec<Option<u64>> = kept.try_collect().await?;
    let kept: Vec<u64> = kept.into_iter().flatten().collect();
    if kept.is_empty() {
        return Ok(());
    }
    runtime::call(rt, ACTOR, &DeleteArchivedSegments(kept)).await
}

/// Returns the segment if the archive has it; otherwise puts it there.
async fn keep_one(rt: &dyn Runtime, archive: &dyn Archive, first: u64, hash: Hash) -> Result<Option<u64>> {
    if found(archive, first, &hash).await?.is_some() {
        return Ok(Some(first));
    }
    if let Some(body) = runtime::query(rt, ACTOR, &ReadBody { first }).await? {
        archive.put(&name(first, &hash), body).await?;
    }
    Ok(None)
}

/// Reads the first segments that are stored here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waiting;

impl Query for Waiting {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "segments_waiting";
    type Reply = Vec<(u64, Hash)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let (mut waiting, mut rest) = (Vec::new(), BODIES.range());
        while waiting.len() < AT_ONCE
            && let Some(((first, _), _)) = BODIES.first(view, &rest)?
        {
            rest.start = BODIES.prefix(&(first + 1,)).start;
            waiting.extend(SEGMENTS.get(view, &(first,))?.map(|segment| (first, segment.hash)));
        }
        Ok(waiting)
    }
}

/// Reads the packed rows of a segment, if they are stored here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadBody {
    pub first: u64,
}

impl Query for ReadBody {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "segment_body";
    type Reply = Option<Vec<u8>>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        Ok(body(view, self.first)?)
    }
}

/// These segments are in the archive, so their rows here are deleted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeleteArchivedSegments(pub Vec<u64>);

impl Operation for DeleteArchivedSegments {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "segments_kept";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let books = Books::of(turn)?;
        for first in self.0 {
            let rows = books.space.scan(&BODIES.prefix(&(first,)), Direction::Ascending, usize::from(u8::MAX))?;
            rows.into_iter().for_each(|(key, _)| books.space.delete(key));
        }
        let due = books.close()?.next(turn)?;
        let again = wish(turn)?;
        sweep::plan(turn, [due, again].into_iter().flatten().min())
    }
}

/// In a dump, this byte before the place of a segment says that the dump goes on after that segment of the archive. No
/// row has such a key.
const BEYOND: u8 = u8::MAX;

/// For a dump: the rows of the next segment that only the archive has, and the key at which the dump goes on. `after`
/// is the key at which the part before ended, if that was one of these.
pub async fn dumped(rt: &dyn Runtime, actor: &ActorId, after: Option<&[u8]>) -> Result<Option<(Vec<u8>, Vec<Pair>)>> {
    if actor.kind != Kind::Ledger || rt.archive().is_none() {
        return Ok(None);
    }
    let place = after.and_then(|after| after.strip_prefix(&[BEYOND])).and_then(|place| place.try_into().ok());
    let from = place.map_or(0, |place| u64::from_be_bytes(place) + 1);
    let Some((first, hash)) = runtime::query(rt, ACTOR, &Elsewhere { from }).await? else { return Ok(None) };
    let body = fetch(rt, first, &hash).await?;
    let body = body.ok_or_else(|| crate::Error::unavailable("a sealed segment of the log cannot be found"))?;
    Ok(Some(([&[BEYOND][..], &first.to_be_bytes()].concat(), super::stored(first, &body)?)))
}

/// Reads the first segment from that place on that only the archive has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Elsewhere {
    pub from: u64,
}

impl Query for Elsewhere {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "segment_elsewhere";
    type Reply = Option<(u64, Hash)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut found = None;
        let mut rest = SEGMENTS.range();
        rest.start = SEGMENTS.prefix(&(self.from,)).start;
        SEGMENTS.visit(view, rest, Direction::Ascending, |(first,), segment| {
            let here = BODIES.contains(view, &(first, 0))?;
            found = (!here).then_some((first, segment.hash));
            Ok(here)
        })?;
        Ok(found)
    }
}
