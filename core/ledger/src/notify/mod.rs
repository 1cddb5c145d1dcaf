//! Notices: tells agents what happened to them in the ledger, by webhook and, if they want it, in their mailboxes
//! (decision ledger-for-clients).
//!
//! An agent says which events it wants, and its actor tells the ledger, so an event that nobody wants costs one read.
//! The operation that did something also sends the notice, through the outbox, to the party's actor, which queues it
//! for its webhooks and its mailbox. A notice has one id everywhere, made from the event and the row it is about, so a
//! recipient recognises a notice that comes twice.
//!
//! A message in a mailbox comes from the deployment's own agent ([`super::provider`]) and is encrypted to the recipient
//! like every message. It cannot be made inside an operation, so it is a wish with a timer behind it, like the delivery
//! of a webhook.
//!
//! Table numbers: 64 in the ledger; 106 to 108 in agents.
//!
//! | Module | What |
//! |---|---|
//! | [`routes`] | the endpoints where an agent says which events it wants in its mailbox |

pub mod routes;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::batch::item_id;
use super::book::{did_of, name_of, own_name};
use super::envelope::{Content, Envelope};
use super::receipt::{Receipt, ReceiptState};
use super::rows::{ESCROWS, Id, Name, Settlement, id_text};
use super::submit::{Answer, SubmissionResult};
use super::{ACTOR, provider};
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{actor_id, decode_base64, decode_hex_array, encode_hex, parse_did};
use crypto::hash::sha256_of;
use crypto::server_message::{self, SenderSecrets};
use engine::actor::{ActorId, Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::runtime::{self, Runtime};
use engine::time::{DAY, HOUR, SECOND};
use relay::agent::mailbox::{Append, Appended, Body, Origin, RecipientFacts};
use relay::agent::record::{self, ReadPublic};
use relay::agent::{custody, wire};
use relay::webhook;

/// All events that can be told, in the order of the bits of [`Events`].
pub const EVENTS: [&str; 4] = ["hire.created", "hire.claimed", "receipt.disputed", "transfer.settled"];
/// The part before the slash in the keys of wishes to write a message ([`Turn::reach_out`]).
pub const NOTICE: &str = "notice/";
/// Type of the messages.
pub const MESSAGE_TYPE: &str = "ledger.event";
/// Key of the timer of an agent whose messages wait.
const TIMER: &str = "ledger notices";
/// First wait before a message is written again, in microseconds; each wait is twice the one before, up to an hour.
const FIRST_WAIT: i64 = 45 * SECOND;
/// How long writing a message is tried, in microseconds.
const PATIENCE: i64 = DAY;
/// Most messages of one agent that wait; notices beyond that go to webhooks only.
const MAX_WAITING: usize = 1_000;
/// Most messages that one run of the timer tries again.
const AT_ONCE: usize = 50;
/// Lifetime of a message, in seconds.
const TTL: u32 = 604_800;

/// A set of [`EVENTS`], with one bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events(u8);
impl Row for Events {}

impl Events {
    /// The events among these words; other words are ignored.
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Events {
        let bit = |word: &str| EVENTS.iter().position(|event| *event == word).map_or(0, |at| 1 << at);
        Events(words.into_iter().map(bit).fold(0, |all, bit| all | bit))
    }

    pub fn has(self, event: &str) -> bool {
        self.0 & Events::of([event]).0 != 0
    }

    pub fn words(self) -> Vec<&'static str> {
        EVENTS.into_iter().filter(|event| self.has(event)).collect()
    }

    fn and(self, other: Events) -> Events {
        Events(self.0 | other.0)
    }
}

/// The id of a notice, which its message and its deliveries have too.
type NoticeId = [u8; 12];

/// In the ledger: the events that agents want, by name.
const WANTED: Table<(Name,), Events> = Table::new(64);
/// The events that the agent wants in its mailbox.
const BY_MAIL: Table<(), Events> = Table::new(106);
/// The events that the agent wants, as the ledger was told last.
const TOLD: Table<(), Events> = Table::new(107);
/// Messages that are not written yet, by the time at which they are tried again.
const WAITING: Table<(Timestamp, NoticeId), Notice> = Table::new(108);

/// A message to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub body: String,
    since: Timestamp,
    attempts: u32,
}
impl Row for Notice {}

/// An agent wants to be told of these events from now on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Want {
    pub name: Name,
    pub events: Events,
}

impl Operation for Want {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "want";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if self.events == Events::default() {
            WANTED.delete(turn, &(self.name,));
            return Ok(());
        }
        Ok(WANTED.put(turn, &(self.name,), &self.events)?)
    }
}

/// A notice to send: the event, the row that it is about, and the recipient.
struct EventNotice {
    event: &'static str,
    of: Id,
    to: Name,
    at: Timestamp,
    /// Name and value of the member of the body that shows the row.
    subject: (&'static str, Value),
}

/// Sends the notices about a settled envelope to the parties that want them.
pub fn tell(turn: &mut Turn<'_>, envelope: &Envelope, answer: &Answer) -> Result<()> {
    let Answer::Done(done) = answer else { return Ok(()) };
    for told in told(turn, envelope, done)? {
        send(turn, told)?;
    }
    Ok(())
}

fn wants(turn: &Turn<'_>, name: &str, event: &str) -> Result<bool> {
    Ok(WANTED.get(turn, &(name.to_owned(),))?.is_some_and(|events| events.has(event)))
}

fn send(turn: &mut Turn<'_>, told: EventNotice) -> Result<()> {
    if !wants(turn, &told.to, told.event)? {
        return Ok(());
    }
    let did = did_of(&turn.settings.brand, &told.to);
    let Ok(bytes) = parse_did(&turn.settings.brand, &did) else { return Ok(()) };
    let mut id = NoticeId::default();
    let hash = sha256_of(&[b"ledger notice/", told.event.as_bytes(), &told.of]);
    id.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    let (name, subject) = told.subject;
    let body = json!({ "event": told.event, "timestamp": told.at.to_micros_text(), name: subject }).to_string();
    turn.send(actor_id(&bytes), &Tell { id, event: told.event.to_owned(), body })
}

fn told(turn: &Turn<'_>, envelope: &Envelope, done: &SubmissionResult) -> Result<Vec<EventNotice>> {
    let brand = &turn.settings.brand;
    let told = match (&envelope.content, done) {
        (Content::Transfer(transfer), SubmissionResult::Transfer(id, row))
            if matches!(row.outcome, Settlement::Settled { .. }) =>
        {
            transfer_settled(turn, id, [&transfer.from, &transfer.to], transfer.amount, row.at)?
        }
        (Content::Batch(batch), SubmissionResult::Batch(settled)) => {
            let told = (0..).zip(&batch.items).map(|(index, item)| {
                let (id, at) = (item_id(&settled.id, index), settled.at.plus(i64::from(index)));
                transfer_settled(turn, &id, [&batch.from, &item.to], item.amount, at)
            });
            return told.filter_map(Result::transpose).collect();
        }
        (Content::Hire(asked), SubmissionResult::Hire(id, hire)) => {
            let subject = json!({ "id": id_text(id), "capability_id": id_text(&hire.listing),
                "capability": asked.capability, "requester_did": asked.requester, "provider_did": asked.provider,
                "escrow_id": id_text(&hire.escrow), "price_micro": hire.price, "state": hire.state.as_str(),
                "delivery_deadline_at": hire.deadline.to_micros_text() });
            let to = hire.provider.clone();
            Some(EventNotice { event: "hire.created", of: *id, to, at: hire.created, subject: ("hire", subject) })
        }
        (Content::Claim(_), SubmissionResult::Receipt(id, receipt)) => {
            let Some(escrow_id) = receipt.escrow else { return Ok(Vec::new()) };
            let escrow = ESCROWS.get(turn, &(escrow_id,))?;
            let Some(hire) = escrow.and_then(|escrow| escrow.hire) else { return Ok(Vec::new()) };
            let mut subject = receipt_subject(brand, id, receipt);
            subject["hire_id"] = json!(id_text(&hire));
            let (to, at) = (receipt.from.clone(), receipt.claimed);
            Some(EventNotice { event: "hire.claimed", of: *id, to, at, subject: ("receipt", subject) })
        }
        (Content::Acceptance(_), SubmissionResult::Receipt(id, receipt)) if receipt.state == ReceiptState::Disputed => {
            let subject = receipt_subject(brand, id, receipt);
            let at = receipt.answer.as_ref().map_or(receipt.claimed, |answer| answer.at);
            let to = receipt.to.clone();
            Some(EventNotice { event: "receipt.disputed", of: *id, to, at, subject: ("receipt", subject) })
        }
        _ => None,
    };
    Ok(told.into_iter().collect())
}

/// The notice of a settled transfer, if its recipient wants it. Few of very many transfers are told, so the body is
/// made for those only.
fn transfer_settled(
    turn: &Turn<'_>,
    id: &Id,
    [from, to]: [&str; 2],
    amount: i64,
    at: Timestamp,
) -> Result<Option<EventNotice>> {
    let event = "transfer.settled";
    let name = name_of(&turn.settings.brand, to).unwrap_or_default();
    if !wants(turn, name, event)? {
        return Ok(None);
    }
    let subject = json!({ "id": id_text(id), "from_did": from, "to_did": to, "amount_micro": amount, "status": "settled",
        "settled_at": at.to_micros_text() });
    Ok(Some(EventNotice { event, of: *id, to: name.to_owned(), at, subject: ("transfer", subject) }))
}

/// A receipt without its texts. A client reads those by the receipt's id.
fn receipt_subject(brand: &str, id: &Id, receipt: &Receipt) -> Value {
    json!({ "id": id_text(id), "escrow_id": receipt.escrow.as_ref().map(id_text), "task_id": receipt.task,
        "from_did": did_of(brand, &receipt.from), "to_did": did_of(brand, &receipt.to),
        "work_hash": encode_hex(&receipt.work_hash), "state": receipt.state.as_str(),
        "acceptance_deadline_at": receipt.deadline.to_millis_text() })
}

/// The ledger sends a notice to an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tell {
    pub id: NoticeId,
    pub event: String,
    /// JSON text.
    pub body: String,
}

impl Operation for Tell {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_tell";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if record::active(turn)?.is_none() {
            return Ok(());
        }
        let subject = webhook::Subject::Event { event: self.event.clone(), body: self.body.clone() };
        webhook::enqueue_as(turn, self.id, &subject)?;
        if !BY_MAIL.get(turn, &())?.unwrap_or_default().has(&self.event) {
            return Ok(());
        }
        if WAITING.scan(turn, &WAITING.range(), Direction::Ascending, MAX_WAITING)?.len() < MAX_WAITING {
            take_up(turn, self.id, Notice { body: self.body, since: turn.now, attempts: 0 })?;
        }
        plan(turn)
    }
}

/// Makes the wish to write a message, and notes when to try again.
fn take_up(turn: &mut Turn<'_>, id: NoticeId, mut notice: Notice) -> Result<()> {
    let wait = FIRST_WAIT.checked_shl(notice.attempts.min(8)).unwrap_or(HOUR).min(HOUR);
    notice.attempts = notice.attempts.saturating_add(1);
    let due = turn.now.plus(wait);
    WAITING.put(turn, &(due, id), &notice)?;
    turn.reach_out(format!("{NOTICE}{}-{}", due.0, encode_hex(&id)));
    Ok(())
}

fn plan(turn: &mut Turn<'_>) -> Result<()> {
    match WAITING.first(turn, &WAITING.range())? {
        Some(((due, _), _)) => turn.schedule(TIMER, due.max(turn.now), &TakeUp),
        None => turn.cancel(TIMER),
    }
}

/// Tries messages again that are still not written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeUp;

impl Operation for TakeUp {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_take_up_notices";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let over = WAITING.between(&(), &(turn.now.plus(1),));
        for (key, notice) in WAITING.scan(turn, &over, Direction::Ascending, AT_ONCE)? {
            WAITING.delete(turn, &key);
            if turn.now.since(notice.since) < PATIENCE {
                take_up(turn, key.1, notice)?;
            }
        }
        plan(turn)
    }
}

/// Reads a message that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadNotice {
    pub due: Timestamp,
    pub id: NoticeId,
}

impl Query for ReadNotice {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_notice";
    type Reply = Option<Notice>;

    fn run(self, view: &View<'_>) -> Result<Option<Notice>> {
        Ok(WAITING.get(view, &(self.due, self.id))?)
    }
}

/// A message was written, or never will be.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Written {
    pub due: Timestamp,
    pub id: NoticeId,
}

impl Operation for Written {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_notice_written";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        WAITING.delete(turn, &(self.due, self.id));
        plan(turn)
    }
}

/// Writes the message that waits under `key`. After a failure the timer tries again.
pub async fn write(rt: &dyn Runtime, agent: &ActorId, key: &str) -> Result<()> {
    let parse = || {
        let (due, id) = key.rsplit_once('-')?;
        Some((Timestamp(due.parse().ok()?), decode_hex_array("id", id).ok()?))
    };
    let Some((due, id)) = parse() else { return Ok(()) };
    let actor = agent.name.as_str();
    let Some(notice) = runtime::query(rt, actor, &ReadNotice { due, id }).await? else { return Ok(()) };
    let written = match append(rt, actor, id, &notice.body).await? {
        None => true,
        Some(append) => match runtime::call(rt, actor, &append).await {
            Ok(Appended::KeysChanged) => false,
            Ok(_) => true,
            // The recipient does not admit the sender, so the message is never written.
            Err(error) if error.code == ErrorCode::NotFound => true,
            Err(error) => return Err(error),
        },
    };
    match written {
        true => runtime::call(rt, actor, &Written { due, id }).await,
        false => Err(Error::unavailable("the recipient's keys changed")),
    }
}

/// The message of the deployment's own agent; `None` when there is no such agent, or nobody to write to.
async fn append(rt: &dyn Runtime, actor: &str, id: NoticeId, text: &str) -> Result<Option<Append>> {
    let (Some(own), Some(to)) = (provider::own(rt).await?, runtime::query(rt, actor, &ReadPublic).await?) else {
        return Ok(None);
    };
    let nonce = custody::nonce(rt);
    let secrets = SenderSecrets { signing: &own.held.signing, encryption: &own.held.encryption };
    let at = rt.now().to_millis_text();
    let made =
        server_message::make(secrets, &own.did, &to.did, &to.encryption, &at, &nonce, text).map_err(Error::internal)?;
    let body = Body {
        ciphertext: decode_base64("ciphertext", &made.ciphertext)?,
        nonce,
        signature: decode_base64("signature", &made.signature)?,
        envelope: Some(made.envelope),
        sender_signing: own.signing,
        sender_encryption: own.encryption,
    };
    Ok(Some(Append {
        local: id,
        from: record::did_of(wire::actor_of(&rt.environment().settings, &own.did).unwrap_or_default().as_str())?,
        body,
        content_type: Some("application/json".to_owned()),
        message_type: Some(MESSAGE_TYPE.to_owned()),
        thread_id: None,
        reply_to: None,
        ttl: TTL,
        expected_version: Some(to.version),
        opens_session: false,
        origin: Origin::Proved,
        proves: None,
        // The message goes to whoever holds the DID here.
        asked: Some(RecipientFacts { pinned: None }),
        alone: true,
    }))
}

/// Sets the events that the agent wants in its mailbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetNotices {
    pub events: Events,
}

impl Operation for SetNotices {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_set_notices";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        record::active(turn)?.ok_or_else(record::gone)?;
        BY_MAIL.put(turn, &(), &self.events)?;
        changed(turn)
    }
}

/// The events that the agent wants in its mailbox.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadNotices;

impl Query for ReadNotices {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "ledger_notices";
    type Reply = Events;

    fn run(self, view: &View<'_>) -> Result<Events> {
        Ok(BY_MAIL.get(view, &())?.unwrap_or_default())
    }
}

/// Tells the ledger when the events that the agent wants, by webhook or in its mailbox, changed.
pub fn changed(turn: &mut Turn<'_>) -> Result<()> {
    let wanted = wanted(turn)?;
    if TOLD.get(turn, &())?.unwrap_or_default() == wanted {
        return Ok(());
    }
    TOLD.put(turn, &(), &wanted)?;
    let did = wire::did_text(turn.settings, &record::did_of(&turn.actor().name)?);
    let name = own_name(&turn.settings.brand, &did)?;
    turn.send(ACTOR, &Want { name, events: wanted })
}

fn wanted(view: &(impl Read + ?Sized)) -> Result<Events> {
    let hooks = webhook::all(view)?;
    let by_hook = hooks.iter().flat_map(|(_, hook)| hook.events.iter().map(String::as_str));
    Ok(Events::of(by_hook).and(BY_MAIL.get(view, &())?.unwrap_or_default()))
}

/// For a registration that ends: forgets the events it wanted and its messages that wait.
pub fn ended(turn: &mut Turn<'_>) -> Result<()> {
    BY_MAIL.delete(turn, &());
    for (key, _) in WAITING.scan(turn, &WAITING.range(), Direction::Ascending, MAX_WAITING)? {
        WAITING.delete(turn, &key);
    }
    turn.cancel(TIMER)?;
    changed(turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart_by_their_words() {
        let some = Events::of(["hire.claimed", "message", "transfer.settled"]);
        assert_eq!(some.words(), ["hire.claimed", "transfer.settled"]);
        assert!(some.has("hire.claimed") && !some.has("hire.created") && !some.has("message"));
        assert_eq!(Events::of(EVENTS).words(), EVENTS);
        assert_eq!(routes::EVENT_PATTERN, format!("^({})$", EVENTS.join("|").replace('.', "[.]")));
        assert_eq!(Events::of([]), Events::default());
    }
}
