//! Questions about events that may be sealed.
//!
//! A question sees the rows of sealed segments as if they had never moved. An actor cannot wait for an archive, so when
//! a segment lies there, the answer names it. The caller fetches it and asks again with it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{SEALED, Segment, body, holder, missing, unpack};
use crate::merkle::{self, Hash};
use crate::rows::{EVENT_PARTS, EVENTS, Id};
use crate::{ACTOR, book};
use crate::{Error, Result};
use crypto::hash::sha256;
use engine::actor::{Kind, Query, View};
use engine::kv::{Direction, Pair, Range, Read, StoreError};
use engine::runtime::{self, Runtime};

/// How often one question is asked, each time with more segments.
const ROUNDS: usize = 4;
/// Segments that are fetched at the same time: a Worker has six connections.
const PARALLEL: usize = 6;
/// Bytes of sealed rows that one answer reads, about.
const READ: u64 = 4 << 20;

/// A question about events.
pub trait LogQuery: Serialize + DeserializeOwned {
    const NAME: &'static str;
    type Reply: Serialize + DeserializeOwned;

    fn run(self, view: &View<'_>) -> Result<Self::Reply>;
}

/// A question with the segments that were fetched for it: where they begin, and their packed rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskLog<Q> {
    question: Q,
    segments: Vec<Fetched>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Fetched {
    first: u64,
    #[serde(with = "engine::kv::bytes")]
    body: Vec<u8>,
}

/// The outcome of a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum LogReply<T> {
    Answer(T),
    /// These segments are needed first: where they begin, and the SHA-256 of their packed rows.
    Fetch(Vec<(u64, Hash)>),
}

impl<Q: LogQuery> Query for AskLog<Q> {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = Q::NAME;
    type Reply = LogReply<Q::Reply>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = Unsealed::new(view, self.segments);
        let answer = self.question.run(&view.over(&rows));
        // Without these segments the answer may be wrong.
        let wanted = rows.wanted();
        if wanted.is_empty() { answer.map(LogReply::Answer) } else { Ok(LogReply::Fetch(wanted)) }
    }
}

/// Asks the ledger, and fetches the segments that the question needs from an archive.
pub async fn ask<Q: LogQuery>(rt: &dyn Runtime, question: Q) -> Result<Q::Reply> {
    let mut open = AskLog { question, segments: Vec::new() };
    for _ in 0..ROUNDS {
        let wanted = match runtime::query(rt, ACTOR, &open).await? {
            LogReply::Answer(answer) => return Ok(answer),
            LogReply::Fetch(wanted) => wanted,
        };
        let fetched = stream::iter(wanted).map(|(first, hash)| fetch(rt, first, hash)).buffered(PARALLEL);
        open.segments.extend(fetched.try_collect::<Vec<_>>().await?);
    }
    Err(Error::unavailable("the question about the log needs too many segments"))
}

async fn fetch(rt: &dyn Runtime, first: u64, hash: Hash) -> Result<Fetched> {
    let body = super::keep::fetch(rt, first, &hash).await?;
    Ok(Fetched { first, body: body.ok_or_else(|| Error::unavailable("a sealed segment of the log cannot be found"))? })
}

/// Rows by key.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The ledger's rows with those of sealed segments among them.
struct Unsealed<'a> {
    base: &'a dyn Read,
    given: BTreeMap<u64, Vec<u8>>,
    /// Segments that were needed; those that are not at hand have no rows.
    opened: RefCell<BTreeMap<u64, (Hash, Option<Rows>)>>,
}

impl<'a> Unsealed<'a> {
    fn new(base: &'a dyn Read, given: Vec<Fetched>) -> Self {
        let given = given.into_iter().map(|Fetched { first, body }| (first, body)).collect();
        Unsealed { base, given, opened: RefCell::default() }
    }

    fn wanted(&self) -> Vec<(u64, Hash)> {
        let opened = self.opened.borrow();
        opened.iter().filter(|(_, (_, rows))| rows.is_none()).map(|(first, (hash, _))| (*first, *hash)).collect()
    }

    fn sealed(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let id = key.get(1..17).and_then(|id| Id::try_from(id).ok());
        let Some(id) = id else { return Ok(None) };
        let Some(seq) = SEALED.get(self.base, &(id,))? else { return Ok(None) };
        let found = holder(self.base, seq)?;
        let (first, segment) = found.ok_or_else(|| StoreError::Corrupt("an event of no segment".to_owned()))?;
        let mut opened = self.opened.borrow_mut();
        let (_, rows) = match opened.entry(first) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert((segment.hash, self.rows(first, &segment)?)),
        };
        Ok(rows.as_ref().and_then(|rows| rows.get(key).cloned()))
    }

    fn rows(&self, first: u64, segment: &Segment) -> Result<Option<Rows>, StoreError> {
        let here = body(self.base, first)?;
        let Some(body) = here.as_ref().or_else(|| self.given.get(&first)) else { return Ok(None) };
        if sha256(body) != segment.hash {
            return Err(StoreError::Corrupt("a segment of the log is not what was sealed".to_owned()));
        }
        let rows = unpack(body).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        Ok(Some(rows.into_iter().collect()))
    }
}

impl Read for Unsealed<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.base.get(key)?;
        let may_be_sealed = || EVENTS.range().contains(key) || EVENT_PARTS.range().contains(key);
        if found.is_none() && may_be_sealed() { self.sealed(key) } else { Ok(found) }
    }

    /// A scan finds no sealed rows, since events are only looked up by their ids.
    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.base.scan(range, direction, limit)
    }
}

/// Opens the segments of the events at these places, which are going to be shown, so that all archived ones are asked
/// for at once. Returns how many of the events may be shown, at least one, since one answer unpacks a bounded number of
/// bytes.
pub fn prepare(view: &impl Read, places: impl Iterator<Item = u64>) -> Result<usize> {
    let sealed = book::read(view)?.sealed;
    let (mut last, mut bytes, mut count) = (None, 0, 0);
    for seq in places {
        if seq < sealed {
            let (first, segment) = holder(view, seq)?.ok_or_else(|| missing("a segment"))?;
            if last != Some(first) {
                if count > 0 && bytes >= READ {
                    break;
                }
                (last, bytes) = (Some(first), bytes + segment.bytes);
                let (_, id) = merkle::leaf(view, seq)?.ok_or_else(|| missing("a leaf"))?;
                EVENTS.contains(view, &(id,))?;
            }
        }
        count += 1;
    }
    Ok(count)
}

/// All events in the order of the log, sealed ones too; without those that only an archive has.
#[cfg(any(test, feature = "conformance"))]
pub fn all(space: &dyn Read) -> Result<Vec<(Id, super::super::log::Event)>> {
    let rows = Unsealed::new(space, Vec::new());
    let mut found = Vec::new();
    for seq in 0..book::read(space)?.events {
        let (_, id) = merkle::leaf(space, seq)?.ok_or_else(|| missing("a leaf"))?;
        found.extend(EVENTS.get(&rows, &(id,))?.map(|event| (id, event)));
    }
    Ok(found)
}
