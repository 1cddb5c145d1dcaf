//! The memory store (relay 11, 4.13) and presence (relay 16).

use std::time::Duration;

use heliograph_core::Timestamp;
use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, encode, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    conflict_39_a_value_comes_back_to_the_letter,
    a_text_that_holds_json_stays_a_text,
    types_and_nonces_are_echoed_and_a_missing_type_is_told_by_the_value,
    what_nobody_put_is_404_and_deleting_says_so,
    slashes_in_names_stay_in_their_part_however_they_are_written,
    a_value_that_has_ended_is_gone_at_once_and_frees_its_room,
    a_second_put_replaces_everything,
    a_value_has_a_mebibyte_and_not_one_byte_more,
    the_quota_is_16_mebibytes_to_the_byte,
    a_full_memory_is_413_and_limits_are_settings,
    lists_have_every_field_and_take_a_prefix_and_a_limit,
    minimum_fields_of_memory_are_there_for_an_agent_that_kept_nothing,
    memory_belongs_to_its_agent,
    bad_memory_requests_are_400,
    puts_at_once_leave_sums_that_add_up,
    a_heartbeat_has_every_field_that_clients_read,
    only_heartbeats_show_and_never_a_count,
    presence_is_switched_off_in_the_profile,
    nobody_is_404_and_a_wrong_key_does_not_matter,
];

fn agent(suite: &Suite) -> Agent {
    Agent::server_side(&suite.client())
}

fn path(place: &str) -> String {
    format!("/v1/agent/memory/{place}")
}

fn put_raw(agent: &Agent, place: &str, body: &[u8]) -> Answer {
    agent.client.send("PUT", &path(place), Some("application/json"), body)
}

fn put(agent: &Agent, place: &str, body: Value) -> Answer {
    put_raw(agent, place, body.to_string().as_bytes())
}

fn get(agent: &Agent, place: &str) -> Answer {
    agent.client.send("GET", &path(place), Some("application/json"), b"")
}

#[track_caller]
fn quota(agent: &Agent) -> (u64, u64, u64) {
    let quota = &agent.client.get("/v1/agent/memory").expect(200)["quota"];
    let number = |name: &str| quota[name].as_u64().unwrap_or_else(|| panic!("{name} of {quota}"));
    (number("used_bytes"), number("quota_bytes"), number("remaining_bytes"))
}

fn keys(agent: &Agent, query: &str) -> Vec<String> {
    let list = get(agent, query).expect(200);
    let keys = list["keys"].as_array().unwrap();
    assert_eq!(list["count"], keys.len());
    keys.iter().map(|key| text(key, "key").to_owned()).collect()
}

fn conflict_39_a_value_comes_back_to_the_letter(suite: &Suite) {
    let ada = agent(suite);
    for raw in [
        "null",
        "true",
        "0",
        "-0.0",
        "1.0",
        "1e400",
        "123456789012345678901234567890.10",
        r#""""#,
        r#""\u00e9\ud83d\ude00\/\ud800""#,
        "\"\u{e9}\u{1f4e1}\"",
        "[]",
        r#"{"b":1,"a":2,"b":3, "c" : [1 ,2.50,{}]}"#,
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    ] {
        let stored = put_raw(&ada, "exact/v", format!(r#"{{ "value" :  {raw}  }}"#).as_bytes()).expect(200);
        assert_eq!((&stored["stored"], &stored["size_bytes"]), (&json!(true), &json!(raw.len())), "{raw}");
        let answer = get(&ada, "exact/v");
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains(&format!("\"value\":{raw},")), "{raw} came back in {}", answer.text());
    }
}

fn a_text_that_holds_json_stays_a_text(suite: &Suite) {
    // Relay 11.2: the ratchet backup is a JSON text that the client parses itself.
    let ada = agent(suite);
    let backup = r#"{"n":"AAAA","c":"BBBB","v":1}"#;
    put(&ada, "ratchet/state", json!({ "value": backup })).expect(200);
    let found = get(&ada, "ratchet/state").expect(200);
    assert_eq!((&found["value"], &found["value_type"]), (&json!(backup), &json!("string")));
    assert_eq!(found["client_nonce"], Value::Null);
    // The client writes it again after every message.
    for length in [10, 200_000, 20] {
        let backup = "x".repeat(length);
        put(&ada, "ratchet/state", json!({ "value": backup })).expect(200);
        assert_eq!(get(&ada, "ratchet/state").expect(200)["value"], json!(backup));
    }
    assert_eq!(quota(&ada).0, 22);
}

fn types_and_nonces_are_echoed_and_a_missing_type_is_told_by_the_value(suite: &Suite) {
    let ada = agent(suite);
    let nonce = "q".repeat(32);
    let body = json!({ "value": "c2VjcmV0", "value_type": "encrypted:json", "client_nonce": nonce, "ttl": null });
    let stored = put(&ada, "types/e", body).expect(200);
    let found = get(&ada, "types/e").expect(200);
    for member in ["namespace", "key", "size_bytes", "expires_at", "created_at", "updated_at", "id", "value_type"] {
        assert_eq!(stored[member], found[member], "{member}");
    }
    assert_eq!((&found["value_type"], &found["client_nonce"]), (&json!("encrypted:json"), &json!(nonce)));
    assert_eq!((&found["namespace"], &found["key"]), (&json!("types"), &json!("e")));
    assert_eq!(found["expires_at"], Value::Null);
    for (value, told) in [
        (json!("x"), "string"),
        (json!(-1.5), "number"),
        (json!(false), "boolean"),
        (json!({}), "json"),
        (json!([1]), "json"),
        (Value::Null, "json"),
    ] {
        put(&ada, "types/t", json!({ "value": value, "value_type": null })).expect(200);
        assert_eq!(get(&ada, "types/t").expect(200)["value_type"], told);
    }
}

fn what_nobody_put_is_404_and_deleting_says_so(suite: &Suite) {
    let ada = agent(suite);
    get(&ada, "none/x").expect_error(404, "NOT_FOUND");
    ada.client.delete(&path("none/x")).expect_error(404, "NOT_FOUND");
    put(&ada, "none/x", json!({ "value": 1 })).expect(200);
    let answer = ada.client.delete(&path("none/x")).expect(200);
    assert_eq!((&answer["deleted"], &answer["key"]), (&json!(true), &json!("x")));
    get(&ada, "none/x").expect_error(404, "NOT_FOUND");
    ada.client.delete(&path("none/x")).expect_error(404, "NOT_FOUND");
    assert_eq!(quota(&ada).0, 0);
    assert_eq!(get(&ada, "none").expect(200)["total_keys"], 0);
}

/// Two clients encode it, the third does not.
fn slashes_in_names_stay_in_their_part_however_they_are_written(suite: &Suite) {
    let ada = agent(suite);
    put(&ada, "a%2Fb/c%2Fd", json!({ "value": 1 })).expect(200);
    put(&ada, "a/b/c/d", json!({ "value": 2 })).expect(200);
    assert_eq!(get(&ada, "a%2Fb/c/d").expect(200)["value"], 1);
    assert_eq!(get(&ada, "a/b%2Fc%2Fd").expect(200)["value"], 2);
    let found = get(&ada, "a/b/c/d").expect(200);
    assert_eq!((&found["namespace"], &found["key"]), (&json!("a"), &json!("b/c/d")));
    assert_eq!((keys(&ada, "a%2Fb"), keys(&ada, "a")), (vec!["c/d".to_owned()], vec!["b/c/d".to_owned()]));
    ada.client.delete(&path("a/b/c%2Fd")).expect(200);
    for name in ["did:svc:7Fq", "\u{641}\u{627}\u{631}\u{633}\u{6cc} \u{1f4e1}", "100% & ?#+", "%2F", "a.b_c~d"] {
        let place = format!("{}/{}", encode(name), encode(name));
        put(&ada, &place, json!({ "value": name })).expect(200);
        let found = get(&ada, &place).expect(200);
        assert_eq!((&found["namespace"], &found["key"]), (&json!(name), &json!(name)));
    }
    assert_eq!(get(&ada, "did:svc:7Fq/did:svc:7Fq").expect(200)["value"], "did:svc:7Fq");
}

fn a_value_that_has_ended_is_gone_at_once_and_frees_its_room(suite: &Suite) {
    let ada = agent(suite);
    let stored = put(&ada, "ttl/short", json!({ "value": "short", "ttl": 2 })).expect(200);
    put(&ada, "ttl/long", json!({ "value": "x", "ttl": 315_360_000 })).expect(200);
    let time = |member: &str| Timestamp::parse(text(&stored, member)).unwrap();
    assert_eq!(time("expires_at").since(time("updated_at")), 2_000_000);
    assert_eq!(get(&ada, "ttl/short").expect(200)["expires_at"], stored["expires_at"]);
    assert_eq!(quota(&ada).0, 10);
    ada.client.wait(Duration::from_millis(2_050));
    get(&ada, "ttl/short").expect_error(404, "NOT_FOUND");
    ada.client.delete(&path("ttl/short")).expect_error(404, "NOT_FOUND");
    assert_eq!(keys(&ada, "ttl"), ["long"]);
    let list = get(&ada, "ttl").expect(200);
    assert_eq!((&list["total_keys"], &list["total_bytes"]), (&json!(1), &json!(3)));
    assert_eq!(quota(&ada).0, 3);
}

fn a_second_put_replaces_everything(suite: &Suite) {
    let ada = agent(suite);
    let body = json!({ "value": 1, "ttl": 60, "value_type": "t", "client_nonce": "n" });
    let first = put(&ada, "again/k", body).expect(200);
    let second = put(&ada, "again/k", json!({ "value": [2] })).expect(200);
    assert_eq!((&second["id"], &second["created_at"]), (&first["id"], &first["created_at"]));
    let found = get(&ada, "again/k").expect(200);
    for (member, value) in [
        ("value", json!([2])),
        ("expires_at", Value::Null),
        ("value_type", json!("json")),
        ("client_nonce", Value::Null),
        ("size_bytes", json!(3)),
    ] {
        assert_eq!(found[member], value, "{member}");
    }
    assert_eq!(quota(&ada).0, 3);
}

/// A body whose value is a text of exactly `bytes` bytes of JSON.
fn sized(bytes: usize) -> Vec<u8> {
    format!(r#"{{"value":"{}"}}"#, "x".repeat(bytes - 2)).into_bytes()
}

/// Decision request-size-limits.
fn a_value_has_a_mebibyte_and_not_one_byte_more(suite: &Suite) {
    let ada = agent(suite);
    let stored = put_raw(&ada, "big/k", &sized(1_048_576)).expect(200);
    assert_eq!(stored["size_bytes"], 1_048_576);
    put_raw(&ada, "big/k", &sized(1_048_577)).expect_error(413, "PAYLOAD_TOO_LARGE");
    put_raw(&ada, "big/k", &sized(3_000_000)).expect_error(413, "PAYLOAD_TOO_LARGE");
    let found = get(&ada, "big/k").expect(200);
    assert_eq!(text(&found, "value").len(), 1_048_574);
    // Bytes count, not characters.
    let wide = format!(r#"{{"value":"{}"}}"#, "\u{1f4e1}".repeat(262_144));
    put_raw(&ada, "big/k", wide.as_bytes()).expect_error(413, "PAYLOAD_TOO_LARGE");
}

/// Decision request-size-limits.
fn the_quota_is_16_mebibytes_to_the_byte(suite: &Suite) {
    let ada = agent(suite);
    let whole = sized(1_048_576);
    for n in 0..15 {
        put_raw(&ada, &format!("full/{n}"), &whole).expect(200);
    }
    put_raw(&ada, "full/almost", &sized(1_048_575)).expect(200);
    assert_eq!(quota(&ada), (16_777_215, 16_777_216, 1));
    put_raw(&ada, "full/more", br#"{"value":12}"#).expect_error(413, "PAYLOAD_TOO_LARGE");
    put_raw(&ada, "other/more", br#"{"value":1}"#).expect(200);
    assert_eq!(quota(&ada), (16_777_216, 16_777_216, 0));
    put_raw(&ada, "full/0", &whole).expect(200);
    put_raw(&ada, "full/almost", &whole).expect_error(413, "PAYLOAD_TOO_LARGE");
    ada.client.delete(&path("full/7")).expect(200);
    put_raw(&ada, "full/almost", &whole).expect(200);
}

/// Decisions request-size-limits and foreign-is-404.
fn a_full_memory_is_413_and_limits_are_settings(suite: &Suite) {
    let target = suite.fresh(&[("memory_bytes", "10"), ("memory_value_bytes", "6"), ("memory_keys", "2")]);
    let ada = Agent::server_side(&target.client());
    put_raw(&ada, "n/a", &sized(6)).expect(200);
    put_raw(&ada, "n/a", &sized(7)).expect_error(413, "PAYLOAD_TOO_LARGE");
    put_raw(&ada, "n/b", &sized(5)).expect_error(413, "PAYLOAD_TOO_LARGE");
    put_raw(&ada, "n/b", &sized(4)).expect(200);
    assert_eq!(quota(&ada), (10, 10, 0));
    put_raw(&ada, "n/a", &sized(2)).expect(200);
    put_raw(&ada, "n/c", &sized(2)).expect_error(413, "PAYLOAD_TOO_LARGE");
}

fn lists_have_every_field_and_take_a_prefix_and_a_limit(suite: &Suite) {
    let ada = agent(suite);
    for key in ["b", "a1", "a2", "a/3", "\u{e4}"] {
        put(&ada, &format!("list/{}", encode(key)), json!({ "value": key })).expect(200);
    }
    put(&ada, "lis/a", json!({ "value": 1, "value_type": "number" })).expect(200);
    assert_eq!(keys(&ada, "list"), ["a/3", "a1", "a2", "b", "\u{e4}"]);
    assert_eq!(keys(&ada, "list?prefix=a"), ["a/3", "a1", "a2"]);
    assert_eq!(keys(&ada, "list?prefix=a1"), ["a1"]);
    assert_eq!(keys(&ada, "list?prefix=a%2F"), ["a/3"]);
    get(&ada, "list?prefix=%C3").expect_error(400, "BAD_REQUEST");
    let page = get(&ada, "list?prefix=a&limit=2").expect(200);
    assert_eq!((&page["count"], &page["has_more"]), (&json!(2), &json!(true)));
    assert_eq!(keys(&ada, "list?prefix=a&limit=2&after=a1"), ["a2"]);
    assert_eq!(keys(&ada, "list?limit=100000").len(), 5);
    let list = get(&ada, "lis").expect(200);
    assert_eq!((&list["namespace"], &list["total_keys"]), (&json!("lis"), &json!(1)));
    let item = &list["keys"][0];
    assert_eq!((&item["key"], &item["value_type"], &item["size_bytes"]), (&json!("a"), &json!("number"), &json!(1)));
    assert!(Timestamp::parse(text(item, "updated_at")).is_some());
    let all = ada.client.get("/v1/agent/memory").expect(200);
    let names: Vec<&str> = all["namespaces"].as_array().unwrap().iter().map(|n| text(n, "namespace")).collect();
    assert_eq!(names, ["lis", "list"]);
    let list = &all["namespaces"][1];
    assert_eq!((&list["key_count"], &list["total_bytes"]), (&json!(5), &json!(20)));
    assert!(Timestamp::parse(text(list, "last_updated")).is_some());
    get(&ada, "list?limit=0").expect_error(400, "BAD_REQUEST");
}

/// One client crashes without the quota, and another divides by it.
fn minimum_fields_of_memory_are_there_for_an_agent_that_kept_nothing(suite: &Suite) {
    let ada = agent(suite);
    let all = ada.client.get("/v1/agent/memory").expect(200);
    assert_eq!(all["namespaces"], json!([]));
    assert_eq!(quota(&ada), (0, 16_777_216, 16_777_216));
    let list = get(&ada, "default").expect(200);
    for (member, value) in [("namespace", json!("default")), ("keys", json!([])), ("total_keys", json!(0))] {
        assert_eq!(list[member], value);
    }
    assert_eq!(list["total_bytes"], 0);
    put(&ada, "default/k", json!({ "value": 1 })).expect(200);
    assert_eq!(keys(&ada, "default"), ["k"]);
}

fn memory_belongs_to_its_agent(suite: &Suite) {
    let (ada, eve) = (agent(suite), agent(suite));
    put(&ada, "own/k", json!({ "value": 1 })).expect(200);
    get(&eve, "own/k").expect_error(404, "NOT_FOUND");
    assert!(keys(&eve, "own").is_empty());
    for (method, place) in [("GET", "/own/k"), ("PUT", "/own/k"), ("DELETE", "/own/k"), ("GET", "/own"), ("GET", "")] {
        let answer = suite.client().send(method, &format!("/v1/agent/memory{place}"), None, b"{}");
        answer.expect_error(401, "UNAUTHORIZED");
    }
}

fn bad_memory_requests_are_400(suite: &Suite) {
    let ada = agent(suite);
    let long = |length: usize| "x".repeat(length);
    for body in [
        json!({}),
        json!([1]),
        json!({ "value": 1, "ttl": 0 }),
        json!({ "value": 1, "ttl": -5 }),
        json!({ "value": 1, "ttl": 315_360_001 }),
        json!({ "value": 1, "ttl": "60" }),
        json!({ "value": 1, "value_type": long(129) }),
        json!({ "value": 1, "client_nonce": long(129) }),
        json!({ "value": 1, "client_nonce": 1 }),
    ] {
        put(&ada, "bad/k", body).expect_error(400, "BAD_REQUEST");
    }
    for body in [&b""[..], b"{\"value\":}", b"{\"value\":\xff}", b"{\"value\":1"] {
        put_raw(&ada, "bad/k", body).expect_error(400, "BAD_REQUEST");
    }
    for place in [format!("{}/k", long(201)), format!("n/{}", long(601)), "n/a%00b".into(), "a%0Ab/k".into()] {
        put(&ada, &place, json!({ "value": 1 })).expect_error(400, "BAD_REQUEST");
    }
    put(&ada, &format!("{}/{}", long(200), long(600)), json!({ "value": 1, "ttl": 60 })).expect(200);
    assert_eq!(quota(&ada).0, 1);
}

fn puts_at_once_leave_sums_that_add_up(suite: &Suite) {
    let ada = agent(suite);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let ada = &ada;
            scope.spawn(move || {
                for n in 0..10 {
                    let place = format!("race/{}", n % 4);
                    match (thread + n) % 5 {
                        0 => drop(ada.client.delete(&path(&place))),
                        _ => drop(put(ada, &place, json!({ "value": "x".repeat(thread * 10 + n) })).expect(200)),
                    }
                }
            });
        }
    });
    let list = get(&ada, "race").expect(200);
    let keys = list["keys"].as_array().unwrap();
    let bytes: u64 = keys.iter().map(|key| key["size_bytes"].as_u64().unwrap()).sum();
    assert_eq!((&list["total_keys"], &list["total_bytes"]), (&json!(keys.len()), &json!(bytes)));
    assert_eq!(quota(&ada).0, bytes);
}

fn ping(agent: &Agent) -> Value {
    agent.client.send("POST", "/v1/agent/ping", Some("application/json"), b"").expect(200)
}

fn look(suite: &Suite, did: &str) -> Value {
    suite.client().get(&format!("/v1/agent/ping/{}", encode(did))).expect(200)
}

fn a_heartbeat_has_every_field_that_clients_read(suite: &Suite) {
    let client = suite.client();
    let name = format!("Heart-{}", unique());
    let (ada, bob) = (Agent::register(&client, &json!({ "name": name })), agent(suite));
    ada.say(&bob.did, "x");
    let pong = ping(&ada);
    for (member, value) in [
        ("pong", json!(true)),
        ("did", json!(ada.did)),
        ("status", json!("online")),
        ("uptime", json!({ "days": 0, "hours": 0 })),
        ("name", json!(name)),
        ("message_count", json!(1)),
    ] {
        assert_eq!(pong[member], value, "{member}");
    }
    let seen = look(suite, &ada.did);
    assert_eq!(seen["last_seen"], pong["server_time"]);
    for (member, value) in [
        ("did", json!(ada.did)),
        ("online_status", json!("online")),
        ("minutes_since_seen", json!(0)),
        ("name", json!(name)),
        ("uptime_days", json!(0)),
    ] {
        assert_eq!(seen[member], value, "{member}");
    }
    // Raw and encoded DIDs give the same answer.
    assert_eq!(client.get(&format!("/v1/agent/ping/{}", ada.did)).expect(200), seen);
    client.wait(Duration::from_millis(20));
    let again = ping(&ada);
    assert_eq!(look(suite, &ada.did)["last_seen"], again["server_time"]);
    assert!(text(&again, "server_time") > text(&pong, "server_time"));
}

/// Decision private-activity.
fn only_heartbeats_show_and_never_a_count(suite: &Suite) {
    let (ada, bob) = (agent(suite), agent(suite));
    ada.say(&bob.did, "x");
    ada.client.get("/v1/agent/profile").expect(200);
    let seen = look(suite, &ada.did);
    assert_eq!((&seen["online_status"], &seen["last_seen"]), (&json!("offline"), &Value::Null));
    assert_eq!(seen["minutes_since_seen"], Value::Null);
    assert!(seen.get("message_count").is_none());
    // The identity shows neither of them.
    let identity = suite.client().get(&format!("/v1/agent/identity/{}", ada.did)).expect(200);
    assert!(identity.get("last_seen").is_none() && identity.get("message_count").is_none());
    assert!(identity.get("presence").is_none());
}

/// Decision private-activity.
fn presence_is_switched_off_in_the_profile(suite: &Suite) {
    let ada = agent(suite);
    assert_eq!(ada.client.get("/v1/agent/profile").expect(200)["presence"], true);
    ping(&ada);
    assert_eq!(ada.client.patch("/v1/agent/profile", &json!({ "presence": false })).expect(200)["presence"], false);
    assert_eq!(look(suite, &ada.did)["last_seen"], Value::Null);
    assert_eq!(ping(&ada)["status"], "hidden");
    let seen = look(suite, &ada.did);
    assert_eq!((&seen["online_status"], &seen["last_seen"]), (&json!("offline"), &Value::Null));
    assert_eq!(ada.client.patch("/v1/agent/profile", &json!({})).expect(200)["presence"], false);
    ada.client.patch("/v1/agent/profile", &json!({ "presence": true })).expect(200);
    ping(&ada);
    assert_eq!(look(suite, &ada.did)["online_status"], "online");
    ada.client.patch("/v1/agent/profile", &json!({ "presence": "no" })).expect_error(400, "BAD_REQUEST");
    ada.client.delete("/v1/agent/deactivate").expect(200);
    assert_eq!(look(suite, &ada.did)["online_status"], "offline");
}

fn nobody_is_404_and_a_wrong_key_does_not_matter(suite: &Suite) {
    let ada = agent(suite);
    let client = suite.client();
    let nobody = Sdk::new("svc", seed(), Options::default()).did;
    for did in [nobody.as_str(), "did:svc:x", "x"] {
        client.get(&format!("/v1/agent/ping/{did}")).expect_error(404, "NOT_FOUND");
    }
    client.agent("nonsense").get(&format!("/v1/agent/ping/{}", ada.did)).expect(200);
    client.send("POST", "/v1/agent/ping", None, b"").expect_error(401, "UNAUTHORIZED");
}
