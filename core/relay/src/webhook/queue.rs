//! The queue of deliveries: rows and operations, the same for every kind of actor.

use serde::{Deserialize, Serialize};

use super::attempt::Record;
use super::{LEASE, MAX_LOG, MAX_WAITING, MAX_WEBHOOKS, OVERLAP};
use crate::above::Bookkeeping;
use crate::agent::{mailbox, record};
use crate::keys;
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use engine::actor::{Call, Entry, Kind, Operation, Query, Turn, View, encode, operation, query};
use engine::kv::{Direction, Read, Row, StoreError, Table, appended};

/// Local part of the ids of webhooks and deliveries: 96 random bits.
pub type Id = [u8; 12];

/// Deliveries of a removed webhook that one turn deletes.
const SWEEP: usize = 200;

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Sealed for [`super::URL_PURPOSE`]; an address from before addresses were sealed is plain.
    pub url: String,
    /// Names of the events that are delivered. Empty for a subscription, which chooses by other conditions.
    pub events: Vec<String>,
    /// The secret, sealed under the master key for [`super::PURPOSE`].
    #[serde(with = "engine::kv::bytes")]
    pub sealed: Vec<u8>,
    pub created: Timestamp,
    /// When the webhook was switched off.
    pub disabled: Option<Timestamp>,
    /// Failed attempts since the last success.
    pub failures: u32,
    /// When the first of these failures was.
    pub failing_since: Option<Timestamp>,
    /// Deliveries that wait, including the one under way.
    pub waiting: u32,
    /// The delivery under way, and when its lease ends.
    pub(super) busy: Option<(Id, Timestamp)>,
    /// The secret before a rotation, which still signs for a while.
    pub previous: Option<Previous>,
}
impl Row for Hook {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

/// A secret that was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Previous {
    #[serde(with = "engine::kv::bytes")]
    pub sealed: Vec<u8>,
    /// When it stops signing.
    pub until: Timestamp,
}

impl Hook {
    pub fn new(url: String, events: Vec<String>, sealed: Vec<u8>, created: Timestamp) -> Hook {
        let (failures, waiting) = (0, 0);
        let (disabled, failing_since, busy, previous) = (None, None, None, None);
        Hook { url, events, sealed, created, disabled, failures, failing_since, waiting, busy, previous }
    }
}

/// The content of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Subject {
    /// A message came. It is read when it is delivered; a message that is gone by then is not delivered.
    Message { local: mailbox::Local, stamp: Timestamp },
    /// The name of the event, and the whole body as it was when the event happened.
    Event { event: String, body: String },
}

impl Subject {
    /// The name of the event.
    pub fn event(&self) -> &str {
        match self {
            Subject::Message { .. } => "message",
            Subject::Event { event, .. } => event,
        }
    }
}

/// A delivery that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delivery {
    pub subject: Subject,
    /// When the next attempt is due.
    pub due: Timestamp,
    /// Failed attempts.
    pub attempts: u32,
}
impl Row for Delivery {}
impl Row for Subject {}

/// One attempt, as the owner of the webhook sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    pub delivery: Id,
    pub event: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    pub at: Timestamp,
    /// Milliseconds.
    pub latency: u32,
    /// The status that the receiver answered; `None` when it did not answer.
    pub status: Option<u16>,
    /// When the next attempt is due.
    pub next: Option<Timestamp>,
}

/// The last attempts; the newest is last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Log(pub(super) Vec<Tried>);
impl Row for Log {}

pub(super) const HOOKS: Table<(Id,), Hook> = Table::new(80);
pub(super) const DELIVERIES: Table<(Id, Id), Delivery> = Table::new(81);
pub(super) const BY_DUE: Table<(Id, Timestamp, Id), ()> = Table::new(82);
pub(super) const LOGS: Table<(Id,), Log> = Table::new(83);
/// Contents of ended deliveries that the log still names: by webhook and delivery.
pub(super) const KEPT: Table<(Id, Id), Subject> = Table::new(84);

/// The operations of agents, and those operations of keys that deliver their subscriptions.
pub const ENTRIES: &[Entry] = &[
    operation::<Add>(),
    operation::<RemoveWebhook>(),
    operation::<Tend>(),
    operation::<Record>(),
    operation::<RotateSecret>(),
    operation::<Replay>(),
    query::<super::Next>(),
    query::<ReadWebhooks>(),
    query::<ReadLog>(),
    Entry { kind: Kind::Account, ..operation::<Tend>() },
    Entry { kind: Kind::Account, ..operation::<Record>() },
    Entry { kind: Kind::Account, ..query::<super::Next>() },
];

/// All webhooks of an actor. The operations that add webhooks limit their number.
pub fn all(view: &(impl Read + ?Sized)) -> Result<Vec<(Id, Hook)>> {
    let rows = HOOKS.scan(view, &HOOKS.range(), Direction::Ascending, usize::MAX)?;
    Ok(rows.into_iter().map(|((id,), hook)| (id, hook)).collect())
}

/// Reads one webhook.
pub fn read(view: &(impl Read + ?Sized), id: Id) -> Result<Option<Hook>> {
    Ok(HOOKS.get(view, &(id,))?)
}

/// Stores a webhook with its owner's changes. Deliveries of a webhook that is switched off are deleted by timer.
pub fn put(turn: &mut Turn<'_>, id: Id, hook: &Hook) -> Result<()> {
    HOOKS.put(turn, &(id,), hook)?;
    if hook.disabled.is_some() { tend_at(turn, id, turn.now) } else { Ok(()) }
}

/// Whether nothing may be sent for this actor now: the agent is suspended or gone, or the key was revoked.
pub(super) fn is_silent(view: &View<'_>) -> Result<bool> {
    match view.actor().kind {
        Kind::Agent => Ok(record::active(view)?.is_none()),
        Kind::Account => keys::is_revoked(view),
        _ => Ok(false),
    }
}

/// The delivery under way; `None` when there is none.
pub(super) fn under_way(view: &View<'_>, id: Id) -> Result<Option<(Hook, Id, Timestamp, Delivery)>> {
    let Some(hook) = HOOKS.get(view, &(id,))?.filter(|hook| hook.disabled.is_none()) else { return Ok(None) };
    let Some((delivery, until)) = hook.busy else { return Ok(None) };
    Ok(DELIVERIES.get(view, &(id, delivery))?.map(|row| (hook, delivery, until, row)))
}

/// Queues a delivery for every webhook that wants this event. The work is constant, since the requests are made later.
pub fn enqueue(turn: &mut Turn<'_>, subject: Subject) -> Result<()> {
    for (id, hook) in all(turn)? {
        if hook.events.iter().any(|event| event == subject.event()) {
            let delivery = turn.random();
            deliver(turn, id, hook, delivery, subject.clone())?;
        }
    }
    Ok(())
}

/// [`enqueue`] with a given delivery id, derived from the content: the same content is one delivery while it waits.
pub fn enqueue_as(turn: &mut Turn<'_>, delivery: Id, subject: &Subject) -> Result<()> {
    for (id, hook) in all(turn)? {
        if hook.events.iter().any(|event| event == subject.event()) {
            deliver(turn, id, hook, delivery, subject.clone())?;
        }
    }
    Ok(())
}

/// Queues a delivery for one webhook, unless the webhook is switched off or too many deliveries wait. True when it was
/// queued.
pub fn deliver(turn: &mut Turn<'_>, id: Id, mut hook: Hook, delivery: Id, subject: Subject) -> Result<bool> {
    let key = (id, delivery);
    if hook.disabled.is_some() || hook.waiting >= MAX_WAITING || DELIVERIES.contains(turn, &key)? {
        return Ok(false);
    }
    let row = Delivery { subject, due: turn.now, attempts: 0 };
    BY_DUE.put(turn, &(id, row.due, delivery), &())?;
    DELIVERIES.put(turn, &key, &row)?;
    hook.waiting += 1;
    go_on(turn, id, hook)?;
    Ok(true)
}

fn timer(id: &Id) -> String {
    format!("webhook/{}", encode_hex(id))
}

/// Schedules [`Tend`] at `due`, unless it is scheduled earlier.
fn tend_at(turn: &mut Turn<'_>, id: Id, due: Timestamp) -> Result<()> {
    let key = timer(&id);
    if turn.scheduled(&key)?.is_some_and(|set| set <= due) {
        return Ok(());
    }
    let call =
        Call { actor: turn.actor().clone(), name: Tend::NAME.to_owned(), arguments: encode(&Tend { hook: id })? };
    turn.schedule_call(&key, due, call)
}

/// Takes up the delivery that is due, if none is under way, and stores the webhook.
pub(super) fn go_on(turn: &mut Turn<'_>, id: Id, mut hook: Hook) -> Result<()> {
    if hook.disabled.is_none() && hook.busy.is_none_or(|(_, until)| until <= turn.now) {
        hook.busy = None;
        match BY_DUE.first(turn, &BY_DUE.prefix(&(id,)))? {
            Some(((_, due, delivery), ())) if due <= turn.now => {
                let until = turn.now.plus(LEASE);
                hook.busy = Some((delivery, until));
                turn.reach_out(encode_hex(&id));
                // The timer may still be set to an earlier time, for an earlier lease.
                turn.cancel(&timer(&id))?;
                tend_at(turn, id, until)?;
            }
            Some(((_, due, _), ())) => {
                turn.cancel(&timer(&id))?;
                tend_at(turn, id, due)?;
            }
            None => turn.cancel(&timer(&id))?,
        }
    }
    Ok(HOOKS.put(turn, &(id,), &hook)?)
}

/// Removes every webhook. Called when a registration ends or gives way to another.
pub fn ended(turn: &mut Turn<'_>) -> Result<()> {
    for (id, _) in all(turn)? {
        remove(turn, id)?;
    }
    (Bookkeeping::of(turn.program).webhooks_ended)(turn)
}

/// Goes on with deliveries that waited while nothing was sent.
pub fn resume(turn: &mut Turn<'_>) -> Result<()> {
    for (id, _) in all(turn)? {
        tend_at(turn, id, turn.now)?;
    }
    Ok(())
}

/// Removes a webhook. Its timer deletes the deliveries that wait, a bounded number each turn.
pub fn remove(turn: &mut Turn<'_>, id: Id) -> Result<()> {
    HOOKS.delete(turn, &(id,));
    LOGS.delete(turn, &(id,));
    for (key, _) in KEPT.scan(turn, &KEPT.prefix(&(id,)), Direction::Ascending, MAX_LOG + 1)? {
        KEPT.delete(turn, &key);
    }
    tend_at(turn, id, turn.now)
}

/// The sealed secrets, including those before a rotation.
pub fn sealed(view: &(impl Read + ?Sized)) -> Result<Vec<(Id, Vec<u8>)>> {
    let both = |hook: Hook| [Some(hook.sealed), hook.previous.map(|previous| previous.sealed)];
    Ok(all(view)?
        .into_iter()
        .flat_map(|(id, hook)| both(hook).into_iter().flatten().map(move |one| (id, one)))
        .collect())
}

/// Replaces a sealed secret if it is still `old`; true when it was.
pub fn reseal(turn: &mut Turn<'_>, id: Id, old: &[u8], new: Vec<u8>) -> Result<bool> {
    let Some(mut hook) = HOOKS.get(turn, &(id,))? else { return Ok(false) };
    match &mut hook.previous {
        _ if hook.sealed == old => hook.sealed = new,
        Some(previous) if previous.sealed == old => previous.sealed = new,
        _ => return Ok(false),
    }
    HOOKS.put(turn, &(id,), &hook)?;
    Ok(true)
}

/// Replaces a stored address if it is still `old`; true when it was.
pub fn reseal_url(turn: &mut Turn<'_>, id: Id, old: &str, new: &str) -> Result<bool> {
    match HOOKS.get(turn, &(id,))?.filter(|hook| hook.url == old) {
        Some(hook) => {
            HOOKS.put(turn, &(id,), &Hook { url: new.to_owned(), ..hook })?;
            Ok(true)
        }
        None => Ok(false),
    }
}

fn unknown() -> Error {
    Error::not_found("There is no such webhook.")
}

/// Replaces the secret, and returns the changed webhook. The secret before still signs too for [`OVERLAP`].
pub fn rotate(turn: &mut Turn<'_>, id: Id, sealed: Vec<u8>) -> Result<Hook> {
    let mut hook = HOOKS.get(turn, &(id,))?.ok_or_else(unknown)?;
    let sealed = std::mem::replace(&mut hook.sealed, sealed);
    hook.previous = Some(Previous { sealed, until: turn.now.plus(OVERLAP) });
    HOOKS.put(turn, &(id,), &hook)?;
    Ok(hook)
}

/// Sends the content of an ended delivery in the log again, under its id.
pub fn replay(turn: &mut Turn<'_>, id: Id, delivery: Id) -> Result<()> {
    let hook = HOOKS.get(turn, &(id,))?.ok_or_else(unknown)?;
    let gone = || Error::not_found("The log has no ended delivery with this id.");
    let subject = KEPT.get(turn, &(id, delivery))?.ok_or_else(gone)?;
    if hook.disabled.is_some() {
        return Err(Error::conflict("The webhook is switched off."));
    }
    match deliver(turn, id, hook, delivery, subject)? {
        true => Ok(()),
        false => Err(Error::conflict("This delivery waits already.")),
    }
}

/// [`rotate`], for agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RotateSecret {
    pub id: Id,
    pub sealed: Vec<u8>,
}

impl Operation for RotateSecret {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_rotate";
    type Reply = Hook;

    fn run(self, turn: &mut Turn<'_>) -> Result<Hook> {
        rotate(turn, self.id, self.sealed)
    }
}

/// [`replay`], for agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    pub id: Id,
    pub delivery: Id,
}

impl Operation for Replay {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_replay";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        replay(turn, self.id, self.delivery)
    }
}

/// A new webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Add {
    pub id: Id,
    /// Sealed.
    pub url: String,
    pub events: Vec<String>,
    pub sealed: Vec<u8>,
}

impl Operation for Add {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_add";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        record::active(turn)?.ok_or_else(record::gone)?;
        if all(turn)?.len() >= MAX_WEBHOOKS {
            return Err(Error::conflict(format!("There are {MAX_WEBHOOKS} webhooks already; delete one first.")));
        }
        let Add { id, url, events, sealed } = self;
        let hook = Hook::new(url, events, sealed, turn.now);
        HOOKS.put(turn, &(id,), &hook)?;
        (Bookkeeping::of(turn.program).webhooks_changed)(turn)
    }
}

/// Removes a webhook and all deliveries that wait for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveWebhook {
    pub id: Id,
}

impl Operation for RemoveWebhook {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_remove";
    /// Whether it existed.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        let found = HOOKS.contains(turn, &(self.id,))?;
        if found {
            remove(turn, self.id)?;
            (Bookkeeping::of(turn.program).webhooks_changed)(turn)?;
        }
        Ok(found)
    }
}

/// Takes up the delivery of a webhook that is due, also one whose lease is over. Deletes deliveries of a webhook that
/// is removed or switched off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tend {
    hook: Id,
}

impl Operation for Tend {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_tend";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let id = self.hook;
        let hook = HOOKS.get(turn, &(id,))?;
        if hook.is_some() && is_silent(&turn.view())? {
            // The deliveries wait until [`resume`].
            return Ok(());
        }
        if let Some(hook) = hook.clone().filter(|hook| hook.disabled.is_none()) {
            return go_on(turn, id, hook);
        }
        let rows = DELIVERIES.scan(turn, &DELIVERIES.prefix(&(id,)), Direction::Ascending, SWEEP)?;
        for (key, row) in &rows {
            DELIVERIES.delete(turn, key);
            BY_DUE.delete(turn, &(id, row.due, key.1));
        }
        if let Some(mut hook) = hook {
            hook.waiting = hook.waiting.saturating_sub(u32::try_from(rows.len()).unwrap_or(u32::MAX));
            HOOKS.put(turn, &(id,), &hook)?;
        }
        if rows.len() == SWEEP { tend_at(turn, id, turn.now.plus(1)) } else { Ok(()) }
    }
}

/// Reads all webhooks, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadWebhooks;

impl Query for ReadWebhooks {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhooks";
    type Reply = Vec<(Id, Hook)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let mut hooks = all(view)?;
        hooks.sort_by_key(|(id, hook)| (hook.created, *id));
        Ok(hooks)
    }
}

/// Reads the last attempts of a webhook, newest last; `None` when there is no such webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadLog {
    pub id: Id,
}

impl Query for ReadLog {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "webhook_log";
    type Reply = Option<Vec<Tried>>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        log(view, self.id)
    }
}

/// The last attempts of a webhook, newest last; `None` when there is no such webhook.
pub fn log(view: &View<'_>, id: Id) -> Result<Option<Vec<Tried>>> {
    if !HOOKS.contains(view, &(id,))? {
        return Ok(None);
    }
    Ok(Some(LOGS.get(view, &(id,))?.unwrap_or_default().0))
}
