//! Word vectors from a file of the operator, as a further method of comparing.
//!
//! The file has the 10 bytes `HELIOVEC1\n`, then the number of dimensions (1 to 1,024) and the number of words as
//! 32-bit little-endian numbers. Then follows for each word its length in bytes as a 16-bit little-endian number, the
//! word in UTF-8 and lower case, and one signed byte per dimension. Words are looked up as written and by the stem that
//! the search uses.

use std::collections::BTreeMap;

use super::index::Index;
use super::tokens::tokens;

const MAGIC: &[u8] = b"HELIOVEC1\n";

/// Vectors by stem.
#[derive(Debug)]
pub struct Vectors {
    dimensions: usize,
    words: BTreeMap<String, Vec<i8>>,
}

impl Vectors {
    /// Reads a whole file. The error says what is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Vectors, &'static str> {
        let mut rest = bytes.strip_prefix(MAGIC).ok_or("it does not begin with HELIOVEC1")?;
        let dimensions =
            number(&mut rest).filter(|n| (1..=1_024).contains(n)).ok_or("its dimensions are not 1 to 1,024")?;
        let count = number(&mut rest).ok_or("it ends in its head")?;
        let mut words = BTreeMap::new();
        for _ in 0..count {
            const ENDS: &str = "it ends before its last word";
            let (length, after) = rest.split_first_chunk::<2>().ok_or(ENDS)?;
            let (word, after) = after.split_at_checked(u16::from_le_bytes(*length).into()).ok_or(ENDS)?;
            let (vector, after) = after.split_at_checked(dimensions).ok_or(ENDS)?;
            let word = std::str::from_utf8(word).map_err(|_| "a word is not UTF-8")?;
            // Of several forms of a word the first one stays, because files begin with common words.
            if let [stem] = &tokens(word)[..] {
                words
                    .entry(stem.clone())
                    .or_insert_with(|| vector.iter().map(|byte| i8::from_le_bytes([*byte])).collect());
            }
            rest = after;
        }
        if rest.is_empty() { Ok(Vectors { dimensions, words }) } else { Err("something follows its last word") }
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Cosine of the query and each entry, in the order of the entries; 0 where either has no word with a vector. The
    /// query may have words that no entry contains.
    pub fn similarities(&self, index: &Index, query: &str) -> Vec<f32> {
        let words = tokens(query);
        let asked = self.mean(words.iter().map(|word| (word.as_str(), index.weight(word))));
        let cosine = |place: &[i8]| asked.iter().zip(place).map(|(a, b)| a * f32::from(*b)).sum::<f32>() / 127.0;
        index.near.chunks_exact(self.dimensions).map(cosine).collect()
    }

    /// The positions of the entries of an index, -127 to 127 in each dimension, one entry after the other.
    pub fn places(&self, index: &Index) -> Vec<i8> {
        let place = |entry| self.mean(index.words(index.terms_of(entry)));
        let small = |part: f32| (part * 127.0).round() as i8;
        index.entries.iter().flat_map(|entry| place(entry).into_iter().map(small)).collect()
    }

    /// The weighted mean of the vectors of words, scaled to length 1.
    fn mean<'a>(&self, words: impl Iterator<Item = (&'a str, f32)>) -> Vec<f32> {
        let mut sum = vec![0.0f32; self.dimensions];
        for (word, weight) in words {
            if let Some(vector) = self.words.get(word) {
                sum.iter_mut().zip(vector).for_each(|(to, part)| *to += weight * f32::from(*part));
            }
        }
        let length = sum.iter().map(|part| part * part).sum::<f32>().sqrt();
        if length > 0.0 {
            sum.iter_mut().for_each(|part| *part /= length);
        }
        sum
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (bytes, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}
