//! The style sheet.

use std::sync::OnceLock;

use engine::documents;
use engine::http::{Cx, Response};
use engine::{Error, Result};
use http::StatusCode;
use http::header::CACHE_CONTROL;

const SHEET: &str = include_str!("style.css");

/// Its address, with a part of its hash: a new sheet has a new address.
pub fn address() -> &'static str {
    static ADDRESS: OnceLock<String> = OnceLock::new();
    ADDRESS.get_or_init(|| {
        let tag = documents::etag(SHEET.as_bytes());
        let hash: String = tag.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
        format!("/assets/style-{hash}.css")
    })
}

/// Answers with the sheet at its present address; an old address is gone.
pub async fn sheet(cx: Cx) -> Result<Response> {
    if format!("/assets/{}", cx.path("file")?) != address() {
        return Err(Error::not_found("No file of that name."));
    }
    let response = Response::new(StatusCode::OK, "text/css; charset=utf-8", SHEET);
    Ok(response.with(CACHE_CONTROL, "public, max-age=31536000, immutable"))
}
