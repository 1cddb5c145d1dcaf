//! Sending messages: both routes, their answers, and the messages that arrive (relay 5.1, 5.2, 5.5).

use std::time::Duration;

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::relay::{Agent, SdkAgent, actor_id, base64, bytes, letter, look_up, micros, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_message_arrives_with_every_field,
    an_encrypted_message_arrives_byte_for_byte,
    a_missing_or_null_envelope_stays_null,
    metadata_that_was_not_sent_is_not_invented,
    a_message_id_names_the_mailbox_and_hides_its_traffic,
    the_largest_message_of_the_sdk_is_carried,
    a_signature_has_32_or_64_bytes_and_a_nonce_24,
    a_wrong_signature_is_carried_for_the_recipient_to_judge,
    an_exact_repeat_is_answered_with_the_first_id,
    an_exact_repeat_is_known_after_the_message_is_gone,
    the_same_nonce_and_signature_of_another_sender_is_another_message,
    an_idempotency_key_makes_send_repeatable,
    a_message_has_at_most_65536_characters_of_any_kind,
    a_ttl_is_from_1_to_604800_seconds,
    an_expired_message_is_gone_at_once,
    an_agent_may_write_to_itself,
    an_unknown_recipient_is_404,
    a_client_side_agent_cannot_use_send,
    a_server_side_agent_may_use_send_encrypted,
    sender_keys_are_those_of_the_time_of_sending,
    required_members_are_required,
];

fn a_message_arrives_with_every_field(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let body = json!({
        "to": b.did,
        "message": "{\"question\": \"why?\"}",
        "content_type": "application/json",
        "message_type": "rpc-request",
        "thread_id": "conv-1-abc",
        "reply_to": "some-id",
        "ttl": 3600,
    });
    let sent = a.client.post("/v1/agent/send", &body).expect(201);
    assert_eq!((&sent["from"], &sent["to"]), (&json!(a.did), &json!(b.did)));
    assert_eq!((&sent["encrypted"], &sent["client_side"]), (&json!(true), &json!(false)));
    assert_eq!(micros(&sent["expires_at"]) - micros(&sent["timestamp"]), 3_600_000_000);

    let item = b.inbox().remove(0);
    for member in ["id", "from", "to", "timestamp", "expires_at"] {
        assert_eq!(item[member], sent[member], "{member}");
    }
    for member in ["content_type", "message_type", "thread_id", "reply_to"] {
        assert_eq!(item[member], body[member], "{member}");
    }
    assert_eq!(item["content"], body["message"]);
    assert_eq!(item["signature_valid"], true);

    let plain = a.client.post("/v1/agent/send", &json!({ "to": b.did, "message": "x", "thread_id": null })).expect(201);
    assert_eq!(micros(&plain["expires_at"]) - micros(&plain["timestamp"]), 86_400_000_000);
    let item = b.inbox().remove(1);
    assert_eq!((&item["content_type"], &item["message_type"]), (&json!("text/plain"), &json!("text")));
    assert_eq!((&item["thread_id"], &item["reply_to"]), (&Value::Null, &Value::Null));
}

fn an_encrypted_message_arrives_byte_for_byte(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (SdkAgent::new(&client, Options::default()).agent, SdkAgent::new(&client, Options::default()).agent);
    // An envelope is opaque: unusual spacing, escapes, or no JSON at all.
    let envelopes = [
        "{\"from\":\"x\",  \"b\" : 1e400, \"b\":2, \"u\":\"\\u00e4\u{e4}\u{1f600}\"}\n",
        "no json \u{0}\u{1f}\u{7f} \\ \" / \u{2028}",
        " ",
        "{}",
    ];
    for envelope in envelopes {
        let mut body = letter(&b.did, "ciphertext");
        body["envelope"] = json!(envelope);
        body["content_type"] = json!("application/x-thing; a=\"b\"");
        body["message_type"] = json!("alert");
        body["thread_id"] = json!("any caller text \u{e4} %2F / ?");
        body["reply_to"] = json!("earlier");
        let sent = a.client.post("/v1/agent/send/encrypted", &body).expect(201);
        assert_eq!((&sent["from"], &sent["to"]), (&json!(a.did), &json!(b.did)));
        assert_eq!((&sent["encrypted"], &sent["client_side"]), (&json!(true), &json!(true)));
        let item = b.items("/v1/agent/receive/raw?unread=false").pop().unwrap();
        for member in ["id", "from", "to", "timestamp", "expires_at"] {
            assert_eq!(item[member], sent[member], "{member}");
        }
        let echoed =
            ["ciphertext", "nonce", "signature", "envelope", "content_type", "message_type", "thread_id", "reply_to"];
        for member in echoed {
            assert_eq!(item[member], body[member], "{member}");
        }
        assert_eq!(item["sender_signing_key"], a.registration["signing_public_key"]);
        assert_eq!(item["sender_encryption_key"], a.registration["encryption_public_key"]);
    }
}

fn a_missing_or_null_envelope_stays_null(suite: &Suite) {
    let client = suite.client();
    let a = SdkAgent::new(&client, Options::default()).agent;
    let mut with_null = letter(&a.did, "x");
    for member in ["envelope", "content_type", "message_type", "thread_id", "reply_to", "ttl"] {
        with_null[member] = Value::Null;
    }
    for body in [letter(&a.did, "x"), with_null] {
        a.client.post("/v1/agent/send/encrypted", &body).expect(201);
    }
    for item in a.raw() {
        assert_eq!((&item["envelope"], &item["thread_id"]), (&Value::Null, &Value::Null), "{item}");
        assert_eq!(micros(&item["expires_at"]) - micros(&item["timestamp"]), 86_400_000_000);
    }
    let mut object = letter(&a.did, "x");
    object["envelope"] = json!({ "from": a.did });
    a.client.post("/v1/agent/send/encrypted", &object).expect_error(400, "BAD_REQUEST");
}

fn metadata_that_was_not_sent_is_not_invented(suite: &Suite) {
    // A sealed message shows no type and no thread outside; its sender and keys are the real ones (relay 5.6).
    let client = suite.client();
    let b = SdkAgent::new(&client, Options::default());
    let mut a = SdkAgent::new(&client, Options { sealed: true, ..Options::default() });
    a.say(&b.agent.did, "hush");
    let item = b.agent.raw().remove(0);
    assert_eq!(item["from"], json!(a.agent.did));
    assert_eq!(item["sender_encryption_key"], a.agent.registration["encryption_public_key"]);
    assert_eq!((&item["thread_id"], &item["reply_to"]), (&Value::Null, &Value::Null));
    assert!([Value::Null, json!("text/plain")].contains(&item["content_type"]), "{item}");
    assert!([Value::Null, json!("text")].contains(&item["message_type"]), "{item}");
}

/// Decision ids-lead-to-actors.
fn a_message_id_names_the_mailbox_and_hides_its_traffic(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let actor = actor_id(&bytes(&b.registration["signing_public_key"])[..16]);
    let ids: Vec<String> = (0..3).map(|_| a.say(&b.did, "x")).collect();
    for id in &ids {
        assert_eq!(id[..22], actor, "the mailbox is the recipient's");
        assert_eq!(id.len(), 22 + 1 + 16, "96 random bits in base64url: {id}");
        assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{id}");
    }
    // The ids are random, so that no common beginning allows counting messages.
    assert_ne!(ids[0][23..29], ids[1][23..29]);
    assert_ne!(ids[1][23..29], ids[2][23..29]);
}

fn the_largest_message_of_the_sdk_is_carried(suite: &Suite) {
    let client = suite.client();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    let largest = "m".repeat(65_535);
    let posted = a.compose(&b.agent.did, &largest, Default::default());
    assert_eq!(posted.ciphertext.len(), 174_792);
    a.post(&posted).expect(201);
    assert_eq!(b.texts(), [largest]);

    let mut huge = letter(&b.agent.did, "x");
    huge["ciphertext"] = json!("AAAA".repeat(66_000));
    a.agent.client.post("/v1/agent/send/encrypted", &huge).expect_error(413, "PAYLOAD_TOO_LARGE");
}

fn a_signature_has_32_or_64_bytes_and_a_nonce_24(suite: &Suite) {
    let client = suite.client();
    let a = SdkAgent::new(&client, Options::default()).agent;
    for length in [32, 64] {
        let mut body = letter(&a.did, "x");
        body["signature"] = json!(base64(&vec![unique() as u8; length]));
        a.client.post("/v1/agent/send/encrypted", &body).expect(201);
    }
    for (member, length) in [("signature", 0), ("signature", 31), ("signature", 65), ("nonce", 23), ("nonce", 25)] {
        let mut body = letter(&a.did, "x");
        body[member] = json!(base64(&vec![7; length]));
        a.client.post("/v1/agent/send/encrypted", &body).expect_error(400, "BAD_REQUEST");
    }
    // Text on which a client's decoder would fail must not get into a mailbox.
    for member in ["ciphertext", "nonce", "signature"] {
        let mut body = letter(&a.did, "xyzw");
        let good = text(&body, member).to_owned();
        for bad in [good.replace('=', ""), format!("-_{}", &good[2..]), format!("{good}\n"), "====".into()] {
            if bad != good {
                body[member] = json!(bad);
                a.client.post("/v1/agent/send/encrypted", &body).expect_error(400, "BAD_REQUEST");
            }
        }
    }
    assert_eq!(a.raw().len(), 2);
}

fn a_wrong_signature_is_carried_for_the_recipient_to_judge(suite: &Suite) {
    let client = suite.client();
    let (mut a, b) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    let mut posted = a.compose(&b.did, "who wrote this?", Default::default());
    posted.signature = base64(&[1; 64]);
    a.post(&posted).expect(201);
    let item = b.inbox().remove(0);
    assert_eq!(item["content"], "who wrote this?");
    assert_eq!(item["signature_valid"], false);
}

/// Decision message-repeats.
fn an_exact_repeat_is_answered_with_the_first_id(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (SdkAgent::new(&client, Options::default()).agent, SdkAgent::new(&client, Options::default()).agent);
    let body = letter(&b.did, "once");
    let first = a.client.post("/v1/agent/send/encrypted", &body).expect(201);
    a.client.post("/v1/agent/send/encrypted", &letter(&b.did, "between")).expect(201);
    for _ in 0..2 {
        let again = a.client.post("/v1/agent/send/encrypted", &body).expect(201);
        assert_eq!((&again["id"], &again["timestamp"]), (&first["id"], &first["timestamp"]));
    }
    assert_eq!(b.raw().len(), 2);
}

/// Decision message-repeats.
fn an_exact_repeat_is_known_after_the_message_is_gone(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (SdkAgent::new(&client, Options::default()).agent, SdkAgent::new(&client, Options::default()).agent);
    let (deleted, read, mut expired) = (letter(&b.did, "deleted"), letter(&b.did, "read"), letter(&b.did, "expired"));
    expired["ttl"] = json!(1);
    let ids: Vec<Value> = [&deleted, &read, &expired]
        .into_iter()
        .map(|body| a.client.post("/v1/agent/send/encrypted", body).expect(201)["id"].clone())
        .collect();
    b.client.delete(&format!("/v1/agent/messages/{}", ids[0].as_str().unwrap())).expect(200);
    b.mark_read(ids[1].as_str().unwrap());
    client.wait(Duration::from_millis(1_300));
    for (body, id) in [&deleted, &read, &expired].into_iter().zip(&ids) {
        assert_eq!(&a.client.post("/v1/agent/send/encrypted", body).expect(201)["id"], id);
    }
    assert_eq!(b.unread_count(), 0, "a repeat must not bring a message back");
    assert_eq!(b.everything().len(), 1);
}

/// Decision message-repeats.
fn the_same_nonce_and_signature_of_another_sender_is_another_message(suite: &Suite) {
    let client = suite.client();
    let agents: Vec<Agent> = (0..3).map(|_| Agent::server_side(&client)).collect();
    let mut body = letter(&agents[2].did, "mine");
    let id = |answer: Value| answer["id"].clone();
    let one = id(agents[0].client.post("/v1/agent/send/encrypted", &body).expect(201));
    let two = id(agents[1].client.post("/v1/agent/send/encrypted", &body).expect(201));
    assert_ne!(one, two);
    // The same nonce and signature from the same sender to another recipient.
    body["to"] = json!(agents[1].did);
    let three = id(agents[0].client.post("/v1/agent/send/encrypted", &body).expect(201));
    assert_ne!(one, three);
    assert_eq!((agents[2].raw().len(), agents[1].raw().len()), (2, 1));
}

/// Decision message-repeats.
fn an_idempotency_key_makes_send_repeatable(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let body = json!({ "to": b.did, "message": "pay 5" });
    let send = |sender: &Agent, key: &str| {
        sender.client.with("idempotency-key", key).post("/v1/agent/send", &body).expect(201)["id"].clone()
    };
    let first = send(&a, "order-1");
    b.client.delete(&format!("/v1/agent/messages/{}", first.as_str().unwrap())).expect(200);
    assert_eq!(send(&a, "order-1"), first);
    assert_ne!(send(&a, "order-2"), first);
    assert_ne!(send(&Agent::server_side(&client), "order-1"), first, "keys belong to their sender");
    assert_ne!(a.say(&b.did, "pay 5"), a.say(&b.did, "pay 5"), "without a key each send is one message");
    assert_eq!(b.inbox().len(), 4);
}

/// Decision request-size-limits.
fn a_message_has_at_most_65536_characters_of_any_kind(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    for character in ["a", "\u{e4}", "\u{20ac}", "\u{1f600}"] {
        let longest = character.repeat(65_536);
        a.say(&b.did, &longest);
        let item = b.inbox().remove(0);
        assert_eq!(text(&item, "content").chars().count(), 65_536);
        assert_eq!(text(&item, "content"), longest);
        b.mark_read(text(&item, "id"));
        let body = json!({ "to": b.did, "message": format!("{longest}{character}") });
        a.client.post("/v1/agent/send", &body).expect_error(413, "PAYLOAD_TOO_LARGE");
    }
    // With escapes, the same emoji are 786 KB of JSON.
    let escaped = format!("{{\"to\":\"{}\",\"message\":\"{}\"}}", b.did, "\\ud83d\\ude00".repeat(65_536));
    a.client.send("POST", "/v1/agent/send", Some("application/json"), escaped.as_bytes()).expect(201);
    assert_eq!(text(&b.inbox()[0], "content"), "\u{1f600}".repeat(65_536));
    assert_eq!(b.unread_count(), 1);
}

/// Decision request-size-limits.
fn a_ttl_is_from_1_to_604800_seconds(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let routes =
        [("/v1/agent/send", json!({ "to": b.did, "message": "x" })), ("/v1/agent/send/encrypted", letter(&b.did, "x"))];
    for (route, body) in routes {
        let with = |ttl: Value| {
            let mut body = body.clone();
            body["ttl"] = ttl;
            if route.ends_with("encrypted") {
                body["nonce"] = letter(&b.did, "x")["nonce"].clone();
            }
            a.client.post(route, &body)
        };
        for ttl in [1, 60, 86_400, 604_800] {
            let sent = with(json!(ttl)).expect(201);
            assert_eq!(micros(&sent["expires_at"]) - micros(&sent["timestamp"]), ttl * 1_000_000);
        }
        let wrong = [json!(0), json!(-1), json!(604_801), json!(1e18), json!("60"), json!(60.5), json!(true)];
        for ttl in wrong {
            with(ttl).expect_error(400, "BAD_REQUEST");
        }
    }
}

fn an_expired_message_is_gone_at_once(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), Agent::server_side(&client));
    let body = json!({ "to": b.did, "message": "brief", "ttl": 1 });
    let brief = a.client.post("/v1/agent/send", &body).expect(201)["id"].as_str().unwrap().to_owned();
    let lasting = a.say(&b.did, "lasting");
    client.wait(Duration::from_millis(1_200));
    let ids = |items: Vec<Value>| items.iter().map(|item| text(item, "id").to_owned()).collect::<Vec<_>>();
    assert_eq!(ids(b.inbox()), [lasting.as_str()]);
    assert_eq!(ids(b.everything()), [lasting.as_str()]);
    assert_eq!(b.unread_count(), 1);
    let path = format!("/v1/agent/messages/{brief}/read");
    b.client.send("POST", &path, None, b"").expect_error(404, "NOT_FOUND");
    b.client.delete(&format!("/v1/agent/messages/{brief}")).expect_error(404, "NOT_FOUND");
}

fn an_agent_may_write_to_itself(suite: &Suite) {
    let client = suite.client();
    let a = Agent::server_side(&client);
    a.say(&a.did, "note to self");
    assert_eq!(a.inbox()[0]["content"], "note to self");
    let mut sdk = SdkAgent::new(&client, Options::default());
    let own = sdk.agent.did.clone();
    sdk.say(&own, "cover traffic");
    assert_eq!(sdk.texts(), ["cover traffic"]);
}

fn an_unknown_recipient_is_404(suite: &Suite) {
    let client = suite.client();
    let a = Agent::server_side(&client);
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    a.client.post("/v1/agent/send", &json!({ "to": nobody, "message": "x" })).expect_error(404, "NOT_FOUND");
    a.client.post("/v1/agent/send/encrypted", &letter(&nobody, "x")).expect_error(404, "NOT_FOUND");
    for wrong in ["", "x", "did:svc:", "did:key:z6Mk", "did:svc:\u{1f600}"] {
        let answer = a.client.post("/v1/agent/send", &json!({ "to": wrong, "message": "x" }));
        assert!([400, 404].contains(&answer.status), "{wrong}: {}", answer.status);
    }
}

fn a_client_side_agent_cannot_use_send(suite: &Suite) {
    let client = suite.client();
    let (sdk, b) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    let body = json!({ "to": b.did, "message": "the service has no keys of mine" });
    sdk.agent.client.post("/v1/agent/send", &body).expect_error(400, "BAD_REQUEST");
    assert_eq!(b.raw().len(), 0);
}

fn a_server_side_agent_may_use_send_encrypted(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Agent::server_side(&client), SdkAgent::new(&client, Options::default()).agent);
    let body = letter(&b.did, "x");
    a.client.post("/v1/agent/send/encrypted", &body).expect(201);
    assert_eq!(b.raw()[0]["sender_encryption_key"], a.registration["encryption_public_key"]);
}

fn sender_keys_are_those_of_the_time_of_sending(suite: &Suite) {
    // The only change of keys without rotation: a proved registration replaces an unproven one.
    let client = suite.client();
    let reader = Agent::server_side(&client);
    let owner = Sdk::new("svc", seed(), Options::default());
    let other = Sdk::new("svc", seed(), Options::default()).key_body(None, 1);
    let first_body = json!({
        "signing_public_key": owner.key_body(None, 1)["signing_public_key"],
        "encryption_public_key": other["encryption_public_key"],
    });
    let first = Agent::register(&client, &first_body);
    first.client.post("/v1/agent/send/encrypted", &letter(&reader.did, "old")).expect(201);
    let second = Agent::register(&client, &owner.key_body(None, 1));
    second.client.post("/v1/agent/send/encrypted", &letter(&reader.did, "new")).expect(201);
    let items = reader.raw();
    assert_eq!(items[0]["sender_encryption_key"], first_body["encryption_public_key"]);
    assert_eq!(items[1]["sender_encryption_key"], owner.key_body(None, 1)["encryption_public_key"]);
    assert_eq!(look_up(&client, &owner.did).encryption_key.to_vec(), bytes(&items[1]["sender_encryption_key"]));
}

fn required_members_are_required(suite: &Suite) {
    let client = suite.client();
    let a = Agent::server_side(&client);
    let plain = json!({ "to": a.did, "message": "x" });
    for (route, body) in [("/v1/agent/send", plain), ("/v1/agent/send/encrypted", letter(&a.did, "x"))] {
        for member in body.as_object().unwrap().keys() {
            for instead in [None, Some(Value::Null), Some(json!(1))] {
                let mut body = body.clone();
                match instead {
                    None => drop(body.as_object_mut().unwrap().remove(member)),
                    Some(value) => body[member] = value,
                }
                a.client.post(route, &body).expect_error(400, "BAD_REQUEST");
            }
        }
        a.client.send("POST", route, Some("application/json"), b"").expect_error(400, "BAD_REQUEST");
    }
    assert_eq!(a.unread_count(), 0);
}
