//! Registration: both modes, the DID, the API key, and refusals (relay 2.1, 2.2).

use heliograph_core::crypto::client::{Client as Sdk, Options};
use heliograph_tests::relay::{Agent, SdkAgent, actor_id, base58, base64, bytes, letter, seed, text, unique};
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_registration_without_keys_gets_keys_from_the_service,
    a_registration_with_keys_keeps_every_field,
    an_empty_body_registers,
    null_members_are_absent_members,
    one_key_without_the_other_is_refused,
    the_same_bytes_may_serve_as_both_keys,
    the_did_is_base58_of_the_first_16_bytes_of_the_signing_key,
    the_api_key_names_its_agent_and_any_changed_character_is_refused,
    signing_keys_of_small_order_are_refused,
    signing_keys_that_are_no_canonical_point_are_refused,
    an_encryption_key_of_small_order_is_refused,
    keys_of_a_wrong_length_or_alphabet_are_refused,
    a_prekey_signature_must_verify,
    a_name_is_unique_whatever_its_case,
    a_name_has_at_most_128_characters,
    at_most_32_capabilities_and_4_kilobytes_of_metadata,
    the_same_signing_key_registers_once,
    an_unproven_registration_gives_way_to_a_proved_one,
    silent_registrations_of_the_same_keys_collide,
    an_envelope_of_its_signing_key_proves_a_registration,
    an_unproved_agent_frees_its_did_when_deactivated,
];

fn refused(suite: &Suite, body: &Value) {
    suite.client().post("/v1/agent/register", body).expect_error(400, "BAD_REQUEST");
}

fn name(word: &str) -> String {
    format!("{word}-{}", unique())
}

/// Keys without a signed prekey, so that nothing shows that the caller holds them.
fn unproven(sdk: &Sdk) -> Value {
    let mut body = sdk.key_body(None, 1);
    for name in ["signed_prekey_public", "signed_prekey_signature", "signed_prekey_id"] {
        body.as_object_mut().unwrap().remove(name);
    }
    body
}

fn a_registration_without_keys_gets_keys_from_the_service(suite: &Suite) {
    let client = suite.client();
    let name = name("Servant");
    let body = json!({ "name": name, "capabilities": ["translate", "svc.block_check"], "metadata": { "a": [1] } });
    let agent = Agent::register(&client, &body);
    let answer = &agent.registration;
    assert_eq!(answer["client_side"], false);
    assert_eq!(answer["name"], json!(name));
    assert_eq!(answer["capabilities"], json!(["translate", "svc.block_check"]));
    assert_eq!(bytes(&answer["signing_public_key"]).len(), 32);
    assert_eq!(bytes(&answer["encryption_public_key"]).len(), 32);
    assert_ne!(answer["signing_public_key"], answer["encryption_public_key"]);
    let identity = client.get(&format!("/v1/agent/identity/{}", agent.did)).expect(200);
    for member in ["signing_public_key", "encryption_public_key", "name", "capabilities"] {
        assert_eq!(identity[member], answer[member], "{member}");
    }
    assert_eq!(identity["metadata"], json!({ "a": [1] }));
}

fn a_registration_with_keys_keeps_every_field(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let name = name("Sovereign");
    let mut body = sdk.key_body(Some(&name), 7);
    body["capabilities"] = json!(["chat"]);
    body["metadata"] = json!({ "lang": "m\u{e4}", "nested": { "deep": [null, 1.5, true] } });
    let agent = Agent::register(&client, &body);
    assert_eq!(agent.did, sdk.did);
    assert_eq!(agent.registration["client_side"], true);
    for member in ["signing_public_key", "encryption_public_key", "name", "capabilities"] {
        assert_eq!(agent.registration[member], body[member], "{member}");
    }
    let identity = client.get(&format!("/v1/agent/identity/{}", agent.did)).expect(200);
    for member in
        ["signing_public_key", "encryption_public_key", "mlkem_public_key", "name", "capabilities", "metadata"]
    {
        assert_eq!(identity[member], body[member], "{member}");
    }
    let prekey = &identity["signed_prekey"];
    assert_eq!(prekey["public_key"], body["signed_prekey_public"]);
    assert_eq!(prekey["signature"], body["signed_prekey_signature"]);
    assert_eq!(prekey["id"], 7);
}

fn an_empty_body_registers(suite: &Suite) {
    for content_type in [Some("application/json"), None] {
        let answer = suite.client().send("POST", "/v1/agent/register", content_type, b"").expect(201);
        assert_eq!((&answer["name"], &answer["capabilities"]), (&Value::Null, &json!([])));
    }
}

fn null_members_are_absent_members(suite: &Suite) {
    let nothing: Value = [
        "name",
        "capabilities",
        "metadata",
        "signing_public_key",
        "encryption_public_key",
        "mlkem_public_key",
        "signed_prekey_public",
        "signed_prekey_signature",
        "signed_prekey_id",
    ]
    .into_iter()
    .map(|name| (name.to_owned(), Value::Null))
    .collect::<serde_json::Map<_, _>>()
    .into();
    let agent = Agent::register(&suite.client(), &nothing);
    assert_eq!(agent.registration["client_side"], false);
}

fn one_key_without_the_other_is_refused(suite: &Suite) {
    for missing in ["signing_public_key", "encryption_public_key"] {
        let mut body = unproven(&Sdk::new("svc", seed(), Options::default()));
        body.as_object_mut().unwrap().remove(missing);
        refused(suite, &body);
    }
}

fn the_same_bytes_may_serve_as_both_keys(suite: &Suite) {
    let mut body = unproven(&Sdk::new("svc", seed(), Options::default()));
    body["encryption_public_key"] = body["signing_public_key"].clone();
    body["mlkem_public_key"] = Value::Null;
    let agent = Agent::register(&suite.client(), &body);
    assert_eq!(agent.registration["encryption_public_key"], body["signing_public_key"]);
}

fn the_did_is_base58_of_the_first_16_bytes_of_the_signing_key(suite: &Suite) {
    let client = suite.client();
    for agent in [Agent::server_side(&client), SdkAgent::new(&client, Options::default()).agent] {
        let key = bytes(&agent.registration["signing_public_key"]);
        assert_eq!(agent.did, format!("did:svc:{}", base58(&key[..16])));
    }
}

/// Decision api-key-form.
fn the_api_key_names_its_agent_and_any_changed_character_is_refused(suite: &Suite) {
    let client = suite.client();
    let agent = Agent::server_side(&client);
    let rest = agent.api_key.strip_prefix("svc_agent_").unwrap_or_else(|| panic!("form of {}", agent.api_key));
    let key = bytes(&agent.registration["signing_public_key"]);
    // The id in base64url, found by position since it may contain the separator; then secret, CRC and MAC in base62.
    assert_eq!(rest[..22], actor_id(&key[..16]));
    assert_eq!(&rest[22..23], "_");
    assert_eq!(rest[23..].len(), 32 + 6 + 11, "{rest}");
    assert!(rest[23..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{rest}");

    assert_eq!(client.agent(&agent.api_key).get("/v1/agent/profile").status, 200);
    for at in 0..agent.api_key.len() {
        let mut changed = agent.api_key.clone().into_bytes();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        client.agent(&changed).get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    }
    for cut in [1, 11, 49, agent.api_key.len()] {
        let short = &agent.api_key[..agent.api_key.len() - cut];
        client.agent(short).get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    }
    client.agent(&format!("{}A", agent.api_key)).get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
}

fn with_signing_key(key: &[u8; 32]) -> Value {
    let mut body = unproven(&Sdk::new("svc", seed(), Options::default()));
    body["signing_public_key"] = json!(base64(key));
    body
}

fn hex(text: &str) -> [u8; 32] {
    let byte = |at: usize| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap();
    std::array::from_fn(byte)
}

/// The eight points whose order divides 8, in canonical form (RFC 8032 5.1.7 allows them, but nobody can own them).
const SMALL_ORDER: [&str; 8] = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
];

/// Decision signed-registrations.
fn signing_keys_of_small_order_are_refused(suite: &Suite) {
    for point in SMALL_ORDER {
        refused(suite, &with_signing_key(&hex(point)));
    }
}

/// Decision signed-registrations.
fn signing_keys_that_are_no_canonical_point_are_refused(suite: &Suite) {
    // y = p + k for every k that fits into 255 bits, with both signs: some are on the curve, none is canonical.
    for k in 0..19u8 {
        for sign in [0x7f, 0xff] {
            let mut key = [0xff; 32];
            key[0] = 0xed + k.min(18);
            key[31] = sign;
            refused(suite, &with_signing_key(&key));
        }
    }
    // x = 0 with the sign bit set.
    for y in ["01", "ec"] {
        let mut key = [if y == "01" { 0 } else { 0xff }; 32];
        key[0] = hex(&y.repeat(32))[0];
        key[31] = if y == "01" { 0x80 } else { 0xff };
        refused(suite, &with_signing_key(&key));
    }
    // No point has y = 2.
    let mut key = [0; 32];
    key[0] = 2;
    refused(suite, &with_signing_key(&key));
}

fn an_encryption_key_of_small_order_is_refused(suite: &Suite) {
    // Everybody could read a message to such a key (RFC 7748 section 6.1).
    for first in [0, 1] {
        let mut body = unproven(&Sdk::new("svc", seed(), Options::default()));
        let mut key = [0; 32];
        key[0] = first;
        body["encryption_public_key"] = json!(base64(&key));
        refused(suite, &body);
    }
}

fn keys_of_a_wrong_length_or_alphabet_are_refused(suite: &Suite) {
    let sdk = Sdk::new("svc", seed(), Options::default());
    let good = sdk.key_body(None, 1);
    let members = [
        "signing_public_key",
        "encryption_public_key",
        "mlkem_public_key",
        "signed_prekey_public",
        "signed_prekey_signature",
    ];
    for member in members {
        let right = bytes(&good[member]);
        let text = text(&good, member);
        let longer = [right.as_slice(), &[0]].concat();
        for wrong in [
            json!(base64(&right[1..])),
            json!(base64(&longer)),
            json!(""),
            json!("!"),
            json!(text.trim_end_matches('=')),
            json!(format!("{text} ")),
            json!(format!("-_{}", &text[2..])),
            json!(1),
            json!([text]),
        ] {
            let mut body = good.clone();
            body[member] = wrong;
            refused(suite, &body);
        }
    }
    Agent::register(&suite.client(), &good);
}

/// Decision signed-registrations.
fn a_prekey_signature_must_verify(suite: &Suite) {
    let sdk = Sdk::new("svc", seed(), Options::default());
    let other = Sdk::new("svc", seed(), Options::default()).key_body(None, 1);
    let good = sdk.key_body(None, 1);
    let flipped = |at: usize| {
        let mut signature = bytes(&good["signed_prekey_signature"]);
        signature[at] ^= 1;
        json!(base64(&signature))
    };
    for (member, wrong) in [
        ("signed_prekey_signature", flipped(0)),
        ("signed_prekey_signature", flipped(40)),
        ("signed_prekey_signature", flipped(63)),
        ("signed_prekey_signature", json!(base64(&[0; 64]))),
        ("signed_prekey_signature", other["signed_prekey_signature"].clone()),
        ("signed_prekey_public", other["signed_prekey_public"].clone()),
        ("signing_public_key", other["signing_public_key"].clone()),
    ] {
        let mut body = good.clone();
        body[member] = wrong;
        refused(suite, &body);
    }
    // The refusals left nothing behind.
    let client = suite.client();
    assert_eq!(client.get(&format!("/v1/agent/identity/{}", sdk.did)).status, 404);
    Agent::register(&client, &good);
}

fn a_name_is_unique_whatever_its_case(suite: &Suite) {
    let client = suite.client();
    let name = name("Ada-\u{c4}");
    Agent::register(&client, &json!({ "name": name }));
    for taken in [name.clone(), name.to_uppercase(), name.to_lowercase()] {
        client.post("/v1/agent/register", &json!({ "name": taken })).expect_error(409, "CONFLICT");
    }
    // A refused registration leaves neither an agent nor a name.
    let sdk = Sdk::new("svc", seed(), Options::default());
    client.post("/v1/agent/register", &sdk.key_body(Some(&name), 1)).expect_error(409, "CONFLICT");
    assert_eq!(client.get(&format!("/v1/agent/identity/{}", sdk.did)).status, 404);
    Agent::register(&client, &sdk.key_body(None, 1));
}

fn a_name_has_at_most_128_characters(suite: &Suite) {
    let client = suite.client();
    let number = name("");
    let fill = |length: usize| format!("{number}{}", "\u{1f600}".repeat(length - number.chars().count()));
    let agent = Agent::register(&client, &json!({ "name": fill(128) }));
    assert_eq!(agent.registration["name"], json!(fill(128)));
    refused(suite, &json!({ "name": fill(129) }));
}

/// A JSON object of exactly `bytes` bytes in compact form.
pub fn object_of(bytes: usize) -> Value {
    json!({ "m": "x".repeat(bytes - r#"{"m":""}"#.len()) })
}

fn at_most_32_capabilities_and_4_kilobytes_of_metadata(suite: &Suite) {
    let client = suite.client();
    let capabilities = |count: usize| (0..count).map(|at| format!("c{at}")).collect::<Vec<_>>();
    let body = json!({ "capabilities": capabilities(32), "metadata": object_of(4096) });
    let agent = Agent::register(&client, &body);
    assert_eq!(agent.registration["capabilities"], body["capabilities"]);
    let identity = client.get(&format!("/v1/agent/identity/{}", agent.did)).expect(200);
    assert_eq!(identity["metadata"], body["metadata"]);

    refused(suite, &json!({ "capabilities": capabilities(33) }));
    let answer = client.post("/v1/agent/register", &json!({ "metadata": object_of(4097) }));
    assert!([400, 413].contains(&answer.status), "{}", answer.status);
    for wrong in [json!({ "metadata": [] }), json!({ "metadata": "x" }), json!({ "capabilities": "x" })] {
        refused(suite, &wrong);
    }
}

fn the_same_signing_key_registers_once(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let body = sdk.key_body(None, 1);
    let first = Agent::register(&client, &body);
    client.post("/v1/agent/register", &body).expect_error(409, "CONFLICT");
    client.post("/v1/agent/register", &unproven(&sdk)).expect_error(409, "CONFLICT");
    assert_eq!(first.client.get("/v1/agent/profile").status, 200);
}

/// Decision signed-registrations.
fn an_unproven_registration_gives_way_to_a_proved_one(suite: &Suite) {
    let client = suite.client();
    let owner = Sdk::new("svc", seed(), Options::default());
    let squatter = Sdk::new("svc", seed(), Options::default());
    // Public keys are public: the squatter registers the owner's signing key with its own encryption key.
    let mut body = unproven(&owner);
    body["encryption_public_key"] = squatter.key_body(None, 1)["encryption_public_key"].clone();
    let squatted = Agent::register(&client, &body);
    assert_eq!(squatted.did, owner.did);

    let proved = Agent::register(&client, &owner.key_body(None, 1));
    assert_eq!(proved.did, owner.did);
    squatted.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    assert_eq!(proved.client.get("/v1/agent/profile").status, 200);
    let identity = client.get(&format!("/v1/agent/identity/{}", owner.did)).expect(200);
    assert_eq!(identity["encryption_public_key"], owner.key_body(None, 1)["encryption_public_key"]);
    client.post("/v1/agent/register", &owner.key_body(None, 1)).expect_error(409, "CONFLICT");
}

fn silent_registrations_of_the_same_keys_collide(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let first = Agent::register(&client, &unproven(&sdk));
    client.post("/v1/agent/register", &unproven(&sdk)).expect_error(409, "CONFLICT");
    assert_eq!(first.client.get("/v1/agent/profile").status, 200);
}

/// Decision signed-registrations.
fn an_envelope_of_its_signing_key_proves_a_registration(suite: &Suite) {
    let client = suite.client();
    let peer = Agent::server_side(&client);
    let mut sdk = Sdk::new("svc", seed(), Options::default());
    let agent = Agent::register(&client, &unproven(&sdk));
    // A letter without a signature by the key proves nothing.
    agent.client.post("/v1/agent/send/encrypted", &letter(&peer.did, "x")).expect(201);
    let to = heliograph_tests::relay::look_up(&client, &peer.did);
    let posted = sdk.send(&to, &client.now().to_millis_text(), "signed", Default::default()).unwrap();
    agent.client.post("/v1/agent/send/encrypted", &serde_json::to_value(&posted).unwrap()).expect(201);
    client.post("/v1/agent/register", &sdk.key_body(None, 1)).expect_error(409, "CONFLICT");
    assert_eq!(agent.client.get("/v1/agent/profile").status, 200);
}

fn an_unproved_agent_frees_its_did_when_deactivated(suite: &Suite) {
    let client = suite.client();
    let sdk = Sdk::new("svc", seed(), Options::default());
    let first = Agent::register(&client, &unproven(&sdk));
    first.client.delete("/v1/agent/deactivate").expect(200);
    let second = Agent::register(&client, &sdk.key_body(None, 1));
    assert_eq!(second.did, first.did);
    first.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
    second.client.delete("/v1/agent/deactivate").expect(200);
    Agent::register(&client, &sdk.key_body(None, 1));
    second.client.get("/v1/agent/profile").expect_error(401, "UNAUTHORIZED");
}
