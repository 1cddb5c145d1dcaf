//! Whole answers that may be late, kept where many readers ask (decision late-answers).
//!
//! In an isolate of the Worker every list would ask one object for the whole world, at every request. Where the route
//! says that its answers may be late, one is kept until the publish interval ends: in the isolate, and behind it in the
//! cache of the place. So the object is asked once per interval and place. What is exact is never kept: requests with a
//! key, and questions about a moment.

use std::collections::HashSet;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::budget::has_budget_headers;
use super::document::holds;
use super::{Body, Caller, Request, Response, Route};
use crate::actor::{decode, encode};
use crate::runtime::{Runtime, SharedAnswers};
use crate::time::SECOND;

/// Headers that make an answer one for this caller.
const KEYS: [&str; 4] = ["x-api-key", "x-agent-key", "x-admin-key", "authorization"];

/// How often, and how many times at most, a request looks whether another one has made the answer.
const LOOK: Duration = Duration::from_millis(5);
const LOOKS: usize = 200;

/// Largest body that is kept, in bytes.
const LARGEST: usize = 1 << 20;

/// Answers that a request of this process is making.
#[derive(Default)]
struct Making(Mutex<HashSet<Vec<u8>>>);

impl Making {
    fn lock(&self) -> MutexGuard<'_, HashSet<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the making when it is dropped, also with a client that went away.
struct Maker<'a>(&'a Making, &'a [u8]);

impl Drop for Maker<'_> {
    fn drop(&mut self) {
        self.0.lock().remove(self.1);
    }
}

/// The name of an answer that may be late, in this publish interval.
pub(super) struct Name(Vec<u8>);

impl Name {
    /// `None` where the answer is made for every request.
    pub fn of(rt: &dyn Runtime, route: &Route, request: &Request, caller: &Caller) -> Option<Name> {
        let environment = rt.environment();
        if !route.late || !environment.shares_reads || !matches!(caller, Caller::Public) {
            return None;
        }
        let mut query: Vec<&str> = request.query.split('&').filter(|pair| !pair.is_empty()).collect();
        query.sort_unstable();
        let of_a_moment = query.iter().any(|pair| pair.starts_with("as_of"));
        if of_a_moment || KEYS.iter().any(|key| request.headers.contains_key(*key)) {
            return None;
        }
        let interval = i64::from(environment.settings.publish_interval) * SECOND;
        let period = rt.now().0.checked_div_euclid(interval)?;
        let header = |name: HeaderName| request.headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
        let manner = (header(ACCEPT), header(ACCEPT_LANGUAGE));
        encode(&("late answer", period, route.path, &request.path, query, manner)).ok().map(Name)
    }

    /// The answer that was kept, or the one that `make` makes.
    pub async fn answer(
        self,
        rt: &dyn Runtime,
        tags: Option<HeaderValue>,
        make: impl Future<Output = Response>,
    ) -> Response {
        let making = rt.environment().shared::<Making>();
        for _ in 0..LOOKS {
            if let Some(kept) = self.kept(rt, tags.as_ref()) {
                return kept;
            }
            if making.lock().insert(self.0.clone()) {
                let _maker = Maker(&making, &self.0);
                if let Some(shared) = rt.shared_answers()
                    && let Some(kept) = self.of_this_place(rt, shared, tags.as_ref()).await
                {
                    return kept;
                }
                let response = make.await;
                if let Some((head, body)) = self.keep(rt, &response)
                    && let Some(shared) = rt.shared_answers()
                    && let Ok(answer) = encode(&(head, &body[..]))
                {
                    shared.put(&self.0, answer, rt.environment().settings.publish_interval).await;
                }
                return response;
            }
            rt.sleep(LOOK).await;
        }
        make.await
    }

    fn kept(&self, rt: &dyn Runtime, tags: Option<&HeaderValue>) -> Option<Response> {
        let pages = &rt.environment().pages;
        let (head, body) = (pages.get(&self.part(0))?, pages.get(&self.part(1))?);
        let mut headers = HeaderMap::new();
        for (name, value) in decode::<Vec<(String, Vec<u8>)>>(&head).ok()? {
            headers.append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&value).ok()?);
        }
        let (mut status, mut body) = (StatusCode::OK, body);
        let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let known = tags.and_then(|tags| tags.to_str().ok());
        if tag.zip(known).is_some_and(|(tag, known)| holds(known, tag)) {
            (status, body) = (StatusCode::NOT_MODIFIED, Bytes::new());
            headers.remove(CONTENT_TYPE);
        }
        Some(Response { status, headers, body: Body::Bytes(body), cause: None })
    }

    /// The answer that another process of this place made; this one keeps it as well.
    async fn of_this_place(
        &self,
        rt: &dyn Runtime,
        shared: &dyn SharedAnswers,
        tags: Option<&HeaderValue>,
    ) -> Option<Response> {
        let (head, body): (Vec<u8>, Vec<u8>) = decode(&shared.get(&self.0).await?).ok()?;
        self.keep_parts(rt, head, body.into());
        self.kept(rt, tags)
    }

    /// Head and body of what was kept; `None` for an answer that must not be kept.
    fn keep(&self, rt: &dyn Runtime, response: &Response) -> Option<(Vec<u8>, Bytes)> {
        let Body::Bytes(body) = &response.body else { return None };
        if response.status != StatusCode::OK || body.len() > LARGEST || has_budget_headers(response) {
            return None;
        }
        let headers = response.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let head = encode(&headers.collect::<Vec<_>>()).ok()?;
        self.keep_parts(rt, head.clone(), body.clone());
        Some((head, body.clone()))
    }

    fn keep_parts(&self, rt: &dyn Runtime, head: Vec<u8>, body: Bytes) {
        let pages = &rt.environment().pages;
        pages.put(self.part(0), head.into());
        pages.put(self.part(1), body);
    }

    fn part(&self, number: u8) -> Vec<u8> {
        [self.0.as_slice(), &[number]].concat()
    }
}

/// The entity tags that a client has.
pub(super) fn tags(request: &Request) -> Option<HeaderValue> {
    request.headers.get(IF_NONE_MATCH).cloned()
}
