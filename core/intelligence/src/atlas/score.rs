//! `/v1/atlas/score-v2`: one score from 0 to 100 whose parts add up to it exactly.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::constants::{
    GRADE_STEP, SCORE_ANOMALY, SCORE_BASE_RATE, SCORE_BASE_SCALE, SCORE_DENSITY, SCORE_FORECAST_7D, SCORE_FORECAST_30D,
    SCORE_FULL_DENSITY, SCORE_STEP,
};
use super::{densities, served};
use crate::anomaly::Anomalies;
use crate::country::routes::input;
use crate::forecast::Served;
use crate::{Result, world};
use engine::http::{Cx, Response};
use engine::runtime;
use facts::licence;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter::Country;

/// The facts that a score is made from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ScoreFacts {
    /// Incidents that began within a year, and incidents that went on within a day.
    began: u64,
    on: u64,
    /// Risks of the next seven and of the next thirty days; `None` while no forecast is learned.
    risks: Option<(f64, f64)>,
    /// For the last day, where it can be judged: its score, and whether it is noise.
    anomaly: Option<(f64, bool)>,
}

/// Points of each component, in multiples of a quarter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "AtlasScoreComponents")]
struct Components {
    /// Up to 10, for a last day that is unlike the others; 0 for a usual day.
    anomaly: f64,
    /// Up to 50, for the incidents that began within a year.
    base_rate: f64,
    /// Up to 10, for the mean weekly risk of the next 30 days.
    forecast_30d_avg: f64,
    /// Up to 20, for the risk of the next seven days.
    forecast_7d: f64,
    /// Up to 10, for the incidents that went on within the last 24 hours.
    incident_density_24h: f64,
}

/// Rounds to whole steps. Quarters are exact in binary and decimal, so the sum is the same in any order.
fn points(share: f64, most: f64) -> f64 {
    (share.clamp(0.0, 1.0) * most / SCORE_STEP).round() * SCORE_STEP
}

impl Components {
    fn of(known: &ScoreFacts) -> Components {
        let (week, month) = known.risks.unwrap_or_default();
        let mean_week = 1.0 - (1.0 - month).max(0.0).powf(7.0 / 30.0);
        // Maps scores from 0.5, the border, up to 1, the farthest that a day can be, to 0 to 1.
        let apart = known.anomaly.filter(|(_, noise)| *noise).map_or(0.0, |(score, _)| 2.0 * score - 1.0);
        Components {
            anomaly: points(apart, SCORE_ANOMALY),
            base_rate: points(1.0 - (-(known.began as f64) / SCORE_BASE_SCALE).exp(), SCORE_BASE_RATE),
            forecast_30d_avg: points(mean_week, SCORE_FORECAST_30D),
            forecast_7d: points(week, SCORE_FORECAST_7D),
            incident_density_24h: points(known.on as f64 / SCORE_FULL_DENSITY, SCORE_DENSITY),
        }
    }

    fn sum(&self) -> f64 {
        self.anomaly + self.base_rate + self.forecast_30d_avg + self.forecast_7d + self.incident_density_24h
    }
}

/// The grade; `None` when the missing components could change it.
fn graded(score: f64, known: &ScoreFacts) -> Option<&'static str> {
    let most = score + known.missing().into_iter().map(worth).sum::<f64>();
    Some(grade(score)).filter(|letter| *letter == grade(most.min(100.0)))
}

/// Points of a component, at most.
fn worth(component: &str) -> f64 {
    match component {
        "anomaly" => SCORE_ANOMALY,
        "forecast_30d_avg" => SCORE_FORECAST_30D,
        "forecast_7d" => SCORE_FORECAST_7D,
        _ => 0.0,
    }
}

/// Higher is worse.
fn grade(score: f64) -> &'static str {
    match (score / GRADE_STEP).floor() {
        below if below < 1.0 => "A",
        below if below < 2.0 => "B",
        below if below < 3.0 => "C",
        below if below < 4.0 => "D",
        _ => "F",
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AtlasScore")]
pub struct ScoreBody {
    country: String,
    country_name: String,
    available: bool,
    /// Why there is no score, or no grade; null otherwise.
    reason: Option<Sentence>,
    /// `A`, `B`, `C`, `D` or `F`; null without a score, and where the missing components could change the grade.
    grade: Option<&'static str>,
    /// 0 to 100, higher is worse: the sum of the components. Null where nothing was measured of late.
    score: Option<f64>,
    components: Components,
    /// Components without any data; they count 0 points.
    missing: Vec<&'static str>,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

const NOTHING: Sentence = Sentence::new("score.nothing");
const TOO_LITTLE: Sentence = Sentence::new("score.too_few");
const UNGRADED: Sentence = Sentence::new("score.ungraded");
const CAVEATS: [Sentence; 3] =
    [Sentence::new("score.weights"), Sentence::new("score.unseen"), Sentence::new("score.lower_bound")];

impl ScoreFacts {
    fn missing(&self) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if self.anomaly.is_none() {
            missing.push("anomaly");
        }
        if self.risks.is_none() {
            missing.extend(["forecast_30d_avg", "forecast_7d"]);
        }
        missing
    }

    fn is_something(&self) -> bool {
        self.began > 0 || self.on > 0 || self.risks.is_some() || self.is_enough()
    }

    /// Whether somebody measured there of late. Incidents are few where nobody looks, and a forecast of an old table is
    /// low where little was reported, so neither alone makes a country a good one (decision what-numbers-mean).
    fn is_enough(&self) -> bool {
        self.anomaly.is_some()
    }
}

/// The facts of all countries or of one, by code, and the licences of the data behind them.
async fn known(cx: &Cx, country: Option<&str>) -> Result<(BTreeMap<String, ScoreFacts>, String)> {
    let mut found: BTreeMap<String, ScoreFacts> = BTreeMap::new();
    let mut licences: BTreeSet<String> = BTreeSet::new();
    let wanted = |code: &str| country.is_none_or(|country| country == code);
    for (code, (began, on)) in densities(cx).await?.into_iter().filter(|(code, _)| wanted(code)) {
        let known = found.entry(code).or_default();
        (known.began, known.on) = (began, on);
        // Incidents may rest on any source.
        licences.extend(Source::ALL.map(|source| source.licence_under(cx.settings()).to_owned()));
    }
    if let Some(Served { forecasts, .. }) = served(cx, country).await? {
        licences.insert(Source::AccessNow.licence_under(cx.settings()).to_owned());
        for (code, forecast) in forecasts {
            found.entry(code).or_default().risks = Some((forecast.risk(1), forecast.risk(2)));
        }
    }
    let asked = Anomalies { country: country.map(str::to_owned) };
    for (code, license, judged) in runtime::query(&*cx.rt, world::actor().name, &asked).await? {
        licences.insert(license);
        if let Some(judged) = judged {
            found.entry(code).or_default().anomaly = Some((judged.score, judged.noise));
        }
    }
    Ok((found, licence::effective(licences.iter().map(String::as_str))))
}

fn interpretation(country: &str, known: &ScoreFacts, parts: &Components, score: f64) -> Sentence {
    let named = [
        (parts.base_rate, "base_rate"),
        (parts.forecast_7d, "forecast_7d"),
        (parts.forecast_30d_avg, "forecast_30d_avg"),
        (parts.anomaly, "anomaly"),
        (parts.incident_density_24h, "incident_density_24h"),
    ];
    let most = named.iter().fold((0.0, "nothing"), |most, part| if part.0 > most.0 { *part } else { most });
    let said = Sentence::new("score.of").with("country", country).with("score", score).with("most", most.1);
    said.with("lower_bound", !known.missing().is_empty())
}

pub async fn one(cx: Cx) -> Result<Response> {
    cx.kept(one_page(&cx)).await
}

async fn one_page(cx: &Cx) -> Result<Response> {
    let country = input::path_country(cx, "country")?;
    let (found, license) = known(cx, Some(country.code)).await?;
    let known = found.get(country.code).copied().unwrap_or_default();
    let components = Components::of(&known);
    let score = Some(components.sum()).filter(|_| known.is_enough());
    let grade = score.and_then(|score| graded(score, &known));
    let mut said = Sentences::new();
    Response::json(&ScoreBody {
        country: country.code.to_owned(),
        country_name: country.name.to_owned(),
        available: score.is_some(),
        reason: said.add(
            "reason",
            match score {
                None if known.is_something() => Some(TOO_LITTLE),
                None => Some(NOTHING),
                Some(_) => grade.is_none().then_some(UNGRADED),
            },
        ),
        grade,
        score,
        components,
        missing: known.missing(),
        interpretation: said.add(
            "interpretation",
            match score {
                Some(score) => interpretation(country.code, &known, &components, score),
                None if known.is_something() => Sentence::new("score.too_little").with("country", country.code),
                None => Sentence::new("score.unknown").with("country", country.code),
            },
        ),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        generated_at: cx.now().to_string(),
        license,
        sentences: said,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AtlasScoreRow")]
struct Row {
    country: String,
    country_name: String,
    /// Null where the missing components could change the grade.
    grade: Option<&'static str>,
    score: f64,
    /// Components without any data; they count 0 points.
    missing: Vec<&'static str>,
    /// Points that the known components can give, of 100.
    coverage: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AtlasScoreList")]
pub struct ListBody {
    count: usize,
    generated_at: String,
    /// Countries with enough data, the highest score first.
    results: Vec<Row>,
    n_returned: usize,
    n_total: usize,
    /// Countries of which only reports are known, such as incidents, so that they have no score.
    n_insufficient: usize,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    license: String,
    sentences: Sentences,
}

pub async fn all(cx: Cx) -> Result<Response> {
    cx.kept(all_page(&cx)).await
}

async fn all_page(cx: &Cx) -> Result<Response> {
    let (found, license) = known(cx, None).await?;
    let row = |(code, known): (String, ScoreFacts)| {
        let country = Country::by_code(&code).filter(|_| known.is_enough())?;
        let score = Components::of(&known).sum();
        let missing = known.missing();
        Some(Row {
            country_name: country.name.to_owned(),
            country: code,
            grade: graded(score, &known),
            score,
            coverage: 100.0 - missing.iter().map(|component| worth(component)).sum::<f64>(),
            missing,
        })
    };
    let n_insufficient = found.values().filter(|known| known.is_something() && !known.is_enough()).count();
    let mut results: Vec<Row> = found.into_iter().filter_map(row).collect();
    results.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.country.cmp(&b.country)));
    let interpretation = match results.first() {
        Some(first) => Sentence::new("score.worst")
            .with("countries", results.len())
            .with("country", &first.country)
            .with("score", first.score),
        None => Sentence::new("score.none"),
    };
    let mut said = Sentences::new();
    Response::json(&ListBody {
        count: results.len(),
        generated_at: cx.now().to_string(),
        n_returned: results.len(),
        n_total: results.len(),
        n_insufficient,
        results,
        interpretation: said.add("interpretation", interpretation),
        honest_caveats: said.add("honest_caveats", CAVEATS.to_vec()),
        license,
        sentences: said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(began: u64, on: u64, risks: Option<(f64, f64)>, anomaly: Option<(f64, bool)>) -> ScoreFacts {
        ScoreFacts { began, on, risks, anomaly }
    }

    /// Components are points that sum to the score, and the base rate gives at most 50.
    #[test]
    fn components_add_up_to_the_score_exactly_in_any_order_and_never_pass_their_caps() {
        for step in 0..2_000u64 {
            let part = |of: u64| (step * of % 101) as f64 / 100.0;
            let known = known(step * 7 % 90, step % 9, Some((part(3), part(11))), Some((part(5), step % 2 == 0)));
            let parts = Components::of(&known);
            let all =
                [parts.anomaly, parts.base_rate, parts.forecast_30d_avg, parts.forecast_7d, parts.incident_density_24h];
            let backwards: f64 = all.iter().rev().sum();
            assert_eq!(parts.sum(), backwards);
            let text = serde_json::to_value(parts).unwrap();
            let read: f64 = text.as_object().unwrap().values().map(|value| value.as_f64().unwrap()).sum();
            assert_eq!(read, parts.sum());
            assert!((0.0..=100.0).contains(&parts.sum()) && parts.base_rate <= 50.0, "{parts:?}");
        }
        let most = Components::of(&known(10_000, 50, Some((1.0, 1.0)), Some((1.0, true))));
        assert_eq!((most.base_rate, most.sum()), (50.0, 100.0));
    }

    /// By hand: 50 (1 - 1/e) = 31.606 to quarters; 20 x 0.3 = 6; 10 (1 - 0.5^(7/30)) = 1.494; 2 of 5; 10 (2 x 0.75 -
    /// 1).
    #[test]
    fn points_are_those_by_hand() {
        let parts = Components::of(&known(20, 2, Some((0.3, 0.5)), Some((0.75, true))));
        assert_eq!((parts.base_rate, parts.forecast_7d, parts.forecast_30d_avg), (31.5, 6.0, 1.5));
        assert_eq!((parts.incident_density_24h, parts.anomaly), (4.0, 5.0));
        assert_eq!(Components::of(&known(0, 0, None, Some((0.4, false)))).sum(), 0.0);
    }

    /// A score of 72.9 is a D.
    #[test]
    fn grades_are_cut_as_the_interface_cuts_them() {
        let grades =
            [(0.0, "A"), (19.75, "A"), (20.0, "B"), (40.0, "C"), (60.0, "D"), (72.9, "D"), (80.0, "F"), (100.0, "F")];
        for (score, expected) in grades {
            assert_eq!(grade(score), expected, "{score}");
        }
    }

    #[test]
    fn what_is_not_known_is_named_and_nothing_known_is_no_score() {
        assert_eq!(ScoreFacts::default().missing(), ["anomaly", "forecast_30d_avg", "forecast_7d"]);
        assert!(!ScoreFacts::default().is_something());
        let reported = known(1, 0, None, None);
        assert!(reported.is_something() && !reported.is_enough(), "one incident is no grade A");
        let foreseen = known(0, 0, Some((0.1, 0.2)), None);
        assert!(foreseen.is_something() && !foreseen.is_enough(), "nor is a forecast where nobody measured");
        assert!(known(0, 0, Some((0.1, 0.2)), None).missing() == ["anomaly"]);
    }

    /// A country without data must not be graded A (decision what-numbers-mean).
    #[test]
    fn no_grade_is_given_that_the_missing_parts_could_make_another() {
        let forecast = known(0, 0, Some((0.1, 0.2)), None);
        assert_eq!((graded(5.0, &forecast), graded(15.0, &forecast)), (Some("A"), None), "up to 10 points are missing");
        let measured = known(0, 0, None, Some((0.2, false)));
        assert_eq!(graded(0.0, &measured), None, "30 points are missing");
        let all = known(0, 0, Some((0.1, 0.2)), Some((0.2, false)));
        assert_eq!((graded(15.0, &all), graded(85.0, &forecast)), (Some("A"), Some("F")));
    }
}
