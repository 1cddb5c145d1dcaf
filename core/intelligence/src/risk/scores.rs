//! The latest score of every country, small enough to be read whole.

use serde::{Deserialize, Serialize};

use super::level::certainty;
use crate::world::CountrySummary;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};

/// A country's score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountryScore {
    /// 0-100; `None` when there is too little data.
    pub score: Option<u32>,
    /// Probability that the level is right.
    pub confidence: f64,
    /// Measurements inside the age limit.
    pub samples: u64,
    /// Newest measurement.
    pub updated: Timestamp,
    pub sources: Vec<String>,
    /// The strictest licence of its sources.
    pub license: String,
}
impl Row for CountryScore {}

const SCORES: Table<(String,), CountryScore> = Table::new(40);

/// Keeps the score of a country's summary.
pub fn note(turn: &mut Turn<'_>, summary: &CountrySummary) -> Result<()> {
    let row = CountryScore {
        score: summary.index.score,
        confidence: certainty(&summary.index),
        samples: summary.recent,
        updated: summary.newest.unwrap_or(summary.at),
        sources: summary.sources.iter().map(|source| source.source.clone()).collect(),
        license: crate::country::strictest(&summary.sources),
    };
    Ok(SCORES.put(turn, &(summary.country.clone(),), &row)?)
}

/// Forgets a country that has no measurements any more.
pub fn forget(turn: &mut Turn<'_>, country: &str) {
    SCORES.delete(turn, &(country.to_owned(),));
}

/// Asks whether any country has measurements.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnyScore;

impl Query for AnyScore {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "any_score";
    type Reply = bool;

    fn run(self, view: &View<'_>) -> Result<bool> {
        Ok(!view.scan(&SCORES.range(), Direction::Ascending, 1)?.is_empty())
    }
}

/// Asks for the scores of all countries with measurements, by code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadScores;

impl Query for ReadScores {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "scores";
    type Reply = Vec<(String, CountryScore)>;

    fn run(self, view: &View<'_>) -> Result<Vec<(String, CountryScore)>> {
        let rows = SCORES.scan(view, &SCORES.range(), Direction::Ascending, usize::MAX)?;
        Ok(rows.into_iter().map(|((country,), row)| (country, row)).collect())
    }
}
