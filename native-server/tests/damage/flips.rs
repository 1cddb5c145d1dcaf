//! Bits and whole pages that change on disk. `cargo xtask bench --damage` makes more flips than CI, set by the
//! variables `HELIOGRAPH_FLIPS` (how many) and `HELIOGRAPH_FLIPS_TABLE` (the file for the figures).

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use heliograph::testing::{Folder, folder};
use heliograph_core::engine::runtime::Damage;
use tokio::runtime::Runtime;

use crate::place::{TestServer, check, pages, runtime};
use crate::world::World;

const BLOCK: u64 = 4096;

/// A generator that gives the same numbers every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum When {
    /// The file was closed cleanly.
    AtRest,
    /// The file is as a crash leaves it.
    AfterCrash,
    /// While the server runs.
    Running,
}

#[derive(Debug, Default)]
struct Counts {
    flips: usize,
    /// Flips on pages of rows.
    rows: usize,
    questions: usize,
    refused: usize,
    /// Flips that changed an answer to 503.
    noticed: usize,
    /// Flips on a page that everything depends on, so that the file cannot be opened.
    closed: usize,
}

struct Files {
    folder: Folder,
    world: World,
    clean: PathBuf,
    crashed: PathBuf,
}

/// Copies a data file with its keys and its journals.
fn copy(from: &Path, to: &Path) {
    for (_, old) in journals(to) {
        std::fs::remove_file(old).unwrap();
    }
    for (number, journal) in journals(from) {
        std::fs::copy(journal, format!("{}{number}", to.display())).unwrap();
    }
    std::fs::copy(from, to).unwrap();
    std::fs::copy(key(from), key(to)).unwrap();
}

/// The journals of a data file, with what their names have after its name.
fn journals(data: &Path) -> Vec<(String, PathBuf)> {
    let all = std::fs::read_dir(data.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let after = |path: &Path| path.to_str()?.strip_prefix(data.to_str()?).map(str::to_owned);
    all.filter_map(|path| Some((after(&path).filter(|name| name.starts_with(".journal-"))?, path))).collect()
}

fn key(path: &Path) -> PathBuf {
    heliograph::keyfile::path_for(path)
}

fn prepare(runtime: &Arc<Runtime>) -> Files {
    let folder = folder("flips");
    let (clean, crashed) = (folder.file("clean.redb"), folder.file("crashed.redb"));
    let place = TestServer::open(runtime, &clean).unwrap();
    let world = World::make(&place.client());
    // Waits until all due work is done, and in the data file.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    copy(&clean, &crashed);
    place.close();
    Files { folder, world, clean, crashed }
}

/// Changes the page on disk; returns a description of the change for messages.
fn damage(path: &Path, page: &Damage, numbers: &mut Numbers) -> String {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    if numbers.below(4) == 0 {
        let mut block = vec![0; BLOCK as usize];
        let how = numbers.below(2);
        if how == 1 {
            block.iter_mut().for_each(|byte| *byte = numbers.below(256) as u8);
        }
        file.write_all_at(&block, page.offset).unwrap();
        return format!("page {} of {}: whole, {how}", page.page, page.table);
    }
    // Most of a page is in use; a flip in its free part would change nothing.
    let (at, bit) = (page.offset + numbers.below(2_000) as u64, numbers.below(8));
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1 << bit], at).unwrap();
    format!("page {} of {}: byte {at}, bit {bit}", page.page, page.table)
}

/// The scrub names the page, its table, and the keys between which it is.
fn named(found: &[Damage], page: &Damage, what: &str) {
    let same = found.iter().find(|damage| damage.page == page.page);
    let damage = same.unwrap_or_else(|| panic!("{what}: the scrub names {found:?}"));
    assert_eq!((&damage.table, &damage.after, &damage.up_to), (&page.table, &page.after, &page.up_to), "{what}");
}

fn one(files: &Files, runtime: &Arc<Runtime>, page: &Damage, when: When, numbers: &mut Numbers, counts: &mut Counts) {
    let path = files.folder.file("d.redb");
    copy(if when == When::AfterCrash { &files.crashed } else { &files.clean }, &path);
    let mut what = String::new();
    if when != When::Running {
        what = format!("{when:?}, {}", damage(&path, page, numbers));
        named(&check(&path).map_or_else(|_| vec![page.clone()], |found| found.damage), page, &what);
    }
    counts.flips += 1;
    counts.rows += usize::from(page.table == "rows");
    let place = match TestServer::open(runtime, &path) {
        Ok(place) => place,
        Err(error) => {
            assert!(error.contains("damaged"), "{what}: {error}");
            counts.closed += 1;
            return;
        }
    };
    if when == When::Running {
        what = format!("{when:?}, {}", damage(&path, page, numbers));
    }
    let client = place.client();
    let refused = files.world.check(&client, &what);
    counts.questions += files.world.questions.len() + 2;
    counts.refused += refused;
    counts.noticed += usize::from(refused > 0);
    assert_eq!(client.get("/healthz").status, 200, "{what}");
    let health = client.get("/health").expect(200);
    assert!(refused == 0 || health["status"] == "degraded", "{what}: {health}");
    // Commits may meanwhile have overwritten the page with correct rows.
    let found = place.scrub();
    assert!(found.damaged > 0 || when == When::Running || refused == 0, "{what}: nothing found");
    place.close();
    // Another start on the same file gives the same results.
    if let Ok(place) = TestServer::open(runtime, &path) {
        let refused = files.world.questions.len();
        assert!(files.world.check_reads(&place.client(), &what) <= refused);
        place.close();
    }
}

#[test]
fn a_flipped_bit_is_never_an_answer() {
    let wanted = std::env::var("HELIOGRAPH_FLIPS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_usize);
    let runtime = runtime();
    let files = prepare(&runtime);
    let lists = [pages(&files.clean), pages(&files.crashed)];
    let mut table: BTreeMap<When, Counts> = BTreeMap::new();
    let mut numbers = Numbers(7);
    for n in 0..wanted {
        let when = [When::AtRest, When::Running, When::AfterCrash, When::Running][n % 4];
        let list = &lists[usize::from(when == When::AfterCrash)];
        let page = &list[numbers.below(list.len())];
        one(&files, &runtime, page, when, &mut numbers, table.entry(when).or_default());
    }
    let sum = |of: fn(&Counts) -> usize| table.values().map(of).sum::<usize>();
    let text = report(&table, &lists[0]);
    println!("{text}");
    assert!(sum(|counts| counts.rows) * 2 > wanted, "too few flips met rows");
    assert!(sum(|counts| counts.noticed) * 5 > wanted, "too few flips met what is asked");
    assert!(sum(|counts| counts.closed) * 5 < wanted, "too few files were opened");
    if let Some(path) = std::env::var_os("HELIOGRAPH_FLIPS_TABLE") {
        std::fs::write(path, text).unwrap();
    }
}

fn report(table: &BTreeMap<When, Counts>, pages: &[Damage]) -> String {
    let mut text = format!(
        "# Flips in the data file\n\nThree in four flips change a single bit, one in four a whole block of 4,096 bytes (to \
         zeros or noise), on pages in use, of which the file has {}. Every answer was the one from before the flip, or 503. \
         The check named every page that was damaged before a start (under a running server a page may be overwritten before \
         the check reads it). Written by `cargo xtask bench --damage`.\n\n\
         | When | Flips | On rows | Questions | Answered 503 | Flips with a 503 | File not opened |\n|---|---|---|---|---|---|---|\n",
        pages.len()
    );
    for (when, counts) in table {
        let name = match when {
            When::AtRest => "before a start, file closed cleanly",
            When::AfterCrash => "before a start, file as a crash leaves it",
            When::Running => "while the server runs",
        };
        let Counts { flips, rows, questions, refused, noticed, closed } = counts;
        text += &format!("| {name} | {flips} | {rows} | {questions} | {refused} | {noticed} | {closed} |\n");
    }
    text
}
