//! Answers from published documents: validators, age, 304.

use http::StatusCode;

use crate::http::{Body, Cx, Response};
use crate::{Error, Result, runtime};

/// The document, or 304 when the client has it.
pub async fn serve(cx: &Cx, key: &str) -> Result<Response> {
    let document = runtime::document(&*cx.rt, key).await?;
    let fresh = cx.request.header("if-none-match").is_some_and(|given| matches(given, &document.etag));
    let mut response = Response::new(StatusCode::OK, "application/json", document.body.clone());
    if let Ok(value) = http::HeaderValue::from_str(&document.content_type) {
        response.headers.insert(http::header::CONTENT_TYPE, value);
    }
    response.set("etag", &document.etag);
    response.set("cache-control", &format!("public, max-age={}", document.max_age));
    let age = cx.now().since(document.generated).max(0) / crate::time::SECOND;
    response.set("age", &age.to_string());
    if let Some(disposition) = &document.disposition {
        response.set("content-disposition", disposition);
    }
    if fresh {
        response.status = StatusCode::NOT_MODIFIED;
        response.headers.remove(http::header::CONTENT_TYPE);
        response.body = Body::Bytes(bytes::Bytes::new());
    }
    Ok(response)
}

/// `If-None-Match` by weak comparison (RFC 9110 13.1.2).
fn matches(given: &str, etag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    given.trim() == "*" || given.split(',').any(|tag| opaque(tag) == opaque(etag))
}

/// An answer about the past: not a document, never cached.
pub fn fresh(value: &impl serde::Serialize) -> Result<Response> {
    Ok(Response::json(value).map_err(Error::internal)?.with("cache-control", "no-store"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn validators_match_weakly_and_in_lists() {
        for given in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(super::matches(given, "\"a\""), "{given}");
        }
        assert!(!super::matches("\"b\"", "\"a\""));
    }
}
