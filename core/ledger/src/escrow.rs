//! Escrows: money set aside until its sender releases it, takes it back, or time runs out (decisions
//! due-before-anything, freeze-stops-clocks and deadline-skew).
//!
//! Everything that is due happens before anything else is done to an escrow, so outcomes do not depend on when the
//! timer runs.

use serde::{Deserialize, Serialize};

use super::book::{self, Books, minus, name_of, plus};
use super::envelope::{Close, EscrowOpening, SKEW};
use super::hire::{self, HireState};
use super::log::{Note, What};
use super::reason::{Reason, Ruled, ensure};
use super::receipt::{self, ReceiptState};
use super::rows::{
    Closed, DUE, ESCROWS, ESCROWS_TO, Escrow, EscrowState, HELD, Id, Micro, Ref, Signed, Space, Wallet, id, parse_id,
};
use super::submit::{Submission, SubmissionResult};
use crate::{Result, Timestamp};
use engine::kv::{Desc, Direction};
use engine::time::DAY;

/// Longest life of an escrow, in microseconds.
pub const MAX_HOLD: i64 = 7 * DAY;

/// An escrow with the balances after it was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stand {
    pub id: Id,
    pub escrow: Escrow,
    pub sender_balance: Micro,
    pub sender_locked: Micro,
    pub recipient_balance: Micro,
}

fn stand(books: &Books<'_>, id: Id, escrow: Escrow) -> Result<Stand> {
    let sender = books.wallet(&escrow.from)?;
    let recipient = books.wallet(&escrow.to)?;
    Ok(Stand {
        id,
        sender_balance: sender.as_ref().map_or(0, |wallet| wallet.balance),
        sender_locked: sender.map_or(0, |wallet| wallet.locked),
        recipient_balance: recipient.map_or(0, |wallet| wallet.balance),
        escrow,
    })
}

impl Escrow {
    /// Its deadline, in the time of [`Books::clock`].
    pub fn due(&self) -> Timestamp {
        self.deadline.plus(-self.frozen_before)
    }
}

pub fn open(books: &mut Books<'_>, by: &Submission<'_>, open: &EscrowOpening) -> Ruled<SubmissionResult> {
    let amount = book::amount(open.amount)?;
    let to = name_of(by.brand, &open.to).filter(|to| *to != by.signer).ok_or(Reason::RecipientInvalidDid)?;
    ensure(by.knows(books, to)?, Reason::RecipientInvalidDid)?;
    ensure(open.deadline > books.now, Reason::EscrowDeadlinePast)?;
    ensure(open.deadline.since(books.now) <= MAX_HOLD + SKEW, Reason::EscrowDeadlineExceedsMax)?;
    let id = id(Space::Escrow, by.signer, &open.nonce);
    ensure(!ESCROWS.contains(books.space, &(id,))? && !books.is_burnt(&id)?, Reason::NonceSeen)?;
    let sender = books.payer(by.signer, to, amount, false)?;
    let at = books.stamp();
    let escrow = Escrow {
        from: by.signer.to_owned(),
        to: to.to_owned(),
        nonce: open.nonce.clone(),
        amount,
        memo: open.memo.clone(),
        state: EscrowState::Open,
        reason: None,
        open: by.signed.clone(),
        hire: None,
        opened: at,
        deadline: open.deadline,
        frozen_before: books.frozen_for(),
        closed: None,
    };
    lock(books, id, sender, &escrow)?;
    Ok(SubmissionResult::Escrow(Box::new(stand(books, id, escrow)?)))
}

/// Sets the money of a new escrow aside.
pub fn lock(books: &mut Books<'_>, id: Id, mut sender: Wallet, escrow: &Escrow) -> Result<()> {
    let (amount, at, from) = (escrow.amount, escrow.opened, escrow.from.as_str());
    sender.balance = minus(sender.balance, amount)?;
    sender.locked = plus(sender.locked, amount)?;
    sender.updated = at;
    books.left(at, &mut sender, amount)?;
    books.put(from, &sender)?;
    let what = if escrow.hire.is_some() { What::Hire } else { What::EscrowOpen };
    books.log(at, what, from, Note::of(&id, Some(&escrow.open)))?;
    books.book.open = plus(books.book.open, escrow.amount)?;
    ESCROWS.put(books.space, &(id,), escrow)?;
    ESCROWS_TO.put(books.space, &(escrow.to.clone(), Desc(at)), &Ref(id))?;
    Ok(DUE.put(books.space, &(escrow.due(), id), &())?)
}

/// Releases or refunds an escrow for its sender.
pub fn close(books: &mut Books<'_>, by: &Submission<'_>, close: &Close) -> Ruled<SubmissionResult> {
    let id = parse_id(&close.escrow).ok_or(Reason::EscrowNotFound)?;
    let escrow = up_to_date(books, &id)?.ok_or(Reason::EscrowNotFound)?;
    ensure(escrow.from == by.signer, Reason::EscrowSignerNotAuthorized)?;
    ensure(escrow.state == EscrowState::Open, Reason::EscrowNotOpen)?;
    let frozen = is_frozen(books, &escrow.from)?;
    // Money may go back to a frozen wallet, but never out of it. After its deadline the escrow is held for an admin.
    ensure(!(close.release && frozen), Reason::SenderFrozen)?;
    ensure(close.release || escrow.due() >= books.clock(), Reason::EscrowNotOpen)?;
    if !close.release {
        // A sender that has read the delivered work cannot take the money back without a dispute (decision
        // due-before-anything).
        match receipt::current(books.space, &id)?.map(|(_, receipt)| receipt.state) {
            Some(ReceiptState::Pending) => return Err(Reason::ClaimPending.into()),
            Some(ReceiptState::Accepted) => return Err(Reason::EscrowNotOpen.into()),
            _ => {}
        }
    }
    let state = if close.release { EscrowState::Released } else { EscrowState::Refunded };
    let (actor, signed) = (by.signer.to_owned(), Some(by.signed.clone()));
    let end = End { state, actor, reason: close.reason.clone(), signed, cause: None, due: None };
    let escrow = finish(books, &id, escrow, end)?;
    Ok(SubmissionResult::Escrow(Box::new(stand(books, id, escrow)?)))
}

/// Releases or refunds an escrow for an admin, whatever holds it.
pub fn force(
    books: &mut Books<'_>,
    id: &Id,
    keyid: &str,
    release: bool,
    reason: Option<String>,
    signed: &Signed,
) -> Ruled<Stand> {
    let escrow = up_to_date(books, id)?.ok_or(Reason::EscrowNotFound)?;
    ensure(escrow.state == EscrowState::Open, Reason::EscrowNotOpen)?;
    let state = if release { EscrowState::Released } else { EscrowState::Refunded };
    let (actor, signed) = (format!("admin:{keyid}"), Some(signed.clone()));
    let end = End { state, actor, reason, signed, cause: None, due: None };
    let escrow = finish(books, id, escrow, end)?;
    Ok(stand(books, *id, escrow)?)
}

/// How an escrow ends, and by whom.
pub struct End {
    pub state: EscrowState,
    pub actor: String,
    pub reason: Option<String>,
    pub signed: Option<Signed>,
    /// The signed envelope that led to this end without being about it: an acceptance, or the claim that nobody
    /// answered.
    pub cause: Option<Signed>,
    /// The time at which the end was due, in wall-clock time; `None` for now.
    pub due: Option<Timestamp>,
}

/// Ends an open escrow, and moves its money. This is the only way out of the state `open`.
pub fn finish(books: &mut Books<'_>, id: &Id, mut escrow: Escrow, end: End) -> Result<Escrow> {
    let at = match end.due {
        Some(due) => books.stamp_at(due),
        None => books.stamp(),
    };
    if is_frozen(books, &escrow.from)? {
        HELD.delete(books.space, &(escrow.from.clone(), *id));
    }
    let amount = escrow.amount;
    let back = end.state != EscrowState::Released;
    books.book.open = minus(books.book.open, amount)?;
    books.change(&escrow.from, at, |wallet| {
        wallet.locked = minus(wallet.locked, amount)?;
        if back {
            wallet.balance = plus(wallet.balance, amount)?;
        }
        Ok(())
    })?;
    if !back {
        // A new provider has no wallet yet.
        books.pay_in(&escrow.to, at, amount)?;
    }
    let what = match end.state {
        EscrowState::Released => What::EscrowRelease,
        EscrowState::Refunded => What::EscrowRefund,
        EscrowState::Open | EscrowState::Expired => What::EscrowExpire,
    };
    books.log(at, what, &end.actor, Note::of(id, end.signed.as_ref().or(end.cause.as_ref())))?;
    DUE.delete(books.space, &(escrow.due(), *id));
    escrow.state = end.state;
    escrow.reason = end.reason;
    escrow.closed = Some(Closed { at, actor: end.actor, signed: end.signed });
    ESCROWS.put(books.space, &(*id,), &escrow)?;
    if !back {
        receipt::paid(books, id)?;
    }
    if let Some(hire) = &escrow.hire {
        // A paid hire is completed, whoever paid it. A hire that nobody accepted expires when its money goes back.
        let state = if back { HireState::Expired } else { HireState::Completed };
        hire::advance(books, hire, state, at, None)?;
    }
    Ok(escrow)
}

/// The escrow, after doing what is due. Its receipt comes first, so that a silent requester pays as promised (decision
/// due-before-anything). An escrow whose receipt was accepted never expires; its release is tried again.
pub fn up_to_date(books: &mut Books<'_>, id: &Id) -> Result<Option<Escrow>> {
    let Some(escrow) = ESCROWS.get(books.space, &(*id,))? else { return Ok(None) };
    if books.is_frozen() || escrow.state != EscrowState::Open {
        return Ok(Some(escrow));
    }
    if let Some((receipt_id, receipt)) = receipt::current(books.space, id)? {
        let receipt = receipt::fall_due(books, &receipt_id, receipt)?;
        if receipt.state == ReceiptState::Accepted {
            if !receipt.released {
                receipt::retry(books, &receipt_id, receipt)?;
            }
            return Ok(ESCROWS.get(books.space, &(*id,))?);
        }
    }
    if escrow.due() >= books.clock() || is_frozen(books, &escrow.from)? {
        return Ok(Some(escrow));
    }
    let actor = "system:expire".to_owned();
    let due = Some(books.after(escrow.due()));
    let end = End { state: EscrowState::Expired, actor, reason: None, signed: None, cause: None, due };
    finish(books, id, escrow, end).map(Some)
}

/// Holds an escrow until its sender's freeze ends.
pub fn hold(books: &mut Books<'_>, id: &Id, escrow: &Escrow) -> Result<()> {
    Ok(HELD.put(books.space, &(escrow.from.clone(), *id), &())?)
}

/// Makes the next held escrows of a sender due, at most `most` of them.
pub fn thaw(books: &mut Books<'_>, from: &str, most: usize) -> Result<()> {
    let held = HELD.scan(books.space, &HELD.prefix(&(from.to_owned(),)), Direction::Ascending, most)?;
    for (key, ()) in held {
        HELD.delete(books.space, &key);
        DUE.put(books.space, &(books.clock().plus(-1), key.1), &())?;
    }
    Ok(())
}

/// Whether a wallet is frozen and may not pay. Its escrows are held meanwhile (decision freeze-stops-clocks).
pub fn is_frozen(books: &Books<'_>, name: &str) -> Result<bool> {
    Ok(books.wallet(name)?.is_some_and(|wallet| wallet.frozen))
}
