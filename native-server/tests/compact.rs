//! The size of a data file under churn, and what a compaction leaves of it (decision compact-by-copy).
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Bench, add};
use heliograph::store::compact;
use heliograph::testing::folder;
use heliograph_core::engine::actor::host::counter::Clear;

/// Rows come and go for much longer than the file is large: the space of removed rows is used again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_under_churn_stays_small_and_compacts_to_twice_its_rows() {
    let folder = folder("churn");
    let path = folder.file("d.redb");
    let mut bench = Bench::open(&path);
    let size = || std::fs::metadata(&path).unwrap().len();
    let note = "x".repeat(700);
    let mut sizes = Vec::new();
    for _ in 0..12 {
        let write = (0..4_000).map(|n| bench.call_owned(format!("a{}", n % 400), add(&note)));
        futures_util::future::join_all(write).await.into_iter().for_each(|done| assert!(done.is_ok()));
        let clear = (0..400).map(|n| bench.call_owned(format!("a{n}"), Clear));
        futures_util::future::join_all(clear).await.into_iter().for_each(|done| assert!(done.is_ok()));
        bench = bench.restart();
        sizes.push(size());
    }
    // Twelve times as much was written as there is at once. One round may need much for a moment, when its rows are written
    // at once; a file that never used space again would be at least six times as large from the seventh round on.
    let most = 4_000 * 800;
    assert!(sizes[6..].iter().any(|size| *size <= 4 * most), "{sizes:?}");
    let write = (0..4_000).map(|n| bench.call_owned(format!("a{}", n % 400), add(&note)));
    futures_util::future::join_all(write).await.into_iter().for_each(|done| assert!(done.is_ok()));
    let before: Vec<_> = (0..400).map(|n| bench.counter(&format!("a{n}"))).collect();
    bench.thread.stop();
    drop((bench.writer, bench.store));
    let done = compact(&path).unwrap();
    println!("{sizes:?}, then {done:?}");
    assert!(done.after <= done.before && done.after == size());
    assert!(done.after <= 2 * done.rows, "{done:?}");
    let bench = Bench::open(&path);
    let after: Vec<_> = (0..400).map(|n| bench.counter(&format!("a{n}"))).collect();
    assert_eq!(before, after);
}
