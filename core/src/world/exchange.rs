//! What countries tell each other through the world: where a target worked (a control for tests without one, ruling
//! intelligence 4) and how often it fails elsewhere (the prior for sites that are down, ruling intelligence 22).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TARGETS;
use crate::actor::{Kind, Operation, Turn};
use crate::country::{Peers, SetOutside, SetPriors};
use crate::kv::{Direction, Row, Table};
use crate::time::HOUR;
use crate::verdict::constants::{DOWN_RATE_COUNTRIES, PEER_NETWORKS, PEER_SESSIONS};
use crate::verdict::network::down_rate;
use crate::{Result, Timestamp};

/// Days in one report, so that its answers stay within one operation.
pub const DAYS_AT_ONCE: usize = 40;
/// Targets whose priors are sent in one go.
const PRIORS_AT_ONCE: usize = 40;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    peers: Peers,
    told: bool,
}

/// Successes of one (target, day) by country.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Day(BTreeMap<String, Told>);
impl Row for Day {}

const DAYS: Table<(String, u32), Day> = Table::new(18);
const CHANGED: Table<(String,), ()> = Table::new(19);
const PRIORS_SENT: Table<(), Timestamp> = Table::new(20);

/// A country reports on how many sessions and networks targets worked on some days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PeerDays {
    pub country: String,
    /// (target, day, successes); `None` where nothing is measured any more.
    pub days: Vec<(String, u32, Option<Peers>)>,
}

impl Operation for PeerDays {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "peer_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut out: BTreeMap<String, Vec<(String, u32, Peers)>> = BTreeMap::new();
        for (target, day, peers) in self.days {
            let key = (target.clone(), day);
            let mut row = DAYS.get(turn, &key)?.unwrap_or_default();
            let told = row.0.get(&self.country).is_some_and(|known| known.told);
            match peers {
                Some(peers) => row.0.insert(self.country.clone(), Told { peers, told }),
                None => row.0.remove(&self.country),
            };
            let sum = |from: &mut dyn Iterator<Item = &Told>| {
                from.fold(Peers::default(), |sum, told| Peers {
                    sessions: sum.sessions.saturating_add(told.peers.sessions),
                    networks: sum.networks.saturating_add(told.peers.networks),
                })
            };
            let all = sum(&mut row.0.values());
            for (country, told) in &mut row.0 {
                let outside = Peers {
                    sessions: all.sessions.saturating_sub(told.peers.sessions),
                    networks: all.networks.saturating_sub(told.peers.networks),
                };
                let controls = outside.sessions as usize >= PEER_SESSIONS && outside.networks as usize >= PEER_NETWORKS;
                if controls && !told.told {
                    told.told = true;
                    out.entry(country.clone()).or_default().push((target.clone(), day, outside));
                }
                if !controls && told.told {
                    // A source was removed elsewhere: the control is gone.
                    told.told = false;
                    out.entry(country.clone()).or_default().push((target.clone(), day, Peers::default()));
                }
            }
            if row.0.is_empty() {
                DAYS.delete(turn, &key);
            } else {
                DAYS.put(turn, &key, &row)?;
            }
        }
        for (country, days) in out {
            turn.send(country, &SetOutside { days })?;
        }
        Ok(())
    }
}

/// The failure rate of a target changed somewhere.
pub(super) fn prior_changed(turn: &mut Turn<'_>, target: &str) -> Result<()> {
    CHANGED.put(turn, &(target.to_owned(),), &())?;
    if turn.scheduled("priors")?.is_none() {
        let last = PRIORS_SENT.get(turn, &())?.map_or(Timestamp::MIN, |last| last.plus(HOUR));
        let due = last.max(turn.now);
        turn.schedule("priors", due, &SendPriors)?;
    }
    Ok(())
}

/// Sends each country that tests a changed target its failure rate in the others; at most hourly.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendPriors;

impl Operation for SendPriors {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "send_priors";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let changed = CHANGED.scan(turn, &CHANGED.range(), Direction::Ascending, PRIORS_AT_ONCE)?;
        let mut out: BTreeMap<String, Vec<(String, f64, u32)>> = BTreeMap::new();
        for ((target,), ()) in &changed {
            CHANGED.delete(turn, &(target.clone(),));
            let rows = TARGETS.scan(turn, &TARGETS.prefix(&(target.clone(),)), Direction::Ascending, 300)?;
            let rates: Vec<(String, f64)> =
                rows.into_iter().filter_map(|((_, country), row)| Some((country, row.failure_rate?))).collect();
            let enough = rates.len() > DOWN_RATE_COUNTRIES;
            for (country, _) in &rates {
                if !enough {
                    out.entry(country.clone()).or_default().push((target.clone(), 0.0, 0));
                    continue;
                }
                let others: Vec<f64> =
                    rates.iter().filter(|(other, _)| other != country).map(|(_, rate)| *rate).collect();
                let count = u32::try_from(others.len()).unwrap_or(u32::MAX);
                out.entry(country.clone()).or_default().push((target.clone(), down_rate(&others), count));
            }
        }
        for (country, priors) in out {
            turn.send(country, &SetPriors { priors })?;
        }
        if changed.len() == PRIORS_AT_ONCE {
            let now = turn.now;
            turn.schedule("priors", now, &SendPriors)?;
        } else {
            let now = turn.now;
            PRIORS_SENT.put(turn, &(), &now)?;
        }
        Ok(())
    }
}
