//! Answers that are made when asked, and kept until a row changes that they rest on.

use std::cell::RefCell;
use std::collections::BTreeSet;

use http::Method;

use super::{HEADER, Server, rows};
use crate::country::answer::{Detect, State};
use crate::import::{ImportKind, Options};
use crate::world;
use engine::actor::{ActorId, Kind, Query, View, tables as claimed};
use engine::documents::{self, Render};
use engine::http::Body;
use engine::kv::{Direction, MemoryStore, Pair, Range, Read, Store, StoreError};
use engine::runtime::Runtime;
use engine::settings::Settings;
use engine::testing::START;
use facts::subject::Subject;

const RECENT: &str = "2025-12-30";
const TEST_LIST: &[u8] = b"url,category_code,category_description,date_added,source,notes\n\
    https://a.example/,NEWS,,2020-01-01,test,\nhttps://b.example/,NEWS,,2020-01-01,test,\n\
    https://c.example/,NEWS,,2020-01-01,test,\n";

/// Questions whose answers are not published. The last ones are made from published documents.
const ASKED: [&str; 19] = [
    "/v1/measurement/summary?format=csv",
    "/v1/measurement/intent-profile?country=IT",
    "/v1/measurement/category-leaders?category=NEWS",
    "/v1/measurement/most-blocked-domains?category=NEWS",
    "/v1/measurement/most-blocked-domains?format=csv",
    "/v1/measurement/network-depth?country=IT",
    "/v1/measurement/techniques?country=IT",
    "/v1/measurement/techniques?country=IT&format=csv",
    "/v1/measurement/by-region?level=subregion",
    "/v1/topic-censorship-index?topic=news",
    "/v1/platform/youtube/risk",
    "/v1/platforms/country/IT",
    "/v1/platform/youtube/risk/IT",
    "/v1/isp/worst?limit=7",
    "/v1/isp/worst?limit=7&format=csv",
    "/data/dumps?country=IT",
    "/v1/measurement/co-blocking?format=csv",
    "/v1/censorship-index?format=csv",
    "/data/country/IT/isps?format=csv",
];

fn measured(asn: u32, blocked: bool) -> String {
    let sites = ["a.example", "b.example", "c.example", "youtube.com"];
    let of = |country| sites.map(|host| rows(country, asn, host, RECENT, 0..30, blocked)).concat();
    HEADER.to_owned() + &of("IT") + &of("FI")
}

fn answer(server: &Server, target: &str) -> (String, String) {
    let response = server.request(Method::GET, target, &[], b"");
    let tag = response.headers.get("etag").map(|tag| tag.to_str().unwrap().to_owned()).unwrap_or_default();
    let Body::Bytes(bytes) = response.body else { panic!("a stream") };
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(response.status, 200, "{target}: {text}");
    (text, tag)
}

fn settle(server: &Server) {
    for _ in 0..10 {
        server.settle();
    }
}

/// The clock of the second import is within the minute of the first answers, so time alone would keep them.
#[test]
fn no_kept_answer_is_served_after_its_rows_changed() {
    let server = Server::start();
    server.import(ImportKind::TestList, Options::default(), TEST_LIST);
    for asn in 1..=3 {
        server.upload("ooni-observations", measured(asn, false).as_bytes());
    }
    settle(&server);
    let before = ASKED.map(|target| answer(&server, target));
    assert_eq!(ASKED.map(|target| answer(&server, target)), before);
    for asn in 4..=7 {
        server.upload("ooni-observations", measured(asn, true).as_bytes());
    }
    settle(&server);
    assert!(Runtime::now(&*server.0).since(START) < engine::time::MINUTE);
    let after = ASKED.map(|target| answer(&server, target));
    for ((target, before), after) in ASKED.iter().zip(&before).zip(&after) {
        assert!(before.0 != after.0 && before.1 != after.1, "{target} is as before: {}", after.0);
        assert_eq!(&answer(&server, target), after, "{target}");
    }
    // The answers of a process that has kept nothing.
    let other = Server(server.0.restarted(&[("admin_key", super::ADMIN), ("publish_interval", "0")]));
    for (target, after) in ASKED.iter().zip(&after) {
        assert_eq!(&answer(&other, target), after, "{target}");
    }
}

/// Notes which tables are read.
struct NotingStore<'a> {
    rows: &'a MemoryStore,
    tables: RefCell<BTreeSet<u8>>,
}

impl Read for NotingStore<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.tables.borrow_mut().extend(key.first());
        self.rows.get(key)
    }

    fn scan(&self, range: &Range, direction: Direction, limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.tables.borrow_mut().extend(range.start.first());
        self.rows.scan(range, direction, limit)
    }
}

/// A document could be kept for ever if it read a table whose changes are not counted.
#[test]
fn documents_rest_on_tables_whose_changes_are_counted() {
    let server = Server::start();
    server.import(ImportKind::TestList, Options::default(), TEST_LIST);
    for asn in 1..=4 {
        server.upload("ooni-observations", measured(asn, asn > 2).as_bytes());
    }
    settle(&server);
    let published =
        ["data/censorship-index.json", "data/censorship-index.csv", "v1/censorship-index", "data/methodology"];
    let reports = [
        "summary",
        "intent-profile/IT",
        "category-leaders/NEWS",
        "co-blocking",
        "most-blocked-domains",
        "network-depth",
        "quality",
        "techniques/IT.csv",
        "by-region",
        "platforms",
        "platform/youtube",
        "topic/news",
        "tools",
        "worst/7",
    ];
    let keys = published.map(str::to_owned).into_iter().chain(reports.map(|name| format!("analytics/{name}")));
    let (actor, settings) = (world::actor(), Settings::default());
    let store = copy(&server, &actor);
    for key in keys {
        let noted = NotingStore { rows: &store, tables: RefCell::default() };
        Render::<1> { key: key.clone() }
            .run(&View::new(&crate::testing::PROGRAM, &actor, &noted, START, &settings))
            .unwrap();
        let tables = noted.tables.into_inner();
        assert!(tables.iter().any(|table| *table >= engine::actor::FIRST_OWN_TABLE), "{key} read {tables:?}");
        let derived = claimed::derived(Kind::World);
        assert!(!derived.is_empty() && !tables.iter().any(|table| derived.contains(table)), "{key} read {tables:?}");
    }
}

fn copy(server: &Server, actor: &ActorId) -> MemoryStore {
    let mut batch = engine::kv::Batch::default();
    server.0.rows(actor).into_iter().for_each(|(key, value)| batch.put(key, value));
    let mut store = MemoryStore::default();
    store.apply(batch).unwrap();
    store
}

#[test]
fn no_answer_of_a_country_rests_on_rows_whose_changes_are_not_counted() {
    let server = Server::start();
    server.upload("ooni-observations", measured(1, true).as_bytes());
    settle(&server);
    let (italy, settings) = (ActorId::new(Kind::Country, "IT"), Settings::default());
    let store = copy(&server, &italy);
    for (subject, brief) in [("a.example", false), ("a.example", true), ("youtube", false), ("youtube", true)] {
        let noted = NotingStore { rows: &store, tables: RefCell::default() };
        let subjects = vec![Subject::parse(subject).unwrap()];
        let asked = Detect { subjects, at: None, explain: false, brief };
        let answer = asked.run(&View::new(&crate::testing::PROGRAM, &italy, &noted, START, &settings)).unwrap();
        assert!(answer.iter().all(|answer| answer.state == State::Blocked), "{answer:?}");
        let tables = noted.tables.into_inner();
        let derived = claimed::derived(Kind::Country);
        assert!(
            !derived.is_empty() && !tables.iter().any(|table| derived.contains(table)),
            "{subject} read {tables:?}"
        );
    }
}

/// Documents of a country also rest on verdicts, which may be computed again without new measurements.
#[test]
fn a_countrys_verdicts_count_for_its_documents_and_not_for_its_answers() {
    let server = Server::start();
    server.upload("ooni-observations", measured(1, false).as_bytes());
    settle(&server);
    let italy = ActorId::new(Kind::Country, "IT");
    let basis = || {
        let number =
            |table: u8| server.0.rows(&italy).into_iter().find(|(key, _)| *key == [table]).map(|(_, value)| value);
        (number(13), number(15))
    };
    let (told, derived) = basis();
    server.0.advance(std::time::Duration::from_secs(2 * 86_400));
    let (told_later, derived_later) = basis();
    assert_eq!(told, told_later);
    assert!(derived.is_some() && derived != derived_later);
    assert!(documents::owner(&crate::testing::PROGRAM, "data/dumps/IT").unwrap() == italy);
}
