//! The tree over the log (decision ledger-log), compared with the published vectors of RFC 6962's reference code, whose
//! tree is that of RFC 9162, and with a tree built by the definition.

use crate::merkle::{
    Frontier, Hash, StoredTree, append, consistency, inclusion, is_consistent, is_included, leaf, leaf_hash, node_hash,
    root,
};
use crypto::encoding::encode_hex;
use crypto::hash::sha256_of;
use engine::kv::{Change, MemoryStore, Overlay, Store};

/// A stored tree over these leaf hashes.
fn tree(leaves: &[Hash]) -> MemoryStore {
    let mut store = MemoryStore::default();
    let mut space = Overlay::new(&store);
    for (seq, leaf) in leaves.iter().enumerate() {
        append(&mut space, seq as u64, *leaf, &[seq as u8; 16]).unwrap();
    }
    let batch = space.into_batch();
    store.apply(batch).unwrap();
    store
}

/// The tree hash by its definition (RFC 9162, 2.1.1).
fn defined(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => sha256_of(&[]),
        [one] => *one,
        many => {
            let mut left = 1;
            while left * 2 < many.len() {
                left *= 2;
            }
            node_hash(&defined(&many[..left]), &defined(&many[left..]))
        }
    }
}

const LEAVES: [&[u8]; 8] = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    b"\x50\x51\x52\x53\x54\x55\x56\x57",
    b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
];

const ROOTS: [&str; 8] = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

const A: &str = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7";
const B: &str = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e";
const C: &str = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4";
const D: &str = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b";
const E: &str = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0";
const F: &str = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a";

fn published() -> Vec<Hash> {
    LEAVES.iter().map(|data| leaf_hash(data)).collect()
}

fn texts(path: Vec<Hash>) -> Vec<String> {
    path.iter().map(|hash| encode_hex(hash)).collect()
}

#[test]
fn roots_are_those_of_the_published_vectors() {
    let store = tree(&published());
    let mut frontier = Frontier::default();
    assert_eq!(encode_hex(&frontier.root()), encode_hex(&sha256_of(&[])));
    for (size, expected) in ROOTS.iter().enumerate() {
        frontier.push(published()[size]);
        assert_eq!(encode_hex(&root(&StoredTree(&store), size as u64 + 1).unwrap()), *expected);
        assert_eq!(encode_hex(&frontier.root()), *expected);
    }
}

#[test]
fn paths_are_those_of_the_published_vectors() {
    let store = tree(&published());
    let nodes = StoredTree(&store);
    for (seq, size, path) in [
        (0, 1, vec![]),
        (0, 8, vec![A, B, C]),
        (5, 8, vec![D, E, ROOTS[3]]),
        (2, 3, vec![ROOTS[1]]),
        (1, 5, vec![ROOTS[0], B, D]),
    ] {
        assert_eq!(texts(inclusion(&nodes, seq, size).unwrap()), path, "{seq} of {size}");
    }
    for (from, to, path) in [(1, 1, vec![]), (1, 8, vec![A, B, C]), (6, 8, vec![F, E, ROOTS[3]]), (2, 5, vec![B, D])] {
        assert_eq!(texts(consistency(&nodes, from, to).unwrap()), path, "{from} to {to}");
    }
}

#[test]
fn inclusion_and_consistency_hold_for_all_sizes_to_130_and_for_nothing_else() {
    let leaves: Vec<Hash> = (0..130_u8).map(|n| leaf_hash(&[n])).collect();
    let store = tree(&leaves);
    let nodes = StoredTree(&store);
    let roots: Vec<Hash> = (0..=leaves.len()).map(|size| defined(&leaves[..size])).collect();
    let wrong = leaf_hash(b"wrong");
    for size in 1..=130_u64 {
        let of = |size: u64| roots[size as usize];
        assert_eq!(root(&nodes, size).unwrap(), of(size));
        for seq in 0..size {
            let own = leaves[seq as usize];
            assert_eq!(leaf(&store, seq).unwrap(), Some((own, [seq as u8; 16])));
            let path = inclusion(&nodes, seq, size).unwrap();
            assert!(is_included(&own, seq, size, &path, &of(size)));
            assert!(!is_included(&wrong, seq, size, &path, &of(size)));
            assert!(!is_included(&own, seq, size, &path, &wrong));
            assert!(!is_included(&own, size, size, &path, &of(size)));
            let mut other = path.clone();
            other.push(wrong);
            assert!(!is_included(&own, seq, size, &other, &of(size)));
            if let Some(first) = path.first() {
                assert!(!is_included(&own, seq, size, &path[1..], &of(size)));
                assert!(!is_included(&own, seq ^ 1, size, &path, &of(size)) || leaves[(seq ^ 1) as usize] == own);
                other = path.clone();
                other[0] = node_hash(first, first);
                assert!(!is_included(&own, seq, size, &other, &of(size)));
            }
        }
        for from in 1..=size {
            let path = consistency(&nodes, from, size).unwrap();
            assert!(is_consistent(from, size, &of(from), &of(size), &path), "{from} to {size}");
            assert!(!is_consistent(from, size, &wrong, &of(size), &path));
            assert!(!is_consistent(from, size, &of(from), &wrong, &path));
            let longer = [path.as_slice(), &[wrong]].concat();
            assert!(!is_consistent(from, size, &of(from), &of(size), &longer));
            if from < size {
                assert!(!is_consistent(from, size, &of(from), &of(size), &[]));
                assert!(!is_consistent(from + 1, size, &of(from), &of(size), &path) || from + 1 == size);
            }
        }
    }
    assert_eq!(leaf(&store, 130).unwrap(), None);
}

/// An append costs one small row, and one more for every tile that it fills.
#[test]
fn an_append_writes_one_small_row() {
    let mut store = MemoryStore::default();
    for seq in 0..4_200_u64 {
        let mut space = Overlay::new(&store);
        append(&mut space, seq, leaf_hash(&seq.to_be_bytes()), &[0; 16]).unwrap();
        let batch = space.into_batch();
        let size = |change: &Change| if let Change::Put(value) = change { value.len() } else { 0 };
        let (rows, bytes) = (batch.len(), batch.iter().map(|(_, change)| size(change)).sum::<usize>());
        let filled = usize::from((seq + 1) % 64 == 0) + usize::from((seq + 1) % 4_096 == 0);
        assert_eq!(rows, 1 + filled);
        assert!(bytes <= 3_100 + 2_100 * filled, "{bytes} bytes");
        store.apply(batch).unwrap();
    }
    let mut frontier = Frontier::default();
    (0..4_200_u64).for_each(|seq| frontier.push(leaf_hash(&seq.to_be_bytes())));
    assert_eq!(root(&StoredTree(&store), 4_200).unwrap(), frontier.root());
}
