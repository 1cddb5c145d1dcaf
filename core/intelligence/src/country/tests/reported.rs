//! Events and counts that other sources report: what the country and the world store of them.

use futures_util::FutureExt;
use serde_json::json;

use super::{Server, rows};
use crate::Timestamp;
use crate::country::{DayCountRows, Events};
use crate::import::{ImportKind, ListKind, Options};
use crate::incidents::{self, EvidenceOf, Filter, INTERNET, Select, Severity};
use crate::world::{self, EventHistory, EventMark};
use engine::actor::{ActorId, Kind};
use engine::runtime;
use engine::runtime::Runtime;
use engine::time::DAY;
use facts::reported::{EventKind, Scope};

const HEADER: &str = "country,kind,start,end,id,revision,services\n";

fn curated(rows: &[&str]) -> String {
    format!("{HEADER}{}\n", rows.join("\n"))
}

fn history(server: &Server, country: Option<&str>) -> Vec<(String, u8, EventMark)> {
    let query = EventHistory { country: country.map(str::to_owned) };
    runtime::query(&*server.0, world::actor().name, &query).now_or_never().unwrap().unwrap()
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// The events and the numbers of rows given, of a country and of the world.
fn stored(server: &Server) -> (Rows, Rows) {
    let of = |actor: &ActorId, tables: std::ops::RangeInclusive<u8>| {
        server.0.rows(actor).into_iter().filter(|(key, _)| tables.contains(&key[0])).collect()
    };
    (of(&ActorId::new(Kind::Country, "CU"), 37..=39), of(&world::actor(), 50..=51))
}

/// Decision order-of-data: any order, split or repeat of the input ends in the same rows.
#[test]
fn any_order_and_split_of_events_ends_in_the_same_rows() {
    let rows = [
        "CU,shutdown,2021-07-11,2021-07-13,a,2,telegram",
        "CU,shutdown,2021-07-11,,a,1,",
        "CU,outage,2022-09-27,2022-09-28,b,,",
        "Cuba; Haiti,block,2021-07-12,,c,,example.org",
        "CU,shutdown,2021-07-11,2021-07-12,a,2,",
    ];
    let import = |parts: &[Vec<&str>]| {
        let server = Server::start();
        for part in parts {
            server.import(ImportKind::Outages, Options::default(), curated(part).as_bytes());
        }
        server.settle();
        server
    };
    let whole = import(&[rows.to_vec()]);
    let expected = stored(&whole);
    assert_eq!((expected.0.len(), expected.1.len()), (4, 6), "three events and their sum; the world has Haiti's too");
    let again = whole.import(ImportKind::Outages, Options::default(), curated(&rows).as_bytes());
    assert_eq!((again.counts.accepted, again.counts.duplicate), (0, 5), "{again:?}");
    whole.settle();
    assert_eq!(stored(&whole), expected);
    for order in [[4, 3, 2, 1, 0], [1, 4, 0, 3, 2], [2, 0, 4, 1, 3]] {
        let parts: Vec<Vec<&str>> = order.iter().map(|at| vec![rows[*at]]).collect();
        assert_eq!(stored(&import(&parts)), expected, "{order:?}");
    }
}

#[test]
fn the_world_has_every_event_in_short_and_a_country_has_it_whole() {
    let server = Server::start();
    let rows = ["CU,shutdown,2021-07-11,2021-07-13,a,2,telegram", "HT,outage,2022-09-27T10:00:00Z,,b,,"];
    server.import(ImportKind::Outages, Options::default(), curated(&rows).as_bytes());
    server.settle();
    let all = history(&server, None);
    assert_eq!(all.iter().map(|(country, ..)| country.as_str()).collect::<Vec<_>>(), ["CU", "HT"]);
    let mark = all[0].2;
    assert_eq!((mark.start, mark.end), (18_819, Some(18_821)), "the last day, not the one after it");
    assert_eq!((mark.kind, mark.scope, all[1].2.end), (EventKind::Shutdown, Scope::National, None));
    assert_eq!(history(&server, Some("HT")), all[1..]);
    let day = |text: &str| Timestamp::parse(text).unwrap();
    let events = |from: &str, until: &str| {
        let query = Events { from: day(from), until: day(until), source: None };
        runtime::query(&*server.0, "CU", &query).now_or_never().unwrap().unwrap()
    };
    assert_eq!(events("2021-07-12", "2021-07-13").len(), 1);
    assert_eq!(events("2021-07-12", "2021-07-13")[0].services, ["telegram"]);
    assert!(events("2021-07-15", "2021-07-16").is_empty() && events("2021-07-01", "2021-07-10").is_empty());
}

/// Of two counts of a day, the later one with more measurements stays. The order in which they come means nothing.
#[test]
fn counts_of_a_day_only_grow() {
    let rows = ["1,0,0,10,9,2024-05-01,CU", "2,0,0,20,18,2024-05-01,CU", "0,0,0,5,5,2024-05-01,CU"];
    let header =
        "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,measurement_start_day,probe_cc\n";
    let mut found = Vec::new();
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let server = Server::start();
        for at in order {
            let text = format!("{header}{}\n", rows[at]);
            server.import(ImportKind::OoniAggregation, Options::default(), text.as_bytes());
        }
        server.settle();
        let query = DayCountRows { first: 0, last: u32::MAX };
        let days = runtime::query(&*server.0, "CU", &query).now_or_never().unwrap().unwrap();
        assert_eq!((days.len(), days[0].2.measurements, days[0].2.anomalies), (1, 20, 2));
        found.push(stored(&server));
    }
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
}

/// The row of a source in `GET /data/sources`.
fn source(server: &Server, id: &str) -> serde_json::Value {
    let body = server.ok("/data/sources");
    body["sources"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap().clone()
}

/// Decision dumps-and-recompute: the number of rows is what is stored, not what the last import found.
#[test]
fn block_lists_are_counted_by_what_is_stored() {
    let server = Server::start();
    let list = |country: &str, date: &str, text: &str| {
        let options = Options {
            country: Some(country.to_owned()),
            list_kind: Some(ListKind::Official),
            date: Timestamp::parse(date),
            ..Options::default()
        };
        server.import(ImportKind::Blocklist, options, text.as_bytes());
    };
    list("IT", "2020-03-01", "domain\na.example\nb.example\n");
    list("LT", "2022-06-01", "domain\na.example\n");
    list("IT", "2021-01-01", "domain\na.example\n");
    let row = source(&server, "blocklist");
    assert_eq!((&row["rows"], &row["countries"]), (&json!(3), &json!(2)), "{row}");
    assert_eq!((&row["lastSeen"], &row["freshness"]), (&json!("2022-06-01T00:00:00.000Z"), &json!("stale")), "{row}");
}

/// An event that is only announced has not been seen yet.
#[test]
fn an_announced_event_does_not_make_its_source_newer_than_now() {
    let server = Server::start();
    let ahead = server.0.now().plus(90 * DAY).to_date_text();
    server.import(ImportKind::Outages, Options::default(), curated(&[&format!("GH,shutdown,{ahead},,x,,")]).as_bytes());
    server.settle();
    let seen = source(&server, "outages")["lastSeen"].as_str().and_then(Timestamp::parse).unwrap();
    assert!(seen <= server.0.now(), "{seen}");
}

/// Half of the table's rows are about services, and none of these is a shutdown.
#[test]
fn blocks_of_services_in_the_real_table_are_no_shutdowns() {
    let Some(table) = engine::testing::real_data("shutdowns/stop_2016_2024.csv.gz") else { return };
    let server = Server::start();
    server.import(ImportKind::Shutdowns, Options::default(), &table);
    (0..20).for_each(|_| server.settle());
    let select = Select { filter: Filter::default(), offset: 0, limit: u32::MAX };
    let ask = runtime::query(&*server.0, &incidents::actor().name, &select);
    let all = ask.now_or_never().unwrap().unwrap().incidents;
    assert!(all.len() > 500, "{}", all.len());
    for incident in all {
        let ids = incident.draft.evidence_ids.clone();
        let ask = runtime::query(&*server.0, &incidents::actor().name, &EvidenceOf { ids });
        let blocks = ask.now_or_never().unwrap().unwrap().iter().all(|row| row.kind == "block");
        assert!(!blocks || incident.draft.subject != INTERNET, "{} {:?}", incident.id, incident.draft);
        let grindr = incident.draft.domains.iter().any(|domain| domain == "grindr.com");
        let lone = incident.draft.services.is_empty() && incident.draft.domains.len() == 1;
        assert!(!grindr || !lone || incident.severity() == Severity::Medium, "{} {:?}", incident.id, incident.draft);
    }
}

/// Decision order-of-data: the two alerts of an outage may come in two files, in either order.
#[test]
fn alerts_of_an_outage_join_over_files() {
    let alert = |time: i64, level: &str| {
        format!(
            r#"{{"data":[{{"datasource":"bgp","entity":{{"code":"SD","name":"Sudan","type":"country"}},"time":{time},
            "level":"{level}","value":1,"historyValue":400}}]}}"#
        )
        .replace('\n', "")
    };
    let (begin, end) = (alert(1_700_000_000, "critical"), alert(1_700_003_600, "normal"));
    let events = |files: &[&String]| {
        let server = Server::start();
        for file in files {
            server.import(ImportKind::Ioda, Options::default(), file.as_bytes());
        }
        server.settle();
        let query = Events { from: Timestamp::MIN, until: Timestamp::MAX, source: None };
        runtime::query(&*server.0, "SD", &query).now_or_never().unwrap().unwrap()
    };
    let whole = events(&[&format!("{begin}\n{end}\n")]);
    assert_eq!((whole.len(), whole[0].end), (1, Some(Timestamp::from_seconds(1_700_003_600))), "{whole:?}");
    assert_eq!(events(&[&begin, &end]), whole);
    assert_eq!(events(&[&end, &begin]), whole);
    assert_eq!(events(&[&begin, &end, &begin]), whole);
}

/// Decision order-of-data: the first measurement of a country changes no incident that was reported before it.
#[test]
fn reported_incidents_keep_their_subject_when_a_country_is_first_measured() {
    let server = Server::start();
    let targets = "target_id\tservice\trole\nhub.example\thub\t\n";
    let (status, body) = server.upload("targets", targets.as_bytes());
    assert_eq!(status, 200, "{body}");
    let row =
        "country,kind,start,end,services,url\nIT,block,2025-11-02,2025-11-05,hub.example,https://news.example/1\n";
    let (status, body) = server.upload("outages", row.as_bytes());
    assert_eq!(status, 200, "{body}");
    (0..20).for_each(|_| server.settle());
    let ids = || {
        let body = server.ok("/data/incidents?country=IT");
        let rows = body["incidents"].as_array().unwrap();
        rows.iter().map(|row| (row["id"].clone(), row["title"].clone())).collect::<Vec<_>>()
    };
    let before = ids();
    assert!(before.len() == 1 && before[0].1.as_str().unwrap().starts_with("Hub"), "{before:?}");
    let one = format!("{}{}", super::HEADER, rows("IT", 1, "other.example", "2025-11-01", 0..3, false));
    assert_eq!(server.upload("ooni-observations", one.as_bytes()).0, 200);
    (0..20).for_each(|_| server.settle());
    assert_eq!(ids(), before);
}
