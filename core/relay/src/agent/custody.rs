//! Private keys that the server holds for agents that brought none. Handlers seal and open them here; rows, operations
//! and errors contain only the sealed form.

use zeroize::Zeroizing;

use super::mailbox::Local;
use crate::{Error, Result};
use crypto::{CryptoError, Secret, boxes, kem, sealing, signing};
use engine::runtime::Runtime;
use engine::secrets::Secrets;

/// The purpose of the sealed value; part of its associated data.
pub(super) const PURPOSE: &str = "agent-keys/1";

/// The private keys of one generation.
#[derive(Debug)]
pub struct HeldKeys {
    /// Ed25519 seed.
    pub signing: Secret<32>,
    /// X25519 secret.
    pub encryption: Secret<32>,
    /// ML-KEM-768 seed.
    pub kem: Secret<64>,
}

/// The public halves of [`HeldKeys`].
pub struct PublicKeys {
    pub signing: [u8; 32],
    pub encryption: [u8; 32],
    pub mlkem: Vec<u8>,
}

impl HeldKeys {
    /// Fresh keys.
    pub fn generate(rt: &dyn Runtime) -> HeldKeys {
        let mut seed = Zeroizing::new([0; 64]);
        let halves = Zeroizing::new([rt.random(), rt.random()]);
        seed.iter_mut().zip(halves.iter().flatten()).for_each(|(to, from)| *to = *from);
        HeldKeys { signing: Secret::new(rt.random()), encryption: Secret::new(rt.random()), kem: Secret::new(*seed) }
    }

    pub fn public(&self) -> PublicKeys {
        PublicKeys {
            signing: signing::signing_public_key(&self.signing),
            encryption: boxes::box_public_key(&self.encryption),
            mlkem: kem::kem_public_key(&self.kem),
        }
    }

    /// The keys sealed for the agent `did`.
    pub fn seal(&self, rt: &dyn Runtime, did: &str) -> Result<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(128));
        bytes.extend_from_slice(self.signing.expose());
        bytes.extend_from_slice(self.encryption.expose());
        bytes.extend_from_slice(self.kem.expose());
        seal(rt, did, PURPOSE, &bytes)
    }

    /// Opens what [`HeldKeys::seal`] made. A failure is the deployment's fault, never the caller's.
    pub fn open(secrets: &Secrets, did: &str, sealed: &[u8]) -> Result<HeldKeys> {
        let bytes = secrets.sealing().open(did, PURPOSE, sealed).map_err(Error::internal)?;
        let split = || {
            let (signing, rest) = bytes.split_first_chunk()?;
            let (encryption, kem) = rest.split_first_chunk()?;
            Some(HeldKeys {
                signing: Secret::new(*signing),
                encryption: Secret::new(*encryption),
                kem: Secret::from_slice(kem)?,
            })
        };
        split().ok_or(CryptoError::Malformed).map_err(Error::internal)
    }
}

/// Seals a value of the agent `did` under a fresh nonce.
pub fn seal(rt: &dyn Runtime, did: &str, purpose: &str, value: &[u8]) -> Result<Vec<u8>> {
    rt.environment().secrets.sealing().seal(did, purpose, &nonce(rt), value).map_err(Error::internal)
}

/// Seals a text of `owner` (a DID or the name of another actor), where the result must be a text too.
pub fn seal_text(rt: &dyn Runtime, owner: &str, purpose: &str, text: &str) -> Result<String> {
    rt.environment().secrets.sealing().seal_text(owner, purpose, &nonce(rt), text).map_err(Error::internal)
}

/// Opens what [`seal_text`] made. A text from before texts were sealed is returned as it is.
pub fn open_text(rt: &dyn Runtime, owner: &str, purpose: &str, stored: &str) -> Result<String> {
    rt.environment().secrets.sealing().open_text(owner, purpose, stored).map_err(Error::internal)
}

/// Whether a stored text still has to be sealed under the current key: it is not sealed, or sealed under an earlier
/// key, and no maintenance task will visit it.
pub fn is_behind(rt: &dyn Runtime, stored: &str) -> bool {
    let current = || rt.environment().secrets.sealing().current().id();
    rt.maintenance().is_none() && sealing::text_key_id(stored) != Some(current())
}

/// 24 fresh random bytes.
pub fn nonce(rt: &dyn Runtime) -> [u8; 24] {
    let mut nonce = [0; 24];
    nonce.iter_mut().zip(rt.random()).for_each(|(to, from)| *to = from);
    nonce
}

/// The local part of an id, 96 fresh random bits (decision ids-lead-to-actors).
pub fn local(rt: &dyn Runtime) -> Local {
    let mut local = Local::default();
    local.iter_mut().zip(rt.random()).for_each(|(to, from)| *to = from);
    local
}
