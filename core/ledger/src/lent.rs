//! What the word of agents with anchored weight is worth, for escrows that they pay out (decision anchored-weight).
//!
//! The ledger keeps it, so an escrow between others costs one look. Table number: 72.

use serde::{Deserialize, Serialize};

use super::book::did_of;
use super::rows::{EscrowState, Name};
use crate::{Result, Timestamp};
use crypto::encoding::{actor_id, parse_did};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::{Row, Table};
use relay::agent::trust::escrows::CountEscrow;

/// What the word of an agent with anchored weight of its own is worth.
const LENT: Table<(Name,), Lent> = Table::new(72);

pub const ENTRIES: &[Entry] = &[operation::<SetLent>()];

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
