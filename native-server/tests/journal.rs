//! What the journal promises: nothing acknowledged is lost, and nothing counts twice, wherever the power goes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::disk::{Disk, FOUND, SurvivingWrites};
use common::{Bench, JOURNAL, add, until};
use heliograph::store::Options;
use heliograph::store::fault::Faults;
use heliograph::testing::folder;

/// Notes by actor, in the order of their calls.
type Notes = BTreeMap<String, Vec<String>>;

/// Actors of the workload.
const ACTORS: usize = 5;

fn name(n: usize) -> String {
    format!("actor-{}", n % ACTORS)
}

/// Calls until the power goes: what was acknowledged, and the call that was under way.
async fn work(bench: &Bench, disk: &Disk, calls: usize) -> (Notes, Option<(String, String)>) {
    let mut acknowledged = Notes::new();
    for n in 0..calls {
        // Large notes, so that there are many folds.
        let (actor, note) = (name(n), format!("{n}{}", "-".repeat(3_000)));
        match bench.call(&actor, &add(&note)).await {
            Ok(_) => acknowledged.entry(actor).or_default().push(note),
            Err(_) => return (acknowledged, Some((actor, note))),
        }
        if disk.is_dead() {
            break;
        }
    }
    (acknowledged, None)
}

/// Checks that a bench has what was acknowledged, once, and besides at most the call that was under way.
fn check(bench: &Bench, acknowledged: &Notes, open: Option<&(String, String)>, what: &str) {
    for n in 0..ACTORS {
        let (count, log) = bench.counter(&name(n));
        let mut expected = acknowledged.get(&name(n)).cloned().unwrap_or_default();
        let also = open.filter(|(actor, _)| *actor == name(n)).map(|(_, note)| note.clone());
        if log.len() > expected.len() {
            expected.extend(also);
        }
        let short = |log: &[String]| log.iter().map(|note| note.trim_end_matches('-').to_owned()).collect::<Vec<_>>();
        assert_eq!(short(&log), short(&expected), "{what}: {}", name(n));
        assert_eq!(count, log.len() as u64, "{what}: {}", name(n));
    }
}

/// The journals in a folder, with their generations.
fn journals(folder: &Path) -> BTreeMap<u64, PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter_map(|path| Some((path.to_str()?.rsplit_once(".journal-")?.1.parse().ok()?, path))).collect()
}

fn reopened(path: &Path) -> Bench {
    Bench::with(Options { journal: Some(JOURNAL), ..Options::new(path) }).unwrap()
}

/// Writes and syncs of the workload, at most.
const STEPS: u64 = 700;

#[tokio::test(flavor = "multi_thread")]
async fn wherever_the_power_goes_nothing_acknowledged_is_lost_and_nothing_counts_twice() {
    let stride = std::env::var("HELIOGRAPH_CRASH_STRIDE").map_or(9, |text| text.parse().unwrap());
    let (mut deaths, mut folds) = (0, 0);
    for steps in (1..STEPS).step_by(stride) {
        let folder = folder("power");
        let disk = Arc::new(Disk::default());
        let path = folder.file("d.redb");
        let bench = Bench::wrapped(&path, Some(JOURNAL), Disk::wrap(&disk)).unwrap();
        disk.dies_after(steps);
        let (acknowledged, open) = work(&bench, &disk, 90).await;
        if !disk.is_dead() {
            break;
        }
        deaths += 1;
        for found in FOUND {
            let image = heliograph::testing::folder("image");
            disk.copy(folder.path(), image.path(), found);
            let what = format!("step {steps}, {found:?}");
            folds += usize::from(journals(image.path()).len() > 1);
            let again = reopened(&image.file("d.redb"));
            check(&again, &acknowledged, open.as_ref(), &what);
            // It goes on from there, and a clean stop leaves one file.
            again.call("after", &add("x")).await.unwrap();
            let again = again.restart();
            check(&again, &acknowledged, open.as_ref(), &what);
            assert_eq!(again.count("after"), 1, "{what}");
            again.thread.stop();
            drop((again.writer, again.store));
            assert_eq!(std::fs::read_dir(image.path()).unwrap().count(), 1, "{what}: journals stay");
            // A command alone reads it too.
            let alone = Bench::with(Options::new(image.file("d.redb"))).unwrap();
            check(&alone, &acknowledged, open.as_ref(), &what);
        }
        drop(bench);
    }
    assert!(deaths > 20 && folds > 5, "{deaths} {folds}");
}

/// The power goes again while the journals are put into the tree.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_loss_of_power_while_it_recovers_loses_nothing_either() {
    for steps in [90, 260, 330] {
        let folder = folder("power");
        let disk = Arc::new(Disk::default());
        let bench = Bench::wrapped(&folder.file("d.redb"), Some(JOURNAL), Disk::wrap(&disk)).unwrap();
        disk.dies_after(steps);
        let (acknowledged, open) = work(&bench, &disk, 300).await;
        assert!(disk.is_dead());
        for second in (1..60).step_by(4) {
            for found in [SurvivingWrites::Nothing, SurvivingWrites::All, SurvivingWrites::Half] {
                let image = heliograph::testing::folder("image");
                disk.copy(folder.path(), image.path(), found);
                let again = Arc::new(Disk::default());
                again.dies_after(second);
                // It may die while it opens.
                let recovering = Bench::wrapped(&image.file("d.redb"), Some(JOURNAL), Disk::wrap(&again));
                if recovering.is_ok() {
                    tokio::time::sleep(Duration::from_millis(30)).await;
                }
                let last = heliograph::testing::folder("last");
                again.copy(image.path(), last.path(), found);
                let what = format!("step {steps}, then {second}, {found:?}");
                check(&reopened(&last.file("d.redb")), &acknowledged, open.as_ref(), &what);
            }
        }
        drop(bench);
    }
}

/// A disk whose syncs do nothing can lose what was acknowledged. What is found is then refused with the reason, or is
/// the beginning of what was acknowledged; never anything else.
#[tokio::test(flavor = "multi_thread")]
async fn where_syncs_lie_the_rest_is_a_beginning_or_refused() {
    let (mut refused, mut shorter) = (0, 0);
    for steps in (20..600).step_by(37) {
        let folder = folder("power");
        let disk = Arc::new(Disk::default());
        let bench = Bench::wrapped(&folder.file("d.redb"), Some(JOURNAL), Disk::wrap(&disk)).unwrap();
        disk.dies_after(steps + 30);
        let (mut acknowledged, mut open) = work(&bench, &disk, usize::try_from(steps / 4).unwrap()).await;
        disk.lies(true);
        if !disk.is_dead() {
            let (more, last) = work(&bench, &disk, 200).await;
            more.into_iter().for_each(|(actor, notes)| acknowledged.entry(actor).or_default().extend(notes));
            open = last;
        }
        for found in FOUND {
            let image = heliograph::testing::folder("image");
            disk.copy(folder.path(), image.path(), found);
            let options = Options { journal: Some(JOURNAL), ..Options::new(image.file("d.redb")) };
            let again = match Bench::with(options) {
                Ok(again) => again,
                Err(why) => {
                    assert!(why.contains("journal") || why.contains("damaged"), "{why}");
                    refused += 1;
                    continue;
                }
            };
            for n in 0..ACTORS {
                let (count, log) = again.counter(&name(n));
                let mut all = acknowledged.get(&name(n)).cloned().unwrap_or_default();
                all.extend(open.iter().filter(|(actor, _)| *actor == name(n)).map(|(_, note)| note.clone()));
                assert!(all.starts_with(&log) && count == log.len() as u64, "{steps} {found:?}: {}", name(n));
                shorter += usize::from(log.len() < all.len());
            }
        }
        drop(bench);
    }
    assert!(shorter > 0, "{refused} {shorter}");
}

/// A journal with several commits, of a server that was killed.
async fn killed(folder: &heliograph::testing::Folder) -> (heliograph::testing::Folder, PathBuf) {
    let disk = Arc::new(Disk::default());
    let bench = Bench::wrapped(&folder.file("d.redb"), Some(1 << 20), Disk::wrap(&disk)).unwrap();
    for n in 0..8 {
        bench.call(&name(n), &add(&n.to_string())).await.unwrap();
    }
    let image = heliograph::testing::folder("killed");
    disk.copy(folder.path(), image.path(), SurvivingWrites::All);
    let journal = journals(image.path()).into_values().next_back().unwrap();
    (image, journal)
}

fn refusal(path: &Path) -> String {
    let journal = Bench::with(Options { journal: Some(JOURNAL), ..Options::new(path) }).err().unwrap();
    let alone = Bench::with(Options::new(path)).err().unwrap();
    assert_eq!(journal, alone);
    journal
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hole_in_the_journal_is_damage_and_a_torn_end_is_an_end() {
    let folder = folder("hole");
    let (image, journal) = killed(&folder).await;
    let whole = std::fs::read(&journal).unwrap();
    let flip = |record: u64| {
        std::fs::write(&journal, &whole).unwrap();
        let mut file = std::fs::OpenOptions::new().read(true).write(true).open(&journal).unwrap();
        // Each record is shorter than a sector.
        file.seek(SeekFrom::Start(512 * record + 70)).unwrap();
        let mut byte = [0];
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(512 * record + 70)).unwrap();
        file.write_all(&[byte[0] ^ 0x40]).unwrap();
    };
    for record in 1..8 {
        flip(record);
        let why = refusal(&image.file("d.redb"));
        assert!(why.contains(&format!("it is damaged, commit {record} at byte {}", 512 * record)), "{why}");
        assert!(why.contains(journal.to_str().unwrap()), "{why}");
    }
    // The last one may be one that was never acknowledged.
    flip(8);
    let again = reopened(&image.file("d.redb"));
    assert_eq!((0..ACTORS).map(|n| again.count(&name(n))).sum::<u64>(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_is_damaged_at_its_head_or_cut_short_is_refused_and_one_that_was_only_begun_is_not() {
    let folder = folder("head");
    let (image, journal) = killed(&folder).await;
    let (data, whole) = (image.file("d.redb"), std::fs::read(&journal).unwrap());
    let write = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(&journal, bytes).unwrap();
    };
    for at in [0, 18, 40, 50, 58] {
        write(&|bytes| bytes[at] ^= 0x10);
        let why = refusal(&data);
        let head = if at == 18 { "it names format 1048577" } else { "it is damaged, at its head" };
        assert!(why.contains(head) && why.contains(journal.to_str().unwrap()), "{at}: {why}");
    }
    write(&|bytes| bytes[..512].fill(0));
    assert!(refusal(&data).contains("it is damaged, at its head"));
    write(&|bytes| bytes.truncate(2_000));
    assert!(refusal(&data).contains("it is damaged, it ends after 2000 bytes"));
    // The program ended while it made the file, or before it wrote the head: nothing was ever acknowledged in it.
    for begun in [Vec::new(), vec![0; 1 << 20]] {
        let folder = heliograph::testing::folder("begun");
        let (image, journal) = killed(&folder).await;
        std::fs::write(journal, begun).unwrap();
        assert_eq!(reopened(&image.file("d.redb")).count(&name(0)), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_of_another_file_or_of_another_state_is_refused_by_name() {
    let [first, second] = [folder("first"), folder("second")];
    let (image, journal) = killed(&first).await;
    let (other, _) = killed(&second).await;
    // Another data file in the place of its own.
    std::fs::copy(other.file("d.redb"), image.file("d.redb")).unwrap();
    let why = refusal(&image.file("d.redb"));
    assert!(why.contains("it belongs to another data file") && why.contains(journal.to_str().unwrap()), "{why}");
    // A backup, which has no journal, in the place of the data file.
    let bench = reopened(&other.file("d.redb"));
    let (store, writer) = (bench.store.clone(), bench.writer.clone());
    let (runtime, copy) = (tokio::runtime::Handle::current(), image.file("copy.redb"));
    let target = copy.clone();
    tokio::task::spawn_blocking(move || heliograph::store::backup(&store, &writer, &runtime, &target).unwrap())
        .await
        .unwrap();
    std::fs::rename(&copy, image.file("d.redb")).unwrap();
    let why = refusal(&image.file("d.redb"));
    assert!(why.contains("it belongs to another data file"), "{why}");
    // Without the old journal the backup is a data file like any other.
    std::fs::remove_file(&journal).unwrap();
    assert_eq!(reopened(&image.file("d.redb")).count(&name(0)), 2);
}

/// An older copy of the data file beside a younger journal: the commits between them are missing.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_of_the_data_file_beside_a_journal_is_refused() {
    let folder = folder("older");
    let bench = Bench::open(&folder.file("d.redb"));
    bench.call("a", &add("1")).await.unwrap();
    let bench = bench.restart();
    let older = std::fs::read(folder.file("d.redb")).unwrap();
    for n in 0..60 {
        bench.call("a", &add(&format!("{n}{}", "-".repeat(3_000)))).await.unwrap();
    }
    bench.writer.settle().await.unwrap();
    bench.call("a", &add("last")).await.unwrap();
    let image = heliograph::testing::folder("image");
    for (_, journal) in journals(folder.path()) {
        std::fs::copy(&journal, image.path().join(journal.file_name().unwrap())).unwrap();
    }
    std::fs::write(image.file("d.redb"), older).unwrap();
    let why = refusal(&image.file("d.redb"));
    assert!(why.contains("but the data before it ends with"), "{why}");
}

/// The tree takes nothing, the journal does: what is acknowledged stays, and the write check says what is wrong.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_tree_takes_nothing_the_journal_does_until_memory_is_full() {
    let folder = folder("stuck");
    let faults = Arc::new(Faults::default());
    let path = folder.file("d.redb");
    let (tree, data) = (Faults::wrap(&faults), path.clone());
    let wrap = Box::new(move |at: &Path, file| if at == data { tree(at, file) } else { Box::new(file) as _ });
    let bench = Bench::wrapped(&path, Some(JOURNAL), wrap).unwrap();
    bench.call("a", &add("first")).await.unwrap();
    Faults::set(&faults.syncs, true);
    let (mut acknowledged, mut refused) = (1, 0);
    for _ in 0..80 {
        match bench.call("a", &add(&"-".repeat(3_000))).await {
            Ok(_) => acknowledged += 1,
            Err(error) => {
                assert_eq!(error.code, heliograph_core::ErrorCode::Unavailable);
                refused += 1;
            }
        }
    }
    assert!(acknowledged > 20 && refused > 20, "{acknowledged} {refused}");
    until("the condition", || bench.store.condition().failing().is_some()).await;
    faults.syncs.store(false, Ordering::SeqCst);
    until("the condition", || bench.store.condition().failing().is_none()).await;
    let started = std::time::Instant::now();
    while bench.call("a", &add("after")).await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(20), "writes never resumed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(bench.count("a"), acknowledged + 1);
    let bench = bench.restart();
    assert_eq!(bench.count("a"), acknowledged + 1);
}
