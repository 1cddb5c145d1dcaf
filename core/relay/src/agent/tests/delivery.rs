use super::*;
use crate::Timestamp;

#[test]
fn a_text_travels_from_one_agent_to_another_and_reading_marks_nothing() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let body = json!({ "to": bob.did, "message": "Gruess Gott \u{1F600}", "content_type": "application/json",
        "message_type": "task", "thread_id": "t", "reply_to": null, "ttl": 60 });
    let sent = world.post("/v1/agent/send", &ada.key, body).expect(201);
    assert_eq!((&sent["from"], &sent["to"]), (&json!(ada.did), &json!(bob.did)));
    assert_eq!((&sent["encrypted"], &sent["client_side"]), (&json!(true), &json!(false)));
    assert_eq!(sent["timestamp"], "2026-01-01T00:00:00.000000Z");
    assert_eq!(sent["expires_at"], "2026-01-01T00:01:00.000000Z");
    for _ in 0..2 {
        let page = world.get("/v1/agent/receive", &bob.key).expect(200);
        assert_eq!((&page["count"], &page["has_more"]), (&json!(1), &json!(false)));
        let message = &page["messages"][0];
        for field in ["id", "from", "to", "timestamp", "expires_at"] {
            assert_eq!(message[field], sent[field], "{field}");
        }
        assert_eq!(message["content"], "Gruess Gott \u{1F600}");
        assert_eq!(message["content_type"], "application/json");
        assert_eq!(message["message_type"], "task");
        assert_eq!(message["thread_id"], "t");
        assert_eq!(message["reply_to"], Value::Null);
        assert_eq!(message["signature_valid"], true);
    }
}

#[test]
fn defaults_of_a_message_are_those_of_the_interface() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let sent = world.send(&ada, &ada.did, "to myself");
    assert_eq!(sent["expires_at"], "2026-01-02T00:00:00.000000Z");
    let page = world.get("/v1/agent/receive", &ada.key).expect(200);
    assert_eq!(page["messages"][0]["content_type"], "text/plain");
    assert_eq!(page["messages"][0]["message_type"], "text");
    assert_eq!(page["messages"][0]["content"], "to myself");
}

#[test]
fn fact_5_and_7_an_envelope_comes_back_byte_for_byte_and_base64_is_standard() {
    let world = World::new();
    let (mut ada, ada_key) = world.client(1, Options::default());
    let bob = world.server_agent("Bob");
    let mut posted = serde_json::to_value(
        ada.send(&world.peer(&bob.did), "2026-01-01T00:00:00.000Z", "x", Default::default()).unwrap(),
    )
    .unwrap();
    let odd = " {\"a\": \"\u{e9}\\u00e9\\/\",\n\"z\":1}\u{7f} ";
    posted["envelope"] = odd.into();
    world.post("/v1/agent/send/encrypted", &ada_key.key, posted.clone()).expect(201);
    let message = &world.messages(&bob, "")[0];
    assert_eq!(message["envelope"], odd);
    for field in ["ciphertext", "nonce", "signature"] {
        assert_eq!(message[field], posted[field]);
    }
    // The envelope cannot be opened: the message is there with empty content, and the call does not fail.
    let page = world.get("/v1/agent/receive", &bob.key).expect(200);
    assert_eq!((&page["messages"][0]["content"], &page["messages"][0]["decrypted"]), (&json!(""), &json!(false)));
    posted["envelope"] = json!({ "an": "object" });
    world.post("/v1/agent/send/encrypted", &ada_key.key, posted.clone()).refused(400, "BAD_REQUEST");
    posted["envelope"] = Value::Null;
    posted["nonce"] = crypto::encoding::encode_base64(&[1; 24]).into();
    world.post("/v1/agent/send/encrypted", &ada_key.key, posted).expect(201);
    assert_eq!(world.messages(&bob, "")[1]["envelope"], Value::Null);
}

#[test]
fn fact_8_signatures_of_64_and_32_bytes_are_stored_unverified() {
    let world = World::new();
    let (_, ada) = world.client(1, Options::default());
    let bob = world.server_agent("Bob");
    let encode = |n: usize| crypto::encoding::encode_base64(&vec![3; n]);
    let body =
        |n: usize| json!({ "to": bob.did, "ciphertext": encode(40), "nonce": encode(24), "signature": encode(n) });
    for n in [64, 32] {
        world.post("/v1/agent/send/encrypted", &ada.key, body(n)).expect(201);
    }
    for n in [0, 31, 33, 63, 65] {
        world.post("/v1/agent/send/encrypted", &ada.key, body(n)).refused(400, "BAD_REQUEST");
    }
    let messages = world.messages(&bob, "");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["envelope"], Value::Null);
    assert!(messages[0]["sender_signing_key"].is_string() && messages[0]["sender_encryption_key"].is_string());
}

#[test]
fn fact_6_messages_come_oldest_first_with_distinct_stamps_and_pages_meet() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let ids: Vec<Value> = (0..7).map(|n| world.send(&ada, &bob.did, &n.to_string())["id"].clone()).collect();
    let mut seen = Vec::new();
    let mut since = String::new();
    loop {
        let page = world.get(&format!("/v1/agent/receive/raw?limit=3&since={since}"), &bob.key).expect(200);
        let messages = page["messages"].as_array().unwrap();
        seen.extend(messages.iter().map(|m| m["id"].clone()));
        if page["has_more"] == false {
            break;
        }
        since = messages.last().unwrap()["timestamp"].as_str().unwrap().to_owned();
        assert_eq!(page["next_since"], since);
    }
    assert_eq!(seen, ids);
}

/// Decision message-stamps.
#[test]
fn stamps_are_six_digits_increase_and_since_is_read_not_compared() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    for n in 0..3 {
        world.send(&ada, &bob.did, &n.to_string());
    }
    let stamps: Vec<String> =
        world.messages(&bob, "").iter().map(|m| m["timestamp"].as_str().unwrap().to_owned()).collect();
    assert_eq!(stamps, [0, 1, 2].map(|n| format!("2026-01-01T00:00:00.00000{n}Z")));
    // The mailbox's stamps differ from the clock only as far as necessary.
    world.wait(1);
    world.send(&ada, &bob.did, "3");
    assert_eq!(world.messages(&bob, "")[3]["timestamp"], "2026-01-01T00:00:01.000000Z");
    let after = |since: &str| world.messages(&bob, &format!("since={since}")).len();
    assert_eq!(after("2026-01-01T00:00:00.000001Z"), 2);
    assert_eq!(after("2026-01-01T00:00:00.000Z"), 3);
    assert_eq!(after("2026-01-01T00:00:00Z"), 3);
    assert_eq!(after("2026-01-01T01:00:00.000001%2B01:00"), 2);
    assert_eq!(after("2025-12-31"), 4);
    world.get("/v1/agent/receive/raw?since=yesterday", &bob.key).refused(400, "BAD_REQUEST");
    assert!(Timestamp::parse(&stamps[2]).is_some());
}

#[test]
fn fact_9_unread_only_is_the_default_of_both_receives() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let first = world.send(&ada, &bob.did, "read")["id"].as_str().unwrap().to_owned();
    world.send(&ada, &bob.did, "unread");
    let read = world.post(&format!("/v1/agent/messages/{first}/read"), &bob.key, Value::Null).expect(200);
    assert_eq!((&read["read"], &read["already_read"]), (&json!(true), &json!(false)));
    world.wait(5);
    let again = world.post(&format!("/v1/agent/messages/{first}/read"), &bob.key, Value::Null).expect(200);
    assert_eq!((&again["already_read"], &again["read_at"]), (&json!(true), &read["read_at"]));
    assert_eq!(world.texts(&bob), ["unread"]);
    assert_eq!(world.messages(&bob, "").len(), 1);
    assert_eq!(world.messages(&bob, "unread=true").len(), 1);
    assert_eq!(world.messages(&bob, "unread=false").len(), 2);
    assert_eq!(world.get("/v1/agent/receive?unread=false", &bob.key).expect(200)["count"], 2);
    world.get("/v1/agent/receive?unread=maybe", &bob.key).refused(400, "BAD_REQUEST");
}

#[test]
fn every_filter_of_receive_selects_what_it_names() {
    let world = World::new();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let send = |from: &Agent, message: &str, more: Value| {
        let mut body = json!({ "to": bob.did, "message": message });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        world.post("/v1/agent/send", &from.key, body).expect(201)["id"].as_str().unwrap().to_owned()
    };
    send(&ada, "1", json!({ "thread_id": "t" }));
    send(&eve, "2", json!({ "thread_id": "t", "message_type": "ping" }));
    send(&ada, "3", json!({ "thread_id": "u", "content_type": "application/json" }));
    let read = send(&ada, "4", json!({ "thread_id": "t" }));
    world.post(&format!("/v1/agent/messages/{read}/read"), &bob.key, Value::Null).expect(200);
    let found = |query: &str| {
        let page = world.get(&format!("/v1/agent/receive?{query}"), &bob.key).expect(200);
        let texts = page["messages"].as_array().unwrap().iter().map(|m| m["content"].as_str().unwrap().to_owned());
        assert_eq!(world.messages(&bob, query).len(), texts.len());
        texts.collect::<Vec<_>>().concat()
    };
    let (a, e) = (&ada.did, &eve.did);
    assert_eq!(found(""), "123");
    assert_eq!(found(&format!("from={a}")), "13");
    assert_eq!(found(&format!("from={e}&unread=false")), "2");
    assert_eq!(found(&format!("from={a}&unread=false")), "134");
    assert_eq!(found("thread_id=t"), "12");
    assert_eq!(found("thread_id=t&unread=false"), "124");
    assert_eq!(found(&format!("thread_id=t&from={a}&unread=true")), "1");
    assert_eq!(found(&format!("thread_id=t&from={a}&unread=false&limit=100")), "14");
    assert_eq!(found("message_type=ping"), "2");
    assert_eq!(found("message_type=text&unread=false"), "134");
    assert_eq!(found("content_type=text/plain"), "12");
    assert_eq!(found("content_type=application/json&message_type=ping"), "");
    assert_eq!(found("from=nobody"), "");
    assert_eq!(found("thread_id="), "123");
    assert_eq!(found("limit=1000&surprise=1&"), "123");
}

/// Decision request-size-limits.
#[test]
fn characters_are_counted_not_bytes() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let exact = "\u{1F600}".repeat(65_536);
    world.send(&ada, &bob.did, &exact);
    assert_eq!(world.texts(&bob), [exact]);
    // The same text as JSON escapes is 786 KB and still one body.
    let escaped = format!("{{\"to\":\"{}\",\"message\":\"{}\"}}", bob.did, "\\ud83d\\ude00".repeat(65_536));
    world.raw("POST", "/v1/agent/send", &[("x-agent-key", &ada.key)], escaped.as_bytes()).expect(201);
    let body = json!({ "to": bob.did, "message": "x".repeat(65_537) });
    world.post("/v1/agent/send", &ada.key, body).refused(413, "PAYLOAD_TOO_LARGE");
    let body = json!({ "to": bob.did, "message": "x".repeat(1024 * 1024) });
    world.post("/v1/agent/send", &ada.key, body).refused(413, "PAYLOAD_TOO_LARGE");
    for ttl in [json!(0), json!(-1), json!(604_801), json!(1.5), json!("60")] {
        let body = json!({ "to": bob.did, "message": "x", "ttl": ttl });
        world.post("/v1/agent/send", &ada.key, body).refused(400, "BAD_REQUEST");
    }
    for ttl in [1, 604_800] {
        world.post("/v1/agent/send", &ada.key, json!({ "to": bob.did, "message": "x", "ttl": ttl })).expect(201);
    }
}

#[test]
fn the_longest_message_of_the_public_client_fits_and_opens() {
    let world = World::new();
    let (mut ada, key) = world.client(1, Options::default());
    let bob = world.server_agent("Bob");
    let text = "x".repeat(65_535);
    let posted = ada.send(&world.peer(&bob.did), "2026-01-01T00:00:00.000Z", &text, Default::default()).unwrap();
    assert_eq!(posted.ciphertext.len(), 174_792);
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201);
    assert_eq!(world.texts(&bob), [text]);
}

#[test]
fn a_client_side_agent_cannot_have_the_service_encrypt() {
    let world = World::new();
    let (_, ada) = world.client(1, Options::default());
    let body = json!({ "to": ada.did, "message": "x" });
    world.post("/v1/agent/send", &ada.key, body).refused(400, "BAD_REQUEST");
}

#[test]
fn unknown_recipients_are_404_on_both_sends() {
    let world = World::new();
    let ada = world.server_agent("Ada");
    let encode = |n: usize| crypto::encoding::encode_base64(&vec![3; n]);
    for to in [crypto::encoding::did("svc", &[9; 16]), "did:svc:".into(), "nobody".into(), String::new()] {
        world.post("/v1/agent/send", &ada.key, json!({ "to": to, "message": "x" })).refused(404, "NOT_FOUND");
        let body = json!({ "to": to, "ciphertext": encode(40), "nonce": encode(24), "signature": encode(64) });
        world.post("/v1/agent/send/encrypted", &ada.key, body).refused(404, "NOT_FOUND");
    }
}

#[test]
fn marks_of_a_batch_pass_over_ids_that_are_not_there() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    let mine = world.send(&ada, &bob.did, "1")["id"].clone();
    let theirs = world.send(&bob, &ada.did, "2")["id"].clone();
    let body = json!({ "message_ids": [mine, mine, theirs, "nonsense", ""] });
    let answer = world.post("/v1/agent/messages/read-batch", &bob.key, body.clone()).expect(200);
    assert_eq!(answer, json!({ "updated": 1, "marked": 1, "total_requested": 5 }));
    let answer = world.post("/v1/agent/messages/read-batch", &bob.key, body).expect(200);
    assert_eq!(answer["updated"], 0);
    assert_eq!(world.messages(&ada, "").len(), 1);
    let many: Vec<String> = (0..101).map(|n| n.to_string()).collect();
    let body = json!({ "message_ids": many });
    world.post("/v1/agent/messages/read-batch", &bob.key, body).refused(400, "BAD_REQUEST");
    let hundred: Vec<Value> = (0..100).map(|n| world.send(&ada, &bob.did, &n.to_string())["id"].clone()).collect();
    let answer = world.post("/v1/agent/messages/read-batch", &bob.key, json!({ "message_ids": hundred })).expect(200);
    assert_eq!(answer["updated"], 100);
}

#[test]
fn unread_counts_follow_reading_deleting_and_expiry() {
    let world = World::new();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let ids: Vec<String> =
        (0..3).map(|n| world.send(&ada, &bob.did, &n.to_string())["id"].as_str().unwrap().to_owned()).collect();
    world.post("/v1/agent/send", &eve.key, json!({ "to": bob.did, "message": "x", "ttl": 30 })).expect(201);
    let count = |query: &str| world.get(&format!("/v1/agent/messages/unread-count{query}"), &bob.key).expect(200);
    let all = count("");
    assert_eq!(all["unread_count"], 4);
    assert_eq!(all["by_sender"], json!([{ "from": ada.did, "count": 3 }, { "from": eve.did, "count": 1 }]));
    assert_eq!(count(&format!("?from={}", eve.did))["unread_count"], 1);
    assert_eq!(count("?from=nobody")["unread_count"], 0);
    // Messages that have expired and are not purged yet are not counted.
    world.wait(31);
    assert_eq!(count("")["unread_count"], 3);
    assert_eq!(count(&format!("?from={}", eve.did))["by_sender"], json!([]));
    world.wait(60);
    assert_eq!(count("")["unread_count"], 3);
    world.post(&format!("/v1/agent/messages/{}/read", ids[0]), &bob.key, Value::Null).expect(200);
    world.call("DELETE", &format!("/v1/agent/messages/{}", ids[1]), &bob.key, Value::Null).expect(200);
    assert_eq!(count("")["unread_count"], 1);
}

/// Decision foreign-is-404.
#[test]
fn only_sender_and_recipient_delete_and_others_see_404() {
    let world = World::new();
    let (ada, bob, eve) = (world.server_agent("Ada"), world.server_agent("Bob"), world.server_agent("Eve"));
    let path = |sent: &Value| format!("/v1/agent/messages/{}", sent["id"].as_str().unwrap());
    let (first, second) = (path(&world.send(&ada, &bob.did, "1")), path(&world.send(&ada, &bob.did, "2")));
    world.call("DELETE", &first, &eve.key, Value::Null).refused(404, "NOT_FOUND");
    world.post(&format!("{first}/read"), &eve.key, Value::Null).refused(404, "NOT_FOUND");
    world.post(&format!("{first}/read"), &ada.key, Value::Null).refused(404, "NOT_FOUND");
    assert_eq!(world.call("DELETE", &first, &ada.key, Value::Null).expect(200)["deleted"], true);
    assert_eq!(world.call("DELETE", &second, &bob.key, Value::Null).expect(200)["deleted"], true);
    world.call("DELETE", &first, &ada.key, Value::Null).refused(404, "NOT_FOUND");
    world.post(&format!("{second}/read"), &bob.key, Value::Null).refused(404, "NOT_FOUND");
    world.call("DELETE", "/v1/agent/messages/nonsense", &bob.key, Value::Null).refused(404, "NOT_FOUND");
    assert!(world.messages(&bob, "unread=false").is_empty());
}

/// Decision earlier-keys-verify.
#[test]
fn verify_names_the_period_of_the_key() {
    let world = World::new();
    let (ada, bob) = (world.server_agent("Ada"), world.server_agent("Bob"));
    world.send(&ada, &bob.did, "x");
    let message = &world.messages(&bob, "")[0];
    let check = |envelope: &Value, signature: &Value, did: &str| {
        let body = json!({ "envelope": envelope, "signature": signature, "sender_did": did });
        world.post("/v1/agent/verify", "", body)
    };
    let good = check(&message["envelope"], &message["signature"], &ada.did).expect(200);
    assert_eq!((&good["valid"], &good["sender_did"]), (&json!(true), &json!(ada.did)));
    assert_eq!(good["key_period"], json!({ "from": "2026-01-01T00:00:00.000Z", "until": null }));
    let wrong = check(&message["envelope"], &message["signature"], &bob.did).expect(200);
    assert_eq!((&wrong["valid"], &wrong["key_period"]), (&json!(false), &Value::Null));
    let wrong = check(&json!("{}"), &message["signature"], &ada.did).expect(200);
    assert_eq!(wrong["valid"], false);
    let hmac = check(&message["envelope"], &json!(crypto::encoding::encode_base64(&[1; 32])), &ada.did);
    assert_eq!(hmac.expect(200)["valid"], false);
    check(&message["envelope"], &json!("!"), &ada.did).refused(400, "BAD_REQUEST");
    check(&message["envelope"], &message["signature"], "nobody").refused(404, "NOT_FOUND");
}

#[test]
fn sealed_senders_are_stored_without_metadata_and_not_counted() {
    let world = World::new();
    let (mut ada, key) = world.client(1, Options { sealed: true, ..Options::default() });
    let bob = world.server_agent("Bob");
    let meta = crypto::client::Meta { thread_id: Some("t"), message_type: Some("ping"), ..Default::default() };
    let posted = ada.send(&world.peer(&bob.did), "2026-01-01T00:00:00.000Z", "psst", meta).unwrap();
    world.post("/v1/agent/send/encrypted", &key.key, serde_json::to_value(posted).unwrap()).expect(201);
    let raw = &world.messages(&bob, "")[0];
    for field in ["content_type", "message_type", "thread_id", "reply_to"] {
        assert_eq!(raw[field], Value::Null, "{field}");
    }
    assert_eq!(raw["from"], key.did);
    let opened = &world.get("/v1/agent/receive", &bob.key).expect(200)["messages"][0];
    assert_eq!((&opened["content"], &opened["thread_id"]), (&json!("psst"), &json!("t")));
    assert_eq!((&opened["message_type"], &opened["signature_valid"]), (&json!("ping"), &json!(true)));
    assert_eq!(world.get("/v1/agent/profile", &key.key).expect(200)["message_count"], 0);
}
