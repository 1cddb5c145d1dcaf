//! Finds faults of the measuring software. If failures follow a software version over several networks, and other
//! versions work there at the same time, the software is at fault and the failures are masked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::JudgedMeasurement;
use facts::measurement::outcome::Judgement;
use facts::measurement::types::software_of;
use facts::verdict::constants::{INSTRUMENT_NETWORKS, INSTRUMENT_SPAN};
use facts::verdict::network::{VersionCount, instrument_faults};
use facts::verdict::{RuleId, Vote, evaluate};

/// The measurements of a series that were left out because the software failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstrumentFault {
    /// Versions (with their platform) whose failures are masked.
    pub versions: u32,
    /// Failing measurements that were masked.
    pub measurements: u32,
}

/// Whether the vote may be of a block, with its own control or with one from peers.
pub(super) fn failed(vote: Vote) -> bool {
    matches!(vote, Vote::Blocked | Vote::NeedsControl)
}

/// Masks the failures of faulty versions; `None` if there are none.
pub fn mask(seen: &mut [JudgedMeasurement]) -> Option<InstrumentFault> {
    // Fewer failures cannot be a fault of the software, and most series have fewer.
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

fn count(seen: &[JudgedMeasurement]) -> Vec<VersionCount> {
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
