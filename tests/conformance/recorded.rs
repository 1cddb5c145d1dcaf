//! Sends what libsodium signed and boxed (`tests/vectors/nacl/signatures.py`) through the service: messages, routed
//! messages, attestations. The core compares the bytes themselves.

use heliograph_tests::client::Client;
use heliograph_tests::relay::{Agent, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![what_libsodium_signed_is_carried_verified_and_found_valid];

fn vectors() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/vectors/nacl/signatures.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// An agent with recorded keys; libsodium made the signature of its prekey.
fn register(client: &Client, keys: &Value) -> Agent {
    let agent = Agent::register(
        client,
        &json!({
            "signing_public_key": keys["signing_public"], "encryption_public_key": keys["encryption_public"],
            "signed_prekey_public": keys["prekey"], "signed_prekey_signature": keys["prekey_signature"],
        }),
    );
    assert_eq!(keys["did"], agent.did);
    agent
}

fn valid(client: &Client, envelope: &Value, signature: &Value, from: &str) -> Value {
    let body = json!({ "envelope": envelope, "signature": signature, "sender_did": from });
    client.post("/v1/agent/verify", &body).expect(200)["valid"].clone()
}

/// Decision recorded-vectors.
fn what_libsodium_signed_is_carried_verified_and_found_valid(suite: &Suite) {
    let (client, vectors) = (suite.client(), vectors());
    let (alice, bob) = (register(&client, &vectors["alice"]), register(&client, &vectors["bob"]));
    let list = |name: &str| vectors[name].as_array().unwrap().clone();
    for message in list("messages") {
        for signature in [&message["signature"], &message["deniable"]] {
            let mut body = json!({ "to": bob.did, "content_type": "text/plain", "signature": signature });
            for name in ["ciphertext", "nonce", "envelope"] {
                body[name] = message[name].clone();
            }
            alice.client.post("/v1/agent/send/encrypted", &body).expect(201);
        }
        assert_eq!(valid(&client, &message["envelope"], &message["signature"], &alice.did), true);
        assert_eq!(valid(&client, &message["envelope"], &message["deniable"], &alice.did), false);
        assert_eq!(valid(&client, &message["envelope"], &message["signature"], &bob.did), false);
    }
    for routed in list("routed") {
        let mut body = json!({ "to": bob.did });
        for name in ["ciphertext", "nonce", "signature"] {
            body[name] = routed[name].clone();
        }
        assert_eq!(alice.client.post("/v1/relay/route", &body).expect(201)["status"], "delivered");
    }
    let arrived = bob.raw();
    let (sent, routed) = (list("messages"), list("routed"));
    assert_eq!(arrived.len(), 2 * sent.len() + routed.len());
    for (item, message) in arrived.iter().zip(sent.iter().flat_map(|message| [message, message])) {
        assert_eq!((&item["ciphertext"], &item["envelope"]), (&message["ciphertext"], &message["envelope"]));
    }
    for (item, routed) in arrived[2 * sent.len()..].iter().zip(&routed) {
        assert_eq!((&item["envelope"], &item["signature"]), (&routed["signed"], &routed["signature"]));
        assert_eq!(valid(&client, &item["envelope"], &item["signature"], &alice.did), true);
    }
    list("attestations").iter().for_each(|claim| attested(&client, &alice, claim));
}

/// The claim is sent as the signed text and comes back unchanged; with one more character it is refused.
fn attested(client: &Client, author: &Agent, claim: &Value) {
    let post = |data: &str| {
        let [kind, timestamp, signature] = ["claim_type", "timestamp", "signature"].map(|name| text(claim, name));
        let body = format!(
            r#"{{"claim_type":"{kind}","claim_data":{data},"timestamp":"{timestamp}","signature":"{signature}"}}"#
        );
        author.client.send("POST", "/v1/agent/attestations", Some("application/json"), body.as_bytes())
    };
    let data = text(claim, "claim_data");
    let made = post(data).expect(201);
    assert_eq!((&made["signature"], &made["timestamp"]), (&claim["signature"], &claim["timestamp"]));
    let read = client.get(&format!("/v1/agent/attestations/{}", text(&made, "id")));
    assert!(read.text().contains(data), "{}", read.text());
    post(&format!("{}{}", " ", data.replacen('{', "{ ", 1))).expect_error(400, "BAD_REQUEST");
}
