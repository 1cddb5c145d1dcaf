//! Sealed segments: packed runs of old events of the log (decision ledger-room).
//!
//! A segment holds the rows of a run of events as they were, packed and compressed. The hash of each event stays in the
//! tree, and its place stays under its id, so that its nonce is never used again. A segment lies among the ledger's own
//! rows. Where the deployment has an archive beside its actors, the segment goes there, and only its SHA-256 stays
//! here.
//!
//! | Module | What |
//! |---|---|
//! | [`keep`] | moves segments into the archive |
//! | [`open`] | questions about events, which find them wherever they lie |
//!
//! Table numbers: 68 [`SEALED`], 69 [`SEGMENTS`], 70 [`BODIES`], 71 [`keep`].

pub mod keep;
pub mod open;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateDecoder, DeflateEncoder};
use serde::{Deserialize, Serialize};

use super::book::Books;
use super::log::BytesPart;
use super::merkle::{self, Hash};
use super::rows::{Book, EVENT_PARTS, EVENTS, Id};
use crate::{Error, Result, Timestamp};
use crypto::hash::sha256;
use engine::actor::{decode, encode};
use engine::kv::{Direction, Pair, Range, Read, Row, StoreError, Table, encode_row};
use engine::settings::Settings;
use engine::time::DAY;

/// Number of events in one segment, unless they are large: two tiles of the tree. Reading one event unpacks its whole
/// segment, and each segment costs a write of its own where an archive keeps it.
pub const RUN: u64 = 2 * merkle::WIDTH;
/// Bytes of rows after which a segment takes no further event.
const ENOUGH: usize = 256 * 1024;
/// Bytes of a segment in one row; Durable Objects take 2 MB a row.
const PART: usize = 1024 * 1024;
/// Most segments that one sweep seals; each changes two rows an event.
const AT_ONCE: usize = 4;

/// The place in the log of an event that was sealed, by the key of its row.
pub const SEALED: Table<(Id,), u64> = Table::new(68);
/// Segments by the place of their first event.
pub const SEGMENTS: Table<(u64,), Segment> = Table::new(69);
/// Packed rows of the segments that lie here, in parts.
pub const BODIES: Table<(u64, u8), BytesPart> = Table::new(70);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    pub events: u64,
    /// Size of its rows before they were packed, in bytes.
    pub bytes: u64,
    /// SHA-256 of the packed rows.
    pub hash: Hash,
}
impl Row for Segment {}

/// A row as it was stored.
#[derive(Serialize, Deserialize)]
struct Packed {
    #[serde(with = "engine::kv::bytes")]
    key: Vec<u8>,
    #[serde(with = "engine::kv::bytes")]
    value: Vec<u8>,
}

fn missing(what: &str) -> Error {
    Error::internal(format!("{what} of the log is missing"))
}

/// The age at which events are sealed, in microseconds.
pub fn age(settings: &Settings) -> i64 {
    i64::from(settings.ledger_seal_days) * DAY
}

/// The place after the last event of the run that holds `seq`.
const fn end(seq: u64) -> u64 {
    (seq / RUN + 1) * RUN
}

/// Called when an event was added at that time. Notes the time if the event completes the run that is sealed next.
pub fn grown(book: &mut Book, at: Timestamp) {
    if book.whole.is_none() && book.events == end(book.sealed) {
        book.whole = Some(at);
    }
}

/// Whether an event has that id, sealed or not.
pub fn has(space: &(impl Read + ?Sized), book: &Book, id: &Id) -> Result<bool> {
    Ok(EVENTS.contains(space, &(*id,))? || (book.sealed > 0 && SEALED.contains(space, &(*id,))?))
}

/// Seals the oldest runs that are old enough, a bounded number at once.
pub fn seal(books: &mut Books<'_>) -> Result<()> {
    for _ in 0..AT_ONCE {
        if books.sealing().is_none_or(|due| due > books.now) {
            break;
        }
        seal_one(books)?;
    }
    Ok(())
}

fn seal_one(books: &mut Books<'_>) -> Result<()> {
    let first = books.book.sealed;
    let (mut rows, mut bytes, mut seq) = (Vec::new(), 0, first);
    while seq < end(first) && bytes < ENOUGH {
        let (_, id) = merkle::leaf(books.space, seq)?.ok_or_else(|| missing("a leaf"))?;
        for (key, value) in rows_of(books.space, &id)? {
            bytes += key.len() + value.len();
            books.space.delete(key.clone());
            rows.push(Packed { key, value });
        }
        SEALED.put(books.space, &(id,), &seq)?;
        seq += 1;
    }
    let body = pack(&rows)?;
    let segment = Segment { events: seq - first, bytes: bytes as u64, hash: sha256(&body) };
    SEGMENTS.put(books.space, &(first,), &segment)?;
    for (part, row) in parts(&body) {
        BODIES.put(books.space, &(first, part), &row)?;
    }
    books.book.sealed = seq;
    books.book.whole = whole(books)?;
    Ok(())
}

/// The rows of an event, as they are stored.
fn rows_of(space: &(impl Read + ?Sized), id: &Id) -> Result<Vec<Pair>> {
    let mut rows = space.scan(&EVENTS.prefix(&(*id,)), Direction::Ascending, 1)?;
    if rows.is_empty() {
        return Err(missing("an event"));
    }
    rows.extend(space.scan(&EVENT_PARTS.prefix(&(*id,)), Direction::Ascending, usize::from(u8::MAX))?);
    Ok(rows)
}

/// The time of the last event of the run that is sealed next, when the run is whole.
fn whole(books: &Books<'_>) -> Result<Option<Timestamp>> {
    let end = end(books.book.sealed);
    if books.book.events < end {
        return Ok(None);
    }
    let (_, id) = merkle::leaf(books.space, end - 1)?.ok_or_else(|| missing("a leaf"))?;
    let event = EVENTS.get(books.space, &(id,))?.ok_or_else(|| missing("an event"))?;
    Ok(Some(event.at))
}

fn pack(rows: &[Packed]) -> Result<Vec<u8>> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::default());
    packer.write_all(&encode(&rows)?).map_err(Error::internal)?;
    packer.finish().map_err(Error::internal)
}

fn unpack(body: &[u8]) -> Result<Vec<Pair>> {
    let mut unpacker = DeflateDecoder::new(Vec::new());
    unpacker.write_all(body).map_err(Error::internal)?;
    let rows: Vec<Packed> = decode(&unpacker.finish().map_err(Error::internal)?)?;
    Ok(rows.into_iter().map(|Packed { key, value }| (key, value)).collect())
}

/// The segment that holds the event of that place, and where it begins.
fn holder(space: &(impl Read + ?Sized), seq: u64) -> Result<Option<(u64, Segment)>, StoreError> {
    let upto: Range = SEGMENTS.between(&(), &(seq + 1,));
    let found = SEGMENTS.last(space, &upto)?.map(|((first,), segment)| (first, segment));
    Ok(found.filter(|(first, segment)| seq < first + segment.events))
}

/// The packed rows of a segment, if they are stored here.
fn body(space: &(impl Read + ?Sized), first: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let parts = BODIES.scan(space, &BODIES.prefix(&(first,)), Direction::Ascending, usize::from(u8::MAX))?;
    let bytes: Vec<Vec<u8>> = parts.into_iter().map(|(_, BytesPart(bytes))| bytes).collect();
    Ok((!bytes.is_empty()).then(|| bytes.concat()))
}

/// Splits packed rows into the parts that are stored here.
fn parts(body: &[u8]) -> impl Iterator<Item = (u8, BytesPart)> + '_ {
    (0..).zip(body.chunks(PART).map(|bytes| BytesPart(bytes.to_vec())))
}

/// The rows of [`BODIES`] that a segment takes.
fn stored(first: u64, body: &[u8]) -> Result<Vec<Pair>> {
    let row = |(part, row): (u8, BytesPart)| Ok((BODIES.prefix(&(first, part)).start, encode_row(&row)?));
    parts(body).map(row).collect()
}

/// The number of sealed events, and the number of those that only an archive has. The oldest go there first.
pub fn counts(space: &(impl Read + ?Sized), book: &Book) -> Result<(u64, u64)> {
    let here = BODIES.first(space, &BODIES.range())?.map(|((first, _), _)| first);
    Ok((book.sealed, here.unwrap_or(book.sealed)))
}
