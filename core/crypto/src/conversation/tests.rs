//! Sessions from prekeys end to end, and what is stored of sessions.

use super::chain::{Chain, MAX_SKIPPED};
use super::prekeys::{Bundle, Recipient};
use super::{AgentKeys, Meta, Options, Posted, Sending, draw};
use crate::envelope::Envelope;
use crate::{CryptoError, Secret, boxes, encoding, kem, payload, signing};

/// Bytes that repeat with the test, each draw others.
fn random(seed: u8) -> impl FnMut(&mut [u8]) {
    let mut next = [seed; 32];
    move |bytes: &mut [u8]| {
        for byte in bytes {
            next = crate::hash::sha256(&next);
            *byte = next[0];
        }
    }
}

struct Bob {
    keys: AgentKeys,
    did: String,
    signed: Secret<32>,
    one_time: Secret<32>,
}

impl Bob {
    fn new() -> Bob {
        let mut random = random(2);
        let keys = AgentKeys::generate(&mut random, true);
        let (signed, one_time) = (Secret::new(draw(&mut random)), Secret::new(draw(&mut random)));
        Bob { did: keys.did("svc"), keys, signed, one_time }
    }

    fn bundle(&self, with_one_time: bool) -> Bundle {
        let signed = boxes::box_public_key(&self.signed);
        Bundle {
            signed_id: 7,
            signed,
            signature: signing::sign_prekey(&self.keys.signing, &signed),
            one_time: with_one_time.then(|| (9, boxes::box_public_key(&self.one_time))),
        }
    }

    fn chain(&self, posted: &Posted, sender: &AgentKeys) -> Chain {
        let envelope = Envelope::parse(&posted.envelope);
        let used = envelope.prekeys.unwrap();
        assert_eq!(used.signed, 7);
        let pq = envelope.pq_ciphertext.map(|text| encoding::decode_base64("pq", &text).unwrap());
        let kem_secret = pq.map(|pq| kem::decapsulate(self.keys.kem.as_ref().unwrap(), &pq).unwrap());
        let recipient = Recipient {
            did: &self.did,
            encryption: &self.keys.encryption,
            signed: &self.signed,
            one_time: used.one_time.map(|_| &self.one_time),
            kem_secret: kem_secret.as_ref(),
        };
        let ephemeral = encoding::decode_base64_array("key", &envelope.dh_ratchet_key.unwrap()).unwrap();
        recipient.chain(&sender.did("svc"), &boxes::box_public_key(&sender.encryption), &ephemeral).unwrap()
    }
}

fn open(chain: &mut Chain, posted: &Posted) -> Result<String, CryptoError> {
    let step = Envelope::parse(&posted.envelope).ratchet_step.unwrap();
    let nonce = encoding::decode_base64_array("nonce", &posted.nonce)?;
    let plaintext = chain.open(step, &nonce, &encoding::decode_base64("ciphertext", &posted.ciphertext)?)?;
    payload::read(&plaintext).map(|payload| payload.content)
}

/// Decision one-time-prekeys.
#[test]
fn both_sides_of_a_session_from_prekeys_have_the_same_keys_and_any_message_can_be_the_first() {
    let (bob, ada) = (Bob::new(), AgentKeys::generate(&mut random(1), true));
    for (post_quantum, one_time) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut random, options) = (random(3), Options { post_quantum, ..Options::default() });
        let (peer, did) = (bob.keys.as_peer(&bob.did), ada.did("svc"));
        let mut sending =
            Sending::start_from_prekeys(&ada, &did, &peer, &bob.bundle(one_time), options, &mut random).unwrap();
        let mut seal = |text: &str| {
            sending = Sending::decode(&sending.encode()).unwrap();
            sending
                .seal(&ada, &did, &peer, options, "2026-01-01T00:00:00.000Z", text, Meta::default(), &mut random)
                .unwrap()
        };
        let posted: Vec<Posted> = ["one", "two", "three"].map(&mut seal).into();
        for first in 0..3 {
            let mut chain = bob.chain(&posted[first], &ada);
            for at in [first, 2, 0, 1, first] {
                chain = Chain::decode(&chain.encode()).unwrap();
                assert_eq!(open(&mut chain, &posted[at]).unwrap(), ["one", "two", "three"][at]);
            }
            chain.forget(2);
            assert_eq!(open(&mut chain, &posted[1]), Err(CryptoError::TooFarBehind));
        }
        // Somebody with all of Bob's identity keys, but without the prekeys, has another chain.
        let thief = Bob { keys: bob.keys.clone(), did: bob.did.clone(), signed: Secret::new([8; 32]), ..Bob::new() };
        assert_eq!(open(&mut thief.chain(&posted[0], &ada), &posted[0]), Err(CryptoError::Undecryptable));
    }
}

/// Decision one-time-prekeys.
#[test]
fn a_prekey_that_the_peer_did_not_sign_begins_no_session() {
    let (bob, ada) = (Bob::new(), AgentKeys::generate(&mut random(1), false));
    let forged = Bundle { signed: boxes::box_public_key(&Secret::new([9; 32])), ..bob.bundle(true) };
    let peer = bob.keys.as_peer(&bob.did);
    let started = Sending::start_from_prekeys(&ada, "did:svc:a", &peer, &forged, Options::default(), &mut random(3));
    assert_eq!(started, Err(CryptoError::Signature));
}

#[test]
fn a_step_that_is_far_ahead_and_a_ciphertext_that_is_damaged_change_no_session() {
    let mut chain = Chain::new(Secret::new([5; 32]));
    let before = chain.clone();
    assert_eq!(chain.open(MAX_SKIPPED + 2, &[0; 24], &[0; 16]), Err(CryptoError::TooFarAhead(MAX_SKIPPED)));
    assert_eq!(chain.open(MAX_SKIPPED + 1, &[0; 24], &[0; 16]), Err(CryptoError::Undecryptable));
    assert_eq!(chain.open(0, &[0; 24], &[0; 16]), Err(CryptoError::TooFarBehind));
    assert_eq!(chain, before);
}

#[test]
fn stored_sessions_that_are_cut_are_no_sessions() {
    let bob = Bob::new();
    let sending = Sending::start(&bob.keys, &bob.keys.as_peer("x"), Options::default(), &mut random(3)).unwrap();
    let bytes = sending.encode();
    assert_eq!(Sending::decode(&bytes), Ok(sending));
    // The ML-KEM ciphertext is the rest, so only cuts before it show.
    for cut in 0..87 {
        assert!(Sending::decode(&bytes[..cut]).is_err(), "{cut}");
    }
    assert!(Chain::decode(&[1]).is_err());
    assert!(Chain::decode(&[&Chain::new(Secret::new([1; 32])).encode()[..], &[0]].concat()).is_err());
}
