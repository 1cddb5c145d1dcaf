//! How it is elsewhere at the same time: how much of a source arrives from which country, so that a country that falls
//! silent learns whether the source was heard in the others (ruling intelligence 24), and how often a target without a
//! control fails in which (ruling intelligence 22).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::actor::{Kind, Operation, Turn, View};
use crate::change::constants::{OUTAGE_EDGE_SHARE, OUTAGE_ELSE, OUTAGE_SHARE, PROFILE_DAYS, SILENCE_EXPECTED};
use crate::change::series::{Spell, total};
use crate::country::{SetElsewhere, SetFailing};
use crate::kv::{Direction, Row, Table};
use crate::time::SECOND;
use crate::verdict::constants::{ACCESSIBLE_VOTES, DOWN_RATE_COUNTRIES};
use crate::verdict::network::{down_rate, down_rate_but};
use crate::{Result, order};

/// Measurements by hour, by source, day and country.
const VOLUMES: Table<(u8, u32, String), Hours> = Table::new(60);
/// Silences that countries asked about: country, source, start.
const ASKED: Table<AskKey, Asked> = Table::new(61);
/// Those whose answer may have changed.
const TO_ANSWER: Table<AskKey, ()> = Table::new(62);

/// Failures of targets without a control by target, block of days and country.
const FAILING: Table<(String, u32, String), Failing> = Table::new(63);

/// Those of which countries may have to be told.
const TO_TELL: Table<(String, u32), ()> = Table::new(64);

type AskKey = (String, u8, i64);

/// Answers in one operation: each reads a month of all countries.
const AT_ONCE: usize = 3;
/// Questions looked at in one operation for whether their answers may change.
const TOUCHED_AT_ONCE: usize = 400;
/// Blocks of targets in one operation: each may be news for every country.
const TOLD_AT_ONCE: usize = 1;
/// Answers are looked at again once in so many publish intervals.
const INTERVALS: i64 = 6;
const TIMER: &str = "elsewhere";
const TELL_TIMER: &str = "failing";
/// A country has less than usual under this share of it.
const USUAL: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Hours([u32; 24]);
impl Row for Hours {}

/// What other countries had of a source in the time of a silence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Other countries from which enough was expected.
    pub countries: u32,
    /// Those with less than half of it.
    pub reduced: u32,
    /// Newest hour that half of them were heard in, hours since the epoch.
    pub newest: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Asked {
    end: i64,
    answer: Option<Elsewhere>,
}
impl Row for Asked {}

/// A country reports measurements by (source, day, hour).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct VolumeDays {
    pub country: String,
    pub days: Vec<(u8, u32, [u32; 24])>,
}

impl Operation for VolumeDays {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "volume_days";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (source, day, hours) in &self.days {
            let key = (*source, *day, self.country.clone());
            match *hours == [0; 24] {
                true => VOLUMES.delete(turn, &key),
                false => VOLUMES.put(turn, &key, &Hours(*hours))?,
            }
        }
        let days = self.days.into_iter().map(|(source, day, _)| (source, day)).collect();
        TouchAsked { country: self.country, days, after: None }.run(turn)
    }
}

/// The answers to other countries that the volumes of these days may change, some at a time by timer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TouchAsked {
    pub country: String,
    /// (source, day)
    pub days: Vec<(u8, u32)>,
    pub after: Option<(String, u8, i64)>,
}

impl Operation for TouchAsked {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "touch_asked";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut range = ASKED.range();
        if let Some(after) = &self.after {
            range.start = ASKED.prefix(after).end.unwrap_or_default();
        }
        let asked = ASKED.scan(turn, &range, Direction::Ascending, TOUCHED_AT_ONCE)?;
        let last = asked.last().map(|(key, _)| key.clone()).filter(|_| asked.len() == TOUCHED_AT_ONCE);
        let mut any = false;
        for (key, row) in asked {
            let (first, last) = (key.2.div_euclid(24) - PROFILE_DAYS, row.end.div_euclid(24) + 1);
            let of = |(of, day): &(u8, u32)| *of == key.1 && (first..=last).contains(&i64::from(*day));
            if key.0 != self.country && self.days.iter().any(of) {
                TO_ANSWER.put(turn, &key, &())?;
                any = true;
            }
        }
        if any {
            soon(turn)?;
        }
        let Some(last) = last else { return Ok(()) };
        let timer = format!("touch/{}/{:?}/{}", self.country, self.days.first(), self.days.len());
        let now = turn.now;
        turn.schedule(&timer, now, &TouchAsked { after: Some(last), ..self })
    }
}

/// A country asks about a silence from `start` to `end`; without `end` it does no longer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskElsewhere {
    pub country: String,
    pub source: u8,
    pub start: i64,
    pub end: Option<i64>,
}

impl Operation for AskElsewhere {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "ask_elsewhere";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (self.country, self.source, self.start);
        let Some(end) = self.end else {
            ASKED.delete(turn, &key);
            TO_ANSWER.delete(turn, &key);
            return Ok(());
        };
        ASKED.put(turn, &key, &Asked { end, answer: None })?;
        TO_ANSWER.put(turn, &key, &())?;
        soon(turn)
    }
}

fn soon(turn: &mut Turn<'_>) -> Result<()> {
    if turn.scheduled(TIMER)?.is_some() {
        return Ok(());
    }
    let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule(TIMER, due, &Answer)
}

/// Answers the next questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer;

impl Operation for Answer {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "answer_elsewhere";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let open = TO_ANSWER.scan(turn, &TO_ANSWER.range(), Direction::Ascending, AT_ONCE)?;
        for (key, ()) in &open {
            TO_ANSWER.delete(turn, key);
            let Some(asked) = ASKED.get(turn, key)? else { continue };
            let (country, source, start) = key.clone();
            let elsewhere = elsewhere(&turn.view(), &country, source, (start, asked.end))?;
            if asked.answer == Some(elsewhere) {
                continue;
            }
            ASKED.put(turn, key, &Asked { answer: Some(elsewhere), ..asked })?;
            turn.send(country, &SetElsewhere { source, start, elsewhere })?;
        }
        if open.len() == AT_ONCE {
            let now = turn.now;
            turn.schedule(TIMER, now, &Answer)?;
        }
        Ok(())
    }
}

/// One other country around a silence.
#[derive(Default)]
struct Other {
    /// Sums by hour of the day over the days before.
    usual: [u64; 24],
    /// Hours of the silence with measurements.
    heard: Vec<(i64, u32)>,
}

impl Other {
    /// Expected and observed measurements of some hours.
    fn between(&self, start: i64, end: i64) -> (f64, f64) {
        let sum: u64 = (start..end).filter_map(|hour| self.usual.get(usize::try_from(hour.rem_euclid(24)).ok()?)).sum();
        let heard = self.heard.iter().filter(|(hour, _)| (start..end).contains(hour));
        (sum as f64 / PROFILE_DAYS as f64, heard.map(|(_, count)| f64::from(*count)).sum())
    }
}

fn elsewhere(view: &View<'_>, country: &str, source: u8, (start, end): (i64, i64)) -> Result<Elsewhere> {
    let day = |hour: i64| u32::try_from(hour.div_euclid(24).max(0)).unwrap_or(0);
    let first = day(start - PROFILE_DAYS * 24);
    let mut others: BTreeMap<String, Other> = BTreeMap::new();
    let range = VOLUMES.between(&(source, first), &(source, day(end).saturating_add(1)));
    VOLUMES.visit(view, range, Direction::Ascending, |(_, of, name), Hours(hours)| {
        if name != country {
            let other = others.entry(name).or_default();
            for (hour, count) in (i64::from(of) * 24..).zip(hours) {
                if of < day(start) {
                    let usual = other.usual.get_mut(usize::try_from(hour.rem_euclid(24)).unwrap_or(0));
                    usual.into_iter().for_each(|sum| *sum += u64::from(count));
                } else if count > 0 && (start..end).contains(&hour) {
                    other.heard.push((hour, count));
                }
            }
        }
        Ok(true)
    })?;
    others.retain(|_, other| other.between(start, end).0 >= SILENCE_EXPECTED);
    let mut newest: Vec<i64> = others.values().filter_map(|other| other.heard.last()).map(|(hour, _)| *hour).collect();
    newest.sort_unstable();
    // Countries without anything are as late as can be.
    let late = others.len() - newest.len();
    let newest = (others.len() / 2).checked_sub(late).and_then(|at| newest.get(at)).copied().unwrap_or(start - 1);
    let known = end.min(newest + 1);
    let enough: Vec<(f64, f64)> = others.values().map(|other| other.between(start, known)).collect();
    let enough = enough.iter().filter(|(expected, _)| *expected >= SILENCE_EXPECTED);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(Elsewhere {
        countries: count(enough.clone().count()),
        reduced: count(enough.filter(|(expected, heard)| *heard < USUAL * expected).count()),
        newest,
    })
}

/// Failures of a target in a country and block of days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Failing {
    spells: Vec<Spell>,
    /// What the country was last told of the others.
    told: Told,
}
impl Row for Failing {
    const VERSION: u8 = 2;
}

/// What a country is told of a target in the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// Share of failures, percent.
    percent: u8,
    /// Spans in which it was out of order, one bit each.
    outages: u128,
}

/// A country reports failures of targets without a control, by target, block and span of hours.
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
        for (target, block, spells) in self.blocks {
            let key = (target.clone(), block, self.country.clone());
            match spells.is_empty() {
                true => FAILING.delete(turn, &key),
                false => {
                    let told = FAILING.get(turn, &key)?.map(|row| row.told).unwrap_or_default();
                    FAILING.put(turn, &key, &Failing { spells, told })?;
                }
            }
            TO_TELL.put(turn, &(target, block), &())?;
        }
        if turn.scheduled(TELL_TIMER)?.is_some() {
            return Ok(());
        }
        let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
        turn.schedule(TELL_TIMER, due, &TellFailing)
    }
}

/// Tells countries what became another rate.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellFailing;

impl Operation for TellFailing {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "tell_failing";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let open = TO_TELL.scan(turn, &TO_TELL.range(), Direction::Ascending, TOLD_AT_ONCE)?;
        for ((target, block), ()) in &open {
            TO_TELL.delete(turn, &(target.clone(), *block));
            let rows = FAILING.scan(turn, &FAILING.prefix(&(target.clone(), *block)), Direction::Ascending, 300)?;
            let rates = Rates::of(rows.iter().map(|(_, row)| row.spells.as_slice()));
            for ((.., country), row) in &rows {
                let told = rates.others(&row.spells);
                if told != row.told {
                    let key = (target.clone(), *block, country.clone());
                    FAILING.put(turn, &key, &Failing { told, ..row.clone() })?;
                    let rates = vec![(target.clone(), *block, told.percent, told.outages)];
                    turn.send(country.clone(), &SetFailing { rates })?;
                }
            }
        }
        if open.len() == TOLD_AT_ONCE {
            let now = turn.now;
            turn.schedule(TELL_TIMER, now, &TellFailing)?;
        }
        Ok(())
    }
}

/// How often a target fails in all countries in a block; each country asks for the others, so the rates are sorted once.
struct Rates {
    /// Of the whole block.
    all: Vec<f64>,
    /// By span, of countries where it works in the rest of the block. Where it is blocked all the time says nothing of an
    /// outage, however many countries block it.
    spans: BTreeMap<u8, Vec<f64>>,
}

impl Rates {
    fn of<'a>(countries: impl Iterator<Item = &'a [Spell]>) -> Rates {
        let mut rates = Rates { all: Vec::new(), spans: BTreeMap::new() };
        for spells in countries {
            rates.all.extend(share(total(spells)));
            for (place, rate) in by_span(spells) {
                rates.spans.entry(place).or_default().push(rate);
            }
        }
        order::sort_by(&mut rates.all, f64::total_cmp);
        rates.spans.values_mut().for_each(|rates| order::sort_by(rates, f64::total_cmp));
        rates
    }

    /// What a country with these failures is told of the others.
    fn others(&self, own: &[Spell]) -> Told {
        Told { percent: self.percent(own), outages: self.outages(own) }
    }

    /// The median rate of failures in the other countries with enough measurements, in steps of five percent, so that a
    /// measurement more rarely changes it; 0 when they are too few.
    fn percent(&self, own: &[Spell]) -> u8 {
        let steps = (median_but(&self.all, share(total(own))).unwrap_or(0.0) * 20.0).round().clamp(0.0, 20.0);
        5 * steps as u8
    }

    /// Spans in which the target was out of order, one bit each: the median of the other countries failed.
    fn outages(&self, own: &[Spell]) -> u128 {
        let own: BTreeMap<u8, f64> = by_span(own).collect();
        let median = |(place, rates): (&u8, &Vec<f64>)| Some((*place, median_but(rates, own.get(place).copied())?));
        let medians: BTreeMap<u8, f64> = self.spans.iter().filter_map(median).collect();
        let fails = |place: Option<u8>, least: f64| {
            place.and_then(|place| medians.get(&place)).is_some_and(|median| *median >= least)
        };
        let is_out = |place: u8| {
            let beside = [place.checked_sub(1), place.checked_add(1)];
            fails(Some(place), OUTAGE_SHARE)
                || fails(Some(place), OUTAGE_EDGE_SHARE) && beside.into_iter().any(|place| fails(place, OUTAGE_SHARE))
        };
        medians.keys().filter(|place| is_out(**place)).fold(0, |spans, place| spans | 1 << *place)
    }
}

/// The median of the rates but for one's own; `None` when they are of too few countries.
fn median_but(sorted: &[f64], own: Option<f64>) -> Option<f64> {
    let others = sorted.len() - usize::from(own.is_some());
    (others >= DOWN_RATE_COUNTRIES).then(|| own.map_or_else(|| down_rate(sorted), |own| down_rate_but(sorted, own)))
}

/// A country's rate in each span of which it says something, where the target works in the rest of the block.
fn by_span(spells: &[Spell]) -> impl Iterator<Item = (u8, f64)> {
    let (failed, said) = total(spells);
    spells.iter().filter_map(move |spell| {
        let rest = share((failed - spell.failed, said - spell.said)).filter(|rest| *rest < OUTAGE_ELSE)?;
        let now = share((spell.failed, spell.said))?;
        // Where it fails as often as ever nothing is out of order.
        Some((spell.place, if 2.0 * rest <= now { now } else { 0.0 }))
    })
}

/// The share of failures among measurements, of which there are enough to say so.
fn share((failed, said): (u32, u32)) -> Option<f64> {
    (said as usize >= ACCESSIBLE_VOTES).then(|| f64::from(failed) / f64::from(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six countries with ten measurements in each of 20 spans, of which those in `out` fail in the first `failing`.
    fn rows(failing: usize, out: &[(u8, u32)]) -> Vec<Vec<Spell>> {
        let spell = |country: usize, place: u8| {
            let failed = out.iter().find(|(of, _)| *of == place && country < failing).map_or(0, |(_, failed)| *failed);
            Spell { place, failed, said: 10 }
        };
        (0..6).map(|country| (0..20).map(|place| spell(country, place)).collect()).collect()
    }

    #[test]
    fn a_service_is_out_of_order_where_most_countries_fail_at_once_and_at_the_edges_of_that() {
        let first = |rows: &[Vec<Spell>]| Rates::of(rows.iter().map(Vec::as_slice)).others(&rows[0]).outages;
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
}
