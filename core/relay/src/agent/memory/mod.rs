//! Memory: values that an agent stores with the service, by namespace and key.
//!
//! A value is the JSON text that was put. It is stored sealed under the master key and returned exactly as it was put.
//! A value with a ttl is invisible from its expiry on, since every reader compares; a timer then frees its room. Heads
//! are stored apart from the texts, so that a list of keys reads no values.
//!
//! The endpoints are in `routes`.

mod routes;

pub use routes::{MAX_KEY, MAX_NAMESPACE, ROUTES};

use serde::{Deserialize, Serialize};

use super::mailbox::Local;
use super::record;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::sealing::{self, KeyId};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Range, Read, Row, Table};
use engine::time::SECOND;

/// The place of a value: namespace and key.
type ValuePlace = (String, String);

/// Everything about a value except its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueHead {
    pub local: Local,
    /// The type that was given with the value, or the inferred one.
    pub value_type: Option<String>,
    pub client_nonce: Option<String>,
    /// Size of the JSON text, in bytes.
    pub size: u64,
    pub created: Timestamp,
    pub updated: Timestamp,
    pub expires: Option<Timestamp>,
}
impl Row for ValueHead {}

impl ValueHead {
    fn lives(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|end| end > now)
    }
}

/// Sums over a namespace, or over all namespaces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryTotals {
    pub keys: u64,
    /// Size of the JSON texts, in bytes.
    pub bytes: u64,
    pub updated: Timestamp,
}
impl Row for MemoryTotals {}

impl MemoryTotals {
    fn add(&mut self, head: &ValueHead, now: Timestamp) {
        self.keys += 1;
        self.bytes += head.size;
        self.updated = now;
    }

    fn subtract(&mut self, head: &ValueHead) {
        self.keys = self.keys.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(head.size);
    }
}

const HEADS: Table<ValuePlace, ValueHead> = Table::new(72);
/// Texts sealed for [`purpose`]; those from before texts were sealed are plain.
const TEXTS: Table<ValuePlace, String> = Table::new(73);
const NAMESPACES: Table<(String,), MemoryTotals> = Table::new(74);
const TOTAL: Table<(), MemoryTotals> = Table::new(75);
const ENDS: Table<(Timestamp, String, String), ()> = Table::new(76);
/// Present while everything is being deleted.
const CLEARING: Table<(), ()> = Table::new(77);

/// The purpose for which a text is sealed. Namespaces and keys contain no control characters, so purposes are distinct.
pub(super) fn purpose(namespace: &str, key: &str) -> String {
    format!("memory/1\n{namespace}\n{key}")
}

/// Texts with their places, and the place to go on after when there may be more.
pub(super) type Behind = (Vec<(ValuePlace, String)>, Option<ValuePlace>);

/// Texts after a place that are not under the master key `current`, and the last place that was looked at when there
/// may be more. Looks at no more than `left` texts, and at about [`LOOK_BYTES`].
pub(super) fn texts_behind(
    view: &(impl Read + ?Sized),
    after: Option<&ValuePlace>,
    current: KeyId,
    left: &mut usize,
) -> Result<Behind> {
    let range = after.map_or_else(|| TEXTS.range(), |after| TEXTS.after(TEXTS.range(), after));
    let (mut found, mut last, mut bytes) = (Vec::new(), None, 0);
    TEXTS.visit(view, range, Direction::Ascending, |place, text| {
        *left = left.saturating_sub(1);
        bytes += text.len();
        last = Some(place.clone());
        if sealing::text_key_id(&text) != Some(current) {
            found.push((place, text));
        }
        Ok(*left > 0 && bytes < LOOK_BYTES)
    })?;
    Ok((found, last.filter(|_| *left == 0 || bytes >= LOOK_BYTES)))
}

/// Replaces a text if it is still `old`; true when it was.
pub(super) fn reseal(turn: &mut Turn<'_>, place: &ValuePlace, old: &str, new: &str) -> Result<bool> {
    let still = TEXTS.get(turn, place)?.is_some_and(|text| text == old);
    if still {
        TEXTS.put(turn, place, &new.to_owned())?;
    }
    Ok(still)
}

/// Visits every text.
pub(super) fn each_text(view: &(impl Read + ?Sized), mut see: impl FnMut(&str)) -> Result<()> {
    TEXTS.visit(view, TEXTS.range(), Direction::Ascending, |_, text| {
        see(&text);
        Ok(true)
    })?;
    Ok(())
}

/// Bytes of texts that one look reads, roughly.
const LOOK_BYTES: usize = 1024 * 1024;

pub const ENTRIES: &[Entry] = &[
    operation::<PutValue>(),
    operation::<RemoveValue>(),
    operation::<ExpireValues>(),
    operation::<Clear>(),
    query::<ReadValue>(),
    query::<ReadMemoryKeys>(),
    query::<ReadNamespaces>(),
];

/// Key of the timer that deletes expired values.
const EXPIRE: &str = "memory";
/// Key of the timer that deletes everything.
const CLEAR: &str = "clear_memory";
/// Values that one run deletes; each is up to five rows.
const BATCH: usize = 100;

fn take_out(turn: &mut Turn<'_>, place: &ValuePlace, head: &ValueHead) -> Result<()> {
    HEADS.delete(turn, place);
    TEXTS.delete(turn, place);
    if let Some(end) = head.expires {
        ENDS.delete(turn, &(end, place.0.clone(), place.1.clone()));
    }
    let namespace = (place.0.clone(),);
    let mut totals = NAMESPACES.get(turn, &namespace)?.unwrap_or_default();
    totals.subtract(head);
    match totals.keys {
        0 => NAMESPACES.delete(turn, &namespace),
        _ => NAMESPACES.put(turn, &namespace, &totals)?,
    }
    let mut total = TOTAL.get(turn, &())?.unwrap_or_default();
    total.subtract(head);
    Ok(TOTAL.put(turn, &(), &total)?)
}

/// Deletes expired values, and sets the timer for the next expiry.
fn expire(turn: &mut Turn<'_>) -> Result<()> {
    for (end, place) in ended_places(turn, turn.now, BATCH)? {
        match HEADS.get(turn, &place)?.filter(|head| head.expires == Some(end)) {
            Some(head) => take_out(turn, &place, &head)?,
            None => ENDS.delete(turn, &(end, place.0, place.1)),
        }
    }
    match ENDS.first(turn, &ENDS.range())? {
        Some(((end, ..), ())) => turn.schedule(EXPIRE, end.max(turn.now), &ExpireValues),
        None => turn.cancel(EXPIRE),
    }
}

fn ended_places(view: &(impl Read + ?Sized), now: Timestamp, limit: usize) -> Result<Vec<(Timestamp, ValuePlace)>> {
    let rows = ENDS.scan(view, &ENDS.between(&(), &(now.plus(1),)), Direction::Ascending, limit)?;
    Ok(rows.into_iter().map(|((end, namespace, key), ())| (end, (namespace, key))).collect())
}

/// Deletes everything. Called when a registration ends or gives way to another. All values are invisible from here on,
/// and the rows are deleted by timer.
pub(super) fn ended(turn: &mut Turn<'_>) -> Result<()> {
    if HEADS.first(turn, &HEADS.range())?.is_none() {
        return Ok(());
    }
    CLEARING.put(turn, &(), &())?;
    turn.schedule(CLEAR, turn.now, &Clear)
}

/// Goes on with deleting everything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Clear;

impl Operation for Clear {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "clear_memory";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let rows = HEADS.scan(turn, &HEADS.range(), Direction::Ascending, BATCH)?;
        for (place, head) in &rows {
            take_out(turn, place, head)?;
        }
        if rows.len() == BATCH {
            return turn.schedule(CLEAR, turn.now, &Clear);
        }
        TOTAL.delete(turn, &());
        CLEARING.delete(turn, &());
        turn.cancel(EXPIRE)
    }
}

/// Deletes expired values.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExpireValues;

impl Operation for ExpireValues {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "expire_memory";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        expire(turn)
    }
}

/// Puts a value in its place. An earlier value is replaced together with its expiry; its id and creation time stay.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutValue {
    pub namespace: String,
    pub key: String,
    /// JSON text, sealed for [`purpose`].
    pub text: String,
    pub value_type: Option<String>,
    pub client_nonce: Option<String>,
    /// Seconds.
    pub ttl: Option<u32>,
    /// Size of the JSON text, in bytes.
    pub size: u64,
}

impl Operation for PutValue {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "keep_memory";
    type Reply = ValueHead;

    fn run(self, turn: &mut Turn<'_>) -> Result<ValueHead> {
        record::active(turn)?.ok_or_else(super::wire::unknown_agent)?;
        if CLEARING.contains(turn, &())? {
            return Err(Error::unavailable("the memory of an earlier registration is being deleted"));
        }
        let now = turn.now;
        if !ended_places(turn, now, 1)?.is_empty() {
            expire(turn)?;
        }
        let place = (self.namespace, self.key);
        let mut earlier = HEADS.get(turn, &place)?;
        if let Some(head) = &earlier {
            take_out(turn, &place, head)?;
        }
        earlier = earlier.filter(|head| head.lives(now));
        let head = ValueHead {
            local: earlier.as_ref().map_or_else(|| turn.random(), |head| head.local),
            value_type: self.value_type,
            client_nonce: self.client_nonce,
            size: self.size,
            created: earlier.map_or(now, |head| head.created),
            updated: now,
            expires: self.ttl.map(|ttl| now.plus(i64::from(ttl) * SECOND)),
        };
        let mut total = TOTAL.get(turn, &())?.unwrap_or_default();
        total.add(&head, now);
        let refuse = |message: &'static str| Err(Error::new(ErrorCode::PayloadTooLarge, message));
        if total.bytes > turn.settings.memory_bytes {
            return refuse("The memory of this agent has no room for the value.");
        }
        if total.keys > u64::from(turn.settings.memory_keys) {
            return refuse("The memory of this agent has the largest number of keys that is allowed.");
        }
        TOTAL.put(turn, &(), &total)?;
        let mut totals = NAMESPACES.get(turn, &(place.0.clone(),))?.unwrap_or_default();
        totals.add(&head, now);
        NAMESPACES.put(turn, &(place.0.clone(),), &totals)?;
        HEADS.put(turn, &place, &head)?;
        TEXTS.put(turn, &place, &self.text)?;
        if let Some(end) = head.expires {
            ENDS.put(turn, &(end, place.0, place.1), &())?;
            if turn.scheduled(EXPIRE)?.is_none_or(|due| due > end) {
                turn.schedule(EXPIRE, end, &ExpireValues)?;
            }
        }
        Ok(head)
    }
}

fn unknown_value() -> Error {
    Error::not_found("There is no value under this key.")
}

/// The head of a value, if the value is visible.
fn find(view: &(impl Read + ?Sized), place: &ValuePlace, now: Timestamp) -> Result<ValueHead> {
    if CLEARING.contains(view, &())? {
        return Err(unknown_value());
    }
    HEADS.get(view, place)?.filter(|head| head.lives(now)).ok_or_else(unknown_value)
}

/// Deletes a value. 404 when there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveValue {
    pub namespace: String,
    pub key: String,
}

impl Operation for RemoveValue {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "remove_memory";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let place = (self.namespace, self.key);
        let head = find(turn, &place, turn.now)?;
        take_out(turn, &place, &head)
    }
}

/// A value with its text. 404 when there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadValue {
    pub namespace: String,
    pub key: String,
}

impl Query for ReadValue {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "memory";
    type Reply = (ValueHead, String);

    fn run(self, view: &View<'_>) -> Result<(ValueHead, String)> {
        let place = (self.namespace, self.key);
        let head = find(view, &place, view.now)?;
        let text = TEXTS.get(view, &place)?.ok_or_else(|| Error::internal("a value without its text"))?;
        Ok((head, text))
    }
}

/// Most expired values that sums leave out while they wait for the timer, which runs at once.
const MAX_ENDED: usize = 10_000;

/// Sums without expired values that are not deleted yet.
fn seen(view: &View<'_>, namespace: Option<&str>, totals: Option<MemoryTotals>) -> Result<MemoryTotals> {
    let mut totals = totals.unwrap_or_default();
    if CLEARING.contains(view, &())? {
        return Ok(MemoryTotals::default());
    }
    for (_, place) in ended_places(view, view.now, MAX_ENDED)? {
        if namespace.is_none_or(|namespace| namespace == place.0)
            && let Some(head) = HEADS.get(view, &place)?
        {
            totals.subtract(&head);
        }
    }
    Ok(totals)
}

/// Reads keys of a namespace in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMemoryKeys {
    pub namespace: String,
    /// Only keys that begin with this text.
    pub prefix: String,
    /// Only keys after this one.
    pub after: Option<String>,
    pub limit: u32,
}

/// Some keys of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPage {
    pub keys: Vec<(String, ValueHead)>,
    pub has_more: bool,
    /// Sums of the whole namespace.
    pub totals: MemoryTotals,
}

impl Query for ReadMemoryKeys {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "memory_keys";
    type Reply = KeyPage;

    fn run(self, view: &View<'_>) -> Result<KeyPage> {
        let totals = seen(view, Some(&self.namespace), NAMESPACES.get(view, &(self.namespace.clone(),))?)?;
        let mut page = KeyPage { keys: Vec::new(), has_more: false, totals };
        if CLEARING.contains(view, &())? {
            return Ok(page);
        }
        let all = HEADS.prefix(&(self.namespace.clone(),));
        let key = |key: &str| HEADS.prefix(&(self.namespace.clone(), key.to_owned()));
        // Keys contain no control characters, so no key sorts between a text and the keys that begin with it.
        let mut start = key(&self.prefix).start;
        if let Some(after) = &self.after {
            start = start.max(key(after).end.unwrap_or_default());
        }
        HEADS.visit(view, Range { start, ..all }, Direction::Ascending, |(_, key), head| {
            if !key.starts_with(&self.prefix) {
                return Ok(false);
            }
            if head.lives(view.now) {
                page.has_more = page.keys.len() >= self.limit as usize;
                if !page.has_more {
                    page.keys.push((key, head));
                }
            }
            Ok(!page.has_more)
        })?;
        Ok(page)
    }
}

/// Reads at most [`MAX_NAMESPACES`] namespaces with their sums, and the sum over all.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadNamespaces;

/// Most namespaces in one answer.
const MAX_NAMESPACES: usize = 1_000;

impl Query for ReadNamespaces {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "memory_namespaces";
    type Reply = (Vec<(String, MemoryTotals)>, MemoryTotals);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let total = seen(view, None, TOTAL.get(view, &())?)?;
        let mut all = Vec::new();
        for ((name,), totals) in NAMESPACES.scan(view, &NAMESPACES.range(), Direction::Ascending, MAX_NAMESPACES)? {
            let totals = seen(view, Some(&name), Some(totals))?;
            if totals.keys > 0 {
                all.push((name, totals));
            }
        }
        Ok((all, total))
    }
}
