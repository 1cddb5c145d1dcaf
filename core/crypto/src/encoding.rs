//! Text forms of bytes: strict base64, lower-case hex, DIDs, actor ids.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::CryptoError;

/// Longest base58 text of 16 bytes.
const DID_ID_MAX: usize = 22;

/// Base64 in the standard alphabet with padding, canonical. Clients decode no other form.
pub fn encode_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes standard base64. Missing padding, the URL alphabet, white space and stray bits in the last character are
/// refused, so that every byte string has exactly one text. `field` names the value in the error.
pub fn decode_base64(field: &'static str, text: &str) -> Result<Vec<u8>, CryptoError> {
    STANDARD.decode(text).map_err(|_| CryptoError::Base64(field))
}

/// [`decode_base64`] for exactly `N` bytes.
pub fn decode_base64_array<const N: usize>(field: &'static str, text: &str) -> Result<[u8; N], CryptoError> {
    let bytes = decode_base64(field, text)?;
    let actual = bytes.len();
    bytes.try_into().map_err(|_| CryptoError::Length { field, expected: N, actual })
}

/// What [`decode_base64`] reads.
pub const BASE64_PATTERN: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=|[A-Za-z0-9+/][AQgw]==)?$";

/// What so many bytes look like in base64, as [`decode_base64_array`] reads them.
pub fn base64_pattern(bytes: usize) -> String {
    let whole = bytes / 3 * 4;
    match bytes % 3 {
        0 => format!("^[A-Za-z0-9+/]{{{whole}}}$"),
        1 => format!("^[A-Za-z0-9+/]{{{}}}[AQgw]==$", whole + 1),
        _ => format!("^[A-Za-z0-9+/]{{{}}}[AEIMQUYcgkosw048]=$", whole + 2),
    }
}

/// Lower-case hex.
pub fn encode_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Decodes lower-case hex to exactly `N` bytes; upper case is refused.
pub fn decode_hex_array<const N: usize>(field: &'static str, text: &str) -> Result<[u8; N], CryptoError> {
    let nibble = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text
        .as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => Some((nibble(high)? << 4) | nibble(low)?),
            _ => None,
        })
        .collect();
    let bytes = bytes.ok_or(CryptoError::Hex(field))?;
    let actual = bytes.len();
    bytes.try_into().map_err(|_| CryptoError::Length { field, expected: N, actual })
}

/// The 16 bytes in a DID: the first half of the Ed25519 signing key that the agent registered with.
pub fn did_bytes(signing_key: &[u8; 32]) -> [u8; 16] {
    let mut id = [0; 16];
    for (to, from) in id.iter_mut().zip(signing_key) {
        *to = *from;
    }
    id
}

/// What DIDs of any brand look like.
pub const DID_PATTERN: &str = "^did:[a-z][a-z0-9]{1,15}:[1-9A-HJ-NP-Za-km-z]{16,22}$";

/// `did:<brand>:<base58 of the 16 bytes>`, in the Bitcoin alphabet. Each leading zero byte becomes a leading `1`.
pub fn did(brand: &str, id: &[u8; 16]) -> String {
    format!("did:{brand}:{}", bs58::encode(id).into_string())
}

/// Reads a DID of this brand back to its 16 bytes. Only the canonical text is accepted, so that two texts never name
/// one agent.
pub fn parse_did(brand: &str, text: &str) -> Result<[u8; 16], CryptoError> {
    let id = text
        .strip_prefix("did:")
        .and_then(|rest| rest.strip_prefix(brand))
        .and_then(|rest| rest.strip_prefix(':'))
        .filter(|id| id.len() <= DID_ID_MAX)
        .ok_or(CryptoError::Did)?;
    let bytes = bs58::decode(id).into_vec().map_err(|_| CryptoError::Did)?;
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| CryptoError::Did)?;
    if bs58::encode(bytes).into_string() == id { Ok(bytes) } else { Err(CryptoError::Did) }
}

/// Multicodec prefix of an Ed25519 public key.
pub const ED25519: [u8; 2] = [0xed, 0x01];
/// Multicodec prefix of an X25519 public key.
pub const X25519: [u8; 2] = [0xec, 0x01];

/// A public key as W3C Multikey: multibase `z` (base58) of the multicodec prefix and the key.
pub fn multikey(codec: [u8; 2], key: &[u8; 32]) -> String {
    let bytes: Vec<u8> = codec.iter().chain(key).copied().collect();
    format!("z{}", bs58::encode(bytes).into_string())
}

/// `did:key` of an Ed25519 key (W3C did:key method).
pub fn did_key(signing_key: &[u8; 32]) -> String {
    format!("did:key:{}", multikey(ED25519, signing_key))
}

/// The actor part of an issued id: base64url of 16 bytes, always 22 characters (decision ids-lead-to-actors).
pub fn actor_id(id: &[u8; 16]) -> String {
    URL_SAFE_NO_PAD.encode(id)
}

/// What [`actor_id`] writes looks like.
pub const ACTOR_ID_PATTERN: &str = "^[A-Za-z0-9_-]{22}$";

/// Reads [`actor_id`] back; only the canonical 22 characters are accepted.
pub fn parse_actor_id(text: &str) -> Option<[u8; 16]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn base64_that_clients_cannot_decode_is_refused() {
        assert_eq!(decode_base64("k", "AAA="), Ok(vec![0, 0]));
        for text in ["AAA", "AA==\n", " AA==", "AB==", "__8=", "A", "AA=", "AAAA=", "AA==AAAA"] {
            assert_eq!(decode_base64("k", text), Err(CryptoError::Base64("k")), "{text:?}");
        }
    }

    #[test]
    fn a_wrong_size_names_the_field_and_both_sizes() {
        let error = decode_base64_array::<32>("signing_public_key", "AAAA").unwrap_err();
        assert_eq!(error.to_string(), "`signing_public_key` must be 32 bytes, not 3");
    }

    #[test]
    fn hex_is_lower_case_only() {
        assert_eq!(encode_hex(&[0x0a, 0xff]), "0aff");
        assert_eq!(decode_hex_array("h", "0aff"), Ok([0x0a, 0xff]));
        assert_eq!(decode_hex_array::<2>("h", "0AFF"), Err(CryptoError::Hex("h")));
        assert_eq!(decode_hex_array::<2>("h", "0af"), Err(CryptoError::Hex("h")));
        assert!(matches!(decode_hex_array::<2>("h", "0a"), Err(CryptoError::Length { .. })));
    }

    #[test]
    fn a_did_of_zero_bytes_is_all_ones_and_foreign_texts_are_refused() {
        let zero = did("svc", &[0; 16]);
        assert_eq!(zero, "did:svc:1111111111111111");
        assert_eq!(parse_did("svc", &zero), Ok([0; 16]));
        for text in [
            "did:svc:",
            "did:svc:111111111111111",
            "did:svc:11111111111111111",
            "did:svd:1111111111111111",
            "did:sv:c:1111111111111111",
            "DID:svc:1111111111111111",
            "did:svc:1111111111111111 ",
            "did:svc:0000000000000000",
            "did:svc:zzzzzzzzzzzzzzzzzzzzzz",
            "sealed",
            "",
        ] {
            assert_eq!(parse_did("svc", text), Err(CryptoError::Did), "{text:?}");
        }
    }

    #[test]
    fn did_key_form_of_a_published_example() {
        // The Ed25519 example of the W3C did:key method specification.
        let text = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        let bytes = bs58::decode(text.strip_prefix("did:key:z").unwrap()).into_vec().unwrap();
        let key: [u8; 32] = bytes[2..].try_into().unwrap();
        assert_eq!(did_key(&key), text);
    }

    proptest! {
        #[test]
        fn every_id_has_one_did_and_one_actor_id(id: [u8; 16]) {
            let text = did("svc", &id);
            prop_assert_eq!(parse_did("svc", &text), Ok(id));
            let actor = actor_id(&id);
            prop_assert_eq!(actor.len(), 22);
            prop_assert_eq!(parse_actor_id(&actor), Some(id));
        }

        #[test]
        fn a_text_that_parses_is_the_text_that_is_made(text in "did:svc:[1-9A-HJ-NP-Za-km-z]{14,23}") {
            if let Ok(id) = parse_did("svc", &text) {
                prop_assert_eq!(did("svc", &id), text);
            }
        }

        #[test]
        fn base64_and_hex_round_trip(bytes: Vec<u8>, fixed: [u8; 32]) {
            prop_assert_eq!(decode_base64("b", &encode_base64(&bytes)), Ok(bytes));
            prop_assert_eq!(decode_hex_array("h", &encode_hex(&fixed)), Ok(fixed));
        }
    }
}
