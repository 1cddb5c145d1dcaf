//! Numbers for the operator (ruling ledger 35): money, refusals, and how far behind the sweep is.
//!
//! Table number: 65.

use serde::{Deserialize, Serialize};

use super::book::{self, Books};
use super::reason::Reason;
use super::rows::{DUE, ESCROWS, EscrowState, Micro, WALLETS};
use crate::Result;
use crate::actor::{Kind, Query, View};
use crate::kv::{Direction, Row, Table};

/// How often the ledger refused for a reason, by its place in [`Reason::ALL`].
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

/// All numbers. Reads every wallet and every open escrow, so that what must be equal is compared and not assumed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadMetrics;

/// The answer to [`ReadMetrics`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// All that was ever granted.
    pub supply: Micro,
    pub wallets: u64,
    /// Sums over all wallets.
    pub balance: Micro,
    pub locked: Micro,
    /// Sum over open escrows.
    pub open: Micro,
    pub refusals: Vec<(Reason, u64)>,
    /// How long the oldest row waits that is due, in microseconds of the ledger's own clock, which stands still in a freeze.
    pub unswept: i64,
}

impl Metrics {
    /// What wallets hold beyond what was granted, or less. Must be 0.
    pub fn imbalance(&self) -> i128 {
        i128::from(self.balance) + i128::from(self.locked) - i128::from(self.supply)
    }

    /// What wallets have locked beyond what stands in open escrows, or less. Must be 0.
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
        let mut metrics = Metrics { supply: book.supply, ..Metrics::default() };
        WALLETS.visit(view, WALLETS.range(), Direction::Ascending, |_, wallet| {
            metrics.wallets += 1;
            metrics.balance = metrics.balance.saturating_add(wallet.balance);
            metrics.locked = metrics.locked.saturating_add(wallet.locked);
            Ok(true)
        })?;
        let clock = view.now.plus(-book::frozen_for(&book, view.now));
        let mut open = Vec::new();
        DUE.visit(view, DUE.range(), Direction::Ascending, |(due, id), ()| {
            metrics.unswept = metrics.unswept.max(clock.since(due));
            open.push(id);
            Ok(true)
        })?;
        for id in open {
            // Receipts stand in the same list.
            let escrow = ESCROWS.get(view, &(id,))?.filter(|escrow| escrow.state == EscrowState::Open);
            metrics.open = metrics.open.saturating_add(escrow.map_or(0, |escrow| escrow.amount));
        }
        for ((place,), Count(count)) in REFUSALS.scan(view, &REFUSALS.range(), Direction::Ascending, 256)? {
            let reason = usize::try_from(place).ok().and_then(|place| Reason::ALL.get(place));
            metrics.refusals.extend(reason.map(|reason| (*reason, count)));
        }
        Ok(metrics)
    }
}
