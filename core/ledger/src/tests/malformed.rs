//! Envelopes that nobody should send, by the thousand (decision money-model).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use serde_json::{Value, json};

use super::invariants_transfer::every_kind;
use super::{Party, World, path_of};
use crate::json as strict;
use crate::mutation::Mutator;
use engine::actor::{ActorId, Kind};
use engine::runtime::Runtime;

/// Number of bodies that are tried, and number of those that are tried on one deployment.
const BODIES: usize = 10_000;
const EACH: usize = 250;

/// The signed bytes of a body, if it can be read.
fn canonical(body: &[u8]) -> Option<Vec<u8>> {
    let strict::Json::Object(mut members) = strict::parse(body, strict::MAX_DEPTH + 1)? else { return None };
    members.remove("envelope")?.without_nulls().canonical()
}

/// A body that was made wrong.
struct Wrong {
    path: String,
    transfer: bool,
    bytes: Vec<u8>,
    /// The bytes that the signature is over; `None` if the wrong body was signed again.
    signed: Option<Vec<u8>>,
}

/// Makes one of the good bodies wrong. Some are signed again afterwards, so that only the ledger can refuse them.
fn wrong(world: &World, dice: &mut Mutator, kinds: &[(&'static str, &Party, Value)]) -> Wrong {
    let (schema, by, members) = &kinds[dice.below(kinds.len())];
    let good = world.body(by, schema, members.clone());
    let signed = canonical(good.to_string().as_bytes());
    let (path, transfer) = (path_of(schema).to_owned(), *schema == "credit-transfer");
    let mut body = good.clone();
    match dice.below(4) {
        0 => {
            dice.structure(&mut body["envelope"]);
            let bytes = by.signer.body(&body["envelope"]).to_string().into_bytes();
            return Wrong { path, transfer, bytes, signed: None };
        }
        1 => dice.structure(&mut body["envelope"]),
        2 => dice.structure(&mut body),
        _ => return Wrong { path, transfer, bytes: dice.bytes(body.to_string().as_bytes()), signed },
    }
    Wrong { path, transfer, bytes: body.to_string().into_bytes(), signed }
}

/// Checks the answer against the rows before and after. Returns the reason, or `settled`.
fn judge(world: &World, wrong: &Wrong) -> String {
    let ledger = ActorId::sole(Kind::Ledger);
    let before = world.rt.rows(&ledger);
    let (transfers, wallets) = (world.transfers(), world.wallets());
    let shown = String::from_utf8_lossy(&wrong.bytes).into_owned();
    let body = Bytes::copy_from_slice(&wrong.bytes);
    let (status, answer) = world.send_bytes("POST", &wrong.path, None, body, Some([127, 0, 0, 1].into()));
    assert!(status < 500, "{status} {answer} to {shown}");
    if status == 200 {
        // The settled body is the one that was signed.
        assert!(wrong.signed.is_none() || wrong.signed == canonical(&wrong.bytes), "{shown}");
        return "settled".to_owned();
    }
    assert!(answer["error"].is_string() && answer["message"].is_string(), "{answer}");
    let reason = answer["reason"].as_str().unwrap_or_else(|| panic!("{answer} to {shown}")).to_owned();
    assert!(world.wallets() == wallets, "{reason} changed a wallet: {shown}");
    let after = world.transfers();
    // The requester of a claim is checked after the signature of its provider.
    let of_claim = reason == "requester_pubkey_not_found" && wrong.path == path_of("work-claim");
    let unknown = reason.ends_with("_pubkey_not_found") && !of_claim;
    let malformed = reason == "invalid_envelope" || reason == "invalid_signature" || unknown;
    if malformed || reason.starts_with("envelope_") || (wrong.transfer && reason == "nonce_seen") {
        assert!(world.rt.rows(&ledger) == before, "{reason} left something behind: {shown}");
    } else if wrong.transfer {
        let new: Vec<_> = after.iter().filter(|row| !transfers.contains(row)).collect();
        let failed = new.iter().filter(|(_, row)| row.reason.is_some()).count();
        // There is exactly one new row; but a nonce has only one row, whatever is wrong with a later envelope that has
        // it.
        let signed: Value = serde_json::from_slice(&wrong.bytes).unwrap();
        let used = transfers.iter().any(|(_, row)| {
            let before: Value = serde_json::from_slice(&row.signed.as_ref().unwrap().canonical).unwrap();
            before["nonce"] == signed["envelope"]["nonce"]
        });
        let rows = usize::from(!used);
        assert_eq!((new.len(), failed, answer["transfer_id"].is_string()), (rows, rows, !used), "{shown}");
    } else {
        assert_eq!(after.len(), transfers.len(), "{shown}");
    }
    reason
}

#[test]
fn ten_thousand_malformed_envelopes_never_break_anything() {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..BODIES / EACH {
        let mut dice = Mutator::new(round as u64);
        let world = World::new();
        let (a, b) = (world.rich(1, 1_000_000), world.party(2));
        let mut kinds = every_kind(&world, &a, &b);
        // A transfer can be wrong in most ways that are not about its form.
        let transfer = kinds[0].clone();
        kinds.extend([transfer.clone(), transfer]);
        let supply = |world: &World| crate::book::read(&world.store()).unwrap().supply;
        for _ in 0..EACH {
            *reasons.entry(judge(&world, &wrong(&world, &mut dice, &kinds))).or_default() += 1;
        }
        let all: u64 = world.wallets().iter().map(|(_, wallet)| wallet.balance + wallet.locked).sum();
        assert_eq!(all, supply(&world));
        // The ledger works as before.
        world.pay(&a, &b, 1).unwrap();
    }
    // If all mutations ended at the first check, the test would show nothing.
    let seen: BTreeSet<&str> = reasons.keys().map(String::as_str).collect();
    for reason in [
        "settled",
        "invalid_envelope",
        "invalid_signature",
        "sender_pubkey_not_found",
        "envelope_expired",
        "amount_out_of_range",
        "recipient_invalid_did",
        "invalid_work_hash",
        "escrow_not_found",
    ] {
        assert!(seen.contains(reason), "{reason} never came up: {reasons:?}");
    }
    assert!(reasons["invalid_envelope"] < BODIES * 9 / 10, "{reasons:?}");
}

/// Actions of operators are read as strictly.
#[test]
fn g3_malformed_actions_of_operators_are_refused_and_change_nothing() {
    let world = World::new();
    let a = world.rich(1, 1_000);
    let mut dice = Mutator::new(1);
    let mut refused = 0;
    for _ in 0..500 {
        let members = json!({ "action": "grant", "did": a.did(), "amount_micro": 1, "reason": "x" });
        let audience = &world.rt.environment().deployment;
        let mut body = world.operator.action(&world.keyid, audience, &world.nonce(), world.rt.now(), members);
        let bytes = match dice.below(3) {
            0 => {
                dice.structure(&mut body["body"]);
                body["signature_base64"] = json!(world.operator.sign(&body["body"]));
                body.to_string().into_bytes()
            }
            1 => {
                dice.structure(&mut body);
                body.to_string().into_bytes()
            }
            _ => dice.bytes(body.to_string().as_bytes()),
        };
        let before = world.rt.rows(&ActorId::sole(Kind::Ledger));
        let (status, answer) =
            world.send_bytes("POST", "/v1/pay/admin/grant", None, Bytes::from(bytes), Some([127, 0, 0, 1].into()));
        assert!(status < 500, "{status} {answer}");
        if status != 200 {
            assert!(answer["reason"].is_string(), "{answer}");
            assert!(world.rt.rows(&ActorId::sole(Kind::Ledger)) == before, "{answer}");
            refused += 1;
        }
    }
    assert!((250..500).contains(&refused), "{refused}");
}

#[test]
fn an_invalid_envelope_is_answered_with_what_is_wrong_with_it() {
    let world = World::new();
    let (a, b) = (world.rich(1, 5), world.party(2));
    let good = world.transfer_of(&a, &b, 1);
    let cases = [
        (json!({ "memo": "x".repeat(281) }), "`memo` is missing from the envelope, or has"),
        (json!({ "amount_micro": "1" }), "`amount_micro` is missing from the envelope, or has"),
        (json!({ "to_did": null }), "`to_did` is missing from the envelope, or has"),
        (json!({ "issued_at": "today" }), "`issued_at` is missing from the envelope, or has"),
        (json!({ "schema": "svc-credit-transfers/v1" }), "`schema` is missing from the envelope, or has"),
        (json!({ "priority": 1 }), "`priority` is not a member of this schema"),
        (json!({ "aud": "elsewhere" }), "or `aud` names another deployment"),
    ];
    for (change, expected) in cases {
        let body = world.body(&a, "credit-transfer", super::with(&good, change));
        let (status, answer) = world.send("POST", "/v1/pay/transfer", None, &body);
        assert_eq!((status, &answer["reason"]), (400, &json!("invalid_envelope")), "{answer}");
        assert!(answer["hint"].as_str().unwrap().contains(expected), "{answer}");
    }
    let (_, answer) = world.send("POST", "/v1/pay/batch", None, &world.body(&a, "credit-transfer", good.clone()));
    assert!(answer["hint"].as_str().unwrap().contains("belongs to another route."), "{answer}");
    let (_, answer) = world.send("POST", "/v1/pay/transfer", None, &json!({ "envelope": good }));
    assert!(answer["hint"].as_str().unwrap().contains("`signature` of the body"), "{answer}");
}
