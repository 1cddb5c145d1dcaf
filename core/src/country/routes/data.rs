//! `/data/*` and `/v1/censorship-index*` (spec intelligence 3).

use std::collections::BTreeMap;

use futures_util::StreamExt;
use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::AT_ONCE;
use super::{input, published};
use crate::country::{Summary, Verdicts, round};
use crate::http::{Cx, Response};
use crate::world::{self, Countries, CountrySummary};
use crate::{Result, Timestamp, country, order, runtime};

/// The summaries of every measured country at a time; in place of the published documents.
async fn past(cx: &Cx, at: Timestamp) -> Result<Vec<CountrySummary>> {
    let codes = runtime::query(&*cx.rt, world::actor().name, &Countries).await?;
    let work =
        codes.into_iter().map(|code| async move { runtime::query(&*cx.rt, code, &Summary { at: Some(at) }).await });
    let found: Vec<Result<CountrySummary>> = futures_util::stream::iter(work).buffered(AT_ONCE).collect().await;
    found.into_iter().collect()
}

pub async fn index_json(cx: Cx) -> Result<Response> {
    let Some(at) = cx.time("as_of")? else { return published::serve(&cx, world::INDEX_JSON).await };
    let mut body = world::index_json(&past(&cx, at).await?, cx.now());
    body.as_of = Some(at.to_string());
    published::fresh(&body)
}

pub async fn index_csv(cx: Cx) -> Result<Response> {
    let Some(at) = cx.time("as_of")? else { return published::serve(&cx, world::INDEX_CSV).await };
    let body = world::index_csv(&past(&cx, at).await?);
    let name = format!("attachment; filename=\"censorship-index-{}.csv\"", at.to_date_text());
    let response = Response::new(http::StatusCode::OK, "text/csv; charset=utf-8", body);
    Ok(response.with("content-disposition", &name).with("cache-control", "no-store"))
}

pub async fn overview(cx: Cx) -> Result<Response> {
    let Some(at) = cx.time("as_of")? else { return published::serve(&cx, world::OVERVIEW).await };
    let mut body = world::overview(&past(&cx, at).await?, cx.now());
    body.as_of = Some(at.to_string());
    published::fresh(&body)
}

pub async fn country_overview(cx: Cx) -> Result<Response> {
    let code = input::path_country(&cx, "code")?.code;
    let Some(at) = cx.time("as_of")? else {
        return published::serve(&cx, &format!("{}{code}", country::documents::OVERVIEW)).await;
    };
    let mut body = country::documents::overview(&runtime::query(&*cx.rt, code, &Summary { at: Some(at) }).await?);
    body.as_of = Some(at.to_string());
    published::fresh(&body)
}

pub async fn country(cx: Cx) -> Result<Response> {
    let code = input::path_country(&cx, "code")?.code;
    let Some(at) = cx.time("as_of")? else {
        return published::serve(&cx, &format!("{}{code}", country::documents::COUNTRY)).await;
    };
    let summary = runtime::query(&*cx.rt, code, &Summary { at: Some(at) }).await?;
    let mut body = country::documents::country(&summary, cx.now());
    body.as_of = Some(at.to_string());
    published::fresh(&body)
}

pub async fn methodology(cx: Cx) -> Result<Response> {
    published::serve(&cx, world::METHODOLOGY).await
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
    threat_level: &'static str,
    block_rate: f64,
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
    summary: IspCounts,
    isps: Vec<IspRow>,
    license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// Bands of spec intelligence 0.4.
fn threat_level(rate: f64) -> &'static str {
    match rate {
        rate if rate > 0.70 => "critical",
        rate if rate > 0.50 => "high",
        rate if rate >= 0.30 => "medium",
        _ => "low",
    }
}

/// A network's name, and its domains with whether each is blocked there.
type Found = (Option<String>, Vec<(BlockedDomain, bool)>);

/// Blocked domains named per network.
const TOP: usize = 10;

pub async fn isps(cx: Cx) -> Result<Response> {
    let country = input::path_country(&cx, "code")?;
    let at = cx.time("as_of")?;
    let rows = runtime::query(&*cx.rt, country.code, &Verdicts { at }).await?;
    let overall = runtime::query(&*cx.rt, country.code, &Summary { at }).await?;
    let mut networks: BTreeMap<u32, Found> = BTreeMap::new();
    for row in &rows {
        for network in &row.networks {
            let entry = networks.entry(network.asn).or_default();
            entry.0 = entry.0.take().or_else(|| network.name.clone());
            let domain = BlockedDomain {
                domain: row.target.clone(),
                block_rate: network.block_rate,
                measurements: network.measurements,
            };
            entry.1.push((domain, network.state == country::State::Blocked));
        }
    }
    let mut isps: Vec<IspRow> = networks.into_iter().map(|(asn, (name, domains))| isp(asn, name, domains)).collect();
    order::sort_by(&mut isps, |a, b| b.block_rate.total_cmp(&a.block_rate).then(b.measurements.cmp(&a.measurements)));
    let count = |level: &str| isps.iter().filter(|isp| isp.threat_level == level).count();
    let average = isps.iter().map(|isp| isp.block_rate).sum::<f64>() / isps.len().max(1) as f64;
    Response::json(&IspsBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        generated: overall.at.to_string(),
        period: "30 days (messaging services 14 days)".to_owned(),
        summary: IspCounts {
            total_isps: isps.len(),
            critical_isps: count("critical"),
            high_isps: count("high"),
            medium_isps: count("medium"),
            low_isps: count("low"),
            average_block_rate: round(average),
        },
        license: country::strictest(&overall.sources).to_owned(),
        isps,
        as_of: at.map(|at| at.to_string()),
    })
}

fn isp(asn: u32, name: Option<String>, domains: Vec<(BlockedDomain, bool)>) -> IspRow {
    let measurements: u32 = domains.iter().map(|(domain, _)| domain.measurements).sum();
    let blocked: f64 = domains.iter().map(|(domain, _)| domain.block_rate * f64::from(domain.measurements)).sum();
    let rate = if measurements == 0 { 0.0 } else { blocked / f64::from(measurements) };
    let mut top: Vec<BlockedDomain> =
        domains.into_iter().filter(|(_, blocked)| *blocked).map(|(domain, _)| domain).collect();
    order::sort_by(&mut top, |a, b| b.block_rate.total_cmp(&a.block_rate).then(b.measurements.cmp(&a.measurements)));
    top.truncate(TOP);
    IspRow {
        asn: format!("AS{asn}"),
        name: name.unwrap_or_else(|| format!("AS{asn}")),
        threat_level: threat_level(rate),
        block_rate: round(rate),
        measurements,
        // A share of a count of 32 bits fits into one.
        blocked_count: blocked.round() as u32,
        top_blocked_domains: top,
    }
}
