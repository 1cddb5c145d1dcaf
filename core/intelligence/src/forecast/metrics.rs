//! Measures of how well probabilities fit the outcomes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bins of equal size for the calibration error.
const BINS: usize = 10;
/// Probabilities that differ by no more than this count as equal. The last digits of a logarithm depend on the
/// processor, and must not decide ranks.
const TIE: f64 = 1e-9;

/// A probability and its outcome.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// 0-1.
    pub probability: f64,
    pub happened: bool,
}

impl Scored {
    /// Whether two outcomes have the same rank.
    pub fn ties(&self, other: &Scored) -> bool {
        (self.probability - other.probability).abs() <= TIE
    }

    fn truth(&self) -> f64 {
        f64::from(u8::from(self.happened))
    }
}

/// Risk from which on a forecast counts as an alert: at 0.5 and above it is elevated.
pub const ALERT: f64 = 0.5;

/// Results of alerts at [`ALERT`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConfusionCounts")]
pub struct Confusion {
    pub true_positive: u64,
    pub false_positive: u64,
    pub true_negative: u64,
    pub false_negative: u64,
    pub total: u64,
}

impl Confusion {
    /// Counts one outcome.
    pub fn add(&mut self, outcome: &Scored) {
        let count = match (outcome.probability >= ALERT, outcome.happened) {
            (true, true) => &mut self.true_positive,
            (true, false) => &mut self.false_positive,
            (false, false) => &mut self.true_negative,
            (false, true) => &mut self.false_negative,
        };
        *count += 1;
        self.total += 1;
    }

    /// Counts outcomes in any order.
    pub fn of(outcomes: &[Scored]) -> Confusion {
        outcomes.iter().fold(Confusion::default(), |mut sum, outcome| {
            sum.add(outcome);
            sum
        })
    }

    /// Share of alerts that came true; `None` without an alert.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_positive)
    }

    /// Share of events with an alert; `None` without an event.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    /// Share of forecasts on the right side of the threshold; `None` without a forecast.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.true_positive + self.true_negative, self.total)
    }

    /// Harmonic mean of precision and recall; `None` without an alert or an event.
    pub fn f1(&self) -> Option<f64> {
        share(2 * self.true_positive, 2 * self.true_positive + self.false_positive + self.false_negative)
    }
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Figures of a set of outcomes. Null where they have no meaning: without rows, or when all outcomes are alike.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    pub rows: u64,
    pub positives: u64,
    /// Share of positives.
    pub base_rate: Option<f64>,
    /// Area under the ROC curve; ties count half.
    pub auc: Option<f64>,
    /// Area under the precision-recall curve in steps; rows of the same probability are one step.
    pub average_precision: Option<f64>,
    /// Mean squared error.
    pub brier: Option<f64>,
    /// 1 - brier / (base rate x (1 - base rate)).
    pub brier_skill: Option<f64>,
    /// Expected calibration error over ten bins of equal size.
    pub ece: Option<f64>,
}

/// Figures of outcomes. Their order has no effect apart from rounding.
pub fn figures(outcomes: &[Scored]) -> Figures {
    let mut sorted = outcomes.to_vec();
    sorted.sort_unstable_by(|a, b| b.probability.total_cmp(&a.probability));
    let rows = sorted.len() as f64;
    let positives = sorted.iter().filter(|outcome| outcome.happened).count() as f64;
    let negatives = rows - positives;
    let (mut hits, mut misses, mut area, mut precision) = (0.0, 0.0, 0.0, 0.0);
    for tied in sorted.chunk_by(Scored::ties) {
        let here = tied.iter().filter(|outcome| outcome.happened).count() as f64;
        let not = tied.len() as f64 - here;
        area += not * (hits + here / 2.0);
        hits += here;
        misses += not;
        precision += here * hits / (hits + misses);
    }
    let squared: f64 = sorted.iter().map(|outcome| (outcome.probability - outcome.truth()).powi(2)).sum();
    let (some, both) = (rows > 0.0, positives > 0.0 && negatives > 0.0);
    let base = positives / rows;
    let brier = squared / rows;
    Figures {
        rows: rows as u64,
        positives: positives as u64,
        base_rate: some.then_some(base),
        auc: both.then(|| area / (positives * negatives)),
        average_precision: (positives > 0.0).then(|| precision / positives),
        brier: some.then_some(brier),
        brier_skill: both.then(|| 1.0 - brier / (base * (1.0 - base))),
        ece: some.then(|| calibration_error(&sorted)),
    }
}

/// The calibration error over bins of equal size, from outcomes sorted by probability. Rows of the same probability
/// count with their mean outcome, so it does not matter which of them falls into which bin.
fn calibration_error(sorted: &[Scored]) -> f64 {
    let mut smooth = Vec::with_capacity(sorted.len());
    for tied in sorted.chunk_by(Scored::ties) {
        let mean = tied.iter().map(Scored::truth).sum::<f64>() / tied.len() as f64;
        smooth.extend(tied.iter().map(|outcome| outcome.probability - mean));
    }
    let (rows, mut rest) = (smooth.len(), smooth.as_slice());
    let mut gap = 0.0;
    for bin in 0..BINS {
        let size = rows * (bin + 1) / BINS - rows * bin / BINS;
        let (here, after) = rest.split_at(size.min(rest.len()));
        gap += here.iter().sum::<f64>().abs();
        rest = after;
    }
    gap / rows as f64
}

/// Calibration of the rows with the highest probabilities.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Top {
    /// Share of all rows.
    pub share: f64,
    pub rows: u64,
    /// Mean probability.
    pub predicted: f64,
    /// Share of these rows with an event.
    pub observed: f64,
    pub observed_over_predicted: Option<f64>,
}

/// The calibration of the highest `share` (0-1) of the rows.
pub fn top(outcomes: &[Scored], share: f64) -> Top {
    let mut sorted = outcomes.to_vec();
    sorted.sort_unstable_by(|a, b| b.probability.total_cmp(&a.probability).then(a.happened.cmp(&b.happened)));
    sorted.truncate((outcomes.len() as f64 * share) as usize);
    let rows = sorted.len().max(1) as f64;
    let predicted = sorted.iter().map(|outcome| outcome.probability).sum::<f64>() / rows;
    let observed = sorted.iter().map(Scored::truth).sum::<f64>() / rows;
    let ratio = (predicted > 0.0).then(|| observed / predicted);
    Top { share, rows: sorted.len() as u64, predicted, observed, observed_over_predicted: ratio }
}

/// The result of alerts at a threshold.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Budget {
    pub threshold: f64,
    /// Null without an alert.
    pub precision: Option<f64>,
    pub recall: Option<f64>,
    /// Number of alerts per day.
    pub countries_per_day: f64,
}

/// Alerts at `threshold` over `days` days.
pub fn budget(outcomes: &[Scored], threshold: f64, days: usize) -> Budget {
    let alerts = outcomes.iter().filter(|outcome| outcome.probability >= threshold).count() as f64;
    let hits = outcomes.iter().filter(|outcome| outcome.probability >= threshold && outcome.happened).count() as f64;
    let positives = outcomes.iter().filter(|outcome| outcome.happened).count() as f64;
    Budget {
        threshold,
        precision: (alerts > 0.0).then(|| hits / alerts),
        recall: (positives > 0.0).then(|| hits / positives),
        countries_per_day: alerts / days.max(1) as f64,
    }
}

/// The middle value; for an even number of values the mean of the two middle ones.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().checked_sub(1)? / 2)?;
    Some((lower + upper) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_that_differ_in_their_last_digits_are_of_one_rank() {
        let rows = |step: f64| -> Vec<Scored> {
            let row = |n: u32| Scored { probability: 0.3 + step * f64::from(n % 7), happened: n.is_multiple_of(3) };
            let other = |n: u32| Scored { probability: 0.6, happened: n.is_multiple_of(2) };
            (0..50).map(row).chain((0..20).map(other)).collect()
        };
        let (exact, noisy) = (figures(&rows(0.0)), figures(&rows(1e-16)));
        assert_eq!((exact.auc, exact.average_precision), (noisy.auc, noisy.average_precision));
        assert!((exact.ece.unwrap() - noisy.ece.unwrap()).abs() < 1e-12);
        assert_ne!(exact.auc, figures(&rows(1e-3)).auc);
    }
}
