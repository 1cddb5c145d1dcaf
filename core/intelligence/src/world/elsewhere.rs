//! Counts the measurements of each source by country. A country that falls silent then learns whether the other
//! countries had measurements of the source at the same time (decision silence-of-measurements).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::country::SetElsewhere;
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::time::SECOND;
use facts::change::constants::{PROFILE_DAYS, SILENCE_EXPECTED};

/// Measurements by hour; the key is source, day and country.
const VOLUMES: Table<(u8, u32, String), Hours> = Table::derived(60);
/// Silences that countries asked about; the key is country, source and first hour.
const ASKED: Table<AskKey, SilenceQuestion> = Table::derived(61);
/// Questions whose answer may have changed.
const TO_ANSWER: Table<AskKey, ()> = Table::derived(62);

type AskKey = (String, u8, i64);

/// Answers in one operation. Each reads a month of all countries.
const AT_ONCE: usize = 3;
/// Questions that one operation checks for a changed answer.
const TOUCHED_AT_ONCE: usize = 400;
/// Answers wait for so many publish intervals, so that changes in between are answered together.
const INTERVALS: i64 = 6;
const TIMER: &str = "elsewhere";
/// A country is reduced when it has less than this share of its usual measurements.
const USUAL: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Hours([u32; 24]);
impl Row for Hours {}

/// The measurements of a source in other countries during a silence in one country.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Other countries from which enough measurements were expected.
    pub countries: u32,
    /// Countries among them with less than half of what was expected.
    pub reduced: u32,
    /// Half of these countries have measurements in this hour or later, in hours since the epoch.
    pub newest: i64,
}

/// The end of a silence that a country asked about, and the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct SilenceQuestion {
    end: i64,
    answer: Option<Elsewhere>,
}
impl Row for SilenceQuestion {}

/// A country reports its measurements by (source, day, hour).
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

/// Marks the answers to other countries that the volumes of these days may change, some at a time by timer.
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

/// A country asks about a silence from `start` to `end`. Without `end` it stops asking.
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
        ASKED.put(turn, &key, &SilenceQuestion { end, answer: None })?;
        TO_ANSWER.put(turn, &key, &())?;
        soon(turn)
    }
}

fn soon(turn: &mut Turn<'_>) -> Result<()> {
    if turn.scheduled(TIMER)?.is_some() {
        return Ok(());
    }
    let due = turn.now.plus(INTERVALS * i64::from(turn.settings.publish_interval) * SECOND);
    turn.schedule(TIMER, due, &AnswerNext)
}

/// Answers the next questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerNext;

impl Operation for AnswerNext {
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
            ASKED.put(turn, key, &SilenceQuestion { answer: Some(elsewhere), ..asked })?;
            turn.send(country, &SetElsewhere { source, start, elsewhere })?;
        }
        if open.len() == AT_ONCE {
            let now = turn.now;
            turn.schedule(TIMER, now, &AnswerNext)?;
        }
        Ok(())
    }
}

/// Another country around the time of a silence.
#[derive(Default)]
struct Other {
    /// Measurements by hour of the day, summed over the days before the silence.
    usual: [u64; 24],
    /// Hours of the silence with measurements, and how many there were.
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
    // Countries without any measurement count as earlier than all the others.
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
