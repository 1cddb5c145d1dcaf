//! Tells [`crate::directory::stats`] of an agent, so that the directory can count all agents. Only changes are
//! told.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::record::{AGENT, Agent, USAGE};
use crate::Result;
use crate::directory::fold;
use crate::directory::stats::{self, TellChanges, hour_of};
use engine::actor::Turn;
use engine::kv::{Row, Table};

/// The values that were told last. Only the difference is sent, so telling twice changes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LastStats {
    counted: bool,
    hour: Option<u32>,
    messages: u64,
    /// Folded names, in order.
    capabilities: BTreeSet<String>,
}
impl Row for LastStats {}

const TOLD: Table<(), LastStats> = Table::new(92);

/// Called for an agent that was registered before the directory counted agents.
pub(crate) fn begin(turn: &mut Turn<'_>) -> Result<()> {
    let Some(agent) = AGENT.get(turn, &())? else { return Ok(()) };
    let names = agent.capabilities.clone();
    tell(turn, &agent, Some(&names))
}

/// Tells the directory of changes. `capabilities` are all names, when they may have changed.
pub(super) fn tell(turn: &mut Turn<'_>, agent: &Agent, capabilities: Option<&[String]>) -> Result<()> {
    let told = TOLD.get(turn, &())?.unwrap_or_default();
    let usage = USAGE.get(turn, &())?.unwrap_or_default();
    let counted = agent.is_active();
    let mut now = LastStats {
        counted,
        hour: usage.last_seen.filter(|_| counted).map(hour_of),
        messages: usage.messages.max(told.messages),
        capabilities: match capabilities {
            _ if !counted => BTreeSet::new(),
            Some(names) => names.iter().map(|name| fold(name)).collect(),
            None => told.capabilities.clone(),
        },
    };
    // The same hour is not told again, so an agent that is always active tells once an hour.
    now.hour = now.hour.max(told.hour.filter(|_| counted));
    if now == told {
        return Ok(());
    }
    let difference = TellChanges {
        agents: i8::from(now.counted) - i8::from(told.counted),
        messages: now.messages - told.messages,
        seen: if now.hour == told.hour { (None, None) } else { (told.hour, now.hour) },
        gained: now.capabilities.difference(&told.capabilities).cloned().collect(),
        lost: told.capabilities.difference(&now.capabilities).cloned().collect(),
    };
    TOLD.put(turn, &(), &now)?;
    turn.send(stats::ACTOR, &difference)
}
