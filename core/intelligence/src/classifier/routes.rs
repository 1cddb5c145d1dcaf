//! The endpoints of the classifier.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::TOP_FEATURES;
use super::store::{ClassifierState, NAME, ReadClassifier, ServedClassifier, named};
use crate::anomaly::FEATURES;
use crate::anomaly::constants::KEPT_DAYS;
use crate::country::routes::input;
use crate::incidents::{self, SourceCounts};
use crate::{Result, Timestamp, world};
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/classifier/score/{country}", handler!(score))
        .limit(Limit::Data)
        .returns::<ScoreBody>()
        .summary("How much a country's last measured day looks like one with a shutdown or an ordered block."),
    Route::get("/v1/classifier/info", handler!(info))
        .limit(Limit::Data)
        .returns::<InfoBody>()
        .summary("What the classifier is, and how it did on days that it had not seen."),
    Route::get("/v1/classifier/corroborate/info", handler!(corroborate))
        .limit(Limit::Data)
        .returns::<CorroborateBody>()
        .summary("When independent sources agree on an incident, and how often they do."),
];

const UNTRAINED: Sentence = Sentence::new("classifier.untrained");

fn date(day: u32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

/// The reason why no model is served.
fn untrained(state: &ClassifierState) -> Sentence {
    match state.said.as_str() {
        "" => UNTRAINED,
        why => Sentence::new("classifier.untrained.why").with("why", Sentence::stored(why)),
    }
}

fn caveats(state: &ClassifierState) -> Vec<Sentence> {
    let mut found = vec![Sentence::new("classifier.labels"), Sentence::new("classifier.one_day")];
    match &state.served {
        None => found.push(untrained(state)),
        Some(served) => {
            let (from, to) = served.held_out;
            let figures = Sentence::new("classifier.figures").with("from", date(from)).with("to", date(to));
            found.push(figures);
            if !state.said.is_empty() {
                found.push(Sentence::new("classifier.not_accepted").with("why", Sentence::stored(&state.said)));
            }
        }
    }
    found
}

/// The licence of the events that label days and of the measurements, together.
fn license(cx: &Cx, measured: Option<&str>) -> String {
    let labels = Source::AccessNow.licence_under(cx.settings());
    licence::effective(measured.into_iter().chain([labels]))
}

#[derive(Debug, Serialize, JsonSchema)]
struct TopFeature {
    name: &'static str,
    /// Its part of the log odds, compared with the feature's mean.
    contribution: f64,
    /// `up` or `down`.
    direction: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClassifierScore")]
pub struct ScoreBody {
    country: String,
    country_name: String,
    available: bool,
    /// Why there is no probability; null otherwise.
    reason: Option<Sentence>,
    /// The last day with enough measurements; null without one.
    date: Option<String>,
    /// Probability that a shutdown or an ordered block is reported for this day, 0 to 1.
    probability: Option<f64>,
    /// The threshold of this country.
    threshold: Option<f64>,
    /// 1 at the threshold and above, else 0.
    label: Option<u8>,
    version: Option<String>,
    /// The values as they were measured.
    features: BTreeMap<&'static str, f64>,
    top_features: Vec<TopFeature>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

async fn score(cx: Cx) -> Result<Response> {
    cx.kept(score_page(&cx)).await
}

async fn score_page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let asked = ReadClassifier { country: Some(country.code.to_owned()) };
    let ServedClassifier { state, last } = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let found = state.served.as_ref().zip(last.as_ref());
    let probability = found.map(|(served, (_, point, _))| served.logistic.probability(point));
    let threshold = state.threshold(country.code);
    let mut top: Vec<TopFeature> = Vec::new();
    if let Some((served, (_, point, _))) = found {
        let parts = FEATURES.into_iter().zip(served.logistic.contributions(point));
        top.extend(parts.map(|(name, part)| TopFeature {
            name,
            contribution: round(part),
            direction: if part < 0.0 { "down" } else { "up" },
        }));
        top.sort_by(|a, b| b.contribution.abs().total_cmp(&a.contribution.abs()));
        top.truncate(TOP_FEATURES as usize);
    }
    let reason = match (&state.served, &last) {
        (Some(_), Some(_)) => None,
        (None, _) => Some(untrained(&state)),
        (_, None) => Some(Sentence::new("classifier.no_day").with("days", KEPT_DAYS)),
    };
    let interpretation = match (&reason, probability, threshold) {
        (None, Some(probability), Some(threshold)) => Sentence::new("classifier.score")
            .with("country", country.code)
            .with("like", probability >= threshold)
            .with("probability", round(probability))
            .with("threshold", round(threshold)),
        (reason, ..) => reason.clone().unwrap_or(UNTRAINED),
    };
    let mut said = Sentences::new();
    Response::json(&ScoreBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        available: reason.is_none(),
        reason: said.add("reason", reason),
        date: last.as_ref().map(|(day, ..)| date(*day)),
        probability: probability.map(round),
        threshold: threshold.map(round),
        label: probability.zip(threshold).map(|(probability, threshold)| u8::from(probability >= threshold)),
        version: state.version(),
        features: last.as_ref().map(|(_, point, _)| named(*point)).unwrap_or_default(),
        top_features: top,
        interpretation: said.add("interpretation", interpretation),
        honest_caveats: said.add("honest_caveats", caveats(&state)),
        generated_at: cx.now().to_string(),
        sentences: said,
        license: license(cx, last.as_ref().map(|(.., license)| license.as_str())),
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClassifierMethod")]
pub struct InfoBody {
    model: &'static str,
    /// Null before the first version.
    version: Option<String>,
    available: bool,
    reason: Option<Sentence>,
    trained_at: Option<String>,
    /// Figures on the hold-out; null where a figure has no meaning.
    metrics: BTreeMap<&'static str, Option<f64>>,
    /// Days of countries, and how many of them have a label.
    training_samples: u64,
    training_positives: u64,
    features: [&'static str; FEATURES.len()],
    /// Change of the log odds per standard deviation of each feature; empty before training.
    weights: BTreeMap<&'static str, f64>,
    algorithm: &'static str,
    label: &'static str,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

async fn info(cx: Cx) -> Result<Response> {
    cx.kept(info_page(&cx)).await
}

async fn info_page(cx: &Cx) -> Result<Response> {
    let asked = ReadClassifier { country: None };
    let ServedClassifier { state, .. } = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let served = state.served.as_ref();
    let figure = |name, value: fn(&super::train::Learned) -> Option<f64>| (name, served.and_then(value).map(round));
    let mut said = Sentences::new();
    Response::json(&InfoBody {
        model: NAME,
        version: state.version(),
        available: served.is_some(),
        reason: said.add("reason", served.is_none().then(|| untrained(&state))),
        trained_at: served.map(|_| state.trained.to_string()),
        metrics: [
            figure("auc", |served| served.figures.auc),
            figure("average_precision", |served| served.figures.average_precision),
            figure("brier", |served| served.figures.brier),
            figure("brier_skill", |served| served.figures.brier_skill),
            figure("ece", |served| served.figures.ece),
            figure("f1", |served| Some(served.f1)),
            figure("threshold", |served| Some(served.threshold)),
            figure("base_rate", |served| served.figures.base_rate),
        ]
        .into_iter()
        .collect(),
        training_samples: served.map_or(0, |served| served.rows),
        training_positives: served.map_or(0, |served| served.positives),
        features: FEATURES,
        weights: served.map(|served| named(served.logistic.weights.iter().copied())).unwrap_or_default(),
        algorithm: "ridge logistic regression by iteratively reweighted least squares over the twelve features of a \
                    country's day",
        label: "a shutdown or an ordered block that others report goes on in the country on that day",
        interpretation: said.add(
            "interpretation",
            match served.and_then(|served| served.figures.brier_skill) {
                Some(skill) => Sentence::new("classifier.skill").with("skill", skill),
                None => untrained(&state),
            },
        ),
        honest_caveats: said.add("honest_caveats", caveats(&state)),
        generated_at: cx.now().to_string(),
        license: license(cx, None),
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CorroborationSource")]
struct SourceBody {
    source: String,
    /// Incidents that rest on this source, alone or with others.
    n_incidents: u64,
    /// Those of them that another source reports too.
    n_corroborated: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CorroborateMetrics {
    n_incidents: u64,
    /// Incidents with at least two independent sources.
    n_corroborated: u64,
    /// Null if there are no incidents.
    share_corroborated: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct CorroborateBody {
    method: &'static str,
    sources: Vec<SourceBody>,
    rule: &'static str,
    metrics: CorroborateMetrics,
    interpretation: Sentence,
    honest_caveats: [Sentence; 3],
    generated_at: String,
    license: String,
    sentences: Sentences,
}

async fn corroborate(cx: Cx) -> Result<Response> {
    cx.kept(corroborate_page(&cx)).await
}

async fn corroborate_page(cx: &Cx) -> Result<Response> {
    let counts = runtime::query(&*cx.rt, incidents::actor().name, &SourceCounts).await?;
    let licences =
        Source::ALL.into_iter().filter(|source| counts.by_source.iter().any(|(name, ..)| name == source.id()));
    let license = licence::effective(licences.map(Source::licence));
    let all = counts.incidents;
    let source = |(source, n_incidents, n_corroborated)| SourceBody { source, n_incidents, n_corroborated };
    let mut said = Sentences::new();
    Response::json(&CorroborateBody {
        method: "Incidents found by measuring are joined with events that others report of the same country, time and \
                 subject; each incident names its sources.",
        rule: "An incident is corroborated when at least two independent sources show it.",
        metrics: CorroborateMetrics {
            n_incidents: all,
            n_corroborated: counts.corroborated,
            share_corroborated: (all > 0).then(|| round(counts.corroborated as f64 / all as f64)),
        },
        sources: counts.by_source.into_iter().map(source).collect(),
        interpretation: said.add(
            "interpretation",
            Sentence::new("classifier.corroborated").with("corroborated", counts.corroborated).with("incidents", all),
        ),
        honest_caveats: said.add(
            "honest_caveats",
            [
                Sentence::new("classifier.no_accuracy"),
                Sentence::new("classifier.sources_differ"),
                Sentence::new("classifier.sources_depend"),
            ],
        ),
        generated_at: cx.now().to_string(),
        license,
        sentences: said,
    })
}
