//! The text of an API key (decision api-key-form):
//!
//! `<brand>_<kind>_<actor id>_<32 base62 secret><6 base62 CRC32><11 base62 MAC>`
//!
//! The CRC-32 (IEEE) covers everything before it and lets secret scanners drop false finds; the MAC is the first 8
//! bytes of HMAC-SHA256 under a deployment secret over everything before it, so that an invented key is refused before
//! any storage is touched. Numbers are big-endian base62 (`0-9A-Za-z`), padded with `0`. The last part has a fixed
//! length and is split off from the end, because `_` and `-` occur inside actor ids.
//!
//! Some clients take nothing but 64 lower-case hex digits for an agent's key (decision hex-agent-keys): the 16 bytes of
//! the actor id, 10 of the secret, and 6 of HMAC-SHA256 under the same deployment secret over the 52 digits before. No
//! text of the other form is made of hex digits alone, so the two never have the same MAC.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::encoding::{actor_id, decode_hex_array, encode_hex, parse_actor_id};
use super::{CryptoError, Secret, hash};

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_CHARS: usize = 32;
const CRC_CHARS: usize = 6;
const MAC_CHARS: usize = 11;
const TAIL_CHARS: usize = SECRET_CHARS + CRC_CHARS + MAC_CHARS;
const ACTOR_MAX: usize = 22;
/// Longest accepted text. A longer one is refused before anything is computed.
const TEXT_MAX: usize = 160;

/// Digits of a key in hex: of all, of those before the MAC, and of the actor id.
const HEX_CHARS: usize = 64;
const HEX_BEFORE_MAC: usize = 52;
const HEX_ACTOR_CHARS: usize = 32;
const HEX_SECRET_BYTES: usize = 10;
/// Only agents have keys in hex.
const HEX_KIND: &str = "agent";

/// The form of a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyForm {
    /// With brand and kind in front.
    Prefixed,
    /// 64 lower-case hex digits; only for agents.
    Hex,
}

/// A parsed or generated key. `Debug` shows everything but the secret part.
#[derive(Clone)]
pub struct ApiKey {
    text: Zeroizing<String>,
    kind: String,
    actor: String,
}

impl ApiKey {
    /// Generates a key from 32 random bytes. `brand` and `kind` are lower-case letters and digits, `actor` 1 to 22
    /// characters of `[A-Za-z0-9_-]`; anything else is [`CryptoError::ApiKey`].
    pub fn generate(
        brand: &str,
        kind: &str,
        actor: &str,
        mac_key: &Secret<32>,
        randomness: &Secret<32>,
    ) -> Result<ApiKey, CryptoError> {
        if !is_word(brand) || !is_word(kind) || !is_actor(actor) {
            return Err(CryptoError::ApiKey);
        }
        // The buffer holds the whole text, so it never grows and leaves no copy of the secret behind.
        let mut text = Zeroizing::new(String::with_capacity(TEXT_MAX));
        for part in [brand, "_", kind, "_", actor, "_"] {
            text.push_str(part);
        }
        push_random(&mut text, randomness);
        let crc = crc32fast::hash(text.as_bytes());
        push_base62(&mut text, u64::from(crc), CRC_CHARS);
        let mac = mac_of(mac_key, text.as_bytes());
        push_base62(&mut text, mac, MAC_CHARS);
        if text.len() > TEXT_MAX {
            return Err(CryptoError::ApiKey);
        }
        Ok(ApiKey { text, kind: kind.to_owned(), actor: actor.to_owned() })
    }

    /// Generates an agent's key in hex from 32 random bytes. `actor` is [`actor_id`] of 16 bytes.
    pub fn generate_hex(actor: &str, mac_key: &Secret<32>, randomness: &Secret<32>) -> Result<ApiKey, CryptoError> {
        let id = parse_actor_id(actor).ok_or(CryptoError::ApiKey)?;
        let mut secret = Zeroizing::new([0; HEX_SECRET_BYTES]);
        ChaCha20Rng::from_seed(*randomness.expose()).fill_bytes(&mut *secret);
        let mut text = Zeroizing::new(String::with_capacity(HEX_CHARS));
        text.push_str(&encode_hex(&id));
        text.push_str(&Zeroizing::new(encode_hex(&*secret)));
        let mac = hex_mac(mac_key, text.as_bytes());
        text.push_str(&encode_hex(&mac));
        Ok(ApiKey { text, kind: HEX_KIND.to_owned(), actor: actor.to_owned() })
    }

    fn parse_hex(text: &str, mac_keys: &[Secret<32>]) -> Result<ApiKey, CryptoError> {
        let (before_mac, mac) = text.split_at_checked(HEX_BEFORE_MAC).ok_or(CryptoError::ApiKey)?;
        let mac: [u8; 6] = decode_hex_array("key", mac)?;
        let known = |key: &Secret<32>| bool::from(hex_mac(key, before_mac.as_bytes()).ct_eq(&mac));
        if !mac_keys.iter().any(known) {
            return Err(CryptoError::ApiKey);
        }
        let actor = before_mac.get(..HEX_ACTOR_CHARS).ok_or(CryptoError::ApiKey)?;
        let actor = actor_id(&decode_hex_array("key", actor)?);
        Ok(ApiKey { text: Zeroizing::new(text.to_owned()), kind: HEX_KIND.to_owned(), actor })
    }

    /// Reads a key of this brand, or one in hex, and checks CRC and MAC, without any storage. `mac_keys` are the current
    /// and earlier deployment secrets. Every failure is the same [`CryptoError::ApiKey`].
    pub fn parse(brand: &str, text: &str, mac_keys: &[Secret<32>]) -> Result<ApiKey, CryptoError> {
        if is_hex(text) {
            return ApiKey::parse_hex(text, mac_keys).map_err(|_| CryptoError::ApiKey);
        }
        let (kind, actor) = split(brand, text).ok_or(CryptoError::ApiKey)?;
        let (before_mac, mac) = text.split_at_checked(text.len() - MAC_CHARS).ok_or(CryptoError::ApiKey)?;
        let (before_crc, crc) = before_mac.split_at_checked(before_mac.len() - CRC_CHARS).ok_or(CryptoError::ApiKey)?;
        if read_base62(crc) != Some(u64::from(crc32fast::hash(before_crc.as_bytes()))) {
            return Err(CryptoError::ApiKey);
        }
        let mac = read_base62(mac).ok_or(CryptoError::ApiKey)?;
        let known = |key: &Secret<32>| bool::from(mac_of(key, before_mac.as_bytes()).ct_eq(&mac));
        if !mac_keys.iter().any(known) {
            return Err(CryptoError::ApiKey);
        }
        Ok(ApiKey { text: Zeroizing::new(text.to_owned()), kind: kind.to_owned(), actor: actor.to_owned() })
    }

    /// The whole text: shown to its holder once, never logged or stored.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The purpose of the key, for example `agent`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The actor that holds the key's record.
    pub fn actor(&self) -> &str {
        &self.actor
    }

    /// SHA-256 of the secret part; only this is stored. The secret has 190 random bits, so no slow hash is needed. A key
    /// in hex has 80, and the hash is of these and of the MAC, which nobody can make who does not have the deployment
    /// secret.
    pub fn secret_hash(&self) -> [u8; 32] {
        if is_hex(&self.text) {
            return hash::sha256(self.text.as_bytes().get(HEX_ACTOR_CHARS..).unwrap_or_default());
        }
        let start = self.text.len().saturating_sub(TAIL_CHARS);
        let secret = self.text.as_bytes().get(start..start + SECRET_CHARS).unwrap_or_default();
        hash::sha256(secret)
    }

    /// Compares with a stored [`ApiKey::secret_hash`] in constant time.
    pub fn matches(&self, stored: &[u8; 32]) -> bool {
        self.secret_hash().ct_eq(stored).into()
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiKey").field("kind", &self.kind).field("actor", &self.actor).finish_non_exhaustive()
    }
}

/// Compares the caller's key with one that was configured, of any form, in constant time for all lengths. No key equals
/// a configured one that is empty.
pub fn is_key(sent: &str, configured: &str) -> bool {
    let matches = hash::sha256(configured.as_bytes()).ct_eq(&hash::sha256(sent.as_bytes()));
    !configured.is_empty() && bool::from(matches)
}

/// Kind and actor in a text that has the right form.
fn split<'a>(brand: &str, text: &'a str) -> Option<(&'a str, &'a str)> {
    if text.len() > TEXT_MAX || !text.is_ascii() {
        return None;
    }
    let (head, tail) = text.split_at_checked(text.len().checked_sub(TAIL_CHARS)?)?;
    if !tail.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let head = head.strip_suffix('_')?.strip_prefix(brand)?.strip_prefix('_')?;
    let (kind, actor) = head.split_once('_')?;
    (is_word(kind) && is_actor(actor)).then_some((kind, actor))
}

/// Whether a text has the form of a key in hex. One with a prefix has a `_`.
fn is_hex(text: &str) -> bool {
    text.len() == HEX_CHARS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// 48 bits of HMAC-SHA256.
fn hex_mac(key: &Secret<32>, data: &[u8]) -> [u8; 6] {
    let mut mac = [0; 6];
    mac.iter_mut().zip(hash::hmac_sha256(key.expose(), data)).for_each(|(to, from)| *to = from);
    mac
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn is_actor(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=ACTOR_MAX).contains(&text.len()) && text.bytes().all(allowed)
}

/// 64 bits of HMAC-SHA256.
fn mac_of(key: &Secret<32>, data: &[u8]) -> u64 {
    let tag = hash::hmac_sha256(key.expose(), data);
    tag.iter().take(8).fold(0, |value, byte| (value << 8) | u64::from(*byte))
}

/// Appends the secret part. Bytes of ChaCha20 under the given seed are taken modulo 62 if they are below 4 x 62 and
/// dropped otherwise, so that every character is equally likely.
fn push_random(text: &mut String, randomness: &Secret<32>) {
    let mut stream = ChaCha20Rng::from_seed(*randomness.expose());
    let mut taken = 0;
    while taken < SECRET_CHARS {
        let mut byte = [0];
        stream.fill_bytes(&mut byte);
        let [byte] = byte;
        if byte < 248 {
            text.push(digit(u64::from(byte)));
            taken += 1;
        }
    }
}

fn digit(value: u64) -> char {
    // The remainder is below 62, the alphabet's length.
    usize::try_from(value % 62).ok().and_then(|index| ALPHABET.get(index)).copied().map_or('0', char::from)
}

/// Appends exactly `chars` base62 digits, most significant first.
fn push_base62(text: &mut String, value: u64, chars: usize) {
    for place in (0..chars).rev() {
        text.push(digit(
            u32::try_from(place).ok().and_then(|place| 62_u64.checked_pow(place)).map_or(0, |p| value / p),
        ));
    }
}

/// Reads base62 digits; `None` if a character is not base62 or the number exceeds 64 bits.
fn read_base62(text: &str) -> Option<u64> {
    text.bytes().try_fold(0_u64, |value, byte| {
        let digit = ALPHABET.iter().position(|known| *known == byte)?;
        value.checked_mul(62)?.checked_add(u64::try_from(digit).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAC_KEY: Secret<32> = Secret::new([0x11; 32]);
    const ACTOR: &str = "AAECAwQFBgcICQoL_-0ODw";

    fn key(actor: &str, seed: u8) -> ApiKey {
        ApiKey::generate("svc", "agent", actor, &MAC_KEY, &Secret::new([seed; 32])).unwrap()
    }

    fn parse(text: &str) -> Result<ApiKey, CryptoError> {
        ApiKey::parse("svc", text, &[MAC_KEY])
    }

    /// Decision api-key-form.
    #[test]
    fn the_shape_of_a_key_is_pinned() {
        let key = key(ACTOR, 0x22);
        let text = key.expose();
        // Checksum and MAC recomputed with Python's zlib and hmac.
        assert_eq!(text, "svc_agent_AAECAwQFBgcICQoL_-0ODw_uZbMI7KXypnedjvkIAjbTZdY8TCt4HBQ3srKhdBOs2UgnqQna");
        assert_eq!(text.len(), "svc_agent_".len() + 22 + 1 + 32 + 6 + 11);
        assert_eq!(format!("{key:?}"), format!("ApiKey {{ kind: \"agent\", actor: \"{ACTOR}\", .. }}"));
    }

    #[test]
    fn actor_ids_that_contain_separators_split_by_position() {
        for actor in ["_", "-", "a_b", "______________________", "agent_agent_svc", ACTOR] {
            let made = key(actor, 1);
            let read = parse(made.expose()).unwrap();
            assert_eq!((read.kind(), read.actor()), ("agent", actor));
            assert!(read.matches(&made.secret_hash()));
            assert!(!read.matches(&key(actor, 2).secret_hash()));
        }
    }

    /// Decision invented-names-leave-nothing.
    #[test]
    fn every_changed_character_is_refused_without_storage() {
        let made = key(ACTOR, 3);
        for index in 0..made.expose().len() {
            for other in ['0', 'z', '_', '\u{e9}'] {
                let mut text: Vec<char> = made.expose().chars().collect();
                if text[index] == other {
                    continue;
                }
                text[index] = other;
                let text: String = text.into_iter().collect();
                assert!(parse(&text).is_err(), "{text}");
            }
            assert!(parse(&made.expose()[..index]).is_err());
            assert!(parse(&made.expose()[index + 1..]).is_err());
        }
        assert!(ApiKey::parse("svd", made.expose(), &[MAC_KEY]).is_err());
        assert!(ApiKey::parse("svc", made.expose(), &[Secret::new([0x12; 32])]).is_err());
        assert!(ApiKey::parse("svc", made.expose(), &[]).is_err());
        assert!(ApiKey::parse("svc", made.expose(), &[Secret::new([0x12; 32]), MAC_KEY]).is_ok());
    }

    #[test]
    fn an_invented_key_with_a_right_checksum_fails_its_mac() {
        let mut text = format!("svc_agent_{ACTOR}_{}", "A".repeat(32));
        let crc = crc32fast::hash(text.as_bytes());
        push_base62(&mut text, u64::from(crc), CRC_CHARS);
        text.push_str("00000000000");
        assert_eq!(parse(&text).unwrap_err(), CryptoError::ApiKey);
    }

    /// Decision hex-agent-keys.
    #[test]
    fn a_key_in_hex_names_its_actor_and_every_changed_digit_is_refused_without_storage() {
        let make = |seed: u8| ApiKey::generate_hex(ACTOR, &MAC_KEY, &Secret::new([seed; 32])).unwrap();
        let (made, text) = (make(3), make(3).expose().to_owned());
        // The MAC recomputed with Python's hmac.
        assert_eq!(text, "000102030405060708090a0bffed0e0f385553aa23a24b14d8bbf72ae95e9223");
        let read = parse(&text).unwrap();
        assert_eq!((read.kind(), read.actor(), text.len()), ("agent", ACTOR, 64));
        assert!(read.matches(&made.secret_hash()) && !read.matches(&make(4).secret_hash()));
        for index in 0..text.len() {
            for other in ["0", "f", "F", "_"].into_iter().filter(|other| *other != &text[index..=index]) {
                let mut changed = text.clone();
                changed.replace_range(index..=index, other);
                assert!(parse(&changed).is_err(), "{changed}");
            }
        }
        assert!(parse(&text[1..]).is_err() && parse(&text.to_uppercase()).is_err());
        assert!(ApiKey::parse("svc", &text, &[Secret::new([0x12; 32])]).is_err());
        assert!(ApiKey::parse("other", &text, &[Secret::new([0x12; 32]), MAC_KEY]).is_ok());
        for actor in ["", "a", "AAECAwQFBgcICQoL_-0OD", "AAECAwQFBgcICQoL_-0ODx"] {
            assert!(ApiKey::generate_hex(actor, &MAC_KEY, &Secret::new([3; 32])).is_err(), "{actor}");
        }
    }

    #[test]
    fn bad_parts_are_not_made_into_keys() {
        let make = |brand, kind, actor| ApiKey::generate(brand, kind, actor, &MAC_KEY, &Secret::new([0; 32]));
        for (brand, kind, actor) in [
            ("", "agent", "a"),
            ("svc", "", "a"),
            ("svc", "a_b", "a"),
            ("svc", "agent", ""),
            ("svc", "agent", "a.b"),
            ("svc", "agent", "12345678901234567890123"),
            ("s_c", "agent", "a"),
        ] {
            assert!(make(brand, kind, actor).is_err());
        }
    }

    #[test]
    fn every_character_of_a_secret_is_about_equally_likely() {
        let mut counts = [0_u32; 62];
        let mut text = String::new();
        for seed in 0..2_000_u16 {
            let mut bytes = [0; 32];
            bytes[..2].copy_from_slice(&seed.to_le_bytes());
            push_random(&mut text, &Secret::new(bytes));
        }
        for byte in text.bytes() {
            counts[ALPHABET.iter().position(|known| *known == byte).unwrap()] += 1;
        }
        // Chi-square with 61 degrees of freedom: 105 is beyond its 99.9th percentile (100.9).
        let expected = f64::from(2_000 * 32) / 62.0;
        let chi: f64 = counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
        assert!(chi < 105.0, "chi-square {chi}");
    }

    #[test]
    fn operator_keys_of_any_form_compare_and_an_empty_one_never_matches() {
        assert!(is_key("demo", "demo"));
        assert!(!is_key("demo ", "demo"));
        assert!(!is_key("", ""));
    }

    proptest! {
        #[test]
        fn base62_round_trips(value: u64) {
            let mut text = String::new();
            push_base62(&mut text, value, MAC_CHARS);
            prop_assert_eq!(text.len(), MAC_CHARS);
            prop_assert_eq!(read_base62(&text), Some(value));
        }

        #[test]
        fn arbitrary_text_never_parses(text in "\\PC{0,170}") {
            prop_assert!(parse(&text).is_err());
        }
    }
}
