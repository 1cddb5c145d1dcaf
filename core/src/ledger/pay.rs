//! Transfers and grants of the faucet.

use super::book::{Books, amount, minus, name_of};
use super::envelope::{Faucet, Transfer};
use super::reason::{Reason, Refusal, Ruled, ensure};
use super::rows::{
    AuditRow, Book, FAILURES, FAUCET, FAUCET_BY_ADDRESS, FAUCET_UNTIL, Grant, IN, Id, Micro, OUT, Outcome, Outflow,
    Ref, Space, TRANSFERS, TransferRow, id,
};
use super::submit::{Done, Submission};
use crate::kv::{Desc, Direction};
use crate::time::DAY;
use crate::{Result, Timestamp};

/// What the faucet gives, in micro-credits (spec ledger 11).
pub const GRANT: Micro = 10_000_000;
/// Refused transfers of one DID that are kept per day; of later ones only the nonce is (ruling ledger 12).
pub const MAX_FAILURES: u64 = 1_000;

/// Settles a transfer.
pub fn transfer(books: &mut Books<'_>, by: &Submission<'_>, transfer: &Transfer) -> Ruled<Done> {
    let amount = amount(transfer.amount)?;
    let from = by.signer;
    let to = name_of(by.brand, &transfer.to).filter(|to| *to != from).ok_or(Reason::RecipientInvalidDid)?;
    ensure(by.knows(books, to)? || books.wallet(to)?.is_some(), Reason::RecipientInvalidDid)?;
    let id = id(Space::Transfer, from, &transfer.nonce);
    ensure(!TRANSFERS.contains(books.space, &(id,))? && !books.is_burnt(&id)?, Reason::NonceSeen)?;
    let mut sender = books.payer(from, to, amount, true)?;

    let at = books.stamp();
    sender.balance = minus(sender.balance, amount)?;
    sender.updated = at;
    books.left(from, at, &mut sender, Outflow { id, escrow: false, amount })?;
    books.put(from, &sender)?;
    let recipient = books.pay_in(to, at, amount)?;
    IN.put(books.space, &(to.to_owned(), Desc(at)), &Ref(id))?;
    let outcome = Outcome::Settled { sender: sender.balance, recipient: recipient.balance };
    let row = TransferRow { signed: by.signed.clone(), at, outcome };
    TRANSFERS.put(books.space, &(id,), &row)?;
    books.counts(at)?.transfers += 1;
    Ok(Done::Transfer(id, Box::new(row)))
}

/// Keeps a refused transfer (spec ledger T11); its id, when there is a row of it. The row takes the nonce.
pub fn failed(books: &mut Books<'_>, by: &Submission<'_>, transfer: &Transfer, reason: Reason) -> Result<Option<Id>> {
    let id = id(Space::Transfer, by.signer, &transfer.nonce);
    if TRANSFERS.contains(books.space, &(id,))? || books.is_burnt(&id)? {
        return Ok(None);
    }
    let day = (u32::try_from(books.now.day()).unwrap_or_default(), by.signer.to_owned());
    let failures = FAILURES.get(books.space, &day)?.unwrap_or_default();
    if failures >= MAX_FAILURES {
        books.burn(&id, by.burnt_until())?;
        return Ok(None);
    }
    FAILURES.put(books.space, &day, &(failures + 1))?;
    let at = books.stamp();
    let row = TransferRow { signed: by.signed.clone(), at, outcome: Outcome::Failed(reason) };
    TRANSFERS.put(books.space, &(id,), &row)?;
    OUT.put(books.space, &(by.signer.to_owned(), Desc(at)), &Outflow { id, escrow: false, amount: 0 })?;
    Ok(Some(id))
}

/// What the faucet must know beyond the envelope.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Claimant {
    /// Hashes of the client's address under the keys of today and of the day before; none when no address is known.
    pub addresses: Vec<[u8; 16]>,
    /// Grants that one address has in 24 hours.
    pub per_address: u32,
    /// Grants that all together have in a day.
    pub per_day: u32,
}

/// Grants once per DID (spec ledger 10.5; ruling ledger 20).
pub fn faucet(books: &mut Books<'_>, by: &Submission<'_>, faucet: &Faucet, claimant: &Claimant) -> Ruled<Done> {
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
    let address = claimant.addresses.first().copied();
    FAUCET.put(books.space, &(from.clone(),), &Grant { signed: by.signed.clone(), amount: GRANT, at })?;
    if let Some(address) = address {
        FAUCET_BY_ADDRESS.put(books.space, &(address, at), &())?;
        FAUCET_UNTIL.put(books.space, &(at.plus(DAY + 1), address), &())?;
    }
    books.book.faucet_grants += 1;
    books.audit(AuditRow {
        actor: "system:faucet".to_owned(),
        action: "credit_grant".to_owned(),
        subject: from,
        amount: GRANT,
        signed: None,
    })?;
    Ok(Done::Grant { balance: wallet.balance, at })
}

/// Grants of the faucet on the day of `now`; `None` while it is switched off.
pub fn grants_today(book: &Book, now: Timestamp) -> Option<u32> {
    let grants = if book.faucet_day == now.day() { book.faucet_grants } else { 0 };
    (!book.faucet_disabled).then_some(grants)
}

impl Claimant {
    /// Whether the faucet gives to anybody, after so many grants of today.
    pub fn finds_open(&self, grants: Option<u32>) -> bool {
        grants.is_some_and(|grants| grants < self.per_day)
    }
}

/// A refusal as a reason, or the fault.
pub fn reason(refusal: Refusal) -> Result<Reason> {
    match refusal {
        Refusal::No(reason) => Ok(reason),
        Refusal::Fault(error) => Err(error),
    }
}
