//! Counts compared with those of the given files, made without the importer; and with what the same data say elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use http::Method;
use serde_json::Value;

use crate::country::tests::{HEADER, Server, rows};
use crate::import::{ImportKind, Options};
use engine::http::Body;
use engine::testing::real_data;

const COUNTS: [&str; 4] = ["anomaly_count", "confirmed_count", "failure_count", "ok_count"];

fn import(server: &Server, data: &[u8]) {
    server.import(ImportKind::OoniObservations, Options::default(), data);
    // The world hears of new series and categories a little later.
    (0..20).for_each(|_| server.settle());
}

/// The rows of an answer with axes. The four counts of each sum to all of its measurements.
fn result(server: &Server, query: &str) -> Vec<Value> {
    let body = server.ok(&format!("/api/v1/aggregation?{query}"));
    let rows = body["result"].as_array().unwrap_or_else(|| panic!("{body}")).clone();
    rows.iter().for_each(check_sum);
    rows
}

/// The one row of an answer without axes.
fn total(server: &Server, query: &str) -> Value {
    let body = server.ok(&format!("/api/v1/aggregation?{query}"));
    assert_eq!((&body["v"], &body["dimension_count"]), (&0.into(), &0.into()), "{body}");
    check_sum(&body["result"]);
    body["result"].clone()
}

fn check_sum(row: &Value) {
    let sum: u64 = COUNTS.iter().map(|name| row[name].as_u64().unwrap()).sum();
    assert_eq!(row["measurement_count"], sum, "{row}");
}

/// Measurements by the values of two columns.
fn table(rows: &[Value], x: &str, y: &str) -> BTreeMap<(String, String), u64> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut found = BTreeMap::new();
    for row in rows {
        let key = (text(&row[x]), text(&row[y]));
        assert!(found.insert(key, row["measurement_count"].as_u64().unwrap()).is_none(), "{row} comes twice");
    }
    found
}

/// A measurement of a given file: its day, network, and the host of its input or else its test.
type GivenRow = (String, String, String);

/// All measurements of the given files that count at a target, read without the importer: the rows of one measurement
/// have the same report, input and time. Rows of a page that a link of another host leads to count at no target, because
/// the files have no rows of the link itself.
fn measured() -> Option<Vec<GivenRow>> {
    let mut found: BTreeMap<(String, String, String), GivenRow> = BTreeMap::new();
    for name in ["telegram", "web_connectivity"] {
        let mut text = Vec::new();
        let packed = real_data(&format!("ooni/observations_KE_2023_{name}.csv.gz"))?;
        flate2::read::MultiGzDecoder::new(packed.as_slice()).read_to_end(&mut text).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_slice());
        let header = reader.headers().unwrap().clone();
        for row in reader.records() {
            let row = row.unwrap();
            let column = |name: &str| {
                let at = header.iter().position(|column| column == name).unwrap();
                row[at].to_owned()
            };
            let (input, time) = (column("input"), column("measurement_start_time"));
            let target = match input.split('/').nth(2) {
                None => "telegram/pool".to_owned(),
                Some(host) if host == column("hostname") => host.to_owned(),
                Some(_) => continue,
            };
            let measured = (time[..10].to_owned(), column("probe_asn"), target);
            found.insert((column("report_id"), input, time), measured);
        }
    }
    Some(found.into_values().collect())
}

const ALL: &str = "since=2023-10-15&until=2023-11-30";

#[test]
fn counts_of_kenya_are_those_of_the_given_files() {
    let Some(measured) = measured() else { return };
    let server = Server::start();
    for name in ["telegram", "web_connectivity"] {
        import(&server, &real_data(&format!("ooni/observations_KE_2023_{name}.csv.gz")).unwrap());
    }
    let expected = |of: &dyn Fn(&GivenRow) -> (String, String), only: &dyn Fn(&GivenRow) -> bool| {
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        measured.iter().filter(|one| only(one)).for_each(|one| *counts.entry(of(one)).or_default() += 1);
        counts
    };
    let by = |x: &str, y: &str, more: &str| {
        let query = format!("probe_cc=KE&{ALL}&time_grain=day&axis_x={x}&axis_y={y}{more}");
        table(&result(&server, &query), x, y)
    };
    let any = |_: &GivenRow| true;
    let day_and_network = |(day, asn, _): &GivenRow| (day.clone(), asn.clone());
    assert_eq!(by("measurement_start_day", "probe_asn", ""), expected(&day_and_network, &any));
    let network_and_domain = |(_, asn, domain): &GivenRow| (asn.clone(), domain.clone());
    assert_eq!(by("probe_asn", "domain", ""), expected(&network_and_domain, &any));
    let day_and_domain = |(day, _, domain): &GivenRow| (day.clone(), domain.clone());
    assert_eq!(by("measurement_start_day", "domain", ""), expected(&day_and_domain, &any));
    // One domain, one test, one network, some days.
    for (more, only) in [
        ("&domain=telegram.org", (&|one: &GivenRow| one.2 == "telegram.org") as &dyn Fn(&GivenRow) -> bool),
        ("&test_name=telegram", &|one| one.2 == "telegram/pool"),
        ("&test_name=web_connectivity", &|one| one.2 != "telegram/pool"),
        ("&probe_asn=AS33771,12455", &|one| one.1 == "33771" || one.1 == "12455"),
    ] {
        assert_eq!(by("measurement_start_day", "probe_asn", more), expected(&day_and_network, only), "{more}");
    }
    let inside = |(day, ..): &GivenRow| ("2023-11-08".."2023-11-10").contains(&day.as_str());
    let two_days = total(&server, "probe_cc=ke&since=2023-11-08&until=2023-11-10");
    assert_eq!(two_days["measurement_count"], measured.iter().filter(|one| inside(one)).count());
    // All countries that know the domain: here it is one.
    let everywhere = result(&server, &format!("domain=telegram.org&{ALL}&axis_x=probe_cc"));
    assert_eq!(everywhere[0]["probe_cc"], "KE");
    assert_eq!(everywhere[0]["measurement_count"], measured.iter().filter(|one| one.2 == "telegram.org").count());
    kenya_votes(&server);
}

/// The truth about Kenya: where Telegram was blocked, and how it failed there.
fn kenya_votes(server: &Server) {
    let blocked = result(
        server,
        "probe_cc=KE&test_name=telegram&since=2023-11-09&until=2023-11-24&axis_x=probe_asn&axis_y=blocking_type",
    );
    let of = |asn: u64, kind: &str| {
        let row = blocked.iter().find(|row| row["probe_asn"] == asn && row["blocking_type"] == kind);
        row.map_or(0, |row| row["anomaly_count"].as_u64().unwrap())
    };
    for asn in [33771, 12455, 37061] {
        assert!(of(asn, "http-failure") + of(asn, "tcp_ip") >= 3, "AS{asn}: {blocked:?}");
    }
    for asn in [30844, 15399] {
        assert_eq!(of(asn, "http-failure") + of(asn, "tcp_ip"), 0, "AS{asn} is clean: {blocked:?}");
    }
    for row in &blocked {
        assert_eq!(row["confirmed_count"], 0, "no block page was seen: {row}");
        let votes = row["anomaly_count"].as_u64().unwrap() > 0;
        assert_eq!(votes, row["blocking_type"] != "", "{row}");
    }
}

/// What a day has does not depend on the range in which it is asked for, nor on the grain.
#[test]
fn a_day_has_the_same_counts_in_every_range() {
    let server = Server::start();
    let mut text = HEADER.to_owned();
    for asn in 1..=4 {
        text += &rows("IT", asn, "a.example", "2025-11-20", 0..24 * 30, asn == 4);
        text += &rows("IT", asn, "b.example", "2025-12-15", 0..30, false);
    }
    import(&server, text.as_bytes());
    let whole = "probe_cc=IT&since=2025-11-20&until=2025-12-21";
    let days = result(&server, &format!("{whole}&time_grain=day&axis_x=measurement_start_day&axis_y=domain"));
    assert_eq!(days.len(), 32, "30 days of one site, two of the other");
    for day in &days {
        let (date, domain) = (day["measurement_start_day"].as_str().unwrap(), day["domain"].as_str().unwrap());
        let next = crate::Timestamp::parse(date).unwrap().plus(engine::time::DAY).to_date_text();
        let one = total(&server, &format!("probe_cc=IT&domain={domain}&since={date}&until={next}"));
        for name in COUNTS {
            assert_eq!(one[name], day[name], "{name} of {day}");
        }
    }
    let all = total(&server, whole);
    assert_eq!((&all["measurement_count"], &all["anomaly_count"]), (&3_000.into(), &720.into()), "{all}");
    for (grain, spans) in [("week", 5), ("month", 2)] {
        let coarse = result(&server, &format!("{whole}&time_grain={grain}&axis_y=measurement_start_day"));
        let sum: u64 = coarse.iter().map(|row| row["measurement_count"].as_u64().unwrap()).sum();
        assert_eq!((coarse.len(), sum), (spans, 3_000), "{grain}");
    }
    let hours = result(&server, "probe_cc=IT&since=2025-12-15&until=2025-12-15T03:00:00Z&axis_x=measurement_start_day");
    let begins: Vec<&str> = hours.iter().map(|row| row["measurement_start_day"].as_str().unwrap()).collect();
    assert_eq!(begins, ["2025-12-15T00:00:00Z", "2025-12-15T01:00:00Z", "2025-12-15T02:00:00Z"]);
    assert!(hours.iter().all(|row| row["measurement_count"] == 8), "{hours:?}");
}

/// Decision rollup-after-400-days: counts of what became counts stay as they were.
#[test]
fn old_measurements_are_counted_as_before() {
    let server = Server::start();
    let old =
        [rows("IT", 1, "a.example", "2024-09-01", 0..10, true), rows("IT", 2, "a.example", "2024-09-01", 0..30, false)];
    import(&server, format!("{HEADER}{}", old.concat()).as_bytes());
    let query =
        "probe_cc=IT&since=2024-08-01&until=2024-10-01&time_grain=day&axis_x=measurement_start_day&axis_y=probe_asn";
    let before = result(&server, query);
    assert_eq!(before.len(), 3, "{before:?}");
    for _ in 0..10 {
        server.0.advance(std::time::Duration::from_secs(86_400));
    }
    assert_eq!(result(&server, query), before);
}

/// A visit to a link that redirects measures two hosts, and counts at the link.
#[test]
fn a_measurement_counts_at_one_domain() {
    let server = Server::start();
    let visits = rows("IT", 1, "short.example", "2025-12-20", 0..8, false);
    let hops = visits.replace("192.0.2.7,443", "192.0.2.8,443").replace(",IT,1,short.example,", ",IT,1,long.example,");
    import(&server, format!("{HEADER}{visits}{hops}").as_bytes());
    let range = "since=2025-12-01&until=2026-01-01";
    let rows = result(&server, &format!("probe_cc=IT&{range}&axis_x=domain"));
    assert_eq!(
        table(&rows, "domain", "domain"),
        BTreeMap::from([(("short.example".into(), "short.example".into()), 8)])
    );
    assert_eq!(total(&server, &format!("domain=long.example&{range}"))["measurement_count"], 0);
}

#[test]
fn categories_are_those_of_the_lists() {
    let server = Server::start();
    let (status, _) = server.upload(
        "test-list",
        b"url,category_code,category_description,date_added,source,notes\n\
          https://news.example/,NEWS,News Media,2020-01-01,x,\nhttps://bet.example/,GMB,Gambling,2020-01-01,x,\n",
    );
    assert_eq!(status, 200);
    let sites = ["news.example", "bet.example", "other.example"];
    let text: String = sites.iter().map(|site| rows("IT", 1, site, "2025-12-20", 0..5, false)).collect();
    import(&server, format!("{HEADER}{text}").as_bytes());
    server.settle();
    let range = "probe_cc=IT&since=2025-12-01&until=2026-01-01";
    let rows = result(&server, &format!("{range}&axis_x=category_code"));
    let codes: BTreeSet<&str> = rows.iter().map(|row| row["category_code"].as_str().unwrap()).collect();
    assert_eq!(codes, BTreeSet::from(["", "GMB", "NEWS"]), "{rows:?}");
    let news = result(&server, &format!("{range}&category_code=news&axis_x=domain"));
    assert_eq!((news.len(), &news[0]["domain"]), (1, &"news.example".into()), "{news:?}");
    assert_eq!(total(&server, &format!("{range}&category_code=NEWS,GMB"))["measurement_count"], 10);
}

#[test]
fn csv_has_the_columns_of_the_interface_in_order() {
    let server = Server::start();
    import(&server, format!("{HEADER}{}", rows("IT", 7, "a.example", "2025-12-20", 0..2, false)).as_bytes());
    let get = |query: &str| {
        let path = format!("/api/v1/aggregation?probe_cc=IT&since=2025-12-20&until=2025-12-21&format=CSV{query}");
        let response = server.request(Method::GET, &path, &[], b"");
        assert_eq!(
            (response.status.as_u16(), response.headers["content-type"].to_str().unwrap()),
            (200, "text/csv; charset=utf-8")
        );
        let Body::Bytes(text) = response.body else { panic!("a stream") };
        (String::from_utf8(text.to_vec()).unwrap(), response.headers)
    };
    let (text, headers) = get("");
    assert_eq!(text, "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count\r\n0,0,0,2,2\r\n");
    assert!(!headers.contains_key("content-disposition"));
    assert_eq!(headers["x-license"], "CC-BY-NC-SA-4.0");
    let (text, headers) = get("&axis_x=measurement_start_day&axis_y=probe_asn&time_grain=day&download=true");
    let header =
        "anomaly_count,confirmed_count,failure_count,measurement_count,measurement_start_day,ok_count,probe_asn";
    assert_eq!(text, format!("{header}\r\n0,0,0,2,2025-12-20,2,7\r\n"));
    assert_eq!(headers["content-disposition"], "attachment; filename=\"aggregation.csv\"");
}

#[test]
fn what_cannot_be_answered_is_refused_with_both_names_of_the_message() {
    let server = Server::start();
    let entries = |n: usize, one: &str| (0..n).map(|n| format!("{one}{n}")).collect::<Vec<_>>().join(",");
    for (query, code) in [
        ("", "TOO_BROAD"),
        ("axis_x=probe_cc&probe_asn=AS1", "TOO_BROAD"),
        ("probe_cc=IT&since=2010-01-01&until=2025-01-01", "TOO_BROAD"),
        (&format!("probe_cc=IT&probe_asn={}", entries(21, "AS1")), "TOO_BROAD"),
        ("probe_cc=IT&input=https://a.example/", "BAD_REQUEST"),
        ("probe_cc=IT&ooni_run_link_id=1234", "BAD_REQUEST"),
        ("probe_cc=Italy", "BAD_REQUEST"),
        ("probe_cc=ZZ", "BAD_REQUEST"),
        ("probe_cc=IT,", "BAD_REQUEST"),
        ("probe_cc=IT&probe_asn=x", "BAD_REQUEST"),
        ("probe_cc=IT&test_name=ndt", "BAD_REQUEST"),
        ("probe_cc=IT&category_code=NONE", "BAD_REQUEST"),
        ("probe_cc=IT&axis_x=input", "BAD_REQUEST"),
        ("probe_cc=IT&axis_x=probe_cc&axis_y=probe_cc", "BAD_REQUEST"),
        ("probe_cc=IT&time_grain=hour&since=2025-01-01&until=2025-03-01", "BAD_REQUEST"),
        ("probe_cc=IT&since=2025-03-01&until=2025-01-01", "BAD_REQUEST"),
        ("probe_cc=IT&until=2020-01-01", "BAD_REQUEST"),
        ("probe_cc=IT&since=2025-12-20T10:30:00Z", "BAD_REQUEST"),
        ("probe_cc=IT&format=xml", "BAD_REQUEST"),
        ("probe_cc=IT&download=perhaps", "BAD_REQUEST"),
        ("domain=192.0.2.1", "BAD_REQUEST"),
    ] {
        let (status, body) = server.get(&format!("/api/v1/aggregation?{query}"));
        assert_eq!((status.as_u16(), &body["error"]), (400, &code.into()), "{query}: {body}");
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
        assert_eq!((&body["msg"], &body["v"]), (&body["message"], &0.into()), "{body}");
    }
    let (status, body) = json_of(&server, Method::POST);
    assert_eq!((status, &body["msg"]), (405, &body["message"]), "{body}");
    // A full list is answered.
    let query = format!("/api/v1/aggregation?probe_cc=IT&probe_asn={}", entries(20, "AS1"));
    assert_eq!(server.ok(&query)["result"]["measurement_count"], 0);
}

fn json_of(server: &Server, method: Method) -> (u16, Value) {
    let (status, body) = crate::country::tests::json(server.request(method, "/api/v1/aggregation", &[], b""));
    (status.as_u16(), body)
}
