//! The OpenAPI 3.1 document, written from the route table.
//!
//! | Module | What |
//! |---|---|
//! | `generate` | the document as a whole, and its components |
//! | `operation` | one route: its name, its words, its body |
//! | `parameters` | what stands in path, query and headers |
//! | `in_path` | what each parameter of a path may hold |
//! | `answers` | what a route answers, and its failures |
//! | `tags` | the groups of operations |
//! | `examples` | requests and answers as they were recorded |
//! | `tidy` | schemas as generators of clients read them |

use std::sync::LazyLock;

use crate::Result;
use crate::engine::documents;
use crate::engine::http::{Cx, Response, Route, handler};

pub const ROUTES: &[Route] = &[Route::get("/openapi.json", handler!(document))
    .extension()
    .answers(&["application/json"])
    .summary("This document, in OpenAPI 3.1.")];

/// The committed document without its white space (`build.rs`); a test holds it equal to the route table. Committing it
/// shows every change of the interface in the diff, and spares the Worker the generators.
const DOCUMENT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

static TAG: LazyLock<String> = LazyLock::new(|| documents::etag(DOCUMENT.as_bytes()));

/// How long a reader may keep the document, in seconds.
const MAX_AGE: u32 = 3_600;

/// What the committed document says of its server, without white space.
const HERE: &str = r#""servers":[{"description":"The server that this document comes from.","url":"/"}]"#;

async fn document(cx: Cx) -> Result<Response> {
    let settings = cx.settings();
    if !settings.is_chosen("public_url") || settings.public_url.is_empty() {
        return Ok(cx.revalidated(Response::json_text(DOCUMENT), &TAG, MAX_AGE));
    }
    let address = settings.base_url();
    cx.kept_by(&(&*TAG, &address), MAX_AGE, async { Ok(Response::json_text(served_at(&address))) }).await
}

/// The document of a server that has an address of its own (decision address-in-the-document). Whoever reads a copy
/// needs it to find the server.
fn served_at(address: &str) -> String {
    let there = HERE.replace(r#""/""#, &serde_json::Value::from(address).to_string());
    DOCUMENT.replacen(HERE, &there, 1)
}

#[cfg(not(target_arch = "wasm32"))]
mod answers;
#[cfg(not(target_arch = "wasm32"))]
mod examples;
#[cfg(not(target_arch = "wasm32"))]
mod generate;
#[cfg(not(target_arch = "wasm32"))]
mod in_path;
#[cfg(not(target_arch = "wasm32"))]
mod operation;
#[cfg(not(target_arch = "wasm32"))]
mod parameters;
#[cfg(not(target_arch = "wasm32"))]
mod tags;
#[cfg(not(target_arch = "wasm32"))]
mod tidy;

#[cfg(not(target_arch = "wasm32"))]
pub use generate::generate;
#[cfg(not(target_arch = "wasm32"))]
pub use operation::name as operation_id;

#[cfg(test)]
mod forms;
#[cfg(test)]
mod tests;
