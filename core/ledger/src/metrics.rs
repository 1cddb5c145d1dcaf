//! Numbers for the operator (decision ledger-for-clients): money, refusals, and how far behind the sweep is.
//!
//! Sums are counters that events change. Each sweep also checks some wallets: each must have the balances that its last
//! event left. Table numbers: 65, 67.

use serde::{Deserialize, Serialize};

use super::book::{self, Books};
use super::log::What;
use super::reason::Reason;
use super::rows::{DUE, INDEX, Micro, Name, WALLETS, Wallet};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Query, View};
use engine::kv::{Desc, Direction, Read, Row, Table};

/// Number of the ledger's refusals for each reason, by the reason's place in [`Reason::ALL`].
const REFUSALS: Table<(u32,), Count> = Table::new(65);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count(u64);
impl Row for Count {}

/// Counts a refusal of the ledger.
pub fn count(books: &mut Books<'_>, reason: Reason) -> Result<()> {
    let key = (reason as u32,);
    let Count(before) = REFUSALS.get(books.space, &key)?.unwrap_or_default();
    Ok(REFUSALS.put(books.space, &key, &Count(before.saturating_add(1)))?)
}

/// Wallets that one sweep checks, and most entries that it reads of each. Refused transfers are among the entries.
const AT_ONCE: usize = 64;
const ENTRIES: usize = 16;

/// How far the check of all wallets has come.
const CHECK: Table<(), Check> = Table::new(67);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Check {
    /// The name after which the check goes on.
    after: Name,
    /// Wallets with other balances than their last event left: in the present round, and in the one before.
    off: u64,
    off_before: u64,
}
impl Row for Check {}

/// Checks the next wallets, and begins anew after the last.
pub fn check(books: &mut Books<'_>) -> Result<()> {
    let before = CHECK.get(books.space, &())?.unwrap_or_default();
    let mut check = before.clone();
    let wallets = WALLETS.page(books.space, Some(&book::key(&check.after)), AT_ONCE)?;
    let ended = wallets.len() < AT_ONCE;
    for (name, wallet) in wallets {
        check.off += u64::from(!is_as_told(books.space, &name, &wallet)?);
        check.after = name;
    }
    if ended {
        check = Check { after: Name::new(), off: 0, off_before: check.off };
    }
    if check != before {
        CHECK.put(books.space, &(), &check)?;
    }
    Ok(())
}

/// Whether a wallet has the balances that the last event that moved its money left.
fn is_as_told(space: &(impl Read + ?Sized), name: &str, wallet: &Wallet) -> Result<bool> {
    let [first, last] = [Timestamp::MAX, Timestamp(i64::MIN)].map(|at| (name.to_owned(), Desc(at)));
    let entries = INDEX.scan(space, &INDEX.between(&first, &last), Direction::Ascending, ENTRIES)?;
    let all = entries.len() < ENTRIES;
    let last = entries.into_iter().map(|(_, entry)| entry).find(|entry| entry.what != What::TransferFailed);
    Ok(match last {
        Some(entry) => (entry.balance_after, entry.locked_after) == (wallet.balance, wallet.locked),
        // If all entries that were read are refused transfers, nothing is known.
        None => !all || (wallet.balance, wallet.locked) == (0, 0),
    })
}

/// Reads all numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMetrics;

/// The answer to [`ReadMetrics`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// All credit that was ever granted.
    pub supply: Micro,
    pub wallets: u64,
    /// Sums over all wallets, as events changed them.
    pub balance: Micro,
    pub locked: Micro,
    /// Sum over open escrows.
    pub open: Micro,
    /// Wallets with other balances than their last event left, in the present round of checks or the one before,
    /// whichever found more. Must be 0.
    pub off: u64,
    pub refusals: Vec<(Reason, u64)>,
    /// How long the oldest due row has waited, in microseconds of the ledger's own clock, which stands still in a
    /// freeze.
    pub unswept: i64,
}

impl Metrics {
    /// The money that wallets hold, less the money that was granted. Must be 0.
    pub fn imbalance(&self) -> i128 {
        i128::from(self.balance) + i128::from(self.locked) - i128::from(self.supply)
    }

    /// The money that wallets have locked, less the money in open escrows. Must be 0.
    pub fn locked_imbalance(&self) -> i128 {
        i128::from(self.locked) - i128::from(self.open)
    }
}

impl Query for ReadMetrics {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "metrics";
    type Reply = Metrics;

    fn run(self, view: &View<'_>) -> Result<Metrics> {
        let book = book::read(view)?;
        let check = CHECK.get(view, &())?.unwrap_or_default();
        let clock = view.now.plus(-book::frozen_for(&book, view.now));
        let oldest = DUE.first(view, &DUE.range())?.map(|((due, _), ())| clock.since(due));
        let mut metrics = Metrics {
            supply: book.supply,
            wallets: book.wallets,
            balance: book.held,
            locked: book.locked,
            open: book.open,
            off: check.off.max(check.off_before),
            unswept: oldest.unwrap_or_default().max(0),
            refusals: Vec::new(),
        };
        for ((place,), Count(count)) in REFUSALS.scan(view, &REFUSALS.range(), Direction::Ascending, 256)? {
            let reason = usize::try_from(place).ok().and_then(|place| Reason::ALL.get(place));
            metrics.refusals.extend(reason.map(|reason| (*reason, count)));
        }
        Ok(metrics)
    }
}
