//! The digest that a country sends to the world every day and after changes: its days, its domains by week and its
//! networks.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::constants::{DRIFT_DOMAINS, WEEK_DAYS};
use super::counts::{self, DAYS, STALE, day, first_day};
use super::dbscan::Point;
use super::features::features;
use super::page::{self, DayJudgement};
use super::{PAGE, store::SetDigest};
use crate::atlas::networks::{self, Networks};
use crate::country::{latest, networks_heard, strictest, summary};
use crate::{Result, Timestamp, world};
use engine::actor::{Kind, Operation, Turn, encode};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::{DAY, MINUTE, SECOND};
use sha2::{Digest as _, Sha256};

const TIMER: &str = "anomaly";
/// Days whose networks are counted in one operation.
const DAYS_AT_ONCE: usize = 10;
/// Publish intervals between two digests, at least. With many targets it is one interval per `TARGETS_PER_INTERVAL`
/// targets, since reading them takes longer.
const INTERVALS: i64 = 12;
const TARGETS_PER_INTERVAL: i64 = 20;
/// Weeks that a digest states for a domain.
pub const WEEKS: usize = 4;

/// Hash of the last digest that was sent, and the number of targets at that time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct LastDigest {
    #[serde(with = "engine::kv::bytes")]
    hash: Vec<u8>,
    targets: u32,
}
impl Row for LastDigest {}

/// In a country actor.
const TOLD: Table<(), LastDigest> = Table::derived(64);

/// Counts of a domain by week, this week first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DomainWeeks {
    pub domain: String,
    /// Votes, and how many of them say blocked.
    pub weeks: [(u32, u32); WEEKS],
}

/// What the detectors that look at all countries need to know about one country.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Digest {
    /// The last complete day.
    pub until: u32,
    /// The strictest licence of the country's sources.
    pub license: String,
    /// Days with features, oldest first.
    pub days: Vec<(u32, Point)>,
    pub judged: Option<DayJudgement>,
    pub domains: Vec<DomainWeeks>,
    pub networks: Networks,
}

impl Digest {
    /// Whether it contains nothing.
    pub fn is_empty(&self) -> bool {
        self.days.is_empty() && self.domains.is_empty() && self.networks.listed.is_empty()
    }
}

/// Schedules a digest after new counts.
pub fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let targets = TOLD.get(turn, &())?.map_or(0, |told| i64::from(told.targets));
    let intervals = INTERVALS.max(targets / TARGETS_PER_INTERVAL);
    let due = turn.now.plus(intervals * i64::from(turn.settings.publish_interval) * SECOND);
    match turn.scheduled(TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &MakeDigest),
    }
}

/// Counts networks, publishes the page and sends the digest to the world. It runs every day while there are counts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MakeDigest;

impl Operation for MakeDigest {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "make_digest";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let now = turn.now;
        let old = DAYS.between(&(), &(first_day(now),));
        for (key, _) in DAYS.scan(turn, &old, Direction::Ascending, 200)? {
            DAYS.delete(turn, &key);
        }
        let stale = STALE.scan(turn, &STALE.range(), Direction::Ascending, DAYS_AT_ONCE)?;
        for ((day,), ()) in &stale {
            STALE.delete(turn, &(*day,));
            if let Some(mut row) = DAYS.get(turn, &(*day,))? {
                row.networks = networks_heard(turn, *day)?;
                DAYS.put(turn, &(*day,), &row)?;
            }
        }
        if stale.len() == DAYS_AT_ONCE {
            return turn.schedule(TIMER, now, &MakeDigest);
        }
        let country = turn.actor().name.clone();
        let (digest, targets) = digest(turn)?;
        let hash: Vec<u8> = Sha256::digest(encode(&digest)?).iter().take(16).copied().collect();
        let more = !digest.is_empty();
        let told = TOLD.get(turn, &())?;
        if told.as_ref().map_or(more, |told| told.hash != hash) {
            match more {
                true => TOLD.put(turn, &(), &LastDigest { hash, targets })?,
                false => TOLD.delete(turn, &()),
            }
            turn.publish(&[PAGE, &country].concat())?;
            turn.send(world::actor().name, &SetDigest { country, digest })?;
        }
        // Forty minutes after midnight the previous day is complete and most of its measurements have arrived.
        let next = Timestamp((now.day() + 1) * DAY).plus(40 * MINUTE);
        if more || DAYS.first(turn, &DAYS.range())?.is_some() {
            turn.schedule(TIMER, next, &MakeDigest)
        } else {
            Ok(())
        }
    }
}

/// The digest of this country, and its number of targets.
fn digest(turn: &Turn<'_>) -> Result<(Digest, u32)> {
    let view = turn.view();
    let days = counts::days(turn, turn.now)?;
    let until = day(turn.now).saturating_sub(1);
    let (domains, targets) = domains(turn, until)?;
    let described = days.keys().filter(|day| **day <= until).filter_map(|day| Some((*day, features(&days, *day)?)));
    let digest = Digest {
        until,
        license: strictest(&summary(&view, None)?.sources),
        days: described.collect(),
        judged: page::judge(&days, turn.now),
        domains,
        networks: networks::measured(&latest(&view)?),
    };
    Ok((digest, targets))
}

/// Domains with votes in four weeks, by name, and the number of targets that are counted.
fn domains(view: &impl Read, until: u32) -> Result<(Vec<DomainWeeks>, u32)> {
    let mut found: BTreeMap<String, [(u32, u32); WEEKS]> = BTreeMap::new();
    counts::visit(view, |target, day, counts| {
        let week = until.checked_sub(day).map(|back| (back / WEEK_DAYS) as usize);
        let Some(week) = week.filter(|week| *week < WEEKS && !target.contains('/')) else { return };
        if !found.contains_key(target) {
            found.insert(target.to_owned(), Default::default());
        }
        if let Some(sum) = found.get_mut(target).and_then(|weeks| weeks.get_mut(week)) {
            *sum = (sum.0 + counts.votes(), sum.1 + counts.blocked);
        }
    })?;
    let targets = u32::try_from(found.len()).unwrap_or(u32::MAX);
    let votes = |row: &DomainWeeks| row.weeks.iter().map(|(votes, _)| votes).sum::<u32>();
    let mut domains: Vec<DomainWeeks> =
        found.into_iter().map(|(domain, weeks)| DomainWeeks { domain, weeks }).filter(|row| votes(row) > 0).collect();
    if domains.len() > DRIFT_DOMAINS as usize {
        domains.sort_by(|a, b| votes(b).cmp(&votes(a)).then_with(|| a.domain.cmp(&b.domain)));
        domains.truncate(DRIFT_DOMAINS as usize);
        domains.sort_by(|a, b| a.domain.cmp(&b.domain));
    }
    Ok((domains, targets))
}
