//! Answers that all isolates of one place share, in the platform's Cache API (decision late-answers).
//!
//! The cache belongs to the zone of the Worker, so an address says which deployment and version an answer is of. Nobody
//! can ask for such an address from outside: every request enters at the Worker, which has no such route.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use heliograph_core::crypto::hash;
use heliograph_core::engine::runtime::{BoxFuture, Environment, SharedAnswers};
use worker::{Cache, Headers, ResponseBuilder, Result};

pub struct PlaceCache(pub Arc<Environment>);

impl PlaceCache {
    fn address(&self, key: &[u8]) -> String {
        let hash = hash::sha256_of(&[env!("CARGO_PKG_VERSION").as_bytes(), key]);
        let mut address = format!("{}/.late/{}/", self.0.settings.base_url(), self.0.deployment);
        for byte in hash {
            // A String takes everything.
            let _ = write!(address, "{byte:02x}");
        }
        address
    }
}

async fn find(address: String) -> Result<Option<Bytes>> {
    match Cache::default().get(address, false).await? {
        Some(mut found) if found.status_code() == 200 => Ok(Some(found.bytes().await?.into())),
        _ => Ok(None),
    }
}

async fn keep(address: String, answer: Vec<u8>, seconds: u32) -> Result<()> {
    let headers = Headers::new();
    headers.set("content-type", "application/octet-stream")?;
    headers.set("cache-control", &format!("public, max-age={}", seconds.max(1)))?;
    Cache::default().put(address, ResponseBuilder::new().with_headers(headers).fixed(answer)).await
}

impl SharedAnswers for PlaceCache {
    fn get<'a>(&'a self, key: &'a [u8]) -> BoxFuture<'a, Option<Bytes>> {
        Box::pin(async move {
            find(self.address(key)).await.unwrap_or_else(|error| {
                worker::console_warn!("the cache of this place cannot be read: {error}");
                None
            })
        })
    }

    fn put<'a>(&'a self, key: &'a [u8], answer: Vec<u8>, seconds: u32) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Err(error) = keep(self.address(key), answer, seconds).await {
                worker::console_warn!("the cache of this place cannot be written: {error}");
            }
        })
    }
}
