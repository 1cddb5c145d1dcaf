//! Taking parameters and bodies apart, with errors that name what is wrong.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LINK};
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::computing::Computes;
use super::router::{self, Params, readable};
use super::{Auth, Body, Caller, Request, Response, Route, budget, document, unfit};
use crate::apart;
use crate::documents;
use crate::runtime::{self, BoxFuture, Runtime};
use crate::settings::Settings;
use crate::time::SECOND;
use crate::{Error, Result, Timestamp};

/// A time that an answer can be about: nothing is known of those before 1970.
pub fn known_time(name: &str, time: Option<Timestamp>) -> Result<Option<Timestamp>> {
    match time {
        Some(time) if time < Timestamp(0) => {
            Err(Error::bad_request(format!("`{name}` lies before 1970: nothing is known of that time.")))
        }
        time => Ok(time),
    }
}

/// A time in a query. A plus sign that a client left unencoded arrives as a space before the offset.
fn read_time(name: &str, text: &str, read: impl Fn(&str) -> Option<Timestamp>) -> Result<Timestamp> {
    read(text)
        .or_else(|| read(&text.replacen(' ', "+", 1)))
        .ok_or_else(|| Error::bad_request(format!("Query parameter `{name}` must be an ISO 8601 time.")))
}

/// What a handler gets.
pub struct Cx {
    pub rt: Arc<dyn Runtime>,
    pub request: Request,
    pub route: &'static Route,
    pub caller: Caller,
    pub(super) path: Params,
}

impl Cx {
    pub fn settings(&self) -> &Settings {
        &self.rt.environment().settings
    }

    pub fn now(&self) -> Timestamp {
        self.rt.now()
    }

    /// The settings as they are for this request: what a proxy passes on comes from the world (decision
    /// faucet-addresses).
    pub fn figures(&self) -> &Settings {
        budget::figures(self.rt.environment(), &self.request).0
    }

    /// What a GET of this path answers to the same caller, for answers made of others. Draws on no budget. The route
    /// must want no more of the caller than this one.
    pub async fn ask(&self, path: &str, query: &str) -> Result<Bytes> {
        let wants = |route: &Route| route.auth == Auth::None || route.auth == self.route.auth;
        let (route, params) = readable(self.rt.environment().program, path)
            .filter(|(route, _)| wants(route))
            .ok_or_else(|| Error::internal(format!("{path} cannot be asked for")))?;
        let request = Request {
            method: Method::GET,
            path: path.to_owned(),
            query: query.to_owned(),
            headers: self.request.headers.clone(),
            body: Bytes::new(),
            client: self.request.client,
            forwarded: self.request.forwarded,
            network: self.request.network,
            key: None,
        };
        let cx = Cx { rt: self.rt.clone(), request, route, caller: self.caller.clone(), path: params };
        match (route.handler)(cx).await?.body {
            Body::Bytes(bytes) => Ok(bytes),
            Body::Stream(_) => Err(Error::internal(format!("{path} is a stream"))),
        }
    }

    /// What the program answers to another request of the same client. It is checked, limited and counted as if the
    /// client had sent it by itself, and carries only the headers that it is given.
    pub fn pass_on(&self, request: Request) -> BoxFuture<'static, Response> {
        let Request { client, forwarded, network, .. } = self.request;
        let request = Request { client, forwarded, network, key: None, ..request };
        Box::pin(router::serve(self.rt.clone(), request))
    }

    /// What a GET of this path answers, for what the deployment asks itself: on behalf of nobody, out of no budget.
    pub async fn ask_ourselves(rt: Arc<dyn Runtime>, path: &str, query: &str) -> Result<Response> {
        let (route, params) = readable(rt.environment().program, path)
            .filter(|(route, _)| route.auth == Auth::None)
            .ok_or_else(|| Error::internal(format!("{path} cannot be asked for")))?;
        let (path, query) = (path.to_owned(), query.to_owned());
        let request = Request { path, query, ..Request::default() };
        Ok((route.handler)(Cx { rt, request, route, caller: Caller::Public, path: params })
            .await
            .unwrap_or_else(Response::error))
    }

    /// The header `Idempotency-Key`, of at most so many characters; one that cannot be read is refused, since ignoring
    /// it would do twice what is wanted once.
    pub fn idempotency_key(&self, max: usize) -> Result<Option<&str>> {
        let key = self.request.header("idempotency-key");
        let usable = key.is_some_and(|key| (1..=max).contains(&key.len()));
        if self.request.headers.contains_key("idempotency-key") && !usable {
            return Err(Error::bad_request(format!("`Idempotency-Key` must be 1 to {max} visible ASCII characters.")));
        }
        Ok(key)
    }

    /// The client's address, as the name of a bucket.
    pub fn address(&self) -> String {
        budget::address(self.request.client)
    }

    /// A path parameter, percent-decoded. Encoded slashes stay inside the parameter.
    pub fn path(&self, name: &str) -> Result<&str> {
        self.path
            .iter()
            .find_map(|(key, value)| (*key == name).then_some(value.as_str()))
            .ok_or_else(|| Error::internal(format!("route {} has no parameter {name}", self.route.path)))
    }

    /// The last value of a query parameter; an empty one counts as absent.
    pub fn query(&self, name: &str) -> Result<Option<String>> {
        let mut found = None;
        for pair in self.request.query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if decode(key).is_ok_and(|key| key == name) {
                let refuse = |()| Error::bad_request(format!("Query parameter `{name}` is not valid UTF-8."));
                found = Some(decode(value).map_err(refuse)?);
            }
        }
        Ok(found.filter(|value| !value.is_empty()).map(Cow::into_owned))
    }

    pub fn required(&self, name: &str) -> Result<String> {
        self.query(name)?.ok_or_else(|| Error::bad_request(format!("Query parameter `{name}` is required.")))
    }

    /// A whole number from 1; over `max` it is clamped, zero, negative or not a number is refused.
    pub fn count(&self, name: &str, default: u32, max: u32) -> Result<u32> {
        let Some(text) = self.query(name)? else { return Ok(default.min(max)) };
        let refuse = || Error::bad_request(format!("Query parameter `{name}` must be a whole number from 1."));
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refuse());
        }
        // More digits than fit is far over the maximum, and clamped like everything over it.
        match text.parse::<u64>().unwrap_or(u64::MAX) {
            0 => Err(refuse()),
            number => Ok(u32::try_from(number).unwrap_or(u32::MAX).min(max)),
        }
    }

    /// A number that may be 0, such as an offset.
    pub fn offset(&self, name: &str) -> Result<u64> {
        let Some(text) = self.query(name)? else { return Ok(0) };
        text.parse::<u64>()
            .map_err(|_| Error::bad_request(format!("Query parameter `{name}` must be a whole number from 0.")))
    }

    /// `true` or `false`; `1` and `0` too.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        match self.query(name)?.as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(Error::bad_request(format!("Query parameter `{name}` must be true or false."))),
        }
    }

    /// A point in time.
    pub fn time(&self, name: &str) -> Result<Option<Timestamp>> {
        let Some(text) = self.query(name)? else { return Ok(None) };
        read_time(name, &text, Timestamp::parse).map(Some)
    }

    /// The query parameter `as_of`: the time that an answer is about (decision answers-about-a-time). It may lie ahead:
    /// then the answer says what will be left of today's evidence. A day stands for its end.
    pub fn as_of(&self) -> Result<Option<Timestamp>> {
        let Some(text) = self.query("as_of")? else { return Ok(None) };
        let moment = |text: &str| Timestamp::parse_moment(text, self.now());
        known_time("as_of", Some(read_time("as_of", &text, moment)?))
    }

    /// Names the next page of a list in the header `Link` (RFC 8288), for forms that have no place for it such as CSV: the
    /// same request with another cursor, which is made of signs that stand in queries as they are.
    pub fn lead_on(&self, response: &mut Response, cursor: &str) {
        let kept = self.request.query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("cursor="));
        let cursor = format!("cursor={cursor}");
        let pairs: Vec<&str> = kept.chain([cursor.as_str()]).collect();
        response.set(LINK, &format!("<{}?{}>; rel=\"next\"", self.request.path, pairs.join("&")));
    }

    /// The answer that a published document is.
    pub async fn document(&self, key: &str) -> Result<Response> {
        Ok(runtime::document(&*self.rt, key).await?.answer(&self.request, self.now()))
    }

    /// A JSON answer that is late by at most the publish interval, as documents are: it rests on many actors or many
    /// rows, and is made once per interval and target, not for every request. The caller adds headers to what it
    /// returns.
    pub async fn kept(&self, make: impl Future<Output = Result<Response>>) -> Result<Response> {
        self.kept_as(&format!("{}?{}", self.request.path, self.request.query), make).await
    }

    /// The same under a name of its own: of what a body asks for, and of parts that several answers are made of. It
    /// begins with a path of the route that makes it, so that no two routes share one.
    pub async fn kept_as(&self, name: &str, make: impl Future<Output = Result<Response>>) -> Result<Response> {
        if let Some(body) = self.page(name) {
            return Ok(Response::new(StatusCode::OK, "application/json", body));
        }
        self.room().await;
        let response = make.await?;
        if let (StatusCode::OK, Body::Bytes(body)) = (response.status, &response.body) {
            self.keep(name, body);
        }
        Ok(response)
    }

    /// Waits until what is not kept may be made, unless this route makes it of few rows.
    async fn room(&self) {
        if self.rt.environment().program.computes(self.route) != Computes::Never {
            apart::room().await;
        }
    }

    /// What was kept under a name in this publish interval.
    pub fn page(&self, name: &str) -> Option<Bytes> {
        self.rt.environment().pages.get(&self.page_key(name)?)
    }

    /// Keeps an answer, or a part of one, until this publish interval ends.
    pub fn keep(&self, name: &str, body: &Bytes) {
        if let Some(key) = self.page_key(name) {
            self.rt.environment().pages.put(key, body.clone());
        }
    }

    /// `None` where documents are made for every request.
    fn page_key(&self, name: &str) -> Option<Vec<u8>> {
        let interval = i64::from(self.settings().publish_interval) * SECOND;
        let period = self.now().0.checked_div_euclid(interval)?;
        Some([name.as_bytes(), &period.to_be_bytes()].concat())
    }

    /// An answer made for this request, with a tag of its own body; of JSON without the time of making.
    pub fn tagged(&self, response: Response, max_age: u32) -> Result<Response> {
        let Body::Bytes(body) = &response.body else { return Err(Error::internal("a stream has no tag of its own")) };
        let etag = match response.headers.get(CONTENT_TYPE).is_some_and(|kind| kind == "application/json") {
            true => documents::json_etag(body),
            false => documents::etag(body),
        };
        Ok(document::revalidated(&self.request, response, &etag, max_age))
    }

    /// A tagged JSON answer that is made once and never late: it is a function of `key` alone, which names what was
    /// asked, the revision of all that was read and the manner in which it is written. So its tag is one of the key:
    /// hashing a page of 300 kB would cost as much as making it, and whoever has it gets 304 before anything is read.
    pub async fn kept_by(
        &self,
        key: &impl Serialize,
        max_age: u32,
        make: impl Future<Output = Result<Response>>,
    ) -> Result<Response> {
        let key = crate::actor::encode(key)?;
        let address = self.settings().base_url();
        let tag = documents::etag(&[env!("CARGO_PKG_VERSION").as_bytes(), address.as_bytes(), &key].concat());
        let unchanged = self.revalidated(Response::json_text(Vec::new()), &tag, max_age);
        if unchanged.status == StatusCode::NOT_MODIFIED {
            return Ok(unchanged);
        }
        let pages = &self.rt.environment().pages;
        if let Some(body) = pages.get(&key) {
            return Ok(self.revalidated(Response::new(StatusCode::OK, "application/json", body), &tag, max_age));
        }
        self.room().await;
        let response = make.await?;
        let Body::Bytes(body) = &response.body else { return Err(Error::internal("a stream cannot be kept")) };
        pages.put(key, body.clone());
        Ok(self.revalidated(response, &tag, max_age))
    }

    /// Adds the validators to an answer whose tag is known before its body; 304 when the client has it already.
    pub fn revalidated(&self, response: Response, etag: &str, max_age: u32) -> Response {
        document::revalidated(&self.request, response, etag, max_age)
    }

    /// The JSON body; absent counts as `{}` when `T` can be read from it.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        match self.request.body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None => parse_json(b"{}"),
            Some(b'{') => parse_json(&self.request.body),
            // Serde would read a struct from a list of its members.
            Some(_) => Err(Error::bad_request("The body must be a JSON object.")),
        }
    }
}

/// Deepest nesting of JSON that is read; serde_json refuses more than 128 by itself.
pub fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    // Checked as a whole, because members that nobody reads are skipped unseen otherwise.
    let text = std::str::from_utf8(body).map_err(|_| Error::bad_request("The body is not valid UTF-8."))?;
    serde_json::from_str(text).map_err(|error| Error::bad_request(unfit::reason(text, &error)))
}

/// A part of a query as text; borrowed when nothing in it is encoded, as in most.
fn decode(text: &str) -> Result<Cow<'_, str>, ()> {
    if !text.contains(['+', '%']) {
        return Ok(Cow::Borrowed(text));
    }
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().map(|text| Cow::Owned(text.into_owned())).map_err(|_| ())
}
