//! Questions about the books that anybody may ask: single rows, lists of a DID, counts.

use serde::{Deserialize, Serialize};

use super::batch::{ShownBatch, item_id};
use super::book;
use super::escrow;
use super::log::{What, event};
use super::pay;
use super::room::{self, Storage};
use super::rows::{ADMIN_KEYS, ESCROWS_TO, Entry, Escrow, INDEX, Id, Name, Payment, Ref};
use super::segment;
use super::segment::open::{LogQuery, prepare};
use super::sweep;
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Desc, Direction, Read};
use engine::time::DAY;

/// Most rows that one page looks at.
const EXAMINED: usize = 2_000;

/// Reads one transfer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTransfer {
    pub id: Id,
}

impl LogQuery for ReadTransfer {
    const NAME: &'static str = "transfer";
    type Reply = Option<Payment>;

    fn run(self, view: &View<'_>) -> Result<Option<Payment>> {
        pay::find(view, &view.settings.brand, &self.id)
    }
}

/// Reads one escrow as it is now, whether or not the timer has run (decision due-before-anything).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadEscrow {
    pub id: Id,
}

impl Query for ReadEscrow {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "escrow";
    type Reply = Option<Escrow>;

    fn run(self, view: &View<'_>) -> Result<Option<Escrow>> {
        sweep::as_of_now(view, |books| escrow::up_to_date(books, &self.id))
    }
}

/// Part of a list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    pub rows: Vec<(Id, T)>,
    /// Where the next page begins; `None` at the end.
    pub next: Option<Timestamp>,
}

/// A page of the rows with these ids. Missing rows are left out.
pub fn rows<T>(
    ids: Vec<Id>,
    next: Option<Timestamp>,
    mut read: impl FnMut(&Id) -> Result<Option<T>>,
) -> Result<Page<T>> {
    let rows = ids.into_iter().map(|id| Ok((id, read(&id)?))).collect::<Result<Vec<_>>>()?;
    Ok(Page { rows: rows.into_iter().filter_map(|(id, row)| Some((id, row?))).collect(), next })
}

/// Reads the transfers from and to a DID, with refused ones that it sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct History {
    pub name: Name,
    /// Only older rows.
    pub before: Option<Timestamp>,
    pub limit: u32,
    /// With the memos of batches, which takes reading all signed bytes.
    pub texts: bool,
}

impl LogQuery for History {
    const NAME: &'static str = "history";
    type Reply = Page<Payment>;

    fn run(self, view: &View<'_>) -> Result<Self::Reply> {
        let brand = &view.settings.brand;
        let list = NamePage { name: self.name, before: self.before, limit: self.limit as usize };
        let transfers = |what: What| matches!(what, What::Transfer | What::TransferFailed | What::Batch);
        let (rows, next) = list.page(view, transfers, |_, entry| {
            let Some(found) = event(view, &entry.id)? else { return Ok((Vec::new(), 0)) };
            if entry.what != What::Batch {
                let payment = pay::payment(brand, &found)?;
                return Ok((vec![(payment.at, (entry.id, payment))], 0));
            }
            let batch = ShownBatch::new(view, brand, entry.id, &found, self.texts)?;
            let parts = batch.parts(&list.name)?;
            let parts = parts.iter().filter(|part| list.before.is_none_or(|before| part.at < before));
            let row = |part| Ok((batch.payment(part)?, part));
            let rows = parts.map(row).collect::<Result<Vec<_>>>()?;
            let rows = rows.into_iter().map(|(payment, part)| (part.at, (item_id(&entry.id, part.index), payment)));
            Ok((rows.collect(), batch.read))
        })?;
        Ok(Page { rows, next })
    }
}

/// The side of an escrow or receipt that a DID is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    From,
    To,
    Any,
}

/// Reads the escrows of a DID.
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
        let list = NamePage { name: self.name, before: self.before, limit: self.limit as usize };
        let mut found: Vec<(Timestamp, Id)> = Vec::new();
        let mut floor = None;
        if self.side != Side::To {
            let opened = |what: What| matches!(what, What::EscrowOpen | What::Hire);
            let (entries, end) = list.entries(view, opened)?;
            found.extend(entries.into_iter().map(|(at, entry)| (at, entry.id)));
            floor = end;
        }
        if self.side != Side::From {
            let (first, last) = list.range();
            let rows =
                ESCROWS_TO.scan(view, &ESCROWS_TO.between(&first, &last), Direction::Ascending, list.limit + 1)?;
            found.extend(rows.into_iter().map(|((_, Desc(at)), Ref(id))| (at, id)));
        }
        if let Some(floor) = floor {
            // Rows that are older than this were not all looked at.
            found.retain(|(at, _)| *at >= floor);
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let next = list.cut(&mut found, floor);
        let ids = found.into_iter().map(|(_, id)| id).collect();
        sweep::as_of_now(view, |books| rows(ids, next, |id| escrow::up_to_date(books, id)))
    }
}

/// Rows of a list with their times.
type Timed<T> = Vec<(Timestamp, T)>;

/// The part of a name's list that a question asks for.
pub struct NamePage {
    pub name: Name,
    pub before: Option<Timestamp>,
    pub limit: usize,
}

/// About how many signed bytes one page reads at most.
const READ: usize = 4 << 20;

impl NamePage {
    /// The first and last key, by name and time, that may be on the page.
    fn range(&self) -> ((Name, Desc<Timestamp>), (Name, Desc<Timestamp>)) {
        let from = self.before.map_or(Timestamp::MAX, |before| before.plus(-1));
        ((self.name.clone(), Desc(from)), (self.name.clone(), Desc(Timestamp(i64::MIN))))
    }

    /// The newest entries that fit, one more than the page shows, which tells whether there are more. The time is that
    /// of the last entry that was looked at, if the limit of [`EXAMINED`] ended the search.
    fn entries(&self, view: &impl Read, fits: impl Fn(What) -> bool) -> Result<(Timed<Entry>, Option<Timestamp>)> {
        let (first, last) = self.range();
        let (mut found, mut floor, mut examined) = (Vec::new(), None, 0);
        INDEX.visit(view, INDEX.between(&first, &last), Direction::Ascending, |(_, Desc(at)), entry| {
            examined += 1;
            if fits(entry.what) {
                found.push((at, entry));
            }
            floor = (examined == EXAMINED).then_some(at);
            Ok(found.len() <= self.limit && floor.is_none())
        })?;
        Ok((found, floor))
    }

    /// Cuts rows to the size of the page, and returns where the next page begins.
    fn cut<T>(&self, rows: &mut Timed<T>, floor: Option<Timestamp>) -> Option<Timestamp> {
        let more = rows.len() > self.limit;
        rows.truncate(self.limit);
        if more { rows.last().map(|(at, _)| *at) } else { floor }
    }

    /// A page of the rows that `expand` makes of the entries that fit. `expand` returns rows with their times, newest
    /// first, and the number of signed bytes that it read for them.
    pub fn page<T>(
        &self,
        view: &impl Read,
        fits: impl Fn(What) -> bool,
        mut expand: impl FnMut(Timestamp, &Entry) -> Result<(Timed<T>, usize)>,
    ) -> Result<(Vec<T>, Option<Timestamp>)> {
        let (mut entries, mut floor) = self.entries(view, fits)?;
        let ready = prepare(view, entries.iter().map(|(_, entry)| entry.seq))?;
        if ready < entries.len() || entries.len() > self.limit {
            entries.truncate(ready);
            floor = entries.last().map(|(at, _)| *at);
        }
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for (at, entry) in &entries {
            let (more, read) = expand(*at, entry)?;
            rows.extend(more);
            bytes += read;
            if rows.len() > self.limit {
                break;
            }
            if bytes >= READ {
                floor = Some(*at);
                break;
            }
        }
        let next = self.cut(&mut rows, floor);
        Ok((rows.into_iter().map(|(_, row)| row).collect(), next))
    }
}

/// Reads the numbers that `/v1/pay/health` shows.
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
    /// Number of events in the log; of those, the sealed ones; of the sealed ones, those that only an archive has.
    pub events: (u64, u64, u64),
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
            transfers_24h: super::market::counts(view, view.now, &book, DAY)?.transfers,
            admin_keys: keys.into_iter().filter(|(_, key)| key.active).map(|((keyid,), _)| keyid).collect(),
            storage: room::read(view, view.now, view.settings.ledger_storage_bytes)?,
            events: {
                let (sealed, archived) = segment::counts(view, &book)?;
                (book.events, sealed, archived)
            },
        })
    }
}
