//! The audit log: signed heads, proofs that something is in it and that it only grew.
//!
//! ```no_run
//! # async fn example(client: heliograph_client::Client, transfer: &str) -> heliograph_client::Result<()> {
//! let key = client.log_key().await?; // Keep it, or get it from the operator.
//! let head = client.log_head(&key).await?; // Keep heads, too.
//! let event = client.prove_event(transfer, &head).await?; // An error unless it is in the log.
//! let later = client.log_head(&key).await?;
//! client.prove_growth(&head, &later).await?; // An error unless nothing before was changed.
//! # Ok(())
//! # }
//! ```

use crypto::encoding::{decode_base64, decode_base64_array, decode_hex_array};
use crypto::{merkle, signing};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answers::{Consistency, EventProof, LogHead, LogPage};
use super::envelope::{canonical, canonical_to};
use crate::http::{Client, Method};
use crate::relay::Agent;
use crate::{Error, Result};

/// Deepest nesting of an event, whose signed envelope is inside.
const EVENT_DEPTH: usize = 16;

/// A head of the log whose signature holds. Keep it: later heads are compared with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    pub deployment: String,
    pub size: u64,
    /// Hex.
    pub root: String,
    pub time: String,
}

impl Head {
    fn root(&self) -> Result<merkle::Hash> {
        Ok(decode_hex_array("root", &self.root)?)
    }
}

fn size_of(size: i64) -> Result<u64> {
    u64::try_from(size).map_err(|_| Error::Answer("the size of the log is negative".to_owned()))
}

fn path_of(path: &[String]) -> Result<Vec<merkle::Hash>> {
    path.iter().map(|hash| Ok(decode_hex_array("path", hash)?)).collect()
}

/// Checks a head with the key of the deployment.
///
/// Errors: [`Error::Proof`].
pub fn check_head(head: &LogHead, key: &[u8; 32]) -> Result<Head> {
    let signed = canonical(&json!({
        "schema": head.schema,
        "deployment": head.deployment,
        "size": head.size,
        "root": head.root,
        "time": head.time,
    }))?;
    if !signing::verify(key, &signed, &decode_base64("signature", &head.signature)?) {
        return Err(Error::Proof("the head of the log is not signed by this key"));
    }
    let (deployment, root, time) = (head.deployment.clone(), head.root.clone(), head.time.clone());
    Ok(Head { deployment, size: size_of(head.size)?, root, time })
}

/// Checks that an event is in the log with this head.
///
/// Errors: [`Error::Proof`].
pub fn check_event(proof: &EventProof, head: &Head) -> Result<()> {
    let leaf = merkle::leaf_hash(&canonical_to(&proof.event, EVENT_DEPTH)?);
    if size_of(proof.size)? != head.size {
        return Err(Error::Proof("the path leads to another head"));
    }
    match merkle::is_included(&leaf, size_of(proof.seq)?, head.size, &path_of(&proof.path)?, &head.root()?) {
        true => Ok(()),
        false => Err(Error::Proof("the event is not in the log of this head")),
    }
}

/// Checks that the log of the second head begins with that of the first.
///
/// Errors: [`Error::Proof`].
pub fn check_growth(proof: &Consistency, earlier: &Head, later: &Head) -> Result<()> {
    if (size_of(proof.from)?, size_of(proof.to)?) != (earlier.size, later.size) {
        return Err(Error::Proof("it is about other heads"));
    }
    let path = path_of(&proof.path)?;
    match merkle::is_consistent(earlier.size, later.size, &earlier.root()?, &later.root()?, &path) {
        true => Ok(()),
        false => Err(Error::Proof("events that were in the log were changed")),
    }
}

impl Client {
    /// The key that signs the heads of the log, as the deployment says. Compare it with one that you kept.
    pub async fn log_key(&self) -> Result<[u8; 32]> {
        #[derive(Deserialize)]
        struct Info {
            relay: About,
        }
        #[derive(Deserialize)]
        struct About {
            public_key: Option<String>,
        }
        let info: Info = self.call(Method::Get, &["v1", "relay", "info"]).send().await?;
        let key = info.relay.public_key.ok_or_else(|| Error::Answer("the relay has no key".to_owned()))?;
        Ok(decode_base64_array("public_key", &key)?)
    }

    /// The present head, checked.
    pub async fn log_head(&self, key: &[u8; 32]) -> Result<Head> {
        check_head(&self.pay(Method::Get, &["audit", "head"]).send().await?, key)
    }

    /// Proves that an event is in the log with this head, and gives the event. `id` is that of a transfer, a batch or an
    /// escrow, or a position in the log.
    pub async fn prove_event(&self, id: &str, head: &Head) -> Result<Value> {
        let call = self.pay(Method::Get, &["audit", "proof", id]).query("size", Some(head.size));
        let proof: EventProof = call.send().await?;
        check_event(&proof, head)?;
        Ok(proof.event)
    }

    /// Proves that nothing before the first head was changed.
    pub async fn prove_growth(&self, earlier: &Head, later: &Head) -> Result<()> {
        if earlier == later || earlier.size == 0 {
            return Ok(());
        }
        let call = self.pay(Method::Get, &["audit", "consistency"]);
        let proof: Consistency = call.query("from", Some(earlier.size)).query("to", Some(later.size)).send().await?;
        check_growth(&proof, earlier, later)
    }

    /// Events from a position on.
    pub async fn log_events(&self, from: u64, limit: u32) -> Result<LogPage> {
        let call = self.pay(Method::Get, &["audit", "log"]).query("from", Some(from));
        call.query("limit", Some(limit)).send().await
    }
}

impl Agent {
    /// [`Client::prove_event`] for an event of this agent: the proof has the texts, with which it can show to others what
    /// was signed.
    pub async fn prove_own_event(&self, id: &str, head: &Head) -> Result<EventProof> {
        let call = self.read_pay(&["audit", "proof", id]).await?;
        let proof: EventProof = call.query("size", Some(head.size)).send().await?;
        check_event(&proof, head)?;
        Ok(proof)
    }
}
