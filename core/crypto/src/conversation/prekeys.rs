//! Sessions that begin from published prekeys (decision one-time-prekeys).
//!
//! The public clients publish prekeys and never use them: whoever gets an agent's identity key later opens everything
//! that was ever sent to it. Here a session takes the signed prekey and, if there is one, a one-time prekey into its
//! first key, as X3DH does. Their secrets are thrown away, so the session stays closed after the loss of all identity
//! keys.
//!
//! With `K(public, secret)` for [`boxes::shared_key`], the chain before step 1 is
//! `SHA-256(HMAC-SHA256("heliograph-x3dh/v1", parts) || 02)`, where the parts are, without anything between them:
//! `K` of both identities; `K(signed prekey, sender's identity)`; `K(recipient's identity, ephemeral)`; `K(signed prekey,
//! ephemeral)`; `K(one-time prekey, ephemeral)`, if there is one; the ML-KEM secret, if there is one; then the two DIDs,
//! each after its length in two bytes.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::chain::next;
use super::{AgentKeys, Peer};
use crate::{CryptoError, Secret, boxes, hash};

const PURPOSE: &[u8] = b"heliograph-x3dh/v1";

/// Which prekeys a session began from: the member `x3dh` of the envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// The id of the signed prekey.
    #[serde(rename = "spk")]
    pub signed: u64,
    /// The id of the one-time prekey. Without it the session is only as old as the signed prekey.
    #[serde(rename = "opk", default, skip_serializing_if = "Option::is_none")]
    pub one_time: Option<u64>,
}

/// The prekeys of a peer, as `GET /v1/agent/prekeys/{did}` gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub signed_id: u64,
    /// X25519.
    pub signed: [u8; 32],
    /// Ed25519 by the peer over the 32 bytes of `signed`.
    pub signature: [u8; 64],
    /// Id and X25519 key.
    pub one_time: Option<(u64, [u8; 32])>,
}

impl Bundle {
    pub(super) fn used(&self) -> Used {
        Used { signed: self.signed_id, one_time: self.one_time.map(|(id, _)| id) }
    }

    pub(super) fn sender_chain(
        &self,
        own: &AgentKeys,
        own_did: &str,
        peer: &Peer,
        ephemeral: &Secret<32>,
        kem_secret: Option<&Secret<32>>,
    ) -> Result<Secret<32>, CryptoError> {
        let mut parts = vec![
            boxes::shared_key(&peer.encryption_key, &own.encryption)?,
            boxes::shared_key(&self.signed, &own.encryption)?,
            boxes::shared_key(&peer.encryption_key, ephemeral)?,
            boxes::shared_key(&self.signed, ephemeral)?,
        ];
        if let Some((_, key)) = &self.one_time {
            parts.push(boxes::shared_key(key, ephemeral)?);
        }
        parts.extend(kem_secret.cloned());
        Ok(chain(&parts, own_did, &peer.did))
    }
}

/// What the recipient of a session needs of its own.
#[derive(Debug, Clone, Copy)]
pub struct Recipient<'a> {
    pub did: &'a str,
    /// X25519 secret of the identity.
    pub encryption: &'a Secret<32>,
    /// Secret of the signed prekey that the message names.
    pub signed: &'a Secret<32>,
    /// Secret of the one-time prekey that the message names.
    pub one_time: Option<&'a Secret<32>>,
    /// The ML-KEM secret of the session, if it has one.
    pub kem_secret: Option<&'a Secret<32>>,
}

impl Recipient<'_> {
    /// The chain before step 1 of a session that `sender` began with this ephemeral key.
    pub fn chain(
        &self,
        sender_did: &str,
        sender_encryption: &[u8; 32],
        ephemeral: &[u8; 32],
    ) -> Result<super::Chain, CryptoError> {
        let mut parts = vec![
            boxes::shared_key(sender_encryption, self.encryption)?,
            boxes::shared_key(sender_encryption, self.signed)?,
            boxes::shared_key(ephemeral, self.encryption)?,
            boxes::shared_key(ephemeral, self.signed)?,
        ];
        if let Some(secret) = self.one_time {
            parts.push(boxes::shared_key(ephemeral, secret)?);
        }
        parts.extend(self.kem_secret.cloned());
        Ok(super::Chain::new(chain(&parts, sender_did, self.did)))
    }
}

fn chain(parts: &[Secret<32>], sender: &str, recipient: &str) -> Secret<32> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(parts.len() * 32 + 128));
    for part in parts {
        bytes.extend_from_slice(part.expose());
    }
    for did in [sender, recipient] {
        let [.., high, low] = did.len().to_be_bytes();
        bytes.extend_from_slice(&[high, low]);
        bytes.extend_from_slice(did.as_bytes());
    }
    next(&Secret::new(hash::hmac_sha256(PURPOSE, &bytes)), 2)
}
