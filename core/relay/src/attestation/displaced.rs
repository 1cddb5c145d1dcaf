//! Attestations and votes of a registration that gave way to another of the same DID. They stay, marked as from before,
//! and have no weight any more.

use serde::{Deserialize, Serialize};

use super::Votes;
use super::record::{ATTESTATIONS, BY_AGENT, VOTES, VOTES_OF, tell as tell_country};
use crate::agent::mailbox::Local;
use crate::agent::record::did_of;
use crate::directory::Did;
use crate::{Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Desc, Direction};

/// Attestations and votes that one step marks; each can change several rows.
const AT_ONCE: usize = 60;

/// Tells every shard that the attestations and votes of this actor's agent so far are of an earlier registration.
pub fn tell(turn: &mut Turn<'_>) -> Result<()> {
    let did = did_of(&turn.actor().name)?;
    let until = turn.now;
    super::shards().try_for_each(|shard| turn.send(shard, &Displace { did, until, after: None }))
}

/// Marks an agent's attestations and votes up to a time: some at once, the rest by timer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Displace {
    pub did: Did,
    pub until: Timestamp,
    /// The last attestation that was looked at.
    pub after: Option<(Timestamp, Local)>,
}

impl Operation for Displace {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "displace";
    type Reply = ();

    fn run(mut self, turn: &mut Turn<'_>) -> Result<()> {
        let more_votes = self.votes(turn)?;
        let more_attestations = self.attestations(turn)?;
        match more_votes || more_attestations {
            true => turn.schedule(&format!("displaced {}", actor_id(&self.did)), turn.now, &self),
            false => Ok(()),
        }
    }
}

impl Displace {
    /// Subtracts votes from the sums in which they are counted. True when there may be more.
    fn votes(&self, turn: &mut Turn<'_>) -> Result<bool> {
        let found = VOTES_OF.scan(turn, &VOTES_OF.prefix(&(self.did,)), Direction::Ascending, AT_ONCE)?;
        let (mut marked, looked) = (0, found.len());
        for ((_, local), at) in found {
            if at > self.until {
                continue;
            }
            marked += 1;
            VOTES_OF.delete(turn, &(self.did, local));
            let Some(mut vote) = VOTES.get(turn, &(local, self.did))? else { continue };
            let weight = vote.weight;
            vote.displaced = true;
            VOTES.put(turn, &(local, self.did), &vote)?;
            let Some(mut attestation) = ATTESTATIONS.get(turn, &(local,))? else { continue };
            let Votes { corroborations, refutations, corroborated, refuted } = &mut attestation.votes;
            let (count, sum) = match vote.corroborates {
                true => (corroborations, corroborated),
                false => (refutations, refuted),
            };
            *count = count.saturating_sub(1);
            *sum = (*sum - weight).max(0.0);
            ATTESTATIONS.put(turn, &(local,), &attestation)?;
            if weight > 0.0 {
                tell_country(turn, &local, &attestation)?;
            }
        }
        Ok(looked == AT_ONCE && marked > 0)
    }

    /// Sets the weight of attestations to 0. True when there may be more.
    fn attestations(&mut self, turn: &mut Turn<'_>) -> Result<bool> {
        let all = BY_AGENT.prefix(&(self.did,));
        let range = match self.after {
            Some((at, local)) => BY_AGENT.after(all, &(self.did, Desc(at), local)),
            None => all,
        };
        let found = BY_AGENT.scan(turn, &range, Direction::Ascending, AT_ONCE)?;
        let more = found.len() == AT_ONCE;
        for ((_, Desc(at), local), ()) in found {
            self.after = Some((at, local));
            let Some(mut attestation) = ATTESTATIONS.get(turn, &(local,))? else { continue };
            if attestation.created > self.until || attestation.displaced {
                continue;
            }
            attestation.displaced = true;
            attestation.weight = 0.0;
            ATTESTATIONS.put(turn, &(local,), &attestation)?;
            tell_country(turn, &local, &attestation)?;
        }
        Ok(more)
    }
}
