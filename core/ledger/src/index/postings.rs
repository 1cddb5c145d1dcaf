//! Sets of offer numbers by trigram: one row for each block of numbers and trigram says which numbers of the block have
//! the trigram in a text.
//!
//! The block comes first in the key, so that offers that are listed at the same time change rows that lie together.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::Result;
use engine::kv::{Read, Row, StoreError, Table, Write};

/// Numbers in one row.
const BLOCK: u64 = 4_096;
/// Most trigrams of a searched text that are looked up. The offers that have them are compared with the whole text.
const LOOKED_UP: usize = 6;

/// Numbers of a block, as [`Bits::pack`] writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Packed(#[serde(with = "engine::kv::bytes")] Vec<u8>);
impl Row for Packed {}

const POSTINGS: Table<(u32, String), Packed> = Table::new(21);

const WORDS: usize = BLOCK as usize / 64;
/// Size of all bits of a block, in bytes. A shorter row is a list.
const WHOLE: usize = WORDS * 8;

/// Numbers of one block, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bits([u64; WORDS]);

impl Bits {
    const NONE: Bits = Bits([0; WORDS]);

    fn set(&mut self, offset: u64, on: bool) {
        let Some(word) = self.0.get_mut((offset / 64) as usize) else { return };
        let bit = 1 << (offset % 64);
        *word = if on { *word | bit } else { *word & !bit };
    }

    fn has(&self, offset: u64) -> bool {
        self.0.get((offset / 64) as usize).is_some_and(|word| word >> (offset % 64) & 1 == 1)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn and(&mut self, other: &Bits) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
    }

    fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).zip(self.0).flat_map(|(place, mut word)| {
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| u64::from(word.trailing_zeros()))?;
                word &= word - 1;
                Some(place * 64 + bit)
            })
        })
    }

    /// Writes a list of offsets, or all bits where a list would take as many bytes or more.
    fn pack(&self) -> Packed {
        Packed(match self.len() * 2 < WHOLE {
            true => self.iter().flat_map(|offset| (offset as u16).to_be_bytes()).collect(),
            false => self.0.iter().flat_map(|word| word.to_be_bytes()).collect(),
        })
    }

    fn unpack(Packed(bytes): &Packed) -> Bits {
        let mut bits = Bits::NONE;
        if bytes.len() == WHOLE {
            let (words, _) = bytes.as_chunks::<8>();
            bits.0.iter_mut().zip(words).for_each(|(word, bytes)| *word = u64::from_be_bytes(*bytes));
        } else {
            let (offsets, _) = bytes.as_chunks::<2>();
            offsets.iter().for_each(|bytes| bits.set(u64::from(u16::from_be_bytes(*bytes)), true));
        }
        bits
    }
}

/// All trigrams of the texts, each once: three characters that follow each other.
fn trigrams<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let of = |text: &'a str| {
        let starts = text.char_indices().map(|(at, _)| at);
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).skip(2);
        starts.zip(ends).filter_map(|(start, end)| text.get(start..end))
    };
    texts.into_iter().flat_map(of).collect()
}

fn place(number: u64) -> (u32, u64) {
    (u32::try_from(number / BLOCK).unwrap_or(u32::MAX), number % BLOCK)
}

/// With `on` adds `number` to the sets of all trigrams of these texts, otherwise removes it. Changes a row for each
/// trigram.
pub fn mark(space: &mut (impl Write + ?Sized), number: u64, texts: &[String], on: bool) -> Result<()> {
    let (block, offset) = place(number);
    for trigram in trigrams(texts.iter().map(String::as_str)) {
        let key = (block, trigram.to_owned());
        let mut bits = POSTINGS.get(space, &key)?.as_ref().map_or(Bits::NONE, Bits::unpack);
        bits.set(offset, on);
        match bits == Bits::NONE {
            true => POSTINGS.delete(space, &key),
            false => POSTINGS.put(space, &key, &bits.pack())?,
        }
    }
    Ok(())
}

/// Numbers of offers that may have a text.
#[derive(Debug, Default)]
pub struct Numbers(BTreeMap<u32, Bits>);

impl Numbers {
    /// The numbers below `end` that have the trigrams of `text`; `None` when the text is too short to have one.
    pub fn having(view: &(impl Read + ?Sized), end: u64, text: &str) -> Result<Option<Numbers>, StoreError> {
        // Trigrams over the border between two words are rarer than those inside a word.
        let (between, within): (Vec<&str>, Vec<&str>) =
            trigrams([text]).into_iter().partition(|trigram| trigram.contains(' '));
        let rest = LOOKED_UP - between.len().min(LOOKED_UP / 2);
        let step = within.len().div_ceil(rest).max(1);
        let looked_up: Vec<&str> =
            between.into_iter().take(LOOKED_UP / 2).chain(within.into_iter().step_by(step)).collect();
        if looked_up.is_empty() {
            return Ok(None);
        }
        let mut numbers = Numbers::default();
        for block in 0..place(end + BLOCK - 1).0 {
            if let Some(bits) = in_block(view, block, &looked_up)? {
                numbers.0.insert(block, bits);
            }
        }
        Ok(Some(numbers))
    }

    pub fn len(&self) -> usize {
        self.0.values().map(Bits::len).sum()
    }

    pub fn has(&self, number: u64) -> bool {
        let (block, offset) = place(number);
        self.0.get(&block).is_some_and(|bits| bits.has(offset))
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|(block, bits)| bits.iter().map(move |offset| u64::from(*block) * BLOCK + offset))
    }
}

/// The numbers of a block with all these trigrams; `None` when there are none.
fn in_block(view: &(impl Read + ?Sized), block: u32, trigrams: &[&str]) -> Result<Option<Bits>, StoreError> {
    let mut found: Option<Bits> = None;
    for trigram in trigrams {
        let Some(packed) = POSTINGS.get(view, &(block, (*trigram).to_owned()))? else { return Ok(None) };
        let bits = Bits::unpack(&packed);
        match &mut found {
            None => found = Some(bits),
            Some(found) => found.and(&bits),
        }
        if found.as_ref() == Some(&Bits::NONE) {
            return Ok(None);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_survive_packing_at_every_size() {
        let mut bits = Bits::NONE;
        for n in 0..BLOCK {
            let offset = n * 2_741 % BLOCK;
            assert!(!bits.has(offset));
            bits.set(offset, true);
            if n.is_multiple_of(37) || (250..260).contains(&n) {
                let packed = bits.pack();
                assert!(packed.0.len() <= WHOLE && packed.0.len() <= 2 * bits.len());
                assert_eq!(Bits::unpack(&packed), bits);
                assert_eq!((bits.iter().count(), bits.len()), (n as usize + 1, n as usize + 1));
                assert!(bits.iter().all(|offset| bits.has(offset)));
            }
        }
        bits.set(17, false);
        assert!(!bits.has(17) && bits.len() == BLOCK as usize - 1);
    }

    #[test]
    fn trigrams_are_of_characters_and_do_not_reach_over_texts() {
        let of = |texts: &[&str]| trigrams(texts.iter().copied()).into_iter().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(of(&["abcabc"]), ["abc", "bca", "cab"]);
        assert_eq!(of(&["ab", "cd", ""]), [""; 0]);
        assert_eq!(of(&["日本語だ", "ab"]), ["日本語", "本語だ"]);
    }
}
