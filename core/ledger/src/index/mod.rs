//! The index of offers: finds listings that can be hired, cheapest first, by slug and by parts of their texts (decision
//! offer-index).
//!
//! The ledger reports every change of searched members, by messages in order. The other members of a listing (counts of
//! hires, schemas) are read from the ledger for the listings that were found. So a hire is not reported, and a search
//! costs the ledger one read for each row that it shows.
//!
//! A text is looked up by its trigrams. Of the offers that have them, the cheapest are read until the page is full. A
//! text that is too short for trigrams, and often one that comes with a slug, is compared with the offers in order,
//! from the cheapest on. Either way a search looks at a bounded number of offers, and says where it stopped. Listings
//! are numbered in the order in which they came, which is the order of their times. So sets of numbers are small, and
//! equal prices are in order.
//!
//! | Module | What |
//! |---|---|
//! | `postings` | sets of offers by trigram |
//! | `prices` | the price of each open offer, by its number |

mod postings;
mod prices;
#[cfg(test)]
mod tests;

use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use self::postings::Numbers;
use self::prices::Prices;
use super::listing::Listing;
use super::rows::{Id, Micro};
use crate::{Result, Timestamp};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::kv::{Direction, Range, Row, StoreError, Table, Write, appended};
use relay::directory::fold;

/// The name of the one index.
pub const ACTOR: &str = "main";

/// Most listings that one search looks at (decision offer-index).
pub const CANDIDATES: usize = 10_000;
/// Most listings whose texts one search reads.
const READ: usize = 1_000;
/// Up to this many offers of one slug are compared with a text one by one.
const FEW: usize = 600;

/// The searched members of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// Slug, name and description, folded.
    pub texts: [String; 3],
    pub price: Micro,
    pub listed: Timestamp,
    /// The listing can be hired.
    pub open: bool,
}

impl Offer {
    pub fn of(listing: &Listing) -> Offer {
        Offer {
            texts: [&listing.capability, &listing.name, &listing.description].map(|text| fold(text)),
            price: listing.price,
            listed: listing.listed,
            open: listing.is_hireable(),
        }
    }

    fn slug(&self) -> &String {
        let [slug, ..] = &self.texts;
        slug
    }

    fn place(&self) -> OfferPlace {
        OfferPlace { price: self.price, listed: self.listed }
    }
}

/// The place of an offer in the order: cheapest first, then oldest. No two were listed at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OfferPlace {
    pub price: Micro,
    pub listed: Timestamp,
}

/// An offer, and the listing that it is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct StoredOffer {
    id: Id,
    offer: Offer,
}
impl Row for StoredOffer {}

const KNOWN: Table<(u64,), StoredOffer> = Table::new(16);
/// A listing keeps its number.
const NUMBERS: Table<(Id,), u64> = Table::new(17);
/// The number after the last one.
const NEXT: Table<(), u64> = Table::new(18);
// Open offers only.
const BY_PRICE: Table<(Micro, Timestamp, u64), IndexedListing> = Table::new(19);
const BY_SLUG: Table<(String, Micro, Timestamp, u64), IndexedListing> = Table::new(20);

/// The listing at this place, so that a search without a text reads no row of [`KNOWN`]. `None` in rows of the first
/// version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct IndexedListing(Option<Id>);

impl Row for IndexedListing {
    const VERSION: u8 = 2;

    fn upgrade(version: u8, bytes: &[u8]) -> Result<Self, StoreError> {
        appended(version, 1, bytes, &[0])
    }
}

pub const ENTRIES: &[Entry] = &[operation::<List>(), operation::<Forget>(), query::<Find>()];

/// Adds an offer, or moves it to another place in the order. An offer whose texts changed is forgotten first, by an
/// operation of its own, because each of the two changes many rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct List {
    pub id: Id,
    pub offer: Offer,
}

impl Operation for List {
    const ACTOR: Kind = Kind::Market;
    const NAME: &'static str = "list";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let number = match NUMBERS.get(turn, &(self.id,))? {
            Some(number) => number,
            None => {
                let number = NEXT.get(turn, &())?.unwrap_or_default();
                NEXT.put(turn, &(), &(number + 1))?;
                NUMBERS.put(turn, &(self.id,), &number)?;
                number
            }
        };
        match KNOWN.get(turn, &(number,))? {
            Some(known) => close(turn, number, &known.offer),
            None => postings::mark(turn, number, &self.offer.texts, true)?,
        }
        let OfferPlace { price, listed } = self.offer.place();
        prices::set(turn, number, self.offer.open.then_some(price))?;
        if self.offer.open {
            let whose = IndexedListing(Some(self.id));
            BY_PRICE.put(turn, &(price, listed, number), &whose)?;
            BY_SLUG.put(turn, &(self.offer.slug().clone(), price, listed, number), &whose)?;
        }
        Ok(KNOWN.put(turn, &(number,), &StoredOffer { id: self.id, offer: self.offer })?)
    }
}

/// Removes an offer from the orders by price and by slug.
fn close(space: &mut dyn Write, number: u64, offer: &Offer) {
    let OfferPlace { price, listed } = offer.place();
    BY_PRICE.delete(space, &(price, listed, number));
    BY_SLUG.delete(space, &(offer.slug().clone(), price, listed, number));
}

/// Removes an offer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Forget {
    pub id: Id,
}

impl Operation for Forget {
    const ACTOR: Kind = Kind::Market;
    const NAME: &'static str = "forget";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let Some(number) = NUMBERS.get(turn, &(self.id,))? else { return Ok(()) };
        let Some(known) = KNOWN.get(turn, &(number,))? else { return Ok(()) };
        close(turn, number, &known.offer);
        prices::set(turn, number, None)?;
        postings::mark(turn, number, &known.offer.texts, false)?;
        KNOWN.delete(turn, &(number,));
        Ok(())
    }
}

/// Finds open offers, cheapest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Find {
    /// Folded; part of slug, name or description.
    pub text: Option<String>,
    pub slug: Option<String>,
    pub max_price: Option<Micro>,
    /// Go on after this place.
    pub after: Option<OfferPlace>,
    pub limit: usize,
}

/// The answer to [`Find`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferPage {
    pub ids: Vec<Id>,
    /// The search stopped at [`CANDIDATES`], or when it had read as many texts as it may. More offers may fit.
    pub truncated: bool,
    /// The place to go on from; `None` at the end.
    pub next: Option<OfferPlace>,
}

impl Query for Find {
    const ACTOR: Kind = Kind::Market;
    const NAME: &'static str = "find";
    type Reply = OfferPage;

    fn run(self, view: &View<'_>) -> Result<OfferPage> {
        if self.text.is_some() && self.slug_has_few(view)? {
            return self.in_order(view, None);
        }
        let end = NEXT.get(view, &())?.unwrap_or_default();
        let narrowed = match &self.text {
            Some(text) => Numbers::having(view, end, text)?,
            None => None,
        };
        match narrowed {
            Some(numbers) if self.slug.is_none() || numbers.len() <= READ => self.among(view, &numbers),
            numbers => self.in_order(view, numbers.as_ref()),
        }
    }
}

impl Find {
    /// Whether an offer fits the search.
    pub fn fits(&self, offer: &Offer) -> bool {
        let reads = |part: &String| offer.texts.iter().any(|text| text.contains(part));
        offer.open
            && self.slug.as_ref().is_none_or(|slug| slug == offer.slug())
            && self.max_price.is_none_or(|max| offer.price <= max)
            && self.after.is_none_or(|after| after < offer.place())
            && self.text.as_ref().is_none_or(reads)
    }

    /// Whether so few offers have the slug that reading them all is faster than looking up trigrams.
    fn slug_has_few(&self, view: &View<'_>) -> Result<bool> {
        let Some(slug) = &self.slug else { return Ok(false) };
        let rows = BY_SLUG.scan(view, &BY_SLUG.prefix(&(slug.clone(),)), Direction::Ascending, FEW + 1)?;
        Ok(rows.len() <= FEW)
    }

    /// Searches the cheapest among `numbers`.
    fn among(&self, view: &View<'_>, numbers: &Numbers) -> Result<OfferPage> {
        let (cheapest, more) = self.cheapest(view, numbers)?;
        let (mut found, mut last, mut looked) = (OfferPage::default(), None, None);
        for (_, number) in cheapest {
            let Some(known) = KNOWN.get(view, &(number,))? else { continue };
            looked = Some(known.offer.place());
            if self.fits(&known.offer) {
                if found.ids.len() == self.limit {
                    found.next = last;
                    return Ok(found);
                }
                found.ids.push(known.id);
                last = looked;
            }
        }
        found.truncated = more;
        found.next = looked.filter(|_| more);
        Ok(found)
    }

    /// The first [`READ`] open offers among `numbers` with a price in the wanted range, in their order, and whether
    /// there are more.
    fn cheapest(&self, view: &View<'_>, numbers: &Numbers) -> Result<(Vec<(Micro, u64)>, bool)> {
        let least = self.after.map_or(0, |after| after.price);
        let most = self.max_price.unwrap_or(Micro::MAX);
        let mut prices = Prices::new(view);
        // The most expensive offer is on top.
        let (mut kept, mut more) = (BinaryHeap::with_capacity(READ), false);
        for number in numbers.iter() {
            let Some(price) = prices.of(number)?.filter(|price| (least..=most).contains(price)) else { continue };
            if kept.len() < READ {
                kept.push((price, number));
                continue;
            }
            more = true;
            if let Some(mut dearest) = kept.peek_mut()
                && (price, number) < *dearest
            {
                *dearest = (price, number);
            }
        }
        Ok((kept.into_sorted_vec(), more))
    }

    /// Goes through the offers from the cheapest on, and skips those that are not among `numbers`.
    fn in_order(&self, view: &View<'_>, numbers: Option<&Numbers>) -> Result<OfferPage> {
        let mut walk = Walk { find: self, view, numbers, found: OfferPage::default(), looked: 0, read: 0, last: None };
        match &self.slug {
            Some(slug) => {
                let prefix = BY_SLUG.prefix(&(slug.clone(),));
                let from = |place: OfferPlace| BY_SLUG.prefix(&(slug.clone(), place.price, place.listed));
                let range = self.rest(prefix, from);
                BY_SLUG.visit(view, range, Direction::Ascending, |(_, price, listed, number), whose| {
                    walk.step(OfferPlace { price, listed }, number, whose)
                })?;
            }
            None => {
                let from = |place: OfferPlace| BY_PRICE.prefix(&(place.price, place.listed));
                let range = self.rest(BY_PRICE.range(), from);
                BY_PRICE.visit(view, range, Direction::Ascending, |(price, listed, number), whose| {
                    walk.step(OfferPlace { price, listed }, number, whose)
                })?;
            }
        }
        Ok(walk.found)
    }

    /// The part of a range after the place to go on from.
    fn rest(&self, range: Range, of: impl FnOnce(OfferPlace) -> Range) -> Range {
        match self.after.map(of) {
            Some(Range { end: Some(start), .. }) => Range { start, ..range },
            _ => range,
        }
    }
}

/// A walk through offers in their order.
struct Walk<'a> {
    find: &'a Find,
    view: &'a View<'a>,
    numbers: Option<&'a Numbers>,
    found: OfferPage,
    looked: usize,
    /// Number of offers whose texts were read.
    read: usize,
    /// Place of the last offer that was found.
    last: Option<OfferPlace>,
}

impl Walk<'_> {
    /// Looks at the next offer. Returns false to stop.
    fn step(&mut self, place: OfferPlace, number: u64, whose: IndexedListing) -> Result<bool, StoreError> {
        if self.find.max_price.is_some_and(|max| place.price > max) {
            return Ok(false);
        }
        self.looked += 1;
        if let Some(id) = self.fitting(number, whose)? {
            if self.found.ids.len() == self.find.limit {
                self.found.next = self.last;
                return Ok(false);
            }
            self.found.ids.push(id);
            self.last = Some(place);
        }
        self.found.truncated = self.looked == CANDIDATES || self.read == READ;
        self.found.next = self.found.truncated.then_some(place);
        Ok(!self.found.truncated)
    }

    /// The listing of that number, if it fits the search.
    fn fitting(&mut self, number: u64, whose: IndexedListing) -> Result<Option<Id>, StoreError> {
        match whose {
            // The offers of these rows are open, of the slug and in the range, and the price was checked before.
            IndexedListing(Some(id)) if self.find.text.is_none() => Ok(Some(id)),
            _ if self.numbers.is_some_and(|numbers| !numbers.has(number)) => Ok(None),
            _ => {
                self.read += 1;
                let known = KNOWN.get(self.view, &(number,))?;
                Ok(known.filter(|known| self.find.fits(&known.offer)).map(|known| known.id))
            }
        }
    }
}
