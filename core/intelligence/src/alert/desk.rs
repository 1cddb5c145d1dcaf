//! The one actor that knows which API keys want news of which countries. It also keeps the public numbers of `GET
//! /api/alerts/stats`.
//!
//! News is passed on in the order in which it came, to [`STEP`] keys a turn. A timer starts the next turn [`PACE`]
//! later, so that this work, which nobody waits for, never holds up clients that wait for an answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::news::News;
use super::subscription::Hear;
use crate::incidents::Severity;
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, View, operation};
use engine::documents::{Family, Rendered};
use engine::kv::{Direction, Row, Table};
use engine::time::{DAY, HOUR, SECOND};

/// Name of the document.
pub const DOCUMENT: &str = "alert-stats";

pub const FAMILIES: &[Family] =
    &[Family { prefix: DOCUMENT, owner: Kind::Alert, max_age: 60, render: |view, _| Rendered::json(&stats(view)?) }];

pub const ENTRIES: &[Entry] = &[
    operation::<Pass>(),
    operation::<FanOut>(),
    operation::<Wants>(),
    operation::<Delivered>(),
    operation::<Turned>(),
];

/// Keys that one turn passes news on to. Each of them takes a row of the outbox that contains the body.
const STEP: usize = 50;
/// Time between two such turns, in microseconds. With it ten thousand keys get the news within 20 s.
const PACE: i64 = SECOND / 10;
/// Key of the timer that passes news on.
const FAN_OUT: &str = "fan out";
/// Key of the timer that removes old hours.
const HOUR_OVER: &str = "hour";
/// The key under which subscriptions to all countries are kept.
const EVERYWHERE: &str = "";
/// Hours that make up the last day, including the present one.
const HOURS_SHOWN: i64 = DAY / HOUR;

/// By country and account: the least severity that any subscription of the account wants.
const WANTED: Table<(String, String), Severity> = Table::new(16);
/// By account: all that its subscriptions want, as it last reported.
const ACCOUNTS: Table<(String,), Wish> = Table::new(17);
/// By a rising number: news that is being passed on.
const NEWS: Table<(u64,), Passing> = Table::new(18);
const TOTALS: Table<(), Totals> = Table::new(19);
/// By hour since 1970.
const HOURS: Table<(i64,), Hour> = Table::new(20);

impl Row for Severity {}

/// What all subscriptions of one key want together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Country codes, `None` for all countries, each with the least severity; each country once.
    pub countries: Vec<(Option<String>, Severity)>,
    /// Subscriptions that are enabled.
    pub active: u32,
    /// Subscriptions that were switched off because of failures of their receivers.
    pub failed: u32,
}
impl Row for Wish {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Passing {
    news: News,
    /// Whether all accounts that want every country have got the news.
    everywhere: bool,
    /// The last account that got it.
    after: Option<String>,
}
impl Row for Passing {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Totals {
    /// The number of the latest news.
    number: u64,
    active: u64,
    failed: u64,
}
impl Row for Totals {}

/// Deliveries that ended within an hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Hour {
    ended: u64,
    delivered: u64,
}
impl Row for Hour {}

/// Passes news on to the accounts that want it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pass {
    pub news: News,
}

impl Operation for Pass {
    const ACTOR: Kind = Kind::Alert;
    const NAME: &'static str = "pass";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut totals = TOTALS.get(turn, &())?.unwrap_or_default();
        totals.number += 1;
        TOTALS.put(turn, &(), &totals)?;
        NEWS.put(turn, &(totals.number,), &Passing { news: self.news, everywhere: false, after: None })?;
        // News that already waits comes first, when its timer fires.
        if turn.scheduled(FAN_OUT)?.is_some() { Ok(()) } else { step(turn) }
    }
}

/// Passes news on to the next [`STEP`] keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FanOut;

impl Operation for FanOut {
    const ACTOR: Kind = Kind::Alert;
    const NAME: &'static str = "fan_out";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        step(turn)
    }
}

/// Passes news on to as many keys as one turn may, and schedules the next turn.
fn step(turn: &mut Turn<'_>) -> Result<()> {
    let mut room = STEP;
    while room > 0 {
        let Some((key, mut passing)) = NEWS.first(turn, &NEWS.range())? else { return Ok(()) };
        let country = if passing.everywhere { passing.news.country.clone() } else { EVERYWHERE.to_owned() };
        let all = WANTED.prefix(&(country.clone(),));
        let range = match &passing.after {
            Some(after) => WANTED.after(all, &(country, after.clone())),
            None => all,
        };
        let rows = WANTED.scan(turn, &range, Direction::Ascending, room)?;
        for ((_, account), least) in &rows {
            if *least <= passing.news.severity && !(passing.everywhere && has_heard(turn, &passing.news, account)?) {
                turn.send(account.clone(), &Hear { news: passing.news.clone() })?;
            }
        }
        match rows.last() {
            Some(((_, last), _)) if rows.len() == room => {
                passing.after = Some(last.clone());
                NEWS.put(turn, &key, &passing)?;
            }
            _ if !passing.everywhere => {
                (passing.everywhere, passing.after) = (true, None);
                NEWS.put(turn, &key, &passing)?;
            }
            _ => NEWS.delete(turn, &key),
        }
        room -= rows.len();
    }
    if turn.scheduled(FAN_OUT)?.is_some() { Ok(()) } else { turn.schedule(FAN_OUT, turn.now.plus(PACE), &FanOut) }
}

/// Whether an account with a subscription for this country already got the news through a subscription for all
/// countries.
fn has_heard(turn: &Turn<'_>, news: &News, account: &str) -> Result<bool> {
    let least = WANTED.get(turn, &(EVERYWHERE.to_owned(), account.to_owned()))?;
    Ok(least.is_some_and(|least| least <= news.severity))
}

/// An account reports what its subscriptions want now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wants {
    pub account: String,
    pub wish: Wish,
}

impl Operation for Wants {
    const ACTOR: Kind = Kind::Alert;
    const NAME: &'static str = "wants";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Wants { account, wish } = self;
        let before = ACCOUNTS.get(turn, &(account.clone(),))?.unwrap_or_default();
        let key = |country: &Option<String>| (country.clone().unwrap_or_default(), account.clone());
        for (country, _) in &before.countries {
            WANTED.delete(turn, &key(country));
        }
        for (country, least) in &wish.countries {
            WANTED.put(turn, &key(country), least)?;
        }
        let mut totals = TOTALS.get(turn, &())?.unwrap_or_default();
        totals.active = (totals.active + u64::from(wish.active)).saturating_sub(u64::from(before.active));
        totals.failed = (totals.failed + u64::from(wish.failed)).saturating_sub(u64::from(before.failed));
        TOTALS.put(turn, &(), &totals)?;
        if wish == Wish::default() {
            ACCOUNTS.delete(turn, &(account,));
        } else {
            ACCOUNTS.put(turn, &(account,), &wish)?;
        }
        turn.publish(DOCUMENT)
    }
}

/// An account reports how many of its deliveries ended since its last report, and how many of them were accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delivered {
    pub ended: u32,
    pub delivered: u32,
}

impl Operation for Delivered {
    const ACTOR: Kind = Kind::Alert;
    const NAME: &'static str = "delivered";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let key = (turn.now.0.div_euclid(HOUR),);
        let mut hour = HOURS.get(turn, &key)?.unwrap_or_default();
        hour.ended += u64::from(self.ended);
        hour.delivered += u64::from(self.delivered);
        HOURS.put(turn, &key, &hour)?;
        forget_hours(turn)
    }
}

/// Removes the hours that are too old to count.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turned;

impl Operation for Turned {
    const ACTOR: Kind = Kind::Alert;
    const NAME: &'static str = "turned";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        forget_hours(turn)
    }
}

/// The first hour that counts.
fn first_hour(now: Timestamp) -> i64 {
    now.0.div_euclid(HOUR) - HOURS_SHOWN + 1
}

fn forget_hours(turn: &mut Turn<'_>) -> Result<()> {
    let old = HOURS.between(&(0_i64,), &(first_hour(turn.now),));
    for (key, _) in HOURS.scan(turn, &old, Direction::Ascending, 500)? {
        HOURS.delete(turn, &key);
    }
    if let Some(((hour,), _)) = HOURS.first(turn, &HOURS.range())? {
        turn.schedule(HOUR_OVER, Timestamp((hour + HOURS_SHOWN) * HOUR), &Turned)?;
    }
    turn.publish(DOCUMENT)
}

/// Public numbers over all subscriptions. They are up to two minutes late.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AlertStats {
    pub active_subscriptions: u64,
    /// Deliveries that ended in the last 24 hours, either accepted by their receivers or given up.
    #[serde(rename = "totalDeliveries24h")]
    pub total_deliveries_24h: u64,
    /// Countries that some subscription names. All countries count once a subscription is for all of them.
    pub countries_monitored: u64,
    /// 0 to 1: the share of those deliveries that were accepted; 0 if there are none.
    pub webhook_success_rate: f64,
    /// Subscriptions that were switched off because their receiver answered 410, or failed 20 attempts in a row over at
    /// least a day.
    pub disabled_by_failures: u64,
}

fn stats(view: &View<'_>) -> Result<AlertStats> {
    let totals = TOTALS.get(view, &())?.unwrap_or_default();
    let mut day = Hour::default();
    HOURS.visit(view, HOURS.between(&(first_hour(view.now),), &(i64::MAX,)), Direction::Ascending, |_, hour| {
        day.ended += hour.ended;
        day.delivered += hour.delivered;
        Ok(true)
    })?;
    Ok(AlertStats {
        active_subscriptions: totals.active,
        total_deliveries_24h: day.ended,
        countries_monitored: countries(view)?,
        webhook_success_rate: if day.ended == 0 { 0.0 } else { day.delivered as f64 / day.ended as f64 },
        disabled_by_failures: totals.failed,
    })
}

fn countries(view: &View<'_>) -> Result<u64> {
    let everywhere = EVERYWHERE.to_owned();
    if WANTED.first(view, &WANTED.prefix(&(everywhere,)))?.is_some() {
        return Ok(facts::starter::Country::all().len() as u64);
    }
    // Skips from country to country, however many accounts subscribe to one.
    let (mut found, mut range) = (0, WANTED.range());
    while let Some(((country, _), _)) = WANTED.first(view, &range)? {
        found += 1;
        let Some(start) = WANTED.prefix(&(country,)).end else { break };
        range.start = start;
    }
    Ok(found)
}
