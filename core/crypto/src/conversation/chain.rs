//! A session of the recipient that steps forward and forgets keys as they are used.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use crate::{CryptoError, Secret, boxes, hash};

/// Most keys that a recipient skips in one session.
pub const MAX_SKIPPED: u32 = 1_000;

/// The key that follows from a chain: 1 for the next chain, 2 for the key of a message.
pub(super) fn next(chain: &Secret<32>, label: u8) -> Secret<32> {
    Secret::new(hash::sha256_of(&[chain.expose(), &[label]]))
}

/// A session of the recipient. It holds keys, so it must be stored sealed or in a place that only its owner reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    chain: Secret<32>,
    step: u32,
    /// Keys of messages that were skipped, or opened and not yet [forgotten](Chain::forget).
    kept: BTreeMap<u32, Secret<32>>,
}

impl Chain {
    /// The session whose first message key follows from `chain`.
    pub fn new(chain: Secret<32>) -> Chain {
        Chain { chain, step: 0, kept: BTreeMap::new() }
    }

    /// Opens the message of `step` and keeps the keys up to it, this one too, so that the message opens again until
    /// [`Chain::forget`] is called. After an error the session is as it was.
    ///
    /// Errors: [`CryptoError::TooFarAhead`] if more than [`MAX_SKIPPED`] keys would be kept,
    /// [`CryptoError::TooFarBehind`] if the key of the step is gone, [`CryptoError::Undecryptable`].
    pub fn open(&mut self, step: u32, nonce: &[u8; 24], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, CryptoError> {
        if step <= self.step {
            let key = self.kept.get(&step).ok_or(CryptoError::TooFarBehind)?;
            return boxes::secretbox_open(key, nonce, sealed);
        }
        let steps = step - self.step;
        if steps as usize + self.kept.len() > MAX_SKIPPED as usize + 1 {
            return Err(CryptoError::TooFarAhead(MAX_SKIPPED));
        }
        let (mut chain, mut keys) = (self.chain.clone(), Vec::with_capacity(steps as usize));
        for at in self.step + 1..=step {
            keys.push((at, next(&chain, 2)));
            chain = next(&chain, 1);
        }
        let key = keys.last().map(|(_, key)| key).ok_or(CryptoError::TooFarBehind)?;
        let plaintext = boxes::secretbox_open(key, nonce, sealed)?;
        self.kept.extend(keys);
        (self.chain, self.step) = (chain, step);
        Ok(plaintext)
    }

    /// Removes the key of one message, which cannot be opened again.
    pub fn forget(&mut self, step: u32) {
        self.kept.remove(&step);
    }

    const VERSION: u8 = 1;

    /// Layout: version, step, chain, then step and key of each kept message.
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(37 + 36 * self.kept.len()));
        bytes.push(Self::VERSION);
        bytes.extend_from_slice(&self.step.to_be_bytes());
        bytes.extend_from_slice(self.chain.expose());
        for (step, key) in &self.kept {
            bytes.extend_from_slice(&step.to_be_bytes());
            bytes.extend_from_slice(key.expose());
        }
        bytes
    }

    /// Reads the result of [`Chain::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Chain, CryptoError> {
        let read = || {
            let ([Self::VERSION], rest) = bytes.split_first_chunk()? else { return None };
            let (step, rest) = rest.split_first_chunk()?;
            let (chain, mut rest) = rest.split_first_chunk()?;
            let mut kept = BTreeMap::new();
            while !rest.is_empty() {
                let (step, after) = rest.split_first_chunk()?;
                let (key, after) = after.split_first_chunk()?;
                kept.insert(u32::from_be_bytes(*step), Secret::new(*key));
                rest = after;
            }
            Some(Chain { chain: Secret::new(*chain), step: u32::from_be_bytes(*step), kept })
        };
        read().ok_or(CryptoError::Malformed)
    }
}
