//! The OpenAPI 3.1 document, written from the route table.

use super::{Cx, Response, Route, handler};
use crate::Result;
use http::StatusCode;

pub const ROUTES: &[Route] =
    &[Route::get("/openapi.json", handler!(document)).extension().summary("This document, in OpenAPI 3.1.")];

/// The committed document; `openapi::tests` holds it equal to the route table.
const DOCUMENT: &str = include_str!("../../openapi.json");

async fn document(_cx: Cx) -> Result<Response> {
    Ok(Response::new(StatusCode::OK, "application/json", DOCUMENT).with("cache-control", "public, max-age=3600"))
}
