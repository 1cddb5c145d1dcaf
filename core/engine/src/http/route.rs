//! One row of the route table.

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Cx, Deprecated, Param, Response};
use crate::Result;
use crate::runtime::BoxFuture;

/// Who may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// Anybody; a key that is sent along is ignored.
    None,
    /// `X-API-Key`.
    Key,
    /// `X-Agent-Key`.
    Agent,
    /// `X-Admin-Key`.
    Admin,
    /// `X-Sentinel-Admin-Key`, or the subscriber key of an alert subscription.
    Sentinel,
    /// An agent's signature inside the body, which the handler checks.
    Signed,
    /// That, or the signature of an admin key of the ledger.
    SignedOrAdmin,
    /// The signature of an admin key of the ledger.
    SignedAdmin,
    /// The token of a probe as bearer.
    Probe,
    /// The token of a probe in the body or as bearer, which the handler checks.
    Token,
}

/// Which budget a request draws on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    None,
    /// The tier of the API key.
    Key,
    /// The agent's own bucket.
    Agent,
    /// As [`Limit::Agent`], but over budget the request waits up to 5 s and is then answered 503, never 429: existing
    /// clients lose messages on a 429 (decision patient-sends).
    AgentPatient,
    /// Per client address, by the setting of that name.
    Accessibility,
    Data,
    Forecast,
    Incidents,
    /// Registrations per client address and hour.
    Registration,
    /// Disputes per client address and hour.
    Disputes,
    /// Reports of outcomes per key and hour.
    Reports,
    /// Registrations of probes per client address and hour.
    Probes,
    /// Key sign-ups per client address and day.
    Signup,
    /// Reads of the ledger per client address.
    PayRead,
    /// Writes of the ledger per client address, before any signature is checked (decision verified-write-limits).
    PayWrite,
}

/// What a route reads as body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyKind {
    None,
    Json,
    /// Any bytes, whatever the media type.
    Raw,
}

pub type Handler = fn(Cx) -> BoxFuture<'static, Result<Response>>;
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Makes a [`Handler`] of an `async fn(Cx) -> Result<Response>`.
#[macro_export]
macro_rules! handler {
    ($function:path) => {
        |cx| Box::pin($function(cx))
    };
}
pub use crate::handler;

/// One endpoint.
pub struct Route {
    pub method: Method,
    /// The path as in the interface, parameters in braces; `{*rest}` takes the remaining segments.
    pub path: &'static str,
    pub handler: Handler,
    pub auth: Auth,
    pub limit: Limit,
    pub body: BodyKind,
    /// Largest body in bytes.
    pub max_body: usize,
    /// A GET that writes or streams: not run for HEAD (decision caller-rate-limits).
    pub effectful: bool,
    /// Not in the interface nor in the clients' pages, but ours (decision listed-extensions).
    pub extension: bool,
    pub summary: &'static str,
    pub params: &'static [Param],
    pub request: Option<SchemaOf>,
    pub response: Option<SchemaOf>,
    /// Media types of its answers, where they are more or other than JSON (and CSV by `format`).
    pub media: &'static [&'static str],
    /// Whether failures have the type of the answer (JSON-RPC), for the documentation.
    pub own_failures: bool,
    /// Changes an answer before it goes; given the brand too.
    pub dress: Option<fn(&mut Response, &str)>,
    /// A registration that waits for its DID may call it too (decision signed-registrations).
    pub waiting: bool,
    /// A page for people, or an image or a file of one. It is no part of the interface (decision pages).
    pub page: bool,
    /// Where many readers ask, an answer may be as old as the publish interval (decision late-answers).
    pub late: bool,
    /// It gives way to another route.
    pub deprecated: Option<Deprecated>,
    /// Status of success, for the documentation.
    pub success: u16,
}

/// The largest body that any route reads, in bytes.
pub const LARGEST_BODY: usize = 8 << 20;

/// Default body limit (decision request-size-limits).
pub const SMALL_BODY: usize = 64 * 1024;

impl Route {
    const fn new(method: Method, path: &'static str, handler: Handler, body: BodyKind) -> Self {
        Route {
            method,
            path,
            handler,
            auth: Auth::None,
            limit: Limit::None,
            body,
            max_body: SMALL_BODY,
            effectful: false,
            extension: false,
            summary: "",
            params: &[],
            request: None,
            response: None,
            media: &[],
            own_failures: false,
            dress: None,
            waiting: false,
            page: false,
            late: false,
            deprecated: None,
            success: 200,
        }
    }

    pub const fn get(path: &'static str, handler: Handler) -> Self {
        Route::new(Method::GET, path, handler, BodyKind::None)
    }

    pub const fn post(path: &'static str, handler: Handler) -> Self {
        Route::new(Method::POST, path, handler, BodyKind::Json)
    }

    pub const fn put(path: &'static str, handler: Handler) -> Self {
        Route::new(Method::PUT, path, handler, BodyKind::Json)
    }

    pub const fn patch(path: &'static str, handler: Handler) -> Self {
        Route::new(Method::PATCH, path, handler, BodyKind::Json)
    }

    pub const fn delete(path: &'static str, handler: Handler) -> Self {
        Route::new(Method::DELETE, path, handler, BodyKind::None)
    }

    /// A page for people, or an image or a file of one.
    pub const fn page(path: &'static str, handler: Handler) -> Self {
        let mut route = Route::get(path, handler).extension();
        route.page = true;
        route
    }

    /// A form of a page.
    pub const fn form(path: &'static str, handler: Handler) -> Self {
        let mut route = Route::new(Method::POST, path, handler, BodyKind::Raw).extension();
        route.page = true;
        route
    }

    /// Needs `X-API-Key` and draws on its tier.
    pub const fn key(mut self) -> Self {
        self.auth = Auth::Key;
        self.limit = Limit::Key;
        self
    }

    /// Needs `X-Agent-Key` and draws on the agent's budget.
    pub const fn agent(mut self) -> Self {
        self.auth = Auth::Agent;
        self.limit = Limit::Agent;
        self
    }

    /// Needs `X-Admin-Key`.
    pub const fn admin(mut self) -> Self {
        self.auth = Auth::Admin;
        self
    }

    /// Needs `X-Sentinel-Admin-Key`.
    pub const fn sentinel(mut self) -> Self {
        self.auth = Auth::Sentinel;
        self.limit = Limit::Reports;
        self
    }

    /// Takes a signature inside the body, or the token of a probe, instead of a key; or nothing, where `auth` says so.
    pub const fn signed(mut self, auth: Auth) -> Self {
        self.auth = auth;
        self
    }

    /// Its answers may be late where many readers ask.
    pub const fn late(mut self) -> Self {
        self.late = true;
        self
    }

    /// Gives way to another route: its answers and the documentation say so.
    pub const fn deprecated(mut self, deprecated: Deprecated) -> Self {
        self.deprecated = Some(deprecated);
        self
    }

    pub const fn waiting(mut self) -> Self {
        self.waiting = true;
        self
    }

    /// Has every answer go through `dress`.
    pub const fn dressed(mut self, dress: fn(&mut Response, &str)) -> Self {
        self.dress = Some(dress);
        self
    }

    pub const fn limit(mut self, limit: Limit) -> Self {
        self.limit = limit;
        self
    }

    /// Reads no body.
    pub const fn bodiless(mut self) -> Self {
        self.body = BodyKind::None;
        self
    }

    /// Reads any bytes up to `max` as body.
    pub const fn raw_body(mut self, max: usize) -> Self {
        self.body = BodyKind::Raw;
        self.max_body = max;
        self
    }

    pub const fn max_body(mut self, max: usize) -> Self {
        self.max_body = max;
        self
    }

    /// An agent's open stream: it draws on no budget, and holds its client while storage is closed.
    pub fn streams(&self) -> bool {
        self.effectful && self.auth == Auth::Agent && self.limit == Limit::None
    }

    pub const fn effectful(mut self) -> Self {
        self.effectful = true;
        self
    }

    pub const fn extension(mut self) -> Self {
        self.extension = true;
        self
    }

    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.summary = summary;
        self
    }

    pub const fn params(mut self, params: &'static [Param]) -> Self {
        self.params = params;
        self
    }

    /// Media types of its answers, for the documentation. Without this it is JSON where there is a schema, and CSV too
    /// where the parameter `format` can be `csv`.
    pub const fn answers(mut self, media: &'static [&'static str]) -> Self {
        self.media = media;
        self
    }

    /// The JSON body it reads.
    pub const fn accepts<T: JsonSchema>(mut self) -> Self {
        self.request = schema::<T>();
        self
    }

    /// The JSON it answers with 200.
    pub const fn returns<T: JsonSchema>(mut self) -> Self {
        self.response = schema::<T>();
        self
    }

    /// Answers success by changing the protocol.
    pub const fn upgrades(mut self) -> Self {
        self.success = 101;
        self
    }

    /// The JSON body it takes: one of two types, by who asks.
    pub const fn accepts_either<A: JsonSchema, B: JsonSchema>(mut self) -> Self {
        self.request = either::<A, B>();
        self
    }

    /// The JSON it answers with 200: one of two types, by what is asked.
    pub const fn returns_either<A: JsonSchema, B: JsonSchema>(mut self) -> Self {
        self.response = either::<A, B>();
        self
    }

    /// Its failures have the type of its answers, and a message without an answer is taken with 202.
    pub const fn own_failures(mut self) -> Self {
        self.own_failures = true;
        self
    }

    /// The JSON it answers with 201.
    pub const fn creates<T: JsonSchema>(mut self) -> Self {
        self.response = schema::<T>();
        self.success = 201;
        self
    }
}

/// Schemas are generated natively; the Worker serves the document that was generated, so that it need not carry the
/// generators.
#[cfg(not(target_arch = "wasm32"))]
const fn schema<T: JsonSchema>() -> Option<SchemaOf> {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
    Some(of::<T>)
}

#[cfg(target_arch = "wasm32")]
#[allow(clippy::extra_unused_type_parameters)]
const fn schema<T: JsonSchema>() -> Option<SchemaOf> {
    None
}

#[cfg(not(target_arch = "wasm32"))]
const fn either<A: JsonSchema, B: JsonSchema>() -> Option<SchemaOf> {
    fn of<A: JsonSchema, B: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
        let (one, other) = (generator.subschema_for::<A>(), generator.subschema_for::<B>());
        schemars::json_schema!({ "oneOf": [one, other] })
    }
    Some(of::<A, B>)
}

#[cfg(target_arch = "wasm32")]
#[allow(clippy::extra_unused_type_parameters)]
const fn either<A: JsonSchema, B: JsonSchema>() -> Option<SchemaOf> {
    None
}
