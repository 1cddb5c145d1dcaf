//! Questions about the market: listings, hires, receipts, and counts of them.

use serde::{Deserialize, Serialize};

use super::book::{Books, key, minute};
use super::hire::{self, HIRES, Hire, HireState, INCOMING, OUTGOING, RECENT};
use super::listing::{self, LISTINGS, LISTINGS_OF, Listing, MAX_LISTINGS};
use super::reads::{Page, Side, rows};
use super::receipt::{self, RECEIPTS_FROM, RECEIPTS_OF, RECEIPTS_TO, Receipt};
use super::rows::{Book, Counts, Id, MINUTES, Name, Ref};
use super::tally::{AgentTally, Market, TALLIES, Top};
use super::{escrow, sweep};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Desc, Direction, Read};
use engine::time::{DAY, HOUR};

/// Reads one listing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadListing {
    pub id: Id,
}

impl Query for ReadListing {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "listing";
    type Reply = Option<Listing>;

    fn run(self, view: &View<'_>) -> Result<Option<Listing>> {
        Ok(LISTINGS.get(view, &(self.id,))?)
    }
}

/// Reads those of the given listings that can be hired, in the given order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadListings {
    pub ids: Vec<Id>,
}

impl Query for ReadListings {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "listings";
    type Reply = Vec<(Id, Listing)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let read = self.ids.into_iter().map(|id| Ok((id, LISTINGS.get(view, &(id,))?)));
        let rows = read.collect::<Result<Vec<_>>>()?.into_iter();
        Ok(rows.filter_map(|(id, listing)| Some((id, listing.filter(Listing::is_hireable)?))).collect())
    }
}

/// Reads all listings of a DID, paused ones too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ListingsOf {
    pub name: Name,
}

impl Query for ListingsOf {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "listings_of";
    type Reply = Vec<(Id, Listing)>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let rows = LISTINGS_OF.scan(view, &LISTINGS_OF.prefix(&(self.name,)), Direction::Ascending, MAX_LISTINGS)?;
        let listings = rows.into_iter().map(|(_, Ref(id))| Ok((id, LISTINGS.get(view, &(id,))?)));
        let listings = listings.collect::<Result<Vec<_>>>()?;
        Ok(listings.into_iter().filter_map(|(id, listing)| Some((id, listing?))).collect())
    }
}

/// A hire as it is now, whether or not the timer has run.
fn hire_now(view: &View<'_>, id: &Id) -> Result<Option<Hire>> {
    let Some(hire) = HIRES.get(view, &(*id,))? else { return Ok(None) };
    sweep::as_of_now(view, |books| {
        escrow::up_to_date(books, &hire.escrow)?;
        Ok(HIRES.get(books.space, &(*id,))?)
    })
}

/// Reads one hire.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadHire {
    pub id: Id,
}

impl Query for ReadHire {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "hire";
    type Reply = Option<Hire>;

    fn run(self, view: &View<'_>) -> Result<Option<Hire>> {
        hire_now(view, &self.id)
    }
}

/// Reads the hires of a DID.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HiresOf {
    pub name: Name,
    /// True for hires as provider, false for hires as requester.
    pub incoming: bool,
    pub state: Option<HireState>,
    pub before: Option<Timestamp>,
    pub limit: u32,
}

impl Query for HiresOf {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "hires_of";
    type Reply = Page<Hire>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let table = if self.incoming { &INCOMING } else { &OUTGOING };
        let from = Desc(self.before.map_or(Timestamp::MAX, |before| before.plus(-1)));
        sweep::as_of_now(view, |books| {
            let mut found = Vec::new();
            for state in HireState::ALL.into_iter().filter(|state| self.state.is_none_or(|wanted| wanted == *state)) {
                let (name, state) = (self.name.clone(), state.number());
                let range = table.between(&(name.clone(), state, from), &(name, state, Desc(Timestamp(i64::MIN))));
                let rows = table.scan(books.space, &range, Direction::Ascending, self.limit as usize + 1)?;
                found.extend(rows.into_iter().map(|((_, _, Desc(at)), Ref(id))| (at, id)));
            }
            page(found, self.limit as usize, |id| Ok(HIRES.get(books.space, &(*id,))?))
        })
    }
}

/// A page of the newest rows that were found, with the place to go on from.
fn page<T>(
    mut found: Vec<(Timestamp, Id)>,
    limit: usize,
    read: impl FnMut(&Id) -> Result<Option<T>>,
) -> Result<Page<T>> {
    found.sort_unstable_by(|a, b| b.cmp(a));
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|(at, _)| *at);
    rows(found.into_iter().map(|(_, id)| id).collect(), next, read)
}

/// Reads one receipt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadReceipt {
    pub id: Id,
}

impl Query for ReadReceipt {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "receipt";
    type Reply = Option<Receipt>;

    fn run(self, view: &View<'_>) -> Result<Option<Receipt>> {
        sweep::as_of_now(view, |books| receipt::up_to_date(books, &self.id))
    }
}

/// The receipts that a list shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ReceiptFilter {
    Escrow(Id),
    Name(Name, Side),
}

/// Reads the receipts of an escrow, or of a DID.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReceiptsOf {
    pub whose: ReceiptFilter,
    pub before: Option<Timestamp>,
    pub limit: u32,
}

impl Query for ReceiptsOf {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "receipts_of";
    type Reply = Page<Receipt>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let from = Desc(self.before.map_or(Timestamp::MAX, |before| before.plus(-1)));
        let end = Desc(Timestamp(i64::MIN));
        let (limit, mut found) = (self.limit as usize, Vec::new());
        match self.whose {
            ReceiptFilter::Escrow(id) => {
                let range = RECEIPTS_OF.between(&(id, from), &(id, end));
                let rows = RECEIPTS_OF.scan(view, &range, Direction::Ascending, limit + 1)?;
                found.extend(rows.into_iter().map(|((_, Desc(at)), Ref(id))| (at, id)));
            }
            ReceiptFilter::Name(name, side) => {
                let tables = [(Side::To, &RECEIPTS_FROM), (Side::From, &RECEIPTS_TO)];
                for (_, table) in tables.into_iter().filter(|(without, _)| *without != side) {
                    let range = table.between(&(name.clone(), from), &(name.clone(), end));
                    let rows = table.scan(view, &range, Direction::Ascending, limit + 1)?;
                    found.extend(rows.into_iter().map(|((_, Desc(at)), Ref(id))| (at, id)));
                }
                // An agent that claims work from itself is on both sides.
                found.sort_unstable();
                found.dedup();
            }
        }
        sweep::as_of_now(view, |books| page(found, limit, |id| receipt::up_to_date(books, id)))
    }
}

/// Reads the past of one agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTrust {
    pub name: Name,
}

/// The answer to [`ReadTrust`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    pub tally: AgentTally,
    pub wallet: Option<super::rows::Wallet>,
}

impl Query for ReadTrust {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "trust";
    type Reply = Trust;

    fn run(self, view: &View<'_>) -> Result<Trust> {
        let key = key(&self.name);
        sweep::as_of_now(view, |books| {
            let tally = TALLIES.get(books.space, &key)?.unwrap_or_default();
            Ok(Trust { tally, wallet: books.wallet(&self.name)? })
        })
    }
}

/// Reads counts of the whole market.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadStats;

/// The answer to [`ReadStats`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub market: Market,
    pub wallets: u64,
    pub day: Counts,
    pub hires_hour: u64,
    pub top_listings: Vec<(Id, Listing)>,
    pub top_providers: Vec<(Name, AgentTally)>,
    pub recent: Vec<(Id, Hire, String)>,
}

impl Query for ReadStats {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "stats";
    type Reply = Stats;

    fn run(self, view: &View<'_>) -> Result<Stats> {
        sweep::as_of_now(view, stats)
    }
}

fn stats(books: &mut Books<'_>) -> Result<Stats> {
    let (space, book) = (&*books.space, &books.book);
    let day = counts(space, books.now, book, DAY)?;
    let hour = counts(space, books.now, book, HOUR)?;
    let mut stats = Stats {
        market: book.market,
        wallets: book.wallets,
        day,
        hires_hour: hour.hires,
        top_listings: Vec::new(),
        top_providers: Vec::new(),
        recent: Vec::new(),
    };
    for (_, id) in first(listing::TOP.get(space, &())?) {
        stats.top_listings.extend(LISTINGS.get(space, &(id,))?.map(|listing| (id, listing)));
    }
    for (_, name) in first(hire::TOP.get(space, &())?) {
        stats.top_providers.extend(TALLIES.get(space, &key(&name))?.map(|tally| (name, tally)));
    }
    for id in RECENT.get(space, &())?.unwrap_or_default().0 {
        let Some(hire) = HIRES.get(space, &(id,))? else { continue };
        let slug = LISTINGS.get(space, &(hire.listing,))?.map(|listing| listing.capability);
        stats.recent.push((id, hire, slug.unwrap_or_default()));
    }
    Ok(stats)
}

/// The entries of a table that are shown.
fn first<T>(top: Option<Top<T>>) -> impl Iterator<Item = (u64, T)> {
    top.into_iter().flat_map(|Top(all)| all).take(10)
}

/// Counts of the last `span` microseconds, in whole minutes.
pub fn counts(space: &(impl Read + ?Sized), now: Timestamp, book: &Book, span: i64) -> Result<Counts> {
    let first = minute(now.plus(-span)) + 1;
    let mut rows = MINUTES.scan(space, &MINUTES.between(&(first,), &(u32::MAX,)), Direction::Ascending, 1_500)?;
    if book.minute >= first {
        rows.push(((book.minute,), book.counts));
    }
    let mut sum = Counts::default();
    for (_, counts) in &rows {
        sum.transfers += counts.transfers;
        sum.hires += counts.hires;
        sum.value += counts.value;
        sum.wallets += counts.wallets;
    }
    Ok(sum)
}
