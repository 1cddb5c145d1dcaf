//! Requests: the transport, time-outs and retries.

pub mod call;
pub mod client;
#[cfg(target_arch = "wasm32")]
mod fetch;
#[cfg(not(target_arch = "wasm32"))]
mod native;
pub mod sse;
pub mod transport;

pub use client::{Client, Config};
pub use transport::{Body, Method, Request, Response, Transport};

#[cfg(target_arch = "wasm32")]
pub use fetch::Fetch as DefaultTransport;
#[cfg(not(target_arch = "wasm32"))]
pub use native::Native as DefaultTransport;
