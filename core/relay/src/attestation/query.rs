//! The queries of a shard.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::record::{BY_AGENT, BY_COUNTRY, BY_DOMAIN, BY_TIME, VOTES, standing};
use super::{Attestation, AttestationPage, Vote};
use crate::agent::mailbox::Local;
use crate::directory::Did;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Direction, for_each};

/// Most rows of an index that one query looks at.
const MAX_LOOKED: usize = 10_000;
/// Most votes that are shown of one attestation.
const MAX_SHOWN: usize = 100;

/// Which attestations to find. An absent condition holds for all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttestationFilter {
    /// Country code in upper case.
    pub country: Option<String>,
    pub domain: Option<String>,
    pub claim_type: Option<String>,
    pub agent: Option<Did>,
    /// Least consensus, 0 to 1.
    pub min_consensus: f64,
    /// Only attestations made after this time.
    pub since: Option<Timestamp>,
    /// Only attestations made before this time.
    pub before: Option<Timestamp>,
}

impl AttestationFilter {
    fn takes(&self, attestation: &Attestation) -> bool {
        let same = |wanted: &Option<String>, is: Option<&String>| wanted.is_none() || wanted.as_ref() == is;
        same(&self.country, attestation.country.as_ref())
            && same(&self.domain, attestation.domain.as_ref())
            && same(&self.claim_type, Some(&attestation.claim_type))
            && self.agent.is_none_or(|agent| agent == attestation.author)
            && attestation.consensus() >= self.min_consensus
            && self.since.is_none_or(|since| attestation.created > since)
            && self.before.is_none_or(|before| attestation.created < before)
    }

    /// Visits the attestations that match, newest first, in the narrowest index, until `visit` returns `false`.
    fn visit(&self, view: &View<'_>, mut visit: impl FnMut(Local, Attestation) -> bool) -> Result<()> {
        let range = match (&self.agent, &self.domain, &self.country) {
            (Some(agent), ..) => BY_AGENT.prefix(&(*agent,)),
            (None, Some(domain), _) => BY_DOMAIN.prefix(&(domain.clone(),)),
            (None, None, Some(country)) => BY_COUNTRY.prefix(&(country.clone(),)),
            (None, None, None) => BY_TIME.range(),
        };
        let mut looked = 0;
        let mut failed = None;
        for_each(view, range, Direction::Ascending, |key, _| {
            looked += 1;
            // Every key of an index ends with the local part.
            let Some(local) = key.last_chunk() else { return Ok(false) };
            let found = match standing(view, view.now, local) {
                Ok(found) => found,
                Err(error) => {
                    failed = Some(error);
                    return Ok(false);
                }
            };
            let Some(attestation) = found else { return Ok(looked < MAX_LOOKED) };
            let older = self.since.is_some_and(|since| attestation.created <= since);
            let more = !self.takes(&attestation) || visit(*local, attestation);
            Ok(more && !older && looked < MAX_LOOKED)
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// Finds the newest attestations, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FindAttestations {
    pub wanted: AttestationFilter,
    pub limit: u32,
}

impl Query for FindAttestations {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "find";
    type Reply = AttestationPage;

    fn run(self, view: &View<'_>) -> Result<AttestationPage> {
        let mut page = Vec::new();
        self.wanted.visit(view, |local, attestation| {
            page.push((local, attestation));
            page.len() < self.limit as usize
        })?;
        Ok(page)
    }
}

/// Reads one attestation with the first votes on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadAttestation {
    pub local: Local,
}

impl Query for ReadAttestation {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "look";
    type Reply = Option<(Attestation, Vec<(Did, Vote)>)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(attestation) = standing(view, view.now, &self.local)? else { return Ok(None) };
        let votes = VOTES.scan(view, &VOTES.prefix(&(self.local,)), Direction::Ascending, MAX_SHOWN)?;
        Ok(Some((attestation, votes.into_iter().map(|((_, voter), vote)| (voter, vote)).collect())))
    }
}

/// The attestations of one type about one domain and country, in numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    pub claim_type: String,
    pub domain: Option<String>,
    pub country: Option<String>,
    pub attestations: u32,
    /// Sum of their consensus.
    pub consensus: f64,
    pub corroborations: u32,
    pub refutations: u32,
}

/// Groups attestations by type, domain and country, among the 10,000 newest of the narrowest index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Agreements {
    pub wanted: AttestationFilter,
}

impl Query for Agreements {
    const ACTOR: Kind = Kind::Attestation;
    const NAME: &'static str = "agreements";
    type Reply = Vec<Agreement>;

    fn run(self, view: &View<'_>) -> Result<Vec<Agreement>> {
        let mut groups: BTreeMap<(String, Option<String>, Option<String>), Agreement> = BTreeMap::new();
        self.wanted.visit(view, |_, attestation| {
            let Attestation { claim_type, domain, country, .. } = attestation.clone();
            let empty = || Agreement {
                claim_type: claim_type.clone(),
                domain: domain.clone(),
                country: country.clone(),
                ..Agreement::default()
            };
            let key = (claim_type.clone(), domain.clone(), country.clone());
            let group = groups.entry(key).or_insert_with(empty);
            group.attestations += 1;
            group.consensus += attestation.consensus();
            group.corroborations += attestation.votes.corroborations;
            group.refutations += attestation.votes.refutations;
            true
        })?;
        Ok(groups.into_values().collect())
    }
}
