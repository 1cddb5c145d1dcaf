//! Escrows that an agent with anchored weight paid out to another (decision anchored-weight).
//!
//! The ledger keeps what the word of each such agent is worth, so an escrow between others costs one look. When one of
//! them releases an escrow or accepts the work for it, the recipient's actor counts it. Only weight from measurements
//! and from the operator lends any: weight from escrows lends none, or agents that one of them paid once could pay each
//! other. What an admin or a deadline pays out says nothing of the payer's opinion, and paying makes nobody trusted.
//!
//! Table number: 109. What the ledger keeps of it is in its own module.

use serde::{Deserialize, Serialize};

use super::{Standing, change, is_of, vote};
use crate::engine::actor::{Kind, Operation, Turn};
use crate::engine::kv::Table;
use crate::relay::above::Above;
use crate::relay::agent::{record, wire};
use crate::{Result, Timestamp};

/// What all escrows of one counterparty together come near: the first earns half of it, the second a quarter, and so
/// on, by the counterparty's vote. Our choice: `medium` takes more than three of them.
pub const ESCROWS_OF_ONE: f64 = 1.0;

/// Escrows that a counterparty paid out to this agent, by its name; in agents.
const PAID_BY: Table<(String,), u64> = Table::new(109);

/// Tells the ledger what the word of this agent is worth now.
pub(super) fn lend(turn: &mut Turn<'_>, standing: &Standing) -> Result<()> {
    let did = wire::did_text(turn.settings, &record::did_of(&turn.actor().name)?);
    (Above::of(turn.program).lent)(turn, &did, vote(standing.own()))
}

/// An agent with anchored weight paid this one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountEscrow {
    pub from: String,
    /// What its word was worth when it paid.
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

/// Forgets who paid a registration that ends.
pub(super) fn forget(turn: &mut Turn<'_>) -> Result<()> {
    for (key, _) in PAID_BY.scan(turn, &PAID_BY.range(), crate::engine::kv::Direction::Ascending, usize::MAX)? {
        PAID_BY.delete(turn, &key);
    }
    Ok(())
}
