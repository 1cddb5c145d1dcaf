//! Trains a model that recognizes days with a shutdown or an ordered block by their measurements.
//!
//! Events that others reported serve as labels. Incidents of this service do not, since they are made from the same
//! measurements.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::constants::{
    HELD_OUT_SHARE, LEAST_HELD_OUT, LEAST_POSITIVES, LEAST_QUIET_DAYS, LONGEST_DAYS, QUIET_ALARMS, RIDGE,
};
use crate::anomaly::dbscan::{Point, WIDTH};
use crate::forecast::history::start;
use crate::forecast::logistic::{Logistic, Sample, fit};
use crate::forecast::metrics::{Figures, Scored, figures};
use crate::world::EventMark;

/// The days that an event labels. `None` for raw outages and for events that nobody is known to have ordered.
pub fn labelled(source: u8, mark: &EventMark) -> Option<RangeInclusive<u32>> {
    start(source, mark)?;
    let last = mark.end.unwrap_or(mark.start).min(mark.start.saturating_add(LONGEST_DAYS - 1));
    Some(mark.start..=last.max(mark.start))
}

/// A day of a country, to train on.
#[derive(Debug, Clone)]
pub struct TrainingDay {
    /// Index of the country among all countries given.
    pub country: usize,
    pub day: u32,
    pub point: Point,
    pub happened: bool,
}

/// The days of countries as (country, days), with labels as (country, labelled day).
pub fn days<'a>(
    countries: impl Iterator<Item = (&'a str, &'a [(u32, Point)])>,
    labels: &BTreeSet<(String, u32)>,
) -> Vec<TrainingDay> {
    let mut found = Vec::new();
    for (at, (country, days)) in countries.enumerate() {
        for (day, point) in days {
            let happened = labels.contains(&(country.to_owned(), *day));
            found.push(TrainingDay { country: at, day: *day, point: *point, happened });
        }
    }
    found
}

/// A trained model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub logistic: Logistic,
    /// Figures on the hold-out.
    pub figures: Figures,
    /// First and last day of the hold-out.
    pub held_out: (u32, u32),
    pub rows: u64,
    pub positives: u64,
    /// The threshold with the best F1 on the hold-out.
    pub threshold: f64,
    pub f1: f64,
    /// Thresholds of the countries whose quiet days need a higher one, with the index of each country.
    pub own: Vec<(usize, f64)>,
}

fn learn_from<'a>(days: impl Iterator<Item = &'a TrainingDay>) -> Option<Logistic> {
    let mut sample = Sample::new(WIDTH);
    days.for_each(|day| sample.push(&day.point, day.happened, 1.0));
    fit(&sample, RIDGE)
}

/// The threshold with the best F1, and that F1.
fn best(outcomes: &[Scored]) -> (f64, f64) {
    let mut sorted = outcomes.to_vec();
    sorted.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let all = sorted.iter().filter(|outcome| outcome.happened).count() as f64;
    let (mut hits, mut alarms, mut found) = (0.0, 0.0, (1.0, 0.0));
    for tied in sorted.chunk_by(Scored::ties) {
        hits += tied.iter().filter(|outcome| outcome.happened).count() as f64;
        alarms += tied.len() as f64;
        let f1 = 2.0 * hits / (alarms + all);
        if let Some(lowest) = tied.last().filter(|_| f1 > found.1) {
            found = (lowest.probability, f1);
        }
    }
    found
}

/// The threshold that only a small share of a country's quiet days passes; `None` with too few quiet days.
fn quiet_limit(mut quiet: Vec<f64>) -> Option<f64> {
    if quiet.len() < LEAST_QUIET_DAYS as usize {
        return None;
    }
    quiet.sort_unstable_by(f64::total_cmp);
    let allowed = (quiet.len() as f64 * QUIET_ALARMS) as usize;
    let highest_refused = quiet.len().checked_sub(allowed + 1)?;
    // The next larger number, so that a day with the refused probability itself is refused.
    quiet.get(highest_refused).map(|refused| refused.next_up())
}

/// Trains a model on some days and decides whether it may be served.
///
/// # Errors
///
/// A sentence that says why it may not be served.
pub fn learn(days: &[TrainingDay]) -> Result<Learned, String> {
    let positives = days.iter().filter(|day| day.happened).count();
    if positives < LEAST_POSITIVES as usize {
        return Err(format!(
            "{positives} of {} measured country days have a reported shutdown or ordered block; {LEAST_POSITIVES} are \
             needed to learn from.",
            days.len()
        ));
    }
    let (first, last) = days.iter().fold((u32::MAX, 0), |(first, last), day| (first.min(day.day), last.max(day.day)));
    let cut = last - (f64::from(last - first) * HELD_OUT_SHARE) as u32;
    let (new, old): (Vec<&TrainingDay>, Vec<&TrainingDay>) = days.iter().partition(|day| day.day >= cut);
    let held = new.iter().filter(|day| day.happened).count();
    if held < LEAST_HELD_OUT as usize {
        return Err(format!(
            "{held} labelled days are among the newest third, on which a model is judged; {LEAST_HELD_OUT} are needed."
        ));
    }
    let candidate = learn_from(old.into_iter()).ok_or("the earlier days are all alike")?;
    let judged = |day: &TrainingDay| Scored { probability: candidate.probability(&day.point), happened: day.happened };
    let outcomes: Vec<Scored> = new.iter().map(|day| judged(day)).collect();
    let held_out = figures(&outcomes);
    if held_out.brier_skill.is_none_or(|skill| skill <= 0.0) {
        return Err(
            "on the newest third of the days the model is no better than the share of labelled days.".to_owned()
        );
    }
    let (threshold, f1) = best(&outcomes);
    let mut own = Vec::new();
    for days in new.chunk_by(|a, b| a.country == b.country) {
        let quiet = days.iter().filter(|day| !day.happened).map(|day| candidate.probability(&day.point)).collect();
        if let Some((day, limit)) = days.first().zip(quiet_limit(quiet)).filter(|(_, limit)| *limit > threshold) {
            own.push((day.country, limit));
        }
    }
    Ok(Learned {
        logistic: learn_from(days.iter()).ok_or("the days are all alike")?,
        figures: held_out,
        held_out: (cut, last),
        rows: days.len() as u64,
        positives: positives as u64,
        threshold,
        f1,
        own,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of three countries. The first country has an event every fourth day, which shows in its first feature.
    fn sample(shown: bool) -> Vec<TrainingDay> {
        let mut found = Vec::new();
        for country in 0..3 {
            for day in 100..220 {
                let happened = country == 0 && day % 4 == 0;
                let noise = |at: usize| ((day as usize * 7 + at * 13 + country * 5) % 17) as f64 / 17.0;
                let mut point: Point = std::array::from_fn(noise);
                point[0] += if happened && shown { 1.0 } else { 0.0 };
                found.push(TrainingDay { country, day, point, happened });
            }
        }
        found
    }

    #[test]
    fn what_shows_in_the_features_is_learned_and_judged_on_days_that_were_not_seen() {
        let learned = learn(&sample(true)).unwrap();
        assert_eq!((learned.rows, learned.positives), (360, 30));
        assert_eq!(learned.held_out, (180, 219));
        assert!(learned.figures.auc.unwrap() > 0.95 && learned.figures.rows == 120, "{:?}", learned.figures);
        assert!(learned.f1 > 0.8 && (0.0..1.0).contains(&learned.threshold), "{learned:?}");
    }

    #[test]
    fn nothing_is_served_that_is_no_better_than_the_share_of_labelled_days() {
        let reason = learn(&sample(false)).unwrap_err();
        assert!(reason.contains("no better"), "{reason}");
        let few: Vec<TrainingDay> = sample(true).into_iter().filter(|day| day.day < 200 || !day.happened).collect();
        assert!(learn(&few).unwrap_err().contains("30 are needed"));
        assert!(learn(&[]).is_err());
    }

    #[test]
    fn a_country_whose_quiet_days_score_high_gets_a_threshold_of_its_own() {
        assert_eq!(quiet_limit(vec![0.1; 14]), None);
        let quiet: Vec<f64> = (0..100).map(|n| f64::from(n) / 100.0).collect();
        let limit = quiet_limit(quiet.clone()).unwrap();
        assert_eq!(quiet.iter().filter(|p| **p >= limit).count(), 5);
    }

    #[test]
    fn raw_outages_are_no_labels_and_events_without_an_end_label_their_first_day() {
        use facts::reported::{Cause, EventKind, Scope};
        use facts::source::Source;
        let mark = EventMark {
            start: 100,
            end: None,
            kind: EventKind::Shutdown,
            scope: Scope::National,
            cause: Cause::Ordered,
            exams: false,
            place: 0,
        };
        let code = Source::AccessNow.code();
        assert_eq!(labelled(code, &mark), Some(100..=100));
        assert_eq!(labelled(code, &EventMark { end: Some(103), ..mark }), Some(100..=103));
        assert_eq!(labelled(code, &EventMark { end: Some(900), ..mark }), Some(100..=159));
        assert_eq!(labelled(code, &EventMark { kind: EventKind::Outage, ..mark }), None);
        assert_eq!(labelled(Source::Ioda.code(), &mark), None);
    }
}
