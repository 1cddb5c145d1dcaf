//! `model/info`: what `predict` answers from.

use schemars::JsonSchema;
use serde::Serialize;

use super::rate::MODEL;
use super::scores::ReadScores;
use crate::forecast::model::{Model, NAME};
use crate::forecast::{self, ServedModel};
use crate::{Result, Timestamp, world};
use engine::deployment::{self, WhoAmI};
use engine::http::{Cx, Response};
use engine::runtime;
use facts::sentence::{Sentence, Sentences};

/// Figures of the served model on its temporal hold-out. Null means that a figure was not measured.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PredictionMetrics")]
struct Metrics {
    /// Null: countries are never left out of training.
    loco_median_f1: Option<f64>,
    /// Null: in a stratified split neighbouring days would reveal each other's labels.
    stratified_f1: Option<f64>,
    roc_auc: Option<f64>,
    brier: Option<f64>,
    average_precision: Option<f64>,
    brier_skill: Option<f64>,
    ece: Option<f64>,
    /// Skill where nothing had started for 30 days.
    hard_brier_skill: Option<f64>,
    /// Brier score of the rate of each country on the same days.
    country_rate_brier: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelBody {
    model: &'static str,
    version: String,
    algorithm: &'static str,
    /// Null when nothing is trained.
    trained_at: Option<String>,
    training_samples: u64,
    /// Countries in the panel of the model; for base rates, countries with measurements.
    countries: usize,
    features: Vec<&'static str>,
    metrics: Metrics,
    caveats: Vec<Sentence>,
    sources: Vec<String>,
    /// Version of the rules that judge measurements.
    classifier_version: String,
    served_since: String,
    generated_at: String,
    sentences: Sentences,
}

pub(super) async fn read(cx: Cx) -> Result<Response> {
    cx.kept(model_page(&cx)).await
}

/// The description of a learned model.
fn learned(cx: &Cx, model: &Model, since: Timestamp) -> ModelBody {
    let held = &model.held_out;
    let (from, to) = (forecast::date(held.from), forecast::date(held.to));
    let mut caveats = vec![
        Sentence::new("risk.hold_out").with("from", from).with("to", to),
        Sentence::new("risk.skill"),
        Sentence::new("risk.whole_countries"),
    ];
    if model.delay > 0 {
        caveats.push(Sentence::new("risk.late_history").with("delay", model.delay.unsigned_abs()));
    }
    ModelBody {
        model: NAME,
        version: model.version(),
        algorithm: "logistic regression with a ridge penalty, fitted by iteratively reweighted least squares",
        trained_at: Some(model.trained.to_string()),
        training_samples: model.rows,
        countries: forecast::panel::countries().count(),
        features: forecast::feature_names().collect(),
        metrics: Metrics {
            roc_auc: held.candidate.auc,
            brier: held.candidate.brier,
            average_precision: held.candidate.average_precision,
            brier_skill: held.candidate.brier_skill,
            ece: held.candidate.ece,
            hard_brier_skill: held.hard.brier_skill,
            country_rate_brier: held.country_rate.brier,
            ..Metrics::default()
        },
        sentences: Sentences::new().with("caveats", &caveats),
        caveats,
        sources: vec![facts::source::Source::AccessNow.id().to_owned()],
        classifier_version: classifier(),
        served_since: since.to_string(),
        generated_at: cx.now().to_string(),
    }
}

fn classifier() -> String {
    format!("rules-{}", crate::country::RULES_VERSION)
}

async fn model_page(cx: &Cx) -> Result<Response> {
    let (served, _) = runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?;
    if let Some((model, since)) = served {
        return Response::json(&learned(cx, &model, since));
    }
    let all = runtime::query(&*cx.rt, world::actor().name, &ReadScores).await?;
    let deployment = runtime::query(&*cx.rt, deployment::actor().name, &WhoAmI).await?;
    let mut sources: Vec<String> = all.iter().flat_map(|(_, row)| row.sources.clone()).collect();
    sources.sort();
    sources.dedup();
    let mut caveats = MODEL.caveats.to_vec();
    caveats.push(forecast::no_model(cx).await?);
    Response::json(&ModelBody {
        model: MODEL.name,
        version: MODEL.version.to_owned(),
        algorithm: MODEL.algorithm,
        trained_at: None,
        training_samples: 0,
        countries: all.len(),
        features: MODEL.features.to_vec(),
        metrics: Metrics::default(),
        sentences: Sentences::new().with("caveats", &caveats),
        caveats,
        sources,
        classifier_version: classifier(),
        served_since: deployment.map_or(cx.now(), |identity| identity.created).to_string(),
        generated_at: cx.now().to_string(),
    })
}
