//! Removes the data of one source: its evidence, every version that rests on it, and the present state of the incidents
//! that rested on it (decision licence-and-removal). Countries report anew what other sources still show.

use serde::{Deserialize, Serialize};

use super::joined::join;
use super::model::{Action, Change, Draft, Incident, ReadableId};
use super::query::evidence_of;
use super::record::{SOURCE_GONE, save};
use super::tables::{EVIDENCE, INCIDENTS, VERSIONS, key};
use crate::Result;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Direction;
use facts::licence;

/// Versions that one step looks at, and changes after which a step ends early.
const VERSIONS_AT_ONCE: usize = 40;
const MAX_CHANGES: usize = 300;

/// Removes a source from the incidents of one country, some rows at a time by timer. The country sends it after its own
/// rows of the source are removed, and after all reports that it made with them have arrived.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetSource {
    pub country: String,
    /// Identifier of the source in answers, such as `ooni`.
    pub source: String,
    /// Year, sequence and version to continue after.
    pub after: Option<(u32, u32, u32)>,
    /// Whether this pass removed anything. If so, another pass follows, because incidents that rested on the source
    /// through their parts were made anew during this one.
    pub found: bool,
}

impl Operation for ForgetSource {
    const ACTOR: Kind = Kind::Incidents;
    const NAME: &'static str = "forget_source";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let country = || self.country.clone();
        let mut range = VERSIONS.prefix(&(country(),));
        if let Some((year, sequence, version)) = self.after {
            range.start = VERSIONS.prefix(&(country(), year, sequence, version)).end.unwrap_or_default();
        }
        let rows = VERSIONS.scan(turn, &range, Direction::Ascending, VERSIONS_AT_ONCE)?;
        let full = rows.len() == VERSIONS_AT_ONCE;
        let (mut changes, mut last, mut found) = (0, None, self.found);
        for ((_, year, sequence, version), row) in rows {
            if changes >= MAX_CHANGES {
                break;
            }
            last = Some((year, sequence, version));
            if !row.draft.sources.contains(&self.source) {
                continue;
            }
            found = true;
            VERSIONS.delete(turn, &(country(), year, sequence, version));
            changes += 1;
            let current = INCIDENTS.get(turn, &key(&row.id))?.filter(|current| current.version == version);
            if let Some(current) = current {
                self.without(turn, current)?;
                changes += 10;
            }
            changes += self.evidence(turn, &row)?;
        }
        let ended = !full && changes < MAX_CHANGES;
        if ended && !found {
            return Ok(());
        }
        let next = match ended {
            true => ForgetSource { after: None, found: false, ..self.clone() },
            false => ForgetSource { after: last, found, ..self.clone() },
        };
        let now = turn.now;
        turn.schedule(&format!("forget {} {}", self.country, self.source), now, &next)
    }
}

impl ForgetSource {
    /// Removes the evidence of a version that came from the source, unless incidents of another country name it too.
    fn evidence(&self, turn: &mut Turn<'_>, row: &Incident) -> Result<usize> {
        let mut changes = 0;
        for id in &row.draft.evidence_ids {
            let key = (id.clone(),);
            let Some(mut evidence) = EVIDENCE.get(turn, &key)?.filter(|known| known.row.source == self.source) else {
                continue;
            };
            let before = evidence.incidents.len();
            evidence.incidents.retain(|incident: &ReadableId| *incident != row.id);
            if evidence.incidents.is_empty() {
                EVIDENCE.delete(turn, &key);
            } else if evidence.incidents.len() < before {
                EVIDENCE.put(turn, &key, &evidence)?;
            }
            changes += 1;
        }
        Ok(changes)
    }

    /// Makes the next version of an incident, without the source. An incident of an operator keeps the operator's
    /// words. A measured one is withdrawn and emptied until its country reports what is left of it.
    fn without(&self, turn: &mut Turn<'_>, before: Incident) -> Result<()> {
        let mut next = before.clone();
        if next.own().sources.contains(&self.source) {
            self.clean(turn, &mut next)?;
        }
        join(&turn.view(), &mut next)?;
        if next == before {
            // Parts of it still rest on the source. It is made anew when they change.
            return Ok(());
        }
        next.change = Change { reason: Some(SOURCE_GONE.english()), ..Change::measured(Action::Amended) };
        save(turn, Some(before), next).map(|_| ())
    }

    fn clean(&self, turn: &Turn<'_>, next: &mut Incident) -> Result<()> {
        let measured = next.measured;
        let draft = next.own_mut();
        // Rows that were removed with an earlier version are not found any more.
        let mut kept = evidence_of(&turn.view(), &draft.evidence_ids)?;
        kept.retain(|row| row.source != self.source);
        let gone = draft.evidence_ids.len().saturating_sub(kept.len()) as u64;
        draft.sources.retain(|source| *source != self.source);
        draft.evidence_ids = kept.iter().map(|row| row.id.clone()).collect();
        draft.evidence_total = draft.evidence_total.saturating_sub(gone);
        draft.licence = licence::effective(kept.iter().map(|row| row.licence.as_str()));
        if measured {
            empty(draft);
            next.retracted = Some(SOURCE_GONE.english());
            next.merged_into = None;
        }
        Ok(())
    }
}

/// Removes every figure that came from measurements.
fn empty(draft: &mut Draft) {
    draft.confidence = 0.0;
    draft.networks.clear();
    draft.networks_tested = 0;
    draft.weight = 0.0;
    draft.methods.clear();
    draft.areas.clear();
    draft.occasion = None;
    draft.pattern = None;
    draft.schedule = None;
    (draft.declared, draft.resolved) = (None, None);
    draft.sources.clear();
    draft.measurements = 0;
    draft.anomaly_rate = 0.0;
    draft.evidence_ids.clear();
    draft.evidence_total = 0;
}
