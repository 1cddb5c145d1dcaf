//! Dates the blocks on each network of a series: from hours to episodes (decision one-probability).
//!
//! An episode is declared like a verdict: the network is believed to block at 0.5 or more and has blocked votes in two
//! hours. It is dated by all votes, including the later ones. It covers the hour in which a block is most likely, and
//! extends on both sides until the network is more likely free. So later votes decide whether a doubtful failure at the
//! edge belongs to it.

use std::collections::BTreeMap;
use std::ops::Range;

use super::constants::{MERGE_GAP, SILENT_GAP};
use super::series::{Block, DayCount, HourCount, Span};
use crate::verdict::belief::Ballot;
use crate::verdict::constants::{BLOCKED_HOURS, BLOCKED_PROBABILITY, CLEAR_VOTES, FREE_MOST, NETWORK_DAY_VOTES};
use crate::verdict::network::{fails_anyhow, stepped};
use crate::verdict::smoothing::{Course, courses};
use crate::verdict::window::day_scale;

const DAY_HOURS: i64 = 24;

/// A time of blocking on one network. Hours are those since the epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Episode {
    pub asn: u32,
    /// First and last blocked vote.
    pub start: i64,
    pub last: i64,
    /// The hour in which the block was first believed.
    pub declared: i64,
    /// Probability, 0-1, of a block in the hour in which it is highest, by all votes. It may be low although the block
    /// was believed at the time.
    pub probability: f64,
}

/// The episodes of blocking by network and time. `limit` is the age limit of verdicts in hours.
pub fn episodes(blocks: &[(u32, Block)], others: OtherCountries, limit: i64) -> Vec<Episode> {
    let votes = ballots(blocks, others);
    let tracks: Vec<&[Ballot]> = votes.values().map(Vec::as_slice).collect();
    let courses = courses(&tracks);
    let each = votes.iter().zip(courses);
    each.flat_map(|((asn, votes), course)| on_network(*asn, votes, &course, limit)).collect()
}

/// Tells whether the answers of other countries are taken into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherCountries {
    Counted,
    LeftOut,
}

impl Block {
    fn spans_of(&self, others: OtherCountries) -> &[Span] {
        match (others, &self.untold) {
            (OtherCountries::LeftOut, Some(untold)) => untold,
            _ => &self.spans,
        }
    }

    /// True if the block has hours, which means that a vote in it is blocked.
    fn fails(&self, others: OtherCountries) -> bool {
        self.spans_of(others).iter().any(|span| !span.hours.is_empty())
    }
}

/// The votes of each network in the blocks with failures and in those next to them. Other blocks do not matter.
fn ballots(blocks: &[(u32, Block)], others: OtherCountries) -> BTreeMap<u32, Vec<Ballot>> {
    let failing: Vec<u32> = blocks.iter().filter(|(_, block)| block.fails(others)).map(|(number, _)| *number).collect();
    let is_near = |number: u32| {
        let next = failing.partition_point(|failing| failing.saturating_add(1) < number);
        failing.get(next).is_some_and(|failing| *failing <= number.saturating_add(1))
    };
    let mut networks: BTreeMap<u32, Vec<Ballot>> = BTreeMap::new();
    for (_, block) in blocks.iter().filter(|(number, _)| is_near(*number)) {
        let elsewhere = if others == OtherCountries::Counted { f64::from(block.elsewhere) / 100.0 } else { 0.0 };
        let site = stepped(elsewhere).clamp(0.0, FREE_MOST);
        for span in block.spans_of(others) {
            networks.entry(span.asn).or_default().extend(of_span(span, site));
        }
    }
    networks
}

/// The votes by hour if any vote of the span is blocked, else by day. Each day has at most its limited number of votes.
fn of_span(span: &Span, site: f64) -> Vec<Ballot> {
    let clear = |hour: i64, weight: f64| Ballot { hour, blocked: false, weight, free: 0.0 };
    if span.hours.is_empty() {
        let day = |count: &DayCount| {
            clear(i64::from(count.day) * DAY_HOURS + 23, f64::from(count.votes).min(NETWORK_DAY_VOTES))
        };
        return span.days.iter().map(day).collect();
    }
    let mut ballots = Vec::with_capacity(span.hours.len());
    for day in span.hours.chunk_by(|a, b| a.hour.div_euclid(DAY_HOURS) == b.hour.div_euclid(DAY_HOURS)) {
        let scale = day_scale(day.iter().map(|count| count.blocked + count.clear).sum());
        for HourCount { hour, blocked, clear: free_votes, fails } in day {
            let free = fails_anyhow(site, f64::from(*fails) / 100.0);
            let failed = Ballot { hour: *hour, blocked: true, weight: f64::from(*blocked) * scale, free };
            ballots.extend(Some(failed).filter(|_| *blocked > 0));
            ballots.extend(Some(clear(*hour, f64::from(*free_votes) * scale)).filter(|_| *free_votes > 0));
        }
    }
    ballots
}

/// The episodes of one network, oldest first.
fn on_network(asn: u32, votes: &[Ballot], course: &Course<'_>, limit: i64) -> Vec<Episode> {
    let mut episodes: Vec<Episode> = Vec::new();
    let mut blocked: Vec<i64> = Vec::new();
    // The first vote of a time in which the network is believed to block.
    let mut since: Option<usize> = None;
    for (place, vote) in votes.iter().enumerate() {
        if vote.blocked && blocked.last() != Some(&vote.hour) {
            blocked.push(vote.hour);
        }
        let recent = blocked.len() - blocked.partition_point(|hour| *hour < vote.hour - limit);
        match course.filtered(place) >= BLOCKED_PROBABILITY {
            true if since.is_none() && recent >= BLOCKED_HOURS => since = Some(place),
            false => {
                let since = since.take().map(|since| believed_in(asn, votes, course, since..place));
                episodes.extend(since.into_iter().flatten());
            }
            true => {}
        }
    }
    let since = since.map(|since| believed_in(asn, votes, course, since..votes.len()));
    episodes.extend(since.into_iter().flatten());
    joined(episodes)
}

/// The episodes behind a time in which a network was believed to block. They are several if nothing was blocked for too
/// long in between.
fn believed_in(asn: u32, votes: &[Ballot], course: &Course<'_>, believed: Range<usize>) -> Vec<Episode> {
    let Some(declared) = votes.get(believed.start).map(|vote| vote.hour) else { return Vec::new() };
    let surest = believed.max_by(|a, b| course.smoothed(*a).total_cmp(&course.smoothed(*b)));
    let Some(surest) = surest else { return Vec::new() };
    let mut runs: Vec<Run> = Vec::new();
    for vote in votes.get(course.around(surest)).unwrap_or_default() {
        match runs.last_mut().filter(|run| !run.is_over_before(vote.hour)) {
            Some(run) => run.take(vote),
            None => runs.extend(Run::begin(vote)),
        }
    }
    let probability = course.smoothed(surest);
    // A run that was over before the block was believed is not part of it.
    let since = runs.into_iter().filter(|run| run.last >= declared);
    since
        .map(|Run { start, last, .. }| Episode { asn, start, last, declared: declared.max(start), probability })
        .collect()
}

/// A run of blocked votes, with the clear votes between them.
struct Run {
    start: i64,
    last: i64,
    /// Clear votes since the last blocked one.
    clear: f64,
}

impl Run {
    fn begin(vote: &Ballot) -> Option<Run> {
        vote.blocked.then_some(Run { start: vote.hour, last: vote.hour, clear: 0.0 })
    }

    /// True if nothing was blocked for too long before this hour, measured or not.
    fn is_over_before(&self, hour: i64) -> bool {
        hour - self.last >= if self.clear >= CLEAR_VOTES as f64 { MERGE_GAP } else { SILENT_GAP }
    }

    fn take(&mut self, vote: &Ballot) {
        match vote.blocked {
            true => (self.last, self.clear) = (vote.hour, 0.0),
            false => self.clear += vote.weight,
        }
    }
}

/// Joins episodes that overlap: the network may have been doubtful in between.
fn joined(episodes: Vec<Episode>) -> Vec<Episode> {
    let mut joined: Vec<Episode> = Vec::with_capacity(episodes.len());
    for next in episodes {
        match joined.last_mut() {
            Some(known) if next.start <= known.last => {
                known.start = known.start.min(next.start);
                known.last = known.last.max(next.last);
                known.probability = known.probability.max(next.probability);
            }
            _ => joined.push(next),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::series::span;
    use super::*;
    use crate::verdict::window::HourVote;
    use engine::testing::Dice;

    const LIMIT: i64 = 720;

    fn vote(hour: i64, blocked: bool) -> HourVote {
        let (techniques, rules) = (BTreeMap::new(), BTreeMap::new());
        HourVote { hour, vote_key: 0, blocked, log10_lr: 0.0, measurements: 1, techniques, rules }
    }

    /// Blocks of a series in which each network has votes at these hours. `elsewhere` is the percentage that fails in
    /// other countries.
    fn series(networks: &[Vec<(i64, bool)>], elsewhere: u8) -> Vec<(u32, Block)> {
        let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
        for (asn, votes) in (1..).zip(networks) {
            for votes in votes.chunk_by(|a, b| a.0.div_euclid(LIMIT) == b.0.div_euclid(LIMIT)) {
                let number = u32::try_from(votes[0].0.div_euclid(LIMIT)).unwrap();
                let votes: Vec<HourVote> = votes.iter().map(|(hour, blocked)| vote(*hour, *blocked)).collect();
                let block = blocks.entry(number).or_insert_with(|| Block { elsewhere, ..Block::default() });
                block.spans.push(span(asn, &votes, |_| 0.0, BTreeSet::new()));
            }
        }
        blocks.into_iter().collect()
    }

    fn found(networks: &[Vec<(i64, bool)>]) -> Vec<Episode> {
        episodes(&series(networks, 0), OtherCountries::Counted, LIMIT)
    }

    fn every(step: usize, days: i64, blocked: impl Fn(i64) -> bool) -> Vec<(i64, bool)> {
        (0..days * 24).step_by(step).map(|hour| (hour, blocked(hour))).collect()
    }

    #[test]
    fn an_episode_lasts_from_its_first_to_its_last_failure_and_lone_ones_are_no_part_of_it() {
        let votes = every(3, 60, |hour| hour == 480 || (601..900).contains(&hour) || hour == 1_100);
        let [one] = found(&[votes])[..] else { panic!() };
        assert_eq!((one.asn, one.start, one.last), (1, 603, 897));
        assert!((603..630).contains(&one.declared) && one.probability > 0.99, "{one:?}");
    }

    #[test]
    fn one_that_goes_on_over_stored_blocks_and_days_without_a_vote_is_one() {
        let mut votes = every(3, 70, |hour| hour >= 600);
        votes.retain(|(hour, _)| !(700..1_000).contains(hour));
        let [one] = found(&[votes])[..] else { panic!() };
        assert_eq!((one.start, one.last), (600, 70 * 24 - 3));
    }

    #[test]
    fn ninety_six_hours_measured_clear_part_two_and_unmeasured_ones_do_not() {
        let both = |hour: i64| (600..700).contains(&hour) || (796..900).contains(&hour);
        let parts = |votes| found(&[votes]).iter().map(|one| (one.start, one.last)).collect::<Vec<_>>();
        assert_eq!(parts(every(3, 60, both)), [(600, 699), (798, 897)]);
        let mut unmeasured = every(3, 60, both);
        unmeasured.retain(|(hour, blocked)| *blocked || !(600..900).contains(hour));
        assert_eq!(parts(unmeasured), [(600, 897)]);
    }

    /// A block of a few hours on some days is still believed after a week of holidays.
    #[test]
    fn what_comes_back_while_it_is_still_believed_is_an_episode_too() {
        let hours = |hour: i64| (8..17).contains(&(hour % 24));
        let days = |hour: i64| (20..40).contains(&(hour / 24)) || (45..60).contains(&(hour / 24));
        let found = found(&[every(3, 80, |hour| hours(hour) && days(hour))]);
        let (first, last) = (found.first().unwrap(), found.last().unwrap());
        assert_eq!((first.start, last.last), (20 * 24 + 9, 59 * 24 + 15));
        let covered = |hour: i64| found.iter().any(|one| (one.start..=one.last).contains(&hour));
        assert!(covered(39 * 24 + 9) && covered(45 * 24 + 12), "{found:?}");
    }

    #[test]
    fn one_hour_alone_is_none_however_many_votes_it_has() {
        let mut votes = every(3, 20, |_| false);
        votes.extend((0..6).map(|_| (20 * 24, true)));
        assert_eq!(found(&[votes.clone()]), []);
        votes.push((20 * 24 + 1, true));
        assert_eq!(found(&[votes]).len(), 1);
    }

    #[test]
    fn what_fails_as_often_elsewhere_is_none() {
        let fails = every(3, 60, |hour| hour % 5 < 3);
        let blocks = series(&[fails], 60);
        assert!(!episodes(&blocks, OtherCountries::LeftOut, LIMIT).is_empty());
        assert_eq!(episodes(&blocks, OtherCountries::Counted, LIMIT), []);
        let all = series(&[every(3, 60, |hour| hour > 600)], 60);
        assert_eq!(episodes(&all, OtherCountries::Counted, LIMIT).len(), 1, "all of them failing is");
    }

    /// Eight votes a day on six networks for a year, of which some fail.
    #[test]
    fn noise_is_hardly_ever_an_episode() {
        for (share, most) in [(0.02, 2), (0.05, 15)] {
            let mut dice = Dice(1);
            let mut noise =
                || every(3, 365, |_| false).into_iter().map(|(hour, _)| (hour, dice.share() < share)).collect();
            let networks: [Vec<(i64, bool)>; 6] = std::array::from_fn(|_| noise());
            let sure = found(&networks).into_iter().filter(|one| one.probability >= 0.5).count();
            assert!(sure <= most, "{sure} of {share}");
        }
    }
}
