//! The plaintext inside a ciphertext: four header bytes, optional padding, optional sealed-sender JSON.

use serde_json::Value;

use super::CryptoError;

/// First byte of a plaintext that has a header.
pub const MAGIC: u8 = 0x56;
/// Header of all plaintexts that the server makes: no flag, no step (decision plain-box-header).
pub const PLAIN_HEADER: [u8; 4] = [MAGIC, 0, 0, 0];

/// All bits of the flag byte that have a meaning.
const ALL_FLAGS: u8 = 0x3f;

/// The flag byte of the header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    pub const PADDED: u8 = 0x01;
    pub const SEALED: u8 = 0x02;
    pub const RATCHETED: u8 = 0x04;
    pub const HYBRID: u8 = 0x08;
    pub const DOUBLE_RATCHET: u8 = 0x10;
    pub const DENIABLE: u8 = 0x20;

    /// True if all bits of `mask` are set.
    pub const fn has(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
}

/// The values inside of a sealed-sender message. Each value that is present replaces the outer one.
///
/// `from` is only the sender's own claim. It must be compared with the authenticated sender before it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedParts {
    pub from: String,
    pub timestamp: Option<String>,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
}

/// A plaintext that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Invalid UTF-8 becomes U+FFFD, as in a JavaScript text decoder.
    pub content: String,
    pub flags: Flags,
    pub sealed: Option<SealedParts>,
}

/// The four header bytes: `56`, flags, the low 16 bits of the step.
pub fn header(flags: Flags, step: u32) -> [u8; 4] {
    let [_, _, high, low] = step.to_be_bytes();
    [MAGIC, flags.0, high, low]
}

/// Length of padded content: the next power of two of content plus 2, at least 256 bytes.
pub fn padded_len(content: usize) -> usize {
    content.saturating_add(2).next_power_of_two().max(256)
}

/// Reads the plaintext of a session message. Clients give it a header; without a header all of it is content. Content
/// that happens to begin with `56` cannot be told from a header, so everything made here has a header.
pub fn read(plaintext: &[u8]) -> Result<Payload, CryptoError> {
    let Some(([MAGIC, flags, _, _], rest)) = plaintext.split_first_chunk::<4>() else {
        return Ok(Payload { content: text(plaintext), flags: Flags(0), sealed: None });
    };
    let flags = Flags(*flags);
    let content = if flags.has(Flags::PADDED) { unpad(rest)? } else { rest };
    if flags.has(Flags::SEALED)
        && let Some((content, sealed)) = read_sealed(content)
    {
        return Ok(Payload { content, flags, sealed: Some(sealed) });
    }
    Ok(Payload { content: text(content), flags, sealed: None })
}

/// Reads the plaintext of a plain box, which clients make with or without a header. A box has no step, and there are
/// six flags. So the first four bytes are a header only if they are `56`, a byte below `40` and two zeros, and if the
/// rest fits the flags. Any other text that begins with `V` is content as it is (decision plain-box-header).
pub fn read_box(plaintext: &[u8]) -> Payload {
    let headed = matches!(plaintext, [MAGIC, ..=ALL_FLAGS, 0, 0, ..]);
    match read(plaintext) {
        Ok(payload) if headed => payload,
        _ => Payload { content: text(plaintext), flags: Flags(0), sealed: None },
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Removes the padding: two bytes of big-endian length, the content, then anything.
fn unpad(padded: &[u8]) -> Result<&[u8], CryptoError> {
    let (length, rest) = padded.split_first_chunk::<2>().ok_or(CryptoError::Malformed)?;
    rest.get(..usize::from(u16::from_be_bytes(*length))).ok_or(CryptoError::Malformed)
}

/// Reads the inner JSON of a sealed sender. It needs version 2 or 3, a non-empty `from` and a `msg`; else it is
/// content.
fn read_sealed(content: &[u8]) -> Option<(String, SealedParts)> {
    let value: Value = serde_json::from_slice(content).ok()?;
    if !matches!(value.get("v")?.as_f64()?, 2.0 | 3.0) {
        return None;
    }
    let string = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let message = match value.get("msg")? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let sealed = SealedParts {
        from: string("from").filter(|from| !from.is_empty())?,
        timestamp: string("ts"),
        content_type: string("ct"),
        message_type: string("mt"),
        thread_id: string("tid"),
        reply_to: string("rto"),
    };
    Some((message, sealed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_padding_length_beyond_the_plaintext_is_malformed() {
        for bad in [&[MAGIC, 1, 0, 0][..], &[MAGIC, 1, 0, 0, 0], &[MAGIC, 1, 0, 0, 0, 2, b'a']] {
            assert_eq!(read(bad), Err(CryptoError::Malformed));
        }
        assert_eq!(read(&[MAGIC, 1, 0, 0, 0, 1, b'a', b'b']).unwrap().content, "a");
    }

    #[test]
    fn text_without_a_header_is_content_as_it_is() {
        for plain in ["", "V", "Vab", "hello", "{\"v\":3,\"from\":\"did:svc:x\",\"msg\":\"spoof\"}"] {
            let payload = read(plain.as_bytes()).unwrap();
            assert_eq!((payload.content.as_str(), payload.sealed), (plain, None));
        }
    }

    /// Decision plain-box-header: no text loses anything in a plain box, with a header or without.
    #[test]
    fn text_of_a_plain_box_that_begins_with_v_is_whole() {
        for plain in
            ["", "V", "Vab", "Viva", "Venga ya!", "V\u{1}\u{0}x", "V\u{40}\u{0}\u{0}x", "V\u{1}\u{0}\u{0}\u{0}"]
        {
            let payload = read_box(plain.as_bytes());
            assert_eq!((payload.content.as_str(), payload.flags), (plain, Flags(0)), "without a header");
            let payload = read_box(&[&PLAIN_HEADER, plain.as_bytes()].concat());
            assert_eq!((payload.content.as_str(), payload.sealed), (plain, None), "with one");
        }
        let padded = read_box(&[MAGIC, Flags::PADDED, 0, 0, 0, 1, b'a', b'b']);
        assert_eq!((padded.content.as_str(), padded.flags), ("a", Flags(Flags::PADDED)));
        let sealed =
            read_box(&[&header(Flags(Flags::SEALED), 0)[..], b"{\"v\":3,\"from\":\"x\",\"msg\":\"m\"}"].concat());
        assert_eq!(sealed.sealed.map(|sealed| sealed.from).as_deref(), Some("x"));
    }

    #[test]
    fn sealed_json_counts_only_under_its_flag() {
        let inner = "{\"v\":3,\"from\":\"did:svc:x\",\"msg\":\"m\",\"tid\":\"t\"}";
        let with = |flags| {
            let mut bytes = header(Flags(flags), 1).to_vec();
            bytes.extend_from_slice(inner.as_bytes());
            read(&bytes).unwrap()
        };
        assert_eq!(with(Flags::RATCHETED).content, inner);
        let opened = with(Flags::RATCHETED | Flags::SEALED);
        assert_eq!(opened.content, "m");
        assert_eq!(opened.sealed.unwrap().thread_id.as_deref(), Some("t"));
        // The earlier version reads the same.
        assert_eq!(read_sealed(inner.replace(":3", ":2").as_bytes()), read_sealed(inner.as_bytes()));
        for not_sealed in [
            "{\"v\":1,\"from\":\"x\",\"msg\":\"\"}",
            "{\"v\":3,\"from\":\"\",\"msg\":\"\"}",
            "{\"v\":3,\"from\":\"x\"}",
        ] {
            assert!(read_sealed(not_sealed.as_bytes()).is_none());
        }
    }

    #[test]
    fn padded_sizes_are_those_seen_on_the_wire() {
        // Ciphertext base64 characters for content lengths, as observed from the public client.
        let chars = |content: usize| (padded_len(content) + 4 + 16).div_ceil(3) * 4;
        assert_eq!(
            [0, 254, 255, 1000, 65_532, 65_534, 65_535].map(chars),
            [368, 368, 712, 1392, 87_408, 87_408, 174_792]
        );
    }
}
