//! Another relay, played by a test: it answers as the test says, records its requests, and signs its deliveries. The
//! signed texts are written here independently (docs/federation.md), so that they show a fault of the core.

use std::sync::{Arc, Mutex};

use heliograph_core::Timestamp;
use heliograph_core::crypto::client::{Client as Sdk, Options, Peer as Keys};
use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::sha256;
use heliograph_core::crypto::{Secret, boxes, signing};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::relay::{base64, bytes, seed};
use crate::source::{Source, response};

/// Answers of a relay: from the path of a request to status and body.
type Answers = Arc<Mutex<Box<dyn Fn(&str) -> (u16, Value) + Send>>>;

/// A relay that the test controls.
pub struct FakePeer {
    pub source: Source,
    pub key: Secret<32>,
    answers: Answers,
}

/// An agent with its own keys that is registered nowhere, unless the test registers it.
pub struct Stranger {
    pub sdk: Sdk,
}

/// The headers of a delivery; a test changes the part that is to be wrong.
#[derive(Clone)]
pub struct Signed {
    pub key: String,
    pub timestamp: String,
    pub delivery: String,
    pub signature: String,
    pub body: String,
}

impl Default for Stranger {
    fn default() -> Stranger {
        Stranger::new()
    }
}

impl Stranger {
    pub fn new() -> Stranger {
        Stranger { sdk: Sdk::new("svc", seed(), Options::default()) }
    }

    pub fn did(&self) -> &str {
        &self.sdk.did
    }

    /// The identity that its relay shows.
    pub fn identity(&self) -> Value {
        let peer = self.sdk.as_peer();
        json!({
            "did": peer.did, "name": null, "capabilities": [], "metadata": {}, "status": "active",
            "signing_public_key": base64(&peer.signing_key),
            "encryption_public_key": base64(&peer.encryption_key),
            "mlkem_public_key": null, "signed_prekey": null, "created_at": "2026-01-01T00:00:00.000Z",
        })
    }

    /// The body of a delivery of this text for `to`.
    pub fn letter(&self, to: &Keys, text: &str) -> Value {
        let mut body = route_body(&self.sdk, to, text);
        let peer = self.sdk.as_peer();
        body["from"] = json!(peer.did);
        body["sender_signing_key"] = json!(base64(&peer.signing_key));
        body["sender_encryption_key"] = json!(base64(&peer.encryption_key));
        body
    }
}

/// The text that an agent signs for `POST /v1/relay/route`.
pub fn route_text(from: &str, to: &str, nonce: &str, ciphertext: &str) -> String {
    let hash = encode_hex(&sha256(ciphertext.as_bytes()));
    format!("{{\"from\":\"{from}\",\"to\":\"{to}\",\"nonce\":\"{nonce}\",\"ciphertext_hash\":\"{hash}\"}}")
}

/// The body of a `POST /v1/relay/route` as the public SDK makes it: a signed box.
pub fn route_body(sdk: &Sdk, to: &Keys, text: &str) -> Value {
    let nonce: [u8; 24] = sha256(&seed())[..24].try_into().unwrap();
    let sealed = boxes::box_seal(&to.encryption_key, &sdk.keys.encryption, &nonce, text.as_bytes()).unwrap();
    let (nonce, ciphertext) = (base64(&nonce), base64(&sealed));
    let signed = route_text(&sdk.did, &to.did, &nonce, &ciphertext);
    let signature = base64(&signing::sign(&sdk.keys.signing, signed.as_bytes()));
    json!({
        "to": to.did, "ciphertext": ciphertext, "nonce": nonce, "signature": signature,
        "content_type": "text/plain", "thread_id": "across",
    })
}

impl FakePeer {
    /// A relay that has no agents and accepts nothing until the test says otherwise.
    pub fn start() -> FakePeer {
        let answers: Answers =
            Arc::new(Mutex::new(Box::new(|_| (404, json!({ "error": "NOT_FOUND", "message": "no" })))));
        let shared = answers.clone();
        let source = Source::start(move |path| {
            let (status, body) = shared.lock().unwrap()(path);
            response(&format!("{status} X"), "content-type: application/json\r\n", &body.to_string())
        });
        FakePeer { source, key: Secret::new(seed()), answers }
    }

    /// Sets the answers from now on.
    pub fn answer(&self, answer: impl Fn(&str) -> (u16, Value) + Send + 'static) {
        *self.answers.lock().unwrap() = Box::new(answer);
    }

    /// From now on the relay has these agents, and answers deliveries with this status.
    pub fn has(&self, agents: &[Value], deliveries: u16) {
        let agents = agents.to_vec();
        self.answer(move |path| {
            if path == "/v1/relay/deliver" {
                return (deliveries, json!({}));
            }
            let asked = |agent: &&Value| path.contains(agent["did"].as_str().unwrap());
            agents.iter().find(asked).map_or((404, json!({})), |agent| (200, agent.clone()))
        });
    }

    pub fn public_key(&self) -> String {
        base64(&signing::signing_public_key(&self.key))
    }

    /// Has the operator of a deployment make this relay a peer; returns its id there.
    #[track_caller]
    pub fn befriend(&self, client: &Client) -> String {
        let body = json!({ "url": self.source.base, "public_key": self.public_key(), "name": "fake" });
        client.admin().post("/v1/admin/peers", &body).expect(201)["id"].as_str().unwrap().to_owned()
    }

    /// How often the relay was asked for a DID.
    pub fn questions(&self, did: &str) -> usize {
        let line = format!("GET /v1/agent/identity/{did}?local=true ");
        self.source.heard().iter().filter(|request| request.starts_with(&line)).count()
    }

    /// The deliveries that the relay got.
    pub fn deliveries(&self) -> Vec<String> {
        self.source.heard().into_iter().filter(|request| request.starts_with("POST /v1/relay/deliver ")).collect()
    }

    /// A delivery of this body, signed now.
    pub fn sign(&self, now: Timestamp, body: &Value) -> Signed {
        let body = body.to_string();
        let delivery = crate::relay::actor_id(&sha256(body.as_bytes())[..12]);
        let mut signed = Signed {
            key: self.public_key(),
            timestamp: now.to_millis_text(),
            delivery,
            signature: String::new(),
            body,
        };
        signed.seal(&self.key);
        signed
    }

    /// Delivers this body.
    pub fn deliver(&self, client: &Client, body: &Value) -> Answer {
        self.sign(client.now(), body).send(client)
    }
}

impl Signed {
    /// Signs the present body and headers.
    pub fn seal(&mut self, key: &Secret<32>) {
        let hash = encode_hex(&sha256(self.body.as_bytes()));
        let text = deliver_text(&hash, &self.timestamp, &self.delivery);
        self.signature = base64(&signing::sign(key, text.as_bytes()));
    }

    pub fn send(&self, client: &Client) -> Answer {
        let client = client
            .with("x-relay-key", &self.key)
            .with("x-relay-timestamp", &self.timestamp)
            .with("x-relay-delivery", &self.delivery)
            .with("x-relay-signature", &self.signature);
        client.send("POST", "/v1/relay/deliver", Some("application/json"), self.body.as_bytes())
    }
}

/// The text that a relay signs.
fn deliver_text(hash: &str, timestamp: &str, delivery: &str) -> String {
    format!("svc-relay-deliver/v1\nPOST\n/v1/relay/deliver\n{hash}\n{timestamp}\n{delivery}")
}

/// The body of a delivery that a deployment made, after checking that its headers are signed by `key`.
#[track_caller]
pub fn verified(request: &str, key: &Value) -> Value {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).unwrap_or_else(|| panic!("{name} in {head}")).1
    };
    assert_eq!(header("x-relay-key"), key.as_str().unwrap());
    assert_eq!(header("x-relay-delivery"), crate::relay::actor_id(&sha256(body.as_bytes())[..12]));
    let hash = encode_hex(&sha256(body.as_bytes()));
    let text = deliver_text(&hash, header("x-relay-timestamp"), header("x-relay-delivery"));
    let key: [u8; 32] = bytes(key).try_into().unwrap();
    assert!(signing::verify(&key, text.as_bytes(), &bytes(&json!(header("x-relay-signature")))));
    serde_json::from_str(body).unwrap()
}
