//! Invites to channels (relay 6.4): both spellings, who may make and answer one, and how often.

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::relay::{Agent, seed, text, unique};
use serde_json::{Value, json};

use crate::relay_channels::{
    agents, ids, invite, invites, join, leave, make, mine, named, post, private, public, respond,
};
use crate::{Suite, cases};

cases![
    conflict_24_an_invite_takes_both_spellings_and_only_members_make_one,
    an_invite_is_answered_once_and_only_by_the_invited,
    an_invite_that_waits_is_not_made_twice,
    joining_with_an_invite_answers_it,
];

fn conflict_24_an_invite_takes_both_spellings_and_only_members_make_one(suite: &Suite) {
    let client = suite.client();
    let name = format!("Host-{}", unique());
    let ada = Agent::register(&client, &json!({ "name": name }));
    let [bob, eve] = agents(suite);
    let made = make(&ada, &json!({ "name": named(), "private": true }));
    let channel = text(&made, "id");
    let path = format!("/v1/agent/channels/{channel}/invite");
    let body = json!({ "invitee_did": bob.did, "message": "come in", "expires_hours": 2 });
    let asked = ada.client.post(&path, &body).expect(201);
    let other = ada.client.post(&path, &json!({ "did": eve.did, "message": null })).expect(201);
    for (invite, guest) in [(&asked, &bob), (&other, &eve)] {
        assert_eq!(text(invite, "id").split_at(22).0, channel);
        assert_eq!((&invite["channel_id"], &invite["invitee"]), (&json!(channel), &json!(guest.did)));
        assert_eq!(invite["status"], "pending");
        // The guest sees the same.
        assert_eq!(invites(guest, "status=pending"), std::slice::from_ref(invite));
        assert_eq!((&invite["inviter"], &invite["inviter_name"]), (&json!(ada.did), &json!(name)));
        assert_eq!(invite["channel_name"], made["name"]);
    }
    assert_eq!((&asked["message"], &other["message"]), (&json!("come in"), &Value::Null));
    let time = |invite: &Value, member: &str| heliograph_core::Timestamp::parse(text(invite, member)).unwrap();
    let hours = |invite: &Value| time(invite, "expires_at").since(time(invite, "created_at")) / 3_600_000_000;
    assert_eq!((hours(&asked), hours(&other)), (2, 168));
    // A guest who joined may invite others.
    respond(&bob, &asked, "accept").expect(200);
    let [third] = agents(suite);
    invite(&bob, channel, &third.did).expect(201);
    invite(&bob, channel, &ada.did).expect_error(409, "CONFLICT");
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    for unknown in [nobody.as_str(), "did:svc:x", "x"] {
        invite(&ada, channel, unknown).expect_error(404, "NOT_FOUND");
    }
    third.client.delete("/v1/agent/deactivate").expect(200);
    invite(&ada, channel, &third.did).expect_error(404, "NOT_FOUND");
    suite.client().get("/v1/agent/invites").expect_error(401, "UNAUTHORIZED");
}

fn an_invite_is_answered_once_and_only_by_the_invited(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let channel = private(&ada);
    let [asked, refused] = [&bob, &eve].map(|guest| invite(&ada, &channel, &guest.did).expect(201));
    for other in [&eve, &ada] {
        respond(other, &asked, "accept").expect_error(404, "NOT_FOUND");
    }
    let declined = respond(&eve, &refused, "decline").expect(200);
    assert_eq!((&declined["joined"], &declined["role"]), (&json!(false), &Value::Null));
    assert_eq!(declined["status"], "declined");
    assert_eq!(respond(&eve, &refused, "decline").expect(200)["status"], "declined");
    respond(&eve, &refused, "accept").expect_error(409, "CONFLICT");
    join(&eve, &channel).expect_error(404, "NOT_FOUND");
    assert_eq!(invites(&eve, "status=declined").len(), 1);
    assert!(invites(&eve, "status=pending").is_empty());

    for already in [false, true] {
        let accepted = respond(&bob, &asked, "accept").expect(200);
        assert_eq!((&accepted["joined"], &accepted["already_member"]), (&json!(true), &json!(already)));
        assert_eq!((&accepted["channel_id"], &accepted["role"]), (&json!(channel), &json!("member")));
        assert_eq!(accepted["status"], "accepted");
    }
    respond(&bob, &asked, "decline").expect_error(409, "CONFLICT");
    post(&bob, &channel, "hello").expect(201);
    assert_eq!(ids(&invites(&bob, "status=accepted")), [text(&asked, "id")]);
    assert_eq!(invites(&bob, "").len(), 1);
    // A used invite does not work again.
    leave(&bob, &channel).expect(200);
    respond(&bob, &asked, "accept").expect_error(409, "CONFLICT");
    join(&bob, &channel).expect_error(404, "NOT_FOUND");
}

fn an_invite_that_waits_is_not_made_twice(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let channel = public(&ada);
    join(&eve, &channel).expect(200);
    let first = invite(&ada, &channel, &bob.did).expect(201);
    assert_eq!(invite(&ada, &channel, &bob.did).expect(201), first);
    assert_eq!(invite(&eve, &channel, &bob.did).expect(201), first);
    assert_eq!(invites(&bob, "").len(), 1);
    respond(&bob, &first, "decline").expect(200);
    assert_ne!(invite(&ada, &channel, &bob.did).expect(201)["id"], first["id"]);
    assert_eq!(invites(&bob, "").len(), 2);
}

fn joining_with_an_invite_answers_it(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let channel = private(&ada);
    invite(&ada, &channel, &bob.did).expect(201);
    assert_eq!(join(&bob, &channel).expect(200)["already_member"], false);
    assert_eq!(invites(&bob, "status=accepted").len(), 1);
    assert_eq!(mine(&bob)[0]["type"], "private");
}
