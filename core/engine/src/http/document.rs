//! Published documents as answers: validators, age, 304.

use bytes::Bytes;
use http::header::{AGE, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::{Body, Request, Response, message};
use crate::Timestamp;
use crate::documents::Document;
use crate::time::SECOND;

/// When the document was made; a CSV has no member for it (decision published-documents).
const X_GENERATED_AT: HeaderName = HeaderName::from_static("x-generated-at");

/// A document with the headers of its answers, made when it is published and not for every request.
#[derive(Debug, Clone)]
pub struct Ready {
    etag: String,
    body: Bytes,
    generated: Timestamp,
    /// Of the answer that carries the body; `Age` has a place in it.
    whole: HeaderMap,
    /// Of a 304.
    unchanged: HeaderMap,
}

impl From<Document> for Ready {
    fn from(document: Document) -> Self {
        let mut unchanged = HeaderMap::with_capacity(10);
        message::open_to_all(&mut unchanged);
        unchanged.insert(AGE, HeaderValue::from_static("0"));
        message::set(&mut unchanged, CACHE_CONTROL, &format!("public, max-age={}", document.max_age));
        message::set(&mut unchanged, ETAG, &document.etag);
        message::set(&mut unchanged, X_GENERATED_AT, &document.generated.to_millis_text());
        if let Some(disposition) = &document.disposition {
            message::set(&mut unchanged, CONTENT_DISPOSITION, disposition);
        }
        let mut whole = unchanged.clone();
        message::set(&mut whole, CONTENT_TYPE, &document.content_type);
        Ready { etag: document.etag, body: document.body, generated: document.generated, whole, unchanged }
    }
}

impl Ready {
    /// Bytes of the body.
    pub fn size(&self) -> usize {
        self.body.len()
    }

    pub fn body(&self) -> &Bytes {
        &self.body
    }

    pub fn etag(&self) -> &str {
        &self.etag
    }

    pub fn generated(&self) -> Timestamp {
        self.generated
    }

    /// The document, or 304 when the client has it (RFC 9110 section 13.1.2), with its age in seconds at `now`.
    pub fn answer(&self, request: &Request, now: Timestamp) -> Response {
        let known = request.headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
        let (status, headers, body) = match known.is_some_and(|tags| holds(tags, &self.etag)) {
            true => (StatusCode::NOT_MODIFIED, &self.unchanged, Bytes::new()),
            false => (StatusCode::OK, &self.whole, self.body.clone()),
        };
        let mut headers = headers.clone();
        if let Ok(age @ 1..) = u64::try_from(now.since(self.generated) / SECOND) {
            headers.insert(AGE, HeaderValue::from(age));
        }
        Response { status, headers, body: Body::Bytes(body), cause: None }
    }
}

/// Adds the validators to an answer made for this request; 304 when the client has this body already.
pub fn revalidated(request: &Request, mut response: Response, etag: &str, max_age: u32) -> Response {
    let known = request.headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    if known.is_some_and(|tags| holds(tags, etag)) {
        response.status = StatusCode::NOT_MODIFIED;
        response.headers.remove(CONTENT_TYPE);
        response.body = Body::Bytes(Bytes::new());
    }
    response.with(ETAG, etag).with(CACHE_CONTROL, &format!("public, max-age={max_age}"))
}

/// Whether a list of entity tags names this one, by weak comparison.
pub(super) fn holds(tags: &str, etag: &str) -> bool {
    let etag = etag.trim_start_matches("W/");
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/") == etag;
    tags.trim() == "*" || tags.split(',').any(opaque)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        Document {
            key: "probe".to_owned(),
            content_type: "text/csv; charset=utf-8".to_owned(),
            body: Bytes::from_static(b"a,b\n"),
            etag: "\"a\"".to_owned(),
            generated: Timestamp::from_seconds(1_700_000_000),
            generation: 1,
            max_age: 60,
            disposition: Some("attachment; filename=\"a.csv\"".to_owned()),
        }
    }

    fn answer(tags: Option<&'static str>, seconds: i64) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(tags) = tags {
            headers.insert(IF_NONE_MATCH, HeaderValue::from_static(tags));
        }
        let request = Request { path: "/".to_owned(), headers, ..Request::default() };
        Ready::from(document()).answer(&request, Timestamp::from_seconds(1_700_000_000 + seconds))
    }

    fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
        response.headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[test]
    fn validators_match_weakly_and_in_lists() {
        for given in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert_eq!(answer(Some(given), 0).status, StatusCode::NOT_MODIFIED, "{given}");
        }
        assert_eq!(answer(Some("\"b\""), 0).status, StatusCode::OK);
    }

    #[test]
    fn an_answer_tells_its_type_and_age_and_a_304_carries_nothing() {
        let whole = answer(None, 75);
        assert!(matches!(&whole.body, Body::Bytes(bytes) if bytes == "a,b\n"));
        assert_eq!(header(&whole, "content-type"), Some("text/csv; charset=utf-8"));
        let unchanged = answer(Some("*"), 75);
        assert!(matches!(&unchanged.body, Body::Bytes(bytes) if bytes.is_empty()));
        assert_eq!(header(&unchanged, "content-type"), None);
        for response in [whole, unchanged] {
            assert_eq!(header(&response, "age"), Some("75"));
            assert_eq!(header(&response, "etag"), Some("\"a\""));
            assert_eq!(header(&response, "cache-control"), Some("public, max-age=60"));
            assert_eq!(header(&response, "content-disposition"), Some("attachment; filename=\"a.csv\""));
        }
    }

    /// The clock of the place that rendered a document may be ahead.
    #[test]
    fn a_document_of_the_future_has_no_negative_age() {
        assert_eq!(header(&answer(None, -5), "age"), Some("0"));
    }
}
