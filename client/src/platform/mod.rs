//! What the client needs of the system that it runs on: time, randomness, waiting.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod wasm;

use std::pin::Pin;
use std::time::Duration;

use crypto::Secret;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::{Error, Result};

#[cfg(not(target_arch = "wasm32"))]
pub use native::{now, pause, text_of};
#[cfg(target_arch = "wasm32")]
pub use wasm::{now, pause, text_of, thrown};

/// A future of this crate's traits. Natively it may move between threads.
#[cfg(not(target_arch = "wasm32"))]
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
/// A future of this crate's traits.
#[cfg(target_arch = "wasm32")]
pub type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// `Send` and `Sync` natively, nothing in wasm, which has one thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait Shared: Send + Sync {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send + Sync + ?Sized> Shared for T {}
/// `Send` and `Sync` natively, nothing in wasm, which has one thread.
#[cfg(target_arch = "wasm32")]
pub trait Shared {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> Shared for T {}

/// A generator with a fresh seed of the system.
pub fn random() -> Result<ChaCha20Rng> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|_| Error::Random)?;
    let seed = Secret::new(seed);
    Ok(ChaCha20Rng::from_seed(*seed.expose()))
}

/// `N` random bytes.
pub fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    random()?.fill_bytes(&mut bytes);
    Ok(bytes)
}

/// A text of 32 hex digits that was never used before: a nonce, or an idempotency key.
pub fn unique() -> Result<String> {
    Ok(crypto::encoding::encode_hex(&random_bytes::<16>()?))
}

/// The time `after` from now, as ISO 8601 with milliseconds.
pub fn time_in(after: Duration) -> String {
    text_of(now().saturating_add(i64::try_from(after.as_millis()).unwrap_or(i64::MAX)))
}

/// The present time, as ISO 8601 with milliseconds.
pub fn time() -> String {
    text_of(now())
}

/// Runs `work` for at most `limit`; `None` if that was not enough.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    use futures_util::future::{Either, select};
    match select(std::pin::pin!(work), std::pin::pin!(pause(limit))).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(_) => None,
    }
}
