//! Parties of the credit ledger for tests.

use std::time::Duration;

use heliograph_core::crypto::Secret;
use heliograph_core::crypto::client::{Client as Sdk, Options};
pub use heliograph_core::ledger::client::Signer;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::relay::{Agent, seed, text, unique};

/// An agent with its own keys.
#[derive(Clone)]
pub struct Party {
    pub agent: Agent,
    pub signer: Signer,
    pub client: Client,
}

/// A unique nonce.
pub fn nonce() -> String {
    format!("test-nonce-{:08}", unique())
}

impl Party {
    /// Registers a new agent.
    #[track_caller]
    pub fn new(client: &Client) -> Party {
        let sdk = Sdk::new("svc", seed(), Options::default());
        let agent = Agent::register(client, &sdk.key_body(None, 1));
        let signer = Signer::new("svc", sdk.keys.signing.clone());
        assert_eq!(agent.did, signer.did);
        Party { agent, signer, client: client.clone() }
    }

    /// A new agent with the grant of the faucet.
    #[track_caller]
    pub fn funded(client: &Client) -> Party {
        let party = Party::new(client);
        party.act("pay-faucet", json!({ "did": party.did() })).expect(200);
        party
    }

    pub fn did(&self) -> &str {
        &self.signer.did
    }

    /// Signs an envelope of this schema; adds a nonce if there is none.
    pub fn body(&self, schema: &str, mut members: Value) -> Value {
        let name = match schema {
            "escrow-release" | "escrow-refund" | "work-acceptance" => "action_nonce",
            "batch-transfer" => "batch_id",
            _ => "nonce",
        };
        if members.get(name).is_none() {
            members[name] = json!(nonce());
        }
        self.signer.signed(schema, self.client.now(), members)
    }

    pub fn act(&self, schema: &str, members: Value) -> Answer {
        self.client.post(path_of(schema), &self.body(schema, members))
    }

    pub fn transfer(&self, to: &str, micro: u64) -> Value {
        json!({ "from_did": self.did(), "to_did": to, "amount_micro": micro })
    }

    pub fn pay(&self, to: &str, micro: u64) -> Answer {
        self.act("credit-transfer", self.transfer(to, micro))
    }

    pub fn escrow(&self, to: &str, micro: u64, hold: Duration) -> Value {
        let deadline = self.client.now().plus_duration(hold).to_millis_text();
        json!({ "from_did": self.did(), "to_did": to, "amount_micro": micro, "deadline_at": deadline })
    }

    /// Opens an escrow for a day; returns its id.
    #[track_caller]
    pub fn open(&self, to: &str, micro: u64) -> String {
        let members = self.escrow(to, micro, Duration::from_secs(86_400));
        text(&self.act("escrow-open", members).expect(200), "escrow_id").to_owned()
    }

    pub fn close(&self, schema: &str, escrow: &str) -> Answer {
        self.act(schema, json!({ "escrow_id": escrow, "signer_did": self.did() }))
    }

    pub fn claim(&self, requester: &str, escrow: Option<&str>) -> Value {
        let deadline = self.client.now().plus_duration(Duration::from_secs(3_600)).to_millis_text();
        json!({ "task_id": "task", "from_did": requester, "to_did": self.did(), "work_hash": "0a".repeat(32),
            "acceptance_deadline_at": deadline, "auto_accept_on_timeout": true, "escrow_id": escrow, "summary": "done" })
    }

    pub fn listing(&self, slug: &str, price: u64) -> Value {
        json!({ "provider_did": self.did(), "capability": slug, "name": "Name", "description": "Words",
            "price_per_call_micro": price, "unit": "call", "sla_deadline_hours": 24, "active": true,
            "tags": "[\"a\"]" })
    }

    pub fn hire(&self, listing: &Value) -> Value {
        json!({ "capability_id": listing["id"], "capability": listing["capability"], "requester_did": self.did(),
            "provider_did": listing["did"], "price_micro": listing["price_per_call_micro"], "task_id": "task",
            "delivery_deadline_hours": 24, "input_json": "{\"q\":1}" })
    }

    /// The balance and the locked amount.
    #[track_caller]
    pub fn money(&self) -> (u64, u64) {
        let wallet = self.client.get(&format!("/v1/pay/wallet/{}", self.did())).expect(200);
        let of = |name: &str| wallet["wallet"][name].as_u64().unwrap();
        (of("balance_micro"), of("locked_micro"))
    }
}

/// The path to which an envelope of a schema is posted.
pub fn path_of(schema: &str) -> &'static str {
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

/// An admin key of a deployment.
pub struct Operator {
    pub signer: Signer,
    pub keyid: String,
    pub deployment: String,
    pub client: Client,
}

impl Operator {
    /// A new key with that role.
    #[track_caller]
    pub fn new(client: &Client, role: &str) -> Operator {
        let signer = Signer::new("svc", Secret::new(seed()));
        let body = json!({ "public_key": signer.public_key(), "role": role });
        let key = client.admin().post("/v1/admin/ledger/keys", &body).expect(200);
        let health = client.get("/v1/pay/health").expect(200);
        let deployment = text(&health, "deployment").to_owned();
        Operator { signer, keyid: text(&key, "keyid").to_owned(), deployment, client: client.clone() }
    }

    pub fn body(&self, members: Value) -> Value {
        self.signer.action(&self.keyid, &self.deployment, &nonce(), self.client.now(), members)
    }

    pub fn act(&self, action: &str, mut members: Value) -> Answer {
        members["action"] = json!(action);
        let path = match action.strip_prefix("escrow_") {
            Some(end) => format!("/v1/pay/escrow/{end}"),
            None => format!("/v1/pay/admin/{action}"),
        };
        self.client.post(&path, &self.body(members))
    }
}

/// Checks a refusal of the ledger: status, reason, and every member that clients read.
#[track_caller]
pub fn refused(answer: &Answer, status: u16, reason: &str) {
    let body = answer.expect(status);
    assert_eq!(body["reason"], reason, "{body}");
    let code = match status {
        400 => "BAD_REQUEST",
        401 => "UNAUTHORIZED",
        402 => "PAYMENT_REQUIRED",
        403 => "FORBIDDEN",
        404 => "NOT_FOUND",
        409 => "CONFLICT",
        422 => "UNPROCESSABLE",
        429 => "RATE_LIMITED",
        503 => "UNAVAILABLE",
        other => panic!("no refusal has status {other}"),
    };
    assert_eq!((&body["error"], &body["ok"]), (&json!(code), &json!(false)), "{body}");
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    assert_eq!(answer.header("retry-after").is_some(), matches!(status, 429 | 503), "{body}");
}
