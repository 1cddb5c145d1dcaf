//! The subscriptions of one API key, kept in its account actor. Each is a webhook of the queue
//! ([`relay::webhook`]), together with the news that it wants.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::desk::{Delivered, Wants, Wish};
use super::news::News;
use super::{MAX_SUBSCRIPTIONS, actor};
use crate::incidents::Severity;
use crate::{Error, Result, Timestamp};
use crypto::encoding::encode_hex;
use crypto::sealing::{self, KeyId};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::{MINUTE, SECOND};
use relay::keys;
use relay::webhook::{self, Hook, Id, Record, Subject, Tried};

pub const ENTRIES: &[Entry] = &[
    operation::<Subscribe>(),
    operation::<Alter>(),
    operation::<Unsubscribe>(),
    operation::<Rotate>(),
    operation::<Replay>(),
    operation::<Hear>(),
    operation::<HearMore>(),
    operation::<TellCounts>(),
    operation::<Reseal>(),
    query::<Subscriptions>(),
    query::<ReadOne>(),
    query::<ReadLog>(),
    query::<Holds>(),
    query::<Sealed>(),
    query::<Texts>(),
    operation::<ResealTexts>(),
];

/// Subscriptions that get news in one turn. Each makes a request, and an object of the edge runtime can make 50 in one
/// go.
const AT_ONCE: usize = 25;
/// Key of the timer that reports ended deliveries to the desk.
const COUNTS_TIMER: &str = "alert counts";

/// The wishes and the state of a subscription that are not part of its webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// `None` stands for every country.
    pub country: Option<String>,
    pub least: Severity,
    /// Hash of the secret, to recognize it as a subscriber key.
    pub secret_hash: [u8; 32],
    /// Hash of the secret before a rotation, and until when that secret counts.
    pub previous: Option<([u8; 32], Timestamp)>,
    /// Time of the last attempt to deliver something, and the status that came back.
    pub tried: Option<(Timestamp, Option<u16>)>,
    /// Whether it was switched off because of failures.
    pub failed: bool,
}
impl Row for Subscription {}

/// Deliveries that ended since the last report to the desk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Counts {
    ended: u32,
    delivered: u32,
}
impl Row for Counts {}

const SUBSCRIPTIONS: Table<(Id,), Subscription> = Table::new(90);
const COUNTS: Table<(), Counts> = Table::new(91);

/// A subscription with its webhook.
pub type SubscriptionWithHook = (Id, Hook, Subscription);

fn whole(view: &(impl Read + ?Sized), id: Id) -> Result<Option<SubscriptionWithHook>> {
    let Some(subscription) = SUBSCRIPTIONS.get(view, &(id,))? else { return Ok(None) };
    Ok(webhook::read(view, id)?.map(|hook| (id, hook, subscription)))
}

fn all(view: &(impl Read + ?Sized)) -> Result<Vec<SubscriptionWithHook>> {
    let mut found = Vec::new();
    for ((id,), subscription) in SUBSCRIPTIONS.scan(view, &SUBSCRIPTIONS.range(), Direction::Ascending, usize::MAX)? {
        if let Some(hook) = webhook::read(view, id)? {
            found.push((id, hook, subscription));
        }
    }
    Ok(found)
}

fn unknown() -> Error {
    Error::not_found("There is no such subscription.")
}

/// Reports to the desk what the subscriptions want together from now on.
fn tell(turn: &mut Turn<'_>) -> Result<()> {
    let mut wish = Wish::default();
    for (_, hook, subscription) in all(turn)? {
        if hook.disabled.is_some() {
            wish.failed += u32::from(subscription.failed);
            continue;
        }
        wish.active += 1;
        match wish.countries.iter_mut().find(|(country, _)| *country == subscription.country) {
            Some((_, least)) => *least = subscription.least.min(*least),
            None => wish.countries.push((subscription.country, subscription.least)),
        }
    }
    let account = turn.actor().name.clone();
    turn.send(actor().name, &Wants { account, wish })
}

/// Removes all subscriptions of a key that is revoked.
pub fn ended(turn: &mut Turn<'_>) -> Result<()> {
    let all = all(turn)?;
    for (id, ..) in &all {
        remove(turn, *id)?;
    }
    if all.is_empty() { Ok(()) } else { tell(turn) }
}

fn remove(turn: &mut Turn<'_>, id: Id) -> Result<()> {
    SUBSCRIPTIONS.delete(turn, &(id,));
    webhook::remove(turn, id)
}

/// Adds a subscription.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subscribe {
    pub id: Id,
    /// Sealed.
    pub url: String,
    pub country: Option<String>,
    pub least: Severity,
    pub sealed: Vec<u8>,
    pub secret_hash: [u8; 32],
}

impl Operation for Subscribe {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "subscribe";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if keys::is_revoked(turn)? {
            return Err(Error::unauthorized("The API key is not valid."));
        }
        if all(turn)?.len() >= MAX_SUBSCRIPTIONS {
            return Err(Error::conflict(format!(
                "This key has {MAX_SUBSCRIPTIONS} subscriptions already; delete one first."
            )));
        }
        let Subscribe { id, url, country, least, sealed, secret_hash } = self;
        webhook::put(turn, id, &Hook::new(url, Vec::new(), sealed, turn.now))?;
        let subscription = Subscription { country, least, secret_hash, previous: None, tried: None, failed: false };
        SUBSCRIPTIONS.put(turn, &(id,), &subscription)?;
        tell(turn)
    }
}

/// Changes a subscription. Members that are `None` stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Alter {
    pub id: Id,
    /// Switching it on again resets the failures. Deliveries that waited when it was switched off are not sent.
    pub enabled: Option<bool>,
    pub url: Option<String>,
    pub country: Option<Option<String>>,
    pub least: Option<Severity>,
}

impl Operation for Alter {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "alter_subscription";
    type Reply = SubscriptionWithHook;

    fn run(self, turn: &mut Turn<'_>) -> Result<SubscriptionWithHook> {
        let (id, mut hook, mut subscription) = whole(turn, self.id)?.ok_or_else(unknown)?;
        match self.enabled {
            Some(true) if hook.disabled.is_some() => {
                (hook.disabled, hook.failures, hook.failing_since) = (None, 0, None);
                subscription.failed = false;
            }
            Some(false) if hook.disabled.is_none() => hook.disabled = Some(turn.now),
            _ => {}
        }
        hook.url = self.url.unwrap_or(hook.url);
        subscription.country = self.country.unwrap_or(subscription.country);
        subscription.least = self.least.unwrap_or(subscription.least);
        webhook::put(turn, id, &hook)?;
        SUBSCRIPTIONS.put(turn, &(id,), &subscription)?;
        tell(turn)?;
        Ok((id, hook, subscription))
    }
}

/// Deletes a subscription and the deliveries that wait for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unsubscribe {
    pub id: Id,
}

impl Operation for Unsubscribe {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "unsubscribe";
    /// Whether the subscription existed.
    type Reply = bool;

    fn run(self, turn: &mut Turn<'_>) -> Result<bool> {
        if !SUBSCRIPTIONS.contains(turn, &(self.id,))? {
            return Ok(false);
        }
        remove(turn, self.id)?;
        tell(turn)?;
        Ok(true)
    }
}

/// Replaces the secret. For [`webhook::OVERLAP`] the previous one signs too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rotate {
    pub id: Id,
    pub sealed: Vec<u8>,
    pub secret_hash: [u8; 32],
}

impl Operation for Rotate {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "rotate_subscription";
    type Reply = Hook;

    fn run(self, turn: &mut Turn<'_>) -> Result<Hook> {
        let (id, _, mut subscription) = whole(turn, self.id)?.ok_or_else(unknown)?;
        let hash = std::mem::replace(&mut subscription.secret_hash, self.secret_hash);
        subscription.previous = Some((hash, turn.now.plus(webhook::OVERLAP)));
        SUBSCRIPTIONS.put(turn, &(id,), &subscription)?;
        webhook::rotate(turn, id, self.sealed)
    }
}

/// Sends a delivery of the log once more, under the same id.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replay {
    pub id: Id,
    pub delivery: Id,
}

impl Operation for Replay {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "replay_delivery";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        webhook::replay(turn, self.id, self.delivery)
    }
}

/// News that some of the subscriptions may want.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hear {
    pub news: News,
}

impl Operation for Hear {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "hear";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        hear(turn, self.news, None)
    }
}

/// Passes news on to the remaining subscriptions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HearMore {
    pub news: News,
    /// The last subscription that got it.
    pub after: Id,
}

impl Operation for HearMore {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "hear_more";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        hear(turn, self.news, Some(self.after))
    }
}

/// Queues news for the next subscriptions by id, after `after`, and schedules the rest.
fn hear(turn: &mut Turn<'_>, news: News, after: Option<Id>) -> Result<()> {
    let wants = |subscription: &Subscription| {
        let here = subscription.country.as_ref().is_none_or(|wanted| *wanted == news.country);
        here && news.severity >= subscription.least
    };
    let rest = all(turn)?.into_iter().filter(|(id, hook, subscription)| {
        after.is_none_or(|after| *id > after) && hook.disabled.is_none() && wants(subscription)
    });
    for (told, (id, hook, _)) in rest.enumerate() {
        let subject = Subject::Event { event: news.event.as_str().to_owned(), body: news.body.clone() };
        webhook::deliver(turn, id, hook, delivery_id(&news.body, id), subject)?;
        if told + 1 == AT_ONCE {
            let key = format!("hear/{}", encode_hex(&turn.random::<8>()));
            return turn.schedule(&key, turn.now.plus(SECOND), &HearMore { news, after: id });
        }
    }
    Ok(())
}

/// The id is the same for the same news and the same subscription, so that a receiver recognizes news that comes twice.
fn delivery_id(body: &str, subscription: Id) -> Id {
    let digest = Sha256::digest([body.as_bytes(), &subscription].concat());
    webhook::short(digest.into())
}

/// Notes an attempt to deliver; `over` when no further attempt follows.
pub fn tried(turn: &mut Turn<'_>, record: &Record, over: bool) -> Result<()> {
    let Some(mut subscription) = SUBSCRIPTIONS.get(turn, &(record.hook,))? else { return Ok(()) };
    subscription.tried = Some((record.began, record.status()));
    SUBSCRIPTIONS.put(turn, &(record.hook,), &subscription)?;
    if !over {
        return Ok(());
    }
    let mut counts = COUNTS.get(turn, &())?.unwrap_or_default();
    counts.ended += 1;
    counts.delivered += u32::from(record.is_delivered());
    COUNTS.put(turn, &(), &counts)?;
    match turn.scheduled(COUNTS_TIMER)? {
        Some(_) => Ok(()),
        None => turn.schedule(COUNTS_TIMER, turn.now.plus(MINUTE), &TellCounts),
    }
}

/// Notes that the queue switched a webhook off.
pub fn given_up(turn: &mut Turn<'_>, id: Id) -> Result<()> {
    let Some(mut subscription) = SUBSCRIPTIONS.get(turn, &(id,))? else { return Ok(()) };
    subscription.failed = true;
    SUBSCRIPTIONS.put(turn, &(id,), &subscription)?;
    tell(turn)
}

/// Reports to the desk how deliveries ended: at most once a minute, however many there are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TellCounts;

impl Operation for TellCounts {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "tell_alert_counts";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(Counts { ended, delivered }) = COUNTS.get(turn, &())? else { return Ok(()) };
        COUNTS.delete(turn, &());
        turn.send(actor().name, &Delivered { ended, delivered })
    }
}

/// Every subscription of the key, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Subscriptions;

impl Query for Subscriptions {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "subscriptions";
    type Reply = Vec<SubscriptionWithHook>;

    fn run(self, view: &View<'_>) -> Result<Vec<SubscriptionWithHook>> {
        let mut all = all(view)?;
        all.sort_by_key(|(id, hook, _)| (hook.created, *id));
        Ok(all)
    }
}

/// One subscription.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadOne {
    pub id: Id,
}

impl Query for ReadOne {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "subscription";
    type Reply = Option<SubscriptionWithHook>;

    fn run(self, view: &View<'_>) -> Result<Option<SubscriptionWithHook>> {
        whole(view, self.id)
    }
}

/// The last attempts of a subscription, newest last; `None` when the subscription does not exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadLog {
    pub id: Id,
}

impl Query for ReadLog {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "subscription_log";
    type Reply = Option<Vec<Tried>>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        webhook::log(view, self.id)
    }
}

/// Whether a secret with this hash belongs to a subscription of the key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Holds {
    pub hash: [u8; 32],
}

impl Query for Holds {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "holds_secret";
    type Reply = bool;

    fn run(self, view: &View<'_>) -> Result<bool> {
        let mut found = false;
        for (.., subscription) in all(view)? {
            let previous = subscription.previous.filter(|(_, until)| *until > view.now).map(|(hash, _)| hash);
            for known in [Some(subscription.secret_hash), previous].into_iter().flatten() {
                found |= bool::from(known.ct_eq(&self.hash));
            }
        }
        Ok(found)
    }
}

/// Sealed secrets that are not yet under the master key `current`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sealed {
    pub current: KeyId,
}

impl Query for Sealed {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "sealed_secrets";
    type Reply = Vec<Vec<u8>>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let all = webhook::sealed(view)?.into_iter().map(|(_, sealed)| sealed);
        Ok(all.filter(|sealed| sealing::key_id(sealed) != Some(self.current)).collect())
    }
}

/// Counts the sealed values of a key, for the operator.
pub fn counted(view: &View<'_>, current: KeyId) -> Result<relay::agent::reseal::SealedCounts> {
    let mut keys: Vec<_> = webhook::sealed(view)?.iter().map(|(_, sealed)| sealing::key_id(sealed)).collect();
    keys.extend(texts(view)?.iter().map(|(_, text)| sealing::text_key_id(text)));
    let earlier = keys.iter().filter(|key| **key != Some(current)).count();
    Ok(relay::agent::reseal::SealedCounts { all: keys.len() as u64, earlier: earlier as u64 })
}

/// The place of a sealed text in an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountText {
    /// The address of a subscription.
    Url(Id),
    /// The label that the holder of the key gave themselves.
    Label,
}

fn texts(view: &(impl Read + ?Sized)) -> Result<Vec<(AccountText, String)>> {
    let mut all: Vec<_> = webhook::all(view)?.into_iter().map(|(id, hook)| (AccountText::Url(id), hook.url)).collect();
    // An empty text reveals nothing, so it is not sealed.
    all.extend(keys::label(view)?.filter(|label| !label.is_empty()).map(|label| (AccountText::Label, label)));
    Ok(all)
}

/// Texts that are not yet under the master key `current`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Texts {
    pub current: KeyId,
}

impl Query for Texts {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "texts_behind";
    type Reply = Vec<(AccountText, String)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let all = texts(view)?.into_iter();
        Ok(all.filter(|(_, text)| sealing::text_key_id(text) != Some(self.current)).collect())
    }
}

/// Replaces each text that has not changed since it was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResealTexts {
    /// Place, old text and new text.
    pub values: Vec<(AccountText, String, String)>,
}

impl Operation for ResealTexts {
    const ACTOR: Kind = Kind::Account;
    const NAME: &'static str = "reseal_texts";
    /// How many were replaced.
    type Reply = u32;

    fn run(self, turn: &mut Turn<'_>) -> Result<u32> {
        let mut replaced = 0;
        for (place, old, new) in self.values {
            let hit = match place {
                AccountText::Url(id) => webhook::reseal_url(turn, id, &old, &new)?,
                AccountText::Label => keys::reseal_label(turn, &old, new)?,
            };
            replaced += u32::from(hit);
        }
        Ok(replaced)
    }
}

/// Replaces each sealed secret that has not changed since it was read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reseal {
    /// Old and new value.
    pub values: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Operation for Reseal {
    const ACTOR: Kind = Kind::Account;
    /// The same name as the operation that reseals the values of agents, since runtimes treat all operations of that
    /// name as bulk work.
    const NAME: &'static str = "reseal";
    /// How many were replaced.
    type Reply = u32;

    fn run(self, turn: &mut Turn<'_>) -> Result<u32> {
        let mut replaced = 0;
        for (id, ..) in all(turn)? {
            for (old, new) in &self.values {
                replaced += u32::from(webhook::reseal(turn, id, old, new.clone())?);
            }
        }
        Ok(replaced)
    }
}
