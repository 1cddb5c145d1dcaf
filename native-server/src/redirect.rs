//! The listener of the setting `redirect_listen`: it sends whoever comes to the same path of `public_url`.

use std::sync::Arc;

use bytes::Bytes;
use heliograph_core::engine::http::{Response, refusal};
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::{Error, ErrorCode};
use http::{StatusCode, Uri};
use tokio::net::TcpListener;

use crate::connection::{self, Content, Door};
use crate::queue::Queue;
use crate::runtime::Native;
use crate::serve::outgoing;

/// Connections at once.
const CONNECTIONS: u64 = 256;

/// Answers until the task ends.
pub async fn run(listener: TcpListener, native: Arc<Native>) {
    let settings = &native.environment().settings;
    let door = Door::new(settings, CONNECTIONS, Queue::new(settings.streams_bytes));
    let answer = move |_peer, request: http::Request<_>| {
        let answer = answer(&native.environment().settings.base_url(), request.uri());
        std::future::ready(answer)
    };
    connection::accept((listener, None), || door.limits().clone(), answer, std::future::pending()).await.await;
}

/// The host of the request counts for nothing, since anybody can put any there.
fn answer(base: &str, uri: &Uri) -> http::Response<Content> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    if !base.starts_with("https://") || !path.starts_with('/') {
        let error = Error::new(ErrorCode::NoRoute, "This address leads nowhere: public_url is no https address.");
        return outgoing(refusal(error));
    }
    let moved = Response::new(StatusCode::PERMANENT_REDIRECT, "text/plain; charset=utf-8", Bytes::new());
    outgoing(moved.with("location", &format!("{base}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(base: &str, uri: &'static str) -> (u16, Option<String>) {
        let answer = answer(base, &Uri::from_static(uri));
        let location = answer.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        (answer.status().as_u16(), location)
    }

    #[test]
    fn everybody_is_sent_to_the_own_address_and_nowhere_else() {
        let base = "https://a.example";
        assert_eq!(asked(base, "/v1/x?y=z"), (308, Some("https://a.example/v1/x?y=z".to_owned())));
        assert_eq!(asked(base, "http://evil.example/a"), (308, Some("https://a.example/a".to_owned())));
        assert_eq!(asked(base, "http://evil.example"), (308, Some("https://a.example/".to_owned())));
        assert_eq!(asked("http://a.example", "/x"), (404, None));
        assert_eq!(asked(base, "evil.example:80"), (308, Some("https://a.example/".to_owned())));
    }
}
