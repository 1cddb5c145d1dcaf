//! Nonces of signed requests; each can be used only once.
//!
//! They outlive the registration that used them: a signed request that somebody saw under one registration of a DID
//! must not work under the next one.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorCode, Result, Timestamp};
use crypto::hash;
use engine::actor::Turn;
use engine::kv::{Row, Table};
use engine::time::MINUTE;

/// How far the time in a signed request may be from the service's time, in microseconds.
pub const WINDOW: i64 = 5 * MINUTE;
/// Most signed requests of one DID within [`WINDOW`].
const MAX: usize = 64;

/// Time and hash of each used nonce whose request would still be in time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Used(Vec<(Timestamp, [u8; 32])>);
impl Row for Used {}

/// Number of the table. The table stays when the rows of a registration are deleted.
pub(super) const TABLE: u8 = 132;
const USED: Table<(), Used> = Table::new(TABLE);

/// The nonce of a signed request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nonce {
    /// The time that was signed.
    pub at: Timestamp,
    /// Hash of the kind of request and the nonce.
    digest: [u8; 32],
}

impl Nonce {
    /// `kind` separates the nonces of one kind of request from those of other kinds.
    pub fn new(kind: &str, nonce: &str, at: Timestamp) -> Nonce {
        Nonce { at, digest: hash::sha256_of(&[kind.as_bytes(), nonce.as_bytes()]) }
    }

    /// Whether the signed time is within [`WINDOW`] of the service's time.
    pub fn in_time(&self, now: Timestamp) -> bool {
        self.at.since(now).abs() <= WINDOW
    }

    /// Uses the nonce. 400 when its time is too early or too late, 409 when it was used before.
    pub(super) fn spend(&self, turn: &mut Turn<'_>) -> Result<()> {
        if !self.in_time(turn.now) {
            return Err(Error::bad_request("The signed time must be within 5 minutes of the service's time."));
        }
        let mut used = USED.get(turn, &())?.unwrap_or_default();
        let now = turn.now;
        used.0.retain(|(at, _)| now.since(*at) <= WINDOW);
        if used.0.iter().any(|(_, digest)| *digest == self.digest) {
            return Err(Error::conflict("This nonce was used before."));
        }
        if used.0.len() >= MAX {
            let message = "Too many signed requests of this DID; wait, then retry.";
            return Err(Error::new(ErrorCode::RateLimited, message).retry_after(60));
        }
        used.0.push((self.at, self.digest));
        Ok(USED.put(turn, &(), &used)?)
    }
}

/// What nonces look like.
pub const PATTERN: &str = "^[A-Za-z0-9_-]{16,64}$";

/// Checks the shape of a nonce, named `field`: 16 to 64 of `A-Z a-z 0-9 _ -`.
pub fn check(field: &str, nonce: &str) -> Result<()> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (16..=64).contains(&nonce.len()) && nonce.bytes().all(fits) {
        return Ok(());
    }
    Err(Error::bad_request(format!("`{field}` must be 16 to 64 characters of A-Z, a-z, 0-9, `_` and `-`.")))
}
