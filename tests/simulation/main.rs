//! The simulation: whole requests over the real core with faults, from a seed.
//!
//! `HELIOGRAPH_SIM_SEEDS=10000 cargo test -p heliograph-tests --test simulation` runs more seeds than the default of
//! 200; `HELIOGRAPH_SIM_SEED=17` replays one. A failure names its seed.
//!
//! The module `ledger` simulates payments, `messages` simulates mail.

mod ledger;
mod messages;

use heliograph_core::engine::http::Request;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;

/// A request of an agent, or of a caller without a key; a null body means no body.
fn request(method: Method, path: &str, key: Option<&str>, body: &Value) -> Request {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        headers.insert("x-agent-key", HeaderValue::from_str(key).unwrap());
    }
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    Request { method, path: path.to_owned(), query: query.to_owned(), headers, body: body.into(), ..Request::default() }
}

/// Runs `scenario` for every requested seed; returns the number of seeds.
fn for_seeds(scenario: fn(u64)) -> u64 {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("HELIOGRAPH_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HELIOGRAPH_SIM_SEEDS").unwrap_or(200),
    };
    for seed in seeds.clone() {
        let run = std::panic::catch_unwind(|| scenario(seed));
        if let Err(cause) = run {
            eprintln!("seed {seed} fails; HELIOGRAPH_SIM_SEED={seed} replays it");
            std::panic::resume_unwind(cause);
        }
    }
    seeds.end - seeds.start
}
