//! Texts that an owner signs for one relay are useless at another. The attacker runs a relay that the owner also uses,
//! and tries at this relay what the owner sent to it.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_core::crypto::signing;
use heliograph_tests::client::Client;
use heliograph_tests::relay::{Agent, base64, deployment_id, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    every_health_names_the_same_deployment,
    a_rotation_signature_for_one_relay_is_refused_at_another,
    a_request_for_an_api_key_at_one_relay_is_refused_at_another,
    signatures_of_before_texts_named_a_relay_are_refused_and_change_nothing,
    a_nonce_has_a_form,
];

fn every_health_names_the_same_deployment(suite: &Suite) {
    let client = suite.client();
    let id = deployment_id(&client);
    assert!(id.len() >= 16 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    for path in ["/hydra/v1/health", "/v1/relay/info", "/v1/pay/health"] {
        assert_eq!(text(&client.get(path).expect(200), "deployment_id"), id, "{path}");
    }
    assert_ne!(deployment_id(&suite.fresh(&[]).client()), id);
}

/// An owner with its keys, as an agent of a relay.
struct Owner {
    sdk: Sdk,
    agent: Agent,
}

impl Owner {
    /// The same owner at each of these relays.
    fn at<const N: usize>(clients: [&Client; N]) -> [Owner; N] {
        let seed = seed();
        clients.map(|client| {
            let sdk = Sdk::new("svc", seed, Options { post_quantum: false, ..Options::default() });
            let agent = Agent::register(client, &sdk.key_body(None, 1));
            Owner { sdk, agent }
        })
    }

    fn sign(&self, text: &str) -> Value {
        json!(base64(&signing::sign(&self.sdk.keys.signing, text.as_bytes())))
    }

    /// A rotation to new keys, signed by the previous key for the relay with this id.
    fn rotation(&self, deployment: &str, nonce: &str) -> Value {
        let mut body = Sdk::new("svc", seed(), Options { post_quantum: false, ..Options::default() }).key_body(None, 2);
        let now = self.agent.client.now().to_millis_text();
        let (signing_key, encryption) = (text(&body, "signing_public_key"), text(&body, "encryption_public_key"));
        let did = &self.agent.did;
        let lines = format!("svc-key-rotation/v2\n{deployment}\n{did}\n{signing_key}\n{encryption}\n\n{now}\n{nonce}");
        let signature = self.sign(&lines);
        body["rotation_signature"] = signature;
        body["rotation_nonce"] = json!(nonce);
        body["rotation_issued_at"] = json!(now);
        body
    }

    fn request(&self, deployment: &str, nonce: &str) -> Value {
        let (did, now) = (&self.agent.did, self.agent.client.now().to_millis_text());
        let signature = self.sign(&format!("svc-api-key/v2\n{deployment}\n{did}\n{now}\n{nonce}"));
        json!({ "did": did, "timestamp": now, "nonce": nonce, "signature": signature })
    }

    fn keys(&self) -> Value {
        self.agent.client.get(&format!("/v1/agent/identity/{}", self.agent.did)).expect(200)
    }
}

fn nonce() -> String {
    format!("replayed-nonce-{:06}", unique())
}

fn a_rotation_signature_for_one_relay_is_refused_at_another(suite: &Suite) {
    let (client, other) = (suite.client(), suite.fresh(&[]));
    let [here, there] = Owner::at([&client, &other.client()]);
    let before = here.keys();
    let body = there.rotation(&deployment_id(&other.client()), &nonce());
    assert_eq!(there.agent.client.post("/v1/agent/rotate-keys", &body).expect(200)["rotation_proved"], true);
    here.agent.client.post("/v1/agent/rotate-keys", &body).expect_error(400, "BAD_REQUEST");
    assert_eq!(here.keys(), before, "nothing is rotated");
    let body = here.rotation(&deployment_id(&client), &nonce());
    // The signature covers every key.
    for member in ["encryption_public_key", "signing_public_key"] {
        let mut other = body.clone();
        other[member] = here.rotation("x", "x")[member].clone();
        other["signed_prekey_public"] = Value::Null;
        other["signed_prekey_signature"] = Value::Null;
        here.agent.client.post("/v1/agent/rotate-keys", &other).expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(here.agent.client.post("/v1/agent/rotate-keys", &body).expect(200)["rotation_proved"], true);
}

fn a_request_for_an_api_key_at_one_relay_is_refused_at_another(suite: &Suite) {
    let (client, other) = (suite.client(), suite.fresh(&[]));
    let [here, there] = Owner::at([&client, &other.client()]);
    let body = there.request(&deployment_id(&other.client()), &nonce());
    other.client().post("/v1/agent/api-key", &body).expect(201);
    client.post("/v1/agent/api-key", &body).expect_error(401, "UNAUTHORIZED");
    here.agent.client.get("/v1/agent/profile").expect(200);
    let body = here.request(&deployment_id(&client), &nonce());
    let key = client.post("/v1/agent/api-key", &body).expect(201);
    client.agent(text(&key, "api_key")).get("/v1/agent/profile").expect(200);
    client.post("/v1/agent/api-key", &body).expect_error(409, "CONFLICT");
}

fn signatures_of_before_texts_named_a_relay_are_refused_and_change_nothing(suite: &Suite) {
    let client = suite.client();
    let [ada] = Owner::at([&client]);
    let (did, before, now) = (&ada.agent.did, ada.keys(), client.now().to_millis_text());
    for nonce in ["of-before".to_owned(), nonce()] {
        let mut body = ada.rotation("x", &nonce);
        let key = text(&body, "signing_public_key").to_owned();
        let at = text(&body, "rotation_issued_at").to_owned();
        body["rotation_signature"] = ada.sign(&format!(
            r#"{{"did":"{did}","issued_at":"{at}","new_key":"{key}","nonce":"{nonce}","schema":"svc-key-rotation/v1"}}"#
        ));
        let refused = ada.agent.client.post("/v1/agent/rotate-keys", &body);
        refused.expect_error(400, "BAD_REQUEST");
        assert!(refused.text().contains("svc-key-rotation/v2"), "{}", refused.text());
        let signature = ada.sign(&format!("svc-api-key/v1\n{did}\n{now}\n{nonce}"));
        let body = json!({ "did": did, "timestamp": now, "nonce": nonce, "signature": signature, "revoke": true });
        let refused = client.post("/v1/agent/api-key", &body);
        refused.expect_error(400, "BAD_REQUEST");
        assert!(refused.text().contains("svc-api-key/v2"), "{}", refused.text());
    }
    assert_eq!(ada.keys(), before);
    ada.agent.client.get("/v1/agent/profile").expect(200);
}

fn a_nonce_has_a_form(suite: &Suite) {
    let client = suite.client();
    let (deployment, [ada]) = (deployment_id(&client), Owner::at([&client]));
    let long = "n".repeat(65);
    for bad in ["fifteen-charact", long.as_str(), "sixteen.characte", "sixteen\ncharacte", ""] {
        ada.agent
            .client
            .post("/v1/agent/rotate-keys", &ada.rotation(&deployment, bad))
            .expect_error(400, "BAD_REQUEST");
        client.post("/v1/agent/api-key", &ada.request(&deployment, bad)).expect_error(400, "BAD_REQUEST");
    }
    let longest = format!("{:0>64}", unique());
    let body = ada.rotation(&deployment, &longest);
    ada.agent.client.post("/v1/agent/rotate-keys", &body).expect(200);
    let before = ada.keys();
    // Signed by the previous key, which no longer speaks for the DID.
    ada.agent
        .client
        .post("/v1/agent/rotate-keys", &ada.rotation(&deployment, &longest))
        .expect_error(400, "BAD_REQUEST");
    assert_eq!(ada.keys(), before);
}
