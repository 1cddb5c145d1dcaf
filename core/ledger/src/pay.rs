//! Transfers and grants of the faucet.

use super::batch;
use super::book::{Books, amount, minus, name_of};
use super::envelope::{Common, Content, Envelope, Faucet, Transfer};
use super::log::{Event, Note, What, event};
use super::reason::{Reason, Ruled, ensure};
use super::rows::{
    Book, FAILURES, FAUCET, FAUCET_BY_ADDRESS, FAUCET_UNTIL, Grant, Id, Micro, Payment, Settlement, Space, id,
};
use super::submit::{Submission, SubmissionResult};
use crate::{Error, Result, Timestamp};
use engine::kv::{Direction, Read};
use engine::time::DAY;

/// The amount of a grant of the faucet, in micro-credits.
pub const GRANT: Micro = 10_000_000;
/// Most refused transfers and batches of one DID that leave a row in a day; of later ones only the nonce is kept
/// (decision ledger-room).
pub const MAX_FAILURES: u64 = 1_000;

pub fn transfer(books: &mut Books<'_>, by: &Submission<'_>, transfer: &Transfer) -> Ruled<SubmissionResult> {
    let amount = amount(transfer.amount)?;
    let from = by.signer;
    let to = name_of(by.brand, &transfer.to).filter(|to| *to != from).ok_or(Reason::RecipientInvalidDid)?;
    ensure(by.knows(books, to)? || books.wallet(to)?.is_some(), Reason::RecipientInvalidDid)?;
    let id = id(Space::Transfer, from, &transfer.nonce);
    ensure(!books.is_used(&id)?, Reason::NonceSeen)?;
    let mut sender = books.payer(from, to, amount, true)?;

    let at = books.stamp();
    sender.balance = minus(sender.balance, amount)?;
    sender.updated = at;
    books.left(at, &mut sender, amount)?;
    books.put(from, &sender)?;
    books.pay_in(to, at, amount)?;
    let event = books.log(at, What::Transfer, from, Note::of(&id, Some(by.signed)))?;
    books.counts(at)?.transfers += 1;
    Ok(SubmissionResult::Transfer(id, Box::new(shown(by.brand, &event, by.common.clone(), transfer.clone())?)))
}

/// A transfer as it is shown.
pub fn payment(brand: &str, event: &Event) -> Result<Payment> {
    let signed = event.signed.as_ref().ok_or_else(unreadable)?;
    let Envelope { common, content } = Envelope::read(brand, &signed.canonical).ok_or_else(unreadable)?;
    let Content::Transfer(transfer) = content else { return Err(unreadable()) };
    shown(brand, event, common, transfer)
}

fn unreadable() -> Error {
    Error::internal("a stored transfer cannot be read")
}

/// [`payment`] with the envelope of the event already read.
fn shown(brand: &str, event: &Event, common: Common, transfer: Transfer) -> Result<Payment> {
    let signed = event.signed.as_ref().ok_or_else(unreadable)?;
    let after = |did: &str| name_of(brand, did).and_then(|name| event.change(name)).map(|change| change.balance_after);
    let outcome = match (event.reason, after(&transfer.from), after(&transfer.to)) {
        (Some(reason), ..) => Settlement::Failed(reason),
        (None, Some(sender), Some(recipient)) => Settlement::Settled { sender, recipient },
        _ => return Err(unreadable()),
    };
    Ok(Payment {
        from: transfer.from,
        to: transfer.to,
        amount: transfer.amount,
        nonce: transfer.nonce,
        has_text: transfer.memo.is_some(),
        memo: transfer.memo,
        at: event.at,
        outcome,
        hash: event.hash(),
        signature: signed.signature.clone(),
        issued_at: common.issued_at,
        expires_at: common.expires_at,
        batch: None,
    })
}

/// The transfer of that id, also one of a batch.
pub fn find(space: &(impl Read + ?Sized), brand: &str, id: &Id) -> Result<Option<Payment>> {
    match event(space, id)? {
        Some(event) if matches!(event.what, What::Transfer | What::TransferFailed) => payment(brand, &event).map(Some),
        Some(_) => Ok(None),
        None => batch::find(space, brand, id),
    }
}

/// Keeps a refused transfer. Returns its id if it leaves a row, which marks the nonce as used.
pub fn failed(books: &mut Books<'_>, by: &Submission<'_>, transfer: &Transfer, reason: Reason) -> Result<Option<Id>> {
    let id = id(Space::Transfer, by.signer, &transfer.nonce);
    if books.is_used(&id)? {
        return Ok(None);
    }
    if !keeps_failure(books, by.signer)? {
        books.burn(&id, by.burnt_until())?;
        return Ok(None);
    }
    let at = books.stamp();
    let note = Note { reason: Some(reason), ..Note::of(&id, Some(by.signed)) };
    books.log(at, What::TransferFailed, by.signer, note)?;
    Ok(Some(id))
}

/// Counts one more refusal of a DID today. Returns whether it leaves a row.
pub fn keeps_failure(books: &mut Books<'_>, name: &str) -> Result<bool> {
    let day = (u32::try_from(books.now.day()).unwrap_or_default(), name.to_owned());
    let failures = FAILURES.get(books.space, &day)?.unwrap_or_default();
    if failures >= MAX_FAILURES {
        return Ok(false);
    }
    FAILURES.put(books.space, &day, &(failures + 1))?;
    Ok(true)
}

/// Facts that the faucet needs besides the envelope.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Claimant {
    /// Hashes of the client's address under the keys of today and of the day before; empty when no address is known.
    pub addresses: Vec<[u8; 16]>,
    /// Most grants of one address in 24 hours.
    pub per_address: u32,
    /// Most grants of all addresses together on one day.
    pub per_day: u32,
}

/// Gives a grant of the faucet, once per DID (decision faucet-addresses).
pub fn faucet(
    books: &mut Books<'_>,
    by: &Submission<'_>,
    faucet: &Faucet,
    claimant: &Claimant,
) -> Ruled<SubmissionResult> {
    let today = books.now.day();
    if books.book.faucet_day != today {
        books.book.faucet_day = today;
        books.book.faucet_grants = 0;
    }
    let from = by.signer.to_owned();
    let nonce = id(Space::Faucet, &from, &faucet.nonce);
    ensure(!FAUCET.contains(books.space, &(from.clone(),))?, Reason::AlreadyClaimed)?;
    ensure(!books.is_burnt(&nonce)?, Reason::NonceSeen)?;
    let mut recent = 0;
    for address in &claimant.addresses {
        let day = FAUCET_BY_ADDRESS.between(&(*address, books.now.plus(-DAY)), &(*address, Timestamp::MAX));
        recent += FAUCET_BY_ADDRESS.scan(books.space, &day, Direction::Ascending, claimant.per_address as usize)?.len();
    }
    ensure(claimant.addresses.is_empty() || recent < claimant.per_address as usize, Reason::IpRateLimitExceeded)?;
    match books.wallet(&from)? {
        Some(wallet) => ensure(!wallet.frozen, Reason::SenderFrozen)?,
        None => by.takes_more(books)?,
    }
    ensure(books.book.supply.saturating_add(GRANT) <= super::book::MAX_SUPPLY, Reason::AmountOutOfRange)?;

    let at = books.stamp();
    let wallet = books.grant(&from, at, GRANT)?;
    books.log(at, What::Faucet, &from, Note::signed(by.signed))?;
    let address = claimant.addresses.first().copied();
    FAUCET.put(books.space, &(from,), &Grant { signed: by.signed.clone(), amount: GRANT, at })?;
    if let Some(address) = address {
        FAUCET_BY_ADDRESS.put(books.space, &(address, at), &())?;
        FAUCET_UNTIL.put(books.space, &(at.plus(DAY + 1), address), &())?;
    }
    books.book.faucet_grants += 1;
    Ok(SubmissionResult::Grant { balance: wallet.balance, at })
}

/// Grants of the faucet on the day of `now`; `None` while it is switched off.
pub fn grants_today(book: &Book, now: Timestamp) -> Option<u32> {
    let grants = if book.faucet_day == now.day() { book.faucet_grants } else { 0 };
    (!book.faucet_disabled).then_some(grants)
}

impl Claimant {
    /// Whether the faucet still gives, after this many grants today.
    pub fn finds_open(&self, grants: Option<u32>) -> bool {
        grants.is_some_and(|grants| grants < self.per_day)
    }
}
