//! The endpoints of the ledger.

mod act;
pub mod admin;
pub mod audit;
pub mod batch;
pub mod escrows;
pub mod info;
pub mod market;
pub mod metrics;
pub mod payments;
mod proof;
pub mod receipts;
mod search;
pub mod statement;
pub mod stats;

use http::StatusCode;
use serde_json::{Value, json};

use crate::engine::http::{Auth, Body, Limit, Response, Route};

impl Route {
    /// A route of the ledger, whose errors carry what its clients look for.
    pub(in crate::ledger) const fn pay(self, auth: Auth, limit: Limit) -> Self {
        self.signed(auth).limit(limit).dressed(dress)
    }
}

/// Gives an error of the machinery around the handlers the members that clients of the ledger read.
fn dress(response: &mut Response, brand: &str) {
    complete(response, format!("{brand}-pay-error/v1"), None);
}

/// The same for a transfer or a batch of them, whose refusals have a status too.
pub(super) fn dress_transfer(response: &mut Response, brand: &str) {
    complete(response, format!("{brand}-pay-receipt/v1"), Some("failed"));
}

fn complete(response: &mut Response, schema: String, status: Option<&str>) {
    if response.status < StatusCode::BAD_REQUEST {
        return;
    }
    let Body::Bytes(bytes) = &response.body else { return };
    let Ok(Value::Object(mut members)) = serde_json::from_slice(bytes) else { return };
    if members.contains_key("reason") {
        return;
    }
    let reason = members.get("error").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    members.insert("schema".to_owned(), json!(schema));
    members.insert("ok".to_owned(), json!(false));
    if let Some(status) = status {
        members.insert("status".to_owned(), json!(status));
    }
    members.insert("reason".to_owned(), json!(reason));
    response.body = Body::Bytes(Value::Object(members).to_string().into());
}
