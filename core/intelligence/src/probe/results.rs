//! Submissions of probes, and the sites they are asked to measure.

use schemars::JsonSchema;
use serde::Serialize;

use super::community::{country, node_of, refused};
use super::record::{self, Submit};
use super::wire::{MAX_SUBMISSION_ID, Reading, Submission};
use super::{ID, MAX_ROWS, block, named};
use crate::country::routes::input;
use crate::reference::{self, ReadSites};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::decode_hex_array;
use crypto::hash::{hmac_sha256_verify, sha256};
use engine::http::{Auth, Cx, Limit, Param, Response, Route, handler};
use engine::limits::Rate;
use engine::runtime;
use facts::starter::basket;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/probe/results", handler!(submit))
        .signed(Auth::Probe)
        .max_body(256 * 1024)
        .accepts::<Submission>()
        .returns::<ProbeSubmitted>()
        .summary(
            "Submit measurements: the node's token as bearer, and HMAC-SHA256 of the raw body under it as \
             X-Svc-Signature. A repeat of a submission id is stored once.",
        ),
    Route::get("/v1/probe/domains", handler!(domains))
        .limit(Limit::Data)
        .params(&[Param::optional("country", "Adds the sites of this country's list.").country()])
        .returns::<ProbeSites>()
        .summary("The sites that probes are asked to measure."),
];

/// Submissions per node and minute.
const PER_MINUTE: u32 = 60;

/// The result of a submission.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeSubmitted {
    pub ok: bool,
    pub accepted: u32,
    pub duplicates: u32,
    /// Rows without a usable site or time, and rows beyond the daily limit of the node.
    pub rejected: u32,
    pub submission_id: String,
    pub node_id: String,
}

/// The signature over the raw body, from the header with the prefix of the brand or with the additional prefix.
fn signature(cx: &Cx) -> Option<[u8; 32]> {
    let settings = cx.settings();
    let named = |prefix: &str| match prefix {
        "" => None,
        prefix => cx.request.header(&format!("x-{}-signature", prefix.to_ascii_lowercase())),
    };
    let text = named(&settings.brand).or_else(|| named(&settings.extra_header_prefix))?;
    decode_hex_array("signature", &text.strip_prefix("sha256=")?.to_ascii_lowercase()).ok()
}

async fn submit(cx: Cx) -> Result<Response> {
    let token = cx.request.bearer().ok_or_else(refused)?;
    let key = node_of(token).ok_or_else(refused)?;
    let signature = signature(&cx).ok_or_else(refused)?;
    // The signature is over the bytes as they came, since clients format JSON in different ways.
    if !hmac_sha256_verify(token.as_bytes(), &cx.request.body, &signature) {
        return Err(refused());
    }
    let submission: Submission = cx.json()?;
    let node = named(ID, &key);
    if submission.node_id != node {
        return Err(Error::new(ErrorCode::Forbidden, "The token belongs to another node."));
    }
    if submission.submission_id.is_empty() || submission.submission_id.len() > MAX_SUBMISSION_ID {
        return Err(Error::bad_request("`submissionId` must be 1 to 128 characters."));
    }
    if submission.results.len() > MAX_ROWS {
        let message = format!("A submission has at most {MAX_ROWS} rows.");
        return Err(Error::new(ErrorCode::PayloadTooLarge, message));
    }
    let budget = cx.rt.environment().buckets.take(&format!("probe {node}"), Rate::per_minute(PER_MINUTE), cx.now());
    if !budget.allowed {
        let error = Error::new(ErrorCode::RateLimited, "Too many submissions; wait, then retry with backoff.");
        return Err(error.retry_after(budget.retry_after()));
    }
    let sent = submission.timestamp.as_deref().and_then(Timestamp::parse);
    let rows = submission.results.iter().map(|row| Reading::of(row, sent, cx.now()));
    let readings: Vec<Reading> = rows.filter_map(|row| row.ok()).collect();
    let given = submission.node_country.as_deref();
    let digest = sha256(submission.submission_id.as_bytes());
    let submit = Submit {
        key,
        token_hash: sha256(token.as_bytes()),
        submission: *digest.first_chunk().ok_or_else(refused)?,
        block: block(&cx.rt.environment().secrets, cx.request.client),
        country: Some(country(given)).filter(|country| country != "XX"),
        network: cx.request.network,
        rejected: u32::try_from(submission.results.len() - readings.len()).unwrap_or(u32::MAX),
        readings,
    };
    let outcome = runtime::call(&*cx.rt, record::shard(&key), &submit).await?;
    Response::json(&ProbeSubmitted {
        ok: true,
        accepted: outcome.accepted,
        duplicates: outcome.duplicates,
        rejected: outcome.rejected,
        submission_id: submission.submission_id,
        node_id: node,
    })
}

/// A site to measure.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProbeSite {
    pub url: String,
    pub domain: String,
    /// One of the category words that probes use.
    pub category: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeSites {
    /// At least 40.
    pub global: Vec<ProbeSite>,
    /// Sites for the requested country.
    pub country_domains: Vec<ProbeSite>,
    pub country: Option<String>,
    pub count: usize,
    /// Changes whenever the list changes.
    pub version: String,
    pub generated_at: String,
}

/// Sites of a country's list, at most.
const COUNTRY_SITES: u32 = 200;
/// Categories that volunteers are not asked to visit, because a visit could harm them.
const NOT_ASKED: [&str; 10] = ["PORN", "GMB", "LGBT", "REL", "XED", "ALDR", "MILX", "HATE", "DATE", "PROV"];

/// The word that probes use for a category code.
fn word(category: &str) -> &'static str {
    match category {
        "GRP" | "MMED" => "social",
        "COMT" => "messaging",
        "NEWS" | "POLR" => "news",
        "ANON" | "HACK" => "privacy",
        "HUMR" | "ENV" => "rights",
        "SRCH" => "search",
        "CULTR" | "IGO" | "PUBH" => "reference",
        "HOST" | "FILE" | "ECON" => "tech",
        _ => "other",
    }
}

fn site(domain: &str, category: &str) -> ProbeSite {
    ProbeSite { url: format!("https://{domain}/"), domain: domain.to_owned(), category: word(category) }
}

async fn domains(cx: Cx) -> Result<Response> {
    // A probe that does not know its country asks without one, or with two letters that are no country.
    let asked = cx.query("country")?.filter(|text| !text.trim().is_empty());
    let code = match asked {
        Some(text) => input::country(&text)?.ok().map(|country| country.code.to_owned()),
        None => None,
    };
    let global: Vec<ProbeSite> = basket::probe_targets().map(|target| site(target.domain, target.category)).collect();
    let mut country_domains = Vec::new();
    if let Some(code) = &code {
        let sites = ReadSites { list: code.to_ascii_lowercase(), limit: COUNTRY_SITES };
        let listed = runtime::query(&*cx.rt, reference::actor().name, &sites).await?;
        let mut known: Vec<&str> = global.iter().map(|site| site.domain.as_str()).collect();
        known.sort_unstable();
        let wanted = listed.into_iter().filter(|(domain, category)| {
            !NOT_ASKED.contains(&category.as_str()) && known.binary_search(&domain.as_str()).is_err()
        });
        country_domains = wanted.map(|(domain, category)| site(&domain, &category)).collect();
    }
    let names: Vec<&str> = global.iter().chain(&country_domains).map(|site| site.domain.as_str()).collect();
    let version = engine::documents::etag(names.join(" ").as_bytes()).trim_matches('"').to_owned();
    Response::json(&ProbeSites {
        count: names.len(),
        version,
        generated_at: cx.now().to_string(),
        country: code,
        global,
        country_domains,
    })
}
