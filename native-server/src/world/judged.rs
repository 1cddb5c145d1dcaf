//! Compares the answers about worlds with the truth.

use std::collections::BTreeMap;
use std::ops::Range;

use heliograph_core::facts::verdict::constants::{NATIONAL_SHARE, SEVERAL_NETWORKS, SEVERAL_SHARE};
use heliograph_core::facts::verdict::national::network_weight;
use heliograph_core::intelligence::country::{MomentVerdict, State};
use serde::Serialize;

use super::lived::{Answers, CHECK};
use super::made::{Block, HOURS, Plan, Shape, World};
use super::told;
use crate::evaluate::calibration_error;

/// The counts over all worlds of one plan.
#[derive(Debug, Clone, Default)]
pub struct Judgement {
    /// Checks of pairs that are never blocked, and how many of these were called blocked.
    clean: (usize, usize),
    /// The same for networks that never block the site.
    clean_networks: (usize, usize),
    /// Hours from the beginning of a block that reaches the lines until the first answer `blocked`; `None` when there
    /// is none.
    found: Vec<Option<usize>>,
    /// Hours from the end of a found block until the first other answer; `None` when there is none.
    removed: Vec<Option<usize>>,
    /// Probability of each answer `blocked`, and whether a block was in force.
    said: Vec<(f64, bool)>,
    /// Answers `accessible`, and how many of these were given while a block was in force.
    accessible: (usize, usize),
    unknown: usize,
    /// Answers that are more decided than their probability.
    contradictions: usize,
}

/// The hours in which the blocking networks have enough of the country's weight for a national block: from the first to
/// the last.
fn national_hours(world: &World, block: &Block) -> Option<Range<usize>> {
    let weights = world.addresses.get(block.country).into_iter().flatten();
    let weights: Vec<f64> = weights.map(|addresses| network_weight(Some(*addresses))).collect();
    let all = weights.iter().sum::<f64>();
    let reaches_lines = |hour: &usize| {
        let on = block.networks.iter().map(|hours| hours.as_ref().is_some_and(|hours| hours.contains(hour)));
        let blocking: Vec<f64> = weights.iter().zip(on).filter(|(_, on)| *on).map(|(weight, _)| *weight).collect();
        let share = blocking.iter().sum::<f64>() / all;
        share >= NATIONAL_SHARE || (share >= SEVERAL_SHARE && blocking.len() >= SEVERAL_NETWORKS)
    };
    Some((0..HOURS).find(reaches_lines)?..(0..HOURS).rfind(reaches_lines)? + 1)
}

/// The hour of a check: its answers know everything before this hour.
fn hour_of(check: usize) -> usize {
    (check + 1) * CHECK
}

impl Judgement {
    pub fn add(&mut self, world: &World, answers: &[Answers]) {
        let blocks: BTreeMap<(usize, usize), &Block> =
            world.blocks.iter().map(|block| ((block.country, block.site), block)).collect();
        for (country, sites) in answers.iter().enumerate() {
            for (site, course) in sites.iter().enumerate() {
                let block = blocks.get(&(country, site)).copied();
                self.pair(world, (country, block), course);
            }
        }
    }

    fn pair(&mut self, world: &World, (country, block): (usize, Option<&Block>), course: &[MomentVerdict]) {
        let national = block.and_then(|block| national_hours(world, block));
        for (check, standing) in course.iter().enumerate() {
            let hour = hour_of(check);
            let in_force = national.as_ref().is_some_and(|hours| hour > hours.start && hour <= hours.end);
            self.answer(standing, in_force);
            let blocked = usize::from(standing.status == State::Blocked);
            if block.is_none() {
                self.clean = (self.clean.0 + 1, self.clean.1 + blocked);
            }
            for network in 0..world.plan.size.networks {
                if block.is_some_and(|block| block.networks.get(network).is_some_and(Option::is_some)) {
                    continue;
                }
                let asn = told::asn(country, network);
                let blocked = standing.networks.iter().any(|(of, status)| *of == asn && *status == State::Blocked);
                self.clean_networks = (self.clean_networks.0 + 1, self.clean_networks.1 + usize::from(blocked));
            }
        }
        if let Some(hours) = national {
            self.delays(hours, course);
        }
    }

    fn answer(&mut self, standing: &MomentVerdict, in_force: bool) {
        let p = standing.p_blocked;
        match standing.status {
            State::Blocked => self.said.push((p, in_force)),
            State::Accessible => {
                self.accessible = (self.accessible.0 + 1, self.accessible.1 + usize::from(in_force));
            }
            State::Unknown => self.unknown += 1,
        }
        let contradicts = match standing.status {
            State::Blocked => p < 0.5,
            State::Accessible => p > 0.2,
            State::Unknown => false,
        };
        self.contradictions += usize::from(contradicts);
    }

    fn delays(&mut self, national: Range<usize>, course: &[MomentVerdict]) {
        let first = |from: usize, until: usize, blocked: bool| {
            let mut checks = course.iter().enumerate().map(|(check, standing)| (hour_of(check), standing));
            let found = checks.find(|(hour, standing)| {
                *hour > from && *hour <= until && (standing.status == State::Blocked) == blocked
            });
            found.map(|(hour, _)| hour - from)
        };
        let found = first(national.start, national.end, true);
        self.found.push(found);
        if found.is_some() {
            self.removed.push(first(national.end, usize::MAX, false));
        }
    }

    /// The figures of a plan.
    pub fn row(mut self, plan: Plan) -> Row {
        let share = |(all, some): (usize, usize)| if all == 0 { 0.0 } else { some as f64 / all as f64 };
        let within = |delays: &[Option<usize>], hours: usize| {
            share((delays.len(), delays.iter().filter(|delay| delay.is_some_and(|delay| delay <= hours)).count()))
        };
        self.said.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Row {
            rate: plan.rate,
            noise: plan.noise.share,
            bursts: plan.noise.bursts,
            office_hours: plan.shape == Shape::OfficeHours,
            other: plan.shape == Shape::Other,
            begun: self.found.len(),
            clean_called_blocked: share(self.clean),
            networks_called_blocked: share(self.clean_networks),
            found_in_48_h: within(&self.found, 48),
            found_in_72_h: within(&self.found, 72),
            removed_in_72_h: within(&self.removed, 72),
            removed_in_120_h: within(&self.removed, 120),
            answers_blocked: self.said.len(),
            calibration_error: calibration_error(&self.said),
            wrong_accessible: share(self.accessible),
            contradictions: self.contradictions,
        }
    }
}

/// One line of the table: the results of the worlds of a plan. Shares are 0-1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Sessions of a network on a day.
    pub rate: usize,
    pub noise: f64,
    pub bursts: bool,
    pub office_hours: bool,
    /// Whether noise and blocks are of other forms than those that the method was made with.
    pub other: bool,
    /// Blocks with enough weight for a national block.
    pub begun: usize,
    pub clean_called_blocked: f64,
    pub networks_called_blocked: f64,
    pub found_in_48_h: f64,
    pub found_in_72_h: f64,
    pub removed_in_72_h: f64,
    pub removed_in_120_h: f64,
    pub answers_blocked: usize,
    /// Over the answers `blocked`, in ten bins of equal mass; null when there are none.
    pub calibration_error: Option<f64>,
    /// Share of the answers `accessible` that were given while a block was in force.
    pub wrong_accessible: f64,
    /// Answers `blocked` with a probability below 0.5, and `accessible` above 0.2.
    pub contradictions: usize,
}

/// The limits that a row must meet; `None` for a figure that is only reported.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bars {
    clean_called_blocked: f64,
    networks_called_blocked: Option<f64>,
    found_in_48_h: Option<f64>,
    found_in_72_h: Option<f64>,
    removed_in_72_h: Option<f64>,
    removed_in_120_h: Option<f64>,
    calibration_error: Option<f64>,
}

impl Bars {
    /// The limits depend on sessions a day. For blocks in office hours figures are only reported.
    fn of(row: &Row) -> Option<Bars> {
        let none = Bars {
            clean_called_blocked: 0.002,
            networks_called_blocked: None,
            found_in_48_h: None,
            found_in_72_h: None,
            removed_in_72_h: None,
            removed_in_120_h: None,
            calibration_error: None,
        };
        if row.office_hours {
            return None;
        }
        Some(match row.rate {
            4.. => Bars {
                clean_called_blocked: 0.0005,
                networks_called_blocked: Some(0.002),
                found_in_48_h: Some(if row.bursts || row.other { 0.95 } else { 0.98 }),
                removed_in_72_h: Some(0.95),
                calibration_error: Some(0.05),
                ..none
            },
            2..=3 => Bars {
                clean_called_blocked: 0.0005,
                networks_called_blocked: Some(0.002),
                found_in_72_h: Some(0.95),
                removed_in_120_h: Some(0.85),
                calibration_error: Some(0.10),
                ..none
            },
            _ => none,
        })
    }
}

impl Row {
    /// The figures that miss their bars, by name.
    pub fn missed(&self) -> Vec<&'static str> {
        let mut missed = Vec::new();
        if self.contradictions > 0 {
            missed.push("contradictions");
        }
        let Some(bars) = Bars::of(self) else { return missed };
        let mut most = |name, value: f64, bar: Option<f64>| {
            if bar.is_some_and(|bar| value > bar) {
                missed.push(name);
            }
        };
        most("clean called blocked", self.clean_called_blocked, Some(bars.clean_called_blocked));
        most("networks called blocked", self.networks_called_blocked, bars.networks_called_blocked);
        most("ECE", self.calibration_error.unwrap_or(0.0), bars.calibration_error);
        let mut least = |name, value: f64, bar: Option<f64>| most(name, -value, bar.map(|bar| -bar));
        least("found in 48 h", self.found_in_48_h, bars.found_in_48_h);
        least("found in 72 h", self.found_in_72_h, bars.found_in_72_h);
        least("removed in 72 h", self.removed_in_72_h, bars.removed_in_72_h);
        least("removed in 120 h", self.removed_in_120_h, bars.removed_in_120_h);
        missed
    }
}
