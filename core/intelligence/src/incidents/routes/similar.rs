//! `GET` and `POST /v1/incidents/similar`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::share;
use crate::country::routes::input;
use crate::incidents::actor;
use crate::incidents::body::IncidentBody;
use crate::incidents::documents::MAX_AGE;
use crate::incidents::model::IncidentType;
use crate::incidents::query::{Count, LastChange};
use crate::incidents::search;
use crate::incidents::search::Shared;
use crate::incidents::search::hits::{HitBody, Results, SearchHit, Why};
use crate::incidents::search::index::{Entry, Index, MAX_DOCUMENTS};
use crate::incidents::search::rank::{Hit, Method, search};
use crate::incidents::written::{self, MANNER};
use crate::{Error, Result};
use engine::http::{COUNTRY_PATTERN, Cx, Ready, Response};
use engine::runtime;
use facts::licence;
use facts::sentence::{Sentence, Sentences};

/// Number of results: the default, and the maximum.
pub(super) const DEFAULT_K: u32 = 5;
pub(super) const MAX_K: u32 = 50;

/// Longest query, in characters.
const MAX_QUERY: usize = 2_000;

/// A search for similar incidents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["query"]))]
pub struct SimilarRequest {
    /// Words; at most 2,000 characters.
    #[schemars(length(min = 1, max = 2000))]
    pub query: Option<String>,
    /// Default 5, at most 50.
    pub k: Option<u32>,
    /// ISO 3166-1 alpha-2.
    #[schemars(regex(pattern = COUNTRY_PATTERN))]
    pub country: Option<String>,
    /// `censorship`, `disruption` or `mixed`.
    #[schemars(with = "Option<IncidentType>")]
    pub incident_type: Option<String>,
    /// 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub min_confidence: Option<f64>,
}

/// The filters of a request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "SimilarFilters")]
pub struct Filters {
    pub country: Option<String>,
    pub incident_type: Option<IncidentType>,
    pub min_confidence: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SimilarResult {
    #[serde(flatten)]
    pub hit: HitBody,
    /// Its description is cut off after 500 characters.
    pub incident: IncidentBody,
}

/// Similar incidents, the most similar first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SimilarIncidents")]
pub struct SimilarBody {
    pub query: String,
    pub k: u32,
    pub count: usize,
    pub model: &'static str,
    pub filters: Filters,
    pub results: Vec<SimilarResult>,
    /// Number of incidents that can be found, and when they were indexed.
    pub indexed: usize,
    pub indexed_at: String,
    /// Says which incidents cannot be found, when the index holds fewer than there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<Sentence>,
    pub license: String,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

pub async fn get(cx: Cx) -> Result<Response> {
    let number = |text: String| {
        text.parse::<f64>()
            .map_err(|_| Error::bad_request("Query parameter `min_confidence` must be a number from 0 to 1."))
    };
    let request = SimilarRequest {
        query: cx.query("query")?,
        k: Some(cx.count("k", DEFAULT_K, MAX_K)?),
        country: cx.query("country")?,
        incident_type: cx.query("incident_type")?,
        min_confidence: cx.query("min_confidence")?.map(number).transpose()?,
    };
    similar(&cx, request).await
}

pub async fn post(cx: Cx) -> Result<Response> {
    let request = cx.json()?;
    similar(&cx, request).await
}

fn filters(request: &SimilarRequest) -> Result<Filters> {
    let country = match request.country.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => Some(input::known(text)?.code.to_owned()),
        None => None,
    };
    let wrong = || Error::bad_request("`incident_type` must be censorship, disruption or mixed.");
    let kind = request.incident_type.as_deref().map(|text| IncidentType::parse(text.trim()).ok_or_else(wrong));
    Ok(Filters {
        country,
        incident_type: kind.transpose()?,
        min_confidence: share("min_confidence", request.min_confidence)?,
    })
}

async fn similar(cx: &Cx, request: SimilarRequest) -> Result<Response> {
    let query = request.query.as_deref().map(str::trim).unwrap_or_default().to_owned();
    if query.is_empty() || query.chars().count() > MAX_QUERY {
        return Err(Error::bad_request(format!("`query` must be 1 to {MAX_QUERY} characters.")));
    }
    let k = match request.k.unwrap_or(DEFAULT_K) {
        0 => return Err(Error::bad_request("`k` must be a whole number from 1.")),
        k => k.min(MAX_K),
    };
    let filters = filters(&request)?;
    let document = runtime::document(&*cx.rt, search::KEY).await?;
    let changed = runtime::query(&*cx.rt, actor().name, &LastChange).await?;
    let model = search::model(&Shared::of(cx.rt.environment()));
    let key = ("similar", (MANNER, model), changed, document.etag().to_owned(), query.clone(), k, filters.clone());
    let page = async { Ok(Response::json_text(found(cx, &document, query, k, filters).await?)) };
    cx.kept_by(&key, MAX_AGE, page).await
}

/// A note about the incidents that do not fit into the index.
fn left_out(incidents: u64) -> Option<Sentence> {
    (incidents > MAX_DOCUMENTS as u64)
        .then(|| Sentence::new("search.left_out").with("found", MAX_DOCUMENTS).with("incidents", incidents))
}

async fn found(cx: &Cx, document: &Ready, query: String, k: u32, filters: Filters) -> Result<Vec<u8>> {
    let shared = &Shared::of(cx.rt.environment());
    let index = shared.index(document)?;
    let least = filters.min_confidence.unwrap_or(0.0) as f32;
    let admit = |_: usize, entry: &Entry| {
        filters.country.as_ref().is_none_or(|country| entry.country == *country)
            && filters.incident_type.is_none_or(|kind| entry.kind == kind.as_str())
            && entry.confidence >= least
    };
    let methods = [Method::Bm25, Method::Lsa, Method::Vectors, Method::Place];
    let hits = search(&index, shared.vectors.as_ref(), &query, &methods, k as usize, &admit);
    let known = index.known(&query);
    let hits = hits.iter().filter_map(|hit| Some(result(&index, hit, &known, index.entries.get(hit.at)?))).collect();
    let results = runtime::query(&*cx.rt, actor().name, &Results { hits }).await?;
    let note = match index.entries.len() {
        MAX_DOCUMENTS => left_out(runtime::query(&*cx.rt, actor().name, &Count).await?),
        _ => None,
    };
    let page = SimilarBody {
        sentences: Sentences::new().with("note", &note),
        note,
        query,
        k,
        count: results.count,
        model: search::model(shared),
        filters,
        results: Vec::new(),
        indexed: index.entries.len(),
        indexed_at: document.generated().to_string(),
        license: licence::effective(results.licences.iter().map(String::as_str)),
    };
    written::fill(&page, "results", [[&results.json]])
}

/// A found entry, with the reasons why it was found.
fn result(index: &Index, hit: &Hit, known: &[(u32, u16)], entry: &Entry) -> SearchHit {
    let rank = |method| hit.ranks.iter().find(|(known, _)| *known == method).map(|(_, rank)| *rank);
    let why = Why {
        terms: index.shared(entry, known).into_iter().map(str::to_owned).collect(),
        place: rank(Method::Place).is_some(),
        bm25_rank: rank(Method::Bm25),
        lsa_rank: rank(Method::Lsa),
        vector_rank: rank(Method::Vectors),
    };
    SearchHit { id: entry.id.clone(), score: engine::number::round(f64::from(hit.score)), why }
}
