//! The agent's own record: keys, name, profile, state. One row, changed by few operations.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::moderation::Suspended;
use super::proof::Proof;
use super::standing::Standing;
use super::usage::UsageRow;
use super::{access, listing, prekeys, rotate, username, waiting};
use crate::directory::{self, Did, likeness};
use crate::{Error, Result, Timestamp};
use crypto::encoding;
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{self, Direction, Read, Row, StoreError, Table};

/// A prekey signed by the identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedPrekey {
    pub public_key: [u8; 32],
    /// 64 bytes, Ed25519 over the raw key.
    pub signature: Vec<u8>,
    pub id: i64,
}

/// One generation of an agent's keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Numbers the generations over the whole life of the DID, over all its registrations.
    pub version: u64,
    pub since: Timestamp,
    /// Ed25519.
    pub signing: [u8; 32],
    /// X25519.
    pub encryption: [u8; 32],
    /// ML-KEM-768.
    #[serde(with = "engine::kv::bytes::option")]
    pub mlkem: Option<Vec<u8>>,
    /// The private keys, sealed under the master key; only of agents whose keys the server holds.
    #[serde(with = "engine::kv::bytes::option")]
    pub sealed: Option<Vec<u8>>,
}

/// A generation of keys that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierKeys {
    pub keys: Keys,
    pub until: Timestamp,
}
impl Row for EarlierKeys {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    /// JSON object as text, exactly as it was given.
    pub metadata: String,
    pub created: Timestamp,
    pub deactivated: Option<Timestamp>,
    /// Whether the client keeps the private keys, so that they never reach the server.
    pub client_side: bool,
    pub standing: Standing,
    pub keys: Keys,
    pub signed_prekey: Option<SignedPrekey>,
    /// SHA-256 of the secret in the agent's API key.
    pub api_key_hash: [u8; 32],
    /// Set by the operator; to others a suspended agent looks deactivated.
    pub suspended: Option<Suspended>,
    /// The proof of the present keys, if their holder proved them.
    pub proof: Option<Proof>,
}

impl Row for Agent {
    const VERSION: u8 = 3;

    /// Version 1 ended before `suspended`, version 2 before `proof`. In place of the standing, both held only whether
    /// the key had signed; for a client's own keys a signed prekey was enough.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        let missing: &[u8] = if version == 1 { &[0, 0] } else { &[0] };
        let mut agent: Agent = kv::appended(version, if version == 1 { 1 } else { 2 }, bytes, missing)?;
        if agent.standing == Standing::Signed && !agent.client_side {
            agent.standing = Standing::Proved;
        }
        Ok(agent)
    }
}

impl Agent {
    pub fn is_active(&self) -> bool {
        self.deactivated.is_none() && self.suspended.is_none()
    }
}

pub(super) const AGENT: Table<(), Agent> = Table::new(16);
pub(super) const EARLIER: Table<(u64,), EarlierKeys> = Table::new(17);
pub(super) const USAGE: Table<(), UsageRow> = Table::new(18);

pub const ENTRIES: &[Entry] = &[
    query::<Authorize>(),
    query::<ReadPublic>(),
    query::<ReadProfile>(),
    query::<ReadKeys>(),
    operation::<Update>(),
    operation::<LoseName>(),
    operation::<super::deactivate::Deactivate>(),
];

/// The record, if the agent is active.
pub fn active(view: &(impl Read + ?Sized)) -> Result<Option<Agent>> {
    Ok(AGENT.get(view, &())?.filter(Agent::is_active))
}

/// The record, if the agent is active or only suspended: work that it began still ends for a suspended agent.
pub(super) fn lasting(view: &(impl Read + ?Sized)) -> Result<Option<Agent>> {
    Ok(AGENT.get(view, &())?.filter(|agent| agent.deactivated.is_none()))
}

/// The 16 bytes of the DID in an agent actor's name.
pub fn did_of(actor: &str) -> Result<Did> {
    encoding::parse_actor_id(actor).ok_or_else(|| Error::internal(format!("no agent is named {actor:?}")))
}

/// A caller that sent the right API key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The actor's name.
    pub actor: String,
    pub did: String,
    pub client_side: bool,
    pub standing: Standing,
    /// The present keys without the ML-KEM key, which no handler needs of its caller.
    pub keys: Keys,
    /// Whether the newest API key was sent; an earlier one works for a while longer (decision lost-agent-keys).
    pub newest_key: bool,
    /// Changes whenever open streams must end: see [`epoch`].
    pub epoch: u64,
    pub place: RegistrationPlace,
}

impl Credentials {
    /// Admits a caller that holds its DID. One that waits for the DID is admitted only when `waiting` allows it.
    pub(crate) fn admitted(self, waiting: bool) -> Result<Credentials> {
        match self.place {
            RegistrationPlace::Stands => Ok(self),
            RegistrationPlace::Waits if waiting => Ok(self),
            RegistrationPlace::Waits => Err(waiting::waits()),
            RegistrationPlace::Succeeds => Err(waiting::succession_under_way()),
        }
    }
}

/// The place of a registration among those of its DID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegistrationPlace {
    /// It holds the DID.
    Stands,
    /// Another registration holds the DID.
    Waits,
    /// It will hold the DID once the rows of an earlier holder are deleted.
    Succeeds,
}

/// The credentials of a caller with the right API key.
pub(super) fn credentials(
    view: &View<'_>,
    agent: Agent,
    newest_key: bool,
    epoch: u64,
    place: RegistrationPlace,
) -> Result<Credentials> {
    let actor = view.actor().name.clone();
    let did = encoding::did(&view.settings.brand, &did_of(&actor)?);
    let standing = shown_standing(view, &agent, place)?;
    let Agent { client_side, keys, .. } = agent;
    let keys = Keys { mlkem: None, ..keys };
    Ok(Credentials { actor, did, client_side, standing, keys, newest_key, epoch, place })
}

/// The standing of the present signing key. A key from a rotation that the key before it did not sign proves nothing
/// about the DID.
fn shown_standing(view: &(impl Read + ?Sized), agent: &Agent, place: RegistrationPlace) -> Result<Standing> {
    let speaks = place != RegistrationPlace::Stands || rotate::proved_key(view, agent)? == agent.keys.signing;
    Ok(if speaks { agent.standing } else { agent.standing.min(Standing::Signed) })
}

/// Grows whenever the agent's keys or its valid API keys change, which ends the streams opened under others.
pub(super) fn epoch(view: &(impl Read + ?Sized), agent: &Agent) -> Result<u64> {
    Ok(agent.keys.version.saturating_add(access::ended_keys(view)?))
}

/// Checks an API key against the stored hashes. Returns the caller when the key is right and the agent is active.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Authorize {
    pub secret_hash: [u8; 32],
}

impl Query for Authorize {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "authorize";
    type Reply = Option<Credentials>;

    fn run(self, view: &View<'_>) -> Result<Option<Credentials>> {
        if let Some(agent) = active(view)? {
            let newest_key = bool::from(agent.api_key_hash.ct_eq(&self.secret_hash));
            if newest_key || access::is_former_key(view, view.now, &self.secret_hash)? {
                let epoch = epoch(view, &agent)?;
                return credentials(view, agent, newest_key, epoch, RegistrationPlace::Stands).map(Some);
            }
        }
        waiting::authorize(view, &self.secret_hash)
    }
}

/// Whether this is an API key of a registration of this DID: of the one that holds it, active or not, or of one that
/// waits.
pub(super) fn is_key(view: &View<'_>, secret_hash: &[u8; 32]) -> Result<bool> {
    let newest = |agent: &Agent| bool::from(agent.api_key_hash.ct_eq(secret_hash));
    if AGENT.get(view, &())?.as_ref().is_some_and(newest) || access::is_former_key(view, view.now, secret_hash)? {
        return Ok(true);
    }
    Ok(waiting::find(view, newest)?.is_some())
}

/// The public data of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Public {
    pub did: String,
    pub name: Option<String>,
    pub capabilities: Vec<String>,
    pub metadata: String,
    pub active: bool,
    pub created: Timestamp,
    pub version: u64,
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub mlkem: Option<Vec<u8>>,
    pub signed_prekey: Option<SignedPrekey>,
    pub standing: Standing,
    /// The proof of these keys, if their holder proved them.
    pub proof: Option<Proof>,
}

pub(super) fn public(view: &View<'_>, agent: Agent, place: RegistrationPlace) -> Result<Public> {
    let active = agent.is_active();
    let standing = shown_standing(view, &agent, place)?;
    let Keys { version, signing, encryption, mlkem, .. } = agent.keys;
    Ok(Public {
        did: encoding::did(&view.settings.brand, &did_of(&view.actor().name)?),
        name: agent.name,
        capabilities: agent.capabilities,
        metadata: agent.metadata,
        active,
        created: agent.created,
        version,
        signing,
        encryption,
        mlkem,
        signed_prekey: agent.signed_prekey,
        standing,
        proof: agent.proof.filter(|_| standing == Standing::Proved),
    })
}

/// Reads the public data, also of inactive agents; `None` when the agent never existed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPublic;

impl Query for ReadPublic {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "public";
    type Reply = Option<Public>;

    fn run(self, view: &View<'_>) -> Result<Option<Public>> {
        AGENT.get(view, &())?.map(|agent| public(view, agent, RegistrationPlace::Stands)).transpose()
    }
}

/// The data that only the agent itself may see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProfile {
    pub public: Public,
    /// The stored part of its usage.
    pub usage: UsageRow,
    pub username: Option<String>,
    pub stock: prekeys::Stock,
    /// Whether others may see when it last sent a heartbeat.
    pub presence: bool,
}

impl OwnProfile {
    /// The data of a registration that waits for its DID.
    pub(super) fn waiting(public: Public) -> OwnProfile {
        OwnProfile {
            public,
            usage: UsageRow::default(),
            username: None,
            stock: prekeys::Stock::default(),
            presence: true,
        }
    }
}

fn own(view: &View<'_>, agent: Agent) -> Result<OwnProfile> {
    Ok(OwnProfile {
        public: public(view, agent, RegistrationPlace::Stands)?,
        usage: USAGE.get(view, &())?.unwrap_or_default(),
        username: username::of(view)?,
        stock: prekeys::stock(view)?,
        presence: super::presence::shown(view)?,
    })
}

/// Reads the record for the agent itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadProfile;

impl Query for ReadProfile {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "profile";
    type Reply = Option<OwnProfile>;

    fn run(self, view: &View<'_>) -> Result<Option<OwnProfile>> {
        AGENT.get(view, &())?.map(|agent| own(view, agent)).transpose()
    }
}

/// Reads the present keys and the earlier ones that the server keeps, newest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadKeys;

impl Query for ReadKeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "keys";
    type Reply = Option<(Keys, Vec<EarlierKeys>)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(agent) = AGENT.get(view, &())? else { return Ok(None) };
        let earlier = EARLIER.scan(view, &EARLIER.range(), Direction::Descending, MAX_EARLIER)?;
        Ok(Some((agent.keys, earlier.into_iter().map(|(_, keys)| keys).collect())))
    }
}

/// Most earlier generations that are tried when a signature or a message is checked.
pub(super) const MAX_EARLIER: usize = 64;

pub(super) fn confirm(turn: &mut Turn<'_>, name: &str, did: Did) -> Result<()> {
    let confirm = directory::Confirm { name: name.to_owned(), did };
    turn.send_or(directory::shard(name), &confirm, &LoseName { name: name.to_owned() })
}

/// Releases `old` at once, unless `new` is the same name written in another way.
fn release_unless(turn: &mut Turn<'_>, old: String, new: Option<&str>, did: Did) -> Result<()> {
    if new.is_some_and(|new| likeness::key(new) == likeness::key(&old)) {
        return Ok(());
    }
    let shard = directory::shard(&old);
    turn.send(shard, &directory::Release { name: old, did, free_at: None })
}

/// Changes the profile. Members that are `None` stay. A new name must have been reserved before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Update {
    pub name: Option<String>,
    pub capabilities: Option<Vec<String>>,
    pub metadata: Option<String>,
    /// Whether others may see heartbeats (decision private-activity).
    pub presence: Option<bool>,
}

impl Operation for Update {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "update";
    type Reply = OwnProfile;

    fn run(self, turn: &mut Turn<'_>) -> Result<OwnProfile> {
        let mut agent = active(turn)?.ok_or_else(gone)?;
        let did = did_of(&turn.actor().name)?;
        if let Some(name) = self.name.filter(|name| agent.name.as_ref() != Some(name)) {
            confirm(turn, &name, did)?;
            if let Some(old) = agent.name.take() {
                release_unless(turn, old, Some(&name), did)?;
            }
            agent.name = Some(name);
        }
        agent.capabilities = self.capabilities.unwrap_or(agent.capabilities);
        agent.metadata = self.metadata.unwrap_or(agent.metadata);
        AGENT.put(turn, &(), &agent)?;
        if let Some(on) = self.presence {
            super::presence::switch(turn, on)?;
        }
        listing::changed(turn, &agent)?;
        own(&turn.view(), agent)
    }
}

/// The answer to a key that was valid only when the request began.
pub fn gone() -> Error {
    Error::unauthorized("The agent is not active.")
}

/// The directory gave the name to another agent, so this agent loses it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoseName {
    pub name: String,
}

impl Operation for LoseName {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "lose_name";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        waiting::lose_name(turn, &self.name)?;
        let Some(mut agent) = AGENT.get(turn, &())? else { return Ok(()) };
        if agent.name.as_ref() == Some(&self.name) {
            agent.name = None;
            AGENT.put(turn, &(), &agent)?;
            listing::changed(turn, &agent)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of version 2.
    #[derive(Serialize)]
    struct Before {
        name: Option<String>,
        capabilities: Vec<String>,
        metadata: String,
        created: Timestamp,
        deactivated: Option<Timestamp>,
        client_side: bool,
        proved: bool,
        keys: Keys,
        signed_prekey: Option<SignedPrekey>,
        api_key_hash: [u8; 32],
        suspended: Option<Suspended>,
    }

    #[test]
    fn a_stored_proof_by_a_prekey_becomes_signed_and_keys_of_the_service_stay_proved() {
        let before = |client_side, proved| Before {
            name: Some("Ada".into()),
            capabilities: vec!["x".into()],
            metadata: "{}".into(),
            created: Timestamp(5),
            deactivated: None,
            client_side,
            proved,
            keys: Keys {
                version: 3,
                since: Timestamp(5),
                signing: [1; 32],
                encryption: [2; 32],
                mlkem: None,
                sealed: None,
            },
            signed_prekey: None,
            api_key_hash: [3; 32],
            suspended: None,
        };
        for (client_side, proved, standing) in
            [(true, false, Standing::Silent), (true, true, Standing::Signed), (false, true, Standing::Proved)]
        {
            let bytes = postcard::to_allocvec(&before(client_side, proved)).unwrap();
            let agent = Agent::upgrade(2, &bytes).unwrap();
            assert_eq!((agent.standing, agent.keys.version, agent.proof), (standing, 3, None));
            // Version 1 had no `suspended`.
            let agent = Agent::upgrade(1, &bytes[..bytes.len() - 1]).unwrap();
            assert_eq!((agent.standing, agent.suspended), (standing, None));
        }
        assert!(Agent::upgrade(9, &[]).is_err());
    }
}
