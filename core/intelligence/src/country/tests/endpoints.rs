//! Shapes, input rules, limits and validators of the endpoints.

use http::Method;
use serde_json::{Value, json};

use super::{HEADER, Server, json, rows};
use engine::http::Body;
use engine::testing::real_data;

fn measured() -> Server {
    let server = Server::start();
    let data = format!(
        "{HEADER}{}{}",
        rows("IT", 1, "example.org", "2025-12-30", 0..8, true),
        rows("IT", 2, "example.net", "2025-12-30", 0..8, false)
    );
    let (status, summary) = server.upload("ooni-observations", data.as_bytes());
    assert_eq!((status.as_u16(), &summary["accepted"]), (200, &16.into()), "{summary}");
    server.settle();
    server
}

#[test]
fn countries_are_read_as_the_interface_says() {
    let server = measured();
    assert_eq!(server.detect("it", "example.org", None)["country"], "IT");
    for bad in ["", "I", "ITA", "1T", "Italy"] {
        let (status, body) = server.post("/hydra/v1/detect", &json!({ "country": bad, "target": "example.org" }));
        assert_eq!((status.as_u16(), &body["error"]), (400, &"BAD_REQUEST".into()), "{bad}");
    }
    let nowhere = server.detect("zz", "example.org", None);
    assert_eq!((&nowhere["status"], &nowhere["basis"]), (&"unknown".into(), &"unmeasured".into()));
    let check = server.ok("/v1/accessibility/check?domain=example.org&country=QQ");
    assert_eq!((&check["status"], &check["accessibilityScore"]), (&"unknown".into(), &Value::Null));
    for path in ["/data/country/", "/v1/censorship-index/"] {
        assert_eq!(server.get(&format!("{path}ZZ")).0, 404, "{path}");
        assert_eq!(server.get(&format!("{path}ITA")).0, 400, "{path}");
        assert_eq!(server.get(&format!("{path}mt")).0, 200, "{path}");
    }
    assert_eq!(server.get("/v1/accessibility/country/ZZ/summary").0, 404);
    assert_eq!(server.get("/data/country/ZZ/isps").0, 404);
    let empty = server.ok("/data/country/MT");
    assert_eq!((&empty["identifier"], &empty["ooni"]["measurementCount"]), (&"MT".into(), &0.into()), "{empty}");
}

#[test]
fn missing_and_bad_targets_are_refused_with_the_error_body() {
    let server = Server::start();
    for body in [
        json!({}),
        json!({ "country": "IT" }),
        json!({ "target": "example.org" }),
        json!({ "country": "IT", "target": 7 }),
        json!({ "country": "IT", "target": "192.0.2.1" }),
        json!({ "country": "IT", "target": "not a host" }),
        json!({ "country": "IT", "target": "example.org", "as_of": "soon" }),
    ] {
        let (status, answer) = server.post("/hydra/v1/detect", &body);
        assert_eq!((status.as_u16(), &answer["error"]), (400, &"BAD_REQUEST".into()), "{body}: {answer}");
        assert!(answer["message"].is_string());
    }
    assert_eq!(server.get("/v1/accessibility/check?domain=example.org").0, 400);
    assert_eq!(server.get("/v1/accessibility/check?country=IT").0, 400);
    assert_eq!(server.get("/v1/accessibility/service/nothing").0, 404);
    assert_eq!(server.get("/data/domain/not%20a%20host").0, 400);
    let (status, _) = json(server.request(Method::POST, "/hydra/v1/detect", &[], b"{}"));
    assert_eq!(status, 401);
}

#[test]
fn batches_collapse_duplicates_and_refuse_more_than_50() {
    let server = measured();
    let targets = ["example.org", "www.example.org", "https://example.org/x", "example.net", "unknown.org"];
    let (_, batch) = server.post("/hydra/v1/detect/batch", &json!({ "country": "IT", "targets": targets }));
    assert_eq!(batch["count"], 3, "{batch}");
    assert_eq!(batch["summary"], json!({ "blocked": 1, "accessible": 1, "unknown": 1 }));
    assert_eq!(batch["results"][0]["target"], "example.org");
    assert!(batch["results"][0]["methods"].is_array() && batch["results"][0]["basis"] == "measured");
    let (_, batch) = server.post("/v1/accessibility/batch", &json!({ "country": "IT", "domains": targets }));
    // In this answer each row is found by the words that asked for it.
    assert_eq!((&batch["count"], &batch["results"][3]["accessibilityScore"]), (&5.into(), &json!(1.0)), "{batch}");
    for (row, target) in batch["results"].as_array().unwrap().iter().zip(targets) {
        assert_eq!(row["domain"], target);
    }
    let twice = json!({ "country": "IT", "domains": ["example.org", " example.org"] });
    assert_eq!(server.post("/v1/accessibility/batch", &twice).1["count"], 1);
    let many: Vec<String> = (0..51).map(|n| format!("site{n}.org")).collect();
    for (path, field) in [("/hydra/v1/detect/batch", "targets"), ("/v1/accessibility/batch", "domains")] {
        assert_eq!(server.post(path, &json!({ "country": "IT", field: many })).0, 400, "{path}");
        assert_eq!(server.post(path, &json!({ "country": "IT", field: many[..50] })).0, 200, "{path}");
        assert_eq!(server.post(path, &json!({ "country": "IT", field: [] })).0, 400, "{path}");
        assert_eq!(server.post(path, &json!({ "country": "IT" })).0, 400, "{path}");
    }
}

#[test]
fn fields_that_break_clients_when_null_are_there() {
    let server = measured();
    for (path, fields) in [
        ("/v1/censorship-index", &["timestamp", "summary", "countries"][..]),
        ("/v1/censorship-index/IT", &["country", "name", "status", "ooni"]),
        ("/data/country/IT", &["name", "identifier", "ooni", "data", "license"]),
        ("/data/country/IT/isps", &["summary", "isps", "period", "generated"]),
        ("/data/domain/example.org", &["status", "summary", "blocked_in", "period"]),
        ("/data/domain/example.org/history", &["summary", "countriesBlocking", "timeline", "currentStatus"]),
        ("/data/censorship-index.json", &["name", "metadata", "summary", "countries"]),
        ("/data/methodology", &["name", "methodology", "author", "license"]),
        ("/v1/accessibility/check?domain=example.org&country=IT", &["status", "methods", "confidence", "checkedAt"]),
        ("/v1/accessibility/country/IT/summary", &["blockedCount", "topBlocked", "blockRate"]),
        ("/v1/accessibility/service/telegram", &["countries", "label", "domains", "generatedAt"]),
        ("/health", &["status", "version", "checks"]),
        ("/hydra/v1/health", &["status", "version", "checks"]),
    ] {
        let body = server.ok(path);
        for field in fields {
            assert!(!body[field].is_null(), "{path}: {field} in {body}");
        }
    }
    let overview = server.ok("/v1/censorship-index/IT");
    for field in ["status", "anomalyRate", "confirmedRate", "measurementCount", "affectedServices", "lastUpdated"] {
        assert!(!overview["ooni"][field].is_null(), "{field}");
    }
    let isps = server.ok("/data/country/IT/isps");
    assert_eq!(isps["isps"][0]["asn"], "AS1", "{isps}");
    assert_eq!(isps["isps"][0]["threat_level"], "critical");
    assert_eq!(isps["isps"][0]["top_blocked_domains"][0]["domain"], "example.org");
    assert_eq!(isps["isps"][1]["top_blocked_domains"], json!([]));
    let domain = server.ok("/data/domain/example.org");
    assert_eq!((&domain["status"], &domain["blocked_in"][0]["isps"][0]["asn"]), (&"blocked".into(), &"AS1".into()));
    let history = server.ok("/data/domain/example.org/history?days=999");
    assert_eq!(
        (&history["days"], &history["timeline"][0]["countries"]["IT"]["status"]),
        (&365.into(), &"blocked".into())
    );
    assert_eq!(server.get("/data/domain/example.org/history?days=0").0, 400);
}

#[test]
fn the_breakdown_by_network_needs_the_research_tier() {
    let server = measured();
    let body = json!({ "country": "IT", "target": "example.org", "includeISPs": true, "explain": true });
    let headers = [("x-api-key", "svc_demo"), ("content-type", "application/json")];
    let (status, answer) =
        json(server.request(Method::POST, "/hydra/v1/detect", &headers, body.to_string().as_bytes()));
    assert_eq!((status.as_u16(), &answer["ispsOmitted"]), (200, &"tier".into()), "{answer}");
    assert!(answer.get("isps").is_none() && !answer.to_string().contains("\"asn\""), "{answer}");
    let full = server.detect("IT", "example.org", None);
    assert_eq!((&full["ispCount"], &full["isps"][0]["asn"]), (&1.into(), &1.into()), "{full}");
}

#[test]
fn documents_have_validators_and_follow_an_import() {
    let server = Server::start();
    let first = server.request(Method::GET, "/data/censorship-index.json", &[], b"");
    let etag = first.headers.get("etag").unwrap().to_str().unwrap().to_owned();
    assert!(first.headers.get("cache-control").unwrap().to_str().unwrap().contains("max-age"));
    let again = server.request(Method::GET, "/data/methodology", &[("if-none-match", "*")], b"");
    assert_eq!(again.status, 304);
    let data = format!("{HEADER}{}", rows("IT", 1, "example.org", "2025-12-30", 0..8, true));
    server.upload("ooni-observations", data.as_bytes());
    server.settle();
    let changed = server.request(Method::GET, "/data/censorship-index.json", &[("if-none-match", &etag)], b"");
    assert_eq!(changed.status, 200);
    let etag = changed.headers.get("etag").unwrap().to_str().unwrap().to_owned();
    let same = server.request(Method::GET, "/data/censorship-index.json", &[("if-none-match", &etag)], b"");
    assert_eq!(same.status, 304);
    assert!(matches!(same.body, Body::Bytes(bytes) if bytes.is_empty()));
    let csv = server.request(Method::GET, "/data/censorship-index.csv", &[], b"");
    assert_eq!(csv.headers.get("content-type").unwrap(), "text/csv; charset=utf-8");
    assert!(csv.headers.get("content-disposition").unwrap().to_str().unwrap().contains("censorship-index.csv"));
    let Body::Bytes(text) = csv.body else { panic!("a stream") };
    assert!(text.starts_with(b"rank,country,code,score,level,samples,"));
}

#[test]
fn the_import_endpoint_is_the_operators_and_bounded() {
    use std::io::Write;
    let server = Server::start();
    let (status, _) = json(server.request(Method::POST, "/v1/admin/import/asn", &[], b"asn\n"));
    assert_eq!(status, 401);
    assert_eq!(server.upload("nonsense", b"").0, 404);
    assert_eq!(server.upload("blocklist", b"example.org\n").0, 400);
    assert_eq!(server.upload("blocklist?country=IT&list_kind=rumour", b"example.org\n").0, 400);
    assert_eq!(server.upload("ooni-observations", b"a,b\n1,2\n").0, 400);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&vec![b'a'; (4 << 20) + 1]).unwrap();
    assert_eq!(server.upload("ooni-fastpath", &gzip.finish().unwrap()).0, 413);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"asn,org,cc\n137,GARR,IT\nnone,,\n").unwrap();
    let (status, body) = server.upload("asn", &gzip.finish().unwrap());
    assert_eq!((status.as_u16(), &body["accepted"], &body["refused"]), (200, &1.into(), &1.into()), "{body}");
    let (_, body) = server.upload("asn", b"asn,org,cc\n137,GARR,IT\n");
    assert_eq!((&body["accepted"], &body["duplicate"]), (&0.into(), &1.into()), "{body}");
    let list = b"url,category_code\nhttps://example.org/,NEWS\nhttps://example.org/,NEWS\n";
    let (_, body) = server.upload("test-list?list=global", list);
    assert_eq!((&body["accepted"], &body["duplicate"]), (&1.into(), &1.into()), "{body}");
    let (_, body) = server.upload("blocklist?country=LT&list_kind=official&date=2025-10-01", b"a.lt\nb.lt\na.lt\n");
    assert_eq!(
        (&body["accepted"], &body["duplicate"], &body["countries"]["LT"]["new"]),
        (&2.into(), &1.into(), &2.into())
    );
    let (_, body) = server.upload("blocklist?country=LT&list_kind=official&date=2025-10-01", b"a.lt\nb.lt\n");
    assert_eq!((&body["accepted"], &body["duplicate"]), (&0.into(), &2.into()), "{body}");
}

#[test]
fn documents_are_classified_one_by_one_and_in_batches() {
    let server = Server::start();
    for body in [json!({}), json!({ "measurements": [] }), json!({ "measurement": 7 }), json!({ "measurements": [1] })]
    {
        assert_eq!(server.post("/v1/measurement/classify", &body).0, 400, "{body}");
    }
    let many: Vec<Value> = (0..51).map(|_| json!({})).collect();
    assert_eq!(server.post("/v1/measurement/classify", &json!({ "measurements": many })).0, 400);
    let (status, odd) = server.post("/v1/measurement/classify", &json!({ "measurement": {} }));
    assert_eq!((status.as_u16(), &odd["results"][0]["label"]), (200, &"unknown".into()), "{odd}");
    let Some(scenarios) = real_data("ooni/web_connectivity_scenarios.jsonl.gz") else { return };
    let mut text = String::new();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(scenarios.as_slice()), &mut text).unwrap();
    for line in text.lines() {
        let scenario: Value = serde_json::from_str(line).unwrap();
        let (status, body) =
            server.post("/v1/measurement/classify", &json!({ "measurement": scenario["measurement"] }));
        assert_eq!(status, 200, "{body}");
        let result = &body["results"][0];
        let name = scenario["scenario"].as_str().unwrap();
        if name.starts_with("websiteDown") {
            assert_eq!((&result["label"], &result["status"]), (&"down".into(), &"unknown".into()), "{name}");
        } else if name.starts_with("success") {
            assert_eq!(result["label"], "accessible", "{name}: {result}");
        } else if name.starts_with("tcpBlocking") || name.starts_with("dnsBlocking") {
            assert_eq!(result["label"], "blocked", "{name}: {result}");
            assert!(result["method"].is_string());
        }
    }
}

#[test]
fn a_network_has_its_place_among_those_of_its_country_also_after_they_change() {
    let server = measured();
    let place = |profile: &Value| {
        (profile["asn"].as_u64(), profile["rankInCountry"].as_u64(), profile["ispsInCountry"].as_u64())
    };
    let expect = |worst_first: &[u64]| {
        let of = Some(worst_first.len() as u64);
        let expected: Vec<_> = (1..).zip(worst_first).map(|(rank, asn)| (Some(*asn), Some(rank), of)).collect();
        let profiles = worst_first.iter().map(|asn| place(&server.ok(&format!("/v1/isp/AS{asn}/profile"))));
        assert_eq!(profiles.collect::<Vec<_>>(), expected);
        let asns: Vec<String> = worst_first.iter().map(u64::to_string).collect();
        let both = server.ok(&format!("/v1/isp/compare?asns={}", asns.join(",")));
        assert_eq!(both["isps"].as_array().unwrap().iter().map(place).collect::<Vec<_>>(), expected);
        let listed = server.ok("/v1/isp/index?country=IT");
        let listed: Vec<_> = listed["isps"].as_array().unwrap().iter().map(|isp| isp["asn"].as_u64()).collect();
        assert_eq!(listed, expected.iter().map(|(asn, ..)| *asn).collect::<Vec<_>>());
    };
    expect(&[1, 2]);
    // The first network turns out to block one of two sites, and another network blocks all that is measured on it.
    let data = format!(
        "{HEADER}{}{}{}",
        rows("IT", 1, "example.net", "2025-12-30", 0..8, false),
        rows("IT", 3, "example.org", "2025-12-30", 0..12, true),
        rows("IT", 4, "example.org", "2025-12-30", 0..6, true)
    );
    server.upload("ooni-observations", data.as_bytes());
    server.settle();
    expect(&[3, 1, 2, 4]);
    // Six measurements make no score, whatever they say (decision what-numbers-mean).
    let few = server.ok("/v1/isp/AS4/profile");
    let shown = (&few["compositeScore"], &few["insufficientData"], &few["blockRate"], &few["measurements"]);
    assert_eq!(shown, (&json!(0.0), &json!(true), &json!(1.0), &json!(6)), "{few}");
    assert_eq!(server.ok("/v1/isp/AS3/profile")["insufficientData"], false);
}
