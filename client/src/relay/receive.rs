//! Messages that came: fetched, opened, marked as read.

use crypto::CryptoError;
use crypto::conversation::prekeys::Recipient;
use crypto::encoding::{decode_base64, decode_base64_array};
use crypto::envelope::Envelope;
use crypto::session::{self, Opening, RecipientKeys, SenderKeys, SessionLabel, SignatureMode, session_label};
use crypto::{hash, kem, payload, signing};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::agent::Agent;
use super::answers::{
    MarkedRead, MessageDeleted, OpenedMessage, RawMessage, RawReceived, ReceivedMessages, UnreadCounts,
};
use super::keyring::Keyring;
use super::sessions::{Sessions, Stepping};
use crate::http::Method;
use crate::{Error, Result};

/// Which messages are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Filter {
    /// Only messages after this time: the `timestamp` of the last one seen.
    pub since: Option<String>,
    /// The sender's DID.
    pub from: Option<String>,
    pub thread_id: Option<String>,
    pub message_type: Option<String>,
    pub content_type: Option<String>,
    /// Read messages, too.
    pub read_too: bool,
    /// 1 to 100; 50 without it.
    pub limit: Option<u32>,
    /// How long to wait for a message when there is none, in seconds, at most 25.
    pub wait: Option<u32>,
}

/// How a message shows who sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// Signed by the sender, which anybody can check.
    Signed,
    /// By a key that both sides have. The sender can deny it.
    Deniable,
    /// Not shown: the signature is missing, wrong, or about another message.
    None,
}

/// A message that came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub id: String,
    /// The DID that the service authenticated.
    pub from: String,
    pub to: String,
    /// Empty if the message could not be opened.
    pub text: String,
    pub content_type: String,
    pub message_type: String,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    /// When the service took it; increasing within a mailbox.
    pub timestamp: String,
    pub expires_at: String,
    pub authentication: Authentication,
    /// Why it could not be opened, or why its text must not be believed. The message stays unread.
    pub problem: Option<String>,
}

/// Some messages, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inbox {
    pub messages: Vec<Message>,
    /// Whether there are more.
    pub has_more: bool,
    /// `since` of the next request, when there are more.
    pub next_since: Option<String>,
}

/// What is inside of a ciphertext.
struct Opened {
    content: String,
    sealed: Option<payload::SealedParts>,
    authentication: Authentication,
}

impl Message {
    fn of_service(message: OpenedMessage) -> Message {
        let authentication = if message.signature_valid { Authentication::Signed } else { Authentication::None };
        let problem = (!message.decrypted).then(|| "the service could not open it".to_owned());
        Message {
            id: message.id,
            from: message.from,
            to: message.to,
            text: message.content,
            content_type: message.content_type,
            message_type: message.message_type,
            thread_id: message.thread_id,
            reply_to: message.reply_to,
            timestamp: message.timestamp,
            expires_at: message.expires_at,
            authentication,
            problem,
        }
    }

    fn of_raw(raw: RawMessage, opened: std::result::Result<Opened, CryptoError>) -> Message {
        let (mut opened, mut problem) = match opened {
            Ok(opened) => (opened, None),
            Err(error) => {
                let nothing = Opened { content: String::new(), sealed: None, authentication: Authentication::None };
                (nothing, Some(error.to_string()))
            }
        };
        if opened.sealed.as_ref().is_some_and(|sealed| sealed.from != raw.from) {
            problem = Some("it claims another sender inside than the service authenticated".to_owned());
            (opened.content, opened.sealed) = (String::new(), None);
        }
        let sealed = opened.sealed;
        let (content_type, message_type, thread_id, reply_to) = match sealed {
            Some(sealed) => (sealed.content_type, sealed.message_type, sealed.thread_id, sealed.reply_to),
            None => (raw.content_type, raw.message_type, raw.thread_id, raw.reply_to),
        };
        Message {
            id: raw.id,
            from: raw.from,
            to: raw.to,
            text: opened.content,
            content_type: content_type.unwrap_or_else(|| "text/plain".to_owned()),
            message_type: message_type.unwrap_or_else(|| "text".to_owned()),
            thread_id,
            reply_to,
            timestamp: raw.timestamp,
            expires_at: raw.expires_at,
            authentication: opened.authentication,
            problem,
        }
    }
}

impl Agent {
    /// Messages that came, oldest first. They stay unread until [`Agent::mark_read`], and come again until then, so that
    /// none is lost when a program ends in between.
    pub async fn receive(&self, filter: &Filter) -> Result<Inbox> {
        let own = self.holds_keys();
        let segments: &[&str] = if own { &["receive", "raw"] } else { &["receive"] };
        let call = self
            .call(Method::Get, segments)
            .query("since", filter.since.as_deref())
            .query("from", filter.from.as_deref())
            .query("thread_id", filter.thread_id.as_deref())
            .query("message_type", filter.message_type.as_deref())
            .query("content_type", filter.content_type.as_deref())
            .query("unread", filter.read_too.then_some("false"))
            .query("limit", filter.limit)
            .query("wait", filter.wait);
        if !own {
            let page: ReceivedMessages = call.send().await?;
            let messages = page.messages.into_iter().map(Message::of_service).collect();
            return Ok(Inbox { messages, has_more: page.has_more, next_since: page.next_since });
        }
        let page: RawReceived = call.send().await?;
        let mut messages = Vec::with_capacity(page.messages.len());
        for raw in page.messages {
            messages.push(self.open_message(raw).await?);
        }
        Ok(Inbox { messages, has_more: page.has_more, next_since: page.next_since })
    }

    /// Marks messages as read, which ends their keys. At most 100 at once.
    pub async fn mark_read(&self, ids: &[&str]) -> Result<MarkedRead> {
        let call = self.call(Method::Post, &["messages", "read-batch"]).json(&json!({ "message_ids": ids }));
        let marked = call.repeatable().send().await?;
        if self.holds_keys() {
            self.forget_keys(ids).await?;
        }
        Ok(marked)
    }

    /// How many messages are unread, of one sender or of all.
    pub async fn unread(&self, from: Option<&str>) -> Result<UnreadCounts> {
        self.call(Method::Get, &["messages", "unread-count"]).query("from", from).send().await
    }

    /// Deletes a message that this agent sent or got.
    pub async fn delete_message(&self, id: &str) -> Result<MessageDeleted> {
        self.call(Method::Delete, &["messages", id]).send().await
    }

    /// Opens a raw message, also one that came by a webhook. Opening it again gives the same, until it is marked read.
    ///
    /// A message that does not open is no error: it says so in [`Message::problem`].
    pub async fn open_message(&self, raw: RawMessage) -> Result<Message> {
        let keyring = self.with_keyring(Keyring::clone);
        keyring.keys()?;
        let _lock = self.lock_peer(&raw.from).await;
        let mut sessions = self.sessions(&raw.from).await?;
        let mut used = None;
        let opened = open(&raw, &keyring, &mut sessions, &mut used);
        if opened.is_ok() {
            self.keep_sessions(&raw.from, &sessions).await?;
        }
        // After the session is stored: it replaces the prekey.
        if let Some(id) = used.filter(|_| opened.is_ok()) {
            self.note_pending(&raw.id, &raw.from).await?;
            self.change_keyring(|keyring| keyring.one_time_prekeys.remove(&id)).await?;
        } else if opened.is_ok() && sessions.chains.iter().any(|kept| kept.open.iter().any(|(id, _)| *id == raw.id)) {
            self.note_pending(&raw.id, &raw.from).await?;
        }
        Ok(Message::of_raw(raw, opened))
    }

    /// Remembers whose message this is, so that its key can be forgotten by its id alone.
    async fn note_pending(&self, id: &str, from: &str) -> Result<()> {
        self.store().write(&pending(id), from.as_bytes()).await
    }

    async fn forget_keys(&self, ids: &[&str]) -> Result<()> {
        for id in ids {
            let Some(from) = self.store().read(&pending(id)).await? else { continue };
            let from = String::from_utf8(from).map_err(|_| Error::store("a sender is not in a known form"))?;
            let _lock = self.lock_peer(&from).await;
            let mut sessions = self.sessions(&from).await?;
            if sessions.forget(&[id]) {
                self.keep_sessions(&from, &sessions).await?;
            }
            self.store().remove(&pending(id)).await?;
        }
        Ok(())
    }
}

fn pending(id: &str) -> String {
    format!("open-{id}")
}

/// Opens a message and steps the sessions. `used` gets the id of the one-time prekey that it used up.
fn open(
    raw: &RawMessage,
    keyring: &Keyring,
    sessions: &mut Sessions,
    used: &mut Option<u64>,
) -> std::result::Result<Opened, CryptoError> {
    let envelope = raw.envelope.as_deref().map(Envelope::parse).unwrap_or_default();
    let ephemeral = match session_label(&envelope)? {
        Some(SessionLabel::Ephemeral(key)) => Some(key),
        _ => None,
    };
    if let Some(ephemeral) = ephemeral
        && (envelope.prekeys.is_some() || sessions.chains.iter().any(|kept| kept.ephemeral == ephemeral))
    {
        return open_stepping(raw, &envelope, ephemeral, keyring, sessions, used);
    }
    open_public(raw, &envelope, keyring, sessions)
}

/// The keys of the sender that came with the message.
fn sender_keys(raw: &RawMessage) -> std::result::Result<([u8; 32], [u8; 32]), CryptoError> {
    Ok((
        decode_base64_array("sender_signing_key", &raw.sender_signing_key)?,
        decode_base64_array("sender_encryption_key", &raw.sender_encryption_key)?,
    ))
}

/// A message of the public protocol, with or without a session.
fn open_public(
    raw: &RawMessage,
    envelope: &Envelope,
    keyring: &Keyring,
    sessions: &mut Sessions,
) -> std::result::Result<Opened, CryptoError> {
    let (signing, encryption) = sender_keys(raw)?;
    let label = session_label(envelope)?;
    let message = session::Incoming {
        from: &raw.from,
        to: &raw.to,
        ciphertext: &raw.ciphertext,
        nonce: &raw.nonce,
        signature: &raw.signature,
        envelope: raw.envelope.as_deref(),
        timestamp: &raw.timestamp,
    };
    let sender = SenderKeys { signing: &signing, encryption: &encryption, earlier_encryption: &[] };
    let recipient: Vec<RecipientKeys<'_>> = keyring
        .generations
        .iter()
        .map(|keys| RecipientKeys { encryption: &keys.encryption, kem: keys.kem.as_ref() })
        .collect();
    let known = label.and_then(|label| sessions.rows.iter().find(|kept| kept.label == label));
    let opening = known.and_then(|kept| kept.opening.as_ref());
    let opened = session::open_later(&message, &sender, &recipient, known.and_then(|kept| kept.row.as_ref()), opening)?;
    if let Some(label) = label {
        let (kept, is_new) = sessions.incoming(label);
        if let Some(row) = opened.row {
            kept.row = Some(row);
        }
        if kept.opening.is_none() {
            kept.opening = Opening::of(envelope, encryption).map(|(_, opening)| opening);
        }
        // A peer that begins a new session may have lost the ones before, so the next answer begins one, too.
        if is_new && sessions.sending.as_ref().is_some_and(|session| !session.is_from_prekeys()) {
            sessions.sending = None;
        }
    }
    let authentication = match (opened.signature_valid, opened.signature_mode) {
        (true, SignatureMode::Ed25519) => Authentication::Signed,
        (true, SignatureMode::Hmac) => Authentication::Deniable,
        (false, _) => Authentication::None,
    };
    Ok(Opened { content: opened.content, sealed: opened.sealed, authentication })
}

/// A message of a session that began from prekeys.
fn open_stepping(
    raw: &RawMessage,
    envelope: &Envelope,
    ephemeral: [u8; 32],
    keyring: &Keyring,
    sessions: &mut Sessions,
    used: &mut Option<u64>,
) -> std::result::Result<Opened, CryptoError> {
    let step = envelope.ratchet_step.ok_or(CryptoError::Malformed)?;
    let nonce = decode_base64_array("nonce", &raw.nonce)?;
    let sealed = decode_base64("ciphertext", &raw.ciphertext)?;
    let known = sessions.chains.iter_mut().find(|kept| kept.ephemeral == ephemeral);
    let plaintext = match known {
        Some(kept) => {
            let plaintext = kept.chain.open(step, &nonce, &sealed)?;
            if !kept.open.iter().any(|(id, _)| *id == raw.id) {
                kept.open.push((raw.id.clone(), step));
            }
            plaintext
        }
        None => {
            let mut chain = begin(raw, envelope, &ephemeral, keyring)?;
            let plaintext = chain.open(step, &nonce, &sealed)?;
            sessions.add_chain(Stepping { ephemeral, chain, open: vec![(raw.id.clone(), step)] });
            *used = envelope.prekeys.and_then(|used| used.one_time);
            plaintext
        }
    };
    let payload = payload::read(&plaintext)?;
    let authentication = authenticate(raw, envelope, keyring)?;
    Ok(Opened { content: payload.content, sealed: payload.sealed, authentication })
}

/// The session that a message begins from prekeys, under the generation of keys whose ML-KEM key fits.
fn begin(
    raw: &RawMessage,
    envelope: &Envelope,
    ephemeral: &[u8; 32],
    keyring: &Keyring,
) -> std::result::Result<crypto::conversation::Chain, CryptoError> {
    let (_, sender) = sender_keys(raw)?;
    let used = envelope.prekeys.ok_or(CryptoError::Malformed)?;
    let signed = keyring.signed_prekeys.get(&used.signed).ok_or(CryptoError::TooFarBehind)?;
    let one_time = match used.one_time {
        Some(id) => Some(keyring.one_time_prekeys.get(&id).ok_or(CryptoError::TooFarBehind)?),
        None => None,
    };
    let pq = envelope.pq_ciphertext.as_deref().map(|text| decode_base64("pq_ciphertext", text)).transpose()?;
    let step = envelope.ratchet_step.ok_or(CryptoError::Malformed)?;
    let (nonce, sealed) = (decode_base64_array("nonce", &raw.nonce)?, decode_base64("ciphertext", &raw.ciphertext)?);
    for keys in &keyring.generations {
        let kem_secret = match (&pq, &keys.kem) {
            (None, _) => None,
            (Some(ciphertext), Some(seed)) => Some(kem::decapsulate(seed, ciphertext)?),
            (Some(_), None) => continue,
        };
        let did = keyring.did.as_str();
        let (encryption, kem_secret) = (&keys.encryption, kem_secret.as_ref());
        let recipient = Recipient { did, encryption, signed, one_time, kem_secret };
        let chain = recipient.chain(&raw.from, &sender, ephemeral)?;
        if chain.clone().open(step, &nonce, &sealed).is_ok() {
            return Ok(chain);
        }
    }
    Err(CryptoError::Undecryptable)
}

/// Checks the signature over the envelope, and that the envelope is about this message.
fn authenticate(
    raw: &RawMessage,
    envelope: &Envelope,
    keyring: &Keyring,
) -> std::result::Result<Authentication, CryptoError> {
    let (signing_key, encryption_key) = sender_keys(raw)?;
    let text = raw.envelope.as_deref().unwrap_or_default().as_bytes();
    let signature = decode_base64("signature", &raw.signature)?;
    if !envelope.is_bound_to(&raw.from, &raw.to, &raw.nonce, &raw.ciphertext) {
        return Ok(Authentication::None);
    }
    if signature.len() == 32 {
        let right = keyring.generations.iter().any(|keys| {
            crypto::boxes::shared_key(&encryption_key, &keys.encryption)
                .is_ok_and(|key| hash::hmac_sha256_verify(key.expose(), text, &signature))
        });
        return Ok(if right { Authentication::Deniable } else { Authentication::None });
    }
    let right = signing::verify(&signing_key, text, &signature);
    Ok(if right { Authentication::Signed } else { Authentication::None })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crypto::Secret;
    use crypto::conversation::AgentKeys;
    use crypto::encoding::{decode_hex_array, encode_base64};
    use serde_json::Value;

    use super::*;
    use crate::relay::keyring::ApiKey;

    fn hex<const N: usize>(value: &Value, name: &str) -> [u8; N] {
        decode_hex_array("vector", value[name].as_str().unwrap()).unwrap()
    }

    /// The recipient of a recorded conversation, and its messages as the relay would give them.
    fn recorded(case: &Value) -> (Keyring, Vec<RawMessage>) {
        let (from, to) = (&case["from"], &case["to"]);
        let keys = AgentKeys {
            signing: Secret::new([1; 32]),
            encryption: Secret::new(hex(to, "encryption_secret")),
            kem: Some(Secret::new(hex(to, "kem_seed"))),
            prekey: Secret::new([2; 32]),
        };
        let keyring = Keyring {
            did: to["did"].as_str().unwrap().to_owned(),
            api_key: ApiKey::new(String::new()),
            generations: vec![keys],
            signed_prekeys: BTreeMap::new(),
            one_time_prekeys: BTreeMap::new(),
            next: None,
        };
        let raw = |(n, message): (usize, &Value)| {
            let text = |name: &str| message[name].as_str().unwrap().to_owned();
            RawMessage {
                id: n.to_string(),
                from: from["did"].as_str().unwrap().to_owned(),
                to: keyring.did.clone(),
                ciphertext: text("ciphertext"),
                nonce: text("nonce"),
                signature: text("signature"),
                envelope: Some(text("envelope")),
                sender_signing_key: encode_base64(&hex::<32>(from, "signing_public")),
                sender_encryption_key: encode_base64(&hex::<32>(from, "encryption_public")),
                content_type: None,
                message_type: None,
                thread_id: None,
                reply_to: None,
                timestamp: String::new(),
                expires_at: String::new(),
            }
        };
        let messages = case["messages"].as_array().unwrap().iter().enumerate().map(raw).collect();
        (keyring, messages)
    }

    #[test]
    fn recorded_conversations_of_another_implementation_open_in_any_order_and_twice() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/session/session.json");
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let cases = file["cases"].as_array().unwrap();
        assert_eq!(cases.len(), 8);
        for case in cases {
            let (keyring, messages) = recorded(case);
            let mut sessions = Sessions::default();
            let order = (0..messages.len()).chain((0..messages.len()).rev());
            for n in order {
                let opened = open(&messages[n], &keyring, &mut sessions, &mut None).unwrap();
                assert_eq!(opened.content, case["messages"][n]["text"].as_str().unwrap(), "{}", case["name"]);
                assert_ne!(opened.authentication, Authentication::None);
            }
        }
    }

    #[test]
    fn a_sealed_sender_that_is_not_the_authenticated_one_is_not_believed() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/session/session.json");
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let cases = file["cases"].as_array().unwrap();
        let case = cases.iter().find(|case| !case["sealed_fields"].is_null()).unwrap();
        let (keyring, messages) = recorded(case);
        let raw = RawMessage { from: "did:svc:somebody".to_owned(), ..messages[0].clone() };
        let opened = open(&raw, &keyring, &mut Sessions::default(), &mut None);
        let message = Message::of_raw(raw, opened);
        assert!(message.text.is_empty() && message.problem.is_some(), "{message:?}");
        assert_eq!(message.authentication, Authentication::None);
    }
}
