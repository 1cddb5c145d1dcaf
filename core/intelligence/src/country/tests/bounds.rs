//! The cost of one turn is bounded. A step of the edge has 30 s of CPU and 128 MB, so a large import is processed in
//! many turns.

use std::cell::Cell;

use super::rows::fold;
use crate::Timestamp;
use engine::actor::ActorId;
use engine::actor::Kind;
use engine::actor::host::{self, MAX_ROWS, Space, Work};
use engine::kv::{Direction, MemoryStore, Pair, Range, Read, Store, StoreError};
use engine::settings::Settings;
use facts::measurement::outcome::Judgement;
use facts::measurement::{Contribution, Form, Outcome, Parsed, TargetKey, Witness};
use facts::verdict::RuleId;

/// Sites of the largest country that the service is planned for.
const SITES: u32 = 2_000;
/// Most rows that a turn may read: twice the latest verdict on every site, and the rows needed to judge some of them.
const MOST_READ: usize = 3 * SITES as usize;

/// Counts the rows that are read.
struct CountingStore<'a> {
    store: &'a MemoryStore,
    rows: Cell<usize>,
}

impl Read for CountingStore<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.rows.set(self.rows.get() + 1);
        self.store.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        let rows = self.store.scan(range, direction, limit)?;
        self.rows.set(self.rows.get() + rows.len());
        Ok(rows)
    }
}

/// Measurements of every site on three networks, at noon of two days before.
fn import(now: Timestamp) -> Vec<Parsed> {
    let measurement = |site: u32, network: u32| {
        let number = u64::from(site * 3 + network).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Parsed {
            country: *b"KE",
            asn: Some(100 + network),
            time: now.plus(-2 * engine::time::DAY),
            identity: number.to_be_bytes(),
            form: Form::Observation,
            vote_key: network,
            row_hash: site * 3 + network,
            contributions: vec![Contribution {
                target: TargetKey::from_stored(format!("site-{site}.example")),
                outcome: Outcome::Judged(Judgement { rule: RuleId::TlsValid, technique: None }),
            }],
            primary: Some(0),
            witness: Witness::Uid(String::new()),
        }
    };
    (0..SITES).flat_map(|site| (0..3).map(move |network| measurement(site, network))).collect()
}

/// Each step on the edge stays inside its limits because the work is split. The host itself checks `fold`: an operation
/// that changes more than a thousand rows fails.
#[test]
fn a_large_import_is_worked_off_in_turns_of_bounded_size() {
    let actor = ActorId::new(Kind::Country, "KE");
    let settings = Settings::default();
    let now = Timestamp(1_800_000_000_000_000);
    let mut store = MemoryStore::default();
    fold(&mut store, &import(now));
    let later = now.plus(60 * engine::time::SECOND);
    let (mut turns, mut most_read, mut most_changed) = (0, 0, 0);
    loop {
        let work = host::due_work(&actor, &store, later).unwrap();
        let Some(key) = work.into_iter().find_map(|work| match work {
            Work::Timer(key) => Some(key),
            _ => None,
        }) else {
            break;
        };
        let counted = CountingStore { store: &store, rows: Cell::new(0) };
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &counted,
            now: later,
            seed: [1; 32],
            settings: &settings,
        };
        let outcome = host::fire(&space, &key);
        outcome.reply.unwrap();
        turns += 1;
        most_read = most_read.max(counted.rows.get());
        most_changed = most_changed.max(outcome.batch.len());
        store.apply(outcome.batch).unwrap();
        assert!(turns <= SITES, "the work never ends");
    }
    assert!(turns >= SITES / 20, "{turns} turns");
    assert!(most_changed <= MAX_ROWS / 4, "{most_changed} rows changed in one turn");
    assert!(most_read <= MOST_READ, "{most_read} rows read in one turn");
}
