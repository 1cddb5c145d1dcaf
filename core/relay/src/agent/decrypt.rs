//! Opening messages for an agent whose keys the server holds (decision server-side-sessions).

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::custody::{self, HeldKeys};
use super::mailbox::{KnownSession, MailboxItem, ReadSessions, SessionKey, StoreSessions, StoredSession, session_key};
use super::record::{Credentials, ReadKeys};
use super::wire;
use crate::{Error, Result};
use crypto::encoding::{encode_base64, encode_hex};
use crypto::envelope::Envelope;
use crypto::session::{self, Incoming, Opened, Opening, RecipientKeys, SenderKeys, SessionRow};
use crypto::signing;
use engine::runtime::{self, Runtime};

/// A message that the service decrypted, or tried to.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OpenedMessage")]
pub struct OpenedMessage {
    pub id: String,
    /// DID of the sender.
    pub from: String,
    /// DID of the recipient.
    pub to: String,
    /// Empty when the service cannot decrypt it.
    pub content: String,
    /// Whether the service could decrypt it.
    pub decrypted: bool,
    pub content_type: String,
    pub message_type: String,
    pub thread_id: Option<String>,
    pub reply_to: Option<String>,
    /// True when the sender signed the envelope and the envelope describes this very message.
    pub signature_valid: bool,
    pub timestamp: String,
    pub expires_at: String,
    /// The text that `POST /v1/agent/verify` takes.
    pub envelope: Option<String>,
    /// Base64.
    pub signature: String,
}

/// Opens the messages of one answer, in order.
pub struct MessageOpener<'a> {
    rt: &'a dyn Runtime,
    agent: &'a Credentials,
    /// The keys that the server holds, newest first; empty when the agent keeps its own keys.
    held: Vec<HeldKeys>,
    rows: BTreeMap<SessionKey, SessionRow>,
    /// The beginnings of sessions that may have no row yet.
    openings: BTreeMap<SessionKey, Opening>,
    changed: BTreeMap<SessionKey, crate::Timestamp>,
}

/// The purpose of a sealed session; part of its associated data.
pub(super) fn purpose(key: &SessionKey) -> String {
    format!("session/{}/{}", encode_hex(&key.0), encode_hex(&key.1))
}

/// The session a message belongs to, if it has one.
fn session_of(item: &MailboxItem) -> Option<SessionKey> {
    let envelope = Envelope::parse(item.body.envelope.as_deref()?);
    Some(session_key(item.head.from, session::session_label(&envelope).ok()??))
}

impl<'a> MessageOpener<'a> {
    /// Reads what is needed to open these messages.
    pub async fn new(rt: &'a dyn Runtime, agent: &'a Credentials, items: &[MailboxItem]) -> Result<MessageOpener<'a>> {
        let mut opener = MessageOpener {
            rt,
            agent,
            held: Vec::new(),
            rows: BTreeMap::new(),
            openings: BTreeMap::new(),
            changed: BTreeMap::new(),
        };
        if agent.keys.sealed.is_none() || items.is_empty() {
            return Ok(opener);
        }
        let secrets = &rt.environment().secrets;
        let (current, earlier) = runtime::query(rt, agent.actor.as_str(), &ReadKeys).await?.unwrap_or_else(|| {
            // The agent was there when it was authorized, and its record is never deleted.
            (agent.keys.clone(), Vec::new())
        });
        let generations = std::iter::once(current.sealed).chain(earlier.into_iter().map(|earlier| earlier.keys.sealed));
        for sealed in generations.flatten() {
            opener.held.push(HeldKeys::open(secrets, &agent.did, &sealed)?);
        }
        let keys: BTreeSet<SessionKey> = items.iter().filter_map(session_of).collect();
        if !keys.is_empty() {
            let keys: Vec<SessionKey> = keys.into_iter().collect();
            let known = runtime::query(rt, agent.actor.as_str(), &ReadSessions { keys: keys.clone() }).await?;
            for (key, KnownSession { sealed, beginning }) in keys.into_iter().zip(known) {
                if let Some((pq_ciphertext, sender_encryption)) = beginning {
                    opener.openings.insert(key, Opening { pq_ciphertext, sender_encryption });
                }
                let Some(sealed) = sealed else { continue };
                let row = secrets.sealing().open(&agent.did, &purpose(&key), &sealed).map_err(Error::internal)?;
                opener.rows.insert(key, SessionRow::decode(&row).map_err(Error::internal)?);
            }
        }
        Ok(opener)
    }

    /// Opens one message. A message that cannot be opened has empty content.
    pub fn open(&mut self, item: &MailboxItem) -> Result<OpenedMessage> {
        let settings = &self.rt.environment().settings;
        let from = wire::did_text(settings, &item.head.from);
        let (ciphertext, nonce) = (encode_base64(&item.body.ciphertext), encode_base64(&item.body.nonce));
        let (signature, timestamp) = (encode_base64(&item.body.signature), wire::stamp_text(item.stamp));
        let incoming = Incoming {
            from: &from,
            to: &self.agent.did,
            ciphertext: &ciphertext,
            nonce: &nonce,
            signature: &signature,
            envelope: item.body.envelope.as_deref(),
            timestamp: &timestamp,
        };
        let opened = self.attempt(item, &incoming);
        let signature_valid = match &opened {
            Some(opened) => opened.signature_valid,
            None => signed(item, &incoming),
        };
        let head = &item.head;
        let decrypted = opened.is_some();
        let sealed = opened.as_ref().and_then(|opened| opened.sealed.as_ref());
        // Inner values replace the outer ones, except the sender: the outer sender is authenticated, the inner one only
        // claimed.
        let inner = |inner: Option<&Option<String>>, outer: &Option<String>| {
            inner.and_then(|inner| inner.clone()).or_else(|| outer.clone())
        };
        let content_type = inner(sealed.map(|sealed| &sealed.content_type), &head.content_type);
        let message_type = inner(sealed.map(|sealed| &sealed.message_type), &head.message_type);
        let thread_id = inner(sealed.map(|sealed| &sealed.thread_id), &head.thread_id);
        let reply_to = inner(sealed.map(|sealed| &sealed.reply_to), &head.reply_to);
        let claim_holds = sealed.is_none_or(|sealed| sealed.from == from);
        Ok(OpenedMessage {
            id: wire::message_id(&self.agent.actor, &head.local),
            to: self.agent.did.clone(),
            decrypted,
            content_type: content_type.unwrap_or_else(|| "text/plain".to_owned()),
            message_type: message_type.unwrap_or_else(|| "text".to_owned()),
            thread_id,
            reply_to,
            signature_valid: signature_valid && claim_holds,
            content: opened.map(|opened| opened.content).unwrap_or_default(),
            expires_at: wire::stamp_text(head.expires),
            envelope: item.body.envelope.clone(),
            from,
            signature,
            timestamp,
        })
    }

    fn attempt(&mut self, item: &MailboxItem, incoming: &Incoming<'_>) -> Option<Opened> {
        let key = session_of(item);
        let recipient: Vec<RecipientKeys<'_>> =
            self.held.iter().map(|held| RecipientKeys { encryption: &held.encryption, kem: Some(&held.kem) }).collect();
        let sender = SenderKeys {
            signing: &item.body.sender_signing,
            encryption: &item.body.sender_encryption,
            earlier_encryption: &[],
        };
        let row = key.as_ref().and_then(|key| self.rows.get(key));
        let opening = key.as_ref().and_then(|key| self.openings.get(key));
        let mut opened = session::open_later(incoming, &sender, &recipient, row, opening).ok()?;
        if let (Some(key), Some(row)) = (key, opened.row.take()) {
            self.rows.insert(key, row);
            self.changed.insert(key, item.stamp);
        }
        Some(opened)
    }

    /// Stores the changed sessions before the request is answered: later messages open only with them.
    pub async fn finish(self) -> Result<()> {
        let mut sessions = Vec::with_capacity(self.changed.len());
        for (key, stamp) in &self.changed {
            let Some(row) = self.rows.get(key) else { continue };
            let sealed = custody::seal(self.rt, &self.agent.did, &purpose(key), &row.encode())?;
            sessions.push(StoredSession { key: *key, sealed, stamp: *stamp });
        }
        if sessions.is_empty() {
            return Ok(());
        }
        runtime::call(self.rt, self.agent.actor.as_str(), &StoreSessions { sessions }).await
    }
}

/// Whether the envelope of a message that does not open is genuine nevertheless.
fn signed(item: &MailboxItem, incoming: &Incoming<'_>) -> bool {
    incoming.envelope.is_some_and(|text| {
        Envelope::parse(text).is_bound_to(incoming.from, incoming.to, incoming.nonce, incoming.ciphertext)
            && signing::verify(&item.body.sender_signing, text.as_bytes(), &item.body.signature)
    })
}
