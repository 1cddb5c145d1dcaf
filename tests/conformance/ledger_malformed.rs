//! Malformed envelopes over HTTP (decision money-model); the core tests ten thousand of them.

use heliograph_core::ledger::mutation::Mutator;
use heliograph_tests::ledger::{Party, path_of, refused};
use serde_json::json;

use crate::{Suite, cases};

cases![
    g3_malformed_envelopes_are_refused_with_a_reason_and_change_nothing,
    errors_of_the_machinery_have_what_clients_of_the_ledger_read,
];

/// Number of bodies that are sent.
const BODIES: u64 = 400;

fn g3_malformed_envelopes_are_refused_with_a_reason_and_change_nothing(suite: &Suite) {
    let target = suite.fresh(&[("pay_writes_per_minute", "0")]);
    let client = target.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let listing = b.act("capability-list", b.listing("work.test", 10)).expect(200)["capability"].clone();
    let escrow = a.open(b.did(), 10);
    let kinds = [
        ("credit-transfer", &a, a.transfer(b.did(), 5)),
        ("escrow-open", &a, a.escrow(b.did(), 5, std::time::Duration::from_secs(3_600))),
        ("escrow-release", &a, json!({ "escrow_id": escrow, "signer_did": a.did() })),
        ("hire-request", &a, a.hire(&listing)),
        ("work-claim", &b, b.claim(a.did(), Some(&escrow))),
        ("capability-list", &b, b.listing("work.test", 10)),
        ("pay-faucet", &b, json!({ "did": b.did() })),
    ];
    let state = || {
        let history = client.get(&format!("/v1/pay/history/{}", a.did())).expect(200)["transfers"].clone();
        let counts = client.get("/v1/pay/health").expect(200)["counts"].clone();
        (a.money(), history, counts)
    };
    let (before, mut dice) = (state(), Mutator::new(7));
    for number in 0..BODIES {
        let (schema, by, members) = &kinds[dice.below(kinds.len())];
        let mut body = by.body(schema, members.clone());
        // The rest of the body has no valid signature, so that none can settle.
        body["signature"] = json!(by.signer.sign(&json!({})));
        let bytes = match number % 2 {
            0 => {
                dice.structure(&mut body["envelope"]);
                body.to_string().into_bytes()
            }
            _ => dice.bytes(body.to_string().as_bytes()),
        };
        let answer = client.send("POST", path_of(schema), Some("application/json"), &bytes);
        let shown = String::from_utf8_lossy(&bytes);
        assert!((400..500).contains(&answer.status), "{} {} to {shown}", answer.status, answer.text());
        let error = answer.json();
        assert!(error["reason"].is_string() && error["error"].is_string() && error["message"].is_string(), "{error}");
    }
    assert_eq!(state(), before);
    a.pay(b.did(), 1).expect(200);
}

/// This also holds for requests that no handler saw.
fn errors_of_the_machinery_have_what_clients_of_the_ledger_read(suite: &Suite) {
    let large = format!("{{\"envelope\":\"{}\"}}", "x".repeat(70_000));
    let media = Some("application/json");
    // One deployment for each path, because a used-up budget is reported before a body is read.
    let targets = [0, 1].map(|_| suite.fresh(&[("pay_writes_per_address", "4")]));
    let nowhere = targets[0].client().get("/v1/pay/nope");
    let body = nowhere.expect(404);
    assert_eq!((&body["error"], &body["reason"], &body["ok"]), (&json!("NO_ROUTE"), &json!("no_route"), &json!(false)));
    assert_eq!(body["schema"], "svc-pay-error/v1");
    for (path, target) in ["/v1/pay/transfer", "/v1/pay/escrow/open"].into_iter().zip(&targets) {
        let client = target.client();
        let fifth = || {
            (0..4).for_each(|_| drop(client.send("POST", path, media, b"{}")));
            client.send("POST", path, media, b"{}")
        };
        let sent = [
            (client.send("POST", path, media, large.as_bytes()), "payload_too_large"),
            (client.send("POST", path, Some("text/html"), b"{}"), "unsupported_media_type"),
            (client.send("DELETE", path, None, b""), "method_not_allowed"),
            (fifth(), "rate_limited"),
        ];
        for (answer, reason) in sent {
            let body = answer.json();
            let transfer = path == "/v1/pay/transfer";
            let schema = if transfer { "svc-pay-receipt/v1" } else { "svc-pay-error/v1" };
            assert!(answer.status >= 400, "{body}");
            assert_eq!(
                (&body["reason"], &body["ok"], &body["schema"]),
                (&json!(reason), &json!(false), &json!(schema))
            );
            assert_eq!(body.get("status"), transfer.then(|| json!("failed")).as_ref(), "{body}");
            assert_eq!(body["error"], reason.to_ascii_uppercase());
            assert!(body["message"].is_string(), "{body}");
        }
    }
    for body in [json!({ "did": null }), json!({ "did": 5 }), json!({}), json!({ "did": "did:web:x" })] {
        refused(&suite.client().post("/v1/pay/wallet", &body), 400, "invalid_did");
    }
}
