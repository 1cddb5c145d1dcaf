//! How many measurements were expected, and how improbable a low count is (decision silence-of-measurements).

use super::constants::{PROFILE_DAYS, PROFILE_LAG, PROFILE_LEAST, PROFILE_SMOOTHING};

/// Measurements of one network in each hour of a day.
pub type Day = [u32; 24];

const NOTHING: Day = [0; 24];

/// Measurements of one network on consecutive days.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    pub asn: u32,
    /// Weight of the network among those of its country, in any unit.
    pub weight: f64,
    /// First day, days since the epoch.
    pub first: i64,
    pub days: Vec<Day>,
}

impl Volume {
    /// Counts of a day; zeros outside the grid.
    pub fn day(&self, day: i64) -> &Day {
        usize::try_from(day - self.first).ok().and_then(|at| self.days.get(at)).unwrap_or(&NOTHING)
    }
}

/// The measurements of a network on an ordinary day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// Mean measurements a day.
    pub mean: f64,
    /// Shape of the negative binomial distribution of a day's count. It is small if days differ much.
    pub shape: f64,
    hours: [f64; 24],
    weekdays: [f64; 7],
}

impl Profile {
    /// The profile for a day, from the days before it.
    pub fn of(volume: &Volume, day: i64) -> Profile {
        let (mut hours, mut weekdays) = ([0.0; 24], [0.0; 7]);
        let (mut sum, mut squares, mut first) = (0.0, 0.0, None);
        let end = day - PROFILE_LAG;
        for past in end - PROFILE_DAYS..end {
            let counts = volume.day(past);
            let total: f64 = counts.iter().map(|count| f64::from(*count)).sum();
            hours.iter_mut().zip(counts).for_each(|(sum, count)| *sum += f64::from(*count));
            if let Some(sum) = weekdays.get_mut(weekday(past)) {
                *sum += total;
            }
            if total > 0.0 && first.is_none() {
                first = Some(past);
            }
            sum += total;
            squares += total * total;
        }
        // The days before the first measurement of a new network do not count as quiet days.
        let days = first.map_or(PROFILE_DAYS, |first| (end - first).max(PROFILE_LEAST)) as f64;
        let mean = sum / days;
        let variance = (squares / days - mean * mean).max(0.0);
        let smooth = |count: f64, parts: f64| parts * (count + PROFILE_SMOOTHING / parts) / (sum + PROFILE_SMOOTHING);
        Profile {
            mean,
            // Fitted by moments. A count that varies less than chance is taken as Poisson.
            shape: if variance > mean { mean * mean / (variance - mean) } else { 1e6 },
            hours: hours.map(|count| smooth(count, 24.0)),
            weekdays: weekdays.map(|count| smooth(count, 7.0)),
        }
    }

    /// Expected measurements of an hour of a day.
    pub fn expected(&self, day: i64, hour: usize) -> f64 {
        let factor = |parts: &[f64], at: usize| parts.get(at).copied().unwrap_or(1.0);
        self.mean / 24.0 * factor(&self.hours, hour) * factor(&self.weekdays, weekday(day))
    }
}

fn weekday(day: i64) -> usize {
    usize::try_from((day + 3).rem_euclid(7)).unwrap_or(0)
}

/// P(X <= count) of a negative binomial with this mean and shape.
pub fn tail(count: u64, mean: f64, shape: f64) -> f64 {
    if mean <= 0.0 || count as f64 >= mean {
        return 1.0;
    }
    let p = shape / (shape + mean);
    let mut probability = (shape * p.ln()).exp();
    let mut sum = probability;
    for k in 0..count {
        let k = k as f64;
        probability *= (k + shape) / (k + 1.0) * (1.0 - p);
        sum += probability;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_textbook() {
        // Shape 1 is geometric: P(X <= k) = 1 - (1 - p)^(k + 1), p = 1 / (1 + mean).
        for (count, mean) in [(0_u64, 20.0), (3, 20.0), (7, 9.0)] {
            let q: f64 = mean / (1.0 + mean);
            assert!((tail(count, mean, 1.0) - (1.0 - q.powf(count as f64 + 1.0))).abs() < 1e-12);
        }
        // A large shape is Poisson: P(0) = e^-mean.
        assert!((tail(0, 5.0, 1e7) - (-5.0_f64).exp()).abs() < 1e-6);
        assert_eq!(tail(30, 20.0, 5.0), 1.0, "only too few are improbable here");
    }

    #[test]
    fn a_profile_knows_hours_and_weekdays_and_forgets_the_last_days() {
        let mut days = Vec::new();
        for day in 0..60_i64 {
            let mut counts = [0; 24];
            // Ten measurements each morning, and none on two days of the week.
            let open = weekday(day) < 5;
            counts[9] = if open { 10 } else { 0 };
            days.push(counts);
        }
        let volume = Volume { asn: 1, weight: 1.0, first: 0, days };
        let profile = Profile::of(&volume, 50);
        assert!((profile.mean - 50.0 / 7.0).abs() < 0.5, "{profile:?}");
        let new = Volume { first: 25, days: volume.days[25..].to_vec(), ..volume.clone() };
        assert!((Profile::of(&new, 50).mean - 50.0 / 7.0).abs() < 1.0, "days before the first do not count as quiet");
        let newer = Volume { first: 43, days: volume.days[43..].to_vec(), ..volume.clone() };
        assert!(Profile::of(&newer, 50).mean < 2.0, "two days are no profile");
        let busy = (43..50).find(|day| weekday(*day) == 0).unwrap();
        assert!(profile.expected(busy, 9) > 8.0 && profile.expected(busy, 3) < 0.1, "{profile:?}");
        assert!(profile.expected(busy + 5, 9) < 0.5);
        let mut silent = volume.clone();
        silent.days.truncate(45);
        assert_eq!(Profile::of(&silent, 50), profile, "a silence of some days is not yet expected");
    }
}
