//! Requests of this Worker to other hosts.

use futures_util::StreamExt;
use futures_util::future::{self, Either};
use heliograph_core::engine::web::Incoming;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::engine::web::retry_after;
use heliograph_core::{Error, ErrorCode, Result};
use worker::js_sys::Uint8Array;
use worker::{Fetch, Headers, Method, Request, RequestInit, RequestRedirect};

use crate::clock;

fn failed(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::Unavailable, format!("The request failed: {error}."))
}

/// Makes one request within its limits of time and size; follows no redirect.
pub async fn send(outgoing: Outgoing) -> Result<Incoming> {
    let end = Box::pin(clock::sleep(outgoing.timeout));
    match future::select(Box::pin(exchange(&outgoing)), end).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => Err(failed("it took too long")),
    }
}

async fn exchange(outgoing: &Outgoing) -> Result<Incoming> {
    let headers = Headers::new();
    for (name, value) in &outgoing.headers {
        headers.set(name, value).map_err(failed)?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Get).with_headers(headers).with_redirect(RequestRedirect::Manual);
    if let Some(body) = &outgoing.body {
        init.with_method(Method::Post).with_body(Some(Uint8Array::from(&body[..]).into()));
    }
    let request = Request::new_with_init(&outgoing.url, &init).map_err(failed)?;
    let mut response = Fetch::Request(request).send().await.map_err(failed)?;
    let asked = response.headers().get("retry-after").ok().flatten();
    let status = response.status_code();
    let retry_after = asked.and_then(|asked| retry_after(&asked, clock::now()));
    if outgoing.max_bytes == 0 {
        return Ok(Incoming { status, retry_after, body: Vec::new().into() });
    }
    let mut body = Vec::new();
    let mut pieces = response.stream().map_err(failed)?;
    while let Some(piece) = pieces.next().await {
        body.extend(piece.map_err(failed)?);
        if body.len() > outgoing.max_bytes {
            return Err(failed(format!("the answer is over {} bytes", outgoing.max_bytes)));
        }
    }
    Ok(Incoming { status, retry_after, body: body.into() })
}
