//! Computes verdicts again after measurements were stored, and tells the world what changed. It runs by timer, some
//! targets at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::answer::{self, Detection};
use super::days::SeriesDays;
use super::evidence::{self, Surroundings};
use super::tables::{
    AGEING, META, Meta, PEERS_CHANGED, Peers, QUEUE, RECOMPUTE, RULES_VERSION, RecomputeRow, SOURCES, SUMMARY, Since,
    TARGETS, VERDICTS, VerdictRow,
};
use super::{attested, changes, days, documents, kinds, past, summary};
use crate::world::{self, DAYS_AT_ONCE, NetworkDetail, NetworkSummary, NoteDays, PeerDays, Summarize, TargetSummary};
use crate::{Result, Timestamp, analytics, risk};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::Direction;
use engine::time::{DAY, SECOND};
use facts::verdict::Vote;

/// Targets judged in one operation. It bounds how long the operation holds the writer.
const AT_ONCE: usize = 20;
/// Bounds the days judged in one operation, because some targets have many.
const DAYS_IN_ALL: usize = 600;
/// Most targets put back on the queue in one operation.
const REQUEUE_AT_ONCE: usize = 900;

/// Runs [`Refresh`] after the publish interval, unless it is waiting already.
pub(super) fn soon(turn: &mut Turn<'_>) -> Result<()> {
    let due = turn.now.plus(i64::from(turn.settings.publish_interval) * SECOND);
    match turn.scheduled("refresh")? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule("refresh", due, &Refresh),
    }
}

/// Judges queued and ageing targets again and reports changes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Refresh;

impl Operation for Refresh {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "refresh";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let targets = due_targets(turn)?;
        let RejudgedTargets { judged, changed, series, from } = judge(turn, &targets)?;
        if let Some(from) = from {
            past::changed_from(turn, from)?;
        }
        let reported = report_peers(turn)?;
        let mut more = judged < targets.len() || targets.len() >= AT_ONCE || reported;
        let mut verdicts = Vec::new();
        if !more {
            verdicts = summary::verdict_rows(&turn.view())?;
            more = kinds::count(turn, &verdicts)?;
        }
        if !more {
            end_recompute(turn)?;
        }
        let country = turn.actor().name.clone();
        let mut summary = None;
        // A country without any measurement has no summary.
        let nothing = !more && SOURCES.first(turn, &SOURCES.range())?.is_none();
        if nothing {
            analytics::tell_nothing(turn)?;
        } else if !more {
            let rows: Vec<TargetSummary> =
                verdicts.into_iter().map(|(target, row)| row.summary.named(target)).collect();
            let now = summary::country(&turn.view(), &rows, turn.now)?;
            analytics::tell(turn, &rows, &now)?;
            let before = SUMMARY.get(turn, &())?;
            let same = before.is_some_and(|before| world::CountrySummary { at: now.at, ..before } == now);
            if !same {
                SUMMARY.put(turn, &(), &now)?;
                risk::days::note(turn, &now)?;
                for family in [documents::COUNTRY, documents::OVERVIEW] {
                    turn.publish(&format!("{family}{country}"))?;
                }
                summary = Some(now);
            }
            past::look(turn)?;
        }
        if nothing || summary.is_some() || !changed.is_empty() {
            for family in [documents::ISPS, documents::ACCESSIBILITY] {
                turn.publish(&format!("{family}{country}"))?;
            }
        }
        if !series.is_empty() {
            turn.send(world::actor().name, &NoteDays { country: country.clone(), series })?;
        }
        if summary.is_some() || !changed.is_empty() {
            turn.send(world::actor().name, &Summarize { country, targets: changed, summary })?;
        }
        if more {
            let now = turn.now;
            return turn.schedule("refresh", now, &Refresh);
        }
        match AGEING.first(turn, &AGEING.range())? {
            Some(((due, _), ())) => turn.schedule("refresh", due, &Refresh),
            None => Ok(()),
        }
    }
}

fn due_targets(turn: &mut Turn<'_>) -> Result<BTreeSet<String>> {
    let queued = QUEUE.scan(turn, &QUEUE.range(), Direction::Ascending, AT_ONCE)?;
    let mut targets: BTreeSet<String> = queued.into_iter().map(|((target,), _)| target).collect();
    let ageing = AGEING.between(&(), &(turn.now.plus(1),));
    let room = AT_ONCE - targets.len();
    targets.extend(AGEING.scan(turn, &ageing, Direction::Ascending, room)?.into_iter().map(|((_, target), ())| target));
    Ok(targets)
}

/// The result of judging targets again.
#[derive(Default)]
struct RejudgedTargets {
    /// How many targets were judged.
    judged: usize,
    /// Summaries that changed.
    changed: Vec<TargetSummary>,
    /// Days that may have changed.
    series: Vec<SeriesDays>,
    /// The first day that may have changed.
    from: Option<u32>,
}

/// Judges targets. If that were many days, the remaining targets stay queued.
fn judge(turn: &mut Turn<'_>, targets: &BTreeSet<String>) -> Result<RejudgedTargets> {
    let surroundings = Surroundings::at(turn, turn.now)?;
    let (mut done, mut days_in_all) = (RejudgedTargets::default(), 0);
    for target in targets {
        if days_in_all > DAYS_IN_ALL {
            break;
        }
        let queued = QUEUE.get(turn, &(target.to_owned(),))?.map(|Since(day)| day);
        done.from = [done.from, queued].into_iter().flatten().min();
        let (summary, days) = again(turn, target, queued, &surroundings)?;
        days_in_all += days.as_ref().map_or(0, |days| days.days.iter().count());
        done.changed.extend(summary);
        done.series.extend(days);
        done.judged += 1;
    }
    Ok(done)
}

/// Judges a target whose days from `queued` on may have changed. Returns the summary if it changed, and the days that
/// may have changed.
fn again(
    turn: &mut Turn<'_>,
    target: &str,
    queued: Option<u32>,
    surroundings: &Surroundings,
) -> Result<(Option<TargetSummary>, Option<SeriesDays>)> {
    let key = (target.to_owned(),);
    QUEUE.delete(turn, &key);
    let before = VERDICTS.get(turn, &key)?;
    if let Some(due) = before.as_ref().and_then(VerdictRow::due) {
        AGEING.delete(turn, &(due, target.to_owned()));
    }
    if !TARGETS.contains(turn, &key)? {
        // The source of the target was removed.
        VERDICTS.delete(turn, &key);
        return Ok((None, None));
    }
    // When the target was last judged, that day was not over.
    let looked = before.as_ref().and_then(|before| u32::try_from(before.at.day()).ok()).unwrap_or(0);
    let since = queued.map_or(looked, |day| day.min(looked));
    let days = days::since(&turn.view(), target, since, surroundings)?;
    let (detection, blocked_then) = answer::detect_series(&turn.view(), target, surroundings)?;
    // The target is judged daily while any evidence is young enough to age. Older evidence cannot change the answer any
    // more.
    let ages = detection.evidence_count > 0;
    attested::agree(turn, target, &detection)?;
    let summary = target_summary(detection);
    let (target, row) = summary.clone().split();
    let row = VerdictRow { at: turn.now, ages, summary: row, blocked_then };
    let same = before.as_ref().is_some_and(|before| before.summary == row.summary);
    count_recomputed(turn, before.as_ref().map(|before| &before.summary), &summary)?;
    VERDICTS.put(turn, &key, &row)?;
    match row.due() {
        Some(due) => AGEING.put(turn, &(due, target), &())?,
        // What was last measured as blocked is now too old to be called blocked.
        None => changes::touched(turn, &target)?,
    }
    Ok(((!same).then_some(summary), days))
}

/// The part of a detection that the world is told.
pub(super) fn target_summary(detection: Detection) -> TargetSummary {
    let measured = detection.basis == "measured";
    let detail = |network: &super::NetworkAnswer| NetworkDetail {
        technique: network.technique.clone(),
        last_checked: network.last_checked,
    };
    let details = detection.networks.iter().map(detail).collect();
    TargetSummary {
        target: detection.name,
        state: detection.state,
        basis: detection.basis,
        confidence: detection.confidence,
        evidence: if measured || detection.evidence_count > 0 { detection.evidence_count } else { 0 },
        counted: detection.counted,
        of_week: detection.of_week,
        blocked_weight: detection.blocked_weight,
        networks_blocked: detection.networks_blocked,
        networks_tested: detection.networks_tested,
        methods: detection.methods,
        technique: detection.technique,
        networks: detection
            .networks
            .into_iter()
            .map(|network| NetworkSummary {
                asn: network.asn,
                name: network.name,
                measurements: network.measurements,
                counted: network.counted,
                votes: network.votes,
                blocked: network.blocked_votes,
                state: network.state,
            })
            .collect(),
        details,
        last_checked: detection.last_checked,
        failure_rate: detection.failure_rate,
        sources: detection.sources,
    }
}

/// Most changed answers of a country that are listed; all are counted.
const LISTED_CHANGES: usize = 50;

/// Computes every verdict again after the rules changed, and tells the world which answers changed (decision
/// dumps-and-recompute).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recompute;

impl Operation for Recompute {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "recompute";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        RECOMPUTE.put(turn, &(), &RecomputeRow::default())?;
        changes::all_again(turn)?;
        if META.get(turn, &())?.is_some() {
            META.put(turn, &(), &Meta { rules_version: RULES_VERSION })?;
        }
        all_again(turn)
    }
}

/// Queues every target to be judged again.
pub(super) fn all_again(turn: &mut Turn<'_>) -> Result<()> {
    let now = turn.now;
    turn.schedule("requeue", now, &Requeue { after: None })
}

fn count_recomputed(turn: &mut Turn<'_>, before: Option<&TargetSummary>, after: &TargetSummary) -> Result<()> {
    let Some(mut row) = RECOMPUTE.get(turn, &())? else { return Ok(()) };
    row.judged += 1;
    let answer = |summary: &TargetSummary| (summary.state, summary.basis.clone(), summary.technique.clone());
    if before.map(answer) != Some(answer(after)) {
        row.changed += 1;
        if row.changes.len() < LISTED_CHANGES {
            row.changes.push(world::ChangedAnswer {
                country: turn.actor().name.clone(),
                target: after.target.clone(),
                before: before.map(|before| before.state),
                after: Some(after.state),
            });
        }
    }
    Ok(RECOMPUTE.put(turn, &(), &row)?)
}

/// Sends the result to the world when nothing is queued any more.
fn end_recompute(turn: &mut Turn<'_>) -> Result<()> {
    let Some(row) = RECOMPUTE.get(turn, &())? else { return Ok(()) };
    if turn.scheduled("requeue")?.is_some() {
        return Ok(());
    }
    RECOMPUTE.delete(turn, &());
    let RecomputeRow { judged, changed, changes } = row;
    turn.send(world::actor().name, &world::Swept { task: world::Task::Recompute, handled: judged, changed, changes })
}

/// Tells the world on which days targets worked here. Returns true if more is waiting.
fn report_peers(turn: &mut Turn<'_>) -> Result<bool> {
    let changed = PEERS_CHANGED.scan(turn, &PEERS_CHANGED.range(), Direction::Ascending, DAYS_AT_ONCE)?;
    let mut days = Vec::new();
    for ((target, day), ()) in &changed {
        PEERS_CHANGED.delete(turn, &(target.clone(), *day));
        let peers = successes(&turn.view(), target, *day)?;
        days.push((target.clone(), *day, peers));
    }
    if !days.is_empty() {
        let country = turn.actor().name.clone();
        turn.send(world::actor().name, &PeerDays { country, days })?;
    }
    Ok(changed.len() >= DAYS_AT_ONCE)
}

fn successes(view: &View<'_>, target: &str, day: u32) -> Result<Option<Peers>> {
    let from = Timestamp(i64::from(day) * DAY);
    let mut networks: BTreeMap<u32, u32> = BTreeMap::new();
    let seen = evidence::read(view, target, from, from.plus(DAY))?;
    if seen.is_empty() {
        return Ok(None);
    }
    for seen in seen {
        if let (Vote::Clear, Some(asn)) = (seen.session.evaluated.vote, seen.session.asn) {
            *networks.entry(asn).or_default() += 1;
        }
    }
    let count = u32::try_from(networks.len()).unwrap_or(u32::MAX);
    Ok(Some(Peers { sessions: networks.values().sum(), networks: count }))
}

/// Puts every target back on the queue after a change that affects all of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Requeue {
    pub after: Option<String>,
}

impl Operation for Requeue {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "requeue";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut range = TARGETS.range();
        if let Some(after) = &self.after {
            range.start = TARGETS.prefix(&(after.clone(),)).end.unwrap_or_default();
        }
        let rows = TARGETS.scan(turn, &range, Direction::Ascending, REQUEUE_AT_ONCE)?;
        for (key, _) in &rows {
            QUEUE.put(turn, key, &Since(0))?;
        }
        soon(turn)?;
        if rows.len() == REQUEUE_AT_ONCE {
            let after = rows.last().map(|((target,), _)| target.clone());
            let now = turn.now;
            turn.schedule("requeue", now, &Requeue { after })?;
        }
        Ok(())
    }
}
