//! Makes messages for a sender whose keys the server holds (`POST /send`), and opens them again.

use super::envelope::{self, Compose};
use super::{CryptoError, Secret, boxes, encoding, payload, signing};

/// The sender's private keys.
#[derive(Debug, Clone, Copy)]
pub struct SenderSecrets<'a> {
    /// Ed25519 seed.
    pub signing: &'a Secret<32>,
    /// X25519 secret.
    pub encryption: &'a Secret<32>,
}

/// The four stored values of a message; binary values are standard base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerMessage {
    pub ciphertext: String,
    pub nonce: String,
    pub envelope: String,
    pub signature: String,
}

/// Boxes `message` from `from` to `to` and signs its envelope. The plaintext always begins with `56 00 00 00`, so that
/// no client can take the text for a header, padding or a sealed sender (decision plain-box-header). `timestamp` is ISO
/// 8601; `nonce` must be fresh random bytes.
pub fn make(
    sender: SenderSecrets<'_>,
    from: &str,
    to: &str,
    recipient_encryption_key: &[u8; 32],
    timestamp: &str,
    nonce: &[u8; 24],
    message: &str,
) -> Result<ServerMessage, CryptoError> {
    let mut plaintext = zeroize::Zeroizing::new(Vec::with_capacity(payload::PLAIN_HEADER.len() + message.len()));
    plaintext.extend_from_slice(&payload::PLAIN_HEADER);
    plaintext.extend_from_slice(message.as_bytes());
    let sealed = boxes::box_seal(recipient_encryption_key, sender.encryption, nonce, &plaintext)?;
    let ciphertext = encoding::encode_base64(&sealed);
    let nonce = encoding::encode_base64(nonce);
    let hash = envelope::ciphertext_hash(&ciphertext);
    let envelope = Compose::plain(from, to, timestamp, &nonce, &hash).to_text();
    let signature = encoding::encode_base64(&signing::sign(sender.signing, envelope.as_bytes()));
    Ok(ServerMessage { ciphertext, nonce, envelope, signature })
}

/// Opens a message made by [`make`] with the recipient's secret. A plaintext without the prefix was not made here, so
/// it gives [`CryptoError::Malformed`].
pub fn open(
    sender_encryption_key: &[u8; 32],
    recipient_secret: &Secret<32>,
    ciphertext: &str,
    nonce: &str,
) -> Result<String, CryptoError> {
    let sealed = encoding::decode_base64("ciphertext", ciphertext)?;
    let nonce = encoding::decode_base64_array("nonce", nonce)?;
    let plaintext = boxes::box_open(sender_encryption_key, recipient_secret, &nonce, &sealed)?;
    let message = plaintext.strip_prefix(&payload::PLAIN_HEADER).ok_or(CryptoError::Malformed)?;
    String::from_utf8(message.to_vec()).map_err(|_| CryptoError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::envelope::Envelope;

    const FROM: &str = "did:svc:from";
    const TO: &str = "did:svc:to";

    fn sample(message: &str) -> (ServerMessage, [u8; 32], Secret<32>, [u8; 32]) {
        let (signing, encryption, recipient) = (Secret::new([1; 32]), Secret::new([2; 32]), Secret::new([3; 32]));
        let sender = SenderSecrets { signing: &signing, encryption: &encryption };
        let key = boxes::box_public_key(&recipient);
        let made = make(sender, FROM, TO, &key, "2026-01-01T00:00:00.000Z", &[4; 24], message).unwrap();
        (made, boxes::box_public_key(&encryption), recipient, signing::signing_public_key(&signing))
    }

    /// Decision plain-box-header.
    #[test]
    fn any_text_survives_the_reading_rules_of_clients() {
        let texts = [
            String::new(),
            "hello".into(),
            "V\u{1}\u{0}\u{0}\u{0}\u{1}ab".into(),
            "{\"v\":3,\"from\":\"did:svc:victim\",\"msg\":\"spoofed\"}".into(),
            "\u{0}\u{5}".repeat(16_384),
            "\u{1F980}".repeat(65_536),
        ];
        for text in texts {
            let (made, sender, recipient, _) = sample(&text);
            assert_eq!(open(&sender, &recipient, &made.ciphertext, &made.nonce).unwrap(), text);
            let sealed = encoding::decode_base64("c", &made.ciphertext).unwrap();
            let plain = boxes::box_open(&sender, &recipient, &[4; 24], &sealed).unwrap();
            assert_eq!(plain[..4], [0x56, 0, 0, 0]);
            let read = payload::read(&plain).unwrap();
            assert_eq!((read.content, read.sealed), (text, None));
        }
    }

    #[test]
    fn the_envelope_is_signed_bound_and_in_member_order() {
        let (made, _, _, key) = sample("hello");
        let hash = envelope::ciphertext_hash(&made.ciphertext);
        assert_eq!(
            made.envelope,
            format!(
                "{{\"from\":\"{FROM}\",\"to\":\"{TO}\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"nonce\":\"{}\",\"ciphertext_hash\":\"{hash}\"}}",
                made.nonce
            )
        );
        assert!(Envelope::parse(&made.envelope).is_bound_to(FROM, TO, &made.nonce, &made.ciphertext));
        let signature: [u8; 64] = encoding::decode_base64_array("s", &made.signature).unwrap();
        assert_eq!(signing::verify_envelope(&made.envelope, &signature, &key, &[]), Some(signing::SignedBy::Current));
    }

    #[test]
    fn a_box_without_the_prefix_is_not_ours() {
        let (_, sender, recipient, _) = sample("x");
        let sealed =
            boxes::box_seal(&boxes::box_public_key(&recipient), &Secret::new([2; 32]), &[0; 24], b"raw").unwrap();
        let (text, nonce) = (encoding::encode_base64(&sealed), encoding::encode_base64(&[0; 24]));
        assert_eq!(open(&sender, &recipient, &text, &nonce), Err(CryptoError::Malformed));
    }
}
