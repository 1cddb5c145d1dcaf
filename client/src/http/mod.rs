//! Requests: the transport, time-outs and retries.

pub mod call;
pub mod client;
#[cfg(target_arch = "wasm32")]
mod fetch;
#[cfg(all(not(target_arch = "wasm32"), feature = "requests"))]
mod native;
pub mod sse;
pub mod transport;

pub use client::{Client, Config};
pub use transport::{Body, Method, Request, Response, Transport};

#[cfg(target_arch = "wasm32")]
pub use fetch::Fetch as DefaultTransport;
#[cfg(all(not(target_arch = "wasm32"), feature = "requests"))]
pub use native::Native as DefaultTransport;
