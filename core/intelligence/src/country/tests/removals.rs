//! Imports and removals of one source exclude each other (decision licence-and-removal). Also tests removing reference
//! data.

use futures_util::FutureExt;
use http::Method;
use serde_json::{Value, json};

use super::{ADMIN, HEADER, Server, rows};
use crate::import::{ImportKind, Importer, ListKind, Options};
use crate::testing::PROGRAM;
use crate::world::{self, StartSweep, Task};
use crate::{ErrorCode, reference};
use engine::actor::host::{self, Space};
use engine::actor::{ActorId, Call, Kind, View};
use engine::kv::{MemoryStore, Store};
use engine::settings::Settings;
use engine::testing::START;
use relay::testing::TestRuntime;

const RECENT: &str = "2025-12-30";
const NETWORKS: &str = "asn,org,cc,ipv4_addresses\n1,Large,IT,16777216\n2,Small,IT,256\n3,Small too,IT,256\n";

fn settle(server: &Server) {
    for _ in 0..60 {
        server.settle();
    }
}

fn admin(server: &Server, method: Method, path: &str) -> Value {
    let (status, body) = super::json(server.request(method, path, &[("x-admin-key", ADMIN)], b""));
    assert_eq!(status, 200, "{path}: {body}");
    body
}

fn drop_source(server: &Server, name: &str) {
    admin(server, Method::DELETE, &format!("/v1/admin/sources/{name}"));
    settle(server);
}

fn measured(server: &Server, country: &str) -> bool {
    server.detect(country, "example.org", None)["basis"] == "measured"
}

/// Decision licence-and-removal: a removal removes exactly the source, including what an import under way has yet to
/// store.
#[test]
fn an_import_that_a_removal_overtakes_leaves_nothing_and_says_so() {
    let server = Server::start();
    let part = |country: &str| format!("{HEADER}{}", rows(country, 7, "example.org", RECENT, 0..9, true));
    // As on the command line: one importer, several chunks.
    let importer = Importer::new(&*server.0, ImportKind::OoniObservations, Options::default());
    let importer = importer.now_or_never().unwrap().unwrap();
    let store = |text: String| importer.chunk(&*server.0, text.as_bytes()).now_or_never().unwrap();
    assert!(store(part("IT")).unwrap().complete);
    // As on the route: the number that the first part answered is sent with the next part.
    let (_, first) = server.upload("ooni-observations", part("FR").as_bytes());
    assert_eq!(first["epoch"], 0, "{first}");
    settle(&server);
    assert!(measured(&server, "IT") && measured(&server, "FR"));

    drop_source(&server, "ooni");
    for country in ["IT", "DE"] {
        // This also holds for a country that the removal did not know.
        assert_eq!(store(part(country)).unwrap_err().code, ErrorCode::Conflict, "{country}");
    }
    let (status, refused) = server.upload("ooni-observations?epoch=0", part("FR").as_bytes());
    assert_eq!((status.as_u16(), &refused["error"]), (409, &"CONFLICT".into()), "{refused}");
    settle(&server);
    for country in ["IT", "FR", "DE"] {
        assert!(!measured(&server, country), "{country}");
    }
    let (status, again) = server.upload("ooni-observations", part("FR").as_bytes());
    assert_eq!((status.as_u16(), &again["epoch"], &again["accepted"]), (200, &1.into(), &9.into()), "{again}");
    let (status, _) = server.upload("ooni-observations?epoch=1", part("IT").as_bytes());
    assert_eq!(status, 200);
    settle(&server);
    assert!(measured(&server, "IT") && measured(&server, "FR"));
    assert_eq!(server.upload("ooni-observations?epoch=x", b"").0, 400);
}

/// While a removal runs, no import of its source can begin, but imports of other sources can.
#[test]
fn no_import_begins_while_its_source_is_being_removed() {
    let (actor, settings) = (world::actor(), Settings::default());
    let mut store = MemoryStore::default();
    let start = StartSweep { task: Task::DropSource(1), countries: ["IT".to_owned()].into() };
    let space = Space {
        program: &crate::testing::PROGRAM,
        actor: &actor,
        rows: &store,
        now: START,
        seed: [1; 32],
        settings: &settings,
    };
    let outcome = host::perform(&space, &Call::operation(actor.name.clone(), &start).unwrap());
    store.apply(outcome.batch).unwrap();
    let ask = |task| {
        let query = Call::query(actor.name.clone(), &world::SourceEpoch { task }).unwrap();
        host::answer(&View::new(&crate::testing::PROGRAM, &actor, &store, START, &settings), &query)
    };
    assert_eq!(ask(Task::DropSource(1)).unwrap_err().code, ErrorCode::Conflict);
    assert!(ask(Task::DropLists).is_ok());
}

/// Block lists are removed in the same way.
#[test]
fn a_block_list_does_not_survive_its_removal_in_part() {
    let server = Server::start();
    let query = "blocklist?country=IT&list_kind=official&date=2025-06-01";
    let (_, first) = server.upload(query, b"domain\none.example\n");
    drop_source(&server, "blocklist");
    let late = format!("{query}&epoch={}", first["epoch"]);
    assert_eq!(server.upload(&late, b"domain\ntwo.example\n").0, 409);
    for domain in ["one.example", "two.example"] {
        assert_eq!(server.detect("IT", domain, None)["listed"], false, "{domain}");
    }
    assert_eq!(server.upload(query, b"domain\ntwo.example\n").0, 200);
    assert_eq!(server.detect("IT", "two.example", None)["status"], "blocked");
}

/// Removing the network table removes names and weights, but no measurements.
#[test]
fn without_the_network_table_all_networks_weigh_the_same_again() {
    let server = Server::start();
    let text: String = (1..=3).map(|asn| rows("IT", asn, "example.org", RECENT, 0..8, asn == 1)).collect();
    server.import(ImportKind::OoniObservations, Options::default(), format!("{HEADER}{text}").as_bytes());
    settle(&server);
    let before = server.detect("IT", "example.org", None);
    assert_eq!((&before["status"], &before["isps"][0]["name"]), (&"accessible".into(), &"AS1".into()));
    let (_, first) = server.upload("asn", NETWORKS.as_bytes());
    settle(&server);
    let weighed = server.detect("IT", "example.org", None);
    assert_eq!((&weighed["status"], &weighed["isps"][0]["name"]), (&"blocked".into(), &"Large".into()));
    drop_source(&server, "asn");
    assert_eq!(server.detect("IT", "example.org", None), before);
    assert_eq!(server.upload(&format!("asn?epoch={}", first["epoch"]), NETWORKS.as_bytes()).0, 409);
    let rows = server.0.rows(&reference::actor());
    assert!(rows.iter().all(|(key, _)| key[0] != 16), "a row of the table is left");
    assert_eq!(server.upload("asn", NETWORKS.as_bytes()).0, 200);
    settle(&server);
    assert_eq!(server.detect("IT", "example.org", None)["status"], "blocked");
}

/// Without test lists, the index is about the project's own basket again.
#[test]
fn without_test_lists_the_index_speaks_of_the_basket_again() {
    let server = Server::start();
    let sites = (0..30).map(|n| format!("site{n}.org"));
    let text: String = sites.clone().map(|site| rows("IT", 1, &site, RECENT, 0..10, false)).collect();
    server.import(ImportKind::OoniObservations, Options::default(), format!("{HEADER}{text}").as_bytes());
    settle(&server);
    let breadth = || server.ok("/data/country/IT")["data"]["breadthList"].clone();
    assert_eq!(breadth(), "basket");
    let list =
        format!("url,category_code\n{}", sites.map(|site| format!("https://{site}/,NEWS\n")).collect::<String>());
    let (_, first) = server.upload("test-list?list=global", list.as_bytes());
    settle(&server);
    assert_eq!(breadth(), "global_list");
    drop_source(&server, "test-list");
    assert_eq!(breadth(), "basket");
    assert_eq!(server.upload(&format!("test-list?list=ke&epoch={}", first["epoch"]), list.as_bytes()).0, 409);
    assert_eq!(server.upload("test-list?list=ke", list.as_bytes()).0, 200);
    let refused = server.request(Method::GET, "/v1/admin/sources/asn", &[("x-admin-key", ADMIN)], b"");
    assert_eq!(refused.status, 404, "removed at once: there is nothing to watch");
}

/// Decision dumps-and-recompute: the report names each answer that changed, with both states.
#[test]
fn recomputing_lists_an_answer_that_became_another_one() {
    let settings = [("admin_key", ADMIN), ("publish_interval", "30")];
    let server = Server(TestRuntime::start(&PROGRAM, &settings));
    let import = |text: String| {
        let (status, body) = server.upload("ooni-observations", format!("{HEADER}{text}").as_bytes());
        assert_eq!(status, 200, "{body}");
    };
    import(rows("IT", 1, "example.org", RECENT, 0..9, false) + &rows("IT", 1, "same.org", RECENT, 0..9, false));
    settle(&server);
    // Not judged yet when everything is to be judged again.
    import(rows("IT", 1, "example.org", "2025-12-31", 0..9, true));
    admin(&server, Method::POST, "/v1/admin/verdicts/recompute");
    settle(&server);
    let report = admin(&server, Method::GET, "/v1/admin/verdicts/recompute");
    assert_eq!((&report["complete"], &report["handled"], &report["changed"]), (&true.into(), &2.into(), &1.into()));
    let change = json!({ "country": "IT", "target": "example.org", "before": "accessible", "after": "blocked" });
    assert_eq!(report["changes"], json!([change]), "{report}");
}

/// A kept answer equals the computed one at any moment, and a new measurement ends it.
#[test]
fn kept_answers_are_those_that_would_be_computed_and_end_with_the_next_fold() {
    let server = Server::start();
    let text: String = (1..=3).map(|asn| rows("IT", asn, "example.org", RECENT, 0..30, asn == 1)).collect();
    server.import(ImportKind::OoniObservations, Options::default(), format!("{HEADER}{text}").as_bytes());
    server.upload("blocklist?country=IT&list_kind=official&date=2025-12-31T10:20:00Z", b"domain\nlisted.example\n");
    let ask = |target: &str, at: &str, explain: bool| {
        let body = json!({ "country": "IT", "target": target, "as_of": at, "includeISPs": true, "explain": explain });
        let (_, mut answer) = server.post("/hydra/v1/detect", &body);
        answer.as_object_mut().unwrap().remove("explanation");
        answer
    };
    for target in ["example.org", "listed.example", "never.example"] {
        for at in [
            "2025-12-30T08:00:00Z",
            "2025-12-30T08:00:00.001Z",
            "2025-12-30T08:59:59.999Z",
            "2025-12-30T09:00:00Z",
            "2025-12-31T10:10:00Z",
            "2025-12-31T10:30:00Z",
            "2026-01-29T04:59:00Z",
            "2026-01-29T05:00:00Z",
            "2026-01-29T05:01:00Z",
        ] {
            let computed = ask(target, at, true);
            for _ in 0..2 {
                assert_eq!(ask(target, at, false), computed, "{target} at {at}");
            }
        }
    }
    let at = "2025-12-31T12:00:00Z";
    let before = ask("example.org", at, false);
    let late = rows("IT", 4, "example.org", "2025-12-31", 0..9, true);
    server.upload("ooni-observations", format!("{HEADER}{late}").as_bytes());
    let after = ask("example.org", at, false);
    assert_eq!((&before["networksBlocked"], &after["networksBlocked"]), (&1.into(), &2.into()), "{after}");
    assert_eq!(after, ask("example.org", at, true));
}

/// An answer is kept for any later question about its subject. An answer that may not be kept does not prevent others
/// from being kept.
#[test]
fn an_answer_given_among_others_is_kept_for_itself() {
    let server = Server::start();
    let sites = ["example.org", "example.net", "listed.example"];
    let text: String = sites.iter().map(|site| rows("IT", 1, site, RECENT, 0..30, true)).collect();
    server.import(ImportKind::OoniObservations, Options::default(), format!("{HEADER}{text}").as_bytes());
    server.upload("blocklist?country=IT&list_kind=official&date=2025-12-30T10:20:00Z", b"domain\nlisted.example\n");
    let ask = |targets: &[&str]| {
        let body = json!({ "country": "IT", "targets": targets, "as_of": "2025-12-30T12:00:00Z" });
        let (_, mut answer) = server.post("/hydra/v1/detect/batch", &body);
        (answer["results"].take(), server.0.memo().answers())
    };
    let (none, shared) = ask(&["listed.example"]);
    assert_eq!((none.as_array().map(Vec::len), &none[0]["listed"]), (Some(1), &true.into()), "{none}");
    let (first, kept) = ask(&["listed.example", "example.org"]);
    assert_eq!(kept, shared + 1, "the listed one is computed each time, the other is kept");
    assert_eq!(first[1]["target"], "example.org", "{first}");
    assert_eq!(ask(&["example.org"]), (json!([first[1]]), kept));
    let (last, kept) = ask(&["example.org", "listed.example", "example.net"]);
    assert_eq!(kept, shared + 2);
    assert_eq!([&last[0], &last[1]], [&first[1], &first[0]]);
}

#[test]
fn only_kinds_that_keep_answers_count_their_revisions() {
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.counts_revisions()).collect();
    assert_eq!(kinds, [Kind::Country, Kind::World, Kind::Incidents]);
    let server = Server::start();
    let revisions = |actor: &ActorId| server.0.rows(actor).into_iter().filter(|(key, _)| key[0] == 13).count();
    let options = Options { country: Some("IT".to_owned()), list_kind: Some(ListKind::Official), ..Options::default() };
    server.import(ImportKind::Blocklist, options, b"domain\nlisted.example\n");
    let counted =
        [ActorId::new(Kind::Country, "IT"), world::actor(), reference::actor()].map(|actor| revisions(&actor));
    assert_eq!(counted, [1, 1, 0]);
}

/// A kept answer must not end because verdicts are computed again, since nothing that it rests on changed.
#[test]
fn computing_verdicts_again_leaves_kept_answers_and_measurements_end_them() {
    let server = Server::start();
    let italy = ActorId::new(Kind::Country, "IT");
    let revision = || server.0.rows(&italy).into_iter().find(|(key, _)| key[0] == 13).map(|(_, value)| value);
    let derived = || server.0.rows(&italy).into_iter().filter(|(key, _)| key[0] == 23).collect::<Vec<_>>();
    server.import(
        ImportKind::OoniObservations,
        Options::default(),
        format!("{HEADER}{}", rows("IT", 1, "example.org", RECENT, 0..9, true)).as_bytes(),
    );
    settle(&server);
    let (before, verdicts) = (revision(), derived());
    assert!(before.is_some() && !verdicts.is_empty());
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    settle(&server);
    assert_ne!(derived(), verdicts, "verdicts were looked at again");
    assert_eq!(revision(), before);
    server.upload(
        "ooni-observations",
        format!("{HEADER}{}", rows("IT", 2, "example.org", RECENT, 0..3, true)).as_bytes(),
    );
    assert_ne!(revision(), before);
}
