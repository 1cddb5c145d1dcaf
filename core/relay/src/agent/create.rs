//! Registration: a new one becomes the agent's record, waits for the DID, or is refused (`docs/decisions/identity.md`).

use serde::{Deserialize, Serialize};

use super::nonces::Nonce;
use super::proof::Proof;
use super::record::{AGENT, Agent, Keys, SignedPrekey, confirm, did_of};
use super::standing::Standing;
use super::{continuity, listing, moderation, rotate, waiting};
use crate::{Error, Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::kv::Read;

pub const ENTRIES: &[Entry] = &[operation::<CreateAgent>()];

/// A registration as the handler has checked it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateAgent {
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    pub metadata: String,
    pub client_side: bool,
    pub standing: Standing,
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub mlkem: Option<Vec<u8>>,
    pub sealed: Option<Vec<u8>>,
    pub signed_prekey: Option<SignedPrekey>,
    pub api_key_hash: [u8; 32],
    /// The proof that the handler verified, and the nonce in it.
    pub proof: Option<(Proof, Nonce)>,
}

/// How a registration of a DID that is already registered goes on.
enum Admission {
    /// It takes the place of the present holder.
    Succeeds,
    /// It waits beside the present holder, whose key has signed nothing either.
    Waits,
}

impl CreateAgent {
    fn admission(&self, view: &(impl Read + ?Sized), holder: &Agent) -> Result<Admission> {
        let registered = || Error::conflict("An agent with this identity is registered.");
        let is_its_key = rotate::proved_key(view, holder)? == self.signing;
        if holder.standing == Standing::Proved {
            // A proved registration keeps the DID, also while it is suspended or deactivated. After a deactivation its
            // own key revives it.
            let revives = holder.deactivated.is_some() && holder.suspended.is_none();
            let revived = revives && is_its_key && self.client_side && self.standing == Standing::Proved;
            return if revived { Ok(Admission::Succeeds) } else { Err(registered()) };
        }
        if holder.deactivated.is_some() {
            return Ok(Admission::Succeeds);
        }
        // A holder whose key has signed gives way only to that key: the key of the DID, or one that it signed for in a
        // rotation.
        let open = holder.standing == Standing::Silent || is_its_key;
        match self.standing {
            Standing::Proved if open => Ok(Admission::Succeeds),
            Standing::Signed if open && (holder.standing == Standing::Silent || holder.suspended.is_some()) => {
                Ok(Admission::Succeeds)
            }
            Standing::Silent if holder.standing == Standing::Silent || holder.suspended.is_some() => {
                Ok(Admission::Waits)
            }
            _ => Err(registered()),
        }
    }
}

impl Operation for CreateAgent {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "create";
    /// When the agent was created.
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        moderation::check_reissue(turn)?;
        if waiting::is_succeeding(turn)? {
            return Err(waiting::succession_under_way());
        }
        let holder = AGENT.get(turn, &())?;
        let admission = holder.as_ref().map(|holder| self.admission(turn, holder)).transpose()?;
        let version = waiting::next_version(turn)?;
        if let Some((_, nonce)) = &self.proof {
            nonce.spend(turn)?;
        }
        let did = did_of(&turn.actor().name)?;
        let agent = self.agent(version, turn.now);
        match (&holder, admission) {
            (Some(holder), Some(Admission::Waits)) => waiting::join(turn, holder, &agent)?,
            (Some(_), Some(Admission::Succeeds)) => waiting::succeed(turn, agent.clone(), |_| false)?,
            _ => {
                AGENT.put(turn, &(), &agent)?;
                continuity::holds(turn, &agent)?;
                listing::changed(turn, &agent)?;
                if version > 1 {
                    rotate::tell_ledger(turn, &agent)?;
                }
            }
        }
        if let Some(name) = &agent.name {
            confirm(turn, name, did)?;
        }
        Ok(turn.now)
    }
}

impl CreateAgent {
    fn agent(self, version: u64, now: Timestamp) -> Agent {
        let keys = Keys {
            version,
            since: now,
            signing: self.signing,
            encryption: self.encryption,
            mlkem: self.mlkem,
            sealed: self.sealed,
        };
        Agent {
            name: self.name,
            capabilities: self.capabilities,
            metadata: self.metadata,
            created: now,
            deactivated: None,
            client_side: self.client_side,
            standing: self.standing,
            keys,
            signed_prekey: self.signed_prekey,
            api_key_hash: self.api_key_hash,
            suspended: None,
            proof: self.proof.map(|(proof, _)| proof),
        }
    }
}
