//! Finds collapses of the volume of measurements over the networks of a country (decision silence-of-measurements).
//!
//! Each network is compared with its own profile of weekdays and hours, over the shortest window back in time in which
//! enough measurements were expected. Networks with too few measurements for any window are compared together: if a
//! network has six measurements a day, its silence alone shows nothing, but the silence of twenty such networks does.
//! An hour is silent when networks with half of the weight are improbably quiet. Six such hours on end are a silence.

use super::constants::{
    SILENCE_DAYS, SILENCE_EXPECTED, SILENCE_HOURS, SILENCE_RETURN, SILENCE_TAIL, SILENCE_WEIGHT, SILENCE_WINDOW,
};
use super::volume::{Profile, Volume, tail};

/// A run of silent hours.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// First silent hour, and the first hour with measurements again, hours since the epoch.
    pub start: i64,
    pub end: i64,
    pub over: bool,
    /// The hour after the silent hours that are improbable enough to show the silence.
    pub seen: i64,
    pub networks: Vec<u32>,
    pub networks_expected: u32,
    pub weight: f64,
    pub expected: f64,
    pub observed: u64,
}

/// The counts of one network, or of all thin networks together, hour by hour.
struct Line {
    asns: Vec<Vec<u32>>,
    weight: Vec<f64>,
    shape: Vec<f64>,
    /// Sums of all hours before each hour.
    expected: Vec<f64>,
    observed: Vec<u64>,
}

impl Line {
    fn new(asn: Vec<u32>) -> Line {
        Line { asns: vec![asn], weight: Vec::new(), shape: Vec::new(), expected: vec![0.0], observed: vec![0] }
    }

    fn between(&self, from: usize, to: usize) -> (f64, u64) {
        let at = |sums: &[f64], index: usize| sums.get(index).copied().unwrap_or(0.0);
        let count = |index: usize| self.observed.get(index).copied().unwrap_or(0);
        (at(&self.expected, to) - at(&self.expected, from), count(to) - count(from))
    }

    fn push(&mut self, expected: f64, observed: u32) {
        self.expected.push(self.expected.last().copied().unwrap_or(0.0) + expected);
        self.observed.push(self.observed.last().copied().unwrap_or(0) + u64::from(observed));
    }

    /// The beginning of the window that ends with an hour and does not begin before `since`; `None` if too little was
    /// expected.
    fn window(&self, hour: usize, since: usize) -> Option<usize> {
        let oldest = (hour + 1).saturating_sub(usize::try_from(SILENCE_WINDOW).unwrap_or(0)).max(since);
        let end = self.expected.get(hour + 1)?;
        let enough = |from: &f64| end - from >= SILENCE_EXPECTED;
        let newest = self.expected.get(oldest..=hour)?.partition_point(enough);
        newest.checked_sub(1).map(|at| oldest + at)
    }

    fn is_silent(&self, hour: usize, since: usize) -> bool {
        let Some(from) = self.window(hour, since) else { return false };
        let (expected, observed) = self.between(from, hour + 1);
        let days = ((hour + 1 - from) as f64 / 24.0).max(1.0);
        let shape = self.shape.get(hour / 24).copied().unwrap_or(1.0);
        tail(observed, expected, shape * days) < SILENCE_TAIL
    }
}

/// The lines of the days `[first, last)`: one for each network that is dense on any day, and one for all thin networks.
fn lines(volumes: &[Volume], first: i64, last: i64) -> Vec<Line> {
    let days = usize::try_from(last - first).unwrap_or(0);
    let mut thin = Line { asns: vec![Vec::new(); days], ..Line::new(Vec::new()) };
    let mut thin_hours = vec![(0.0, 0_u32); days * 24];
    let mut thin_moments = vec![(0.0, 0.0); days];
    thin.weight = vec![0.0; days];
    let mut lines = Vec::new();
    for volume in volumes {
        let mut line = Line::new(vec![volume.asn]);
        for (index, day) in (first..last).enumerate() {
            let profile = Profile::of(volume, day);
            let dense = profile.mean * SILENCE_WINDOW as f64 / 24.0 >= SILENCE_EXPECTED;
            let known = profile.mean > 0.0;
            line.weight.push(if dense { volume.weight } else { 0.0 });
            line.shape.push(profile.shape);
            if known && !dense {
                if let Some(asns) = thin.asns.get_mut(index) {
                    asns.push(volume.asn);
                }
                thin.weight.get_mut(index).into_iter().for_each(|weight| *weight += volume.weight);
                let spread = profile.mean * profile.mean / profile.shape;
                thin_moments.get_mut(index).into_iter().for_each(|(m, s)| (*m, *s) = (*m + profile.mean, *s + spread));
            }
            for (hour, count) in volume.day(day).iter().enumerate() {
                let expected = profile.expected(day, hour);
                // Measurements count even when none is expected any more, because they end a silence.
                line.push(if dense { expected } else { 0.0 }, *count);
                if !dense && let Some(sum) = thin_hours.get_mut(index * 24 + hour) {
                    *sum = (sum.0 + expected, sum.1.saturating_add(*count));
                }
            }
        }
        if line.weight.iter().any(|weight| *weight > 0.0) {
            lines.push(line);
        }
    }
    // The networks are independent, so their means add up, and so do their variances in excess of Poisson's.
    thin.shape =
        thin_moments.into_iter().map(|(mean, spread)| if spread > 0.0 { mean * mean / spread } else { 1e6 }).collect();
    thin_hours.into_iter().for_each(|(expected, count)| thin.push(expected, count));
    lines.push(thin);
    lines
}

/// The silences that begin in the hours `[from, to)`, oldest first, given that the previous one ended at `since`.
/// `volumes` must reach back over the profile and the window before `from`, and forward after `to` as far as is known.
/// Nothing is known from `now` on.
pub fn runs(volumes: &[Volume], (from, to): (i64, i64), mut since: i64, now: i64) -> Vec<Run> {
    let first = (from - SILENCE_WINDOW).div_euclid(24);
    let last = to.min(now).div_euclid(24) + SILENCE_DAYS + 2;
    let lines = lines(volumes, first, last);
    let origin = first * 24;
    let mut runs: Vec<Run> = Vec::new();
    let mut hour = from.max(since);
    while hour < to.min(now) {
        match run(&lines, origin, hour, since, now) {
            Some(run) => {
                since = run.end;
                hour = run.end.max(hour + 1);
                runs.push(run);
            }
            None => hour += 1,
        }
    }
    runs
}

/// The lines that are silent in an hour and their share of weight, if they have at least half of it.
fn silent(lines: &[Line], hour: usize, since: usize) -> Option<(Vec<&Line>, f64)> {
    let weight = |line: &&Line| line.weight.get(hour / 24).copied().unwrap_or(0.0);
    let total: f64 = lines.iter().map(|line| weight(&line)).sum();
    let quiet: Vec<&Line> = lines.iter().filter(|line| weight(line) > 0.0 && line.is_silent(hour, since)).collect();
    let share = quiet.iter().map(weight).sum::<f64>() / total;
    (share >= SILENCE_WEIGHT).then_some((quiet, share))
}

/// The silence that first shows in an hour.
fn run(lines: &[Line], origin: i64, hour: i64, since: i64, now: i64) -> Option<Run> {
    let at = usize::try_from(hour - origin).ok()?;
    let since = usize::try_from(since - origin).unwrap_or(0);
    let (quiet, weight) = silent(lines, at, since)?;
    let long = usize::try_from(SILENCE_HOURS).ok()?;
    if hour + SILENCE_HOURS > now || !(at + 1..at + long).all(|hour| silent(lines, hour, since).is_some()) {
        return None;
    }
    let between = |from: usize, to: usize| {
        quiet.iter().map(|line| line.between(from, to)).fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    // The silence begins at the hour since which the most expected measurements are missing.
    let oldest = quiet.iter().filter_map(|line| line.window(at, since)).min()?;
    let missing = |from: usize| {
        let (expected, observed) = between(from, at + 1);
        expected - observed as f64
    };
    let begin = (oldest..=at).max_by(|a, b| missing(*a).total_cmp(&missing(*b)).then(b.cmp(a)))?;
    let usual = |hour: &usize| {
        let (expected, observed) = between(*hour, hour + 1);
        observed > 0 && observed as f64 >= 0.5 * expected
    };
    let start = (begin..at).find(|hour| !usual(hour)).unwrap_or(at);
    // The volume of a day as expected when the silence began. Later profiles include the silence.
    let day = between(at + 1 - 24.min(at + 1), at + 1).0;
    let known = usize::try_from(now - origin).ok()?;
    let limit = (start + usize::try_from(SILENCE_DAYS * 24).ok()?).min(known);
    let back = |from: &usize| {
        between(*from, from + 1).1 > 0 && between(*from, (from + 24).min(known)).1 as f64 >= SILENCE_RETURN * day
    };
    let end = (at + 1..limit).find(back);
    let networks = quiet.iter().flat_map(|line| line.asns.get(if line.asns.len() > 1 { at / 24 } else { 0 })).flatten();
    let mut networks: Vec<u32> = networks.copied().collect();
    networks.sort_unstable();
    let expected_networks = lines.iter().map(|line| match line.asns.as_slice() {
        [one] => usize::from(line.weight.get(at / 24).is_some_and(|weight| *weight > 0.0)) * one.len(),
        days => days.get(at / 24).map_or(0, Vec::len),
    });
    let (expected, observed) = between(start, at + long);
    Some(Run {
        start: origin + i64::try_from(start).ok()?,
        end: origin + i64::try_from(end.unwrap_or(limit)).ok()?,
        over: end.is_some(),
        seen: hour + SILENCE_HOURS,
        networks,
        networks_expected: u32::try_from(expected_networks.sum::<usize>()).unwrap_or(u32::MAX),
        weight,
        expected,
        observed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Networks with so many measurements an hour from day 0 on, without the hours in `silent`.
    fn volumes(networks: u32, hourly: u32, days: i64, silent: impl Fn(u32, i64) -> bool) -> Vec<Volume> {
        (1..=networks)
            .map(|asn| Volume {
                asn,
                weight: 1.0,
                first: 0,
                days: (0..days)
                    .map(|day| {
                        let mut counts = [0; 24];
                        for (hour, count) in counts.iter_mut().enumerate() {
                            let at = day * 24 + hour as i64;
                            // Counts vary a little.
                            let noise = (at as u32).wrapping_mul(2_654_435_761).wrapping_add(asn * 97) >> 16;
                            let busy = hourly > 0 || noise.is_multiple_of(4);
                            *count = if silent(asn, at) || !busy {
                                0
                            } else {
                                hourly.max(1) + noise % 2 * u32::from(hourly > 0)
                            };
                        }
                        counts
                    })
                    .collect(),
            })
            .collect()
    }

    fn found(volumes: &[Volume]) -> Vec<Run> {
        let end = volumes.iter().map(|volume| volume.first + volume.days.len() as i64).max().unwrap_or(0) * 24;
        runs(volumes, (40 * 24, end), 0, end)
    }

    /// Decision silence-of-measurements.
    #[test]
    fn a_nationwide_silence_is_found_with_its_hours() {
        let shut = |_: u32, hour: i64| (50 * 24 + 10..52 * 24).contains(&hour);
        let runs = found(&volumes(4, 8, 70, shut));
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!((run.start, run.end, run.over), (50 * 24 + 10, 52 * 24, true), "{run:?}");
        assert_eq!((run.networks.len(), run.networks_expected), (4, 4));
        assert!(run.weight > 0.99 && run.observed == 0);
    }

    #[test]
    fn thin_networks_are_heard_together_and_a_thin_one_alone_is_not() {
        // A quarter of a measurement an hour is six a day, as in the data of most countries.
        let shut = |_: u32, hour: i64| (50 * 24..53 * 24).contains(&hour);
        let runs = found(&volumes(12, 0, 70, shut));
        assert!(
            matches!(runs.as_slice(), [run] if (run.start - 50 * 24).abs() < 12 && run.networks.len() == 12),
            "{runs:?}"
        );
        assert!(found(&volumes(1, 0, 70, |_, hour| (50 * 24..51 * 24).contains(&hour))).is_empty());
    }

    #[test]
    fn less_than_half_of_the_weight_less_than_six_hours_and_quiet_weekends_are_no_silence() {
        assert!(found(&volumes(4, 8, 70, |asn, hour| asn == 1 && hour >= 50 * 24)).is_empty());
        assert!(found(&volumes(4, 40, 70, |_, hour| (50 * 24..50 * 24 + 4).contains(&hour))).is_empty());
        let weekend = |_: u32, hour: i64| (hour.div_euclid(24) + 3).rem_euclid(7) >= 5;
        assert!(found(&volumes(4, 8, 90, weekend)).is_empty());
    }

    #[test]
    fn a_silence_that_lasts_is_one_and_ends_when_measurements_return() {
        let shut = |_: u32, hour: i64| (50 * 24..90 * 24).contains(&hour);
        let runs = found(&volumes(3, 8, 120, shut));
        let [run] = runs.as_slice() else { panic!("{runs:?}") };
        assert_eq!((run.start, run.end, run.over), (50 * 24, 90 * 24, true));
        let runs = found(&volumes(3, 8, 60, |_, hour| hour >= 57 * 24));
        assert!(matches!(runs.as_slice(), [run] if !run.over && run.end == 60 * 24), "{runs:?}");
    }
}
