//! What agents attest about targets of this country. It is shown beside the measurements, is never one of them, and is
//! settled by them (decision anchored-weight).
//!
//! A verdict never reads these rows; later measurements judge the rows instead. An author earns anchored weight if
//! later measurements on several networks agree with the attestation, and the answer as of the time of the attestation,
//! with all that is known today, was different. Then the author knew something first. An author who follows with the
//! same attestation earns half of that, and so on, so copies are worth little: all together earn less than 2. Attesting
//! that a site works which was never measured before earns nothing, since nearly every site works.
//!
//! Table numbers 70 and 71.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{self, Detection, State};
use super::evidence::Surroundings;
use crate::{Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::number::round;
use engine::time::DAY;
use facts::subject::Subject;
use relay::agent::trust::Settle;
use relay::agent::wire;
use relay::directory::Did;

/// The time in which measurements may settle an attestation, in microseconds.
pub const WINDOW: i64 = 7 * DAY;
/// Least networks that the measurements of a settling answer must come from.
pub const NETWORKS: u32 = 2;
/// How long an attestation stands beside measurements, in microseconds.
pub const LIFE: i64 = 30 * DAY;
/// Most attestations that are kept about one series. Beyond that, the newest of those with the least weight is removed,
/// so that a flood does not drive out older attestations.
const MAX_ROWS: usize = 200;
/// Most single attestations in an explanation.
const SHOWN: usize = 12;
/// Attestations that one run of the timer handles.
const AT_ONCE: usize = 50;
/// Key of the timer.
const TIMER: &str = "attested";

/// How an attestation was settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum End {
    /// Measurements agreed, and its author was among the first to know.
    Earned,
    Agreed,
    Wrong,
    /// No measurements settled it in time.
    Unsettled,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Attested {
    author: Did,
    blocked: bool,
    expires: Timestamp,
    /// Anchored votes for and against it. The author's own vote counts among those for it.
    support: f64,
    refute: f64,
    end: Option<End>,
}
impl Row for Attested {}

type RowKey = (String, Timestamp, String);

/// The key is series, time and id.
const ATTESTED: Table<RowKey, Attested> = Table::new(70);
/// When to look at an attestation again: at the end of its window, then at the end of its life.
const DUE: Table<(Timestamp, String, Timestamp, String), ()> = Table::new(71);

fn due_key(due: Timestamp, key: &RowKey) -> (Timestamp, String, Timestamp, String) {
    (due, key.0.clone(), key.1, key.2.clone())
}

/// When to look at a row next.
fn due_of(key: &RowKey, row: &Attested) -> Timestamp {
    let life = key.1.plus(LIFE).min(row.expires);
    if row.end.is_some() { life } else { key.1.plus(WINDOW).min(life) }
}

fn remove(turn: &mut Turn<'_>, key: &RowKey, row: &Attested) {
    DUE.delete(turn, &due_key(due_of(key, row), key));
    ATTESTED.delete(turn, key);
}

fn put(turn: &mut Turn<'_>, key: &RowKey, row: &Attested) -> Result<()> {
    if let Some(before) = ATTESTED.get(turn, key)? {
        remove(turn, key, &before);
    }
    ATTESTED.put(turn, key, row)?;
    let due = due_of(key, row);
    DUE.put(turn, &due_key(due, key), &())?;
    match turn.scheduled(TIMER)? {
        Some(waiting) if waiting <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &EndAttestations),
    }
}

fn rows(view: &(impl Read + ?Sized), series: &str) -> Result<Vec<(RowKey, Attested)>> {
    Ok(ATTESTED.scan(view, &ATTESTED.prefix(&(series.to_owned(),)), Direction::Ascending, MAX_ROWS + 1)?)
}

/// A new attestation, or one whose votes changed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetAttested {
    pub id: String,
    /// The series that the attestation is about.
    pub series: String,
    pub author: Did,
    pub blocked: bool,
    pub at: Timestamp,
    pub expires: Timestamp,
    pub support: f64,
    pub refute: f64,
}

impl Operation for SetAttested {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "set_attested";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let SetAttested { id, series, author, blocked, at, expires, support, refute } = self;
        if expires.min(at.plus(LIFE)) <= turn.now {
            return Ok(());
        }
        let key = (series, at, id);
        let end = ATTESTED.get(turn, &key)?.and_then(|before| before.end);
        put(turn, &key, &Attested { author, blocked, expires, support, refute, end })?;
        let rows = rows(turn, &key.0)?;
        if rows.len() <= MAX_ROWS {
            return Ok(());
        }
        let least =
            rows.iter().min_by(|(a, one), (b, other)| one.support.total_cmp(&other.support).then(b.1.cmp(&a.1)));
        if let Some((key, row)) = least {
            remove(turn, key, row);
        }
        Ok(())
    }
}

/// One attestation in an explanation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    pub id: String,
    /// DID.
    pub agent: String,
    /// `blocked` or `accessible`.
    pub says: String,
    pub at: String,
    /// Anchored votes for it, its author's among them.
    pub weight: f64,
    /// Anchored votes against it.
    pub refuted: f64,
}

/// What agents attest, as a source beside the measurements. It decides nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationEvidence {
    /// `attestation`.
    pub source: String,
    /// Always false.
    pub decides: bool,
    /// Attestations of the last 30 days.
    pub count: u32,
    /// Agents that attest this, each counted once.
    pub agents_blocked: u32,
    pub agents_accessible: u32,
    /// Trust in each side: an agent counts 0 to 1 by its anchored weight. An agent that refutes counts for the other
    /// side.
    pub weight_blocked: f64,
    pub weight_accessible: f64,
    pub newest: String,
    /// With `explain`: the statements of most weight, at most 12.
    pub statements: Vec<Statement>,
}

/// What is attested about a subject at a time, and whether anything is attested about it at any time.
pub(super) fn evidence(
    view: &View<'_>,
    subject: &Subject,
    surroundings: &Surroundings,
    explain: bool,
) -> Result<(Option<AttestationEvidence>, bool)> {
    if !surroundings.attested.any(view, &ATTESTED)? {
        return Ok((None, false));
    }
    let at = surroundings.at;
    let mut standing = Vec::new();
    for role in subject.roles.iter().filter(|role| role.essential) {
        standing.extend(rows(view, &role.key)?);
    }
    let any = !standing.is_empty();
    standing.retain(|(key, row)| key.1 <= at && row.expires.min(key.1.plus(LIFE)) > at);
    let Some(newest) = standing.iter().map(|(key, _)| key.1).max() else { return Ok((None, any)) };
    // An agent counts once, however often it says the same.
    let mut by_agent: BTreeMap<(bool, Did), (f64, f64)> = BTreeMap::new();
    for (_, row) in &standing {
        let (support, refute) = by_agent.entry((row.blocked, row.author)).or_default();
        *support = support.max(row.support);
        *refute = refute.max(row.refute);
    }
    let weight = |side: bool| -> f64 {
        by_agent.iter().map(|((blocked, _), (support, refute))| if *blocked == side { *support } else { *refute }).sum()
    };
    let agents = |side: bool| by_agent.keys().filter(|(blocked, _)| *blocked == side).count();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut evidence = AttestationEvidence {
        source: "attestation".to_owned(),
        decides: false,
        count: count(standing.len()),
        agents_blocked: count(agents(true)),
        agents_accessible: count(agents(false)),
        weight_blocked: round(weight(true)),
        weight_accessible: round(weight(false)),
        newest: newest.to_string(),
        statements: Vec::new(),
    };
    if explain {
        standing.sort_by(|(a, one), (b, other)| other.support.total_cmp(&one.support).then(b.1.cmp(&a.1)));
        let said = standing.into_iter().take(SHOWN).map(|(key, row)| Statement {
            id: key.2,
            agent: wire::did_text(view.settings, &row.author),
            says: if row.blocked { "blocked" } else { "accessible" }.to_owned(),
            at: key.1.to_string(),
            weight: round(row.support),
            refuted: round(row.refute),
        });
        evidence.statements = said.collect();
    }
    Ok((Some(evidence), any))
}

/// The state that measurements on enough networks decide.
fn measured(detection: &Detection) -> Option<State> {
    let decides = detection.basis == "measured" && detection.networks_tested >= NETWORKS;
    (decides && detection.state != State::Unknown).then_some(detection.state)
}

fn claimed(row: &Attested) -> State {
    if row.blocked { State::Blocked } else { State::Accessible }
}

/// The answer as of a time, with all that is known today.
fn answer_at(view: &View<'_>, series: &str, at: Timestamp) -> Result<State> {
    Ok(answer::detect(view, &Subject::series(series), &Surroundings::at(view, at)?, false)?.state)
}

/// Settles the attestations that agree with a new answer.
pub(super) fn agree(turn: &mut Turn<'_>, series: &str, now: &Detection) -> Result<()> {
    let Some(state) = measured(now) else { return Ok(()) };
    let known = rows(turn, series)?;
    let since = turn.now.plus(-WINDOW);
    let same = known.iter().filter(|(key, row)| claimed(row) == state && key.1 > since);
    let mut first: BTreeSet<Did> =
        same.filter(|(_, row)| row.end == Some(End::Earned)).map(|(_, row)| row.author).collect();
    // Votes are counted in hours, so all attestations of one hour are compared with the same answer.
    let mut before: BTreeMap<i64, State> = BTreeMap::new();
    for (key, row) in known {
        if row.end.is_some() || claimed(&row) != state || now.last_checked <= key.1 {
            continue;
        }
        let then = match before.get(&key.1.hour()) {
            Some(known) => *known,
            None => *before.entry(key.1.hour()).or_insert(answer_at(&turn.view(), series, key.1)?),
        };
        // It is no news that a site works which nobody had measured.
        let news = then != state && (state == State::Blocked || then == State::Blocked);
        let earns = news && !first.contains(&row.author);
        let earned = if earns { 0.5_f64.powi(i32::try_from(first.len()).unwrap_or(i32::MAX)) } else { 0.0 };
        if earns {
            first.insert(row.author);
        }
        settle(turn, &key, row, if earns { End::Earned } else { End::Agreed }, earned)?;
    }
    Ok(())
}

fn settle(turn: &mut Turn<'_>, key: &RowKey, row: Attested, end: End, earned: f64) -> Result<()> {
    if end != End::Unsettled {
        let settle = Settle { at: key.1, agreed: end != End::Wrong, earned };
        turn.send(actor_id(&row.author), &settle)?;
    }
    // Remove the row first, because its next time depends on how it ended.
    remove(turn, key, &row);
    put(turn, key, &Attested { end: Some(end), ..row })
}

/// Ends a window: the attestation is contradicted or stays unsettled.
fn close(turn: &mut Turn<'_>, key: &RowKey, row: Attested) -> Result<()> {
    let view = turn.view();
    let surroundings = Surroundings::at(&view, turn.now)?;
    let now = answer::detect(&view, &Subject::series(&key.0), &surroundings, false)?;
    let contradicted = measured(&now).is_some_and(|state| state != claimed(&row)) && now.last_checked > key.1;
    let end = match contradicted {
        false => End::Unsettled,
        // It was true at the time it was made.
        true if answer_at(&view, &key.0, key.1)? == claimed(&row) => End::Agreed,
        true => End::Wrong,
    };
    settle(turn, key, row, end, 0.0)
}

/// Handles attestations whose window or life is over.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EndAttestations;

impl Operation for EndAttestations {
    const ACTOR: Kind = Kind::Country;
    const NAME: &'static str = "end_attestations";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let over = DUE.between(&(), &(turn.now.plus(1),));
        for ((due, series, at, id), ()) in DUE.scan(turn, &over, Direction::Ascending, AT_ONCE)? {
            let key = (series, at, id);
            DUE.delete(turn, &due_key(due, &key));
            let Some(row) = ATTESTED.get(turn, &key)? else { continue };
            match row.end.is_none() && at.plus(LIFE).min(row.expires) > turn.now {
                true => close(turn, &key, row)?,
                false => remove(turn, &key, &row),
            }
        }
        match DUE.first(turn, &DUE.range())? {
            Some(((due, ..), ())) => turn.schedule(TIMER, due.max(turn.now), &EndAttestations),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NETWORKS, WINDOW};
    use engine::time::DAY;

    /// The page about trust that people read states the constants of the code.
    #[test]
    fn the_page_about_trust_states_how_attestations_are_judged() {
        let page = include_str!("../../../../docs/trust.md");
        for stated in [format!("{} days", WINDOW / DAY), format!("{NETWORKS} networks")] {
            assert!(page.contains(&stated), "docs/trust.md does not state {stated:?}");
        }
    }
}
