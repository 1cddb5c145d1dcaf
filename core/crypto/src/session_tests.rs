//! Session formats end to end: the client side against the server side, and against itself.

use super::client::{Client, Meta, Options, Peer, Posted, Raw};
use super::envelope::Envelope;
use super::session::{
    self, Incoming, MAX_SKIP, Opened, RecipientKeys, SenderKeys, SessionLabel, SessionRow, SignatureMode,
};
use super::{CryptoError, Secret, boxes, encoding, payload::Flags, server_message};

use proptest::prelude::*;

const TIME: &str = "2026-05-06T07:08:09.123Z";
const CLASSIC: Options =
    Options { post_quantum: false, double_ratchet: true, padding: true, sealed: false, deniable: false };

fn client(seed: u8, options: Options) -> Client {
    Client::new("svc", [seed; 32], options)
}

fn pair(options: Options) -> (Client, Client) {
    (client(1, options), client(2, Options { sealed: false, deniable: false, ..options }))
}

fn send(from: &mut Client, to: &Peer, text: &str) -> Posted {
    from.send(to, TIME, text, Meta::default()).unwrap()
}

/// Opens on the server side. `to` is an agent whose keys the server holds.
fn open_with(
    posted: &Posted,
    sender: &Peer,
    earlier: &[[u8; 32]],
    to: &[&Client],
    row: Option<&SessionRow>,
) -> Result<Opened, CryptoError> {
    let incoming = Incoming {
        from: &sender.did,
        to: &posted.to,
        ciphertext: &posted.ciphertext,
        nonce: &posted.nonce,
        signature: &posted.signature,
        envelope: Some(&posted.envelope),
        timestamp: TIME,
    };
    let keys =
        SenderKeys { signing: &sender.signing_key, encryption: &sender.encryption_key, earlier_encryption: earlier };
    let recipient: Vec<_> = to
        .iter()
        .map(|client| RecipientKeys { encryption: &client.keys.encryption, kem: client.keys.kem.as_ref() })
        .collect();
    session::open(&incoming, &keys, &recipient, row)
}

fn open(posted: &Posted, from: &Client, to: &Client, row: Option<&SessionRow>) -> Result<Opened, CryptoError> {
    open_with(posted, &from.as_peer(), &[], &[to], row)
}

fn raw(posted: &Posted, sender: &Peer) -> Raw {
    Raw {
        from: sender.did.clone(),
        to: posted.to.clone(),
        ciphertext: posted.ciphertext.clone(),
        nonce: posted.nonce.clone(),
        signature: posted.signature.clone(),
        envelope: Some(posted.envelope.clone()),
        timestamp: TIME.to_owned(),
        sender_signing_key: sender.signing_key,
        sender_encryption_key: sender.encryption_key,
    }
}

fn every_option() -> impl Iterator<Item = Options> {
    (0..32_u8).map(|bits| {
        let on = |bit: u8| bits >> bit & 1 == 1;
        Options { post_quantum: on(0), double_ratchet: on(1), padding: on(2), sealed: on(3), deniable: on(4) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn messages_open_in_any_order_after_the_first(
        bits in 0..32_u8,
        order in Just((1..24_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let options = every_option().nth(usize::from(bits)).unwrap();
        let (mut alice, bob) = pair(options);
        let bob_peer = bob.as_peer();
        let posted: Vec<_> = (0..24).map(|index| send(&mut alice, &bob_peer, &index.to_string())).collect();
        let mut row = open(&posted[0], &alice, &bob, None).unwrap().row;
        for index in order {
            let opened = open(&posted[index], &alice, &bob, row.as_ref()).unwrap();
            prop_assert_eq!((opened.content, opened.signature_valid), (index.to_string(), true));
            row = opened.row.or(row);
        }
        prop_assert_eq!(row.unwrap().furthest_step, 24);
    }

    #[test]
    fn arbitrary_input_is_refused_without_a_panic(
        plaintext: Vec<u8>, envelope in "\\PC{0,80}", row: Vec<u8>, step: u32, key in "[A-Za-z0-9+/=]{0,60}",
    ) {
        let _ = super::payload::read(&plaintext);
        let _ = super::payload::read(&[&[0x56, 3][..], &plaintext].concat());
        let _ = Envelope::parse(&envelope);
        let _ = SessionRow::decode(&row);
        let (mut alice, bob) = pair(CLASSIC);
        let mut posted = send(&mut alice, &bob.as_peer(), "x");
        posted.envelope = format!("{{\"ratchet_step\":{step},\"dh_ratchet_key\":\"{key}\",\"pq_ciphertext\":\"{key}\"}}");
        prop_assert!(open(&posted, &alice, &bob, None).is_err());
    }
}

#[test]
fn every_mode_opens_on_the_server_and_on_the_client() {
    for options in every_option() {
        let (mut alice, mut bob) = pair(options);
        let (alice_peer, bob_peer) = (alice.as_peer(), bob.as_peer());
        let mut row = None;
        for (index, text) in ["one", "", "V\u{0}\u{0}\u{0}", &"long \u{1F980} ".repeat(800)].into_iter().enumerate() {
            let posted = send(&mut alice, &bob_peer, text);
            assert_eq!(posted.envelope.contains("pq_ciphertext"), options.post_quantum && index == 0);
            assert_eq!(posted.content_type.is_none() && posted.message_type.is_none(), options.sealed);
            let opened = open(&posted, &alice, &bob, row.as_ref()).unwrap();
            assert_eq!((opened.content.as_str(), opened.step), (text, index as u32 + 1));
            assert!(opened.signature_valid, "{options:?}");
            assert_eq!(opened.signature_mode == SignatureMode::Hmac, options.deniable);
            assert_eq!(opened.flags.has(Flags::PADDED), options.padding);
            assert_eq!(opened.sealed.map(|sealed| sealed.from), options.sealed.then(|| alice.did.clone()));
            row = opened.row;
            let received = bob.receive(&raw(&posted, &alice_peer)).unwrap();
            assert_eq!((received.payload.content.as_str(), received.signature_valid), (text, true));
        }
    }
}

#[test]
fn the_longest_padded_content_opens_and_has_the_size_seen_on_the_wire() {
    let (mut alice, bob) = pair(Options::default());
    let text = "x".repeat(65_535);
    let posted = send(&mut alice, &bob.as_peer(), &text);
    assert_eq!(posted.ciphertext.len(), 174_792);
    assert_eq!(open(&posted, &alice, &bob, None).unwrap().content, text);
}

#[test]
fn a_dialogue_restarts_sessions_and_every_message_opens() {
    let (mut alice, mut bob) = pair(Options::default());
    let (alice_peer, bob_peer) = (alice.as_peer(), bob.as_peer());
    for round in 0..4 {
        let there = send(&mut alice, &bob_peer, &format!("ping {round}"));
        assert!(there.envelope.contains("pq_ciphertext"), "each turn begins a session");
        bob.receive(&raw(&there, &alice_peer)).unwrap();
        let back = send(&mut bob, &alice_peer, &format!("pong {round}"));
        alice.receive(&raw(&back, &bob_peer)).unwrap();
    }
    assert_eq!((alice.failures, bob.failures), (0, 0));
}

/// Decision patient-sends.
#[test]
fn a_refused_first_message_silences_the_direction_until_the_other_side_writes() {
    let (mut alice, mut bob) = pair(Options::default());
    let (alice_peer, bob_peer) = (alice.as_peer(), bob.as_peer());
    let refused = send(&mut alice, &bob_peer, "lost to a 429");
    assert!(refused.envelope.contains("pq_ciphertext"));
    for _ in 0..5 {
        let posted = send(&mut alice, &bob_peer, "accepted");
        assert_eq!(bob.receive(&raw(&posted, &alice_peer)), None);
    }
    assert_eq!(bob.failures, 5);
    let back = send(&mut bob, &alice_peer, "anyone there?");
    alice.receive(&raw(&back, &bob_peer)).unwrap();
    let healed = send(&mut alice, &bob_peer, "now");
    assert_eq!(bob.receive(&raw(&healed, &alice_peer)).unwrap().payload.content, "now");
}

#[test]
fn the_client_keeps_a_thousand_skipped_keys_and_no_more() {
    let (mut alice, mut bob) = pair(CLASSIC);
    let (alice_peer, bob_peer) = (alice.as_peer(), bob.as_peer());
    let posted: Vec<_> = (0..1_002).map(|index| send(&mut alice, &bob_peer, &index.to_string())).collect();
    let mut strict = bob.clone();
    assert_eq!(strict.receive(&raw(&posted[1_001], &alice_peer)), None);
    assert_eq!(bob.receive(&raw(&posted[1_000], &alice_peer)).unwrap().payload.content, "1000");
    assert_eq!(bob.receive(&raw(&posted[500], &alice_peer)).unwrap().payload.content, "500");
}

/// Decision server-side-sessions.
#[test]
fn a_step_beyond_the_limit_is_refused_without_stepping() {
    let (mut alice, bob) = pair(CLASSIC);
    let bob_peer = bob.as_peer();
    let posted: Vec<_> = (0..2_003).map(|index| send(&mut alice, &bob_peer, &index.to_string())).collect();
    let far = |index: usize, row| open(&posted[index], &alice, &bob, row);
    assert_eq!(far(1_000, None), Err(CryptoError::TooFarAhead(MAX_SKIP)));
    let row = far(999, None).unwrap().row.unwrap();
    assert_eq!(row.furthest_step, 1_000);
    assert_eq!(far(2_000, Some(&row)), Err(CryptoError::TooFarAhead(MAX_SKIP)));
    let row = far(1_999, Some(&row)).unwrap().row.unwrap();
    assert_eq!(row.furthest_step, 2_000);
    // An older step starts again from the start of the session and leaves the row as it is.
    let old = far(1_500, Some(&row)).unwrap();
    assert_eq!((old.content.as_str(), old.row), ("1500", None));
    let mut hostile = posted[2_002].clone();
    hostile.envelope = hostile.envelope.replace("\"ratchet_step\":2003", "\"ratchet_step\":4294967295");
    assert_eq!(open(&hostile, &alice, &bob, Some(&row)), Err(CryptoError::TooFarAhead(MAX_SKIP)));
    let ancient = SessionRow { furthest_step: u32::MAX, ..row };
    assert_eq!(open(&hostile, &alice, &bob, Some(&ancient)), Err(CryptoError::TooFarBehind));
}

/// Decision server-side-sessions.
#[test]
fn a_session_outlives_its_senders_key_rotation() {
    for options in [Options::default(), CLASSIC, Options { double_ratchet: false, ..Options::default() }] {
        let (mut alice, bob) = pair(options);
        let old = alice.as_peer();
        let bob_peer = bob.as_peer();
        let first = send(&mut alice, &bob_peer, "before");
        let row = open(&first, &alice, &bob, None).unwrap().row.unwrap();
        alice.rotate_keys();
        let second = send(&mut alice, &bob_peer, "after");
        let opened = open(&second, &alice, &bob, Some(&row)).unwrap();
        assert_eq!((opened.content.as_str(), opened.signature_valid), ("after", true));
        assert_eq!(opened.row.unwrap().sender_key_at_start, old.encryption_key);
        // Without the row, the recorded key alone does not open the message.
        assert!(open(&second, &alice, &bob, None).is_err());
        let by_earlier = open_with(&second, &alice.as_peer(), &[old.encryption_key], &[&bob], None);
        assert_eq!(by_earlier.is_ok(), !options.post_quantum);
    }
}

/// Decision server-side-sessions.
#[test]
fn older_private_keys_of_the_recipient_open_what_was_sent_to_them() {
    let (mut alice, bob) = pair(Options::default());
    let mut rotated = bob.clone();
    rotated.rotate_keys();
    let posted = send(&mut alice, &bob.as_peer(), "to the old keys");
    let sender = alice.as_peer();
    assert_eq!(open_with(&posted, &sender, &[], &[&rotated], None), Err(CryptoError::Undecryptable));
    let opened = open_with(&posted, &sender, &[], &[&rotated, &bob], None).unwrap();
    assert_eq!(opened.content, "to the old keys");
    let deniable = Options { deniable: true, ..Options::default() };
    let mut carol = client(3, deniable);
    let posted = send(&mut carol, &bob.as_peer(), "hmac under the old key");
    assert!(open_with(&posted, &carol.as_peer(), &[], &[&rotated, &bob], None).unwrap().signature_valid);
}

/// Decision server-side-sessions.
#[test]
fn a_none_row_gives_way_only_to_a_new_kem_ciphertext() {
    let hybrid = Options { double_ratchet: false, ..Options::default() };
    let (mut alice, bob) = pair(hybrid);
    let bob_peer = bob.as_peer();
    let first = send(&mut alice, &bob_peer, "a1");
    let second = send(&mut alice, &bob_peer, "a2");
    let label = |posted: &Posted| session::session_label(&Envelope::parse(&posted.envelope)).unwrap();
    assert_eq!(label(&first), Some(SessionLabel::None));
    let row_a = open(&first, &alice, &bob, None).unwrap().row.unwrap();

    // The same agent, restarted without post-quantum: its message opens, and the row stays.
    let mut plain = alice.clone();
    plain.forget_sessions();
    plain.options.post_quantum = false;
    let beside = send(&mut plain, &bob_peer, "plain");
    let opened = open(&beside, &plain, &bob, Some(&row_a)).unwrap();
    assert_eq!((opened.content.as_str(), opened.row), ("plain", None));

    // Restarted with post-quantum: its first message brings a ciphertext and replaces the row.
    let mut again = alice.clone();
    again.forget_sessions();
    let third = send(&mut again, &bob_peer, "b1");
    let row_b = open(&third, &again, &bob, Some(&row_a)).unwrap().row.unwrap();
    assert_ne!(row_b.kem_secret, row_a.kem_secret);
    assert_eq!(open(&second, &alice, &bob, Some(&row_b)), Err(CryptoError::Undecryptable));
    assert_eq!(open(&second, &alice, &bob, Some(&row_a)).unwrap().content, "a2");
}

#[test]
fn every_flipped_part_of_a_message_is_noticed() {
    let (mut alice, bob) = pair(Options::default());
    let good = send(&mut alice, &bob.as_peer(), "text");
    let flip = |text: &str, at: usize| {
        let mut bytes = encoding::decode_base64("t", text).unwrap();
        bytes[at] ^= 0x10;
        encoding::encode_base64(&bytes)
    };
    for at in [0, 15, 16, 100, 275] {
        let bad = Posted { ciphertext: flip(&good.ciphertext, at), ..good.clone() };
        assert_eq!(open(&bad, &alice, &bob, None), Err(CryptoError::Undecryptable));
    }
    let bad = Posted { nonce: flip(&good.nonce, 3), ..good.clone() };
    assert_eq!(open(&bad, &alice, &bob, None), Err(CryptoError::Undecryptable));
    let bad = Posted { signature: flip(&good.signature, 3), ..good.clone() };
    assert!(!open(&bad, &alice, &bob, None).unwrap().signature_valid);
    let bad = Posted { envelope: good.envelope.replace(TIME, "2026-05-06T07:08:09.124Z"), ..good.clone() };
    assert!(!open(&bad, &alice, &bob, None).unwrap().signature_valid);
    // A message for one key does not open with another, whatever the ML-KEM decapsulation gives.
    assert_eq!(open(&good, &alice, &client(9, Options::default()), None), Err(CryptoError::Undecryptable));
    assert_eq!(open(&good, &client(9, Options::default()), &bob, None).map(|opened| opened.content).ok(), None);
}

#[test]
fn a_genuine_envelope_beside_another_ciphertext_is_not_a_valid_signature() {
    // The sender signed both envelopes, but the second message travels with the envelope of the first.
    let (mut alice, bob) = pair(Options { padding: false, ..CLASSIC });
    let bob_peer = bob.as_peer();
    let first = send(&mut alice, &bob_peer, "first");
    let second = send(&mut alice, &bob_peer, "second");
    let mixed = Posted {
        envelope: first.envelope.clone(),
        signature: first.signature.clone(),
        ciphertext: second.ciphertext,
        nonce: second.nonce,
        ..first
    };
    assert_eq!(open(&mixed, &alice, &bob, None), Err(CryptoError::Undecryptable));
    // Opening a plain box does not need the envelope, so only the binding shows the mismatch.
    let sealed = boxes::box_seal(&bob_peer.encryption_key, &alice.keys.encryption, &[5; 24], b"boxed").unwrap();
    let text = super::envelope::rebuild(&alice.did, &bob.did, TIME, "other nonce", "other ciphertext");
    let boxed = Posted {
        ciphertext: encoding::encode_base64(&sealed),
        nonce: encoding::encode_base64(&[5; 24]),
        signature: encoding::encode_base64(&super::signing::sign(&alice.keys.signing, text.as_bytes())),
        envelope: text,
        ..mixed
    };
    let opened = open(&boxed, &alice, &bob, None).unwrap();
    assert_eq!((opened.content.as_str(), opened.signature_valid), ("boxed", false));
}

#[test]
fn server_made_messages_open_on_the_client_and_on_the_server() {
    let (alice, mut bob) = pair(Options::default());
    let sender = server_message::SenderSecrets { signing: &alice.keys.signing, encryption: &alice.keys.encryption };
    let key = bob.as_peer().encryption_key;
    for text in ["hello", "", "V123", "{\"v\":3,\"from\":\"did:svc:x\",\"msg\":\"y\"}"] {
        let made = server_message::make(sender, &alice.did, &bob.did, &key, TIME, &[6; 24], text).unwrap();
        let posted = Posted {
            to: bob.did.clone(),
            ciphertext: made.ciphertext,
            nonce: made.nonce,
            signature: made.signature,
            envelope: made.envelope,
            content_type: None,
            message_type: None,
            thread_id: None,
            reply_to: None,
            ttl: None,
        };
        let received = bob.receive(&raw(&posted, &alice.as_peer())).unwrap();
        assert_eq!((received.from.as_str(), received.payload.content.as_str()), (alice.did.as_str(), text));
        assert!(received.signature_valid);
        let opened = open(&posted, &alice, &bob, None).unwrap();
        assert_eq!((opened.content.as_str(), opened.step, opened.signature_valid), (text, 0, true));
        assert_eq!(opened.row, None);
    }
}

#[test]
fn a_message_without_an_envelope_is_a_box_signed_over_the_rebuilt_text() {
    let (alice, bob) = pair(CLASSIC);
    let sealed = boxes::box_seal(&bob.as_peer().encryption_key, &alice.keys.encryption, &[5; 24], b"plain").unwrap();
    let (ciphertext, nonce) = (encoding::encode_base64(&sealed), encoding::encode_base64(&[5; 24]));
    let text = super::envelope::rebuild(&alice.did, &bob.did, TIME, &nonce, &ciphertext);
    let signature = encoding::encode_base64(&super::signing::sign(&alice.keys.signing, text.as_bytes()));
    let peer = alice.as_peer();
    let keys = SenderKeys { signing: &peer.signing_key, encryption: &peer.encryption_key, earlier_encryption: &[] };
    let recipient = [RecipientKeys { encryption: &bob.keys.encryption, kem: None }];
    let mut incoming = Incoming {
        from: &alice.did,
        to: &bob.did,
        ciphertext: &ciphertext,
        nonce: &nonce,
        signature: &signature,
        envelope: None,
        timestamp: TIME,
    };
    let opened = session::open(&incoming, &keys, &recipient, None).unwrap();
    assert_eq!((opened.content.as_str(), opened.signature_valid), ("plain", true));
    incoming.timestamp = "2026-05-06T07:08:09.999Z";
    assert!(!session::open(&incoming, &keys, &recipient, None).unwrap().signature_valid);
}

#[test]
fn a_row_of_another_length_or_version_is_malformed() {
    let row = SessionRow {
        sender_key_at_start: [1; 32],
        kem_secret: Some(Secret::new([2; 32])),
        furthest_step: 0x0102_0304,
        chain_key: Secret::new([3; 32]),
    };
    let bytes = row.encode();
    assert_eq!(bytes.len(), 102);
    assert_eq!(SessionRow::decode(&bytes), Ok(row.clone()));
    let none = SessionRow { kem_secret: None, ..row };
    assert_eq!(SessionRow::decode(&none.encode()), Ok(none));
    for length in 0..102 {
        assert_eq!(SessionRow::decode(&bytes[..length]), Err(CryptoError::Malformed));
    }
    assert!(SessionRow::decode(&[&bytes[..], &[0]].concat()).is_err());
    assert!(SessionRow::decode(&[&[2], &bytes[1..]].concat()).is_err());
}

#[test]
fn a_client_is_a_function_of_its_seed_and_registers_provably() {
    let (a, b) = (client(7, Options::default()), client(7, Options::default()));
    assert_eq!((&a.did, a.as_peer()), (&b.did, b.as_peer()));
    let body = a.key_body(Some("agent"), 1);
    let bytes = |name: &str| encoding::decode_base64("b", body[name].as_str().unwrap()).unwrap();
    let signing_key: [u8; 32] = bytes("signing_public_key").try_into().unwrap();
    let prekey: [u8; 32] = bytes("signed_prekey_public").try_into().unwrap();
    assert_eq!(super::signing::verify_prekey(&signing_key, &prekey, &bytes("signed_prekey_signature")), Ok(()));
    assert_eq!(body["mlkem_public_key"].as_str().unwrap().len(), 1580);
    let mut uploader = b;
    let upload = uploader.prekeys_body(20, 1_800_000_000_000, 2);
    assert_eq!(upload["prekeys"].as_array().unwrap().len(), 20);
    assert_eq!(upload["prekeys"][19]["id"], 1_800_000_000_019_u64);
    let signed = &upload["signed_prekey"];
    let bytes = |name: &str| encoding::decode_base64("b", signed[name].as_str().unwrap()).unwrap();
    let prekey: [u8; 32] = bytes("public_key").try_into().unwrap();
    assert_eq!(super::signing::verify_prekey(&signing_key, &prekey, &bytes("signature")), Ok(()));
    assert_eq!(encoding::parse_did("svc", &a.did), Ok(encoding::did_bytes(&signing_key)));
}
