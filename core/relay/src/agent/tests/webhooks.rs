//! Webhooks of agents, on a clock that moves only when a test moves it.

use std::sync::{Mutex, Weak};
use std::time::Duration;

use super::*;
use crate::agent::moderation::{Restore, Suspend};
use crate::agent::reseal::reseal;
use crate::agent::wire;
use crate::webhook::{MAX_LOG, MAX_WEBHOOKS};
use crate::{Error, Timestamp};
use crypto::Secret;
use crypto::hash::hmac_sha256_verify;
use crypto::sealing::{KeyRing, MasterKey};
use engine::actor::{ActorId, Call, Kind};
use engine::runtime::Runtime;
use engine::settings::Settings;
use engine::web::Incoming;
use engine::web::Outgoing;

/// A request that a receiver got, and its time.
#[derive(Clone)]
struct Got {
    at: Timestamp,
    request: Outgoing,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        &self.request.headers.iter().find(|(known, _)| known == name).unwrap().1
    }

    fn body(&self) -> Value {
        serde_json::from_slice(self.request.body.as_ref().unwrap()).unwrap()
    }
}

/// An agent with a webhook, an agent that writes to it, and the receiver.
struct Scene {
    world: World,
    ada: Agent,
    bob: Agent,
    hook: Value,
    got: Arc<Mutex<Vec<Got>>>,
}

impl Scene {
    /// `answer` gives the status for the attempt with that number, from 0; `None` means no answer.
    fn new(answer: impl Fn(usize) -> Option<u16> + Send + Sync + 'static) -> Scene {
        let world = World::patient();
        let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
        let hook = world.post("/v1/agent/webhooks", &bob.key, json!({ "webhook_url": URL })).expect(201);
        let got = Arc::new(Mutex::new(Vec::<Got>::new()));
        let (told, clock) = (got.clone(), Arc::downgrade(&world.rt));
        world.rt.connect(Box::new(move |request| {
            let mut got = told.lock().unwrap();
            got.push(Got { at: clock.upgrade().unwrap().now(), request: request.clone() });
            match answer(got.len() - 1) {
                Some(status) => Ok(Incoming { status, retry_after: Some(86_400), body: Bytes::new() }),
                None => Err(Error::unavailable("no answer")),
            }
        }));
        Scene { world, ada, bob, hook, got }
    }

    fn send(&self, text: &str) -> Value {
        self.world.send(&self.ada, &self.bob.did, text)
    }

    /// Makes the requests that are due now.
    fn work(&self) {
        self.world.rt.reach_out().now_or_never().expect("nothing waits in tests");
    }

    /// Lets minutes pass, and makes the requests that are due in each.
    fn minutes(&self, minutes: u64) {
        for _ in 0..minutes {
            self.world.wait(60);
            self.work();
        }
    }

    fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }

    fn shown(&self) -> Value {
        self.world.get("/v1/agent/webhooks", &self.bob.key).expect(200)["webhooks"][0].clone()
    }

    fn log(&self) -> Vec<Value> {
        let path = format!("/v1/agent/webhooks/{}/deliveries", self.hook["id"].as_str().unwrap());
        self.world.get(&path, &self.bob.key).expect(200)["deliveries"].as_array().unwrap().clone()
    }

    fn actor(&self) -> ActorId {
        ActorId::new(Kind::Agent, wire::actor_of(&Settings::default(), &self.bob.did).unwrap())
    }

    /// Number of stored rows of webhooks.
    fn rows(&self) -> usize {
        self.world.rt.rows(&self.actor()).iter().filter(|(key, _)| (80..=84).contains(&key[0])).count()
    }
}

const URL: &str = "https://hooks.example.org/in?x=1";

/// A webhook gets the raw message once, signed, without plain text.
#[test]
fn a_message_is_told_once_signed_and_never_in_plain() {
    let scene = Scene::new(|_| Some(204));
    let sent = scene.send("the secret word");
    assert_eq!(scene.got().len(), 0, "a send waits for no receiver");
    scene.work();
    scene.minutes(70);
    let got = scene.got();
    assert_eq!(got.len(), 1);
    let body = got[0].body();
    let raw = &scene.world.messages(&scene.bob, "")[0];
    assert_eq!((&body["event"], &body["message"]), (&json!("message"), raw));
    assert_eq!((&body["message"]["id"], &body["timestamp"]), (&sent["id"], &raw["timestamp"]));
    let bytes = got[0].request.body.clone().unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("secret word"));
    assert_eq!((got[0].request.url.as_str(), got[0].header("content-type")), (URL, "application/json"));
    let tag = decode_hex(got[0].header("x-svc-signature").strip_prefix("sha256=").unwrap());
    assert!(hmac_sha256_verify(scene.hook["secret"].as_str().unwrap().as_bytes(), &bytes, &tag));
    let shown = scene.shown();
    assert_eq!((&shown["pending"], &shown["failure_count"], &shown["enabled"]), (&json!(0), &json!(0), &json!(true)));
}

/// Decision erased-agents: the webhooks of a suspended agent send nothing, and go on when it is restored.
#[test]
fn a_suspended_agent_s_webhooks_rest_until_it_is_restored() {
    let scene = Scene::new(|attempt| Some(if attempt == 0 { 500 } else { 204 }));
    scene.send("one");
    scene.work();
    assert_eq!(scene.got().len(), 1, "it failed once and waits");
    let call = |asked: crate::Result<Call>| scene.world.rt.call(asked.unwrap()).now_or_never().unwrap().unwrap();
    call(Call::operation(scene.actor().name, &Suspend { reason: "spam".into() }));
    scene.minutes(70);
    assert_eq!(scene.got().len(), 1, "nothing goes out while it is suspended");
    call(Call::operation(scene.actor().name, &Restore));
    scene.minutes(70);
    assert_eq!(scene.got().len(), 2, "what waited goes out once");
}

fn decode_hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Retried after 2, 4, 8, 16 and 32 minutes, whatever the receiver asks for.
#[test]
fn a_failed_delivery_is_tried_again_by_the_exact_schedule_under_one_id() {
    let scene = Scene::new(|attempt| if attempt % 2 == 0 { Some(503) } else { None });
    scene.send("one");
    scene.work();
    scene.minutes(24 * 60);
    let got = scene.got();
    let minutes: Vec<i64> = got.iter().map(|one| one.at.since(got[0].at) / 60_000_000).collect();
    assert_eq!(minutes, [0, 2, 6, 14, 30, 62]);
    assert!(got.iter().all(|one| one.at.since(got[0].at) % 60_000_000 == 0), "to the microsecond");
    assert!(got.iter().all(|one| one.header("webhook-id") == got[0].header("webhook-id")));
    assert!(got.iter().all(|one| one.request.body == got[0].request.body));
    let (shown, log) = (scene.shown(), scene.log());
    assert_eq!((&shown["pending"], &shown["failure_count"]), (&json!(0), &json!(6)), "{shown}");
    assert_eq!(log.len(), 6);
    assert_eq!((&log[0]["attempt"], &log[0]["next_attempt_at"]), (&json!(6), &Value::Null), "newest first");
    assert_eq!((&log[5]["status_code"], &log[4]["status_code"]), (&json!(503), &Value::Null));
    assert_eq!(log[5]["delivery_id"], got[0].header("webhook-id"));
}

/// Manual replay, and secret rotation with overlap.
#[test]
fn a_delivery_is_told_again_on_request_and_both_secrets_sign_for_a_day() {
    let scene = Scene::new(|_| Some(200));
    scene.send("one");
    scene.work();
    let path = format!("/v1/agent/webhooks/{}", scene.hook["id"].as_str().unwrap());
    let new = scene.world.post(&format!("{path}/rotate-secret"), &scene.bob.key, json!({})).expect(200);
    let delivery = scene.log()[0]["delivery_id"].as_str().unwrap().to_owned();
    let replay = format!("{path}/deliveries/{delivery}/replay");
    scene.world.post(&replay, &scene.ada.key, json!({})).refused(404, "NOT_FOUND");
    assert_eq!(scene.world.post(&replay, &scene.bob.key, json!({})).expect(200)["replayed"], true);
    scene.work();
    let got = scene.got();
    assert_eq!((got.len(), got[1].header("webhook-id")), (2, delivery.as_str()));
    assert_eq!(got[0].request.body, got[1].request.body);
    let signs = |secret: &Value, name: &str| {
        let tag = decode_hex(got[1].header(name).strip_prefix("sha256=").unwrap());
        hmac_sha256_verify(secret.as_str().unwrap().as_bytes(), got[1].request.body.as_ref().unwrap(), &tag)
    };
    assert!(signs(&new["secret"], "x-svc-signature") && signs(&scene.hook["secret"], "x-svc-signature-previous"));
    assert_eq!(got[1].header("webhook-signature").split(' ').count(), 2);
    scene.minutes(25 * 60);
    scene.send("two");
    scene.work();
    let last = scene.got().pop().unwrap();
    assert!(last.request.headers.iter().all(|(name, _)| name != "x-svc-signature-previous"));
}

#[test]
fn a_redirect_is_a_failure_and_nothing_follows_it() {
    let scene = Scene::new(|attempt| Some(if attempt == 0 { 302 } else { 200 }));
    scene.send("one");
    scene.work();
    assert_eq!(scene.shown()["failure_count"], 1);
    scene.minutes(2);
    assert_eq!((scene.got().len(), &scene.shown()["failure_count"]), (2, &json!(0)));
}

#[test]
fn a_crash_between_commit_and_delivery_loses_nothing() {
    let scene = Scene::new(|_| Some(200));
    scene.send("one");
    assert_eq!(scene.world.rt.lose_outgoing(), 1, "the wish was only in memory");
    scene.send("two");
    scene.work();
    assert_eq!(scene.got().len(), 0, "the first is still held by its lease");
    scene.minutes(1);
    let got = scene.got();
    assert_eq!(got.len(), 2);
    assert_ne!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    assert_eq!(scene.shown()["pending"], 0);
}

#[test]
fn a_crash_between_delivery_and_record_delivers_again_under_the_same_id() {
    let scene = Scene::new(|_| Some(200));
    let (inner, weak): (_, Weak<TestRuntime>) = (scene.got.clone(), Arc::downgrade(&scene.world.rt));
    scene.world.rt.connect(Box::new(move |request| {
        let rt = weak.upgrade().unwrap();
        let mut got = inner.lock().unwrap();
        got.push(Got { at: rt.now(), request: request.clone() });
        rt.close(got.len() == 1);
        Ok(Incoming { status: 200, retry_after: None, body: Bytes::new() })
    }));
    scene.send("one");
    scene.work();
    scene.world.rt.close(false);
    assert_eq!(scene.shown()["pending"], 1);
    scene.minutes(120);
    let got = scene.got();
    assert_eq!(got.len(), 2);
    assert_eq!(got[0].header("webhook-id"), got[1].header("webhook-id"));
    assert_eq!(scene.shown()["pending"], 0);
}

#[test]
fn a_receiver_that_says_gone_is_told_nothing_any_more() {
    let scene = Scene::new(|_| Some(410));
    scene.send("one");
    scene.send("two");
    scene.work();
    scene.minutes(10);
    scene.send("three");
    scene.minutes(10);
    assert_eq!(scene.got().len(), 1);
    let shown = scene.shown();
    assert_eq!((&shown["enabled"], &shown["pending"]), (&json!(false), &json!(0)), "{shown}");
    assert!(shown["disabled_at"].is_string());
}

#[test]
fn a_receiver_that_fails_for_a_day_is_switched_off_and_a_short_outage_does_not() {
    let scene = Scene::new(|_| None);
    for _ in 0..60 {
        scene.send("burst");
    }
    scene.work();
    scene.minutes(5);
    let shown = scene.shown();
    assert!(shown["failure_count"].as_u64().unwrap() >= 60 && shown["enabled"] == true, "{shown}");
    assert_eq!(scene.log().len(), MAX_LOG);
    for _ in 0..25 {
        scene.minutes(60);
        scene.send("hourly");
        scene.work();
    }
    assert_eq!(scene.shown()["enabled"], false);
    let before = scene.got().len();
    scene.send("later");
    scene.minutes(120);
    assert_eq!((scene.got().len(), &scene.shown()["pending"]), (before, &json!(0)));
}

#[test]
fn a_message_that_is_gone_before_it_is_told_is_not_told() {
    let scene = Scene::new(|attempt| if attempt == 0 { None } else { Some(200) });
    let sent = scene.send("one");
    scene.work();
    let path = format!("/v1/agent/messages/{}", sent["id"].as_str().unwrap());
    scene.world.call("DELETE", &path, &scene.bob.key, Value::Null).expect(200);
    scene.minutes(120);
    assert_eq!((scene.got().len(), &scene.shown()["pending"]), (1, &json!(0)));
}

#[test]
fn a_repeated_send_is_told_once() {
    let scene = Scene::new(|_| Some(200));
    let (mut eve, key) = scene.world.client(1, Options::default());
    let peer = scene.world.peer(&scene.bob.did);
    let posted = eve.send(&peer, "2026-01-01T00:00:00.000Z", "hi", Default::default()).unwrap();
    for _ in 0..2 {
        scene.world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(&posted).unwrap()).expect(201);
    }
    scene.minutes(5);
    assert_eq!(scene.got().len(), 1);
}

/// Decision bounded-commits: the work of a turn is bounded, also when many deliveries waited.
#[test]
fn deleting_a_webhook_sweeps_what_waited_for_it() {
    let scene = Scene::new(|_| None);
    for _ in 0..450 {
        scene.send("x");
    }
    assert!(scene.rows() > 900);
    let path = format!("/v1/agent/webhooks/{}", scene.hook["id"].as_str().unwrap());
    scene.world.call("DELETE", &path, &scene.ada.key, Value::Null).refused(404, "NOT_FOUND");
    let deleted = scene.world.call("DELETE", &path, &scene.bob.key, Value::Null).expect(200);
    assert_eq!((&deleted["id"], &deleted["deleted"]), (&scene.hook["id"], &json!(true)));
    scene.minutes(1);
    assert_eq!((scene.rows(), scene.got().len()), (0, 0));
    scene.world.call("DELETE", &path, &scene.bob.key, Value::Null).refused(404, "NOT_FOUND");
}

/// When an agent is deactivated its webhooks are disabled.
#[test]
fn the_webhooks_of_an_agent_end_with_it() {
    let scene = Scene::new(|_| None);
    scene.send("one");
    scene.work();
    scene.world.call("DELETE", "/v1/agent/deactivate", &scene.bob.key, Value::Null).expect(200);
    scene.minutes(120);
    assert_eq!((scene.rows(), scene.got().len()), (0, 1));
}

#[test]
fn the_secret_is_shown_once_and_stored_sealed() {
    let scene = Scene::new(|_| Some(200));
    let secret = scene.hook["secret"].as_str().unwrap();
    assert_eq!((secret.len(), &secret[..6]), (50, "whsec_"));
    assert!(!scene.shown().to_string().contains("secret"));
    for (_, value) in scene.world.rt.rows(&scene.actor()) {
        assert!(!value.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

/// Decision master-key-file.
#[test]
fn secrets_of_webhooks_move_under_the_new_master_key() {
    let scene = Scene::new(|_| Some(200));
    let master = |byte| MasterKey::new(Secret::new([byte; 32]));
    let secrets = &scene.world.rt.environment().secrets;
    secrets.replace(KeyRing::new(master(43), vec![master(42)]));
    let done = reseal(&*scene.world.rt, &scene.actor().name, 100).now_or_never().unwrap().unwrap();
    // The private keys of the agent, and the secret and the address of the webhook.
    assert_eq!((done.resealed, done.complete), (3, true));
    secrets.replace(KeyRing::new(master(43), Vec::new()));
    scene.world.rt.advance(Duration::from_secs(1));
    let (mut eve, key) = scene.world.client(1, Options::default());
    let posted = eve.send(&scene.world.peer(&scene.bob.did), "2026-01-01T00:00:00.000Z", "hi", Default::default());
    scene.world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted.unwrap()).unwrap()).expect(201);
    scene.work();
    assert_eq!(scene.got().len(), 1);
}

#[test]
fn an_agent_has_ten_webhooks_at_most_and_each_is_told() {
    let scene = Scene::new(|_| Some(200));
    for _ in 1..MAX_WEBHOOKS {
        let body = json!({ "webhook_url": URL, "events": ["message", "message"] });
        let made = scene.world.post("/v1/agent/webhooks", &scene.bob.key, body).expect(201);
        assert_eq!(made["events"], json!(["message"]));
    }
    let refused = scene.world.post("/v1/agent/webhooks", &scene.bob.key, json!({ "webhook_url": URL }));
    refused.refused(409, "CONFLICT");
    scene.send("one");
    scene.work();
    let mut ids: Vec<String> = scene.got().iter().map(|one| one.header("webhook-id").to_owned()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), scene.got().len()), (MAX_WEBHOOKS, MAX_WEBHOOKS));
}
