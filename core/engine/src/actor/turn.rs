//! What an operation or a query sees.

use std::cell::Cell;
use std::collections::BTreeSet;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::{ActorId, Call, FIRST_OWN_TABLE, Memo, Operation, outbox, timers};
use crate::kv::{Direction, Overlay, Pair, Range, Read, Room, StoreError, Table, Visit, Write};
use crate::program::Program;
use crate::settings::Settings;
use crate::{Result, Timestamp};

/// One run of an operation: the actor's rows with its own changes on top, the time, randomness, and the ways to cause
/// effects. Everything it does is undone when the operation fails.
pub struct Turn<'a> {
    pub now: Timestamp,
    pub settings: &'a Settings,
    pub program: &'static Program,
    actor: &'a ActorId,
    overlay: Overlay<'a>,
    /// The derived tables of which rows were put or deleted through their `Table`.
    derived: BTreeSet<u8>,
    rng: ChaCha20Rng,
    wake: bool,
    outgoing: Vec<String>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        program: &'static Program,
        actor: &'a ActorId,
        base: &'a dyn Read,
        now: Timestamp,
        seed: [u8; 32],
        settings: &'a Settings,
    ) -> Self {
        Turn {
            now,
            settings,
            program,
            actor,
            overlay: Overlay::new(base),
            derived: BTreeSet::new(),
            rng: ChaCha20Rng::from_seed(seed),
            wake: false,
            outgoing: Vec::new(),
        }
    }

    /// The actor this runs on.
    pub fn actor(&self) -> &ActorId {
        self.actor
    }

    /// Random bytes; the same for the same seed.
    pub fn random<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.rng.fill_bytes(&mut bytes);
        bytes
    }

    /// Sends an operation to another actor: delivered at least once, applied exactly once, in the order of sending.
    /// A final refusal by the receiver is dropped; use [`Turn::send_or`] where it matters.
    pub fn send<O: Operation>(&mut self, to: impl Into<String>, operation: &O) -> Result<()> {
        let now = self.now;
        outbox::send(self, now, to, operation)
    }

    /// As [`Turn::send`]; when the receiver refuses for good, `on_rejected` runs on this actor.
    pub fn send_or<O: Operation, P: Operation>(
        &mut self,
        to: impl Into<String>,
        operation: &O,
        on_rejected: &P,
    ) -> Result<()> {
        let call = Call::operation(to, operation)?;
        let back = Call::operation(self.actor.name.clone(), on_rejected)?;
        let now = self.now;
        outbox::enqueue(self, now, call, Some(back))
    }

    /// Runs `operation` on this actor at `due` or soon after. A second schedule under the same key replaces the first.
    pub fn schedule<O: Operation>(&mut self, key: &str, due: Timestamp, operation: &O) -> Result<()> {
        let call = Call::operation(self.actor.name.clone(), operation)?;
        timers::schedule(self, key, due, call)
    }

    /// As [`Turn::schedule`], for operations that actors of several kinds have.
    pub fn schedule_call(&mut self, key: &str, due: Timestamp, call: Call) -> Result<()> {
        timers::schedule(self, key, due, call)
    }

    /// When the timer under this key is due, if it is set.
    pub fn scheduled(&self, key: &str) -> Result<Option<Timestamp>> {
        timers::due(self, key)
    }

    pub fn cancel(&mut self, key: &str) -> Result<()> {
        timers::cancel(self, key)
    }

    /// Marks a document of this actor as changed; it is published at most once per `publish_interval`.
    pub fn publish(&mut self, document: &str) -> Result<()> {
        crate::documents::mark(self, document)
    }

    /// Wakes the streams open on this actor once the changes are durable. No data travels with it.
    pub fn wake(&mut self) {
        self.wake = true;
    }

    /// Asks for the request to somebody else that the actor's rows describe under `key`, once the changes are durable
    /// ([`crate::runtime::reach_out`]). It is a wish and may get lost: whoever asks keeps a timer that asks again.
    pub fn reach_out(&mut self, key: String) {
        self.outgoing.push(key);
    }

    /// Whether a row of one of these tables was changed.
    pub fn touched(&self, is_one: impl Fn(u8) -> bool) -> bool {
        let changes = self.overlay.changes();
        changes.iter().any(|(key, _)| key.first().is_some_and(|table| is_one(*table)))
    }

    /// Rows changed so far.
    pub(super) fn changes(&self) -> usize {
        self.overlay.changes().len()
    }

    /// Counts the changes of this run, if its kind counts any, for [`View::revision`] and [`View::basis`].
    pub(super) fn revise(&mut self) -> Result<()> {
        let kind = self.actor.kind;
        let told = |table: u8| table >= FIRST_OWN_TABLE && !self.derived.contains(&table);
        let counter = match () {
            () if kind.counts_revisions() && self.touched(told) => REVISION,
            () if kind.counts_derived() && self.touched(|table| self.derived.contains(&table)) => DERIVED,
            () => return Ok(()),
        };
        let count = counter.get(self, &())?.unwrap_or_default();
        Ok(counter.put(self, &(), &(count + 1))?)
    }

    pub(super) fn finish(self) -> (crate::kv::Batch, bool, Vec<String>) {
        (self.overlay.into_batch(), self.wake, self.outgoing)
    }

    /// The same state, for code that serves queries too.
    pub fn view(&self) -> View<'_> {
        View::new(self.program, self.actor, &self.overlay, self.now, self.settings)
    }
}

impl Read for Turn<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.overlay.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.overlay.scan(range, direction, limit)
    }

    fn room(&self) -> Option<Room> {
        self.overlay.room()
    }
}

impl Write for Turn<'_> {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.overlay.put(key, value);
    }

    fn delete(&mut self, key: Vec<u8>) {
        self.overlay.delete(key);
    }

    fn of_table(&mut self, number: u8, derived: bool, types: &'static str) {
        if cfg!(debug_assertions) {
            super::tables::claim(self.actor.kind, number, derived, types);
        }
        if derived {
            self.derived.insert(number);
        }
    }
}

/// Count of the changes of rows that are not derived, where the kind counts them ([`super::Kind::counts_revisions`]).
const REVISION: Table<(), u64> = Table::new(13);

/// Count of the changes of derived rows alone, where the kind counts them ([`super::Kind::counts_derived`]).
const DERIVED: Table<(), u64> = Table::new(15);

/// One run of a query: the actor's rows as of a snapshot.
pub struct View<'a> {
    pub now: Timestamp,
    pub settings: &'a Settings,
    pub program: &'static Program,
    pub(super) actor: &'a ActorId,
    pub(super) base: &'a dyn Read,
    memo: Option<&'a Memo>,
    revision: Cell<Option<u64>>,
    tables: Tables,
}

/// What a view knows of its tables by their numbers. A question about many things looks for each of them in tables that are
/// empty in most actors, and finding nothing costs as much as finding something.
struct Tables([Cell<Rows>; 256]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Nothing was missed so far.
    Unknown,
    /// Something was, once.
    Missed,
    None,
    Some,
}

impl Tables {
    fn are_empty(&self, table: Option<u8>) -> bool {
        self.of(table).is_some_and(|rows| rows.get() == Rows::None)
    }

    fn of(&self, table: Option<u8>) -> Option<&Cell<Rows>> {
        self.0.get(usize::from(table?))
    }

    /// Something was not there. Whoever misses twice will miss more: then it is worth to look whether there is anything.
    fn missed(&self, table: Option<u8>, base: &dyn Read) -> Result<(), StoreError> {
        let Some((rows, table)) = self.of(table).zip(table) else { return Ok(()) };
        match rows.get() {
            Rows::Unknown => rows.set(Rows::Missed),
            Rows::Missed => {
                let found = base.scan(&Range::prefix(&[table]), Direction::Ascending, 1)?;
                rows.set(if found.is_empty() { Rows::None } else { Rows::Some });
            }
            Rows::None | Rows::Some => {}
        }
        Ok(())
    }
}

/// The table that all keys of a range are of.
fn table_of(range: &Range) -> Option<u8> {
    let first = *range.start.first()?;
    let end = range.end.as_deref()?;
    let within = match end {
        [table] => *table <= first.saturating_add(1),
        [table, ..] => *table == first,
        [] => true,
    };
    within.then_some(first)
}

impl<'a> View<'a> {
    pub fn new(
        program: &'static Program,
        actor: &'a ActorId,
        base: &'a dyn Read,
        now: Timestamp,
        settings: &'a Settings,
    ) -> Self {
        let tables = Tables(std::array::from_fn(|_| Cell::new(Rows::Unknown)));
        View { now, settings, program, actor, base, memo: None, revision: Cell::new(None), tables }
    }

    /// The same with answers of the same actor from before.
    pub fn remembering(self, memo: &'a Memo) -> Self {
        View { memo: Some(memo), ..self }
    }

    pub fn memo(&self) -> Option<&'a Memo> {
        self.memo
    }

    pub fn actor(&self) -> &ActorId {
        self.actor
    }

    /// Another one whenever a row of the actor is that it did not make from others ([`Table::derived`]).
    pub fn revision(&self) -> Result<u64> {
        if let Some(known) = self.revision.get() {
            return Ok(known);
        }
        let revision = REVISION.get(&self.base, &())?.unwrap_or_default();
        self.revision.set(Some(revision));
        Ok(revision)
    }

    /// Another one whenever a row of the actor is that a document may show.
    pub fn basis(&self) -> Result<(u64, u64)> {
        Ok((self.revision()?, DERIVED.get(&self.base, &())?.unwrap_or_default()))
    }

    /// The same with rows of another place.
    pub fn over<'b>(&'b self, rows: &'b dyn Read) -> View<'b> {
        let view = View::new(self.program, self.actor, rows, self.now, self.settings);
        // What is missing in a table may stand elsewhere.
        View { tables: Tables(std::array::from_fn(|_| Cell::new(Rows::Some))), ..view }
    }

    /// The same rows at another time.
    pub fn as_of(&self, now: Timestamp) -> View<'a> {
        View { memo: self.memo, ..View::new(self.program, self.actor, self.base, now, self.settings) }
    }

    /// When the timer under this key is due, if it is set.
    pub fn scheduled(&self, key: &str) -> Result<Option<Timestamp>> {
        timers::due(&self.base, key)
    }
}

impl Read for View<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let table = key.first().copied();
        if self.tables.are_empty(table) {
            return Ok(None);
        }
        let found = self.base.get(key)?;
        if found.is_none() {
            self.tables.missed(table, self.base)?;
        }
        Ok(found)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        let table = table_of(range);
        if self.tables.are_empty(table) {
            return Ok(Vec::new());
        }
        let found = self.base.scan(range, direction, limit)?;
        if found.is_empty() {
            self.tables.missed(table, self.base)?;
        }
        Ok(found)
    }

    fn visit(&self, range: &Range, direction: Direction, page: usize, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        let table = table_of(range);
        if self.tables.are_empty(table) {
            return Ok(());
        }
        let mut found = false;
        self.base.visit(range, direction, page, &mut |key, value| {
            found = true;
            visit(key, value)
        })?;
        if !found {
            self.tables.missed(table, self.base)?;
        }
        Ok(())
    }

    fn room(&self) -> Option<Room> {
        self.base.room()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::{Batch, MemoryStore, Store};
    use std::cell::RefCell;

    /// Counts what it is asked.
    struct Counting<'a>(&'a MemoryStore, RefCell<u32>);

    impl Read for Counting<'_> {
        fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
            *self.1.borrow_mut() += 1;
            self.0.get(key)
        }

        fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
            *self.1.borrow_mut() += 1;
            self.0.scan(range, direction, limit)
        }
    }

    #[test]
    fn a_view_asks_no_more_of_a_table_that_is_empty_and_finds_all_that_is_in_others() {
        let mut store = MemoryStore::default();
        let mut batch = Batch::default();
        for n in 0..9 {
            batch.put(vec![20, n], vec![n]);
        }
        batch.put(vec![23, 5], vec![5]);
        store.apply(batch).unwrap();
        let counting = Counting(&store, RefCell::new(0));
        let (actor, settings) = (ActorId::sole(super::super::Kind::World), Settings::default());
        let view = View::new(&crate::testing::PROGRAM, &actor, &counting, Timestamp(0), &settings);
        let scan = |start: &[u8]| view.scan(&Range::prefix(start), Direction::Ascending, 99).unwrap().len();
        for n in 0..100 {
            assert_eq!((view.get(&[21, n]).unwrap(), scan(&[22, n])), (None, 0));
            assert_eq!(view.get(&[20, n]).unwrap().is_some(), n < 9);
            assert_eq!((scan(&[20, n]), scan(&[20]), scan(&[21])), (usize::from(n < 9), 9, 0));
            // A range over several tables is none of the first.
            let wide = Range { start: vec![21], end: Some(vec![23, 9]) };
            assert_eq!(view.scan(&wide, Direction::Descending, 99).unwrap().len(), 1);
            let open = Range { start: vec![22], end: None };
            assert_eq!(view.scan(&open, Direction::Ascending, 99).unwrap().len(), 1);
        }
        // Of the empty tables at most two questions each and one look, of the other all.
        assert!(*counting.1.borrow() <= 500 + 7, "{}", counting.1.borrow());
    }
}
