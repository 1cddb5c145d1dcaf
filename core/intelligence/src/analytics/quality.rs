//! The depth and the quality of each country's data: `/v1/measurement/network-depth` and `/quality`.

use schemars::JsonSchema;
use serde::Serialize;

use super::constants as c;
use super::facts::Facts;
use super::measurement::{freshness, share};
use super::reports::{ReportQuestion, Table, World, chosen, snake};
use crate::{Result, Timestamp, world};
use engine::documents::Rendered;
use engine::number::round;
use facts::sentence::Sentence;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CountryDepth")]
struct Depth {
    rank: usize,
    country: String,
    country_name: String,
    n_networks: u32,
    n_measurements: u64,
    can_confirm: bool,
    band: &'static str,
}

/// `/v1/measurement/network-depth`
#[derive(Debug, Serialize, JsonSchema)]
pub struct DepthBody {
    n_countries: usize,
    countries: Vec<Depth>,
}

pub fn network_depth(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let mut facts: Vec<&Facts> = chosen(asked, world).into_iter().filter(|facts| facts.recent > 0).collect();
    facts.sort_by(|a, b| b.networks.cmp(&a.networks).then(b.recent.cmp(&a.recent)).then(a.country.cmp(&b.country)));
    let row = |(rank, facts): (usize, &Facts)| Depth {
        rank,
        country: facts.country.clone(),
        country_name: world::name(&facts.country),
        n_networks: facts.networks,
        n_measurements: facts.recent,
        can_confirm: facts.networks >= c::CONFIRMED_NETWORKS,
        band: match facts.networks {
            n if n >= c::DEPTH_DEEP => "deep",
            n if n >= c::CONFIRMED_NETWORKS => "moderate",
            0 => "none",
            _ => "thin",
        },
    };
    let countries: Vec<Depth> = (1..).zip(facts).map(row).collect();
    let columns = &["rank", "country", "country_name", "n_networks", "n_measurements", "can_confirm", "band"];
    let body = DepthBody { n_countries: countries.len(), countries };
    let caveat = Sentence::new("report.depth");
    snake(asked, world, caveat, &Table { list: "countries", columns }, body)
}

#[derive(Debug, Serialize, JsonSchema)]
struct QualityParts {
    freshness: f64,
    volume: f64,
    stability: f64,
    source_diversity: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QualityRow {
    rank: usize,
    country: String,
    country_name: String,
    /// 0-100.
    score: f64,
    band: &'static str,
    /// The parts of the score, each 0-1.
    components: QualityParts,
    last_measured_at: Option<String>,
    freshness_band: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CategoryCoverage")]
struct Coverage {
    tagged: u64,
    untagged: u64,
    share: f64,
}

/// `/v1/measurement/quality`
#[derive(Debug, Serialize, JsonSchema)]
pub struct QualityBody {
    n_countries: usize,
    countries: Vec<QualityRow>,
    /// Decided sites with a category, summed over countries.
    category_coverage: Coverage,
}

pub fn quality(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    let mut countries: Vec<QualityRow> = world.facts.iter().map(|facts| quality_of(facts, world.at)).collect();
    countries.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.country.cmp(&b.country)));
    (1..).zip(&mut countries).for_each(|(rank, row)| row.rank = rank);
    let tagged: u64 = world.facts.iter().map(|facts| u64::from(facts.tagged)).sum();
    let decided: u64 = world.facts.iter().map(|facts| u64::from(facts.decided)).sum();
    let coverage =
        Coverage { tagged, untagged: decided.saturating_sub(tagged), share: share(tagged as f64, decided as f64) };
    let columns =
        &["rank", "country", "country_name", "score", "band", "components", "last_measured_at", "freshness_band"];
    let body = QualityBody { n_countries: countries.len(), countries, category_coverage: coverage };
    let caveat = Sentence::new("report.quality");
    snake(asked, world, caveat, &Table { list: "countries", columns }, body)
}

fn quality_of(facts: &Facts, at: Timestamp) -> QualityRow {
    let full = |n: f64, full: f64| (n / full).min(1.0);
    let parts = QualityParts {
        freshness: round(facts.age_days(at).map_or(0.0, |days| (-days / c::QUALITY_HALF_DAYS).exp2())),
        volume: round(full((facts.recent as f64).ln_1p(), c::QUALITY_FULL_MEASUREMENTS.ln_1p())),
        stability: facts.stability.unwrap_or(0.0),
        source_diversity: round(
            full(facts.sources.len() as f64, c::QUALITY_FULL_SOURCES) / 2.0
                + full(f64::from(facts.networks), c::QUALITY_FULL_NETWORKS) / 2.0,
        ),
    };
    let score = 100.0
        * (c::QUALITY_WEIGHT_FRESHNESS * parts.freshness
            + c::QUALITY_WEIGHT_VOLUME * parts.volume
            + c::QUALITY_WEIGHT_STABILITY * parts.stability
            + c::QUALITY_WEIGHT_DIVERSITY * parts.source_diversity);
    QualityRow {
        rank: 0,
        country: facts.country.clone(),
        country_name: world::name(&facts.country),
        score: (score * 10.0).round() / 10.0,
        band: match score {
            score if score >= c::QUALITY_HIGH => "high",
            score if score >= c::QUALITY_MEDIUM => "medium",
            _ => "low",
        },
        components: parts,
        last_measured_at: facts.newest.map(|newest| newest.to_string()),
        freshness_band: freshness(facts, at),
    }
}
