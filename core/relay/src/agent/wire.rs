//! Message ids, DIDs in requests, and the raw message object.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::Serialize;

use super::mailbox::{Local, MailboxItem};
use crate::directory::Did;
use crate::{Error, Result, Timestamp};
use crypto::encoding::{self, encode_base64};
use engine::settings::Settings;

/// Characters of the actor part of an id.
const ACTOR_CHARS: usize = 22;

/// What ids of messages, tasks and other things of an actor look like.
pub const ID_PATTERN: &str = "^[A-Za-z0-9_-]{22}-[A-Za-z0-9_-]{16}$";

/// The id of a message: the recipient's actor, `-`, and the local part. It is split by position, since both parts may
/// contain `-` (decision ids-lead-to-actors).
pub fn message_id(actor: &str, local: &Local) -> String {
    format!("{actor}-{}", URL_SAFE_NO_PAD.encode(local))
}

/// The actor and local part of an id; `None` for a text that is not such an id.
pub fn parse_message_id(id: &str) -> Option<(String, Local)> {
    let (actor, rest) = id.split_at_checked(ACTOR_CHARS)?;
    encoding::parse_actor_id(actor)?;
    let local = URL_SAFE_NO_PAD.decode(rest.strip_prefix('-')?).ok()?;
    Some((actor.to_owned(), local.try_into().ok()?))
}

/// The actor name of a DID of this deployment; `None` for any other text.
pub fn actor_of(settings: &Settings, did: &str) -> Option<String> {
    encoding::parse_did(&settings.brand, did).ok().map(|id| encoding::actor_id(&id))
}

/// [`actor_of`], or the 404 of an agent that does not exist.
pub fn known_actor(settings: &Settings, did: &str) -> Result<String> {
    actor_of(settings, did).ok_or_else(unknown_agent)
}

/// The answer for a DID that nobody has.
pub fn unknown_agent() -> Error {
    Error::not_found("There is no such agent.")
}

/// The DID of a 16-byte id.
pub fn did_text(settings: &Settings, did: &Did) -> String {
    encoding::did(&settings.brand, did)
}

/// A point in time on messages: six fractional digits, so that no two messages of a mailbox share one (decision
/// message-stamps).
pub fn stamp_text(stamp: Timestamp) -> String {
    stamp.to_micros_text()
}

/// A message as it was accepted, for clients that decrypt it themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RawMessage {
    pub id: String,
    /// DID of the sender.
    pub from: String,
    /// DID of the recipient.
    pub to: String,
    /// Base64.
    pub ciphertext: String,
    /// Base64 of 24 bytes.
    pub nonce: String,
    /// Base64 of an Ed25519 signature (64 bytes) or an HMAC (32).
    pub signature: String,
    /// Base64 of the sender's X25519 key when the message was sent.
    pub sender_encryption_key: String,
    /// Base64 of the sender's Ed25519 key when the message was sent.
    pub sender_signing_key: String,
    /// The envelope text exactly as it was sent, or null.
    pub envelope: Option<String>,
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    /// ISO 8601, six fractional digits; distinct and increasing within a mailbox.
    pub timestamp: String,
    pub expires_at: String,
}

/// The raw message object of a stored message in the mailbox of `actor`.
pub fn raw_message(settings: &Settings, actor: &str, to: &str, item: MailboxItem) -> RawMessage {
    let MailboxItem { stamp, head, body } = item;
    RawMessage {
        id: message_id(actor, &head.local),
        from: did_text(settings, &head.from),
        to: to.to_owned(),
        ciphertext: encode_base64(&body.ciphertext),
        nonce: encode_base64(&body.nonce),
        signature: encode_base64(&body.signature),
        sender_encryption_key: encode_base64(&body.sender_encryption),
        sender_signing_key: encode_base64(&body.sender_signing),
        envelope: body.envelope,
        content_type: head.content_type,
        message_type: head.message_type,
        thread_id: head.thread_id,
        reply_to: head.reply_to,
        timestamp: stamp_text(stamp),
        expires_at: stamp_text(head.expires),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decision ids-lead-to-actors.
    #[test]
    fn the_shape_of_message_ids_is_pinned() {
        let actor = encoding::actor_id(&[0xfb; 16]);
        let id = message_id(&actor, &[0xff; 12]);
        assert_eq!(id, "-_v7-_v7-_v7-_v7-_v7-w-________________");
        assert_eq!(id.len(), 39);
        assert_eq!(parse_message_id(&id), Some((actor, [0xff; 12])));
    }

    #[test]
    fn texts_that_are_no_ids_route_nowhere() {
        let good = message_id(&encoding::actor_id(&[1; 16]), &[2; 12]);
        for bad in ["", "x", &good[..38], &format!("{good}A"), &good.replacen('-', "_", 1), "ééééééééééééééééééééé"]
        {
            assert_eq!(parse_message_id(bad), None, "{bad}");
        }
    }
}
