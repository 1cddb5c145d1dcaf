//! Measurements of the probe network (decision probes-confirm-probes): which of them count, and how far each probe is
//! trusted.
//!
//! Every measurement of a probe is stored like any other. When a series is read, the measurements of probes are
//! compared within their network and six hours ([`facts::verdict::confirm`]). Confirmed measurements vote; all
//! of one network and hour are one vote. The others are masked. The result is not stored, so late measurements, a
//! changed trust and a probe that the operator ends change every answer, also about the past.
//!
//! The trust in a probe is how often it agreed with other probes or other sources, where these could tell. It is
//! counted once per span, 26 hours after the span ends, because until then probes may send what they kept while they
//! were offline. When the weight of a probe changes, the stored verdicts on all that it measured lately are judged
//! again, a bounded number per turn ([`JudgeAgain`]). What a probe measured counts the same whoever claimed the probe,
//! and also after the probe is forgotten.
//!
//! Table numbers 72 to 76.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::changes::Days;
use super::evidence::{self, JudgedMeasurement, Present};
use super::fold::{Cell, Fold};
use super::tables::{EPOCHS, TARGETS};
use super::{changes, days, refresh};
use crate::probe::{self, SetTrust, TakeComparisons};
use crate::{Result, Timestamp};
use crypto::encoding::encode_hex;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::{DAY, HOUR, SECOND};
use facts::measurement::outcome::Judgement;
use facts::measurement::{ENTRY_LEN, Entry};
use facts::source::Source;
use facts::verdict::confirm::{self, Say};
use facts::verdict::constants::{PROBE_FRESH, PROBE_FRESH_DAYS, PROBE_SPAN};
use facts::verdict::{RuleId, Vote, evaluate};

/// Time between the end of a span and its comparison, in microseconds.
const LATE: i64 = 26 * HOUR;
/// How long a block of addresses stands for its network after the network was last named, in microseconds.
const BOUND: i64 = 30 * DAY;
/// Spans (each of one target and network) that one run of the timer compares.
const AT_ONCE: usize = 40;
/// Number of probes after which a run takes no further span.
const PROBES_AT_ONCE: usize = 200;
/// Keys of the timers.
const TIMER: &str = "probes";
const AGAIN_TIMER: &str = "probes again";
/// Targets that one run queues to be judged again.
const AGAIN_AT_ONCE: usize = 200;
/// Days that are judged again when the weight of a probe changed: as far as a verdict may look back.
const AGAIN_DAYS: u32 = 30;
/// The vote key that all confirmed measurements of an hour share, so that they are one vote. No software has this key.
const PROBES: u32 = 1;

/// What the operator says about a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeStanding {
    /// Nothing: the probe earns its trust.
    #[default]
    Normal,
    /// The probe is trusted: it is one of the operator's own.
    Vouched,
    /// The probe counts for nothing.
    Suspended,
}

/// A probe, as the country knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Node {
    id: String,
    standing: ProbeStanding,
    /// The block of addresses of its last submission, hashed.
    block: u64,
    first: Timestamp,
    /// Days with a submission.
    days: u32,
    last_day: i64,
    /// Since when the probe is no longer fresh.
    known_since: Option<Timestamp>,
    agreed: u32,
    disagreed: u32,
}
impl Row for Node {}

impl Node {
    fn trust(&self) -> f64 {
        confirm::trust(self.agreed, self.disagreed)
    }

    /// The weight of the probe in an hour since the epoch.
    fn weight(&self, hour: i64) -> f64 {
        match self.standing {
            ProbeStanding::Suspended => 0.0,
            ProbeStanding::Vouched => 1.0,
            ProbeStanding::Normal => match self.known_since {
                Some(since) if hour >= since.hour() => confirm::weight(self.trust()),
                _ => 0.0,
            },
        }
    }

    /// Counts a comparison. Above 200, both counts are halved, so that what a probe does now counts more.
    fn count(&mut self, agrees: bool) {
        let side = if agrees { &mut self.agreed } else { &mut self.disagreed };
        *side += 1;
        if self.agreed + self.disagreed > 200 {
            (self.agreed, self.disagreed) = (self.agreed / 2, self.disagreed / 2);
        }
    }
}

/// The key is the vote key of the probe's measurements.
const NODES: Table<(u32,), Node> = Table::new(72);
/// The network that a block of addresses stands for, and when it was last named.
const BLOCKS: Table<(u64,), Bound> = Table::new(73);
/// Spans that wait to be compared; the key is number of the span, target and network.
const DUE: Table<(i64, String, u32), ()> = Table::new(74);

/// The days on which a probe measured a target; the key is vote key and target.
const MEASURED: Table<(u32, String), Days> = Table::new(75);
/// Probes whose weight changed, and the target after which to go on.
const AGAIN: Table<(u32,), String> = Table::new(76);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Bound {
    asn: u32,
    at: Timestamp,
}
impl Row for Bound {}

fn span_of(hour: i64) -> i64 {
    hour.div_euclid(PROBE_SPAN)
}

/// The beginning of the span that a time is in.
pub(super) fn begin_of_span(at: Timestamp) -> Timestamp {
    Timestamp(span_of(at.0.div_euclid(HOUR)) * PROBE_SPAN * HOUR)
}

/// When a span is due for comparison.
fn due_of(span: i64) -> Timestamp {
    Timestamp((span + 1) * PROBE_SPAN * HOUR + LATE)
}

fn is_probe(seen: &JudgedMeasurement) -> bool {
    seen.source == Source::Probe.code()
}

/// The side of a judged measurement: whether the target failed in the manner of a block.
fn side(vote: Vote) -> Option<bool> {
    match vote {
        Vote::Blocked | Vote::NeedsControl => Some(true),
        Vote::Clear => Some(false),
        Vote::Masked | Vote::Down => None,
    }
}

/// Measurements of one span on one network, by probe and for all other sources together: (failed, clear).
#[derive(Default)]
struct Span {
    probes: BTreeMap<u32, (u32, u32)>,
    others: (u32, u32),
}

/// Whether at least half of those that say anything failed; `None` if none says anything.
fn failed((failed, clear): (u32, u32)) -> Option<bool> {
    (failed + clear > 0).then_some(2 * failed >= failed + clear)
}

impl Span {
    fn add(&mut self, seen: &JudgedMeasurement) {
        let Some(side) = side(seen.session.evaluated.vote) else { return };
        let counts =
            if is_probe(seen) { self.probes.entry(seen.session.vote_key).or_default() } else { &mut self.others };
        if side { counts.0 += 1 } else { counts.1 += 1 }
    }

    fn says(&self, nodes: &BTreeMap<u32, Node>, hour: i64) -> Vec<(u32, Say)> {
        let say = |(key, counts): (&u32, &(u32, u32))| {
            let node = nodes.get(key)?;
            Some((*key, Say { block: node.block, weight: node.weight(hour), failed: failed(*counts)? }))
        };
        self.probes.iter().filter_map(say).collect()
    }
}

/// Masks the measurements of probes that are not confirmed.
pub(super) fn confirm(view: &impl Read, seen: &mut [JudgedMeasurement]) -> Result<()> {
    if !seen.iter().any(is_probe) {
        return Ok(());
    }
    let mut spans: BTreeMap<(u32, i64), Span> = BTreeMap::new();
    let mut keys = BTreeSet::new();
    for seen in seen.iter() {
        let Some(asn) = seen.session.asn else { continue };
        spans.entry((asn, span_of(seen.session.hour))).or_default().add(seen);
        if is_probe(seen) {
            keys.insert(seen.session.vote_key);
        }
    }
    let nodes = nodes(view, keys)?;
    let decide = |((asn, span), found): ((u32, i64), Span)| {
        let says: Vec<Say> = found.says(&nodes, span * PROBE_SPAN).into_iter().map(|(_, say)| say).collect();
        Some(((asn, span), confirm::confirmed(&says, failed(found.others))?))
    };
    let confirmed: BTreeMap<(u32, i64), bool> = spans.into_iter().filter_map(decide).collect();
    for seen in seen.iter_mut().filter(|seen| is_probe(seen)) {
        let session = &mut seen.session;
        let Some(own) = side(session.evaluated.vote) else { continue };
        let suspended = nodes.get(&session.vote_key).is_none_or(|node| node.standing == ProbeStanding::Suspended);
        let agreed = session.asn.and_then(|asn| confirmed.get(&(asn, span_of(session.hour)))) == Some(&own);
        match agreed && !suspended {
            true => session.vote_key = PROBES,
            false => {
                let masked = Judgement { rule: RuleId::ProbeUnconfirmed, technique: None };
                session.evaluated = evaluate::judged(masked);
            }
        }
    }
    Ok(())
}

fn nodes(view: &(impl Read + ?Sized), keys: BTreeSet<u32>) -> Result<BTreeMap<u32, Node>> {
    let mut nodes = BTreeMap::new();
    for key in keys {
        if let Some(node) = NODES.get(view, &(key,))? {
            nodes.insert(key, node);
        }
    }
    Ok(nodes)
}

/// The measurements of a probe in this country.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddProbed {
    pub node: String,
    /// The vote key of the probe's measurements; [`probe::vote_key`].
    pub key: u32,
    pub block: u64,
    /// Cells as in [`Fold`], all of one network.
    pub cells: Vec<Cell>,
}

impl Operation for AddProbed {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "add_probed";
    type Reply = ();

    fn run(mut self, turn: &mut Turn<'_>) -> Result<()> {
        let node = self.seen(turn)?;
        if node.standing == ProbeStanding::Suspended {
            return Ok(());
        }
        self.bind(turn, node.standing)?;
        for cell in &self.cells {
            await_comparison(turn, cell)?;
            remember(turn, self.key, cell)?;
        }
        let epoch = EPOCHS.get(turn, &(Source::Probe.code(),))?.unwrap_or_default();
        let fold = Fold { cells: std::mem::take(&mut self.cells), epoch };
        let report = fold.clone().run(turn)?;
        // The cells that did not fit follow in another operation.
        self.cells = fold.cells.get(report.cells..).unwrap_or_default().to_vec();
        match self.cells.is_empty() {
            true => Ok(()),
            false => {
                let (now, id) = (turn.now, encode_hex(&turn.random::<8>()));
                turn.schedule(&format!("probed/{id}"), now, &self)
            }
        }
    }
}

impl AddProbed {
    /// Notes that the probe submitted something.
    fn seen(&self, turn: &mut Turn<'_>) -> Result<Node> {
        let today = turn.now.day();
        let mut node = NODES.get(turn, &(self.key,))?.unwrap_or_default();
        if node.first == Timestamp::default() {
            (node.first, node.last_day) = (turn.now, i64::MIN);
        }
        let before = node.clone();
        node.id.clone_from(&self.node);
        node.block = self.block;
        if node.last_day != today {
            (node.last_day, node.days) = (today, node.days.saturating_add(1));
        }
        let grown = node.days >= PROBE_FRESH_DAYS && turn.now.since(node.first) >= PROBE_FRESH;
        if grown && node.known_since.is_none() {
            node.known_since = Some(turn.now);
        }
        if node != before {
            NODES.put(turn, &(self.key,), &node)?;
        }
        Ok(node)
    }

    /// A block of addresses stands for one network. Measurements from it that name another network count as of no known
    /// network, unless the operator vouches for the probe.
    fn bind(&mut self, turn: &mut Turn<'_>, standing: ProbeStanding) -> Result<()> {
        let Some(asn) = self.cells.first().map(|cell| cell.asn).filter(|asn| *asn != 0) else { return Ok(()) };
        if standing == ProbeStanding::Vouched {
            return Ok(());
        }
        let bound = BLOCKS.get(turn, &(self.block,))?.filter(|bound| turn.now.since(bound.at) < BOUND);
        match bound {
            Some(bound) if bound.asn != asn => self.cells.iter_mut().for_each(|cell| cell.asn = 0),
            Some(bound) if turn.now.since(bound.at) < DAY => {}
            _ => BLOCKS.put(turn, &(self.block,), &Bound { asn, at: turn.now })?,
        }
        Ok(())
    }
}

/// Notes that a probe measured a target on a day.
fn remember(turn: &mut Turn<'_>, key: u32, cell: &Cell) -> Result<()> {
    let key = (key, cell.target.clone());
    let known = MEASURED.get(turn, &key)?;
    let Days { first, last } = known.unwrap_or(Days { first: cell.day, last: cell.day });
    let days = Days { first: first.min(cell.day), last: last.max(cell.day) };
    if known == Some(days) { Ok(()) } else { Ok(MEASURED.put(turn, &key, &days)?) }
}

fn await_comparison(turn: &mut Turn<'_>, cell: &Cell) -> Result<()> {
    if cell.asn == 0 {
        return Ok(());
    }
    let entries = cell.entries.chunks_exact(ENTRY_LEN).filter_map(|bytes| Entry::decode(bytes.try_into().ok()?));
    let spans: BTreeSet<i64> = entries.map(|entry| span_of(i64::from(cell.day) * 24 + i64::from(entry.hour))).collect();
    let now = turn.now;
    for span in spans.into_iter().filter(|span| due_of(*span) > now) {
        DUE.put(turn, &(span, cell.target.clone(), cell.asn), &())?;
        schedule(turn, span)?;
    }
    Ok(())
}

fn schedule(turn: &mut Turn<'_>, span: i64) -> Result<()> {
    let due = due_of(span);
    match turn.scheduled(TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TIMER, due.max(turn.now), &CompareProbes),
    }
}

/// Compares what probes said in spans that are over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CompareProbes;

impl Operation for CompareProbes {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "compare_probes";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut told: BTreeMap<u32, TakeComparisons> = BTreeMap::new();
        let now = turn.now;
        let due = DUE.scan(turn, &DUE.range(), Direction::Ascending, AT_ONCE)?;
        for (key, ()) in due.into_iter().filter(|((span, ..), ())| due_of(*span) <= now) {
            // The other spans wait for the next run, which is at once.
            if told.len() > PROBES_AT_ONCE {
                break;
            }
            DUE.delete(turn, &key);
            let (span, target, asn) = key;
            compare(turn, span, &target, asn, &mut told)?;
        }
        for (key, compared) in told {
            let Some(node) = NODES.get(turn, &(key,))? else { continue };
            let set = SetTrust { node: node.id.clone(), trust: node.trust(), compared };
            if let Some(shard) = probe::shard_of(&node.id) {
                turn.send(shard, &set)?;
            }
        }
        match DUE.first(turn, &DUE.range())? {
            Some(((span, ..), ())) => schedule(turn, span),
            None => Ok(()),
        }
    }
}

/// Compares one span of a target on a network.
fn compare(
    turn: &mut Turn<'_>,
    number: i64,
    target: &str,
    asn: u32,
    told: &mut BTreeMap<u32, TakeComparisons>,
) -> Result<()> {
    let from = Timestamp(number * PROBE_SPAN * HOUR);
    let mut span = Span::default();
    let all = evidence::read_raw(turn, target, from, from.plus(PROBE_SPAN * HOUR), &Present::maybe())?;
    all.iter().filter(|seen| seen.session.asn == Some(asn)).for_each(|seen| span.add(seen));
    let mut nodes = nodes(turn, span.probes.keys().copied().collect())?;
    let other = failed(span.others);
    let says = span.says(&nodes, number * PROBE_SPAN);
    let plain: Vec<Say> = says.iter().map(|(_, say)| *say).collect();
    let confirmed = confirm::confirmed(&plain, other);
    let mut changed = false;
    for (key, say) in &says {
        let compared = told.entry(*key).or_default();
        if confirmed == Some(true) && say.failed {
            compared.confirmed += span.probes.get(key).map_or(0, |counts| counts.0);
        }
        let Some(truth) = confirm::reference(&plain, say, other) else { continue };
        if let Some(node) = nodes.get_mut(key) {
            let before = node.weight(i64::MAX);
            node.count(say.failed == truth);
            NODES.put(turn, &(*key,), node)?;
            changed = true;
            if node.weight(i64::MAX) != before {
                weight_changed(turn, *key)?;
            }
        }
        if say.failed == truth { compared.agreed += 1 } else { compared.disagreed += 1 }
    }
    // The changed trust in its probes may decide the target differently, on any day.
    if changed && TARGETS.contains(turn, &(target.to_owned(),))? {
        let day = u32::try_from(from.day()).unwrap_or(0);
        days::queue(turn, target, 0)?;
        changes::measured(turn, target, (day, day))?;
        changes::soon(turn)?;
        refresh::soon(turn)?;
    }
    Ok(())
}

/// Schedules judging again what a probe measured, from its first target on.
fn weight_changed(turn: &mut Turn<'_>, key: u32) -> Result<()> {
    AGAIN.put(turn, &(key,), &String::new())?;
    let due = turn.now.plus(i64::from(turn.settings.publish_interval) * SECOND);
    match turn.scheduled(AGAIN_TIMER)? {
        Some(_) => Ok(()),
        None => turn.schedule(AGAIN_TIMER, due, &JudgeAgain),
    }
}

/// Queues some targets, measured by probes whose weight changed, to be judged again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JudgeAgain;

impl Operation for JudgeAgain {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "judge_again";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut room = AGAIN_AT_ONCE;
        while let Some(((key,), after)) = AGAIN.first(turn, &AGAIN.range())?.filter(|_| room > 0) {
            let all = MEASURED.prefix(&(key,));
            let rest = if after.is_empty() { all } else { MEASURED.after(all, &(key, after)) };
            let rows = MEASURED.scan(turn, &rest, Direction::Ascending, room)?;
            for ((_, target), days) in &rows {
                judge_again(turn, key, target, *days)?;
            }
            match rows.last().filter(|_| rows.len() == room) {
                Some(((_, last), _)) => AGAIN.put(turn, &(key,), last)?,
                None => AGAIN.delete(turn, &(key,)),
            }
            room -= rows.len();
        }
        changes::soon(turn)?;
        refresh::soon(turn)?;
        match AGAIN.first(turn, &AGAIN.range())? {
            Some(_) => turn.schedule(AGAIN_TIMER, turn.now, &JudgeAgain),
            None => Ok(()),
        }
    }
}

fn judge_again(turn: &mut Turn<'_>, key: u32, target: &str, days: Days) -> Result<()> {
    let oldest = u32::try_from(turn.now.day()).unwrap_or(0).saturating_sub(AGAIN_DAYS);
    if days.last < oldest {
        MEASURED.delete(turn, &(key, target.to_owned()));
        return Ok(());
    }
    if !TARGETS.contains(turn, &(target.to_owned(),))? {
        return Ok(());
    }
    let first = days.first.max(oldest);
    days::queue(turn, target, first)?;
    changes::measured(turn, target, (first, days.last))
}

/// The operator sets the standing of a probe.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetProbe {
    pub node: String,
    pub key: u32,
    pub standing: ProbeStanding,
}

impl Operation for SetProbe {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_probe";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut node = NODES.get(turn, &(self.key,))?.unwrap_or_default();
        if node.standing == self.standing {
            return Ok(());
        }
        (node.id, node.standing) = (self.node, self.standing);
        NODES.put(turn, &(self.key,), &node)?;
        // Every answer may change.
        if TARGETS.first(turn, &TARGETS.range())?.is_some() {
            refresh::all_again(turn)?;
            changes::all_again(turn)?;
        }
        Ok(())
    }
}
