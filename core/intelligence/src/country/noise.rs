//! How often sessions fail where nobody blocks: at a site in other countries, and on a network at its other sites
//! around the same hour. A failed vote that is as likely where nobody blocks says nothing about a block.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{FAILED, VOLUMES, Volumes};
use super::evidence::{JudgedMeasurement, Present, Surroundings, read_of, site_rate};
use crate::{Result, Timestamp};
use engine::kv::{Direction, Read, Table};
use facts::change::constants::BLOCK_DAYS;
use facts::change::series::block_of_hour;
use facts::subject;
use facts::verdict::Vote;
use facts::verdict::constants::{NETWORK_HALF_LIFE, NETWORK_USUAL_MOST, NETWORK_USUAL_WEIGHT};
use facts::verdict::network::fails_anyhow;

/// Measurements and failures.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    measured: f64,
    failed: f64,
}

impl Counts {
    fn share(self) -> f64 {
        if self.measured > 0.0 { (self.failed / self.measured).min(1.0) } else { 0.0 }
    }

    /// What is left of them when they count only by this share.
    fn faded(self, left: f64) -> Counts {
        Counts { measured: self.measured * left, failed: self.failed * left }
    }

    fn and(self, more: Counts) -> Counts {
        Counts { measured: self.measured + more.measured, failed: self.failed + more.failed }
    }

    fn without(self, part: Counts) -> Counts {
        Counts { measured: (self.measured - part.measured).max(0.0), failed: (self.failed - part.failed).max(0.0) }
    }
}

/// How much counts still say after some hours, 0-1.
fn left(hours: i64) -> f64 {
    0.5_f64.powf(hours as f64 / NETWORK_HALF_LIFE as f64)
}

/// The key is the hour since the epoch.
type Hours = BTreeMap<i64, Counts>;

/// Counts of each hour in turn.
type EveryHour = Vec<Counts>;

/// Days before a block of days that still count at its beginning. Sessions that are older count little by then.
const BEFORE: u32 = 2;

fn begin_of(block: u32) -> i64 {
    i64::from(block.saturating_mul(BLOCK_DAYS)) * 24
}

/// Counts of all networks of a country over a block of days, and the days before it that still count.
#[derive(Debug, Default)]
pub struct Noise {
    /// The first hour since the epoch.
    first: i64,
    networks: BTreeMap<u32, EveryHour>,
}

impl Noise {
    pub fn of_block(view: &impl Read, block: u32) -> Result<Noise> {
        let begin = block.saturating_mul(BLOCK_DAYS);
        let days = (begin.saturating_sub(BEFORE), begin.saturating_add(BLOCK_DAYS));
        let mut networks: BTreeMap<u32, EveryHour> = BTreeMap::new();
        let mut visit = |table: &Table<(u32, u8), Volumes>, add: fn(&mut Counts, f64)| {
            table.visit(view, table.between(&(days.0,), &(days.1,)), Direction::Ascending, |(day, _), volumes| {
                let skipped = (day - days.0) as usize * 24;
                for (asn, hours) in &volumes.0 {
                    let network = networks.entry(*asn).or_default();
                    network.resize(network.len().max(skipped + hours.len()), Counts::default());
                    for (counts, more) in network.iter_mut().skip(skipped).zip(hours) {
                        add(counts, f64::from(*more));
                    }
                }
                Ok(true)
            })
        };
        visit(&VOLUMES, |counts, more| counts.measured += more)?;
        visit(&FAILED, |counts, more| counts.failed += more)?;
        Ok(Noise { first: i64::from(days.0) * 24, networks })
    }

    /// The counts of a network at other sites than the own ones, at the hours that have any.
    fn without(&self, asn: u32, own: Option<&Hours>) -> Vec<(i64, Counts)> {
        let mut counts = self.networks.get(&asn).cloned().unwrap_or_default();
        for (hour, part) in own.into_iter().flat_map(|own| own.range(self.first..)) {
            let Some(counts) = usize::try_from(hour - self.first).ok().and_then(|at| counts.get_mut(at)) else { break };
            *counts = counts.without(*part);
        }
        (self.first..).zip(counts).filter(|(_, counts)| counts.measured > 0.0).collect()
    }
}

/// The measurements of a series and of series that belong to it, by network. They say nothing about other sites. A
/// measurement counts once for its network, even if it is about several series.
#[derive(Debug, Default)]
pub struct OwnMeasurements {
    networks: BTreeMap<u32, Hours>,
    known: BTreeSet<u64>,
}

impl OwnMeasurements {
    /// Adds the other sites of the platform. They are blocked together, so they say nothing about other sites either.
    pub fn add_siblings(
        &mut self,
        view: &impl Read,
        key: &str,
        (from, at): (Timestamp, Timestamp),
        rolled: &Present,
    ) -> Result<()> {
        for key in subject::siblings(key) {
            self.add(&read_of(view, key, from, at, rolled)?);
        }
        Ok(())
    }

    pub fn add(&mut self, seen: &[JudgedMeasurement]) {
        for seen in seen {
            if !self.known.insert(seen.identity) {
                continue;
            }
            let hours = self.networks.entry(seen.session.asn.unwrap_or(0)).or_default();
            let counts = hours.entry(seen.session.hour).or_default();
            counts.measured += 1.0;
            counts.failed += f64::from(u8::from(is_failure(seen.session.evaluated.vote)));
        }
    }
}

/// How a network fails at the other sites, over a block of days.
#[derive(Debug, Default)]
struct Others {
    /// Counts that fade, at the hours with measurements.
    fading: Vec<(i64, Counts)>,
    /// The share of failures that is usual in the block of days. A block of a site lasts, so it is part of that share.
    usual: f64,
}

impl Others {
    /// Of the counts of some hours, oldest first. What is usual is that of the hours from `begin` on.
    fn of(hours: Vec<(i64, Counts)>, begin: i64) -> Others {
        let mut shares: Vec<f64> =
            hours.iter().filter(|(hour, _)| *hour >= begin).map(|(_, counts)| counts.share()).collect();
        shares.sort_unstable_by(f64::total_cmp);
        let usual = shares.get(shares.len() / 2).copied().unwrap_or(0.0).min(0.5);
        let mut fading: Vec<(i64, Counts)> = Vec::with_capacity(hours.len());
        let after_one = left(1);
        for (hour, counts) in hours {
            let since = |at: i64| if hour - at == 1 { after_one } else { left(hour - at) };
            let before = fading.last().map(|(at, before)| before.faded(since(*at))).unwrap_or_default();
            fading.push((hour, before.and(counts)));
        }
        Others { fading, usual }
    }

    /// The probability that a session fails in an hour.
    fn fails(&self, hour: i64) -> f64 {
        let Others { fading, usual } = self;
        let before = fading.partition_point(|(at, _)| *at <= hour).checked_sub(1).and_then(|at| fading.get(at));
        let counts = before.map(|(at, counts)| counts.faded(left(hour - at))).unwrap_or_default();
        let share = (counts.failed + NETWORK_USUAL_WEIGHT * usual) / (counts.measured + NETWORK_USUAL_WEIGHT);
        let excess = ((share - usual) / (1.0 - usual)).max(0.0);
        1.0 - (1.0 - excess) * (1.0 - usual.min(NETWORK_USUAL_MOST))
    }
}

/// How often sessions of one series fail where nobody blocks it.
pub struct Free {
    /// By network and block of days, where any vote is blocked.
    others: BTreeMap<(u32, u32), Others>,
    site: f64,
}

impl Free {
    /// For a series with blocked votes on these networks in these hours. No other votes ask for it.
    pub fn of(
        view: &impl Read,
        key: &str,
        own: &OwnMeasurements,
        blocked: impl Iterator<Item = (u32, i64)>,
        surroundings: &Surroundings,
    ) -> Result<Free> {
        let places: BTreeSet<(u32, u32)> = blocked.map(|(asn, hour)| (asn, block_of_hour(hour))).collect();
        let site = if places.is_empty() { 0.0 } else { site_rate(view, key)? };
        let mut others = BTreeMap::new();
        for (asn, block) in places {
            let hours = surroundings.noise(view, block)?.without(asn, own.networks.get(&asn));
            others.insert((asn, block), Others::of(hours, begin_of(block)));
        }
        Ok(Free { others, site })
    }

    /// Probability, 0-1, that a session on a network fails in an hour where nobody blocks the site.
    pub fn at(&self, asn: u32, hour: i64) -> f64 {
        fails_anyhow(self.site, self.on_network(asn, hour))
    }

    /// The part of that probability that comes from the network.
    pub fn on_network(&self, asn: u32, hour: i64) -> f64 {
        self.others.get(&(asn, block_of_hour(hour))).map_or(0.0, |others| others.fails(hour))
    }
}

/// Whether a measurement counts as a failure of its network.
pub fn is_failure(vote: Vote) -> bool {
    matches!(vote, Vote::Blocked | Vote::NeedsControl | Vote::Down)
}
