//! Synthetic control: an estimate of what a country would have shown without the event, combined from other countries
//! (Abadie, Diamond and Hainmueller 2010), and a permutation test of how often chance alone shows as much.
//!
//! Weights are not negative, sum to 1, and minimise the squared difference to the treated unit before the event. A tiny
//! ridge makes them unique where donors are alike. Everything is deterministic.

/// The ridge, relative to the mean square of the donors.
const RIDGE: f64 = 1e-6;
/// The least gain of a step, relative to the mean square of the donors.
const TOLERANCE: f64 = 1e-14;
/// Steps after which the weights are taken as they are. Donors that differ take some hundred steps. The worst case in
/// tests, donors that are all nearly the same, takes some thousand. With 20 donors and a placebo run for each, this
/// bounds a request to some twenty million multiplications.
const MOST_STEPS: usize = 20_000;
/// Least error before the event that a ratio is computed with, since shares are not known to more digits.
const LEAST_ERROR: f64 = 1e-4;

/// A unit's outcomes before and after the event.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    pub before: Vec<f64>,
    pub after: Vec<f64>,
}

/// The result for a treated unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// One for each donor.
    pub weights: Vec<f64>,
    /// Root of the mean squared difference before and after the event.
    pub before_error: f64,
    pub after_error: f64,
    /// Means after the event.
    pub treated: f64,
    pub synthetic: f64,
}

impl Control {
    /// Mean difference after the event.
    pub fn effect(&self) -> f64 {
        self.treated - self.synthetic
    }

    /// How many times worse the fit is after the event than before.
    fn ratio(&self) -> f64 {
        self.after_error / self.before_error.max(LEAST_ERROR)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The weights of the donors. Each step moves weight exactly between the two donors that violate optimality the most.
pub fn weights(treated: &[f64], donors: &[&[f64]]) -> Vec<f64> {
    descend(treated, donors).0
}

/// The weights, and the number of steps.
pub(super) fn descend(treated: &[f64], donors: &[&[f64]]) -> (Vec<f64>, usize) {
    let count = donors.len();
    let scale = donors.iter().map(|donor| dot(donor, donor)).sum::<f64>() / count.max(1) as f64;
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let gram: Vec<Vec<f64>> = donors
        .iter()
        .enumerate()
        .map(|(i, a)| {
            let row = donors.iter().enumerate();
            row.map(|(j, b)| dot(a, b) + if i == j { RIDGE * scale } else { 0.0 }).collect()
        })
        .collect();
    let mut weights = vec![1.0 / count.max(1) as f64; count];
    // Half of the gradient.
    let mut gradient: Vec<f64> =
        gram.iter().zip(donors).map(|(row, donor)| dot(row, &weights) - dot(donor, treated)).collect();
    let mut steps = 0;
    while steps < MOST_STEPS {
        let lowest = gradient.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1));
        let filled = gradient.iter().enumerate().zip(&weights).filter(|(_, weight)| **weight > 0.0);
        let highest = filled.map(|(at, _)| at).max_by(|a, b| a.1.total_cmp(b.1));
        let (Some((to, least)), Some((from, most))) = (lowest, highest) else { break };
        let gap = most - least;
        if to == from || gap <= TOLERANCE * scale {
            break;
        }
        let at = |i: usize, j: usize| gram.get(i).and_then(|row| row.get(j)).copied().unwrap_or_default();
        let curve = (at(to, to) + at(from, from) - 2.0 * at(to, from)).max(RIDGE * scale);
        let left = weights.get(from).copied().unwrap_or_default();
        let step = (gap / curve).min(left);
        steps += 1;
        for (index, weight) in weights.iter_mut().enumerate() {
            if index == to {
                *weight += step;
            } else if index == from {
                // Rounding must not leave a rest, or the loop would step from this donor for ever.
                *weight = if step >= left { 0.0 } else { *weight - step };
            }
        }
        for (index, value) in gradient.iter_mut().enumerate() {
            *value += step * (at(index, to) - at(index, from));
        }
    }
    (weights, steps)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn error(a: &[f64], b: &[f64]) -> f64 {
    let squares: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).collect();
    mean(&squares).sqrt()
}

/// The synthetic control of a unit. Donors must have as many outcomes as the unit.
pub fn control(treated: &Unit, donors: &[&Unit]) -> Control {
    let before: Vec<&[f64]> = donors.iter().map(|donor| donor.before.as_slice()).collect();
    let weights = weights(&treated.before, &before);
    let made = |of: fn(&Unit) -> &[f64], length: usize| -> Vec<f64> {
        let day = |day: usize| {
            let values = donors.iter().zip(&weights);
            values.map(|(donor, weight)| of(donor).get(day).copied().unwrap_or_default() * weight).sum()
        };
        (0..length).map(day).collect()
    };
    let synthetic_before = made(|unit| &unit.before, treated.before.len());
    let synthetic_after = made(|unit| &unit.after, treated.after.len());
    Control {
        before_error: error(&treated.before, &synthetic_before),
        after_error: error(&treated.after, &synthetic_after),
        treated: mean(&treated.after),
        synthetic: mean(&synthetic_after),
        weights,
    }
}

/// The share of units, including the treated one, whose fit worsens at least as much when each donor is taken for the
/// treated unit in turn. This is what chance alone would show. `None` with fewer than two donors.
pub fn p_value(treated: &Control, donors: &[&Unit]) -> Option<f64> {
    if donors.len() < 2 {
        return None;
    }
    let placebo = |at: usize, unit: &Unit| {
        let others = donors.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<&Unit> = others.map(|(_, unit)| *unit).collect();
        control(unit, &others).ratio() >= treated.ratio()
    };
    let as_much = donors.iter().enumerate().filter(|(at, unit)| placebo(*at, unit)).count();
    Some((as_much + 1) as f64 / (donors.len() + 1) as f64)
}
