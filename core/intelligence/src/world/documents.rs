//! The open data of all countries: the index as JSON and CSV, and the overview by country code.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::imports::newest_of;
use super::index::{GLOBAL_LIST, WEIGHTS, level};
use super::outages::{Outage, outages};
use super::{CountrySummary, methodology, summaries};
use crate::analytics::constants::DEGRADED_RATE;
use crate::{Result, Timestamp};
use engine::actor::{Kind, View};
use engine::csv;
use engine::documents::{Family, Rendered};
use engine::settings::Settings;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::source::{TEST_LIST_LICENCE, licence_of};
use facts::starter::{self, Country};

pub const INDEX_JSON: &str = "data/censorship-index.json";
pub const INDEX_CSV: &str = "data/censorship-index.csv";
pub const OVERVIEW: &str = "v1/censorship-index";
pub const METHODOLOGY: &str = "data/methodology";

/// Seconds for which a reader may treat these documents as fresh.
const MAX_AGE: u32 = 60;

pub const FAMILIES: &[Family] = &[
    Family {
        prefix: INDEX_JSON,
        owner: Kind::World,
        max_age: MAX_AGE,
        render: |view, _| Rendered::json(&index_json(&summaries(view)?, view.settings, view.now)),
    },
    Family {
        prefix: INDEX_CSV,
        owner: Kind::World,
        max_age: MAX_AGE,
        render: |view, _| Ok(Rendered::csv(index_csv(&summaries(view)?, view.settings), "censorship-index.csv")),
    },
    Family {
        prefix: OVERVIEW,
        owner: Kind::World,
        max_age: MAX_AGE,
        render: |view, _| Rendered::json(&overview(&summaries(view)?, &outages(view)?, view.settings, view.now)),
    },
    Family { prefix: METHODOLOGY, owner: Kind::World, max_age: 3_600, render: render_methodology },
];

fn render_methodology(view: &View<'_>, _: &str) -> Result<Rendered> {
    let served = crate::forecast::served(view)?;
    let mut told = Vec::new();
    for source in Source::ALL {
        told.extend(newest_of(view, source)?.map(|_| source));
    }
    Rendered::json(&methodology(&summaries(view)?, &told, served.as_ref(), view.settings, view.now))
}

/// The licence of our compilation, scores and text.
pub const LICENSE: &str = "https://creativecommons.org/licenses/by/4.0/";

/// The name of a country for display.
pub fn name(code: &str) -> String {
    Country::by_code(code).map_or_else(|| code.to_owned(), |country| country.name.to_owned())
}

/// A country in the index.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexRow {
    pub rank: u32,
    /// Display name.
    pub country: String,
    pub code: String,
    /// 0-100, 100 = total.
    pub score: u32,
    pub level: &'static str,
    /// Measurements inside the age limit, each once.
    pub samples: u64,
    pub blocked: Vec<String>,
    pub block_rate: f64,
    pub anomaly_rate: f64,
    /// 1 severe to 5 free.
    pub risk_tier: u8,
    pub confidence_interval: Option<[u32; 2]>,
    pub grade: Option<String>,
    pub components: Vec<ComponentBody>,
    pub networks: u32,
    pub last_updated: Option<String>,
}

/// A part of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentBody {
    pub name: String,
    pub weight: f64,
    pub value: Option<f64>,
    pub missing: Option<String>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

/// A source of the numbers, and its licence.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SourceLicense {
    pub source: String,
    pub license: String,
}

/// Why the index is empty.
const NO_SCORES: Sentence = Sentence::new("index.no_scores");

/// `/data/censorship-index.json`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IndexBody {
    #[serde(rename = "@context")]
    pub context: &'static str,
    #[serde(rename = "@type")]
    pub kind: &'static str,
    pub name: &'static str,
    pub license: &'static str,
    #[serde(rename = "sourceLicenses")]
    pub source_licenses: Vec<SourceLicense>,
    #[serde(rename = "effectiveLicense")]
    pub effective_license: String,
    #[serde(rename = "dateModified")]
    pub date_modified: String,
    pub generated: String,
    /// Seconds after `generated` when a newer index may exist.
    #[serde(rename = "maxAge")]
    pub max_age: u32,
    /// False when no country has a score.
    pub available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Sentence>,
    pub metadata: IndexMetadata,
    pub summary: LevelCounts,
    /// Parts of the score that no country has yet.
    #[serde(rename = "missingComponents")]
    pub missing_components: Vec<String>,
    pub countries: Vec<IndexRow>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IndexMetadata {
    pub total_countries: usize,
    /// Measurements inside the age limit, older ones, and both together. Each measurement counts once.
    pub live_measurements: u64,
    pub historical_measurements: u64,
    pub total_measurements: u64,
    /// Countries with measurements, but too few for a score.
    pub insufficient_data: usize,
    pub last_updated: String,
    pub version: &'static str,
    pub license: &'static str,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LevelCounts {
    pub severe_count: usize,
    pub high_count: usize,
    pub medium_count: usize,
    pub low_count: usize,
    pub free_count: usize,
}

/// The sources of some summaries, and those of the rest of the answer, each once, with the licences in force.
pub fn source_licenses<'a>(
    summaries: impl Iterator<Item = &'a CountrySummary>,
    others: &[Source],
    settings: &'a Settings,
) -> Vec<SourceLicense> {
    let mut found: BTreeMap<&str, &str> = BTreeMap::from([("starter", starter::LICENCE)]);
    let licence = |source: Source| (source.id(), source.licence_under(settings));
    for summary in summaries {
        for source in &summary.sources {
            let known = Source::by_id(&source.source);
            let (id, licence) = known.map_or((source.source.as_str(), source.licence.as_str()), licence);
            found.insert(id, licence);
        }
        if summary.index.breadth_list == GLOBAL_LIST {
            found.insert("test-list", licence_of(settings, "test-list").unwrap_or(TEST_LIST_LICENCE));
        }
        let parts = &summary.index.components;
        if parts.iter().any(|part| part.name == "shutdown_load" && part.value.is_some()) {
            let (id, licence) = licence(Source::AccessNow);
            found.insert(id, licence);
        }
    }
    found.extend(others.iter().map(|source| licence(*source)));
    found
        .into_iter()
        .map(|(source, license)| SourceLicense { source: source.into(), license: license.into() })
        .collect()
}

/// The strictest licence of the sources.
pub fn effective_license(sources: &[SourceLicense]) -> String {
    licence::effective(sources.iter().map(|source| source.license.as_str()))
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { engine::number::round(f64::from(part) / f64::from(whole)) }
}

/// The scored countries, worst first.
fn rows(summaries: &[CountrySummary]) -> Vec<IndexRow> {
    let mut scored: Vec<(u32, &CountrySummary)> =
        summaries.iter().filter_map(|summary| Some((summary.index.score?, summary))).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.country.cmp(&b.1.country)));
    (1..)
        .zip(scored)
        .map(|(rank, (score, summary))| {
            let (level, risk_tier) = level(score);
            IndexRow {
                rank,
                country: name(&summary.country),
                code: summary.country.clone(),
                score,
                level,
                samples: summary.recent,
                blocked: summary.blocked.clone(),
                block_rate: share(summary.domains_blocked, summary.domains_blocked + summary.domains_accessible),
                anomaly_rate: summary.anomaly_rate,
                risk_tier,
                confidence_interval: summary.index.interval.map(|(low, high)| [low, high]),
                grade: summary.index.grade.clone(),
                components: components(summary),
                networks: summary.networks,
                last_updated: summary.newest.map(|newest| newest.to_string()),
            }
        })
        .collect()
}

/// The parts of a country's score.
pub fn components(summary: &CountrySummary) -> Vec<ComponentBody> {
    let body = |part: &super::index::Component| ComponentBody {
        name: part.name.clone(),
        weight: part.weight,
        value: part.value,
        sentences: Sentences::new().with("missing", part.why()),
        missing: part.missing.clone(),
    };
    summary.index.components.iter().map(body).collect()
}

/// Parts that no scored country has.
pub(super) fn missing_components(summaries: &[CountrySummary]) -> Vec<String> {
    let has = |name: &str| {
        let scored = summaries.iter().filter(|summary| summary.index.score.is_some());
        scored.flat_map(|summary| &summary.index.components).any(|part| part.name == name && part.value.is_some())
    };
    WEIGHTS.iter().map(|(name, _)| *name).filter(|name| !has(name)).map(str::to_owned).collect()
}

/// The index as JSON.
pub fn index_json(summaries: &[CountrySummary], settings: &Settings, now: Timestamp) -> IndexBody {
    let rows = rows(summaries);
    let count = |level: &str| rows.iter().filter(|row| row.level == level).count();
    let recent: u64 = summaries.iter().map(|summary| summary.recent).sum();
    let total: u64 = summaries.iter().map(|summary| summary.total).sum();
    let source_licenses = source_licenses(summaries.iter(), &[], settings);
    let newest = summaries.iter().filter_map(|summary| summary.newest).max();
    let updated = newest.unwrap_or(now).to_string();
    IndexBody {
        context: "https://schema.org",
        kind: "Dataset",
        name: "Censorship index",
        license: LICENSE,
        effective_license: effective_license(&source_licenses),
        source_licenses,
        available: !rows.is_empty(),
        sentences: Sentences::new().with("reason", rows.is_empty().then_some(NO_SCORES)),
        reason: rows.is_empty().then_some(NO_SCORES),
        date_modified: updated.clone(),
        generated: now.to_string(),
        max_age: MAX_AGE,
        metadata: IndexMetadata {
            total_countries: rows.len(),
            live_measurements: recent,
            historical_measurements: total.saturating_sub(recent),
            total_measurements: total,
            insufficient_data: summaries.len() - rows.len(),
            last_updated: updated,
            version: env!("CARGO_PKG_VERSION"),
            license: LICENSE,
        },
        summary: LevelCounts {
            severe_count: count("severe"),
            high_count: count("high"),
            medium_count: count("medium"),
            low_count: count("low"),
            free_count: count("free"),
        },
        missing_components: missing_components(summaries),
        countries: rows,
        as_of: None,
    }
}

const INDEX_COLUMNS: [&str; 17] = [
    "rank",
    "country",
    "code",
    "score",
    "level",
    "samples",
    "block_rate",
    "risk_tier",
    "anomaly_rate",
    "confirmed_rate",
    "blocked",
    "last_updated",
    "interval_low",
    "interval_high",
    "grade",
    "license",
    "effective_license",
];

/// The index as CSV. Each row names the licence of the compilation and the strictest licence among the sources of its
/// country (decision licence-and-removal).
pub fn index_csv(summaries: &[CountrySummary], settings: &Settings) -> Vec<u8> {
    let mut out = Vec::new();
    csv::record(&mut out, INDEX_COLUMNS);
    for (row, summary) in rows(summaries)
        .iter()
        .filter_map(|row| Some((row, summaries.iter().find(|summary| summary.country == row.code)?)))
    {
        let end =
            |of: fn([u32; 2]) -> u32| row.confidence_interval.map(of).map_or(String::new(), |end| end.to_string());
        let fields = [
            row.rank.to_string(),
            row.country.clone(),
            row.code.clone(),
            row.score.to_string(),
            row.level.to_owned(),
            row.samples.to_string(),
            row.block_rate.to_string(),
            row.risk_tier.to_string(),
            row.anomaly_rate.to_string(),
            summary.confirmed_rate.to_string(),
            row.blocked.join(";"),
            row.last_updated.clone().unwrap_or_default(),
            end(|[low, _]| low),
            end(|[_, high]| high),
            row.grade.clone().unwrap_or_default(),
            LICENSE.to_owned(),
            effective_license(&source_licenses(std::iter::once(summary), &[], settings)),
        ];
        csv::record(&mut out, fields.iter().map(|field| csv::harmless(field)));
    }
    out
}

/// A country's measurements in the form that older clients read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OoniBody {
    pub status: &'static str,
    pub anomaly_rate: f64,
    pub confirmed_rate: f64,
    /// Measurements of the last seven days, each once.
    pub measurement_count: u64,
    pub affected_services: Vec<String>,
    pub last_updated: String,
}

/// The measurements of a summary; `None` if none is inside the age limit.
pub fn ooni(summary: &CountrySummary) -> Option<OoniBody> {
    (summary.recent > 0).then(|| OoniBody {
        status: outage_status(summary, None),
        anomaly_rate: summary.anomaly_rate,
        confirmed_rate: summary.confirmed_rate,
        measurement_count: summary.week,
        affected_services: summary.services.clone(),
        last_updated: summary.newest.unwrap_or(summary.at).to_string(),
    })
}

/// The status in the words of the overview. Active incidents decide it. Without one it is `unknown` if measurements
/// decide nothing, `degraded` if the share of blocked votes is high, and otherwise `normal`.
pub fn outage_status(summary: &CountrySummary, outage: Option<Outage>) -> &'static str {
    match summary.decided {
        _ if outage.is_some() => outage.map_or("unknown", Outage::as_str),
        0 => "unknown",
        _ if summary.anomaly_rate > DEGRADED_RATE => "degraded",
        _ => "normal",
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverviewRow {
    /// The country code.
    pub country: String,
    pub name: String,
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ooni: Option<OoniBody>,
    pub score: Option<u32>,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "CountryStatusCounts")]
pub struct StatusCounts {
    pub full_outage: usize,
    pub partial_outage: usize,
    pub degraded: usize,
    pub normal: usize,
    pub unknown: usize,
}

/// `/v1/censorship-index`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverviewBody {
    pub timestamp: String,
    pub license: &'static str,
    #[serde(rename = "sourceLicenses")]
    pub source_licenses: Vec<SourceLicense>,
    #[serde(rename = "effectiveLicense")]
    pub effective_license: String,
    pub summary: StatusCounts,
    pub countries: Vec<OverviewRow>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

/// The overview by code: every country, measured or not.
pub fn overview(
    summaries: &[CountrySummary],
    outages: &BTreeMap<String, Outage>,
    settings: &Settings,
    now: Timestamp,
) -> OverviewBody {
    let mut counts = StatusCounts::default();
    let mut rows = Vec::new();
    for country in Country::all() {
        let summary = summaries.iter().find(|summary| summary.country == country.code);
        let outage = outages.get(country.code).copied();
        let unmeasured = outage.map_or("unknown", Outage::as_str);
        let status = summary.map_or(unmeasured, |summary| outage_status(summary, outage));
        match status {
            "full_outage" => counts.full_outage += 1,
            "partial_outage" => counts.partial_outage += 1,
            "degraded" => counts.degraded += 1,
            "normal" => counts.normal += 1,
            _ => counts.unknown += 1,
        }
        rows.push(OverviewRow {
            country: country.code.to_owned(),
            name: country.name.to_owned(),
            status,
            ooni: summary.and_then(ooni).map(|ooni| OoniBody { status, ..ooni }),
            score: summary.and_then(|summary| summary.index.score),
        });
    }
    // Countries with measurements come first, the highest anomaly rate leading.
    let rate = |row: &OverviewRow| row.ooni.as_ref().map_or(-1.0, |ooni| ooni.anomaly_rate);
    rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
    let source_licenses = source_licenses(summaries.iter(), &[], settings);
    OverviewBody {
        timestamp: now.to_string(),
        license: LICENSE,
        effective_license: effective_license(&source_licenses),
        source_licenses,
        summary: counts,
        countries: rows,
        as_of: None,
    }
}
