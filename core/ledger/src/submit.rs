//! The one operation that takes all signed envelopes into the books (decisions signer-key-table, freeze-stops-clocks,
//! refusal-burns-nonce and reason-order).
//!
//! The handler has read the envelope and checked its signature. The operation checks that the ledger is not frozen,
//! that the key is still the signer's, and that the window is open. Then the module for this kind of envelope decides.
//! A refusal burns the nonce: public rows show every signed member, so anybody who reads a refused envelope could
//! otherwise settle it later.

use serde::{Deserialize, Serialize};

use super::book::{Books, did_of, name_of};
use super::envelope::{Common, Content, Envelope, MAX_WINDOW, SKEW};
use super::pay::{self, Claimant};
use super::reason::{Reason, Ruled, ensure};
use super::receipt::ReceiptState;
use super::rows::{ESCROWS, Escrow, Id, KEYS, KeyRow, Micro, Name, Payment, Signed, Space, WALLETS, id};
use super::{batch, escrow, hire, idempotency, listing, metrics, notify, provider, receipt, room, sweep};
use crate::lent;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{actor_id, parse_did};
use crypto::hash::sha256;
use engine::actor::{Kind, Operation, Query, Turn, View};
use relay::agent::waiting::Spoke;

/// The row of a DID's key, as the ledger or the agent knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedKey {
    pub name: Name,
    pub row: KeyRow,
}

/// Reads what a handler needs before it checks a signature.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prepare {
    pub names: Vec<Name>,
}

/// The answer to [`Prepare`]; `keys` and `wallets` have one entry for each name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    pub frozen: bool,
    /// Grants of the faucet today; `None` while it is switched off.
    pub grants: Option<u32>,
    /// `None`: the agent must be asked.
    pub keys: Vec<Option<KeyRow>>,
    /// Whether the name has a wallet.
    pub wallets: Vec<bool>,
}

impl Query for Prepare {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "prepare";
    type Reply = Prepared;

    fn run(self, view: &View<'_>) -> Result<Prepared> {
        let book = super::book::read(view)?;
        let frozen = book.frozen_since.is_some();
        let grants = pay::grants_today(&book, view.now);
        let (mut keys, mut wallets) = (Vec::new(), Vec::new());
        for name in self.names {
            keys.push(KEYS.get(view, &(name.clone(),))?);
            wallets.push(WALLETS.contains(view, &(name,))?);
        }
        Ok(Prepared { frozen, grants, keys, wallets })
    }
}

/// An envelope whose signature was verified.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Submit {
    #[serde(with = "engine::kv::bytes")]
    pub canonical: Vec<u8>,
    #[serde(with = "engine::kv::bytes")]
    pub signature: Vec<u8>,
    /// The signer, and the row of the key under which the envelope was verified.
    pub signer: NamedKey,
    /// The other DIDs that it names, with the rows that their agents or the ledger gave.
    pub others: Vec<NamedKey>,
    /// Only for the faucet.
    pub claimant: Option<Claimant>,
    /// The id that its `Idempotency-Key` leads to ([`idempotency::id`]).
    pub repeat: Option<Id>,
}

/// The outcome of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The signer's key changed meanwhile: verify again.
    Reverify,
    Refused(Reason, RefusalFacts),
    Done(SubmissionResult),
    /// Refused before it was taken: nothing of it is kept or counted.
    Untaken(Reason),
}

/// Facts about a refused envelope besides the reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalFacts {
    /// The row that was kept for it.
    pub row: Option<Id>,
    /// For a batch, the place of the transfer that led to the refusal.
    pub item: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SubmissionResult {
    Transfer(Id, Box<Payment>),
    Escrow(Box<escrow::Stand>),
    Listing(Id, Box<listing::Listing>, bool),
    Hire(Id, Box<hire::Hire>),
    Receipt(Id, Box<receipt::Receipt>),
    Grant { balance: Micro, at: Timestamp },
    Batch(batch::Settled),
}

/// A submission while it is decided.
pub struct Submission<'a> {
    pub brand: &'a str,
    pub common: &'a Common,
    /// Name of the signer.
    pub signer: &'a str,
    pub others: &'a [NamedKey],
    pub signed: &'a Signed,
    /// Bytes that the operator allows for the whole ledger; 0 for no limit.
    pub storage: u64,
}

impl Submission<'_> {
    /// Whether `name` is an active agent.
    pub fn knows(&self, books: &Books<'_>, name: &str) -> Result<bool> {
        is_active(books, self.others, name)
    }

    /// Whether `name` is, or was, an agent.
    pub fn is_registered(&self, books: &Books<'_>, name: &str) -> Result<bool> {
        is_registered(books, self.others, name)
    }

    /// Refuses an envelope that would add a wallet or a listing when storage is nearly full (decision ledger-room).
    pub fn takes_more(&self, books: &Books<'_>) -> Ruled<()> {
        room::for_more(&*books.space, self.storage)
    }

    /// The time until which the envelope could be sent again (decision refusal-burns-nonce).
    pub fn burnt_until(&self) -> Timestamp {
        self.common.expires.plus(SKEW)
    }
}

/// Checks the window of an envelope, by the same rules for every kind.
pub fn window(now: Timestamp, common: &Common) -> Ruled<()> {
    let Common { issued, expires, .. } = *common;
    ensure(now <= expires && expires > issued, Reason::EnvelopeExpired)?;
    ensure(now >= issued.plus(-SKEW), Reason::EnvelopeNotYetValid)?;
    ensure(expires.since(issued) <= MAX_WINDOW, Reason::EnvelopeWindowTooLong)
}

impl Submit {
    /// Whether it is a claim whose requester was never an agent. Claims are checked for this before the window.
    fn claims_of_nobody(&self, books: &Books<'_>, brand: &str, envelope: &Envelope) -> Result<bool> {
        let Content::Claim(claim) = &envelope.content else { return Ok(false) };
        match name_of(brand, &claim.requester) {
            Some(name) => Ok(!is_registered(books, &self.others, name)?),
            None => Ok(true),
        }
    }
}

/// Whether `name` is an active agent, by the ledger's row or else by the agent's own answer.
fn is_active(books: &Books<'_>, told: &[NamedKey], name: &str) -> Result<bool> {
    Ok(match KEYS.get(books.space, &(name.to_owned(),))? {
        Some(row) => row.active,
        None => told.iter().any(|told| told.name == name && told.row.active),
    })
}

/// Whether `name` was ever an agent. A provider can still claim work from a requester that hired and then left: the
/// escrow for the work runs out by the rules (decision deactivated-wallets).
fn is_registered(books: &Books<'_>, told: &[NamedKey], name: &str) -> Result<bool> {
    Ok(KEYS.contains(books.space, &(name.to_owned(),))? || told.iter().any(|told| told.name == name))
}

impl Operation for Submit {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "submit";
    type Reply = Answer;

    fn run(self, turn: &mut Turn<'_>) -> Result<Answer> {
        let (brand, storage) = (&turn.settings.brand, turn.settings.ledger_storage_bytes);
        let envelope = Envelope::read(brand, &self.canonical).ok_or_else(|| Error::internal("no envelope"))?;
        let key = self.signer.row.in_force().ok_or_else(|| Error::internal("a signature without a key"))?;
        let mut books = Books::of(turn)?;
        if books.is_frozen() {
            return Ok(Answer::Untaken(Reason::SystemFrozen));
        }
        let name = (self.signer.name.clone(),);
        let known = KEYS.get(books.space, &name)?;
        if known.as_ref().is_some_and(|row| !row.agrees(&self.signer.row)) {
            return Ok(Answer::Reverify);
        }
        let repeat = (self.repeat.as_ref(), sha256(&self.canonical));
        let taken = match idempotency::find(&books, repeat.0, &repeat.1)? {
            idempotency::KeyUse::Answered(answer) => return Ok(*answer),
            found => found == idempotency::KeyUse::Taken,
        };
        if let Err(refusal) = window(books.now, &envelope.common) {
            // Outside its window an envelope burns and stores nothing (decision refusal-burns-nonce).
            let reason = match self.claims_of_nobody(&books, brand, &envelope)? {
                true => Reason::RequesterPubkeyNotFound,
                false => refusal.reason()?,
            };
            return Ok(Answer::Untaken(reason));
        }
        let row = known.as_ref().map_or_else(|| self.signer.row.clone(), |row| row.with(&self.signer.row));
        let row = KeyRow { key: Some(key), settled: true, told: true, ..row };
        let is_news = known.as_ref().is_none_or(|known| !known.told);
        if known.as_ref() != Some(&row) {
            KEYS.put(books.space, &name, &row)?;
        }
        sweep::catch_up(&mut books)?;
        let signed = Signed { canonical: self.canonical, signature: self.signature, key };
        let submission = Submission {
            brand,
            common: &envelope.common,
            signer: &self.signer.name,
            others: &self.others,
            signed: &signed,
            storage,
        };
        let claimant = self.claimant.unwrap_or_default();
        let answer = match taken {
            true => refuse(&mut books, &submission, &envelope, Reason::IdempotencyConflict, None)?,
            false => decide(&mut books, &submission, &envelope, &claimant)?,
        };
        if !taken {
            idempotency::keep(&mut books, repeat.0, &repeat.1, &answer)?;
        }
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)?;
        if is_news {
            tell_agent(turn, &self.signer.name, key)?;
        }
        effects(turn, &envelope, &answer)?;
        Ok(answer)
    }
}

/// Tells the registrations of a DID which of their keys signs, so that a registration of a made-up key ends.
fn tell_agent(turn: &mut Turn<'_>, name: &str, signing: [u8; 32]) -> Result<()> {
    let brand = &turn.settings.brand;
    let did = parse_did(brand, &did_of(brand, name))?;
    turn.send(actor_id(&did), &Spoke { signing })
}

/// Carries out what a decision leads to outside the books: notices, work of the own provider, and trust.
fn effects(turn: &mut Turn<'_>, envelope: &Envelope, answer: &Answer) -> Result<()> {
    notify::tell(turn, envelope, answer)?;
    match (answer, &envelope.content) {
        (Answer::Done(SubmissionResult::Hire(id, hire)), _) => provider::hired(turn, id, hire),
        (Answer::Done(SubmissionResult::Escrow(stand)), Content::Close(_)) => paid(turn, &stand.escrow),
        (Answer::Done(SubmissionResult::Receipt(_, receipt)), Content::Acceptance(_)) => {
            let escrow = receipt.escrow.filter(|_| receipt.state == ReceiptState::Accepted);
            match escrow.map(|id| ESCROWS.get(turn, &(id,))).transpose()?.flatten() {
                Some(escrow) => paid(turn, &escrow),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Counts an escrow that its sender paid out in favour of the recipient (decision anchored-weight).
fn paid(turn: &mut Turn<'_>, escrow: &Escrow) -> Result<()> {
    lent::paid(turn, &escrow.from, &escrow.to, escrow.state, escrow.opened)
}

fn decide(books: &mut Books<'_>, by: &Submission<'_>, envelope: &Envelope, claimant: &Claimant) -> Result<Answer> {
    let mut item = None;
    let result = match &envelope.content {
        Content::Batch(batch) => batch::settle(books, by, batch).map_err(|batch::RefusedAt(refusal, place)| {
            item = place;
            refusal
        }),
        Content::Transfer(transfer) => pay::transfer(books, by, transfer),
        Content::Open(open) => escrow::open(books, by, open),
        Content::Close(close) => escrow::close(books, by, close),
        Content::List(list) => listing::list(books, by, list),
        Content::Hire(wanted) => hire::hire(books, by, wanted),
        Content::Claim(claim) => receipt::claim(books, by, claim),
        Content::Acceptance(acceptance) => receipt::accept(books, by, acceptance),
        Content::Faucet(_) if !claimant.finds_open(pay::grants_today(&books.book, books.now)) => {
            Err(Reason::FaucetDisabled.into())
        }
        Content::Faucet(faucet) => pay::faucet(books, by, faucet, claimant),
        Content::Read(_) => Err(Reason::InvalidEnvelope.into()),
    };
    match result {
        Ok(done) => Ok(Answer::Done(done)),
        Err(refusal) => refuse(books, by, envelope, refusal.reason()?, item),
    }
}

/// Counts a refusal, keeps a row for a refused transfer or batch, and burns the nonce.
fn refuse(
    books: &mut Books<'_>,
    by: &Submission<'_>,
    envelope: &Envelope,
    reason: Reason,
    item: Option<u16>,
) -> Result<Answer> {
    metrics::count(books, reason)?;
    let mut row = None;
    match &envelope.content {
        _ if reason.is_temporary() => {}
        Content::Transfer(transfer) if reason != Reason::NonceSeen => row = pay::failed(books, by, transfer, reason)?,
        Content::Batch(batch) => batch::failed(books, by, batch, reason, item)?,
        content if reason != Reason::NonceSeen => burn(books, by, content)?,
        _ => {}
    }
    Ok(Answer::Refused(reason, RefusalFacts { row, item }))
}

/// Burns the nonce of an envelope that keeps no row when it is refused.
fn burn(books: &mut Books<'_>, by: &Submission<'_>, content: &Content) -> Result<()> {
    let (space, nonce) = match content {
        Content::Open(open) => (Space::Escrow, &open.nonce),
        Content::List(list) => (Space::Listing, &list.nonce),
        Content::Hire(hire) => (Space::Hire, &hire.nonce),
        Content::Claim(claim) => (Space::Claim, &claim.nonce),
        Content::Faucet(faucet) => (Space::Faucet, &faucet.nonce),
        // Transfers and batches keep rows. The others are guarded by the state that they change (decision
        // action-nonce-repeats).
        Content::Transfer(_) | Content::Batch(_) | Content::Close(_) | Content::Acceptance(_) | Content::Read(_) => {
            return Ok(());
        }
    };
    let id = id(space, by.signer, nonce);
    match books.is_burnt(&id)? {
        true => Ok(()),
        false => books.burn(&id, by.burnt_until()),
    }
}
