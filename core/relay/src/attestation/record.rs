//! Rows of a shard, and the operations that change them.

use serde::{Deserialize, Serialize};

use super::{Attestation, MAX_VOTES, PER_DAY, Vote, Votes, unknown};
use crate::above::{Attested, Subscriptions};
use crate::agent::mailbox::Local;
use crate::agent::trust::{CountAttestation, CountCorroboration};
use crate::agent::waiting::Sign;
use crate::agent::wire;
use crate::directory::Did;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::actor_id;
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Desc, Direction, Read, Table};
use engine::time::DAY;

pub(super) const ATTESTATIONS: Table<(Local,), Attestation> = Table::new(16);
pub(super) const VOTES: Table<(Local, Did), Vote> = Table::new(17);
// Indexes, newest first, one for each condition of a query.
pub(super) const BY_TIME: Table<(Desc<Timestamp>, Local), ()> = Table::new(18);
pub(super) const BY_COUNTRY: Table<(String, Desc<Timestamp>, Local), ()> = Table::new(19);
pub(super) const BY_DOMAIN: Table<(String, Desc<Timestamp>, Local), ()> = Table::new(20);
pub(super) const BY_AGENT: Table<(Did, Desc<Timestamp>, Local), ()> = Table::new(21);
const BY_END: Table<(Timestamp, Local), ()> = Table::new(22);
/// When an agent voted, by agent and attestation.
pub(super) const VOTES_OF: Table<(Did, Local), Timestamp> = Table::new(131);

/// Key of the timer that deletes expired attestations.
const TIMER: &str = "expire";
/// Rows that one run of the timer deletes.
const AT_ONCE: usize = 400;

/// The attestation, if it has not expired.
pub(super) fn standing(view: &(impl Read + ?Sized), now: Timestamp, local: &Local) -> Result<Option<Attestation>> {
    Ok(ATTESTATIONS.get(view, &(*local,))?.filter(|attestation| attestation.expires > now))
}

/// Tells the country what an attestation states, and the anchored votes for and against it.
pub(super) fn tell(turn: &mut Turn<'_>, local: &Local, attestation: &Attestation) -> Result<()> {
    let (Some(country), Some(measurable)) = (&attestation.country, &attestation.measurable) else { return Ok(()) };
    let attested = Attested {
        id: wire::message_id(&turn.actor().name, local),
        series: measurable.series.clone(),
        author: attestation.author,
        blocked: measurable.blocked,
        at: attestation.created,
        expires: attestation.expires,
        support: attestation.support(),
        refute: attestation.votes.refuted,
    };
    (Subscriptions::of(turn.program).attested)(turn, country, attested)
}

/// Stores an attestation whose signature the handler has verified. A repeat of a signed attestation returns the first
/// one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Attest {
    pub local: Local,
    pub attestation: Attestation,
    /// The version of the keys that the signature proves to be the author's own (decision signed-registrations).
    pub proves: Option<u64>,
}

impl Operation for Attest {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "attest";
    type Reply = Attestation;

    fn run(self, turn: &mut Turn<'_>) -> Result<Attestation> {
        let Attest { local, attestation, proves } = self;
        if let Some(known) = standing(turn, turn.now, &local)? {
            return Ok(known);
        }
        let author = attestation.author;
        let day = BY_AGENT.between(&(author,), &(author, Desc(turn.now.plus(-DAY))));
        if BY_AGENT.scan(turn, &day, Direction::Ascending, PER_DAY)?.len() >= PER_DAY {
            let message = format!("An agent can make at most {PER_DAY} attestations a day.");
            return Err(Error::new(ErrorCode::RateLimited, message).retry_after(3600));
        }
        let at = Desc(attestation.created);
        ATTESTATIONS.put(turn, &(local,), &attestation)?;
        BY_TIME.put(turn, &(at, local), &())?;
        BY_AGENT.put(turn, &(author, at, local), &())?;
        if let Some(country) = &attestation.country {
            BY_COUNTRY.put(turn, &(country.clone(), at, local), &())?;
        }
        if let Some(domain) = &attestation.domain {
            BY_DOMAIN.put(turn, &(domain.clone(), at, local), &())?;
        }
        BY_END.put(turn, &(attestation.expires, local), &())?;
        if turn.scheduled(TIMER)?.is_none_or(|due| due > attestation.expires) {
            turn.schedule(TIMER, attestation.expires, &ExpireAttestations)?;
        }
        let agent = actor_id(&author);
        turn.send(agent.as_str(), &CountAttestation { at: attestation.created })?;
        if let Some(version) = proves {
            turn.send(agent, &Sign { version })?;
        }
        tell(turn, &local, &attestation)?;
        Ok(attestation)
    }
}

/// An agent's vote on another agent's attestation. The handler has verified its signature. The same vote again changes
/// nothing; the opposite vote is refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CastVote {
    pub local: Local,
    pub voter: Did,
    pub vote: Vote,
}

impl Operation for CastVote {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "vote";
    type Reply = Attestation;

    fn run(self, turn: &mut Turn<'_>) -> Result<Attestation> {
        let CastVote { local, voter, vote } = self;
        let mut attestation = standing(turn, turn.now, &local)?.ok_or_else(unknown)?;
        if attestation.author == voter {
            return Err(Error::new(ErrorCode::Forbidden, "An agent cannot vote on its own attestation."));
        }
        if let Some(known) = VOTES.get(turn, &(local, voter))?.filter(|known| !known.displaced) {
            return match known.corroborates == vote.corroborates {
                true => Ok(attestation),
                false => Err(Error::conflict("This agent voted on this attestation before.")),
            };
        }
        let Votes { corroborations, refutations, corroborated, refuted } = &mut attestation.votes;
        if *corroborations + *refutations >= MAX_VOTES {
            return Err(Error::conflict("This attestation has the largest number of votes that is allowed."));
        }
        match vote.corroborates {
            true => {
                *corroborations += 1;
                *corroborated += vote.weight;
                let author = actor_id(&attestation.author);
                turn.send(author, &CountCorroboration { at: attestation.created })?;
            }
            false => {
                *refutations += 1;
                *refuted += vote.weight;
            }
        }
        VOTES.put(turn, &(local, voter), &vote)?;
        VOTES_OF.put(turn, &(voter, local), &vote.at)?;
        ATTESTATIONS.put(turn, &(local,), &attestation)?;
        if vote.weight > 0.0 {
            tell(turn, &local, &attestation)?;
        }
        Ok(attestation)
    }
}

/// Deletes expired attestations, and the votes on them. No answer shows them any more; this frees their rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExpireAttestations;

impl Operation for ExpireAttestations {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "expire";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut room = AT_ONCE;
        let over = BY_END.between(&(), &(turn.now.plus(1),));
        for ((end, local), ()) in BY_END.scan(turn, &over, Direction::Ascending, AT_ONCE / 8)? {
            let votes = VOTES.scan(turn, &VOTES.prefix(&(local,)), Direction::Ascending, room)?;
            for (key, _) in &votes {
                VOTES.delete(turn, key);
                VOTES_OF.delete(turn, &(key.1, key.0));
            }
            room = room.saturating_sub(votes.len());
            if room == 0 {
                break;
            }
            BY_END.delete(turn, &(end, local));
            let Some(attestation) = ATTESTATIONS.get(turn, &(local,))? else { continue };
            ATTESTATIONS.delete(turn, &(local,));
            let at = Desc(attestation.created);
            BY_TIME.delete(turn, &(at, local));
            BY_AGENT.delete(turn, &(attestation.author, at, local));
            if let Some(country) = attestation.country {
                BY_COUNTRY.delete(turn, &(country, at, local));
            }
            if let Some(domain) = attestation.domain {
                BY_DOMAIN.delete(turn, &(domain, at, local));
            }
        }
        match BY_END.first(turn, &BY_END.range())? {
            Some(((due, _), ())) => turn.schedule(TIMER, due.max(turn.now), &ExpireAttestations),
            None => Ok(()),
        }
    }
}
