//! Alerts on a clock that only the tests move.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use super::secret;
use crate::incidents::{self, AffectedNetwork, Draft, Record, ReportEvent, Severity, Status};
use crate::testing;
use crate::testing::PROGRAM;
use crate::{Error, Timestamp};
use crypto::Secret;
use crypto::encoding::{decode_base64, encode_base64, encode_hex};
use crypto::hash::hmac_sha256;
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::{ActorId, Kind};
use engine::http::{Body, Request, serve};
use engine::runtime::{Runtime, call};
use engine::testing::START;
use engine::time::{DAY, HOUR};
use engine::web::Incoming;
use engine::web::Outgoing;
use relay::testing::TestRuntime;

const URL: &str = "https://hooks.example.org/in";

/// A request that a receiver got, and when.
#[derive(Clone)]
struct Got {
    at: Timestamp,
    request: Outgoing,
}

impl Got {
    fn header(&self, name: &str) -> Option<&str> {
        self.request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn text(&self) -> String {
        String::from_utf8(self.request.body.clone().unwrap().to_vec()).unwrap()
    }

    fn body(&self) -> Value {
        serde_json::from_str(&self.text()).unwrap()
    }

    fn event(&self) -> String {
        self.body()["event"].as_str().unwrap().to_owned()
    }
}

/// A deployment, and the receiver of all its deliveries.
struct Scene {
    rt: Arc<TestRuntime>,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Scene {
    /// `answer` gives the status for a request and the number of requests before it; `None` means no answer.
    fn new(answer: impl Fn(&Outgoing, usize) -> Option<u16> + Send + Sync + 'static) -> Scene {
        let rt = TestRuntime::start(
            &PROGRAM,
            &[("admin_key", "operator"), ("publish_interval", "0"), ("signups_per_day", "0")],
        );
        let got = Arc::new(Mutex::new(Vec::<Got>::new()));
        let (told, clock): (_, Weak<TestRuntime>) = (got.clone(), Arc::downgrade(&rt));
        rt.connect(Box::new(move |request| {
            let mut got = told.lock().unwrap();
            got.push(Got { at: clock.upgrade().unwrap().now(), request: request.clone() });
            match answer(request, got.len() - 1) {
                Some(status) => Ok(Incoming { status, retry_after: Some(86_400), body: Bytes::new() }),
                None => Err(Error::unavailable("no answer")),
            }
        }));
        Scene { rt, got }
    }

    fn send(&self, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("x-api-key", HeaderValue::from_str(key).unwrap());
        headers.insert("x-admin-key", HeaderValue::from_static("operator"));
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            path: path.to_owned(),
            headers,
            body: if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) },
            client: Some([127, 0, 0, 1].into()),
            ..Request::default()
        };
        let response = serve(self.rt.clone(), request).now_or_never().expect("the runtime of tests never waits");
        let Body::Bytes(bytes) = &response.body else { panic!("{path} answered with a stream") };
        (response.status.as_u16(), serde_json::from_slice(bytes).unwrap())
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, key: &str, body: Value, status: u16) -> Value {
        let (found, answer) = self.send(method, path, key, &body);
        assert_eq!(found, status, "{answer}");
        answer
    }

    fn key(&self) -> String {
        let made = self.ask("POST", "/api-keys/signup", "", json!({ "email": "a@example.org" }), 201);
        made["api_key"].as_str().unwrap().to_owned()
    }

    fn subscribe(&self, key: &str, body: Value) -> Value {
        self.ask("POST", "/api/alerts/subscribe", key, body, 201)
    }

    fn list(&self, key: &str) -> Vec<Value> {
        let list = self.ask("GET", "/api/alerts/subscriptions", key, Value::Null, 200);
        list["subscriptions"].as_array().unwrap().clone()
    }

    fn stats(&self) -> Value {
        self.ask("GET", "/api/alerts/stats", "", Value::Null, 200)
    }

    /// Makes the requests that are waiting.
    fn work(&self) {
        self.rt.reach_out().now_or_never().expect("nothing waits in tests");
    }

    fn minutes(&self, minutes: u64) {
        for _ in 0..minutes {
            self.rt.advance(Duration::from_secs(60));
            self.work();
        }
    }

    /// The country reports the present state of an event.
    fn report(&self, country: &str, event: u64, draft: Option<Draft>) {
        let reports = vec![ReportEvent { event, draft, merged_into: None }];
        let record = Record { country: country.to_owned(), reports };
        call(&*self.rt, incidents::actor().name, &record).now_or_never().unwrap().unwrap();
        self.rt.advance(Duration::from_millis(1));
        self.work();
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn events(&self) -> Vec<String> {
        self.got().iter().map(Got::event).collect()
    }
}

fn draft(now: Timestamp) -> Draft {
    let domains = vec!["telegram.org".into()];
    Draft { domains, networks: vec![network(64_496)], ..testing::incident("telegram", now.plus(-2 * HOUR)) }
}

const fn network(asn: u32) -> AffectedNetwork {
    AffectedNetwork { asn, name: None, first: None, last: None, blocked: 1, votes: 1 }
}

/// Checks the event name, the payload and both signatures.
#[test]
fn an_incident_is_told_once_and_signed_in_both_ways() {
    let scene = Scene::new(|_, _| Some(204));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    scene.report("KE", 1, Some(draft(START)));
    scene.minutes(70);
    let got = scene.got();
    assert_eq!(scene.events(), ["incident.created"]);
    let body = got[0].body();
    let incident = &body["incident"];
    assert_eq!((&incident["hashId"], &incident["country"]), (&json!("KE-2025-0001"), &json!("KE")), "{body}");
    assert_eq!(incident["id"].as_str().unwrap().len(), 12);
    assert_eq!((&incident["severity"], &incident["confidence"]), (&json!("high"), &json!(0.8)));
    assert_eq!((&incident["countryName"], incident["title"].is_string()), (&json!("Kenya"), true));
    assert!(Timestamp::parse(body["timestamp"].as_str().unwrap()).is_some());
    let secret = made["hmac_secret"].as_str().unwrap();
    let plain = format!("sha256={}", encode_hex(&hmac_sha256(secret.as_bytes(), got[0].text().as_bytes())));
    assert_eq!(got[0].header("x-svc-signature"), Some(plain.as_str()));
    let (id, seconds) = (got[0].header("webhook-id").unwrap(), got[0].header("webhook-timestamp").unwrap());
    let bytes = decode_base64("secret", secret.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(bytes.len(), 48);
    let standard = hmac_sha256(&bytes, format!("{id}.{seconds}.{}", got[0].text()).as_bytes());
    assert_eq!(got[0].header("webhook-signature"), Some(format!("v1,{}", encode_base64(&standard)).as_str()));
    let shown = &scene.list(&key)[0];
    assert_eq!((&shown["last_status"], &shown["failure_count"]), (&json!(204), &json!(0)), "{shown}");
    assert!(shown["hmac_secret"].is_null() && shown["last_delivery_at"].is_string());
}

/// An incident is created once, when it is first not suspected; updated when status, severity or networks change;
/// resolved.
#[test]
fn what_subscribers_hear_follows_the_life_of_the_incident() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    scene.subscribe(&key, json!({ "webhook_url": URL }));
    let base = draft(START);
    let suspected = Draft { status: Status::Suspected, ..base.clone() };
    scene.report("KE", 1, Some(suspected.clone()));
    assert_eq!(scene.events(), Vec::<String>::new(), "suspected incidents page nobody");
    scene.report("KE", 1, Some(base.clone()));
    let more = Draft { measurements: 50, ..base.clone() };
    scene.report("KE", 1, Some(more.clone()));
    assert_eq!(scene.events(), ["incident.created"], "more measurements are no news");
    scene.report("KE", 1, Some(Draft { severity: Severity::Critical, ..more.clone() }));
    let wider = Draft { severity: Severity::Critical, networks: vec![network(64_496), network(64_497)], ..more };
    scene.report("KE", 1, Some(wider.clone()));
    scene.report("KE", 1, Some(Draft { status: Status::Suspected, ..wider.clone() }));
    let over = Draft { status: Status::Resolved, end: Some(START), ..wider };
    scene.report("KE", 1, Some(over.clone()));
    scene.report("KE", 1, None);
    let wanted = [
        "incident.created",
        "incident.updated",
        "incident.updated",
        "incident.updated",
        "incident.resolved",
        "incident.updated",
    ];
    assert_eq!(scene.events(), wanted);
    let got = scene.got();
    assert_eq!(got[4].body()["incident"]["status"], "resolved");
    assert!(got[5].body()["incident"]["retracted"].is_string());
    let ids: std::collections::BTreeSet<_> = got.iter().map(|got| got.header("webhook-id").unwrap()).collect();
    assert_eq!(ids.len(), 6, "each has an id of its own");
}

/// Alerts are sent only for incidents that started or changed in the last 7 days (decision incident-ids).
#[test]
fn importing_old_incidents_pages_nobody() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    scene.subscribe(&key, json!({ "webhook_url": URL }));
    let old = |start: i64, end: i64| {
        let times = (START.plus(-start * DAY), Some(START.plus(-end * DAY)));
        Draft { start: times.0, end: times.1, status: Status::Resolved, ..draft(START) }
    };
    scene.report("KE", 1, Some(old(900, 890)));
    // A later import that amends it is about old times too.
    scene.report("KE", 1, Some(Draft { severity: Severity::Critical, ..old(900, 889) }));
    scene.report("KE", 2, Some(Draft { start: START.plus(-8 * DAY), ..draft(START) }));
    assert_eq!(scene.events(), Vec::<String>::new());
    // It began long ago but goes on, and its change is of now.
    scene.report("KE", 2, Some(Draft { start: START.plus(-8 * DAY), severity: Severity::Critical, ..draft(START) }));
    scene.report("KE", 3, Some(old(30, 6)));
    scene.report("KE", 4, Some(old(7, 7)));
    assert_eq!(scene.events(), ["incident.created", "incident.created"], "the last two began or ended within the week");
}

/// Clients crash on a rate that is no number, so it is 0 before anything was delivered.
#[test]
fn countries_are_counted_once_however_many_subscribe() {
    let scene = Scene::new(|_, _| Some(200));
    let stats = scene.stats();
    assert_eq!((&stats["webhookSuccessRate"], &stats["countriesMonitored"]), (&json!(0.0), &json!(0)), "{stats}");
    for country in ["KE", "KE", "SE"] {
        scene.subscribe(&scene.key(), json!({ "webhook_url": URL, "country_code": country }));
    }
    let stats = scene.stats();
    assert_eq!((&stats["activeSubscriptions"], &stats["countriesMonitored"]), (&json!(3), &json!(2)), "{stats}");
}

#[test]
fn country_and_severity_choose_and_nobody_hears_twice() {
    let scene = Scene::new(|_, _| Some(200));
    let (one, two) = (scene.key(), scene.key());
    let subscribe = |key: &str, path: &str, filter: Value| {
        let mut body = json!({ "webhook_url": format!("https://hooks.example.org/{path}") });
        body.as_object_mut().unwrap().extend(filter.as_object().unwrap().clone());
        scene.subscribe(key, body)
    };
    subscribe(&one, "all", json!({}));
    subscribe(&one, "kenya", json!({ "country_code": "ke" }));
    subscribe(&one, "sweden", json!({ "country_code": "SE" }));
    subscribe(&two, "critical", json!({ "min_severity": "critical" }));
    subscribe(&two, "kenya-high", json!({ "country_code": "KE", "min_severity": "high" }));
    scene.report("KE", 1, Some(draft(START)));
    let paths = || {
        let mut paths: Vec<String> = scene.got().iter().map(|got| got.request.url.clone()).collect();
        paths.sort();
        paths.iter().map(|url| url.rsplit('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(), ["all", "kenya", "kenya-high"]);
    scene.report("KE", 2, Some(Draft { severity: Severity::Critical, subject: "signal".into(), ..draft(START) }));
    assert_eq!(paths(), ["all", "all", "critical", "kenya", "kenya", "kenya-high", "kenya-high"]);
    let stats = scene.stats();
    assert_eq!((&stats["activeSubscriptions"], &stats["countriesMonitored"]), (&json!(5), &json!(250)), "{stats}");
}

/// Attempts follow after 2, 4, 8, 16 and 32 minutes, the last at +62, whatever the receiver asks for, and all under one
/// id (decision features-dates-retries).
#[test]
fn a_failed_delivery_follows_the_exact_schedule() {
    let scene = Scene::new(|_, number| if number % 2 == 0 { Some(503) } else { None });
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    scene.report("KE", 1, Some(draft(START)));
    scene.minutes(24 * 60);
    let got = scene.got();
    let minutes: Vec<i64> = got.iter().map(|one| one.at.since(got[0].at) / 60_000_000).collect();
    assert_eq!(minutes, [0, 2, 6, 14, 30, 62]);
    assert!(got.iter().all(|one| one.header("webhook-id") == got[0].header("webhook-id")));
    assert!(got.iter().all(|one| one.text() == got[0].text()));
    let log = format!("/api/alerts/subscriptions/{}/deliveries", made["id"].as_str().unwrap());
    let log = scene.ask("GET", &log, &key, Value::Null, 200);
    assert_eq!((&log["count"], &log["deliveries"][5]["status_code"]), (&json!(6), &json!(503)), "{log}");
    assert_eq!(log["deliveries"][0]["next_attempt_at"], Value::Null);
    let stats = scene.stats();
    assert_eq!(stats["totalDeliveries24h"], json!(1), "given up is over too: {stats}");
    assert_eq!(stats["webhookSuccessRate"], json!(0.0));
}

/// Waits are counted from the time when the previous attempt was due, so slow attempts and attempts that waited for
/// another delivery do not move the schedule. After an outage longer than a wait, the waits begin anew, and two
/// attempts never come at once (decision features-dates-retries).
#[test]
fn slow_attempts_do_not_move_the_schedule_and_an_outage_crowds_nothing() {
    let scene = Scene::new(|_, _| None);
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    let (told, weak): (_, Weak<TestRuntime>) = (scene.got.clone(), Arc::downgrade(&scene.rt));
    scene.rt.connect(Box::new(move |request| {
        let rt = weak.upgrade().unwrap();
        told.lock().unwrap().push(Got { at: rt.now(), request: request.clone() });
        rt.advance(Duration::from_secs(15));
        Err(Error::unavailable("no answer"))
    }));
    let began = scene.rt.now();
    for (event, subject) in [(1, "signal"), (2, "tor")] {
        let reports = vec![ReportEvent {
            event,
            draft: Some(Draft { subject: subject.into(), ..draft(START) }),
            merged_into: None,
        }];
        let record = Record { country: "KE".to_owned(), reports };
        call(&*scene.rt, incidents::actor().name, &record).now_or_never().unwrap().unwrap();
    }
    let seconds = |seconds: u64| {
        for _ in 0..seconds / 5 {
            scene.work();
            scene.rt.advance(Duration::from_secs(5));
        }
    };
    let log = format!("/api/alerts/subscriptions/{}/deliveries", made["id"].as_str().unwrap());
    let log = || scene.ask("GET", &log, &key, Value::Null, 200)["deliveries"].as_array().unwrap().clone();
    seconds(60);
    let next = |log: &[Value]| -> Vec<Timestamp> {
        let time = |tried: &Value| Timestamp::parse(tried["next_attempt_at"].as_str().unwrap()).unwrap();
        log.iter().map(time).collect()
    };
    let due = began.plus(2 * HOUR / 60);
    assert_eq!(next(&log()), [due, due], "also of the one that waited");
    // Storage fails during the second and the third attempt.
    scene.rt.close(true);
    scene.rt.advance(Duration::from_secs(600));
    scene.rt.lose_outgoing();
    scene.rt.close(false);
    let before = scene.got().len();
    seconds(130);
    let later: Vec<i64> = scene.got()[before..].iter().map(|got| got.at.since(began) / 60_000_000).collect();
    assert_eq!(later.len(), 2, "one attempt of each: {later:?}");
    let due = next(&log()[..2]);
    assert!(due.iter().all(|due| due.since(scene.rt.now()) > HOUR / 60), "{due:?} {:?}", scene.rt.now());
}

#[test]
fn a_crash_between_attempt_and_record_delivers_again_under_the_same_id() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    scene.subscribe(&key, json!({ "webhook_url": URL }));
    let (inner, weak): (_, Weak<TestRuntime>) = (scene.got.clone(), Arc::downgrade(&scene.rt));
    scene.rt.connect(Box::new(move |request| {
        let rt = weak.upgrade().unwrap();
        let mut got = inner.lock().unwrap();
        got.push(Got { at: rt.now(), request: request.clone() });
        rt.close(got.len() == 1);
        Ok(Incoming { status: 200, retry_after: None, body: Bytes::new() })
    }));
    scene.report("KE", 1, Some(draft(START)));
    scene.rt.close(false);
    scene.minutes(120);
    let got = scene.got();
    assert_eq!(got.len(), 2);
    assert_eq!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    assert_eq!(scene.list(&key)[0]["pending"], 0);
}

/// A slow or dead receiver never delays others.
#[test]
fn a_dead_receiver_delays_nobody() {
    let scene = Scene::new(|request, _| (!request.url.contains("dead")).then_some(200));
    let key = scene.key();
    scene.subscribe(&key, json!({ "webhook_url": "https://dead.example.org/" }));
    scene.subscribe(&key, json!({ "webhook_url": URL }));
    for event in 1..=5 {
        scene.report("KE", event, Some(Draft { subject: format!("service-{event}"), ..draft(START) }));
    }
    let got = scene.got();
    let alive: Vec<_> = got.iter().filter(|got| got.request.url == URL).collect();
    assert_eq!(alive.len(), 5);
    assert!(alive.iter().all(|got| got.at.since(START) < HOUR / 60));
}

#[test]
fn a_receiver_that_says_gone_is_switched_off_and_the_stats_say_so() {
    let scene = Scene::new(|_, number| Some(if number == 0 { 410 } else { 200 }));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    scene.report("KE", 1, Some(draft(START)));
    scene.report("KE", 2, Some(Draft { subject: "signal".into(), ..draft(START) }));
    scene.minutes(5);
    let shown = &scene.list(&key)[0];
    assert_eq!((&shown["enabled"], &shown["disabled_by_failures"]), (&json!(false), &json!(true)), "{shown}");
    let stats = scene.stats();
    assert_eq!((&stats["activeSubscriptions"], &stats["disabledByFailures"]), (&json!(0), &json!(1)), "{stats}");
    let path = format!("/api/alerts/subscriptions/{}", made["id"].as_str().unwrap());
    scene.ask("PATCH", &path, &key, json!({ "enabled": true }), 200);
    scene.report("KE", 3, Some(Draft { subject: "tor".into(), ..draft(START) }));
    assert_eq!(scene.events().len(), 2, "what was told while it was off is not sent later");
    let stats = scene.stats();
    assert_eq!((&stats["activeSubscriptions"], &stats["disabledByFailures"]), (&json!(1), &json!(0)), "{stats}");
}

#[test]
fn a_delivery_of_the_log_can_be_sent_again_under_its_id() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    scene.report("KE", 1, Some(draft(START)));
    let path = format!("/api/alerts/subscriptions/{}/deliveries", made["id"].as_str().unwrap());
    let log = scene.ask("GET", &path, &key, Value::Null, 200);
    let delivery = log["deliveries"][0]["delivery_id"].as_str().unwrap();
    let again = scene.ask("POST", &format!("{path}/{delivery}/replay"), &key, json!({}), 200);
    assert_eq!((&again["replayed"], again["delivery_id"].as_str()), (&json!(true), Some(delivery)));
    scene.minutes(1);
    let got = scene.got();
    assert_eq!((got.len(), got[0].text() == got[1].text()), (2, true));
    assert_eq!((got[0].header("webhook-id"), got[1].header("webhook-id")), (Some(delivery), Some(delivery)));
    let other = delivery.replace(&delivery[delivery.len() - 4..], "AAAA");
    scene.ask("POST", &format!("{path}/{other}/replay"), &key, json!({}), 404);
    scene.ask("POST", &format!("{path}/{delivery}/replay"), &scene.key(), json!({}), 404);
}

/// After a rotation both secrets are valid for a day, and both are subscriber keys.
#[test]
fn after_a_rotation_both_secrets_sign_for_a_day_and_are_subscriber_keys() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    let path = format!("/api/alerts/subscriptions/{}/rotate-secret", made["id"].as_str().unwrap());
    let new = scene.ask("POST", &path, &key, json!({}), 200);
    let (old, new) = (made["hmac_secret"].as_str().unwrap(), new["hmac_secret"].as_str().unwrap());
    assert_ne!(old, new);
    let known = |text: &str| secret::subscriber(&*scene.rt, text).now_or_never().unwrap().unwrap().is_some();
    assert!(known(old) && known(new) && !known(&old.replace("whsec_", "whsec_B")));
    scene.report("KE", 1, Some(draft(START)));
    scene.minutes(25 * 60);
    scene.report("KE", 2, Some(Draft { subject: "signal".into(), ..draft(scene.rt.now()) }));
    let got = scene.got();
    let sign = |key: &str, text: &str| format!("sha256={}", encode_hex(&hmac_sha256(key.as_bytes(), text.as_bytes())));
    assert_eq!(got[0].header("x-svc-signature"), Some(sign(new, &got[0].text()).as_str()));
    assert_eq!(got[0].header("x-svc-signature-previous"), Some(sign(old, &got[0].text()).as_str()));
    assert_eq!(got[0].header("webhook-signature").unwrap().split(' ').count(), 2);
    assert_eq!(got[1].header("x-svc-signature"), Some(sign(new, &got[1].text()).as_str()));
    assert_eq!(got[1].header("x-svc-signature-previous"), None);
    assert!(!known(old) && known(new));
}

#[test]
fn a_revoked_key_hears_nothing_and_its_secrets_open_nothing() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    let account = ActorId::new(Kind::Account, account(&made));
    call(&*scene.rt, account.name.as_str(), &relay::keys::RevokeAccount).now_or_never().unwrap().unwrap();
    scene.report("KE", 1, Some(draft(START)));
    scene.minutes(5);
    assert_eq!(scene.got().len(), 0);
    assert_eq!(scene.stats()["activeSubscriptions"], 0);
    let secret = made["hmac_secret"].as_str().unwrap();
    assert_eq!(secret::subscriber(&*scene.rt, secret).now_or_never().unwrap().unwrap(), None);
    let kept = scene.rt.rows(&account).iter().filter(|(key, _)| (80..=92).contains(&key[0])).count();
    assert_eq!(kept, 0, "nothing of its subscriptions is kept");
}

fn account(made: &Value) -> String {
    made["id"].as_str().unwrap()[..22].to_owned()
}

/// Secrets are sealed under the master key, and are moved under a new one (decision master-key-file).
#[test]
fn secrets_are_stored_sealed_and_move_under_a_new_master_key() {
    let scene = Scene::new(|_, _| Some(200));
    let key = scene.key();
    let made = scene.subscribe(&key, json!({ "webhook_url": URL }));
    let text = made["hmac_secret"].as_str().unwrap().as_bytes();
    let account = account(&made);
    for (_, value) in scene.rt.rows(&ActorId::new(Kind::Account, account.as_str())) {
        assert!(!value.windows(text.len()).any(|window| window == text));
    }
    let path = format!("/api/alerts/subscriptions/{}/rotate-secret", made["id"].as_str().unwrap());
    let new = scene.ask("POST", &path, &key, json!({}), 200);
    let master = |byte| MasterKey::new(Secret::new([byte; 32]));
    scene.rt.environment().secrets.replace(KeyRing::new(master(43), vec![master(42)]));
    let done = secret::reseal(&*scene.rt, &account).now_or_never().unwrap().unwrap();
    let of = "the present one and the one before, the address, the label of the key";
    assert_eq!((done.resealed, done.complete), (4, true), "{of}");
    scene.rt.environment().secrets.replace(KeyRing::new(master(43), Vec::new()));
    scene.report("KE", 1, Some(draft(START)));
    let got = scene.got();
    let plain = hmac_sha256(new["hmac_secret"].as_str().unwrap().as_bytes(), got[0].text().as_bytes());
    assert_eq!(got[0].header("x-svc-signature"), Some(format!("sha256={}", encode_hex(&plain)).as_str()));
}

/// Passing news on takes bounded work per turn, and everybody gets it once (decision bounded-commits).
#[test]
fn many_keys_hear_some_a_turn() {
    let scene = Scene::new(|_, _| Some(200));
    let keys: Vec<String> = (0..350).map(|_| scene.key()).collect();
    for (number, key) in keys.iter().enumerate() {
        let country = if number % 2 == 0 { "KE" } else { "" };
        let url = format!("https://hooks.example.org/{number}");
        scene.subscribe(key, json!({ "webhook_url": url, "country_code": country }));
    }
    scene.report("KE", 1, Some(draft(START)));
    for _ in 0..20 {
        scene.rt.advance(Duration::from_millis(100));
        scene.work();
    }
    let mut urls: Vec<String> = scene.got().iter().map(|got| got.request.url.clone()).collect();
    urls.sort();
    urls.dedup();
    assert_eq!((urls.len(), scene.got().len()), (350, 350));
    let turns =
        scene.rt.deeds().iter().filter(|(actor, name)| actor.kind == Kind::Alert && name == "timer fan out").count();
    assert!((6..=8).contains(&turns), "{turns}");
}

/// On the edge runtime the work is spread over account actors and alarms, each of which can make 50 requests in one go.
#[test]
fn a_key_with_a_hundred_subscriptions_has_them_told_some_a_second() {
    let scene = Scene::new(|_, _| Some(200));
    let made = scene.ask("POST", "/v1/admin/keys", "", json!({ "tier": "bench", "label": "many" }), 201);
    let key = made["api_key"].as_str().unwrap().to_owned();
    for number in 0..100 {
        scene.subscribe(&key, json!({ "webhook_url": format!("https://hooks.example.org/{number}") }));
    }
    scene.report("KE", 1, Some(draft(START)));
    let mut told = vec![scene.got().len()];
    for _ in 0..4 {
        scene.rt.advance(Duration::from_secs(1));
        scene.work();
        told.push(scene.got().len());
    }
    assert_eq!(told, [25, 50, 75, 100, 100]);
    let mut urls: Vec<String> = scene.got().iter().map(|got| got.request.url.clone()).collect();
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 100, "each once");
}
