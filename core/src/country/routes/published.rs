//! Answers from published documents: validators, age, 304.

use crate::http::{Cx, Response};
use crate::{Error, Result};

/// The document, or 304 when the client has it.
pub async fn serve(cx: &Cx, key: &str) -> Result<Response> {
    cx.document(key).await
}

/// An answer about the past: not a document, never cached.
pub fn fresh(value: &impl serde::Serialize) -> Result<Response> {
    Ok(Response::json(value).map_err(Error::internal)?.with("cache-control", "no-store"))
}
