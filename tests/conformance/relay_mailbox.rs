//! Shares of a mailbox: a friend always gets through.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::{Answer, Client};
use heliograph_tests::relay::{Agent, SdkAgent, base64, seed, text};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_friend_gets_through_a_mailbox_that_strangers_have_filled,
    silent_strangers_have_a_tenth_of_the_room_for_strangers,
    a_first_message_of_a_friend_finds_its_room_though_strangers_took_theirs,
    unread_mail_of_strangers_goes_by_one_call,
    an_agent_with_its_own_keys_is_told_where_its_messages_are,
];

fn send(from: &Agent, to: &str) -> Answer {
    from.client.post("/v1/agent/send", &json!({ "to": to, "message": "x" }))
}

/// Strangers send until none is accepted any more; returns the number of accepted messages.
fn flood(client: &Client, to: &str) -> usize {
    let strangers: Vec<Agent> = (0..20).map(|_| Agent::server_side(client)).collect();
    let all = strangers.iter().flat_map(|stranger| (0..10).map(move |_| send(stranger, to)));
    let mut taken = 0;
    for answer in all {
        match answer.status {
            201 => taken += 1,
            _ => answer.expect_error(503, "MAILBOX_FULL"),
        }
    }
    taken
}

fn allow(owner: &Agent, did: &str) {
    owner.client.send("PUT", &format!("/v1/agent/consent/allowed/{did}"), None, b"").expect(200);
}

fn a_friend_gets_through_a_mailbox_that_strangers_have_filled(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "100")]);
    let client = target.client();
    let owner = Agent::server_side(&client);
    let [allowed, pinned, wrote, invited] = std::array::from_fn(|_| Agent::server_side(&client));
    allow(&owner, &allowed.did);
    owner.client.post("/v1/agent/keys/pin", &json!({ "did": pinned.did })).expect(200);
    send(&owner, &wrote.did).expect(201);
    let made = owner.client.post("/v1/agent/channels", &json!({ "name": "ours", "private": true })).expect(201);
    let path = format!("/v1/agent/channels/{}/invite", text(&made, "id"));
    let invite = owner.client.post(&path, &json!({ "did": invited.did })).expect(201);
    let path = format!("/v1/agent/invites/{}/respond", text(&invite, "id"));
    client.until(|| (invited.client.post(&path, &json!({ "action": "accept" })).status == 200).then_some(()));
    // Half of a hundred, less the room for first messages of strangers.
    assert_eq!(flood(&client, &owner.did), 50 - 3 - 1);
    for friend in [&allowed, &pinned, &wrote, &invited] {
        client.until(|| (send(friend, &owner.did).status == 201).then_some(()));
    }
    send(&Agent::server_side(&client), &owner.did).expect_error(503, "MAILBOX_FULL");
}

fn silent_strangers_have_a_tenth_of_the_room_for_strangers(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "200")]);
    let client = target.client();
    let owner = Agent::server_side(&client);
    let silent: Vec<SdkAgent> = (0..4).map(|_| silent(&client)).collect();
    let mut taken = 0;
    for _ in 0..4 {
        for agent in &silent {
            taken +=
                usize::from(agent.agent.client.post("/v1/agent/send/encrypted", &letter(&owner.did)).status == 201);
        }
    }
    assert_eq!(taken, 10 - 1);
    // Known senders are friends, whether or not their keys have signed anything.
    allow(&owner, &silent[0].agent.did);
    silent[0].agent.client.post("/v1/agent/send/encrypted", &letter(&owner.did)).expect(201);
    send(&Agent::server_side(&client), &owner.did).expect(201);
}

fn silent(client: &Client) -> SdkAgent {
    let sdk = Sdk::new("svc", seed(), Options::default());
    let mut body = sdk.key_body(None, 1);
    body.as_object_mut().unwrap().retain(|name, _| !name.starts_with("signed"));
    SdkAgent { agent: Agent::register(client, &body), sdk }
}

fn letter(to: &str) -> Value {
    let nonce = &seed()[..24];
    json!({ "to": to, "ciphertext": base64(&[1; 40]), "nonce": base64(nonce), "signature": base64(&[2; 64]),
        "content_type": "text/plain" })
}

fn a_first_message_of_a_friend_finds_its_room_though_strangers_took_theirs(suite: &Suite) {
    let target = suite.fresh(&[("mailbox_messages", "100")]);
    let client = target.client();
    let owner = SdkAgent::new(&client, Options::default());
    let friends: Vec<Agent> = (0..12).map(|_| Agent::server_side(&client)).collect();
    let mut friend = SdkAgent::new(&client, Options::default());
    let mut stranger = SdkAgent::new(&client, Options::default());
    friends.iter().chain([&friend.agent]).for_each(|known| allow(&owner.agent, &known.did));
    let mut taken = 0;
    for known in &friends {
        for _ in 0..10 {
            taken += usize::from(send(known, &owner.agent.did).status == 201);
        }
    }
    // The mailbox is full except for reserved room: three for friends, one for silent strangers, three for others.
    assert_eq!(taken, 100 - 3 - 1 - 3);
    let first = |sender: &mut SdkAgent| {
        sender.sdk.forget_sessions();
        let letter = sender.compose(&owner.agent.did, "a session starts", Default::default());
        assert!(letter.envelope.contains("pq_ciphertext"));
        sender.post(&letter)
    };
    for _ in 0..3 {
        first(&mut stranger).expect(201);
    }
    first(&mut stranger).expect_error(503, "MAILBOX_FULL");
    for _ in 0..3 {
        first(&mut friend).expect(201);
    }
    first(&mut friend).expect_error(503, "MAILBOX_FULL");
}

fn unread_mail_of_strangers_goes_by_one_call(suite: &Suite) {
    let client = suite.client();
    let owner = Agent::server_side(&client);
    let (friend, eve) = (Agent::server_side(&client), Agent::server_side(&client));
    allow(&owner, &friend.did);
    for _ in 0..3 {
        send(&friend, &owner.did).expect(201);
        send(&eve, &owner.did).expect(201);
    }
    owner.mark_read(text(&owner.items(&format!("/v1/agent/receive/raw?from={}", eve.did))[0], "id"));
    owner.client.patch("/v1/agent/consent", &json!({ "accept_from": "listed" })).expect(200);
    let path = "/v1/agent/consent/strangers/unread";
    assert_eq!(owner.client.delete(path).expect(200), json!({ "dropped": 2, "complete": true }));
    let left = owner.everything();
    let from = |agent: &Agent| left.iter().filter(|item| item["from"] == agent.did.as_str()).count();
    assert_eq!((from(&friend), from(&eve), owner.unread_count()), (3, 1, 3));
    send(&eve, &owner.did).expect_error(404, "NOT_FOUND");
    client.delete(path).expect_error(401, "UNAUTHORIZED");
}

fn an_agent_with_its_own_keys_is_told_where_its_messages_are(suite: &Suite) {
    let client = suite.client();
    let own = SdkAgent::new(&client, Options::default()).agent;
    send(&Agent::server_side(&client), &own.did).expect(201);
    let answer = own.client.get("/v1/agent/receive");
    assert!(answer.text().contains("/v1/agent/receive/raw"));
    answer.expect_error(400, "BAD_REQUEST");
    assert_eq!(own.raw().len(), 1);
}
