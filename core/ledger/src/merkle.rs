//! The Merkle tree of RFC 9162, section 2.1: roots, making proofs of inclusion and of consistency, and the hashes as the
//! ledger stores them. [`crypto::merkle`] checks proofs.
//!
//! Hashes are stored in tiles of [`WIDTH`]: a tile of level 0 holds leaf hashes, one of level n the roots of full tiles
//! of level n - 1. An append hashes one leaf and rewrites the open tile; only every [`WIDTH`]th append writes a second
//! tile. Roots and proofs are computed when somebody asks, from at most two tiles of each level.

use serde::{Deserialize, Serialize};

use super::rows::Id;
use crate::{Error, Result};
use crypto::hash::sha256_of;
pub use crypto::merkle::{Frontier, Hash, is_consistent, is_included, leaf_hash, node_hash};
use engine::kv::{Desc, Read, Row, Table, Write};

/// Hashes in a tile.
pub const WIDTH: u64 = 1 << BITS;
const BITS: u32 = 6;

/// Hashes of full subtrees: of the leaves from `index << level` to `(index + 1) << level`.
pub trait Nodes {
    fn node(&self, level: u32, index: u64) -> Result<Hash>;
}

/// The largest power of two below `size`, which is at least 2.
fn split(size: u64) -> u64 {
    1 << (63 - (size - 1).leading_zeros())
}

/// The root over `size` leaves from `start` on, one or more; `start` is a multiple of the next power of two.
fn subtree(nodes: &dyn Nodes, start: u64, size: u64) -> Result<Hash> {
    if size.is_power_of_two() {
        let level = size.trailing_zeros();
        return nodes.node(level, start >> level);
    }
    let left = split(size);
    Ok(node_hash(&subtree(nodes, start, left)?, &subtree(nodes, start + left, size - left)?))
}

/// The root over the first `size` leaves; the root over no leaves is the hash of the empty text.
pub fn root(nodes: &dyn Nodes, size: u64) -> Result<Hash> {
    if size == 0 { Ok(sha256_of(&[])) } else { subtree(nodes, 0, size) }
}

/// The path from leaf `seq` to the root over `size` leaves, `seq < size`.
pub fn inclusion(nodes: &dyn Nodes, seq: u64, size: u64) -> Result<Vec<Hash>> {
    let (mut seq, mut start, mut size, mut path) = (seq, 0, size, Vec::new());
    while size > 1 {
        let left = split(size);
        if seq < left {
            path.push(subtree(nodes, start + left, size - left)?);
            size = left;
        } else {
            path.push(subtree(nodes, start, left)?);
            (seq, start, size) = (seq - left, start + left, size - left);
        }
    }
    path.reverse();
    Ok(path)
}

/// The proof that the tree over `to` leaves begins with the tree over `from` leaves, `1 <= from <= to`.
pub fn consistency(nodes: &dyn Nodes, from: u64, to: u64) -> Result<Vec<Hash>> {
    let (mut from, mut start, mut size, mut path) = (from, 0, to, Vec::new());
    while from != size {
        let left = split(size);
        if from <= left {
            path.push(subtree(nodes, start + left, size - left)?);
            size = left;
        } else {
            path.push(subtree(nodes, start, left)?);
            (from, start, size) = (from - left, start + left, size - left);
        }
    }
    if start > 0 {
        path.push(subtree(nodes, start, size)?);
    }
    path.reverse();
    Ok(path)
}

/// Hashes side by side.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tile {
    /// 32 bytes each.
    #[serde(with = "engine::kv::bytes")]
    hashes: Vec<u8>,
    /// On level 0 the ids of the events, 16 bytes each.
    #[serde(with = "engine::kv::bytes")]
    ids: Vec<u8>,
}
impl Row for Tile {}

/// Tiles by level and place, newest first. So the open tile lies right behind the state of the ledger
/// ([`BOOK`](super::rows::BOOK)), which every event changes too.
pub const TILES: Table<(u8, Desc<u64>), Tile> = Table::new(17);

impl Tile {
    fn at(&self, slot: u64) -> Option<Hash> {
        let from = usize::try_from(slot).ok()?.checked_mul(32)?;
        self.hashes.get(from..from + 32)?.try_into().ok()
    }

    /// The root over the `1 << level` hashes from `slot` on.
    fn over(&self, slot: u64, level: u32) -> Option<Hash> {
        match level {
            0 => self.at(slot),
            level => {
                let half = 1 << (level - 1);
                Some(node_hash(&self.over(slot, level - 1)?, &self.over(slot + half, level - 1)?))
            }
        }
    }
}

fn missing() -> Error {
    Error::internal("a hash of the ledger's tree is missing")
}

fn level(level: u32) -> u8 {
    u8::try_from(level).unwrap_or(u8::MAX)
}

/// The stored tree.
pub struct StoredTree<'a, R: ?Sized>(pub &'a R);

impl<R: Read + ?Sized> Nodes for StoredTree<'_, R> {
    fn node(&self, height: u32, index: u64) -> Result<Hash> {
        let within = height % BITS;
        let first = index << within;
        let tile = TILES.get(self.0, &(level(height / BITS), Desc(first / WIDTH)))?;
        tile.and_then(|tile| tile.over(first % WIDTH, within)).ok_or_else(missing)
    }
}

/// Adds the leaf hash of event `seq`, the next one.
pub fn append(space: &mut (impl Write + ?Sized), seq: u64, leaf: Hash, id: &Id) -> Result<()> {
    let (mut hash, mut index) = (leaf, seq);
    for height in 0.. {
        let key = (height, Desc(index / WIDTH));
        let mut tile = match index % WIDTH {
            0 => Tile::default(),
            _ => TILES.get(space, &key)?.ok_or_else(missing)?,
        };
        tile.hashes.extend_from_slice(&hash);
        if height == 0 {
            tile.ids.extend_from_slice(id);
        }
        TILES.put(space, &key, &tile)?;
        if index % WIDTH != WIDTH - 1 {
            break;
        }
        hash = tile.over(0, BITS).ok_or_else(missing)?;
        index /= WIDTH;
    }
    Ok(())
}

/// The leaf hash and the id of an event; `None` if the log is shorter.
pub fn leaf(space: &(impl Read + ?Sized), seq: u64) -> Result<Option<(Hash, Id)>> {
    let Some(tile) = TILES.get(space, &(0, Desc(seq / WIDTH)))? else { return Ok(None) };
    let slot = seq % WIDTH;
    let from = usize::try_from(slot * 16).unwrap_or(usize::MAX);
    let id = tile.ids.get(from..from.saturating_add(16)).and_then(|id| Id::try_from(id).ok());
    Ok(tile.at(slot).zip(id))
}
