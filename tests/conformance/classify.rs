//! Classification of raw documents (decision classify-one-document).

use heliograph_tests::simulation::Dice;
use heliograph_tests::synthetic::{PLANTED, Shows, document};
use heliograph_tests::{client::Client, data};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    made_up_documents_are_classified,
    every_scenario_gets_its_class,
    a_batch_is_classified_in_order_and_equals_single_answers,
    more_than_50_or_none_is_400,
    a_document_of_another_kind_or_broken_is_unknown_or_refused_and_never_a_fault,
    no_answer_shows_an_address_of_the_probe,
    a_classification_stores_nothing,
];

const PATH: &str = "/v1/measurement/classify";
const TIME: &str = "2024-03-12 11:00:00";

fn classify(client: &Client, measurement: &Value) -> Value {
    let body = client.post(PATH, &json!({ "measurement": measurement })).expect(200);
    let results = body["results"].as_array().unwrap_or_else(|| panic!("no results: {body}"));
    assert_eq!(results.len(), 1, "{body}");
    check_shape(&results[0]);
    results[0].clone()
}

fn check_shape(result: &Value) {
    let label = result["label"].as_str().unwrap_or_else(|| panic!("{result}"));
    assert!(["accessible", "blocked", "down", "unknown"].contains(&label), "{result}");
    assert!(result["rules"].as_array().unwrap().iter().all(Value::is_string), "{result}");
    assert!(
        result.get("probability").is_some_and(|p| p.is_null() || (0.0..=1.0).contains(&p.as_f64().unwrap())),
        "{result}"
    );
    let method = result.get("method").unwrap_or_else(|| panic!("method is missing: {result}"));
    assert!(method.is_null() || method.is_string(), "{result}");
}

/// The true class of a scenario, from its name (decision scenario-truths).
fn truth(name: &str) -> &'static [&'static str] {
    match name {
        "successWithHTTPS"
        | "idnaWithoutCensorshipLowercase"
        | "largeFileWithHTTP"
        | "controlFailureWithSuccessfulHTTPSWebsite"
        | "dnsHijackingToProxyWithHTTPURL" => &["accessible"],
        "dnsHijackingToLocalhostWithHTTPS"
        | "dnsBlockingNXDOMAIN"
        | "dnsBlockingAndroidDNSCacheNoData"
        | "badSSLWithUnknownAuthorityWithInconsistentDNS"
        | "tcpBlockingConnectionRefusedWithInconsistentDNS"
        | "tlsBlockingConnectionResetWithInconsistentDNS"
        | "redirectWithConsistentDNSAndThenConnectionRefusedForHTTP"
        | "redirectWithConsistentDNSAndThenConnectionResetForHTTP"
        | "redirectWithConsistentDNSAndThenEOFForHTTP"
        | "redirectWithConsistentDNSAndThenTimeoutForHTTPS"
        | "redirectWithConsistentDNSAndThenNXDOMAIN"
        | "httpDiffWithConsistentDNS"
        | "ghostDNSBlockingWithHTTPS"
        | "throttlingWithHTTPS" => &["blocked"],
        "badSSLWithExpiredCertificate"
        | "localhostWithHTTP"
        | "redirectWithMoreThanTenRedirectsAndHTTPS"
        | "websiteDownNoAddrs" => &["down"],
        "redirectWithBrokenLocationForHTTP" => &["down", "unknown"],
        "cloudflareCAPTCHAWithHTTP" => &["unknown"],
        _ => panic!("{name} is not in the table"),
    }
}

fn made_up_documents_are_classified(suite: &Suite) {
    let client = suite.client();
    let label = |shows| classify(&client, &document(shows, "made-up.example", "NO", 64_500, TIME));
    let works = label(Shows::Works);
    assert_eq!((&works["label"], &works["method"]), (&json!("accessible"), &Value::Null), "{works}");
    let blocked = label(Shows::DnsBlocked);
    assert_eq!(blocked["label"], "blocked", "{blocked}");
    assert!(blocked["method"].as_str().unwrap().starts_with("dns"), "{blocked}");
    assert!(blocked["probability"].as_f64() > works["probability"].as_f64(), "{blocked} {works}");
    assert!(!blocked["rules"].as_array().unwrap().is_empty(), "{blocked}");
    assert_eq!(label(Shows::Down)["label"], "down");
}

fn every_scenario_gets_its_class(suite: &Suite) {
    let Some(text) = data::real("ooni/web_connectivity_scenarios.jsonl.gz") else { return };
    let client = suite.client();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in data::records(&text, false) {
        let row: Value = serde_json::from_slice(line).unwrap();
        let name = row["scenario"].as_str().unwrap();
        let result = classify(&client, &row["measurement"]);
        if !truth(name).contains(&result["label"].as_str().unwrap()) {
            wrong.push(format!("{name}: {result}"));
        }
        count += 1;
    }
    assert_eq!((count, wrong), (25, Vec::<String>::new()));
}

fn a_batch_is_classified_in_order_and_equals_single_answers(suite: &Suite) {
    let client = suite.client();
    let kinds = [Shows::Down, Shows::Works, Shows::DnsBlocked];
    let documents: Vec<_> =
        (0..50).map(|n| document(kinds[n % 3], &format!("site-{n}.example"), "NO", 64_500, TIME)).collect();
    let body = client.post(PATH, &json!({ "measurements": documents })).expect(200);
    let results = body["results"].as_array().unwrap();
    assert_eq!(results.len(), 50);
    for (result, expected) in results.iter().zip(["down", "accessible", "blocked"].iter().cycle()) {
        check_shape(result);
        assert_eq!(&result["label"], expected, "{result}");
    }
    assert_eq!(results[2], classify(&client, &documents[2]));
}

fn more_than_50_or_none_is_400(suite: &Suite) {
    let client = suite.client();
    let one = document(Shows::Down, "a.example", "NO", 64_500, TIME);
    for body in [
        json!({}),
        json!([]),
        json!({ "measurements": [] }),
        json!({ "measurements": vec![one.clone(); 51] }),
        json!({ "measurements": one }),
        json!({ "measurement": null }),
        json!({ "measurement": "text" }),
        json!({ "measurement": [one] }),
    ] {
        client.post(PATH, &body).expect_error(400, "BAD_REQUEST");
    }
    client.send("POST", PATH, Some("application/json"), b"{\"measurement\":").expect_error(400, "BAD_REQUEST");
}

/// Replaces one member, at any depth, by a value of another type.
fn damage(value: &mut Value, random: &mut Dice) {
    let replacement = match random.index(7) {
        0 => Value::Null,
        1 => json!(-1.5e300),
        2 => json!("\u{0}\u{fffd}x"),
        3 => json!([[[[]]]]),
        4 => json!({ "": {} }),
        5 => json!(true),
        _ => json!(u64::MAX),
    };
    let stop = random.index(3) == 0;
    match value {
        Value::Object(map) if !stop && !map.is_empty() => {
            let at = random.index(map.len());
            damage(map.values_mut().nth(at).unwrap(), random);
        }
        Value::Array(list) if !stop && !list.is_empty() => {
            let at = random.index(list.len());
            damage(&mut list[at], random);
        }
        other => *other = replacement,
    }
}

fn a_document_of_another_kind_or_broken_is_unknown_or_refused_and_never_a_fault(suite: &Suite) {
    let client = suite.client();
    let mut random = Dice::new(7);
    let rounds = if suite.kind == heliograph_tests::target::Kind::Edge { 60 } else { 400 };
    for round in 0..rounds {
        let mut measurement = document(Shows::DnsBlocked, "a.example", "NO", 64_500, TIME);
        for _ in 0..=random.index(4) {
            damage(&mut measurement, &mut random);
        }
        let answer = client.post(PATH, &json!({ "measurement": measurement }));
        assert!(matches!(answer.status, 200 | 400), "round {round}: {} for {measurement}", answer.text());
    }
    for measurement in
        [json!({}), json!({ "test_name": "ndt", "test_keys": {} }), json!({ "test_name": "web_connectivity" })]
    {
        let answer = client.post(PATH, &json!({ "measurement": measurement }));
        if answer.status == 200 {
            assert_eq!(answer.json()["results"][0]["label"], "unknown", "{measurement}");
        } else {
            answer.expect_error(400, "BAD_REQUEST");
        }
    }
    let deep = format!("{{\"measurement\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let answer = client.send("POST", PATH, Some("application/json"), deep.as_bytes());
    assert!(matches!(answer.status, 400 | 413), "{}", answer.status);
}

fn no_answer_shows_an_address_of_the_probe(suite: &Suite) {
    for shows in [Shows::Works, Shows::DnsBlocked, Shows::Down] {
        let text = classify(&suite.client(), &document(shows, "a.example", "NO", 64_500, TIME)).to_string();
        assert!(PLANTED.iter().all(|address| !text.contains(address)), "{text}");
    }
}

fn a_classification_stores_nothing(suite: &Suite) {
    let client = suite.client();
    classify(&client, &document(Shows::DnsBlocked, "only-classified.example", "NO", 64_500, TIME));
    let path = "/v1/accessibility/check?domain=only-classified.example&country=NO&as_of=2024-03-12T12:00:00Z";
    assert_eq!(client.get(path).expect(200)["evidenceCount"], 0);
}
