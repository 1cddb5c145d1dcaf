//! The probe network as a whole: nodes, numbers, domains.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use schemars::JsonSchema;
use serde::Serialize;

use super::board::{self, Overview};
use super::community::{city, country, kind, last_seen, rounded, status};
use super::query::{DomainDays, DomainNow};
use super::record::{DomainReadings, HISTORY_DAYS, LatestReading, Node, NodeKey};
use super::wire::{ReadingStatus, entity};
use super::{NodePage, shards};
use crate::country::probed::ProbeStanding;
use crate::country::routes::input;
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, View};
use engine::documents::{Family, Rendered};
use engine::http::{Cx, Limit, Param, Response, Route, handler};
use engine::runtime;
use engine::time::DAY;
use facts::measurement::TargetKey;
use facts::starter;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/probe/network", handler!(read_network))
        .returns::<ProbeNetwork>()
        .summary("All probe nodes and their status; a minute or two late."),
    Route::get("/v1/probe/stats", handler!(read_stats))
        .returns::<ProbeStats>()
        .summary("Numbers of the probe network; a minute or two late."),
    Route::get("/v1/probe/domain/{domain}", handler!(domain))
        .limit(Limit::Data)
        .returns::<DomainStatus>()
        .summary("What probes measured of a domain in the last 24 hours."),
    Route::get("/v1/probe/domain/{domain}/history", handler!(history))
        .limit(Limit::Data)
        .params(&[
            Param::optional("days", "Days, at most 365; default 30.").count(30, HISTORY_DAYS - 1),
            Param::optional("country", "Only this country.").country(),
        ])
        .returns::<ProbeHistory>()
        .summary("What probes measured of a domain, by day and country."),
];

/// The pages about the whole network. They are up to two minutes late.
pub const FAMILIES: &[Family] = &[
    Family {
        prefix: board::NETWORK,
        owner: Kind::Probe,
        max_age: 60,
        render: |view, _| Rendered::json(&network(view)?),
    },
    Family { prefix: board::STATS, owner: Kind::Probe, max_age: 60, render: |view, _| Rendered::json(&stats(view)?) },
];

async fn read_network(cx: Cx) -> Result<Response> {
    cx.document(board::NETWORK).await
}

async fn read_stats(cx: Cx) -> Result<Response> {
    cx.document(board::STATS).await
}

/// How long a node stays on the page after its last submission.
const SHOWN: i64 = 30 * DAY;

/// A node of the network.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NetworkNode {
    pub id: String,
    pub city: Option<String>,
    pub country: String,
    /// `active`, `degraded`, `inactive` or `suspended`.
    pub status: &'static str,
    pub avg_latency_ms: f64,
    /// `community` or `operator`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub last_seen: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeNetwork {
    pub active_nodes: usize,
    pub total_nodes: usize,
    /// Regions with an active node.
    pub coverage_regions: BTreeSet<&'static str>,
    pub probes_24h: u64,
    pub nodes: Vec<NetworkNode>,
    pub updated_at: String,
}

fn region(node: &Node) -> Option<&'static str> {
    starter::Country::by_code(&node.country).map(|country| country.subregion.region)
}

fn network(view: &View<'_>) -> Result<ProbeNetwork> {
    let now = view.now;
    let mut found = Overview::of(view, now.plus(-SHOWN))?;
    found.nodes.sort_by_key(|(key, node)| node.shown(key, NodePage::Network));
    let active: Vec<&Node> = found.nodes.iter().map(|(_, node)| node).filter(|node| is_active(node, now)).collect();
    let shown = |(key, node): &(NodeKey, Node)| NetworkNode {
        id: node.shown(key, NodePage::Network),
        city: city(node),
        country: node.country.clone(),
        status: status(node, now),
        avg_latency_ms: node.latency.round(),
        kind: kind(node),
        last_seen: last_seen(node),
    };
    Ok(ProbeNetwork {
        active_nodes: active.len(),
        total_nodes: found.total,
        coverage_regions: active.into_iter().filter_map(region).collect(),
        probes_24h: found.day.total,
        nodes: found.nodes.iter().map(shown).collect(),
        updated_at: now.to_string(),
    })
}

fn is_active(node: &Node, now: Timestamp) -> bool {
    status(node, now) == "active"
}

/// Readings by the kind of finding that showed the block.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeMethods {
    pub sni: u64,
    pub dns: u64,
    pub tcp: u64,
    pub tls: u64,
    pub http: u64,
    pub cert: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeStats {
    pub total_probes: u64,
    pub probes_24h: u64,
    pub blocked_24h: u64,
    /// 0-1.
    pub block_rate_24h: f64,
    /// Domains with a measurement in the last year.
    pub domains_tested: u64,
    /// Countries with a node that submitted in the last 30 days.
    pub countries_covered: usize,
    pub active_nodes: usize,
    pub community_nodes: usize,
    pub operator_nodes: usize,
    pub detection_methods: ProbeMethods,
    /// Blocked measurements of the last 24 hours by method.
    pub by_block_type: BTreeMap<String, u64>,
    pub updated_at: String,
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { rounded(part as f64 / all as f64) }
}

fn stats(view: &View<'_>) -> Result<ProbeStats> {
    let now = view.now;
    let Overview { total, nodes, readings, day, domains } = Overview::of(view, now.plus(-SHOWN))?;
    let [sni, dns, tcp, tls, http, cert] = day.found;
    let own = nodes.iter().filter(|(_, node)| node.standing == ProbeStanding::Vouched).count();
    let countries: BTreeSet<&str> = nodes.iter().map(|(_, node)| node.country.as_str()).collect();
    Ok(ProbeStats {
        total_probes: readings,
        probes_24h: day.total,
        blocked_24h: day.blocked,
        block_rate_24h: share(day.blocked, day.total),
        domains_tested: domains,
        countries_covered: countries.into_iter().filter(|code| *code != "XX").count(),
        active_nodes: nodes.iter().filter(|(_, node)| is_active(node, now)).count(),
        community_nodes: total - own,
        operator_nodes: own,
        detection_methods: ProbeMethods { sni, dns, tcp, tls, http, cert },
        by_block_type: day.methods,
        updated_at: now.to_string(),
    })
}

/// The measurements of one domain by one node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DomainNode {
    pub node_id: String,
    pub country: String,
    /// `accessible`, `blocked` or `unknown`.
    pub status: &'static str,
    pub latency_ms: u32,
    pub blocking_method: Option<&'static str>,
    pub blocking_entity: Option<&'static str>,
    /// The class of that entity: `unknown` when no entity is known, `none` when the domain is not blocked.
    pub blocking_type: &'static str,
    pub sni_blocked: bool,
    pub dns_poisoned: bool,
    /// ISO 8601; only the day where the exact time could harm the person who measured.
    pub checked_at: String,
}

/// The findings of all nodes together.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ProbeAttribution")]
pub struct Attribution {
    pub methods_seen: BTreeSet<&'static str>,
    pub entities_detected: BTreeSet<&'static str>,
    pub blocking_types: BTreeSet<&'static str>,
    /// `none`, `single_country`, `regional` or `global`.
    pub geographic_consensus: &'static str,
    pub sni_detected: u32,
    pub dns_poisoning_detected: u32,
    pub cert_anomalies: bool,
}

/// Measurements of probes as they came. The detection answer says which of them other nodes confirm.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DomainStatus {
    pub domain: String,
    pub total_probes_24h: u64,
    pub blocked_count: u64,
    pub nodes: Vec<DomainNode>,
    pub attribution: Attribution,
    pub updated_at: String,
}

fn target(cx: &Cx) -> Result<String> {
    let text = cx.path("domain")?;
    let refuse = |error| Error::bad_request(format!("{text:?} names no domain: {error}."));
    Ok(TargetKey::from_url(text).map_err(refuse)?.as_str().to_owned())
}

fn consensus(nodes: &[(NodeKey, Node, LatestReading)]) -> &'static str {
    let blocked = nodes.iter().filter(|(.., latest)| latest.reading.blocked());
    let countries: BTreeSet<&str> = blocked.map(|(_, node, _)| node.country.as_str()).collect();
    let regions: BTreeSet<&str> = countries
        .iter()
        .filter_map(|code| starter::Country::by_code(code))
        .map(|country| country.subregion.region)
        .collect();
    match (countries.len(), regions.len()) {
        (0, _) => "none",
        (1, _) => "single_country",
        (_, 0 | 1) => "regional",
        _ => "global",
    }
}

fn shown((key, node, latest): &(NodeKey, Node, LatestReading)) -> DomainNode {
    let reading = &latest.reading;
    let who = reading.entity.as_deref().and_then(entity);
    let day = if node.is_shielded() { reading.at.to_date_text() } else { reading.at.to_string() };
    DomainNode {
        node_id: node.shown(key, NodePage::Domain),
        country: node.country.clone(),
        status: reading.status.as_str(),
        latency_ms: reading.latency_ms.unwrap_or(0),
        blocking_method: reading.method(),
        blocking_entity: who.map(|(name, _)| name),
        blocking_type: if reading.blocked() { who.map_or("unknown", |(_, class)| class) } else { "none" },
        sni_blocked: reading.sni,
        dns_poisoned: reading.dns,
        checked_at: day,
    }
}

async fn domain(cx: Cx) -> Result<Response> {
    let (domain, now) = (target(&cx)?, cx.now());
    let ask = DomainNow { domain: domain.clone() };
    let mut found = try_join_all(shards().map(|shard| runtime::query(&*cx.rt, shard, &ask))).await?.concat();
    found.retain(|(_, node, _)| !node.is_suspended());
    found.sort_by_key(|(key, node, _)| node.shown(key, NodePage::Domain));
    let oldest = now.hour() - 24;
    let hours = || found.iter().flat_map(|(.., latest)| &latest.hours).filter(|(hour, ..)| *hour > oldest);
    let mut attribution = Attribution { geographic_consensus: consensus(&found), ..Attribution::default() };
    for reading in found.iter().map(|(.., latest)| &latest.reading).filter(|r| r.status == ReadingStatus::Blocked) {
        attribution.methods_seen.extend(reading.method());
        let who = reading.entity.as_deref().and_then(entity);
        attribution.entities_detected.extend(who.map(|(name, _)| name));
        attribution.blocking_types.extend(who.map(|(_, class)| class));
        attribution.sni_detected += u32::from(reading.sni);
        attribution.dns_poisoning_detected += u32::from(reading.dns);
        attribution.cert_anomalies |= reading.certificate;
    }
    Response::json(&DomainStatus {
        total_probes_24h: hours().map(|(_, total, _)| u64::from(*total)).sum(),
        blocked_count: hours().map(|(.., blocked)| u64::from(*blocked)).sum(),
        nodes: found.iter().map(shown).collect(),
        attribution,
        updated_at: now.to_string(),
        domain,
    })
}

/// Measurements in one country on one day.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeCountryDay {
    pub total: u64,
    pub blocked: u64,
    pub block_rate: f64,
    /// The most frequent method.
    pub top_method: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbePoint {
    pub date: String,
    pub total: u64,
    pub blocked: u64,
    pub block_rate: f64,
    pub countries: BTreeMap<String, ProbeCountryDay>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ProbeHistory {
    pub domain: String,
    pub days: u32,
    pub country_filter: Option<String>,
    pub generated_at: String,
    /// Days with measurements, oldest first.
    pub points: Vec<ProbePoint>,
}

fn point(day: u32, countries: BTreeMap<String, DomainReadings>) -> ProbePoint {
    let (total, blocked) =
        countries.values().fold((0, 0), |(total, blocked), day| (total + day.total, blocked + day.blocked));
    let one = |(code, day): (String, DomainReadings)| {
        let top = day.methods.iter().max_by_key(|(name, n)| (**n, std::cmp::Reverse(name.as_str())));
        let top_method = top.map(|(name, _)| name.clone());
        let block_rate = share(day.blocked, day.total);
        (code, ProbeCountryDay { total: day.total, blocked: day.blocked, block_rate, top_method })
    };
    ProbePoint {
        date: Timestamp(i64::from(day) * DAY).to_date_text(),
        total,
        blocked,
        block_rate: share(blocked, total),
        countries: countries.into_iter().map(one).collect(),
    }
}

async fn history(cx: Cx) -> Result<Response> {
    let (domain, days) = (target(&cx)?, cx.count("days", 30, HISTORY_DAYS - 1)?);
    let wanted = cx.query("country")?;
    if let Some(code) = &wanted {
        // Probes may be in a country without a code, but not in one whose code has another form.
        let _ = input::country(code)?;
    }
    let wanted = wanted.map(|code| country(Some(&code)));
    let from = u32::try_from(cx.now().day()).unwrap_or(0).saturating_sub(days - 1);
    let mut by_day: BTreeMap<u32, BTreeMap<String, DomainReadings>> = BTreeMap::new();
    let ask = DomainDays { domain: domain.clone(), from };
    let rows = try_join_all(shards().map(|shard| runtime::query(&*cx.rt, shard, &ask))).await?.concat();
    for (day, code, row) in rows.into_iter().filter(|(_, code, _)| wanted.as_ref().is_none_or(|w| w == code)) {
        let sum = by_day.entry(day).or_default().entry(code).or_default();
        (sum.total, sum.blocked) = (sum.total + row.total, sum.blocked + row.blocked);
        row.methods.into_iter().for_each(|(method, n)| *sum.methods.entry(method).or_default() += n);
    }
    Response::json(&ProbeHistory {
        domain,
        days,
        country_filter: wanted,
        generated_at: cx.now().to_string(),
        points: by_day.into_iter().map(|(day, countries)| point(day, countries)).collect(),
    })
}
