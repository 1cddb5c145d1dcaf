//! The log of events as an auditor sees it: sound as it is, and unsound after an event was forged, dropped or moved
//! (decision ledger-log).

use serde_json::{Value, json};

use super::{Party, World, hours, minutes};
use crate::auditor::Auditor;
use crate::form::Hidden;
use crate::json;
use crate::merkle::{Hash, is_consistent, is_included, leaf_hash};
use crypto::encoding::{decode_hex_array, encode_hex};

/// Does everything that can happen, once.
fn busy() -> (World, Party, Party) {
    busy_on(World::new())
}

/// [`busy`] in a deployment of its own.
pub fn busy_on(world: World) -> (World, Party, Party) {
    let (a, b) = (world.rich(1, 50_000_000), world.party(2));
    let did = |party: &Party| party.signer.did.clone();
    world.act(&b, "pay-faucet", json!({ "did": did(&b) })).unwrap();
    let memo = json!({ "from_did": did(&a), "to_did": did(&b), "amount_micro": 5, "memo": "für den \"Kaffee\"" });
    world.act(&a, "credit-transfer", memo).unwrap();
    world.pay(&b, &a, 2_000_000_000).unwrap_err();
    let items =
        json!([{ "to_did": did(&b), "amount_micro": 1, "memo": "x" }, { "to_did": did(&b), "amount_micro": 2 }]);
    world.act(&a, "batch-transfer", json!({ "from_did": did(&a), "batch_id": "b1", "items": items })).unwrap();
    let items = json!([{ "to_did": did(&b), "amount_micro": 1 }, { "to_did": did(&b), "amount_micro": 2_000_000_000 }]);
    world.act(&a, "batch-transfer", json!({ "from_did": did(&a), "batch_id": "b2", "items": items })).unwrap_err();
    let open = || world.open(&a, &b, 1_000, hours(2)).unwrap();
    world.release(&a, &open()).unwrap();
    world.refund(&a, &open()).unwrap();
    let claimed = world.claim(&b, &a, &open(), minutes(20), false).unwrap();
    world.accept(&a, &claimed).unwrap();
    let (silent, _over, forced, _stays) = (open(), open(), open(), world.open(&a, &b, 77, hours(100)).unwrap());
    world.claim(&b, &a, &silent, minutes(20), true).unwrap();
    let disputed = world.claim(&b, &a, &open(), minutes(20), true).unwrap();
    world.dispute(&a, &disputed).unwrap();
    // The work is accepted while the money may not move, and paid when it may.
    let held = world.claim(&b, &a, &open(), minutes(20), true).unwrap();
    world.admin("freeze", json!({ "did": did(&a), "frozen": true })).unwrap();
    world.accept(&a, &held).unwrap();
    world.admin("freeze", json!({ "did": did(&a), "frozen": false })).unwrap();
    world.admin("escrow_release", json!({ "escrow_id": forced, "reason": "said so" })).unwrap();
    let listing = json!({ "provider_did": did(&b), "capability": "a.b", "name": "n", "description": "",
        "price_per_call_micro": 7, "unit": "call", "sla_deadline_hours": 1, "active": true });
    let listing = world.act(&b, "capability-list", listing).unwrap();
    let hire = json!({ "capability_id": listing["capability_id"], "capability": "a.b", "requester_did": did(&a),
        "provider_did": did(&b), "price_micro": 7, "task_id": "t", "delivery_deadline_hours": 90, "input_json": "{}" });
    world.act(&a, "hire-request", hire).unwrap();
    world.admin("freeze", json!({ "did": did(&b), "frozen": true, "reason": "why" })).unwrap();
    world.admin("freeze", json!({ "did": did(&b), "frozen": false })).unwrap();
    world.admin("freeze_all", json!({ "frozen": true })).unwrap();
    world.admin("freeze_all", json!({ "frozen": false })).unwrap();
    world.wait(hours(3));
    world.send("POST", "/v1/pay/escrow/sweep", None, &Value::Null);
    world.send("POST", "/v1/pay/wallet", None, &json!({ "did": "did:svc:nobody" }));
    (world, a, b)
}

/// The log as anybody may read it, or with the texts that the operator sees.
pub fn read(world: &World, key: Option<&str>) -> Vec<(Vec<u8>, Vec<Hidden>)> {
    let (status, page) = world.send("GET", "/v1/pay/audit/log?limit=1000", key, &Value::Null);
    assert_eq!((status, &page["next"]), (200, &Value::Null), "{page}");
    let hidden = |text: &Value| Hidden {
        path: text["path"].as_str().unwrap().to_owned(),
        salt: hash(&text["salt"]),
        text: text["text"].as_str().unwrap().to_owned(),
    };
    let entry = |entry: &Value| {
        let texts = entry["texts"].as_array().map(|texts| texts.iter().map(hidden).collect());
        assert_eq!(hash(&entry["leaf"]), leaf_hash(&form(&entry["event"])));
        (form(&entry["event"]), texts.unwrap_or_default())
    };
    page["events"].as_array().unwrap().iter().map(entry).collect()
}

fn hash(hex: &Value) -> Hash {
    decode_hex_array("hash", hex.as_str().unwrap()).unwrap()
}

fn hashes(list: &Value) -> Vec<Hash> {
    list.as_array().unwrap().iter().map(hash).collect()
}

fn form(event: &Value) -> Vec<u8> {
    json::parse(event.to_string().as_bytes(), json::MAX_DEPTH + 2).unwrap().canonical().unwrap()
}

pub fn audit(log: &[(Vec<u8>, Vec<Hidden>)]) -> Result<Auditor, String> {
    let mut auditor = Auditor::new("svc");
    for (form, texts) in log {
        auditor.take(form, texts).map_err(|flaw| format!("event {}: {flaw}", auditor.size()))?;
    }
    auditor.balance()?;
    Ok(auditor)
}

#[test]
fn the_log_leads_to_the_signed_root_and_to_every_balance() {
    let (world, a, b) = busy();
    let auditor = audit(&read(&world, Some("operator"))).unwrap();
    let head = world.get("/v1/pay/audit/head");
    assert_eq!((head["size"].as_u64().unwrap(), hash(&head["root"])), (auditor.size(), auditor.root()));
    assert_eq!(auditor.supply(), 60_000_000);
    assert_eq!((auditor.hidden, auditor.rotated, auditor.late), (0, 0, 0));
    for party in [&a, &b] {
        assert_eq!(auditor.wallets()[&party.signer.did], world.money(party));
    }
    let balances = world.get("/v1/pay/audit/balances");
    assert_eq!((&balances["size"], balances["wallets"].as_array().unwrap().len()), (&head["size"], 3));
    // A reader that is not the operator sees no text, and can check everything but the signatures over texts.
    let open = read(&world, None);
    for (form, texts) in &open {
        let form = String::from_utf8_lossy(form);
        assert!(texts.is_empty() && !form.contains("Kaffee") && !form.contains("said so"), "{form}");
    }
    let anybody = audit(&open).unwrap();
    assert_eq!(anybody.root(), auditor.root());
    assert_eq!(anybody.verified + anybody.hidden, auditor.verified);
    assert!(anybody.hidden > 0 && anybody.verified > 5);
}

#[test]
fn every_kind_of_event_is_in_the_log_in_its_order() {
    let (world, ..) = busy();
    world.wait(hours(24 * 8));
    world.send("POST", "/v1/pay/escrow/sweep", None, &Value::Null);
    let log = read(&world, None);
    let kind = |(form, _): &(Vec<u8>, _)| serde_json::from_slice::<Value>(form).unwrap()["kind"].clone();
    let kinds: Vec<Value> = log.iter().map(kind).collect();
    for expected in [
        "admin_key",
        "grant",
        "cap",
        "faucet",
        "transfer",
        "transfer_failed",
        "batch",
        "batch_failed",
        "escrow_open",
        "escrow_release",
        "escrow_refund",
        "escrow_expire",
        "hire",
        "freeze",
        "freeze_all",
        "wallet_create",
        "wallet_remove",
        "work_claim",
        "work_accept",
        "work_dispute",
    ] {
        assert!(kinds.contains(&json!(expected)), "{expected} is not in {kinds:?}");
    }
    assert_eq!(kinds[0], "admin_key");
    audit(&log).unwrap();
}

#[test]
fn t11_a_refused_batch_leaves_one_event_that_says_which_transfer_was_in_the_way() {
    let world = World::new();
    let (a, b) = (world.rich(1, 5), world.party(2));
    let send = |amounts: &[i64]| {
        let item = |amount: &i64| json!({ "to_did": b.signer.did, "amount_micro": amount });
        let items: Vec<Value> = amounts.iter().map(item).collect();
        world.act(&a, "batch-transfer", json!({ "from_did": a.signer.did, "batch_id": "b2", "items": items }))
    };
    super::refused(send(&[1, 2_000_000_000]), "insufficient_balance");
    let find = || {
        let forms = read(&world, None).into_iter().map(|(form, _)| serde_json::from_slice::<Value>(&form).unwrap());
        forms.filter(|form| form["kind"] == "batch_failed").collect::<Vec<_>>()
    };
    let found = find();
    let [event] = &*found else { panic!("{found:?}") };
    assert_eq!(event["details"], json!({ "batch_id": "b2", "count": "2", "failed_index": "1" }));
    let expected = (&json!(a.signer.did), &json!("insufficient_balance"), &json!([]));
    assert_eq!((&event["actor"], &event["reason"], &event["changes"]), expected);
    // Its id is used, and this refusal leaves no second event.
    super::refused(send(&[1]), "nonce_seen");
    assert_eq!(find(), found);
}

#[test]
fn who_forges_drops_or_moves_an_event_is_caught() {
    let (world, ..) = busy();
    let log = read(&world, Some("operator"));
    let root = audit(&log).unwrap().root();
    // A change that the auditor does not notice by itself changes the root.
    let caught = |changed: &[(Vec<u8>, Vec<Hidden>)]| audit(changed).map_or(true, |auditor| auditor.root() != root);
    let flawed = |changed: &[(Vec<u8>, Vec<Hidden>)]| audit(changed).unwrap_err();
    let count = log.len();
    for place in 0..count {
        let mut dropped = log.clone();
        dropped.remove(place);
        assert!(caught(&dropped), "{place} was dropped");
        assert!(place + 1 == count || flawed(&dropped).contains("stands in its place"));
        if place + 1 < count {
            let mut moved = log.clone();
            moved.swap(place, place + 1);
            assert!(flawed(&moved).starts_with(&format!("event {place}:")));
        }
        let mut doubled = log.clone();
        doubled.insert(place, log[place].clone());
        assert!(flawed(&doubled).starts_with(&format!("event {}:", place + 1)));
    }
    for (place, (form, texts)) in log.iter().enumerate() {
        let event: Value = serde_json::from_slice(form).unwrap();
        let mut paths = Vec::new();
        numbers_and_texts(String::new(), &event, &mut paths);
        for path in paths {
            let mut forged = event.clone();
            let value = forged.pointer_mut(&path).unwrap();
            let other = match &*value {
                Value::Number(number) => json!(number.as_i64().unwrap() + 1),
                value => json!(format!("{}x", value.as_str().unwrap())),
            };
            *value = other;
            let mut changed = log.clone();
            changed[place] = (self::form(&forged), texts.clone());
            assert!(caught(&changed), "{path} of event {place}");
        }
    }
}

fn numbers_and_texts(path: String, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| numbers_and_texts(format!("{path}/{name}"), value, found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| numbers_and_texts(format!("{path}/{n}"), item, found));
        }
        Value::Number(_) | Value::String(_) => found.push(path),
        _ => {}
    }
}

/// The operator has the key of the head, and could change an event and sign the new root.
#[test]
fn a_forged_amount_breaks_at_its_event_even_under_a_root_of_its_own() {
    let (world, ..) = busy();
    let log = read(&world, Some("operator"));
    let place = log.iter().position(|(form, _)| String::from_utf8_lossy(form).contains("\"transfer\"")).unwrap();
    let mut event: Value = serde_json::from_slice(&log[place].0).unwrap();
    // Both sides of a payment move more than its sender signed for.
    for change in event["changes"].as_array_mut().unwrap() {
        let more = change["balance_micro"].as_i64().unwrap();
        change["balance_micro"] = json!(2 * more);
        change["balance_after_micro"] = json!(change["balance_after_micro"].as_i64().unwrap() + more);
    }
    let mut forged = log.clone();
    forged[place].0 = form(&event);
    let flaw = audit(&forged).unwrap_err();
    assert!(flaw.starts_with(&format!("event {place}: it moved")), "{flaw}");
    // Now the amount in the signed text is changed too.
    event["signed"]["form"]["amount_micro"] = json!(10);
    forged[place].0 = form(&event);
    let flaw = audit(&forged).unwrap_err();
    assert!(flaw.starts_with(&format!("event {place}: its `hash`")), "{flaw}");
}

#[test]
fn proofs_lead_from_transfers_escrows_and_places_to_the_root() {
    let (world, a, b) = busy();
    let head = world.get("/v1/pay/audit/head");
    let (size, root) = (head["size"].as_u64().unwrap(), hash(&head["root"]));
    let history = world.get(&format!("/v1/pay/history/{}?limit=200", a.signer.did));
    let mut ids: Vec<String> = (0..size).map(|seq| seq.to_string()).collect();
    for row in history["transfers"].as_array().unwrap() {
        ids.push(row["id"].as_str().unwrap().to_owned());
    }
    ids.push(world.open(&a, &b, 5, hours(1)).unwrap());
    let opened = ids.len() - 1;
    for (n, id) in ids.iter().enumerate() {
        let query = if n == opened { String::new() } else { format!("?size={size}") };
        let proof = world.get(&format!("/v1/pay/audit/proof/{id}{query}"));
        let (seq, path) = (proof["seq"].as_u64().unwrap(), hashes(&proof["path"]));
        assert_eq!(hash(&proof["leaf"]), leaf_hash(&form(&proof["event"])));
        let root = if n == opened { hash(&world.get("/v1/pay/audit/head")["root"]) } else { root };
        assert!(is_included(&hash(&proof["leaf"]), seq, proof["size"].as_u64().unwrap(), &path, &root), "{id}");
    }
    let grown = world.get("/v1/pay/audit/head");
    let path = world.get(&format!("/v1/pay/audit/consistency?from={size}"));
    let to = path["to"].as_u64().unwrap();
    assert_eq!((Some(to), to), (grown["size"].as_u64(), size + 1));
    assert!(is_consistent(size, to, &root, &hash(&grown["root"]), &hashes(&path["path"])));
    let status = |path: &str| world.send("GET", path, None, &Value::Null).0;
    for (path, expected) in [
        ("/v1/pay/audit/proof/undefined", 404),
        ("/v1/pay/audit/proof/1?size=1", 404),
        ("/v1/pay/audit/proof/999999", 404),
        ("/v1/pay/audit/proof/1?size=x", 400),
        ("/v1/pay/audit/proof/1?size=0", 400),
        ("/v1/pay/audit/proof/1?size=999999", 400),
        ("/v1/pay/audit/consistency", 400),
        ("/v1/pay/audit/consistency?from=0", 400),
        ("/v1/pay/audit/consistency?from=9&to=8", 400),
        ("/v1/pay/audit/consistency?from=1&to=999999", 400),
        ("/v1/pay/audit/log?from=-1", 400),
        ("/v1/pay/audit/log?from=999999", 200),
    ] {
        assert_eq!(status(path), expected, "{path}");
    }
}

/// Decisions ledger-log and ledger-texts-for-parties: where a text is hidden, every hash and signature over it that has
/// no salt is hidden too.
#[test]
fn nothing_in_the_log_tells_who_guesses_a_text_that_it_is_right() {
    let (world, ..) = busy();
    let (open, full) = (read(&world, None), read(&world, Some("operator")));
    let (mut hiding, mut whole) = (0, 0);
    for ((form, _), (_, texts)) in open.iter().zip(&full) {
        let event: Value = serde_json::from_slice(form).unwrap();
        let Some(signed) = event.get("signed") else { continue };
        let shown = String::from_utf8_lossy(form);
        match texts.is_empty() {
            true => assert!(signed["hash"].is_string() && signed["signature"].is_string(), "{shown}"),
            false => {
                texts.iter().for_each(|text| assert!(text.text.len() < 5 || !shown.contains(&text.text), "{shown}"))
            }
        }
        // The work of a claim is the hash of its summary.
        let claim = signed["form"].get("summary").is_some();
        assert_eq!(claim, signed["form"]["work_hash"].is_object(), "{shown}");
        hiding += usize::from(!texts.is_empty());
        whole += usize::from(texts.is_empty());
    }
    assert!(hiding > 4 && whole > 10, "{hiding} {whole}");
}

/// Each text has a salt of its own, so a salt that was shown says nothing about other texts.
#[test]
fn equal_texts_have_other_hashes_and_a_shown_salt_proves_one() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let item = json!({ "to_did": b.signer.did, "amount_micro": 1, "memo": "the same" });
    let batch = json!({ "from_did": a.signer.did, "batch_id": "b", "items": [item, item] });
    world.act(&a, "batch-transfer", batch).unwrap();
    let log = read(&world, Some("operator"));
    let (form, texts) = log.last().unwrap();
    let event: Value = serde_json::from_slice(form).unwrap();
    let shown = |n: usize| event["signed"]["form"]["items"][n]["memo"]["salted_sha256"].clone();
    assert_ne!(shown(0), shown(1));
    let beside = &texts[2..];
    assert_eq!(beside.iter().map(|text| text.path.as_str()).collect::<Vec<_>>(), ["../hash", "../signature"]);
    for (n, text) in texts[..2].iter().enumerate() {
        assert_eq!((text.path.as_str(), text.text.as_str()), (format!("items/{n}/memo").as_str(), "the same"));
        assert_eq!(encode_hex(&crate::form::text_hash(&text.salt, &text.text)), shown(n).as_str().unwrap());
    }
    assert_ne!(texts[0].salt, texts[1].salt);
}
