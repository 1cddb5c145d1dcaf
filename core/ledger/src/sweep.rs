//! Work that is due by time: ends escrows whose time is over, and removes nonces that can no longer be sent and wallets
//! that never held anything. One timer runs it, and operations end due escrows on demand (decisions
//! due-before-anything, registered-recipients and refusal-burns-nonce).

use serde::{Deserialize, Serialize};

use super::book::{Books, key};
use super::idempotency::{KEPT, KEPT_UNTIL};
use super::log::{Note, What};
use super::receipt::{self, RECEIPTS, ReceiptState};
use super::rows::{
    BURNT, BURNT_UNTIL, DUE, EscrowState, FAILURES, FAUCET_BY_ADDRESS, FAUCET_UNTIL, IDLE, Id, KEYS, MINUTES,
};
use super::{escrow, metrics, segment};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Turn, View};
use engine::kv::{Direction, Key, Overlay, Row, Table};
use engine::time::{DAY, MINUTE, SECOND};

/// Key of the timer.
const TIMER: &str = "sweep";
/// Most escrows that one run ends. Each changes up to about twenty rows, including those of hire, listing and tallies.
pub(super) const ESCROWS_AT_ONCE: usize = 20;
/// Most other rows of each kind that one run removes.
const ROWS_AT_ONCE: usize = 50;
/// How late the timer may be, in microseconds. Operations do what is due by themselves, so nobody waits for the timer,
/// and one run does everything that falls due in this time.
const SLACK: i64 = SECOND;

/// Sets the timer to the time at which something is due.
pub fn plan(turn: &mut Turn<'_>, due: Option<Timestamp>) -> Result<()> {
    let Some(due) = due.map(|due| due.max(turn.now).plus(SLACK)) else { return Ok(()) };
    match turn.scheduled(TIMER)? {
        Some(planned) if planned <= due => Ok(()),
        _ => turn.schedule(TIMER, due, &Sweep),
    }
}

/// Does what is due.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sweep;

/// Counts of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// The system is frozen, so nothing was done.
    pub frozen: bool,
    pub accepted: u64,
    pub expired: u64,
    pub released: u64,
    /// Accepted receipts whose escrow could not be paid out.
    pub unreleased: u64,
    pub escrows_expired: u64,
    /// More is due than one run does.
    pub more: bool,
}

impl Operation for Sweep {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "sweep";
    type Reply = Swept;

    fn run(self, turn: &mut Turn<'_>) -> Result<Swept> {
        let mut books = Books::of(turn)?;
        let swept = catch_up(&mut books)?;
        tidy(&mut books)?;
        segment::seal(&mut books)?;
        metrics::check(&mut books)?;
        let more = books.sealing().is_some_and(|due| due <= books.now);
        let due = books.close()?.next(turn)?;
        let kept = segment::keep::wish(turn)?;
        plan(turn, [due, kept].into_iter().flatten().min())?;
        if more {
            // A busy ledger makes more segments than one sweep a second seals.
            turn.schedule(TIMER, turn.now, &Sweep)?;
        }
        Ok(swept)
    }
}

/// Ends escrows and receipts whose time is over, a bounded number at once. Operations and questions do this first, so
/// that nothing depends on when the timer runs (decision due-before-anything).
pub fn catch_up(books: &mut Books<'_>) -> Result<Swept> {
    let mut swept = Swept { frozen: books.is_frozen(), ..Swept::default() };
    if !swept.frozen {
        let over = DUE.between(&(), &(books.clock(),));
        let due = DUE.scan(books.space, &over, Direction::Ascending, ESCROWS_AT_ONCE)?;
        swept.more = due.len() == ESCROWS_AT_ONCE;
        for ((due, id), ()) in due {
            fall_due(books, due, id, &mut swept)?;
        }
    }
    Ok(swept)
}

/// Lets a question read the books as they are now, whether or not the timer has run (decision due-before-anything). The
/// changes are thrown away.
pub fn as_of_now<T>(view: &View<'_>, read: impl FnOnce(&mut Books<'_>) -> Result<T>) -> Result<T> {
    let mut space = Overlay::new(view);
    let mut books = Books::open(&mut space, view.now, &view.settings.brand)?;
    catch_up(&mut books)?;
    read(&mut books)
}

/// Does what is due for one entry of [`DUE`], which is an escrow or a receipt. An escrow whose sender is frozen is held
/// until the freeze ends.
fn fall_due(books: &mut Books<'_>, due: Timestamp, id: Id, swept: &mut Swept) -> Result<()> {
    DUE.delete(books.space, &(due, id));
    if let Some(before) = RECEIPTS.get(books.space, &(id,))? {
        let after = receipt::up_to_date(books, &id)?;
        if let Some(after) = after.filter(|after| after.state != before.state) {
            swept.accepted += u64::from(after.state == ReceiptState::Accepted);
            swept.expired += u64::from(after.state == ReceiptState::Expired);
            swept.released += u64::from(after.released);
            swept.unreleased += u64::from(after.release_error.is_some());
        }
        return Ok(());
    }
    let Some(escrow) = escrow::up_to_date(books, &id)? else { return Ok(()) };
    match (escrow.state, escrow::is_frozen(books, &escrow.from)?) {
        (EscrowState::Open, true) => escrow::hold(books, &id, &escrow),
        (EscrowState::Open, false) => Ok(DUE.put(books.space, &(escrow.due(), id), &())?),
        (state, frozen) => {
            swept.escrows_expired += u64::from(state == EscrowState::Expired);
            // The escrow may have been held. Then the next held escrow of its sender becomes due.
            if frozen { Ok(()) } else { escrow::thaw(books, &escrow.from, 1) }
        }
    }
}

/// Removes rows that are no longer needed.
fn tidy(books: &mut Books<'_>) -> Result<()> {
    let now = books.now;
    for (_, id) in take(books, &BURNT_UNTIL, &(now,))? {
        BURNT.delete(books.space, &(id,));
    }
    for (until, address) in take(books, &FAUCET_UNTIL, &(now.plus(1),))? {
        FAUCET_BY_ADDRESS.delete(books.space, &(address, until.plus(-DAY - 1)));
    }
    for (_, id) in take(books, &KEPT_UNTIL, &(now.plus(1),))? {
        KEPT.delete(books.space, &(id,));
    }
    let minute = u32::try_from(now.plus(-DAY).0.div_euclid(MINUTE)).unwrap_or_default();
    take(books, &MINUTES, &(minute,))?;
    take(books, &FAILURES, &(u32::try_from(now.day()).unwrap_or_default(),))?;
    for (_, name) in take(books, &IDLE, &(now.plus(1),))? {
        let registered = KEYS.get(books.space, &key(&name))?.is_some_and(|key| key.active);
        if !registered && books.wallet(&name)?.is_some_and(|wallet| !wallet.lasting) {
            let at = books.stamp();
            books.remove(&name);
            books.log(at, What::WalletEnd, "system:idle", Note::default())?;
        }
    }
    Ok(())
}

/// Removes the first rows before `end`, and returns their keys.
fn take<K: Key, V: Row>(books: &mut Books<'_>, table: &Table<K, V>, end: &impl Key) -> Result<Vec<K>> {
    let rows = table.scan(books.space, &table.between(&(), end), Direction::Ascending, ROWS_AT_ONCE)?;
    Ok(rows.into_iter().map(|(key, _)| key).inspect(|key| table.delete(books.space, key)).collect())
}
