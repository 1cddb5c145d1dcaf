//! Escrows that an agent with anchored weight paid out to another (decision anchored-weight).
//!
//! The ledger keeps what the word of each such agent is worth, so an escrow between others costs one look. When one of
//! them releases an escrow or accepts the work for it, the recipient's actor counts it. Only weight from measurements
//! and from the operator lends any: weight from escrows lends none, or agents that one of them paid once could pay each
//! other. What an admin or a deadline pays out says nothing of the payer's opinion, and paying makes nobody trusted.
//!
//! Table numbers: 109 in agents, 72 in the ledger.

use serde::{Deserialize, Serialize};

use super::{Standing, change, is_of, vote};
use crate::crypto::encoding::{actor_id, parse_did};
use crate::engine::actor::{Kind, Operation, Turn};
use crate::engine::kv::{Row, Table};
use crate::ledger::ACTOR;
use crate::ledger::book::{did_of, name_of};
use crate::ledger::rows::{EscrowState, Name};
use crate::relay::agent::{record, wire};
use crate::{Result, Timestamp};

/// What all escrows of one counterparty together come near: the first earns half of it, the second a quarter, and so
/// on, by the counterparty's vote. Our choice: `medium` takes more than three of them.
pub const ESCROWS_OF_ONE: f64 = 1.0;

/// What the word of an agent with anchored weight of its own is worth; in the ledger.
const LENT: Table<(Name,), Lent> = Table::new(72);
/// Escrows that a counterparty paid out to this agent, by its name; in agents.
const PAID_BY: Table<(Name,), u64> = Table::new(109);

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Lent(f64);
impl Row for Lent {}

/// The word of an agent is worth so much from now on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetLent {
    pub name: Name,
    /// 0 for nothing.
    pub vote: f64,
}

impl Operation for SetLent {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "set_lent";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if self.vote > 0.0 {
            return Ok(LENT.put(turn, &(self.name,), &Lent(self.vote))?);
        }
        LENT.delete(turn, &(self.name,));
        Ok(())
    }
}

/// Tells the ledger what the word of this agent is worth now.
pub(super) fn lend(turn: &mut Turn<'_>, standing: &Standing) -> Result<()> {
    let did = wire::did_text(turn.settings, &record::did_of(&turn.actor().name)?);
    let name = name_of(&turn.settings.brand, &did).unwrap_or_default().to_owned();
    turn.send(ACTOR, &SetLent { name, vote: vote(standing.own()) })
}

/// An escrow was paid out by the word of its sender: the recipient counts it, when that word is worth anything.
pub fn paid(turn: &mut Turn<'_>, from: &str, to: &str, state: EscrowState, opened: Timestamp) -> Result<()> {
    if state != EscrowState::Released {
        return Ok(());
    }
    let Some(Lent(vote)) = LENT.get(turn, &(from.to_owned(),))? else { return Ok(()) };
    let did = did_of(&turn.settings.brand, to);
    let Ok(bytes) = parse_did(&turn.settings.brand, &did) else { return Ok(()) };
    turn.send(actor_id(&bytes), &CountEscrow { from: from.to_owned(), vote, opened })
}

/// An agent with anchored weight paid this one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountEscrow {
    pub from: Name,
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
