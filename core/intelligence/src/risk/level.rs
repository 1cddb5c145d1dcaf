//! The level, the trend and the certainty of a score.

use crate::world::index::Index;
use engine::number::round;
use facts::verdict::posterior::Beta;

/// The least score of each threat level, on the scale of 0 to 1.
pub const LEVELS: [(f64, &str); 5] =
    [(0.8, "critical"), (0.6, "high"), (0.4, "medium"), (0.2, "low"), (0.0, "minimal")];
/// The least probability of each risk level.
pub const RISKS: [(f64, &str); 4] = [(0.5, "high"), (0.3, "elevated"), (0.15, "watch"), (0.0, "low")];
/// Least change between the means of two weeks that is called a trend: two points of a hundred. Our choice.
pub const TREND: f64 = 0.02;
/// Days in each of the two means that a trend compares.
pub const TREND_DAYS: usize = 7;
/// Least standard deviation of a score, since scores are stated in whole points.
const LEAST_DEVIATION: f64 = 0.01;
/// Half width of the 90% interval of an index, in standard deviations of the normal distribution.
const Z: f64 = 1.645;

/// The name of the highest level whose lower end `value` reaches.
pub fn word(levels: &[(f64, &'static str)], value: f64) -> &'static str {
    levels.iter().chain(levels.last()).find(|(from, _)| value >= *from).map_or("unknown", |(_, name)| name)
}

/// Probability that the level of a score is right, from the interval of the score; 0 without a score (decision
/// confidence-of-status).
pub fn certainty(index: &Index) -> f64 {
    let (Some(score), Some((low, high))) = (index.score, index.interval) else { return 0.0 };
    let mean = f64::from(score) / 100.0;
    let deviation = (f64::from(high.saturating_sub(low)) / 200.0 / Z).max(LEAST_DEVIATION);
    let inside = mean.clamp(0.005, 0.995);
    // The Beta distribution with this mean and deviation.
    let strength = (inside * (1.0 - inside) / (deviation * deviation) - 1.0).max(1.0);
    let share = Beta::prior(inside, strength);
    let from = LEVELS.iter().map(|(from, _)| *from).find(|from| mean >= *from).unwrap_or(0.0);
    let to = LEVELS.iter().map(|(from, _)| *from).filter(|from| *from > mean).fold(1.0, f64::min);
    round(share.cdf(to) - share.cdf(from))
}

/// Change of the mean of the last seven days against the seven before, on the scale of 0 to 1; `None` when either week
/// has no score. `days` are scores of 0 to 100, today's last.
pub fn trend_delta(days: &[Option<u32>]) -> Option<f64> {
    let mean = |week: &[Option<u32>]| {
        let known: Vec<f64> = week.iter().flatten().map(|score| f64::from(*score) / 100.0).collect();
        (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
    };
    let (earlier, last) = days.split_at_checked(days.len().checked_sub(TREND_DAYS)?)?;
    let before = earlier.get(earlier.len().checked_sub(TREND_DAYS)?..)?;
    Some(round(mean(last)? - mean(before)?))
}

/// `rising`, `stable` or `falling`.
pub fn trend(delta: Option<f64>) -> &'static str {
    match delta {
        Some(delta) if delta >= TREND => "rising",
        Some(delta) if delta <= -TREND => "falling",
        _ => "stable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(score: Option<u32>, interval: Option<(u32, u32)>) -> Index {
        Index {
            score,
            interval,
            reason: None,
            grade: None,
            components: vec![],
            sessions: 0,
            sites: 0,
            breadth_list: String::new(),
        }
    }

    #[test]
    fn words_change_exactly_at_their_cut_points() {
        let cases =
            [(0.0, "minimal"), (0.19, "minimal"), (0.2, "low"), (0.4, "medium"), (0.6, "high"), (0.8, "critical")];
        for (value, name) in cases {
            assert_eq!(word(&LEVELS, value), name);
        }
        for (value, name) in
            [(0.0, "low"), (0.149, "low"), (0.15, "watch"), (0.3, "elevated"), (0.5, "high"), (1.0, "high")]
        {
            assert_eq!(word(&RISKS, value), name);
        }
    }

    /// Confidence is the probability that the stated level is right, and 0 when no level is stated (decision
    /// confidence-of-status).
    #[test]
    fn certainty_falls_towards_a_cut_point_and_with_wider_intervals() {
        assert_eq!(certainty(&index(None, None)), 0.0);
        let at = |score, low, high| certainty(&index(Some(score), Some((low, high))));
        assert!(at(50, 48, 52) > 0.99, "{}", at(50, 48, 52));
        assert!(at(50, 30, 70) < at(50, 40, 60) && at(50, 40, 60) < at(50, 48, 52));
        // Half of the distribution lies on each side of a cut point.
        assert!((at(40, 35, 45) - 0.5).abs() < 0.05, "{}", at(40, 35, 45));
        assert!(at(0, 0, 2) > 0.99);
    }

    #[test]
    fn a_trend_needs_both_weeks_and_two_points() {
        let weeks = |before: Option<u32>, last: Option<u32>| [vec![before; 7], vec![last; 7]].concat();
        assert_eq!(trend_delta(&weeks(Some(20), Some(30))), Some(0.1));
        assert_eq!(trend(trend_delta(&weeks(Some(20), Some(22)))), "rising");
        assert_eq!(trend(trend_delta(&weeks(Some(20), Some(21)))), "stable");
        assert_eq!(trend(trend_delta(&weeks(Some(22), Some(20)))), "falling");
        assert_eq!(trend_delta(&weeks(None, Some(30))), None);
        assert_eq!(trend_delta(&[Some(1); 13]), None);
    }
}
