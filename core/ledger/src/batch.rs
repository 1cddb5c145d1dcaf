//! Batches: up to 1,000 transfers under one signature, all or none (decisions batch-one-event and batch-contract).
//!
//! A batch is one event. Its transfers have no rows of their own: each is read out of the event, and its id is the id
//! of the batch with its place in the last two bytes.

use serde::{Deserialize, Serialize};

use super::book::{self, Books, MAX_AMOUNT, did_of, minus, name_of};
use super::envelope::{self, Content, Envelope};
use super::log::{Event, Note, What, canonical, event};
use super::pay::keeps_failure;
use super::reason::{Reason, Refusal, Ruled, ensure};
use super::rows::{Id, Micro, Payment, Settlement, Space, Wallet, id};
use super::submit::{Submission, SubmissionResult};
use crate::{Error, Result, Timestamp};
use engine::kv::Read;

/// Most transfers of a batch.
pub const MAX_ITEMS: usize = 1_000;

/// The id of the batch that `name` signs as `batch_id`.
pub fn batch_id(name: &str, batch_id: &str) -> Id {
    with_place(id(Space::Batch, name, batch_id), 0)
}

fn with_place(mut id: Id, place: u16) -> Id {
    let [.., high, low] = &mut id;
    [*high, *low] = place.to_be_bytes();
    id
}

/// The id of a transfer by its batch and its place in it, from 0.
pub fn item_id(batch: &Id, index: u16) -> Id {
    with_place(*batch, index + 1)
}

/// The batch that an id belongs to, and the place of its transfer; no place for the batch itself.
pub fn of_item(id: &Id) -> (Id, Option<u16>) {
    let [.., high, low] = id;
    (with_place(*id, 0), u16::from_be_bytes([*high, *low]).checked_sub(1))
}

/// A settled batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    pub id: Id,
    pub batch_id: String,
    pub count: u16,
    pub total: Micro,
    pub at: Timestamp,
    pub hash: [u8; 32],
    pub sender: Micro,
}

/// A refusal, and the place of the transfer that it is about, if it is about one.
pub struct RefusedAt(pub Refusal, pub Option<u16>);

impl From<Refusal> for RefusedAt {
    fn from(refusal: Refusal) -> RefusedAt {
        RefusedAt(refusal, None)
    }
}

impl From<Reason> for RefusedAt {
    fn from(reason: Reason) -> RefusedAt {
        Refusal::from(reason).into()
    }
}

impl From<Error> for RefusedAt {
    fn from(error: Error) -> RefusedAt {
        Refusal::from(error).into()
    }
}

/// Attaches the place to a refusal.
fn at<T>(index: usize, ruled: Ruled<T>) -> Result<T, RefusedAt> {
    ruled.map_err(|refusal| RefusedAt(refusal, u16::try_from(index).ok()))
}

/// Settles all transfers of a batch, in the order of checks of a transfer.
pub fn settle(
    books: &mut Books<'_>,
    by: &Submission<'_>,
    batch: &envelope::Batch,
) -> Result<SubmissionResult, RefusedAt> {
    let from = by.signer;
    let mut items = Vec::with_capacity(batch.items.len());
    let mut total: Micro = 0;
    for (index, item) in batch.items.iter().enumerate() {
        let amount = at(index, book::amount(item.amount))?;
        // 1,000 amounts of at most 10^15 do not overflow.
        total += amount;
        at(index, ensure(total <= MAX_AMOUNT, Reason::AmountOutOfRange))?;
        items.push(("", amount));
    }
    for (index, (item, (name, _))) in batch.items.iter().zip(&mut items).enumerate() {
        let to = name_of(by.brand, &item.to).filter(|to| *to != from);
        let to = at(index, to.ok_or(Reason::RecipientInvalidDid.into()))?;
        let known = by.knows(books, to)? || books.wallet(to)?.is_some();
        at(index, ensure(known, Reason::RecipientInvalidDid))?;
        *name = to;
    }
    let id = batch_id(from, &batch.batch_id);
    ensure(!books.is_used(&id)?, Reason::NonceSeen)?;
    let mut sender = payer(books, from, &items)?;

    let first = books.stamps(items.len());
    sender.balance = minus(sender.balance, total)?;
    sender.updated = first;
    books.left(first, &mut sender, total)?;
    books.put(from, &sender)?;
    let mut sums = items.clone();
    sums.sort_by_key(|(to, _)| *to);
    for of_one in sums.chunk_by(|(a, _), (b, _)| a == b) {
        let Some((to, _)) = of_one.first() else { continue };
        books.pay_in(to, first, of_one.iter().map(|(_, amount)| amount).sum())?;
    }
    let detail = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    // Every transfer of the batch shows these, so that showing one does not take reading all signed bytes.
    let details = vec![
        detail("batch_id", &batch.batch_id),
        detail("issued_at", &by.common.issued_at),
        detail("expires_at", &by.common.expires_at),
    ];
    let note = Note { items: &items, details, ..Note::of(&id, Some(by.signed)) };
    let event = books.log(first, What::Batch, from, note)?;
    books.counts(first)?.transfers += items.len() as u64;
    let (batch_id, hash) = (batch.batch_id.clone(), event.hash());
    let count = u16::try_from(items.len()).map_err(Error::internal)?;
    Ok(SubmissionResult::Batch(Settled { id, batch_id, count, total, at: first, hash, sender: sender.balance }))
}

/// Keeps one event for a refused batch (decision money-model), and burns its id. The signed bytes may be megabytes, so
/// the event has only the batch's name, its number of transfers, and the place of the one that led to the refusal.
pub fn failed(
    books: &mut Books<'_>,
    by: &Submission<'_>,
    batch: &envelope::Batch,
    reason: Reason,
    item: Option<u16>,
) -> Result<()> {
    let id = batch_id(by.signer, &batch.batch_id);
    if reason == Reason::NonceSeen || books.is_used(&id)? {
        return Ok(());
    }
    books.burn(&id, by.burnt_until())?;
    if !keeps_failure(books, by.signer)? {
        return Ok(());
    }
    let mut details =
        vec![("batch_id".to_owned(), batch.batch_id.clone()), ("count".to_owned(), batch.items.len().to_string())];
    details.extend(item.map(|place| ("failed_index".to_owned(), place.to_string())));
    let at = books.stamp();
    let note = Note { reason: Some(reason), details, ..Note::of(&id, None) };
    books.log(at, What::BatchFailed, by.signer, note)?;
    Ok(())
}

/// The wallet of `from`, if it may pay all transfers: each within the cap of one payment, and their sum within the
/// daily cap.
fn payer(books: &Books<'_>, from: &str, items: &[(&str, Micro)]) -> Result<Wallet, RefusedAt> {
    let wallet = books.wallet(from)?.ok_or(Reason::SenderNotFound)?;
    ensure(!wallet.frozen, Reason::SenderFrozen)?;
    let spent = books.spent(from, &wallet)?;
    // Refuses at the first transfer for which the condition does not hold.
    let first = |reason: Reason, holds: &dyn Fn(Micro, &(&str, Micro)) -> bool| {
        let mut sum: Micro = 0;
        let broken = items.iter().position(|item| {
            sum = sum.saturating_add(item.1);
            !holds(sum, item)
        });
        broken.map_or(Ok(()), |index| at(index, Err(reason.into())))
    };
    first(Reason::InsufficientBalance, &|sum, _| sum <= wallet.balance)?;
    first(Reason::DailyCapExceeded, &|sum, _| spent.saturating_add(sum) <= wallet.daily_cap)?;
    first(Reason::PerTxCapExceeded, &|_, (_, amount)| *amount <= wallet.per_tx_cap)?;
    if let Some(allowed) = &wallet.allowlist {
        first(Reason::RecipientNotAllowed, &|_, (to, _)| allowed.iter().any(|name| name == to))?;
    }
    Ok(wallet)
}

/// A batch that is being shown.
pub struct ShownBatch<'a> {
    pub brand: &'a str,
    pub id: Id,
    pub event: &'a Event,
    /// The memo of each transfer; empty when memos are not shown.
    memos: Vec<Option<String>>,
    /// Number of signed bytes that were read.
    pub read: usize,
}

/// One transfer of a batch, without its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchPart<'a> {
    pub index: u16,
    pub at: Timestamp,
    pub to: &'a str,
    pub amount: Micro,
    /// Balances after it.
    pub sender: Micro,
    pub recipient: Micro,
}

impl<'a> ShownBatch<'a> {
    /// With `texts` the signed bytes are read too, which may be megabytes.
    pub fn new(
        space: &(impl Read + ?Sized),
        brand: &'a str,
        id: Id,
        event: &'a Event,
        texts: bool,
    ) -> Result<ShownBatch<'a>> {
        let (mut memos, mut read) = (Vec::new(), 0);
        if texts {
            let canonical = canonical(space, &id, event)?;
            read = canonical.len();
            let envelope = Envelope::read(brand, &canonical);
            let Some(Envelope { content: Content::Batch(batch), .. }) = envelope else { return Err(unreadable()) };
            memos = batch.items.into_iter().map(|item| item.memo).collect();
        }
        Ok(ShownBatch { brand, id, event, memos, read })
    }

    /// The transfers that `name` sent or received, the last one first. Balances are computed backwards, from those
    /// after the whole batch.
    pub fn parts(&self, name: &str) -> Result<Vec<BatchPart<'a>>> {
        let event = self.event;
        let mut sender = event.change(&event.actor).ok_or_else(unreadable)?.balance_after;
        let mut after: Vec<Micro> = event.changes.iter().map(|change| change.balance_after).collect();
        let mut parts = Vec::new();
        for (index, item) in event.items.iter().enumerate().rev() {
            let to = event.changes.get(usize::from(item.to)).ok_or_else(unreadable)?;
            let recipient = after.get_mut(usize::from(item.to)).ok_or_else(unreadable)?;
            if name == event.actor || name == to.name {
                parts.push(BatchPart {
                    index: u16::try_from(index).map_err(Error::internal)?,
                    at: event.at.plus(i64::try_from(index).map_err(Error::internal)?),
                    to: &to.name,
                    amount: item.amount,
                    sender,
                    recipient: *recipient,
                });
            }
            sender = book::plus(sender, item.amount)?;
            *recipient = minus(*recipient, item.amount)?;
        }
        Ok(parts)
    }

    pub fn memo(&self, index: u16) -> Option<String> {
        self.memos.get(usize::from(index)).cloned().flatten()
    }

    /// The transfer as it is shown.
    pub fn payment(&self, part: &BatchPart<'_>) -> Result<Payment> {
        let event = self.event;
        let detail = |name: &str| event.details.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let signed = event.signed.as_ref().ok_or_else(unreadable)?;
        Ok(Payment {
            from: did_of(self.brand, &event.actor),
            to: did_of(self.brand, part.to),
            amount: i64::try_from(part.amount).map_err(Error::internal)?,
            nonce: detail("batch_id").ok_or_else(unreadable)?,
            memo: self.memo(part.index),
            has_text: self.memos.iter().any(Option::is_some),
            at: part.at,
            outcome: Settlement::Settled { sender: part.sender, recipient: part.recipient },
            hash: event.hash(),
            signature: signed.signature.clone(),
            issued_at: detail("issued_at").ok_or_else(unreadable)?,
            expires_at: detail("expires_at").ok_or_else(unreadable)?,
            batch: Some((self.id, part.index)),
        })
    }
}

fn unreadable() -> Error {
    Error::internal("a stored batch cannot be read")
}

/// The transfer of that id, when it is one of a batch.
pub fn find(space: &(impl Read + ?Sized), brand: &str, id: &Id) -> Result<Option<Payment>> {
    let (batch, Some(index)) = of_item(id) else { return Ok(None) };
    let Some(event) = event(space, &batch)?.filter(|event| event.what == What::Batch) else { return Ok(None) };
    if usize::from(index) >= event.items.len() {
        return Ok(None);
    }
    let opened = ShownBatch::new(space, brand, batch, &event, true)?;
    let part = opened.parts(&event.actor)?.into_iter().find(|part| part.index == index);
    part.map(|part| opened.payment(&part)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_batch_and_of_its_transfers_lead_to_each_other() {
        let batch = batch_id("ab", "c");
        assert_eq!(of_item(&batch), (batch, None));
        assert_ne!(batch, batch_id("a", "bc"));
        for index in [0, 1, 255, 256, 999] {
            let id = item_id(&batch, index);
            assert_eq!(of_item(&id), (batch, Some(index)));
            assert_eq!(super::super::rows::parse_id(&super::super::rows::id_text(&id)), Some(id));
        }
    }
}
