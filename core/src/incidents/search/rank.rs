//! From scores to ranks: reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).

use super::index::{Entry, Index};
use super::vectors::Vectors;
use crate::claims;

/// Dampens the difference between the first ranks.
const DAMPING: f32 = 60.0;

/// Ranks of one method that count: what comes later adds next to nothing.
const DEPTH: usize = 1_000;

/// A score up to this is none.
const LEAST: f32 = 1e-4;

/// One way to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Bm25,
    Lsa,
    Vectors,
    /// Incidents of the countries that a query names.
    Place,
}

/// A found entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its place in the index.
    pub at: usize,
    /// 0 to 1: 1 when every method ranks it first.
    pub score: f32,
    /// Ranks from 1 by method, where the method found it at all.
    pub ranks: Vec<(Method, usize)>,
}

/// The best `k` entries that `admit` lets through, best first; those of equal score in the order of the index.
pub fn search(
    index: &Index,
    vectors: Option<&Vectors>,
    query: &str,
    methods: &[Method],
    k: usize,
    admit: &dyn Fn(usize, &Entry) -> bool,
) -> Vec<Hit> {
    let known = index.known(query);
    let scores = index.scores(&known);
    let near = vectors.map(|vectors| vectors.similarities(index, query)).unwrap_or_default();
    let entries = (0u32..).zip(&index.entries);
    let admitted: Vec<u32> = entries.filter(|(at, entry)| admit(*at as usize, entry)).map(|(at, _)| at).collect();
    let named = if methods.contains(&Method::Place) { claims::countries_named(query) } else { Vec::new() };
    let found = |score: &dyn Fn(usize) -> f32| -> Order {
        admitted.iter().map(|at| (*at, score(*at as usize))).filter(|(_, score)| *score > LEAST).collect()
    };
    let country = |at: usize| index.entries.get(at).map(|entry| entry.country.as_str());
    let mut orders: Vec<(Method, Order)> = Vec::with_capacity(methods.len());
    for method in methods {
        let mut order = match method {
            Method::Bm25 => found(&|at| scores.get(at).map_or(0.0, |score| score.bm25)),
            Method::Lsa => found(&|at| scores.get(at).map_or(0.0, |score| score.lsa)),
            Method::Vectors if vectors.is_some() => found(&|at| near.get(at).copied().unwrap_or_default()),
            Method::Place if !named.is_empty() => {
                found(&|at| f32::from(u8::from(named.iter().any(|name| country(at) == Some(*name)))))
            }
            Method::Vectors | Method::Place => continue,
        };
        if *method != Method::Place {
            best(&mut order, DEPTH);
        }
        orders.push((*method, order));
    }
    fuse(&orders, index.entries.len(), k)
}

/// Entries that a method found with their scores, the best first.
type Order = Vec<(u32, f32)>;

/// Of the orders of several methods, of places below `places`, the best `k`.
fn fuse(orders: &[(Method, Order)], places: usize, k: usize) -> Vec<Hit> {
    let used = orders.len().max(1) as f32;
    let mut scores = vec![0.0f32; places];
    // By method the rank of every entry; 0 where it was not found.
    let mut by_method: Vec<(Method, Vec<u16>)> = Vec::with_capacity(orders.len());
    for (method, order) in orders {
        let mut ranks = vec![0; places];
        for ((at, _), rank) in order.iter().zip(1..=u16::MAX) {
            // A country is not more or less named: all its incidents share the first rank.
            let rank = if *method == Method::Place { 1 } else { rank };
            let at = *at as usize;
            ranks.get_mut(at).into_iter().for_each(|own| *own = rank);
            scores.get_mut(at).into_iter().for_each(|own| *own += (DAMPING + 1.0) / (DAMPING + f32::from(rank)));
        }
        by_method.push((*method, ranks));
    }
    let mut all: Order = (0..).zip(scores).filter(|(_, score)| *score > 0.0).collect();
    best(&mut all, k);
    let hit = |(at, score): (u32, f32)| {
        let at = at as usize;
        let rank = |ranks: &[u16]| ranks.get(at).copied().filter(|rank| *rank > 0).map(usize::from);
        let ranks = by_method.iter().filter_map(|(method, ranks)| Some((*method, rank(ranks)?))).collect();
        Hit { at, score: score / used, ranks }
    };
    all.into_iter().map(hit).collect()
}

/// The `most` of the highest scores in order; the rest is not sorted, which is most of the work of a query over a large
/// corpus.
fn best(all: &mut Order, most: usize) {
    let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
    if all.len() > most {
        all.select_nth_unstable_by(most, order);
        all.truncate(most);
    }
    all.sort_unstable_by(order);
}
