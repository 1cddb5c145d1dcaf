//! From scores to ranks: reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).

use super::index::{Entry, Index};
use super::vectors::Vectors;
use crate::claims;

/// Dampens the difference between the first ranks.
const DAMPING: f32 = 60.0;

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
    let near = vectors.map(|vectors| vectors.similarities(index, &known)).unwrap_or_default();
    let admitted: Vec<usize> =
        index.entries.iter().enumerate().filter(|(at, entry)| admit(*at, entry)).map(|(at, _)| at).collect();
    let mut hits: Vec<Hit> = admitted.iter().map(|at| Hit { at: *at, score: 0.0, ranks: Vec::new() }).collect();
    let named = if methods.contains(&Method::Place) { claims::countries_named(query) } else { Vec::new() };
    let mut used = 0.0f32;
    for method in methods {
        let score = |at: usize| match method {
            Method::Bm25 => scores.get(at).map_or(0.0, |score| score.bm25),
            Method::Lsa => scores.get(at).map_or(0.0, |score| score.lsa),
            Method::Vectors => near.get(at).copied().unwrap_or_default(),
            Method::Place => {
                let country = index.entries.get(at).map(|entry| entry.country.as_str());
                f32::from(u8::from(named.iter().any(|name| country == Some(*name))))
            }
        };
        match method {
            Method::Vectors if vectors.is_none() => continue,
            Method::Place if named.is_empty() => continue,
            _ => {}
        }
        used += 1.0;
        let mut order: Vec<(usize, f32)> = admitted.iter().enumerate().map(|(n, at)| (n, score(*at))).collect();
        order.retain(|(_, score)| *score > 1e-4);
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let ranked = order.iter().zip(1..).map(|((n, _), rank)| (*n, if *method == Method::Place { 1 } else { rank }));
        for (n, rank) in ranked {
            if let Some(hit) = hits.get_mut(n) {
                hit.score += (DAMPING + 1.0) / (DAMPING + rank as f32);
                hit.ranks.push((*method, rank));
            }
        }
    }
    hits.retain(|hit| !hit.ranks.is_empty());
    hits.iter_mut().for_each(|hit| hit.score /= used.max(1.0));
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.at.cmp(&b.at)));
    hits.truncate(k);
    hits
}
