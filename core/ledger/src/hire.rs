//! Hires: a requester takes a listing at its price, and the money is set aside in the same step.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::book::{Books, name_of};
use super::envelope;
use super::escrow::{self, MAX_HOLD};
use super::listing::{self, LISTINGS, Listing};
use super::provider;
use super::reason::{Reason, Ruled, ensure};
use super::rows::{ESCROWS, Escrow, EscrowState, Id, Micro, Name, Signed, Space, id, id_text, parse_id};
use super::submit::{Submission, SubmissionResult};
use super::tally::{self, Ending, Top};
use crate::{Result, Timestamp};
use engine::kv::{Desc, Row, StoreError, Table, appended};
use engine::time::HOUR;

/// State of a hire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HireState {
    Requested,
    Claimed,
    Completed,
    Disputed,
    Expired,
}

impl HireState {
    pub const ALL: [HireState; 5] =
        [HireState::Requested, HireState::Claimed, HireState::Completed, HireState::Disputed, HireState::Expired];

    pub const fn as_str(self) -> &'static str {
        match self {
            HireState::Requested => "requested",
            HireState::Claimed => "claimed",
            HireState::Completed => "completed",
            HireState::Disputed => "disputed",
            HireState::Expired => "expired",
        }
    }

    /// Its number in keys of tables.
    pub const fn number(self) -> u8 {
        match self {
            HireState::Requested => 0,
            HireState::Claimed => 1,
            HireState::Completed => 2,
            HireState::Disputed => 3,
            HireState::Expired => 4,
        }
    }

    /// Whether a hire may move to this state. Clients know these moves; requested leads to completed when the requester
    /// pays without a claim.
    const fn leads_to(self, to: HireState) -> bool {
        match self {
            HireState::Requested => matches!(to, HireState::Claimed | HireState::Completed | HireState::Expired),
            HireState::Claimed => matches!(to, HireState::Completed | HireState::Disputed | HireState::Expired),
            HireState::Completed | HireState::Disputed | HireState::Expired => false,
        }
    }
}

/// A hire. Its input is in `request`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hire {
    pub listing: Id,
    pub requester: Name,
    pub provider: Name,
    pub escrow: Id,
    pub price: Micro,
    pub deadline: Timestamp,
    pub state: HireState,
    pub receipt: Option<Id>,
    pub request: Signed,
    pub created: Timestamp,
    pub claimed: Option<Timestamp>,
    pub completed: Option<Timestamp>,
    /// The provider is the deployment's own, so the input is in no list (decision ledger-texts-for-parties).
    pub own: bool,
}

impl Row for Hire {
    const VERSION: u8 = 2;

    /// A row of version 1 ends before `own`.
    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

pub const HIRES: Table<(Id,), Hire> = Table::new(43);
// Hires by side and state, newest first.
pub const INCOMING: Table<(Name, u8, Desc<Timestamp>), super::rows::Ref> = Table::new(44);
pub const OUTGOING: Table<(Name, u8, Desc<Timestamp>), super::rows::Ref> = Table::new(45);
/// The last [`NEWEST`] hires, newest first.
pub const RECENT: Table<(), Recent> = Table::new(92);
/// The providers that earned most.
pub const TOP: Table<(), Top<Name>> = Table::new(91);

/// Number of the newest hires that are shown.
const NEWEST: usize = 20;

/// Ids of hires.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recent(pub VecDeque<Id>);
impl Row for Recent {}

/// Makes a hire, in the order of checks that clients see (decision reason-order).
pub fn hire(books: &mut Books<'_>, by: &Submission<'_>, wanted: &envelope::Hire) -> Ruled<SubmissionResult> {
    let listing_id = parse_id(&wanted.capability_id).ok_or(Reason::CapabilityNotFound)?;
    let before = LISTINGS.get(books.space, &(listing_id,))?.ok_or(Reason::CapabilityNotFound)?;
    ensure(before.active, Reason::CapabilityInactive)?;
    ensure(before.capability == wanted.capability, Reason::CapabilityMismatch)?;
    let provider = name_of(by.brand, &wanted.provider);
    ensure(provider == Some(before.provider.as_str()), Reason::ProviderDidMismatch)?;
    ensure(before.provider != by.signer, Reason::SelfHireNotAllowed)?;
    ensure(Micro::try_from(wanted.price) == Ok(before.price), Reason::PriceMismatch)?;
    ensure(before.price > 0, Reason::AmountOutOfRange)?;
    ensure(by.knows(books, &before.provider)?, Reason::RecipientInvalidDid)?;
    let sender = books.payer(by.signer, &before.provider, before.price, false)?;
    let hold = wanted.hours.saturating_mul(HOUR);
    ensure(hold <= MAX_HOLD, Reason::DeadlineExceedsEscrowMax)?;
    let hire_id = id(Space::Hire, by.signer, &wanted.nonce);
    let nonce = format!("hire:{}", id_text(&hire_id));
    let escrow_id = id(Space::Escrow, by.signer, &nonce);
    let used = HIRES.contains(books.space, &(hire_id,))? || ESCROWS.contains(books.space, &(escrow_id,))?;
    ensure(!used && !books.is_burnt(&hire_id)?, Reason::NonceSeen)?;

    let at = books.stamp();
    let escrow = Escrow {
        from: by.signer.to_owned(),
        to: before.provider.clone(),
        nonce,
        amount: before.price,
        memo: None,
        state: EscrowState::Open,
        reason: None,
        open: by.signed.clone(),
        hire: Some(hire_id),
        opened: at,
        deadline: at.plus(hold),
        frozen_before: books.frozen_for(),
        closed: None,
    };
    escrow::lock(books, escrow_id, sender, &escrow)?;
    let hire = Hire {
        listing: listing_id,
        requester: escrow.from,
        provider: escrow.to,
        escrow: escrow_id,
        price: escrow.amount,
        deadline: escrow.deadline,
        state: HireState::Requested,
        receipt: None,
        request: by.signed.clone(),
        created: at,
        claimed: None,
        completed: None,
        own: provider::is_own(books.space, &before.provider)?,
    };
    begin(books, &hire_id, &hire, &listing_id, &before)?;
    Ok(SubmissionResult::Hire(hire_id, Box::new(hire)))
}

/// Writes a new hire, its index rows and counts.
fn begin(books: &mut Books<'_>, id: &Id, hire: &Hire, listing_id: &Id, before: &Listing) -> Result<()> {
    let reference = super::rows::Ref(*id);
    HIRES.put(books.space, &(*id,), hire)?;
    let Recent(mut newest) = RECENT.get(books.space, &())?.unwrap_or_default();
    newest.push_front(*id);
    newest.truncate(NEWEST);
    RECENT.put(books.space, &(), &Recent(newest))?;
    index(books, hire, &reference)?;
    listing::put(books, listing_id, Some(before), &Listing { hires: before.hires + 1, ..before.clone() })?;
    tally::change(books, &hire.provider, |tally| tally.provided.hires += 1)?;
    tally::change(books, &hire.requester, |tally| tally.requested.hires += 1)?;
    books.book.market.hires.hires += 1;
    books.counts(hire.created)?.hires += 1;
    Ok(())
}

fn index(books: &mut Books<'_>, hire: &Hire, reference: &super::rows::Ref) -> Result<()> {
    let (state, at) = (hire.state.number(), Desc(hire.created));
    INCOMING.put(books.space, &(hire.provider.clone(), state, at), reference)?;
    Ok(OUTGOING.put(books.space, &(hire.requester.clone(), state, at), reference)?)
}

/// Moves a hire to a state, if it may move there. A final state never changes.
pub fn advance(books: &mut Books<'_>, id: &Id, to: HireState, at: Timestamp, rating: Option<u8>) -> Result<()> {
    let Some(mut hire) = HIRES.get(books.space, &(*id,))? else { return Ok(()) };
    if !hire.state.leads_to(to) {
        // The requester paid before it accepted; the acceptance still rates the hire.
        return match (hire.state, to) {
            (HireState::Completed, HireState::Completed) => count(books, &hire, None, at, rating),
            _ => Ok(()),
        };
    }
    let (state, created) = (hire.state.number(), Desc(hire.created));
    INCOMING.delete(books.space, &(hire.provider.clone(), state, created));
    OUTGOING.delete(books.space, &(hire.requester.clone(), state, created));
    hire.state = to;
    match to {
        HireState::Claimed => hire.claimed = Some(at),
        HireState::Completed => hire.completed = Some(at),
        _ => {}
    }
    index(books, &hire, &super::rows::Ref(*id))?;
    HIRES.put(books.space, &(*id,), &hire)?;
    let ending = match to {
        HireState::Completed => Ending::Completed(hire.price),
        HireState::Disputed => Ending::Disputed,
        HireState::Expired => Ending::Expired,
        HireState::Requested | HireState::Claimed => return Ok(()),
    };
    count(books, &hire, Some(ending), at, rating)
}

/// Counts the end of a hire, and its rating, which may come after the end.
fn count(books: &mut Books<'_>, hire: &Hire, ending: Option<Ending>, at: Timestamp, rating: Option<u8>) -> Result<()> {
    let rating = rating.map_or(0, u64::from);
    let rated = u64::from(rating > 0);
    let completed = matches!(ending, Some(Ending::Completed(_)));
    let tally = tally::change(books, &hire.provider, |tally| {
        ending.into_iter().for_each(|ending| tally.provided.end(ending));
        tally.rating_sum += rating;
        tally.rating_count += rated;
    })?;
    if let Some(ending) = ending {
        tally::change(books, &hire.requester, |tally| tally.requested.end(ending))?;
        books.book.market.hires.end(ending);
    }
    if completed {
        books.counts(at)?.value += hire.price;
        tally::rank(books, &TOP, hire.provider.clone(), tally.provided.value)?;
    }
    let Some(before) = LISTINGS.get(books.space, &(hire.listing,))? else { return Ok(()) };
    let listing = Listing {
        completed: before.completed + u64::from(completed),
        disputed: before.disputed + u64::from(ending == Some(Ending::Disputed)),
        rating_sum: before.rating_sum + rating,
        rating_count: before.rating_count + rated,
        ..before.clone()
    };
    listing::put(books, &hire.listing, Some(&before), &listing)
}
