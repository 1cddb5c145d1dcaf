//! What anybody may read of the books: single rows, lists of a DID, counts.

use serde::{Deserialize, Serialize};

use super::book::{self, Books};
use super::escrow;
use super::room::{self, Storage};
use super::rows::{ADMIN_KEYS, ByTime, ESCROWS_TO, Escrow, IN, Id, Name, OUT, Outflow, Ref, TRANSFERS, TransferRow};
use crate::actor::{Kind, Query, View};
use crate::kv::{Desc, Direction, Overlay, Read};
use crate::time::DAY;
use crate::{Result, Timestamp};

/// Rows that one page looks at, at most.
const EXAMINED: usize = 2_000;

/// One transfer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTransfer {
    pub id: Id,
}

impl Query for ReadTransfer {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "transfer";
    type Reply = Option<TransferRow>;

    fn run(self, view: &View<'_>) -> Result<Option<TransferRow>> {
        Ok(TRANSFERS.get(view, &(self.id,))?)
    }
}

/// One escrow as it is now, whether or not the timer has come (ruling ledger 3).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadEscrow {
    pub id: Id,
}

impl Query for ReadEscrow {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "escrow";
    type Reply = Option<Escrow>;

    fn run(self, view: &View<'_>) -> Result<Option<Escrow>> {
        as_of_now(view, &self.id)
    }
}

fn as_of_now(view: &View<'_>, id: &Id) -> Result<Option<Escrow>> {
    let mut space = Overlay::new(view);
    let mut books = Books::open(&mut space, view.now)?;
    escrow::up_to_date(&mut books, id)
}

/// Part of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    pub rows: Vec<(Id, T)>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Timestamp>,
}

/// Transfers of a DID, either way, refused ones that it sent too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct History {
    pub name: Name,
    /// Only what is older.
    pub before: Option<Timestamp>,
    pub limit: u32,
}

impl Query for History {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "history";
    type Reply = Page<TransferRow>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let list = List { name: self.name, before: self.before, limit: self.limit as usize };
        let Page { rows: times, next } = list.merge(view, Some(false), Some(&IN))?;
        let rows =
            times.into_iter().map(|(id, _)| Ok((id, TRANSFERS.get(view, &(id,))?))).collect::<Result<Vec<_>>>()?;
        Ok(Page { rows: rows.into_iter().filter_map(|(id, row)| Some((id, row?))).collect(), next })
    }
}

/// Which side of an escrow a DID is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    From,
    To,
    Any,
}

/// Escrows of a DID.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EscrowHistory {
    pub name: Name,
    pub side: Side,
    pub before: Option<Timestamp>,
    pub limit: u32,
}

impl Query for EscrowHistory {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "escrow_history";
    type Reply = Page<Escrow>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let list = List { name: self.name, before: self.before, limit: self.limit as usize };
        let out = (self.side != Side::To).then_some(true);
        let Page { rows: times, next } = list.merge(view, out, (self.side != Side::From).then_some(&ESCROWS_TO))?;
        let rows = times.into_iter().map(|(id, _)| Ok((id, as_of_now(view, &id)?))).collect::<Result<Vec<_>>>()?;
        Ok(Page { rows: rows.into_iter().filter_map(|(id, row)| Some((id, row?))).collect(), next })
    }
}

/// A question for part of a list.
struct List {
    name: Name,
    before: Option<Timestamp>,
    limit: usize,
}

impl List {
    /// The newest of what left the wallet (transfers, or escrows) and of what is listed in `other`, with where to go on.
    fn merge(&self, view: &impl Read, escrows: Option<bool>, other: Option<&ByTime>) -> Result<Page<Timestamp>> {
        let from = Desc(self.before.map_or(Timestamp::MAX, |before| before.plus(-1)));
        let name = self.name.clone();
        // One more than is wanted tells whether there is more.
        let wanted = self.limit + 1;
        let mut found: Vec<(Timestamp, Id)> = Vec::new();
        let mut floor = None;
        if let Some(escrows) = escrows {
            let range = OUT.between(&(name.clone(), from), &(name.clone(), Desc(Timestamp(i64::MIN))));
            let mut examined = 0;
            OUT.visit(view, range, Direction::Ascending, |(_, Desc(at)), Outflow { id, escrow, .. }| {
                examined += 1;
                if escrow == escrows {
                    found.push((at, id));
                }
                floor = (examined == EXAMINED).then_some(at);
                Ok(found.len() < wanted && floor.is_none())
            })?;
        }
        if let Some(table) = other {
            let range = table.between(&(name.clone(), from), &(name, Desc(Timestamp(i64::MIN))));
            let rows = table.scan(view, &range, Direction::Ascending, wanted)?;
            found.extend(rows.into_iter().map(|((_, Desc(at)), Ref(id))| (at, id)));
        }
        if let Some(floor) = floor {
            // Below it there may be some that were not looked at.
            found.retain(|(at, _)| *at >= floor);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let more = found.len() > self.limit;
        found.truncate(self.limit);
        let next = if more { found.last().map(|(at, _)| *at) } else { floor };
        Ok(Page { rows: found.into_iter().map(|(at, id)| (id, at)).collect(), next })
    }
}

/// What `/health` shows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadHealth;

/// The answer to [`ReadHealth`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthView {
    pub wallets: u64,
    pub transfers_24h: u64,
    /// Ids of active admin keys.
    pub admin_keys: Vec<String>,
    pub storage: Storage,
}

impl Query for ReadHealth {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "health";
    type Reply = HealthView;

    fn run(self, view: &View<'_>) -> Result<HealthView> {
        let book = book::read(view)?;
        let keys = ADMIN_KEYS.scan(view, &ADMIN_KEYS.range(), Direction::Ascending, 1_000)?;
        Ok(HealthView {
            wallets: book.wallets,
            transfers_24h: super::market::counts(view, &book, DAY)?.transfers,
            admin_keys: keys.into_iter().filter(|(_, key)| key.active).map(|((keyid,), _)| keyid).collect(),
            storage: room::read(view, view.now, view.settings.ledger_storage_bytes)?,
        })
    }
}
