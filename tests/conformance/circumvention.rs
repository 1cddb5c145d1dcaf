//! Measurements of circumvention tools: OpenVPN, Riseup VPN and Tor over Snowflake, from documents to
//! `/v1/vpn-accessibility` (decision import-counts).

use heliograph_tests::client::Client;
use heliograph_tests::data;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    tests_of_vpns_reach_the_list_of_reachability,
    tools_are_asked_for_by_country_and_by_provider,
    real_documents_of_vpns_are_counted_as_their_tools,
];

/// The time of the documents.
const INSIDE: &str = "2024-05-12T23:00:00Z";
const FAILS_ON: u32 = 64_501;
const NETWORKS: [u32; 4] = [64_500, FAILS_ON, 64_502, 64_503];

/// A document of a measurement that works or fails.
fn document(test: &str, asn: u32, time: &str, works: bool) -> Value {
    let timeout = if works { Value::Null } else { json!("generic_timeout_error") };
    let status = if works { "ok" } else { "blocked" };
    let (input, keys) = match test {
        "openvpn" => (
            json!("vpn://riseupvpn.corp/?address=192.0.2.7:1194&transport=tcp"),
            json!({ "provider": "riseup", "success_handshake": works, "failure": timeout }),
        ),
        "riseupvpn" => (
            Value::Null,
            json!({ "api_status": "ok", "api_failure": null, "transport_status": { "openvpn": status, "obfs4": status } }),
        ),
        _ => (
            Value::Null,
            json!({ "success": works, "failure": timeout, "bootstrap_time": if works { 31.5 } else { 0.0 } }),
        ),
    };
    json!({
        "data_format_version": "0.2.0", "input": input, "measurement_start_time": time, "test_start_time": time,
        "probe_asn": format!("AS{asn}"), "probe_cc": "NO", "probe_ip": "127.0.0.1", "resolver_asn": format!("AS{asn}"),
        "report_id": format!("{}_{test}_NO_{asn}_n1_aaaaaaaaaaaaaaaa", time.replace([' ', ':', '-'], "")),
        "software_name": "ooniprobe-cli", "software_version": "3.18.1", "annotations": { "platform": "linux" },
        "test_name": test, "test_version": "0.3.0", "test_runtime": 2.5, "test_keys": keys,
    })
}

/// Three days of three tests on four networks; one network blocks all of the tools.
fn with_tests_of_tools(client: &Client) {
    let mut lines = String::new();
    for test in ["openvpn", "riseupvpn", "torsf"] {
        for (day, hour) in (10..=12).flat_map(|day| [1, 5, 9, 13].map(|hour| (day, hour))) {
            for asn in NETWORKS {
                let time = format!("2024-05-{day} {hour:02}:{:02}:07", asn % 60);
                lines.push_str(&document(test, asn, &time, asn != FAILS_ON).to_string());
                lines.push('\n');
            }
        }
    }
    let counts = data::import(&client.admin(), "ooni-measurements", "", lines.as_bytes());
    assert_eq!((counts.accepted, counts.lines()), (144, 144), "{counts:?}");
}

fn asked(suite: &Suite, query: &str) -> Value {
    let client = suite.prepared("tests of tools", with_tests_of_tools);
    client.get(&format!("/v1/vpn-accessibility?as_of={INSIDE}{query}")).expect(200)
}

fn providers(body: &Value) -> Vec<&str> {
    body["by_provider"].as_array().unwrap().iter().map(|row| row["provider"].as_str().unwrap()).collect()
}

fn tests_of_vpns_reach_the_list_of_reachability(suite: &Suite) {
    let body = asked(suite, "");
    assert_eq!((&body["available"], providers(&body)), (&json!(true), vec!["torsf", "openvpn", "riseupvpn"]), "{body}");
    let hosts = |at: usize| {
        let targets = body["by_provider"][at]["targets"].as_array().unwrap().iter();
        targets.map(|target| target["host"].as_str().unwrap()).collect::<Vec<&str>>()
    };
    assert_eq!(hosts(0), ["tor/snowflake"], "{body}");
    assert_eq!(hosts(1), ["openvpn/riseup"], "{body}");
    assert_eq!(hosts(2), ["riseupvpn/api", "riseupvpn/gateways"], "{body}");
    for (at, measurements) in [(0, 48), (1, 48)] {
        let row = &body["by_provider"][at];
        assert_eq!(row["total_probes"], measurements, "{body}");
        // One of four networks: a quarter of the measurements.
        assert_eq!((&row["blocked"], &row["accessible"]), (&json!(12), &json!(36)), "{body}");
        assert_eq!(row["accessibility_rate"], 0.75, "{body}");
        let target = &row["targets"][0];
        assert_eq!((&target["blocked_rate"], &target["accessible_rate"]), (&json!(0.25), &json!(0.75)), "{body}");
        assert_eq!(target["countries"], json!(["NO"]), "{body}");
        assert!(target["location"].is_string() && target["block_types"].is_array(), "{body}");
    }
    let api = &body["by_provider"][2]["targets"][0];
    assert_eq!(
        (&api["blocked_rate"], &api["accessible_rate"]),
        (&json!(0.0), &json!(1.0)),
        "only gateways fail: {body}"
    );
    let stats = &body["stats"];
    assert_eq!((&stats["targets_tested"], &stats["probe_nodes"]), (&json!(4), &json!(4)), "{body}");
    assert!(body["updated_at"].as_str().unwrap().starts_with("2024-05-12T13:"), "{body}");
}

fn tools_are_asked_for_by_country_and_by_provider(suite: &Suite) {
    assert_eq!(providers(&asked(suite, "&provider=torsf&country=no")), ["torsf"]);
    assert_eq!(providers(&asked(suite, "&provider=OpenVPN")), ["openvpn"]);
    for nothing in ["&provider=tor", "&provider=mullvad", "&country=SE"] {
        let body = asked(suite, nothing);
        assert_eq!((&body["available"], providers(&body).len()), (&json!(false), 0), "{nothing}: {body}");
        assert!(body["reason"].is_string(), "{body}");
    }
}

fn real_documents_of_vpns_are_counted_as_their_tools(suite: &Suite) {
    let Some(text) = data::real("ooni/fastpath_2024-01-01.jsonl.gz") else { return };
    let target = suite.fresh(&[]);
    data::import(&target.client().admin(), "ooni-fastpath", "", &text);
    let body = target.client().get("/v1/vpn-accessibility?provider=torsf&as_of=2024-01-02T00:00:00Z").expect(200);
    let stats = &body["stats"];
    assert_eq!((&stats["total_probes"], &stats["targets_tested"]), (&json!(4), &json!(1)), "{body}");
    // One measurement in each of four countries decides nothing, and no rate claims otherwise.
    assert_eq!((&stats["targets_undecided"], providers(&body).len()), (&json!(1), 0), "{body}");
    assert!(body["reason"].as_str().unwrap().contains("often enough"), "{body}");
}
