//! The ledger under a clock that tests move, over whole requests on a deployment in memory. What needs no clock is tested
//! over HTTP on every runtime (`tests/conformance/ledger_*.rs`).

mod deadlines;
mod keys;
mod log;
mod merkle;
mod model;
mod times;
mod vectors;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use super::client::Signer;
use crate::crypto::Secret;
use crate::crypto::client::{Client, Options};
use crate::http::{Body, Request, serve};
use crate::runtime::Runtime;
use crate::testing::TestRuntime;

/// A deployment with an operator.
struct World {
    rt: Arc<TestRuntime>,
    nonces: Cell<u64>,
    operator: Signer,
    keyid: String,
}

/// An agent with keys of its own.
struct Party {
    signer: Signer,
    key: String,
}

impl World {
    fn new() -> World {
        World::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> World {
        let mut all = vec![("admin_key", "operator"), ("pay_writes_per_minute", "0")];
        all.extend(settings);
        let rt = TestRuntime::start(&all);
        let operator = Signer::new("svc", Secret::new([9; 32]));
        let mut world = World { rt, nonces: Cell::new(0), operator, keyid: String::new() };
        let body = json!({ "public_key": world.operator.public_key(), "role": "all" });
        let (status, key) = world.send("POST", "/v1/admin/ledger/keys", Some("operator"), &body);
        assert_eq!(status, 200, "{key}");
        world.keyid = key["keyid"].as_str().unwrap().to_owned();
        world
    }

    fn send(&self, method: &str, path: &str, key: Option<&str>, body: &Value) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let name = if key == "operator" { "x-admin-key" } else { "x-agent-key" };
            headers.insert(name, HeaderValue::from_str(key).unwrap());
        }
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body,
            client: Some([127, 0, 0, 1].into()),
        };
        let response = serve(self.rt.clone(), request).now_or_never().expect("the runtime of tests never waits");
        let Body::Bytes(bytes) = &response.body else { panic!("{path} answered with a stream") };
        (response.status.as_u16(), serde_json::from_slice(bytes).unwrap())
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let (status, body) = self.send("GET", path, None, &Value::Null);
        assert_eq!(status, 200, "{body}");
        body
    }

    fn wait(&self, duration: Duration) {
        self.rt.advance(duration);
    }

    fn nonce(&self) -> String {
        self.nonces.set(self.nonces.get() + 1);
        format!("test-nonce-{}", self.nonces.get())
    }

    /// Registers an agent; the same seed is the same DID.
    fn party(&self, seed: u8) -> Party {
        let client = Client::new("svc", [seed; 32], Options::default());
        let (status, made) = self.send("POST", "/v1/agent/register", None, &client.key_body(None, 1));
        assert_eq!(status, 201, "{made}");
        let signer = Signer::new("svc", client.keys.signing.clone());
        assert_eq!(made["did"], signer.did);
        Party { signer, key: made["api_key"].as_str().unwrap().to_owned() }
    }

    /// One with so many micro-credits and caps that nothing reaches.
    fn rich(&self, seed: u8, micro: u64) -> Party {
        let party = self.party(seed);
        self.admin("grant", json!({ "did": party.signer.did, "amount_micro": micro })).unwrap();
        let most = 1_000_000_000_000_000_u64;
        let caps = json!({ "did": party.signer.did, "daily_cap_micro": most, "per_tx_cap_micro": most });
        self.admin("cap", caps).unwrap();
        party
    }

    /// Has the operator do something; `Err` is the reason.
    fn admin(&self, action: &str, mut members: Value) -> Result<Value, String> {
        members["action"] = json!(action);
        let audience = &self.rt.environment().deployment;
        let body = self.operator.action(&self.keyid, audience, &self.nonce(), self.rt.now(), members);
        let path = match action {
            "escrow_release" => "/v1/pay/escrow/release".to_owned(),
            "escrow_refund" => "/v1/pay/escrow/refund".to_owned(),
            action => format!("/v1/pay/admin/{action}"),
        };
        settled(self.send("POST", &path, None, &body))
    }

    /// Has a party sign and send an envelope; a nonce is added where the schema has one.
    fn act(&self, by: &Party, schema: &str, mut members: Value) -> Result<Value, String> {
        let name = match schema {
            "escrow-release" | "escrow-refund" | "work-acceptance" => "action_nonce",
            "batch-transfer" => "batch_id",
            _ => "nonce",
        };
        if members.get(name).is_none() {
            members[name] = json!(self.nonce());
        }
        let body = by.signer.signed(schema, self.rt.now(), members);
        settled(self.send("POST", path_of(schema), None, &body))
    }

    fn pay(&self, from: &Party, to: &Party, micro: u64) -> Result<Value, String> {
        let members = json!({ "from_did": from.signer.did, "to_did": to.signer.did, "amount_micro": micro });
        self.act(from, "credit-transfer", members)
    }

    /// Opens an escrow for so long; its id.
    fn open(&self, from: &Party, to: &Party, micro: u64, hold: Duration) -> Result<String, String> {
        let deadline = self.rt.now().plus_duration(hold).to_millis_text();
        let members = json!({ "from_did": from.signer.did, "to_did": to.signer.did, "amount_micro": micro,
            "deadline_at": deadline });
        self.act(from, "escrow-open", members).map(|body| body["escrow_id"].as_str().unwrap().to_owned())
    }

    fn release(&self, by: &Party, escrow: &str) -> Result<Value, String> {
        self.act(by, "escrow-release", json!({ "escrow_id": escrow, "signer_did": by.signer.did }))
    }

    fn refund(&self, by: &Party, escrow: &str) -> Result<Value, String> {
        self.act(by, "escrow-refund", json!({ "escrow_id": escrow, "signer_did": by.signer.did }))
    }

    /// Claims work on an escrow; the receipt's id.
    fn claim(&self, by: &Party, of: &Party, escrow: &str, window: Duration, auto: bool) -> Result<String, String> {
        let deadline = self.rt.now().plus_duration(window).to_millis_text();
        let members = json!({ "task_id": "t", "from_did": of.signer.did, "to_did": by.signer.did,
            "work_hash": "ab".repeat(32), "acceptance_deadline_at": deadline, "auto_accept_on_timeout": auto,
            "escrow_id": escrow, "summary": "done" });
        self.act(by, "work-claim", members).map(|body| body["receipt_id"].as_str().unwrap().to_owned())
    }

    fn accept(&self, by: &Party, receipt: &str) -> Result<Value, String> {
        let members = json!({ "receipt_id": receipt, "signer_did": by.signer.did, "action": "accept", "rating": 5 });
        self.act(by, "work-acceptance", members)
    }

    fn dispute(&self, by: &Party, receipt: &str) -> Result<Value, String> {
        let members = json!({ "receipt_id": receipt, "signer_did": by.signer.did, "action": "dispute",
            "dispute_reason": "not what was asked" });
        self.act(by, "work-acceptance", members)
    }

    /// Balance and what is locked.
    fn money(&self, of: &Party) -> (u64, u64) {
        let wallet = &self.get(&format!("/v1/pay/wallet/{}", of.signer.did))["wallet"];
        (wallet["balance_micro"].as_u64().unwrap(), wallet["locked_micro"].as_u64().unwrap())
    }

    fn escrow(&self, id: &str) -> String {
        self.get(&format!("/v1/pay/escrow/{id}"))["escrow"]["state"].as_str().unwrap().to_owned()
    }

    fn receipt(&self, id: &str) -> Value {
        self.get(&format!("/v1/pay/receipt/{id}"))["receipt"].clone()
    }
}

/// Where an envelope of a schema is posted.
fn path_of(schema: &str) -> &'static str {
    match schema {
        "credit-transfer" => "/v1/pay/transfer",
        "batch-transfer" => "/v1/pay/batch",
        "escrow-open" => "/v1/pay/escrow/open",
        "escrow-release" => "/v1/pay/escrow/release",
        "escrow-refund" => "/v1/pay/escrow/refund",
        "work-claim" => "/v1/pay/receipt/claim",
        "work-acceptance" => "/v1/pay/receipt/accept",
        "capability-list" => "/v1/pay/capability/list",
        "hire-request" => "/v1/pay/hire",
        "pay-faucet" => "/v1/pay/faucet",
        other => panic!("no path for {other}"),
    }
}

fn settled((status, body): (u16, Value)) -> Result<Value, String> {
    match status {
        200 => Ok(body),
        _ => Err(body["reason"].as_str().unwrap_or_else(|| panic!("{status} without a reason: {body}")).to_owned()),
    }
}

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

fn hours(hours: u64) -> Duration {
    minutes(60 * hours)
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, String>, reason: &str) {
    assert_eq!(result.unwrap_err(), reason);
}
