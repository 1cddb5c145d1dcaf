//! Tests decision reopen-after-failure step by step, on a backend that fails under redb.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{Bench, add, until};
use heliograph::store::fault::Faults;
use heliograph::testing::folder;
use heliograph_core::ErrorCode;
use heliograph_core::engine::actor::host::counter::ReadCounter;

/// Waits until a write succeeds; it counts in the actor `after`.
async fn resumed(bench: &Bench) {
    let started = Instant::now();
    while bench.call("after", &*PLAIN).await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "writes never resumed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn fill(bench: &Bench, actors: usize) {
    for n in 0..actors {
        bench.call(&format!("actor-{n}"), &add(&"x".repeat(4_000))).await.unwrap();
    }
}

/// Decision reopen-after-failure.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_refuses_its_batch_and_recovers_by_reopening() {
    let folder = folder("sync-fault");
    let faults = Arc::new(Faults::default());
    let bench = Bench::faulty_tree(&folder.file("d.redb"), &faults);
    fill(&bench, 60).await;

    // 1. Every call of the batch whose sync fails is refused.
    Faults::set(&faults.syncs, true);
    let batch = (0..8).map(|_| bench.call("actor-1", &*PLAIN)).collect::<Vec<_>>();
    for answer in futures_util::future::join_all(batch).await {
        assert_eq!(answer.unwrap_err().code, ErrorCode::Unavailable);
    }
    // 2. While the disk fails, writes are refused.
    assert_eq!(bench.call("actor-2", &*PLAIN).await.unwrap_err().code, ErrorCode::Unavailable);
    // 3. The disk works again: the file was reopened, a write check succeeded, and reads and writes go on.
    Faults::set(&faults.syncs, false);
    resumed(&bench).await;
    assert!(*bench.heard.reopened.lock().unwrap() >= 1);
    for n in [0, 3, 30, 59] {
        assert_eq!(bench.count(&format!("actor-{n}")), 1);
    }
    // 4. Nothing that was acknowledged is lost, and a refused call counted at most once.
    assert!(bench.count("actor-1") <= 9);
    let bench = bench.restart();
    assert_eq!(bench.count("after"), 1);
    assert_eq!(bench.count("actor-59"), 1);
}

static PLAIN: std::sync::LazyLock<heliograph_core::engine::actor::host::counter::Add> =
    std::sync::LazyLock::new(|| add("x"));

/// Decision reopen-after-failure.
#[tokio::test(flavor = "multi_thread")]
async fn reads_answer_503_until_the_file_is_open_again() {
    let folder = folder("read-503");
    let faults = Arc::new(Faults::default());
    let bench = Bench::faulty_tree(&folder.file("d.redb"), &faults);
    fill(&bench, 60).await;
    // Reopening repairs the file, which writes: with every write failing it cannot be opened.
    Faults::set(&faults.writes, true);
    Faults::set(&faults.syncs, true);
    assert!(bench.call("actor-1", &*PLAIN).await.is_err());
    until("the file to be closed", || !bench.store.is_open()).await;
    let refused = bench.query("actor-5", &ReadCounter).unwrap_err();
    assert_eq!((refused.code, refused.retry_after), (ErrorCode::Unavailable, Some(1)));
    // Writing still fails after the disk can be synced again, so the file stays closed.
    Faults::set(&faults.syncs, false);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!bench.store.is_open());
    Faults::set(&faults.writes, false);
    until("the file to be open", || bench.store.is_open()).await;
    assert_eq!(bench.count("actor-5"), 1);
}

/// Decision reopen-after-failure.
#[tokio::test(flavor = "multi_thread")]
async fn after_reopening_reads_are_served_while_writes_wait_for_the_write_check() {
    let folder = folder("write-check-gate");
    let faults = Arc::new(Faults::default());
    let bench = Bench::faulty_tree(&folder.file("d.redb"), &faults);
    fill(&bench, 10).await;
    // Every opening succeeds, and every sync after it fails: only the write check protects the writers from the disk.
    faults.heal_on_open.store(true, Ordering::SeqCst);
    *bench.heard.on_reopened.lock().unwrap() = Some(Box::new({
        let faults = faults.clone();
        move || Faults::set(&faults.syncs, true)
    }));
    Faults::set(&faults.syncs, true);
    assert!(bench.call("actor-1", &*PLAIN).await.is_err());
    until("some openings", || *bench.heard.reopened.lock().unwrap() >= 3).await;
    let (mut reads, mut writes) = (0, 0);
    for _ in 0..100 {
        reads += u32::from(bench.query("actor-3", &ReadCounter).is_ok_and(|(count, _)| count == 1));
        writes += u32::from(bench.call("actor-3", &*PLAIN).await.is_ok());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(reads > 50, "{reads} of 100 reads were served");
    assert_eq!(writes, 0);
    *bench.heard.on_reopened.lock().unwrap() = None;
    resumed(&bench).await;
    assert_eq!(bench.count("actor-3"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_at_any_single_write_or_sync_loses_nothing_acknowledged() {
    let folder = folder("every-fault");
    for (nth, journal) in (1..40).flat_map(|nth| [(nth, true), (nth, false)]) {
        let faults = Arc::new(Faults::default());
        let path = folder.file(&format!("{nth}-{journal}.redb"));
        let bench = if journal { Bench::faulty(&path, &faults) } else { Bench::faulty_tree(&path, &faults) };
        let (writes, syncs) = (faults.write_count.load(Ordering::SeqCst), faults.sync_count.load(Ordering::SeqCst));
        match nth % 2 {
            0 => faults.nth_write.store(writes + nth, Ordering::SeqCst),
            _ => faults.nth_sync.store(syncs + nth / 4 + 1, Ordering::SeqCst),
        }
        let mut acknowledged = 0;
        let mut refused = 0;
        for _ in 0..12 {
            match bench.call("a", &*PLAIN).await {
                Ok(count) => {
                    acknowledged += 1;
                    assert!(count >= acknowledged, "{nth}");
                }
                Err(error) => {
                    assert_eq!(error.code, ErrorCode::Unavailable);
                    refused += 1;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
        let count = bench.restart().count("a");
        // What the journal refused never counts.
        let most = if journal { acknowledged } else { acknowledged + refused };
        assert!((acknowledged..=most).contains(&count), "{nth} {journal}: {acknowledged} {refused} {count}");
    }
}
