//! How often sessions fail where nobody blocks: at a site in other countries, and on a network at its other sites around the
//! same hour. A vote that is as likely where nobody blocks says nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::changes::{FAILED, VOLUMES, Volumes};
use super::evidence::{Seen, down_rate, read};
use crate::change::constants::BLOCK_DAYS;
use crate::change::series::block_of;
use crate::kv::{Direction, Read, Table};
use crate::verdict::Vote;
use crate::verdict::belief::{NETWORK_HALF_LIFE, NETWORK_USUAL_MOST, NETWORK_USUAL_WEIGHT, SITE_MOST};
use crate::{Result, Timestamp};

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

    fn faded(self, hours: i64) -> Counts {
        let left = 0.5_f64.powf(hours as f64 / NETWORK_HALF_LIFE as f64);
        Counts { measured: self.measured * left, failed: self.failed * left }
    }

    fn and(self, more: Counts) -> Counts {
        Counts { measured: self.measured + more.measured, failed: self.failed + more.failed }
    }

    fn without(self, part: Counts) -> Counts {
        Counts { measured: (self.measured - part.measured).max(0.0), failed: (self.failed - part.failed).max(0.0) }
    }
}

/// Counts that fade, at the hours that have any.
#[derive(Debug, Default)]
struct Fading(Vec<(i64, Counts)>);

impl Fading {
    fn of(hours: &BTreeMap<i64, Counts>) -> Fading {
        let mut rows: Vec<(i64, Counts)> = Vec::with_capacity(hours.len());
        for (hour, counts) in hours {
            let before = rows.last().map(|(at, before)| before.faded(hour - at)).unwrap_or_default();
            rows.push((*hour, before.and(*counts)));
        }
        Fading(rows)
    }

    fn at(&self, hour: i64) -> Counts {
        let before = self.0.partition_point(|(at, _)| *at <= hour).checked_sub(1);
        before.and_then(|at| self.0.get(at)).map(|(at, counts)| counts.faded(hour - at)).unwrap_or_default()
    }
}

/// What is measured on a network.
#[derive(Debug, Default)]
struct Network {
    fading: Fading,
    /// The share of failures that is usual, by blocks of days.
    usual: BTreeMap<u32, f64>,
}

/// All networks of a country over some time.
#[derive(Debug, Default)]
pub struct Noise(BTreeMap<u32, Network>);

fn block_of_hour(hour: i64) -> u32 {
    block_of(u32::try_from(hour.div_euclid(24)).unwrap_or(0))
}

impl Noise {
    /// Of the blocks of days that these days are in.
    pub fn between(view: &impl Read, (first, last): (u32, u32)) -> Result<Noise> {
        let days = (block_of(first) * BLOCK_DAYS, (block_of(last) + 1) * BLOCK_DAYS);
        let mut networks: BTreeMap<u32, BTreeMap<i64, Counts>> = BTreeMap::new();
        let mut visit = |table: &Table<(u32, u8), Volumes>, add: fn(&mut Counts, f64)| {
            table.visit(view, table.between(&(days.0,), &(days.1,)), Direction::Ascending, |(day, _), volumes| {
                for (asn, hours) in &volumes.0 {
                    let network = networks.entry(*asn).or_default();
                    for (hour, count) in (i64::from(day) * 24..).zip(hours).filter(|(_, count)| **count > 0) {
                        add(network.entry(hour).or_default(), f64::from(*count));
                    }
                }
                Ok(true)
            })
        };
        visit(&VOLUMES, |counts, more| counts.measured += more)?;
        visit(&FAILED, |counts, more| counts.failed += more)?;
        Ok(Noise(networks.into_iter().map(|(asn, hours)| (asn, Network::of(&hours))).collect()))
    }
}

impl Network {
    fn of(hours: &BTreeMap<i64, Counts>) -> Network {
        let mut shares: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (hour, counts) in hours {
            shares.entry(block_of_hour(*hour)).or_default().push(counts.share());
        }
        let median = |mut shares: Vec<f64>| {
            shares.sort_unstable_by(f64::total_cmp);
            shares.get(shares.len() / 2).copied().unwrap_or(0.0)
        };
        let usual = shares.into_iter().map(|(block, shares)| (block, median(shares).min(0.5))).collect();
        Network { fading: Fading::of(hours), usual }
    }
}

/// The measurements of one series by network, which say nothing about the others.
#[derive(Debug)]
pub struct Own(BTreeMap<u32, Fading>);

impl Own {
    pub fn of(seen: &[Seen]) -> Own {
        let mut own: BTreeMap<u32, BTreeMap<i64, Counts>> = BTreeMap::new();
        for seen in seen.iter().filter(|seen| seen.primary) {
            let hours = own.entry(seen.session.asn.unwrap_or(0)).or_default();
            let counts = hours.entry(seen.session.hour).or_default();
            counts.measured += 1.0;
            counts.failed += f64::from(u8::from(is_failure(seen.session.evaluated.vote)));
        }
        Own(own.iter().map(|(asn, hours)| (*asn, Fading::of(hours))).collect())
    }
}

/// How often sessions of one series fail where nobody blocks it.
pub struct Free {
    noise: Arc<Noise>,
    own: Own,
    site: f64,
}

impl Free {
    pub fn of(view: &impl Read, key: &str, noise: Arc<Noise>, own: Own) -> Result<Free> {
        Ok(Free { noise, own, site: down_rate(view, key)?.clamp(0.0, SITE_MOST) })
    }

    /// Of a series over `[from, to)`.
    pub fn over(view: &impl Read, key: &str, (from, to): (Timestamp, Timestamp)) -> Result<Free> {
        let day = |at: Timestamp| u32::try_from(at.day()).unwrap_or(0);
        let noise = Arc::new(Noise::between(view, (day(from), day(to)))?);
        Free::of(view, key, noise, Own::of(&read(view, key, from, to)?))
    }

    /// Probability, 0-1, that a session on a network fails in an hour where nobody blocks the site.
    pub fn at(&self, asn: u32, hour: i64) -> f64 {
        1.0 - (1.0 - self.site) * (1.0 - self.network(asn, hour))
    }

    fn network(&self, asn: u32, hour: i64) -> f64 {
        let Some(network) = self.noise.0.get(&asn) else { return 0.0 };
        let usual = network.usual.get(&block_of_hour(hour)).copied().unwrap_or(0.0);
        let own = self.own.0.get(&asn).map(|own| own.at(hour)).unwrap_or_default();
        let others = network.fading.at(hour).without(own);
        let share = (others.failed + NETWORK_USUAL_WEIGHT * usual) / (others.measured + NETWORK_USUAL_WEIGHT);
        let excess = ((share - usual) / (1.0 - usual)).max(0.0);
        1.0 - (1.0 - excess) * (1.0 - usual.min(NETWORK_USUAL_MOST))
    }
}

/// Whether a measurement counts as a failure of its network.
pub fn is_failure(vote: Vote) -> bool {
    matches!(vote, Vote::Blocked | Vote::NeedsControl | Vote::Down)
}
