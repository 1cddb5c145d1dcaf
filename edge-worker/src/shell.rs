//! Converts requests and responses between the platform's types and the core's.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, future};
use heliograph_core::Error;
use heliograph_core::engine::http::{self as routes, Body, Matched, Origin, Proxies, Request, Response};
use heliograph_core::engine::runtime::Runtime;
use heliograph_core::engine::time::SECOND;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use worker::js_sys::{self, Array};
use worker::{Headers, ResponseBuilder, Result, web_sys};

use crate::clock;

/// A request without its body.
pub struct Head {
    pub method: Method,
    /// The path as sent, still percent-encoded.
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    /// AS number of the network that the request came from, as the platform says.
    pub network: Option<u32>,
}

/// Reads the head in few calls, since each one out of wasm costs as much as parsing a header.
pub fn head(request: &worker::Request) -> Result<Head> {
    let url = request.inner().url();
    let (path, query) = path_and_query(&url);
    let method = Method::from_bytes(request.inner().method().as_bytes()).map_err(|error| error.to_string())?;
    // Only what probes submit is about the network that it comes from.
    let network = if method == Method::POST { request.cf().and_then(worker::Cf::asn) } else { None };
    Ok(Head { method, path: path.to_owned(), query: query.to_owned(), headers: headers(request), network })
}

/// The platform writes addresses in one form, so the parts need not be parsed.
fn path_and_query(url: &str) -> (&str, &str) {
    let after_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let whole = after_scheme.find('/').and_then(|at| after_scheme.get(at..)).unwrap_or("/");
    let whole = whole.split_once('#').map_or(whole, |(whole, _)| whole);
    whole.split_once('?').unwrap_or((whole, ""))
}

/// All headers as one text of lines `name,value`: a name has no comma, and no value has a line break.
fn headers(request: &worker::Request) -> HeaderMap {
    let text = String::from(Array::from(&request.inner().headers()).join("\n"));
    let mut headers = HeaderMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(',')) {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    headers
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The address that the request comes from. The peer is the address that the platform names in a header, which a
    /// client cannot set. On a machine without the platform the peer is that machine itself.
    pub fn origin(&self, proxies: &Proxies) -> Origin {
        match self.platform() {
            Some(peer) => Origin { forwarded: true, ..proxies.origin(peer, &self.headers) },
            None => proxies.origin(Ipv4Addr::LOCALHOST.into(), &self.headers),
        }
    }

    fn platform(&self) -> Option<IpAddr> {
        self.headers.get_all("cf-connecting-ip").iter().next_back()?.to_str().ok()?.trim().parse().ok()
    }

    /// The request in the core's types, before its body is read.
    pub fn bodiless(self, origin: &Origin) -> Request {
        // The platform knows the network of its peer, which may be a proxy.
        let network = self.network.filter(|_| self.platform() == Some(origin.client));
        let Head { method, path, query, headers, .. } = self;
        let (client, forwarded) = (Some(origin.client), origin.forwarded);
        Request { method, path, query, headers, body: Bytes::new(), client, forwarded, network, key: None }
    }
}

/// The answer to a request. The body is read only when the key is known to be valid.
pub async fn answer(
    runtime: Arc<dyn Runtime>,
    matched: Matched,
    mut asked: Request,
    request: &mut worker::Request,
) -> Response {
    let admitted = match routes::admit(&*runtime, &matched, &asked).await {
        Ok(admitted) => admitted,
        Err(refusal) => {
            discard(request).await;
            return *refusal;
        }
    };
    let settings = &runtime.environment().settings;
    asked.body = match body(request, &asked, matched.max_body()).await {
        Ok(body) => body,
        Err(Unread::TooLarge) => return routes::too_large(&matched, settings),
        Err(Unread::Broken) => {
            return matched.refusal(Error::bad_request("The body did not arrive completely."), settings);
        }
    };
    routes::answer_admitted(runtime, matched, admitted, asked).await
}

enum Unread {
    TooLarge,
    Broken,
}

/// Most bytes that are read of an unwanted body.
const DISCARD: usize = 32 * 1024 * 1024;

/// Longest time that a refusal waits for the body.
const DISCARD_TIME: Duration = Duration::from_secs(1);

/// Reads and discards a body. The runtime closes a connection whose request was not read completely, and a client that
/// is still sending would never see the answer. A client that sends slowly gets the answer before it has finished.
pub async fn discard(request: &mut worker::Request) {
    if let Ok(pieces) = request.stream() {
        drain(pieces).await;
    }
}

async fn drain(mut pieces: worker::ByteStream) {
    let reading = async {
        let mut read = 0;
        while let Some(Ok(piece)) = pieces.next().await {
            read += piece.len();
            if read > DISCARD {
                return;
            }
        }
    };
    let _ = future::select(Box::pin(reading), Box::pin(clock::sleep(DISCARD_TIME))).await;
}

/// Reads a body of at most `limit` bytes.
async fn body(request: &mut worker::Request, asked: &Request, limit: usize) -> Result<Bytes, Unread> {
    let stated = asked.header("content-length").and_then(|value| value.parse::<usize>().ok());
    if stated.is_some_and(|length| length > limit) {
        discard(request).await;
        return Err(Unread::TooLarge);
    }
    if stated.is_some() {
        return request.bytes().await.map(Bytes::from).map_err(|_| Unread::Broken);
    }
    // The platform says when there is no body.
    let Ok(mut pieces) = request.stream() else { return Ok(Bytes::new()) };
    let mut whole = BytesMut::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|_| Unread::Broken)?;
        if whole.len() + piece.len() > limit {
            drain(pieces).await;
            return Err(Unread::TooLarge);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

thread_local! {
    /// The second since the epoch of the last answer, and how its `Date` header says it.
    static DATE: RefCell<(i64, String)> = RefCell::default();
}

fn date() -> String {
    let second = clock::now().0.div_euclid(SECOND);
    DATE.with_borrow_mut(|(known, text)| {
        if *known != second {
            (*known, *text) = (second, js_sys::Date::new_0().to_utc_string().into());
        }
        text.clone()
    })
}

/// Headers are handed over as one text, in one call.
fn sent(headers: &HeaderMap) -> Result<Headers> {
    let mut pairs = Vec::with_capacity(headers.len() + 1);
    let date = date();
    // Clients compare their clocks with this header. The platform's network adds it, but the runtime alone does not.
    pairs.push(("date", date.as_str()));
    // The platform compresses what says that it is compressed, so only the platform knows the length.
    let coded = headers.contains_key(CONTENT_ENCODING);
    for (name, value) in headers.iter().filter(|(name, _)| !coded || **name != CONTENT_LENGTH) {
        pairs.push((name.as_str(), value.to_str().map_err(|error| error.to_string())?));
    }
    let pairs = js_sys::JSON::parse(&serde_json::to_string(&pairs)?)?;
    Ok(Headers(web_sys::Headers::new_with_str_sequence_sequence(&pairs)?))
}

pub fn response(response: Response) -> Result<worker::Response> {
    let headers = sent(&response.headers)?;
    let builder = ResponseBuilder::new().with_status(response.status.as_u16()).with_headers(headers);
    match response.body {
        Body::Bytes(bytes) if bytes.is_empty() => Ok(builder.empty()),
        Body::Bytes(bytes) => Ok(builder.fixed(bytes.into())),
        Body::Stream(stream) => builder.from_stream(stream.map(Ok::<_, worker::Error>)),
    }
}

/// Logs the cause of a failure for the operator; the cause never leaves the Worker.
pub fn logged(route: &str, response: Response) -> Response {
    if let Some(cause) = &response.cause {
        worker::console_error!("{route}: {cause}");
    }
    response
}
