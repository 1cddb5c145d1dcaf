//! The two-sided Bernoulli CUSUM of one network on one target (ruling intelligence 3).
//!
//! Upwards it finds the begin of blocking: every blocked vote adds ln(p1/p0), every clear one ln((1-p1)/(1-p0)), never
//! under 0. An excursion is what happens between leaving 0 and coming back; one that crosses the threshold latches, and
//! its beginning is the beginning of the block, however long the alarm took. While latched the same sum runs downwards;
//! its crossing, [`MERGE_GAP`] hours measured clear, or [`SILENT_GAP`] hours without a blocked vote end the episode and
//! reset both sides.
//!
//! There is one sum per target and network, not one per layer: a vote blocked at one layer adds the same to the sum of
//! its layer and to the sum over all layers, and every clear vote takes the same from both, so a layer's own sum never
//! crosses first. The layer of a blocked vote is kept with its technique.
//!
//! A block that keeps a few hours of the day never crosses on a network that is measured all day long, since its day counts
//! eight votes (ruling intelligence 13) and most of them are clear. Then it is seen by what comes together: half the way
//! on several days here, excursions of several networks at one time in [`super::pool`].

use serde::{Deserialize, Serialize};

use super::constants::{
    ALARM_HOURS, ALARM_RATIO, BLOCKED_RATE, CLEAR_VOTES, HALFWAY, MERGE_GAP, QUIET_RATE, REPEATED_DAYS, SILENT_GAP,
};

/// The votes of one network on one target in one hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HourCell {
    /// Hours since the epoch.
    pub hour: i64,
    pub blocked: u32,
    pub clear: u32,
    /// What a vote of this day counts: a network-day is scaled down to 8 votes (ruling intelligence 13).
    pub scale: f64,
    /// Scaled sum of log10 likelihood ratios of the blocked votes.
    pub evidence: f64,
}

/// A time of blocking on one network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Episode {
    /// First blocked vote of the excursion that crossed, hours since the epoch.
    pub start: i64,
    /// The vote at which it crossed.
    pub declared: i64,
    /// Last blocked vote.
    pub last: i64,
    /// log10 likelihood ratio of all its blocked votes, at most [`EVIDENCE_CAP`].
    pub evidence: f64,
}

/// More says nothing more: the calibration has long saturated.
const EVIDENCE_CAP: f64 = 9.0;
/// Where a target fails more than this everywhere, this is taken: the sums stay finite.
const MOST_FAILING: f64 = 0.9;

/// Where the sums of a network stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cusum {
    up: f64,
    down: f64,
    latched: bool,
    /// The excursion or episode under way.
    episode: Episode,
    /// Distinct hours with blocked votes in the excursion.
    hours: u32,
    /// Clear votes since the last blocked one.
    clear: u32,
    /// Excursions that came half way, the first that began on each of the days that [`MERGE_GAP`] reaches back over.
    halfway: Vec<Episode>,
}

impl Default for Cusum {
    fn default() -> Cusum {
        Cusum {
            up: 0.0,
            down: 0.0,
            latched: false,
            episode: Episode { start: 0, declared: 0, last: 0, evidence: 0.0 },
            hours: 0,
            clear: 0,
            halfway: Vec::new(),
        }
    }
}

impl Cusum {
    /// Whether nothing is under way.
    pub fn is_quiet(&self) -> bool {
        *self == Cusum::default()
    }

    /// The episode under way, once it has crossed.
    pub fn open(&self) -> Option<Episode> {
        self.latched.then_some(self.episode)
    }

    /// Takes the votes of the next hour; the episode that they end, if they do. `failing` is the share of failures where
    /// nobody blocks (ruling intelligence 22): a target that fails everywhere must fail more than that here.
    pub fn step(&mut self, cell: &HourCell, failing: f64) -> Option<Episode> {
        let (blocked, clear) = (f64::from(cell.blocked) * cell.scale, f64::from(cell.clear) * cell.scale);
        let quiet = failing.clamp(QUIET_RATE, MOST_FAILING);
        // Between the two as far as the quiet rate has moved towards failing always.
        let under_block = BLOCKED_RATE + (1.0 - BLOCKED_RATE) * (quiet - QUIET_RATE) / (1.0 - QUIET_RATE);
        let gain = (under_block / quiet).ln();
        let loss = ((1.0 - under_block) / (1.0 - quiet)).ln();
        let change = blocked * gain + clear * loss;
        let under_way = self.latched || self.up > 0.0;
        if under_way && cell.hour - self.episode.last >= SILENT_GAP {
            let before = std::mem::take(self);
            self.rise(cell, change, failing);
            return before.open();
        }
        if self.latched {
            return self.fall(cell, change);
        }
        self.rise(cell, change, failing);
        None
    }

    fn rise(&mut self, cell: &HourCell, change: f64, failing: f64) {
        let before = self.up;
        self.up = (self.up + change).max(0.0);
        if self.up <= 0.0 {
            let mut halfway = std::mem::take(&mut self.halfway);
            halfway.retain(|earlier| cell.hour - earlier.last < MERGE_GAP);
            *self = Cusum { halfway, ..Cusum::default() };
            return;
        }
        if cell.blocked > 0 {
            if before <= 0.0 {
                self.episode.start = cell.hour;
            }
            self.note(cell);
            self.hours += 1;
        }
        if self.hours >= ALARM_HOURS && (self.up >= ALARM_RATIO.ln() || self.repeats(cell.hour, failing)) {
            self.declare(cell.hour);
        }
    }

    /// Whether this is one of several days of half an alarm; then it begins with the first of them. Not where the target
    /// fails everywhere: it does so again and again.
    fn repeats(&mut self, hour: i64, failing: f64) -> bool {
        if self.up < HALFWAY * ALARM_RATIO.ln() || failing > QUIET_RATE {
            return false;
        }
        let day = |episode: &Episode| episode.start.div_euclid(24);
        self.halfway.retain(|earlier| hour - earlier.last < MERGE_GAP);
        match self.halfway.iter_mut().find(|earlier| day(earlier) == day(&self.episode)) {
            Some(today) if today.start == self.episode.start => *today = self.episode,
            Some(_) => {}
            None => self.halfway.push(self.episode),
        }
        if self.halfway.len() < REPEATED_DAYS {
            return false;
        }
        let today = day(&self.episode);
        for earlier in self.halfway.iter().filter(|earlier| day(earlier) != today) {
            self.episode.start = self.episode.start.min(earlier.start);
            self.episode.evidence = (self.episode.evidence + earlier.evidence).min(EVIDENCE_CAP);
        }
        true
    }

    /// The height of an excursion under way that has not crossed, when it has blocked votes in enough hours, the last of
    /// them after `since`.
    pub(super) fn excursion(&self, since: i64) -> Option<f64> {
        let counts = !self.latched && self.hours >= ALARM_HOURS && self.episode.last > since;
        (counts && self.up > 0.0).then_some(self.up)
    }

    /// The excursion under way is a block.
    pub(super) fn declare(&mut self, hour: i64) {
        self.latched = true;
        self.episode.declared = hour;
        self.halfway.clear();
    }

    fn fall(&mut self, cell: &HourCell, change: f64) -> Option<Episode> {
        self.down = (self.down - change).max(0.0);
        let measured_clear = cell.hour - self.episode.last >= MERGE_GAP && self.clear + cell.clear >= CLEAR_VOTES;
        if cell.blocked == 0 && (self.down >= ALARM_RATIO.ln() || measured_clear) {
            let ended = self.episode;
            *self = Cusum::default();
            return Some(ended);
        }
        self.clear = self.clear.saturating_add(cell.clear);
        if cell.blocked > 0 {
            self.note(cell);
        }
        None
    }

    fn note(&mut self, cell: &HourCell) {
        self.episode.last = cell.hour;
        self.episode.evidence = (self.episode.evidence + cell.evidence).min(EVIDENCE_CAP);
        self.clear = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    fn run(votes: &[(i64, u32, u32)]) -> (Vec<Episode>, Cusum) {
        let mut cusum = Cusum::default();
        let mut ended = Vec::new();
        for &(hour, blocked, clear) in votes {
            ended.extend(cusum.step(&HourCell { hour, blocked, clear, scale: 1.0, evidence: 1.5 }, 0.0));
        }
        (ended, cusum)
    }

    /// Ruling intelligence 22: failures as frequent as everywhere else are no block, all of them failing is.
    #[test]
    fn ruling_intelligence_22_a_target_that_fails_everywhere_must_fail_more_here() {
        let run = |blocked_of: i64, of: i64| {
            let mut cusum = Cusum::default();
            for hour in 0..240 {
                let blocked = u32::from(hour % of < blocked_of);
                cusum.step(&HourCell { hour, blocked, clear: 1 - blocked, scale: 1.0, evidence: 1.5 }, 0.6);
            }
            cusum.open().is_some()
        };
        assert!(!run(3, 5) && !run(2, 3), "as everywhere");
        assert!(run(1, 1));
    }

    /// Ruling intelligence 3: the start is the beginning of the excursion that crossed, not the alarm and not an earlier
    /// lone vote.
    #[test]
    fn ruling_intelligence_3_the_start_is_that_of_the_excursion_that_crossed() {
        let mut votes = vec![(0, 1, 0)];
        votes.extend((1..8).map(|hour| (hour, 0, 1)));
        votes.extend([(50, 1, 0), (51, 0, 1), (52, 1, 0), (53, 1, 0), (60, 1, 0)]);
        let (ended, cusum) = run(&votes);
        let open = cusum.open().unwrap();
        assert_eq!((ended.len(), open.start, open.declared, open.last), (0, 50, 53, 60));
    }

    #[test]
    fn one_alarm_latches_until_the_sum_has_fallen_as_far() {
        let mut votes: Vec<(i64, u32, u32)> = (0..40).map(|hour| (hour, 1, 0)).collect();
        votes.extend((40..50).map(|hour| (hour, 0, 1)));
        assert!(run(&votes).1.open().is_some(), "ten clear votes are not enough");
        votes.push((50, 0, 1));
        let (ended, cusum) = run(&votes);
        assert_eq!((ended.len(), ended[0].start, ended[0].last), (1, 0, 39));
        assert!(cusum.is_quiet(), "both sides are reset");
    }

    #[test]
    fn ninety_six_hours_measured_clear_end_an_episode_and_unmeasured_ones_do_not() {
        let blocked = (0..4).map(|hour| (hour, 1, 0));
        let measured: Vec<_> = blocked.clone().chain((1..=5).map(|day| (day * 24, 0, 1))).collect();
        assert_eq!(run(&measured).0.len(), 1);
        let unmeasured: Vec<_> = blocked.clone().chain([(600, 0, 1), (601, 1, 0)]).collect();
        let (ended, cusum) = run(&unmeasured);
        assert!(ended.is_empty() && cusum.open().is_some_and(|open| open.last == 601));
        // Longer than any verdict stands (ruling intelligence 12), whatever comes then.
        for later in [(2_000, 1, 0), (2_000, 0, 1)] {
            let (ended, cusum) = run(&blocked.clone().chain([later]).collect::<Vec<_>>());
            assert!(ended.len() == 1 && ended[0].last == 3 && cusum.open().is_none(), "{later:?}");
        }
    }

    #[test]
    fn votes_of_one_hour_alone_are_no_alarm_and_their_order_cannot_matter() {
        assert!(run(&[(0, 9, 0)]).1.open().is_none());
        assert!(run(&[(0, 9, 0), (1, 1, 0)]).1.open().is_some());
    }

    /// Hourly votes count a third each: four hours of a day never cross alone.
    #[test]
    fn a_few_hours_of_each_day_are_a_block_on_the_third_day_and_begin_with_the_first() {
        let days = |blocked: &[i64], hours: i64, failing: f64| {
            let mut cusum = Cusum::default();
            for hour in 0..24 * 12 {
                let now = u32::from(blocked.contains(&(hour / 24)) && (6..6 + hours).contains(&(hour % 24)));
                cusum.step(&HourCell { hour, blocked: now, clear: 1 - now, scale: 1.0 / 3.0, evidence: 0.5 }, failing);
                if let Some(open) = cusum.open() {
                    return Some((open.start, open.declared));
                }
            }
            assert!(hours < 4 || failing > 0.0 || cusum.is_quiet(), "what lies too far back is forgotten");
            None
        };
        assert_eq!(days(&[1, 2, 3, 4], 4, 0.0), Some((24 + 6, 3 * 24 + 6 + 3)));
        assert_eq!(days(&[1, 2, 4], 4, 0.0), Some((24 + 6, 4 * 24 + 6 + 3)), "a day may be missing");
        assert_eq!(days(&[1, 2], 4, 0.0), None);
        assert_eq!(days(&[0, 2, 5], 4, 0.0), None, "too far apart");
        assert_eq!(days(&[1, 2, 3, 4], 3, 0.0), None, "three hours of 24 are not half the way");
        assert_eq!(days(&[1, 2, 3, 4, 5], 4, 0.1), None, "fails in other countries too");
    }

    /// Data with 3% of false blocked votes: an alarm is rare.
    #[test]
    fn noise_at_the_quiet_rate_hardly_ever_alarms() {
        let mut dice = Dice(1);
        let mut random = || dice.share();
        let votes: Vec<_> =
            (0..200_000).map(|hour| if random() < 0.03 { (hour, 1, 0) } else { (hour, 0, 1) }).collect();
        let alarms = run(&votes).0.len();
        assert!(alarms < 60, "{alarms} in 22 years of hourly votes");
    }

    #[derive(serde::Deserialize)]
    struct File {
        cusum: Recorded,
    }

    #[derive(serde::Deserialize)]
    struct Recorded {
        votes: Vec<u32>,
        sums: Vec<f64>,
        start: i64,
        declared: i64,
    }

    /// The closed form of the statistic with likelihoods of scipy: `tests/vectors/estimators`.
    #[test]
    fn the_sum_is_that_of_the_closed_form() {
        let file: File =
            serde_json::from_str(include_str!("../../../tests/vectors/estimators/estimators.json")).unwrap();
        let Recorded { votes, sums, start, declared } = file.cusum;
        let mut cusum = Cusum::default();
        for ((hour, blocked), sum) in (0..).zip(votes).zip(&sums) {
            assert!(cusum.open().is_none(), "declared before {declared}");
            cusum.step(&HourCell { hour, blocked, clear: 1 - blocked, scale: 1.0, evidence: 1.5 }, 0.0);
            assert!((cusum.up - sum).abs() < 1e-12, "{hour}: {} {sum}", cusum.up);
        }
        let open = cusum.open().unwrap();
        assert_eq!((open.start, open.declared), (start, declared));
    }
}
