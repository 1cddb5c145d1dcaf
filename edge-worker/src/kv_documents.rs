//! Published documents in Workers KV: immutable bodies with an ETag and a generation.
//!
//! KV is eventually consistent (a reader may see a body up to about a minute old) and caches absence too, so only
//! documents that exist from the first start live here, never state that decides anything (ruling foundation 20).

use serde::{Deserialize, Serialize};
use worker::{Env, Error, KvStore, Result};

/// The KV namespace binding of `wrangler.toml`.
const BINDING: &str = "DOCUMENTS";

/// What KV keeps beside a body, at most 1,024 bytes of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Strong validator, quotes included.
    pub etag: String,
    /// Media type of the body.
    pub content_type: String,
    /// When the publisher built the body, in microseconds since the Unix epoch, as text: JSON numbers are doubles.
    pub generation: String,
}

/// A published body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub body: Vec<u8>,
    pub metadata: Metadata,
}

/// One page of a listing.
#[derive(Debug)]
pub struct Page {
    pub keys: Vec<String>,
    /// Present when more keys follow.
    pub cursor: Option<String>,
}

pub struct Documents(KvStore);

impl Documents {
    pub fn new(env: &Env) -> Result<Self> {
        env.kv(BINDING).map(Documents)
    }

    pub async fn get(&self, key: &str) -> Result<Option<Document>> {
        let (body, metadata) = self.0.get(key).bytes_with_metadata::<Metadata>().await.map_err(kv_error)?;
        Ok(body.zip(metadata).map(|(body, metadata)| Document { body, metadata }))
    }

    /// Replaces the document. `ttl`, in seconds and at least 60, makes it disappear by itself.
    pub async fn put(&self, key: &str, document: &Document, ttl: Option<u64>) -> Result<()> {
        let put = self.0.put_bytes(key, &document.body).map_err(kv_error)?;
        let put = put.metadata(&document.metadata).map_err(kv_error)?;
        let put = match ttl {
            Some(seconds) => put.expiration_ttl(seconds),
            None => put,
        };
        put.execute().await.map_err(kv_error)
    }

    pub async fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key).await.map_err(kv_error)
    }

    /// Keys with the prefix in order, at most `limit` (1,000 at most) per page.
    pub async fn list(&self, prefix: &str, cursor: Option<String>, limit: u64) -> Result<Page> {
        let list = self.0.list().prefix(prefix.to_owned()).limit(limit);
        let list = match cursor {
            Some(cursor) => list.cursor(cursor),
            None => list,
        };
        let page = list.execute().await.map_err(kv_error)?;
        let cursor = if page.list_complete { None } else { page.cursor };
        Ok(Page { keys: page.keys.into_iter().map(|key| key.name).collect(), cursor })
    }
}

fn kv_error(error: worker::KvError) -> Error {
    Error::RustError(format!("kv: {error}"))
}
