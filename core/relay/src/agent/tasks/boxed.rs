//! Input and output of tasks: NaCl boxes of JSON text. Clients make and open them; for agents whose keys the service
//! holds, the service does it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::agent::Credentials;
use crate::agent::custody::{self, HeldKeys};
use crate::agent::record::ReadKeys;
use crate::{Error, Result};
use crypto::encoding::{decode_base64, decode_base64_array};
use crypto::{boxes, signing};
use engine::http::Cx;
use engine::kv::Row;
use engine::runtime;

/// A box, with the keys that its author and its reader had when it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boxed {
    #[serde(with = "engine::kv::bytes")]
    pub ciphertext: Vec<u8>,
    pub nonce: [u8; 24],
    /// The author's Ed25519 signature over the JSON text.
    #[serde(with = "engine::kv::bytes::option")]
    pub signature: Option<Vec<u8>>,
    /// X25519.
    pub author_encryption: [u8; 32],
    /// Ed25519.
    pub author_signing: [u8; 32],
    /// X25519; `None` when only the author can open the box.
    pub reader_encryption: Option<[u8; 32]>,
}
impl Row for Boxed {}

impl Boxed {
    /// Bytes that count against the room for tasks.
    pub fn size(&self) -> u64 {
        (self.ciphertext.len() + self.signature.as_ref().map_or(0, Vec::len)) as u64 + 128
    }
}

/// The members of a request that give an input or an output.
pub struct ContentMembers<'a> {
    /// The name in the members: `input` or `output`.
    pub name: &'static str,
    /// JSON that is encrypted here.
    pub plain: Option<&'a RawValue>,
    pub ciphertext: Option<&'a str>,
    pub nonce: Option<&'a str>,
    pub signature: Option<&'a str>,
}

/// The checked input or output of a request.
pub enum Content {
    Nothing,
    /// JSON text.
    Plain(String),
    /// A box that the caller encrypted; the reader's key is not known yet.
    Boxed(Boxed),
}

impl ContentMembers<'_> {
    /// Checks the members. 400 for half a box, for both forms at once, and for text that does not decode.
    pub fn check(&self, caller: &Credentials) -> Result<Content> {
        let name = self.name;
        match (self.plain, self.ciphertext, self.nonce) {
            (None, None, None) => Ok(Content::Nothing),
            (Some(plain), None, None) => Ok(Content::Plain(json_text(plain)?)),
            (None, Some(ciphertext), Some(nonce)) => {
                let ciphertext = decode_base64("ciphertext", ciphertext)
                    .map_err(|_| Error::bad_request(format!("`encrypted_{name}` must be standard base64.")))?;
                let nonce = decode_base64_array("nonce", nonce)
                    .map_err(|_| Error::bad_request(format!("`{name}_nonce` must be base64 of 24 bytes.")))?;
                let refuse = || Error::bad_request(format!("`{name}_signature` must be base64 of 64 bytes."));
                let signature = self.signature.map(|text| decode_base64("signature", text).map_err(|_| refuse()));
                let signature = signature.transpose()?;
                if ciphertext.is_empty() {
                    return Err(Error::bad_request(format!("`encrypted_{name}` must not be empty.")));
                }
                if signature.as_ref().is_some_and(|signature| signature.len() != 64) {
                    return Err(refuse());
                }
                Ok(Content::Boxed(Boxed {
                    ciphertext,
                    nonce,
                    signature,
                    author_encryption: caller.keys.encryption,
                    author_signing: caller.keys.signing,
                    reader_encryption: None,
                }))
            }
            _ => {
                let message = format!("Give `encrypted_{name}` with `{name}_nonce`, or plain `{name}`, not both.");
                Err(Error::bad_request(message))
            }
        }
    }
}

/// The JSON text of a plain value. A string that contains JSON is used as that JSON; any other string becomes a JSON
/// string, since readers expect JSON.
fn json_text(value: &RawValue) -> Result<String> {
    let text = value.get();
    // Parsed once as a value, since a raw text may be nested more deeply than readers can follow.
    let parsed: serde_json::Value =
        serde_json::from_str(text).map_err(|_| Error::bad_request("Input and output must be valid JSON."))?;
    let inner = parsed.as_str().filter(|inner| serde_json::from_str::<serde_json::Value>(inner).is_ok());
    Ok(inner.unwrap_or(text).to_owned())
}

/// The private keys of a caller whose keys the service holds; 400 when the caller keeps its own.
pub fn held(cx: &Cx, caller: &Credentials) -> Result<HeldKeys> {
    let Some(sealed) = &caller.keys.sealed else {
        return Err(Error::bad_request(
            "This agent keeps its own keys: encrypt input and output before you send them.",
        ));
    };
    HeldKeys::open(&cx.rt.environment().secrets, &caller.did, sealed)
}

/// Encrypts a JSON text from the caller for a reader, and signs it when `sign` is true.
pub fn seal(
    cx: &Cx,
    caller: &Credentials,
    keys: &HeldKeys,
    reader: &[u8; 32],
    text: &str,
    sign: bool,
) -> Result<Boxed> {
    let nonce = custody::nonce(&*cx.rt);
    let ciphertext = boxes::box_seal(reader, &keys.encryption, &nonce, text.as_bytes()).map_err(Error::internal)?;
    Ok(Boxed {
        ciphertext,
        nonce,
        signature: sign.then(|| signing::sign(&keys.signing, text.as_bytes()).to_vec()),
        author_encryption: caller.keys.encryption,
        author_signing: caller.keys.signing,
        reader_encryption: Some(*reader),
    })
}

/// An opened box.
pub struct Opened {
    pub json: Box<RawValue>,
    /// Whether the author signed exactly this text; `None` without a signature.
    pub genuine: Option<bool>,
}

/// Opens boxes with the keys that the service holds for the caller, present and earlier ones.
pub struct BoxOpener {
    keys: Vec<HeldKeys>,
}

impl BoxOpener {
    /// For a caller that keeps its own keys, the opener has no keys and opens nothing.
    pub async fn of(cx: &Cx, caller: &Credentials) -> Result<BoxOpener> {
        let mut keys = Vec::new();
        if let Some(sealed) = &caller.keys.sealed {
            let secrets = &cx.rt.environment().secrets;
            keys.push(HeldKeys::open(secrets, &caller.did, sealed)?);
            let all = runtime::query(&*cx.rt, caller.actor.as_str(), &ReadKeys).await?;
            for earlier in all.into_iter().flat_map(|(_, earlier)| earlier) {
                if let Some(sealed) = &earlier.keys.sealed {
                    keys.push(HeldKeys::open(secrets, &caller.did, sealed)?);
                }
            }
        }
        Ok(BoxOpener { keys })
    }

    /// The JSON in a box; `None` when none of the keys opens it. `author` says that the caller made the box.
    pub fn open(&self, boxed: &Boxed, author: bool) -> Option<Opened> {
        let peer = if author { boxed.reader_encryption? } else { boxed.author_encryption };
        let plain = self
            .keys
            .iter()
            .find_map(|keys| boxes::box_open(&peer, &keys.encryption, &boxed.nonce, &boxed.ciphertext).ok())?;
        let signed = boxed.signature.as_deref();
        let genuine = signed.map(|signature| signing::verify(&boxed.author_signing, &plain, signature));
        let text = std::str::from_utf8(&plain).ok()?;
        let json = match serde_json::from_str::<serde_json::Value>(text) {
            Ok(_) => text.to_owned(),
            Err(_) => serde_json::to_string(text).ok()?,
        };
        Some(Opened { json: RawValue::from_string(json).ok()?, genuine })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_wrapped_and_what_is_stays_to_the_letter() {
        for (given, boxed) in [
            (r#""translate this""#, r#""translate this""#),
            (r#""{\"a\": 1}""#, r#"{"a": 1}"#),
            (r#"{"b": 1.0, "a": 2}"#, r#"{"b": 1.0, "a": 2}"#),
            ("[1,2]", "[1,2]"),
            ("7", "7"),
            (r#""7""#, "7"),
            (r#""""#, r#""""#),
            (r#""\ud83e\udd80""#, r#""\ud83e\udd80""#),
        ] {
            let value: Box<RawValue> = serde_json::from_str(given).unwrap();
            assert_eq!(json_text(&value).unwrap(), boxed, "{given}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let value: Box<RawValue> = serde_json::from_str(&serde_json::to_string(&deep).unwrap()).unwrap();
        assert_eq!(json_text(&value).unwrap(), serde_json::to_string(&deep).unwrap());
    }
}
