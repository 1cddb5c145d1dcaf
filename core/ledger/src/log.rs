//! The log of events: everything that changes money or what may be done with it, in one order, as leaves of a Merkle
//! tree (decision ledger-log).
//!
//! An event never changes. Its leaf is the hash of its public [`Form`].

use serde::{Deserialize, Serialize};

use super::book::{Books, read};
use super::form::{Form, Hidden};
use super::merkle::{self, Hash, StoredTree};
use super::reason::Reason;
use super::rows::{Book, ESCROWS, EVENT_PARTS, EVENTS, Entry, INDEX, Id, Micro, Name, Signed, Space, id};
use super::segment;
use super::segment::open::{LogQuery, prepare};
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Desc, Read, Row};

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    Transfer,
    TransferFailed,
    Batch,
    Faucet,
    Grant,
    EscrowOpen,
    EscrowRelease,
    EscrowRefund,
    EscrowExpire,
    Hire,
    Freeze,
    Cap,
    FreezeAll,
    AdminKey,
    Wallet,
    WalletEnd,
    BatchFailed,
    Claim,
    /// An acceptance that has paid nothing yet. An acceptance that pays is in the event of the release.
    Accept,
    Dispute,
}

impl What {
    pub const fn as_str(self) -> &'static str {
        match self {
            What::Transfer => "transfer",
            What::TransferFailed => "transfer_failed",
            What::Batch => "batch",
            What::Faucet => "faucet",
            What::Grant => "grant",
            What::EscrowOpen => "escrow_open",
            What::EscrowRelease => "escrow_release",
            What::EscrowRefund => "escrow_refund",
            What::EscrowExpire => "escrow_expire",
            What::Hire => "hire",
            What::Freeze => "freeze",
            What::Cap => "cap",
            What::FreezeAll => "freeze_all",
            What::AdminKey => "admin_key",
            What::Wallet => "wallet_create",
            What::WalletEnd => "wallet_remove",
            What::BatchFailed => "batch_failed",
            What::Claim => "work_claim",
            What::Accept => "work_accept",
            What::Dispute => "work_dispute",
        }
    }

    /// Whether the money that a wallet loses by the event counts against its caps.
    pub const fn is_outflow(self) -> bool {
        matches!(self, What::Transfer | What::Batch | What::EscrowOpen | What::Hire)
    }

    /// Whether the event begins the thing that it is about, and is stored under the id of that.
    const fn begins(self) -> bool {
        self.is_outflow() || matches!(self, What::TransferFailed)
    }
}

/// The change that an event made to one wallet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub name: Name,
    /// Changes of the balance and of the locked amount, in micro-credits.
    pub balance: i64,
    pub locked: i64,
    pub balance_after: Micro,
    pub locked_after: Micro,
    /// The event made the wallet.
    pub created: bool,
}

/// One transfer of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Place of the recipient among the changes of the event.
    pub to: u16,
    pub amount: Micro,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the log, from 0.
    pub seq: u64,
    /// For a batch, the time of its first transfer; each transfer has a time of its own.
    pub at: Timestamp,
    pub what: What,
    /// A DID's name, or `admin:<keyid>`, `receipt:<id>`, `operator`, or a word of the system with `system:` before it.
    pub actor: String,
    /// Id of the transfer, batch, escrow or receipt.
    pub subject: Option<Id>,
    pub reason: Option<Reason>,
    /// The signed bytes that led to the event. Long ones are in [`EVENT_PARTS`].
    pub signed: Option<Signed>,
    /// For long signed bytes: the number of rows that they take, and their SHA-256.
    pub long: Option<(u8, Hash)>,
    pub changes: Vec<Change>,
    /// The transfers of a batch.
    pub items: Vec<Item>,
    /// Further facts, by name.
    pub details: Vec<(String, String)>,
}
impl Row for Event {}

impl Event {
    /// SHA-256 of the signed bytes.
    pub fn hash(&self) -> Hash {
        let long = self.long.map(|(_, hash)| hash);
        long.or_else(|| self.signed.as_ref().map(Signed::hash)).unwrap_or_default()
    }

    /// The change that it made to a wallet.
    pub fn change(&self, name: &str) -> Option<&Change> {
        let place = self.changes.binary_search_by(|change| change.name.as_str().cmp(name)).ok()?;
        self.changes.get(place)
    }
}

/// A part of bytes that are too long for one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BytesPart(#[serde(with = "engine::kv::bytes")] pub Vec<u8>);
impl Row for BytesPart {}

/// Most signed bytes that stay in the event's own row, and most bytes of one part. Durable Objects take 2 MB a row.
const SHORT: usize = 16 * 1024;
const PART: usize = 1024 * 1024;

/// The members of an event that are known before its changes are.
#[derive(Default)]
pub struct Note<'a> {
    pub subject: Option<Id>,
    pub reason: Option<Reason>,
    pub signed: Option<&'a Signed>,
    /// Recipients and amounts of a batch.
    pub items: &'a [(&'a str, Micro)],
    pub details: Vec<(String, String)>,
}

impl<'a> Note<'a> {
    /// For an event about a transfer, a batch, an escrow or a receipt.
    pub fn of(subject: &Id, signed: Option<&'a Signed>) -> Self {
        Note { subject: Some(*subject), signed, ..Note::default() }
    }

    /// For an event about wallets alone.
    pub fn signed(signed: &'a Signed) -> Self {
        Note { signed: Some(signed), ..Note::default() }
    }
}

/// Adds an event: its row, its leaf, and an entry for each wallet whose money it moved.
pub fn append(
    books: &mut Books<'_>,
    at: Timestamp,
    what: What,
    actor: &str,
    note: Note<'_>,
    changes: Vec<Change>,
) -> Result<Event> {
    let seq = books.book.events;
    let item = |(name, amount): &(&str, Micro)| {
        let place = changes.binary_search_by(|change| change.name.as_str().cmp(name)).ok();
        let to = place.and_then(|place| u16::try_from(place).ok());
        to.map(|to| Item { to, amount: *amount })
            .ok_or_else(|| Error::internal("a batch pays a wallet it did not change"))
    };
    let items = note.items.iter().map(item).collect::<Result<_>>()?;
    let event = Event {
        seq,
        at,
        what,
        actor: actor.to_owned(),
        subject: note.subject,
        reason: note.reason,
        signed: note.signed.cloned(),
        long: None,
        items,
        changes,
        details: note.details,
    };
    let form = Form::new(books.brand, &books.book.salt, &event)?;
    let key = match event.subject {
        Some(subject) if what.begins() => subject,
        _ => id(Space::Event, "", &seq.to_string()),
    };
    merkle::append(books.space, seq, merkle::leaf_hash(&form.bytes), &key)?;
    books.book.events += 1;
    segment::grown(&mut books.book, at);
    store(books, &key, &event)?;
    index(books, &key, &event)?;
    Ok(event)
}

/// Writes the row of an event. Long signed bytes go into rows beside it.
fn store(books: &mut Books<'_>, key: &Id, event: &Event) -> Result<()> {
    let long = event.signed.as_ref().filter(|signed| signed.canonical.len() > SHORT);
    let Some(signed) = long else { return Ok(EVENTS.put(books.space, &(*key,), event)?) };
    let mut parts = 0;
    for part in signed.canonical.chunks(PART) {
        EVENT_PARTS.put(books.space, &(*key, parts), &BytesPart(part.to_vec()))?;
        parts += 1;
    }
    let long = Some((parts, signed.hash()));
    let signed = Signed { canonical: Vec::new(), ..signed.clone() };
    Ok(EVENTS.put(books.space, &(*key,), &Event { signed: Some(signed), long, ..event.clone() })?)
}

/// Writes entries for the wallets that the event concerns: those whose money moved, and the sender of a refused
/// transfer.
fn index(books: &mut Books<'_>, key: &Id, event: &Event) -> Result<()> {
    let mut entry = Entry {
        id: event.subject.unwrap_or(*key),
        seq: event.seq,
        what: event.what,
        balance: 0,
        locked: 0,
        balance_after: 0,
        locked_after: 0,
        before: None,
    };
    if event.what == What::TransferFailed {
        INDEX.put(books.space, &(event.actor.clone(), Desc(event.at)), &entry)?;
    }
    for change in event.changes.iter().filter(|change| change.balance != 0 || change.locked != 0) {
        entry.balance = change.balance;
        entry.locked = change.locked;
        entry.balance_after = change.balance_after;
        entry.locked_after = change.locked_after;
        let leaves = event.what.is_outflow() && change.name == event.actor;
        entry.before = books.left_before.take_if(|_| leaves);
        INDEX.put(books.space, &(change.name.clone(), Desc(event.at)), &entry)?;
    }
    Ok(())
}

/// An event by the id of its row.
pub fn event(space: &(impl Read + ?Sized), key: &Id) -> Result<Option<Event>> {
    Ok(EVENTS.get(space, &(*key,))?)
}

fn missing(what: &str) -> Error {
    Error::internal(format!("{what} is missing"))
}

/// The signed bytes of an event, also where they are long.
pub fn canonical(space: &(impl Read + ?Sized), key: &Id, event: &Event) -> Result<Vec<u8>> {
    let Some(signed) = &event.signed else { return Ok(Vec::new()) };
    let mut bytes = signed.canonical.clone();
    for part in 0..event.long.map_or(0, |(parts, _)| parts) {
        let BytesPart(part) = EVENT_PARTS.get(space, &(*key, part))?.ok_or_else(|| missing("part of an event"))?;
        bytes.extend(part);
    }
    Ok(bytes)
}

/// A complete event, with all its signed bytes.
fn whole(space: &(impl Read + ?Sized), key: &Id) -> Result<Option<Event>> {
    let Some(mut event) = event(space, key)? else { return Ok(None) };
    let canonical = canonical(space, key, &event)?;
    if let Some(signed) = &mut event.signed {
        signed.canonical = canonical;
    }
    Ok(Some(event))
}

/// Reads the size of the log, and the root of its tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadHead;

impl Query for ReadHead {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "log_head";
    type Reply = (u64, Hash);

    fn run(self, view: &View<'_>) -> Result<(u64, Hash)> {
        let size = read(view)?.events;
        Ok((size, merkle::root(&StoredTree(view), size)?))
    }
}

/// The event that a proof is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// A transfer, one of a batch, or an escrow.
    Id(Id),
    Seq(u64),
}

/// Reads the proof that an event is in the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prove {
    pub which: Which,
    /// The present size of the log when `None`.
    pub size: Option<u64>,
}

/// The answer to [`Prove`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub seq: u64,
    pub size: u64,
    pub leaf: Hash,
    pub path: Vec<Hash>,
    /// Canonical JSON.
    pub form: String,
    pub hidden: Vec<Hidden>,
    /// Names of the event's actor, and of those who sent or received something by it.
    pub parties: Vec<Name>,
}

impl LogQuery for Prove {
    const NAME: &'static str = "log_proof";
    /// `None`: there is no such event in a log of that size.
    type Reply = Option<Proof>;

    fn run(self, view: &View<'_>) -> Result<Option<Proof>> {
        let book = read(view)?;
        let key = match self.which {
            Which::Seq(seq) if seq >= book.events => return Ok(None),
            Which::Seq(seq) => merkle::leaf(view, seq)?.map(|(_, id)| id),
            Which::Id(id) => Some(id),
        };
        let (key, item) = match key {
            Some(key) if !EVENTS.contains(view, &(key,))? => {
                let (batch, item) = super::batch::of_item(&key);
                (Some(batch), item)
            }
            key => (key, None),
        };
        let size = self.size.unwrap_or(book.events);
        let Some(event) = key.map(|key| whole(view, &key)).transpose()?.flatten() else { return Ok(None) };
        if event.seq >= size || size > book.events || item.is_some_and(|item| event.items.len() <= usize::from(item)) {
            return Ok(None);
        }
        let Some((leaf, _)) = merkle::leaf(view, event.seq)? else { return Ok(None) };
        let Exported { form, mut hidden } = Exported::of(view, &book, &event)?;
        let mut parties = vec![event.actor];
        match item.and_then(|item| event.items.get(usize::from(item)).map(|found| (item, found.to))) {
            // A recipient of a batch sees only the transfer that pays it.
            Some((item, to)) => {
                parties.extend(event.changes.get(usize::from(to)).map(|change| change.name.clone()));
                hidden.retain(|hidden| hidden.path == format!("items/{item}/memo"));
            }
            None if event.what == What::Batch => {}
            None => parties.extend(event.changes.into_iter().map(|change| change.name)),
        }
        // The recipient of an escrow is a party to its opening, although the opening moves none of its money.
        if let Some(escrow) = event.subject.map(|id| ESCROWS.get(view, &(id,))).transpose()?.flatten() {
            parties.extend([escrow.from, escrow.to]);
        }
        let path = merkle::inclusion(&StoredTree(view), event.seq, size)?;
        Ok(Some(Proof { seq: event.seq, size, leaf, path, form, hidden, parties }))
    }
}

/// Reads the proof that the log only grew between two sizes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compare {
    pub from: u64,
    /// The present size of the log when `None`.
    pub to: Option<u64>,
}

impl Query for Compare {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "log_consistency";
    /// The later size, and the path. `None`: the log never had these sizes.
    type Reply = Option<(u64, Vec<Hash>)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let size = read(view)?.events;
        let to = self.to.unwrap_or(size);
        if self.from == 0 || self.from > to || to > size {
            return Ok(None);
        }
        Ok(Some((to, merkle::consistency(&StoredTree(view), self.from, to)?)))
    }
}

/// Reads events in their public form, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Export {
    pub from: u64,
    pub limit: u32,
}

/// An event in its public form, with the texts that this form hides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// Canonical JSON.
    pub form: String,
    /// Shown only to those who may see the texts.
    pub hidden: Vec<Hidden>,
}

impl Exported {
    fn of(view: &View<'_>, book: &Book, event: &Event) -> Result<Exported> {
        let Form { bytes, hidden } = Form::new(&view.settings.brand, &book.salt, event)?;
        Ok(Exported { form: String::from_utf8(bytes).map_err(Error::internal)?, hidden })
    }
}

/// Bytes after which a page of the log ends.
const PAGE: usize = 2 << 20;

impl LogQuery for Export {
    const NAME: &'static str = "log_export";
    /// The size of the log, and events from the place `from` on.
    type Reply = (u64, Vec<Exported>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let book = read(view)?;
        let to = book.events.min(self.from.saturating_add(u64::from(self.limit)));
        let to = self.from + prepare(view, self.from..to)? as u64;
        let (mut page, mut bytes) = (Vec::new(), 0);
        for seq in self.from..to {
            let key = merkle::leaf(view, seq)?.map(|(_, id)| id);
            let event = key.map(|key| whole(view, &key)).transpose()?.flatten();
            let event = event.ok_or_else(|| missing("an event of the log"))?;
            let exported = Exported::of(view, &book, &event)?;
            bytes += exported.form.len();
            page.push(exported);
            if bytes >= PAGE {
                break;
            }
        }
        Ok((book.events, page))
    }
}

/// Reads the present wallets in the order of their names, to be compared with the log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Balances {
    pub after: Option<Name>,
    pub limit: u32,
}

impl Query for Balances {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "log_balances";
    /// The size of the log that led to them; name, balance, locked.
    type Reply = (u64, Vec<(Name, Micro, Micro)>);

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let after = self.after.map(|name| (name,));
        let rows = super::rows::WALLETS.page(view, after.as_ref(), self.limit as usize)?;
        let rows = rows.into_iter().map(|(name, wallet)| (name, wallet.balance, wallet.locked)).collect();
        Ok((read(view)?.events, rows))
    }
}
