//! Compressed answers (decision compressed-answers): which answers may be, what the client takes, and what the headers
//! say. The runtime compresses ([`Coder`]).

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, ETAG, RANGE,
    VARY,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::{Auth, Body, Request, Response, Route};
use crate::runtime::{BoxFuture, ByteStream, MaybeSend, MaybeSync, Runtime};

/// A shorter body is sent as it is, in bytes: what it would save is less than one packet.
const LEAST: usize = 1_024;

/// Ends of the names of headers with keys, tokens and signatures, which begin with `X-`; `Authorization` and `Cookie`
/// are such headers as well.
const SECRETS: [&str; 4] = ["-key", "-proof", "-signature", "-token"];

/// A way to compress a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Coding {
    /// RFC 7932.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    /// Its name in `Accept-Encoding` and `Content-Encoding`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Coding::Brotli => "br",
            Coding::Gzip => "gzip",
        }
    }
}

/// What a runtime does to compress answers.
pub trait Coder: MaybeSend + MaybeSync {
    /// The codings for an answer of this media type, the best first. Empty where something in front of the runtime
    /// compresses it; `forwarded` says whether something in front passed the request on.
    fn offered(&self, forwarded: bool, media_type: &str) -> &'static [Coding];

    /// A body under a coding; `None`: it is sent as it is, because it would not be shorter.
    fn whole<'a>(&'a self, coding: Coding, body: &'a Bytes) -> BoxFuture<'a, Option<Bytes>>;

    /// A body that comes in pieces. What was written becomes readable for the client soon, and not only at the end.
    fn pieces(&self, coding: Coding, body: ByteStream) -> ByteStream;
}

/// An answer as this client takes it: compressed where that is allowed and wanted.
pub(super) async fn encoded(rt: &dyn Runtime, route: &Route, asked: Asked, mut response: Response) -> Response {
    let Some(coder) = rt.coder() else { return response };
    if !asked.varies || !varies(route, &response) {
        return response;
    }
    vary(&mut response.headers);
    if response.status != StatusCode::OK {
        return response;
    }
    let kind = response.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let offered = |accepted: &HeaderMap| chosen(accepted, coder.offered(asked.forwarded, essence(kind)));
    let Some(coding) = asked.accepted.as_ref().and_then(offered) else { return response };
    response.body = match response.body {
        Body::Stream(pieces) => Body::Stream(coder.pieces(coding, pieces)),
        Body::Bytes(body) => match coder.whole(coding, &body).await {
            Some(shorter) => Body::Bytes(shorter),
            None => return Response { body: Body::Bytes(body), ..response },
        },
    };
    response.headers.remove(CONTENT_LENGTH);
    response.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    weaken(&mut response.headers);
    response
}

/// What a request says about compressed answers, taken before its handler takes the request.
pub(super) struct Asked {
    /// Whether its answer may depend on `Accept-Encoding`.
    varies: bool,
    /// `Accept-Encoding` alone; `None` where it is absent or does not matter.
    accepted: Option<HeaderMap>,
    forwarded: bool,
}

impl Asked {
    pub fn of(route: &Route, request: &Request) -> Asked {
        let reads = matches!(request.method, Method::GET | Method::HEAD) && !request.headers.contains_key(RANGE);
        let varies = reads && route.auth == Auth::None && !route.effectful && !has_secret(&request.headers);
        let mut accepted = HeaderMap::new();
        for value in request.headers.get_all(ACCEPT_ENCODING).iter().filter(|_| varies) {
            accepted.append(ACCEPT_ENCODING, value.clone());
        }
        let accepted = (!accepted.is_empty()).then_some(accepted);
        Asked { varies, accepted, forwarded: request.forwarded }
    }
}

fn has_secret(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let text = name.as_str();
        let own = text.starts_with("x-") && SECRETS.iter().any(|end| text.ends_with(end));
        own || *name == AUTHORIZATION || *name == COOKIE
    })
}

/// Whether another client may get the same answer in another coding.
fn varies(route: &Route, response: &Response) -> bool {
    if response.status == StatusCode::NOT_MODIFIED {
        return route.auth == Auth::None;
    }
    let text =
        |name| response.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let long = match &response.body {
        Body::Bytes(bytes) => bytes.len() >= LEAST,
        Body::Stream(_) => true,
    };
    response.status == StatusCode::OK
        && long
        && compresses(essence(text(CONTENT_TYPE)))
        && !response.headers.contains_key(CONTENT_ENCODING)
        && !text(CACHE_CONTROL).contains("no-transform")
}

/// The media type without its parameters.
fn essence(kind: &str) -> &str {
    kind.split(';').next().unwrap_or_default().trim()
}

/// Whether bodies of a media type become shorter. A stream of events is never compressed: each event must arrive at
/// once.
fn compresses(essence: &str) -> bool {
    let text = essence.starts_with("text/") && essence != "text/event-stream";
    let ends = ["/json", "+json", "/xml", "+xml", "/x-ndjson", "/jsonl", "/javascript", "/x-bibtex"];
    text || ends.iter().any(|end| essence.ends_with(end))
}

/// Says that the answer depends on `Accept-Encoding`.
fn vary(headers: &mut HeaderMap) {
    let named = |value: &HeaderValue| {
        let value = value.to_str().unwrap_or_default();
        value.split(',').any(|name| matches!(name.trim(), "*") || name.trim().eq_ignore_ascii_case("accept-encoding"))
    };
    if !headers.get_all(VARY).iter().any(named) {
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
}

/// A compressed body is the same answer, but not the same bytes.
fn weaken(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/")) else { return };
    if let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
        headers.insert(ETAG, weak);
    }
}

/// The coding with the greatest weight of those offered, the first one among equals; `None`: as it is (RFC 9110,
/// section 12.5.3).
fn chosen(headers: &HeaderMap, offered: &[Coding]) -> Option<Coding> {
    let mut weights = Vec::new();
    for value in headers.get_all(ACCEPT_ENCODING) {
        for item in value.to_str().unwrap_or_default().split(',') {
            let (name, parameters) = item.split_once(';').unwrap_or((item, ""));
            weights.push((name.trim(), weight(parameters)));
        }
    }
    let of = |name: &str| {
        let own = weights.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        own.or_else(|| weights.iter().find(|(known, _)| *known == "*")).map(|(_, weight)| *weight)
    };
    let plain =
        weights.iter().find(|(known, _)| known.eq_ignore_ascii_case("identity")).map_or(0, |(_, weight)| *weight);
    let mut best = None;
    for coding in offered {
        let own =
            of(coding.as_str()).or_else(|| (*coding == Coding::Gzip).then(|| of("x-gzip")).flatten()).unwrap_or(0);
        if own > 0 && own >= plain && best.is_none_or(|(_, weight)| own > weight) {
            best = Some((*coding, own));
        }
    }
    best.map(|(coding, _)| coding)
}

/// A weight in thousandths; what is no weight refuses.
fn weight(parameters: &str) -> u32 {
    let Some(text) = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then_some(value.trim())
    }) else {
        return 1_000;
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{part:0<3}");
    let fits = matches!(whole, "0" | "1") && part.len() <= 3;
    digits.parse().ok().filter(|weight| fits && *weight <= 1_000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: &[Coding] = &[Coding::Brotli, Coding::Gzip];

    fn of(accepted: &str) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accepted).unwrap());
        chosen(&headers, BOTH).map(Coding::as_str)
    }

    #[test]
    fn the_client_gets_what_it_likes_best_and_never_what_it_refuses() {
        for (accepted, coding) in [
            ("gzip, deflate, br, zstd", Some("br")),
            ("gzip", Some("gzip")),
            ("GZIP", Some("gzip")),
            ("x-gzip", Some("gzip")),
            ("br;q=0.5, gzip;q=0.8", Some("gzip")),
            ("br;q=0.001", Some("br")),
            ("br;q=0, gzip;q=0", None),
            ("br;q=0.000, *", Some("gzip")),
            ("*", Some("br")),
            ("*;q=0", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip;q=0.5", Some("gzip")),
            ("identity", None),
            ("deflate", None),
            ("", None),
            ("br; Q = 0.2 ,gzip ; q=0.3", Some("gzip")),
            ("br;q=2, gzip;q=0.1", Some("gzip")),
            ("br;q=-1, gzip;q=x", None),
            ("br;q=1.001", None),
        ] {
            assert_eq!(of(accepted), coding, "{accepted:?}");
        }
        assert_eq!(chosen(&HeaderMap::new(), BOTH), None);
    }

    #[test]
    fn texts_are_compressed_and_events_and_images_are_not() {
        for kind in [
            "application/json",
            "text/csv",
            "text/markdown",
            "application/atom+xml",
            "application/x-ndjson",
            "application/geo+json",
            "image/svg+xml",
        ] {
            assert!(compresses(kind), "{kind}");
        }
        for kind in ["text/event-stream", "image/x-icon", "application/octet-stream", "application/gzip", ""] {
            assert!(!compresses(kind), "{kind}");
        }
        assert_eq!(essence("text/csv; charset=utf-8"), "text/csv");
    }

    #[test]
    fn answers_that_a_secret_was_shown_for_are_sent_as_they_are() {
        let route = Route::get("/x", |_| Box::pin(std::future::ready(Err(crate::Error::internal("unused")))));
        let asked = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("br"));
            headers.insert(name, HeaderValue::from_static("x"));
            let request = Request { headers, ..Request::default() };
            Asked::of(&route, &request).varies
        };
        assert!(asked("x-request-id") && asked("if-none-match"));
        for secret in [
            "x-api-key",
            "x-agent-key",
            "x-admin-key",
            "x-sentinel-admin-key",
            "x-svc-signature",
            "x-svc-subscriber-key",
            "x-svc-proof",
            "authorization",
            "cookie",
        ] {
            assert!(!asked(secret), "{secret}");
        }
        assert!(!asked("range"), "a part is one of the body as it is");
    }

    #[test]
    fn a_strong_tag_becomes_weak_and_a_list_of_names_is_completed_once() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, HeaderValue::from_static("\"a\""));
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        for _ in 0..2 {
            weaken(&mut headers);
            vary(&mut headers);
        }
        assert_eq!(headers[ETAG], "W/\"a\"");
        let all: Vec<_> = headers.get_all(VARY).iter().collect();
        assert_eq!(all, ["Accept", "Accept-Encoding"]);
    }
}
