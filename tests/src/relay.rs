//! Agents of the relay for tests, registered over HTTP with or without their own keys.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use heliograph_core::Timestamp;
use heliograph_core::crypto::client::{Client as Sdk, Meta, Options, Peer, Posted, Raw, Received};
use heliograph_core::crypto::signing;
use serde_json::{Value, json};

use crate::client::{Answer, Client};

/// A number that is unique in the whole run, for names and seeds.
pub fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A unique seed.
pub fn seed() -> [u8; 32] {
    let mut seed = [0x5e; 32];
    seed[..8].copy_from_slice(&unique().to_be_bytes());
    seed
}

/// The bytes in base64.
pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a base64 text; padding and the standard alphabet are required.
#[track_caller]
pub fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap_or_else(|| panic!("{value} is no text"))).unwrap()
}

/// The 16 bytes as an actor id of 22 characters.
pub fn actor_id(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Base58 with the Bitcoin alphabet, written here independently, so that it shows a fault of the core.
pub fn base58(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut digits: Vec<u32> = Vec::new();
    for byte in bytes {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += *digit << 8;
            *digit = carry % 58;
            carry /= 58;
        }
        while carry > 0 {
            digits.push(carry % 58);
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let digits = digits.iter().rev().map(|digit| char::from(ALPHABET[*digit as usize]));
    std::iter::repeat_n('1', zeros).chain(digits).collect()
}

/// Encodes a text as one query value.
pub fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// A registered agent.
#[derive(Clone)]
pub struct Agent {
    pub did: String,
    pub api_key: String,
    /// A client that sends the agent's key.
    pub client: Client,
    /// The answer to the registration.
    pub registration: Value,
}

impl Agent {
    #[track_caller]
    fn registered(client: &Client, answer: Value) -> Agent {
        let text = |name: &str| answer[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer}")).to_owned();
        let (did, api_key) = (text("did"), text("api_key"));
        Agent { client: client.agent(&api_key), did, api_key, registration: answer }
    }

    /// Registers with this body.
    #[track_caller]
    pub fn register(client: &Client, body: &Value) -> Agent {
        Agent::registered(client, client.post("/v1/agent/register", body).expect(201))
    }

    /// An agent whose keys the service makes and holds.
    #[track_caller]
    pub fn server_side(client: &Client) -> Agent {
        Agent::register(client, &json!({}))
    }

    /// Sends with `POST /v1/agent/send`; returns the id of the message.
    #[track_caller]
    pub fn say(&self, to: &str, message: &str) -> String {
        let body = self.client.post("/v1/agent/send", &json!({ "to": to, "message": message })).expect(201);
        body["id"].as_str().unwrap().to_owned()
    }

    /// The items of a receive route.
    #[track_caller]
    pub fn items(&self, path_and_query: &str) -> Vec<Value> {
        let body = self.client.get(path_and_query).expect(200);
        let items = body["messages"].as_array().unwrap().clone();
        assert_eq!(body["count"], items.len(), "{body}");
        assert!(body["has_more"].is_boolean(), "{body}");
        items
    }

    /// Unread raw messages.
    #[track_caller]
    pub fn raw(&self) -> Vec<Value> {
        self.items("/v1/agent/receive/raw")
    }

    /// Unread messages, decrypted by the service.
    #[track_caller]
    pub fn inbox(&self) -> Vec<Value> {
        self.items("/v1/agent/receive")
    }

    /// The whole mailbox, read messages too, page by page.
    #[track_caller]
    pub fn everything(&self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let since = all.last().map_or(String::new(), |item| format!("&since={}", encode(text(item, "timestamp"))));
            let path = format!("/v1/agent/receive/raw?unread=false&limit=100{since}");
            let page = self.client.get(&path).expect(200);
            all.extend(page["messages"].as_array().unwrap().iter().cloned());
            if page["has_more"] == false {
                return all;
            }
            assert_ne!(page["count"], 0, "a page that says there is more must bring something");
        }
    }

    #[track_caller]
    pub fn unread_count(&self) -> u64 {
        let body = self.client.get("/v1/agent/messages/unread-count").expect(200);
        body["unread_count"].as_u64().unwrap_or_else(|| panic!("{body}"))
    }

    #[track_caller]
    pub fn mark_read(&self, id: &str) -> Value {
        self.client.send("POST", &format!("/v1/agent/messages/{id}/read"), Some("application/json"), b"").expect(200)
    }
}

/// The body of a registration without its signed prekey, so that nothing shows that the caller holds the keys.
pub fn unsigned_body(body: &Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed_prekey"));
    body
}

/// The member `proof` of a registration with `body`, or the body of `POST /v1/agent/prove`. It is written from
/// `docs/identity.md`, so that it shows a fault of the core. `deployment` defaults to the id of the client's
/// deployment.
#[track_caller]
pub fn proof(client: &Client, sdk: &Sdk, body: &Value, deployment: Option<&str>) -> Value {
    let asked = deployment_id(client);
    let deployment = deployment.unwrap_or(&asked);
    let key = |name: &str| body[name].as_str().unwrap_or_default();
    let (timestamp, nonce) = (client.now().to_millis_text(), format!("nonce-{:0>16}", unique()));
    let lines = [
        "svc-proof/v1",
        deployment,
        &sdk.did,
        key("signing_public_key"),
        key("encryption_public_key"),
        key("mlkem_public_key"),
        &timestamp,
        &nonce,
    ];
    let signature = signing::sign(&sdk.keys.signing, lines.join("\n").as_bytes());
    json!({ "timestamp": timestamp, "nonce": nonce, "signature": base64(&signature) })
}

/// An agent that keeps its own keys and behaves like the public TypeScript SDK.
#[derive(Clone)]
pub struct SdkAgent {
    pub agent: Agent,
    pub sdk: Sdk,
}

impl SdkAgent {
    #[track_caller]
    pub fn new(client: &Client, options: Options) -> SdkAgent {
        let sdk = Sdk::new("svc", seed(), options);
        let body = sdk.key_body(None, 1);
        SdkAgent::register(client, sdk, &body)
    }

    /// An agent with these keys that registers with this body.
    #[track_caller]
    pub fn register(client: &Client, sdk: Sdk, body: &Value) -> SdkAgent {
        let agent = Agent::register(client, body);
        assert_eq!(agent.did, sdk.did);
        SdkAgent { agent, sdk }
    }

    /// The keys in the registration of a new agent of this kind.
    pub fn keys(options: Options) -> Value {
        Sdk::new("svc", seed(), options).key_body(None, 1)
    }

    /// Looks up an agent in the directory.
    #[track_caller]
    pub fn look_up(&self, did: &str) -> Peer {
        look_up(&self.agent.client, did)
    }

    /// The body of one message; the session advances even if it is never posted.
    pub fn compose(&mut self, to: &str, text: &str, meta: Meta<'_>) -> Posted {
        let peer = self.look_up(to);
        self.sdk.send(&peer, &self.agent.client.now().to_millis_text(), text, meta).unwrap()
    }

    pub fn post(&self, posted: &Posted) -> Answer {
        self.agent.client.post("/v1/agent/send/encrypted", &serde_json::to_value(posted).unwrap())
    }

    /// Composes and posts a message; returns its id.
    #[track_caller]
    pub fn say(&mut self, to: &str, text: &str) -> String {
        let posted = self.compose(to, text, Meta::default());
        self.post(&posted).expect(201)["id"].as_str().unwrap().to_owned()
    }

    /// Opens unread messages in the order of the relay, and marks them read.
    #[track_caller]
    pub fn take(&mut self) -> Vec<Option<Received>> {
        let items = self.agent.raw();
        let opened = items.iter().map(|item| self.sdk.receive(&to_raw(item))).collect();
        let ids: Vec<&Value> = items.iter().map(|item| &item["id"]).collect();
        if !ids.is_empty() {
            self.agent.client.post("/v1/agent/messages/read-batch", &json!({ "message_ids": ids })).expect(200);
        }
        opened
    }

    /// Like [`SdkAgent::take`], but every message must open with a valid signature; returns the texts.
    #[track_caller]
    pub fn texts(&mut self) -> Vec<String> {
        let opened = self.take();
        opened
            .into_iter()
            .map(|message| {
                let message = message.expect("a message does not open");
                assert!(message.signature_valid, "{message:?}");
                message.payload.content
            })
            .collect()
    }
}

/// The id of the deployment for signed texts.
#[track_caller]
pub fn deployment_id(client: &Client) -> String {
    text(&client.get("/health").expect(200), "deployment_id").to_owned()
}

/// Looks up an agent in the directory, as the SDK does.
#[track_caller]
pub fn look_up(client: &Client, did: &str) -> Peer {
    let body = client.get(&format!("/v1/agent/identity/{did}")).expect(200);
    Peer {
        did: did.to_owned(),
        signing_key: bytes(&body["signing_public_key"]).try_into().unwrap(),
        encryption_key: bytes(&body["encryption_public_key"]).try_into().unwrap(),
        kem_key: body["mlkem_public_key"].is_string().then(|| bytes(&body["mlkem_public_key"])),
    }
}

/// A member that must be a text.
#[track_caller]
pub fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_else(|| panic!("{name} of {item} is no text"))
}

/// Converts a raw message into the client's type.
#[track_caller]
pub fn to_raw(item: &Value) -> Raw {
    Raw {
        from: text(item, "from").to_owned(),
        to: text(item, "to").to_owned(),
        ciphertext: text(item, "ciphertext").to_owned(),
        nonce: text(item, "nonce").to_owned(),
        signature: text(item, "signature").to_owned(),
        envelope: item["envelope"].as_str().map(str::to_owned),
        timestamp: text(item, "timestamp").to_owned(),
        sender_signing_key: bytes(&item["sender_signing_key"]).try_into().unwrap(),
        sender_encryption_key: bytes(&item["sender_encryption_key"]).try_into().unwrap(),
    }
}

/// The body of a `send/encrypted` that nobody can open, with a unique nonce and signature. The relay must carry it all
/// the same.
pub fn letter(to: &str, text: &str) -> Value {
    let number = unique();
    let fill = |salt: u8, length: usize| -> Vec<u8> {
        (0..length as u64).map(|at| (number.rotate_left(at as u32 % 64) as u8) ^ (at as u8) ^ salt).collect()
    };
    let mut nonce = fill(3, 24);
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    json!({
        "to": to,
        "ciphertext": base64(text.as_bytes()),
        "nonce": base64(&nonce),
        "signature": base64(&fill(9, 64)),
    })
}

/// Microseconds since 1970 of a timestamp that must have six fractional digits.
#[track_caller]
pub fn micros(value: &Value) -> i64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is no timestamp"));
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(shape, "0000-00-00T00:00:00.000000Z", "{text}");
    Timestamp::parse(text).unwrap().since(Timestamp::MIN)
}

/// A key with the same first 16 bytes, and so the same DID, whose private key nobody has.
pub fn made_up_like(key: &[u8; 32]) -> [u8; 32] {
    (unique()..)
        .map(|number| {
            let mut made = *key;
            made[16..24].copy_from_slice(&number.to_be_bytes());
            made[31] &= 0x7f;
            made
        })
        .find(|made| made != key && signing::validate_signing_key("key", made).is_ok())
        .unwrap()
}
