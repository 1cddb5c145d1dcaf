//! Excursions of several networks at one time. A block that all networks keep for a few hours may be too short for each of
//! them alone, while so many at once are no chance.
//!
//! The test is that of the most likely subset: the sum of the k highest sums, less ln C(n, k) for having chosen them out of
//! the n networks that were heard. It must cross the same threshold as one network (Xie and Siegmund, "Sequential
//! multi-sensor change-point detection", Annals of Statistics 41, 2013, in its form for an unknown subset).

use super::constants::{ALARM_RATIO, POOL_HOURS};
use super::cusum::Cusum;

/// A network among others at one time.
pub struct Member<'a> {
    pub asn: u32,
    pub cusum: &'a mut Cusum,
    /// The last hour with a vote, hours since the epoch.
    pub heard: Option<i64>,
}

/// ln C(n, k).
fn ln_choose(n: usize, k: usize) -> f64 {
    (0..k.min(n)).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum()
}

/// Declares the excursions that cross together at the end of an hour. Which ones is independent of the order of `members`.
pub fn declare(members: &mut [Member<'_>], hour: i64) {
    let since = hour - POOL_HOURS;
    let mut heights: Vec<(f64, u32)> =
        members.iter().filter_map(|member| Some((member.cusum.excursion(since)?, member.asn))).collect();
    if heights.len() < 2 {
        return;
    }
    let heard = |member: &&Member<'_>| member.cusum.open().is_none() && member.heard.is_some_and(|heard| heard > since);
    let of = members.iter().filter(heard).count().max(heights.len());
    heights.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // The most likely subset: one more network as long as it weighs more than the choice of it.
    let score = |k: usize| heights.iter().take(k).map(|(height, _)| height).sum::<f64>() - ln_choose(of, k);
    let best = (2..=heights.len()).max_by(|a, b| score(*a).total_cmp(&score(*b)));
    let Some(best) = best.filter(|best| score(*best) >= ALARM_RATIO.ln()) else { return };
    for member in members.iter_mut() {
        if heights.iter().take(best).any(|(_, asn)| *asn == member.asn) {
            member.cusum.declare(hour);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::cusum::Episode;
    use super::super::series::{Block, Heard, Span, advance};
    use crate::testing::Dice;
    use crate::verdict::window::HourVote;

    /// A network with a vote at each of `hours`, those blocked that are in `blocked`.
    fn network(asn: u32, hours: impl Iterator<Item = i64>, blocked: impl Fn(i64) -> bool) -> Heard {
        let vote = |hour: i64| HourVote {
            hour,
            vote_key: 0,
            blocked: blocked(hour),
            log10_lr: if blocked(hour) { 1.5 } else { -1.0 },
            measurements: 1,
            techniques: BTreeMap::new(),
            rules: BTreeMap::new(),
        };
        Heard { asn, votes: hours.map(vote).collect(), before: None, sources: BTreeSet::new() }
    }

    /// Episodes by network, over and under way.
    fn episodes(networks: Vec<Heard>, failing: f64) -> BTreeMap<u32, Vec<Episode>> {
        let spans = advance(&Block::default(), networks, failing);
        let of = |span: Span| (span.asn, span.ended.iter().copied().chain(span.cusum.open()).collect::<Vec<_>>());
        spans.into_iter().map(of).filter(|(_, episodes)| !episodes.is_empty()).collect()
    }

    /// `blocked` of `all` networks fail for the first `hours` of the second day; each is measured hourly.
    fn once(blocked: u32, all: u32, hours: i64, failing: f64) -> BTreeMap<u32, Vec<Episode>> {
        let one = |asn| network(asn, 0..72, move |hour| asn < blocked && (24..24 + hours).contains(&hour));
        episodes((0..all).map(one).collect(), failing)
    }

    #[test]
    fn five_hours_on_several_networks_are_a_block_and_on_one_they_are_not() {
        let found = once(3, 8, 5, 0.0);
        assert_eq!(found.keys().collect::<Vec<_>>(), [&0, &1, &2]);
        for episodes in found.values() {
            let [one] = episodes.as_slice() else { panic!("{episodes:?}") };
            assert_eq!((one.start, one.last), (24, 28));
            assert!(one.declared <= 28, "{one:?}");
        }
        assert!(once(1, 8, 5, 0.0).is_empty());
        assert!(once(2, 40, 5, 0.0).is_empty(), "two of forty are chance");
        assert_eq!(once(8, 8, 3, 0.0).len(), 8, "all of them at once are none, be it for three hours");
        assert!(once(8, 8, 1, 0.0).is_empty(), "one hour says nothing");
        assert!(once(8, 8, 5, 0.1).is_empty(), "nor what fails in other countries too");
    }

    /// Ruling intelligence 15: late data may bring the networks in any order.
    #[test]
    fn ruling_intelligence_15_the_order_of_networks_cannot_matter() {
        let one = |asn: u32| network(asn, 0..48, move |hour| asn < 3 && (20..25).contains(&hour));
        let forward = episodes((0..6).map(one).collect(), 0.0);
        assert_eq!(forward.len(), 3);
        assert_eq!(forward, episodes((0..6).rev().map(one).collect(), 0.0));
    }

    #[test]
    fn networks_that_were_heard_the_day_before_count_among_those_to_choose_from() {
        let silent = |asn: u32, before| Heard { before, ..network(asn, 0..0, |_| false) };
        let found = |before: Option<i64>| {
            let blocked = (0..2).map(|asn| network(asn, 0..24, |hour| hour < 5));
            episodes(blocked.chain((2..40).map(|asn| silent(asn, before))).collect(), 0.0)
        };
        assert_eq!(found(None).len(), 2);
        assert!(found(Some(-1)).is_empty());
        assert_eq!(found(Some(-30)).len(), 2, "long ago");
    }

    /// A site that fails now and then on all networks has no episode each time three failures meet; a week of blocking on
    /// some of them is one all the same.
    #[test]
    fn a_site_that_often_fails_is_blocked_only_when_it_fails_more() {
        let mut dice = Dice(3);
        let mut random = || dice.share();
        let (mut flaky, mut alone, mut missed) = (0, 0, 0);
        for _ in 0..30 {
            let bad: Vec<BTreeSet<i64>> =
                (0..6).map(|_| (0..720).step_by(3).filter(|_| random() < 0.1).collect()).collect();
            let one = |asn: u32, blocked: bool| {
                let bad = bad[asn as usize].clone();
                let week = move |hour: i64| blocked && asn < 3 && (240..408).contains(&hour);
                network(asn, (0..720).step_by(3), move |hour| bad.contains(&hour) || week(hour))
            };
            let found = |blocked| episodes((0..6).map(|asn| one(asn, blocked)).collect(), 0.0);
            flaky += found(false).values().flatten().count();
            // Three votes in a row, each as likely as not under a block, cross where 3% fail: no rest to compare with.
            alone += (0..6)
                .flat_map(|asn| {
                    let part = |from: i64| Heard {
                        votes: one(asn, false).votes.into_iter().filter(|vote| vote.hour / 48 == from).collect(),
                        ..network(asn, 0..0, |_| false)
                    };
                    (0..15).flat_map(|from| episodes(vec![part(from)], 0.0).into_values().flatten()).collect::<Vec<_>>()
                })
                .count();
            let found = found(true);
            let week = |episode: &Episode| episode.start <= 252 && episode.last >= 396;
            missed += (0..3).filter(|asn| !found.get(asn).is_some_and(|all| all.iter().any(week))).count();
        }
        assert!(
            flaky * 4 <= alone && missed <= 2,
            "{flaky} with the rest of the month, {alone} without, {missed} missed"
        );
    }

    /// Data with 3% of false blocked votes, eight votes a day and network: what comes together by chance is rare beside what
    /// each network alarms of alone.
    #[test]
    fn noise_on_many_networks_hardly_ever_alarms_together() {
        let mut dice = Dice(7);
        let mut random = || dice.share();
        for networks in [3, 10, 40] {
            let (mut together, mut alone) = (0, 0);
            for _ in 0..30 {
                let noise = (0..networks).map(|asn| {
                    let bad: BTreeSet<i64> = (0..720).step_by(3).filter(|_| random() < 0.03).collect();
                    (asn, bad)
                });
                let noise: Vec<(u32, BTreeSet<i64>)> = noise.collect();
                let one =
                    |(asn, bad): &(u32, BTreeSet<i64>)| network(*asn, (0..720).step_by(3), |at| bad.contains(&at));
                together += episodes(noise.iter().map(one).collect(), 0.0).values().flatten().count();
                alone += noise.iter().flat_map(|of| episodes(vec![one(of)], 0.0).into_values().flatten()).count();
            }
            assert!(together <= 2 * alone + 4, "{networks}: {together}, {alone} alone");
        }
    }
}
