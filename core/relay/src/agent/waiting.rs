//! Registrations that wait for a DID, and how one of them takes the place of another.
//!
//! Anybody can register a key of somebody else, or a made-up one whose first 16 bytes are a DID. While none of the keys
//! has signed anything, nobody can say which registration is the owner's. So up to [`MAX_SILENT`] registrations are
//! kept side by side, each with an API key of its own. The first holds the DID, and the others wait. The first key that
//! signs ends the others, and a proof takes the place of a signature.
//!
//! A registration that gives way leaves nothing. Its rows are deleted before the heir holds the DID, so that no mail,
//! key or webhook of one registration ever belongs to another. Mostly that happens in the same step. A full mailbox
//! takes some more steps, by timer, and meanwhile nobody holds the DID.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;

use super::record::{self, AGENT, Agent, Credentials, Keys, Public, RegistrationPlace, did_of};
use super::standing::Standing;
use super::{continuity, deactivate, listing, moderation, rotate};
use crate::above::Bookkeeping;
use crate::{Error, ErrorCode, Result, directory};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Row, Table};

/// Most registrations of one DID whose keys have signed nothing, including the one that holds the DID.
pub const MAX_SILENT: usize = 8;

/// Numbers of the tables. These rows stay when the rows of a registration are deleted.
pub(super) const TABLES: [u8; 3] = [130, 131, 133];

/// Registrations that wait, by the version of their keys, which no two registrations of a DID share.
const WAITING: Table<(u64,), Agent> = Table::new(130);
/// The last version that was given out, when no other row tells it.
const LAST: Table<(), u64> = Table::new(131);
/// Present while the rows of an earlier holder are being deleted.
const SUCCESSION: Table<(), Succession> = Table::new(133);

/// The registration that follows one that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Succession {
    /// The version of the heir's keys; `None` for the first that waits, if any does.
    heir: Option<u64>,
}
impl Row for Succession {}

pub const ENTRIES: &[Entry] =
    &[operation::<Sign>(), operation::<Spoke>(), query::<ReadRegistration>(), query::<SigningKeys>()];

/// The answer when a registration that waits asks for something that only the holder of the DID may do.
pub fn waits() -> Error {
    let message = "Another registration holds this DID. Sign a prekey or a message, or prove your keys at /v1/agent/prove, \
                   and yours takes its place.";
    Error::new(ErrorCode::IdentityWaiting, message)
}

/// The answer while the rows of an earlier holder are being deleted.
pub(super) fn succession_under_way() -> Error {
    Error::unavailable("the rows of an earlier registration of this DID are being deleted")
}

/// The version for a new generation of keys, in any registration of the DID.
pub(super) fn next_version(view: &(impl Read + ?Sized)) -> Result<u64> {
    let last = LAST.get(view, &())?.unwrap_or(0);
    let present = AGENT.get(view, &())?.map_or(0, |agent| agent.keys.version);
    Ok(last.max(present) + 1)
}

fn all(view: &(impl Read + ?Sized)) -> Result<Vec<Agent>> {
    let rows = WAITING.scan(view, &WAITING.range(), Direction::Ascending, MAX_SILENT)?;
    Ok(rows.into_iter().map(|(_, agent)| agent).collect())
}

/// The registration with this version of keys, if it waits.
pub(super) fn of_version(view: &(impl Read + ?Sized), version: u64) -> Result<Option<Agent>> {
    if SUCCESSION.contains(view, &())? {
        return Ok(None);
    }
    Ok(WAITING.get(view, &(version,))?)
}

/// Whether nobody holds the DID now, because the rows of an earlier holder are being deleted.
pub(super) fn is_succeeding(view: &(impl Read + ?Sized)) -> Result<bool> {
    Ok(SUCCESSION.contains(view, &())?)
}

/// The caller with this API key, if it is a registration that waits.
pub(super) fn authorize(view: &View<'_>, secret_hash: &[u8; 32]) -> Result<Option<Credentials>> {
    let mut found = None;
    for agent in all(view)? {
        if bool::from(agent.api_key_hash.ct_eq(secret_hash)) {
            found = Some(agent);
        }
    }
    let Some(agent) = found else { return Ok(None) };
    let place = if is_succeeding(view)? { RegistrationPlace::Succeeds } else { RegistrationPlace::Waits };
    let epoch = agent.keys.version;
    Ok(Some(record::credentials(view, agent, true, epoch, place)?))
}

/// The version of the first waiting registration for which `is` returns true.
pub(super) fn find(view: &(impl Read + ?Sized), is: impl Fn(&Agent) -> bool) -> Result<Option<u64>> {
    Ok(all(view)?.iter().find(|agent| is(agent)).map(|agent| agent.keys.version))
}

/// Replaces the API key of a registration that waits. If its key signed for that (`signed`), it takes over the DID.
pub(super) fn replace_key(turn: &mut Turn<'_>, version: u64, secret_hash: [u8; 32], signed: bool) -> Result<()> {
    let Some(mut agent) = WAITING.get(turn, &(version,))? else { return Ok(()) };
    agent.api_key_hash = secret_hash;
    if signed && !is_succeeding(turn)? {
        agent.standing = Standing::Signed;
        return succeed(turn, agent, |_| false);
    }
    Ok(WAITING.put(turn, &(version,), &agent)?)
}

/// Whether two registrations have the same public keys.
fn same_keys(one: &Keys, other: &Keys) -> bool {
    one.signing == other.signing && one.encryption == other.encryption && one.mlkem == other.mlkem
}

/// Lets a silent registration wait beside `holder`. 409 when its keys are registered already, or too many wait.
pub(super) fn join(turn: &mut Turn<'_>, holder: &Agent, agent: &Agent) -> Result<()> {
    let waiting = all(turn)?;
    if same_keys(&holder.keys, &agent.keys) || waiting.iter().any(|known| same_keys(&known.keys, &agent.keys)) {
        return Err(Error::conflict("These keys are registered already."));
    }
    if waiting.len() + 1 >= MAX_SILENT {
        return Err(Error::conflict("Too many registrations wait for this DID; prove your keys to take it."));
    }
    WAITING.put(turn, &(agent.keys.version,), agent)?;
    Ok(LAST.put(turn, &(), &agent.keys.version)?)
}

/// Removes the name from a waiting registration, since the directory gave it to another agent.
pub(super) fn lose_name(turn: &mut Turn<'_>, name: &str) -> Result<()> {
    for mut agent in all(turn)? {
        if agent.name.as_deref() == Some(name) {
            agent.name = None;
            WAITING.put(turn, &(agent.keys.version,), &agent)?;
        }
    }
    Ok(())
}

/// Ends the registrations that wait, except those for which `keep` returns true. `holder` has the DID.
fn end_those(turn: &mut Turn<'_>, holder: &Agent, keep: impl Fn(&Agent) -> bool) -> Result<()> {
    let (stay, go): (Vec<Agent>, Vec<Agent>) =
        all(turn)?.into_iter().partition(|agent| agent.keys.version == holder.keys.version || keep(agent));
    for agent in go {
        WAITING.delete(turn, &(agent.keys.version,));
        release(turn, agent.name, stay.iter().chain([holder]))?;
    }
    Ok(())
}

/// Ends every registration that waits, since `holder`'s key has signed.
pub(super) fn end_all(turn: &mut Turn<'_>, holder: &Agent) -> Result<()> {
    end_those(turn, holder, |_| false)
}

/// Releases a name at once, unless one of `others` has it too.
fn release<'a>(turn: &mut Turn<'_>, name: Option<String>, mut others: impl Iterator<Item = &'a Agent>) -> Result<()> {
    let Some(name) = name else { return Ok(()) };
    let same = |other: &Agent| other.name.as_ref().is_some_and(|kept| directory::fold(kept) == directory::fold(&name));
    if others.any(same) {
        return Ok(());
    }
    let did = did_of(&turn.actor().name)?;
    turn.send(directory::shard(&name), &directory::Release { name, did, free_at: None })
}

/// Puts `heir` in the place of the holder of the DID. Of the registrations that wait, only those stay for which `keep`
/// returns true.
pub(super) fn succeed(turn: &mut Turn<'_>, mut heir: Agent, keep: impl Fn(&Agent) -> bool) -> Result<()> {
    WAITING.delete(turn, &(heir.keys.version,));
    if let Some(earlier) = AGENT.get(turn, &())? {
        // Actors that know the earlier holder's keys accept only later versions, and no stream of the earlier holder
        // may go on.
        let reached = record::epoch(turn, &earlier)?;
        if reached >= heir.keys.version {
            heir.keys.version = reached.max(LAST.get(turn, &())?.unwrap_or(0)) + 1;
        }
        let last = heir.keys.version.max(LAST.get(turn, &())?.unwrap_or(0));
        LAST.put(turn, &(), &last)?;
        leave(turn, earlier, &heir)?;
    }
    end_those(turn, &heir, keep)?;
    WAITING.put(turn, &(heir.keys.version,), &heir)?;
    SUCCESSION.put(turn, &(), &Succession { heir: Some(heir.keys.version) })?;
    go_on(turn)
}

/// Ends at once everything that `earlier` has in other actors.
fn leave(turn: &mut Turn<'_>, mut earlier: Agent, heir: &Agent) -> Result<()> {
    deactivate::displaced(turn)?;
    continuity::left(turn, &earlier)?;
    if earlier.deactivated.is_none() {
        release(turn, earlier.name.take(), [heir].into_iter())?;
        earlier.deactivated = Some(turn.now);
    }
    listing::changed(turn, &earlier)?;
    let did = super::wire::did_text(turn.settings, &did_of(&turn.actor().name)?);
    (Bookkeeping::of(turn.program).holder_changed)(turn, &did)?;
    AGENT.delete(turn, &());
    // Streams that were opened with its API keys end.
    turn.wake();
    Ok(())
}

/// Called after an unproved registration ended for good: its rows are deleted, and the first that waits holds the DID.
pub(super) fn vacate(turn: &mut Turn<'_>, ended: &Agent) -> Result<()> {
    let last = record::epoch(turn, ended)?.max(LAST.get(turn, &())?.unwrap_or(0));
    LAST.put(turn, &(), &last)?;
    continuity::left(turn, ended)?;
    // What it wrote elsewhere must not look like the next holder's.
    super::memberships::ended(turn, Some(turn.now))?;
    crate::attestation::displaced::tell(turn)?;
    AGENT.delete(turn, &());
    SUCCESSION.put(turn, &(), &Succession { heir: None })?;
    turn.wake();
    go_on(turn)
}

/// Whether any registration waits.
pub(super) fn anybody(view: &(impl Read + ?Sized)) -> Result<bool> {
    Ok(WAITING.first(view, &WAITING.range())?.is_some())
}

/// Deletes more rows of the earlier holder. When none is left, the heir holds the DID.
pub(super) fn go_on(turn: &mut Turn<'_>) -> Result<()> {
    let Some(succession) = SUCCESSION.get(turn, &())? else { return Ok(()) };
    if !moderation::wipe(turn)? {
        return Ok(());
    }
    SUCCESSION.delete(turn, &());
    let heir = match succession.heir {
        Some(version) => WAITING.get(turn, &(version,))?,
        None => all(turn)?.into_iter().next(),
    };
    let Some(mut heir) = heir else { return Ok(()) };
    WAITING.delete(turn, &(heir.keys.version,));
    if succession.heir.is_none() {
        heir.keys.version = next_version(turn)?;
    }
    AGENT.put(turn, &(), &heir)?;
    continuity::holds(turn, &heir)?;
    listing::changed(turn, &heir)?;
    rotate::tell_ledger(turn, &heir)
}

/// The holder of a registration's API key showed that it holds the signing key too: a message, a prekey or an
/// attestation with a signature of that key came with the API key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sign {
    /// The version of the keys that signed.
    pub version: u64,
}

impl Operation for Sign {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "prove";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if let Some(mut heir) = of_version(turn, self.version)? {
            heir.standing = Standing::Signed;
            return succeed(turn, heir, |_| false);
        }
        match record::active(turn)? {
            Some(agent) if agent.keys.version == self.version => signed(turn, agent),
            _ => Ok(()),
        }
    }
}

/// The holder of the DID signed with its present key.
pub(super) fn signed(turn: &mut Turn<'_>, mut agent: Agent) -> Result<()> {
    // A key from a rotation that the registered key did not sign says nothing about the registered key.
    if agent.standing.has_signed() || rotate::proved_key(turn, &agent)? != agent.keys.signing {
        return Ok(());
    }
    agent.standing = Standing::Signed;
    AGENT.put(turn, &(), &agent)?;
    end_all(turn, &agent)
}

/// An envelope of the ledger verified under this signing key. It came without an API key. So it separates the key that
/// signs from made-up keys, but not two registrations of that key from each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Spoke {
    pub signing: [u8; 32],
}

impl Operation for Spoke {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "spoke";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(holder) = AGENT.get(turn, &())?.filter(|holder| holder.standing == Standing::Silent) else {
            return Ok(());
        };
        let with_it = |agent: &Agent| agent.keys.signing == self.signing;
        let waiting: Vec<Agent> = all(turn)?.into_iter().filter(|agent| with_it(agent)).collect();
        match (with_it(&holder), waiting.into_iter().next()) {
            (false, None) => Ok(()),
            (true, None) if holder.is_active() => signed(turn, holder),
            (true, None) => Ok(()),
            (true, Some(_)) => end_those(turn, &holder, with_it),
            (false, Some(mut heir)) => {
                let alone = all(turn)?.iter().filter(|agent| with_it(agent)).count() == 1;
                if alone {
                    heir.standing = Standing::Signed;
                }
                succeed(turn, heir, with_it)
            }
        }
    }
}

/// Reads the data of the registration with this version of keys, whether it holds the DID or waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadRegistration {
    pub version: u64,
}

impl Query for ReadRegistration {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "registration";
    type Reply = Option<Public>;

    fn run(self, view: &View<'_>) -> Result<Option<Public>> {
        let holder = AGENT.get(view, &())?.filter(|agent| agent.keys.version == self.version);
        if let Some(agent) = holder {
            return record::public(view, agent, RegistrationPlace::Stands).map(Some);
        }
        let waiting = WAITING.get(view, &(self.version,))?;
        waiting.map(|agent| record::public(view, agent, RegistrationPlace::Waits)).transpose()
    }
}

/// The signing keys of the registrations of this DID: first the proved key of the holder, active or not, then the keys
/// of the registrations that wait.
pub(super) fn signing_keys(view: &(impl Read + ?Sized)) -> Result<Vec<[u8; 32]>> {
    let mut keys = Vec::new();
    if let Some(holder) = AGENT.get(view, &())? {
        keys.push(rotate::proved_key(view, &holder)?);
    }
    for agent in all(view)? {
        if !keys.contains(&agent.keys.signing) {
            keys.push(agent.keys.signing);
        }
    }
    Ok(keys)
}

/// [`signing_keys`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SigningKeys;

impl Query for SigningKeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "signing_keys";
    type Reply = Vec<[u8; 32]>;

    fn run(self, view: &View<'_>) -> Result<Vec<[u8; 32]>> {
        signing_keys(view)
    }
}
