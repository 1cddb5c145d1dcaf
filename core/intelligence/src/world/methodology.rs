//! `/data/methodology`: how the answers are computed, with the numbers that the code uses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::CountrySummary;
use super::documents::{LICENSE, SourceLicense, effective_license, missing_components, source_licenses};
use super::index::{
    GRADES, LEVELS, LOAD_DAYS, LOAD_HALF_DAYS, LOAD_REGIONAL, MIN_SESSIONS, MIN_SITES, PRIOR_BREADTH, PRIOR_SITES,
    WEIGHTS,
};
use crate::{Timestamp, analytics, anomaly, atlas, classifier, forecast};
use engine::settings::Settings;
use engine::time::{DAY, HOUR};
use facts::change;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::source::{TEST_LIST_LICENCE, licence_of};
use facts::starter;
use facts::starter::categories;
use facts::verdict::belief;
use facts::verdict::constants as c;
use facts::verdict::{RULES, Technique};

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Methodology {
    #[serde(rename = "@context")]
    context: &'static str,
    #[serde(rename = "@type")]
    kind: &'static str,
    name: &'static str,
    url: String,
    #[serde(rename = "datePublished")]
    date_published: &'static str,
    #[serde(rename = "dateModified")]
    date_modified: String,
    generated: String,
    author: Author,
    license: &'static str,
    #[serde(rename = "sourceLicenses")]
    source_licenses: Vec<SourceLicense>,
    #[serde(rename = "effectiveLicense")]
    effective_license: String,
    methodology: Method,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MethodologyAuthor")]
struct Author {
    #[serde(rename = "@type")]
    kind: &'static str,
    name: &'static str,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MethodologyMethod")]
struct Method {
    overview: Sentence,
    data_sources: BTreeMap<&'static str, DataSource>,
    data_sources_list: Vec<DataSource>,
    model: Model,
    scoring: Scoring,
    /// Every number of the verdict, by name.
    constants: BTreeMap<&'static str, f64>,
    /// Every number of change detection and of incidents, by name; durations are in hours.
    changes: BTreeMap<&'static str, f64>,
    /// Every number of the rankings, by name.
    analytics: BTreeMap<&'static str, f64>,
    /// Every number of the anomaly detectors, of the classifier, and of scores and networks at risk, by name.
    anomaly: BTreeMap<&'static str, f64>,
    day_classifier: BTreeMap<&'static str, f64>,
    atlas: BTreeMap<&'static str, f64>,
    /// Categories of the three focus groups, and of the topics. They are our judgement.
    focus_groups: BTreeMap<&'static str, Vec<&'static str>>,
    topics: BTreeMap<&'static str, Vec<&'static str>>,
    /// The meaning of the figures in answers, by their names.
    figures: BTreeMap<&'static str, Sentence>,
    rules: Vec<RuleBody>,
    techniques: Vec<TechniqueBody>,
    limitations: [Sentence; 8],
    citation: &'static str,
    sentences: Sentences,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DataSource {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    coverage: String,
    tests: Vec<&'static str>,
    update_frequency: &'static str,
    license: String,
    url: &'static str,
    #[serde(flatten)]
    probes: Option<ProbesPart>,
}

/// Members that only the deployment's own probes have.
#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ProbesPart {
    /// Always null. The present number is at `/v1/probe/network`.
    nodes: Option<u64>,
    /// Sites that each probe is asked to test, in addition to those of its country.
    domains: usize,
    interval: &'static str,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MethodologyModel")]
struct Model {
    classifier: ModelPart,
    forecast: ForecastPart,
    calibration: CalibrationBody,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ModelPart {
    #[serde(rename = "type")]
    kind: &'static str,
    rules_version: u32,
    /// Null, because it is not measured on this deployment's data.
    f1: Option<f64>,
    auc_roc: Option<f64>,
    validation_note: Sentence,
    sentences: Sentences,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ForecastPart {
    #[serde(rename = "type")]
    kind: &'static str,
    /// Null while no model is served.
    version: Option<String>,
    /// Measured on the temporal hold-out of the served model.
    auc_roc: Option<f64>,
    recall: Option<f64>,
    validation_note: Sentence,
    sentences: Sentences,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "VerdictCalibration")]
struct CalibrationBody {
    /// The data that the probabilities were calibrated on.
    source: &'static str,
    /// Probability of a block on a network before any vote. Time without votes moves the probability towards it, or
    /// towards up to eight times as much where many sites of that kind are blocked in the country.
    prior: f64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MethodologyScoring")]
struct Scoring {
    scale: &'static str,
    levels: BTreeMap<&'static str, u32>,
    risk_tiers: BTreeMap<&'static str, u8>,
    weights: BTreeMap<&'static str, f64>,
    missing_components: Vec<String>,
    /// Days that the shutdown load looks back over, days in which the weight of a day halves, and the weight of a
    /// regional shutdown.
    shutdown_days: i64,
    shutdown_half_life_days: f64,
    shutdown_regional_weight: f64,
    grades: Vec<GradeBody>,
    minimum_measurements: u64,
    minimum_sites: usize,
    prior_sites: f64,
    prior_breadth: f64,
    confidence_interval: &'static str,
    network_weight: &'static str,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct GradeBody {
    grade: &'static str,
    measurements: u64,
    networks: u32,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct RuleBody {
    id: &'static str,
    log10_lr: f64,
    needs_control: bool,
    source: &'static str,
    meaning: &'static str,
    sentences: Sentences,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct TechniqueBody {
    technique: &'static str,
    method: &'static str,
    block_type: &'static str,
}

const OVERVIEW: Sentence = Sentence::new("methodology.overview");

/// The meaning of the shares and probabilities in answers.
const FIGURES: [(&str, Sentence); 8] = [
    ("anomalyRate", Sentence::new("methodology.figure.anomaly_rate")),
    ("blockRate", Sentence::new("methodology.figure.block_rate")),
    ("confidence", Sentence::new("methodology.figure.confidence")),
    ("confirmedRate", Sentence::new("methodology.figure.confirmed_rate")),
    ("evidenceStrength", Sentence::new("methodology.figure.evidence_strength")),
    ("measurements", Sentence::new("methodology.figure.measurements")),
    ("score", Sentence::new("methodology.figure.score")),
    ("votes", Sentence::new("methodology.figure.votes")),
];

const LIMITATIONS: [Sentence; 8] = [
    Sentence::new("methodology.limit.volunteers"),
    Sentence::new("methodology.limit.list"),
    Sentence::new("methodology.limit.weights"),
    Sentence::new("methodology.limit.shutdowns"),
    Sentence::new("methodology.limit.controls"),
    Sentence::new("methodology.limit.few_countries"),
    Sentence::new("methodology.limit.routing"),
    Sentence::new("methodology.limit.ages"),
];

/// The methodology with the state of the data. `told` are the sources that gave events.
pub fn methodology(
    summaries: &[CountrySummary],
    told: &[Source],
    served: Option<&forecast::model::Model>,
    settings: &Settings,
    now: Timestamp,
) -> Methodology {
    let base = settings.public_url.trim_end_matches('/');
    let source_licenses = source_licenses(summaries.iter(), told, settings);
    let sources = || {
        let all = Source::ALL.into_iter().map(|source| data_source(source, summaries, told, settings));
        all.chain([test_lists(settings), starter_source()])
    };
    Methodology {
        context: "https://schema.org",
        kind: "TechArticle",
        name: "How blocking is detected and scored",
        url: format!("{base}/data/methodology"),
        date_published: "2026-11-20",
        date_modified: "2026-11-20".to_owned(),
        generated: now.to_string(),
        author: Author { kind: "Organization", name: "Heliograph" },
        license: LICENSE,
        effective_license: effective_license(&source_licenses),
        source_licenses,
        methodology: Method {
            overview: OVERVIEW,
            data_sources: sources().collect(),
            data_sources_list: sources().map(|(_, source)| source).collect(),
            model: model(served),
            scoring: scoring(summaries),
            constants: constants(),
            changes: change::constants::TABLE.iter().map(|constant| (constant.name, constant.value)).collect(),
            analytics: analytics::constants::TABLE.iter().copied().collect(),
            anomaly: anomaly::constants::TABLE.iter().copied().collect(),
            day_classifier: classifier::constants::TABLE.iter().copied().collect(),
            atlas: atlas::constants::TABLE.iter().copied().collect(),
            focus_groups: BTreeMap::from([
                ("political_speech", categories::POLITICAL_SPEECH.to_vec()),
                ("regulated_morality", categories::REGULATED_MORALITY.to_vec()),
                ("circumvention_tooling", categories::CIRCUMVENTION_TOOLING.to_vec()),
            ]),
            topics: analytics::TOPICS.iter().map(|(topic, codes)| (*topic, codes.to_vec())).collect(),
            figures: FIGURES.into_iter().collect(),
            rules: RULES.iter().map(rule).collect(),
            techniques: Technique::ALL.iter().map(|technique| technique_body(*technique)).collect(),
            limitations: LIMITATIONS,
            sentences: Sentences::new()
                .with("overview", OVERVIEW)
                .with_named("figures", &FIGURES)
                .with("limitations", &LIMITATIONS),
            citation: "Heliograph, censorship measurements and index, with the date of access",
        },
    }
}

fn data_source(
    source: Source,
    summaries: &[CountrySummary],
    told: &[Source],
    settings: &Settings,
) -> (&'static str, DataSource) {
    let rows = || summaries.iter().flat_map(|summary| &summary.sources).filter(|row| row.source == source.id());
    let measurements: u64 = rows().map(|row| row.measurements).sum();
    let body = DataSource {
        name: source.name(),
        kind: source.kind(),
        coverage: match told.contains(&source) {
            true => "events, as imported".to_owned(),
            false => format!("{} countries, {measurements} measurements", rows().count()),
        },
        tests: tests(source),
        update_frequency: "as imported",
        license: source.licence_under(settings).to_owned(),
        url: source.url().unwrap_or_default(),
        probes: (source == Source::Probe).then(|| ProbesPart {
            nodes: None,
            domains: starter::basket::probe_targets().count(),
            interval: "every 15 minutes",
        }),
    };
    // The name that readers know.
    (if source == Source::Probe { "svcProbes" } else { source.id() }, body)
}

fn test_lists(settings: &Settings) -> (&'static str, DataSource) {
    let body = DataSource {
        name: "Citizen Lab test lists",
        kind: "sites with categories",
        coverage: "as imported; without them the basket of this project gives the categories".to_owned(),
        tests: Vec::new(),
        update_frequency: "as imported",
        license: licence_of(settings, "test-list").unwrap_or(TEST_LIST_LICENCE).to_owned(),
        url: "https://github.com/citizenlab/test-lists",
        probes: None,
    };
    ("citizenlab", body)
}

fn tests(source: Source) -> Vec<&'static str> {
    match source {
        Source::Ooni => vec![
            "web_connectivity",
            "telegram",
            "whatsapp",
            "signal",
            "facebook_messenger",
            "tor",
            "vanilla_tor",
            "torsf",
            "psiphon",
            "openvpn",
            "riseupvpn",
        ],
        Source::CensoredPlanet => vec!["hyperquack", "satellite"],
        _ => Vec::new(),
    }
}

fn starter_source() -> (&'static str, DataSource) {
    let tables = starter::sources();
    let rows: usize = tables.iter().map(|table| table.rows).sum();
    let body = DataSource {
        name: "Starter facts of this project",
        kind: "documented blocks, platforms, site basket, block page signatures, coming elections",
        coverage: format!("{rows} rows in {} tables", tables.len()),
        tests: Vec::new(),
        update_frequency: "with each release",
        license: starter::LICENCE.to_owned(),
        url: "",
        probes: None,
    };
    ("starter", body)
}

fn forecasts(served: Option<&forecast::model::Model>) -> ForecastPart {
    ForecastPart {
        kind: "logistic regression by iteratively reweighted least squares on imported shutdown tables; without a \
            model, base rates of incidents",
        version: served.map(forecast::model::Model::version),
        auc_roc: served.and_then(|model| model.held_out.candidate.auc),
        recall: served.and_then(|model| model.alerts).and_then(|alerts| alerts.recall()),
        sentences: Sentences::new().with("validationNote", Sentence::new("methodology.validation.forecast")),
        validation_note: Sentence::new("methodology.validation.forecast"),
    }
}

fn model(served: Option<&forecast::model::Model>) -> Model {
    Model {
        classifier: ModelPart {
            kind: "rule list with likelihood ratios, one vote per network, probe and hour",
            rules_version: crate::country::RULES_VERSION,
            f1: None,
            auc_roc: None,
            sentences: Sentences::new().with("validationNote", Sentence::new("methodology.validation.rules")),
            validation_note: Sentence::new("methodology.validation.rules"),
        },
        forecast: forecasts(served),
        calibration: CalibrationBody { source: belief::CALIBRATION, prior: belief::RATE },
    }
}

fn scoring(summaries: &[CountrySummary]) -> Scoring {
    Scoring {
        scale: "0 to 100, 100 is total blocking",
        levels: LEVELS.iter().map(|(from, name, _)| (*name, *from)).collect(),
        risk_tiers: LEVELS.iter().map(|(_, name, tier)| (*name, *tier)).collect(),
        weights: WEIGHTS.into_iter().collect(),
        missing_components: missing_components(summaries),
        shutdown_days: LOAD_DAYS,
        shutdown_half_life_days: LOAD_HALF_DAYS,
        shutdown_regional_weight: LOAD_REGIONAL,
        grades: GRADES
            .iter()
            .map(|(grade, measurements, networks)| GradeBody {
                grade,
                measurements: *measurements,
                networks: *networks,
            })
            .collect(),
        minimum_measurements: MIN_SESSIONS,
        minimum_sites: MIN_SITES,
        prior_sites: PRIOR_SITES,
        prior_breadth: PRIOR_BREADTH,
        confidence_interval: "90%, normal approximation over the sites of each part",
        network_weight: "square root of the network's IPv4 addresses in the imported table, at least of 256; equal \
            without a table",
    }
}

fn constants() -> BTreeMap<&'static str, f64> {
    let hours = |micros: i64| micros as f64 / HOUR as f64;
    let days = |micros: i64| micros as f64 / DAY as f64;
    [
        ("vote_blocked_at_log10_lr", c::BLOCKED_AT),
        ("vote_clear_at_log10_lr", c::CLEAR_AT),
        ("blocked_probability", c::BLOCKED_PROBABILITY),
        ("blocked_hours", c::BLOCKED_HOURS as f64),
        ("accessible_probability", c::ACCESSIBLE_PROBABILITY),
        ("clear_votes", c::CLEAR_VOTES as f64),
        ("national_coverage", c::NATIONAL_COVERAGE),
        ("block_begins_a_day", c::BLOCK_BEGINS),
        ("block_spreads", c::BLOCK_SPREADS),
        ("block_ends_a_day", c::BLOCK_ENDS),
        ("blocks_in_hours", c::IN_HOURS),
        ("fails_blocked", c::FAILS_BLOCKED),
        ("blocks_in_part", c::IN_PART),
        ("fails_in_part", c::FAILS_IN_PART),
        ("spell_hours", c::SPELL_HOURS),
        ("pause_hours", c::PAUSE_HOURS),
        ("kind_sites", c::KIND_SITES),
        ("kind_doublings", f64::from(c::KIND_DOUBLINGS)),
        ("free_least", c::FREE_LEAST),
        ("free_most", c::FREE_MOST),
        ("site_most", c::SITE_MOST),
        ("everywhere_share", c::EVERYWHERE_SHARE),
        ("everywhere_most", c::EVERYWHERE_MOST),
        ("down_rate_step", c::DOWN_RATE_STEP),
        ("network_half_life_hours", c::NETWORK_HALF_LIFE as f64),
        ("network_usual_most", c::NETWORK_USUAL_MOST),
        ("network_usual_weight", c::NETWORK_USUAL_WEIGHT),
        ("most_votes", c::MOST_VOTES as f64),
        ("rate_measurements", c::RATE_MEASUREMENTS as f64),
        ("age_limit_days", days(c::AGE_LIMIT)),
        ("age_limit_messaging_days", days(c::AGE_LIMIT_MESSAGING)),
        ("half_life_days", days(c::HALF_LIFE)),
        ("half_life_messaging_days", days(c::HALF_LIFE_MESSAGING)),
        ("network_day_votes", c::NETWORK_DAY_VOTES),
        ("peer_window_hours", hours(c::PEER_WINDOW)),
        ("peer_sessions", c::PEER_SESSIONS as f64),
        ("peer_networks", c::PEER_NETWORKS as f64),
        ("broken_network_share", c::BROKEN_NETWORK_SHARE),
        ("default_down_rate", c::DEFAULT_DOWN_RATE),
        ("down_rate_countries", c::DOWN_RATE_COUNTRIES as f64),
        ("prior_strength", c::PRIOR_STRENGTH),
        ("interval", c::INTERVAL),
        ("national_share", c::NATIONAL_SHARE),
        ("several_share", c::SEVERAL_SHARE),
        ("several_networks", c::SEVERAL_NETWORKS as f64),
        ("min_addresses", c::MIN_ADDRESSES as f64),
        ("remote_weight", c::REMOTE_WEIGHT),
        ("national_networks", c::NATIONAL_NETWORKS as f64),
        ("national_network_share", c::NATIONAL_NETWORK_SHARE),
        ("label_prevalence", c::LABEL_PREVALENCE),
        ("known_list_confidence", c::KNOWN_LIST_CONFIDENCE),
        ("known_list_age_days", days(c::KNOWN_LIST_AGE)),
        ("evidence_half_votes", c::EVIDENCE_HALF),
        ("cold_start_intercept", c::COLD_START_INTERCEPT),
        ("cold_start_slope", c::COLD_START_SLOPE),
        ("instrument_networks", c::INSTRUMENT_NETWORKS as f64),
        ("instrument_share", c::INSTRUMENT_SHARE),
        ("instrument_others_share", c::INSTRUMENT_OTHERS_SHARE),
        ("instrument_span_hours", c::INSTRUMENT_SPAN as f64),
        ("instrument_sessions", c::INSTRUMENT_SESSIONS as f64),
        ("probe_span_hours", c::PROBE_SPAN as f64),
        ("probe_voters", c::PROBE_VOTERS as f64),
        ("probe_weight", c::PROBE_WEIGHT),
        ("probe_majority", c::PROBE_MAJORITY),
        ("probe_reference_voters", c::PROBE_REFERENCE_VOTERS as f64),
        ("probe_floor_trust", c::PROBE_FLOOR_TRUST),
        ("probe_full_trust", c::PROBE_FULL_TRUST),
        ("probe_fresh_days", days(c::PROBE_FRESH)),
        ("probe_fresh_measured_days", f64::from(c::PROBE_FRESH_DAYS)),
    ]
    .into_iter()
    .collect()
}

fn rule(rule: &facts::verdict::Rule) -> RuleBody {
    RuleBody {
        id: rule.name,
        log10_lr: rule.log10_lr,
        needs_control: rule.needs_control,
        source: rule.source,
        meaning: rule.meaning,
        sentences: Sentences::new().with("meaning", Sentence::new(rule.sentence)),
    }
}

fn technique_body(technique: Technique) -> TechniqueBody {
    TechniqueBody { technique: technique.as_str(), method: technique.method(), block_type: technique.block_type() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The methodology publishes every number that change detection computes with, from the same constants.
    #[test]
    fn every_number_of_change_detection_is_published() {
        let body = serde_json::to_value(methodology(&[], &[], None, &Settings::default(), Timestamp(0))).unwrap();
        let published = body["methodology"]["changes"].as_object().unwrap();
        assert_eq!(published.len(), change::constants::TABLE.len());
        assert_eq!(published["MERGE_GAP"], change::constants::MERGE_GAP as f64);
        assert_eq!(published["SIMILAR_NETWORKS"], change::constants::SIMILAR_NETWORKS);
    }

    /// Every source that readers look for is named with its facts. A number that is not measured is null.
    #[test]
    fn every_source_is_named_with_its_licence() {
        let mut settings = Settings::default();
        settings.source_licences.push_str("access-now=LicenseRef-agreed");
        let told = [Source::AccessNow];
        let body = serde_json::to_value(methodology(&[], &told, None, &settings, Timestamp(0))).unwrap();
        let sources = body["methodology"]["dataSources"].as_object().unwrap();
        for name in ["ooni", "ioda", "censoredplanet", "citizenlab", "access-now", "cloudflare-radar", "starter"] {
            assert!(sources[name]["name"].is_string() && sources[name]["license"].is_string(), "{name}");
            assert!(sources[name].get("nodes").is_none(), "{name}");
        }
        let probes = &sources["svcProbes"];
        assert!(probes["nodes"].is_null() && probes["interval"].is_string() && probes["domains"].as_u64() > Some(0));
        let classifier = &body["methodology"]["model"]["classifier"];
        assert!(classifier["f1"].is_null() && classifier["aucRoc"].is_null() && classifier["type"].is_string());
        let licences = body["sourceLicenses"].as_array().unwrap();
        assert!(licences.iter().any(|row| row["source"] == "access-now" && row["license"] == "LicenseRef-agreed"));
        assert_eq!(body["effectiveLicense"], "LicenseRef-agreed");
        for name in ["ISP_CRITICAL_RATE", "ISP_HIGH_RATE", "ISP_MEDIUM_RATE", "DEGRADED_RATE"] {
            assert!(body["methodology"]["analytics"][name].is_number(), "{name}");
        }
    }

    /// A number that the verdict uses and that is not published would be a secret rule.
    #[test]
    fn every_number_of_the_verdict_is_published() {
        let published = constants();
        for constant in c::TABLE {
            let scales = [1.0, HOUR as f64, DAY as f64];
            assert!(
                scales.iter().any(|scale| published.values().any(|value| *value == constant.value / scale)),
                "{} is not published",
                constant.name
            );
        }
        assert_eq!(published.len(), c::TABLE.len());
    }
}
