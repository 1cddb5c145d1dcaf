//! Names: names that look alike are one name, and a request that fails keeps no name.

use heliograph_core::crypto::client::Options;
use heliograph_tests::client::Answer;
use heliograph_tests::relay::{Agent, SdkAgent, unique};
use serde_json::json;

use crate::{Suite, cases};

cases![
    names_that_look_alike_are_one_name,
    a_reserved_name_cannot_be_written_in_letters_that_look_like_it,
    what_cannot_be_seen_in_a_name_is_400,
    joiners_stay_in_scripts_that_need_them,
    a_registration_that_fails_keeps_no_name,
    a_rename_and_a_username_that_fail_keep_no_name,
];

fn register(suite: &Suite, name: &str) -> Answer {
    suite.client().post("/v1/agent/register", &json!({ "name": name }))
}

fn names_that_look_alike_are_one_name(suite: &Suite) {
    let word = format!("n{}", unique());
    let ada = Agent::register(&suite.client(), &json!({ "name": format!("Café Straße {word}") }));
    let other = Agent::server_side(&suite.client());
    for alike in [
        format!("CAFÉ STRASSE {}", word.to_uppercase()),
        format!("cafe\u{301} straße {word}"),
        format!("\u{FF23}afé straße {word}"),
        format!("café  straße\u{A0}{word} "),
    ] {
        register(suite, &alike).expect_error(409, "CONFLICT");
        other.client.patch("/v1/agent/profile", &json!({ "name": alike })).expect_error(409, "CONFLICT");
        ada.client.patch("/v1/agent/profile", &json!({ "name": alike })).expect(200);
    }
    register(suite, &format!("Cafe Strasse {word}")).expect(201);
}

fn a_reserved_name_cannot_be_written_in_letters_that_look_like_it(suite: &Suite) {
    for fake in ["svc services", "SVC  Services", "\u{455}vc servi\u{441}es", "svc s\u{435}rvices", "SVC SERVlCES"] {
        register(suite, fake).expect_error(409, "CONFLICT");
    }
}

fn what_cannot_be_seen_in_a_name_is_400(suite: &Suite) {
    let agent = Agent::server_side(&suite.client());
    for bad in ["\u{7}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{2060}", "\u{FEFF}", "\u{AD}", "\u{200D}", "\u{E0041}"]
    {
        let name = format!("ab{bad}cd");
        register(suite, &name).expect_error(400, "BAD_REQUEST");
        agent.client.patch("/v1/agent/profile", &json!({ "name": name })).expect_error(400, "BAD_REQUEST");
        agent.client.post("/v1/agent/channels", &json!({ "name": name })).expect_error(400, "BAD_REQUEST");
        agent.client.post("/v1/agent/capabilities", &json!({ "name": name })).expect_error(400, "BAD_REQUEST");
        agent.client.post("/v1/agent/username", &json!({ "username": name })).expect_error(400, "BAD_REQUEST");
    }
}

fn joiners_stay_in_scripts_that_need_them(suite: &Suite) {
    let word = unique();
    let with = format!("\u{645}\u{6CC}\u{200C}\u{62E}\u{648}\u{627}\u{647}\u{645} {word}");
    let made = register(suite, &with).expect(201);
    assert_eq!(made["name"], with);
    register(suite, &with.replace('\u{200C}', "")).expect_error(409, "CONFLICT");
}

/// Otherwise anybody could keep names from others, a minute at a time and as often as wanted.
fn a_registration_that_fails_keeps_no_name(suite: &Suite) {
    let client = suite.client();
    let taken = SdkAgent::new(&client, Options::default());
    let name = format!("wanted {}", unique());
    let again = taken.sdk.key_body(Some(&name), 1);
    client.post("/v1/agent/register", &again).expect_error(409, "CONFLICT");
    register(suite, &name.to_uppercase()).expect(201);
}

fn a_rename_and_a_username_that_fail_keep_no_name(suite: &Suite) {
    let client = suite.client();
    let (ada, bob) = (Agent::server_side(&client), Agent::server_side(&client));
    let (one, two) = (format!("u{}", unique()), format!("v{}", unique()));
    let [one, two] =
        [one, two].map(|name| name.chars().filter(char::is_ascii_alphanumeric).take(30).collect::<String>());
    ada.client.post("/v1/agent/username", &json!({ "username": one })).expect(201);
    ada.client.post("/v1/agent/username", &json!({ "username": two })).expect_error(409, "CONFLICT");
    bob.client.post("/v1/agent/username", &json!({ "username": two })).expect(201);
    // The agent keeps its own name.
    client.get(&format!("/v1/agent/username/{one}")).expect(200);
}
