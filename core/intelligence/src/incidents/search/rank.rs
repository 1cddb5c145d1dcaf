//! Turns scores into ranks: reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), times how much of the query an
//! entry answers. Ranks alone would call the best of many useless results good (decision what-numbers-mean).

use super::index::{Entry, Index};
use super::vectors::Vectors;
use crate::claims;

/// Dampens the difference between the first ranks.
const DAMPING: f32 = 60.0;

/// Ranks of one method that count. Later ranks would add almost nothing.
const DEPTH: usize = 1_000;

/// A score up to this value counts as none.
const LEAST: f32 = 1e-4;

/// An entry that answers less of a query than this is not related to it. Our choice: about one common word in a long
/// query.
const RELEVANT: f32 = 0.1;
/// Incidents understand a query when their words make up so much of it. One word in common with a query about something
/// else ("cat videos") is chance, and the subspace would only say what that word is like. Our choice.
const UNDERSTOOD: f32 = 0.75;
/// Of a query that is not understood, an entry must have more than so many words of mean weight, or more than half of
/// it. Our choice.
const WORDS: f32 = 1.5;
const HALF: f32 = 0.5;
/// How much of a query an entry answers when only its country matches. Our choice.
const PLACE: f32 = 0.5;

/// Cosines in the subspace up to this value arise by chance. Our choice.
const CHANCE: f32 = 0.5;

fn likeness(cosine: f32) -> f32 {
    (cosine - CHANCE).max(0.0) / (1.0 - CHANCE)
}

/// How much of a query of so many different words an entry answers by the words that both have, and by its position in
/// the subspace.
fn own(shared: f32, lsa: f32, understood: f32, words: usize) -> f32 {
    if understood >= UNDERSTOOD {
        return shared.max(likeness(lsa) * understood);
    }
    let least = (WORDS / words.max(1) as f32).clamp(RELEVANT, HALF);
    // A word that no incident has weighs as much as one of a single incident.
    if shared > least + f32::EPSILON { shared } else { 0.0 }
}

/// A method of comparing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Bm25,
    Lsa,
    Vectors,
    /// Finds the incidents of the countries that a query names.
    Place,
}

/// A found entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its index among the entries.
    pub at: usize,
    /// 0 to 1. It is 1 when every method ranks the entry first and it answers the whole query.
    pub score: f32,
    /// The rank in each method that found it, from 1.
    pub ranks: Vec<(Method, usize)>,
}

/// The best `k` entries that `admit` accepts, best first. Entries of equal score are in the order of the index.
pub fn search(
    index: &Index,
    vectors: Option<&Vectors>,
    query: &str,
    methods: &[Method],
    k: usize,
    admit: &dyn Fn(usize, &Entry) -> bool,
) -> Vec<Hit> {
    let known = index.known(query);
    let (says, words) = (index.says(query), index.words_in(query));
    let scores = index.scores(&known, says);
    // Words that no incident contains reduce how much of the query the other words can answer.
    let understood = if says > 0.0 { index.says_of(&known) / says } else { 0.0 };
    let near = vectors.map(|vectors| vectors.similarities(index, query)).unwrap_or_default();
    let entries = (0u32..).zip(&index.entries);
    let admitted: Vec<u32> = entries.filter(|(at, entry)| admit(*at as usize, entry)).map(|(at, _)| at).collect();
    let named = if methods.contains(&Method::Place) { claims::countries_named(query) } else { Vec::new() };
    let mut orders: Vec<(Method, Order)> = Vec::with_capacity(methods.len());
    for method in methods {
        let mut order = match method {
            Method::Bm25 => found(&admitted, |at| scores.get(at).map_or(0.0, |score| score.bm25)),
            Method::Lsa => found(&admitted, |at| scores.get(at).map_or(0.0, |score| score.lsa)),
            Method::Vectors if vectors.is_some() => found(&admitted, |at| near.get(at).copied().unwrap_or_default()),
            Method::Place if !named.is_empty() => {
                let of = index.of_countries(&named);
                found(&admitted, |at| f32::from(u8::from(of.get(at) == Some(&true))))
            }
            Method::Vectors | Method::Place => continue,
        };
        if *method != Method::Place {
            best(&mut order, DEPTH);
        }
        orders.push((*method, order));
    }
    let of = if named.is_empty() { Vec::new() } else { index.of_countries(&named) };
    let relevance = |at: usize| {
        let own = scores.get(at).map_or(0.0, |score| own(score.shared, score.lsa, understood, words));
        let place = if of.get(at) == Some(&true) { PLACE } else { 0.0 };
        own.max(likeness(near.get(at).copied().unwrap_or_default())).max(place).min(1.0)
    };
    fuse(&orders, index.entries.len(), k, &relevance)
}

/// Entries that a method found and their scores, best first. They are [`packed`], so they sort as numbers.
type Order = Vec<u64>;

/// Packs the index of an entry and its positive score into a number. The number is lower for a higher score, and among
/// equal scores for a lower index. Positive floats sort like their bits (IEEE 754).
fn packed(at: u32, score: f32) -> u64 {
    u64::from(!score.to_bits()) << 32 | u64::from(at)
}

fn unpacked(packed: u64) -> (usize, f32) {
    let at = packed & u64::from(u32::MAX);
    (at as usize, f32::from_bits(!((packed >> 32) as u32)))
}

/// The admitted entries that have a score.
fn found(admitted: &[u32], score: impl Fn(usize) -> f32) -> Order {
    let scored = admitted.iter().map(|at| (*at, score(*at as usize)));
    scored.filter(|(_, score)| *score > LEAST).map(|(at, score)| packed(at, score)).collect()
}

/// Fuses the orders of several methods, whose indices are below `places`. Returns the best `k` entries that are
/// relevant.
fn fuse(orders: &[(Method, Order)], places: usize, k: usize, relevance: &dyn Fn(usize) -> f32) -> Vec<Hit> {
    let used = orders.len().max(1) as f32;
    let mut scores = vec![0.0f32; places];
    // For each method the rank of every entry; 0 where it was not found.
    let mut by_method: Vec<(Method, Vec<u16>)> = Vec::with_capacity(orders.len());
    for (method, order) in orders {
        let mut ranks = vec![0; places];
        for (entry, rank) in order.iter().zip(1..=u16::MAX) {
            // A country either matches or not, so all its incidents share the first rank.
            let rank = if *method == Method::Place { 1 } else { rank };
            let (at, _) = unpacked(*entry);
            ranks.get_mut(at).into_iter().for_each(|own| *own = rank);
            scores.get_mut(at).into_iter().for_each(|own| *own += (DAMPING + 1.0) / (DAMPING + f32::from(rank)));
        }
        by_method.push((*method, ranks));
    }
    let scored = (0..).zip(scores).filter(|(_, score)| *score > 0.0);
    let scored = scored.filter_map(|(at, score)| {
        let relevant = relevance(at as usize);
        (relevant >= RELEVANT).then_some((at, score * relevant))
    });
    let mut all: Order = scored.map(|(at, score)| packed(at, score)).collect();
    best(&mut all, k);
    let hit = |entry: u64| {
        let (at, score) = unpacked(entry);
        let rank = |ranks: &[u16]| ranks.get(at).copied().filter(|rank| *rank > 0).map(usize::from);
        let ranks = by_method.iter().filter_map(|(method, ranks)| Some((*method, rank(ranks)?))).collect();
        Hit { at, score: score / used, ranks }
    };
    all.into_iter().map(hit).collect()
}

/// Sorts the `most` highest scores. The others are dropped without sorting, since sorting is most of the work of a
/// query over a large corpus.
fn best(all: &mut Order, most: usize) {
    if all.len() > most {
        all.select_nth_unstable(most);
        all.truncate(most);
    }
    all.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_equal_ones_in_the_order_of_the_index() {
        let scores = [0.0, 0.5, 1e-3, 0.5, 7.25, LEAST, f32::MAX, -1.0];
        let all: Vec<u32> = (0..8).collect();
        let mut order = found(&all, |at| scores[at]);
        best(&mut order, 4);
        let order: Vec<(usize, f32)> = order.into_iter().map(unpacked).collect();
        assert_eq!(order, [(6, f32::MAX), (4, 7.25), (1, 0.5), (3, 0.5)]);
    }
}
