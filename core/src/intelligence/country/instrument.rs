//! Validity of the instrument: failures that follow a software version over several networks, while other versions work
//! there at the same time, are the software's own and are masked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::Seen;
use crate::facts::measurement::outcome::Judgement;
use crate::facts::measurement::types::software_of;
use crate::facts::verdict::constants::{INSTRUMENT_NETWORKS, INSTRUMENT_SPAN};
use crate::facts::verdict::network::{VersionCount, instrument_faults};
use crate::facts::verdict::{RuleId, Vote, evaluate};

/// What was left out of a series because the software failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentFault {
    /// Versions (with their platform) whose failures are masked.
    pub versions: u32,
    /// Failing measurements that were masked.
    pub measurements: u32,
}

/// Whether it may be a block, with its own control or with peers for one.
pub(super) fn failed(vote: Vote) -> bool {
    matches!(vote, Vote::Blocked | Vote::NeedsControl)
}

/// Masks failures of faulty versions; `None` when there are none.
pub fn mask(seen: &mut [Seen]) -> Option<InstrumentFault> {
    // Fewer failures cannot make a fault, and most series have fewer.
    if seen.iter().filter(|seen| failed(seen.session.evaluated.vote)).count() < INSTRUMENT_NETWORKS {
        return None;
    }
    let faulty = instrument_faults(&count(seen));
    let mut fault =
        InstrumentFault { versions: u32::try_from(faulty.len()).unwrap_or(u32::MAX), ..InstrumentFault::default() };
    if faulty.is_empty() {
        return None;
    }
    for seen in seen {
        let session = &mut seen.session;
        let version = software_of(session.vote_key);
        if failed(session.evaluated.vote) && version.is_some_and(|version| faulty.contains(&version)) {
            session.evaluated = evaluate::judged(Judgement { rule: RuleId::InstrumentFault, technique: None });
            fault.measurements += 1;
        }
    }
    Some(fault)
}

fn count(seen: &[Seen]) -> Vec<VersionCount> {
    let mut counts: BTreeMap<(u32, u32, i64), (u32, u32)> = BTreeMap::new();
    for seen in seen {
        let session = &seen.session;
        let says = failed(session.evaluated.vote) || session.evaluated.vote == Vote::Clear;
        let (Some(version), Some(asn), true) = (software_of(session.vote_key), session.asn, says) else { continue };
        let span = session.hour.div_euclid(INSTRUMENT_SPAN);
        let entry = counts.entry((version, asn, span)).or_default();
        *entry = (entry.0 + u32::from(failed(session.evaluated.vote)), entry.1 + 1);
    }
    let counts = counts.into_iter();
    counts
        .map(|((version, asn, span), (failed, sessions))| VersionCount { version, asn, span, failed, sessions })
        .collect()
}
