//! The probe network (decisions probes-confirm-probes and addresses-discarded).

use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::hmac_sha256;
use heliograph_tests::client::{Answer, Client};
use serde_json::{Value, json};

use crate::detect::research;
use crate::{Suite, cases};

cases![
    a_node_registers_and_its_token_is_shown_once,
    small_clients_register_at_the_other_path_and_read_the_other_names,
    a_token_is_valid_for_its_own_node_only,
    a_submission_is_taken_once_and_shows_everywhere,
    what_two_vouched_nodes_measure_is_evidence_of_the_country,
    a_bad_token_or_signature_is_401_another_node_403_and_over_100_rows_413,
    the_signature_is_over_the_bytes_as_they_came,
    rows_that_cannot_be_used_are_counted_and_cost_nothing_else,
    at_least_40_sites_are_given_to_probes,
    public_pages_hide_who_measures_where_it_can_harm,
    a_node_is_claimed_by_who_has_its_token,
    unknown_nodes_are_404_and_unknown_domains_empty,
];

/// A registered node.
pub struct Node {
    pub id: String,
    pub token: String,
    client: Client,
}

impl Node {
    pub fn register(client: &Client, body: &Value) -> Node {
        let made = client.post("/v1/community/register", body).expect(201);
        let text = |name: &str| made[name].as_str().unwrap_or_else(|| panic!("{name}: {made}")).to_owned();
        Node { id: text("nodeId"), token: text("nodeToken"), client: client.clone() }
    }

    fn submission(&self, id: &str, results: &Value) -> Value {
        json!({
            "nodeId": self.id, "nodeCountry": "NO", "nodeType": "community", "submissionId": id,
            "timestamp": self.client.now().to_string(), "results": results,
        })
    }

    fn signed(&self, header: &str, body: &[u8]) -> Answer {
        let signature = format!("sha256={}", encode_hex(&hmac_sha256(self.token.as_bytes(), body)));
        let client = self.client.with("authorization", &format!("Bearer {}", self.token)).with(header, &signature);
        client.send("POST", "/v1/probe/results", Some("application/json"), body)
    }

    pub fn submit(&self, id: &str, results: &Value) -> Value {
        self.signed("x-svc-signature", self.submission(id, results).to_string().as_bytes()).expect(200)
    }

    fn vouch(&self) {
        let path = format!("/v1/admin/probes/{}", self.id);
        let answer = self.client.admin().patch(&path, &json!({ "standing": "vouched" })).expect(200);
        assert_eq!(answer["node"]["node_type"], "operator", "{answer}");
    }
}

fn row(client: &Client, domain: &str, minutes: i64, changes: &Value) -> Value {
    let at = client.now().plus(-minutes * 60_000_000);
    let mut row = json!({
        "targetUrl": format!("https://{domain}/"), "domain": domain, "category": "news", "success": true,
        "latencyMs": 140, "httpStatus": 200, "errorType": null, "isBlocked": false, "blockType": null,
        "confidence": 0.9, "dnsResolved": "192.0.2.44", "timestamp": at.to_string(),
    });
    for (name, value) in changes.as_object().unwrap() {
        row[name] = value.clone();
    }
    row
}

fn blocked() -> Value {
    json!({
        "success": false, "httpStatus": null, "isBlocked": true, "blockType": "sni-filtering", "sniBlocked": true,
        "blockingEntity": "Roskomnadzor", "blockingType": "government-direct",
    })
}

fn a_node_registers_and_its_token_is_shown_once(suite: &Suite) {
    let client = suite.client();
    let body = json!({ "country": "no", "city": "Oslo", "version": "1.1.0", "label": "attic", "asn": 64_500 });
    let made = client.post("/v1/community/register", &body).expect(201);
    let (id, token) = (made["nodeId"].as_str().unwrap(), made["nodeToken"].as_str().unwrap());
    assert!((8..=64).contains(&id.len()) && id.starts_with("cp-"), "{made}");
    assert!((16..=256).contains(&token.len()), "{made}");
    assert_eq!((&made["country"], &made["city"], &made["asn"]), (&json!("NO"), &json!("Oslo"), &json!(64_500)));
    assert!(made["submitUrl"].as_str().unwrap().ends_with("/v1/probe/results"));
    let shown = client.get(&format!("/v1/community/nodes/{id}")).expect(200);
    let node = &shown["node"];
    assert_eq!((&node["node_id"], &node["total_probes"]), (&json!(id), &json!(0)), "{shown}");
    assert_eq!((&node["trust_score"], &node["status"]), (&json!(0.5), &json!("inactive")), "{shown}");
    assert!(!shown.to_string().contains(token));
    // Every member may be absent; an invalid country becomes `XX`.
    let bare = client.post("/v1/community/register", &json!({ "country": "QQ" })).expect(201);
    assert_eq!(bare["country"], "XX");
    let long = json!({ "city": "x".repeat(65) });
    client.post("/v1/community/register", &long).expect_error(400, "BAD_REQUEST");
}

fn small_clients_register_at_the_other_path_and_read_the_other_names(suite: &Suite) {
    let client = suite.client();
    let body = json!({ "node_id": "pi-kitchen-0a1b2c3d", "country": "NO", "node_type": "community", "label": "pi" });
    let made = client.post("/v1/probe/community/register", &body).expect(201);
    assert_eq!((&made["node_id"], &made["token"]), (&made["nodeId"], &made["nodeToken"]), "{made}");
    let node = Node {
        id: made["node_id"].as_str().unwrap().to_owned(),
        token: made["token"].as_str().unwrap().to_owned(),
        client: client.clone(),
    };
    // A submission without the members that only the other client sends.
    let row = json!({
        "targetUrl": "https://lite.example/", "domain": "lite.example", "category": "tech", "success": true,
        "latencyMs": 210, "httpStatus": 403, "errorType": null, "errorDetail": null, "isBlocked": false,
        "blockType": null, "confidence": 0, "dnsResolved": true, "blockpageHash": "a".repeat(64),
        "timestamp": client.now().to_millis_text(),
    });
    let mut body = node.submission("0123456789abcdef0123456789abcdef", &json!([row]));
    body["probeMode"] = json!("direct");
    let answer = node.signed("x-svc-signature", body.to_string().as_bytes()).expect(200);
    assert_eq!((&answer["ok"], &answer["accepted"]), (&json!(true), &json!(1)), "{answer}");
}

fn a_token_is_valid_for_its_own_node_only(suite: &Suite) {
    let client = suite.client();
    let path = "/v1/community/validate-token";
    let (one, other) =
        (Node::register(&client, &json!({ "country": "NO" })), Node::register(&client, &json!({ "country": "NO" })));
    let right = client.post(path, &json!({ "nodeId": one.id, "nodeToken": one.token })).expect(200);
    assert_eq!((&right["valid"], &right["country"]), (&json!(true), &json!("NO")), "{right}");
    let bearer = client.with("authorization", &format!("Bearer {}", one.token));
    assert_eq!(bearer.post(path, &json!({ "nodeId": one.id })).expect(200)["valid"], true);
    for (id, token) in [(&one.id, &other.token), (&one.id, &format!("{}x", one.token)), (&one.id, &"x".to_owned())] {
        let wrong = client.post(path, &json!({ "nodeId": id, "nodeToken": token })).expect(200);
        assert_eq!(wrong, json!({ "valid": false, "nodeId": id }));
    }
    client.post(path, &json!({ "nodeId": one.id })).expect_error(400, "BAD_REQUEST");
    client.post(path, &json!({ "nodeToken": one.token })).expect_error(400, "BAD_REQUEST");
}

fn a_submission_is_taken_once_and_shows_everywhere(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let node = Node::register(&client, &json!({ "country": "NO", "city": "Oslo", "asn": 64_500 }));
    let rows = json!([
        row(&client, "www.bbc.com", 1, &json!({})),
        row(&client, "dw.com", 1, &blocked()),
        row(&client, "dw.com", 2, &blocked()),
    ]);
    let first = node.submit("one", &rows);
    assert_eq!((&first["accepted"], &first["duplicates"], &first["rejected"]), (&json!(3), &json!(0), &json!(0)));
    // The same submission again, and later from the cache with one more member and another signature.
    let again = node.submit("one", &rows);
    assert_eq!((&again["accepted"], &again["duplicates"]), (&json!(0), &json!(3)), "{again}");
    let mut cached = node.submission("one", &rows);
    cached["_cached_at"] = json!(1_767_225_600.25);
    let cached = node.signed("x-svc-signature", cached.to_string().as_bytes()).expect(200);
    assert_eq!((&cached["accepted"], &cached["duplicates"]), (&json!(0), &json!(3)), "{cached}");
    let network = target.until(|| {
        let network = client.get("/v1/probe/network").expect(200);
        (network["total_nodes"] == 1).then_some(network)
    });
    let counts = (&network["active_nodes"], &network["total_nodes"], &network["probes_24h"]);
    assert_eq!(counts, (&json!(1), &json!(1), &json!(3)), "{network}");
    assert_eq!(network["coverage_regions"], json!(["Europe"]), "{network}");
    let shown = &network["nodes"][0];
    assert_eq!((&shown["id"], &shown["status"]), (&json!(node.id), &json!("active")), "{network}");
    assert_eq!(shown["avg_latency_ms"], 140.0);
    let stats = target.until(|| {
        let stats = client.get("/v1/probe/stats").expect(200);
        (stats["total_probes"] == 3).then_some(stats)
    });
    let counts = (&stats["total_probes"], &stats["blocked_24h"], &stats["domains_tested"], &stats["block_rate_24h"]);
    assert_eq!(counts, (&json!(3), &json!(2), &json!(2), &json!(0.667)), "{stats}");
    assert_eq!(
        (&stats["detection_methods"]["sni"], &stats["by_block_type"]),
        (&json!(2), &json!({"sni-filtering": 2}))
    );
    let domain = client.get("/v1/probe/domain/WWW.dw.com").expect(200);
    let counts = (&domain["domain"], &domain["total_probes_24h"], &domain["blocked_count"]);
    assert_eq!(counts, (&json!("dw.com"), &json!(2), &json!(2)), "{domain}");
    let of_node = &domain["nodes"][0];
    assert_eq!((&of_node["status"], &of_node["sni_blocked"]), (&json!("blocked"), &json!(true)), "{domain}");
    let how = (&of_node["blocking_method"], &of_node["blocking_type"]);
    assert_eq!(how, (&json!("sni-filtering"), &json!("government-direct")));
    let open = client.get("/v1/probe/domain/bbc.com").expect(200)["nodes"][0].clone();
    // Every row has a text here, because clients print it.
    assert_eq!((&open["blocking_type"], &open["blocking_method"]), (&json!("none"), &Value::Null), "{open}");
    let attribution = &domain["attribution"];
    assert_eq!(attribution["methods_seen"], json!(["sni-filtering"]));
    assert_eq!(attribution["entities_detected"], json!(["Roskomnadzor"]));
    assert_eq!(attribution["blocking_types"], json!(["government-direct"]));
    assert_eq!(attribution["geographic_consensus"], "single_country");
    client.get("/v1/probe/domain/dw.com/history?country=Norway").expect_error(400, "BAD_REQUEST");
    let history = client.get("/v1/probe/domain/dw.com/history?days=7&country=no").expect(200);
    let total: u64 = history["points"].as_array().unwrap().iter().map(|day| day["total"].as_u64().unwrap()).sum();
    assert_eq!((total, &history["country_filter"]), (2, &json!("NO")), "{history}");
    let last = history["points"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["block_rate"], &last["countries"]["NO"]["top_method"]), (&json!(1.0), &json!("sni-filtering")));
    let list = client.get("/v1/community/nodes?limit=1").expect(200);
    assert_eq!((&list["total"], &list["nodes"][0]["totalProbes"]), (&json!(1), &json!(3)), "{list}");
    assert!(list["nodes"][0]["trustScore"].is_number() && list["nodes"][0]["blockedConfirmed"] == 0);
    let board = client.get("/v1/community/leaderboard").expect(200);
    let first = &board["leaderboard"][0];
    assert_eq!((&first["rank"], &first["nodeId"], &first["totalProbes"]), (&json!(1), &json!(node.id), &json!(3)));
    // One node decides nothing.
    let client = research(&client);
    let answer = client.post("/hydra/v1/detect", &json!({ "country": "NO", "target": "dw.com" })).expect(200);
    assert_eq!((&answer["status"], &answer["sources"]), (&json!("unknown"), &json!(["probe"])), "{answer}");
    assert_eq!(answer["evidenceCount"], 2, "{answer}");
}

/// Measurements of probes are a separate source, which counts when two agree.
fn what_two_vouched_nodes_measure_is_evidence_of_the_country(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    for name in ["one", "two"] {
        let node = Node::register(&client, &json!({ "country": "NO", "asn": 64_500 }));
        node.vouch();
        let rows: Vec<Value> = (0..4).map(|n| row(&client, "dw.com", 60 * n + 1, &blocked())).collect();
        assert_eq!(node.submit(name, &json!(rows))["accepted"], 4);
    }
    // Nodes with one address have one vote, even if the operator vouches for them.
    let client = research(&client);
    let ask = json!({ "country": "NO", "target": "dw.com", "includeISPs": true });
    let answer = client.post("/hydra/v1/detect", &ask).expect(200);
    assert_eq!((&answer["status"], &answer["evidenceCount"]), (&json!("unknown"), &json!(8)), "{answer}");
    // A second source on the same network is a second vote.
    let header = "test_name,report_id,input,measurement_uid,measurement_start_time,probe_cc,probe_asn,hostname,ip,port,\
                  tcp_success,tcp_failure,tls_success,tls_failure,tls_is_certificate_valid,http_request_url,http_failure,\
                  probe_analysis\n";
    let lines: String = (0..4)
        .map(|n| {
            let at = client.now().plus(-n * 3_600_000_000 - 60_000_000);
            format!(
                "web_connectivity,r{n},https://dw.com/,u{n},{at},NO,64500,dw.com,192.0.2.7,443,1,,0,connection_reset,,\
                 https://dw.com/,connection_reset,http-failure\n"
            )
        })
        .collect();
    let import = client.admin().send(
        "POST",
        "/v1/admin/import/ooni-observations",
        Some("text/csv"),
        format!("{header}{lines}").as_bytes(),
    );
    assert_eq!(import.status, 200, "{}", import.text());
    let answer = client.post("/hydra/v1/detect", &ask).expect(200);
    assert_eq!((&answer["status"], &answer["sources"]), (&json!("blocked"), &json!(["ooni", "probe"])), "{answer}");
    let methods = answer["methods"].as_array().unwrap();
    assert!(methods.contains(&json!("sni-filtering")), "{answer}");
}

fn a_bad_token_or_signature_is_401_another_node_403_and_over_100_rows_413(suite: &Suite) {
    let client = suite.client();
    let node = Node::register(&client, &json!({ "country": "NO" }));
    let other = Node::register(&client, &json!({ "country": "NO" }));
    let path = "/v1/probe/results";
    let body = node.submission("x", &json!([])).to_string();
    let send = |token: &str, signature: &str| {
        let client = client.with("authorization", &format!("Bearer {token}")).with("x-svc-signature", signature);
        client.send("POST", path, Some("application/json"), body.as_bytes())
    };
    let sign = |key: &str| format!("sha256={}", encode_hex(&hmac_sha256(key.as_bytes(), body.as_bytes())));
    client.send("POST", path, Some("application/json"), body.as_bytes()).expect_error(401, "UNAUTHORIZED");
    send(&node.token, "sha256=00").expect_error(401, "UNAUTHORIZED");
    send(&node.token, &sign(&other.token)).expect_error(401, "UNAUTHORIZED");
    let forged = format!("pt-{}-{}", &node.id[3..], "0".repeat(64));
    send(&forged, &sign(&forged)).expect_error(401, "UNAUTHORIZED");
    let nobody = format!("pt-{}-{}", "0".repeat(16), "0".repeat(64));
    let mut absent = node.submission("x", &json!([]));
    absent["nodeId"] = json!("cp-0000000000000000");
    let absent = Node { id: "cp-0000000000000000".to_owned(), token: nobody, client: client.clone() }
        .signed("x-svc-signature", absent.to_string().as_bytes());
    absent.expect_error(401, "UNAUTHORIZED");
    send(&other.token, &sign(&other.token)).expect_error(403, "FORBIDDEN");
    assert_eq!(send(&node.token, &sign(&node.token)).status, 200);
    let rows: Vec<Value> = (0..101).map(|_| row(&client, "bbc.com", 0, &json!({}))).collect();
    let many = node.submission("many", &json!(rows)).to_string();
    node.signed("x-svc-signature", many.as_bytes()).expect_error(413, "PAYLOAD_TOO_LARGE");
}

/// One client escapes letters and puts spaces after separators; the other does neither.
fn the_signature_is_over_the_bytes_as_they_came(suite: &Suite) {
    let target = suite.fresh(&[("extra_header_prefix", "maker")]);
    let client = target.client();
    let node = Node::register(&client, &json!({ "country": "NO" }));
    let at = client.now();
    let body = format!(
        "{{ \"nodeId\" : \"{}\",\n \"submissionId\": \"s\\u00e9\", \"timestamp\": \"{at}\", \"results\": [ ] }}",
        node.id
    );
    assert_eq!(node.signed("x-maker-signature", body.as_bytes()).expect(200)["submissionId"], "sé");
    node.signed("x-other-signature", body.as_bytes()).expect_error(401, "UNAUTHORIZED");
}

fn rows_that_cannot_be_used_are_counted_and_cost_nothing_else(suite: &Suite) {
    let client = suite.client();
    let node = Node::register(&client, &json!({ "country": "NO" }));
    let rows = json!([
        row(&client, "bbc.com", 0, &json!({})),
        row(&client, "bbc.com", 60 * 24 * 3, &json!({})),
        row(&client, "192.0.2.1", 0, &json!({})),
        { "success": true },
        "nonsense",
        null,
    ]);
    let answer = node.submit("mixed", &rows);
    assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!(5)), "{answer}");
    let unnamed = json!({ "nodeId": node.id, "results": [] }).to_string();
    node.signed("x-svc-signature", unnamed.as_bytes()).expect_error(400, "BAD_REQUEST");
}

fn at_least_40_sites_are_given_to_probes(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let list = client.get("/v1/probe/domains").expect(200);
    let global = list["global"].as_array().unwrap();
    assert!(global.len() >= 40 && list["country_domains"] == json!([]), "{list}");
    for site in global {
        let text = |name: &str| site[name].as_str().unwrap();
        assert_eq!(text("url"), format!("https://{}/", text("domain")));
        let known = ["social", "messaging", "news", "privacy", "rights", "search", "reference", "tech", "other"];
        assert!(known.contains(&text("category")), "{site}");
    }
    let csv = "url,category_code,category_description,date_added,source,notes\nhttps://local.example/,NEWS,x,2026-01-01,x,\n\
               https://private.example/,PORN,x,2026-01-01,x,\nhttps://bbc.com/,NEWS,x,2026-01-01,x,\n";
    let import = client.admin().send("POST", "/v1/admin/import/test-list?list=no", Some("text/csv"), csv.as_bytes());
    assert_eq!(import.status, 200, "{}", import.text());
    let more = client.get("/v1/probe/domains?country=no").expect(200);
    let names: Vec<&str> =
        more["country_domains"].as_array().unwrap().iter().map(|site| site["domain"].as_str().unwrap()).collect();
    assert_eq!(names, ["local.example"]);
    assert_ne!(more["version"], list["version"]);
}

/// Decision addresses-discarded: no city, a day in place of a time, and another name on each page.
fn public_pages_hide_who_measures_where_it_can_harm(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let node = Node::register(&client, &json!({ "country": "IR", "city": "Shiraz", "label": "me", "asn": 64_501 }));
    node.submit("one", &json!([row(&client, "bbc.com", 0, &json!({}))]));
    let pages = [
        ("/v1/community/nodes", "/nodes/0/id"),
        ("/v1/community/leaderboard", "/leaderboard/0/nodeId"),
        ("/v1/probe/network", "/nodes/0/id"),
        ("/v1/probe/domain/bbc.com", "/nodes/0/node_id"),
    ];
    let mut names = Vec::new();
    for (path, pointer) in pages {
        // Pages about the network may be a little late.
        let page = target.until(|| {
            let page = client.get(path).expect(200);
            page.pointer(pointer).is_some().then_some(page)
        });
        let text = page.to_string();
        assert!(!text.contains(&node.id) && !text.contains("Shiraz") && !text.contains("\"me\""), "{path}: {page}");
        names.push(page.pointer(pointer).unwrap().as_str().unwrap().to_owned());
    }
    let seen = client.get("/v1/community/nodes").expect(200)["nodes"][0]["lastSeen"].clone();
    assert_eq!(seen.as_str().unwrap().len(), 10, "{seen}");
    // The name on the page of nodes and the true id lead to the node; the other names lead nowhere.
    for (id, status) in [(&node.id, 200), (&names[0], 200), (&names[1], 404), (&names[2], 404), (&names[3], 404)] {
        let answer = client.get(&format!("/v1/community/nodes/{id}"));
        assert_eq!(answer.status, status, "{id}");
        if status == 200 {
            let body = answer.json();
            assert_eq!((&body["node"]["city"], &body["node"]["total_probes"]), (&Value::Null, &json!(1)), "{body}");
            assert_eq!((&body["node"]["asn"], &body["node"]["node_id"]), (&Value::Null, &json!(id)), "{body}");
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 4);
}

/// The claim form sends node id, token and a handle; a claimed node shows the handle.
fn a_node_is_claimed_by_who_has_its_token(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let body = json!({ "country": "NO", "label": "attic" });
    let (node, other) = (Node::register(&client, &body), Node::register(&client, &json!({ "country": "NO" })));
    let path = "/v1/community/validate-token";
    let claim = |token: &str, handle: Value| {
        client.post(path, &json!({ "nodeId": node.id, "nodeToken": token, "handle": handle }))
    };
    node.submit("one", &json!([row(&client, "bbc.com", 0, &json!({}))]));
    let shown = || {
        let page = client.get(&format!("/v1/community/nodes/{}", node.id)).expect(200);
        page["node"]["claimed_by"].clone()
    };
    let board = |name: &str| {
        target.until(|| {
            let board = client.get("/v1/community/leaderboard").expect(200);
            (board["leaderboard"][0]["displayName"] == name).then_some(())
        });
    };
    board("attic");
    for handle in [json!("x"), json!("with space"), json!("x".repeat(33)), json!("<b>"), json!(7)] {
        claim(&node.token, handle).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(claim(&other.token, json!("thief")).expect(200), json!({ "valid": false, "nodeId": node.id }));
    assert_eq!(shown(), Value::Null);
    let claimed = claim(&node.token, json!("Ada-1.L_")).expect(200);
    assert_eq!(
        (&claimed["valid"], &claimed["claimed_by"], &claimed["claimedBy"]),
        (&json!(true), &Value::Null, &json!("Ada-1.L_"))
    );
    assert_eq!(shown(), "Ada-1.L_");
    board("Ada-1.L_");
    // A repeated claim gives the same answer, and changes nothing.
    assert_eq!(
        client.post(path, &json!({ "nodeId": node.id, "nodeToken": node.token })).expect(200)["claimedBy"],
        "Ada-1.L_"
    );
    claim(&node.token, json!("")).expect(200);
    assert_eq!(shown(), Value::Null);
    // In countries where it could harm the volunteer, no page shows the name.
    let iran = Node::register(&client, &json!({ "country": "IR" }));
    client.post(path, &json!({ "nodeId": iran.id, "nodeToken": iran.token, "handle": "me" })).expect(200);
    iran.submit("two", &json!([row(&client, "bbc.com", 0, &json!({}))]));
    assert_eq!(client.get(&format!("/v1/community/nodes/{}", iran.id)).expect(200)["node"]["claimed_by"], Value::Null);
    target.until(|| (client.get("/v1/probe/network").expect(200)["total_nodes"] == 2).then_some(()));
    assert!(!client.get("/v1/community/leaderboard").expect(200).to_string().contains("\"me\""));
}

fn unknown_nodes_are_404_and_unknown_domains_empty(suite: &Suite) {
    let client = suite.client();
    for id in ["cp-0000000000000000", "pn-0000000000000000", "nobody", "cp-"] {
        client.get(&format!("/v1/community/nodes/{id}")).expect_error(404, "NOT_FOUND");
        client
            .admin()
            .patch(&format!("/v1/admin/probes/{id}"), &json!({ "standing": "normal" }))
            .expect_error(404, "NOT_FOUND");
    }
    let domain = client.get("/v1/probe/domain/nobody.example").expect(200);
    assert_eq!((&domain["total_probes_24h"], &domain["nodes"]), (&json!(0), &json!([])), "{domain}");
    assert_eq!(domain["attribution"]["geographic_consensus"], "none");
    assert_eq!(client.get("/v1/probe/domain/nobody.example/history").expect(200)["points"], json!([]));
    client.get("/v1/probe/domain/localhost").expect_error(400, "BAD_REQUEST");
}
