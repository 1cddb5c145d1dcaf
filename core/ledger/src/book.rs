//! The books that an operation has open: wallets, the order of events, the clock that stands still in a freeze, and the
//! outflow of a wallet in 24 hours.
//!
//! Every operation first checks whether it may do what it is asked, and only then writes. A refusal is an answer, not a
//! failure, so rows that were written before it would stay.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::envelope::MAX_DID;
use super::idempotency::KEPT_UNTIL;
use super::log::{self, Change, Event, Note, What};
use super::reason::{Reason, Ruled, ensure};
use super::rows::{
    BOOK, BURNT, BURNT_UNTIL, Book, Counts, DUE, FAUCET_UNTIL, IDLE, INDEX, Id, MINUTES, Micro, Minute, Name, WALLETS,
    Wallet,
};
use super::{room, segment};
use crate::{Error, Result, Timestamp};
use engine::actor::{self, Operation, Turn};
use engine::invariant;
use engine::kv::{Desc, Read, Write};
use engine::time::{DAY, MINUTE};

/// Largest amount of one payment, in micro-credits.
pub const MAX_AMOUNT: Micro = 1_000_000_000_000_000;
/// Largest sum of all money, in micro-credits: the largest that JavaScript counts exactly (decision
/// money-supply-bound).
pub const MAX_SUPPLY: Micro = super::json::MAX_INTEGER;
/// Caps of a new wallet, in micro-credits: of its outflow in 24 hours, and of one payment.
pub const DAILY_CAP: Micro = 1_000_000_000;
pub const PER_TX_CAP: Micro = 100_000_000;
/// How long an unregistered wallet that never held credit stays, in microseconds (decision registered-recipients).
pub const IDLE_LIFE: i64 = 7 * DAY;

/// What DIDs of wallets look like.
pub const DID_PATTERN: &str = "^did:[a-z][a-z0-9]{1,15}:[A-Za-z0-9._-]+$";

/// The name in a DID of this brand; `None` for any other text.
pub fn name_of<'a>(brand: &str, did: &'a str) -> Option<&'a str> {
    let name = did.strip_prefix("did:")?.strip_prefix(brand)?.strip_prefix(':')?;
    let inside = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    (!name.is_empty() && did.len() <= MAX_DID && name.bytes().all(inside)).then_some(name)
}

/// The name in a DID that this deployment made.
pub fn own_name(brand: &str, did: &str) -> Result<String> {
    let name = name_of(brand, did);
    invariant!(name.is_some(), "{did} is no DID of {brand}");
    Ok(name.unwrap_or_default().to_owned())
}

/// The DID of a name.
pub fn did_of(brand: &str, name: &str) -> String {
    format!("did:{brand}:{name}")
}

/// The minute of a time, counted from the epoch.
pub fn minute(at: Timestamp) -> u32 {
    u32::try_from(at.0.div_euclid(MINUTE)).unwrap_or_default()
}

/// Checks that a signed number is an amount of 1 to [`MAX_AMOUNT`] micro-credits.
pub fn amount(micro: i64) -> Ruled<Micro> {
    let amount = Micro::try_from(micro).map_err(|_| Reason::AmountOutOfRange)?;
    ensure((1..=MAX_AMOUNT).contains(&amount), Reason::AmountOutOfRange)?;
    Ok(amount)
}

/// Open books.
pub struct Books<'a> {
    pub space: &'a mut dyn Write,
    pub now: Timestamp,
    pub brand: &'a str,
    pub book: Book,
    /// The age at which events are sealed, in microseconds.
    sealed_after: i64,
    before: Book,
    /// Wallets that were read or written, in their present state. So each is looked up once.
    wallets: RefCell<BTreeMap<Name, Option<Wallet>>>,
    /// Wallets that were written since the last event.
    touched: BTreeMap<Name, Touched>,
    /// For the entry of the outflow of the next event; see [`super::rows::Entry::before`].
    pub(super) left_before: Option<u32>,
}

/// Balance and locked amount of a wallet before and after. `before` is `None` for a new wallet.
struct Touched {
    before: Option<(Micro, Micro)>,
    after: (Micro, Micro),
}

impl<'a> Books<'a> {
    pub fn open(space: &'a mut dyn Write, now: Timestamp, brand: &'a str) -> Result<Self> {
        let book = read(space)?;
        let (before, touched, wallets) = (book.clone(), BTreeMap::new(), RefCell::default());
        Ok(Books { space, now, brand, book, sealed_after: i64::MAX, before, wallets, touched, left_before: None })
    }

    pub fn of(turn: &'a mut Turn<'_>) -> Result<Self> {
        let (now, brand) = (turn.now, turn.settings.brand.as_str());
        // Only the ledger knows the salt. It is made with the first event.
        let salt = turn.random();
        let sealed_after = segment::age(turn.settings);
        let mut books = Books { sealed_after, ..Books::open(turn, now, brand)? };
        if books.book.events == 0 {
            books.book.salt = salt;
            books.before.salt = salt;
        }
        Ok(books)
    }

    /// Writes the state of the whole ledger if it changed. Fails if a wallet changed without an event.
    pub fn close(self) -> Result<ClosedBooks> {
        let moved = |touched: &Touched| touched.before != Some(touched.after);
        if let Some((name, _)) = self.touched.iter().find(|(_, touched)| moved(touched)) {
            return Err(Error::internal(format!("the wallet of {name} changed without an event")));
        }
        if room::hour(self.now) != room::hour(self.before.last) {
            room::note(self.space, self.now)?;
        }
        if self.book != self.before {
            BOOK.put(self.space, &(), &self.book)?;
        }
        let times = |book: &Book| (book.frozen_since, book.frozen_for, book.whole);
        Ok(ClosedBooks { sealing: self.sealing(), shifted: times(&self.book) != times(&self.before), book: self.book })
    }

    /// The time of a new event, which is later than that of every other event (decision unique-event-times).
    pub fn stamp(&mut self) -> Timestamp {
        self.book.last = self.now.max(self.book.last.plus(1));
        self.book.last
    }

    /// The time of an event that was due at `due`: that time, or right after the last event if that is later. It does
    /// not depend on when the timer runs or when somebody asks, so a question before the timer shows the time that is
    /// written later (decisions due-before-anything and unique-event-times).
    pub fn stamp_at(&mut self, due: Timestamp) -> Timestamp {
        self.book.last = due.min(self.now).max(self.book.last.plus(1));
        self.book.last
    }

    /// The instant after a time of [`Books::clock`], in wall-clock time.
    pub fn after(&self, due: Timestamp) -> Timestamp {
        due.plus(self.frozen_for() + 1)
    }

    /// Takes `count` times that follow each other, and returns the first (decision unique-event-times).
    pub fn stamps(&mut self, count: usize) -> Timestamp {
        let first = self.stamp();
        self.book.last = first.plus(i64::try_from(count.saturating_sub(1)).unwrap_or_default());
        first
    }

    /// The time at which events can be sealed next, if there are enough of them.
    pub fn sealing(&self) -> Option<Timestamp> {
        self.book.whole.map(|at| at.plus(self.sealed_after))
    }

    pub fn is_frozen(&self) -> bool {
        self.book.frozen_since.is_some()
    }

    /// Length of all freezes up to now, in microseconds.
    pub fn frozen_for(&self) -> i64 {
        frozen_for(&self.book, self.now)
    }

    /// The time that deadlines of escrows are compared with (decision freeze-stops-clocks).
    pub fn clock(&self) -> Timestamp {
        self.now.plus(-self.frozen_for())
    }

    /// The counts of the minute in which an event happens.
    pub fn counts(&mut self, at: Timestamp) -> Result<&mut Counts> {
        let minute = minute(at);
        if minute != self.book.minute {
            if self.book.counts != Default::default() {
                MINUTES.put(self.space, &(self.book.minute,), &self.book.counts)?;
            }
            self.book.minute = minute;
            self.book.counts = Default::default();
        }
        Ok(&mut self.book.counts)
    }

    /// Notes that the money of a wallet moved. The wallet is now counted in this minute and no longer in the minute in
    /// which it was last seen, so the counts of all minutes of a day add up to the wallets that were active in it.
    fn seen(&mut self, wallet: &mut Wallet, at: Timestamp) -> Result<()> {
        self.counts(at)?.wallets += 1;
        let before = std::mem::replace(&mut wallet.seen, minute(at));
        if before == wallet.seen {
            self.book.counts.wallets = self.book.counts.wallets.saturating_sub(1);
        } else if let Some(mut counts) = MINUTES.get(self.space, &(before,))? {
            counts.wallets = counts.wallets.saturating_sub(1);
            MINUTES.put(self.space, &(before,), &counts)?;
        }
        Ok(())
    }

    pub fn wallet(&self, name: &str) -> Result<Option<Wallet>> {
        if let Some(wallet) = self.wallets.borrow().get(name) {
            return Ok(wallet.clone());
        }
        let wallet = WALLETS.get(self.space, &(name.to_owned(),))?;
        self.wallets.borrow_mut().insert(name.to_owned(), wallet.clone());
        Ok(wallet)
    }

    /// The wallet of a recipient or of somebody who asks for one. A missing wallet is made by the event at that time.
    pub fn ensure(&mut self, name: &str, at: Timestamp, lasting: bool) -> Result<Wallet> {
        if let Some(wallet) = self.wallet(name)? {
            return Ok(wallet);
        }
        let wallet = Wallet {
            balance: 0,
            locked: 0,
            daily_cap: DAILY_CAP,
            per_tx_cap: PER_TX_CAP,
            frozen: false,
            allowlist: None,
            flow: Vec::new(),
            lasting,
            seen: 0,
            created: at,
            updated: at,
        };
        self.book.wallets += 1;
        self.put(name, &wallet)?;
        if !lasting {
            IDLE.put(self.space, &(at.plus(IDLE_LIFE), name.to_owned()), &())?;
        }
        Ok(wallet)
    }

    pub fn put(&mut self, name: &str, wallet: &Wallet) -> Result<()> {
        let after = (wallet.balance, wallet.locked);
        match self.touched.get_mut(name) {
            Some(touched) => touched.after = after,
            None => {
                let before = self.wallet(name)?.map(|wallet| (wallet.balance, wallet.locked));
                self.touched.insert(name.to_owned(), Touched { before, after });
            }
        }
        self.wallets.get_mut().insert(name.to_owned(), Some(wallet.clone()));
        Ok(WALLETS.put(self.space, &(name.to_owned(),), wallet)?)
    }

    /// Changes the money of a wallet that must exist.
    pub fn change(
        &mut self,
        name: &str,
        at: Timestamp,
        change: impl FnOnce(&mut Wallet) -> Result<()>,
    ) -> Result<Wallet> {
        let mut wallet = self.present(name)?;
        change(&mut wallet)?;
        wallet.updated = at;
        self.seen(&mut wallet, at)?;
        self.put(name, &wallet)?;
        Ok(wallet)
    }

    /// Changes a wallet that must exist, by something other than a transfer, escrow or hire, so the wallet does not
    /// count as active. The wallet lasts from then on: if it were removed as idle, it would come back without the
    /// change.
    pub fn rule(&mut self, name: &str, at: Timestamp, change: impl FnOnce(&mut Wallet)) -> Result<Wallet> {
        let mut wallet = self.present(name)?;
        change(&mut wallet);
        wallet.lasting = true;
        wallet.updated = at;
        self.put(name, &wallet)?;
        Ok(wallet)
    }

    fn present(&self, name: &str) -> Result<Wallet> {
        self.wallet(name)?.ok_or_else(|| Error::internal(format!("no wallet {name}")))
    }

    /// Pays into a wallet, which is made where there is none.
    pub fn pay_in(&mut self, name: &str, at: Timestamp, amount: Micro) -> Result<Wallet> {
        self.ensure(name, at, true)?;
        self.change(name, at, |wallet| {
            wallet.balance = plus(wallet.balance, amount)?;
            wallet.lasting = true;
            Ok(())
        })
    }

    /// Grants new money to a wallet if the supply stays within its bound (decision money-supply-bound).
    pub fn grant(&mut self, name: &str, at: Timestamp, amount: Micro) -> Ruled<Wallet> {
        let supply = self.book.supply.checked_add(amount).filter(|supply| *supply <= MAX_SUPPLY);
        self.book.supply = supply.ok_or(Reason::AmountOutOfRange)?;
        let balance = plus(self.ensure(name, at, true)?.balance, amount)?;
        Ok(self.rule(name, at, |wallet| wallet.balance = balance)?)
    }

    /// The wallet of `from`, if it may pay `amount` to `to` now. A transfer is checked against the daily cap first,
    /// everything else against the cap of one payment.
    pub fn payer(&self, from: &str, to: &str, amount: Micro, transfer: bool) -> Ruled<Wallet> {
        let wallet = self.wallet(from)?.ok_or(Reason::SenderNotFound)?;
        ensure(!wallet.frozen, Reason::SenderFrozen)?;
        ensure(wallet.balance >= amount, Reason::InsufficientBalance)?;
        let per_tx = ensure(amount <= wallet.per_tx_cap, Reason::PerTxCapExceeded);
        let spent = self.spent(from, &wallet)?;
        let daily = ensure(spent.saturating_add(amount) <= wallet.daily_cap, Reason::DailyCapExceeded);
        if transfer { daily.and(per_tx) } else { per_tx.and(daily) }?;
        let allowed = wallet.allowlist.as_ref().is_none_or(|list| list.iter().any(|name| name == to));
        ensure(allowed, Reason::RecipientNotAllowed)?;
        Ok(wallet)
    }

    /// The sum that left the wallet at or after 24 hours ago, exact to the microsecond. Whole minutes are added up;
    /// single payments are read only in the first minute (decision cap-window).
    pub fn spent(&self, name: &str, wallet: &Wallet) -> Result<Micro> {
        spent(self.space, self.now, name, wallet)
    }

    /// Counts an outflow of `amount` against the caps of a wallet. The caller writes the event, which has the time
    /// `at`.
    pub fn left(&mut self, at: Timestamp, wallet: &mut Wallet, amount: Micro) -> Result<()> {
        self.seen(wallet, at)?;
        let first = minute(self.now.plus(-DAY));
        wallet.flow.retain(|flow| flow.minute >= first);
        let (minute, last) = (minute(at), u32::try_from(at.0.rem_euclid(MINUTE)).unwrap_or_default());
        self.left_before = match wallet.flow.last_mut() {
            Some(flow) if flow.minute == minute => {
                flow.sum = plus(flow.sum, amount)?;
                Some(std::mem::replace(&mut flow.last, last))
            }
            _ => {
                wallet.flow.push(Minute { minute, sum: amount, last });
                None
            }
        };
        Ok(())
    }

    /// Sends an operation to another actor.
    pub fn send<O: Operation>(&mut self, to: &str, operation: &O) -> Result<()> {
        actor::send(self.space, self.now, to, operation)
    }

    /// Whether the nonce that this id is made of was used.
    pub fn is_used(&self, id: &Id) -> Result<bool> {
        Ok(segment::has(self.space, &self.book, id)? || self.is_burnt(id)?)
    }

    /// Whether a nonce without a row of its own was used.
    pub fn is_burnt(&self, id: &Id) -> Result<bool> {
        Ok(BURNT.contains(self.space, &(*id,))?)
    }

    /// Marks a nonce as used until its envelope can no longer be sent (decision refusal-burns-nonce).
    pub fn burn(&mut self, id: &Id, until: Timestamp) -> Result<()> {
        BURNT.put(self.space, &(*id,), &until)?;
        Ok(BURNT_UNTIL.put(self.space, &(until, *id), &())?)
    }

    /// Removes a wallet that holds nothing, as part of the caller's event.
    pub fn remove(&mut self, name: &str) {
        WALLETS.delete(self.space, &key(name));
        self.wallets.get_mut().insert(name.to_owned(), None);
        self.book.wallets = self.book.wallets.saturating_sub(1);
        self.touched.insert(name.to_owned(), Touched { before: Some((0, 0)), after: (0, 0) });
    }

    /// Writes an event with all changes of wallets since the last event.
    pub fn log(&mut self, at: Timestamp, what: What, actor: &str, note: Note<'_>) -> Result<Event> {
        let difference = |after: Micro, before: Micro| i64::try_from(i128::from(after) - i128::from(before));
        let mut changes = Vec::with_capacity(self.touched.len());
        for (name, Touched { before, after }) in std::mem::take(&mut self.touched) {
            let (balance, locked) = before.unwrap_or_default();
            changes.push(Change {
                name,
                balance: difference(after.0, balance).map_err(Error::internal)?,
                locked: difference(after.1, locked).map_err(Error::internal)?,
                balance_after: after.0,
                locked_after: after.1,
                created: before.is_none(),
            });
        }
        let moved = |of: fn(&Change) -> i64| changes.iter().map(|change| i128::from(of(change))).sum::<i128>();
        self.book.held = moved_by(self.book.held, moved(|change| change.balance))?;
        self.book.locked = moved_by(self.book.locked, moved(|change| change.locked))?;
        log::append(self, at, what, actor, note, changes)
    }
}

/// Closed books. They tell when something is due next.
pub struct ClosedBooks {
    book: Book,
    sealing: Option<Timestamp>,
    /// The clock of deadlines, or the run that can be sealed next, changed.
    shifted: bool,
}

impl ClosedBooks {
    /// The time at which something is due next; `None` if the operation did not change that. Most payments do not.
    pub fn due(&self, turn: &Turn<'_>) -> Result<Option<Timestamp>> {
        let rows = [DUE.number(), BURNT_UNTIL.number(), IDLE.number(), FAUCET_UNTIL.number(), KEPT_UNTIL.number()];
        if self.shifted || turn.touched(|table| rows.contains(&table)) { self.next(turn) } else { Ok(None) }
    }

    /// The time at which something is due next.
    pub fn next(&self, turn: &Turn<'_>) -> Result<Option<Timestamp>> {
        Ok([next(turn, &self.book)?, self.sealing].into_iter().flatten().min())
    }
}

/// The stored state of the whole ledger.
pub fn read(space: &(impl Read + ?Sized)) -> Result<Book> {
    Ok(BOOK.get(space, &())?.unwrap_or_default())
}

/// Length of all freezes up to `now`, in microseconds.
pub fn frozen_for(book: &Book, now: Timestamp) -> i64 {
    book.frozen_for + book.frozen_since.map_or(0, |since| now.since(since).max(0))
}

/// [`Books::spent`] on stored rows.
pub fn spent(space: &(impl Read + ?Sized), now: Timestamp, name: &str, wallet: &Wallet) -> Result<Micro> {
    let start = now.plus(-DAY);
    let first = minute(start);
    let counted = wallet.flow.iter().filter(|flow| flow.minute >= first);
    let sum = counted.clone().try_fold(0, |sum, flow| plus(sum, flow.sum))?;
    let mut next = counted.clone().find(|flow| flow.minute == first).map(|flow| flow.last);
    let mut gone: Micro = 0;
    // Each outflow names the outflow before it, so payments to the wallet in that minute need not be read.
    while let Some(offset) = next {
        let at = Timestamp(i64::from(first).saturating_mul(MINUTE)).plus(i64::from(offset));
        let entry = INDEX.get(space, &(name.to_owned(), Desc(at)))?;
        let entry = entry.ok_or_else(|| Error::internal("an entry of an outflow is missing"))?;
        if at < start {
            gone = plus(gone, entry.outflow())?;
        }
        next = entry.before;
    }
    sum.checked_sub(gone).ok_or_else(|| Error::internal("the outflow of part of a minute exceeds that of the minute"))
}

/// The time at which something must be done next, even if nobody asks for anything.
fn next(space: &(impl Read + ?Sized), book: &Book) -> Result<Option<Timestamp>> {
    let due = match book.frozen_since {
        Some(_) => None,
        None => DUE.first(space, &DUE.range())?.map(|((due, _), ())| due.plus(book.frozen_for + 1)),
    };
    let burnt = BURNT_UNTIL.first(space, &BURNT_UNTIL.range())?.map(|((until, _), ())| until.plus(1));
    let idle = IDLE.first(space, &IDLE.range())?.map(|((until, _), ())| until);
    let faucet = FAUCET_UNTIL.first(space, &FAUCET_UNTIL.range())?.map(|((until, _), ())| until);
    let kept = KEPT_UNTIL.first(space, &KEPT_UNTIL.range())?.map(|((until, _), ())| until);
    Ok([due, burnt, idle, faucet, kept].into_iter().flatten().min())
}

/// A sum of money after a change.
fn moved_by(sum: Micro, change: i128) -> Result<Micro> {
    Micro::try_from(i128::from(sum) + change).map_err(|_| Error::internal("a sum over all wallets would be negative"))
}

/// Adds two amounts. Sums of existing money cannot overflow, so an overflow is a fault of this program.
pub fn plus(a: Micro, b: Micro) -> Result<Micro> {
    a.checked_add(b).filter(|sum| *sum <= MAX_SUPPLY).ok_or_else(|| Error::internal("a sum of money is too large"))
}

/// See [`plus`].
pub fn minus(a: Micro, b: Micro) -> Result<Micro> {
    a.checked_sub(b).ok_or_else(|| Error::internal("a balance would be negative"))
}

/// The key of a name in tables.
pub fn key(name: &str) -> (Name,) {
    (name.to_owned(),)
}
