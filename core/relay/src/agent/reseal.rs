//! Moves everything that an agent has sealed under the current master key, after a rotation of the master key
//! (decision master-key-file).
//!
//! Keys stay with the caller, outside the actor. [`SealedValues`] finds values under any other key, page by page. The
//! caller seals them again, and [`Reseal`] replaces each one only if the row still holds the bytes that were read. So a
//! change in between is never lost. A crash at any point leaves every row under one of the two keys, which both open
//! it, and a second run changes nothing.
//!
//! Texts come first, then sessions, and the present private keys last. So present keys under the current master key
//! mean that the whole agent is done. Where no maintenance task visits all agents, this shows without extra cost which
//! agents to move when they send a request.

use serde::{Deserialize, Serialize};

use super::mailbox::{Local, SESSIONS, SessionKey};
use super::record::{self, AGENT, EARLIER};
use super::{custody, decrypt, memberships, memory, wire};
use crate::agent::authentication::Calling;
use crate::channel::{ChannelId, invites};
use crate::{Error, Result, webhook};
use crypto::encoding::actor_id;
use crypto::sealing::{self, KeyId, KeyRing};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::Caller;
use engine::kv::Direction;
use engine::runtime::{self, Runtime};

/// Most values that one query looks at, and that one operation changes.
pub const PAGE: usize = 200;

/// How often a page is read again because values changed meanwhile; after that the next attempt goes on.
const RACES: u32 = 8;

pub const ENTRIES: &[Entry] = &[query::<SealedValues>(), query::<CountSealed>(), operation::<Reseal>()];

/// The places of sealed values, in the order in which they move.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SealedPlace {
    /// A text of the memory: namespace and key. Texts from before texts were sealed move too.
    Memory(String, String),
    /// The text of an invite that the agent received.
    Invite(ChannelId, Local),
    /// The address of a webhook.
    WebhookUrl(webhook::Id),
    Session(SessionKey),
    /// Private keys of an earlier generation, by its version.
    Earlier(u64),
    /// The present private keys.
    Present,
    /// The secret of a webhook.
    Webhook(webhook::Id),
}

impl SealedPlace {
    /// Whether the value at this place is a text, sealed or not.
    fn is_text(&self) -> bool {
        matches!(self, SealedPlace::Memory(..) | SealedPlace::Invite(..) | SealedPlace::WebhookUrl(_))
    }

    /// The owner that the value is sealed for, at the agent `did`.
    fn owner(&self, did: &str) -> String {
        match self {
            SealedPlace::Invite(channel, _) => actor_id(channel),
            _ => did.to_owned(),
        }
    }

    /// The purpose that the value is sealed for.
    fn purpose(&self) -> String {
        match self {
            SealedPlace::Memory(namespace, key) => memory::purpose(namespace, key),
            SealedPlace::Invite(..) => invites::PURPOSE.to_owned(),
            SealedPlace::WebhookUrl(_) => webhook::URL_PURPOSE.to_owned(),
            SealedPlace::Session(key) => decrypt::purpose(key),
            SealedPlace::Earlier(_) | SealedPlace::Present => custody::PURPOSE.to_owned(),
            SealedPlace::Webhook(_) => webhook::PURPOSE.to_owned(),
        }
    }
}

/// Finds sealed values that are not under the master key `current`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SealedValues {
    pub current: KeyId,
    /// The place up to which an earlier page has looked.
    pub after: Option<SealedPlace>,
}

/// The result of one look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedPage {
    pub values: Vec<(SealedPlace, Vec<u8>)>,
    /// The place up to which this page has looked; `None` when it reached the end.
    pub next: Option<SealedPlace>,
}

impl Query for SealedValues {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "sealed_values";
    type Reply = SealedPage;

    fn run(self, view: &View<'_>) -> Result<SealedPage> {
        let mut left = PAGE;
        let (mut values, next) = self.texts(view, &mut left)?;
        if next.is_some() {
            return Ok(SealedPage { values, next });
        }
        let mut found = |place: SealedPlace, sealed: Vec<u8>| {
            if sealing::key_id(&sealed) != Some(self.current) {
                values.push((place, sealed));
            }
        };
        if !matches!(self.after, Some(SealedPlace::Earlier(_) | SealedPlace::Present)) {
            let range = match &self.after {
                Some(SealedPlace::Session(key)) => SESSIONS.after(SESSIONS.range(), key),
                _ => SESSIONS.range(),
            };
            let rows = SESSIONS.scan(view, &range, Direction::Ascending, left)?;
            left -= rows.len();
            let last = rows.last().map(|(key, _)| SealedPlace::Session(*key));
            rows.into_iter().for_each(|(key, session)| found(SealedPlace::Session(key), session.sealed));
            if left == 0 {
                return Ok(SealedPage { values, next: last });
            }
        }
        if self.after != Some(SealedPlace::Present) {
            let range = match &self.after {
                Some(SealedPlace::Earlier(version)) => EARLIER.after(EARLIER.range(), &(*version,)),
                _ => EARLIER.range(),
            };
            let rows = EARLIER.scan(view, &range, Direction::Ascending, left)?;
            left -= rows.len();
            let last = rows.last().map(|((version,), _)| SealedPlace::Earlier(*version));
            for ((version,), earlier) in rows {
                earlier.keys.sealed.into_iter().for_each(|sealed| found(SealedPlace::Earlier(version), sealed));
            }
            if left == 0 {
                return Ok(SealedPage { values, next: last });
            }
            // There are few webhook secrets and present keys, so they come with the last page.
            webhook::sealed(view)?.into_iter().for_each(|(id, sealed)| found(SealedPlace::Webhook(id), sealed));
            let present = AGENT.get(view, &())?.and_then(|agent| agent.keys.sealed);
            present.into_iter().for_each(|sealed| found(SealedPlace::Present, sealed));
        }
        Ok(SealedPage { values, next: None })
    }
}

/// Sealed texts with their places, and the place to go on after when there may be more.
type Texts = (Vec<(SealedPlace, Vec<u8>)>, Option<SealedPlace>);

impl SealedValues {
    /// Texts that must move, and the last place that was looked at when there may be more.
    fn texts(&self, view: &View<'_>, left: &mut usize) -> Result<Texts> {
        let after = match &self.after {
            None => None,
            Some(SealedPlace::Memory(namespace, key)) => Some((namespace.clone(), key.clone())),
            Some(_) => return Ok((Vec::new(), None)),
        };
        let (texts, last) = memory::texts_behind(view, after.as_ref(), self.current, left)?;
        let place = |(namespace, key)| SealedPlace::Memory(namespace, key);
        let mut found: Vec<_> = texts.into_iter().map(|(at, text)| (place(at), text.into_bytes())).collect();
        if last.is_some() {
            return Ok((found, last.map(place)));
        }
        // There are few texts of invites and webhooks, so they come with the last page of texts.
        let behind = |text: &String| sealing::text_key_id(text) != Some(self.current);
        for ((channel, local), text) in memberships::texts(view)? {
            found.extend(behind(&text).then(|| (SealedPlace::Invite(channel, local), text.into_bytes())));
        }
        for (id, hook) in webhook::all(view)? {
            found.extend(behind(&hook.url).then(|| (SealedPlace::WebhookUrl(id), hook.url.into_bytes())));
        }
        Ok((found, None))
    }
}

/// Counts an agent's sealed values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CountSealed {
    pub current: KeyId,
}

/// The numbers of sealed values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedCounts {
    pub all: u64,
    /// Values under another key than the current one.
    pub earlier: u64,
}

impl Query for CountSealed {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "count_sealed";
    type Reply = SealedCounts;

    fn run(self, view: &View<'_>) -> Result<SealedCounts> {
        let mut counted = SealedCounts::default();
        let mut count = |sealed: &[u8]| {
            counted.all += 1;
            counted.earlier += u64::from(sealing::key_id(sealed) != Some(self.current));
        };
        SESSIONS.visit(view, SESSIONS.range(), Direction::Ascending, |_, session| {
            count(&session.sealed);
            Ok(true)
        })?;
        EARLIER.visit(view, EARLIER.range(), Direction::Ascending, |_, earlier| {
            earlier.keys.sealed.iter().for_each(|sealed| count(sealed));
            Ok(true)
        })?;
        webhook::sealed(view)?.iter().for_each(|(_, sealed)| count(sealed));
        AGENT.get(view, &())?.and_then(|agent| agent.keys.sealed).iter().for_each(|sealed| count(sealed));
        let mut count = |text: &str| {
            counted.all += 1;
            counted.earlier += u64::from(sealing::text_key_id(text) != Some(self.current));
        };
        memory::each_text(view, &mut count)?;
        memberships::texts(view)?.iter().for_each(|(_, text)| count(text));
        webhook::all(view)?.iter().for_each(|(_, hook)| count(&hook.url));
        Ok(counted)
    }
}

/// One value, sealed again under the current key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resealed {
    pub place: SealedPlace,
    /// The bytes that were read there.
    pub old: Vec<u8>,
    pub new: Vec<u8>,
}

/// Replaces values that still hold the bytes that were read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Reseal {
    /// At most [`PAGE`].
    pub values: Vec<Resealed>,
}

impl Operation for Reseal {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "reseal";
    /// How many values were replaced.
    type Reply = u32;

    fn run(self, turn: &mut Turn<'_>) -> Result<u32> {
        let mut replaced = 0;
        for Resealed { place, old, new } in self.values {
            if place.is_text() {
                replaced += u32::from(replace_text(turn, place, &old, &new)?);
                continue;
            }
            let still = |sealed: &Option<Vec<u8>>| sealed.as_deref() == Some(&old[..]);
            let hit = match place {
                SealedPlace::Session(key) => match SESSIONS.get(turn, &key)? {
                    Some(mut session) if session.sealed == old => {
                        session.sealed = new;
                        SESSIONS.put(turn, &key, &session)?;
                        true
                    }
                    _ => false,
                },
                SealedPlace::Earlier(version) => match EARLIER.get(turn, &(version,))? {
                    Some(mut earlier) if still(&earlier.keys.sealed) => {
                        earlier.keys.sealed = Some(new);
                        EARLIER.put(turn, &(version,), &earlier)?;
                        true
                    }
                    _ => false,
                },
                SealedPlace::Webhook(id) => webhook::reseal(turn, id, &old, new)?,
                SealedPlace::Memory(..) | SealedPlace::Invite(..) | SealedPlace::WebhookUrl(_) => false,
                SealedPlace::Present => match AGENT.get(turn, &())? {
                    Some(mut agent) if still(&agent.keys.sealed) => {
                        agent.keys.sealed = Some(new);
                        AGENT.put(turn, &(), &agent)?;
                        true
                    }
                    _ => false,
                },
            };
            replaced += u32::from(hit);
        }
        Ok(replaced)
    }
}

fn replace_text(turn: &mut Turn<'_>, place: SealedPlace, old: &[u8], new: &[u8]) -> Result<bool> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(Error::internal);
    let (old, new) = (text(old)?, text(new)?);
    match place {
        SealedPlace::Memory(namespace, key) => memory::reseal(turn, &(namespace, key), old, new),
        SealedPlace::Invite(channel, local) => memberships::reseal(turn, channel, local, old, new),
        SealedPlace::WebhookUrl(id) => webhook::reseal_url(turn, id, old, new),
        _ => Ok(false),
    }
}

/// The new value of a place under the current key; `None` when the old value is under that key already.
fn renewed(rt: &dyn Runtime, ring: &KeyRing, did: &str, place: &SealedPlace, old: &[u8]) -> Result<Option<Vec<u8>>> {
    let (owner, purpose, nonce) = (place.owner(did), place.purpose(), custody::nonce(rt));
    if place.is_text() {
        let stored = std::str::from_utf8(old).map_err(Error::internal)?;
        let new = ring.reseal_text(&owner, &purpose, &nonce, stored).map_err(Error::internal)?;
        return Ok(new.map(String::into_bytes));
    }
    ring.reseal(&owner, &purpose, &nonce, old).map_err(Error::internal)
}

/// The result of an attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    pub resealed: u64,
    /// Values that no available master key opens; they stay as they are.
    pub unopened: u64,
    /// Whether everything was looked at, and no value that can be opened is left under an earlier key.
    pub complete: bool,
}

/// Moves the agent's sealed values under the current master key: at most `pages` pages of values.
pub async fn reseal(rt: &dyn Runtime, actor: &str, pages: usize) -> Result<Progress> {
    let environment = rt.environment();
    let did = wire::did_text(&environment.settings, &record::did_of(actor)?);
    let mut progress = Progress::default();
    let (mut after, mut used, mut races) = (None, 0, 0);
    loop {
        let ring = environment.secrets.sealing();
        let look = SealedValues { current: ring.current().id(), after: after.clone() };
        let page = runtime::query(rt, actor, &look).await?;
        let (mut values, mut unopened) = (Vec::new(), 0);
        for (place, old) in page.values {
            match renewed(rt, &ring, &did, &place, &old) {
                Ok(Some(new)) => values.push(Resealed { place, old, new }),
                Ok(None) => {}
                Err(_) => unopened += 1,
            }
        }
        if !values.is_empty() {
            let wanted = values.len();
            let replaced = runtime::call(rt, actor, &Reseal { values }).await?;
            progress.resealed += u64::from(replaced);
            if usize::try_from(replaced).map_err(Error::internal)? < wanted {
                // Some values changed meanwhile, so this page is not done, and it must be done before the next.
                races += 1;
                if races > RACES {
                    return Ok(progress);
                }
                continue;
            }
            used += 1;
        }
        progress.unopened += unopened;
        match page.next {
            None => {
                progress.complete = true;
                return Ok(progress);
            }
            Some(_) if used >= pages => return Ok(progress),
            next => after = next,
        }
    }
}

/// The actor of a caller whose values have not all moved since the last rotation. `None` where a maintenance task
/// visits all agents.
pub(crate) fn behind(rt: &dyn Runtime, caller: &Caller) -> Option<String> {
    let agent = caller.agent().ok()?;
    let sealed = agent.keys.sealed.as_ref()?;
    let current = || rt.environment().secrets.sealing().current().id();
    (rt.maintenance().is_none() && sealing::key_id(sealed) != Some(current())).then(|| agent.actor.clone())
}

/// Moves one page of a caller's values after its request is done. A failure is not an error: earlier keys still open
/// the values, and the next request goes on.
pub(crate) async fn passing_by(rt: &dyn Runtime, actor: &str) {
    let _ = reseal(rt, actor, 1).await;
}
