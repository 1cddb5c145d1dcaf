//! How often a target fails in which country at the same time, for who cannot tell a block of a target from one that is out
//! of order (methods 4.1 step 5, ruling intelligence 22).
//!
//! Where one country asks, since it found a block to begin there ([`Compare`]), every country that measures the target counts
//! in that block of days ([`CountFailures`]), reports ([`FailingBlocks`]) and is told of the others ([`SetFailing`]). What is
//! tested without a control of its own is counted always.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::TARGETS;
use crate::actor::{Kind, Operation, Turn};
use crate::change::constants::{BLOCK_DAYS, OUTAGE_EDGE_SHARE, OUTAGE_ELSE, OUTAGE_HOURS, OUTAGE_SHARE};
use crate::change::series::{Spell, total};
use crate::country::{CountFailures, FailingElsewhere, SetFailing, needs_peers};
use crate::kv::{Direction, Row, Table};
use crate::time::{HOUR, SECOND};
use crate::verdict::constants::{ACCESSIBLE_VOTES, DOWN_RATE_COUNTRIES, PEER_NETWORKS, PEER_SESSIONS, PEER_WINDOW};
use crate::verdict::network::{down_rate, down_rate_but};
use crate::{Result, order};

/// Failures by target, block of days and country.
const FAILING: Table<(String, u32, String), Failing> = Table::new(63);
/// Those of which countries may have to be told.
const TO_TELL: Table<(String, u32), ()> = Table::new(64);
/// Who asked about a target in a block, and who counts.
const COMPARISONS: Table<(String, u32), Comparison> = Table::new(121);
/// Those of which other countries may have to count.
const TO_COUNT: Table<(String, u32), ()> = Table::new(122);

/// Targets that a country measures which did not before.
const NEWLY_MEASURED: Table<(String,), ()> = Table::new(124);

/// Such targets in one operation: each may be asked about in many blocks.
const NEW_AT_ONCE: usize = 2;
/// Blocks of targets in one operation: each may be news for every country.
const TOLD_AT_ONCE: usize = 1;
/// Blocks of targets that countries are asked to count in one operation: it reads a row of each country that measures one.
const COUNTED_AT_ONCE: usize = 20;
/// Countries are told once in so many publish intervals, unless one waits for its answer and all have reported.
const INTERVALS: i64 = 6;
const TELL_TIMER: &str = "failing";
const COUNT_TIMER: &str = "count_failures";

/// Failures of a target in a country and block of days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Failing {
    spells: Vec<Spell>,
    /// What the country was last told of the others.
    told: Told,
}
impl Row for Failing {
    const VERSION: u8 = 3;
}

/// What a country is told of a target in the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// Share of failures, percent.
    percent: u8,
    /// Spans in which it was out of order, one bit each.
    out: u128,
    /// Spans in which it worked, of those in which it fails in the country that is told.
    works: u128,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Comparison {
    /// Countries that asked, and whether they had their answer.
    asking: BTreeMap<String, bool>,
    /// Countries that were asked to count.
    counting: BTreeSet<String>,
    /// Those of them that have not reported yet.
    owing: BTreeSet<String>,
}
impl Row for Comparison {}

/// A country asks how targets failed in the others, in blocks in which it found a block to begin; or does no longer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compare {
    pub country: String,
    /// (target, block, whether it asks)
    pub blocks: Vec<(String, u32, bool)>,
}

impl Operation for Compare {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "compare";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (target, block, asks) in self.blocks {
            let key = (target, block);
            let mut comparison = COMPARISONS.get(turn, &key)?.unwrap_or_default();
            match asks {
                true => comparison.asking.insert(self.country.clone(), false),
                false => comparison.asking.remove(&self.country),
            };
            COMPARISONS.put(turn, &key, &comparison)?;
            TO_COUNT.put(turn, &key, &())?;
        }
        let now = turn.now;
        turn.schedule(COUNT_TIMER, now, &AskToCount)
    }
}

/// A country measures a target that it did not before: it counts where others ask.
pub(super) fn measures(turn: &mut Turn<'_>, target: &str) -> Result<()> {
    let of_target = (target.to_owned(),);
    if COMPARISONS.first(turn, &COMPARISONS.prefix(&of_target))?.is_none() {
        return Ok(());
    }
    NEWLY_MEASURED.put(turn, &of_target, &())?;
    let now = turn.now;
    turn.schedule(COUNT_TIMER, now, &AskToCount)
}

/// Asks countries to count where one asks, and to stop where none does any more.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskToCount;

impl Operation for AskToCount {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "ask_to_count";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let now = turn.now;
        let new = NEWLY_MEASURED.scan(turn, &NEWLY_MEASURED.range(), Direction::Ascending, NEW_AT_ONCE)?;
        for (of_target, ()) in &new {
            NEWLY_MEASURED.delete(turn, of_target);
            let asked = COMPARISONS.scan(turn, &COMPARISONS.prefix(of_target), Direction::Ascending, usize::MAX)?;
            for (key, _) in &asked {
                TO_COUNT.put(turn, key, &())?;
            }
        }
        if !new.is_empty() {
            return turn.schedule(COUNT_TIMER, now, &AskToCount);
        }
        let open = TO_COUNT.scan(turn, &TO_COUNT.range(), Direction::Ascending, COUNTED_AT_ONCE)?;
        let mut out: BTreeMap<String, Vec<(String, u32, bool)>> = BTreeMap::new();
        for (key, ()) in &open {
            TO_COUNT.delete(turn, key);
            let Some(mut comparison) = COMPARISONS.get(turn, key)? else { continue };
            let (target, block) = key;
            let mut tell = |country: &String, counts| {
                out.entry(country.clone()).or_default().push((target.clone(), *block, counts));
            };
            if comparison.asking.is_empty() {
                COMPARISONS.delete(turn, key);
                comparison.counting.iter().for_each(|country| tell(country, false));
                continue;
            }
            let rows = TARGETS.scan(turn, &TARGETS.prefix(&(target.clone(),)), Direction::Ascending, 300)?;
            let measuring = rows.into_iter().map(|((_, country), _)| country);
            for country in measuring.chain(comparison.asking.keys().cloned()) {
                if comparison.counting.insert(country.clone()) {
                    tell(&country, true);
                    comparison.owing.insert(country);
                }
            }
            COMPARISONS.put(turn, key, &comparison)?;
            TO_TELL.put(turn, key, &())?;
            tell_soon(turn, comparison.owing.is_empty())?;
        }
        for (country, blocks) in out {
            turn.send(country, &CountFailures { blocks })?;
        }
        if open.len() == COUNTED_AT_ONCE {
            turn.schedule(COUNT_TIMER, now, &AskToCount)?;
        }
        Ok(())
    }
}

/// A country reports failures of targets, by target, block and span of hours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailingBlocks {
    pub country: String,
    pub blocks: Vec<(String, u32, Vec<Spell>)>,
}

impl Operation for FailingBlocks {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "failing_blocks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut answers = false;
        for (target, block, spells) in self.blocks {
            let key = (target.clone(), block, self.country.clone());
            match spells.is_empty() {
                true => FAILING.delete(turn, &key),
                false => {
                    let told = FAILING.get(turn, &key)?.map(|row| row.told).unwrap_or_default();
                    FAILING.put(turn, &key, &Failing { spells, told })?;
                }
            }
            let key = (target, block);
            if let Some(mut comparison) = COMPARISONS.get(turn, &key)?
                && comparison.owing.remove(&self.country)
            {
                answers |= comparison.owing.is_empty();
                COMPARISONS.put(turn, &key, &comparison)?;
            }
            TO_TELL.put(turn, &key, &())?;
        }
        tell_soon(turn, answers)
    }
}

/// At once where a country waits for nothing else.
fn tell_soon(turn: &mut Turn<'_>, at_once: bool) -> Result<()> {
    let wait = if at_once { 0 } else { INTERVALS * i64::from(turn.settings.publish_interval) * SECOND };
    let due = turn.now.plus(wait);
    match turn.scheduled(TELL_TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TELL_TIMER, due, &TellFailing),
    }
}

/// Tells countries what became another rate, and those that asked what they wait for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellFailing;

impl Operation for TellFailing {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "tell_failing";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let open = TO_TELL.scan(turn, &TO_TELL.range(), Direction::Ascending, TOLD_AT_ONCE)?;
        for (key, ()) in &open {
            TO_TELL.delete(turn, key);
            tell(turn, key)?;
        }
        if open.len() == TOLD_AT_ONCE {
            let now = turn.now;
            turn.schedule(TELL_TIMER, now, &TellFailing)?;
        }
        Ok(())
    }
}

fn tell(turn: &mut Turn<'_>, key: &(String, u32)) -> Result<()> {
    let (target, block) = key;
    let rows = FAILING.scan(turn, &FAILING.prefix(key), Direction::Ascending, 300)?;
    let rates = Rates::of(rows.iter().map(|(_, row)| row.spells.as_slice()));
    let (asking, waiting) = asking(turn, key)?;
    let none = waiting.iter().filter(|country| !rows.iter().any(|((.., of), _)| of == *country));
    let none = none.map(|country| (country.clone(), Failing::default()));
    for (country, row) in rows.iter().map(|((.., country), row)| (country.clone(), row.clone())).chain(none) {
        let mut told = rates.others(&row.spells);
        // What has no control of its own is told of successes by the day.
        if asking.contains(&country) && !needs_peers(target) {
            told.works = rates.works(&row.spells);
        }
        let answers = waiting.contains(&country);
        if told == row.told && !answers {
            continue;
        }
        if told != row.told && !row.spells.is_empty() {
            FAILING.put(turn, &(target.clone(), *block, country.clone()), &Failing { told, ..row })?;
        }
        let Told { percent, out, works } = told;
        let told = FailingElsewhere { target: target.clone(), block: *block, percent, out, works, answers };
        turn.send(country, &SetFailing { told })?;
    }
    Ok(())
}

/// Countries that ask, and those of them that get their answer now: all that count have reported.
fn asking(turn: &mut Turn<'_>, key: &(String, u32)) -> Result<(BTreeSet<String>, BTreeSet<String>)> {
    let Some(mut comparison) = COMPARISONS.get(turn, key)? else { return Ok(Default::default()) };
    let asking = comparison.asking.keys().cloned().collect();
    let all_reported = comparison.owing.is_empty();
    let waiting = comparison.asking.iter_mut().filter(|(_, answered)| all_reported && !**answered);
    let waiting: BTreeSet<String> = waiting
        .map(|(country, answered)| {
            *answered = true;
            country.clone()
        })
        .collect();
    if !waiting.is_empty() {
        COMPARISONS.put(turn, key, &comparison)?;
    }
    Ok((asking, waiting))
}

/// How often a target fails in all countries in a block; each country asks for the others, so the rates are sorted once.
struct Rates {
    /// Of the whole block.
    all: Vec<f64>,
    /// By span, and by day: of countries where it works in the rest of the block. Where it is blocked all the time says
    /// nothing of an outage, however many countries block it.
    spans: BTreeMap<u8, Vec<f64>>,
    days: BTreeMap<u8, Vec<f64>>,
    /// By span, successes within a day of it: countries with any, and how many.
    successes: Vec<(u32, u32)>,
}

impl Rates {
    fn of<'a>(countries: impl Iterator<Item = &'a [Spell]>) -> Rates {
        let (spans, days, successes) = (BTreeMap::new(), BTreeMap::new(), vec![(0, 0); SPANS]);
        let mut rates = Rates { all: Vec::new(), spans, days, successes };
        for spells in countries {
            for ((countries, all), near) in rates.successes.iter_mut().zip(near(spells)) {
                (*countries, *all) = (*countries + u32::from(near > 0), all.saturating_add(near));
            }
            rates.all.extend(share(total(spells)));
            for (place, rate) in by_window(spells, 1) {
                rates.spans.entry(place).or_default().push(rate);
            }
            for (day, rate) in by_window(spells, SPANS_OF_A_DAY) {
                rates.days.entry(day).or_default().push(rate);
            }
        }
        order::sort_by(&mut rates.all, f64::total_cmp);
        let windows = rates.spans.values_mut().chain(rates.days.values_mut());
        windows.for_each(|rates| order::sort_by(rates, f64::total_cmp));
        rates
    }

    /// What a country with these failures is told of the others.
    fn others(&self, own: &[Spell]) -> Told {
        Told { percent: self.percent(own), out: self.out(own), works: 0 }
    }

    /// The median rate of failures in the other countries with enough measurements, in steps of five percent, so that a
    /// measurement more rarely changes it; 0 when they are too few.
    fn percent(&self, own: &[Spell]) -> u8 {
        let steps = (median_but(&self.all, share(total(own))).unwrap_or(0.0) * 20.0).round().clamp(0.0, 20.0);
        5 * steps as u8
    }

    /// Spans in which the target was out of order, one bit each: the median of the other countries failed, in the span or,
    /// where too few of them measured in it, on its day.
    fn out(&self, own: &[Spell]) -> u128 {
        let (spans, days) = (medians(&self.spans, own, 1), medians(&self.days, own, SPANS_OF_A_DAY));
        let fails = |place: Option<u8>, least: f64| {
            let median = place.and_then(|place| spans.get(&place).or_else(|| days.get(&(place / SPANS_OF_A_DAY))));
            median.is_some_and(|median| *median >= least)
        };
        let is_out = |place: u8| {
            let beside = [place.checked_sub(1), place.checked_add(1)];
            fails(Some(place), OUTAGE_SHARE)
                || fails(Some(place), OUTAGE_EDGE_SHARE) && beside.into_iter().any(|place| fails(place, OUTAGE_SHARE))
        };
        (0..SPANS as u8).filter(|place| is_out(*place)).fold(0, |spans, place| spans | 1 << place)
    }

    /// Spans in which it fails here while it worked in other countries within a day: on as many networks and as often as
    /// ruling intelligence 4 asks for, where each country is another network.
    fn works(&self, own: &[Spell]) -> u128 {
        let near = near(own);
        let works = |place: u8| {
            let at = usize::from(place);
            let (Some((countries, all)), Some(near)) = (self.successes.get(at), near.get(at)) else { return false };
            let others = countries.saturating_sub(u32::from(*near > 0));
            others as usize >= PEER_NETWORKS && all.saturating_sub(*near) as usize >= PEER_SESSIONS
        };
        let failing = own.iter().filter(|spell| spell.failed > 0).map(|spell| spell.place);
        failing.filter(|place| works(*place)).fold(0, |spans, place| spans | 1 << place)
    }
}

/// Spans of a day, and of a block.
const SPANS_OF_A_DAY: u8 = (24 / OUTAGE_HOURS) as u8;
const SPANS: usize = SPANS_OF_A_DAY as usize * BLOCK_DAYS as usize;
/// Spans before and after one that are within the time of peers.
const REACH: usize = (PEER_WINDOW / HOUR / OUTAGE_HOURS) as usize - 1;

/// A country's successes within a day of each span.
fn near(spells: &[Spell]) -> Vec<u32> {
    let mut near = vec![0_u32; SPANS];
    for spell in spells {
        let place = usize::from(spell.place);
        let around = near.iter_mut().take(place + REACH + 1).skip(place.saturating_sub(REACH));
        around.for_each(|sum| *sum = sum.saturating_add(spell.said.saturating_sub(spell.failed)));
    }
    near
}

/// The medians of the other countries, by window of so many spans.
fn medians(rates: &BTreeMap<u8, Vec<f64>>, own: &[Spell], width: u8) -> BTreeMap<u8, f64> {
    let own: BTreeMap<u8, f64> = by_window(own, width).into_iter().collect();
    let median = |(window, rates): (&u8, &Vec<f64>)| Some((*window, median_but(rates, own.get(window).copied())?));
    rates.iter().filter_map(median).collect()
}

/// The median of the rates but for one's own; `None` when they are of too few countries.
fn median_but(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let others = sorted.len() - usize::from(own.is_some());
    (others >= DOWN_RATE_COUNTRIES).then(|| own.map_or_else(|| down_rate(sorted), |own| down_rate_but(sorted, own)))
}

/// A country's rate in each window of so many spans in which it measured, where the target works in the rest of the block. One
/// measurement says little, the median of many countries enough.
fn by_window(spells: &[Spell], width: u8) -> Vec<(u8, f64)> {
    let (all_failed, all_said) = total(spells);
    let rate = |failed: u32, said: u32| (said > 0).then(|| f64::from(failed) / f64::from(said));
    let windows = spells.chunk_by(|a, b| a.place / width == b.place / width);
    let of = |window: &[Spell]| {
        let (failed, said) = total(window);
        let rest = rate(all_failed.saturating_sub(failed), all_said.saturating_sub(said))?;
        let now = rate(failed, said).filter(|_| rest < OUTAGE_ELSE)?;
        // Where it fails as often as ever nothing is out of order.
        Some((window.first()?.place / width, if 2.0 * rest <= now { now } else { 0.0 }))
    };
    windows.filter_map(of).collect()
}

/// The share of failures among measurements, of which there are enough to say so.
fn share((failed, said): (u32, u32)) -> Option<f64> {
    (said as usize >= ACCESSIBLE_VOTES).then(|| f64::from(failed) / f64::from(said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::actor::host::{self, MAX_ROWS, Space};
    use crate::actor::{ActorId, Call};
    use crate::kv::{MemoryStore, Store};
    use crate::settings::Settings;
    use crate::testing::accessible;
    use crate::world::Summarize;

    /// Six countries with ten measurements in each of 20 spans, of which those in `out` fail in the first `failing`.
    fn rows(failing: usize, out: &[(u8, u32)]) -> Vec<Vec<Spell>> {
        let spell = |country: usize, place: u8| {
            let failed = out.iter().find(|(of, _)| *of == place && country < failing).map_or(0, |(_, failed)| *failed);
            Spell { place, failed, said: 10 }
        };
        (0..6).map(|country| (0..20).map(|place| spell(country, place)).collect()).collect()
    }

    /// Performs an operation of the world; how many rows it changed.
    fn perform<O: Operation>(store: &mut MemoryStore, operation: &O) -> usize {
        let (actor, settings) = (ActorId::sole(Kind::World), Settings::default());
        let now = Timestamp(1_800_000_000_000_000);
        let space = Space { actor: &actor, rows: &*store, now, seed: [1; 32], settings: &settings };
        let call = Call::operation(actor.name.clone(), operation).unwrap();
        let outcome = host::perform(&space, &call);
        outcome.reply.unwrap();
        let rows = outcome.batch.len();
        store.apply(outcome.batch).unwrap();
        rows
    }

    /// Issue, cost: a turn stays bounded however many countries there are, and however many blocks they ask about.
    #[test]
    fn questions_of_many_countries_go_out_in_turns_of_bounded_size() {
        const COUNTRIES: u16 = 250;
        let target = |number: usize| format!("site-{number:02}.example");
        let code = |number: u16| format!("{number:03}");
        let mut store = MemoryStore::default();
        let mut most = 0;
        // The targets are measured everywhere, and asked about in 12 years of blocks.
        let measured = |country: u16| Summarize {
            country: code(country),
            targets: (0..20).map(|number| accessible(&target(number))).collect(),
            summary: None,
        };
        for country in 0..COUNTRIES {
            most = most.max(perform(&mut store, &measured(country)));
        }
        for number in 0..20 {
            for blocks in (500..650).collect::<Vec<u32>>().chunks(60) {
                let blocks = blocks.iter().map(|block| (target(number), *block, true)).collect();
                most = most.max(perform(&mut store, &Compare { country: code(7), blocks }));
            }
        }
        let left =
            |store: &MemoryStore| TO_COUNT.scan(store, &TO_COUNT.range(), Direction::Ascending, 9_999).unwrap().len();
        assert_eq!(left(&store), 20 * 150);
        while left(&store) > 0 {
            most = most.max(perform(&mut store, &AskToCount));
        }
        // One more country measures them all.
        most = most.max(perform(&mut store, &measured(COUNTRIES)));
        while left(&store) > 0 || NEWLY_MEASURED.first(&store, &NEWLY_MEASURED.range()).unwrap().is_some() {
            most = most.max(perform(&mut store, &AskToCount));
        }
        let comparison = COMPARISONS.get(&store, &(target(3), 600)).unwrap().unwrap();
        assert_eq!((comparison.counting.len(), comparison.owing.len()), (251, 251));
        // All report that it failed for six hours.
        let spells: Vec<Spell> =
            (0..20).map(|place| Spell { place, failed: u32::from(place == 4) * 9, said: 9 }).collect();
        for country in 0..=COUNTRIES {
            let blocks = vec![(target(3), 600, spells.clone())];
            most = most.max(perform(&mut store, &FailingBlocks { country: code(country), blocks }));
        }
        while TO_TELL.first(&store, &TO_TELL.range()).unwrap().is_some() {
            most = most.max(perform(&mut store, &TellFailing));
        }
        let row = FAILING.get(&store, &(target(3), 600, code(9))).unwrap().unwrap();
        assert_eq!(row.told, Told { percent: 5, out: 1 << 4, works: 0 });
        assert!(COMPARISONS.get(&store, &(target(3), 600)).unwrap().unwrap().asking[&code(7)], "it had its answer");
        assert!(most <= MAX_ROWS, "{most} rows in a turn");
    }

    #[test]
    fn a_service_is_out_of_order_where_most_countries_fail_at_once_and_at_the_edges_of_that() {
        let first = |rows: &[Vec<Spell>]| Rates::of(rows.iter().map(Vec::as_slice)).others(&rows[0]).out;
        let spans = |failing, out: &[(u8, u32)]| first(&rows(failing, out));
        let day = [(3, 2), (4, 10), (5, 9), (6, 3), (8, 3)];
        assert_eq!(spans(6, &day), 0b1_0111_0000);
        assert_eq!(spans(6, &[(3, 2), (4, 10), (6, 2)]), 0b1_1000, "the last one lies apart");
        assert_eq!(spans(6, &[(4, 4)]), 0b1_0000, "in part");
        assert_eq!(spans(3, &day), 0, "two of five others are no median");
        assert_eq!(first(&rows(6, &day)[..5]), 0, "four others are too few");
        // Blocked everywhere, or shaky everywhere, all the time: no outage.
        for failed in [10, 4] {
            let always: Vec<(u8, u32)> = (0..20).map(|place| (place, failed)).collect();
            assert_eq!(spans(6, &always), 0);
        }
    }

    #[test]
    fn where_a_country_measures_once_a_day_or_less_many_of_them_tell() {
        // Country by country at another time of the day, or only on some days; out of order for two days.
        let countries = |count: u8, every: u8, fails: &dyn Fn(u8, u8) -> bool| -> Vec<Vec<Spell>> {
            let spell = |place, failed| Spell { place, failed: u32::from(failed), said: 1 };
            let places = |country: u8| {
                (0..30).filter(move |day| (day + country) % every == 0).map(move |day| 4 * day + country % 4)
            };
            (0..count)
                .map(|country| places(country).map(|place| spell(place, fails(country, place))).collect())
                .collect()
        };
        let out = |rows: &[Vec<Spell>]| Rates::of(rows.iter().map(Vec::as_slice)).others(&rows[0]).out;
        let two_days = |_: u8, place: u8| (40..48).contains(&place);
        let bits = |places: std::ops::Range<u8>| places.fold(0_u128, |spans, place| spans | 1 << place);
        assert_eq!(out(&countries(7, 1, &two_days)), bits(40..48));
        assert_eq!(out(&countries(60, 1, &two_days)), bits(40..48), "enough in each span");
        assert_eq!(out(&countries(24, 3, &two_days)), bits(40..48));
        assert_eq!(out(&countries(5, 1, &two_days)), 0, "four others");
        assert_eq!(
            out(&countries(7, 1, &|country, place| country < 3 && two_days(country, place))),
            0,
            "two of six others"
        );
        // One in ten fails anyway: no day on which most of them do.
        let mut dice = crate::testing::Dice(5);
        let flaky: Vec<bool> = (0..9_000).map(|_| dice.share() < 0.1).collect();
        let out = out(&countries(30, 1, &|country, place| flaky[usize::from(country) * 128 + usize::from(place)]));
        assert!(out.count_ones() <= 2, "{out:b}");
    }
}
