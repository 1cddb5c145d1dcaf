//! The log of events over HTTP: signed heads, proofs, export, and the command that checks all of it (decision
//! ledger-log).

use std::process::{Command, Output};

use heliograph_core::crypto::encoding::{decode_base64, decode_base64_array, decode_hex_array};
use heliograph_core::crypto::signing;
use heliograph_core::ledger::auditor::{Auditor, head_bytes};
use heliograph_core::ledger::json;
use heliograph_core::ledger::merkle::{Hash, is_consistent, is_included, leaf_hash};
use heliograph_tests::client::Client;
use heliograph_tests::ledger::{Operator, Party, nonce};
use heliograph_tests::peer::FakePeer;
use heliograph_tests::process::built;
use heliograph_tests::relay::{base64, text};
use heliograph_tests::target::ADMIN_KEY;
use serde_json::{Value, json};

use crate::{Suite, cases};

cases![
    the_signed_head_is_over_the_log_that_is_exported,
    proofs_hold_against_heads_of_before_and_after,
    a_text_is_shown_to_its_parties_alone,
    the_log_stays_over_a_restart,
    the_program_finds_a_sound_log_sound,
    the_program_says_at_which_event_a_forged_log_breaks,
];

fn hash(hex: &Value) -> Hash {
    decode_hex_array("hash", hex.as_str().unwrap()).unwrap()
}

fn hashes(list: &Value) -> Vec<Hash> {
    list.as_array().unwrap().iter().map(hash).collect()
}

fn form(event: &Value) -> Vec<u8> {
    json::parse(event.to_string().as_bytes(), json::MAX_DEPTH + 2).unwrap().canonical().unwrap()
}

/// Two parties pay, set money aside, and are refused.
fn busy(client: &Client) -> (Party, Party) {
    let operator = Operator::new(client, "all");
    let (a, b) = (Party::funded(client), Party::funded(client));
    operator.act("grant", json!({ "did": a.did(), "amount_micro": 1_000, "reason": "welcome" })).expect(200);
    let mut memo = a.transfer(b.did(), 5);
    memo["memo"] = json!("between us");
    a.act("credit-transfer", memo).expect(200);
    assert_eq!(a.pay(b.did(), 90_000_000).status, 402);
    a.close("escrow-release", &a.open(b.did(), 7)).expect(200);
    a.close("escrow-refund", &a.open(b.did(), 8)).expect(200);
    a.open(b.did(), 9);
    let items =
        json!([{ "to_did": b.did(), "amount_micro": 1 }, { "to_did": b.did(), "amount_micro": 2, "memo": "m" }]);
    a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    (a, b)
}

fn the_signed_head_is_over_the_log_that_is_exported(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    let (a, b) = busy(&client);
    let head = client.get("/v1/pay/audit/head").expect(200);
    let key: [u8; 32] = decode_base64_array("key", text(&head, "key")).unwrap();
    let info = client.get("/v1/relay/info").expect(200);
    assert_eq!(info["relay"]["public_key"], head["key"]);
    assert_eq!(head["deployment"], client.get("/v1/pay/health").expect(200)["deployment"]);
    let size = head["size"].as_u64().unwrap();
    let of = |name: &str| text(&head, name);
    let signature = decode_base64("signature", of("signature")).unwrap();
    let bytes = |size| head_bytes(of("schema"), of("deployment"), size, of("root"), of("time"));
    assert!(signing::verify(&key, &bytes(size), &signature));
    assert!(!signing::verify(&key, &bytes(size + 1), &signature));
    let mut auditor = Auditor::new("svc");
    // In small pages, like a careful reader.
    let mut from = Some(0);
    while let Some(next) = from {
        let page = client.get(&format!("/v1/pay/audit/log?from={next}&limit=3")).expect(200);
        for entry in page["events"].as_array().unwrap() {
            assert_eq!(hash(&entry["leaf"]), leaf_hash(&form(&entry["event"])));
            assert_eq!(entry.get("texts"), None);
            auditor.take(&form(&entry["event"]), &[]).unwrap();
        }
        from = page["next"].as_u64();
    }
    auditor.balance().unwrap();
    assert_eq!((auditor.size(), auditor.root()), (size, hash(&head["root"])));
    for party in [&a, &b] {
        assert_eq!(auditor.wallets()[party.did()], party.money());
    }
    assert_eq!(auditor.supply(), 20_001_000);
    let log = client.get("/v1/pay/audit/log?limit=100").expect(200);
    let rows: Vec<&Value> =
        log["events"].as_array().unwrap().iter().flat_map(|e| e["audit"].as_array()).flatten().collect();
    let auto = |party: &Party| json!({ "action": "create_wallet", "actor": "system:auto_create_on_receive", "did": party.did() });
    let given = |party: &Party| json!({ "action": "credit_grant", "actor": "system:faucet", "did": party.did() });
    assert_eq!(rows[..4], [&auto(&a), &given(&a), &auto(&b), &given(&b)], "in the order of the log");
    let granted = (&rows[4]["action"], text(rows[4], "actor").starts_with("admin:"), &rows[4]["did"]);
    assert_eq!((granted, rows.len()), ((&json!("credit_grant"), true, &json!(a.did())), 5));
    assert!(auditor.hidden == 3 && auditor.verified > 6, "{} hidden, {} verified", auditor.hidden, auditor.verified);
}

fn proofs_hold_against_heads_of_before_and_after(suite: &Suite) {
    let client = suite.client();
    let (a, b) = (Party::funded(&client), Party::new(&client));
    let paid = a.pay(b.did(), 5).expect(200);
    let escrow = a.open(b.did(), 6);
    let items = json!([{ "to_did": b.did(), "amount_micro": 1 }, { "to_did": b.did(), "amount_micro": 2 }]);
    let batch = a.act("batch-transfer", json!({ "from_did": a.did(), "items": items })).expect(200);
    let before = client.get("/v1/pay/audit/head").expect(200);
    a.pay(b.did(), 1).expect(200);
    let after = client.get("/v1/pay/audit/head").expect(200);
    let size = |head: &Value| head["size"].as_u64().unwrap();
    let ids = [text(&paid, "transfer_id"), &escrow, text(&batch, "id"), text(&batch["transfers"][1], "transfer_id")];
    for id in ids {
        for head in [&before, &after] {
            let proof = client.get(&format!("/v1/pay/audit/proof/{id}?size={}", size(head))).expect(200);
            let (seq, leaf) = (proof["seq"].as_u64().unwrap(), hash(&proof["leaf"]));
            assert_eq!(leaf, leaf_hash(&form(&proof["event"])));
            assert!(is_included(&leaf, seq, size(head), &hashes(&proof["path"]), &hash(&head["root"])), "{id}");
            let by_place = client.get(&format!("/v1/pay/audit/proof/{seq}?size={}", size(head))).expect(200);
            assert_eq!(by_place["path"], proof["path"]);
        }
    }
    let (from, to) = (size(&before), size(&after));
    let grown = client.get(&format!("/v1/pay/audit/consistency?from={from}&to={to}")).expect(200);
    assert!(is_consistent(from, to, &hash(&before["root"]), &hash(&after["root"]), &hashes(&grown["path"])));
    for path in ["proof/undefined", "proof/00000000-0000-4000-8000-000000000001"] {
        assert_eq!(client.get(&format!("/v1/pay/audit/{path}")).status, 404, "{path}");
    }
    for path in [
        "proof/0?size=x",
        "proof/0?size=0",
        "proof/0?size=999999999",
        "consistency",
        "consistency?from=0",
        "log?from=x",
        "log?limit=x",
        "balances?after=x",
    ] {
        assert_eq!(client.get(&format!("/v1/pay/audit/{path}")).status, 400, "{path}");
    }
}

fn a_text_is_shown_to_its_parties_alone(suite: &Suite) {
    let client = suite.client();
    let (a, b, c) = (Party::funded(&client), Party::new(&client), Party::new(&client));
    let item = |to: &Party, memo: &str| json!({ "to_did": to.did(), "amount_micro": 1, "memo": memo });
    let batch = json!({ "from_did": a.did(), "items": [item(&b, "for b"), item(&c, "for c")] });
    let batch = a.act("batch-transfer", batch).expect(200);
    let shown = |party: Option<&Party>, id: &str| {
        let client = party.map_or_else(
            || client.clone(),
            |party| {
                let now = client.now();
                let members = json!({ "did": party.did(), "nonce": nonce(),
                "expires_at": now.plus(60_000_000).to_millis_text() });
                let proof = party.signer.signed("pay-history-read", now, members);
                client.with("x-svc-proof", &base64(proof.to_string().as_bytes()))
            },
        );
        let texts = client.get(&format!("/v1/pay/audit/proof/{id}")).expect(200)["texts"].clone();
        let memos = texts.as_array().into_iter().flatten().filter(|found| text(found, "path").ends_with("/memo"));
        memos.map(|found| text(found, "text").to_owned()).collect::<Vec<_>>()
    };
    let first = text(&batch["transfers"][0], "transfer_id");
    assert_eq!(shown(None, first), Vec::<String>::new());
    assert_eq!(shown(Some(&a), first), ["for b"]);
    assert_eq!(shown(Some(&b), first), ["for b"]);
    assert_eq!(shown(Some(&c), first), Vec::<String>::new());
    assert_eq!(shown(Some(&a), text(&batch, "id")), ["for b", "for c"]);
    assert_eq!(shown(Some(&b), text(&batch, "id")), Vec::<String>::new());
    let operator = client.admin().get(&format!("/v1/pay/audit/proof/{}", text(&batch, "id"))).expect(200);
    // Two memos, and the hash and the signature over them.
    assert_eq!(operator["texts"].as_array().unwrap().len(), 4);
    assert_eq!(
        client.with("x-admin-key", "wrong").get("/v1/pay/audit/log").expect(200)["events"][0].get("texts"),
        None
    );
}

fn the_log_stays_over_a_restart(suite: &Suite) {
    let target = suite.fresh(&[]);
    let (a, b) = busy(&target.client());
    let before = target.client().get("/v1/pay/audit/head").expect(200);
    let target = target.restart(&[]);
    let client = target.client();
    let after = client.get("/v1/pay/audit/head").expect(200);
    for name in ["size", "root", "key", "deployment"] {
        assert_eq!(before[name], after[name], "{name}");
    }
    Party { client: client.clone(), ..a }.pay(b.did(), 1).expect(200);
    let grown = client.get("/v1/pay/audit/head").expect(200);
    let size = |head: &Value| head["size"].as_u64().unwrap();
    assert_eq!(size(&grown), size(&after) + 1);
    let path = client.get(&format!("/v1/pay/audit/consistency?from={}", size(&after))).expect(200);
    let path = hashes(&path["path"]);
    assert!(is_consistent(size(&after), size(&grown), &hash(&after["root"]), &hash(&grown["root"]), &path));
}

/// Runs `heliograph ledger verify`.
pub fn verify(arguments: &[&str]) -> Output {
    Command::new(built("heliograph")).args(["ledger", "verify"]).args(arguments).output().unwrap()
}

pub fn said(output: &Output) -> String {
    [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat()
}

fn the_program_finds_a_sound_log_sound(suite: &Suite) {
    let target = suite.fresh(&[]);
    let client = target.client();
    busy(&client);
    // In memory there is no server for the command.
    let Some(base) = target.base() else { return };
    let key = client.get("/v1/pay/audit/head").expect(200)["key"].as_str().unwrap().to_owned();
    for arguments in [vec!["--url", base, "--head-key", &key], vec!["--to", base, "--admin-key", ADMIN_KEY]] {
        let output = verify(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(said(&output).contains("the log is sound"));
        assert_eq!(
            said(&output).contains("not checked     3 signatures"),
            arguments[0] == "--url",
            "{}",
            said(&output)
        );
    }
    let output = verify(&["--url", base, "--head-key", "AAAA"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("the head is signed by"));
}

/// One server shows a changed event, and another leaves out a wallet.
fn the_program_says_at_which_event_a_forged_log_breaks(suite: &Suite) {
    if suite.kind == heliograph_tests::target::Kind::Edge {
        // The command must ask a server that the test controls.
        return;
    }
    let target = suite.fresh(&[]);
    let client = target.client();
    busy(&client);
    if target.base().is_none() {
        return;
    }
    let server = FakePeer::start();
    let check = |forge: fn(&str, &mut Value)| {
        let client = client.clone();
        server.answer(move |path| {
            let mut body = client.get(path).expect(200);
            forge(path, &mut body);
            (200, body)
        });
        let output = verify(&["--url", &server.source.base]);
        assert_eq!(output.status.code().map(|code| code == 0), Some(said(&output).contains("is sound")));
        said(&output)
    };
    assert!(check(|_, _| {}).contains("the log is sound"));
    let said = check(|path, body| {
        if path.starts_with("/v1/pay/audit/log") {
            let place = body["events"].as_array().unwrap().iter().position(|entry| entry["event"]["kind"] == "grant");
            let entry = &mut body["events"][place.unwrap()];
            entry["event"]["changes"][0]["balance_micro"] = json!(999_999);
            entry["leaf"] = json!(heliograph_core::crypto::encoding::encode_hex(&leaf_hash(&form(&entry["event"]))));
        }
    });
    assert!(said.contains("error: event 3: did:svc:") && said.contains("had 10000000 micro-credits"), "{said}");
    let said = check(|path, body| {
        if path.starts_with("/v1/pay/audit/log") {
            body["events"].as_array_mut().unwrap().remove(5);
        }
    });
    assert!(said.contains("error: event 5: event 6 stands in its place"), "{said}");
    let said = check(|path, body| {
        if path.starts_with("/v1/pay/audit/balances") {
            body["wallets"][0]["balance_micro"] = json!(1);
        }
    });
    assert!(said.contains("by the log it should have"), "{said}");
    let said = check(|path, body| {
        if path.starts_with("/v1/pay/audit/balances") {
            body["wallets"].as_array_mut().unwrap().pop();
        }
    });
    assert!(said.contains("there are 1 wallets, the log knows 2"), "{said}");
    let said = check(|path, body| {
        if path.starts_with("/v1/pay/audit/head") {
            body["root"] = json!("00".repeat(32));
        }
    });
    assert!(said.contains("the signature of the head does not verify"), "{said}");
}
