//! Vectors recorded from other implementations: NaCl boxes by npm tweetnacl and PyPI PyNaCl, signatures by PyPI PyNaCl,
//! session messages by a script that knows only the wire contract. `tests/vectors` also says how they were made.

use serde_json::Value;

use super::envelope::Envelope;
use super::session::{self, Incoming, Opened, RecipientKeys, SenderKeys, SessionRow, SignatureMode};
use super::{Secret, boxes, encoding, envelope, hash, kem, payload, signing};

fn load(file: &str) -> Value {
    let path = format!("{}/../../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

fn base64<const N: usize>(value: &Value, name: &str) -> [u8; N] {
    encoding::decode_base64_array("vector", text(value, name)).unwrap()
}

fn hex<const N: usize>(value: &Value, name: &str) -> [u8; N] {
    encoding::decode_hex_array("vector", text(value, name)).unwrap()
}

fn hex_vec(value: &Value, name: &str) -> Vec<u8> {
    let text = text(value, name);
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Decision recorded-vectors.
#[test]
fn recorded_boxes_of_tweetnacl_and_pynacl_are_byte_identical() {
    for file in ["nacl/tweetnacl.json", "nacl/pynacl.json"] {
        let vectors = load(file);
        let vectors = vectors["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 15);
        for vector in vectors {
            let (alice, bob) = (Secret::new(hex(vector, "alice_secret")), Secret::new(hex(vector, "bob_secret")));
            let (alice_public, bob_public) = (boxes::box_public_key(&alice), boxes::box_public_key(&bob));
            assert_eq!((alice_public, bob_public), (hex(vector, "alice_public"), hex(vector, "bob_public")));
            let precomputed = Secret::new(hex(vector, "precomputed"));
            assert_eq!(boxes::shared_key(&bob_public, &alice), Ok(precomputed.clone()));
            assert_eq!(boxes::shared_key(&alice_public, &bob), Ok(precomputed));
            let (nonce, message) = (hex(vector, "nonce"), hex_vec(vector, "message"));
            assert_eq!(boxes::box_seal(&bob_public, &alice, &nonce, &message).unwrap(), hex_vec(vector, "box"));
            // A box is a secretbox under the precomputed key.
            let key = boxes::shared_key(&bob_public, &alice).unwrap();
            assert_eq!(boxes::secretbox_seal(&key, &nonce, &message).unwrap(), hex_vec(vector, "box"));
            assert_eq!(*boxes::secretbox_open(&key, &nonce, &hex_vec(vector, "box")).unwrap(), message);
            let opened = boxes::box_open(&alice_public, &bob, &nonce, &hex_vec(vector, "box")).unwrap();
            assert_eq!(*opened, message);
        }
    }
}

/// One recorded conversation: the sender's public keys, the recipient's secrets, and the messages.
struct Recorded {
    value: Value,
    signing: [u8; 32],
    encryption: [u8; 32],
    secret: Secret<32>,
    kem_seed: Secret<64>,
}

impl Recorded {
    fn new(value: &Value) -> Recorded {
        let (from, to) = (&value["from"], &value["to"]);
        Recorded {
            signing: hex(from, "signing_public"),
            encryption: hex(from, "encryption_public"),
            secret: Secret::new(hex(to, "encryption_secret")),
            kem_seed: Secret::new(hex(to, "kem_seed")),
            value: value.clone(),
        }
    }

    fn messages(&self) -> &[Value] {
        self.value["messages"].as_array().unwrap()
    }

    fn open(&self, message: &Value, row: Option<&SessionRow>) -> Result<Opened, super::CryptoError> {
        let incoming = Incoming {
            from: text(&self.value["from"], "did"),
            to: text(&self.value["to"], "did"),
            ciphertext: text(message, "ciphertext"),
            nonce: text(message, "nonce"),
            signature: text(message, "signature"),
            envelope: Some(text(message, "envelope")),
            timestamp: "",
        };
        let sender = SenderKeys { signing: &self.signing, encryption: &self.encryption, earlier_encryption: &[] };
        let recipient = [RecipientKeys { encryption: &self.secret, kem: Some(&self.kem_seed) }];
        session::open(&incoming, &sender, &recipient, row)
    }

    fn check(&self, message: &Value, opened: &Opened) {
        let name = text(&self.value, "name");
        assert_eq!(opened.content, text(message, "text"), "{name}");
        assert_eq!(u64::from(opened.flags.0), message["flags"].as_u64().unwrap(), "{name}");
        assert_eq!(u64::from(opened.step), message["step"].as_u64().unwrap(), "{name}");
        assert!(opened.signature_valid, "{name}");
        let deniable = opened.flags.has(payload::Flags::DENIABLE);
        assert_eq!(opened.signature_mode == SignatureMode::Hmac, deniable, "{name}");
        match (&self.value["sealed_fields"], &opened.sealed) {
            (Value::Null, None) => {}
            (fields, Some(sealed)) => {
                assert_eq!(sealed.from, text(&self.value["from"], "did"));
                assert_eq!(sealed.content_type.as_deref(), fields["ct"].as_str());
                assert_eq!(sealed.message_type.as_deref(), fields["mt"].as_str());
                assert_eq!(sealed.thread_id.as_deref(), fields["tid"].as_str());
                assert_eq!(sealed.reply_to.as_deref(), fields["rto"].as_str());
            }
            (_, None) => panic!("{name}: not read as sealed"),
        }
    }
}

#[test]
fn recorded_sessions_open_in_order_with_one_row() {
    let file = load("session/session.json");
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 8);
    for case in cases {
        let case = Recorded::new(case);
        let public = hash::sha256(&kem::kem_public_key(&case.kem_seed));
        assert_eq!(public, hex(&case.value["to"], "kem_public_sha256"));
        let mut row: Option<SessionRow> = None;
        for message in case.messages() {
            let opened = case.open(message, row.as_ref()).unwrap();
            case.check(message, &opened);
            row = Some(SessionRow::decode(&opened.row.unwrap().encode()).unwrap());
        }
        assert_eq!(row.unwrap().furthest_step, 307);
    }
}

#[test]
fn recorded_messages_open_in_any_order_once_the_row_exists() {
    for case in load("session/session.json")["cases"].as_array().unwrap() {
        let case = Recorded::new(case);
        let first = case.open(&case.messages()[0], None).unwrap().row.unwrap();
        let last = case.open(&case.messages()[6], Some(&first)).unwrap().row.unwrap();
        for message in case.messages().iter().rev() {
            let opened = case.open(message, Some(&last)).unwrap();
            case.check(message, &opened);
            assert_eq!(opened.row, None, "an older step leaves the row as it is");
        }
    }
}

#[test]
fn recorded_hybrid_messages_do_not_open_without_the_first_one() {
    for case in load("session/session.json")["cases"].as_array().unwrap() {
        let case = Recorded::new(case);
        let hybrid = Envelope::parse(text(&case.messages()[0], "envelope")).pq_ciphertext.is_some();
        assert_eq!(case.open(&case.messages()[1], None).is_err(), hybrid, "{}", text(&case.value, "name"));
    }
}

/// Decision recorded-vectors. Ed25519 is deterministic, so libsodium's signatures verify here and ours have the same
/// bytes.
#[test]
fn recorded_signatures_of_pynacl_are_byte_identical() {
    let vectors = load("nacl/signatures.json");
    let (alice, bob) = (&vectors["alice"], &vectors["bob"]);
    let check = |signer: &Value, signed: &[u8], signature: [u8; 64]| {
        let (seed, public) = (Secret::new(hex(signer, "signing_secret")), base64(signer, "signing_public"));
        assert_eq!(signing::signing_public_key(&seed), public);
        assert_eq!(signing::sign(&seed, signed), signature);
        assert!(signing::verify(&public, signed, &signature));
        assert!(!signing::verify(&public, &[signed, b" "].concat(), &signature));
    };
    for agent in [alice, bob] {
        check(agent, &base64::<32>(agent, "prekey"), base64(agent, "prekey_signature"));
        let did = encoding::did_bytes(&base64(agent, "signing_public"));
        assert_eq!(encoding::did("svc", &did), text(agent, "did"));
    }
    let (from, to) = (text(alice, "did"), text(bob, "did"));
    for message in vectors["messages"].as_array().unwrap() {
        let (nonce, ciphertext) = (text(message, "nonce"), text(message, "ciphertext"));
        let signed = text(message, "envelope");
        let timestamp = envelope::Envelope::parse(signed).timestamp.unwrap();
        assert_eq!(envelope::rebuild(from, to, &timestamp, nonce, ciphertext), signed);
        check(alice, signed.as_bytes(), base64(message, "signature"));
    }
    for routed in vectors["routed"].as_array().unwrap() {
        let signed = envelope::routed(from, to, text(routed, "nonce"), text(routed, "ciphertext"));
        assert_eq!(signed, text(routed, "signed"));
        check(alice, signed.as_bytes(), base64(routed, "signature"));
    }
    for claim in vectors["attestations"].as_array().unwrap() {
        let signed = ["claim_type", "claim_data", "timestamp"].map(|name| text(claim, name)).concat();
        check(alice, signed.as_bytes(), base64(claim, "signature"));
    }
    for vote in vectors["votes"].as_array().unwrap() {
        let signed = [text(vote, "id"), text(vote, "vote")].concat();
        check(bob, signed.as_bytes(), base64(vote, "signature"));
    }
}

/// Decision recorded-vectors.
#[test]
fn recorded_messages_of_pynacl_open_signed_and_deniable() {
    let vectors = load("nacl/signatures.json");
    let (alice, bob) = (&vectors["alice"], &vectors["bob"]);
    let (signing, encryption) = (base64(alice, "signing_public"), base64(alice, "encryption_public"));
    let secret = Secret::new(hex(bob, "encryption_secret"));
    let shared = boxes::shared_key(&encryption, &secret).unwrap();
    for message in vectors["messages"].as_array().unwrap() {
        let tag = hash::hmac_sha256(shared.expose(), text(message, "envelope").as_bytes());
        assert_eq!(tag, base64(message, "deniable"));
        for (signature, mode) in [("signature", SignatureMode::Ed25519), ("deniable", SignatureMode::Hmac)] {
            let incoming = Incoming {
                from: text(alice, "did"),
                to: text(bob, "did"),
                ciphertext: text(message, "ciphertext"),
                nonce: text(message, "nonce"),
                signature: text(message, signature),
                envelope: Some(text(message, "envelope")),
                timestamp: "",
            };
            let sender = SenderKeys { signing: &signing, encryption: &encryption, earlier_encryption: &[] };
            let opened = session::open(&incoming, &sender, &[RecipientKeys { encryption: &secret, kem: None }], None);
            let opened = opened.unwrap();
            assert_eq!(opened.content, text(message, "text"));
            assert_eq!((opened.signature_valid, opened.signature_mode), (true, mode));
        }
    }
}
