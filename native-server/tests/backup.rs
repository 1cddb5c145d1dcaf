//! A backup taken while the writer works is one consistent state (decision commands-on-servers).
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use common::{Bench, add, until};
use heliograph::clock;
use heliograph::store;
use heliograph::testing::folder;
use heliograph_core::ErrorCode;
use heliograph_core::engine::actor::Call;
use heliograph_core::engine::actor::host::counter::{Forward, Later};

const ACTORS: u64 = 40;

/// Decision commands-on-servers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_under_writes_is_the_state_of_one_moment() {
    let folder = folder("backup-load");
    let bench = Bench::open(&folder.file("d.redb"));
    // Enough rows that the copying takes longer than many commits.
    let note = add(&"x".repeat(1_000));
    let fill = (0..4_000).map(|n| bench.call_owned(format!("a{}", n % ACTORS), note.clone()));
    futures_util::future::join_all(fill).await.into_iter().for_each(|done| assert!(done.is_ok()));
    // Every operation moves a message from a source to a target in one commit: the copy must never have only one half.
    let running = Arc::new(AtomicBool::new(true));
    let sent = Arc::new(AtomicU64::new(0));
    let load = tokio::spawn({
        let (running, writer, count) = (running.clone(), bench.writer.clone(), sent.clone());
        async move {
            let mut sent = 0u64;
            while running.load(Ordering::SeqCst) {
                let (from, to) = (sent % ACTORS, (sent * 7 + 3) % ACTORS);
                let forward = Forward { to: format!("a{to}"), count: 1, fail: None };
                let counted = Call::operation(format!("a{from}"), &add("sent")).unwrap();
                let (first, second) = tokio::join!(
                    writer.call(Call::operation(format!("a{from}"), &forward).unwrap()),
                    writer.call(counted)
                );
                first.unwrap();
                second.unwrap();
                sent = count.fetch_add(1, Ordering::SeqCst) + 1;
            }
        }
    });
    let due = clock::now().plus(3_600_000_000);
    bench.call("timer", &Later { key: "k".into(), due, add: add("k") }).await.unwrap();
    let mut copies = Vec::new();
    for n in 0..3 {
        let copy = folder.file(&format!("copy-{n}.redb"));
        let (store, writer) = (bench.store.clone(), bench.writer.clone());
        let runtime = tokio::runtime::Handle::current();
        let target = copy.clone();
        tokio::task::spawn_blocking(move || store::backup(&store, &writer, &runtime, &target)).await.unwrap().unwrap();
        copies.push(copy);
        let so_far = sent.load(Ordering::SeqCst);
        until("more load", || sent.load(Ordering::SeqCst) > so_far + 20).await;
    }
    running.store(false, Ordering::SeqCst);
    load.await.unwrap();
    let mut before = 0;
    for copy in copies {
        let copy = Bench::open(&copy);
        assert_eq!(copy.store.earliest().unwrap(), Some(due), "timers are copied too");
        let total: u64 = (0..ACTORS).map(|n| copy.count(&format!("a{n}"))).sum();
        let logs: u64 = (0..ACTORS).map(|n| copy.counter(&format!("a{n}")).1.len() as u64).sum();
        assert_eq!(total, logs, "a counter and its log are of one moment");
        let received = (0..ACTORS).flat_map(|n| copy.counter(&format!("a{n}")).1);
        let (mut received, mut sent) = (received.filter(|note| note != "k").collect::<Vec<_>>(), 0u64);
        received.retain(|note| {
            let own = note == "sent";
            sent += u64::from(own);
            !own && !note.starts_with('x')
        });
        // Both halves of a step are in one commit or in two successive ones.
        assert!(sent.abs_diff(received.len() as u64) <= 1, "{sent} sent, {} received", received.len());
        assert!(total >= before);
        before = total;
        copy.thread.stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_overwrites_no_file_and_a_failed_one_blocks_no_other() {
    let folder = folder("backup-twice");
    let bench = Bench::open(&folder.file("d.redb"));
    let runtime = tokio::runtime::Handle::current();
    let target = folder.file("copy.redb");
    let again = |path: std::path::PathBuf| {
        let (store, writer, runtime) = (bench.store.clone(), bench.writer.clone(), runtime.clone());
        tokio::task::spawn_blocking(move || store::backup(&store, &writer, &runtime, &path))
    };
    again(target.clone()).await.unwrap().unwrap();
    assert_eq!(again(target).await.unwrap().unwrap_err().code, ErrorCode::Internal);
    // A failed backup does not block the next one.
    again(folder.file("other.redb")).await.unwrap().unwrap();
}
