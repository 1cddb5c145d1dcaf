//! The Merkle tree of RFC 9162, section 2.1: hashes of leaves and nodes, and the checks of proofs of inclusion and of
//! consistency. Nothing here reads a store, so that anybody can check a log from outside.

use super::hash::sha256_of;

/// SHA-256 of a leaf or a node.
pub type Hash = [u8; 32];

/// The hash of a leaf.
pub fn leaf_hash(data: &[u8]) -> Hash {
    sha256_of(&[&[0], data])
}

/// The hash of a node.
pub fn node_hash(left: &Hash, right: &Hash) -> Hash {
    sha256_of(&[&[1], left, right])
}

/// Whether the path leads from this leaf hash to the root (RFC 9162, 2.1.3.2).
pub fn is_included(leaf: &Hash, seq: u64, size: u64, path: &[Hash], root: &Hash) -> bool {
    if seq >= size {
        return false;
    }
    let (mut index, mut last, mut hash) = (seq, size - 1, *leaf);
    for step in path {
        if last == 0 {
            return false;
        }
        if index & 1 == 1 || index == last {
            hash = node_hash(step, &hash);
            while index & 1 == 0 && index != 0 {
                (index, last) = (index >> 1, last >> 1);
            }
        } else {
            hash = node_hash(&hash, step);
        }
        (index, last) = (index >> 1, last >> 1);
    }
    last == 0 && hash == *root
}

/// Whether the tree of the second root begins with that of the first (RFC 9162, 2.1.4.2).
pub fn is_consistent(from: u64, to: u64, from_root: &Hash, to_root: &Hash, path: &[Hash]) -> bool {
    if from == to {
        return path.is_empty() && from_root == to_root;
    }
    if from == 0 || from > to {
        return false;
    }
    let whole: &[Hash] = if from.is_power_of_two() { std::slice::from_ref(from_root) } else { &[] };
    let mut steps = whole.iter().chain(path);
    let Some(first) = steps.next() else { return false };
    let (mut index, mut last) = (from - 1, to - 1);
    while index & 1 == 1 {
        (index, last) = (index >> 1, last >> 1);
    }
    let (mut before, mut after) = (*first, *first);
    for step in steps {
        if last == 0 {
            return false;
        }
        if index & 1 == 1 || index == last {
            before = node_hash(step, &before);
            after = node_hash(step, &after);
            while index & 1 == 0 && index != 0 {
                (index, last) = (index >> 1, last >> 1);
            }
        } else {
            after = node_hash(&after, step);
        }
        (index, last) = (index >> 1, last >> 1);
    }
    last == 0 && before == *from_root && after == *to_root
}

/// The right edge of a growing tree. A reader of the leaves needs to keep only this to know the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frontier {
    /// Roots of full subtrees with their levels, largest first.
    peaks: Vec<(u32, Hash)>,
    size: u64,
}

impl Frontier {
    pub fn push(&mut self, leaf: Hash) {
        let (mut level, mut hash) = (0, leaf);
        while let Some((_, left)) = self.peaks.pop_if(|(peak, _)| *peak == level) {
            (level, hash) = (level + 1, node_hash(&left, &hash));
        }
        self.peaks.push((level, hash));
        self.size += 1;
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev().map(|(_, hash)| *hash);
        let Some(last) = peaks.next() else { return sha256_of(&[]) };
        peaks.fold(last, |right, left| node_hash(&left, &right))
    }
}
