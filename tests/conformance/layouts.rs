//! Imports of other samples of the same kinds: other columns, times, layouts, probes with a wrong clock, pools of
//! endpoints (decisions controls-from-peers, half-of-a-pool, ipv6-and-probe-faults, vote-per-hour, kinds-of-lists and
//! import-counts).

use heliograph_core::facts::measurement::ImportCounts;
use heliograph_tests::client::Client;
use heliograph_tests::data;
use heliograph_tests::synthetic::{COUNTRY, HEADER, INSIDE, PLANTED, ROWS, SITE, Shows, blocked_site, document};
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    columns_come_in_any_order_case_and_company,
    every_odd_document_is_counted_with_its_reason,
    every_odd_row_is_counted_with_its_reason,
    a_probe_with_a_wrong_clock_is_unusable_and_moves_no_answer,
    rows_of_other_countries_are_counted_when_one_is_asked_for,
    block_lists_of_every_layout_name_the_same_domains,
    half_of_a_pool_lost_at_http_blocks_where_peers_succeed,
    dead_ipv6_convicts_no_network,
];

fn only(counts: &ImportCounts, kind: &str, reason: &str) -> bool {
    let of = |name: &str| match name {
        "unsupported" => counts.unsupported,
        "unusable" => counts.unusable,
        _ => counts.refused,
    };
    let reasons: Vec<(&str, u64)> = counts.reasons.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    (counts.lines(), of(kind)) == (1, 1) && reasons == [(reason, 1)]
}

fn columns(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

/// The rows of [`blocked_site`] in the styles of other exporters.
fn exported(style: usize) -> Vec<u8> {
    let text = blocked_site();
    let mut lines = text.lines().map(columns);
    let header = lines.next().unwrap();
    let order: Vec<usize> = (0..header.len()).rev().collect();
    let reorder = |row: &[&str]| order.iter().map(|at| row[*at].to_owned()).collect::<Vec<_>>();
    let mut out = Vec::new();
    if style == 1 {
        out.extend_from_slice(b"\xef\xbb\xbf");
    }
    if style == 2 {
        out.extend_from_slice(b"\n\r\n");
    }
    let mut write = |row: Vec<String>| {
        let row = if style == 3 { row.iter().map(|field| format!("\"{field}\"")).collect() } else { row };
        out.extend_from_slice(row.join(",").as_bytes());
        out.extend_from_slice(if style == 1 { b"\r\n" } else { b"\n" });
    };
    let mut names = reorder(&header);
    match style {
        1 => names.iter_mut().for_each(|name| *name = name.to_uppercase()),
        2 => names.push("a_column_of_next_year".to_owned()),
        _ => {}
    }
    write(names);
    for line in lines {
        let mut row = reorder(&line);
        if style == 2 {
            row.push("\"with, comma\nand line end\"".to_owned());
        }
        write(row);
    }
    out
}

fn answer(client: &Client, country: &str, target: &str, as_of: &str) -> Value {
    let body = json!({ "country": country, "target": target, "includeISPs": true, "as_of": as_of, "explain": true });
    research(client).post("/hydra/v1/detect", &body).expect(200)
}

/// Decision import-counts: columns are found by their header.
fn columns_come_in_any_order_case_and_company(suite: &Suite) {
    let mut expected: Option<Value> = None;
    for style in 0..4 {
        let target = suite.fresh(&[]);
        let counts = data::send(&target.client().admin(), "ooni-observations", "", &exported(style));
        assert_eq!((counts.accepted, counts.lines()), (ROWS, ROWS), "style {style}: {counts:?}");
        let answer = answer(&target.client(), COUNTRY, SITE, INSIDE);
        assert_eq!(answer["basis"], "measured", "{answer}");
        assert_eq!(expected.get_or_insert_with(|| answer.clone()), &answer, "style {style}");
    }
}

fn changed(member: &str, value: Value) -> Value {
    let mut document = document(Shows::Works, SITE, COUNTRY, 64_500, "2024-03-12 09:00:00");
    document[member] = value;
    document
}

/// Decision import-counts: every line gets one of five results, with its reason.
fn every_odd_document_is_counted_with_its_reason(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let cases = [
        ("measurement_start_time", json!("12/03/2024"), "refused", "bad_time"),
        ("measurement_start_time", json!("2024-02-30 10:00:00"), "refused", "bad_time"),
        ("probe_cc", json!("ZZ"), "unusable", "country_withheld"),
        ("probe_cc", json!("QQ"), "refused", "unknown_country"),
        ("test_keys", Value::Null, "unusable", "no_test_keys"),
        ("test_keys", json!([]), "unusable", "no_test_keys"),
        ("test_name", json!("ndt"), "unsupported", "unsupported_test"),
        ("test_name", json!(7), "refused", "no_test_name"),
        ("input", json!("http://[::1]/"), "unusable", "ip_literal"),
        ("input", Value::Null, "unusable", "no_target"),
        ("input", json!("http://localhost/"), "unusable", "single_label"),
        ("input", json!(format!("http://{}.example/", "a".repeat(300))), "unusable", "host_too_long"),
    ];
    for (member, value, kind, reason) in cases {
        let line = changed(member, value.clone()).to_string();
        let counts = data::send(&admin, "ooni-measurements", "", line.as_bytes());
        assert!(only(&counts, kind, reason), "{member} {value}: {counts:?}");
    }
    for (text, reason) in [("{", "bad_json"), ("null", "not_an_object"), ("{}", "no_test_name")] {
        let counts = data::send(&admin, "ooni-measurements", "", text.as_bytes());
        assert!(only(&counts, "refused", reason), "{text}: {counts:?}");
    }
    // Unusual notations that are still valid.
    let fine = [
        ("measurement_start_time", json!("2024-03-12T09:00:01Z")),
        ("measurement_start_time", json!("2024-03-12 09:00:02.5")),
        ("probe_cc", json!("no")),
        ("probe_asn", json!(64_500)),
        ("probe_asn", Value::Null),
        ("probe_asn", json!("AS0")),
        ("input", json!([format!("https://{SITE}/")])),
        ("report_id", Value::Null),
        ("annotations", json!([1])),
    ];
    for (member, value) in fine {
        let line = changed(member, value.clone()).to_string();
        let counts = data::send(&admin, "ooni-measurements", "", line.as_bytes());
        assert_eq!((counts.accepted, counts.lines()), (1, 1), "{member} {value}: {counts:?}");
    }
}

/// A row of the observation table with some columns changed from their usual values.
fn row(changes: &[(&str, &str)]) -> Vec<u8> {
    let usual = [
        ("test_name", "web_connectivity"),
        ("report_id", "r"),
        ("measurement_start_time", "2024-03-12 09:00:00"),
        ("probe_cc", COUNTRY),
        ("probe_asn", "64500"),
        ("hostname", SITE),
        ("ip", "93.184.216.34"),
        ("port", "443"),
        ("tcp_success", "1"),
    ];
    let value = |name: &str, usual: &str| {
        changes.iter().find(|(known, _)| *known == name).map_or(usual, |(_, value)| value).to_owned()
    };
    let names: Vec<&str> = usual.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = usual.iter().map(|(name, usual)| value(name, usual)).collect();
    format!("{}\n{}\n", names.join(","), values.join(",")).into_bytes()
}

/// Decision import-counts: numbers, times and flags in the notations of exporters; a value that cannot be read has its
/// reason.
fn every_odd_row_is_counted_with_its_reason(suite: &Suite) {
    let target = suite.fresh(&[]);
    let admin = target.client().admin();
    let cases = [
        (("measurement_start_time", "1710234000"), "refused", "bad_time"),
        (("probe_cc", "ZZ"), "unusable", "country_withheld"),
        (("probe_cc", "Norway"), "refused", "bad_country"),
        (("report_id", ""), "unusable", "no_report_id"),
        (("test_name", ""), "refused", "no_test_name"),
        (("test_name", "dash"), "unsupported", "unsupported_test"),
        (("hostname", "93.184.216.34"), "unusable", "ip_literal"),
        (("hostname", "exa mple.org"), "unusable", "invalid_host"),
    ];
    for (change, kind, reason) in cases {
        let counts = data::send(&admin, "ooni-observations", "", &row(&[change]));
        assert!(only(&counts, kind, reason), "{change:?}: {counts:?}");
    }
    let fine = [
        ("probe_asn", "AS64500"),
        ("probe_asn", "64500.0"),
        ("probe_asn", "NaN"),
        ("port", "443.0"),
        ("tcp_success", "1.0"),
        ("tcp_success", "True"),
        ("measurement_start_time", "2024-03-12T09:00:00Z"),
        ("measurement_start_time", "2024-03-12 09:00:00.123456"),
        ("measurement_start_time", "2024-03-12 11:00:00+02:00"),
        ("probe_cc", " no "),
    ];
    for (number, change) in fine.into_iter().enumerate() {
        let report = format!("fine-{number}");
        let counts = data::send(&admin, "ooni-observations", "", &row(&[change, ("report_id", &report)]));
        assert_eq!((counts.accepted, counts.lines()), (1, 1), "{change:?}: {counts:?}");
    }
}

/// A wrong clock makes a measurement unusable.
fn a_probe_with_a_wrong_clock_is_unusable_and_moves_no_answer(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    data::send(&client.admin(), "ooni-observations", "", blocked_site().as_bytes());
    let before = answer(&client, COUNTRY, SITE, INSIDE);
    for (time, reason) in [
        ("2126-03-12 09:00:00", "clock_ahead"),
        ("1970-01-01 00:00:05", "clock_behind"),
        ("1969-07-20 20:17:40", "clock_behind"),
    ] {
        let line = changed("measurement_start_time", json!(time)).to_string();
        let counts = data::send(&client.admin(), "ooni-measurements", "", line.as_bytes());
        assert!(only(&counts, "unusable", reason), "{time}: {counts:?}");
        let counts = data::send(&client.admin(), "ooni-observations", "", &row(&[("measurement_start_time", time)]));
        assert!(only(&counts, "unusable", reason), "{time}: {counts:?}");
    }
    assert_eq!(answer(&client, COUNTRY, SITE, INSIDE), before);
    let now = client.get(&format!("/v1/accessibility/check?domain={SITE}&country={COUNTRY}")).expect(200);
    assert!(now["lastChecked"].as_str().unwrap().starts_with("2024-03-12T11:"), "{now}");
}

fn rows_of_other_countries_are_counted_when_one_is_asked_for(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let text = blocked_site();
    let counts = data::send(&client.admin(), "ooni-observations", "?country=no", text.as_bytes());
    assert_eq!((counts.accepted, counts.unusable, counts.lines()), (ROWS / 2, ROWS / 2, ROWS), "{counts:?}");
    assert_eq!(counts.reasons["other_country"], ROWS / 2);
}

/// Decision kinds-of-lists: whole domains become entries, whatever the layout of the list.
fn block_lists_of_every_layout_name_the_same_domains(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let layouts = [
        "one.example\nTWO.example.\n",
        "# a comment\n\n0.0.0.0 one.example\n127.0.0.1 www.two.example\n",
        "\u{feff}domain,date\r\none.example,2020\r\ntwo.example,2020\r\n",
        "\"no\",\"Domain\"\n\"1\",\"one.example\"\n\"2\",\"https://two.example/\"\n",
        "date;host\n2020;one.example\n2021;two.example\n",
        "url\tsince\nhttp://one.example/\t2020\nhttp://two.example\t2021\n",
        "\n\n# c\ndomain\none.example\ntwo.example\n",
        "[AutoProxy 0.2.9]\n! c\n||one.example^\n.two.example\n",
        "||one.example\n||two.example^\n",
    ];
    for (number, text) in layouts.into_iter().enumerate() {
        let query = format!("?country=SE&list_kind=official&date=20{}-01-01", 10 + number);
        let counts = data::send(&client.admin(), "blocklist", &query, text.as_bytes());
        assert_eq!((counts.accepted + counts.duplicate, counts.lines()), (2, 2), "{text:?}: {counts:?}");
    }
    let check = |domain: &str| {
        client.get(&format!("/v1/accessibility/check?country=SE&domain={domain}&as_of=2018-06-01")).expect(200)
    };
    for domain in ["one.example", "two.example"] {
        let body = check(domain);
        assert_eq!((&body["status"], &body["basis"]), (&json!("blocked"), &json!("known_list")), "{body}");
    }
    assert_eq!(check("three.example")["status"], "unknown");
}

/// The telegram rows of one session; `lost` of twelve endpoints fail at HTTP after connecting.
fn pool_session(out: &mut String, country: &str, asn: u32, hour: u32, lost: usize) {
    for endpoint in 0..12 {
        let ip =
            ["149.154.175.50", "149.154.167.51", "149.154.175.100", "149.154.167.91", "149.154.171.5", "95.161.76.100"]
                [endpoint / 2];
        let port = if endpoint % 2 == 0 { 80 } else { 443 };
        let failure = if endpoint < lost { "generic_timeout_error" } else { "" };
        let cells = [
            ("report_id", format!("T-{country}-{asn}-{hour}")),
            ("test_name", "telegram".to_owned()),
            ("probe_cc", country.to_owned()),
            ("probe_asn", asn.to_string()),
            ("measurement_start_time", format!("2024-03-12 {hour:02}:00:00")),
            ("ip", ip.to_owned()),
            ("port", format!("{port}.0")),
            ("resolver_ip", PLANTED[1].to_owned()),
            ("tcp_success", "1".to_owned()),
            ("http_request_url", format!("http://{ip}:{port}/")),
            ("http_failure", failure.to_owned()),
        ];
        line(out, &cells);
    }
}

/// A row with the columns of [`HEADER`].
fn line(out: &mut String, cells: &[(&str, String)]) {
    let value = |name: &str| cells.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value.as_str());
    let row: Vec<&str> = HEADER.trim_end().split(',').map(value).collect();
    out.push_str(&row.join(","));
    out.push('\n');
}

fn isp(body: &Value, asn: u32) -> &Value {
    let isps = body["isps"].as_array().unwrap();
    isps.iter().find(|isp| isp["asn"] == asn).unwrap_or_else(|| panic!("AS{asn} is not in {body}"))
}

/// Decision half-of-a-pool: at least half of the pool fails at HTTP after connecting, and peers succeed. Without
/// another network that reaches the pool, the same failures show no block.
fn half_of_a_pool_lost_at_http_blocks_where_peers_succeed(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let mut alone = HEADER.to_owned();
    (4..10).for_each(|hour| pool_session(&mut alone, COUNTRY, 64_500, hour, 6));
    data::send(&client.admin(), "ooni-observations", "", alone.as_bytes());
    let without = answer(&client, COUNTRY, "telegram", INSIDE);
    assert_eq!((&without["status"], &without["networksBlocked"]), (&json!("unknown"), &json!(0)), "{without}");
    let mut others = HEADER.to_owned();
    for hour in 4..10 {
        pool_session(&mut others, COUNTRY, 64_501, hour, 5);
        pool_session(&mut others, COUNTRY, 64_502, hour, 0);
    }
    data::send(&client.admin(), "ooni-observations", "", others.as_bytes());
    let body = answer(&client, COUNTRY, "telegram", INSIDE);
    let blocked = isp(&body, 64_500);
    assert_eq!((&blocked["status"], &blocked["technique"]), (&json!("blocked"), &json!("http.timeout")), "{blocked}");
    for asn in [64_501, 64_502] {
        assert_eq!(isp(&body, asn)["status"], "accessible", "under half of the pool: {body}");
    }
    assert!(body["explanation"].to_string().contains("http.timeout.pool"), "{}", body["explanation"]);
    assert_eq!(body["networksBlocked"], 1, "{body}");
}

/// Decision ipv6-and-probe-faults: in a session without any IPv6 success, IPv6 rows with `*_unreachable` count for
/// nothing, and neither do the client's conclusions from them. A success flag beside a failure text is a failure.
fn dead_ipv6_convicts_no_network(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let mut text = HEADER.to_owned();
    for asn in [64_500, 64_501, 64_502] {
        for hour in 2..10 {
            let session = |ip: &str, success: &str, failure: &str| {
                [
                    ("report_id", format!("W-{asn}-{hour}")),
                    ("test_name", "web_connectivity".to_owned()),
                    ("input", format!("https://{SITE}/")),
                    ("probe_cc", COUNTRY.to_owned()),
                    ("probe_asn", asn.to_string()),
                    ("measurement_start_time", format!("2024-03-12 {hour:02}:00:00")),
                    ("hostname", SITE.to_owned()),
                    ("ip", ip.to_owned()),
                    ("port", "443".to_owned()),
                    ("tcp_success", success.to_owned()),
                    ("tcp_failure", failure.to_owned()),
                    ("probe_analysis", "tcp_ip".to_owned()),
                ]
            };
            let failing = if hour % 2 == 0 { "network_unreachable" } else { "generic_timeout_error" };
            (1..5).for_each(|n| line(&mut text, &session(&format!("2a00::{n}"), "0", failing)));
            // The failure column decides, regardless of the flag.
            let v4 = if asn == 64_500 { "connection_reset" } else { "" };
            line(&mut text, &session("93.184.216.34", "1", v4));
        }
    }
    data::send(&client.admin(), "ooni-observations", "", text.as_bytes());
    let body = answer(&client, COUNTRY, SITE, INSIDE);
    assert_eq!(isp(&body, 64_500)["status"], "blocked", "{body}");
    for asn in [64_501, 64_502] {
        assert_ne!(isp(&body, asn)["status"], "blocked", "{body}");
        assert_eq!(isp(&body, asn)["blockedVotes"], 0, "{body}");
    }
}
