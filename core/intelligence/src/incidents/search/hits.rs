//! The results of a search, as answers show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::snippet;
use crate::incidents::model::ReadableId;
use crate::incidents::tables::key;
use crate::incidents::written::{self, Joined};
use crate::{Error, Result};
use engine::actor::{Kind, Query, View};

/// Longest description in a result, in characters.
const MOST_DESCRIPTION: usize = 500;

/// The reasons for a result: its rank in each method, from 1; null where the method did not find it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "MatchReason")]
pub struct Why {
    /// Words that the query and the incident share, in stemmed form.
    pub terms: Vec<String>,
    /// Whether the query names the country of the incident.
    pub place: bool,
    pub bm25_rank: Option<usize>,
    pub lsa_rank: Option<usize>,
    pub vector_rank: Option<usize>,
}

/// How well an incident matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HitBody {
    /// 0 to 1: how high it ranks, times how much of the query it answers. Incidents that answer almost nothing are left
    /// out.
    pub score: f64,
    pub why: Why,
    /// At most 240 characters around the words that were found.
    pub snippet: String,
}

/// Asks for found incidents in the form in which answers contain them, in this order. Unknown ones, and those withdrawn
/// since they were indexed, are left out. The actor of the incidents makes the results, because an answer has up to 50
/// and shows only a part of each.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    pub hits: Vec<SearchHit>,
}

/// A found incident.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SearchHit {
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
        for SearchHit { id, score, why } in self.hits {
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
