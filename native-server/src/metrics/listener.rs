//! The listener of the setting `metrics_listen`: it answers `/metrics` alone, to whoever reaches it.

use std::sync::Arc;

use bytes::Bytes;
use heliograph_core::engine::http::{METRICS_TEXT, Response, refusal};
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::{Error, ErrorCode};
use http::{Method, StatusCode};
use tokio::net::TcpListener;

use super::PATH;
use crate::connection::{self, Content, Door};
use crate::queue::Queue;
use crate::runtime::Native;
use crate::serve::outgoing;

/// Connections at once.
const CONNECTIONS: u64 = 16;

/// Answers until the task ends.
pub async fn run(listener: TcpListener, native: Arc<Native>) {
    let settings = &native.environment().settings;
    let door = Door::new(settings, CONNECTIONS, Queue::new(settings.streams_bytes));
    let answer = move |_peer, request: http::Request<_>| {
        let native = native.clone();
        async move { answer(&native, request.method(), request.uri().path()).await }
    };
    connection::accept((listener, None), || door.limits().clone(), answer, std::future::pending()).await.await;
}

async fn answer(native: &Native, method: &Method, path: &str) -> http::Response<Content> {
    let reads = matches!(*method, Method::GET | Method::HEAD);
    let response = match (reads, path) {
        (true, PATH) => match super::text(native).await {
            Ok(text) if *method == Method::HEAD => Response::new(StatusCode::OK, METRICS_TEXT, Bytes::new())
                .with("content-length", &text.len().to_string()),
            Ok(text) => Response::new(StatusCode::OK, METRICS_TEXT, text),
            Err(error) => Response::error(error),
        },
        (false, PATH) => {
            let error = Error::new(ErrorCode::MethodNotAllowed, format!("{method} is not a method of this path."));
            refusal(error).with("allow", "GET, HEAD")
        }
        _ => refusal(Error::new(ErrorCode::NoRoute, "This address answers /metrics alone.")),
    };
    outgoing(response)
}
