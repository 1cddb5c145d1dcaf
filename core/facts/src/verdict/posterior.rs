//! Beta posterior with its interval, and the calibration of probabilities.

use serde::{Deserialize, Serialize};

use super::constants::{COLD_START_INTERCEPT, COLD_START_SLOPE};

/// log10 of the odds of a probability, which is kept away from 0 and 1.
pub fn log10_odds(probability: f64) -> f64 {
    let p = probability.clamp(1e-9, 1.0 - 1e-9);
    (p / (1.0 - p)).log10()
}

/// Probability of log10 odds.
pub fn from_log10_odds(odds: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-odds.clamp(-12.0, 12.0)))
}

/// Maps evidence to a calibrated probability, and names the source of the map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    /// log10 odds of the answer = intercept + slope * x.
    pub intercept: f64,
    pub slope: f64,
    /// True if x is the log10 odds (fitted), false if it is the uncalibrated probability (cold start).
    pub on_odds: bool,
    /// `calibration.source` on the wire.
    pub source: &'static str,
}

impl Calibration {
    /// OONI's published map, fitted on 126 adjudicated measurements. Its probabilities stay between 0.0045 and 0.994,
    /// because the corpus supports no more.
    pub const fn cold_start() -> Calibration {
        Calibration {
            intercept: COLD_START_INTERCEPT,
            slope: COLD_START_SLOPE,
            on_odds: false,
            source: "ooni_label_corpus_2026_07",
        }
    }

    /// A map fitted on the operator's own labels, on log10 odds.
    pub const fn fitted(intercept: f64, slope: f64) -> Calibration {
        Calibration { intercept, slope, on_odds: true, source: "own_labels" }
    }

    /// Calibrated probability, from evidence in log10 odds that include the prior.
    pub fn probability(&self, log10_odds: f64) -> f64 {
        let x = if self.on_odds { log10_odds } else { from_log10_odds(log10_odds) };
        from_log10_odds(self.intercept + self.slope * x)
    }
}

/// A Beta distribution of a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Beta {
    pub a: f64,
    pub b: f64,
}

impl Beta {
    /// Prior with this mean and strength (in votes). The mean is kept away from 0 and 1, so that the distribution is
    /// proper.
    pub fn prior(mean: f64, strength: f64) -> Beta {
        let mean = mean.clamp(0.001, 0.999);
        Beta { a: mean * strength, b: (1.0 - mean) * strength }
    }

    /// The posterior after so many blocked and clear votes; weights may be fractions.
    pub fn after(self, blocked: f64, clear: f64) -> Beta {
        Beta { a: self.a + blocked.max(0.0), b: self.b + clear.max(0.0) }
    }

    pub fn mean(&self) -> f64 {
        self.a / (self.a + self.b)
    }

    /// P(share <= x).
    pub fn cdf(&self, x: f64) -> f64 {
        self.cdf_with(self.ln_beta(), x)
    }

    fn ln_beta(&self) -> f64 {
        ln_gamma(self.a) + ln_gamma(self.b) - ln_gamma(self.a + self.b)
    }

    /// Regularised incomplete beta function by its continued fraction (Numerical Recipes 6.4, modified Lentz).
    fn cdf_with(&self, ln_beta: f64, x: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        if x <= 0.0 {
            return 0.0;
        }
        if x >= 1.0 {
            return 1.0;
        }
        let front = (a * x.ln() + b * (1.0 - x).ln() - ln_beta).exp();
        // The fraction converges fast only on this side of the mean; the other side follows by symmetry.
        if x < (a + 1.0) / (a + b + 2.0) {
            front * fraction(a, b, x) / a
        } else {
            1.0 - front * fraction(b, a, 1.0 - x) / b
        }
    }

    /// The share below which the probability is `p`, with an error under 1e-9. Newton's method needs about six
    /// evaluations where bisection needs thirty. A bracket that always shrinks catches steps that would leave it.
    pub fn quantile(&self, p: f64) -> f64 {
        let ln_beta = self.ln_beta();
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        let mut x = self.first_guess(ln_beta, p);
        for _ in 0..100 {
            let excess = self.cdf_with(ln_beta, x) - p;
            if excess < 0.0 {
                low = x
            } else {
                high = x
            }
            let density = ((self.a - 1.0) * x.ln() + (self.b - 1.0) * (1.0 - x).ln() - ln_beta).exp();
            let step = x - excess / density;
            let next = if step > low && step < high { step } else { 0.5 * (low + high) };
            if (next - x).abs() < 1e-10 || high - low < 1e-10 {
                return next;
            }
            x = next;
        }
        x
    }

    /// The start for Newton's method: the leading term of the distribution when the tail lies at a steep end, else a
    /// point near the mean.
    fn first_guess(&self, ln_beta: f64, p: f64) -> f64 {
        let (a, b) = (self.a, self.b);
        // Near 0 the distribution is x^a / (a B), near 1 it is 1 - (1 - x)^b / (b B).
        let guess = match (a < 1.0, b < 1.0) {
            (true, _) if p < 0.5 => (((p * a).ln() + ln_beta) / a).exp(),
            (_, true) if p >= 0.5 => 1.0 - ((((1.0 - p) * b).ln() + ln_beta) / b).exp(),
            _ => {
                let mean = self.mean();
                let deviation = (mean * (1.0 - mean) / (a + b + 1.0)).sqrt();
                mean + if p < 0.5 { -1.6 } else { 1.6 } * deviation
            }
        };
        guess.clamp(1e-12, 1.0 - 1e-12)
    }

    /// The central interval of this credibility (0.9 leaves 5% on each side).
    pub fn interval(&self, credibility: f64) -> (f64, f64) {
        let tail = (1.0 - credibility.clamp(0.0, 1.0)) / 2.0;
        (self.quantile(tail), self.quantile(1.0 - tail))
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut out = d;
    for step in 1..=300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        out *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let change = d * c;
        out *= change;
        if (change - 1.0).abs() < 1e-12 {
            break;
        }
    }
    out
}

/// ln of the gamma function for positive arguments: Stirling's series after shifting the argument above 8.
fn ln_gamma(x: f64) -> f64 {
    let mut x = x.max(1e-12);
    let mut shift = 0.0;
    while x < 8.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}
