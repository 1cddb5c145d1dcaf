//! Events that a dishonest keeper of the log could add, with balances that add up, under a root and a head of its own
//! (decision ledger-log). An envelope that was signed for something else, was used before, or was signed by somebody
//! else allows no event.

use serde_json::{Value, json};

use super::log::{audit, busy_on, read};
use super::{Party, World, hours, minutes};
use crate::Timestamp;
use crate::form::Hidden;
use crate::json;
use engine::runtime::Runtime;

/// A time within the hours of the log.
const AT: &str = "2026-01-01T03:00:00.000Z";

type Log = Vec<(Vec<u8>, Vec<Hidden>)>;

fn value(form: &[u8]) -> Value {
    serde_json::from_slice(form).unwrap()
}

/// The flaw that an auditor finds in the log with one more event, which makes these changes of balance and locked
/// amount. The texts are those of the event that its signature comes from.
fn flaw(log: &Log, mut event: Value, moves: &[(&Party, i64, i64)], texts: &[Hidden]) -> String {
    let auditor = audit(log).unwrap();
    let last = Timestamp::parse(value(&log.last().unwrap().0)["time"].as_str().unwrap()).unwrap();
    let mut changes: Vec<Value> = Vec::new();
    for (party, balance, locked) in moves {
        let (before, held) = auditor.wallets()[party.did()];
        changes.push(json!({
            "did": party.did(), "balance_micro": balance, "locked_micro": locked,
            "balance_after_micro": before.cast_signed() + balance, "locked_after_micro": held.cast_signed() + locked,
        }));
    }
    changes.sort_by_key(|change| change["did"].as_str().unwrap().to_owned());
    event["changes"] = json!(changes);
    event["seq"] = json!(log.len());
    if event["time"].is_null() {
        event["time"] = json!(last.plus(1).to_micros_text());
    }
    let form = json::parse(event.to_string().as_bytes(), json::MAX_DEPTH + 2).unwrap().canonical().unwrap();
    let mut forged = log.clone();
    forged.push((form, texts.to_vec()));
    audit(&forged).err().unwrap_or_default()
}

/// The last event of a kind by an actor that begins with `actor`, and its texts.
fn last<'a>(log: &'a Log, kind: &str, actor: &str) -> (Value, &'a [Hidden]) {
    let mut found = log.iter().rev().map(|(form, texts)| (value(form), texts.as_slice()));
    let is_one = |event: &Value| event["kind"] == kind && event["actor"].as_str().unwrap().starts_with(actor);
    found.find(|(event, _)| is_one(event)).unwrap()
}

/// A busy log, its parties, and an escrow of the first for the second that is still open.
fn with_open() -> (World, Log, Party, Party, String) {
    let (world, a, b) = busy_on(World::new());
    let open = world.open(&a, &b, 1_000, hours(50)).unwrap();
    world.pay(&b, &a, 20_000_000).unwrap_err();
    world.admin("grant", json!({ "did": b.did(), "amount_micro": 20_000_000 })).unwrap();
    let log = read(&world, Some("operator"));
    audit(&log).unwrap();
    (world, log, a, b, open)
}

fn forge(event: &Value, members: &Value) -> Value {
    super::with(event, members.clone())
}

#[test]
fn what_was_signed_once_settles_once() {
    let (_world, log, a, b, _) = with_open();
    let (paid, texts) = last(&log, "transfer", "did:");
    let found = flaw(&log, forge(&paid, &json!({ "time": null })), &[(&a, -5, 0), (&b, 5, 0)], texts);
    assert!(found.contains("was used before"), "{found}");
    // A refused envelope, which anybody can read, moves nothing either (decision refusal-burns-nonce).
    let (refused, texts) = last(&log, "transfer_failed", "did:");
    let mut settled = forge(&refused, &json!({ "time": null, "kind": "transfer" }));
    settled.as_object_mut().unwrap().remove("reason");
    let found = flaw(&log, settled, &[(&b, -20_000_000, 0), (&a, 20_000_000, 0)], texts);
    assert!(found.contains("was used before"), "{found}");
    let (given, texts) = last(&log, "faucet", "did:");
    let signed = signed(&b, &world_claim(&b));
    let found = flaw(&log, forge(&given, &json!({ "time": null, "signed": signed })), &[(&b, 10_000_000, 0)], texts);
    assert!(found.contains("had its grant before"), "{found}");
}

#[test]
fn an_escrow_ends_by_what_was_signed_about_it_and_by_nothing_else() {
    let (_world, log, a, b, open) = with_open();
    let paid = [(&a, 0, -1_000), (&b, 1_000, 0)];
    let says = |event: &Value, texts: &[Hidden], expected: &str| {
        let found = flaw(&log, forge(event, &json!({ "id": open, "time": null })), &paid, texts);
        assert!(found.contains(expected), "{expected:?} and not {found:?}");
    };
    let (other, texts) = last(&log, "escrow_release", "did:");
    says(&other, texts, "is about another escrow");
    // The recipient releases the escrow with an envelope about something else, in its own name or in that of a receipt.
    let (faucet, texts) = last(&log, "faucet", "did:");
    let release = |actor: &str| json!({ "kind": "escrow_release", "actor": actor, "signed": faucet["signed"] });
    says(&release(b.did()), texts, "is not a svc-escrow-release/v1");
    says(&release("receipt:8a3b6a80-0000-4000-8000-000000000000"), texts, "is not a svc-work-acceptance/v1");
    says(&release("system:anybody"), texts, "cannot cause such an event");
    for actor in ["receipt:", "system:timeout:", "admin:"] {
        let (other, texts) = last(&log, "escrow_release", actor);
        let expected = match actor {
            "receipt:" => "its escrow has no claim",
            "admin:" => "was used before",
            _ => "is about another escrow",
        };
        says(&other, texts, expected);
    }
    let expired = json!({ "id": open, "kind": "escrow_expire", "actor": "system:expire" });
    let back = [(&a, 1_000, -1_000)];
    assert!(flaw(&log, expired, &back, &[]).contains("stays open until"));
}

#[test]
fn silence_pays_only_after_its_time_and_never_over_a_dispute() {
    let (world, _, a, b, open) = with_open();
    let paid = [(&a, 0, -1_000), (&b, 1_000, 0)];
    let receipt = world.claim(&b, &a, &open, minutes(20), true).unwrap();
    let log = read(&world, Some("operator"));
    let (claim, texts) = last(&log, "work_claim", "did:");
    let timeout = |time: Value| {
        let actor = format!("system:timeout:{receipt}");
        json!({ "id": open, "kind": "escrow_release", "actor": actor, "signed": claim["signed"], "time": time })
    };
    let found = flaw(&log, timeout(Value::Null), &paid, texts);
    assert!(found.contains("there was time to answer until"), "{found}");
    let later = json!(world.rt.now().plus_duration(minutes(30)).to_micros_text());
    assert_eq!(flaw(&log, timeout(later.clone()), &paid, texts), "");
    // The sender of the escrow cannot take the money back meanwhile either.
    let refund = world.body(&a, "escrow-refund", json!({ "escrow_id": open, "signer_did": a.did() }));
    let signed = signed(&a, &refund);
    let event = json!({ "id": open, "kind": "escrow_refund", "actor": a.did(), "signed": signed });
    let found = flaw(&log, event, &[(&a, 1_000, -1_000)], &[]);
    assert!(found.contains("a claim on the escrow waits or was accepted"), "{found}");
    world.dispute(&a, &receipt).unwrap();
    let log = read(&world, Some("operator"));
    let found = flaw(&log, timeout(later), &paid, texts);
    assert!(found.contains("silence does not pay this claim"), "{found}");
    assert_eq!(last(&log, "work_dispute", "did:").0["id"], json!(receipt));
}

#[test]
fn what_was_signed_for_another_time_or_name_moves_nothing() {
    let (world, log, a, b, _) = with_open();
    let old = with_times(&a, &world.transfer_of(&a, &b, 5), "2020-01-01T00:00:00.000Z", "2020-01-01T00:10:00.000Z");
    let moved = [(&a, -5, 0), (&b, 5, 0)];
    let event = |body: &Value| {
        json!({ "id": "8a3b6a80-0000-4000-8000-000000000000", "kind": "transfer", "actor": a.did(),
            "signed": signed(&a, body) })
    };
    let found = flaw(&log, event(&old), &moved, &[]);
    assert!(found.contains("had ended at 2020-01-01"), "{found}");
    // The envelope is in its window, but the event has another id.
    let body = world.body(&a, "credit-transfer", world.transfer_of(&a, &b, 5));
    let found = flaw(&log, event(&body), &moved, &[]);
    assert!(found.contains("its id does not follow"), "{found}");
}

fn world_claim(by: &Party) -> Value {
    by.signer.signed("pay-faucet", Timestamp::parse(AT).unwrap(), json!({ "did": by.did(), "nonce": "second" }))
}

/// The member `signed` of an event, made from the body of a request.
fn signed(by: &Party, body: &Value) -> Value {
    let canonical = json::parse(body["envelope"].to_string().as_bytes(), json::MAX_DEPTH).unwrap().canonical().unwrap();
    json!({
        "form": body["envelope"],
        "hash": crypto::encoding::encode_hex(&crypto::hash::sha256(&canonical)),
        "key": by.signer.public_key(),
        "signature": body["signature"],
    })
}

fn with_times(by: &Party, members: &Value, issued: &str, expires: &str) -> Value {
    let members = super::with(members, json!({ "issued_at": issued, "expires_at": expires, "nonce": "old" }));
    by.signer.signed("credit-transfer", Timestamp::parse(issued).unwrap(), members)
}
