//! Sessions with one peer, and how they are kept.
//!
//! Messages of the public protocol are opened by [`crypto::session`], from the static keys and one row for each session.
//! So they open in any order and as often as they are asked for, and a message that does not open damages nothing
//! (decision messages-open-again).
//! Sessions that began from prekeys step forward and forget their keys; a key is kept until its message is marked read.

use crypto::conversation::{Chain, Sending};
use crypto::encoding::{decode_base64, encode_base64};
use crypto::session::{Opening, SessionLabel, SessionRow};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::agent::Agent;
use crate::{Error, Result};

/// Sessions of one peer that are kept, for each direction and kind. A peer that begins a new one loses the oldest.
const MAX_SESSIONS: usize = 32;

/// Everything about the sessions with one peer.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    pub sending: Option<Sending>,
    /// Sessions of the public protocol, the latest first.
    pub rows: Vec<Incoming>,
    /// Sessions that began from prekeys, the latest first.
    pub chains: Vec<Stepping>,
}

/// A session of the public protocol that the peer began.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub label: SessionLabel,
    pub row: Option<SessionRow>,
    /// Its beginning, while no message of it was opened.
    pub opening: Option<Opening>,
}

/// A session from prekeys that the peer began.
#[derive(Debug)]
pub(crate) struct Stepping {
    pub ephemeral: [u8; 32],
    pub chain: Chain,
    /// Messages that were opened and not yet marked read, by id with their steps.
    pub open: Vec<(String, u32)>,
}

type Text = Zeroizing<String>;

#[derive(Serialize, Deserialize)]
struct Kept {
    version: u32,
    sending: Option<Text>,
    rows: Vec<KeptRow>,
    chains: Vec<KeptChain>,
}

#[derive(Serialize, Deserialize)]
struct KeptRow {
    /// Base64 of the ephemeral key; `None` for a session without one.
    label: Option<String>,
    row: Option<Text>,
    /// ML-KEM ciphertext and the sender's key.
    opening: Option<(String, String)>,
}

#[derive(Serialize, Deserialize)]
struct KeptChain {
    ephemeral: String,
    chain: Text,
    open: Vec<(String, u32)>,
}

const VERSION: u32 = 1;

fn text(bytes: &[u8]) -> Text {
    Zeroizing::new(encode_base64(bytes))
}

fn key(text: &str) -> std::result::Result<[u8; 32], crypto::CryptoError> {
    crypto::encoding::decode_base64_array("key", text)
}

impl Sessions {
    fn encode(&self) -> Result<Zeroizing<Vec<u8>>> {
        let rows = self.rows.iter().map(|kept| KeptRow {
            label: match &kept.label {
                SessionLabel::Ephemeral(key) => Some(encode_base64(key)),
                SessionLabel::None => None,
            },
            row: kept.row.as_ref().map(|row| text(&row.encode())),
            opening: kept
                .opening
                .as_ref()
                .map(|opening| (encode_base64(&opening.pq_ciphertext), encode_base64(&opening.sender_encryption))),
        });
        let chains = self.chains.iter().map(|kept| KeptChain {
            ephemeral: encode_base64(&kept.ephemeral),
            chain: text(&kept.chain.encode()),
            open: kept.open.clone(),
        });
        let kept = Kept {
            version: VERSION,
            sending: self.sending.as_ref().map(|sending| text(&sending.encode())),
            rows: rows.collect(),
            chains: chains.collect(),
        };
        serde_json::to_vec(&kept).map(Zeroizing::new).map_err(Error::store)
    }

    fn decode(bytes: &[u8]) -> Result<Sessions> {
        let kept: Kept = serde_json::from_slice(bytes).map_err(|_| Error::store("sessions are not in a known form"))?;
        if kept.version != VERSION {
            return Err(Error::store("sessions were written by a later version of the client"));
        }
        let decoded = |text: &Text| decode_base64("session", text).map(Zeroizing::new);
        let read = || {
            let mut sessions = Sessions::default();
            if let Some(text) = &kept.sending {
                sessions.sending = Some(Sending::decode(&decoded(text)?)?);
            }
            for kept in &kept.rows {
                let label = match &kept.label {
                    Some(text) => SessionLabel::Ephemeral(key(text)?),
                    None => SessionLabel::None,
                };
                let row = match &kept.row {
                    Some(text) => Some(SessionRow::decode(&decoded(text)?)?),
                    None => None,
                };
                let opening = match &kept.opening {
                    Some((pq, sender)) => {
                        Some(Opening { pq_ciphertext: decode_base64("pq", pq)?, sender_encryption: key(sender)? })
                    }
                    None => None,
                };
                sessions.rows.push(Incoming { label, row, opening });
            }
            for kept in &kept.chains {
                let chain = Chain::decode(&decoded(&kept.chain)?)?;
                sessions.chains.push(Stepping { ephemeral: key(&kept.ephemeral)?, chain, open: kept.open.clone() });
            }
            Ok::<_, crypto::CryptoError>(sessions)
        };
        read().map_err(|_| Error::store("sessions are damaged"))
    }

    /// The session with this label, which is added if it is new, and whether it is new.
    pub fn incoming(&mut self, label: SessionLabel) -> (&mut Incoming, bool) {
        let at = self.rows.iter().position(|kept| kept.label == label);
        let kept = at.map(|at| self.rows.remove(at));
        let is_new = kept.is_none();
        self.rows.insert(0, kept.unwrap_or(Incoming { label, row: None, opening: None }));
        self.rows.truncate(MAX_SESSIONS);
        // It was just inserted.
        (&mut self.rows[0], is_new)
    }

    /// Adds a session that began from prekeys.
    pub fn add_chain(&mut self, stepping: Stepping) {
        self.chains.insert(0, stepping);
        self.chains.truncate(MAX_SESSIONS);
    }

    /// The messages with these ids will not be opened again. Says whether any was known.
    pub fn forget(&mut self, ids: &[&str]) -> bool {
        let mut any = false;
        for stepping in &mut self.chains {
            let chain = &mut stepping.chain;
            stepping.open.retain(|(id, step)| {
                let read = ids.contains(&id.as_str());
                if read {
                    chain.forget(*step);
                    any = true;
                }
                !read
            });
        }
        any
    }
}

fn name(did: &str) -> String {
    format!("peer-{did}")
}

impl Agent {
    /// The sessions with a peer. The caller holds the lock of the peer.
    pub(crate) async fn sessions(&self, did: &str) -> Result<Sessions> {
        match self.store().read(&name(did)).await?.map(Zeroizing::new) {
            Some(kept) => Sessions::decode(&kept),
            None => Ok(Sessions::default()),
        }
    }

    pub(crate) async fn keep_sessions(&self, did: &str, sessions: &Sessions) -> Result<()> {
        self.store().write(&name(did), &sessions.encode()?).await
    }

    /// Begins a new session with the next message to this peer: after a peer has lost its sessions.
    pub async fn end_session(&self, did: &str) -> Result<()> {
        let _lock = self.lock_peer(did).await;
        let mut sessions = self.sessions(did).await?;
        sessions.sending = None;
        self.keep_sessions(did, &sessions).await
    }
}
