//! The search index: the content of its published document, and what queries read from it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::lsa::{self, Sparse};
use super::tokens::tokens;

/// Documents of an index, at most: those that began last.
pub const MAX_DOCUMENTS: usize = 5_000;
/// Documents that the subspace is learned from, at most; they are spread over all.
const MAX_TRAINING: usize = 2_000;
/// Terms of an index, at most: those in the most documents.
const MAX_TERMS: usize = 8_000;
/// Dimensions of the subspace. Chosen together with the weights below on the shutdown table (1,152 texts): with 16 to
/// 32 dimensions causes are found best (precision at five 0.34 to 0.36), with 64 worse (0.32), with 128 as well as with
/// BM25 (0.30).
pub const RANK: usize = 24;

/// Parameters of BM25 (Robertson and Zaragoza 2009).
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// A text to index, and the values that queries filter by.
#[derive(Debug, Clone)]
pub struct Text {
    pub id: String,
    pub country: String,
    /// `censorship`, `disruption` or `mixed`.
    pub kind: String,
    pub confidence: f32,
    pub text: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    pub id: String,
    pub country: String,
    pub kind: String,
    pub confidence: f32,
    /// Number of words.
    length: u32,
    /// (term, count), in the order of terms.
    terms: Vec<(u32, u16)>,
    /// Its position in the subspace, -127 to 127 in each dimension.
    place: Vec<i8>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Index {
    /// Sorted.
    terms: Vec<String>,
    idf: Vec<f32>,
    pub entries: Vec<Entry>,
    mean_length: f32,
    rank: usize,
    /// The subspace: for each term a scale and `rank` numbers.
    scales: Vec<f32>,
    space: Vec<i8>,
    /// The positions of the entries among the operator's word vectors ([`super::vectors`]), if there are any. They are
    /// computed where the index is read.
    #[serde(skip)]
    pub near: Vec<i8>,
    #[serde(skip)]
    columns: Columns,
}

/// The data that a query needs of all entries, computed where the index is read.
#[derive(Debug, Clone, Default)]
struct Columns {
    /// For each term, where its part of `postings` begins; then the end of the last part.
    starts: Vec<usize>,
    /// The entries that contain a term, and what the term adds to their BM25 score when the query has it once.
    postings: Vec<(u32, f32)>,
    /// Positions in the subspace, one entry after the other, each [`padded`]. Every query multiplies all of them.
    places: Vec<f32>,
    /// The different countries, sorted, and for each entry the index of its country.
    countries: Vec<String>,
    country: Vec<u16>,
}

/// How well one entry matches a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    pub bm25: f32,
    pub lsa: f32,
    /// Share of the query's word weights that the entry contains, 0 to 1.
    pub shared: f32,
}

impl Index {
    pub fn build(texts: &[Text]) -> Index {
        let counted: Vec<BTreeMap<String, u16>> =
            texts.iter().take(MAX_DOCUMENTS).map(|text| count(&text.text)).collect();
        let terms = vocabulary(&counted);
        let number = |word: &str| terms.binary_search_by(|term| term.as_str().cmp(word)).ok();
        let mut frequency = vec![0u32; terms.len()];
        let mut entries = Vec::with_capacity(counted.len());
        for (text, words) in texts.iter().zip(&counted) {
            let found = words.iter().filter_map(|(word, count)| Some((u32::try_from(number(word)?).ok()?, *count)));
            let found: Vec<(u32, u16)> = found.collect();
            for (term, _) in &found {
                frequency.get_mut(*term as usize).into_iter().for_each(|frequency| *frequency += 1);
            }
            entries.push(Entry {
                id: text.id.clone(),
                country: text.country.clone(),
                kind: text.kind.clone(),
                confidence: text.confidence,
                length: words.values().map(|count| u32::from(*count)).sum(),
                terms: found,
                place: Vec::new(),
            });
        }
        let n = entries.len() as f32;
        let idf: Vec<f32> =
            frequency.iter().map(|df| (1.0 + (n - *df as f32 + 0.5) / (*df as f32 + 0.5)).ln()).collect();
        let total: u64 = entries.iter().map(|entry| u64::from(entry.length)).sum();
        let mean_length = if entries.is_empty() { 1.0 } else { (total as f32 / n).max(1.0) };
        let mut index = Index { terms, idf, entries, mean_length, ..Index::default() };
        index.learn();
        index.open()
    }

    /// Prepares the index for queries, which is needed after decoding.
    pub fn open(mut self) -> Index {
        let mut starts = vec![0; self.terms.len() + 1];
        for (term, _) in self.entries.iter().flat_map(|entry| &entry.terms) {
            starts.get_mut(*term as usize + 1).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        starts.iter_mut().for_each(|start| {
            sum += *start;
            *start = sum;
        });
        let mut next = starts.clone();
        let mut postings = vec![(0, 0.0); sum];
        for (at, entry) in (0..).zip(&self.entries) {
            for (term, count) in &entry.terms {
                let Some(next) = next.get_mut(*term as usize) else { continue };
                let part = self.bm25(entry, *term, *count);
                postings.get_mut(*next).into_iter().for_each(|posting| *posting = (at, part));
                *next += 1;
            }
        }
        let places =
            self.entries.iter().flat_map(|entry| padded(entry.place.iter().map(|part| f32::from(*part)))).collect();
        let different: BTreeSet<&String> = self.entries.iter().map(|entry| &entry.country).collect();
        let countries: Vec<String> = different.into_iter().cloned().collect();
        let number = |entry: &Entry| countries.binary_search(&entry.country).ok().and_then(|at| u16::try_from(at).ok());
        let country = self.entries.iter().map(|entry| number(entry).unwrap_or(u16::MAX)).collect();
        self.columns = Columns { starts, postings, places, countries, country };
        self
    }

    /// For each entry, whether it is of one of these countries.
    pub fn of_countries(&self, named: &[&str]) -> Vec<bool> {
        let Columns { countries, country, .. } = &self.columns;
        let wanted: Vec<bool> = countries.iter().map(|code| named.contains(&code.as_str())).collect();
        country.iter().map(|at| wanted.get(usize::from(*at)) == Some(&true)).collect()
    }

    /// Learns the subspace and computes the position of every entry in it.
    fn learn(&mut self) {
        let documents: Vec<Sparse> = self.entries.iter().map(|entry| self.weights(&entry.terms)).collect();
        let step = documents.len().div_ceil(MAX_TRAINING).max(1);
        let training: Vec<Sparse> = documents.iter().step_by(step).cloned().collect();
        let space = lsa::train(&training, self.terms.len(), RANK);
        for (entry, document) in self.entries.iter_mut().zip(&documents) {
            entry.place = space.place(document).iter().map(|part| (part * 127.0).round() as i8).collect();
        }
        self.rank = space.rank;
        if space.rank > 0 {
            for row in space.rows.chunks_exact(space.rank) {
                let scale = row.iter().fold(0.0f32, |most, part| most.max(part.abs())) / 127.0;
                self.scales.push(scale);
                let small = |part: &f32| if scale > 0.0 { (part / scale).round() as i8 } else { 0 };
                self.space.extend(row.iter().map(small));
            }
        }
    }

    /// Weights of counts, as a vector of length 1: the logarithm of the count times the square root of the inverse
    /// document frequency, so that rare words do not take up the few dimensions.
    fn weights(&self, terms: &[(u32, u16)]) -> Sparse {
        let idf = |term: u32| self.idf.get(term as usize).copied().unwrap_or_default();
        let mut weights: Sparse =
            terms.iter().map(|(term, count)| (*term, (1.0 + f32::from(*count).ln()) * idf(*term).sqrt())).collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f32>().sqrt();
        if length > 0.0 {
            weights.iter_mut().for_each(|(_, weight)| *weight /= length);
        }
        weights
    }

    /// The weight of a word in a query: the square root of its inverse document frequency. An unknown word counts as
    /// one that occurs in a single document.
    pub fn weight(&self, word: &str) -> f32 {
        let known = self.terms.binary_search_by(|term| term.as_str().cmp(word)).ok().and_then(|at| self.idf.get(at));
        let rarest = (1.0 + (self.entries.len() as f32 - 0.5) / 1.5).max(1.0).ln();
        known.copied().unwrap_or(rarest).max(f32::EPSILON).sqrt()
    }

    /// The sum of the weights of the words in a query, each counted once.
    pub fn says(&self, query: &str) -> f32 {
        count(query).keys().map(|word| self.weight(word)).sum()
    }

    /// The number of different words in a query.
    pub fn words_in(&self, query: &str) -> usize {
        count(query).len()
    }

    /// The sum of the weights of these terms.
    pub fn says_of(&self, terms: &[(u32, u16)]) -> f32 {
        terms.iter().map(|(term, _)| self.weight_of(*term)).sum()
    }

    fn weight_of(&self, term: u32) -> f32 {
        self.idf.get(term as usize).copied().unwrap_or_default().max(f32::EPSILON).sqrt()
    }

    /// The terms of a query that the index knows.
    pub fn known(&self, query: &str) -> Vec<(u32, u16)> {
        let number = |word: &String| self.terms.binary_search(word).ok().and_then(|at| u32::try_from(at).ok());
        count(query).iter().filter_map(|(word, count)| Some((number(word)?, *count))).collect()
    }

    /// The words of an entry that are among these terms.
    pub fn shared<'a>(&'a self, entry: &Entry, query: &[(u32, u16)]) -> Vec<&'a str> {
        let shared = query.iter().filter(|(term, _)| entry.terms.binary_search_by_key(term, |(t, _)| *t).is_ok());
        shared.filter_map(|(term, _)| self.terms.get(*term as usize)).map(String::as_str).collect()
    }

    /// The words of an entry with their weights, for word vectors.
    pub fn words<'a>(&'a self, terms: &'a [(u32, u16)]) -> impl Iterator<Item = (&'a str, f32)> {
        let weights = self.weights(terms);
        weights.into_iter().filter_map(|(term, weight)| Some((self.terms.get(term as usize)?.as_str(), weight)))
    }

    pub fn terms_of<'a>(&self, entry: &'a Entry) -> &'a [(u32, u16)] {
        &entry.terms
    }

    /// How well every entry matches a query, in the order of the entries. `says` is the weight of all words of the
    /// query.
    pub fn scores(&self, query: &[(u32, u16)], says: f32) -> Vec<Scores> {
        let place = self.place(query);
        let length: f32 = place.iter().map(|part| part * part).sum::<f32>().sqrt();
        let mut scores = vec![Scores { bm25: 0.0, lsa: 0.0, shared: 0.0 }; self.entries.len()];
        if length > 1e-6 {
            let place = padded(place.into_iter());
            for (score, own) in scores.iter_mut().zip(self.columns.places.chunks_exact(place.len())) {
                score.lsa = product(own, &place) / (127.0 * length);
            }
        }
        for (term, asked) in query {
            let share = if says > 0.0 { self.weight_of(*term) / says } else { 0.0 };
            for (at, part) in self.postings(*term) {
                scores.get_mut(*at as usize).into_iter().for_each(|score| {
                    score.bm25 += f32::from(*asked).min(3.0) * part;
                    score.shared += share;
                });
            }
        }
        scores
    }

    fn postings(&self, term: u32) -> &[(u32, f32)] {
        let Columns { starts, postings, .. } = &self.columns;
        let bound = |at: usize| starts.get(at).copied().unwrap_or_default();
        postings.get(bound(term as usize)..bound(term as usize + 1)).unwrap_or_default()
    }

    /// What a term adds to the score of an entry that contains it `count` times.
    fn bm25(&self, entry: &Entry, term: u32, count: u16) -> f32 {
        let norm = K1 * (1.0 - B + B * entry.length as f32 / self.mean_length);
        let idf = self.idf.get(term as usize).copied().unwrap_or_default();
        let count = f32::from(count);
        idf * count * (K1 + 1.0) / (count + norm)
    }

    fn place(&self, query: &[(u32, u16)]) -> Vec<f32> {
        let mut place = vec![0.0; self.rank];
        for (term, weight) in self.weights(query) {
            let at = term as usize;
            let scale = self.scales.get(at).copied().unwrap_or_default() * weight;
            if let Some(row) = self.space.get(at * self.rank..(at + 1) * self.rank) {
                place.iter_mut().zip(row).for_each(|(to, part)| *to += scale * f32::from(*part));
            }
        }
        place
    }
}

/// Numbers that are multiplied and added at the same time.
const LANES: usize = 8;

/// Filled with zeros up to whole lanes.
fn padded(numbers: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut padded: Vec<f32> = numbers.collect();
    padded.resize(padded.len().next_multiple_of(LANES), 0.0);
    padded
}

/// The scalar product of two [`padded`] rows. Each lane has its own sum, because with a single sum each addition would
/// wait for the one before.
fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.as_chunks::<LANES>().0.iter().zip(b.as_chunks::<LANES>().0) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

fn count(text: &str) -> BTreeMap<String, u16> {
    let mut counts: BTreeMap<String, u16> = BTreeMap::new();
    for word in tokens(text) {
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    counts
}

/// All words, sorted; only the most common ones when there are too many.
fn vocabulary(documents: &[BTreeMap<String, u16>]) -> Vec<String> {
    let mut frequency: BTreeMap<&str, u32> = BTreeMap::new();
    for word in documents.iter().flat_map(BTreeMap::keys) {
        *frequency.entry(word).or_default() += 1;
    }
    let mut words: Vec<(&str, u32)> = frequency.into_iter().collect();
    if words.len() > MAX_TERMS {
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        words.truncate(MAX_TERMS);
        words.sort_unstable();
    }
    words.into_iter().map(|(word, _)| word.to_owned()).collect()
}
