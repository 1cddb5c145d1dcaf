//! Tests of the ledger under a clock that they move, with whole requests on a deployment in memory. Everything that
//! needs no clock is tested over HTTP on every runtime (`tests/conformance/ledger_*.rs`).
//!
//! | Modules | What |
//! |---|---|
//! | `invariants_*` | the invariants by number |
//! | `lists` | which test holds each invariant and each decision |
//! | `model` | random operations, compared with the model after each one |
//! | `deadlines`, `times`, `bounds`, `room` | what runs out: escrows, windows, room |
//! | `keys`, `operators`, `signatures`, `malformed`, `order`, `vectors` | who may act, and which reason a refusal gives |
//! | `log`, `merkle`, `forged`, `segments` | the log, as an auditor sees it |
//! | `metrics`, `stats`, `trust` | numbers made of what happened |

mod bounds;
mod deadlines;
mod forged;
mod invariants_escrow;
mod invariants_faucet;
mod invariants_market;
mod invariants_receipt;
mod invariants_transfer;
mod keys;
mod lists;
mod log;
mod malformed;
mod merkle;
mod metrics;
mod model;
mod operators;
mod order;
mod room;
mod segments;
mod signatures;
mod stats;
mod times;
mod trust;
mod vectors;

use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use super::client::Signer;
use super::log::{Event, What};
use super::rows::{Id, WALLETS, Wallet};
use super::segment;
use crate::testing::PROGRAM;
use crypto::Secret;
use crypto::client::{Client, Options};
use engine::actor::{ActorId, Kind};
use engine::http::{Body, Request, serve};
use engine::kv::{Batch, Direction, Key, MemoryStore, Row, Store, Table};
use engine::runtime::Runtime;
use relay::testing::TestRuntime;

/// Settings of every deployment here.
const SETTINGS: &[(&str, &str)] = &[("admin_key", "operator"), ("pay_writes_per_minute", "0")];

/// A deployment with an operator.
struct World {
    rt: Arc<TestRuntime>,
    nonces: Cell<u64>,
    operator: Signer,
    keyid: String,
}

/// An agent with keys of its own.
#[derive(Clone)]
struct Party {
    signer: Signer,
    key: String,
}

impl Party {
    fn did(&self) -> &str {
        &self.signer.did
    }

    /// The DID without its prefix, as the ledger stores it.
    fn name(&self) -> String {
        self.did().strip_prefix("did:svc:").unwrap().to_owned()
    }
}

impl World {
    fn new() -> World {
        World::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> World {
        World::on(TestRuntime::start(&PROGRAM, &[SETTINGS, settings].concat()))
    }

    fn on(rt: Arc<TestRuntime>) -> World {
        let operator = Signer::new("svc", Secret::new([9; 32]));
        let mut world = World { rt, nonces: Cell::new(0), operator, keyid: String::new() };
        world.keyid = world.admin_key(&world.operator, "all");
        world
    }

    /// The process ends, and another one takes over the stored rows.
    fn restarted(self) -> World {
        World { rt: self.rt.restarted(SETTINGS), ..self }
    }

    /// Lets the operator of the deployment add an admin key, and returns its id.
    fn admin_key(&self, signer: &Signer, role: &str) -> String {
        let body = json!({ "public_key": signer.public_key(), "role": role });
        let (status, key) = self.send("POST", "/v1/admin/ledger/keys", Some("operator"), &body);
        assert_eq!(status, 200, "{key}");
        key["keyid"].as_str().unwrap().to_owned()
    }

    fn send(&self, method: &str, path: &str, key: Option<&str>, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        self.send_bytes(method, path, key, body, Some([127, 0, 0, 1].into()))
    }

    /// Sends any body from any address.
    fn send_bytes(
        &self,
        method: &str,
        path: &str,
        key: Option<&str>,
        body: Bytes,
        client: Option<IpAddr>,
    ) -> (u16, Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        if let Some(key) = key {
            let name = if key == "operator" { "x-admin-key" } else { "x-agent-key" };
            headers.insert(name, HeaderValue::from_str(key).unwrap());
        }
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            path: path.to_owned(),
            query: query.to_owned(),
            headers,
            body,
            client,
            ..Request::default()
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
        format!("test-nonce-{:06}", self.nonces.get())
    }

    /// Registers an agent. The same seed gives the same DID.
    fn party(&self, seed: u8) -> Party {
        let client = Client::new("svc", [seed; 32], Options::default());
        let (status, made) = self.send("POST", "/v1/agent/register", None, &client.key_body(None, 1));
        assert_eq!(status, 201, "{made}");
        let signer = Signer::new("svc", client.keys.signing.clone());
        assert_eq!(made["did"], signer.did);
        Party { signer, key: made["api_key"].as_str().unwrap().to_owned() }
    }

    /// Registers an agent with this many micro-credits, and with caps that no test reaches.
    fn rich(&self, seed: u8, micro: u64) -> Party {
        let party = self.party(seed);
        self.admin("grant", json!({ "did": party.signer.did, "amount_micro": micro })).unwrap();
        let most = 1_000_000_000_000_000_u64;
        let caps = json!({ "did": party.signer.did, "daily_cap_micro": most, "per_tx_cap_micro": most });
        self.admin("cap", caps).unwrap();
        party
    }

    /// Sends an action of the operator; `Err` is the reason of a refusal.
    fn admin(&self, action: &str, members: Value) -> Result<Value, String> {
        self.admin_by(&self.operator, &self.keyid, action, members)
    }

    /// Sends an action of the holder of an admin key.
    fn admin_by(&self, by: &Signer, keyid: &str, action: &str, mut members: Value) -> Result<Value, String> {
        members["action"] = json!(action);
        let audience = &self.rt.environment().deployment;
        let body = by.action(keyid, audience, &self.nonce(), self.rt.now(), members);
        let path = match action {
            "escrow_release" => "/v1/pay/escrow/release".to_owned(),
            "escrow_refund" => "/v1/pay/escrow/refund".to_owned(),
            action => format!("/v1/pay/admin/{action}"),
        };
        settled(self.send("POST", &path, None, &body))
    }

    /// Signs an envelope. A nonce is added where the schema has one and none is given.
    fn body(&self, by: &Party, schema: &str, mut members: Value) -> Value {
        let name = match schema {
            "escrow-release" | "escrow-refund" | "work-acceptance" => "action_nonce",
            "batch-transfer" => "batch_id",
            _ => "nonce",
        };
        if members.get(name).is_none() {
            members[name] = json!(self.nonce());
        }
        by.signer.signed(schema, self.rt.now(), members)
    }

    fn post(&self, schema: &str, body: &Value) -> Result<Value, String> {
        settled(self.send("POST", path_of(schema), None, body))
    }

    /// Signs and sends an envelope of a party.
    fn act(&self, by: &Party, schema: &str, members: Value) -> Result<Value, String> {
        self.post(schema, &self.body(by, schema, members))
    }

    fn transfer_of(&self, from: &Party, to: &Party, micro: u64) -> Value {
        json!({ "from_did": from.did(), "to_did": to.did(), "amount_micro": micro })
    }

    fn pay(&self, from: &Party, to: &Party, micro: u64) -> Result<Value, String> {
        self.act(from, "credit-transfer", self.transfer_of(from, to, micro))
    }

    fn escrow_of(&self, from: &Party, to: &Party, micro: u64, hold: Duration) -> Value {
        let deadline = self.rt.now().plus_duration(hold).to_millis_text();
        json!({ "from_did": from.did(), "to_did": to.did(), "amount_micro": micro, "deadline_at": deadline })
    }

    /// Opens an escrow that ends after `hold`, and returns its id.
    fn open(&self, from: &Party, to: &Party, micro: u64, hold: Duration) -> Result<String, String> {
        let opened = self.act(from, "escrow-open", self.escrow_of(from, to, micro, hold));
        opened.map(|body| text(&body, "escrow_id"))
    }

    fn release(&self, by: &Party, escrow: &str) -> Result<Value, String> {
        self.act(by, "escrow-release", json!({ "escrow_id": escrow, "signer_did": by.signer.did }))
    }

    fn refund(&self, by: &Party, escrow: &str) -> Result<Value, String> {
        self.act(by, "escrow-refund", json!({ "escrow_id": escrow, "signer_did": by.signer.did }))
    }

    fn claim_of(&self, by: &Party, of: &Party, escrow: Option<&str>, window: Duration) -> Value {
        let deadline = self.rt.now().plus_duration(window).to_millis_text();
        let mut members = json!({ "task_id": "t", "from_did": of.did(), "to_did": by.did(),
            "work_hash": "ab".repeat(32), "acceptance_deadline_at": deadline, "auto_accept_on_timeout": true,
            "summary": "done" });
        if let Some(escrow) = escrow {
            members["escrow_id"] = json!(escrow);
        }
        members
    }

    /// Claims work on an escrow, and returns the id of the receipt.
    fn claim(&self, by: &Party, of: &Party, escrow: &str, window: Duration, auto: bool) -> Result<String, String> {
        let members = with(&self.claim_of(by, of, Some(escrow), window), json!({ "auto_accept_on_timeout": auto }));
        self.act(by, "work-claim", members).map(|body| text(&body, "receipt_id"))
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

    fn listing_of(&self, by: &Party, slug: &str, price: u64) -> Value {
        json!({ "provider_did": by.did(), "capability": slug, "name": "Name", "description": "Words",
            "price_per_call_micro": price, "unit": "call", "sla_deadline_hours": 24, "active": true })
    }

    /// Makes a listing, and returns it.
    fn list(&self, by: &Party, slug: &str, price: u64) -> Value {
        self.act(by, "capability-list", self.listing_of(by, slug, price)).unwrap()["capability"].clone()
    }

    fn hire_of(&self, by: &Party, listing: &Value) -> Value {
        json!({ "capability_id": listing["id"], "capability": listing["capability"], "requester_did": by.did(),
            "provider_did": listing["did"], "price_micro": listing["price_per_call_micro"], "task_id": "t",
            "delivery_deadline_hours": 24 })
    }

    fn hire(&self, by: &Party, listing: &Value) -> Result<Value, String> {
        self.act(by, "hire-request", self.hire_of(by, listing))
    }

    /// A copy of the rows that the ledger has stored.
    fn store(&self) -> MemoryStore {
        let (mut store, mut batch) = (MemoryStore::default(), Batch::default());
        self.rt.rows(&ActorId::sole(Kind::Ledger)).into_iter().for_each(|(key, value)| batch.put(key, value));
        store.apply(batch).unwrap();
        store
    }

    fn rows<K: Key, V: Row>(&self, table: &Table<K, V>) -> Vec<(K, V)> {
        table.scan(&self.store(), &table.range(), Direction::Ascending, usize::MAX).unwrap()
    }

    fn wallets(&self) -> Vec<(String, Wallet)> {
        WALLETS.page(&self.store(), None, usize::MAX).unwrap()
    }

    fn wallet(&self, of: &Party) -> Option<Wallet> {
        WALLETS.get(&self.store(), &(of.name(),)).unwrap()
    }

    /// The events of a party's wallet in the log, in order: actor, kind, change of the balance, and whether the event
    /// made the wallet.
    fn events(&self, of: &Party) -> Vec<(String, &'static str, i64, bool)> {
        let events = segment::open::all(&self.store()).unwrap().into_iter().map(|(_, event)| event);
        let line = |event: Event| {
            let change = event.change(&of.name())?;
            Some((event.actor.clone(), event.what.as_str(), change.balance, change.created))
        };
        events.filter_map(line).collect()
    }

    /// The events of transfers, including refused ones.
    fn transfers(&self) -> Vec<(Id, Event)> {
        let is_one = |event: &Event| matches!(event.what, What::Transfer | What::TransferFailed);
        segment::open::all(&self.store()).unwrap().into_iter().filter(|(_, event)| is_one(event)).collect()
    }

    /// Balance and locked amount.
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

/// The members with these changes.
fn with(members: &Value, changes: Value) -> Value {
    let mut members = members.clone();
    members.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    members
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}")).to_owned()
}

/// The path to which an envelope of a schema is posted.
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
