//! Published documents in Workers KV: immutable bodies with an ETag and a generation.
//!
//! KV is eventually consistent: a reader may see a body that is up to about a minute old, and absence is cached too. So
//! KV has only documents that exist from the first start, and never state that decides anything (decision
//! published-documents).

use heliograph_core::engine::documents::Document;
use heliograph_core::{Error, Result, Timestamp};
use serde::{Deserialize, Serialize};
use worker::{Env, KvError, KvStore};

/// The KV namespace binding of `wrangler.toml`.
pub const BINDING: &str = "DOCUMENTS";

/// The metadata that KV stores beside a body, at most 1,024 bytes of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Metadata {
    etag: String,
    content_type: String,
    /// A number as text, because JSON numbers are doubles on the platform.
    generation: String,
    /// Microseconds since the Unix epoch.
    generated: String,
    max_age: u32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    disposition: Option<String>,
}

pub struct Documents(KvStore);

impl Documents {
    pub fn new(env: &Env) -> Result<Self> {
        env.kv(BINDING).map(Documents).map_err(Error::internal)
    }

    pub async fn get(&self, key: &str) -> Result<Option<Document>> {
        let found = self.0.get(key).bytes_with_metadata::<Metadata>().await;
        let (body, metadata) = found.map_err(unavailable)?;
        let Some((body, metadata)) = body.zip(metadata) else { return Ok(None) };
        let number = |text: &str| text.parse().map_err(|_| Error::internal(format!("metadata of document {key}")));
        Ok(Some(Document {
            key: key.to_owned(),
            content_type: metadata.content_type,
            body: body.into(),
            etag: metadata.etag,
            generated: Timestamp(number(&metadata.generated)?),
            generation: u64::try_from(number(&metadata.generation)?).map_err(Error::internal)?,
            max_age: metadata.max_age,
            disposition: metadata.disposition,
        }))
    }

    /// Replaces the document. Never run two of these at once for one key: the earlier one may win.
    pub async fn put(&self, document: &Document) -> Result<()> {
        let metadata = Metadata {
            etag: document.etag.clone(),
            content_type: document.content_type.clone(),
            generation: document.generation.to_string(),
            generated: document.generated.0.to_string(),
            max_age: document.max_age,
            disposition: document.disposition.clone(),
        };
        let put = self.0.put_bytes(&document.key, &document.body).map_err(unavailable)?;
        put.metadata(&metadata).map_err(unavailable)?.execute().await.map_err(unavailable)
    }
}

pub fn unavailable(error: KvError) -> Error {
    Error::unavailable(format!("Workers KV: {error}"))
}
