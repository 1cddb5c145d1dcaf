//! The deployment's own services (decisions own-provider and ledger-texts-for-parties).

use std::time::Duration;

use heliograph_core::crypto::encoding::encode_hex;
use heliograph_core::crypto::hash::sha256;
use heliograph_core::crypto::signing;
use heliograph_tests::ledger::Party;
use heliograph_tests::relay::{Agent, base58, base64, bytes, text};
use heliograph_tests::target::Target;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    a_hire_of_our_own_services_reaches_claimed_alone_and_says_what_is_known,
    accepting_completes_a_hire_of_ours_and_pays_its_provider,
    each_of_many_hires_of_ours_is_claimed,
    what_is_wrong_with_an_input_is_answered,
    services_are_listed_with_the_prices_and_tags_of_existing_providers,
    the_providers_name_is_nobody_elses_and_it_has_no_api_key,
    what_our_own_services_are_asked_is_in_no_list,
    private_session_config_is_signed_by_the_provider,
    without_services_nothing_is_listed_and_there_is_no_config,
];

fn scene(suite: &Suite) -> Target {
    suite.fresh(&[("first_party_services", "true"), ("faucet_per_address", "1000")])
}

/// The listing of one of the deployment's services, once it exists.
#[track_caller]
fn listing(target: &Target, word: &str) -> Value {
    let client = target.client();
    target.until(|| {
        let found = client.get(&format!("/v1/pay/capability/search?capability=svc.{word}")).expect(200);
        found["capabilities"].as_array().unwrap().first().cloned()
    })
}

/// Hires the service and waits for the claim; returns the hire and its receipt.
#[track_caller]
fn answered(target: &Target, party: &Party, listing: &Value, input: Option<&str>) -> (Value, Value) {
    let mut members = party.hire(listing);
    members["input_json"] = json!(input);
    members["delivery_deadline_hours"] = json!(1);
    let hire = party.act("hire-request", members).expect(200);
    let path = format!("/v1/pay/hire/{}", text(&hire, "hire_id"));
    let hire = target.until(|| {
        let hire = party.client.get(&path).expect(200)["hire"].clone();
        (hire["state"] == "claimed").then_some(hire)
    });
    let receipt = party.client.get(&format!("/v1/pay/receipt/{}", text(&hire, "receipt_id"))).expect(200);
    (hire, receipt["receipt"].clone())
}

fn a_hire_of_our_own_services_reaches_claimed_alone_and_says_what_is_known(suite: &Suite) {
    let target = scene(suite);
    let party = Party::funded(&target.client());
    let check = listing(&target, "block_check");
    let input = r#"{"domain":" Example.org ","country":"it"}"#;
    let (hire, receipt) = answered(&target, &party, &check, Some(input));
    let summary = text(&receipt, "summary");
    assert_eq!(
        summary,
        r#"{"accessible":null,"status":"unknown","domain":"example.org","country":"IT","confidence":0.0,"samples":0}"#
    );
    assert_eq!(receipt["work_hash"], encode_hex(&sha256(summary.as_bytes())));
    assert_eq!((&receipt["state"], &receipt["auto_accept_on_timeout"]), (&json!("pending_acceptance"), &json!(1)));
    assert_eq!((&receipt["nonce"], &receipt["task_id"]), (&json!(format!("fp:{}", text(&hire, "id"))), &hire["id"]));
    assert!(text(&receipt, "acceptance_deadline_at") < text(&hire, "delivery_deadline_at"), "{receipt}");

    let risk = listing(&target, "risk_forecast");
    let (_, receipt) = answered(&target, &party, &risk, Some(r#"{"country":"IR"}"#));
    let served = party.client.get("/v1/forecast/IR/7day").expect(200);
    let said: Value = serde_json::from_str(text(&receipt, "summary")).unwrap();
    for (name, pointer) in [
        ("country", "/country"),
        ("max_risk", "/summary/max_risk"),
        ("max_risk_day", "/summary/max_risk_day"),
        ("avg_risk", "/summary/avg_risk"),
        ("confidence", "/confidence"),
        ("model", "/model_version"),
    ] {
        assert_eq!(Some(&said[name]), served.pointer(pointer), "{name} of {said}");
    }
}

fn accepting_completes_a_hire_of_ours_and_pays_its_provider(suite: &Suite) {
    let target = scene(suite);
    let party = Party::funded(&target.client());
    let check = listing(&target, "block_check");
    let (hire, receipt) = answered(&target, &party, &check, Some(r#"{"domain":"example.org","country":"IT"}"#));
    let accept = json!({ "receipt_id": receipt["id"], "signer_did": party.did(), "action": "accept", "rating": 5 });
    assert_eq!(party.act("work-acceptance", accept).expect(200)["escrow_released"], true);
    let hire = party.client.get(&format!("/v1/pay/hire/{}", text(&hire, "id"))).expect(200);
    assert_eq!(hire["hire"]["state"], "completed");
    assert_eq!(party.money(), (10_000_000 - 5_000, 0));
    let wallet = party.client.get(&format!("/v1/pay/wallet/{}", text(&check, "did"))).expect(200);
    assert_eq!(wallet["balance_micro"], 5_000);
}

fn each_of_many_hires_of_ours_is_claimed(suite: &Suite) {
    let target = scene(suite);
    let party = Party::funded(&target.client());
    let check = listing(&target, "block_check");
    for n in 0..20 {
        let (hire, receipt) =
            answered(&target, &party, &check, Some(&format!(r#"{{"domain":"site-{n}.example","country":"IT"}}"#)));
        assert_eq!(receipt["task_id"], hire["id"], "{n}");
    }
}

fn what_is_wrong_with_an_input_is_answered(suite: &Suite) {
    let target = scene(suite);
    let party = Party::funded(&target.client());
    let check = listing(&target, "block_check");
    for (input, error) in [
        (None, "input is not JSON"),
        (Some("example.org"), "input is not JSON"),
        (Some(r#"{"country":"IT"}"#), "domain or country missing"),
        (Some(r#"{"domain":"example.org","country":"Italy"}"#), "country must be two letters"),
    ] {
        let (_, receipt) = answered(&target, &party, &check, input);
        assert_eq!(text(&receipt, "summary"), json!({ "error": error }).to_string());
    }
}

fn services_are_listed_with_the_prices_and_tags_of_existing_providers(suite: &Suite) {
    let target = scene(suite);
    for (word, price, tags) in [
        ("block_check", 5_000, json!(["svc", "censorship", "oracle", "real-data"])),
        ("risk_forecast", 10_000, json!(["svc", "forecast", "predictive", "real-data", "sentinel"])),
    ] {
        let listing = listing(&target, word);
        assert_eq!((&listing["price_per_call_micro"], &listing["unit"]), (&json!(price), &json!("call")));
        assert_eq!((&listing["sla_deadline_hours"], &listing["active"]), (&json!(1), &json!(1)));
        assert_eq!(serde_json::from_str::<Value>(text(&listing, "tags_json")).unwrap(), tags);
        for schema in ["input_schema", "output_schema"] {
            assert_eq!(serde_json::from_str::<Value>(text(&listing, schema)).unwrap()["type"], "object");
        }
    }
    let of = target.client().get(&format!("/v1/pay/capability/did/{}", text(&listing(&target, "block_check"), "did")));
    assert_eq!(of.expect(200)["capabilities"].as_array().unwrap().len(), 2);
}

fn the_providers_name_is_nobody_elses_and_it_has_no_api_key(suite: &Suite) {
    let target = scene(suite);
    let client = target.client();
    let did = text(&listing(&target, "block_check"), "did").to_owned();
    let identity = target.until(|| {
        let identity = client.get(&format!("/v1/agent/identity/{did}")).expect(200);
        identity["name"].is_string().then_some(identity)
    });
    assert_eq!((&identity["name"], &identity["status"]), (&json!("svc services"), &json!("active")));
    for name in ["svc services", "SVC Services", " svc services "] {
        client.post("/v1/agent/register", &json!({ "name": name })).expect_error(409, "CONFLICT");
        let agent = Agent::server_side(&client);
        agent.client.patch("/v1/agent/profile", &json!({ "name": name })).expect_error(409, "CONFLICT");
    }
    let made = client.admin().post(&format!("/v1/admin/agents/{did}/api-key"), &json!({}));
    made.expect_error(409, "CONFLICT");
}

fn what_our_own_services_are_asked_is_in_no_list(suite: &Suite) {
    let target = scene(suite);
    let client = target.client();
    let party = Party::funded(&client);
    let check = listing(&target, "block_check");
    let input = r#"{"domain":"secret.example.org","country":"IT"}"#;
    let (hire, _) = answered(&target, &party, &check, Some(input));
    assert_eq!(client.get(&format!("/v1/pay/hire/{}", text(&hire, "id"))).expect(200)["hire"]["input_json"], input);
    let proof = party.signer.envelope("pay-history-read", client.now(), json!({ "did": party.did(), "nonce": "n" }));
    let mut proof = proof;
    proof["expires_at"] = json!(client.now().plus_duration(Duration::from_secs(50)).to_millis_text());
    let proved = client.with("x-svc-proof", &base64(party.signer.body(&proof).to_string().as_bytes()));
    let (own, theirs) = (party.did().to_owned(), text(&check, "did").to_owned());
    for path in [
        format!("/v1/pay/hire/incoming/{theirs}"),
        format!("/v1/pay/hire/outgoing/{own}"),
        format!("/v1/pay/receipt/did/{own}"),
        format!("/v1/pay/escrow/history/{own}"),
        "/v1/pay/stats".to_owned(),
    ] {
        let list = client.get(&path);
        assert_eq!(list.status, 200);
        assert!(!list.text().contains("secret.example.org"), "{path}: {}", list.text());
    }
    for path in [format!("/v1/pay/hire/incoming/{theirs}"), format!("/v1/pay/hire/outgoing/{own}")] {
        let hires = proved.get(&path).expect(200)["hires"].clone();
        assert_eq!((hires.as_array().unwrap().len(), &hires[0]["input_json"]), (1, &Value::Null), "{path}");
    }
}

fn private_session_config_is_signed_by_the_provider(suite: &Suite) {
    let target = scene(suite);
    let client = target.client();
    let did = text(&listing(&target, "block_check"), "did").to_owned();
    let answer = client.get("/v1/pay/private-session/config");
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let config = answer.expect(200);
    assert_eq!((text(&config, "schema"), text(&config, "rail")), ("svc-pay-private-session-config/v1", "zero_value"));
    assert_eq!(
        (&config["enabled"], &config["price_micro"], &config["currency"]),
        (&json!(true), &json!(0), &json!("svc-credit"))
    );
    assert_eq!((text(&config, "provider_did"), text(&config["provider"], "did")), (did.as_str(), did.as_str()));
    let key = bytes(&config["signing_public_key_base64"]);
    assert_eq!(did, format!("did:svc:{}", base58(&key[..16])), "the DID derives from the key");
    let identity = client.get(&format!("/v1/agent/identity/{did}")).expect(200);
    assert_eq!(identity["signing_public_key"], config["signing_public_key_base64"]);
    assert_eq!(identity["encryption_public_key"], config["encryption_public_key_base64"]);
    assert!(text(&config, "identity_url").ends_with(&format!("/v1/agent/identity/{did}")));
    let mut unsigned = config.clone();
    let signature = bytes(&unsigned.as_object_mut().unwrap().remove("signature_base64").unwrap());
    // The JSON library sorts members and writes no white space, like the canonical form.
    let key: [u8; 32] = key.try_into().unwrap();
    assert!(signing::verify(&key, unsigned.to_string().as_bytes(), &signature));
    unsigned["price_micro"] = json!(1);
    assert!(!signing::verify(&key, unsigned.to_string().as_bytes(), &signature));
    assert_eq!(client.post("/v1/pay/private-session/config", &json!({})).status, 405);
    assert!(!answer.text().contains("sealed") && !answer.text().contains("secret"), "{}", answer.text());
}

fn without_services_nothing_is_listed_and_there_is_no_config(suite: &Suite) {
    let target = suite.fresh(&[("first_party_services", "false")]);
    target.reach_out();
    let client = target.client();
    assert_eq!(client.get("/v1/pay/capability/search").expect(200)["capabilities"], json!([]));
    client.get("/v1/pay/private-session/config").expect_error(404, "NOT_FOUND");
}
