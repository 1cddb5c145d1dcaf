//! How often a target fails in each country at the same time, so that a country can tell a block of the target from a
//! target that is down (decision failing-elsewhere).
//!
//! A country that found a block to begin asks for a comparison ([`Compare`]). Then every country that measures the
//! target counts its failures in that block of days ([`CountFailures`]), reports them ([`FailingBlocks`]) and is told
//! about the others ([`SetFailing`]). Targets that are tested without a control of their own are always counted.
//!
//! | Module | What |
//! |---|---|
//! | `countries` | a compact set of countries |
//! | `rates` | failure rates in the other countries |

mod countries;
mod rates;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::countries::CountryCodes;
use self::rates::{FailureRates, FailuresElsewhere};
use super::TARGETS;
use crate::country::{CountFailures, FailingElsewhere, SetFailing, needs_peers};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Row, Table};
use engine::time::{HOUR, SECOND};
use facts::change::series::Failures;

/// Failures by target, block of days and country.
const FAILING: Table<(String, u32, String), Failing> = Table::derived(63);
/// The (target, block of days) about which countries may have to be told.
const TO_TELL: Table<(String, u32), ()> = Table::derived(64);
/// Countries that asked about a target in a block of days.
const ASKING: Table<(String, u32, String), Asking> = Table::derived(126);
/// The (target, block of days) about which any country asked, with the countries that count.
const COMPARISONS: Table<(String, u32), Comparison> = Table::derived(121);
/// The (target, block of days) which other countries may have to count.
const TO_COUNT: Table<(String, u32), ()> = Table::derived(122);

/// The (target, block of days) about which a country asked, by the time when the answer is due.
const TO_ANSWER: Table<(Timestamp, String, u32), ()> = Table::derived(125);
/// Targets that a country measures and did not measure before.
const NEWLY_MEASURED: Table<(String,), ()> = Table::derived(124);

/// Newly measured targets in one operation. Countries may have asked about each in many blocks of days.
const NEW_AT_ONCE: usize = 2;
/// Blocks of days in one operation of telling. Each may be news for every country.
const TOLD_AT_ONCE: usize = 1;
/// Blocks of days in one operation that asks countries to count. It reads a row of each country that measures the
/// target.
const COUNTED_AT_ONCE: usize = 20;
/// Countries are told once in so many publish intervals, or earlier if one of them has waited that long for its answer.
const INTERVALS: i64 = 6;
const TELL_TIMER: &str = "failing";
const COUNT_TIMER: &str = "count_failures";
const ANSWER_TIMER: &str = "answer_failing";
/// Answers that become due in one operation.
const ANSWERS_AT_ONCE: usize = 200;

/// Failures of a target in a country and block of days.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Failing {
    failures: Failures,
    /// What the country was last told about the others.
    told: FailuresElsewhere,
    /// The beginning of the comparison in which it was told. Once no country asks any more, the countries forget.
    since: Timestamp,
}
impl Row for Failing {
    const VERSION: u8 = 4;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Asking {
    /// Since when the country waits for its answer; `None` when it has the answer.
    since: Option<Timestamp>,
}
impl Row for Asking {}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Comparison {
    since: Timestamp,
    /// Countries that were asked to count.
    counting: CountryCodes,
    /// Countries among them that have not reported yet.
    owing: CountryCodes,
}
impl Row for Comparison {
    const VERSION: u8 = 2;
}

impl Comparison {
    /// Complete when all countries have reported, or after an hour. The rates of half of the countries differ from the
    /// rates of all, and each message is work for all countries, so the missing reports are waited for.
    fn is_complete(&self, now: Timestamp) -> bool {
        self.owing.is_empty() || now >= self.due()
    }

    fn due(&self) -> Timestamp {
        self.since.plus(HOUR)
    }
}

/// The countries that ask about a target in a block of days.
fn asking(turn: &Turn<'_>, key: &(String, u32)) -> Result<BTreeMap<String, Asking>> {
    let rows = ASKING.scan(turn, &ASKING.prefix(key), Direction::Ascending, 300)?;
    Ok(rows.into_iter().map(|((.., country), row)| (country, row)).collect())
}

/// A country asks how targets failed in the other countries, in blocks of days in which it found a block to begin. Or
/// it stops asking.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compare {
    pub country: String,
    /// (target, block of days, whether the country asks)
    pub blocks: Vec<(String, u32, bool)>,
}

impl Operation for Compare {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "compare";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        for (target, block, asks) in self.blocks {
            let key = (target, block);
            if ASKING.first(turn, &ASKING.prefix(&key))?.is_none() {
                let comparison = COMPARISONS.get(turn, &key)?.unwrap_or_default();
                COMPARISONS.put(turn, &key, &Comparison { since: turn.now, ..comparison })?;
            }
            let own = (key.0.clone(), key.1, self.country.clone());
            if asks {
                let now = turn.now;
                ASKING.put(turn, &own, &Asking { since: Some(now) })?;
                let due = now.plus(patience(turn));
                answer_at(turn, due, &key)?;
            } else {
                ASKING.delete(turn, &own);
            }
            TO_COUNT.put(turn, &key, &())?;
        }
        let now = turn.now;
        turn.schedule(COUNT_TIMER, now, &AskToCount)
    }
}

/// A country measures a target for the first time. It counts in the blocks of days that others ask about.
pub(super) fn measures(turn: &mut Turn<'_>, target: &str) -> Result<()> {
    let of_target = (target.to_owned(),);
    if COMPARISONS.first(turn, &COMPARISONS.prefix(&of_target))?.is_none() {
        return Ok(());
    }
    NEWLY_MEASURED.put(turn, &of_target, &())?;
    let now = turn.now;
    turn.schedule(COUNT_TIMER, now, &AskToCount)
}

/// Asks countries to count where a country asks, and to stop where none asks any more.
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
            let mut tell = |country: String, counts| {
                out.entry(country).or_default().push((target.clone(), *block, counts));
            };
            let asking = asking(turn, key)?;
            if asking.is_empty() {
                COMPARISONS.delete(turn, key);
                comparison.counting.iter().for_each(|country| tell(country, false));
                continue;
            }
            let rows = TARGETS.scan(turn, &TARGETS.prefix(&(target.clone(),)), Direction::Ascending, 300)?;
            let measuring = rows.into_iter().map(|((_, country), _)| country);
            for country in measuring.chain(asking.into_keys()) {
                if comparison.counting.insert(&country) {
                    comparison.owing.insert(&country);
                    tell(country, true);
                }
            }
            COMPARISONS.put(turn, key, &comparison)?;
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

/// A country reports failures by target, block of days and span of hours.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FailingBlocks {
    pub country: String,
    pub blocks: Vec<(String, u32, Failures)>,
}

impl Operation for FailingBlocks {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "failing_blocks";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let (mut news, mut answers) = (false, false);
        for (target, block, failures) in self.blocks {
            let key = (target.clone(), block, self.country.clone());
            match failures.spells.is_empty() {
                true => FAILING.delete(turn, &key),
                false => {
                    let row = FAILING.get(turn, &key)?.unwrap_or_default();
                    FAILING.put(turn, &key, &Failing { failures, ..row })?;
                }
            }
            let key = (target, block);
            let mut comparison = COMPARISONS.get(turn, &key)?.unwrap_or_default();
            if comparison.owing.remove(&self.country) {
                answers |= comparison.owing.is_empty();
                COMPARISONS.put(turn, &key, &comparison)?;
            }
            if comparison.is_complete(turn.now) {
                TO_TELL.put(turn, &key, &())?;
                news = true;
            }
        }
        if news { tell_soon(turn, answers) } else { Ok(()) }
    }
}

/// The time, in microseconds, in which countries report what was imported together. An answer takes this long, because
/// the measurements of other countries may not have been counted yet.
fn patience(turn: &Turn<'_>) -> i64 {
    INTERVALS * i64::from(turn.settings.publish_interval) * SECOND
}

/// Schedules the answer about a block of days. Countries that ask in the same publish interval are answered together.
fn answer_at(turn: &mut Turn<'_>, due: Timestamp, (target, block): &(String, u32)) -> Result<()> {
    let interval = i64::from(turn.settings.publish_interval.max(1)) * SECOND;
    let due = Timestamp((due.0 / interval + 1) * interval);
    TO_ANSWER.put(turn, &(due, target.clone(), *block), &())?;
    match turn.scheduled(ANSWER_TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(ANSWER_TIMER, due, &AnswerDue),
    }
}

/// Answers the countries that have waited long enough.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AnswerDue;

impl Operation for AnswerDue {
    const ACTOR: Kind = Kind::World;
    const NAME: &'static str = "answer_due";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let waiting = TO_ANSWER.scan(turn, &TO_ANSWER.range(), Direction::Ascending, ANSWERS_AT_ONCE)?;
        for (key, ()) in waiting {
            if key.0 > turn.now {
                break;
            }
            TO_ANSWER.delete(turn, &key);
            TO_TELL.put(turn, &(key.1, key.2), &())?;
        }
        tell_soon(turn, true)?;
        match TO_ANSWER.first(turn, &TO_ANSWER.range())? {
            Some(((due, ..), ())) => turn.schedule(ANSWER_TIMER, due, &AnswerDue),
            None => Ok(()),
        }
    }
}

/// Schedules telling the countries: at once if a country waits for nothing else.
fn tell_soon(turn: &mut Turn<'_>, at_once: bool) -> Result<()> {
    let due = turn.now.plus(if at_once { 0 } else { patience(turn) });
    match turn.scheduled(TELL_TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TELL_TIMER, due, &TellFailing),
    }
}

/// Tells countries the rates that changed, and answers those that asked.
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
    let comparison = COMPARISONS.get(turn, key)?.unwrap_or_default();
    if !comparison.is_complete(turn.now) {
        return answer_at(turn, comparison.due(), key);
    }
    let mut asking = asking(turn, key)?;
    let mut rows = FAILING.scan(turn, &FAILING.prefix(key), Direction::Ascending, 300)?;
    let rates = FailureRates::of(rows.iter().map(|(_, row)| &row.failures));
    let asked_before = turn.now.plus(-patience(turn));
    // A country that asks is answered even if nothing is left to compare with.
    let mut none = asking.clone();
    for ((.., country), _) in &rows {
        none.remove(country);
    }
    rows.extend(none.into_keys().map(|country| ((target.clone(), *block, country), Failing::default())));
    for (key, row) in rows {
        let mut told = rates.others(&row.failures);
        let asks = asking.remove(&key.2);
        // For a target without a control of its own, countries are told of successes by the day.
        if asks.is_some() && !needs_peers(target) {
            told.works = rates.works(&row.failures);
        }
        let answers =
            comparison.owing.is_empty() && asks.and_then(|row| row.since).is_some_and(|since| since <= asked_before);
        if answers {
            ASKING.put(turn, &key, &Asking { since: None })?;
        }
        // A target that is always counted is never forgotten.
        let remembers = needs_peers(target) || row.since == comparison.since;
        if told == if remembers { row.told } else { FailuresElsewhere::default() } && !answers {
            continue;
        }
        let FailuresElsewhere { percent, out, works } = told;
        let country = key.2.clone();
        if !row.failures.spells.is_empty() {
            FAILING.put(turn, &key, &Failing { told, since: comparison.since, ..row })?;
        }
        let told = FailingElsewhere { target: target.clone(), block: *block, percent, out, works, answers };
        turn.send(country, &SetFailing { told })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::accessible;
    use crate::world::Summarize;
    use engine::actor::host::{self, MAX_ROWS, Space};
    use engine::actor::{ActorId, Call};
    use engine::kv::{MemoryStore, Store};
    use engine::settings::Settings;
    use facts::change::series::Spell;

    const NOW: i64 = 1_800_000_000_000_000;

    /// Performs an operation of the world and returns how many rows it changed.
    fn perform<O: Operation>(store: &mut MemoryStore, operation: &O) -> usize {
        perform_at(store, operation, 0)
    }

    /// Like [`perform`], so many microseconds later.
    fn perform_at<O: Operation>(store: &mut MemoryStore, operation: &O, later: i64) -> usize {
        let (actor, settings, now) = (ActorId::sole(Kind::World), Settings::default(), Timestamp(NOW + later));
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &*store,
            now,
            seed: [1; 32],
            settings: &settings,
        };
        let call = Call::operation(actor.name.clone(), operation).unwrap();
        let outcome = host::perform(&space, &call);
        outcome.reply.unwrap();
        let rows = outcome.batch.len();
        store.apply(outcome.batch).unwrap();
        rows
    }

    /// The target fails in the fifth of twenty spans and works in the others.
    fn out_for_six_hours() -> Failures {
        let spell = |place| Spell { place, failed: u32::from(place == 4) * 9, said: 9 };
        Failures { spells: (0..20).map(spell).collect(), before: (0, 0) }
    }

    /// A turn stays bounded however many countries there are, and however many blocks they ask about.
    #[test]
    fn questions_of_many_countries_go_out_in_turns_of_bounded_size() {
        const COUNTRIES: u16 = 250;
        let target = |number: usize| format!("site-{number:02}.example");
        let letter = |number: u16| char::from(b'A' + u8::try_from(number % 26).unwrap());
        let code = |number: u16| [letter(number / 26), letter(number)].iter().collect::<String>();
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
        assert_eq!((comparison.counting.iter().count(), comparison.owing.iter().count()), (251, 251));
        // All report that it failed for six hours.
        for country in 0..=COUNTRIES {
            let blocks = vec![(target(3), 600, out_for_six_hours())];
            most = most.max(perform(&mut store, &FailingBlocks { country: code(country), blocks }));
        }
        while TO_TELL.first(&store, &TO_TELL.range()).unwrap().is_some() {
            most = most.max(perform(&mut store, &TellFailing));
        }
        let row = FAILING.get(&store, &(target(3), 600, code(9))).unwrap().unwrap();
        assert_eq!(row.told, FailuresElsewhere { percent: 5, out: 1 << 4, works: 0 });
        while TO_ANSWER.first(&store, &TO_ANSWER.range()).unwrap().is_some() {
            most = most.max(perform_at(&mut store, &AnswerDue, HOUR));
        }
        while TO_TELL.first(&store, &TO_TELL.range()).unwrap().is_some() {
            most = most.max(perform_at(&mut store, &TellFailing, HOUR));
        }
        assert!(ASKING.get(&store, &(target(3), 600, code(7))).unwrap().unwrap().since.is_none(), "it had its answer");
        assert!(most <= MAX_ROWS, "{most} rows in a turn");
    }

    /// Decision order-of-data: countries that were told to stop have forgotten the rates. They are told the same again
    /// when a country asks.
    #[test]
    fn who_asks_after_another_has_stopped_to_ask_is_answered_in_full() {
        let mut store = MemoryStore::default();
        let target = "site.example";
        let report = |store: &mut MemoryStore| {
            for country in COUNTRIES {
                perform(
                    store,
                    &FailingBlocks { country: country.into(), blocks: vec![(target.into(), 600, out_for_six_hours())] },
                );
            }
            perform(store, &TellFailing);
        };
        const COUNTRIES: [&str; 7] = ["DE", "ES", "FI", "FR", "IT", "PL", "SE"];
        for country in COUNTRIES {
            let targets = vec![accessible(target)];
            perform(&mut store, &Summarize { country: country.into(), targets, summary: None });
        }
        let ask = |store: &mut MemoryStore, country: &str, asks: bool, at: i64| {
            let compare = Compare { country: country.into(), blocks: vec![(target.into(), 600, asks)] };
            perform_at(store, &compare, at);
            perform_at(store, &AskToCount, at);
        };
        let told = |store: &MemoryStore| {
            let row = FAILING.get(store, &(target.into(), 600, "DE".into())).unwrap().unwrap();
            (row.told.out, row.since)
        };
        ask(&mut store, "IT", true, 1);
        report(&mut store);
        assert_eq!(told(&store), (1 << 4, Timestamp(NOW + 1)));
        ask(&mut store, "IT", false, 2);
        ask(&mut store, "FR", true, 3);
        report(&mut store);
        assert_eq!(told(&store), (1 << 4, Timestamp(NOW + 3)));
        // Another country asks meanwhile. The measurements that were imported together with its question may take as
        // long to be counted.
        let interval = i64::from(Settings::default().publish_interval) * SECOND;
        let patience = INTERVALS * interval;
        ask(&mut store, "IT", true, 2 * interval);
        let waits = |store: &MemoryStore, country: &str| {
            ASKING.get(store, &(target.into(), 600, country.into())).unwrap().unwrap().since.is_some()
        };
        let mut answer = |at: i64| {
            perform_at(&mut store, &AnswerDue, at);
            perform_at(&mut store, &TellFailing, at);
            ["FR", "IT"].map(|country| waits(&store, country))
        };
        assert_eq!(answer(2 + patience), [true, true]);
        assert_eq!(answer(interval + patience), [false, true]);
        assert_eq!(answer(3 * interval + patience), [false, false]);
    }

    /// A country that never reports holds up the others for an hour, not for ever. No further message is needed for
    /// that.
    #[test]
    fn who_never_reports_is_waited_for_an_hour() {
        let mut store = MemoryStore::default();
        let target = "site.example";
        let measure = |store: &mut MemoryStore, country: &str| {
            let targets = vec![accessible(target)];
            perform(store, &Summarize { country: country.into(), targets, summary: None });
        };
        let countries = ["DE", "ES", "FI", "FR", "IT", "PL", "SE"];
        countries.into_iter().chain(["XK"]).for_each(|country| measure(&mut store, country));
        perform(&mut store, &Compare { country: "IT".into(), blocks: vec![(target.into(), 600, true)] });
        perform(&mut store, &AskToCount);
        for country in countries {
            let blocks = vec![(target.into(), 600, out_for_six_hours())];
            perform(&mut store, &FailingBlocks { country: country.into(), blocks });
        }
        let told = |store: &MemoryStore, country: &str| {
            FAILING.get(store, &(target.into(), 600, country.into())).unwrap().unwrap().told.out
        };
        // Runs only what is due by itself.
        let until = |store: &mut MemoryStore, minutes: i64| {
            for minute in 0..=minutes {
                perform_at(store, &AnswerDue, minute * HOUR / 60);
                while TO_TELL.first(store, &TO_TELL.range()).unwrap().is_some() {
                    perform_at(store, &TellFailing, minute * HOUR / 60);
                }
            }
            ["DE", "IT"].map(|country| told(store, country))
        };
        assert_eq!(until(&mut store, 59), [0, 0]);
        assert_eq!(until(&mut store, 61), [1 << 4, 1 << 4]);
    }
}
