//! Webhooks of agents against a receiver on loopback.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

use heliograph_core::crypto::hash::hmac_sha256_verify;
use heliograph_tests::relay::{Agent, text};
use heliograph_tests::source::{Source, response};
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    minimum_fields_of_webhooks_are_there,
    a_message_reaches_the_receiver_as_the_raw_object_signed_with_the_secret,
    a_delivery_is_sent_again_on_request_and_both_secrets_sign_it,
    every_message_of_a_burst_is_told_once,
    a_failing_receiver_is_shown_and_tried_again_after_two_minutes,
    a_redirect_inside_is_not_followed,
    a_huge_answer_is_not_read,
    a_receiver_that_says_gone_is_switched_off,
    a_slow_receiver_holds_up_neither_sends_nor_other_receivers,
    a_deleted_webhook_and_one_of_an_agent_that_ended_hear_nothing,
    addresses_inside_are_refused_unless_the_operator_allows_them,
    webhooks_belong_to_their_agent,
    bad_webhooks_are_400_and_the_eleventh_is_409,
];

/// The setting that lets webhooks reach the receivers of these tests.
pub const LOOPBACK: &[(&str, &str)] = &[("allow_outbound", "127.0.0.0/8")];

/// Longest time for which a receiver says nothing: a little less than a deployment waits for it.
const SLOW: Duration = Duration::from_secs(14);

fn hook(agent: &Agent, url: &str) -> Value {
    agent.client.post("/v1/agent/webhooks", &json!({ "webhook_url": url })).expect(201)
}

fn shown(agent: &Agent) -> Vec<Value> {
    let list = agent.client.get("/v1/agent/webhooks").expect(200);
    let hooks = list["webhooks"].as_array().unwrap().clone();
    assert_eq!(list["count"], hooks.len());
    hooks
}

/// Waits until `count` requests came.
#[track_caller]
pub fn heard(target: &Target, source: &Source, count: usize) -> Vec<Received> {
    target.until(|| (source.heard().len() >= count).then(|| source.heard().iter().map(Received::of).collect()))
}

/// A request as the receiver read it.
pub struct Received {
    pub head: String,
    pub body: String,
}

impl Received {
    fn of(request: &String) -> Received {
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request}"));
        Received { head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("{name} in {}", self.head)).1
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Whether a header has the HMAC of the body under a secret.
    #[track_caller]
    pub fn is_signed(&self, name: &str, secret: &str) -> bool {
        let tag = unhex(self.header(name).strip_prefix("sha256=").unwrap());
        hmac_sha256_verify(secret.as_bytes(), self.body.as_bytes(), &tag)
    }
}

/// A deployment that may reach loopback, two agents on it, and a receiver.
fn scene(suite: &Suite, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (Target, Agent, Agent, Source) {
    let target = suite.fresh(LOOPBACK);
    let client = target.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    (target, ada, bob, Source::start(answer))
}

pub fn ok(_: &str) -> String {
    response("200 OK", "", "")
}
fn minimum_fields_of_webhooks_are_there(suite: &Suite) {
    let ada = Agent::server_side(&suite.client());
    assert_eq!(shown(&ada), Vec::<Value>::new());
    let made = hook(&ada, "https://hooks.example.org/a");
    assert_eq!(made["events"], json!(["message"]), "the default");
    assert!(text(&made, "secret").starts_with("whsec_") && text(&made, "secret").len() == 50);
    assert_eq!(made["webhook_url"], "https://hooks.example.org/a");
    assert!(text(&made, "id").chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'), "{made}");
    let one = shown(&ada).remove(0);
    for name in ["id", "webhook_url", "events"] {
        assert_eq!(one[name], made[name]);
    }
    assert_eq!((&one["enabled"], &one["failure_count"]), (&json!(true), &json!(0)));
    assert!(one.get("secret").is_none(), "shown once");
    let id = text(&made, "id");
    assert_eq!(ada.client.get(&format!("/v1/agent/webhooks/{id}/deliveries")).expect(200)["deliveries"], json!([]));
    ada.client.delete(&format!("/v1/agent/webhooks/{id}")).expect(200);
    assert_eq!(shown(&ada), Vec::<Value>::new());
}

fn a_message_reaches_the_receiver_as_the_raw_object_signed_with_the_secret(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, ok);
    let made = hook(&bob, &format!("{}/in?x=1", source.base));
    let id = ada.say(&bob.did, "a secret word");
    let got = heard(&target, &source, 1).remove(0);
    assert!(got.head.starts_with("POST /in?x=1 HTTP/1.1"), "{}", got.head);
    let raw = bob.raw().remove(0);
    let body = got.json();
    assert_eq!((&body["event"], &body["message"]), (&json!("message"), &raw));
    assert_eq!((&body["message"]["id"], &body["timestamp"]), (&json!(id), &raw["timestamp"]));
    assert!(!got.body.contains("secret word"));
    assert!(got.header("content-type").starts_with("application/json"));
    assert!(got.header("user-agent").starts_with("heliograph/"));
    let secret = text(&made, "secret");
    assert!(got.is_signed("x-svc-signature", secret));
    let signed = format!("{}.{}.{}", got.header("webhook-id"), got.header("webhook-timestamp"), got.body);
    let tag = unbase64(got.header("webhook-signature").strip_prefix("v1,").unwrap());
    assert!(hmac_sha256_verify(&unbase64(&secret[6..]), signed.as_bytes(), &tag));
    let path = format!("/v1/agent/webhooks/{}/deliveries", text(&made, "id"));
    let log = target.until(|| bob.client.get(&path).expect(200)["deliveries"].get(0).cloned());
    assert_eq!((&log["delivered"], &log["attempt"], &log["status_code"]), (&json!(true), &json!(1), &json!(200)));
    assert_eq!((&log["event"], &log["delivery_id"]), (&json!("message"), &json!(got.header("webhook-id"))));
}

fn a_delivery_is_sent_again_on_request_and_both_secrets_sign_it(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, ok);
    let made = hook(&bob, &source.base);
    let path = format!("/v1/agent/webhooks/{}", text(&made, "id"));
    let new = bob.client.post(&format!("{path}/rotate-secret"), &json!({})).expect(200);
    ada.say(&bob.did, "one");
    let first = heard(&target, &source, 1).remove(0);
    assert!(first.is_signed("x-svc-signature", text(&new, "secret")));
    assert!(first.is_signed("x-svc-signature-previous", text(&made, "secret")));
    let log = target.until(|| bob.client.get(&format!("{path}/deliveries")).expect(200)["deliveries"].get(0).cloned());
    let replay = format!("{path}/deliveries/{}/replay", text(&log, "delivery_id"));
    ada.client.post(&replay, &json!({})).expect_error(404, "NOT_FOUND");
    assert_eq!(bob.client.post(&replay, &json!({})).expect(200)["replayed"], true);
    let again = heard(&target, &source, 2).remove(1);
    assert_eq!((again.header("webhook-id"), &again.body), (first.header("webhook-id"), &first.body));
}

fn unhex(text: &str) -> Vec<u8> {
    assert_eq!(text, text.to_ascii_lowercase(), "in lower case");
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

pub fn unbase64(text: &str) -> Vec<u8> {
    heliograph_tests::relay::bytes(&json!(text))
}

fn every_message_of_a_burst_is_told_once(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, ok);
    hook(&bob, &source.base);
    let mut sent: Vec<String> = (0..30).map(|n| ada.say(&bob.did, &n.to_string())).collect();
    heard(&target, &source, 30);
    target.until(|| (shown(&bob)[0]["pending"] == 0).then_some(()));
    let mut told: Vec<String> =
        heard(&target, &source, 30).iter().map(|got| text(&got.json()["message"], "id").to_owned()).collect();
    told.sort();
    sent.sort();
    assert_eq!(told, sent);
}

/// The first wait is 2 minutes.
fn a_failing_receiver_is_shown_and_tried_again_after_two_minutes(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, |_| response("500 Internal Server Error", "retry-after: 1\r\n", ""));
    let made = hook(&bob, &source.base);
    ada.say(&bob.did, "one");
    let path = format!("/v1/agent/webhooks/{}/deliveries", text(&made, "id"));
    let log = target.until(|| bob.client.get(&path).expect(200)["deliveries"].get(0).cloned());
    let time = |name: &str| heliograph_core::Timestamp::parse(text(&log, name)).unwrap();
    // The wait counts from when the first attempt was due, which was a little earlier.
    let wait = time("next_attempt_at").since(time("at"));
    assert!((110_000_000..=120_000_000).contains(&wait), "{wait}");
    assert_eq!((&log["delivered"], &log["status_code"]), (&json!(false), &json!(500)));
    let one = shown(&bob).remove(0);
    assert_eq!((&one["failure_count"], &one["enabled"], &one["pending"]), (&json!(1), &json!(true), &json!(1)));
    assert_eq!(source.heard().len(), 1);
}

fn a_redirect_inside_is_not_followed(suite: &Suite) {
    let inner = Source::start(ok);
    let location = format!("location: {}/\r\n", inner.base);
    let (target, ada, bob, source) = scene(suite, move |_| response("307 Temporary Redirect", &location, ""));
    hook(&bob, &source.base);
    ada.say(&bob.did, "one");
    target.until(|| (shown(&bob)[0]["failure_count"] == 1).then_some(()));
    assert_eq!((source.heard().len(), inner.heard().len()), (1, 0));
}

fn a_huge_answer_is_not_read(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, |_| {
        // More than anybody should store: a gigabyte is announced and a megabyte comes.
        format!("HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n{}", "x".repeat(1 << 20))
    });
    hook(&bob, &source.base);
    ada.say(&bob.did, "one");
    heard(&target, &source, 1);
    target.until(|| (shown(&bob)[0]["pending"] == 0).then_some(()));
    assert_eq!(shown(&bob)[0]["failure_count"], 0, "its status is enough");
}

fn a_receiver_that_says_gone_is_switched_off(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, |_| response("410 Gone", "", ""));
    hook(&bob, &source.base);
    ada.say(&bob.did, "one");
    target.until(|| (shown(&bob)[0]["enabled"] == false).then_some(()));
    ada.say(&bob.did, "two");
    target.reach_out();
    let one = shown(&bob).remove(0);
    assert_eq!((&one["pending"], &one["failure_count"]), (&json!(0), &json!(1)));
    assert!(one["disabled_at"].is_string());
    assert_eq!(source.heard().len(), 1);
}

fn a_slow_receiver_holds_up_neither_sends_nor_other_receivers(suite: &Suite) {
    // The slow one answers nothing before all others were told: a server that waits for it tells them too late.
    let (gate, at_once) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let most = Arc::new(AtomicUsize::new(0));
    let (target, ada, bob, source) = scene(suite, {
        let (gate, at_once, most) = (gate.clone(), at_once.clone(), most.clone());
        move |path| {
            if path == "/slow" {
                most.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
                let until = Instant::now() + SLOW;
                while !gate.load(SeqCst) && Instant::now() < until {
                    std::thread::sleep(Duration::from_millis(20));
                }
                at_once.fetch_sub(1, SeqCst);
            }
            ok(path)
        }
    });
    hook(&bob, &format!("{}/slow", source.base));
    hook(&bob, &format!("{}/quick", source.base));
    let carol = Agent::server_side(&target.client());
    hook(&carol, &format!("{}/carol", source.base));
    for _ in 0..5 {
        ada.say(&bob.did, "one");
        ada.say(&carol.did, "one");
    }
    let count = |path: &str| source.heard().iter().filter(|got| got.contains(&format!("POST {path} "))).count();
    if suite.kind != heliograph_tests::target::Kind::Memory {
        target.until(|| (count("/quick") == 5 && count("/carol") == 5).then_some(()));
        assert!(count("/slow") <= 1, "the others waited until the slow one was given up");
    }
    gate.store(true, SeqCst);
    target.until(|| (count("/slow") >= 2).then_some(()));
    assert_eq!(most.load(SeqCst), 1, "one at a time");
}

fn a_deleted_webhook_and_one_of_an_agent_that_ended_hear_nothing(suite: &Suite) {
    let (target, ada, bob, source) = scene(suite, ok);
    let carol = Agent::server_side(&target.client());
    let made = hook(&bob, &format!("{}/deleted", source.base));
    hook(&bob, &format!("{}/kept", source.base));
    hook(&carol, &format!("{}/ended", source.base));
    bob.client.delete(&format!("/v1/agent/webhooks/{}", text(&made, "id"))).expect(200);
    carol.client.delete("/v1/agent/deactivate").expect(200);
    carol.client.get("/v1/agent/webhooks").expect(401);
    ada.say(&bob.did, "one");
    heard(&target, &source, 1);
    target.until(|| (shown(&bob)[0]["pending"] == 0).then_some(()));
    assert!(source.heard().iter().all(|got| got.starts_with("POST /kept ")), "{:?}", source.heard());
}

fn addresses_inside_are_refused_unless_the_operator_allows_them(suite: &Suite) {
    let ada = Agent::server_side(&suite.client());
    for url in [
        "http://hooks.example.org/",
        "http://127.0.0.1:8080/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://localhost/",
        "https://user@hooks.example.org/",
        "https://hooks.example.org:22/",
        "hooks.example.org",
    ] {
        ada.client.post("/v1/agent/webhooks", &json!({ "webhook_url": url })).expect_error(400, "BAD_REQUEST");
    }
    let target = suite.fresh(LOOPBACK);
    let bob = Agent::server_side(&target.client());
    hook(&bob, "http://127.0.0.1:1/");
    for url in ["http://10.0.0.1/", "https://[::1]/", "http://localhost:8080/", "http://hooks.example.org/"] {
        bob.client.post("/v1/agent/webhooks", &json!({ "webhook_url": url })).expect_error(400, "BAD_REQUEST");
    }
}

fn webhooks_belong_to_their_agent(suite: &Suite) {
    let client = suite.client();
    let (ada, eve) = (Agent::server_side(&client), Agent::server_side(&client));
    let made = hook(&ada, "https://hooks.example.org/a");
    let path = format!("/v1/agent/webhooks/{}", text(&made, "id"));
    eve.client.delete(&path).expect_error(404, "NOT_FOUND");
    eve.client.get(&format!("{path}/deliveries")).expect_error(404, "NOT_FOUND");
    client.delete(&path).expect(401);
    assert_eq!(shown(&eve), Vec::<Value>::new());
    assert_eq!(shown(&ada).len(), 1);
}

fn bad_webhooks_are_400_and_the_eleventh_is_409(suite: &Suite) {
    let ada = Agent::server_side(&suite.client());
    let url = "https://hooks.example.org/a";
    for body in [
        json!({}),
        json!({ "webhook_url": 7 }),
        json!({ "webhook_url": url, "events": [] }),
        json!({ "webhook_url": url, "events": ["message", "everything"] }),
        json!({ "webhook_url": url, "events": "message" }),
        json!({ "webhook_url": format!("{url}{}", "x".repeat(2_048)) }),
    ] {
        ada.client.post("/v1/agent/webhooks", &body).expect_error(400, "BAD_REQUEST");
    }
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| {
                let answer = ada.client.post("/v1/agent/webhooks", &json!({ "webhook_url": url }));
                match answer.status {
                    201 => drop(made.fetch_add(1, Relaxed)),
                    status => assert_eq!(status, 409, "{}", answer.text()),
                }
            });
        }
    });
    assert_eq!((made.into_inner(), shown(&ada).len()), (10, 10));
}
