//! The base rate: the risk that is served where there is no learned forecast.
//!
//! While a model is served, the learned forecast covers each country as a whole ([`crate::forecast`]).
//! For a target, or without a model, the risk is a base rate: the incidents of the last year as a Poisson rate of the
//! country, shrunk towards the rate of all countries and shifted a little by the measured trend. Such a rate ranks
//! countries but does not say when something begins, so its confidence stays low.

use engine::number::round;
use facts::sentence::Sentence;

/// Description of the model that is served.
pub struct RiskModel {
    pub name: &'static str,
    pub version: &'static str,
    pub algorithm: &'static str,
    pub features: &'static [&'static str],
    pub caveats: [Sentence; 3],
}

pub const MODEL: RiskModel = RiskModel {
    name: "base-rate",
    version: "base-rate/1",
    algorithm: "Poisson rate of incidents in the last 365 days, shrunk towards the rate of all countries, times the \
                exponential of the measured change of the score",
    features: &["incidents_365d", "incidents_365d_all_countries", "score_change_7d"],
    caveats: [
        Sentence::new("risk.base_rate"),
        Sentence::new("risk.countries_not_days"),
        Sentence::new("risk.no_accuracy"),
    ],
};

/// Days over which incidents are counted.
pub const WINDOW: f64 = 365.0;
/// How many days of the rate of all countries are mixed into a country's own rate. Our choice.
const PRIOR_DAYS: f64 = 182.5;
/// Incidents added to the count of all countries, so that a rate is never zero (Jeffreys' prior of a Poisson rate).
const JEFFREYS: f64 = 0.5;
/// Change of the log rate for a change of the score by 1, and the limit of this change. Our choice, not fitted.
const TREND_WEIGHT: f64 = 2.0;
const TREND_LIMIT: f64 = 0.5;
/// Confidence of a base rate for a country with a score, and for one with measurements but no score. Low by intent.
const SCORED: f64 = 0.3;
const MEASURED: f64 = 0.1;

/// The facts that an estimate rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct RateFacts {
    /// The target, when the question names one.
    pub about: Option<String>,
    /// Incidents that began in the country within the window; only those about the target when the question names one.
    pub incidents: u64,
    /// The same in all countries.
    pub incidents_everywhere: u64,
    /// Countries with measurements, including this one.
    pub countries: u64,
    /// Change of the score, 0-1; `None` when unknown.
    pub trend: Option<f64>,
    pub measured: bool,
    pub scored: bool,
}

/// A reason for the risk, with its part of the log rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    pub name: &'static str,
    /// Positive raises the risk.
    pub weight: f64,
    pub description: Sentence,
}

/// The risk that something begins.
#[derive(Debug, Clone, PartialEq)]
pub struct OnsetRisk {
    /// One probability for each day from tomorrow on, 0-1.
    pub daily: Vec<f64>,
    pub confidence: f64,
    pub factors: Vec<Factor>,
    pub caveats: Vec<Sentence>,
}

/// The risk of each of the next `days` days.
pub fn estimate(known: &RateFacts, days: u32) -> OnsetRisk {
    let everywhere = (known.incidents_everywhere as f64 + JEFFREYS) / (known.countries.max(1) as f64 * WINDOW);
    let own = (known.incidents as f64 + everywhere * PRIOR_DAYS) / (WINDOW + PRIOR_DAYS);
    let shift = (TREND_WEIGHT * known.trend.unwrap_or(0.0)).clamp(-TREND_LIMIT, TREND_LIMIT);
    let hazard = 1.0 - (-own * shift.exp()).exp();
    let mut factors = vec![Factor {
        name: "base_rate",
        weight: round((own / everywhere).ln()),
        description: Sentence::new("risk.incidents")
            .with("about", known.about.as_ref())
            .with("here", known.incidents)
            .with("everywhere", known.incidents_everywhere)
            .with("countries", known.countries),
    }];
    if let Some(trend) = known.trend {
        factors.push(Factor {
            name: "measured_trend",
            weight: round(shift),
            description: Sentence::new("risk.trend").with("change", trend),
        });
    }
    let mut caveats = MODEL.caveats.to_vec();
    if !known.measured {
        caveats.push(Sentence::new("risk.nothing_lately"));
    }
    if known.trend.is_none() {
        caveats.push(Sentence::new("risk.no_trend"));
    }
    let confidence = match (known.scored, known.measured) {
        (true, _) => SCORED,
        (false, true) => MEASURED,
        (false, false) => 0.0,
    };
    OnsetRisk { daily: vec![hazard; days as usize], confidence, factors, caveats }
}

/// For each day, the probability that something has begun by the end of it.
pub fn cumulative(daily: &[f64]) -> Vec<f64> {
    let mut none = 1.0;
    daily
        .iter()
        .map(|risk| {
            none *= 1.0 - risk;
            1.0 - none
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: RateFacts = RateFacts {
        about: None,
        incidents: 0,
        incidents_everywhere: 100,
        countries: 100,
        trend: None,
        measured: true,
        scored: true,
    };

    /// By hand: all countries 100.5 / 36,500 = 0.0027534 a day; own (0 + 0.0027534 x 182.5) / 547.5 = 0.00091781;
    /// with 10 incidents (10 + 0.5025) / 547.5 = 0.0191826, whose hazard is 0.0189998.
    #[test]
    fn a_rate_is_shrunk_towards_all_countries_by_hand() {
        let quiet = estimate(&KNOWN, 7);
        assert!((quiet.daily[0] - 0.000_917_39).abs() < 1e-8, "{}", quiet.daily[0]);
        let busy = estimate(&RateFacts { incidents: 10, ..KNOWN }, 7);
        assert!((busy.daily[0] - 0.018_999_8).abs() < 1e-6, "{}", busy.daily[0]);
        let week = cumulative(&busy.daily);
        assert!((week[6] - (1.0 - (-0.019_182_6f64 * 7.0).exp())).abs() < 1e-5);
        assert!(week.is_sorted());
        assert!(quiet.factors[0].weight < 0.0 && busy.factors[0].weight > 0.0);
    }

    #[test]
    fn the_trend_moves_the_rate_a_little_and_only_so_far() {
        let at = |trend| estimate(&RateFacts { incidents: 3, trend, ..KNOWN }, 1).daily[0];
        assert!(at(Some(-0.1)) < at(None) && at(None) < at(Some(0.1)));
        assert_eq!(at(Some(0.25)), at(Some(0.9)), "at most half a unit of log rate");
        assert_eq!(at(Some(0.0)), at(None));
    }

    #[test]
    fn confidence_is_low_and_zero_where_nothing_is_measured() {
        let confidence = |measured, scored| estimate(&RateFacts { measured, scored, ..KNOWN }, 1).confidence;
        assert_eq!((confidence(false, false), confidence(true, false), confidence(true, true)), (0.0, 0.1, 0.3));
        let nothing = RateFacts { incidents_everywhere: 0, countries: 0, ..KNOWN };
        let risk = estimate(&nothing, 1).daily[0];
        assert!(risk > 0.0 && risk < 0.01, "{risk}");
    }
}
