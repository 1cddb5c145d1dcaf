//! Questions over any range of time: counts of measurements, single measurements, histories by network.

use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{
    BLOCKING, CLEAN, COUNTRY, HALF_BLOCKED, HEADER, INSIDE, SITE, Session, SiteResult, observation,
};
use serde_json::{Value, json};

use crate::detect::with_blocked_site;
use crate::{Suite, cases};

cases![
    counts_of_a_country_have_the_known_shape,
    every_axis_divides_the_same_measurements,
    a_domain_is_counted_in_every_country_that_knows_it,
    csv_and_download_are_those_of_the_known_interface,
    what_is_too_broad_or_unknown_is_refused_with_message_and_msg,
    counting_draws_on_the_budget_of_what_is_computed,
    old_measurements_are_listed_as_counts_page_by_page,
    new_measurements_are_listed_one_by_one_with_their_links,
    a_listing_without_country_or_target_is_refused,
    histories_take_a_range_of_days,
    histories_by_network_say_what_the_counts_say,
];

/// The four days of the site.
const RANGE: &str = "since=2024-03-09&until=2024-03-13";

fn ask(client: &Client, query: &str) -> Value {
    client.get(&format!("/api/v1/aggregation?{query}&{RANGE}")).expect(200)
}

fn counts(row: &Value) -> [u64; 5] {
    ["measurement_count", "ok_count", "anomaly_count", "confirmed_count", "failure_count"]
        .map(|name| row[name].as_u64().unwrap_or_else(|| panic!("{name}: {row}")))
}

fn counts_of_a_country_have_the_known_shape(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let body = ask(&client, &format!("probe_cc={COUNTRY}"));
    assert_eq!((&body["v"], &body["dimension_count"]), (&json!(0), &json!(0)), "{body}");
    assert_eq!(counts(&body["result"]), [64, 48, 16, 0, 0], "{body}");
    assert!(body["db_stats"]["row_count"].as_u64() >= Some(64), "{body}");
    assert!(body["method"].as_str().unwrap().contains("not the flags that OONI gives"), "{body}");
    assert!(body["left_out"].is_string() && body["license"] == "CC-BY-NC-SA-4.0", "{body}");
    assert_eq!((&body["since"], &body["time_grain"]), (&json!("2024-03-09T00:00:00.000Z"), &json!("hour")), "{body}");
    // A country that nobody measured has zeros, not an error.
    assert_eq!(counts(&ask(&client, "probe_cc=SE")["result"]), [0; 5]);
    let answer = client.get(&format!("/api/v1/aggregation?probe_cc={COUNTRY}&{RANGE}"));
    let tag = answer.header("etag").unwrap();
    assert_eq!(
        client.with("if-none-match", tag).get(&format!("/api/v1/aggregation?probe_cc={COUNTRY}&{RANGE}")).status,
        304
    );
}

fn every_axis_divides_the_same_measurements(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    for (axis, expected) in [
        ("measurement_start_day&time_grain=day", vec!["2024-03-09", "2024-03-10", "2024-03-11", "2024-03-12"]),
        ("probe_cc", vec![HALF_BLOCKED, COUNTRY]),
        ("domain", vec![SITE]),
        ("category_code", vec![""]),
        ("blocking_type", vec!["", "tls"]),
        ("test_name", vec!["web_connectivity"]),
    ] {
        let name = axis.split('&').next().unwrap();
        let body = ask(&client, &format!("probe_cc={COUNTRY},{HALF_BLOCKED}&axis_x={axis}"));
        let rows = body["result"].as_array().unwrap();
        let values: Vec<&str> = rows.iter().map(|row| row[name].as_str().unwrap()).collect();
        assert_eq!(values, expected, "{body}");
        let sum = rows.iter().fold([0; 5], |sum, row| {
            let mut counts = counts(row);
            counts.iter_mut().zip(sum).for_each(|(count, sum)| *count += sum);
            counts
        });
        assert_eq!(sum, [128, 80, 48, 0, 0], "{axis}: {body}");
    }
    let body =
        ask(&client, &format!("probe_cc={HALF_BLOCKED}&axis_x=probe_asn&axis_y=measurement_start_day&time_grain=day"));
    let rows = body["result"].as_array().unwrap();
    assert_eq!((rows.len(), &body["dimension_count"]), (16, &json!(2)), "{body}");
    for row in rows {
        let blocked = [BLOCKING, CLEAN[0]].iter().any(|asn| row["probe_asn"] == *asn);
        assert_eq!(counts(row), if blocked { [4, 0, 4, 0, 0] } else { [4, 4, 0, 0, 0] }, "{row}");
    }
}

fn a_domain_is_counted_in_every_country_that_knows_it(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let body = ask(&client, &format!("domain=www.{SITE},nobody.example&axis_y=probe_cc"));
    let rows = body["result"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{body}");
    assert_eq!(counts(&rows[0]), [64, 32, 32, 0, 0], "{body}");
    let one = ask(&client, &format!("domain={SITE}&probe_asn=AS{BLOCKING}&test_name=web_connectivity,telegram"));
    assert_eq!(counts(&one["result"]), [32, 0, 32, 0, 0], "{one}");
    assert_eq!(counts(&ask(&client, &format!("domain={SITE}&test_name=telegram"))["result"]), [0; 5]);
}

fn csv_and_download_are_those_of_the_known_interface(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let get = |query: &str| client.get(&format!("/api/v1/aggregation?probe_cc={COUNTRY}&{RANGE}&{query}"));
    let answer = get("format=CSV");
    assert_eq!(answer.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!((answer.header("content-disposition"), answer.header("x-license")), (None, Some("CC-BY-NC-SA-4.0")));
    let header = "anomaly_count,confirmed_count,failure_count,measurement_count,ok_count";
    assert_eq!(answer.text(), format!("{header}\r\n16,0,0,64,48\r\n"));
    let answer = get("format=csv&axis_x=probe_asn&download=true");
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"aggregation.csv\""));
    let mut lines = answer.text().lines();
    assert_eq!(lines.next(), Some("anomaly_count,confirmed_count,failure_count,measurement_count,ok_count,probe_asn"));
    assert_eq!(lines.next(), Some(format!("16,0,0,16,0,{BLOCKING}").as_str()));
    assert_eq!(lines.count(), 3);
    assert_eq!(get("download=true").header("content-disposition"), Some("attachment; filename=\"aggregation.json\""));
}

fn what_is_too_broad_or_unknown_is_refused_with_message_and_msg(suite: &Suite) {
    let client = suite.client();
    let many = (1..=21).map(|n| format!("site{n}.example")).collect::<Vec<_>>().join(",");
    for (query, code) in [
        (String::new(), "TOO_BROAD"),
        ("axis_x=probe_cc".to_owned(), "TOO_BROAD"),
        (format!("domain={many}"), "TOO_BROAD"),
        ("probe_cc=NO&since=2000-01-01&until=2020-01-01".to_owned(), "TOO_BROAD"),
        ("probe_cc=NO&input=https%3A%2F%2Fa.example%2F".to_owned(), "BAD_REQUEST"),
        ("probe_cc=NO&ooni_run_link_id=1".to_owned(), "BAD_REQUEST"),
        ("probe_cc=NO&axis_x=probe_cc&axis_y=probe_cc".to_owned(), "BAD_REQUEST"),
        ("probe_cc=NO&since=2020-01-01&until=2022-01-01&time_grain=hour".to_owned(), "BAD_REQUEST"),
        ("probe_cc=NO&since=2022-01-02&until=2022-01-01".to_owned(), "BAD_REQUEST"),
        ("probe_cc=NO&axis_x=colour".to_owned(), "BAD_REQUEST"),
    ] {
        let answer = client.get(&format!("/api/v1/aggregation?{query}"));
        answer.expect_error(400, code);
        let body = answer.json();
        assert_eq!((&body["msg"], &body["v"]), (&body["message"], &json!(0)), "{query}: {body}");
    }
    let message =
        client.get("/api/v1/aggregation?probe_cc=NO&since=2020-01-01&until=2022-01-01&time_grain=hour").json();
    assert!(message["msg"].as_str().unwrap().contains("day, week, month, year, auto"), "{message}");
    let body = client.post("/api/v1/aggregation", &json!({})).expect(405);
    assert_eq!((&body["error"], &body["msg"]), (&json!("METHOD_NOT_ALLOWED"), &body["message"]), "{body}");
}

fn counting_draws_on_the_budget_of_what_is_computed(suite: &Suite) {
    let target = suite.fresh(&[("computing_per_minute", "2")]);
    let client = target.client();
    with_site(&client);
    let ask = |site: usize| {
        client.get(&format!("/api/v1/aggregation?probe_cc={COUNTRY}&domain={SITE}&probe_asn=AS{site}&{RANGE}"))
    };
    // What is refused before anything is read draws on nothing.
    for _ in 0..5 {
        assert_eq!(client.get("/api/v1/aggregation").status, 400);
    }
    let refused = (1..=10).map(ask).find(|answer| answer.status != 200).expect("none is refused");
    let body = refused.expect(429);
    assert_eq!((&body["error"], &body["v"]), (&json!("RATE_LIMITED"), &json!(0)), "{body}");
    assert_eq!(body["msg"], body["message"], "{body}");
}

fn with_site(client: &Client) {
    let text = heliograph_tests::synthetic::blocked_site();
    data::import(&client.admin(), "ooni-observations", "", text.as_bytes());
}

fn pages(client: &Client, query: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let body = client.get(&format!("/data/measurements?{query}{cursor}")).expect(200);
        rows.extend(body["measurements"].as_array().unwrap().iter().cloned());
        assert_eq!(body["has_more"], body["next_cursor"].is_string(), "{body}");
        pages += 1;
        assert!(pages < 1_000, "it never ends");
        match body["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (rows, pages),
        }
    }
}

fn old_measurements_are_listed_as_counts_page_by_page(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let query = format!("country={COUNTRY}&target={SITE}");
    let (all, _) = pages(&client, &query);
    // One row for each hour and network, since there is one measurement in each.
    assert_eq!(all.len(), 64);
    assert!(all.is_sorted_by_key(|row| row["time"].as_str().unwrap().to_owned()), "oldest first");
    for row in &all {
        let blocked = row["asn"] == format!("AS{BLOCKING}");
        assert_eq!(row["vote"], if blocked { "blocked" } else { "clear" }, "{row}");
        assert_eq!(
            (&row["measurements"], &row["counted"], &row["link"]),
            (&json!(1), &json!(1), &Value::Null),
            "{row}"
        );
        assert_eq!((&row["source"], &row["target"]), (&json!("ooni"), &json!(SITE)), "{row}");
        assert_eq!(row["rule"], if blocked { "tls.failure.no_control" } else { "tls.valid" }, "{row}");
    }
    for limit in [1, 7, 64] {
        let (rows, pages) = pages(&client, &format!("{query}&limit={limit}"));
        assert_eq!((rows == all, pages), (true, 64_usize.div_ceil(limit)), "{limit}");
    }
    let (some, _) = pages(&client, &format!("{query}&asn=AS{BLOCKING}&since=2024-03-10&until=2024-03-11"));
    assert_eq!(some.len(), 4, "{some:?}");
    let answer = client.get(&format!("/data/measurements?{query}&format=csv&limit=10"));
    let header = "time,target,asn,source,rule,vote,technique,measurements,counted,link,license\r\n";
    assert!(answer.text().starts_with(header), "{}", answer.text());
    assert_eq!(answer.text().lines().count(), 11);
    let next = answer.header("link").and_then(|link| link.strip_prefix('<')?.split_once('>')).unwrap().0;
    let (next, first) = (client.get(next), answer.text());
    assert!(next.text().starts_with(header) && next.text() != first, "{}", next.text());
}

fn new_measurements_are_listed_one_by_one_with_their_links(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let now = client.now().plus(-3 * 86_400_000_000);
    let (day, mut text) = (now.to_date_text(), HEADER.to_owned());
    for number in 0..6 {
        let time = format!("{day} 05:{number:02}:00");
        let session =
            Session { country: COUNTRY, asn: BLOCKING, host: SITE, time: &time, number, seen: SiteResult::TlsReset };
        observation(&mut text, &session);
    }
    data::import(&client.admin(), "ooni-observations", "", text.as_bytes());
    let (rows, _) = pages(&client, &format!("country={COUNTRY}&target={SITE}&limit=4"));
    assert_eq!(rows.len(), 6, "{rows:?}");
    let links: Vec<&str> = rows.iter().filter_map(|row| row["link"].as_str()).collect();
    assert_eq!(links.len(), 3, "as many failures as are kept of a day: {rows:?}");
    assert!(links.iter().all(|link| link.starts_with("https://explorer.ooni.org/m/")), "{links:?}");
    assert!(rows.iter().all(|row| row["time"] == format!("{day}T05:00:00.000Z")), "{rows:?}");
}

fn a_listing_without_country_or_target_is_refused(suite: &Suite) {
    let client = suite.client();
    for query in [
        "",
        "?country=NO",
        "?target=a.example",
        "?country=NO&target=192.0.2.1",
        "?country=NO&target=a.example&cursor=x",
        "?country=NO&target=a.example&since=2024-03-09T10:30:00Z",
        "?country=NO&target=a.example&asn=x",
        "?country=NO&target=a.example&limit=0",
        "?country=NO&target=a.example&format=xml",
    ] {
        client.get(&format!("/data/measurements{query}")).expect_error(400, "BAD_REQUEST");
    }
    client.get("/data/measurements?country=ZZ&target=a.example").expect_error(404, "NOT_FOUND");
    let body = client.get("/data/measurements?country=NO&target=nobody.example").expect(200);
    assert_eq!((&body["measurements"], &body["has_more"]), (&json!([]), &json!(false)), "{body}");
}

fn histories_take_a_range_of_days(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let past = client.get(&format!("/data/domain/{SITE}/history?as_of={INSIDE}&days=3")).expect(200);
    let range = client.get(&format!("/data/domain/{SITE}/history?since=2024-03-10&until=2024-03-13")).expect(200);
    assert_eq!(range["timeline"], past["timeline"], "the last of them was whole by noon: {range}");
    let (country, days) = (&range["timeline"][0]["countries"][COUNTRY], &range["days"]);
    assert_eq!((&country["measurements"], days), (&json!(16), &json!(3)), "{range}");
    let years = format!("/data/domain/{SITE}/history?since=2020-01-01&until=2026-01-01");
    client.get(&years).expect_error(400, "TOO_BROAD");
    let years = client.get(&format!("{years}&country={COUNTRY}")).expect(200);
    assert_eq!(years["timeline"].as_array().unwrap().len(), 4, "{years}");
    let land = client.get(&format!("/data/country/{COUNTRY}/history?{RANGE}")).expect(200);
    let timeline = land["timeline"].as_array().unwrap();
    assert_eq!(timeline.len(), 4, "{land}");
    for day in timeline {
        let counts = (&day["measurements"], &day["votes"], &day["blocked"]);
        assert_eq!(counts, (&json!(16), &json!(16), &json!(4)), "{day}");
    }
    assert!(
        client.get(&format!("/data/country/{COUNTRY}/history")).expect(200)["timeline"][0]["measurements"].is_null()
    );
    for query in
        ["since=2024-03-09&days=3", "since=2024-03-09T05:00:00Z", "since=2024-03-09&until=2024-03-01", "by=hour"]
    {
        client.get(&format!("/data/domain/{SITE}/history?{query}")).expect_error(400, "BAD_REQUEST");
        client.get(&format!("/data/country/{COUNTRY}/history?{query}")).expect_error(400, "BAD_REQUEST");
    }
}

fn histories_by_network_say_what_the_counts_say(suite: &Suite) {
    let client = suite.prepared("site", with_blocked_site);
    let of = |path: &str| client.get(&format!("{path}{RANGE}")).expect(200)["timeline"].as_array().unwrap().clone();
    let site = of(&format!("/data/domain/{SITE}/history?by=network&"));
    assert_eq!(site.len(), 2 * 4 * 4, "countries, networks, days");
    assert_eq!(site[0]["date"], "2024-03-12", "newest first");
    let country: Vec<_> = site.iter().filter(|row| row["country"] == COUNTRY).cloned().collect();
    assert_eq!(of(&format!("/data/country/{COUNTRY}/history?by=network&")), country);
    let network: Vec<_> = site.iter().filter(|row| row["asn"] == format!("AS{BLOCKING}")).cloned().collect();
    assert_eq!(of(&format!("/data/network/AS{BLOCKING}/history?")), network);
    for row in &network {
        assert_eq!(
            (&row["measurements"], &row["blocked"], &row["blockRate"]),
            (&json!(4), &json!(4), &json!(1.0)),
            "{row}"
        );
    }
    let one = of(&format!("/data/network/{BLOCKING}/history?country={COUNTRY}&"));
    assert_eq!(one.len(), 4, "{one:?}");
    let csv = client.get(&format!("/data/network/AS{BLOCKING}/history?{RANGE}&format=csv"));
    let header = "date,country,asn,measurements,votes,blocked,confirmed,blockRate,name,license\r\n";
    assert!(csv.text().starts_with(header), "{}", csv.text());
    assert_eq!(csv.text().lines().count(), 1 + network.len());
    client.get("/data/network/x/history").expect_error(400, "BAD_REQUEST");
}
