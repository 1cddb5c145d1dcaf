//! Agents with their own keys, agents whose keys the service holds, and messages between them in every mode of the
//! public TypeScript SDK.

use std::time::{Duration, Instant};

use heliograph_core::crypto::client::{Client as Sdk, Meta, Options};
use heliograph_core::crypto::{Secret, boxes, hash, signing};
use heliograph_tests::relay::{Agent, SdkAgent, bytes, encode, look_up, seed, text, to_raw};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    clients_read_each_other_in_every_mode,
    a_dialogue_that_restarts_its_sessions_stays_readable,
    a_backlog_of_many_sessions_is_readable_in_the_order_of_the_relay,
    the_service_opens_what_clients_write_in_every_mode,
    a_long_session_opens_in_any_order_and_again,
    a_later_message_opens_before_the_first_one_was_read,
    a_session_outlives_a_first_message_that_nobody_read,
    what_is_kept_of_the_sessions_of_one_sender_is_bounded,
    a_session_is_forgotten_after_30_days_of_silence,
    each_sender_and_each_session_opens_beside_the_others,
    a_step_more_than_1000_beyond_the_row_does_not_open_and_costs_nothing,
    a_session_goes_on_over_a_change_of_the_senders_keys,
    the_sealed_members_win_over_the_outer_ones,
    what_does_not_open_is_an_item_without_content,
    the_service_writes_what_clients_read,
    server_texts_that_look_like_a_header_arrive_whole,
    a_dialogue_between_both_kinds_of_agents,
    verify_tells_a_genuine_envelope_from_a_forged_one,
    a_refused_first_message_silences_a_session_until_the_peer_writes,
    a_failed_post_that_is_repeated_loses_nothing,
    a_later_message_may_overtake_in_time_but_not_in_order,
    two_sealed_senders_do_not_mix,
];

/// The modes of the SDK, and combinations that meet in practice.
fn modes() -> Vec<Options> {
    let default = Options::default();
    vec![
        default,
        Options { post_quantum: false, ..default },
        Options { double_ratchet: false, ..default },
        Options { double_ratchet: false, post_quantum: false, ..default },
        Options { padding: false, ..default },
        Options { sealed: true, ..default },
        Options { deniable: true, ..default },
        Options { sealed: true, deniable: true, ..default },
        Options { sealed: true, post_quantum: false, double_ratchet: false, padding: false, ..default },
    ]
}

const TEXTS: [&str; 4] = ["hello", "", "V\u{0} \u{1f600} \u{e4}", "{\"v\":3,\"from\":\"x\",\"msg\":\"y\"}"];

fn clients_read_each_other_in_every_mode(suite: &Suite) {
    let client = suite.client();
    for options in modes() {
        for theirs in [Options::default(), Options { post_quantum: false, ..Options::default() }] {
            let (mut a, mut b) = (SdkAgent::new(&client, options), SdkAgent::new(&client, theirs));
            for text in TEXTS {
                a.say(&b.agent.did, text);
                assert_eq!(b.texts(), [text], "{options:?} to {theirs:?}");
            }
            b.say(&a.agent.did, "back");
            assert_eq!(a.texts(), ["back"], "{options:?}");
            assert_eq!((a.sdk.failures, b.sdk.failures), (0, 0));
        }
    }
}

fn a_dialogue_that_restarts_its_sessions_stays_readable(suite: &Suite) {
    let client = suite.client();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    for round in 0..6 {
        for part in 0..=round % 3 {
            a.say(&b.agent.did, &format!("a {round} {part}"));
        }
        let expected: Vec<String> = (0..=round % 3).map(|part| format!("a {round} {part}")).collect();
        assert_eq!(b.texts(), expected);
        b.say(&a.agent.did, &format!("b {round}"));
        assert_eq!(a.texts(), [format!("b {round}")]);
    }
}

fn a_backlog_of_many_sessions_is_readable_in_the_order_of_the_relay(suite: &Suite) {
    let client = suite.client();
    let mut reader = SdkAgent::new(&client, Options::default());
    let mut senders: Vec<SdkAgent> = modes().into_iter().map(|options| SdkAgent::new(&client, options)).collect();
    let mut expected = Vec::new();
    for round in 0..4 {
        for (at, sender) in senders.iter_mut().enumerate() {
            // Without a new `dh_ratchet_key` a client cannot recognise a new session.
            if round == 2 && sender.sdk.options.double_ratchet {
                sender.sdk.forget_sessions();
            }
            let text = format!("{at} {round}");
            sender.say(&reader.agent.did, &text);
            expected.push(text);
        }
    }
    assert_eq!(reader.texts(), expected);
}

/// Posts a text and reads it through the service's decryption.
#[track_caller]
fn opened_by_service(a: &mut SdkAgent, reader: &Agent, message: &str) -> Value {
    let id = a.say(&reader.did, message);
    let item = reader.inbox().into_iter().find(|item| item["id"] == json!(id)).expect("not in the inbox");
    reader.mark_read(&id);
    item
}

/// Decision server-side-sessions.
fn the_service_opens_what_clients_write_in_every_mode(suite: &Suite) {
    let client = suite.client();
    for options in modes() {
        let (mut a, reader) = (SdkAgent::new(&client, options), Agent::server_side(&client));
        for message in ["first", "second \u{1f600}", "", &"long ".repeat(3_000)] {
            let item = opened_by_service(&mut a, &reader, message);
            assert_eq!(text(&item, "content"), message, "{options:?}");
            assert_eq!(item["signature_valid"], true, "{options:?}");
            assert_eq!(item["from"], json!(a.agent.did));
        }
        a.sdk.forget_sessions();
        assert_eq!(text(&opened_by_service(&mut a, &reader, "a new session"), "content"), "a new session");
    }
}

fn contents(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| text(item, "content")).collect()
}

/// Decision server-side-sessions.
fn a_long_session_opens_in_any_order_and_again(suite: &Suite) {
    let client = suite.client();
    for options in [Options::default(), Options { double_ratchet: false, ..Options::default() }] {
        let (mut a, reader) = (SdkAgent::new(&client, options), Agent::server_side(&client));
        let mut ids = vec![a.say(&reader.did, "m0")];
        assert_eq!(contents(&reader.inbox()), ["m0"]);
        ids.extend((1..30).map(|at| a.say(&reader.did, &format!("m{at}"))));
        let all: Vec<String> = (0..30).map(|at| format!("m{at}")).collect();
        let items = reader.raw();
        // The end before the middle, single messages, and everything twice.
        let since = |at: usize| format!("/v1/agent/receive?since={}", encode(text(&items[at], "timestamp")));
        assert_eq!(contents(&reader.items(&since(24))), all[25..]);
        assert_eq!(contents(&reader.items(&format!("{}&limit=1", since(4)))), all[5..6]);
        for _ in 0..2 {
            assert_eq!(contents(&reader.inbox()), all);
        }
        // The session's row is not deleted with the first message.
        for id in &ids[..10] {
            reader.client.delete(&format!("/v1/agent/messages/{id}")).expect(200);
        }
        a.say(&reader.did, "m30");
        let rest: Vec<String> = (10..31).map(|at| format!("m{at}")).collect();
        assert_eq!(contents(&reader.inbox()), rest);
    }
}

fn a_later_message_opens_before_the_first_one_was_read(suite: &Suite) {
    // An agent that waits for an answer in one thread skips the beginning of a session in another thread.
    let client = suite.client();
    for options in [Options::default(), Options { post_quantum: false, ..Options::default() }] {
        let (mut a, reader) = (SdkAgent::new(&client, options), Agent::server_side(&client));
        let mut post = |thread_id, message: &str| {
            let meta = Meta { thread_id: Some(thread_id), ..Meta::default() };
            let posted = a.compose(&reader.did, message, meta);
            a.post(&posted).expect(201);
        };
        post("news", "first of the session");
        post("question", "the answer");
        assert_eq!(contents(&reader.items("/v1/agent/receive?thread_id=question")), ["the answer"], "{options:?}");
    }
}

fn a_session_outlives_a_first_message_that_nobody_read(suite: &Suite) {
    let client = suite.client();
    for options in [Options::default(), Options { post_quantum: false, ..Options::default() }] {
        let (mut a, reader) = (SdkAgent::new(&client, options), Agent::server_side(&client));
        let first = a.compose(&reader.did, "expired", Meta { ttl: Some(1), ..Meta::default() });
        a.post(&first).expect(201);
        client.wait(Duration::from_millis(1_200));
        a.say(&reader.did, "still here");
        assert_eq!(contents(&reader.inbox()), ["still here"], "{options:?}");
    }
}

fn what_is_kept_of_the_sessions_of_one_sender_is_bounded(suite: &Suite) {
    // A sender may begin any number of sessions with messages that expire at once; 32 beginnings are kept.
    let client = suite.client();
    let (mut a, reader) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    for session in 0..40 {
        a.sdk.forget_sessions();
        for thread in ["first", "second"] {
            let meta = Meta { thread_id: Some(thread), ..Meta::default() };
            let posted = a.compose(&reader.did, &format!("{thread} {session}"), meta);
            a.post(&posted).expect(201);
        }
    }
    let second = reader.items("/v1/agent/receive?thread_id=second&limit=100");
    for (session, item) in second.iter().enumerate() {
        let expected = if session < 8 { String::new() } else { format!("second {session}") };
        assert_eq!(text(item, "content"), expected);
    }
    // Read from the beginning, all of them open.
    let all = reader.items("/v1/agent/receive?limit=100");
    assert_eq!(all.len(), 80);
    assert!(all.iter().all(|item| text(item, "content").starts_with(text(item, "thread_id"))));
}

/// Decision server-side-sessions.
fn a_session_is_forgotten_after_30_days_of_silence(suite: &Suite) {
    if suite.kind != Kind::Memory {
        // On the other runtimes 30 days take 30 days.
        return;
    }
    for read_first in [true, false] {
        let target = suite.fresh(&[]);
        let client = target.client();
        let (mut a, reader) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
        let mut post = |message: &str| {
            let posted = a.compose(&reader.did, message, Meta { ttl: Some(60), ..Meta::default() });
            a.post(&posted).expect(201);
            contents(&reader.inbox()).last().map(|text| (*text).to_owned())
        };
        let days = |days: u64| client.wait(Duration::from_secs(days * 86_400));
        assert_eq!(post("a").as_deref(), Some("a"));
        days(29);
        if read_first {
            // Every opened message keeps its session for another 30 days.
            assert_eq!(post("b").as_deref(), Some("b"));
            days(29);
            assert_eq!(post("c").as_deref(), Some("c"));
        }
        days(32);
        assert_eq!(post("d").as_deref(), Some(""), "the keys of a session must not stay for ever");
    }
}

/// Decision server-side-sessions.
fn each_sender_and_each_session_opens_beside_the_others(suite: &Suite) {
    let client = suite.client();
    let reader = Agent::server_side(&client);
    let mut senders: Vec<SdkAgent> = modes().into_iter().map(|options| SdkAgent::new(&client, options)).collect();
    let mut expected = Vec::new();
    for round in 0..4 {
        for (at, sender) in senders.iter_mut().enumerate() {
            // A session without `dh_ratchet_key` is replaced by the next one; others exist side by side.
            if round == 2 && sender.sdk.options.double_ratchet {
                sender.sdk.forget_sessions();
            }
            let text = format!("{at} {round}");
            sender.say(&reader.did, &text);
            expected.push(text);
        }
    }
    assert_eq!(contents(&reader.inbox()), expected);
    assert!(reader.inbox().iter().all(|item| item["signature_valid"] == true));
}

/// Decision server-side-sessions.
fn a_step_more_than_1000_beyond_the_row_does_not_open_and_costs_nothing(suite: &Suite) {
    let client = suite.client();
    let (mut a, reader) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    let peer = a.look_up(&reader.did);
    let now = client.now().to_millis_text();
    let mut compose = |text: String| a.sdk.send(&peer, &now, &text, Meta::default()).unwrap();
    let bodies: Vec<_> = (1..=1_003).map(|step| compose(format!("step {step}"))).collect();
    let post = |step: usize| {
        a.post(&bodies[step - 1]).expect(201);
        text(reader.inbox().last().unwrap(), "content").to_owned()
    };
    assert_eq!(post(1), "step 1");
    assert_eq!(post(1_002), "", "1,001 beyond the row at step 1");
    assert_eq!(post(1_001), "step 1001", "1,000 beyond the row");
    assert_eq!(post(1_003), "step 1003");

    // An envelope that claims the very last step must not cost minutes.
    let (mut hostile, target) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    let mut posted = hostile.compose(&target.did, "far", Meta::default());
    posted.envelope = posted.envelope.replace("\"ratchet_step\":1,", "\"ratchet_step\":4294967295,");
    assert!(posted.envelope.contains("4294967295"));
    hostile.post(&posted).expect(201);
    let started = Instant::now();
    assert_eq!(contents(&target.inbox()), [""]);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

/// Decision server-side-sessions.
fn a_session_goes_on_over_a_change_of_the_senders_keys(suite: &Suite) {
    // The SDK keeps its sessions when its keys change, so a later message opens with the key of the session start. When
    // a proved registration replaces an unproven one, the encryption key changes; the deniable mode proves nothing.
    let client = suite.client();
    let reader = Agent::server_side(&client);
    let mut sdk = Sdk::new("svc", seed(), Options { deniable: true, ..Options::default() });
    let mut body = sdk.key_body(None, 1);
    for name in ["signed_prekey_public", "signed_prekey_signature", "signed_prekey_id"] {
        body.as_object_mut().unwrap().remove(name);
    }
    let peer = look_up(&client, &reader.did);
    let before = Agent::register(&client, &body);
    let now = client.now().to_millis_text();
    let post = |sdk: &mut Sdk, agent: &Agent, text: &str| {
        let posted = sdk.send(&peer, &now, text, Meta::default()).unwrap();
        agent.client.post("/v1/agent/send/encrypted", &serde_json::to_value(&posted).unwrap()).expect(201);
    };
    post(&mut sdk, &before, "before");
    assert_eq!(contents(&reader.inbox()), ["before"]);
    sdk.keys.encryption = Secret::new([0x41; 32]);
    let after = Agent::register(&client, &sdk.key_body(None, 1));
    assert_ne!(after.registration["encryption_public_key"], before.registration["encryption_public_key"]);
    post(&mut sdk, &after, "after");
    let items = reader.inbox();
    assert_eq!(contents(&items), ["before", "after"]);
    assert_eq!(items[1]["signature_valid"], true, "the signature is of the keys at send time");
}

fn the_sealed_members_win_over_the_outer_ones(suite: &Suite) {
    let client = suite.client();
    let reader = Agent::server_side(&client);
    let mut a = SdkAgent::new(&client, Options { sealed: true, ..Options::default() });
    let meta = Meta {
        content_type: Some("application/json"),
        message_type: Some("rpc-request"),
        thread_id: Some("rpc-1-abcdefgh"),
        reply_to: Some("earlier"),
        ttl: Some(60),
    };
    let posted = a.compose(&reader.did, "{\"jsonrpc\":\"2.0\"}", meta);
    a.post(&posted).expect(201);
    let raw = reader.raw().remove(0);
    assert_eq!((&raw["thread_id"], &raw["reply_to"]), (&Value::Null, &Value::Null), "not visible outside");
    let item = reader.inbox().remove(0);
    assert_eq!(item["content"], "{\"jsonrpc\":\"2.0\"}");
    assert_eq!(item["from"], json!(a.agent.did));
    for (member, value) in [
        ("content_type", "application/json"),
        ("message_type", "rpc-request"),
        ("thread_id", "rpc-1-abcdefgh"),
        ("reply_to", "earlier"),
    ] {
        assert_eq!(item[member], value, "{member}");
    }
}

fn what_does_not_open_is_an_item_without_content(suite: &Suite) {
    let client = suite.client();
    let (mut a, reader) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    a.say(&reader.did, "one");
    let mut damaged = a.compose(&reader.did, "two", Meta::default());
    damaged.ciphertext = damaged.ciphertext.replacen(|c: char| c.is_ascii_lowercase(), "A", 3);
    a.post(&damaged).expect(201);
    // Content that is not what the service expects.
    let junk =
        [heliograph_tests::relay::letter(&reader.did, ""), heliograph_tests::relay::letter(&reader.did, "short"), {
            let mut body = heliograph_tests::relay::letter(&reader.did, "x");
            body["envelope"] = json!("{\"ratchet_step\":-1,\"dh_ratchet_key\":[],\"pq_ciphertext\":\"!\",\"from\":{}}");
            body
        }];
    let mut accepted = 0;
    for body in &junk {
        let status = a.agent.client.post("/v1/agent/send/encrypted", body).status;
        assert!([201, 400].contains(&status), "{status}");
        accepted += usize::from(status == 201);
    }
    assert!(accepted >= 2);
    a.say(&reader.did, "three");
    let items = reader.inbox();
    assert_eq!(items.len(), 3 + accepted);
    assert_eq!((text(&items[0], "content"), text(items.last().unwrap(), "content")), ("one", "three"));
    for item in &items[1..items.len() - 1] {
        assert_eq!(item["content"], "", "{item}");
    }
}

fn the_service_writes_what_clients_read(suite: &Suite) {
    let client = suite.client();
    let (a, mut b) = (Agent::server_side(&client), SdkAgent::new(&client, Options::default()));
    a.say(&b.agent.did, "plain words");
    let item = b.agent.raw().remove(0);
    let raw = to_raw(&item);
    let opened = b.sdk.receive(&raw).unwrap();
    assert_eq!((opened.payload.content.as_str(), opened.signature_valid), ("plain words", true));

    // The envelope has these members in this order, in compact JSON.
    let hash: String = hash::sha256(raw.ciphertext.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let envelope = raw.envelope.clone().unwrap();
    let stamp = serde_json::from_str::<Value>(&envelope).unwrap()["timestamp"].as_str().unwrap().to_owned();
    let expected = format!(
        "{{\"from\":\"{}\",\"to\":\"{}\",\"timestamp\":\"{stamp}\",\"nonce\":\"{}\",\"ciphertext_hash\":\"{hash}\"}}",
        a.did, b.agent.did, raw.nonce
    );
    assert_eq!(envelope, expected);
    let key: [u8; 32] = bytes(&a.registration["signing_public_key"]).try_into().unwrap();
    assert!(signing::verify(&key, envelope.as_bytes(), &bytes(&item["signature"])));

    // A plain NaCl box, whose content always begins with the header.
    let nonce: [u8; 24] = bytes(&item["nonce"]).try_into().unwrap();
    let plain =
        boxes::box_open(&raw.sender_encryption_key, &b.sdk.keys.encryption, &nonce, &bytes(&item["ciphertext"]))
            .unwrap();
    assert_eq!(plain[..4], [0x56, 0, 0, 0]);
    assert_eq!(&plain[4..], b"plain words");
    assert_eq!(item["sender_encryption_key"], a.registration["encryption_public_key"]);
    assert_eq!(item["sender_signing_key"], a.registration["signing_public_key"]);
}

/// Decision earlier-keys-verify.
fn server_texts_that_look_like_a_header_arrive_whole(suite: &Suite) {
    let client = suite.client();
    let a = Agent::server_side(&client);
    let (mut b, servant) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    let mut padded = "\u{0}\u{5}hello".to_owned();
    padded.push_str(&"x".repeat(256 - padded.len()));
    let texts = [
        "V".to_owned(),
        "Very well".to_owned(),
        "V\u{0}\u{0}\u{0}V\u{0}\u{0}\u{0}".to_owned(),
        "V\u{7f}\u{1}\u{2}".to_owned(),
        padded,
        "A".repeat(32_768),
        " !".repeat(32_768),
        format!("{{\"v\":3,\"from\":\"{}\",\"msg\":\"spoofed\",\"ts\":\"\"}}", b.agent.did),
        "{\"v\":2,\"from\":\"x\",\"msg\":\"y\"}".to_owned(),
    ];
    for message in &texts {
        a.say(&b.agent.did, message);
        a.say(&servant.did, message);
        let opened = b.take().remove(0).expect("does not open");
        assert_eq!((&opened.payload.content, &opened.from), (message, &a.did));
        let item = servant.inbox().remove(0);
        assert_eq!((text(&item, "content"), text(&item, "from")), (message.as_str(), a.did.as_str()));
        servant.mark_read(text(&item, "id"));
    }
}

fn a_dialogue_between_both_kinds_of_agents(suite: &Suite) {
    let client = suite.client();
    let (mut a, servant) = (SdkAgent::new(&client, Options::default()), Agent::server_side(&client));
    for round in 0..5 {
        let item = opened_by_service(&mut a, &servant, &format!("question {round}"));
        assert_eq!(text(&item, "content"), format!("question {round}"));
        let reply = json!({
            "to": a.agent.did,
            "message": format!("answer {round}"),
            "thread_id": "talk",
            "reply_to": item["id"],
        });
        servant.client.post("/v1/agent/send", &reply).expect(201);
        assert_eq!(a.agent.raw()[0]["reply_to"], item["id"]);
        assert_eq!(a.texts(), [format!("answer {round}")]);
    }
    assert_eq!(a.sdk.failures, 0);
}

fn verify_tells_a_genuine_envelope_from_a_forged_one(suite: &Suite) {
    let client = suite.client();
    let (servant, mut a, b) = (
        Agent::server_side(&client),
        SdkAgent::new(&client, Options::default()),
        SdkAgent::new(&client, Options::default()).agent,
    );
    servant.say(&b.did, "from the service");
    a.say(&b.did, "from a client");
    for (item, did) in b.raw().iter().zip([&servant.did, &a.agent.did]) {
        let body = json!({ "envelope": item["envelope"], "signature": item["signature"], "sender_did": did });
        let answer = client.post("/v1/agent/verify", &body).expect(200);
        assert_eq!((&answer["valid"], &answer["sender_did"]), (&json!(true), &json!(did)));
        assert!(heliograph_core::Timestamp::parse(text(&answer, "verified_at")).is_some());
        assert!(!answer["key_period"].is_null(), "{answer}");
        let forged = [
            ("envelope", json!(format!("{} ", text(item, "envelope")))),
            ("signature", json!(heliograph_tests::relay::base64(&[0; 64]))),
            ("signature", json!(heliograph_tests::relay::base64(&[0; 32]))),
            ("sender_did", json!(b.did)),
        ];
        for (member, value) in forged {
            let mut body = body.clone();
            body[member] = value;
            assert_eq!(client.post("/v1/agent/verify", &body).expect(200)["valid"], false, "{member}");
        }
        for member in ["envelope", "signature", "sender_did"] {
            let mut body = body.clone();
            body.as_object_mut().unwrap().remove(member);
            client.post("/v1/agent/verify", &body).expect_error(400, "BAD_REQUEST");
        }
    }
}

/// Decision patient-sends.
fn a_refused_first_message_silences_a_session_until_the_peer_writes(suite: &Suite) {
    // A client loses the session when its first message is refused; therefore the relay never refuses one because of a
    // rate limit.
    let client = suite.client();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    let mut refused = a.compose(&b.agent.did, "refused", Meta::default());
    refused.ciphertext = "AAAA".repeat(70_000);
    a.post(&refused).expect_error(413, "PAYLOAD_TOO_LARGE");
    for _ in 0..3 {
        a.say(&b.agent.did, "accepted, and lost");
    }
    assert_eq!(b.take().into_iter().flatten().count(), 0);
    assert_eq!(b.agent.unread_count(), 0, "the client marks read what it cannot open");
    // The peer writes, and the dialogue recovers.
    b.say(&a.agent.did, "are you there?");
    assert_eq!(a.texts(), ["are you there?"]);
    a.say(&b.agent.did, "healed");
    assert_eq!(b.texts(), ["healed"]);

    // A service-held agent cannot open the orphaned messages either, and must not fail on them.
    let servant = Agent::server_side(&client);
    let hybrid = look_up(&client, &servant.did).kem_key.is_some();
    a.compose(&servant.did, "never posted", Meta::default());
    a.say(&servant.did, "orphan");
    let item = servant.inbox().remove(0);
    assert_eq!(text(&item, "content"), if hybrid { "" } else { "orphan" });
}

/// Decision patient-sends.
fn a_failed_post_that_is_repeated_loses_nothing(suite: &Suite) {
    let client = suite.client();
    let servant = Agent::server_side(&client);
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    // The answer to the first post is lost, so the same body comes again, up to four times.
    for reader in [&b.agent.did, &servant.did] {
        let posted = a.compose(reader, "first", Meta::default());
        let id = a.post(&posted).expect(201)["id"].clone();
        for _ in 0..3 {
            assert_eq!(a.post(&posted).expect(201)["id"], id);
        }
        a.say(reader, "second");
        // Much later the client's queue sends it once more.
        assert_eq!(a.post(&posted).expect(201)["id"], id);
    }
    assert_eq!(b.texts(), ["first", "second"]);
    assert_eq!(contents(&servant.inbox()), ["first", "second"]);
}

/// Decision patient-sends.
fn a_later_message_may_overtake_in_time_but_not_in_order(suite: &Suite) {
    // The first message is delayed, and the second arrives before it. A client loses the second (the ciphertext of the
    // key encapsulation is missing), but the first one still opens.
    let client = suite.client();
    let (mut a, mut b) = (SdkAgent::new(&client, Options::default()), SdkAgent::new(&client, Options::default()));
    let delayed = a.compose(&b.agent.did, "delayed", Meta::default());
    a.say(&b.agent.did, "overtook");
    a.post(&delayed).expect(201);
    let opened: Vec<Option<String>> =
        b.take().into_iter().map(|message| message.map(|message| message.payload.content)).collect();
    assert_eq!(opened, [None, Some("delayed".to_owned())]);
    // The service opens both once both have arrived: it finds the session by its key.
    let servant = Agent::server_side(&client);
    let delayed = a.compose(&servant.did, "delayed", Meta::default());
    a.say(&servant.did, "overtook");
    a.post(&delayed).expect(201);
    servant.inbox();
    let items = servant.inbox();
    assert_eq!(text(&items[1], "content"), "delayed");
}

fn two_sealed_senders_do_not_mix(suite: &Suite) {
    let client = suite.client();
    let sealed = Options { sealed: true, ..Options::default() };
    let (mut a, mut b) = (SdkAgent::new(&client, sealed), SdkAgent::new(&client, sealed));
    let mut reader = SdkAgent::new(&client, Options::default());
    for round in 0..3 {
        a.say(&reader.agent.did, &format!("a{round}"));
        b.say(&reader.agent.did, &format!("b{round}"));
    }
    let opened: Vec<(String, String)> =
        reader.take().into_iter().flatten().map(|message| (message.from, message.payload.content)).collect();
    let expected: Vec<(String, String)> = (0..3)
        .flat_map(|round| [(a.agent.did.clone(), format!("a{round}")), (b.agent.did.clone(), format!("b{round}"))])
        .collect();
    assert_eq!(opened, expected);
}
