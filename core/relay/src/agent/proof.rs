//! `POST /v1/agent/prove`, and the proof in a registration: a signature which shows that a signing key and the other
//! keys of a registration belong together, at this deployment.
//!
//! The signed text has these lines, joined by one line feed, without a final one:
//!
//! ```text
//! <brand>-proof/v1
//! <deployment id>
//! <did>
//! <signing key>
//! <encryption key>
//! <ML-KEM key, or nothing>
//! <timestamp>
//! <nonce>
//! ```
//!
//! Keys are in padded standard base64. DID, timestamp (RFC 3339) and nonce are as they were sent. The deployment id
//! keeps a proof for one relay from working at another.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::nonces::{self, Nonce};
use super::record::{self, AGENT, Credentials, RegistrationPlace};
use super::standing::Standing;
use super::{profile, rotate, waiting};
use crate::agent::authentication::{self, Calling};
use crate::{Error, Result, Timestamp};
use crypto::encoding::{base64_pattern, decode_base64_array, encode_base64};
use crypto::signing;
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::http::{Cx, Response, Route, handler};
use engine::runtime;
use engine::runtime::Environment;
use engine::time::time_pattern;

pub const ROUTES: &[Route] = &[Route::post("/v1/agent/prove", handler!(prove))
    .agent()
    .waiting()
    .extension()
    .accepts::<ProofRequest>()
    .returns::<profile::Profile>()
    .summary("Prove that the keys of the calling registration belong together; it holds its DID from then on.")];

pub const ENTRIES: &[Entry] = &[operation::<Prove>()];

/// How long a request waits until the rows of an earlier holder of the DID are deleted.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// A verified proof, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub timestamp: String,
    pub nonce: String,
    /// 64 bytes of Ed25519.
    pub signature: Vec<u8>,
}

/// A signature over the keys of a registration.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProofRequest {
    /// RFC 3339, within 5 minutes of the service's time; signed exactly as given here.
    #[schemars(regex(pattern = time_pattern()))]
    pub timestamp: String,
    /// 16 to 64 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`, never used before.
    #[schemars(regex(pattern = nonces::PATTERN))]
    pub nonce: String,
    /// Base64, Ed25519 by the signing key over the lines `<brand>-proof/v1`, deployment id, DID, signing key, encryption
    /// key, ML-KEM key or nothing, timestamp and nonce.
    #[schemars(regex(pattern = base64_pattern(64)))]
    pub signature: String,
}

impl From<Proof> for ProofRequest {
    fn from(proof: Proof) -> Self {
        let Proof { timestamp, nonce, signature } = proof;
        ProofRequest { timestamp, nonce, signature: encode_base64(&signature) }
    }
}

// The keys of a registration, and the text that is signed to prove them.
pub use crypto::texts::{Keys, proof as text};

impl ProofRequest {
    /// Verifies the signature for this deployment and returns the proof. The actor checks later that the nonce is
    /// unused.
    pub(super) fn verify(
        &self,
        environment: &Environment,
        did: &str,
        keys: Keys<'_>,
        now: Timestamp,
    ) -> Result<(Proof, Nonce)> {
        nonces::check("proof.nonce", &self.nonce)?;
        let at = Timestamp::parse(&self.timestamp)
            .ok_or_else(|| Error::bad_request("`proof.timestamp` must be an RFC 3339 time."))?;
        let nonce = Nonce::new("proof", &self.nonce, at);
        if !nonce.in_time(now) {
            return Err(Error::bad_request("`proof.timestamp` must be within 5 minutes of the service's time."));
        }
        let signature: [u8; 64] = decode_base64_array("proof.signature", &self.signature)?;
        let brand = &environment.settings.brand;
        let text = text(brand, &environment.deployment, did, keys, &self.timestamp, &self.nonce);
        if !signing::verify(keys.signing, text.as_bytes(), &signature) {
            return Err(Error::bad_request(
                "`proof.signature` is not a signature of these keys for this deployment by the signing key.",
            ));
        }
        let proof =
            Proof { timestamp: self.timestamp.clone(), nonce: self.nonce.clone(), signature: signature.to_vec() };
        Ok((proof, nonce))
    }
}

/// Stores the proof of a registration that sent it with its own API key. The handler verified it against the keys of
/// the registration.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Prove {
    /// The version of the keys that were verified.
    pub version: u64,
    pub proof: Proof,
    pub nonce: Nonce,
}

impl Operation for Prove {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "take_proof";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        self.nonce.spend(turn)?;
        if let Some(mut heir) = waiting::of_version(turn, self.version)? {
            heir.standing = Standing::Proved;
            heir.proof = Some(self.proof);
            return waiting::succeed(turn, heir, |_| false);
        }
        let mut agent = record::active(turn)?.ok_or_else(record::gone)?;
        if agent.keys.version != self.version {
            return Err(Error::conflict("The keys of this agent changed meanwhile."));
        }
        if rotate::proved_key(turn, &agent)? != agent.keys.signing {
            let message = "The signing key came by a rotation that the key before it did not sign, so it cannot prove the \
                           DID. Sign the rotation with the key before it.";
            return Err(Error::conflict(message));
        }
        agent.standing = Standing::Proved;
        agent.proof = Some(self.proof);
        AGENT.put(turn, &(), &agent)?;
        waiting::end_all(turn, &agent)
    }
}

/// The calling registration, once it holds its DID. Waits for the rows of an earlier holder to be deleted.
pub(super) async fn settled(cx: &Cx) -> Result<Box<Credentials>> {
    runtime::retry_unavailable(&*cx.rt, PATIENCE, || async {
        let caller = authentication::registration(cx).await?.ok_or_else(record::gone)?;
        match caller.place {
            RegistrationPlace::Stands => Ok(Box::new(caller)),
            _ => Err(waiting::succession_under_way()),
        }
    })
    .await
}

async fn prove(cx: Cx) -> Result<Response> {
    let request: ProofRequest = cx.json()?;
    let caller = cx.caller.agent()?;
    // The caller's credentials do not contain the ML-KEM key.
    let public =
        runtime::query(&*cx.rt, caller.actor.as_str(), &waiting::ReadRegistration { version: caller.keys.version });
    let public = public.await?.ok_or_else(record::gone)?;
    let keys = Keys { signing: &public.signing, encryption: &public.encryption, mlkem: public.mlkem.as_deref() };
    let (proof, nonce) = request.verify(cx.rt.environment(), &caller.did, keys, cx.now())?;
    let prove = Prove { version: caller.keys.version, proof, nonce };
    runtime::call(&*cx.rt, caller.actor.clone(), &prove).await?;
    let caller = settled(&cx).await?;
    profile::of(&cx, &caller).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crypto::{Secret, boxes, encoding};

    /// A client that follows the page must get the text and signature that the page shows.
    #[test]
    fn the_vector_of_the_documentation_is_what_is_signed() {
        let page = include_str!("../../../../docs/identity.md");
        let bytes = |from: u8| std::array::from_fn(|at| from + u8::try_from(at).unwrap());
        let seed = Secret::new(bytes(0));
        let (signing, encryption) =
            (signing::signing_public_key(&seed), boxes::box_public_key(&Secret::new(bytes(32))));
        let keys = Keys { signing: &signing, encryption: &encryption, mlkem: None };
        let did = encoding::did("svc", &encoding::did_bytes(&signing));
        let (deployment, timestamp) = ("6f1c0a9e2b7d4853a1f00d5e8c3b9a27", "2026-11-26T12:00:00.000Z");
        let text = text("svc", deployment, &did, keys, timestamp, "Zk3v_9-qLr0aB7yTnc2W");
        assert!(page.contains(&format!("```text\n{text}\n```")), "{text}");
        let signature = encode_base64(&signing::sign(&seed, text.as_bytes()));
        assert!(page.contains(&format!("```text\n{signature}\n```")), "{signature}");
    }
}
