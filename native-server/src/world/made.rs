//! Makes a world from a seed.

use std::ops::Range;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Hours of a world.
pub const HOURS: usize = 30 * 24;
/// Share of pairs of country and site that are blocked at some time.
const BLOCKED_PAIRS: f64 = 0.06;
/// Share of blocks that are on every network of their country.
const ON_ALL: f64 = 0.6;
/// Share of sessions that fail under a block: lowest and highest.
const FAILING: (f64, f64) = (0.80, 0.97);
/// Hours in which a block begins, and its shortest length; it ends within the world.
const BEGINS: (f64, f64) = (72.0, 420.0);
const SHORTEST: f64 = 96.0;
const ENDS_BEFORE: f64 = 648.0;
/// For noise in bursts: share of sessions that fail on a bad network, and at a flaky site.
const BAD: f64 = 0.6;
const FLAKY: f64 = 0.5;
/// For how many hours a network is bad, and a site flaky.
const BAD_HOURS: (f64, f64) = (6.0, 24.0);
const FLAKY_HOURS: usize = 48;
/// Share of networks that have a probe which always fails.
const BROKEN: f64 = 0.1;
/// In a world of the other kind: share of sessions that fail while a country is cut off, and for how many hours it is.
const CUT: f64 = 0.9;
const CUT_HOURS: (f64, f64) = (1.0, 8.0);
/// The hours of its evenings, in which more fails.
const EVENING: Range<usize> = 18..24;
/// The largest share that fails at one of its sites.
const WORST: f64 = 0.6;
/// Share of its blocks that are on every network, the share of sessions that fail under them, their shortest length,
/// and in how many hours the networks follow each other.
const OTHER_ON_ALL: f64 = 0.4;
const OTHER_FAILING: (f64, f64) = (0.65, 0.99);
const OTHER_SHORTEST: f64 = 72.0;
const FOLLOWS: (f64, f64) = (0.0, 36.0);

/// Numbers of countries, of sites in each and of networks in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub countries: usize,
    pub sites: usize,
    pub networks: usize,
}

impl Size {
    pub const FULL: Size = Size { countries: 20, sites: 90, networks: 6 };
    /// For a check that takes only seconds.
    pub const SHORT: Size = Size { countries: 8, sites: 24, networks: 6 };
}

/// Failures that are no blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// Share of all sessions, 0-1.
    pub share: f64,
    /// With bursts, a quarter of the failures each come at random, on networks that are bad for some hours, at sites
    /// that are flaky everywhere for two days, and from probes that always fail. Without bursts all come at random.
    pub bursts: bool,
}

/// The kind of blocks in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Usual,
    /// Only from 7 to 17 o'clock on weekdays.
    OfficeHours,
    /// Noise and blocks that the method was not made with. A third of the failures come while a whole country is cut off
    /// for hours, a third in the evenings, and a third at a few sites that fail everywhere and always. Networks begin
    /// and end a block one after the other, fewer sessions fail under some blocks, and blocks may be short.
    Other,
}

/// Everything that determines a world, besides its seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    pub size: Size,
    /// Sessions of a network on a day.
    pub rate: usize,
    pub noise: Noise,
    pub shape: Shape,
}

impl Plan {
    /// The failures that are no blocks, in words.
    pub fn failures(&self) -> String {
        let kind = match (self.shape, self.noise.bursts) {
            (Shape::OfficeHours, _) => ", office hours",
            (Shape::Other, _) => ", other",
            (Shape::Usual, true) => " in bursts",
            (Shape::Usual, false) => "",
        };
        format!("{:.0}%{kind}", self.noise.share * 100.0)
    }
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} a day, {}", self.rate, self.failures())
    }
}

/// A block of a site in a country.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub country: usize,
    pub site: usize,
    /// The hours in which each network blocks; `None` for one that never does.
    pub networks: Vec<Option<Range<usize>>>,
    failing: f64,
}

/// One session of a network, which visits every site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub country: usize,
    pub network: usize,
    pub hour: usize,
    /// True for each site where the session failed.
    pub failed: Vec<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct World {
    pub plan: Plan,
    /// IPv4 addresses by country and network.
    pub addresses: Vec<Vec<u64>>,
    pub blocks: Vec<Block>,
    pub sessions: Vec<Session>,
}

struct Dice(ChaCha8Rng);

impl Dice {
    /// A random share, from 0 to below 1.
    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    fn between(&mut self, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.share()
    }

    fn below(&mut self, n: usize) -> usize {
        (self.share() * n as f64) as usize
    }
}

/// Probability that sessions fail without a block.
struct Failures {
    /// At any time.
    alone: f64,
    /// By network of all countries, then by hour.
    bad: Vec<Vec<f64>>,
    /// By site, then by hour.
    flaky: Vec<Vec<f64>>,
    /// Share of sessions that come from a broken probe, by network of all countries.
    broken: Vec<f64>,
}

impl Failures {
    fn make(plan: &Plan, dice: &mut Dice) -> Failures {
        let share = plan.noise.share;
        match (plan.shape, plan.noise.bursts) {
            (Shape::Other, _) => Failures::uneven(plan.size, share / 3.0, dice),
            (_, true) => Failures { alone: share / 4.0, ..Failures::bursts(plan.size, share / 4.0, dice) },
            (_, false) => Failures { alone: share, ..Failures::bursts(plan.size, 0.0, dice) },
        }
    }

    /// Each of the three kinds fails `third` of all sessions.
    fn uneven(size: Size, third: f64, dice: &mut Dice) -> Failures {
        let evening = third * 24.0 / EVENING.len() as f64;
        let usual = |hour: usize| if EVENING.contains(&(hour % 24)) { evening } else { 0.0 };
        let mut bad = Vec::new();
        for _ in 0..size.countries {
            let mut hours: Vec<f64> = (0..HOURS).map(usual).collect();
            let mut left = third * HOURS as f64 / CUT;
            while left > 0.0 {
                let length = dice.between(CUT_HOURS).min(left.max(1.0));
                let start = dice.below(HOURS);
                hours.iter_mut().skip(start).take(length as usize).for_each(|hour| *hour = CUT);
                left -= length.floor();
            }
            bad.extend(vec![hours; size.networks]);
        }
        // A few sites have most of the failures.
        let weights: Vec<f64> = (0..size.sites).map(|_| (1.0 / (1.0 - dice.share())).powf(0.8)).collect();
        let mean = weights.iter().sum::<f64>() / size.sites as f64;
        let flaky = weights.iter().map(|weight| vec![(third * weight / mean).min(WORST); HOURS]).collect();
        Failures { alone: 0.0, bad, flaky, broken: vec![0.0; size.countries * size.networks] }
    }

    fn bursts(size: Size, quarter: f64, dice: &mut Dice) -> Failures {
        let networks = size.countries * size.networks;
        let mut bad = vec![vec![0.0; HOURS]; networks];
        for hours in &mut bad {
            let mut left = quarter * HOURS as f64 / BAD;
            while left > 0.0 && (left >= BAD_HOURS.0 || dice.chance(left / BAD_HOURS.0)) {
                let length = dice.between(BAD_HOURS).min(left).max(BAD_HOURS.0);
                let start = dice.below(HOURS);
                hours.iter_mut().skip(start).take(length as usize).for_each(|hour| *hour = BAD);
                left -= length;
            }
        }
        let mut flaky = vec![vec![0.0; HOURS]; size.sites];
        for hours in &mut flaky {
            let mut left = quarter * HOURS as f64 / FLAKY;
            while left > 0.0 && (left >= FLAKY_HOURS as f64 || dice.chance(left / FLAKY_HOURS as f64)) {
                let start = dice.below(HOURS - FLAKY_HOURS);
                hours.iter_mut().skip(start).take(FLAKY_HOURS).for_each(|hour| *hour = FLAKY);
                left -= FLAKY_HOURS as f64;
            }
        }
        let share = (quarter / BROKEN).min(0.9);
        let broken = (0..networks).map(|_| if dice.chance(BROKEN) { share } else { 0.0 }).collect();
        Failures { alone: 0.0, bad, flaky, broken }
    }
}

impl World {
    pub fn make(plan: Plan, seed: u64) -> World {
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(seed));
        let Size { countries, networks, .. } = plan.size;
        // A heavy-tailed distribution: a few networks have most of the addresses.
        let mut addresses = || (16_384.0 * (1.0 / (1.0 - dice.share())).powf(1.2)).min(16.7e6) as u64;
        let addresses = (0..countries).map(|_| (0..networks).map(|_| addresses()).collect()).collect();
        let blocks = blocks(&plan, &mut dice);
        let sessions = sessions(&plan, &blocks, &mut dice);
        World { plan, addresses, blocks, sessions }
    }
}

fn blocks(plan: &Plan, dice: &mut Dice) -> Vec<Block> {
    let size = plan.size;
    let (on_all, failing, shortest) = match plan.shape {
        Shape::Other => (OTHER_ON_ALL, OTHER_FAILING, OTHER_SHORTEST),
        _ => (ON_ALL, FAILING, SHORTEST),
    };
    let mut blocks = Vec::new();
    for (country, site) in (0..size.countries).flat_map(|country| (0..size.sites).map(move |site| (country, site))) {
        if !dice.chance(BLOCKED_PAIRS) {
            continue;
        }
        let mut on = vec![dice.chance(on_all); size.networks];
        if !on.contains(&true) {
            let some = 1 + dice.below(size.networks - 1);
            while on.iter().filter(|on| **on).count() < some {
                let network = dice.below(size.networks);
                on.iter_mut().skip(network).take(1).for_each(|on| *on = true);
            }
        }
        let start = dice.between(BEGINS);
        let end = start + dice.between((shortest, (ENDS_BEFORE - start).max(shortest + 1.0)));
        let failing = dice.between(failing);
        let follows = |dice: &mut Dice| if plan.shape == Shape::Other { dice.between(FOLLOWS) } else { 0.0 };
        let mut hours = |on: bool| on.then(|| (start + follows(dice)) as usize..(end + follows(dice)) as usize);
        let networks = on.into_iter().map(&mut hours).collect();
        blocks.push(Block { country, site, networks, failing });
    }
    blocks
}

impl Block {
    fn is_on(&self, network: usize, hour: usize, shape: Shape) -> bool {
        let at_work = (hour / 24) % 7 < 5 && (7..17).contains(&(hour % 24));
        let hours = self.networks.get(network).and_then(Option::as_ref);
        hours.is_some_and(|hours| hours.contains(&hour)) && (shape != Shape::OfficeHours || at_work)
    }
}

fn sessions(plan: &Plan, blocks: &[Block], dice: &mut Dice) -> Vec<Session> {
    let Plan { size, rate, shape, .. } = *plan;
    let Failures { alone, bad, flaky, broken } = Failures::make(plan, dice);
    let at = |rows: &[Vec<f64>], row: usize, hour: usize| rows.get(row).and_then(|row| row.get(hour)).copied();
    let mut sessions = Vec::new();
    for (country, network) in (0..size.countries).flat_map(|c| (0..size.networks).map(move |n| (c, n))) {
        let of_country: Vec<&Block> = blocks.iter().filter(|block| block.country == country).collect();
        let number = country * size.networks + network;
        let broken = broken.get(number).copied().unwrap_or(0.0);
        for day in 0..HOURS / 24 {
            for _ in 0..rate {
                let hour = day * 24 + dice.below(24);
                let always = dice.chance(broken);
                let bad = at(&bad, number, hour).unwrap_or(0.0);
                let mut failed: Vec<bool> = (0..size.sites)
                    .map(|site| {
                        let flaky = at(&flaky, site, hour).unwrap_or(0.0);
                        let fails = dice.chance(1.0 - (1.0 - alone) * (1.0 - bad) * (1.0 - flaky));
                        always || fails
                    })
                    .collect();
                for block in of_country.iter().filter(|block| block.is_on(network, hour, shape)) {
                    let blocked = dice.chance(block.failing);
                    failed.iter_mut().skip(block.site).take(1).for_each(|failed| *failed |= blocked);
                }
                sessions.push(Session { country, network, hour, failed });
            }
        }
    }
    sessions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(share: f64, bursts: bool) -> Plan {
        Plan { size: Size::FULL, rate: 2, noise: Noise { share, bursts }, shape: Shape::Usual }
    }

    #[test]
    fn a_seed_makes_one_world() {
        let small = Plan { size: Size::SHORT, ..plan(0.05, true) };
        assert_eq!(World::make(small, 3), World::make(small, 3));
        assert_ne!(World::make(small, 3).sessions, World::make(small, 4).sessions);
    }

    /// The share of failures without a block is the planned one, with and without bursts.
    #[test]
    fn failures_are_as_many_as_planned() {
        let usual =
            [(0.02, false), (0.08, false), (0.02, true), (0.08, true)].map(|(share, bursts)| plan(share, bursts));
        let other = [0.02, 0.08].map(|share| Plan { shape: Shape::Other, ..plan(share, false) });
        for plan in usual.into_iter().chain(other) {
            let (world, share) = (World::make(plan, 1), plan.noise.share);
            let blocked: std::collections::BTreeSet<_> =
                world.blocks.iter().map(|block| (block.country, block.site)).collect();
            let (mut failed, mut all) = (0, 0);
            for session in &world.sessions {
                let clean = session.failed.iter().enumerate();
                for (_, lost) in clean.filter(|(site, _)| !blocked.contains(&(session.country, *site))) {
                    (failed, all) = (failed + usize::from(*lost), all + 1);
                }
            }
            let found = failed as f64 / all as f64;
            assert!((found - share).abs() < 0.3 * share, "{plan:?}: {found}");
        }
    }

    #[test]
    fn blocks_begin_and_end_inside() {
        let world = World::make(plan(0.05, false), 1);
        let other = World::make(Plan { shape: Shape::Other, ..plan(0.05, false) }, 1);
        assert!(world.blocks.len() > 60 && other.blocks.len() > 60);
        let whole = world.blocks.iter().filter(|block| !block.networks.contains(&None)).count();
        assert!(2 * whole > world.blocks.len());
        let mut starts_of_other = 0;
        for (block, shortest) in world.blocks.iter().map(|b| (b, 96)).chain(other.blocks.iter().map(|b| (b, 36))) {
            let on: Vec<_> = block.networks.iter().flatten().collect();
            assert!(on.iter().all(|on| on.start >= 72 && on.end <= HOURS && on.len() >= shortest), "{block:?}");
            let starts: std::collections::BTreeSet<_> = on.iter().map(|on| on.start).collect();
            assert!(!on.is_empty() && (shortest == 36 || starts.len() == 1), "{block:?}");
            starts_of_other += usize::from(shortest == 36 && starts.len() > 1);
        }
        assert!(starts_of_other > 20, "{starts_of_other}");
    }
}
