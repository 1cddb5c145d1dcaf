//! Secrets of a deployment, derived from its master key.

/// What the shells hold and the core uses; never stored in clear, never logged.
pub struct Secrets {
    /// Operator key (`X-Admin-Key`).
    pub admin_key: String,
}

/// A well-formed key of this deployment.
pub struct ParsedKey {
    /// The name of the actor that the key belongs to.
    pub actor: String,
    pub secret_hash: [u8; 32],
}

impl Secrets {
    /// Checks form, checksum and MAC of a key; touches no storage.
    pub fn parse_key(&self, _brand: &str, _kind: &str, _text: &str) -> Option<ParsedKey> {
        None
    }
}

/// A key that was just made.
pub struct NewKey {
    pub actor: String,
    pub text: String,
    pub secret_hash: [u8; 32],
}

impl Secrets {
    /// Makes a key for a new actor.
    pub fn new_key(&self, _brand: &str, _kind: &str, _name: [u8; 32], _secret: [u8; 32]) -> NewKey {
        NewKey { actor: String::new(), text: String::new(), secret_hash: [0; 32] }
    }
}
