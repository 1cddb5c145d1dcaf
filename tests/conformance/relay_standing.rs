//! Who holds a DID: made-up keys, copied signatures, proofs. The attacker knows everything public and nothing more.

use heliograph_core::crypto::client::Client as Sdk;
use heliograph_tests::races::{self, Race, copied, encryption_key, made_up, owner};
use heliograph_tests::relay::{Agent, SdkAgent, base64, bytes, deployment_id, proof, unique, unsigned_body};
use serde_json::{Value, json};

use crate::relay_channels::{join, leave, post, public};
use crate::{Suite, cases};

cases![
    a_made_up_key_with_the_same_beginning_takes_no_did_from_an_owner_with_a_prekey,
    an_owner_without_a_prekey_waits_beside_a_made_up_key_until_it_signs,
    a_registration_that_waits_may_do_nothing_under_the_did,
    a_copied_prekey_holds_a_did_only_until_its_owner_proves_it,
    a_proof_with_the_own_api_key_changes_nothing_but_the_standing,
    a_proof_works_once_and_for_one_deployment_and_in_its_time,
    a_recorded_registration_with_a_proof_gives_nobody_another_api_key,
    nobody_displaces_a_proved_registration,
    what_a_displaced_registration_had_ends_and_what_it_wrote_is_marked,
    posts_of_a_registration_that_is_gone_are_marked_in_channels_that_it_had_left_too,
    eight_silent_registrations_of_different_keys_wait_and_no_more,
    a_stolen_api_key_that_deactivates_ends_nothing_for_the_proved_key,
    a_squatter_that_is_suspended_or_erased_does_not_bind_the_did,
    a_did_document_has_proved_keys_only,
    an_owner_wins_the_race_against_attackers_and_inherits_nothing,
];

fn without_prekey(body: &Value) -> Value {
    unsigned_body(body)
}

fn proved(suite: &Suite, sdk: &Sdk, body: &Value) -> Value {
    let mut body = body.clone();
    body["proof"] = proof(&suite.client(), sdk, &body, None);
    body
}

fn register(suite: &Suite, body: &Value) -> Agent {
    Agent::register(&suite.client(), body)
}

fn refused(suite: &Suite, body: &Value) {
    suite.client().post("/v1/agent/register", body).expect_error(409, "CONFLICT");
}

#[track_caller]
fn holds(suite: &Suite, did: &str, body: &Value, standing: &str) -> Value {
    let identity = suite.client().get(&format!("/v1/agent/identity/{did}")).expect(200);
    for key in ["signing_public_key", "encryption_public_key"] {
        assert_eq!(identity[key], body[key], "{identity}");
    }
    assert_eq!(identity["standing"], standing, "{identity}");
    identity
}

#[track_caller]
fn ended(agent: &Agent) {
    agent.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
}

fn a_made_up_key_with_the_same_beginning_takes_no_did_from_an_owner_with_a_prekey(suite: &Suite) {
    let (sdk, body) = owner();
    let squatter = register(suite, &made_up(&body));
    assert_eq!(squatter.did, sdk.did);
    let owner = register(suite, &body);
    assert_eq!(owner.did, sdk.did);
    ended(&squatter);
    holds(suite, &sdk.did, &body, "signed");
    owner.client.get("/v1/agent/profile").expect(200);
    refused(suite, &made_up(&body));
}

fn an_owner_without_a_prekey_waits_beside_a_made_up_key_until_it_signs(suite: &Suite) {
    let (sdk, body) = owner();
    let squatted = made_up(&body);
    let squatter = register(suite, &squatted);
    let mut agent = SdkAgent::register(&suite.client(), sdk, &without_prekey(&body));
    let profile = agent.agent.client.get("/v1/agent/profile").expect(200);
    assert_eq!((&profile["waiting"], &profile["standing"]), (&json!(true), &json!("silent")));
    assert_eq!(profile["signing_public_key"], body["signing_public_key"]);
    assert_eq!(agent.agent.raw(), Vec::<Value>::new());
    holds(suite, &agent.sdk.did, &squatted, "silent");
    // Meanwhile the squatter has its mailbox; nothing of it goes to the owner.
    let friend = Agent::server_side(&suite.client());
    friend.say(&squatter.did, "for whoever has the made-up key");
    agent.say(&friend.did, "signed by the real key");
    holds(suite, &agent.sdk.did, &body, "signed");
    ended(&squatter);
    assert_eq!(agent.agent.client.get("/v1/agent/profile").expect(200)["waiting"], false);
    assert_eq!(agent.agent.raw(), Vec::<Value>::new());
    friend.say(&agent.sdk.did, "for the owner");
    assert_eq!(agent.agent.raw().len(), 1);
    // A prekey signature counts like a signed message.
    let (_, body) = owner();
    let squatter = register(suite, &made_up(&body));
    let owner = register(suite, &without_prekey(&body));
    let prekey =
        json!({ "public_key": body["signed_prekey_public"], "signature": body["signed_prekey_signature"], "id": 1 });
    owner.client.post("/v1/agent/prekeys", &json!({ "prekeys": [], "signed_prekey": prekey })).expect(200);
    holds(suite, &owner.did, &body, "signed");
    ended(&squatter);
}

fn a_registration_that_waits_may_do_nothing_under_the_did(suite: &Suite) {
    let (_, body) = owner();
    register(suite, &without_prekey(&body));
    let attacker = register(suite, &made_up(&body));
    for path in ["messages/unread-count", "keys/pins", "memory", "webhooks", "receive/sse"] {
        attacker.client.get(&format!("/v1/agent/{path}")).expect_error(409, "IDENTITY_WAITING");
    }
    let friend = Agent::server_side(&suite.client());
    let unsigned = json!({
        "to": friend.did, "ciphertext": base64(&[1; 40]), "nonce": base64(&[2; 24]), "signature": base64(&[3; 64]),
    });
    attacker.client.post("/v1/agent/send/encrypted", &unsigned).expect_error(409, "IDENTITY_WAITING");
    attacker.client.patch("/v1/agent/profile", &json!({ "name": "x" })).expect_error(409, "IDENTITY_WAITING");
    attacker.client.delete("/v1/agent/deactivate").expect_error(409, "IDENTITY_WAITING");
    let rotation =
        json!({ "signing_public_key": body["signing_public_key"], "encryption_public_key": encryption_key() });
    attacker.client.post("/v1/agent/rotate-keys", &rotation).expect_error(409, "IDENTITY_WAITING");
    assert_eq!(friend.raw(), Vec::<Value>::new());
}

fn a_copied_prekey_holds_a_did_only_until_its_owner_proves_it(suite: &Suite) {
    let (sdk, body) = owner();
    let copy = copied(&body);
    let attacker = register(suite, &copy);
    holds(suite, &sdk.did, &copy, "signed");
    refused(suite, &body);
    let owner = register(suite, &proved(suite, &sdk, &body));
    let identity = holds(suite, &sdk.did, &body, "proved");
    assert_eq!(bytes(&identity["proof"]["signature"]).len(), 64);
    ended(&attacker);
    owner.client.get("/v1/agent/profile").expect(200);
}

fn a_proof_with_the_own_api_key_changes_nothing_but_the_standing(suite: &Suite) {
    let (sdk, mut body) = owner();
    body["name"] = format!("prover {}", unique()).into();
    let agent = register(suite, &body);
    let friend = Agent::server_side(&suite.client());
    friend.say(&agent.did, "before");
    let before = agent.client.get("/v1/agent/profile").expect(200);
    assert_eq!(before["standing"], "signed");
    let proof = proof(&suite.client(), &sdk, &body, None);
    let after = agent.client.post("/v1/agent/prove", &proof).expect(200);
    assert_eq!((&after["standing"], &after["proof"]["nonce"]), (&json!("proved"), &proof["nonce"]));
    for member in ["did", "name", "signing_public_key", "signed_prekey", "created_at"] {
        assert_eq!(after[member], before[member], "{member}");
    }
    assert_eq!(agent.raw().len(), 1);
    agent.client.post("/v1/agent/prove", &proof).expect_error(409, "CONFLICT");
    suite.client().post("/v1/agent/prove", &proof).expect_error(401, "UNAUTHORIZED");
}

fn a_proof_works_once_and_for_one_deployment_and_in_its_time(suite: &Suite) {
    let (sdk, body) = owner();
    let client = suite.client();
    let deployment = deployment_id(&client);
    let with = |proof: Value| {
        let mut body = body.clone();
        body["proof"] = proof;
        body
    };
    let bad = [
        proof(&client, &sdk, &body, Some("another-deployment")),
        // A proof about other keys.
        proof(&client, &sdk, &copied(&body), None),
        {
            let mut late = proof(&client, &sdk, &body, None);
            late["timestamp"] = "2020-01-01T00:00:00Z".into();
            late
        },
        {
            let mut short = proof(&client, &sdk, &body, None);
            short["nonce"] = "short".into();
            short
        },
        json!({ "timestamp": client.now().to_string(), "nonce": "0123456789abcdef", "signature": base64(&[1; 64]) }),
        json!({ "timestamp": client.now().to_string() }),
    ];
    for proof in bad {
        client.post("/v1/agent/register", &with(proof)).expect_error(400, "BAD_REQUEST");
    }
    // The service itself proves the keys that it makes.
    client
        .post("/v1/agent/register", &json!({ "proof": proof(&client, &sdk, &body, None) }))
        .expect_error(400, "BAD_REQUEST");
    assert_eq!(client.status(&format!("/v1/agent/identity/{}", sdk.did)), 404);
    register(suite, &with(proof(&client, &sdk, &body, Some(&deployment))));
    holds(suite, &sdk.did, &body, "proved");
}

fn a_recorded_registration_with_a_proof_gives_nobody_another_api_key(suite: &Suite) {
    let (sdk, body) = owner();
    let recorded = proved(suite, &sdk, &body);
    let owner = register(suite, &recorded);
    refused(suite, &recorded);
    // The recorded proof is also refused after the owner left.
    owner.client.delete("/v1/agent/deactivate").expect(200);
    refused(suite, &recorded);
}

fn nobody_displaces_a_proved_registration(suite: &Suite) {
    let (sdk, body) = owner();
    let owner = register(suite, &proved(suite, &sdk, &body));
    for other in [made_up(&body), copied(&body), without_prekey(&copied(&body)), body.clone()] {
        refused(suite, &other);
    }
    let mut other = copied(&body);
    other["proof"] = proof(&suite.client(), &sdk, &other, None);
    refused(suite, &other);
    owner.client.get("/v1/agent/profile").expect(200);
    holds(suite, &sdk.did, &body, "proved");
}

fn what_a_displaced_registration_had_ends_and_what_it_wrote_is_marked(suite: &Suite) {
    let client = suite.client();
    let (sdk, body) = owner();
    let name = format!("Taken {}", unique());
    let mut copy = copied(&body);
    copy["name"] = name.clone().into();
    let attacker = register(suite, &copy);
    let friend = Agent::server_side(&client);
    friend.say(&attacker.did, "secret");
    let hook = json!({ "webhook_url": "https://example.com/hook" });
    attacker.client.post("/v1/agent/webhooks", &hook).expect(201);
    let channel = public(&friend);
    join(&attacker, &channel).expect(200);
    post(&attacker, &channel, "false").expect(201);
    let posts = format!("/v1/agent/channels/{channel}/messages");

    let owner = register(suite, &proved(suite, &sdk, &body));
    ended(&attacker);
    assert_eq!(owner.everything(), Vec::<Value>::new());
    assert_eq!(owner.unread_count(), 0);
    assert_eq!(owner.client.get("/v1/agent/webhooks").expect(200)["webhooks"], json!([]));
    assert_eq!(owner.client.get("/v1/agent/profile").expect(200)["name"], Value::Null);
    client.post("/v1/agent/register", &json!({ "name": name })).expect(201);
    let marked = client.until(|| {
        let page = friend.client.get(&posts).expect(200);
        let post = page["messages"][0].clone();
        (post["before_proof"] == true).then_some(post)
    });
    assert_eq!(marked["content"], "false");
    post(&owner, &channel, "no member").expect_error(403, "FORBIDDEN");
}

fn posts_of_a_registration_that_is_gone_are_marked_in_channels_that_it_had_left_too(suite: &Suite) {
    let client = suite.client();
    for way in ["leave", "deactivate", "erase"] {
        for attack in [made_up, copied] {
            let (sdk, body) = owner();
            let attacker = register(suite, &attack(&body));
            let friend = Agent::server_side(&client);
            let channel = public(&friend);
            join(&attacker, &channel).expect(200);
            post(&attacker, &channel, "false").expect(201);
            match way {
                "leave" => leave(&attacker, &channel).expect(200),
                "deactivate" => attacker.client.delete("/v1/agent/deactivate").expect(200),
                _ => client.admin().delete(&format!("/v1/admin/agents/{}", sdk.did)).expect(200),
            };
            let owner = register(suite, &proved(suite, &sdk, &body));
            assert_eq!(owner.did, attacker.did);
            join(&owner, &channel).expect(200);
            post(&owner, &channel, "true").expect(201);
            // The mark comes by a message to the channel; only the attacker's posts get it.
            let expected = vec![("false".to_owned(), true), ("true".to_owned(), false)];
            client.until(|| (marks(&friend, &channel) == expected).then_some(()));
        }
    }
}

/// The posts of a channel in the order of texts, each with its mark `before_proof`.
fn marks(reader: &Agent, channel: &str) -> Vec<(String, bool)> {
    let page = reader.client.get(&format!("/v1/agent/channels/{channel}/messages")).expect(200);
    let posts = page["messages"].as_array().unwrap().iter();
    let marked = posts.map(|post| (post["content"].as_str().unwrap().to_owned(), post["before_proof"] == true));
    let mut marked: Vec<(String, bool)> = marked.collect();
    marked.sort();
    marked
}

fn eight_silent_registrations_of_different_keys_wait_and_no_more(suite: &Suite) {
    let (sdk, body) = owner();
    let first = register(suite, &without_prekey(&body));
    refused(suite, &without_prekey(&body));
    let others: Vec<Agent> = (0..7).map(|_| register(suite, &made_up(&body))).collect();
    refused(suite, &made_up(&body));
    for other in &others {
        assert_eq!(other.client.get("/v1/agent/profile").expect(200)["waiting"], true);
    }
    holds(suite, &sdk.did, &body, "silent");
    first.client.post("/v1/agent/prove", &proof(&suite.client(), &sdk, &body, None)).expect(200);
    others.iter().for_each(ended);
    holds(suite, &sdk.did, &body, "proved");
}

fn a_stolen_api_key_that_deactivates_ends_nothing_for_the_proved_key(suite: &Suite) {
    let (sdk, body) = owner();
    let owner = register(suite, &proved(suite, &sdk, &body));
    owner.client.delete("/v1/agent/deactivate").expect(200);
    for other in [made_up(&body), copied(&body), body.clone()] {
        refused(suite, &other);
    }
    let again = register(suite, &proved(suite, &sdk, &body));
    assert_eq!(again.did, sdk.did);
    ended(&owner);
    let identity = holds(suite, &sdk.did, &body, "proved");
    assert_eq!(identity["status"], "active");
}

fn a_squatter_that_is_suspended_or_erased_does_not_bind_the_did(suite: &Suite) {
    let admin = suite.client().admin();
    for act in ["suspend", "erase"] {
        for prekey in [true, false] {
            let (sdk, body) = owner();
            let squatter = register(suite, &made_up(&body));
            let path = format!("/v1/admin/agents/{}", sdk.did);
            match act {
                "suspend" => admin.post(&format!("{path}/suspend"), &json!({ "reason": "squatter" })).expect(200),
                _ => admin.delete(&path).expect(200),
            };
            let body = if prekey { body } else { without_prekey(&body) };
            let owner = register(suite, &body);
            ended(&squatter);
            let profile = owner.client.get("/v1/agent/profile").expect(200);
            assert_eq!(profile["signing_public_key"], body["signing_public_key"], "{act} {prekey}");
            owner.client.post("/v1/agent/prove", &proof(&suite.client(), &sdk, &body, None)).expect(200);
            holds(suite, &sdk.did, &body, "proved");
        }
    }
    // For a proved registration the DID is erased.
    let (sdk, body) = owner();
    register(suite, &proved(suite, &sdk, &body));
    admin.delete(&format!("/v1/admin/agents/{}", sdk.did)).expect(200);
    refused(suite, &proved(suite, &sdk, &body));
}

fn a_did_document_has_proved_keys_only(suite: &Suite) {
    let (sdk, body) = owner();
    let agent = register(suite, &body);
    let path = format!("/.well-known/did/{}", sdk.did);
    let document = suite.client().get(&path).expect(200);
    for member in ["verificationMethod", "authentication", "assertionMethod", "keyAgreement", "alsoKnownAs"] {
        assert_eq!(document[member], json!([]), "{member}");
    }
    agent.client.post("/v1/agent/prove", &proof(&suite.client(), &sdk, &body, None)).expect(200);
    let document = suite.client().get(&path).expect(200);
    assert_eq!(document["verificationMethod"].as_array().unwrap().len(), 2);
    assert_eq!(document["authentication"].as_array().unwrap().len(), 1);
}

fn an_owner_wins_the_race_against_attackers_and_inherits_nothing(suite: &Suite) {
    // The owner may register before an attacker wrote anything, so races are repeated until one was close.
    let mut race = Race::default();
    for _ in 0..20 {
        race += races::run(&|| suite.client(), 4);
        if race.written > 0 {
            break;
        }
    }
    assert!(race.registered > 0 && race.written > 0, "no race: {race:?}");
    assert_eq!((race.lost, race.left, race.open), (0, 0, 0), "{race:?}");
}
