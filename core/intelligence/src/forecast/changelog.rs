//! The changelog of the served models, and the operator's endpoints for training, promoting and rolling back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::features::FEATURES;
use super::metrics::Figures;
use super::model::{Model, NAME};
use super::routes::date;
use super::store::{Daily, ModelAction, ModelChange, Models, Promote, Rollback, ServedModel, ServingChange};
use super::training::{Begin, Step};
use crate::analytics::tabular;
use crate::classifier::{self, Learned};
use crate::{Error, Result, Timestamp, world};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;
use facts::sentence::{Sentence, Sentences};

pub const ROUTES: &[Route] = &[
    Route::get("/v1/atlas/changelog", handler!(changelog))
        .params(&[
            Param::optional("kind", "Only entries of this kind.").one_of(&["forecast", "classifier"]),
            Param::optional("model", "Only entries of this model."),
            Param::optional("limit", "Most entries of the answer: default 50, at most 200.").count(50, 200),
        ])
        .returns::<ChangelogBody>()
        .summary("Every model that was served, with its figures and caveats."),
    Route::post("/v1/admin/forecast/train", handler!(train))
        .admin()
        .extension()
        .bodiless()
        .returns::<ToldBody>()
        .summary("Learn a forecast model now; it is served when it is better on a temporal hold-out."),
    Route::post("/v1/admin/forecast/promote", handler!(promote))
        .admin()
        .extension()
        .accepts::<PromoteRequest>()
        .returns::<ToldBody>()
        .summary("Serve a kept forecast model, if it is better than the served one on days that neither has seen."),
    Route::post("/v1/admin/forecast/calibrate", handler!(calibrate))
        .admin()
        .extension()
        .bodiless()
        .returns::<ToldBody>()
        .summary("Judge forecasts whose week is over, and make today's anew."),
    Route::post("/v1/admin/forecast/rollback", handler!(rollback))
        .admin()
        .extension()
        .accepts::<RollbackRequest>()
        .returns::<ToldBody>()
        .summary("Serve an earlier forecast model again."),
];

#[derive(Debug, Serialize, JsonSchema)]
struct EntryBody {
    model: &'static str,
    version: String,
    kind: &'static str,
    /// The time when the model was trained; for a rollback, the time of the rollback.
    trained_at: String,
    change: Sentence,
    metrics: BTreeMap<&'static str, Option<f64>>,
    notes: Option<Sentence>,
    honest_caveats: Vec<Sentence>,
    live_endpoint: Option<&'static str>,
    top_features: BTreeMap<&'static str, f64>,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangelogBody {
    schema: &'static str,
    source: &'static str,
    generated_at: String,
    merge_note: Sentence,
    entries: Vec<EntryBody>,
    sentences: Sentences,
}

fn metrics(model: &Model) -> BTreeMap<&'static str, Option<f64>> {
    let Figures { auc, average_precision, brier, brier_skill, ece, .. } = &model.held_out.candidate;
    let hard = &model.held_out.hard;
    [
        ("auc", *auc),
        ("average_precision", *average_precision),
        ("brier", *brier),
        ("brier_skill", *brier_skill),
        ("ece", *ece),
        ("hard_auc", hard.auc),
        ("hard_average_precision", hard.average_precision),
        ("hard_brier_skill", hard.brier_skill),
        ("served_brier", model.held_out.served.as_ref().and_then(|served| served.brier)),
        ("country_rate_brier", model.held_out.country_rate.brier),
    ]
    .into_iter()
    .collect()
}

fn entry(change: ModelChange, models: &[Model]) -> EntryBody {
    let model = models.iter().find(|model| model.number == change.number);
    let mut honest_caveats = vec![Sentence::new("changelog.hard_case")];
    if let Some(model) = model {
        let (from, to) = (date(model.held_out.from), date(model.held_out.to));
        honest_caveats.push(Sentence::new("risk.hold_out").with("from", from).with("to", to));
        if let Some((rate, own)) = model.held_out.better_rate() {
            let better = Sentence::new("changelog.rate_was_better");
            honest_caveats.push(better.with("rate", rate).with("own", own));
        }
        if model.delay > 0 {
            honest_caveats.push(Sentence::new("changelog.late").with("delay", model.delay.unsigned_abs()));
        }
    }
    let weights = model.and_then(|model| model.horizons.get(1)).map(|week| week.weights.as_slice()).unwrap_or_default();
    EntryBody {
        model: NAME,
        version: format!("{NAME}/{}", change.number),
        kind: "forecast",
        trained_at: model.map_or(change.at, |model| model.trained).to_string(),
        change: Sentence::stored(&change.reason),
        metrics: model.map(metrics).unwrap_or_default(),
        notes: match change.action {
            ModelAction::Promoted => None,
            ModelAction::RolledBack => Some(
                Sentence::new("changelog.rolled_back")
                    .with("time", change.at.to_string())
                    .with("version", format!("{NAME}/{}", change.before)),
            ),
            ModelAction::Withdrawn => Some(Sentence::new("changelog.withdrawn").with("time", change.at.to_string())),
        },
        honest_caveats,
        live_endpoint: Some("/v1/forecast/{country}/7day"),
        top_features: FEATURES.iter().zip(weights).map(|((name, _), weight)| (*name, round(*weight))).collect(),
        sentences: Sentences::new(),
    }
}

/// The entry for a change of the classifier of measured days.
fn classified(change: classifier::ClassifierChange) -> EntryBody {
    let classifier::ClassifierChange { at, number, learned } = change;
    let mut honest_caveats = vec![Sentence::new("changelog.labels"), Sentence::new("classifier.one_day")];
    if let Some(learned) = &learned {
        let day = |day: u32| date(i32::try_from(day).unwrap_or(i32::MAX));
        let (from, to) = learned.held_out;
        let figures = Sentence::new("changelog.figures").with("from", day(from));
        honest_caveats.push(figures.with("to", day(to)));
    }
    let Some(Learned { figures, f1, threshold, rows, positives, logistic, .. }) = learned else {
        return EntryBody {
            notes: Some(Sentence::new("changelog.nothing_to_learn")),
            ..EntryBody::of_classifier(number, at, Sentence::new("changelog.classifier_withdrawn"), honest_caveats)
        };
    };
    let Figures { auc, average_precision, brier, brier_skill, ece, .. } = figures;
    EntryBody {
        metrics: [
            ("auc", auc),
            ("average_precision", average_precision),
            ("brier", brier),
            ("brier_skill", brier_skill),
            ("ece", ece),
            ("f1", Some(f1)),
            ("threshold", Some(threshold)),
            ("training_samples", Some(rows as f64)),
            ("training_positives", Some(positives as f64)),
        ]
        .into_iter()
        .collect(),
        top_features: classifier::named(logistic.weights.iter().copied()),
        ..EntryBody::of_classifier(number, at, Sentence::new("changelog.classifier_accepted"), honest_caveats)
    }
}

impl EntryBody {
    fn of_classifier(number: u32, at: Timestamp, change: Sentence, honest_caveats: Vec<Sentence>) -> EntryBody {
        EntryBody {
            model: classifier::NAME,
            version: format!("{}/{number}", classifier::NAME),
            kind: "classifier",
            trained_at: at.to_string(),
            change,
            metrics: BTreeMap::new(),
            notes: None,
            honest_caveats,
            live_endpoint: Some("/v1/classifier/score/{country}"),
            top_features: BTreeMap::new(),
            sentences: Sentences::new(),
        }
    }

    /// With the codes of its texts.
    fn coded(self) -> EntryBody {
        let sentences = Sentences::new().with("change", &self.change).with("notes", &self.notes);
        EntryBody { sentences: sentences.with("honest_caveats", &self.honest_caveats), ..self }
    }
}

async fn changelog(cx: Cx) -> Result<Response> {
    let page = cx.kept(changelog_page(&cx)).await?;
    cx.tagged(page, 60)
}

async fn changelog_page(cx: &Cx) -> Result<Response> {
    let limit = cx.count("limit", 50, 200)? as usize;
    let (kind, model) = (cx.query("kind")?, cx.query("model")?);
    let (_, _, models, changes) = runtime::query(&*cx.rt, world::actor().name, &Models).await?;
    let mut dated: Vec<(Timestamp, EntryBody)> =
        changes.into_iter().map(|change| (change.at, entry(change, &models))).collect();
    let classifiers = runtime::query(&*cx.rt, world::actor().name, &classifier::ReadClassifierChanges).await?;
    dated.extend(classifiers.into_iter().map(|change| (change.at, classified(change))));
    // Among changes of one moment the later one stays first.
    dated.sort_by_key(|(date, ..)| std::cmp::Reverse(*date));
    let mut entries: Vec<EntryBody> = dated.into_iter().map(|(_, entry)| entry.coded()).collect();
    entries.retain(|entry| kind.as_deref().is_none_or(|kind| kind == entry.kind));
    entries.retain(|entry| model.as_deref().is_none_or(|model| model == entry.model));
    entries.truncate(limit);
    let mut said = Sentences::new();
    Response::json(&ChangelogBody {
        schema: "model-changelog/v1",
        source: "the models that this deployment learned and served",
        generated_at: tabular::generated(cx, None).to_string(),
        merge_note: said.add("merge_note", Sentence::new("changelog.merge")),
        entries,
        sentences: said,
    })
}

/// The result of a training, a promotion or a rollback.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ToldBody {
    /// Version that is served now; null when base rates are served.
    pub served: Option<String>,
    /// Version that was served before.
    pub before: Option<String>,
    /// The reason, in a sentence.
    pub message: String,
}

fn told(told: ServingChange) -> ToldBody {
    let version = |number: u32| (number > 0).then(|| format!("{NAME}/{number}"));
    ToldBody { served: version(told.served), before: version(told.before), message: told.said }
}

/// Steps of one course, plus those of another course in case the history changes meanwhile.
const MOST_STEPS: usize = 12;

/// Each step is an operation of its own, so that none takes long. If the request ends early, a timer does the rest.
async fn train(cx: Cx) -> Result<Response> {
    let before = runtime::call(&*cx.rt, world::actor().name, &Begin).await?;
    for _ in 0..MOST_STEPS {
        if let Some(done) = runtime::call(&*cx.rt, world::actor().name, &Step).await? {
            return Response::uncached(&told(ServingChange { before, ..done }));
        }
    }
    let said = "Learning goes on; the changelog will tell.".to_owned();
    Response::uncached(&told(ServingChange { served: before, before, said }))
}

/// Judges the forecasts whose week is over, and makes those of today. This also happens every day without a request.
async fn calibrate(cx: Cx) -> Result<Response> {
    runtime::call(&*cx.rt, world::actor().name, &Daily).await?;
    let (served, said) = runtime::query(&*cx.rt, world::actor().name, &ServedModel).await?;
    let (served, said) = match served {
        Some((model, _)) => {
            let judged = model.sets.event.judged + model.sets.quiet.judged;
            let said = format!("Forecasts of today are made; {judged} forecasts were judged by now.");
            (model.number, said)
        }
        None => (0, said),
    };
    Response::uncached(&told(ServingChange { served, before: served, said }))
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct PromoteRequest {
    /// Number of a kept model.
    pub number: u32,
}

async fn promote(cx: Cx) -> Result<Response> {
    let PromoteRequest { number } = cx.json()?;
    Response::uncached(&told(runtime::call(&*cx.rt, world::actor().name, &Promote { number }).await?))
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RollbackRequest {
    /// Number of the model. If absent, it is the model before the served one.
    pub number: Option<u32>,
    /// Shown in the changelog.
    #[schemars(length(min = 1, max = MAX_REASON))]
    pub reason: String,
}

/// Characters of a reason. Our choice, as for the reasons of changed incidents.
const MAX_REASON: usize = 1_000;

async fn rollback(cx: Cx) -> Result<Response> {
    let RollbackRequest { number, reason } = cx.json()?;
    if reason.trim().is_empty() {
        return Err(Error::bad_request("`reason` is required."));
    }
    if reason.chars().count() > MAX_REASON {
        return Err(Error::bad_request(format!("`reason` must be at most {MAX_REASON} characters.")));
    }
    let asked = Rollback { number, reason };
    Response::uncached(&told(runtime::call(&*cx.rt, world::actor().name, &asked).await?))
}
