//! `/v1/measurement/*`: the aggregates over all countries.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::coblocking::{self, Pair};
use super::constants as c;
use super::facts::{Block, Facts, focus_shares};
use super::reports::{CO_BLOCKING, Notes, ReportQuestion, Table, World, chosen, snake};
use super::tabular::Tabular;
use crate::{Error, Result, Timestamp, world};
use engine::documents::Rendered;
use engine::number::round;
use facts::sentence::{Sentence, Sentences};
use facts::starter::Country;
use facts::starter::categories::{Category, current_code};

/// Rows of the longest lists, at most.
const MOST_ROWS: usize = 500;
/// Domains that are named as examples in a row.
const EXAMPLES: usize = 5;

pub const TESTED_ONLY: Sentence = Sentence::new("report.tested_only");

pub fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { round(part / whole) } else { 0.0 }
}

pub fn freshness(facts: &Facts, at: Timestamp) -> &'static str {
    match facts.age_days(at) {
        Some(days) if days <= c::FRESH_LIVE_DAYS => "live",
        Some(days) if days <= c::FRESH_RECENT_DAYS => "recent",
        Some(days) if days <= c::FRESH_AGING_DAYS => "aging",
        _ => "stale",
    }
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "MeasurementFreshness")]
struct Freshness {
    live: usize,
    recent: usize,
    aging: usize,
    stale: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct TopCategory {
    category: String,
    domains: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MeasurementSource")]
struct SourceRow {
    source: String,
    license: String,
    measurements: u64,
    last_seen: String,
}

/// `/v1/measurement/summary`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MeasurementSummary")]
pub struct SummaryBody {
    measurements_30d: u64,
    measurements_total: u64,
    /// Domains with measurements inside the window, summed over countries.
    domains_tracked: u64,
    networks_tracked: u64,
    confirmed_national_blocks: usize,
    countries_with_confirmed_blocks: usize,
    /// Blocked domains divided by decided domains, summed over countries.
    block_fraction: f64,
    freshness: Freshness,
    top_techniques: Vec<TechniqueShare>,
    top_categories: Vec<TopCategory>,
    sources: Vec<SourceRow>,
}

pub fn summary(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let facts = &world.facts;
    let sum = |of: fn(&Facts) -> u64| facts.iter().map(of).sum::<u64>();
    let mut fresh = Freshness::default();
    for one in facts {
        match freshness(one, world.at) {
            "live" => fresh.live += 1,
            "recent" => fresh.recent += 1,
            "aging" => fresh.aging += 1,
            _ => fresh.stale += 1,
        }
    }
    let body = SummaryBody {
        measurements_30d: sum(|facts| facts.recent),
        measurements_total: sum(|facts| facts.total),
        domains_tracked: sum(|facts| facts.domains.into()),
        networks_tracked: sum(|facts| facts.networks.into()),
        confirmed_national_blocks: facts.iter().flat_map(Facts::confirmed).count(),
        countries_with_confirmed_blocks: facts.iter().filter(|facts| facts.confirmed().next().is_some()).count(),
        block_fraction: share(sum(|facts| facts.blocked.into()) as f64, sum(|facts| facts.decided.into()) as f64),
        freshness: fresh,
        top_techniques: shares(facts.iter()),
        top_categories: top_categories(facts),
        sources: sources(facts),
    };
    let table = Table { list: "sources", columns: &["source", "measurements", "last_seen"] };
    let caveat = Sentence::new("report.summed");
    snake(asked, world, caveat, &table, body)
}

/// Categories of nationally blocked domains, the most frequent first.
fn top_categories(facts: &[Facts]) -> Vec<TopCategory> {
    let mut categories: BTreeMap<&str, usize> = BTreeMap::new();
    for block in facts.iter().flat_map(Facts::confirmed) {
        *categories.entry(block.category.as_deref().unwrap_or("untagged")).or_default() += 1;
    }
    let mut top: Vec<TopCategory> = categories
        .into_iter()
        .map(|(category, domains)| TopCategory { category: category.to_owned(), domains })
        .collect();
    top.sort_by_key(|row| std::cmp::Reverse(row.domains));
    top.truncate(10);
    top
}

fn sources(facts: &[Facts]) -> Vec<SourceRow> {
    let mut sources: BTreeMap<&str, SourceRow> = BTreeMap::new();
    for source in facts.iter().flat_map(|facts| &facts.sources) {
        let last_seen = source.last_seen.to_string();
        let row = sources.entry(&source.source).or_insert_with(|| SourceRow {
            source: source.source.clone(),
            license: source.licence.clone(),
            measurements: 0,
            last_seen: last_seen.clone(),
        });
        row.measurements += source.measurements;
        row.last_seen = row.last_seen.clone().max(last_seen);
    }
    sources.into_values().collect()
}

#[derive(Debug, Serialize, JsonSchema)]
struct FocusShares {
    political_speech: f64,
    regulated_morality: f64,
    circumvention_tooling: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryIntent")]
struct Intent {
    country: String,
    country_name: String,
    n_confirmed_domains: usize,
    /// Confirmed domains with a category.
    n_tagged_domains: usize,
    category_mix: BTreeMap<String, f64>,
    focus: FocusShares,
    /// Null when no domain is nationally blocked, or no group leads.
    dominant_focus: Option<&'static str>,
}

/// Stated when some blocked domains have no category.
const UNTAGGED: Sentence = Sentence::new("report.untagged");

/// `/v1/measurement/intent-profile`
#[derive(Debug, Serialize, JsonSchema)]
pub struct IntentBody {
    n_countries: usize,
    /// Present when some blocked domains have no category: how to give them one.
    #[serde(skip_serializing_if = "Option::is_none")]
    untagged: Option<Sentence>,
    countries: Vec<Intent>,
}

pub fn intent_profile(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let mut countries: Vec<Intent> = chosen(asked, world).into_iter().filter(|f| f.recent > 0).map(intent).collect();
    if let Some(code) = asked.parameter.filter(|_| countries.is_empty()) {
        return Err(Error::not_found(super::reports::nothing_in_window(&format!("in {code}"))));
    }
    countries.sort_by(|a, b| b.n_confirmed_domains.cmp(&a.n_confirmed_domains).then(a.country.cmp(&b.country)));
    let columns = &[
        "country",
        "country_name",
        "n_confirmed_domains",
        "n_tagged_domains",
        "category_mix",
        "focus",
        "dominant_focus",
    ];
    let untagged = countries.iter().any(|row| row.n_tagged_domains < row.n_confirmed_domains).then_some(UNTAGGED);
    let notes = Notes::new(TESTED_ONLY, Sentences::new().with("untagged", &untagged));
    let body = IntentBody { n_countries: countries.len(), untagged, countries };
    snake(asked, world, notes, &Table { list: "countries", columns }, body)
}

fn intent(facts: &Facts) -> Intent {
    let confirmed: Vec<&Block> = facts.confirmed().collect();
    let mut mix: BTreeMap<String, f64> = BTreeMap::new();
    for code in confirmed.iter().filter_map(|block| block.category.clone()) {
        *mix.entry(code).or_default() += 1.0;
    }
    let tagged: f64 = mix.values().sum();
    mix.values_mut().for_each(|n| *n = share(*n, confirmed.len() as f64));
    let [speech, morality, tooling] = focus_shares(confirmed.iter().map(|block| block.category.as_deref()));
    let names = [("political_speech", speech), ("regulated_morality", morality), ("circumvention_tooling", tooling)];
    let top = names.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let mut leading = names.iter().filter(|(_, share)| *share == top && top > 0.0);
    let dominant = leading.next().filter(|_| leading.next().is_none());
    Intent {
        country: facts.country.clone(),
        country_name: world::name(&facts.country),
        n_confirmed_domains: confirmed.len(),
        n_tagged_domains: tagged as usize,
        category_mix: mix,
        focus: FocusShares { political_speech: speech, regulated_morality: morality, circumvention_tooling: tooling },
        dominant_focus: dominant.map(|(name, _)| *name),
    }
}

/// Reads a category code in any case, including retired codes. The error is 400 for a code that no list has.
pub fn category(text: &str) -> Result<&'static Category> {
    current_code(text)
        .and_then(Category::by_code)
        .ok_or_else(|| Error::bad_request(format!("{text:?} is not a category code, such as NEWS.")))
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CategoryLeader")]
struct Leader {
    rank: usize,
    country: String,
    country_name: String,
    n_domains: usize,
    example_domains: Vec<String>,
}

/// `/v1/measurement/category-leaders`
#[derive(Debug, Serialize, JsonSchema)]
pub struct LeadersBody {
    category: &'static str,
    category_name: &'static str,
    n_countries: usize,
    leaders: Vec<Leader>,
}

pub fn category_leaders(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let category = category(asked.parameter.unwrap_or_default())?;
    let mut leaders: Vec<Leader> = Vec::new();
    for facts in &world.facts {
        let domains: Vec<&Block> =
            facts.confirmed().filter(|block| block.category.as_deref() == Some(category.code)).collect();
        if !domains.is_empty() {
            leaders.push(Leader {
                rank: 0,
                country: facts.country.clone(),
                country_name: world::name(&facts.country),
                n_domains: domains.len(),
                example_domains: domains.iter().take(EXAMPLES).map(|block| block.domain.clone()).collect(),
            });
        }
    }
    leaders.sort_by(|a, b| b.n_domains.cmp(&a.n_domains).then(a.country.cmp(&b.country)));
    (1..).zip(&mut leaders).for_each(|(rank, row)| row.rank = rank);
    let table =
        Table { list: "leaders", columns: &["rank", "country", "country_name", "n_domains", "example_domains"] };
    let n_countries = leaders.len();
    let body = LeadersBody { category: category.code, category_name: category.name, n_countries, leaders };
    snake(asked, world, TESTED_ONLY, &table, body)
}

/// `/v1/measurement/co-blocking`
#[derive(Debug, Serialize, JsonSchema)]
pub struct CoBlockingBody {
    /// Pairs that share at least one domain.
    n_pairs: usize,
    /// Pairs that were compared, for the correction of significance.
    n_pairs_tested: usize,
    n_significant: usize,
    min_sessions: u32,
    false_discovery_rate: f64,
    pairs: Vec<Pair>,
}

/// The table of the pairs. For the present it is made from the published document, since comparing all pairs takes
/// long.
pub const PAIRS: Tabular = Tabular {
    name: CO_BLOCKING,
    list: "pairs",
    inner: None,
    columns: &[
        "rank",
        "country_a",
        "country_b",
        "shared",
        "shared_political",
        "shared_tooling",
        "tested_in_both",
        "jaccard",
        "expected",
        "p_value",
        "q_value",
        "significant",
        "example_domains",
    ],
};

pub fn co_blocking(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let (mut pairs, tests) = coblocking::pairs(&world.sites);
    let (n_pairs, n_significant) = (pairs.len(), pairs.iter().filter(|pair| pair.significant).count());
    pairs.truncate(MOST_ROWS);
    let body = CoBlockingBody {
        n_pairs,
        n_pairs_tested: tests,
        n_significant,
        min_sessions: c::CO_BLOCKING_SESSIONS,
        false_discovery_rate: c::FALSE_DISCOVERY_RATE,
        pairs,
    };
    let caveat = Sentence::new("report.co_blocking");
    let Tabular { list, columns, .. } = PAIRS;
    snake(asked, world, caveat, &Table { list, columns }, body)
}

#[derive(Debug, Serialize, JsonSchema)]
struct BlockedDomainRow {
    rank: usize,
    domain: String,
    category: Option<String>,
    /// Countries whose verdict on the domain is blocked.
    n_countries: usize,
    /// Those of them in which at least three networks block it.
    n_countries_confirmed: usize,
    countries: Vec<String>,
    n_blocked_obs: u32,
    /// Mean over these countries.
    block_rate: f64,
    avg_confidence: f64,
    /// Countries x ln(1 + blocked observations weighted by age) x mean confidence.
    importance: f64,
}

/// `/v1/measurement/most-blocked-domains`
#[derive(Debug, Serialize, JsonSchema)]
pub struct MostBlockedBody {
    category_filter: Option<&'static str>,
    n_domains: usize,
    domains: Vec<BlockedDomainRow>,
}

pub fn most_blocked(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let filter = asked.parameter.map(category).transpose()?.map(|category| category.code);
    let mut found: BTreeMap<&str, Vec<(&str, &Block)>> = BTreeMap::new();
    for facts in &world.facts {
        let blocks =
            facts.blocks.iter().filter(|block| filter.is_none_or(|code| block.category.as_deref() == Some(code)));
        for block in blocks {
            found.entry(&block.domain).or_default().push((&facts.country, block));
        }
    }
    let mut domains: Vec<BlockedDomainRow> =
        found.into_iter().map(|(domain, blocks)| blocked_domain(domain, &blocks, world.at)).collect();
    domains.sort_by(|a, b| {
        b.n_countries
            .cmp(&a.n_countries)
            .then(b.importance.total_cmp(&a.importance))
            .then_with(|| a.domain.cmp(&b.domain))
    });
    (1..).zip(&mut domains).for_each(|(rank, row)| row.rank = rank);
    let n_domains = domains.len();
    domains.truncate(MOST_ROWS);
    let columns = &[
        "rank",
        "domain",
        "category",
        "n_countries",
        "n_countries_confirmed",
        "countries",
        "n_blocked_obs",
        "block_rate",
        "avg_confidence",
        "importance",
    ];
    let body = MostBlockedBody { category_filter: filter, n_domains, domains };
    snake(asked, world, TESTED_ONLY, &Table { list: "domains", columns }, body)
}

fn blocked_domain(domain: &str, blocks: &[(&str, &Block)], at: Timestamp) -> BlockedDomainRow {
    let countries = blocks.len() as f64;
    let mean = |of: fn(&Block) -> f64| blocks.iter().map(|(_, block)| of(block)).sum::<f64>() / countries;
    let weighed = blocks.iter().map(|(_, block)| {
        let days = at.since(block.last_checked).max(0) as f64 / engine::time::DAY as f64;
        f64::from(block.observations) * (-days / c::RECENCY_DAYS).exp()
    });
    BlockedDomainRow {
        rank: 0,
        domain: domain.to_owned(),
        category: blocks.iter().find_map(|(_, block)| block.category.clone()),
        n_countries: blocks.len(),
        n_countries_confirmed: blocks.iter().filter(|(_, block)| block.is_confirmed()).count(),
        countries: blocks.iter().map(|(country, _)| (*country).to_owned()).collect(),
        n_blocked_obs: blocks.iter().map(|(_, block)| block.observations).sum(),
        block_rate: round(mean(|block| block.rate)),
        avg_confidence: round(mean(|block| block.confidence)),
        importance: round(countries * weighed.sum::<f64>().ln_1p() * mean(|block| block.confidence)),
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct TechniqueShare {
    technique: &'static str,
    label: &'static str,
    /// Share of the blocked votes.
    share: f64,
    n_observations: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryTechniques")]
struct CountryTechniques {
    country: String,
    country_name: String,
    techniques: Vec<TechniqueShare>,
}

/// `/v1/measurement/techniques`
#[derive(Debug, Serialize, JsonSchema)]
pub struct TechniquesBody {
    country_filter: Option<String>,
    techniques: Vec<TechniqueShare>,
    #[serde(skip_serializing_if = "Option::is_none")]
    countries: Option<Vec<CountryTechniques>>,
}

/// The family of a dotted technique: name and label.
fn family(technique: &str) -> (&'static str, &'static str) {
    let layer = technique.split('.').next().unwrap_or_default();
    match technique {
        "tor" => ("tor_blocking", "Tor blocking"),
        "tls.reset.sni" | "tls.mitm" | "http.blockpage" | "http.451" | "http.redirect" => {
            ("dpi_middlebox", "DPI or middlebox")
        }
        "tcp.reset" | "tls.reset" | "tls.eof" | "http.reset" | "http.eof" => {
            ("tcp_reset_injection", "TCP-reset injection")
        }
        _ if layer == "dns" => ("dns_manipulation", "DNS manipulation"),
        _ => ("connection_interference", "Connection interference"),
    }
}

fn shares<'a>(facts: impl Iterator<Item = &'a Facts>) -> Vec<TechniqueShare> {
    let mut counts: BTreeMap<(&'static str, &'static str), u64> = BTreeMap::new();
    for (technique, n) in facts.flat_map(|facts| &facts.techniques) {
        *counts.entry(family(technique)).or_default() += u64::from(*n);
    }
    let all: u64 = counts.values().sum();
    let mut rows: Vec<TechniqueShare> = counts
        .into_iter()
        .map(|((technique, label), n)| TechniqueShare {
            technique,
            label,
            share: share(n as f64, all as f64),
            n_observations: n,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.n_observations));
    rows
}

pub fn techniques(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let facts = chosen(asked, world);
    let by_country = facts.iter().filter(|facts| !facts.techniques.is_empty()).map(|facts| CountryTechniques {
        country: facts.country.clone(),
        country_name: world::name(&facts.country),
        techniques: shares(std::iter::once(*facts)),
    });
    let body = TechniquesBody {
        country_filter: asked.parameter.map(str::to_owned),
        techniques: shares(facts.iter().copied()),
        countries: asked.parameter.is_none().then(|| by_country.collect()),
    };
    let table = Table { list: "techniques", columns: &["technique", "label", "share", "n_observations"] };
    let caveat = Sentence::new("report.techniques");
    snake(asked, world, caveat, &table, body)
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "MeasuredRegion")]
struct Region {
    region: String,
    countries_measured: usize,
    countries_total: usize,
    n_measurements: u64,
    /// Blocked domains divided by decided domains, summed over countries; null when none is decided.
    block_fraction: Option<f64>,
    confirmed_blocks: usize,
    #[serde(skip)]
    decided: u32,
    #[serde(skip)]
    blocked: u32,
}

/// `/v1/measurement/by-region`
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegionsBody {
    level: &'static str,
    regions: Vec<Region>,
}

pub fn by_region(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let subregions = match asked.parameter {
        None | Some("continent") => false,
        Some("subregion") => true,
        Some(other) => return Err(Error::bad_request(format!("`level` is continent or subregion, not {other:?}."))),
    };
    let mut regions: BTreeMap<&str, Region> = BTreeMap::new();
    for country in Country::all() {
        let name = if subregions { country.subregion.name } else { country.subregion.region };
        let region = regions.entry(name).or_default();
        name.clone_into(&mut region.region);
        region.countries_total += 1;
        let Some(facts) = world.facts.iter().find(|facts| facts.country == country.code && facts.recent > 0) else {
            continue;
        };
        region.countries_measured += 1;
        region.n_measurements += facts.recent;
        region.decided += facts.decided;
        region.blocked += facts.blocked;
        region.confirmed_blocks += facts.confirmed().count();
        region.block_fraction =
            (region.decided > 0).then(|| share(f64::from(region.blocked), f64::from(region.decided)));
    }
    let columns =
        &["region", "countries_measured", "countries_total", "n_measurements", "block_fraction", "confirmed_blocks"];
    let body = RegionsBody {
        level: if subregions { "subregion" } else { "continent" },
        regions: regions.into_values().collect(),
    };
    snake(asked, world, TESTED_ONLY, &Table { list: "regions", columns }, body)
}
