//! Stored rows are the same whatever the order, hold nothing private, and are bounded.

use proptest::prelude::*;

use super::{HEADER, Server, rows};
use crate::Timestamp;
use crate::country::packed::Cells;
use crate::country::{Fold, FoldReport};
use crate::import::group::Groups;
use crate::import::runs::{self, Merge};
use crate::import::{ImportKind, Options};
use engine::actor::host::{self, Space};
use engine::actor::{self, ActorId, Call, Kind};
use engine::kv::{Direction, MemoryStore, Range, Read, Store, decode_row};
use engine::settings::Settings;
use engine::testing::real_data;
use facts::measurement::outcome::{EndpointSet, Judgement, flag};
use facts::measurement::{Contribution, Form, Outcome, Parsed, TargetKey, Witness};
use facts::source::Source;
use facts::verdict::RuleId;

/// Rows of so many measurements.
pub fn parsed(measurements: u8) -> impl Strategy<Value = Parsed> {
    let outcome = prop_oneof![
        (0u16..8, 0u16..8, 0u16..8, 0u16..8).prop_map(|(connect_ok, connect_failed, http_ok, http_failed)| {
            Outcome::Endpoints(EndpointSet { connect_ok, connect_failed, http_ok, http_failed, flags: flag::POOL })
        }),
        prop::sample::select(vec![RuleId::TlsValid, RuleId::TlsReset, RuleId::FastpathAnomaly])
            .prop_map(|rule| Outcome::Judged(Judgement { rule, technique: None })),
    ];
    let form = prop::sample::select(vec![Form::Fastpath, Form::Observation, Form::Raw]);
    // There are few identities, so that forms and rows of one measurement meet. The time belongs to the identity.
    (0u8..measurements, form, outcome, 0u8..3, 0u32..3, 0u8..2).prop_map(
        |(id, form, outcome, row, vote_key, target)| Parsed {
            country: *b"KE",
            asn: Some(100 + u32::from(id % 2)),
            time: Timestamp(1_700_000_000_000_000).plus(i64::from(id) * 7 * engine::time::HOUR),
            identity: [id; 8],
            form,
            vote_key,
            row_hash: u32::from(row) * 1000 + u32::from(id),
            contributions: vec![Contribution {
                target: TargetKey::from_stored(if target == 0 { "telegram/pool" } else { "example.org" }),
                outcome,
            }],
            primary: (target == 1).then_some(0),
            witness: match row {
                0 => Witness::Uid(format!("uid-{id}")),
                _ => Witness::Report { report_id: format!("report-{id}"), input: None },
            },
        },
    )
}

/// Folds rows as an import does. Returns the number of operations.
pub fn fold(store: &mut MemoryStore, chunk: &[Parsed]) -> usize {
    apply(store, grouped(chunk).folds(Source::Ooni, 0).into_values().flatten())
}

fn grouped(chunk: &[Parsed]) -> Groups {
    let mut groups = Groups::default();
    chunk.iter().for_each(|parsed| groups.add(parsed.clone()));
    groups
}

/// Folds rows as an import that is larger than memory does. Returns the number of exact repeats.
fn fold_runs(store: &mut MemoryStore, chunks: &[&[Parsed]]) -> u64 {
    let mut repeats = 0;
    let mut runs = Vec::new();
    for chunk in chunks {
        let sorted = grouped(chunk).sorted();
        repeats += sorted.repeats;
        let mut run = Vec::new();
        runs::write(&sorted, Source::Ooni, &mut run).unwrap();
        runs.push(run);
    }
    let mut merge = Merge::new(runs.iter().map(Vec::as_slice).collect(), 0).unwrap();
    let folds = std::iter::from_fn(|| merge.next_fold().unwrap());
    apply(
        store,
        folds.map(|(country, fold)| {
            assert_eq!(country, *b"KE");
            fold
        }),
    );
    repeats + merge.repeats
}

/// Applies folds. Returns the number of operations.
fn apply(store: &mut MemoryStore, folds: impl Iterator<Item = Fold>) -> usize {
    let mut operations = 0;
    for mut fold in folds {
        while !fold.cells.is_empty() {
            let actor = ActorId::new(Kind::Country, "KE");
            let settings = Settings::default();
            let call = Call::operation("KE", &fold).unwrap();
            let now = Timestamp(1_800_000_000_000_000);
            let outcome = host::perform(
                &Space {
                    program: &crate::testing::PROGRAM,
                    actor: &actor,
                    rows: &*store,
                    now,
                    seed: [1; 32],
                    settings: &settings,
                },
                &call,
            );
            let report: FoldReport = actor::decode(&outcome.reply.unwrap()).unwrap();
            store.apply(outcome.batch).unwrap();
            assert!(report.cells > 0);
            fold.cells.drain(..report.cells);
            operations += 1;
        }
    }
    operations
}

/// Cells in the rows that hold measurements.
pub fn cells(rows: &[(Vec<u8>, Vec<u8>)]) -> usize {
    let rows = rows.iter().filter(|(key, _)| key[0] == 16);
    rows.map(|(_, value)| decode_row::<Cells>(value).unwrap().walk(0).map(Result::unwrap).count()).sum()
}

/// All rows but the outbox, whose messages are numbered.
pub fn stored(store: &MemoryStore) -> Vec<(Vec<u8>, Vec<u8>)> {
    store.scan(&Range { start: vec![16], end: None }, Direction::Ascending, usize::MAX).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_order_split_or_repeat_gives_the_same_rows(
        // A row with a given hash is one row, the same in every repeat.
        rows in prop::collection::vec(parsed(6), 1..24),
        order in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        repeat in any::<prop::sample::Index>(),
    ) {
        let mut distinct: Vec<Parsed> = Vec::new();
        for row in rows {
            let same = |known: &Parsed| known.row_hash == row.row_hash
                && known.contributions[0].target == row.contributions[0].target;
            if !distinct.iter().any(same) {
                distinct.push(row);
            }
        }
        let mut once = MemoryStore::default();
        fold(&mut once, &distinct);

        let mut shuffled = distinct.clone();
        shuffled.rotate_left(order.index(distinct.len()));
        shuffled.reverse();
        let (a, b) = shuffled.split_at(cut.index(shuffled.len()));
        let mut other = MemoryStore::default();
        fold(&mut other, a);
        fold(&mut other, b);
        fold(&mut other, &distinct[repeat.index(distinct.len())..]);
        prop_assert_eq!(stored(&once), stored(&other));

        let mut merged = MemoryStore::default();
        let repeats = fold_runs(&mut merged, &[b, a, &distinct[repeat.index(distinct.len())..]]);
        prop_assert_eq!(stored(&once), stored(&merged));
        prop_assert_eq!(repeats as usize, distinct.len() - repeat.index(distinct.len()));
    }
}

#[test]
fn a_planted_address_is_in_no_row_of_any_actor() {
    let Some(documents) = real_data("ooni/measurements.jsonl.gz") else { return };
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(documents.as_slice()), &mut text).unwrap();
    let server = Server::start();
    let mut planted = 0;
    let mut lines = String::new();
    for line in text.lines() {
        let Ok(mut document) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        document["probe_ip"] = "203.0.113.77".into();
        document["resolver_ip"] = "198.51.100.99".into();
        planted += 1;
        lines.push_str(&document.to_string());
        lines.push('\n');
    }
    let summary = server.import(ImportKind::OoniMeasurements, Options::default(), lines.as_bytes());
    assert!(planted > 30 && summary.counts.accepted > 15, "{summary:?}");
    for actor in server.0.actors() {
        for (key, value) in server.0.rows(&actor) {
            for needle in ["203.0.113.77", "198.51.100.99"] {
                let octets: Vec<u8> = needle.split('.').map(|part| part.parse().unwrap()).collect();
                for bytes in [&key, &value] {
                    let holds = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
                    assert!(!holds(needle.as_bytes()) && !holds(&octets), "{actor} keeps {needle}");
                }
            }
        }
    }
}

#[test]
fn documents_and_fastpath_rows_are_counted_as_the_data_says() {
    let Some(documents) = real_data("ooni/measurements.jsonl.gz") else { return };
    let Some(fastpath) = real_data("ooni/fastpath_2024-01-01.jsonl.gz") else { return };
    let server = Server::start();
    let summary = server.import(ImportKind::OoniMeasurements, Options::default(), &documents);
    assert_eq!(
        (summary.counts.lines(), summary.counts.unsupported, summary.counts.refused),
        (39, 11, 0),
        "{summary:?}"
    );
    let again = server.import(ImportKind::OoniMeasurements, Options::default(), &documents);
    assert_eq!(
        (again.counts.accepted, again.counts.duplicate),
        (0, summary.counts.accepted + summary.counts.duplicate),
        "{again:?}"
    );
    let summary = server.import(ImportKind::OoniFastpath, Options::default(), &fastpath);
    assert_eq!(
        (summary.counts.lines(), summary.counts.accepted + summary.counts.duplicate),
        (1_080, 809),
        "{summary:?}"
    );
    assert_eq!(
        (summary.counts.unsupported, summary.counts.unusable, summary.counts.refused),
        (211, 60, 0),
        "{summary:?}"
    );
    assert!(summary.countries.len() > 40);
    let again = server.import(ImportKind::OoniFastpath, Options::default(), &fastpath);
    assert_eq!((again.counts.accepted, again.counts.duplicate), (0, 809), "{again:?}");
    // A measured country has a page as of the time of its data, and no score if it has too little data.
    let index = server.ok("/data/censorship-index.json?as_of=2024-01-02T00:00:00Z");
    let metadata = &index["metadata"];
    let scored = index["countries"].as_array().unwrap().len() as u64;
    assert!(scored + metadata["insufficientData"].as_u64().unwrap() > 40, "{metadata}");
    assert!(metadata["liveMeasurements"].as_u64().unwrap() > 700, "{metadata}");
}

#[test]
fn a_dry_run_counts_and_changes_nothing_and_a_retry_of_a_chunk_is_a_no_op() {
    let server = Server::start();
    let data = format!("{HEADER}{}", rows("IT", 137, "example.org", "2025-12-30", 0..6, false));
    let (status, dry) = server.upload("ooni-observations?dry_run=true", data.as_bytes());
    assert_eq!(status, 200, "{dry}");
    assert_eq!((&dry["accepted"], &dry["countries"]["IT"]["new"]), (&6.into(), &6.into()), "{dry}");
    assert!(server.0.rows(&ActorId::new(Kind::Country, "IT")).is_empty());
    let (_, first) = server.upload("ooni-observations", data.as_bytes());
    assert_eq!(first["accepted"], 6);
    let before = server.0.rows(&ActorId::new(Kind::Country, "IT"));
    let (_, second) = server.upload("ooni-observations?country=it", data.as_bytes());
    assert_eq!((&second["accepted"], &second["duplicate"]), (&0.into(), &6.into()), "{second}");
    assert_eq!(before, server.0.rows(&ActorId::new(Kind::Country, "IT")));
    let (_, dry) = server.upload("ooni-observations?dry_run=true", data.as_bytes());
    assert_eq!((&dry["accepted"], &dry["duplicate"]), (&0.into(), &6.into()), "{dry}");
}

/// One measurement of a site whose connection is reset.
pub fn reset(site: u32, asn: u32, day: u32, n: u32) -> Parsed {
    Parsed {
        country: *b"KE",
        asn: Some(asn),
        time: Timestamp(1_700_000_000_000_000).plus(i64::from(day) * engine::time::DAY),
        identity: [n.to_be_bytes(), n.to_be_bytes()].concat().try_into().unwrap(),
        form: Form::Raw,
        vote_key: 0,
        row_hash: n,
        contributions: vec![Contribution {
            target: TargetKey::from_host(&format!("site{site}.org")).unwrap(),
            outcome: Outcome::Judged(Judgement { rule: RuleId::TlsReset, technique: None }),
        }],
        primary: Some(0),
        witness: Witness::Uid(format!("uid-{n}")),
    }
}

/// Decision bounded-commits.
#[test]
fn no_fold_changes_more_rows_than_an_operation_may() {
    let mut store = MemoryStore::default();
    let many: Vec<Parsed> = (0..3_000).map(|n| reset(n % 900, n % 700, n % 40, n)).collect();
    // The host refuses an operation over the limit, and `fold` unwraps.
    fold(&mut store, &many);
    assert!(cells(&stored(&store)) > 2_900);
}

/// Decisions bounded-commits and order-of-data.
#[test]
fn many_months_that_outgrow_their_row_at_once_take_several_operations() {
    // Twenty sites on 31 days of one block (19,680 is its first day): first just under the size of a row, then over it.
    let measurement = |n: u32| reset(n % 20, 7, 5 + n / 20 % 31, n.wrapping_mul(2_654_435_761));
    let (first, then): (Vec<_>, Vec<_>) =
        ((0..44_000).map(measurement).collect(), (44_000..48_000).map(measurement).collect());
    let mut steps = MemoryStore::default();
    fold(&mut steps, &first);
    let rows = |store: &MemoryStore| stored(store).into_iter().filter(|(key, _)| key[0] == 16).collect::<Vec<_>>();
    assert_eq!(rows(&steps).len(), 20);
    assert!(fold(&mut steps, &then) > 4, "each operation may add some rows only");
    assert_eq!(rows(&steps).len(), 20 * (1 + 31));
    let mut once = MemoryStore::default();
    fold(&mut once, &[then, first].concat());
    assert!(stored(&once) == stored(&steps));
}
