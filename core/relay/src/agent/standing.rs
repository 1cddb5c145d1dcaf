//! How sure the service is that a registration belongs to the holder of its signing key.
//!
//! A DID is the first 16 bytes of a signing key, and anybody can make up a key with the same beginning, or register
//! somebody's public key. What a registration may do to others depends on its standing; `docs/identity.md` explains it.

use serde::{Deserialize, Serialize};

/// What was seen of a signing key; the weakest standing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standing {
    /// The key has signed nothing here.
    Silent,
    /// The key signed a prekey, a message, an attestation or an envelope. Anybody can copy such a signature, so this
    /// says nothing about the encryption key of the registration.
    Signed,
    /// The key signed the keys of this registration for this deployment, or the service made the keys itself.
    Proved,
}

impl Standing {
    /// The word for the standing in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Standing::Silent => "silent",
            Standing::Signed => "signed",
            Standing::Proved => "proved",
        }
    }

    /// Whether the key has signed anything here.
    pub fn has_signed(self) -> bool {
        self >= Standing::Signed
    }
}
