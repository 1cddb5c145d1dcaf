//! Channels (relay 6): every spelling that a client reads, permissions, pages, limits. `relay_invites` tests invites.

use std::time::Duration;

use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, actor_id, encode, micros, text, unique};
use heliograph_tests::target::Kind;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_new_channel_has_every_spelling_and_its_maker_owns_it,
    a_public_channel_is_found_by_topic_and_text_and_a_private_one_never,
    conflict_43_mine_needs_a_key_and_shows_private_channels_too,
    conflict_42_a_wrong_key_does_not_matter_where_none_is_needed,
    joining_twice_is_a_success_and_says_so,
    posts_come_back_exactly_and_in_order_with_every_spelling,
    what_a_client_encrypts_itself_comes_back_to_the_letter,
    since_and_before_and_limit_choose_pages_in_the_order_of_time,
    a_post_has_65536_characters_and_not_one_more,
    a_page_of_long_posts_ends_early_and_says_so,
    a_stranger_is_told_what_it_may_know,
    leaving_ends_membership_and_the_owner_is_followed,
    a_channel_without_members_is_gone,
    an_agent_that_ends_leaves_its_channels,
    bad_bodies_and_parameters_are_400,
    ids_that_nobody_issued_are_404,
    minimum_fields_of_channels_are_there,
    caps_are_settings,
    the_keys_of_channels_move_under_a_new_master_key,
    many_agents_post_at_once_and_every_post_has_its_own_time,
];

pub fn agents<const N: usize>(suite: &Suite) -> [Agent; N] {
    let client = suite.client();
    std::array::from_fn(|_| Agent::server_side(&client))
}

pub fn named() -> String {
    format!("room-{}", unique())
}

#[track_caller]
pub fn make(owner: &Agent, body: &Value) -> Value {
    owner.client.post("/v1/agent/channels", body).expect(201)
}

#[track_caller]
pub fn public(owner: &Agent) -> String {
    text(&make(owner, &json!({ "name": named() })), "id").to_owned()
}

#[track_caller]
pub fn private(owner: &Agent) -> String {
    text(&make(owner, &json!({ "name": named(), "private": true })), "id").to_owned()
}

/// A POST without a body, as clients send it.
fn empty(agent: &Agent, path: &str) -> Answer {
    agent.client.send("POST", path, Some("application/json"), b"")
}

pub fn join(agent: &Agent, channel: &str) -> Answer {
    empty(agent, &format!("/v1/agent/channels/{channel}/join"))
}

pub fn leave(agent: &Agent, channel: &str) -> Answer {
    empty(agent, &format!("/v1/agent/channels/{channel}/leave"))
}

pub fn post(agent: &Agent, channel: &str, message: &str) -> Answer {
    agent.client.post(&format!("/v1/agent/channels/{channel}/messages"), &json!({ "message": message }))
}

fn read(agent: &Agent, channel: &str, query: &str) -> Answer {
    agent.client.get(&format!("/v1/agent/channels/{channel}/messages?{query}"))
}

#[track_caller]
fn messages(agent: &Agent, channel: &str, query: &str) -> Vec<Value> {
    let page = read(agent, channel, query).expect(200);
    let messages = page["messages"].as_array().unwrap().clone();
    assert_eq!(page["count"], messages.len());
    messages
}

fn contents(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| text(message, "content")).collect()
}

pub fn invite(from: &Agent, channel: &str, to: &str) -> Answer {
    from.client.post(&format!("/v1/agent/channels/{channel}/invite"), &json!({ "did": to }))
}

#[track_caller]
pub fn invites(agent: &Agent, query: &str) -> Vec<Value> {
    let path = format!("/v1/agent/invites?{query}");
    let list = agent.client.send("GET", &path, Some("application/json"), b"").expect(200);
    let invites = list["invites"].as_array().unwrap().clone();
    assert_eq!(list["count"], invites.len());
    invites
}

pub fn respond(agent: &Agent, invite: &Value, action: &str) -> Answer {
    let path = format!("/v1/agent/invites/{}/respond", text(invite, "id"));
    agent.client.post(&path, &json!({ "action": action }))
}

#[track_caller]
fn channels(agent: &Agent, query: &str) -> Vec<Value> {
    let list = agent.client.get(&format!("/v1/agent/channels?{query}")).expect(200);
    let channels = list["channels"].as_array().unwrap().clone();
    assert_eq!(list["count"], channels.len());
    channels
}

#[track_caller]
pub fn mine(agent: &Agent) -> Vec<Value> {
    channels(agent, "mine=true&limit=100")
}

pub fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| text(item, "id")).collect()
}

fn a_new_channel_has_every_spelling_and_its_maker_owns_it(suite: &Suite) {
    let [ada] = agents(suite);
    let name = named();
    let body = json!({ "name": name.to_uppercase(), "description": "Where \u{e4}ll talk", "topic": "IR" });
    let made = make(&ada, &body);
    // One client reads `type` and `creator`, the other `channel_type` and `creator_did`.
    for (member, value) in [
        ("name", json!(name)),
        ("description", json!("Where \u{e4}ll talk")),
        ("topic", json!("IR")),
        ("type", json!("public")),
        ("channel_type", json!("public")),
        ("private", json!(false)),
        ("creator", json!(ada.did)),
        ("creator_did", json!(ada.did)),
        ("member_count", json!(1)),
        ("message_count", json!(0)),
        ("role", json!("owner")),
    ] {
        assert_eq!(made[member], value, "{member}");
    }
    // Decision ids-lead-to-actors: the id is the channel's actor.
    assert_eq!(text(&made, "id").len(), 22);
    micros(&made["last_activity"]);
    let secret = make(&ada, &json!({ "name": named(), "private": true, "topic": null, "description": null }));
    assert_eq!((&secret["type"], &secret["channel_type"]), (&json!("private"), &json!("private")));
    assert_eq!((&secret["topic"], &secret["description"]), (&Value::Null, &Value::Null));
}

fn a_public_channel_is_found_by_topic_and_text_and_a_private_one_never(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let word = format!("w{}x", unique());
    let open = make(&ada, &json!({ "name": format!("{word}-open"), "topic": format!("T{word}") }));
    let told = make(&ada, &json!({ "name": named(), "description": format!("about {word}"), "topic": "other" }));
    let secret = json!({ "name": format!("{word}-secret"), "topic": format!("T{word}"), "private": true });
    make(&ada, &secret);
    let found = channels(&bob, &format!("q={}", word.to_uppercase()));
    assert_eq!(ids(&found), [text(&open, "id"), text(&told, "id")]);
    assert_eq!(channels(&bob, &format!("q={word}&limit=1")).len(), 1);
    assert_eq!(ids(&channels(&bob, &format!("topic=t{word}"))), [text(&open, "id")]);
    assert_eq!(ids(&channels(&bob, &format!("q={word}&topic=OTHER"))), [text(&told, "id")]);
    assert!(channels(&bob, &format!("q={word}z")).is_empty());
    for (member, value) in
        [("creator_did", &*ada.did), ("creator", &ada.did), ("type", "public"), ("channel_type", "public")]
    {
        assert_eq!(found[0][member], value, "conflict 25: {member}");
    }
    // Without any key, with an empty query, and with unknown parameters.
    for query in ["?", "?limit=1000&unknown=1", ""] {
        let list = suite.client().get(&format!("/v1/agent/channels{query}")).expect(200);
        assert!(list["count"].as_u64().unwrap() >= 2);
    }
    suite.client().get("/v1/agent/channels?limit=0").expect_error(400, "BAD_REQUEST");
}

fn conflict_43_mine_needs_a_key_and_shows_private_channels_too(suite: &Suite) {
    let [ada, bob] = agents(suite);
    assert!(mine(&ada).is_empty());
    let (open, secret, foreign) = (public(&ada), private(&ada), public(&bob));
    join(&ada, &foreign).expect(200);
    post(&ada, &open, "x").expect(201);
    let found = mine(&ada);
    let mut expected = [open.as_str(), &secret, &foreign];
    let mut seen = ids(&found);
    assert_eq!(seen[0], open, "the most recently active comes first");
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
    let one = |id: &str| found.iter().find(|channel| channel["id"] == id).unwrap();
    assert_eq!((&one(&open)["message_count"], &one(&open)["role"]), (&json!(1), &json!("owner")));
    assert_eq!((&one(&foreign)["member_count"], &one(&foreign)["role"]), (&json!(2), &json!("member")));
    let name = text(one(&secret), "name");
    assert_eq!(ids(&channels(&ada, &format!("mine=true&q={name}"))), [secret.as_str()]);
    assert_eq!(channels(&ada, "mine=true&limit=2").len(), 2);
    suite.client().get("/v1/agent/channels?mine=true").expect_error(401, "UNAUTHORIZED");
    suite.client().agent("svc_agent_x").get("/v1/agent/channels?mine=true").expect_error(401, "UNAUTHORIZED");
    ada.client.get("/v1/agent/channels?mine=perhaps").expect_error(400, "BAD_REQUEST");
}

fn conflict_42_a_wrong_key_does_not_matter_where_none_is_needed(suite: &Suite) {
    for query in ["", "?mine=false", "?q=x"] {
        suite.client().agent("nonsense").get(&format!("/v1/agent/channels{query}")).expect(200);
    }
}

fn joining_twice_is_a_success_and_says_so(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let channel = public(&ada);
    for already in [false, true] {
        let answer = join(&bob, &channel).expect(200);
        assert_eq!((&answer["joined"], &answer["already_member"]), (&json!(true), &json!(already)));
        assert_eq!((&answer["role"], &answer["channel_id"]), (&json!("member"), &json!(channel)));
    }
    let owner = join(&ada, &channel).expect(200);
    assert_eq!((&owner["already_member"], &owner["role"]), (&json!(true), &json!("owner")));
    assert_eq!(mine(&bob)[0]["member_count"], 2);
}

fn posts_come_back_exactly_and_in_order_with_every_spelling(suite: &Suite) {
    let client = suite.client();
    let name = format!("Author-{}", unique());
    let ada = Agent::register(&client, &json!({ "name": name }));
    let [bob] = agents(suite);
    let channel = public(&ada);
    join(&bob, &channel).expect(200);
    let first = post(&ada, &channel, "first").expect(201);
    let odd = " \u{1f4e1}\"\\\u{0}\n\t<b>&amp; ";
    let body = json!({ "message": odd, "reply_to": first["id"] });
    let path = format!("/v1/agent/channels/{channel}/messages");
    let second = bob.client.post(&path, &body).expect(201);
    let found = messages(&bob, &channel, "");
    assert_eq!(contents(&found), ["first", odd]);
    assert_eq!(found, [first.clone(), second.clone()]);
    assert_eq!(text(&first, "id").split_at(22).0, channel);
    for (message, author, named) in [(&found[0], &ada, json!(name)), (&found[1], &bob, Value::Null)] {
        assert_eq!((&message["sender"], &message["author"]), (&json!(author.did), &json!(author.did)));
        assert_eq!((&message["sender_name"], &message["created_at"]), (&named, &message["timestamp"]));
    }
    assert_eq!((&found[0]["reply_to"], &found[1]["reply_to"]), (&Value::Null, &first["id"]));
    assert!(micros(&found[0]["timestamp"]) < micros(&found[1]["timestamp"]));
    let null = bob.client.post(&path, &json!({ "message": "", "reply_to": null })).expect(201);
    assert_eq!((&null["content"], &null["reply_to"]), (&json!(""), &Value::Null));
}

fn what_a_client_encrypts_itself_comes_back_to_the_letter(suite: &Suite) {
    // Relay 4.12: a JSON text inside the message; parsing or reordering it would break the signature.
    let [ada] = agents(suite);
    let channel = public(&ada);
    let text = r#"{"v":3,"ct":"AAAA/+8=","n":"BBBB","sig":"Zg==","from":"did:svc:x", "z":1.0,"a":1e3}"#;
    post(&ada, &channel, text).expect(201);
    assert_eq!(contents(&messages(&ada, &channel, "")), [text]);
}

fn since_and_before_and_limit_choose_pages_in_the_order_of_time(suite: &Suite) {
    let [ada] = agents(suite);
    let channel = public(&ada);
    let names: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    let posts: Vec<Value> = names.iter().map(|name| post(&ada, &channel, name).expect(201)).collect();
    let at = |index: usize| encode(text(&posts[index], "timestamp"));
    let page = |query: &str| -> (Vec<String>, bool) {
        let page = read(&ada, &channel, query).expect(200);
        let found = page["messages"].as_array().unwrap();
        (found.iter().map(|post| text(post, "content").to_owned()).collect(), page["has_more"].as_bool().unwrap())
    };
    let of = |range: std::ops::Range<usize>, more: bool| (names[range].to_vec(), more);
    assert_eq!(page(""), of(0..12, false));
    // The newest page, then the page before it, each from old to new.
    assert_eq!(page("limit=5"), of(7..12, true));
    assert_eq!(page(&format!("limit=5&before={}", at(7))), of(2..7, true));
    assert_eq!(page(&format!("limit=5&before={}", at(2))), of(0..2, false));
    // With `since`, the oldest posts that are newer.
    assert_eq!(page(&format!("limit=5&since={}", at(0))), of(1..6, true));
    assert_eq!(page(&format!("limit=6&since={}", at(5))), of(6..12, false));
    assert_eq!(page(&format!("since={}", at(11))), of(0..0, false));
    assert_eq!(page(&format!("since={}&before={}", at(3), at(8))), of(4..8, false));
    assert_eq!(page(&format!("limit=2&since={}&before={}", at(3), at(8))), of(4..6, true));
    assert_eq!(page(&format!("since={}&before={}", at(8), at(3))), of(0..0, false));
    assert_eq!(page("since=2001-01-01&limit=2"), of(0..2, true));
    // A large limit is clamped and not refused.
    assert_eq!(page("limit=5000"), of(0..12, false));
    for query in ["limit=0", "since=yesterday", "before=x"] {
        read(&ada, &channel, query).expect_error(400, "BAD_REQUEST");
    }
}

/// Decision request-size-limits.
fn a_post_has_65536_characters_and_not_one_more(suite: &Suite) {
    let [ada] = agents(suite);
    let channel = public(&ada);
    for character in ["a", "\u{1f4e1}"] {
        let longest = character.repeat(65_536);
        let made = post(&ada, &channel, &longest).expect(201);
        assert_eq!(text(&made, "content"), longest);
        post(&ada, &channel, &format!("{longest}a")).expect_error(413, "PAYLOAD_TOO_LARGE");
    }
    // As an escape an emoji takes twelve bytes, so the longest post is a body of 768 KB.
    let escaped = format!(r#"{{"message":"{}"}}"#, r"\ud83d\udce1".repeat(65_536));
    let path = format!("/v1/agent/channels/{channel}/messages");
    ada.client.send("POST", &path, Some("application/json"), escaped.as_bytes()).expect(201);
    let padded = |length: usize| format!("{{\"message\":\"x\"{}}}", " ".repeat(length - 15));
    for (length, status) in [(1_048_576, 201), (1_048_577, 413)] {
        let body = padded(length);
        assert_eq!(body.len(), length);
        let answer = ada.client.send("POST", &path, Some("application/json"), body.as_bytes());
        assert_eq!(answer.status, status);
    }
    assert_eq!(messages(&ada, &channel, "").len(), 4);
}

/// Decision mailbox-pages: a page also ends at 4 MiB.
fn a_page_of_long_posts_ends_early_and_says_so(suite: &Suite) {
    let [ada] = agents(suite);
    let channel = public(&ada);
    let long = "\u{1f4e1}".repeat(65_536);
    for _ in 0..18 {
        post(&ada, &channel, &long).expect(201);
    }
    let newest = read(&ada, &channel, "limit=100").expect(200);
    assert_eq!((&newest["count"], &newest["has_more"]), (&json!(15), &json!(true)));
    let before = encode(text(&newest["messages"][0], "timestamp"));
    let rest = read(&ada, &channel, &format!("limit=100&before={before}")).expect(200);
    assert_eq!((&rest["count"], &rest["has_more"]), (&json!(3), &json!(false)));
}

/// Decision foreign-is-404.
fn a_stranger_is_told_what_it_may_know(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let (open, secret) = (public(&ada), private(&ada));
    let all = |agent: &Agent, channel: &str| {
        [read(agent, channel, ""), post(agent, channel, "x"), leave(agent, channel), invite(agent, channel, &bob.did)]
    };
    all(&eve, &open).iter().for_each(|answer| answer.expect_error(403, "FORBIDDEN"));
    all(&eve, &secret).iter().for_each(|answer| answer.expect_error(404, "NOT_FOUND"));
    join(&eve, &secret).expect_error(404, "NOT_FOUND");
    // An invited agent knows that the channel exists.
    invite(&ada, &secret, &bob.did).expect(201);
    all(&bob, &secret).iter().for_each(|answer| answer.expect_error(403, "FORBIDDEN"));
    for path in ["join", "leave", "messages", "invite"] {
        suite.client().post(&format!("/v1/agent/channels/{open}/{path}"), &json!({})).expect_error(401, "UNAUTHORIZED");
    }
    suite.client().get(&format!("/v1/agent/channels/{open}/messages")).expect_error(401, "UNAUTHORIZED");
}

fn leaving_ends_membership_and_the_owner_is_followed(suite: &Suite) {
    let [ada, bob, eve] = agents(suite);
    let channel = public(&ada);
    join(&bob, &channel).expect(200);
    bob.client.wait(Duration::from_millis(1));
    join(&eve, &channel).expect(200);
    post(&ada, &channel, "mine").expect(201);
    let left = leave(&ada, &channel).expect(200);
    assert_eq!((&left["left"], &left["channel_id"]), (&json!(true), &json!(channel)));
    post(&ada, &channel, "x").expect_error(403, "FORBIDDEN");
    assert!(mine(&ada).is_empty());
    assert_eq!((&mine(&bob)[0]["role"], &mine(&bob)[0]["member_count"]), (&json!("owner"), &json!(2)));
    assert_eq!(mine(&eve)[0]["role"], "member");
    assert_eq!(contents(&messages(&bob, &channel, "")), ["mine"]);
    assert_eq!(join(&ada, &channel).expect(200)["role"], "member");
}

fn a_channel_without_members_is_gone(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let made = make(&ada, &json!({ "name": named() }));
    let (channel, name) = (text(&made, "id"), text(&made, "name"));
    post(&ada, channel, "x").expect(201);
    let asked = invite(&ada, channel, &bob.did).expect(201);
    assert_eq!(channels(&bob, &format!("q={name}")).len(), 1);
    leave(&ada, channel).expect(200);
    assert!(channels(&bob, &format!("q={name}")).is_empty());
    join(&bob, channel).expect_error(404, "NOT_FOUND");
    join(&ada, channel).expect_error(404, "NOT_FOUND");
    respond(&bob, &asked, "accept").expect_error(404, "NOT_FOUND");
}

fn an_agent_that_ends_leaves_its_channels(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let (shared, alone) = (public(&ada), public(&ada));
    join(&bob, &shared).expect(200);
    post(&ada, &shared, "still here").expect(201);
    ada.client.delete("/v1/agent/deactivate").expect(200);
    // The effect may not have arrived yet.
    let found = bob.client.until(|| Some(mine(&bob)).filter(|found| found[0]["member_count"] == 1));
    assert_eq!(found[0]["role"], "owner");
    assert_eq!(found[0]["creator"], json!(ada.did));
    assert_eq!(contents(&messages(&bob, &shared, "")), ["still here"]);
    join(&bob, &alone).expect_error(404, "NOT_FOUND");
}

fn bad_bodies_and_parameters_are_400(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let long = |length: usize| "x".repeat(length);
    for body in [
        json!({}),
        json!({ "name": null }),
        json!({ "name": "ab" }),
        json!({ "name": " ab " }),
        json!({ "name": long(65) }),
        json!({ "name": "a\u{7}bc" }),
        json!({ "name": 5 }),
        json!({ "name": "abc", "private": "yes" }),
        json!({ "name": "abc", "topic": long(65) }),
        json!({ "name": "abc", "description": long(1_025) }),
    ] {
        ada.client.post("/v1/agent/channels", &body).expect_error(400, "BAD_REQUEST");
    }
    make(&ada, &json!({ "name": long(64), "topic": long(64), "description": long(1_024) }));
    let channel = public(&ada);
    let path = |end: &str| format!("/v1/agent/channels/{channel}/{end}");
    for body in [json!({}), json!({ "message": null }), json!({ "message": { "a": 1 } }), json!(["x"])] {
        ada.client.post(&path("messages"), &body).expect_error(400, "BAD_REQUEST");
    }
    let body = json!({ "message": "x", "reply_to": long(1_025) });
    ada.client.post(&path("messages"), &body).expect_error(400, "BAD_REQUEST");
    for extra in [json!({ "expires_hours": 0 }), json!({ "expires_hours": 8_761 }), json!({ "message": long(1_025) })] {
        let mut body = json!({ "did": bob.did });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        ada.client.post(&path("invite"), &body).expect_error(400, "BAD_REQUEST");
    }
    ada.client.post(&path("invite"), &json!({ "did": null })).expect_error(400, "BAD_REQUEST");
    let asked = invite(&ada, &channel, &bob.did).expect(201);
    for action in ["", "maybe", "ACCEPT"] {
        respond(&bob, &asked, action).expect_error(400, "BAD_REQUEST");
    }
    bob.client.get("/v1/agent/invites?status=lost").expect_error(400, "BAD_REQUEST");
}

fn ids_that_nobody_issued_are_404(suite: &Suite) {
    let [ada] = agents(suite);
    let nobody = actor_id(&[0xab; 16]);
    for id in [nobody.as_str(), "x", &"A".repeat(23), &"-".repeat(500)] {
        join(&ada, id).expect_error(404, "NOT_FOUND");
        read(&ada, id, "").expect_error(404, "NOT_FOUND");
        post(&ada, id, "x").expect_error(404, "NOT_FOUND");
        leave(&ada, id).expect_error(404, "NOT_FOUND");
        invite(&ada, id, &ada.did).expect_error(404, "NOT_FOUND");
        respond(&ada, &json!({ "id": id }), "accept").expect_error(404, "NOT_FOUND");
    }
    let id = format!("{nobody}-{}", "A".repeat(16));
    respond(&ada, &json!({ "id": id }), "accept").expect_error(404, "NOT_FOUND");
}

/// Members without which clients crash.
fn minimum_fields_of_channels_are_there(suite: &Suite) {
    let [ada, bob] = agents(suite);
    let made = make(&ada, &json!({ "name": named() }));
    let posted = post(&ada, text(&made, "id"), "x").expect(201);
    let asked = invite(&ada, text(&made, "id"), &bob.did).expect(201);
    for id in [&made["id"], &posted["id"], &asked["id"]] {
        assert!(id.as_str().is_some_and(|id| !id.is_empty()));
    }
    let listed = channels(&ada, &format!("q={}", text(&made, "name")));
    for item in listed.iter().chain(&messages(&ada, text(&made, "id"), "")).chain(&invites(&bob, "")) {
        assert!(item["id"].is_string());
    }
    assert!(listed[0]["member_count"].is_number() && listed[0]["message_count"].is_number());
    assert!(listed[0]["last_activity"].is_string() && listed[0]["creator_did"].is_string());
}

fn caps_are_settings(suite: &Suite) {
    let target = suite.fresh(&[("channels_per_agent", "2"), ("channel_members", "1"), ("channel_posts", "2")]);
    let client = target.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let channel = public(&ada);
    public(&ada);
    ada.client.post("/v1/agent/channels", &json!({ "name": named() })).expect_error(409, "CONFLICT");
    join(&bob, &channel).expect_error(409, "CONFLICT");
    for n in ["1", "2", "3"] {
        post(&ada, &channel, n).expect(201);
    }
    assert_eq!(contents(&messages(&ada, &channel, "")), ["2", "3"]);
    leave(&ada, &channel).expect(200);
    public(&ada);
}

/// Decision master-key-file. Only the native server changes its master key itself; the core tests the others.
fn the_keys_of_channels_move_under_a_new_master_key(suite: &Suite) {
    if suite.kind != Kind::Native {
        return;
    }
    let target = suite.fresh(&[]);
    let client = target.client();
    let ada = Agent::server_side(&client);
    // More actors of both kinds than the task moves at once.
    for _ in 0..35 {
        Agent::server_side(&client);
    }
    let rooms: Vec<String> = (0..40).map(|_| private(&ada)).collect();
    rooms.iter().for_each(|room| drop(post(&ada, room, "before").expect(201)));
    let sealed = || {
        let info = client.admin().get("/v1/admin/db").expect(200);
        (info["sealed_values"].as_u64().unwrap(), info["sealed_under_earlier_keys"].as_u64().unwrap())
    };
    assert_eq!(sealed(), (76, 0));
    client.admin().send("POST", "/v1/admin/master-key", None, b"").expect(201);
    client.until(|| (sealed().1 == 0).then_some(()));
    assert_eq!(sealed(), (76, 0));
    for room in &rooms {
        post(&ada, room, "after").expect(201);
        assert_eq!(contents(&messages(&ada, room, "")), ["before", "after"]);
    }
}

fn many_agents_post_at_once_and_every_post_has_its_own_time(suite: &Suite) {
    let [ada] = agents(suite);
    let channel = public(&ada);
    let others: [Agent; 6] = agents(suite);
    std::thread::scope(|scope| {
        for other in &others {
            scope.spawn(|| {
                join(other, &channel).expect(200);
                for n in 0..8 {
                    post(other, &channel, &format!("{} {n}", other.did)).expect(201);
                }
            });
        }
    });
    let found = messages(&ada, &channel, "limit=100");
    assert_eq!(found.len(), 48);
    let times: Vec<i64> = found.iter().map(|post| micros(&post["timestamp"])).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
    for other in &others {
        let own: Vec<&str> = contents(&found).into_iter().filter(|text| text.starts_with(&other.did)).collect();
        assert_eq!(own, (0..8).map(|n| format!("{} {n}", other.did)).collect::<Vec<_>>());
    }
    assert_eq!(mine(&ada)[0]["member_count"], 7);
}
