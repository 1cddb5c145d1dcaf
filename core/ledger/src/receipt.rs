//! Receipts: a provider's claim of work, and the requester's answer to it (decisions one-claim-at-a-time,
//! due-before-anything, deadline-skew and action-nonce-repeats).
//!
//! An escrow has one claim at a time. If a second one were possible after a dispute, a provider could file it with a
//! short window and silence as acceptance, while the requester's client no longer looks.

use serde::{Deserialize, Serialize};

use super::book::{Books, name_of};
use super::envelope::{Acceptance, Claim, SKEW};
use super::escrow::{self, End};
use super::hire::{self, HIRES, HireState};
use super::log::{Note, What};
use super::reason::{Reason, Ruled, ensure};
use super::rows::{
    ByTime, DUE, ESCROWS, Escrow, EscrowState, Id, Micro, Name, Ref, Signed, Space, id, id_text, parse_id,
};
use super::submit::{Submission, SubmissionResult};
use crate::{Result, Timestamp};
use crypto::encoding::decode_hex_array;
use engine::kv::{Desc, Read, Row, Table};
use engine::time::{DAY, MINUTE};

/// Shortest and longest time for the requester to look at the work, in microseconds.
pub const MIN_WINDOW: i64 = 5 * MINUTE;
pub const MAX_WINDOW: i64 = 7 * DAY;

/// State of a receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiptState {
    Pending,
    Accepted,
    Disputed,
    Expired,
}

impl ReceiptState {
    pub const fn as_str(self) -> &'static str {
        match self {
            ReceiptState::Pending => "pending_acceptance",
            ReceiptState::Accepted => "accepted",
            ReceiptState::Disputed => "disputed",
            ReceiptState::Expired => "expired",
        }
    }
}

/// A claim of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub escrow: Option<Id>,
    pub task: String,
    /// The requester.
    pub from: Name,
    /// The provider.
    pub to: Name,
    pub nonce: String,
    pub work_hash: [u8; 32],
    pub summary: Option<String>,
    pub state: ReceiptState,
    /// Deadline for the answer, as it was signed; the escrow's own deadline may come first.
    pub deadline: Timestamp,
    /// When it counts as accepted or expired, in the time of [`Books::clock`].
    pub due: Timestamp,
    pub auto_accept: bool,
    /// Amount of the escrow.
    pub amount: Option<Micro>,
    pub claim: Signed,
    pub claimed: Timestamp,
    pub answer: Option<Answered>,
    /// The escrow was paid out after the acceptance.
    pub released: bool,
    pub release_error: Option<Reason>,
}
impl Row for Receipt {}

/// How a receipt left the state `pending_acceptance`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub at: Timestamp,
    /// The requester's name, or `system:timeout`.
    pub actor: String,
    pub rating: Option<u8>,
    pub feedback: Option<String>,
    pub dispute_reason: Option<String>,
    pub signed: Option<Signed>,
}

pub const RECEIPTS: Table<(Id,), Receipt> = Table::new(35);
// Newest first.
pub const RECEIPTS_FROM: ByTime = Table::new(36);
pub const RECEIPTS_TO: ByTime = Table::new(37);
pub const RECEIPTS_OF: Table<(Id, Desc<Timestamp>), Ref> = Table::new(38);

/// The newest claim on an escrow. All claims before it are over.
pub fn current(space: &(impl Read + ?Sized), escrow: &Id) -> Result<Option<(Id, Receipt)>> {
    let Some((_, Ref(id))) = RECEIPTS_OF.first(space, &RECEIPTS_OF.prefix(&(*escrow,)))? else { return Ok(None) };
    Ok(RECEIPTS.get(space, &(id,))?.map(|receipt| (id, receipt)))
}

/// Called when an escrow was paid out, no matter by whom. A receipt that was accepted while the sender was frozen is no
/// longer unpaid then.
pub fn paid(books: &mut Books<'_>, escrow: &Id) -> Result<()> {
    match current(books.space, escrow)? {
        Some((id, receipt)) if receipt.release_error == Some(Reason::SenderFrozen) => {
            Ok(RECEIPTS.put(books.space, &(id,), &Receipt { released: true, release_error: None, ..receipt })?)
        }
        _ => Ok(()),
    }
}

/// Files a claim, in the order of checks that clients see (decisions one-claim-at-a-time, deadline-skew and
/// reason-order).
pub fn claim(books: &mut Books<'_>, by: &Submission<'_>, claim: &Claim) -> Ruled<SubmissionResult> {
    let from = name_of(by.brand, &claim.requester).ok_or(Reason::RequesterPubkeyNotFound)?;
    ensure(by.is_registered(books, from)?, Reason::RequesterPubkeyNotFound)?;
    let span = claim.deadline.since(by.common.issued);
    ensure(span >= MIN_WINDOW, Reason::AcceptanceWindowTooShort)?;
    ensure(span <= MAX_WINDOW + SKEW, Reason::AcceptanceWindowTooLong)?;
    ensure(claim.deadline > books.now, Reason::AcceptanceDeadlinePast)?;
    let work_hash = decode_hex_array("work_hash", &claim.work_hash.to_ascii_lowercase());
    let work_hash = work_hash.map_err(|_| Reason::InvalidWorkHash)?;
    let escrow = match &claim.escrow {
        None => None,
        Some(text) => Some(open_escrow(books, text, from, by.signer)?),
    };
    let id = id(Space::Claim, by.signer, &claim.nonce);
    ensure(
        escrow.as_ref().is_none_or(|(_, escrow)| claim.deadline <= escrow.due().plus(books.frozen_for() + SKEW)),
        Reason::AcceptanceDeadlineExceedsEscrow,
    )?;
    ensure(!RECEIPTS.contains(books.space, &(id,))? && !books.is_burnt(&id)?, Reason::NonceSeen)?;
    // One claim at a time (decision one-claim-at-a-time). This is checked after the nonce, so that a repeat of the same
    // claim is refused as a repeat.
    if let Some((escrow, _)) = &escrow {
        let last = current(books.space, escrow)?.map(|(_, receipt)| receipt.state);
        ensure(last.is_none_or(|state| state == ReceiptState::Expired), Reason::EscrowNotOpen)?;
    }

    let at = books.stamp();
    let due = claim.deadline.plus(-books.frozen_for());
    let receipt = Receipt {
        escrow: escrow.as_ref().map(|(id, _)| *id),
        task: claim.task.clone(),
        from: from.to_owned(),
        to: by.signer.to_owned(),
        nonce: claim.nonce.clone(),
        work_hash,
        summary: claim.summary.clone(),
        state: ReceiptState::Pending,
        deadline: claim.deadline,
        due: escrow.as_ref().map_or(due, |(_, escrow)| due.min(escrow.due())),
        auto_accept: claim.auto_accept,
        amount: escrow.as_ref().map(|(_, escrow)| escrow.amount),
        claim: by.signed.clone(),
        claimed: at,
        answer: None,
        released: false,
        release_error: None,
    };
    RECEIPTS.put(books.space, &(id,), &receipt)?;
    RECEIPTS_FROM.put(books.space, &(receipt.from.clone(), Desc(at)), &Ref(id))?;
    RECEIPTS_TO.put(books.space, &(receipt.to.clone(), Desc(at)), &Ref(id))?;
    DUE.put(books.space, &(receipt.due, id), &())?;
    if let Some((escrow_id, escrow)) = escrow {
        // From now on other rules say what may be done with the money in the escrow, so this is an event.
        books.log(at, What::Claim, by.signer, Note::of(&id, Some(by.signed)))?;
        RECEIPTS_OF.put(books.space, &(escrow_id, Desc(at)), &Ref(id))?;
        if let Some(hire_id) = escrow.hire {
            claimed(books, &hire_id, id, at)?;
        }
    }
    Ok(SubmissionResult::Receipt(id, Box::new(receipt)))
}

/// The open escrow that a claim is on.
fn open_escrow(books: &mut Books<'_>, text: &str, from: &str, to: &str) -> Ruled<(Id, Escrow)> {
    let id = parse_id(text).ok_or(Reason::EscrowNotFound)?;
    let escrow = escrow::up_to_date(books, &id)?.ok_or(Reason::EscrowNotFound)?;
    ensure(escrow.state == EscrowState::Open, Reason::EscrowNotOpen)?;
    ensure(escrow.from == from && escrow.to == to, Reason::EscrowDidMismatch)?;
    Ok((id, escrow))
}

/// Marks a hire as claimed and stores its receipt in the same step, because clients stop looking once it is claimed.
fn claimed(books: &mut Books<'_>, hire_id: &Id, receipt: Id, at: Timestamp) -> Result<()> {
    hire::advance(books, hire_id, HireState::Claimed, at, None)?;
    if let Some(mut hire) = HIRES.get(books.space, &(*hire_id,))?.filter(|hire| hire.state == HireState::Claimed) {
        // Of several claims that follow each other, the last counts.
        (hire.receipt, hire.claimed) = (Some(receipt), Some(at));
        HIRES.put(books.space, &(*hire_id,), &hire)?;
    }
    Ok(())
}

/// Accepts or disputes claimed work.
pub fn accept(books: &mut Books<'_>, by: &Submission<'_>, acceptance: &Acceptance) -> Ruled<SubmissionResult> {
    let id = parse_id(&acceptance.receipt).ok_or(Reason::ReceiptNotFound)?;
    let receipt = up_to_date(books, &id)?.ok_or(Reason::ReceiptNotFound)?;
    ensure(receipt.state == ReceiptState::Pending, Reason::ReceiptNotPending)?;
    ensure(receipt.from == by.signer, Reason::ReceiptSignerNotAuthorized)?;
    let said = acceptance.dispute_reason.as_ref().is_some_and(|reason| !reason.trim().is_empty());
    ensure(acceptance.accept || said, Reason::DisputeReasonRequired)?;
    let state = if acceptance.accept { ReceiptState::Accepted } else { ReceiptState::Disputed };
    let at = books.stamp();
    let answer = Answered {
        at,
        actor: by.signer.to_owned(),
        rating: acceptance.rating,
        feedback: acceptance.feedback.clone(),
        dispute_reason: acceptance.dispute_reason.clone(),
        signed: Some(by.signed.clone()),
    };
    let receipt = answer_with(books, &id, receipt, state, answer)?;
    if receipt.escrow.is_some() && !receipt.released {
        let what = if acceptance.accept { What::Accept } else { What::Dispute };
        books.log(at, what, by.signer, Note::of(&id, Some(by.signed)))?;
    }
    Ok(SubmissionResult::Receipt(id, Box::new(receipt)))
}

/// The receipt, after doing what is due.
pub fn up_to_date(books: &mut Books<'_>, id: &Id) -> Result<Option<Receipt>> {
    let Some(receipt) = RECEIPTS.get(books.space, &(*id,))? else { return Ok(None) };
    match &receipt.escrow {
        Some(escrow) => {
            escrow::up_to_date(books, escrow)?;
            // An escrow that was closed by hand no longer updates its receipt.
            match RECEIPTS.get(books.space, &(*id,))? {
                Some(receipt) => fall_due(books, id, receipt).map(Some),
                None => Ok(None),
            }
        }
        None => fall_due(books, id, receipt).map(Some),
    }
}

/// Ends a pending receipt whose time is over.
pub fn fall_due(books: &mut Books<'_>, id: &Id, receipt: Receipt) -> Result<Receipt> {
    if receipt.state != ReceiptState::Pending || receipt.due >= books.clock() || books.is_frozen() {
        return Ok(receipt);
    }
    let state = if receipt.auto_accept { ReceiptState::Accepted } else { ReceiptState::Expired };
    let at = books.after(receipt.due);
    let answer = Answered {
        at: books.stamp_at(at),
        actor: "system:timeout".to_owned(),
        rating: None,
        feedback: None,
        dispute_reason: None,
        signed: None,
    };
    answer_with(books, id, receipt, state, answer)
}

/// The only way out of the state `pending_acceptance`.
fn answer_with(
    books: &mut Books<'_>,
    id: &Id,
    mut receipt: Receipt,
    state: ReceiptState,
    answer: Answered,
) -> Result<Receipt> {
    DUE.delete(books.space, &(receipt.due, *id));
    receipt.state = state;
    // Only work that was accepted is rated.
    let (at, rating) = (answer.at, answer.rating.filter(|_| state == ReceiptState::Accepted));
    receipt.answer = Some(answer);
    let to = match state {
        ReceiptState::Accepted => Some(HireState::Completed),
        ReceiptState::Disputed => Some(HireState::Disputed),
        ReceiptState::Pending | ReceiptState::Expired => None,
    };
    if let (Some(to), Some(escrow)) = (to, escrow_of(books, &receipt)?)
        && let Some(hire_id) = escrow.hire
        && HIRES.get(books.space, &(hire_id,))?.is_some_and(|hire| hire.receipt == Some(*id))
    {
        hire::advance(books, &hire_id, to, at, rating)?;
    }
    if state == ReceiptState::Accepted {
        release(books, id, &mut receipt)?;
    }
    RECEIPTS.put(books.space, &(*id,), &receipt)?;
    Ok(receipt)
}

fn escrow_of(books: &Books<'_>, receipt: &Receipt) -> Result<Option<Escrow>> {
    match &receipt.escrow {
        Some(id) => Ok(ESCROWS.get(books.space, &(*id,))?),
        None => Ok(None),
    }
}

/// Pays out the escrow of an accepted receipt. A failure is recorded, and the acceptance stays.
fn release(books: &mut Books<'_>, id: &Id, receipt: &mut Receipt) -> Result<()> {
    let (Some(escrow_id), Some(escrow)) = (receipt.escrow, escrow_of(books, receipt)?) else { return Ok(()) };
    if escrow.state != EscrowState::Open {
        receipt.release_error = Some(Reason::EscrowNotOpen);
    } else if escrow::is_frozen(books, &escrow.from)? {
        receipt.release_error = Some(Reason::SenderFrozen);
        escrow::hold(books, &escrow_id, &escrow)?;
    } else {
        let by_time = receipt.answer.as_ref().is_some_and(|answer| answer.signed.is_none());
        let word = if by_time { "system:timeout:" } else { "receipt:" };
        let actor = format!("{word}{}", id_text(id));
        let accepted = receipt.answer.as_ref().and_then(|answer| answer.signed.clone());
        let cause = Some(accepted.unwrap_or_else(|| receipt.claim.clone()));
        let due = receipt.answer.as_ref().map(|answer| answer.at);
        let end = End { state: EscrowState::Released, actor, reason: None, signed: None, cause, due };
        escrow::finish(books, &escrow_id, escrow, end)?;
        receipt.released = true;
        receipt.release_error = None;
    }
    Ok(())
}

/// Tries the release of an accepted receipt again (decision due-before-anything).
pub fn retry(books: &mut Books<'_>, id: &Id, mut receipt: Receipt) -> Result<()> {
    let before = receipt.clone();
    release(books, id, &mut receipt)?;
    if receipt != before {
        RECEIPTS.put(books.space, &(*id,), &receipt)?;
    }
    Ok(())
}
