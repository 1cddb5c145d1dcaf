//! The endpoints of the ledger.
//!
//! | Module | What |
//! |---|---|
//! | `act` | from a signed request to a decision |
//! | `envelopes` | envelopes and actions of operators, as the OpenAPI document describes them |
//! | `proof` | the texts that a reader may see |
//! | [`payments`], [`batch`], [`statement`] | wallets, transfers, the faucet; many transfers at once; statements |
//! | [`escrows`], [`receipts`] | escrows; claims of work, acceptance and dispute |
//! | [`market`], `search`, [`stats`] | listings and hires; searches for offers; counts |
//! | [`audit`] | the log of events for auditors |
//! | [`admin`], [`metrics`] | actions of operators; numbers for them |
//! | [`info`] | manifest and health |

mod act;
pub mod admin;
pub mod audit;
pub mod batch;
mod envelopes;
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

use engine::http::{Auth, Body, Limit, Response, Route};

/// A route of the ledger, whose errors have the members that its clients read.
pub(crate) const fn pay_route(route: Route, auth: Auth, limit: Limit) -> Route {
    route.signed(auth).limit(limit).dressed(dress)
}

/// Adds the members that clients of the ledger read to an error that was made outside of the handlers.
fn dress(response: &mut Response, brand: &str) {
    complete(response, format!("{brand}-pay-error/v1"), None);
}

/// The same for a transfer or a batch, whose refusals have a status too.
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
