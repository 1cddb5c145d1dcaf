//! Decision rollup-after-400-days: measurements become counts after 400 days, and no answer shows it.

use std::time::Duration;

use http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::rows::{cells, fold, parsed, reset, stored};
use super::{ADMIN, HEADER, Server, rows};
use crate::Timestamp;
use crate::country::rollup::RollUp;
use crate::import::{ImportKind, Options, Summary};
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, Kind};
use engine::kv::{MemoryStore, Store};
use engine::settings::Settings;
use engine::testing::real_data;
use engine::time::{DAY, HOUR};

const DAYS: u64 = 86_400;
/// Tables of entries with hashes of rows, and of rolled-up cells.
const ENTRIES: u8 = 16;
const ROLLED: u8 = 35;

fn advance(server: &Server, days: u64) {
    server.0.advance(Duration::from_secs(days * DAYS));
}

fn import(server: &Server, data: &[u8]) -> Summary {
    server.import(ImportKind::OoniObservations, Options::default(), data)
}

/// Rows of some tables of a country, and their bytes.
fn table(server: &Server, code: &str, table: u8) -> (usize, usize) {
    let rows = server.0.rows(&ActorId::new(Kind::Country, code));
    let of_table: Vec<_> = rows.iter().filter(|(key, _)| key[0] == table).collect();
    (of_table.len(), of_table.iter().map(|(key, value)| key.len() + value.len()).sum())
}

/// What the server says about some targets at some moments, and over time.
fn answers(server: &Server, country: &str, targets: &[&str], moments: &[String]) -> Vec<Value> {
    let mut answers = Vec::new();
    for at in moments {
        for target in targets {
            let body =
                json!({ "country": country, "target": target, "as_of": at, "includeISPs": true, "explain": true });
            answers.push(server.post("/hydra/v1/detect", &body).1);
            let target = target.replace('/', "%2F");
            let path = format!("/data/domain/{target}/history?country={country}&days=60&as_of={at}");
            let mut history = server.ok(&path);
            history["generated"] = Value::Null;
            answers.push(history);
        }
        let mut page = server.ok(&format!("/data/country/{country}?as_of={at}"));
        for time in ["generated", "dateModified"] {
            page[time] = Value::Null;
        }
        answers.push(page);
        let mut networks = server.ok(&format!("/data/country/{country}/isps?as_of={at}"));
        networks["generated"] = Value::Null;
        answers.push(networks);
    }
    answers
}

/// Measurements of late 2024 in two countries, with blocks that begin and end, and rows that wait for peers.
fn old_measurements() -> String {
    let mut parts = vec![HEADER.to_owned()];
    for (asn, blocked) in [(1, true), (2, true), (3, false)] {
        parts.push(rows("IT", asn, "example.org", "2024-10-01", 0..40, false));
        parts.push(rows("IT", asn, "example.org", "2024-10-04", 0..60, blocked));
        parts.push(rows("IT", asn, "example.org", "2024-10-20", 0..30, false));
        parts.push(rows("IT", asn, "telegram.org", "2024-10-02", 0..50, blocked));
        parts.push(rows("FR", 10 + asn, "telegram.org", "2024-10-02", 0..50, false));
    }
    parts.concat()
}

/// Moments that cut days and hours.
fn moments(first: &str, step: i64, count: i64) -> Vec<String> {
    let first = Timestamp::parse(first).unwrap();
    (0..count).map(|n| first.plus(n * step).to_string()).collect()
}

/// Decisions rollup-after-400-days and answers-about-a-time: entries and counts give the same answer for any time,
/// number for number.
#[test]
fn no_answer_about_any_time_changes_when_measurements_are_rolled_up() {
    let server = Server::start();
    import(&server, old_measurements().as_bytes());
    let moments = moments("2024-10-01T05:20:00Z", 11 * HOUR + 7_000_000, 60);
    let targets = ["example.org", "telegram", "telegram.org"];
    let ask = || answers(&server, "IT", &targets, &moments);
    let before = ask();
    let entries = cells(&server.0.rows(&ActorId::new(Kind::Country, "IT")));
    assert!(entries > 20 && table(&server, "IT", ROLLED).0 == 0);
    assert!(before.iter().any(|answer| answer["status"] == "blocked"));
    advance(&server, 9);
    assert_eq!(table(&server, "IT", ENTRIES).0, 0);
    assert_eq!(table(&server, "IT", ROLLED).0, entries, "one row a day and network");
    for (after, before) in ask().iter().zip(&before) {
        assert_eq!(after, before);
    }
    let now = server.detect("IT", "example.org", None);
    assert!(now["lastChecked"].as_str().unwrap().starts_with("2024-10-2"), "{now}");
}

/// Decisions kenya-proof, rollup-after-400-days and identity-of-measurements on real rows: the same answers, every
/// measurement is known again, and a fraction of the bytes.
#[test]
fn kenya_stays_what_it_was_and_an_import_again_is_all_duplicates() {
    let Some(telegram) = real_data("ooni/observations_KE_2023_telegram.csv.gz") else { return };
    let Some(web) = real_data("ooni/observations_KE_2023_web_connectivity.csv.gz") else { return };
    let server = Server::start();
    for data in [&telegram, &web] {
        import(&server, data);
    }
    let moments = moments("2023-11-06T12:00:00Z", 2 * DAY + 5 * HOUR, 11);
    let ask = || answers(&server, "KE", &["telegram", "telegram/pool", "telegram.org"], &moments);
    let before = ask();
    let size = |server: &Server| [ENTRIES, ROLLED].map(|number| table(server, "KE", number).1);
    let full: usize = size(&server).iter().sum();
    advance(&server, 9);
    let [entries, rolled] = size(&server);
    assert_eq!(entries, 0);
    println!("Kenya: {full} bytes as entries, {rolled} rolled up");
    assert!(3 * rolled < full, "{full} bytes became {rolled}");
    for (after, before) in ask().iter().zip(&before) {
        assert_eq!(after, before);
    }
    let stored = server.0.rows(&ActorId::new(Kind::Country, "KE"));
    let again = import(&server, &telegram);
    assert_eq!(
        (again.counts.accepted, again.counts.duplicate, again.countries["KE"].new),
        (0, 125_441, 0),
        "{again:?}"
    );
    assert!(stored == server.0.rows(&ActorId::new(Kind::Country, "KE")), "a second import changed rows");
}

/// Decision rollup-after-400-days: rolled-up measurements are known, as a whole and in part. A measurement that never
/// came before is counted once.
#[test]
fn after_the_rollup_repeats_are_repeats_and_new_measurements_are_new() {
    let (once, parts) = (Server::start(), Server::start());
    let first = rows("IT", 1, "example.org", "2024-10-01", 0..20, true);
    let late = rows("IT", 1, "example.org", "2024-10-01", 15..30, true);
    let whole = format!("{HEADER}{first}{late}");
    import(&once, whole.as_bytes());
    import(&parts, format!("{HEADER}{first}").as_bytes());
    advance(&parts, 9);
    assert!(table(&parts, "IT", ENTRIES).0 == 0 && table(&parts, "IT", ROLLED).0 == 1);
    let summary = import(&parts, format!("{HEADER}{late}").as_bytes());
    assert_eq!((summary.counts.accepted, summary.counts.duplicate), (10, 5), "{summary:?}");
    let at = ["2024-10-02T12:00:00Z".to_owned()];
    let ask = |server: &Server| answers(server, "IT", &["example.org"], &at);
    assert_eq!(ask(&parts), ask(&once));
    // A further row of a rolled-up measurement belongs to a measurement that is judged already.
    let retry = rows("IT", 1, "example.org", "2024-10-01", 3..4, true).replace("192.0.2.7", "192.0.2.8");
    let summary = import(&parts, format!("{HEADER}{retry}").as_bytes());
    assert_eq!(
        (summary.counts.accepted, summary.counts.duplicate, summary.countries["IT"].known),
        (0, 1, 1),
        "{summary:?}"
    );
    assert_eq!(ask(&parts), ask(&once));
    for server in [&once, &parts] {
        advance(server, 9);
    }
    let rolled = |server: &Server| {
        let rows = server.0.rows(&ActorId::new(Kind::Country, "IT"));
        rows.into_iter().filter(|(key, _)| [ENTRIES, ROLLED].contains(&key[0])).collect::<Vec<_>>()
    };
    assert_eq!(rolled(&parts), rolled(&once), "late or not, the rows are the same in the end");
}

/// Decision licence-and-removal also holds for rolled-up measurements.
#[test]
fn a_removed_source_takes_its_counts_with_it() {
    let server = Server::start();
    import(&server, old_measurements().as_bytes());
    advance(&server, 9);
    let late = rows("IT", 1, "example.org", "2024-10-01", 90..95, true);
    import(&server, format!("{HEADER}{late}").as_bytes());
    assert!(table(&server, "IT", ROLLED).0 > 0 && table(&server, "IT", ENTRIES).0 > 0);
    let path = "/v1/admin/sources/ooni";
    assert_eq!(server.request(Method::DELETE, path, &[("x-admin-key", ADMIN)], b"").status, 200);
    for _ in 0..60 {
        server.settle();
    }
    let (_, done) = super::json(server.request(Method::GET, path, &[("x-admin-key", ADMIN)], b""));
    assert_eq!((&done["complete"], done["handled"].as_u64()), (&true.into(), Some(3 * (130 + 50 + 50) + 5)), "{done}");
    for code in ["IT", "FR"] {
        for number in [ENTRIES, ROLLED, 19, 20, 21, 23] {
            assert_eq!(table(&server, code, number).0, 0, "{code}: table {number}");
        }
    }
}

/// Rolls up a country in memory and returns the number of steps. Its clock is in 2027, so that the measurements of
/// [`parsed`] are old.
fn roll_up(store: &mut MemoryStore) -> usize {
    roll_up_at(store, Timestamp(1_800_000_000_000_000))
}

fn roll_up_at(store: &mut MemoryStore, now: Timestamp) -> usize {
    let actor = ActorId::new(Kind::Country, "KE");
    let settings = Settings::default();
    let run = |store: &mut MemoryStore, work: &dyn Fn(&Space<'_>) -> engine::kv::Batch| {
        let batch = work(&Space {
            program: &crate::testing::PROGRAM,
            actor: &actor,
            rows: &*store,
            now,
            seed: [1; 32],
            settings: &settings,
        });
        store.apply(batch).unwrap();
    };
    let perform = |space: &Space<'_>| {
        let outcome = host::perform(space, &Call::operation("KE", &RollUp { reached: None }).unwrap());
        outcome.reply.unwrap();
        outcome.batch
    };
    let fire = |space: &Space<'_>| {
        let outcome = host::fire(space, "roll_up");
        outcome.reply.unwrap();
        outcome.batch
    };
    run(store, &perform);
    let mut steps = 1;
    while host::due_work(&actor, &*store, now).unwrap().contains(&host::Work::Timer("roll_up".to_owned())) {
        run(store, &fire);
        steps += 1;
    }
    steps
}

/// Decision bounded-commits: no step changes more rows than an operation may (the host refuses it), and a country of
/// any size is rolled up in steps.
#[test]
fn a_rollup_goes_in_bounded_steps() {
    let measurement = |n: u32| reset(n % 450, n % 7, n % 40, n);
    let many: Vec<_> = (0..3_000).map(measurement).collect();
    let mut store = MemoryStore::default();
    fold(&mut store, &many);
    assert!(roll_up(&mut store) > 20);
    let left = stored(&store).iter().filter(|(key, _)| key[0] == ENTRIES).count();
    assert_eq!(left, 0);
}

/// Decisions rollup-after-400-days and order-of-data: days that grow old are taken out of a month. What is left of the
/// month, large or small, is stored as if there had never been more.
#[test]
fn what_a_rollup_leaves_of_a_month_is_kept_as_if_it_were_all() {
    // A month in one row with more cells than a step takes, and a month whose days have rows of their own.
    let small = (0..1_200).map(|n| reset(n % 2, n / 40, n % 40, n));
    let large = (2_000..8_000u32).map(|n| reset(99, 5, n % 40, n.wrapping_mul(2_654_435_761)));
    let all: Vec<_> = small.chain(large).collect();
    let begin = Timestamp(1_700_000_000_000_000);
    for days in [5, 12, 36] {
        let border = begin.plus(days * DAY);
        let now = Timestamp(border.day() * DAY).plus(crate::country::rollup::ROLL_UP_AFTER);
        let (old, young): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|row| row.time.day() < border.day());
        let [mut both, mut only_old, mut only_young] = [&all, &old, &young].map(|rows| {
            let mut store = MemoryStore::default();
            fold(&mut store, rows);
            store
        });
        assert!(roll_up_at(&mut both, now) > 1);
        roll_up_at(&mut only_old, now);
        let of = |store: &MemoryStore, table: u8| {
            stored(store).into_iter().filter(|(key, _)| key[0] == table).collect::<Vec<_>>()
        };
        assert!(of(&both, ENTRIES) == of(&only_young, ENTRIES), "{days} days");
        assert!(of(&only_old, ENTRIES).is_empty());
        assert!(of(&both, ROLLED) == of(&only_old, ROLLED), "{days} days");
        roll_up_at(&mut only_young, now);
        assert!(of(&only_young, ROLLED).is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Decisions rollup-after-400-days and order-of-data: any order, split or repeat, with or without rollups in
    /// between.
    #[test]
    fn any_order_split_or_repeat_around_rollups_gives_the_same_rows(
        rows in prop::collection::vec(parsed(40), 1..40),
        order in any::<prop::sample::Index>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 3),
    ) {
        // Rows of one measurement come before its day is rolled up. Different measurements come in any order.
        let mut distinct: Vec<_> = Vec::new();
        for row in rows {
            if !distinct.iter().any(|known: &facts::measurement::Parsed| known.identity == row.identity) {
                distinct.push(row);
            }
        }
        let mut once = MemoryStore::default();
        fold(&mut once, &distinct);
        roll_up(&mut once);

        let mut other = MemoryStore::default();
        let mut shuffled = distinct.clone();
        shuffled.rotate_left(order.index(distinct.len()));
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(distinct.len())).collect();
        cuts.sort_unstable();
        let mut from = 0;
        for cut in cuts.into_iter().chain([distinct.len()]) {
            // What came before comes again, too.
            fold(&mut other, &shuffled[from.max(2) - 2..cut.max(from.max(2) - 2)]);
            roll_up(&mut other);
            from = cut;
        }
        prop_assert_eq!(stored(&once), stored(&other));
    }
}
