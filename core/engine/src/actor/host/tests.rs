use super::counter::{Add, Forward, Later, Panic, ReadCounter};
use super::*;
use crate::ErrorCode;
use crate::actor::{Kind, Operation, Query, decode, outbox_summary};
use crate::kv::{MemoryStore, Store};
use crate::time::{DAY, HOUR, SECOND};

/// One counter with its rows.
struct Counter {
    id: ActorId,
    store: MemoryStore,
    due: Option<Timestamp>,
}

struct World {
    settings: Settings,
    now: Timestamp,
    seed: u8,
}

impl World {
    fn new() -> (World, Counter, Counter) {
        let counter =
            |name: &str| Counter { id: ActorId::new(Kind::Deployment, name), store: MemoryStore::default(), due: None };
        let world = World { settings: Settings::default(), now: Timestamp::from_seconds(1_000), seed: 0 };
        (world, counter("a"), counter("b"))
    }

    fn on<T>(&mut self, counter: &mut Counter, body: impl FnOnce(&Space<'_>) -> Finished<T>) -> Finished<T> {
        self.seed = self.seed.wrapping_add(1);
        let space = Space {
            program: &crate::testing::PROGRAM,
            actor: &counter.id,
            rows: &counter.store,
            now: self.now,
            seed: [self.seed; 32],
            settings: &self.settings,
        };
        let outcome = body(&space);
        match outcome.due {
            Due::Unchanged => {}
            Due::At(due) => counter.due = Some(due),
            Due::Never => counter.due = None,
        }
        counter.store.apply(outcome.batch.clone()).unwrap();
        outcome
    }

    fn perform<O: Operation>(&mut self, counter: &mut Counter, operation: &O) -> Result<O::Reply> {
        let call = Call::operation(counter.id.name.clone(), operation)?;
        self.on(counter, |space| perform(space, &call)).reply.and_then(|bytes| decode(&bytes))
    }

    fn deliveries(&self, counter: &Counter) -> Vec<Delivery> {
        let work = due_work(&counter.id, &counter.store, self.now).unwrap();
        work.into_iter().filter_map(|piece| if let Work::Deliver(d) = piece { Some(d) } else { None }).collect()
    }

    /// Carries everything that is due from `from` to `to` until nothing is.
    fn carry(&mut self, from: &mut Counter, to: &mut Counter) {
        while let Some(delivery) = self.deliveries(from).pop() {
            let receipt = self.on(to, |space| receive(space, &delivery)).reply.unwrap();
            self.on(from, |space| settle(space, &delivery.call.actor, delivery.sequence, &receipt));
            if matches!(receipt, Receipt::Retry(_)) {
                return;
            }
        }
    }

    fn read(&self, counter: &Counter) -> (u64, Vec<String>) {
        ReadCounter
            .run(&View::new(&crate::testing::PROGRAM, &counter.id, &counter.store, self.now, &self.settings))
            .unwrap()
    }
}

fn add(amount: u64, fail: Option<ErrorCode>) -> Add {
    Add { amount, note: amount.to_string(), fail }
}

#[test]
fn a_failed_operation_leaves_nothing_behind() {
    let (mut world, mut a, _) = World::new();
    assert_eq!(world.perform(&mut a, &add(2, None)).unwrap(), 2);
    let before = a.store.len();
    assert!(world.perform(&mut a, &add(5, Some(ErrorCode::Conflict))).is_err());
    assert_eq!((world.read(&a).0, a.store.len()), (2, before));
}

#[test]
fn messages_arrive_once_and_in_order_however_often_they_are_carried() {
    let (mut world, mut a, mut b) = World::new();
    world.perform(&mut a, &Forward { to: "b".into(), count: 5, fail: None }).unwrap();
    let first = world.deliveries(&a).pop().unwrap();
    for _ in 0..3 {
        let receipt = world.on(&mut b, |space| receive(space, &first)).reply.unwrap();
        assert_eq!(receipt, Receipt::Applied);
    }
    world.carry(&mut a, &mut b);
    // A message that was on its way all the time arrives last.
    world.on(&mut b, |space| receive(space, &first));
    let expected: Vec<String> = (0..5).map(|n| format!("a:{n}")).collect();
    assert_eq!(world.read(&b), (5, expected));
    assert_eq!(a.due, None);
}

/// Decision outbox-order.
#[test]
fn a_refusal_comes_back_as_an_operation_and_does_not_hold_up_the_next() {
    let (mut world, mut a, mut b) = World::new();
    world.perform(&mut a, &Forward { to: "b".into(), count: 2, fail: Some(ErrorCode::NotFound) }).unwrap();
    world.carry(&mut a, &mut b);
    assert_eq!(world.read(&b).0, 0);
    assert_eq!(world.read(&a).1, ["refused 0", "refused 1"]);
}

/// Decision outbox-order.
#[test]
fn a_failing_target_is_retried_with_growing_waits_and_parked_after_seven_days() {
    let (mut world, mut a, mut b) = World::new();
    world.perform(&mut a, &Forward { to: "b".into(), count: 1, fail: Some(ErrorCode::Unavailable) }).unwrap();
    let sent = world.now;
    let mut waits = Vec::new();
    while let Some(due) = a.due {
        world.now = world.now.max(due);
        world.carry(&mut a, &mut b);
        if let Some(next) = a.due {
            waits.push(next.since(world.now));
        }
    }
    assert!((SECOND / 2..=SECOND).contains(&waits[0]), "{waits:?}");
    assert!((2 * SECOND..=4 * SECOND).contains(&waits[2]), "{waits:?}");
    assert!(waits.iter().all(|wait| *wait <= HOUR));
    assert!(world.now.since(sent) >= 7 * DAY);
    let view = View::new(&crate::testing::PROGRAM, &a.id, &a.store, world.now, &world.settings);
    let summary = outbox_summary(&view).unwrap();
    assert_eq!((summary.waiting, summary.parked), (0, 1));
}

#[test]
fn a_timer_fires_when_due_and_a_second_schedule_replaces_the_first() {
    let (mut world, mut a, _) = World::new();
    let later = |due, amount| Later { key: "k".into(), due, add: add(amount, None) };
    let first = world.now.plus(10 * SECOND);
    world.perform(&mut a, &later(first, 1)).unwrap();
    world.perform(&mut a, &later(first.plus(SECOND), 2)).unwrap();
    assert_eq!(a.due, Some(first.plus(SECOND)));
    world.now = first;
    assert_eq!(due_work(&a.id, &a.store, world.now).unwrap(), []);
    world.on(&mut a, |space| fire(space, "k"));
    assert_eq!(world.read(&a).0, 0, "an early wake-up runs nothing");
    world.now = first.plus(SECOND);
    assert_eq!(due_work(&a.id, &a.store, world.now).unwrap(), [Work::Timer("k".into())]);
    world.on(&mut a, |space| fire(space, "k"));
    world.on(&mut a, |space| fire(space, "k"));
    assert_eq!((world.read(&a).0, a.due), (2, None));
}

#[test]
fn a_timer_whose_operation_fails_stays_for_later() {
    let (mut world, mut a, _) = World::new();
    let later = Later { key: "k".into(), due: world.now, add: add(1, Some(ErrorCode::Unavailable)) };
    world.perform(&mut a, &later).unwrap();
    for _ in 0..3 {
        world.now = a.due.unwrap();
        assert!(world.on(&mut a, |space| fire(space, "k")).reply.is_err());
        assert!(a.due.unwrap() > world.now);
    }
}

/// Decision published-documents.
#[test]
fn a_document_is_published_at_most_once_per_interval_and_then_shows_the_latest_state() {
    let (mut world, mut a, _) = World::new();
    let mark = |world: &mut World, a: &mut Counter| {
        world.on(a, |space| run(space, |turn| turn.publish("probe"))).reply.unwrap();
    };
    world.perform(&mut a, &add(1, None)).unwrap();
    mark(&mut world, &mut a);
    assert_eq!(a.due, Some(world.now), "the first publication does not wait");
    let document = world.on(&mut a, |space| publish(space, "probe")).reply.unwrap().unwrap();
    assert_eq!((&document.body[..], document.generation), (&br#"{"count":1,"generation":1}"#[..], 1));
    world.perform(&mut a, &add(1, None)).unwrap();
    mark(&mut world, &mut a);
    world.perform(&mut a, &add(1, None)).unwrap();
    mark(&mut world, &mut a);
    assert_eq!(a.due, Some(world.now.plus(10 * SECOND)));
    world.now = a.due.unwrap();
    let document = world.on(&mut a, |space| publish(space, "probe")).reply.unwrap().unwrap();
    assert_eq!((&document.body[..], document.generation), (&br#"{"count":3,"generation":2}"#[..], 2));
    assert_eq!(world.on(&mut a, |space| publish(space, "probe")).reply.unwrap(), None);
    assert_eq!(a.due, None);
}

#[test]
fn the_same_seed_time_and_rows_give_the_same_outcome() {
    let outcome = || {
        let (mut world, mut a, _) = World::new();
        world.perform(&mut a, &Forward { to: "b".into(), count: 3, fail: None }).unwrap();
        let all = crate::kv::Range::all();
        a.store.scan(&all, crate::kv::Direction::Ascending, 1_000).unwrap()
    };
    assert_eq!(outcome(), outcome());
}

#[test]
fn calls_that_nobody_serves_or_cannot_be_read_are_our_fault_not_a_panic() {
    let (mut world, mut a, _) = World::new();
    for (name, arguments) in [("no_such", vec![]), ("probe_add", vec![255]), ("probe_read", vec![])] {
        let call = Call { actor: a.id.clone(), name: name.into(), arguments };
        let reply = world.on(&mut a, |space| perform(space, &call)).reply;
        assert!(name == "probe_read" || reply.unwrap_err().code == ErrorCode::Internal);
    }
    let _ = Panic;
}

/// Rows of before they had a version.
fn earlier(counter: &mut Counter) {
    let mut batch = Batch::default();
    batch.put(vec![200], crate::kv::encode_row(&5_u64).unwrap());
    counter.store.apply(batch).unwrap();
}

/// Decision schema-versions.
#[test]
fn rows_of_an_earlier_version_are_brought_to_the_present_one_exactly_once() {
    let (mut world, mut a, _) = World::new();
    earlier(&mut a);
    assert_eq!(schema::SCHEMA.get(&a.store, &()).unwrap(), None);
    let failed = world.perform(&mut a, &add(1, Some(ErrorCode::Conflict)));
    assert!(failed.is_err(), "what stops the operation stops the migration");
    assert_eq!(schema::SCHEMA.get(&a.store, &()).unwrap(), None);
    assert_eq!(world.perform(&mut a, &add(1, None)).unwrap(), 501);
    assert_eq!(world.perform(&mut a, &add(1, None)).unwrap(), 502);
    assert_eq!(schema::SCHEMA.get(&a.store, &()).unwrap(), Some(schema::VERSION));
}

/// Decision schema-versions.
#[test]
fn a_query_that_comes_before_the_first_operation_sees_the_present_shape() {
    let (world, mut a, _) = World::new();
    earlier(&mut a);
    let call = Call::query("a", &ReadCounter).unwrap();
    let ask = |a: &Counter| {
        let view = View::new(&crate::testing::PROGRAM, &a.id, &a.store, world.now, &world.settings);
        decode::<(u64, Vec<String>)>(&answer(&view, &call).unwrap()).unwrap().0
    };
    assert_eq!((ask(&a), ask(&a)), (500, 500));
    assert_eq!(a.store.len(), 1, "nothing was stored");
}

/// Decision schema-versions.
#[test]
fn rows_of_a_newer_version_are_left_alone() {
    let (mut world, mut a, mut b) = World::new();
    let mut batch = Batch::default();
    batch.put(vec![14], crate::kv::encode_row(&(schema::VERSION + 1)).unwrap());
    b.store.apply(batch).unwrap();
    let before = b.store.clone().scan(&crate::kv::Range::all(), crate::kv::Direction::Ascending, 9).unwrap();
    let error = world.perform(&mut b, &add(1, None)).unwrap_err();
    assert!(error.message.contains("newer version"), "{error}");
    // A message to it is kept until somebody can take it, never refused for good.
    world.perform(&mut a, &Forward { to: "b".into(), count: 1, fail: None }).unwrap();
    world.carry(&mut a, &mut b);
    let view = View::new(&crate::testing::PROGRAM, &a.id, &a.store, world.now, &world.settings);
    assert_eq!(outbox_summary(&view).unwrap().waiting, 1);
    assert_eq!(b.store.scan(&crate::kv::Range::all(), crate::kv::Direction::Ascending, 9).unwrap(), before);
}

#[test]
fn a_closed_deployment_changes_nothing() {
    let (mut world, mut a, mut b) = World::new();
    world.perform(&mut a, &Forward { to: "b".into(), count: 1, fail: None }).unwrap();
    world.settings.closed = true;
    assert_eq!(world.perform(&mut a, &add(1, None)).unwrap_err().code, ErrorCode::Unavailable);
    let delivery = world.deliveries(&a).pop().unwrap();
    let receipt = world.on(&mut b, |space| receive(space, &delivery)).reply.unwrap();
    assert!(matches!(receipt, Receipt::Retry(_)));
    assert!(b.store.is_empty());
}
