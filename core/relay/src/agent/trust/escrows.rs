//! Counts escrows that an agent with anchored weight paid out to another agent (decision anchored-weight).
//!
//! The ledger keeps the vote of each agent with anchored weight of its own, so other escrows cost one look. When such
//! an agent releases an escrow or accepts the work for it, the recipient's actor counts it. This vote comes only from
//! weight by measurements and by the operator. Weight from escrows does not add to it; otherwise agents that one of
//! them paid once could pay each other. A payment by an admin or a deadline says nothing about the payer's opinion, and
//! paying makes nobody trusted.
//!
//! Table number: 109. What the ledger keeps of it is in its own module.

use serde::{Deserialize, Serialize};

use super::{TrustRecord, change, is_of, vote};
use crate::above::Bookkeeping;
use crate::agent::{record, wire};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::Table;

/// Limit that the weight from all escrows of one counterparty approaches: the first earns half of it, the second a
/// quarter, and so on, times the counterparty's vote. Our choice: `medium` takes more than three counterparties.
pub const ESCROWS_OF_ONE: f64 = 1.0;

/// Escrows that a counterparty paid out to this agent, by its name; in agents.
const PAID_BY: Table<(String,), u64> = Table::new(109);

/// Tells the ledger the present vote of this agent.
pub(super) fn lend(turn: &mut Turn<'_>, standing: &TrustRecord) -> Result<()> {
    let did = wire::did_text(turn.settings, &record::did_of(&turn.actor().name)?);
    (Bookkeeping::of(turn.program).lent)(turn, &did, vote(standing.own()))
}

/// An agent with anchored weight paid this one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountEscrow {
    pub from: String,
    /// The counterparty's vote when it paid.
    pub vote: f64,
    pub opened: Timestamp,
}

impl Operation for CountEscrow {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "count_escrow";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::lasting(turn)? {
            Some(agent) if is_of(&agent, self.opened) => {}
            _ => return Ok(()),
        }
        let before = PAID_BY.get(turn, &(self.from.clone(),))?.unwrap_or_default();
        PAID_BY.put(turn, &(self.from,), &(before + 1))?;
        let halvings = i32::try_from(before + 1).unwrap_or(i32::MAX);
        let earned = ESCROWS_OF_ONE * self.vote * 0.5f64.powi(halvings);
        change(turn, |standing| {
            standing.escrows += 1;
            standing.paid += earned;
        })
    }
}

/// Forgets the payers of a registration that ends.
pub(super) fn forget(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in PAID_BY.scan(turn, &PAID_BY.range(), engine::kv::Direction::Ascending, usize::MAX)? {
        PAID_BY.delete(turn, &key);
    }
    Ok(())
}
