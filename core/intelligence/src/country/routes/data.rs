//! `/data/*` and `/v1/censorship-index*`.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::StreamExt;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION};
use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::AT_ONCE;
use super::input;
use crate::analytics::NOTHING;
use crate::analytics::constants::{ISP_CRITICAL_RATE, ISP_HIGH_RATE, ISP_MEDIUM_RATE};
use crate::analytics::tabular::{self, Tabular};
use crate::country::{ListedHere, ReadSummary, Verdicts};
use crate::reference::{self, Interested};
use crate::world::{self, CountrySummary, NetworkSummary, ReadCountries, TargetSummary, block_rate};
use crate::{Result, Timestamp, country};
use engine::http::{Cx, Response};
use engine::number::round;
use engine::runtime;
use facts::sentence::{Sentence, Sentences};
use facts::starter::Country;

/// Countries that are or were measured: those that the world knows, and those that it will hear of within the publish
/// interval.
pub(crate) async fn measured(cx: &Cx) -> Result<BTreeSet<String>> {
    let known = runtime::query(&*cx.rt, world::actor().name, &ReadCountries).await?;
    let met = runtime::query(&*cx.rt, reference::actor().name, &Interested).await?;
    Ok(known.into_iter().chain(met).collect())
}

/// The summaries of every measured country at a time, used instead of the published documents.
async fn past(cx: &Cx, at: Timestamp) -> Result<Vec<CountrySummary>> {
    let codes = measured(cx).await?;
    let work =
        codes.into_iter().map(|code| async move { runtime::query(&*cx.rt, code, &ReadSummary { at: Some(at) }).await });
    let found: Vec<Result<CountrySummary>> = futures_util::stream::iter(work).buffered(AT_ONCE).collect().await;
    // A country may have nothing left after a source was removed.
    found.into_iter().filter(|summary| summary.as_ref().map_or(true, |summary| summary.total > 0)).collect()
}

// The computed answers are boxed: their state is large, and the usual answer is a document.

pub async fn index_json(cx: Cx) -> Result<Response> {
    let Some(at) = cx.as_of()? else { return cx.document(world::INDEX_JSON).await };
    let mut body = world::index_json(&Box::pin(past(&cx, at)).await?, cx.settings(), cx.now());
    body.as_of = Some(at.to_string());
    Response::uncached(&body)
}

pub async fn index_csv(cx: Cx) -> Result<Response> {
    let Some(at) = cx.as_of()? else { return cx.document(world::INDEX_CSV).await };
    let body = world::index_csv(&Box::pin(past(&cx, at)).await?, cx.settings());
    let name = format!("attachment; filename=\"censorship-index-{}.csv\"", at.to_date_text());
    let response = Response::new(http::StatusCode::OK, "text/csv; charset=utf-8", body);
    Ok(response.with(CONTENT_DISPOSITION, &name).with(CACHE_CONTROL, "no-store"))
}

const OVERVIEW_TABLE: Tabular = Tabular {
    name: "countries",
    list: "countries",
    inner: None,
    columns: &[
        "country",
        "name",
        "status",
        "score",
        "ooni.anomalyRate",
        "ooni.confirmedRate",
        "ooni.measurementCount",
        "ooni.affectedServices",
        "ooni.lastUpdated",
    ],
};

pub async fn overview(cx: Cx) -> Result<Response> {
    tabular::published(&cx, &OVERVIEW_TABLE, "", world::OVERVIEW, past_overview(&cx)).await
}

async fn past_overview(cx: &Cx) -> Result<Response> {
    let at = cx.as_of()?.unwrap_or_else(|| cx.now());
    let mut body = world::overview(&Box::pin(past(cx, at)).await?, &BTreeMap::new(), cx.settings(), cx.now());
    body.as_of = Some(at.to_string());
    Response::json(&body)
}

/// The summary of one country at a time.
async fn past_country(cx: &Cx, code: &str, at: Timestamp) -> Result<CountrySummary> {
    runtime::query(&*cx.rt, code, &ReadSummary { at: Some(at) }).await
}

pub async fn country_overview(cx: Cx) -> Result<Response> {
    let code = input::path_country(&cx, "code")?.code;
    let Some(at) = cx.as_of()? else {
        return cx.document(&[country::documents::OVERVIEW, code].concat()).await;
    };
    let mut body = country::documents::overview(&Box::pin(past_country(&cx, code, at)).await?, cx.settings());
    let then = country::active_at(&*cx.rt, code, at).await?;
    let outage = then.iter().map(|incident| incident.outage).max();
    body.go_on(then, outage);
    body.as_of = Some(at.to_string());
    Response::uncached(&body)
}

pub async fn country(cx: Cx) -> Result<Response> {
    let code = input::path_country(&cx, "code")?.code;
    let Some(at) = cx.as_of()? else {
        return cx.document(&[country::documents::COUNTRY, code].concat()).await;
    };
    let summary = Box::pin(past_country(&cx, code, at)).await?;
    let mut body = country::documents::country(&summary, None, cx.settings(), cx.now());
    let then = country::active_at(&*cx.rt, code, at).await?;
    let outage = then.iter().map(|incident| incident.outage).max();
    body.go_on(then, outage);
    body.list(runtime::query(&*cx.rt, code, &ListedHere { at: Some(at) }).await?);
    body.as_of = Some(at.to_string());
    Response::uncached(&body)
}

pub async fn methodology(cx: Cx) -> Result<Response> {
    cx.document(world::METHODOLOGY).await
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct BlockedDomain {
    domain: String,
    block_rate: f64,
    measurements: u32,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CountryIsp")]
struct IspRow {
    /// `AS` and the number.
    asn: String,
    name: String,
    /// `critical`, `high`, `medium` or `low` by the block rate; `unknown` if no measurement says anything.
    threat_level: &'static str,
    /// Share of blocked votes, 0 to 1; 0 without votes.
    block_rate: f64,
    /// Measurements inside the age limit, each counted once.
    measurements: u32,
    blocked_count: u32,
    top_blocked_domains: Vec<BlockedDomain>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct IspCounts {
    total_isps: usize,
    critical_isps: usize,
    high_isps: usize,
    medium_isps: usize,
    low_isps: usize,
    average_block_rate: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct IspsBody {
    country: String,
    country_name: String,
    generated: String,
    period: String,
    /// False if nothing was measured in the period.
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Sentence>,
    /// Time of the newest measurement; null if there is none.
    #[serde(rename = "lastChecked")]
    last_checked: Option<String>,
    /// When the newest measurement became too old to count; absent while any counts.
    #[serde(rename = "staleSince", skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    summary: IspCounts,
    isps: Vec<IspRow>,
    license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    sentences: Sentences,
}

/// The level of a network that was measured, but whose measurements say nothing.
const UNKNOWN_LEVEL: &str = "unknown";

/// The level of a block rate.
fn threat_level(rate: f64) -> &'static str {
    match rate {
        rate if rate > ISP_CRITICAL_RATE => "critical",
        rate if rate > ISP_HIGH_RATE => "high",
        rate if rate >= ISP_MEDIUM_RATE => "medium",
        _ => "low",
    }
}

/// A network's name, and what is known about each domain there.
type NetworkDomains<'a> = (Option<String>, Vec<(&'a str, &'a NetworkSummary)>);

/// Most blocked domains named per network.
const TOP: usize = 10;

const ISPS_TABLE: Tabular = Tabular {
    name: "isps",
    list: "isps",
    inner: None,
    columns: &["asn", "name", "threat_level", "block_rate", "measurements", "blocked_count", "top_blocked_domains"],
};

pub async fn isps(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "code")?;
    let key = [country::documents::ISPS, country.code].concat();
    tabular::published(&cx, &ISPS_TABLE, country.code, &key, isps_then(&cx, country)).await
}

/// The page about the past.
async fn isps_then(cx: &Cx, country: &'static Country) -> Result<Response> {
    let at = cx.as_of()?;
    let rows = runtime::query(&*cx.rt, country.code, &Verdicts { at }).await?;
    let overall = runtime::query(&*cx.rt, country.code, &ReadSummary { at }).await?;
    Response::json(&isps_body(country, &rows, &overall, cx.now(), at))
}

/// The networks of a country, from the verdicts on its targets.
pub(in crate::country) fn isps_body(
    country: &'static Country,
    rows: &[TargetSummary],
    overall: &CountrySummary,
    now: Timestamp,
    at: Option<Timestamp>,
) -> IspsBody {
    let mut networks: BTreeMap<u32, NetworkDomains<'_>> = BTreeMap::new();
    for row in rows {
        for network in &row.networks {
            let entry = networks.entry(network.asn).or_default();
            entry.0 = entry.0.take().or_else(|| network.name.clone());
            entry.1.push((&row.target, network));
        }
    }
    let mut isps: Vec<IspRow> = networks.into_iter().map(|(asn, found)| isp(asn, found)).collect();
    isps.sort_by(|a, b| b.block_rate.total_cmp(&a.block_rate).then(b.measurements.cmp(&a.measurements)));
    let count = |level: &str| isps.iter().filter(|isp| isp.threat_level == level).count();
    let said = isps.iter().filter(|isp| isp.threat_level != UNKNOWN_LEVEL);
    let average = said.clone().map(|isp| isp.block_rate).sum::<f64>() / said.count().max(1) as f64;
    IspsBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        // The present page is as old as its summary, if there is one. Any other page is computed now.
        generated: match (at, overall.total) {
            (None, 1..) => overall.at,
            _ => now,
        }
        .to_string(),
        period: "30 days (messaging services 14 days)".to_owned(),
        available: !isps.is_empty(),
        sentences: Sentences::new().with("reason", isps.is_empty().then_some(NOTHING)),
        reason: isps.is_empty().then_some(NOTHING),
        last_checked: overall.newest.map(|newest| newest.to_string()),
        stale_since: overall.stale_since().map(|since| since.to_string()),
        summary: IspCounts {
            total_isps: isps.len(),
            critical_isps: count("critical"),
            high_isps: count("high"),
            medium_isps: count("medium"),
            low_isps: count("low"),
            average_block_rate: round(average),
        },
        license: country::strictest(&overall.sources),
        isps,
        as_of: at.map(|at| at.to_string()),
    }
}

fn isp(asn: u32, (name, domains): NetworkDomains<'_>) -> IspRow {
    let rate = block_rate(domains.iter().map(|(_, network)| *network));
    let is_named = |target: &str, network: &NetworkSummary| {
        network.state == country::State::Blocked && !facts::subject::is_role(target)
    };
    let mut top: Vec<BlockedDomain> = domains
        .iter()
        .filter(|(target, network)| is_named(target, network))
        .map(|(target, network)| BlockedDomain {
            domain: (*target).to_owned(),
            block_rate: network.block_rate(),
            measurements: network.measurements,
        })
        .collect();
    top.sort_by(|a, b| b.block_rate.total_cmp(&a.block_rate).then(b.measurements.cmp(&a.measurements)));
    top.truncate(TOP);
    IspRow {
        asn: format!("AS{asn}"),
        name: name.unwrap_or_else(|| format!("AS{asn}")),
        threat_level: rate.map_or(UNKNOWN_LEVEL, threat_level),
        block_rate: round(rate.unwrap_or(0.0)),
        // Each measurement counts once, however many domains it is about.
        measurements: domains.iter().map(|(_, network)| network.counted).sum(),
        blocked_count: domains.iter().map(|(_, network)| network.blocked_part(network.counted)).sum(),
        top_blocked_domains: top,
    }
}
