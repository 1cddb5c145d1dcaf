//! What countries tell each other through the world: where a target worked (a control for tests without one, decision
//! controls-from-peers), and how often it fails elsewhere (the prior for sites that are down, decision
//! failing-elsewhere).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::TARGETS;
use crate::country::{Peers, RateElsewhere, SetOutside, SetRatesElsewhere};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Row, Table};
use engine::time::{HOUR, SECOND};
use facts::verdict::constants::{DOWN_RATE_COUNTRIES, PEER_NETWORKS, PEER_SESSIONS};
use facts::verdict::network::{down_rate_but, everywhere_but};

/// Most days in one report, so that the answers to it stay within one operation.
pub const DAYS_AT_ONCE: usize = 40;
/// Targets whose priors are sent in one operation. It reads one row and changes three for each country that tests a
/// target.
const PRIORS_AT_ONCE: usize = 20;
/// The first change is sent after so many publish intervals.
const INTERVALS: i64 = 6;

/// The successes in one country, and whether it was told of those in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct CountryPeers {
    peers: Peers,
    told: bool,
}

/// Successes of one target on one day, by country.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Day(BTreeMap<String, CountryPeers>);
impl Row for Day {}

const DAYS: Table<(String, u32), Day> = Table::derived(18);
const CHANGED: Table<(String,), ()> = Table::derived(19);
const PRIORS_SENT: Table<(), Timestamp> = Table::derived(20);

/// A country reports on how many sessions and networks targets worked, by day.
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
                Some(peers) => row.0.insert(self.country.clone(), CountryPeers { peers, told }),
                None => row.0.remove(&self.country),
            };
            let sum = |from: &mut dyn Iterator<Item = &CountryPeers>| {
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
                    // A source was removed in other countries, so the control is gone.
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

/// Notes that the failure rate of a target changed in some country.
pub(super) fn prior_changed(turn: &mut Turn<'_>, target: &str) -> Result<()> {
    CHANGED.put(turn, &(target.to_owned(),), &())?;
    if turn.scheduled("priors")?.is_none() {
        let last = PRIORS_SENT.get(turn, &())?.map_or(Timestamp::MIN, |last| last.plus(HOUR));
        // Wait until the other countries of an import have reported their rates.
        let due = last.max(turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND));
        turn.schedule("priors", due, &SendPriors)?;
    }
    Ok(())
}

/// Sends each country that tests a changed target its failure rate in the other countries, at most hourly.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SendPriors;

impl Operation for SendPriors {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "send_priors";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let changed = CHANGED.scan(turn, &CHANGED.range(), Direction::Ascending, PRIORS_AT_ONCE)?;
        let mut out: BTreeMap<String, Vec<RateElsewhere>> = BTreeMap::new();
        for ((target,), ()) in &changed {
            CHANGED.delete(turn, &(target.clone(),));
            let rows = TARGETS.scan(turn, &TARGETS.prefix(&(target.clone(),)), Direction::Ascending, 300)?;
            let rates: Vec<(String, f64)> =
                rows.into_iter().filter_map(|((_, country), row)| Some((country, row.failure_rate?))).collect();
            let mut sorted: Vec<f64> = rates.iter().map(|(_, rate)| *rate).collect();
            sorted.sort_by(f64::total_cmp);
            let others = rates.len().saturating_sub(1);
            let countries = if others < DOWN_RATE_COUNTRIES { 0 } else { u32::try_from(others).unwrap_or(u32::MAX) };
            for (country, own) in rates {
                let (median, everywhere) = (down_rate_but(&sorted, own), everywhere_but(&sorted, own));
                let rate = RateElsewhere { target: target.clone(), countries, median, everywhere };
                out.entry(country).or_default().push(rate);
            }
        }
        for (country, rates) in out {
            turn.send(country, &SetRatesElsewhere { rates })?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::accessible;
    use crate::world::{Latest, TargetSummary};
    use engine::actor::ActorId;
    use engine::actor::host::{self, MAX_ROWS, Space};
    use engine::kv::{MemoryStore, Overlay, Store};
    use engine::settings::Settings;
    use facts::verdict::network::down_rate;

    /// The row of a country with this failure rate.
    fn row(rate: f64) -> Latest {
        Latest::from(&TargetSummary { failure_rate: Some(rate), ..accessible("") })
    }

    /// A turn stays bounded however many targets changed in however many countries.
    #[test]
    fn priors_of_many_targets_go_out_in_turns_of_bounded_size() {
        const COUNTRIES: u16 = 250;
        let actor = ActorId::sole(Kind::World);
        let (settings, now) = (Settings::default(), Timestamp(1_800_000_000_000_000));
        let mut store = MemoryStore::default();
        let mut space = Overlay::new(&store);
        let names: Vec<String> = (0..50).map(|number| format!("site-{number:02}.example")).collect();
        for name in &names {
            CHANGED.put(&mut space, &(name.clone(),), &()).unwrap();
            for country in 0..COUNTRIES {
                let code = format!("{country:03}");
                TARGETS.put(&mut space, &(name.clone(), code), &row(f64::from(country) / 250.0)).unwrap();
            }
        }
        let batch = space.into_batch();
        store.apply(batch).unwrap();
        let mut turns = 0;
        while CHANGED.first(&store, &CHANGED.range()).unwrap().is_some() {
            let waiting = CHANGED.scan(&store, &CHANGED.range(), Direction::Ascending, 99).unwrap().len();
            let space = Space {
                program: &crate::testing::PROGRAM,
                actor: &actor,
                rows: &store,
                now,
                seed: [1; 32],
                settings: &settings,
            };
            let call = engine::actor::Call::operation(actor.name.clone(), &SendPriors).unwrap();
            let outcome = host::perform(&space, &call);
            outcome.reply.unwrap();
            assert!(outcome.batch.len() <= MAX_ROWS, "{} rows", outcome.batch.len());
            store.apply(outcome.batch).unwrap();
            let left = CHANGED.scan(&store, &CHANGED.range(), Direction::Ascending, 99).unwrap().len();
            assert!(waiting - left <= PRIORS_AT_ONCE, "{waiting} targets became {left} in one turn");
            turns += 1;
        }
        assert_eq!(turns, 3);
    }

    /// Decision failing-elsewhere: the median of the other countries, whichever country asks.
    #[test]
    fn the_rate_of_the_others_is_the_median_without_ones_own() {
        for count in 1..40_u32 {
            // With ties.
            let rates: Vec<f64> = (0..count).map(|n| f64::from(n * 7 % 11) / 11.0).collect();
            let mut sorted = rates.clone();
            sorted.sort_by(f64::total_cmp);
            for (at, own) in rates.iter().enumerate() {
                let mut others = rates.clone();
                others.remove(at);
                assert_eq!(down_rate_but(&sorted, *own), down_rate(&others), "{at} of {rates:?}");
            }
        }
    }
}
