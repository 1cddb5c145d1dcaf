//! What a search shows of the incidents that it found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snippet;
use crate::engine::actor::{Kind, Query, View};
use crate::intelligence::incidents::model::ReadableId;
use crate::intelligence::incidents::tables::key;
use crate::intelligence::incidents::written::{self, Joined};
use crate::{Error, Result};

/// Longest description in a result, in characters.
const MOST_DESCRIPTION: usize = 500;

/// Ranks from 1 by method; null where the method did not find it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Words that query and incident share, without endings.
    pub terms: Vec<String>,
    /// Whether the query names the country of the incident.
    pub place: bool,
    pub bm25_rank: Option<usize>,
    pub lsa_rank: Option<usize>,
    pub vector_rank: Option<usize>,
}

/// How well an incident fits.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HitBody {
    /// 0 to 1: how high it ranks, times how much of the question it answers. What answers next to nothing is left out.
    pub score: f64,
    pub why: Why,
    /// At most 240 characters around what was found.
    pub snippet: String,
}

/// Results as answers have them, in this order; without what is not known or was withdrawn since it was indexed. They are
/// made where the incidents lie: an answer has up to 50, and shows a part of each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    pub hits: Vec<Found>,
}

/// A found incident.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Found {
    pub id: String,
    /// 0 to 1.
    pub score: f64,
    pub why: Why,
}

impl Query for Results {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "search_results";
    type Reply = Joined;

    fn run(self, view: &View<'_>) -> Result<Joined> {
        let mut results = Joined::default();
        for Found { id, score, why } in self.hits {
            let Some(id) = ReadableId::parse(&id) else { continue };
            written::show(view, &key(&id), |incident| {
                if !incident.shown {
                    return Ok(());
                }
                let words: Vec<&str> = why.terms.iter().map(String::as_str).collect();
                let snippet = snippet(incident.summary, incident.description, &words);
                let hit = serde_json::to_string(&HitBody { score, why, snippet }).map_err(Error::internal)?;
                let whole = incident.json_with_description_of(MOST_DESCRIPTION)?;
                results.add(&[written::open(&hit).as_bytes(), b",\"incident\":", &whole, b"}"], incident.licence);
                Ok(())
            })?;
        }
        Ok(results)
    }
}
