//! `/v1/anomaly/dbscan/{country}`: whether a country's last day differs from the days before it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::constants::{AUC_LEAST_DAYS, EPS_FACTOR, EPS_LEAST, LEAST_DAYS, LEAST_RESULTS, MIN_SAMPLES, WINDOW_DAYS};
use super::counts::{self, CountryResults, day};
use super::dbscan::{Clusters, Point, cluster, core_distance, reach, standardise};
use super::features::{FEATURES, window};
use crate::country::{ordered_days, strictest, summary};
use crate::forecast::metrics::{Scored, figures};
use crate::{Result, Timestamp, world};
use engine::actor::View;
use engine::documents::Rendered;
use engine::number::round;
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};

/// The judgement of the last day of a window, compared with the other days of the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DayJudgement {
    /// The newest complete day with features, in days since the epoch.
    pub day: u32,
    /// d / (d + eps), where d is the distance to the nearest core: above 0.5 for noise, at most 0.5 otherwise. 0 to 1.
    pub score: f64,
    /// Whether the day is neither a core nor within `eps` of one.
    pub noise: bool,
    pub point: Point,
}

/// A window with its clusters.
struct ClusteredWindow {
    days: Vec<u32>,
    eps: f64,
    clusters: Clusters,
    reach: Vec<Option<f64>>,
    last: DayJudgement,
}

/// The reason why a window cannot be judged.
enum Thin {
    /// Too few days have features: this many.
    Days(usize),
    /// No day has enough other days near it.
    NoCore,
}

fn score(distance: f64, eps: f64) -> f64 {
    distance / (distance + eps)
}

fn look(days: &BTreeMap<u32, CountryResults>, now: Timestamp) -> Result<ClusteredWindow, Thin> {
    let window = window(days, day(now).saturating_sub(1));
    let points: Vec<Point> = window.iter().map(|(_, point)| *point).collect();
    let Some((last, point)) = window.last().filter(|_| window.len() >= LEAST_DAYS as usize) else {
        return Err(Thin::Days(window.len()));
    };
    let scaled = standardise(&points);
    let typical = core_distance(&scaled, MIN_SAMPLES as usize).unwrap_or_default();
    let eps = (EPS_FACTOR * typical).max(EPS_LEAST);
    let clusters = cluster(&scaled, eps, MIN_SAMPLES as usize);
    let reach = reach(&scaled, &clusters);
    let distance = reach.last().copied().flatten().ok_or(Thin::NoCore)?;
    let noise = clusters.labels.last().is_some_and(Option::is_none);
    let score = score(distance, eps);
    // A core may be far from every other core. It is not noise, so its score must not exceed 0.5.
    let score = if noise { score } else { score.min(0.5) };
    let last = DayJudgement { day: *last, score, noise, point: *point };
    Ok(ClusteredWindow { days: window.into_iter().map(|(day, _)| day).collect(), eps, clusters, reach, last })
}

/// The judgement of a country's last day, where its window can be judged.
pub fn judge(days: &BTreeMap<u32, CountryResults>, now: Timestamp) -> Option<DayJudgement> {
    look(days, now).ok().map(|looked| looked.last)
}

/// How well the distances separate days with a reported shutdown or block from other days (AUC); `None` with too few of
/// either.
fn auc(looked: &ClusteredWindow, ordered: impl Fn(u32) -> bool) -> Option<f64> {
    let outcome = |(day, reach): (&u32, &Option<f64>)| {
        Some(Scored { probability: score((*reach)?, looked.eps), happened: ordered(*day) })
    };
    let outcomes: Vec<Scored> = looked.days.iter().zip(&looked.reach).filter_map(outcome).collect();
    let figures = figures(&outcomes);
    let least = figures.positives.min(figures.rows - figures.positives);
    figures.auc.filter(|_| least >= u64::from(AUC_LEAST_DAYS)).map(round)
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DbscanBody {
    country: String,
    country_name: String,
    available: bool,
    /// Why there is no judgement; null otherwise.
    reason: Option<Sentence>,
    /// The newest complete day with enough measurements; null without one.
    date: Option<String>,
    /// d / (d + `eps`), where d is the distance of that day to the nearest usual day: 0 to 1, the border is at 0.5.
    anomaly_score: Option<f64>,
    /// Whether that day is outside of every cluster.
    is_anomaly: Option<bool>,
    /// Share of that day's results that say blocked.
    block_rate: Option<f64>,
    /// Measurements of that day, each counted once.
    n_measurements: Option<u32>,
    window_days: u32,
    /// Days of the window with enough measurements.
    n_days: usize,
    /// In standard deviations.
    eps: Option<f64>,
    min_samples: u32,
    n_clusters: Option<usize>,
    n_noise_days: Option<usize>,
    /// How well the distances separate days of the window with a reported shutdown or block from other days (AUC); null
    /// when there are too few of either.
    auc_vs_labels: Option<f64>,
    /// The features of that day, not standardised.
    features: BTreeMap<&'static str, f64>,
    method: Sentence,
    interpretation: Sentence,
    honest_caveats: Vec<Sentence>,
    generated_at: String,
    license: String,
    sentences: Sentences,
}

const METHOD: Sentence = Sentence::new("anomaly.method");

fn date(day: u32) -> String {
    Timestamp(i64::from(day) * DAY).to_date_text()
}

fn reason(thin: &Thin) -> Sentence {
    match thin {
        Thin::Days(days) => Sentence::new("anomaly.too_few_days")
            .with("days", *days)
            .with("window", WINDOW_DAYS)
            .with("results", LEAST_RESULTS)
            .with("needed", LEAST_DAYS),
        Thin::NoCore => Sentence::new("anomaly.nothing_usual"),
    }
}

fn caveats(has_auc: bool) -> Vec<Sentence> {
    let mut found = vec![Sentence::new("anomaly.no_proof"), Sentence::new("anomaly.own_day")];
    if !has_auc {
        found.push(Sentence::new("anomaly.no_auc").with("days", AUC_LEAST_DAYS));
    }
    found
}

pub fn render(view: &View<'_>, code: &str) -> Result<Rendered> {
    let days = counts::days(view, view.now)?;
    let looked = look(&days, view.now);
    let last = looked.as_ref().ok().map(|looked| &looked.last);
    let row = last.and_then(|last| days.get(&last.day));
    let auc = match &looked {
        Ok(looked) => {
            let span = looked.days.first().zip(looked.days.last());
            let ordered = span.map(|(first, last)| ordered_days(view, *first, *last)).transpose()?.unwrap_or_default();
            auc(looked, |day| ordered.contains(&day))
        }
        Err(_) => None,
    };
    let name = world::name(code);
    let mut said = Sentences::new();
    Rendered::json(&DbscanBody {
        country: code.to_owned(),
        available: looked.is_ok(),
        reason: said.add("reason", looked.as_ref().err().map(reason)),
        date: last.map(|last| date(last.day)),
        anomaly_score: last.map(|last| round(last.score)),
        is_anomaly: last.map(|last| last.noise),
        block_rate: row.map(|row| round(row.counts.share(row.counts.blocked))),
        n_measurements: row.map(|row| row.counts.measurements),
        window_days: WINDOW_DAYS,
        n_days: match &looked {
            Ok(looked) => looked.days.len(),
            Err(Thin::Days(days)) => *days,
            Err(Thin::NoCore) => window(&days, day(view.now).saturating_sub(1)).len(),
        },
        eps: looked.as_ref().ok().map(|looked| round(looked.eps)),
        min_samples: MIN_SAMPLES,
        n_clusters: looked.as_ref().ok().map(|looked| looked.clusters.count),
        n_noise_days: looked
            .as_ref()
            .ok()
            .map(|looked| looked.clusters.labels.iter().filter(|label| label.is_none()).count()),
        auc_vs_labels: auc,
        features: last.into_iter().flat_map(|last| FEATURES.into_iter().zip(last.point.map(round))).collect(),
        method: said.add("method", METHOD),
        interpretation: said.add(
            "interpretation",
            match last {
                Some(last) => {
                    let day = Sentence::new("anomaly.day").with("country", code).with("day", date(last.day));
                    day.with("unlike", last.noise)
                }
                None => Sentence::new("anomaly.too_little").with("country", code),
            },
        ),
        country_name: name,
        honest_caveats: said.add("honest_caveats", caveats(auc.is_some())),
        generated_at: view.now.to_string(),
        license: strictest(&summary(view, None)?.sources),
        sentences: said,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomaly::counts::Counts;

    /// Days up to 99 that differ a little, and day 99 as it is given.
    fn days(last: Counts) -> BTreeMap<u32, CountryResults> {
        let usual = |day: u32| {
            let wave = |of: u32| day * of % 7;
            let (measurements, blocked) = (100 + wave(3), 10 + wave(5));
            Counts {
                measurements,
                results: measurements,
                blocked,
                clear: measurements - blocked - wave(2),
                confirmed: wave(4),
                failed: wave(2),
                layers: [wave(1), wave(6), blocked - wave(1), 0],
            }
        };
        let row = |day: u32| CountryResults { counts: usual(day), targets: 20 + day % 3, networks: 5 + day % 2 };
        let mut days: BTreeMap<u32, CountryResults> = (20..99).map(|day| (day, row(day))).collect();
        days.insert(99, CountryResults { counts: last, ..row(99) });
        days
    }

    fn at(day: i64) -> Timestamp {
        Timestamp(day * DAY)
    }

    #[test]
    fn a_last_day_unlike_the_others_is_noise_and_a_usual_one_is_not() {
        let blocked = Counts {
            measurements: 30,
            results: 30,
            blocked: 29,
            confirmed: 25,
            layers: [0, 0, 0, 29],
            ..Counts::default()
        };
        let strange = judge(&days(blocked), at(100)).unwrap();
        assert!(strange.noise && strange.score > 0.5 && strange.day == 99, "{strange:?}");
        let usual = judge(&days(days(blocked)[&92].counts), at(100)).unwrap();
        assert!(!usual.noise && usual.score <= 0.5, "{usual:?}");
        // Today is not complete, so it is never judged.
        assert_eq!(judge(&days(blocked), at(99)).unwrap().day, 98);
    }

    #[test]
    fn too_few_days_are_no_window_and_the_method_names_its_constants() {
        let few: BTreeMap<u32, CountryResults> = days(Counts::default()).split_off(&80);
        assert_eq!(judge(&few, at(100)), None);
        assert_eq!(judge(&BTreeMap::new(), at(100)), None);
        assert!(METHOD.english().contains(&format!("{EPS_FACTOR} times")), "{METHOD}");
    }
}
