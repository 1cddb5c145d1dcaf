//! Consent: who may write to an agent (decision who-may-write).
//!
//! An agent hears from everyone until it says otherwise. It can block agents, and it can accept only agents that it
//! knows or only those on its own list. A refused sender gets the answer of an agent that does not exist, for messages,
//! tasks, broadcasts and invites alike. The recipient's actor decides, in the operation that would store the message,
//! task or invite.
//!
//! An agent knows the agents that it pinned, while they have the pinned keys. It also knows those that it wrote to,
//! asked a task or invited into a channel: these are rows here, which follow by effect from the first message in the
//! other's mailbox, or from an accepted invite. The mailbox keeps room for known agents that no stranger can take.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mailbox::DropStrangers;
use super::pins::{self, Prints};
use super::record::{self, AGENT, Agent, Public};
use super::wire;
use crate::agent::authentication::Calling;
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{self, DID_PATTERN};
use engine::actor::{ActorId, Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::kv::{Direction, Range, Read, Row, Table};
use engine::runtime;

const LIST: &str = "/v1/agent/consent/{list}";
const LISTED: &str = "/v1/agent/consent/{list}/{did}";

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/consent", handler!(read))
        .agent()
        .extension()
        .returns::<ConsentInfo>()
        .summary("Who may write to the calling agent."),
    Route::patch("/v1/agent/consent", handler!(change))
        .agent()
        .extension()
        .accepts::<ConsentChange>()
        .returns::<ConsentInfo>()
        .summary(
            "Set who may send messages, tasks and invites: `everyone`, `known` or `listed`. Others get the 404 of an \
             unknown agent. Sealed messages are judged by the agent whose key sends them.",
        ),
    Route::get(LIST, handler!(list))
        .agent()
        .extension()
        .params(&[
            Param::optional("after", "Only agents after this DID, in the order of the list.").like(DID_PATTERN),
            Param::optional("limit", "Most entries of the answer: 1 to 1000, default 100.").count(100, 1_000),
        ])
        .returns::<ConsentList>()
        .summary("The agents that are `blocked`, or those that are `allowed`."),
    Route::put(LISTED, handler!(put))
        .agent()
        .extension()
        .bodiless()
        .returns::<ConsentEntry>()
        .summary("Put an agent on the list `blocked` or `allowed`; it leaves the other. 10000 in both at most."),
    Route::delete(LISTED, handler!(remove))
        .agent()
        .extension()
        .returns::<ConsentRemoved>()
        .summary("Take an agent off the list `blocked` or `allowed`."),
    Route::delete("/v1/agent/consent/strangers/unread", handler!(drop_unread))
        .agent()
        .extension()
        .returns::<StrangersDropped>()
        .summary(
            "Drop the unread messages from agents that the calling agent did not pin, allow, write to or \
             invite into a channel.",
        ),
];

/// Most agents on both lists together; our choice, as with pins.
const MAX_LISTED: u64 = 10_000;
/// Most agents that are remembered because this agent wrote to them; the oldest are forgotten first. Our choice.
const MAX_CONTACTS: u64 = 10_000;
/// Rows of a table that are deleted in one step when a registration ends; the rest are deleted by timer.
const BATCH: usize = 60;

/// The agents that may write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Senders {
    #[default]
    Everyone,
    /// Agents that this agent pinned with the keys they still have, wrote to, or allowed.
    Known,
    /// Agents that this agent allowed.
    Listed,
}

impl Senders {
    const ALL: [Senders; 3] = [Senders::Everyone, Senders::Known, Senders::Listed];

    fn as_str(self) -> &'static str {
        match self {
            Senders::Everyone => "everyone",
            Senders::Known => "known",
            Senders::Listed => "listed",
        }
    }
}

/// The two lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SenderList {
    Blocked,
    Allowed,
}

impl SenderList {
    fn as_str(self) -> &'static str {
        match self {
            SenderList::Blocked => "blocked",
            SenderList::Allowed => "allowed",
        }
    }

    fn other(self) -> SenderList {
        match self {
            SenderList::Blocked => SenderList::Allowed,
            SenderList::Allowed => SenderList::Blocked,
        }
    }

    fn key(self, peer: Did) -> (bool, Did) {
        (self == SenderList::Allowed, peer)
    }
}

/// The agent's settings, and the numbers of its rows. Absent while the agent set nothing and wrote to nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    senders: Senders,
    blocked: u64,
    allowed: u64,
    contacts: u64,
}
impl Row for Consent {}

impl Consent {
    fn count(&mut self, list: SenderList) -> &mut u64 {
        match list {
            SenderList::Blocked => &mut self.blocked,
            SenderList::Allowed => &mut self.allowed,
        }
    }
}

const CONSENT: Table<(), Consent> = Table::new(96);
/// By list, blocked ones first: when the agent was put on it.
const LISTS: Table<(bool, Did), Timestamp> = Table::new(97);
/// Agents that this agent wrote to: when it first did.
const CONTACTS: Table<(Did,), Timestamp> = Table::new(98);
const CONTACT_ORDER: Table<(Timestamp, Did), ()> = Table::new(99);

pub const ENTRIES: &[Entry] = &[
    operation::<SetSenders>(),
    operation::<PutListed>(),
    operation::<RemoveListed>(),
    operation::<Wrote>(),
    operation::<ForgetConsent>(),
    query::<ReadConsent>(),
    query::<ReadList>(),
    query::<ReadPeer>(),
];

/// The time of a row, unless the row is of an earlier registration of the DID and no timer has deleted it yet.
fn since(agent: &Agent, row: Option<Timestamp>) -> Option<Timestamp> {
    row.filter(|since| *since >= agent.created)
}

/// Whether `from` may write to the agent of this actor. `keys` are the sender's present keys, where they are at hand.
pub(crate) fn admits(
    view: &(impl Read + ?Sized),
    actor: &ActorId,
    agent: &Agent,
    from: Did,
    keys: Option<Prints>,
) -> Result<bool> {
    let Some(consent) = CONSENT.get(view, &())? else { return Ok(true) };
    if record::did_of(&actor.name)? == from {
        return Ok(true);
    }
    if consent.blocked > 0 && is_listed(view, agent, SenderList::Blocked, from)? {
        return Ok(false);
    }
    match consent.senders {
        Senders::Everyone => Ok(true),
        Senders::Listed => is_listed(view, agent, SenderList::Allowed, from),
        Senders::Known => knows(view, actor, agent, from, keys),
    }
}

fn is_listed(view: &(impl Read + ?Sized), agent: &Agent, list: SenderList, peer: Did) -> Result<bool> {
    Ok(since(agent, LISTS.get(view, &list.key(peer))?).is_some())
}

/// Whether the agent of this actor knows `peer`: it pinned the peer's present keys, allowed it, wrote to it, or invited
/// it into a channel and the peer accepted. `keys` as in [`admits`].
pub(crate) fn knows(
    view: &(impl Read + ?Sized),
    actor: &ActorId,
    agent: &Agent,
    peer: Did,
    keys: Option<Prints>,
) -> Result<bool> {
    if record::did_of(&actor.name)? == peer || pins::is_verified(view, peer, keys)? {
        return Ok(true);
    }
    let Some(consent) = CONSENT.get(view, &())? else { return Ok(false) };
    Ok((consent.allowed > 0 && is_listed(view, agent, SenderList::Allowed, peer)?)
        || (consent.contacts > 0 && since(agent, CONTACTS.get(view, &(peer,))?).is_some()))
}

/// Remembers that this agent wrote to `to`.
pub(super) fn wrote(turn: &mut Turn<'_>, agent: &Agent, to: Did) -> Result<()> {
    let before = CONTACTS.get(turn, &(to,))?;
    if since(agent, before).is_some() {
        return Ok(());
    }
    if let Some(before) = before {
        CONTACT_ORDER.delete(turn, &(before, to));
    }
    let mut consent = CONSENT.get(turn, &())?.unwrap_or_default();
    if consent.contacts >= MAX_CONTACTS
        && let Some(((at, oldest), ())) = CONTACT_ORDER.first(turn, &CONTACT_ORDER.range())?
    {
        CONTACTS.delete(turn, &(oldest,));
        CONTACT_ORDER.delete(turn, &(at, oldest));
        consent.contacts -= 1;
    }
    consent.contacts += 1;
    CONSENT.put(turn, &(), &consent)?;
    let now = turn.now;
    CONTACT_ORDER.put(turn, &(now, to), &())?;
    Ok(CONTACTS.put(turn, &(to,), &now)?)
}

/// A mailbox has its first message from this agent, or an agent accepted an invite by it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wrote {
    /// The owner of the mailbox, or the agent that accepted.
    pub to: Did,
}

impl Operation for Wrote {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "wrote";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        match record::active(turn)? {
            Some(agent) => wrote(turn, &agent, self.to),
            None => Ok(()),
        }
    }
}

/// Forgets everything. Called when a registration ends or gives way to another.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    CONSENT.delete(turn, &());
    ForgetConsent { before: turn.now }.run(turn)
}

/// Deletes the rows of a registration that ended, a batch at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForgetConsent {
    pub before: Timestamp,
}

impl Operation for ForgetConsent {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "forget_consent";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut listed = Vec::new();
        LISTS.visit(turn, LISTS.range(), Direction::Ascending, |key, since| {
            if since <= self.before {
                listed.push(key);
            }
            Ok(listed.len() < BATCH)
        })?;
        let old = CONTACT_ORDER.between(&(), &(self.before.plus(1),));
        let contacts = CONTACT_ORDER.scan(turn, &old, Direction::Ascending, BATCH)?;
        let more = listed.len() == BATCH || contacts.len() == BATCH;
        listed.iter().for_each(|key| LISTS.delete(turn, key));
        for ((at, did), ()) in contacts {
            CONTACT_ORDER.delete(turn, &(at, did));
            CONTACTS.delete(turn, &(did,));
        }
        match more {
            true => turn.schedule("forget_consent", turn.now, &self),
            false => Ok(()),
        }
    }
}

/// Sets who may write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetSenders {
    pub senders: Senders,
}

impl Operation for SetSenders {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "set_senders";
    type Reply = Consent;

    fn run(self, turn: &mut Turn<'_>) -> Result<Consent> {
        record::active(turn)?.ok_or_else(record::gone)?;
        let mut consent = CONSENT.get(turn, &())?.unwrap_or_default();
        consent.senders = self.senders;
        CONSENT.put(turn, &(), &consent)?;
        Ok(consent)
    }
}

/// Puts an agent on a list, and takes it off the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutListed {
    pub list: SenderList,
    pub peer: Did,
}

impl Operation for PutListed {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "put_listed";
    /// When the agent was put on the list.
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        let agent = record::active(turn)?.ok_or_else(record::gone)?;
        if record::did_of(&turn.actor().name)? == self.peer {
            return Err(Error::bad_request("An agent may always write to itself."));
        }
        let (key, other) = (self.list.key(self.peer), self.list.other());
        if let Some(since) = since(&agent, LISTS.get(turn, &key)?) {
            return Ok(since);
        }
        let mut consent = CONSENT.get(turn, &())?.unwrap_or_default();
        if since(&agent, LISTS.get(turn, &other.key(self.peer))?).is_some() {
            LISTS.delete(turn, &other.key(self.peer));
            *consent.count(other) = consent.count(other).saturating_sub(1);
        }
        if consent.blocked + consent.allowed >= MAX_LISTED {
            return Err(Error::conflict("This agent has 10000 agents on its lists already."));
        }
        *consent.count(self.list) += 1;
        CONSENT.put(turn, &(), &consent)?;
        let now = turn.now;
        LISTS.put(turn, &key, &now)?;
        Ok(now)
    }
}

/// Takes an agent off a list.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveListed {
    pub list: SenderList,
    pub peer: Did,
}

impl Operation for RemoveListed {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "remove_listed";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let agent = record::active(turn)?.ok_or_else(record::gone)?;
        let key = self.list.key(self.peer);
        if since(&agent, LISTS.get(turn, &key)?).is_none() {
            return Err(Error::not_found("This agent is not on the list."));
        }
        LISTS.delete(turn, &key);
        let mut consent = CONSENT.get(turn, &())?.unwrap_or_default();
        *consent.count(self.list) = consent.count(self.list).saturating_sub(1);
        Ok(CONSENT.put(turn, &(), &consent)?)
    }
}

/// Reads who may write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadConsent;

impl Query for ReadConsent {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "consent";
    type Reply = Consent;

    fn run(self, view: &View<'_>) -> Result<Consent> {
        Ok(CONSENT.get(view, &())?.unwrap_or_default())
    }
}

/// The agents on a list, in the order of their ids.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadList {
    pub list: SenderList,
    pub after: Option<Did>,
    pub limit: u32,
}

impl Query for ReadList {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "consent_list";
    /// May hold one more than `limit`: then there are more.
    type Reply = Vec<(Did, Timestamp)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let Some(agent) = AGENT.get(view, &())? else { return Ok(Vec::new()) };
        let mut range: Range = LISTS.prefix(&(self.list == SenderList::Allowed,));
        if let Some(after) = self.after {
            range = LISTS.after(range, &self.list.key(after));
        }
        let mut found = Vec::new();
        LISTS.visit(view, range, Direction::Ascending, |(_, did), at| {
            found.extend(since(&agent, Some(at)).map(|at| (did, at)));
            Ok(found.len() <= self.limit as usize)
        })?;
        Ok(found)
    }
}

/// The public data of an agent, if it is active and `by` may write to it; otherwise `None`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadPeer {
    pub by: Did,
    pub keys: Prints,
}

impl ReadPeer {
    /// A query on behalf of the calling agent.
    pub(crate) fn by(cx: &Cx) -> Result<ReadPeer> {
        let caller = cx.caller.agent()?;
        let keys = Prints::of(&caller.keys.signing, &caller.keys.encryption);
        Ok(ReadPeer { by: record::did_of(&caller.actor)?, keys })
    }
}

impl Query for ReadPeer {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "peer";
    type Reply = Option<Public>;

    fn run(self, view: &View<'_>) -> Result<Option<Public>> {
        let Some(agent) = record::active(view)? else { return Ok(None) };
        let admitted = admits(view, view.actor(), &agent, self.by, Some(self.keys))?;
        if admitted { record::public(view, agent, record::RegistrationPlace::Stands).map(Some) } else { Ok(None) }
    }
}

/// The public data of an active agent that the caller may write to, or the 404 of an unknown agent.
pub(crate) async fn peer(cx: &Cx, actor: &str) -> Result<Public> {
    runtime::query(&*cx.rt, actor, &ReadPeer::by(cx)?).await?.ok_or_else(wire::unknown_agent)
}

/// The agents that may write.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsentInfo {
    /// `everyone`: all but the blocked. `known`: agents that this agent pinned (while they keep the pinned keys), wrote
    /// to, asked a task, or allowed. `listed`: agents that it allowed.
    pub accept_from: &'static str,
    pub blocked_count: u64,
    pub allowed_count: u64,
    /// Most agents on both lists together.
    pub max_listed: u64,
}

/// A change of who may write.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ConsentChange {
    /// `everyone`, `known` or `listed`.
    #[schemars(regex(pattern = "^(everyone|known|listed)$"))]
    pub accept_from: String,
}

/// An agent on a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsentEntry {
    pub did: String,
    /// `blocked` or `allowed`.
    pub list: &'static str,
    pub since: String,
}

/// A page of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsentList {
    pub agents: Vec<ConsentEntry>,
    pub count: usize,
    pub has_more: bool,
}

/// An agent that was taken off a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConsentRemoved {
    pub did: String,
    pub list: &'static str,
    pub removed: bool,
}

/// Unread messages of strangers that are deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StrangersDropped {
    /// How many are deleted already.
    pub dropped: u64,
    /// True when all are deleted; otherwise the rest follows at once, without another call.
    pub complete: bool,
}

fn info(consent: &Consent) -> Result<Response> {
    Response::json(&ConsentInfo {
        accept_from: consent.senders.as_str(),
        blocked_count: consent.blocked,
        allowed_count: consent.allowed,
        max_listed: MAX_LISTED,
    })
}

fn list_of(cx: &Cx) -> Result<SenderList> {
    let name = cx.path("list")?;
    let found = [SenderList::Blocked, SenderList::Allowed].into_iter().find(|list| list.as_str() == name);
    found.ok_or_else(|| Error::not_found("There is no such list: the lists are `blocked` and `allowed`."))
}

fn parse_did(cx: &Cx, name: &str, text: &str) -> Result<Did> {
    let refuse = |_| Error::bad_request(format!("`{name}` must be a DID of this service."));
    encoding::parse_did(&cx.settings().brand, text).map_err(refuse)
}

async fn read(cx: Cx) -> Result<Response> {
    info(&runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ReadConsent).await?)
}

async fn change(cx: Cx) -> Result<Response> {
    let ConsentChange { accept_from } = cx.json()?;
    let senders = Senders::ALL.into_iter().find(|senders| senders.as_str() == accept_from);
    let refuse = || Error::bad_request("`accept_from` must be everyone, known or listed.");
    let set = SetSenders { senders: senders.ok_or_else(refuse)? };
    info(&runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &set).await?)
}

async fn list(cx: Cx) -> Result<Response> {
    let list = list_of(&cx)?;
    let limit = cx.count("limit", 100, 1_000)?;
    let after = cx.query("after")?.map(|text| parse_did(&cx, "after", &text)).transpose()?;
    let ask = ReadList { list, after, limit };
    let mut found = runtime::query(&*cx.rt, cx.caller.agent()?.actor.as_str(), &ask).await?;
    let has_more = found.len() > limit as usize;
    found.truncate(limit as usize);
    let entry = |(did, since): (Did, Timestamp)| ConsentEntry {
        did: wire::did_text(cx.settings(), &did),
        list: list.as_str(),
        since: since.to_string(),
    };
    let agents: Vec<ConsentEntry> = found.into_iter().map(entry).collect();
    Response::json(&ConsentList { count: agents.len(), agents, has_more })
}

async fn put(cx: Cx) -> Result<Response> {
    let (list, did) = (list_of(&cx)?, cx.path("did")?.to_owned());
    let put = PutListed { list, peer: parse_did(&cx, "did", &did)? };
    let since = runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &put).await?;
    Response::json(&ConsentEntry { did, list: list.as_str(), since: since.to_string() })
}

async fn remove(cx: Cx) -> Result<Response> {
    let (list, did) = (list_of(&cx)?, cx.path("did")?.to_owned());
    let remove = RemoveListed { list, peer: parse_did(&cx, "did", &did)? };
    runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &remove).await?;
    Response::json(&ConsentRemoved { did, list: list.as_str(), removed: true })
}

async fn drop_unread(cx: Cx) -> Result<Response> {
    let drop = DropStrangers { before: None, after: None };
    let done = runtime::call(&*cx.rt, cx.caller.agent()?.actor.as_str(), &drop).await?;
    Response::json(&StrangersDropped { dropped: done.messages, complete: done.complete })
}
