//! Alert subscriptions against a receiver on loopback.

use std::time::{Duration, Instant};

use heliograph_core::crypto::hash::hmac_sha256_verify;
use heliograph_tests::client::Client;
use heliograph_tests::relay::text;
use heliograph_tests::source::{Source, response};
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::detect::research;
use crate::incidents::{create, site};
use crate::relay_webhooks::{LOOPBACK, heard, ok, unbase64};
use crate::{Suite, cases};

cases![
    a_subscription_is_made_listed_changed_and_deleted,
    stats_are_public_numbers,
    an_incident_reaches_the_subscriber_signed_in_both_ways,
    filters_choose_what_a_subscriber_hears,
    a_change_and_the_end_are_told_and_a_disabled_subscription_hears_nothing,
    receivers_that_never_answer_delay_no_other_of_the_same_key,
    a_test_is_sent_at_once_and_says_what_came_of_it,
    a_delivery_is_sent_again_on_request_and_both_secrets_sign_it,
    subscriptions_belong_to_a_key_of_one_s_own,
    bad_subscriptions_are_400_and_the_hundred_and_first_is_409,
];

const ELSEWHERE: &str = "https://hooks.example.org/a";

fn subscribe(key: &Client, body: &Value) -> Value {
    key.post("/api/alerts/subscribe", body).expect(201)
}

fn listed(key: &Client) -> Vec<Value> {
    let list = key.get("/api/alerts/subscriptions").expect(200);
    let all = list["subscriptions"].as_array().unwrap().clone();
    assert_eq!(list["count"], all.len());
    all
}

/// A deployment that may reach loopback, an API key, and a receiver.
fn scene(suite: &Suite, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (Target, Client, Source) {
    let target = suite.fresh(LOOPBACK);
    let key = research(&target.client());
    (target, key, Source::start(answer))
}

/// An incident that began now.
fn happen(client: &Client, country: &str, domain: &str, severity: &str) -> Value {
    let mut incident = site(country, domain, &client.now().to_string());
    incident["severity"] = json!(severity);
    create(client, &incident)
}

fn a_subscription_is_made_listed_changed_and_deleted(suite: &Suite) {
    let key = research(&suite.client());
    assert_eq!(listed(&key), Vec::<Value>::new());
    let made = subscribe(&key, &json!({ "webhook_url": ELSEWHERE, "country_code": "ke", "min_severity": "high" }));
    assert!(text(&made, "hmac_secret").starts_with("whsec_"), "{made}");
    assert_eq!(unbase64(&text(&made, "hmac_secret")[6..]).len(), 48);
    assert_eq!((&made["country_code"], &made["min_severity"]), (&json!("KE"), &json!("high")));
    let one = listed(&key).remove(0);
    for name in ["id", "webhook_url", "country_code", "min_severity", "enabled", "created_at"] {
        assert_eq!(one[name], made[name], "{name}");
    }
    assert_eq!((&one["enabled"], &one["failure_count"]), (&json!(true), &json!(0)));
    assert_eq!((&one["last_delivery_at"], &one["last_status"]), (&Value::Null, &Value::Null));
    assert!(one.get("hmac_secret").is_none(), "shown once");
    let path = format!("/api/alerts/subscriptions/{}", text(&made, "id"));
    let off = key.patch(&path, &json!({ "enabled": false })).expect(200);
    assert_eq!((&off["enabled"], &off["id"]), (&json!(false), &made["id"]));
    let on = key.patch(&path, &json!({ "enabled": true, "country_code": "", "min_severity": "low" })).expect(200);
    assert_eq!((&on["enabled"], &on["country_code"], &on["min_severity"]), (&json!(true), &Value::Null, &json!("low")));
    let gone = key.delete(&path).expect(200);
    assert_eq!((&gone["deleted"], &gone["id"]), (&json!(true), &made["id"]));
    key.delete(&path).expect_error(404, "NOT_FOUND");
    key.patch(&path, &json!({ "enabled": true })).expect_error(404, "NOT_FOUND");
    assert_eq!(listed(&key), Vec::<Value>::new());
}

/// A client crashes unless `webhookSuccessRate` is a number.
fn stats_are_public_numbers(suite: &Suite) {
    let stats = suite.client().get("/api/alerts/stats").expect(200);
    for name in ["activeSubscriptions", "totalDeliveries24h", "countriesMonitored"] {
        assert!(stats[name].is_u64(), "{name}: {stats}");
    }
    let rate = stats["webhookSuccessRate"].as_f64().unwrap();
    assert!((0.0..=1.0).contains(&rate), "{stats}");
}

fn an_incident_reaches_the_subscriber_signed_in_both_ways(suite: &Suite) {
    let (target, key, source) = scene(suite, ok);
    let made = subscribe(&key, &json!({ "webhook_url": format!("{}/in?x=1", source.base) }));
    let incident = happen(&target.client(), "KE", "example.org", "medium");
    let got = heard(&target, &source, 1).remove(0);
    assert!(got.head.starts_with("POST /in?x=1 HTTP/1.1"), "{}", got.head);
    let body = got.json();
    assert_eq!(body["event"], "incident.created");
    let told = &body["incident"];
    for name in ["id", "hashId", "country", "countryName", "title", "severity", "confidence", "status", "reportUrl"] {
        assert_eq!(told[name], incident[name], "{name}: {body}");
    }
    let secret = text(&made, "hmac_secret");
    assert!(got.is_signed("x-svc-signature", secret));
    let signed = format!("{}.{}.{}", got.header("webhook-id"), got.header("webhook-timestamp"), got.body);
    let standard = unbase64(got.header("webhook-signature").strip_prefix("v1,").unwrap());
    assert!(hmac_sha256_verify(&unbase64(&secret[6..]), signed.as_bytes(), &standard));
    let path = format!("/api/alerts/subscriptions/{}/deliveries", text(&made, "id"));
    let log = target.until(|| key.get(&path).expect(200)["deliveries"].get(0).cloned());
    assert_eq!((&log["event"], &log["attempt"], &log["status_code"]), (&body["event"], &json!(1), &json!(200)));
    let one = listed(&key).remove(0);
    assert_eq!((&one["last_status"], one["last_delivery_at"].is_string()), (&json!(200), true), "{one}");
}

fn filters_choose_what_a_subscriber_hears(suite: &Suite) {
    let (target, key, source) = scene(suite, ok);
    let at = |path: &str| format!("{}/{path}", source.base);
    subscribe(&key, &json!({ "webhook_url": at("all") }));
    subscribe(&key, &json!({ "webhook_url": at("ke"), "country_code": "KE" }));
    subscribe(&key, &json!({ "webhook_url": at("se"), "country_code": "SE" }));
    subscribe(&key, &json!({ "webhook_url": at("critical"), "min_severity": "critical" }));
    happen(&target.client(), "KE", "a.example", "low");
    happen(&target.client(), "SE", "b.example", "critical");
    let got = heard(&target, &source, 5);
    let mut told: Vec<(String, String)> = got
        .iter()
        .map(|got| {
            (got.head.split(' ').nth(1).unwrap().to_owned(), text(&got.json()["incident"], "country").to_owned())
        })
        .collect();
    told.sort();
    let wanted = [("/all", "KE"), ("/all", "SE"), ("/critical", "SE"), ("/ke", "KE"), ("/se", "SE")];
    assert_eq!(told, wanted.map(|(path, country)| (path.to_owned(), country.to_owned())));
}

fn a_change_and_the_end_are_told_and_a_disabled_subscription_hears_nothing(suite: &Suite) {
    let (target, key, source) = scene(suite, ok);
    subscribe(&key, &json!({ "webhook_url": format!("{}/on", source.base) }));
    let off = subscribe(&key, &json!({ "webhook_url": format!("{}/off", source.base) }));
    let path = format!("/api/alerts/subscriptions/{}", text(&off, "id"));
    key.patch(&path, &json!({ "enabled": false })).expect(200);
    let client = target.client();
    let made = happen(&client, "KE", "example.org", "low");
    heard(&target, &source, 1);
    let path = format!("/v1/admin/incidents/{}", text(&made, "readableId"));
    client.admin().patch(&path, &json!({ "severity": "high", "reason": "more networks" })).expect(200);
    heard(&target, &source, 2);
    client.admin().patch(&path, &json!({ "status": "resolved", "reason": "over" })).expect(200);
    let got = heard(&target, &source, 3);
    let events: Vec<Value> = got.iter().map(|got| got.json()["event"].clone()).collect();
    assert_eq!(events, ["incident.created", "incident.updated", "incident.resolved"]);
    assert!(got.iter().all(|got| got.head.starts_with("POST /on ")));
}

/// One slow or dead receiver must not delay another, even if all have one API key; the platform opens only six
/// connections for an object.
fn receivers_that_never_answer_delay_no_other_of_the_same_key(suite: &Suite) {
    let silent = Source::start(|_| {
        std::thread::sleep(Duration::from_secs(60));
        String::new()
    });
    let (target, key, good) = scene(suite, ok);
    let client = target.client();
    for number in 0..8 {
        subscribe(&key, &json!({ "webhook_url": format!("{}/{number}", silent.base) }));
    }
    subscribe(&key, &json!({ "webhook_url": format!("{}/good", good.base) }));
    let asked = |count: usize| {
        let until = Instant::now() + Duration::from_secs(30);
        while silent.heard().len() < count {
            assert!(Instant::now() < until, "{} of {count}", silent.heard().len());
            target.reach_out();
        }
    };
    for (number, domain) in ["a.example", "b.example", "c.example", "d.example"].iter().enumerate() {
        let began = Instant::now();
        happen(&client, "KE", domain, "high");
        heard(&target, &good, number + 1);
        // A receiver is given up after 15 s.
        assert!(began.elapsed() < Duration::from_secs(14), "incident {number}: {:?}", began.elapsed());
        // The second incident comes while all eight requests hang, the third when they were given up and hang again.
        asked(if number == 0 { 8 } else { 16 });
    }
}

fn a_test_is_sent_at_once_and_says_what_came_of_it(suite: &Suite) {
    let (target, key, source) = scene(suite, |request| {
        response(if request.contains("/bad") { "500 Internal Server Error" } else { "200 OK" }, "", "")
    });
    key.post("/api/alerts/webhook-test", &json!({})).expect_error(400, "BAD_REQUEST");
    let made = subscribe(&key, &json!({ "webhook_url": format!("{}/good", source.base) }));
    // Clients may wait for the receiver's answer; in memory the tests make the requests themselves.
    let test = |body: Value| key.post("/api/alerts/webhook-test", &body).expect(200);
    let good = test(json!({ "subscription_id": made["id"] }));
    assert_eq!((&good["delivered"], &good["status_code"]), (&json!(true), &json!(200)), "{good}");
    assert_eq!((&good["event"], good["latency_ms"].is_u64()), (&json!("incident.test"), true));
    let other = json!({ "webhook_url": format!("{}/bad", source.base) });
    // No request goes to an address for which this key has no subscription, even if another key has one.
    key.post("/api/alerts/webhook-test", &other).expect_error(400, "BAD_REQUEST");
    subscribe(&key, &other);
    let bad = test(other);
    assert_eq!((&bad["delivered"], &bad["status_code"]), (&json!(false), &json!(500)), "{bad}");
    test(json!({}));
    let got = heard(&target, &source, 3);
    assert!(got.iter().all(|got| got.json()["event"] == "incident.test"));
    assert!(text(&got[0].json()["incident"], "title").to_lowercase().contains("test"));
    assert!(got[0].is_signed("x-svc-signature", text(&made, "hmac_secret")));
    assert_ne!(got[1].header("x-svc-signature"), got[0].header("x-svc-signature"), "each has a secret of its own");
    key.post("/api/alerts/webhook-test", &json!({ "subscription_id": "x" })).expect_error(404, "NOT_FOUND");
    let inside = json!({ "webhook_url": "https://10.0.0.1/" });
    key.post("/api/alerts/webhook-test", &inside).expect_error(400, "BAD_REQUEST");
    for _ in 0..7 {
        test(json!({ "subscription_id": made["id"] }));
    }
    key.post("/api/alerts/webhook-test", &json!({})).expect_error(429, "RATE_LIMITED");
}

fn a_delivery_is_sent_again_on_request_and_both_secrets_sign_it(suite: &Suite) {
    let (target, key, source) = scene(suite, ok);
    let made = subscribe(&key, &json!({ "webhook_url": source.base }));
    let path = format!("/api/alerts/subscriptions/{}", text(&made, "id"));
    let new = key.post(&format!("{path}/rotate-secret"), &json!({})).expect(200);
    happen(&target.client(), "KE", "example.org", "low");
    let first = heard(&target, &source, 1).remove(0);
    assert!(first.is_signed("x-svc-signature", text(&new, "hmac_secret")));
    assert!(first.is_signed("x-svc-signature-previous", text(&made, "hmac_secret")));
    let path = format!("{path}/deliveries");
    let log = target.until(|| key.get(&path).expect(200)["deliveries"].get(0).cloned());
    let replay = format!("{path}/{}/replay", text(&log, "delivery_id"));
    assert_eq!(key.post(&replay, &json!({})).expect(200)["replayed"], true);
    let got = heard(&target, &source, 2);
    assert_eq!((got[0].header("webhook-id"), &got[0].body), (got[1].header("webhook-id"), &got[1].body));
    research(&target.client()).post(&replay, &json!({})).expect_error(404, "NOT_FOUND");
}

fn subscriptions_belong_to_a_key_of_one_s_own(suite: &Suite) {
    let client = suite.client();
    let (key, other) = (research(&client), research(&client));
    let made = subscribe(&key, &json!({ "webhook_url": ELSEWHERE }));
    let path = format!("/api/alerts/subscriptions/{}", text(&made, "id"));
    other.delete(&path).expect_error(404, "NOT_FOUND");
    other.patch(&path, &json!({ "enabled": false })).expect_error(404, "NOT_FOUND");
    other.get(&format!("{path}/deliveries")).expect_error(404, "NOT_FOUND");
    other.post(&format!("{path}/rotate-secret"), &json!({})).expect_error(404, "NOT_FOUND");
    assert_eq!((listed(&other).len(), listed(&key).len()), (0, 1));
    for (method, path) in [
        ("POST", "/api/alerts/subscribe"),
        ("GET", "/api/alerts/subscriptions"),
        ("PATCH", path.as_str()),
        ("DELETE", path.as_str()),
        ("POST", "/api/alerts/webhook-test"),
    ] {
        client.send(method, path, None, b"").expect_error(401, "UNAUTHORIZED");
    }
}

fn bad_subscriptions_are_400_and_the_hundred_and_first_is_409(suite: &Suite) {
    let client = suite.client();
    let made = client.admin().post("/v1/admin/keys", &json!({ "tier": "bench", "label": "many" })).expect(201);
    let key = client.key(text(&made, "api_key"));
    for body in [
        json!({}),
        json!({ "webhook_url": 7 }),
        json!({ "webhook_url": "http://example.org/" }),
        json!({ "webhook_url": "https://127.0.0.1/" }),
        json!({ "webhook_url": "https://user:word@example.org/" }),
        json!({ "webhook_url": ELSEWHERE, "country_code": "XX" }),
        json!({ "webhook_url": ELSEWHERE, "country_code": "Kenya" }),
        json!({ "webhook_url": ELSEWHERE, "min_severity": "awful" }),
        json!({ "webhook_url": format!("{ELSEWHERE}{}", "x".repeat(2_048)) }),
    ] {
        key.post("/api/alerts/subscribe", &body).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(listed(&key).len(), 0);
    let ids: Vec<Value> =
        (0..100).map(|_| subscribe(&key, &json!({ "webhook_url": ELSEWHERE }))["id"].clone()).collect();
    key.post("/api/alerts/subscribe", &json!({ "webhook_url": ELSEWHERE })).expect_error(409, "CONFLICT");
    let path = format!("/api/alerts/subscriptions/{}", ids[0].as_str().unwrap());
    key.patch(&path, &json!({})).expect_error(400, "BAD_REQUEST");
    key.patch(&path, &json!({ "enabled": "yes" })).expect_error(400, "BAD_REQUEST");
    key.delete(&path).expect(200);
    subscribe(&key, &json!({ "webhook_url": ELSEWHERE }));
}
