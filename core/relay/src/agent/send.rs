//! `POST /v1/agent/send` and `/send/encrypted`: sending messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::continuity;
use super::custody::{self, HeldKeys};
use super::mailbox::{Append, Appended, Body, Local, Origin, RecipientFacts, append_error};
use super::record::{Credentials, ReadPublic, RegistrationPlace};
use super::{idempotency, record, waiting, wire};
use crate::agent::authentication::Calling;
use crate::agent::usage::Usage;
use crate::directory::Did;
use crate::federation::Tallies;
use crate::federation::find::check_here;
use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::encoding::{BASE64_PATTERN, DID_PATTERN, base64_pattern, decode_base64, decode_base64_array};
use crypto::envelope::Envelope;
use crypto::server_message::{self, SenderSecrets};
use crypto::{hash, signing};
use engine::http::{Cx, Limit, Response, Route, handler};
use engine::runtime;
use engine::time::MINUTE;

pub const ROUTES: &[Route] = &[
    Route::post("/v1/agent/send", handler!(send))
        .agent()
        .max_body(1024 * 1024)
        .accepts::<SendRequest>()
        .creates::<Sent>()
        .summary("Send a text; the service encrypts it with the sender's keys. `Idempotency-Key` makes a repeat safe."),
    Route::post("/v1/agent/send/encrypted", handler!(send_encrypted))
        .agent()
        .waiting()
        .limit(Limit::AgentPatient)
        .max_body(256 * 1024)
        .accepts::<EncryptedRequest>()
        .creates::<Sent>()
        .summary("Send a message that the client encrypted. An exact repeat is answered with the first message's id."),
];

/// Most Unicode scalar values in a message (decision request-size-limits).
const MAX_MESSAGE: usize = 65_536;
/// Seconds that a message lives when its sender gives no ttl.
const DEFAULT_TTL: u32 = 86_400;
/// Most seconds that a message lives.
pub(crate) const MAX_TTL: i64 = 604_800;
/// Most characters of a content type, message type, thread id or reply id; our choice.
pub(crate) const MAX_LABEL: usize = 1_024;
/// How far the time of an envelope may be from the service's time when it proves a registration, in microseconds.
pub(crate) const PROOF_WINDOW: i64 = 5 * MINUTE;
/// How often a message is encrypted again because the recipient changed its keys meanwhile.
pub(super) const ATTEMPTS: usize = 3;

/// A text to one agent.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct SendRequest {
    /// DID of the recipient.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub to: String,
    /// At most 65536 Unicode characters.
    #[schemars(length(max = MAX_MESSAGE))]
    pub message: String,
    /// `text/plain` when absent.
    #[schemars(length(max = MAX_LABEL))]
    pub content_type: Option<String>,
    /// `text` when absent.
    #[schemars(length(max = MAX_LABEL))]
    pub message_type: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub thread_id: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub reply_to: Option<String>,
    /// Seconds, 1 to 604800; 86400 when absent.
    #[schemars(range(min = 1, max = MAX_TTL))]
    pub ttl: Option<i64>,
}

/// A signature, or the HMAC of a deniable sender.
fn signature_pattern() -> String {
    format!("{}|{}", base64_pattern(64), base64_pattern(32))
}

/// A message that the client encrypted.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EncryptedRequest {
    /// DID of the recipient.
    #[schemars(regex(pattern = DID_PATTERN))]
    pub to: String,
    /// Base64.
    #[schemars(length(min = 1), regex(pattern = BASE64_PATTERN))]
    pub ciphertext: String,
    /// Base64 of 24 bytes.
    #[schemars(regex(pattern = base64_pattern(24)))]
    pub nonce: String,
    /// Base64: Ed25519 over the envelope text (64 bytes), or an HMAC by a deniable sender (32 bytes). The recipient
    /// verifies it; the service does not.
    #[schemars(regex(pattern = signature_pattern()))]
    pub signature: String,
    /// Opaque text, returned byte for byte.
    pub envelope: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub content_type: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub message_type: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub thread_id: Option<String>,
    #[schemars(length(max = MAX_LABEL))]
    pub reply_to: Option<String>,
    /// Seconds, 1 to 604800; 86400 when absent.
    #[schemars(range(min = 1, max = MAX_TTL))]
    pub ttl: Option<i64>,
}

/// An accepted message.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MessageSent")]
pub struct Sent {
    pub id: String,
    pub from: String,
    pub to: String,
    pub timestamp: String,
    pub expires_at: String,
    pub encrypted: bool,
    /// True when the client encrypted it.
    pub client_side: bool,
    /// True when the recipient has new keys that its earlier keys did not sign, and this is the sender's first message
    /// since then. Make sure that it is still the agent you know. Otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub key_changed: bool,
}

/// The data around a message's content.
pub(crate) struct Labels {
    pub content_type: Option<String>,
    pub message_type: Option<String>,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    ttl: u32,
}

impl Labels {
    /// Refuses a label that is too long, and a `ttl` out of range.
    pub fn check(
        content_type: Option<String>,
        message_type: Option<String>,
        thread_id: Option<String>,
        reply_to: Option<String>,
        ttl: Option<i64>,
    ) -> Result<Labels> {
        for (name, text) in [
            ("content_type", &content_type),
            ("message_type", &message_type),
            ("thread_id", &thread_id),
            ("reply_to", &reply_to),
        ] {
            if text.as_ref().is_some_and(|text| text.chars().count() > MAX_LABEL) {
                return Err(Error::bad_request(format!("`{name}` must be at most {MAX_LABEL} characters.")));
            }
        }
        let ttl = match ttl {
            None => DEFAULT_TTL,
            Some(ttl) if (1..=MAX_TTL).contains(&ttl) => u32::try_from(ttl).unwrap_or(DEFAULT_TTL),
            Some(_) => return Err(Error::bad_request("`ttl` must be from 1 to 604800 seconds.")),
        };
        Ok(Labels { content_type, message_type, thread_id, reply_to, ttl })
    }

    /// Whether the sender is sealed: it names no type outside the ciphertext.
    fn is_sealed(&self) -> bool {
        self.content_type.is_none() && self.message_type.is_none()
    }

    /// The message with these labels.
    pub fn append(self, local: Local, from: Did, body: Body, origin: Origin) -> Append {
        Append {
            local,
            from,
            body,
            content_type: self.content_type,
            message_type: self.message_type,
            thread_id: self.thread_id,
            reply_to: self.reply_to,
            ttl: self.ttl,
            expected_version: None,
            opens_session: false,
            origin,
            proves: None,
            asked: None,
            alone: false,
        }
    }
}

/// The local part of an id, made of the parts that identify a message (decision message-repeats). The nonce is random,
/// so the id tells nothing to anybody who did not see the message.
pub(crate) fn local_of(parts: &[&[u8]]) -> Local {
    let mut local = Local::default();
    local.iter_mut().zip(hash::sha256_of(parts)).for_each(|(to, from)| *to = from);
    local
}

fn sent(cx: &Cx, to: &str, actor: &str, local: &Local, outcome: &Appended, client_side: bool) -> Result<Response> {
    let (stamp, expires, key_changed) = match *outcome {
        Appended::Stored { stamp, expires, key_changed } | Appended::Repeated { stamp, expires, key_changed } => {
            (stamp, expires, key_changed)
        }
        Appended::KeysChanged | Appended::Ask => return Err(Error::internal("an unexpected change of keys")),
    };
    Response::created(&Sent {
        id: wire::message_id(actor, local),
        from: cx.caller.agent()?.did.clone(),
        to: to.to_owned(),
        timestamp: wire::stamp_text(stamp),
        expires_at: wire::stamp_text(expires),
        encrypted: true,
        client_side,
        key_changed,
    })
}

/// Gives a message to its recipient. Looks up the facts that the recipient asks for.
async fn hand_over(cx: &Cx, actor: &str, append: &mut Append) -> Result<Appended> {
    append.alone = Tallies::of(cx.rt.environment()).is_alone(cx.now());
    let outcome = runtime::call(&*cx.rt, actor, append).await?;
    if outcome != Appended::Ask {
        return Ok(outcome);
    }
    check_here(&*cx.rt, actor, &cx.caller.agent()?.actor).await?;
    append.asked = Some(RecipientFacts { pinned: continuity::pinned(cx, record::did_of(actor)?).await? });
    runtime::call(&*cx.rt, actor, append).await
}

fn recipient(cx: &Cx, to: &str) -> Result<String> {
    wire::actor_of(cx.settings(), to).ok_or_else(append_error)
}

async fn send(cx: Cx) -> Result<Response> {
    let request: SendRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let Some(sealed) = &caller.keys.sealed else {
        return Err(Error::bad_request("This agent keeps its own keys: encrypt and use /v1/agent/send/encrypted."));
    };
    if request.message.chars().count() > MAX_MESSAGE {
        let message = "`message` must be at most 65536 characters.";
        return Err(Error::new(ErrorCode::PayloadTooLarge, message));
    }
    let SendRequest { to, message, content_type, message_type, thread_id, reply_to, ttl } = request;
    let content_type = content_type.or_else(|| Some("text/plain".to_owned()));
    let message_type = message_type.or_else(|| Some("text".to_owned()));
    let labels = Labels::check(content_type, message_type, thread_id, reply_to, ttl)?;
    let actor = recipient(&cx, &to)?;
    let from = record::did_of(&caller.actor)?;
    let held = HeldKeys::open(&cx.rt.environment().secrets, &caller.did, sealed)?;
    let nothing = Body {
        ciphertext: Vec::new(),
        nonce: [0; 24],
        signature: Vec::new(),
        envelope: None,
        sender_signing: caller.keys.signing,
        sender_encryption: caller.keys.encryption,
    };
    let local = idempotency::local(&cx, |key| local_of(&[b"key", &from, key])).await?;
    let mut append = labels.append(local, from, nothing, Origin::of(caller.standing));
    for _ in 0..ATTEMPTS {
        let peer = runtime::query(&*cx.rt, actor.as_str(), &ReadPublic).await?;
        let peer = peer.filter(|peer| peer.active).ok_or_else(append_error)?;
        let nonce = custody::nonce(&*cx.rt);
        let secrets = SenderSecrets { signing: &held.signing, encryption: &held.encryption };
        let timestamp = cx.now().to_millis_text();
        let made = server_message::make(secrets, &caller.did, &to, &peer.encryption, &timestamp, &nonce, &message)
            .map_err(Error::internal)?;
        append.body.ciphertext = decode_base64("ciphertext", &made.ciphertext)?;
        append.body.nonce = nonce;
        append.body.signature = decode_base64("signature", &made.signature)?;
        append.body.envelope = Some(made.envelope);
        append.expected_version = Some(peer.version);
        let outcome = hand_over(&cx, &actor, &mut append).await?;
        if outcome == Appended::KeysChanged {
            continue;
        }
        if matches!(outcome, Appended::Stored { .. }) {
            Usage::of(cx.rt.environment()).sent(&caller.actor);
        }
        return sent(&cx, &to, &actor, &append.local, &outcome, false);
    }
    Err(Error::unavailable("the recipient kept changing its keys"))
}

/// Whether this message shows that the holder of the API key also holds the signing key
/// (decision signed-registrations): it has a fresh envelope about this very message, signed by that key.
fn proves(caller: &Credentials, request: &EncryptedRequest, envelope: &Envelope, body: &Body, now: Timestamp) -> bool {
    let Some(text) = &request.envelope else { return false };
    let fresh = envelope.timestamp.as_deref().and_then(Timestamp::parse);
    !caller.standing.has_signed()
        && fresh.is_some_and(|made| made.since(now).abs() <= PROOF_WINDOW)
        && envelope.is_bound_to(&caller.did, &request.to, &request.nonce, &request.ciphertext)
        && signing::verify(&caller.keys.signing, text.as_bytes(), &body.signature)
}

async fn send_encrypted(cx: Cx) -> Result<Response> {
    let mut request: EncryptedRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    let ciphertext = decode_base64("ciphertext", &request.ciphertext)?;
    if ciphertext.is_empty() {
        return Err(Error::bad_request("`ciphertext` must not be empty."));
    }
    let signature = decode_base64("signature", &request.signature)?;
    if signature.len() != 64 && signature.len() != 32 {
        return Err(Error::bad_request("`signature` must be 64 bytes of Ed25519 or 32 of HMAC."));
    }
    let nonce = decode_base64_array("nonce", &request.nonce)?;
    let labels = Labels::check(
        request.content_type.take(),
        request.message_type.take(),
        request.thread_id.take(),
        request.reply_to.take(),
        request.ttl,
    )?;
    let actor = recipient(&cx, &request.to)?;
    let from = record::did_of(&caller.actor)?;
    let sealed_sender = labels.is_sealed();
    let envelope = request.envelope.as_deref().map(Envelope::parse).unwrap_or_default();
    let body = Body {
        ciphertext,
        nonce,
        signature,
        envelope: request.envelope.clone(),
        sender_signing: caller.keys.signing,
        sender_encryption: caller.keys.encryption,
    };
    let proves = proves(caller, &request, &envelope, &body, cx.now()).then_some(caller.keys.version);
    if caller.place != RegistrationPlace::Stands && proves.is_none() {
        return Err(waiting::waits());
    }
    let local = local_of(&[b"message", &from, &nonce, &body.signature]);
    let opens_session = envelope.pq_ciphertext.is_some();
    let origin = Origin::of(caller.standing);
    let mut append = Append { opens_session, proves, ..labels.append(local, from, body, origin) };
    let outcome = hand_over(&cx, &actor, &mut append).await?;
    if matches!(outcome, Appended::Stored { .. }) && !sealed_sender {
        Usage::of(cx.rt.environment()).sent(&caller.actor);
    }
    sent(&cx, &request.to, &actor, &local, &outcome, true)
}
