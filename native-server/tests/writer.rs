//! The writer on the real engine: group commit, isolation of failures, and effects and timers over restarts.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::time::Duration;

use common::{Bench, add, failing_add, until};
use heliograph::clock;
use heliograph::testing::folder;
use heliograph_core::ErrorCode;
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::actor::View;
use heliograph_core::engine::actor::host::counter::{Forward, Later, Panic, PanicLater};
use heliograph_core::engine::actor::{ActorId, Call, Kind, outbox_summary};

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_a_crowded_commit_is_answered_and_sees_the_ones_before_it() {
    let folder = folder("crowd");
    let bench = Bench::open(&folder.file("d.redb"));
    let calls: Vec<_> = (0..500).map(|n| Call::operation("crowd", &add(&n.to_string())).unwrap()).collect();
    let answers = futures_util::future::join_all(calls.into_iter().map(|call| bench.writer.call(call))).await;
    let mut seen: Vec<u64> =
        answers.into_iter().map(|answer| heliograph_core::engine::actor::decode(&answer.unwrap()).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=500).collect::<Vec<u64>>());
    assert_eq!(bench.count("crowd"), 500);
    assert_eq!(bench.restart().count("crowd"), 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_more_than_waits_in_memory_loses_none_of_its_rows() {
    let folder = folder("large-crowd");
    let bench = Bench::open(&folder.file("d.redb"));
    let notes: Vec<String> = (0..600).map(|n| format!("{n} {}", "x".repeat(4_000))).collect();
    let calls = notes.iter().map(|note| Call::operation("crowd", &add(note)).unwrap());
    let answers = futures_util::future::join_all(calls.map(|call| bench.writer.call(call))).await;
    let mut seen: Vec<u64> =
        answers.into_iter().map(|answer| heliograph_core::engine::actor::decode(&answer.unwrap()).unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=600).collect::<Vec<u64>>());
    let bench = bench.restart();
    let (count, mut kept) = bench.counter("crowd");
    kept.sort_unstable();
    let mut notes = notes;
    notes.sort_unstable();
    assert!((count, kept) == (600, notes), "{count} of 600 are counted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_operation_leaves_nothing_and_fails_no_other() {
    let folder = folder("failed");
    let bench = Bench::open(&folder.file("d.redb"));
    let (good, bad) = (add("good"), failing_add(ErrorCode::Conflict));
    let (first, failed, second) = tokio::join!(bench.call("a", &good), bench.call("a", &bad), bench.call("a", &good));
    assert_eq!(failed.unwrap_err().code, ErrorCode::Conflict);
    first.unwrap();
    second.unwrap();
    assert_eq!(bench.counter("a"), (2, vec!["good".into(), "good".into()]));
}

/// Decision bounded-commits.
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_answers_500_and_fails_no_other() {
    let folder = folder("panic");
    let bench = Bench::open(&folder.file("d.redb"));
    let good = add("good");
    let (first, panicked, second) =
        tokio::join!(bench.call("a", &good), bench.call("a", &Panic), bench.call("a", &good));
    assert_eq!(panicked.unwrap_err().code, ErrorCode::Internal);
    first.unwrap();
    second.unwrap();
    assert_eq!(bench.count("a"), 2);
    bench.call("b", &good).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_are_applied_when_the_answer_arrives() {
    let folder = folder("effects");
    let bench = Bench::open(&folder.file("d.redb"));
    bench.call("a", &Forward { to: "b".into(), count: 3, fail: None }).await.unwrap();
    assert_eq!(bench.counter("b"), (3, vec!["a:0".into(), "a:1".into(), "a:2".into()]));
    assert_eq!(bench.store.earliest().unwrap(), None, "nothing is left to do");
    until("the news", || bench.heard.woken.lock().unwrap().contains(&"deployment/b".to_owned())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_effect_returns_to_its_source_in_the_same_commit() {
    let folder = folder("refused");
    let bench = Bench::open(&folder.file("d.redb"));
    bench.call("a", &Forward { to: "b".into(), count: 2, fail: Some(ErrorCode::Conflict) }).await.unwrap();
    assert_eq!(bench.counter("a"), (0, vec!["refused 0".into(), "refused 1".into()]));
    assert_eq!(bench.count("b"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_effects_than_a_commit_carries_all_arrive_in_order() {
    let folder = folder("fan-out");
    let bench = Bench::open(&folder.file("d.redb"));
    bench.call("a", &Forward { to: "b".into(), count: 300, fail: None }).await.unwrap();
    until("all effects", || bench.count("b") == 300).await;
    let expected: Vec<String> = (0..300).map(|n| format!("a:{n}")).collect();
    assert_eq!(bench.counter("b").1, expected);
    until("an empty outbox", || bench.store.earliest().unwrap().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_left_in_the_outbox_arrive_after_a_stop_at_once_exactly_once() {
    let folder = folder("outbox-restart");
    let bench = Bench::open(&folder.file("d.redb"));
    bench.call("a", &Forward { to: "b".into(), count: 400, fail: None }).await.unwrap();
    // The server stops while most of the messages still wait.
    let bench = bench.restart();
    until("all effects", || bench.count("b") >= 400).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(bench.count("b"), 400);
    let actor = ActorId::new(Kind::Deployment, "a");
    let left = bench
        .store
        .read_actor(&actor, |rows| outbox_summary(&View::new(&PROGRAM, &actor, rows, clock::now(), &bench.settings)))
        .unwrap();
    assert_eq!((left.waiting, left.parked), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_fire_when_due_and_survive_a_restart() {
    let folder = folder("timers");
    let bench = Bench::open(&folder.file("d.redb"));
    let soon = clock::now().plus(100_000);
    let later = clock::now().plus(700_000);
    for (key, due) in [("soon", soon), ("later", later)] {
        bench.call("a", &Later { key: key.into(), due, add: add(key) }).await.unwrap();
    }
    assert_eq!(bench.count("a"), 0);
    until("the first timer", || bench.count("a") == 1).await;
    assert!(clock::now() >= soon);
    let bench = bench.restart();
    assert_eq!(bench.counter("a").1, ["soon"]);
    until("the second timer", || bench.count("a") == 2).await;
    assert!(clock::now() >= later);
    assert_eq!(bench.store.earliest().unwrap(), None);
}

/// Follow-up work yields to clients, but they never starve it.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_follows_by_itself_goes_on_while_clients_never_stop() {
    let folder = folder("yields");
    let bench = Bench::open(&folder.file("d.redb"));
    let (number, due) = (200, clock::now().plus(500_000));
    for at in 0..number {
        bench.call(&format!("t{at}"), &Later { key: "k".into(), due, add: add("timer") }).await.unwrap();
    }
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while (0..number).any(|at| bench.count(&format!("t{at}")) == 0) {
        assert!(std::time::Instant::now() < end, "timers are starved");
        for _ in 0..20 {
            bench.call("client", &add("client")).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timer_that_was_due_while_the_server_was_down_fires_at_start() {
    let folder = folder("overdue");
    let bench = Bench::open(&folder.file("d.redb"));
    let due = clock::now().plus(150_000);
    bench.call("a", &Later { key: "k".into(), due, add: add("k") }).await.unwrap();
    let path = bench.store.path().to_owned();
    bench.thread.stop();
    drop((bench.writer, bench.store));
    tokio::time::sleep(Duration::from_millis(300)).await;
    let bench = Bench::open(&path);
    until("the overdue timer", || bench.count("a") == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_timer_is_put_off_and_holds_up_no_other() {
    let folder = folder("failing-timer");
    let bench = Bench::open(&folder.file("d.redb"));
    let due = clock::now().plus(50_000);
    let failing = Later { key: "bad".into(), due, add: failing_add(ErrorCode::Internal) };
    bench.call("a", &failing).await.unwrap();
    bench.call("b", &Later { key: "good".into(), due: due.plus(1), add: add("good") }).await.unwrap();
    until("the good timer", || bench.count("b") == 1).await;
    assert_eq!(bench.count("a"), 0);
    // The core's backoff is at least half a second.
    assert!(bench.store.earliest().unwrap().unwrap() > clock::now());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_timer_does_not_spin_and_stops_neither_its_actor_nor_others() {
    let folder = folder("panicking-timer");
    let bench = Bench::open(&folder.file("d.redb"));
    let due = clock::now().plus(30_000);
    bench.call("a", &PanicLater { due }).await.unwrap();
    bench.call("b", &Later { key: "k".into(), due: due.plus(1), add: add("k") }).await.unwrap();
    until("the other actor's timer", || bench.count("b") == 1).await;
    // The row is still there, so without a pause it would be due again and again.
    let next = bench.store.earliest().unwrap().unwrap();
    assert!(next > clock::now(), "the panicking timer is due at once");
    bench.call("a", &add("on")).await.unwrap();
    assert_eq!(bench.count("a"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn actors_whose_names_begin_alike_do_not_share_rows() {
    let folder = folder("names");
    let bench = Bench::open(&folder.file("d.redb"));
    for name in ["a", "a\0", "aa", "a/b"] {
        bench.call(name, &add(name)).await.unwrap();
    }
    for name in ["a", "a\0", "aa", "a/b"] {
        assert_eq!(bench.counter(name), (1, vec![name.to_owned()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_writer_finishes_what_it_took_and_refuses_the_rest() {
    let folder = folder("stopping");
    let bench = Bench::open(&folder.file("d.redb"));
    let calls: Vec<_> = (0..50)
        .map(|n| {
            let writer = bench.writer.clone();
            let call = Call::operation("a", &add(&n.to_string())).unwrap();
            tokio::spawn(async move { writer.call(call).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(20)).await;
    bench.thread.stop();
    let answers = futures_util::future::join_all(calls).await;
    let applied = answers.iter().filter(|answer| answer.as_ref().unwrap().is_ok()).count() as u64;
    assert_eq!(applied, 50);
    let late = bench.writer.call(Call::operation("a", &add("late")).unwrap()).await;
    assert_eq!(late.unwrap_err().code, ErrorCode::Unavailable);
    let path = bench.store.path().to_owned();
    drop((bench.writer, bench.store));
    assert_eq!(Bench::open(&path).count("a"), applied);
}
