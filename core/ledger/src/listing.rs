//! Listings: the offers of providers and their prices (decisions hireable-offers, refusal-burns-nonce and
//! deactivated-wallets).

use serde::{Deserialize, Serialize};

use super::book::Books;
use super::envelope::List;
use super::index::{self, Forget, Offer};
use super::reason::{Reason, Ruled, ensure};
use super::rows::{Id, Micro, Name, Ref, Signed, Space, id};
use super::submit::{Submission, SubmissionResult};
use super::sweep;
use super::tally::{self, Top};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn};
use engine::kv::{Direction, Row, Table};

/// Highest price of a call, in micro-credits.
pub const MAX_PRICE: Micro = 100_000_000_000;
/// Most listings of a DID (decision hireable-offers).
pub const MAX_LISTINGS: usize = 100;

/// An offer of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    pub provider: Name,
    pub capability: String,
    pub name: String,
    pub description: String,
    pub price: Micro,
    pub unit: String,
    pub sla_hours: u32,
    pub active: bool,
    pub tags: Option<String>,
    pub input_schema: Option<String>,
    pub output_schema: Option<String>,
    pub hires: u64,
    pub completed: u64,
    pub disputed: u64,
    pub rating_sum: u64,
    pub rating_count: u64,
    pub listed: Timestamp,
    pub updated: Timestamp,
    pub signed: Signed,
}
impl Row for Listing {}

impl Listing {
    /// Whether the listing can be hired. A free one cannot, since an escrow needs an amount (decision hireable-offers).
    pub fn is_hireable(&self) -> bool {
        self.active && self.price > 0
    }
}

pub const LISTINGS: Table<(Id,), Listing> = Table::new(39);
pub const LISTINGS_OF: Table<(Name, String), Ref> = Table::new(40);
/// The listings that were hired most often.
pub const TOP: Table<(), Top<Id>> = Table::new(90);

/// Tells the index if the members changed by which the listing is found.
fn tell(books: &mut Books<'_>, id: &Id, before: Option<&Listing>, listing: &Listing) -> Result<()> {
    let texts = |of: &Listing| [of.capability.clone(), of.name.clone(), of.description.clone()];
    if let Some(before) = before {
        let reads_alike = texts(before) == texts(listing);
        if reads_alike && before.price == listing.price && before.is_hireable() == listing.is_hireable() {
            return Ok(());
        }
        if !reads_alike {
            books.send(index::ACTOR, &Forget { id: *id })?;
        }
    }
    books.send(index::ACTOR, &index::List { id: *id, offer: Offer::of(listing) })
}

/// Writes a listing in place of `before`.
pub fn put(books: &mut Books<'_>, id: &Id, before: Option<&Listing>, listing: &Listing) -> Result<()> {
    tell(books, id, before, listing)?;
    if before.is_none_or(|before| before.hires != listing.hires) {
        tally::rank(books, &TOP, *id, listing.hires)?;
    }
    let active = |listing: &Listing| u64::from(listing.is_hireable());
    let (was, is) = (before.map_or(0, active), active(listing));
    if was != is {
        let market = &mut books.book.market.active_listings;
        *market = (*market + is).saturating_sub(was);
        tally::change(books, &listing.provider, |tally| {
            tally.active_listings = (tally.active_listings + is).saturating_sub(was);
        })?;
    }
    Ok(LISTINGS.put(books.space, &(*id,), listing)?)
}

/// Makes a listing, or changes the one with the same slug.
pub fn list(books: &mut Books<'_>, by: &Submission<'_>, list: &List) -> Ruled<SubmissionResult> {
    let price = Micro::try_from(list.price).map_err(|_| Reason::AmountOutOfRange)?;
    ensure(price <= MAX_PRICE, Reason::AmountOutOfRange)?;
    let nonce = id(Space::Listing, by.signer, &list.nonce);
    ensure(!books.is_burnt(&nonce)?, Reason::NonceSeen)?;
    let place = (by.signer.to_owned(), list.capability.clone());
    let known = LISTINGS_OF.get(books.space, &place)?.map(|Ref(id)| id);
    let before = match known {
        Some(id) => LISTINGS.get(books.space, &(id,))?,
        None => None,
    };
    if before.is_none() {
        let prefix = LISTINGS_OF.prefix(&(by.signer.to_owned(),));
        let others = LISTINGS_OF.scan(books.space, &prefix, Direction::Ascending, MAX_LISTINGS)?;
        ensure(others.len() < MAX_LISTINGS, Reason::ListingLimit)?;
        by.takes_more(books)?;
    }

    let at = books.stamp();
    // A nonce is kept only as long as its envelope lives, so the id of a listing is made of its slug.
    let id = known.unwrap_or_else(|| id(Space::Listing, by.signer, &format!("slug {}", list.capability)));
    let old = before.as_ref();
    let listing = Listing {
        provider: by.signer.to_owned(),
        capability: list.capability.clone(),
        name: list.name.clone(),
        description: list.description.clone(),
        price,
        unit: list.unit.clone(),
        sla_hours: u32::try_from(list.sla_hours).unwrap_or_default(),
        active: list.active,
        tags: list.tags.clone(),
        input_schema: list.input_schema.clone(),
        output_schema: list.output_schema.clone(),
        hires: old.map_or(0, |old| old.hires),
        completed: old.map_or(0, |old| old.completed),
        disputed: old.map_or(0, |old| old.disputed),
        rating_sum: old.map_or(0, |old| old.rating_sum),
        rating_count: old.map_or(0, |old| old.rating_count),
        listed: old.map_or(at, |old| old.listed),
        updated: at,
        signed: by.signed.clone(),
    };
    let created = before.is_none();
    let tally = tally::change(books, by.signer, |tally| {
        tally.listings += u64::from(created);
        tally.first_listed = tally.first_listed.or(Some(at));
        tally.last_listed = Some(at);
    })?;
    if created {
        LISTINGS_OF.put(books.space, &place, &Ref(id))?;
        books.book.market.listings += 1;
        books.book.market.providers += u64::from(tally.listings == 1);
    }
    put(books, &id, old, &listing)?;
    books.burn(&nonce, by.burnt_until())?;
    Ok(SubmissionResult::Listing(id, Box::new(listing), created))
}

/// Pauses all listings of an agent (decision deactivated-wallets).
pub fn pause_all(books: &mut Books<'_>, name: &str) -> Result<()> {
    let prefix = LISTINGS_OF.prefix(&(name.to_owned(),));
    for (_, Ref(id)) in LISTINGS_OF.scan(books.space, &prefix, Direction::Ascending, MAX_LISTINGS)? {
        let Some(before) = LISTINGS.get(books.space, &(id,))?.filter(|listing| listing.active) else { continue };
        let listing = Listing { active: false, updated: books.stamp(), ..before.clone() };
        put(books, &id, Some(&before), &listing)?;
    }
    Ok(())
}

/// The registration that made the listings of a DID gave way to another, so they are paused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PauseListings {
    pub name: Name,
}

impl Operation for PauseListings {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "pause_listings";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let mut books = Books::of(turn)?;
        sweep::catch_up(&mut books)?;
        pause_all(&mut books, &self.name)?;
        let due = books.close()?.due(turn)?;
        sweep::plan(turn, due)
    }
}
