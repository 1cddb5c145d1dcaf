//! Files of earlier versions without checksums, and checksums that are missing.

use std::os::unix::fs::FileExt;
use std::path::Path;

use heliograph::store::{Options, Store, convert, scrub};
use heliograph::testing::folder;
use heliograph_core::engine::runtime::Damage;
use redb::{Database, ReadableTable, TableDefinition};

use crate::place::{TestServer, check, pages, runtime};
use crate::world::World;

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const TIMERS: TableDefinition<(i64, &str), ()> = TableDefinition::new("timers");
const DUE: TableDefinition<&str, i64> = TableDefinition::new("due");
const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
const PROBE: TableDefinition<(), i64> = TableDefinition::new("probe");

/// The same data as an earlier version stored them: in a plain file of the storage engine.
fn earlier(from: &Path, to: &Path) {
    let store = Store::open(Options { looking: true, ..Options::new(from) }).unwrap();
    let file = Database::builder().create(to).unwrap();
    let transaction = file.begin_write().unwrap();
    store
        .read(|snapshot| {
            macro_rules! copy {
                ($($table:ident),+) => {$({
                    let mut to = transaction.open_table($table).unwrap();
                    for row in snapshot.open_table($table).unwrap().iter().unwrap() {
                        let (key, value) = row.unwrap();
                        to.insert(key.value(), value.value()).unwrap();
                    }
                })+};
            }
            copy!(ROWS, TIMERS, DUE, DOCUMENTS, PROBE);
            Ok(())
        })
        .unwrap();
    transaction.commit().unwrap();
    std::fs::copy(heliograph::keyfile::path_for(from), heliograph::keyfile::path_for(to)).unwrap();
}

fn open(path: &Path) -> Store {
    Store::open(Options { cache_bytes: 0, ..Options::new(path) }).unwrap()
}

/// Flips a bit of the last row of the page.
fn flip(path: &Path, page: &Damage) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut block = [0; 4096];
    file.read_exact_at(&mut block, page.offset).unwrap();
    let at = block.iter().rposition(|byte| *byte != 0).unwrap();
    file.write_all_at(&[block[at] ^ 4], page.offset + at as u64).unwrap();
}

fn some_leaf(pages: &[Damage]) -> &Damage {
    pages.iter().filter(|page| page.table == "rows" && page.kind == "leaf").nth(3).unwrap()
}

#[test]
fn a_file_from_before_opens_and_is_given_checksums_after_which_a_missing_one_is_damage() {
    let (folder, runtime) = (folder("before"), runtime());
    let (now, before) = (folder.file("now.redb"), folder.file("before.redb"));
    let place = TestServer::open(&runtime, &now).unwrap();
    let world = World::make(&place.client());
    place.close();
    earlier(&now, &before);
    assert!(std::fs::read(&before).unwrap().starts_with(b"redb"));
    // The file is served as it is, and written to.
    let place = TestServer::open(&runtime, &before).unwrap();
    assert_eq!(world.check(&place.client(), "before"), 0);
    place.close();
    assert!(!std::fs::read(&before).unwrap().starts_with(b"redb"), "an earlier program must refuse it");
    assert!(check(&before).unwrap().converting);
    let store = open(&before);
    assert_eq!(scrub(&store, &|_| {}).unwrap().damaged, 0);
    convert(&store, &|_| {}).unwrap();
    drop(store);
    let found = check(&before).unwrap();
    assert_eq!((found.converting, found.damaged), (false, 0));
    let place = TestServer::open(&runtime, &before).unwrap();
    assert_eq!(world.check_reads(&place.client(), "converted"), 0);
    place.close();
    // From now on every bit is checked, and a missing checksum is damage.
    let pages = pages(&before);
    let hit = some_leaf(&pages);
    flip(&before, hit);
    let found = check(&before).unwrap();
    assert_eq!(found.damage.iter().map(|damage| damage.page).collect::<Vec<_>>(), [hit.page]);
    let place = TestServer::open(&runtime, &before).unwrap();
    world.check_reads(&place.client(), "a flip");
    place.close();
}

#[test]
fn damage_from_before_there_were_checksums_is_not_taken_for_sound() {
    let (folder, runtime) = (folder("blessed"), runtime());
    let (now, before) = (folder.file("now.redb"), folder.file("before.redb"));
    let place = TestServer::open(&runtime, &now).unwrap();
    let world = World::make(&place.client());
    place.close();
    earlier(&now, &before);
    // In such a file the pages are where the engine put them.
    let list = pages(&before);
    let hit = some_leaf(&list);
    assert_eq!(hit.offset, hit.page * 4096);
    flip(&before, hit);
    let store = open(&before);
    let found = scrub(&store, &|_| {}).unwrap();
    assert_eq!(found.damage.iter().map(|damage| damage.page).collect::<Vec<_>>(), [hit.page]);
    convert(&store, &|_| {}).unwrap();
    drop(store);
    let place = TestServer::open(&runtime, &before).unwrap();
    world.check_reads(&place.client(), "a flip from before");
    let found = place.scrub();
    assert!(!found.converting && found.damage.iter().any(|damage| damage.page == hit.page));
    place.close();
}
