//! From a request to a response.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use matchit::Router;
use percent_encoding::percent_decode_str;

use super::budget;
use super::caller::{self, Admitted};
use super::coding;
use super::computing::{self, Computes, Who};
use super::late;
use super::{Auth, Body, BodyKind, Cx, MadeKey, Request, Response, Route, message};
use crate::program::Program;
use crate::runtime::{BoxFuture, Runtime};
use crate::settings::Settings;
use crate::{Error, ErrorCode};

/// A route, whether it computes, and its number.
type Listed = (&'static Route, Computes, usize);

/// The routes of a path.
type Methods = Vec<Listed>;

/// Path parameters in order, percent-decoded.
pub(super) type Params = Vec<(&'static str, String)>;

/// The routes of a program by their paths.
pub struct Routes(Router<Methods>);

impl Routes {
    pub fn of(program: &Program) -> Self {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for (number, route) in program.routes().enumerate() {
            by_path.entry(route.path).or_default().push((route, program.computes(route), number));
        }
        let mut router = Router::new();
        for (path, methods) in by_path {
            // A path that conflicts with another is a mistake in the table; a test inserts each one.
            let _ = router.insert(path, methods);
        }
        Routes(router)
    }
}

/// What the table of routes has for a path and a method.
enum PathMatch {
    Route(Matched),
    /// The path exists, the method does not.
    Methods(&'static Methods),
    Nothing,
}

/// A base address with a trailing slash makes clients send two slashes.
fn trimmed(path: &str) -> &str {
    match path.strip_prefix("//") {
        Some(rest) => path.get(path.len() - rest.len() - 1..).unwrap_or(path),
        None => path,
    }
}

fn find(program: &'static Program, method: &Method, path: &str) -> PathMatch {
    let Ok(matched) = program.router().0.at(trimmed(path)) else { return PathMatch::Nothing };
    let head = method == Method::HEAD;
    let wanted = if head { &Method::GET } else { method };
    match matched.value.iter().find(|(route, ..)| route.method == *wanted) {
        Some((route, computes, number)) if !(head && route.effectful) => {
            let mut params = Params::new();
            for (name, value) in matched.params.iter() {
                match percent_decode_str(value).decode_utf8() {
                    Ok(value) => params.push((name, value.into_owned())),
                    Err(_) => return PathMatch::Nothing,
                }
            }
            PathMatch::Route(Matched { route, number: *number, computes: *computes, params })
        }
        _ => PathMatch::Methods(matched.value),
    }
}

/// The route of this method whose path in the table is `path`, with these values of its parameters.
pub(super) fn named(program: &'static Program, method: &Method, path: &str, values: Vec<String>) -> Option<Matched> {
    // A path of the table matches itself.
    let PathMatch::Route(mut matched) = find(program, method, path) else { return None };
    if matched.route.path != path || matched.params.len() != values.len() {
        return None;
    }
    matched.params.iter_mut().zip(values).for_each(|((_, value), given)| *value = given);
    Some(matched)
}

/// The route of a GET of this path, for answers made of others.
pub(super) fn readable(program: &'static Program, path: &str) -> Option<(&'static Route, Params)> {
    match find(program, &Method::GET, path) {
        PathMatch::Route(Matched { route, params, .. }) if !route.effectful => Some((route, params)),
        _ => None,
    }
}

/// The route of a request, looked up once.
pub struct Matched {
    route: &'static Route,
    number: usize,
    computes: Computes,
    params: Params,
}

impl Matched {
    /// Most bytes of a body to read; [`too_large`] answers when there are more.
    pub fn max_body(&self) -> usize {
        self.route.max_body
    }

    /// The key whose actor should handle the request: the caller's own object on the edge, so that a route of an agent
    /// costs one hop (decision hops-of-a-route). Decided from the head alone; a made-up key names no object.
    pub fn home(&self, headers: &HeaderMap, rt: &dyn Runtime) -> Option<MadeKey> {
        if self.route.auth != Auth::Agent {
            return None;
        }
        let environment = rt.environment();
        environment.program.gates().find_map(|gate| gate.made_key(environment, headers))
    }

    /// The path of the route in the table of routes.
    pub fn path(&self) -> &'static str {
        self.route.path
    }

    /// The place of the route among [`Program::routes`], counted from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The values of the path parameters.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|(_, value)| value.as_str())
    }

    /// The answer of a shell to a request of this route that it cannot hand on.
    pub fn refusal(&self, error: Error, settings: &Settings) -> Response {
        finish(Response::error(error), self.route, &settings.brand)
    }
}

/// What a shell must know before it reads a body.
pub enum Preflight {
    /// [`admit`] it, read the body, then [`answer_admitted`]; or [`answer`] at once where there is none.
    Read(Matched),
    /// Answer this without reading the body.
    Answer(Box<Response>),
}

/// The answer to a body over its limit.
pub fn too_large(matched: &Matched, settings: &Settings) -> Response {
    let message = format!("The body is larger than the {} bytes this route reads.", matched.max_body());
    matched.refusal(Error::new(ErrorCode::PayloadTooLarge, message), settings)
}

/// An answer as the clients of its route want it.
fn dressed(mut response: Response, route: Option<&Route>, settings: &Settings) -> Response {
    if let Some(dress) = route.and_then(|route| route.dress) {
        dress(&mut response, &settings.brand);
    }
    response
}

/// Decides from the head of a request alone: unknown paths and methods, OPTIONS and media types are answered here.
pub fn preflight(
    program: &'static Program,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    settings: &Settings,
) -> Preflight {
    match look(program, method, path, settings) {
        Preflight::Read(matched) => match unsupported(matched.route, headers) {
            Some(error) => Preflight::Answer(Box::new(matched.refusal(error, settings))),
            None => Preflight::Read(matched),
        },
        answer => answer,
    }
}

fn finished(mut response: Response, open: bool) -> Preflight {
    cors(&mut response, open);
    Preflight::Answer(Box::new(response))
}

/// The route, or the answer where there is none.
fn look(program: &'static Program, method: &Method, path: &str, settings: &Settings) -> Preflight {
    match find(program, method, path) {
        PathMatch::Route(matched) => Preflight::Read(matched),
        PathMatch::Methods(methods) if method == Method::OPTIONS => {
            finished(options(methods, settings), is_open(methods))
        }
        PathMatch::Methods(methods) => {
            let error = Error::new(ErrorCode::MethodNotAllowed, format!("{method} is not a method of this path."));
            let response = dressed(Response::error(error), methods.first().map(|(route, ..)| *route), settings);
            finished(response.with(header::ALLOW, &allow(methods)), is_open(methods))
        }
        PathMatch::Nothing => {
            let response = Response::error(Error::new(ErrorCode::NoRoute, "No route has this path."));
            finished(dressed(response, neighbour(program, path), settings), true)
        }
    }
}

/// A route of the group that a path would belong to, whose errors clients of the group read. Only the ledger's differ, and
/// those of pages: an address of a page whose letters cannot be read has a page that says so.
fn neighbour(program: &'static Program, path: &str) -> Option<&'static Route> {
    let matched = program.router().0.at(trimmed(path)).ok();
    let page = matched.and_then(|matched| matched.value.iter().map(|(route, ..)| *route).find(|route| route.page));
    let pay = || readable(program, "/v1/pay/health").filter(|_| path.starts_with("/v1/pay/"));
    page.or_else(|| pay().map(|(route, _)| route))
}

/// The answer of a shell that cannot hand a request to [`serve`], readable from any page like every other.
pub fn refusal(error: Error) -> Response {
    let mut response = Response::error(error);
    cors(&mut response, true);
    response
}

fn is_open(methods: &Methods) -> bool {
    methods.iter().any(|(route, ..)| route.auth != Auth::Admin)
}

/// A body of a media type the route does not read. An empty body has no type, whatever the header says.
fn unsupported(route: &Route, headers: &HeaderMap) -> Option<Error> {
    if route.body != BodyKind::Json {
        return None;
    }
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if header("content-length") == Some("0") {
        return None;
    }
    let essence = header("content-type")?.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = essence == "application/json" || essence.ends_with("+json") || essence.is_empty();
    (!json).then(|| {
        let message = format!("This route reads application/json, not {essence}.");
        Error::new(ErrorCode::UnsupportedMediaType, message)
    })
}

fn allow(methods: &Methods) -> String {
    let mut allowed: Vec<&str> = methods.iter().map(|(route, ..)| route.method.as_str()).collect();
    if methods.iter().any(|(route, ..)| route.method == Method::GET && !route.effectful) {
        allowed.push("HEAD");
    }
    allowed.push("OPTIONS");
    allowed.join(", ")
}

/// Headers that a page may send (decision any-origin).
const SENT_BY_PAGES: [&str; 14] = [
    "X-Agent-Key",
    "X-API-Key",
    "Content-Type",
    "Last-Event-ID",
    "Idempotency-Key",
    "Authorization",
    "If-None-Match",
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Mcp-Name",
    "Mcp-Session-Id",
    "A2A-Version",
    "traceparent",
    "tracestate",
];

fn options(methods: &Methods, settings: &Settings) -> Response {
    let mut names: Vec<String> = SENT_BY_PAGES.iter().map(|name| (*name).to_owned()).collect();
    for prefix in [&settings.brand, &settings.extra_header_prefix] {
        if !prefix.is_empty() {
            for name in ["Signature", "Subscriber-Key", "Proof"] {
                names.push(format!("X-{prefix}-{name}"));
            }
        }
    }
    let mut response = Response::new(StatusCode::NO_CONTENT, "text/plain", "");
    response.headers.clear();
    response.set("allow", &allow(methods));
    if is_open(methods) {
        response.set("access-control-allow-methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
        response.set("access-control-allow-headers", &names.join(", "));
        response.set("access-control-max-age", "86400");
    }
    response
}

/// Every route but the operator's may be called from any page (decision any-origin).
fn cors(response: &mut Response, open: bool) {
    let headers = &mut response.headers;
    match open {
        // The headers of a document have all of it.
        true if headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) => {}
        true => message::open_to_all(headers),
        false => message::no_sniffing(headers),
    }
}

/// Answers a request of which nothing was looked at before.
pub async fn serve(rt: Arc<dyn Runtime>, request: Request) -> Response {
    let settings = &rt.environment().settings;
    let matched = match look(rt.environment().program, &request.method, &request.path, settings) {
        Preflight::Read(matched) => matched,
        Preflight::Answer(response) => return *response,
    };
    let unread = if request.body.is_empty() { None } else { unsupported(matched.route, &request.headers) };
    if let Some(error) = unread {
        return matched.refusal(error, settings);
    }
    let admitted = match admit(&*rt, &matched, &request).await {
        Ok(admitted) => admitted,
        Err(refusal) => return *refusal,
    };
    if request.body.len() > matched.max_body() {
        return too_large(&matched, settings);
    }
    answer_admitted(rt, matched, admitted, request).await
}

/// Whether a request may go on, from its head alone: the key is checked and the budget drawn on, and what `body` holds
/// does not matter. So a shell that reads the body afterwards reads none for a caller without a key. The refusal is a
/// whole answer.
pub async fn admit(rt: &dyn Runtime, matched: &Matched, request: &Request) -> Result<Admitted, Box<Response>> {
    let refusal = match caller::admit(rt, matched.route, request).await {
        Ok(admitted) => return Ok(admitted),
        Err(refusal) => *refusal,
    };
    let refusal = finish(refusal, matched.route, &rt.environment().settings.brand);
    Err(Box::new(if request.method == Method::HEAD { without_body(refusal) } else { refusal }))
}

/// Answers a request whose head passed [`preflight`] and whose body, if it has one, is within the limit.
pub fn answer(rt: Arc<dyn Runtime>, matched: Matched, request: Request) -> BoxFuture<'static, Response> {
    respond(rt, matched, None, request)
}

/// Answers a request that passed [`admit`] and then got its body, which is within the limit.
pub fn answer_admitted(
    rt: Arc<dyn Runtime>,
    matched: Matched,
    admitted: Admitted,
    request: Request,
) -> BoxFuture<'static, Response> {
    respond(rt, matched, Some(admitted), request)
}

/// One future in one box: requests are large, and every layer that they are handed through copies them.
fn respond(
    rt: Arc<dyn Runtime>,
    matched: Matched,
    admitted: Option<Admitted>,
    request: Request,
) -> BoxFuture<'static, Response> {
    Box::pin(async move {
        let (head, Matched { route, computes, params, .. }) = (request.method == Method::HEAD, matched);
        let brand = route.dress.map(|_| rt.environment().settings.brand.clone()).unwrap_or_default();
        let admitted = match admitted {
            Some(admitted) => Ok(admitted),
            None => caller::admit(&*rt, route, &request).await,
        };
        let admitted = match admitted {
            Ok(admitted) => caller::still(&*rt, route, &request, admitted).await,
            refused => refused,
        };
        let coded = coding::Asked::of(route, &request);
        let response = match admitted {
            Err(refusal) => *refusal,
            Ok(admitted) => {
                let gates = || rt.environment().program.gates();
                let keyed = gates().find_map(|gate| gate.runtime(&admitted, &rt)).unwrap_or_else(|| rt.clone());
                let who = Who::new(&*rt, &request, &admitted, route, computes);
                let Admitted { caller, budget, .. } = admitted;
                let late = late::Name::of(&*rt, route, &request, &caller).map(|name| (name, late::tags(&request)));
                let afterwards: Vec<_> = gates().filter_map(|gate| gate.afterwards(&rt, &caller)).collect();
                let handler = (route.handler)(Cx { rt: keyed, request, route, caller, path: params });
                let made = computing::answer(&rt, computes, who, handler);
                let mut response = match late {
                    Some((name, tags)) => name.answer(&*rt, tags, made).await,
                    None => made.await,
                };
                for work in afterwards {
                    work.await;
                }
                if let Some(budget) = budget.as_ref().filter(|_| !budget::has_budget_headers(&response)) {
                    budget::budget_headers(&mut response, budget);
                }
                response
            }
        };
        let response = coding::encoded(&*rt, route, coded, finish(response, route, &brand)).await;
        if head { without_body(response) } else { response }
    })
}

/// An answer of a route as it goes to the client.
fn finish(mut response: Response, route: &Route, brand: &str) -> Response {
    if let Some(dress) = route.dress {
        dress(&mut response, brand);
    }
    if let Some(deprecated) = &route.deprecated {
        deprecated.tell(&mut response.headers);
    }
    cors(&mut response, route.auth != Auth::Admin);
    response
}

/// What HEAD gets of the answer to GET (RFC 9110 section 9.3.2).
fn without_body(mut response: Response) -> Response {
    if let Body::Bytes(bytes) = &response.body {
        response.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    }
    response.body = Body::Bytes(bytes::Bytes::new());
    response
}
