//! Search for similar incidents: BM25 and latent semantic analysis, which is learned from the corpus itself, fused by
//! rank. Word vectors from a file take part when the operator has one (decision similar-incidents).
//!
//! The index is a published document of the incidents actor. It is learned anew by timer and not at every change.
//! Handlers decode it once per publication.
//!
//! | Module | What |
//! |---|---|
//! | [`hits`] | the results of a search, as answers show them |
//! | [`index`] | the search index |
//! | `lsa` | latent semantic analysis |
//! | [`rank`] | fusing the ranks of several methods |
//! | `tokens` | the words of a text |
//! | [`vectors`] | word vectors from a file of the operator |
//! | [`words`] | incidents in which all words of a query stand |

pub mod hits;
pub mod index;
mod lsa;
pub mod rank;
#[cfg(test)]
mod tests;
mod tokens;
pub mod vectors;
pub mod words;

pub(super) use tokens::tokens;

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::body::IncidentBody;
use super::query::{lines, shown};
use super::tables::SEARCHED;
use super::topics;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View, decode, encode};
use engine::documents::Rendered;
use engine::http::Ready;
use engine::runtime::Environment;
use engine::time::SECOND;
use index::{Index, MAX_DOCUMENTS, Text};
use vectors::Vectors;

/// The key of the index among the documents. No route returns it directly.
pub const KEY: &str = "incidents/search";

/// Name of the timer.
const TIMER: &str = "search";

/// Longest time before a change can be found, in seconds. The cost of learning grows with the corpus.
const MAX_DELAY: u64 = 600;

/// Schedules the index to be learned anew: at once for up to 100 incidents, later the larger the index is, after at
/// most 10 minutes.
pub(super) fn changed(turn: &mut Turn<'_>) -> Result<()> {
    if turn.scheduled(TIMER)?.is_some() {
        return Ok(());
    }
    let size = SEARCHED.get(turn, &())?.unwrap_or_default();
    let delay = i64::try_from(((size.saturating_sub(100)) / 4).min(MAX_DELAY)).unwrap_or(0);
    let due: Timestamp = turn.now.plus(delay * SECOND);
    turn.schedule(TIMER, due, &Learn)
}

/// Publishes the index, and the topics, which read the same incidents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Learn;

impl Operation for Learn {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "learn_search";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut size = 0;
        lines(&turn.view(), None, |_, _| {
            size += 1;
            Ok(size < MAX_DOCUMENTS as u64)
        })?;
        SEARCHED.put(turn, &(), &size)?;
        for key in [KEY, topics::ALL, topics::INFO] {
            turn.publish(key)?;
        }
        Ok(())
    }
}

/// Renders the index.
pub(super) fn render(view: &View<'_>) -> Result<Rendered> {
    let incidents = shown(view, MAX_DOCUMENTS)?;
    let texts: Vec<Text> = incidents.iter().map(|incident| text(&IncidentBody::new(incident, view.settings))).collect();
    let body = encode(&Index::build(&texts))?;
    Ok(Rendered { content_type: "application/octet-stream", body, disposition: None })
}

/// The text of an incident that a search can find.
pub(super) fn text(body: &IncidentBody) -> Text {
    let parts = [
        body.title.as_str(),
        body.written().unwrap_or_default(),
        &body.summary,
        body.occasion.as_deref().unwrap_or_default(),
        &body.affected_services.join(" "),
        &body.affected_domains.join(" "),
        &body.blocking_methods.join(" "),
        &body.areas.join(" "),
        body.incident_type.as_str(),
    ];
    Text {
        id: body.readable_id.clone(),
        country: body.country.clone(),
        kind: body.incident_type.as_str().to_owned(),
        confidence: body.confidence as f32,
        text: parts.join("\n"),
    }
}

/// State that handlers keep between requests.
#[derive(Default)]
pub struct Shared {
    decoded: Mutex<Option<(String, Arc<Index>)>>,
    /// Word vectors, if the operator has a file of them.
    pub vectors: Option<Vectors>,
}

impl Shared {
    /// Nothing decoded yet, with these vectors of words.
    pub fn with(vectors: Option<Vectors>) -> Shared {
        Shared { vectors, ..Shared::default() }
    }

    /// The one of this process.
    pub fn of(environment: &Environment) -> Arc<Shared> {
        environment.shared()
    }

    /// The index in a document. It is decoded once for each publication.
    pub fn index(&self, document: &Ready) -> Result<Arc<Index>> {
        let mut decoded = self.decoded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((etag, index)) = decoded.as_ref()
            && etag == document.etag()
        {
            return Ok(index.clone());
        }
        let mut index = decode::<Index>(document.body())?.open();
        if let Some(vectors) = &self.vectors {
            index.near = vectors.places(&index);
        }
        let index = Arc::new(index);
        *decoded = Some((document.etag().to_owned(), index.clone()));
        Ok(index)
    }
}

/// The part of an answer around the first of these words, at most 240 characters.
pub fn snippet(summary: &str, description: &str, words: &[&str]) -> String {
    let whole = if description == summary { summary.to_owned() } else { format!("{summary} {description}") };
    let lower = whole.to_lowercase();
    // Text in lower case may have another length than the original. If so, the beginning is used.
    let found = words.iter().filter_map(|word| lower.find(word)).min().filter(|_| lower.len() == whole.len());
    let from = found.unwrap_or(0).saturating_sub(80);
    let start = (from..=whole.len()).find(|at| whole.is_char_boundary(*at)).unwrap_or(0);
    let rest = whole.get(start..).unwrap_or_default();
    let text = rest.char_indices().nth(240).map_or(rest, |(end, _)| rest.get(..end).unwrap_or(rest));
    if start > 0 { format!("…{text}") } else { text.to_owned() }
}

/// The name of the model in answers.
pub fn model(shared: &Shared) -> &'static str {
    if shared.vectors.is_some() { "bm25+lsa+vectors/1" } else { "bm25+lsa/1" }
}
