//! `GET /v1/sentinel/active-learning-queue`: recent forecasts, those first for which a reviewer's judgement teaches the
//! most.

use schemars::JsonSchema;
use serde::Serialize;

use super::served::THRESHOLD;
use crate::analytics::tabular;
use crate::country::routes::input;
use crate::forecast::{Candidate, Candidates, Reviewed};
use crate::{Error, Result, Timestamp, world};
use engine::http::{Cx, Response};
use engine::number::round;
use engine::runtime;
use engine::time::DAY;
use facts::sentence::{self, Sentence};

pub(super) const DEFAULT_LIMIT: u32 = 50;
pub(super) const MOST: u32 = 200;
pub(super) const DEFAULT_DAYS: u32 = 21;
pub(super) const MOST_DAYS: u32 = 90;
/// The least value of a factor, also used for countries without measurements: an unknown factor must not make the
/// product zero. Our choice.
const FLOOR: f64 = 0.1;
/// Change of the measured share in seven days that makes the factor 1. Our choice.
const FULL_DRIFT: f64 = 0.2;
/// Distances from the threshold that are called very close and near. Our choice.
const VERY_CLOSE: f64 = 0.05;
const NEAR: f64 = 0.15;
/// Values of factors from which on they are stated as a reason. Our choice.
const HIGH_VOLUME: f64 = 0.75;
const RECENT_DRIFT: f64 = 0.5;

/// Seconds for which a reader may treat the queue as fresh.
const MAX_AGE: u32 = 900;

const FEEDBACK: &str = "/v1/sentinel/report_miss";

/// The key that rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rank {
    Impact,
    Uncertainty,
}

impl Rank {
    const fn as_str(self) -> &'static str {
        match self {
            Rank::Impact => "impact",
            Rank::Uncertainty => "uncertainty",
        }
    }

    const fn formula(self) -> Sentence {
        match self {
            Rank::Impact => Sentence::new("queue.formula.impact"),
            Rank::Uncertainty => Sentence::new("queue.formula.uncertainty"),
        }
    }
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct ItemBody {
    /// `<CC>-<eval_date>-<forecast_id>`.
    candidate_id: String,
    forecast_id: u32,
    country: String,
    country_name: String,
    /// The day on which the forecast was made.
    eval_date: String,
    /// Probability, as stated then, that a shutdown begins in the seven days after.
    probability: f64,
    /// The probability in today's forecast.
    current_probability: f64,
    threshold: f64,
    distance_from_threshold: f64,
    /// Relative to `threshold`.
    above_threshold: bool,
    /// 0 to 1.
    uncertainty_score: f64,
    volume_factor: f64,
    drift_factor: f64,
    impact_score: f64,
    rank_by: &'static str,
    /// `very_close_to_threshold`, `near_threshold`, `not_yet_resolved`, `high_volume_country`, `recent_drift`,
    /// `already_resolved_as_correct`, `already_resolved_as_wrong`.
    reasoning: Vec<&'static str>,
    /// `not_yet_resolved`, `resolved_correct` or `resolved_wrong`.
    resolution_status: &'static str,
    feedback_url: &'static str,
}

/// Number of countries with each factor. All others have the least value.
#[derive(Debug, Serialize, JsonSchema)]
struct CoverageBody {
    n_drift_countries: usize,
    n_volume_countries: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueBody {
    /// Begins with the brand.
    schema: String,
    generated_at: String,
    count: usize,
    limit: u32,
    max_age_days: u32,
    country_filter: Option<String>,
    rank_by: &'static str,
    ranked_by: &'static str,
    ranking_formula: Sentence,
    method_ref: &'static str,
    note: String,
    findings_url: &'static str,
    factor_coverage: CoverageBody,
    items: Vec<ItemBody>,
    /// The same list.
    queue: Vec<ItemBody>,
}

/// Maps a part of 0 to 1 to a factor between the floor and 1.
fn factor(part: f64) -> f64 {
    FLOOR + (1.0 - FLOOR) * part.clamp(0.0, 1.0)
}

/// The uncertainty of a forecast: 1 at the threshold, 0 at the probability that is farthest from it.
fn uncertainty(probability: f64) -> f64 {
    1.0 - (probability - THRESHOLD).abs() / THRESHOLD.max(1.0 - THRESHOLD)
}

/// A row, and its unrounded sort key.
fn item(candidate: &Candidate, known: &Reviewed, rank: Rank) -> (f64, ItemBody) {
    let Candidate { country, day, probability, current, happened } = candidate;
    let most = known.volumes.values().max().copied().unwrap_or(0);
    let volume = known.volumes.get(country).map_or(0.0, |volume| (*volume as f64).ln_1p() / (most as f64).ln_1p());
    let drift = known.drifts.get(country).map_or(0.0, |drift| drift.abs() / FULL_DRIFT);
    let (volume, drift, uncertain) = (factor(volume), factor(drift), uncertainty(*probability));
    let impact = uncertain * volume * drift;
    let above = *probability >= THRESHOLD;
    let distance = (probability - THRESHOLD).abs();
    let mut reasoning = Vec::new();
    match distance {
        close if close <= VERY_CLOSE => reasoning.push("very_close_to_threshold"),
        near if near <= NEAR => reasoning.push("near_threshold"),
        _ => {}
    }
    let (status, reason) = match happened {
        None => ("not_yet_resolved", "not_yet_resolved"),
        Some(happened) if *happened == above => ("resolved_correct", "already_resolved_as_correct"),
        Some(_) => ("resolved_wrong", "already_resolved_as_wrong"),
    };
    reasoning.push(reason);
    reasoning.extend((volume >= HIGH_VOLUME).then_some("high_volume_country"));
    reasoning.extend((drift >= RECENT_DRIFT).then_some("recent_drift"));
    let eval_date = Timestamp(i64::from(*day) * DAY).to_date_text();
    let forecast_id = candidate.number();
    let body = ItemBody {
        candidate_id: format!("{country}-{eval_date}-{forecast_id}"),
        forecast_id,
        country: country.clone(),
        country_name: world::name(country),
        eval_date,
        probability: round(*probability),
        current_probability: round(*current),
        threshold: THRESHOLD,
        distance_from_threshold: round(distance),
        above_threshold: above,
        uncertainty_score: round(uncertain),
        volume_factor: round(volume),
        drift_factor: round(drift),
        impact_score: round(impact),
        rank_by: rank.as_str(),
        reasoning,
        resolution_status: status,
        feedback_url: FEEDBACK,
    };
    (if rank == Rank::Impact { impact } else { uncertain }, body)
}

fn ranked(known: &Reviewed, rank: Rank, limit: usize) -> Vec<ItemBody> {
    let mut items: Vec<(f64, ItemBody)> =
        known.candidates.iter().map(|candidate| item(candidate, known, rank)).collect();
    // Among equal keys the newer row comes first, then the order is by country.
    items.sort_by(|(a, left), (b, right)| {
        b.total_cmp(a).then_with(|| right.eval_date.cmp(&left.eval_date)).then_with(|| left.country.cmp(&right.country))
    });
    items.truncate(limit);
    items.into_iter().map(|(_, item)| item).collect()
}

fn note(known: &Reviewed) -> Vec<Sentence> {
    let mut note = vec![match &known.model {
        None => Sentence::new("queue.no_model"),
        Some(version) => Sentence::new("queue.served").with("version", version),
    }];
    if known.model.is_some() && known.volumes.is_empty() {
        note.push(Sentence::new("queue.no_volume"));
    }
    if known.model.is_some() && known.drifts.is_empty() {
        note.push(Sentence::new("queue.no_drift"));
    }
    note.push(Sentence::new("queue.report"));
    note
}

pub async fn queue(cx: Cx) -> Result<Response> {
    let page = cx.kept(page(&cx)).await?;
    cx.tagged(page, MAX_AGE)
}

async fn page(cx: &Cx) -> Result<Response> {
    let limit = cx.count("limit", DEFAULT_LIMIT, MOST)?;
    let max_age_days = cx.count("max_age_days", DEFAULT_DAYS, MOST_DAYS)?;
    let rank = match cx.query("rank_by")?.as_deref() {
        None | Some("impact") => Rank::Impact,
        Some("uncertainty") => Rank::Uncertainty,
        Some(_) => return Err(Error::bad_request("Query parameter `rank_by` must be impact or uncertainty.")),
    };
    let country_filter = match cx.query("country")? {
        None => None,
        Some(text) => Some(input::country(&text)?.map_or_else(|code| code, |country| country.code.to_owned())),
    };
    let asked = Candidates { country: country_filter.clone(), days: max_age_days };
    let known = runtime::query(&*cx.rt, world::actor().name, &asked).await?;
    let items = ranked(&known, rank, limit as usize);
    let note = note(&known);
    Response::json(&QueueBody {
        schema: cx.settings().schema("active-learning-queue/v2"),
        generated_at: tabular::generated(cx, None).to_string(),
        count: items.len(),
        limit,
        max_age_days,
        country_filter,
        rank_by: rank.as_str(),
        ranked_by: rank.as_str(),
        ranking_formula: rank.formula(),
        method_ref: "/data/methodology",
        note: sentence::text(&note),
        findings_url: "/v1/atlas/prediction-track-record",
        factor_coverage: CoverageBody {
            n_drift_countries: known.drifts.len(),
            n_volume_countries: known.volumes.len(),
        },
        queue: items.clone(),
        items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(country: &str, day: u32, probability: f64, happened: Option<bool>) -> Candidate {
        Candidate { country: country.to_owned(), day, probability, current: 0.3, happened }
    }

    fn known() -> Reviewed {
        let candidates = vec![
            candidate("KE", 20_777, 0.49, None),
            candidate("IN", 20_777, 0.60, Some(true)),
            candidate("SE", 20_777, 0.02, Some(true)),
            candidate("IN", 20_770, 0.60, Some(false)),
        ];
        Reviewed {
            candidates,
            volumes: [("IN".to_owned(), 1_000_000), ("KE".to_owned(), 10)].into(),
            drifts: [("IN".to_owned(), -0.1), ("KE".to_owned(), 0.01)].into(),
            model: Some("hazard-logistic/1".to_owned()),
        }
    }

    /// `impact_score` is the product of three factors, and rows descend by it, or else by uncertainty.
    #[test]
    fn rows_descend_by_the_product_of_uncertainty_volume_and_drift() {
        let by = |rank| {
            let items = ranked(&known(), rank, 10);
            let keys = items.iter().map(|item| (item.country.clone(), item.eval_date.clone())).collect::<Vec<_>>();
            (items, keys)
        };
        let (items, keys) = by(Rank::Impact);
        let key = |country: &str, date: &str| (country.to_owned(), date.to_owned());
        let expected =
            [key("IN", "2026-11-20"), key("IN", "2026-11-13"), key("KE", "2026-11-20"), key("SE", "2026-11-20")];
        assert_eq!(keys, expected);
        for item in &items {
            let product = item.uncertainty_score * item.volume_factor * item.drift_factor;
            assert!((item.impact_score - product).abs() < 2e-4, "{item:?}");
            assert!(
                (0.0..=1.0).contains(&item.impact_score) && item.volume_factor >= FLOOR && item.drift_factor >= FLOOR
            );
        }
        // By hand: 1 - 0.1/0.5 = 0.8; the most measured country has 1; 0.1 + 0.9 x 0.1/0.2 = 0.55.
        assert_eq!((items[0].uncertainty_score, items[0].volume_factor, items[0].drift_factor), (0.8, 1.0, 0.55));
        assert_eq!(items[0].impact_score, 0.44);
        let (_, keys) = by(Rank::Uncertainty);
        assert_eq!(keys[0], key("KE", "2026-11-20"));
        assert_eq!(ranked(&known(), Rank::Impact, 2).len(), 2);
    }

    /// Whether a candidate is above the threshold and whether it was wrong follow from the threshold and the outcome.
    #[test]
    fn a_candidate_says_how_it_came_out_and_why_it_is_there() {
        let items = ranked(&known(), Rank::Impact, 10);
        let told: Vec<_> = items.iter().map(|item| (item.resolution_status, item.above_threshold)).collect();
        let expected = [
            ("resolved_correct", true),
            ("resolved_wrong", true),
            ("not_yet_resolved", false),
            ("resolved_wrong", false),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            items[0].reasoning,
            ["near_threshold", "already_resolved_as_correct", "high_volume_country", "recent_drift"]
        );
        assert_eq!(items[2].reasoning, ["very_close_to_threshold", "not_yet_resolved"]);
        assert_eq!(items[2].candidate_id, format!("KE-2026-11-20-{}", items[2].forecast_id));
        assert_eq!(items[3].reasoning, ["already_resolved_as_wrong"]);
    }
}
