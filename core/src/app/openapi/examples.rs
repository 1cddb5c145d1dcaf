//! Examples of requests and answers, as they were recorded from a server with sample data (decision recorded-examples).

use std::sync::LazyLock;

use serde_json::Value;

/// By the name of the operation: `address` (path and query), `request` and `response`.
static EXAMPLES: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("examples.json")).unwrap_or_default());

/// Path and query of the request, of an operation with parameters.
pub fn address(name: &str) -> Option<&'static str> {
    EXAMPLES.get(name)?.get("address")?.as_str()
}

pub fn request(name: &str) -> Option<&'static Value> {
    EXAMPLES.get(name)?.get("request")
}

pub fn response(name: &str) -> Option<&'static Value> {
    EXAMPLES.get(name)?.get("response")
}
