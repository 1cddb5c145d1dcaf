//! From a request to a response.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use http::{HeaderMap, Method, StatusCode};
use matchit::Router;
use percent_encoding::percent_decode_str;

use super::{Auth, Body, BodyKind, Cx, Request, Response, Route, auth, routes};
use crate::actor::{ActorId, Kind};
use crate::agent::reseal;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::{Error, ErrorCode, Result};

type Methods = Vec<&'static Route>;

fn table() -> &'static Router<Methods> {
    static TABLE: OnceLock<Router<Methods>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut by_path: BTreeMap<&'static str, Methods> = BTreeMap::new();
        for route in routes() {
            by_path.entry(route.path).or_default().push(route);
        }
        let mut router = Router::new();
        for (path, methods) in by_path {
            // A path that conflicts with another is a mistake in the table; a test inserts each one.
            let _ = router.insert(path, methods);
        }
        router
    })
}

enum Found {
    Route(&'static Route, Vec<(String, String)>),
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

fn find(method: &Method, path: &str) -> Found {
    let Ok(matched) = table().at(trimmed(path)) else { return Found::Nothing };
    let wanted = if method == Method::HEAD { &Method::GET } else { method };
    let route = matched.value.iter().find(|route| route.method == *wanted);
    match route {
        Some(route) if !(method == Method::HEAD && route.effectful) => {
            let mut params = Vec::new();
            for (name, value) in matched.params.iter() {
                match percent_decode_str(value).decode_utf8() {
                    Ok(value) => params.push((name.to_owned(), value.into_owned())),
                    Err(_) => return Found::Nothing,
                }
            }
            Found::Route(route, params)
        }
        _ => Found::Methods(matched.value),
    }
}

/// What a shell must know before it reads a body.
pub enum Preflight {
    /// Read at most so many bytes; answer [`Preflight::too_large`] when there are more.
    Read(usize),
    /// Answer this without reading the body.
    Answer(Box<Response>),
}

impl Preflight {
    /// The answer to a body over its limit.
    pub fn too_large(limit: usize) -> Response {
        let message = format!("The body is larger than the {limit} bytes this route reads.");
        refusal(Error::new(ErrorCode::PayloadTooLarge, message))
    }
}

/// Decides from the head of a request alone: unknown paths and methods, OPTIONS and media types are answered here.
pub fn preflight(method: &Method, path: &str, headers: &HeaderMap, settings: &Settings) -> Preflight {
    let answer = |mut response: Response, open: bool| {
        cors(&mut response, open);
        Preflight::Answer(Box::new(response))
    };
    match find(method, path) {
        Found::Route(route, _) => match unsupported(route, headers) {
            Some(error) => answer(Response::error(error), route.auth != Auth::Admin),
            None => Preflight::Read(route.max_body),
        },
        Found::Methods(methods) if method == Method::OPTIONS => answer(options(methods, settings), is_open(methods)),
        Found::Methods(methods) => {
            let error = Error::new(ErrorCode::MethodNotAllowed, format!("{method} is not a method of this path."));
            answer(Response::error(error).with("allow", &allow(methods)), is_open(methods))
        }
        Found::Nothing => {
            Preflight::Answer(Box::new(refusal(Error::new(ErrorCode::NoRoute, "No route has this path."))))
        }
    }
}

/// The answer of a shell that cannot hand a request to [`serve`], readable from any page like every other.
pub fn refusal(error: Error) -> Response {
    let mut response = Response::error(error);
    cors(&mut response, true);
    response
}

fn is_open(methods: &Methods) -> bool {
    methods.iter().any(|route| route.auth != Auth::Admin)
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
    let mut allowed: Vec<&str> = methods.iter().map(|route| route.method.as_str()).collect();
    if methods.iter().any(|route| route.method == Method::GET && !route.effectful) {
        allowed.push("HEAD");
    }
    allowed.push("OPTIONS");
    allowed.join(", ")
}

fn options(methods: &Methods, settings: &Settings) -> Response {
    let mut names = vec![
        "X-Agent-Key".to_owned(),
        "X-API-Key".to_owned(),
        "Content-Type".to_owned(),
        "Last-Event-ID".to_owned(),
        "Idempotency-Key".to_owned(),
        "Authorization".to_owned(),
        "If-None-Match".to_owned(),
    ];
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

/// Every route but the operator's may be called from any page (ruling foundation-relay 30).
fn cors(response: &mut Response, open: bool) {
    if open {
        response.set("access-control-allow-origin", "*");
        response.set(
            "access-control-expose-headers",
            "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, ETag, Content-Disposition, Date, X-Generated-At",
        );
    }
    response.set("x-content-type-options", "nosniff");
}

/// The actor a request belongs to, when it should be handled where that actor lives: the caller's own object on the
/// edge, so that a route of an agent costs one hop (ruling foundation-relay 4). Decided from the head alone; a made-up
/// key names no object (ruling 5).
pub fn home(method: &Method, path: &str, headers: &HeaderMap, rt: &dyn Runtime) -> Option<ActorId> {
    let Found::Route(route, _) = find(method, path) else { return None };
    if route.auth != Auth::Agent {
        return None;
    }
    let environment = rt.environment();
    let given = headers.get("x-agent-key")?.to_str().ok()?;
    let key = environment.secrets.parse_key(&environment.settings.brand, crate::agent::KEY_KIND, given)?;
    Some(ActorId::new(Kind::Agent, key.actor()))
}

/// Answers a request whose head passed [`preflight`].
pub async fn serve(rt: Arc<dyn Runtime>, request: Request) -> Response {
    let settings = &rt.environment().settings;
    let (route, path) = match find(&request.method, &request.path) {
        Found::Route(route, path) => (route, path),
        _ => match preflight(&request.method, &request.path, &request.headers, settings) {
            Preflight::Answer(response) => return *response,
            Preflight::Read(_) => return refusal(Error::internal("a route appeared between two looks")),
        },
    };
    let open = route.auth != Auth::Admin;
    if request.body.len() > route.max_body {
        return Preflight::too_large(route.max_body);
    }
    if !request.body.is_empty()
        && let Some(error) = unsupported(route, &request.headers)
    {
        let mut response = Response::error(error);
        cors(&mut response, open);
        return response;
    }
    let head = request.method == Method::HEAD;
    let mut response = answer(rt.clone(), route, path, request).await;
    cors(&mut response, open);
    if head {
        if let Body::Bytes(bytes) = &response.body {
            let length = bytes.len().to_string();
            response.set("content-length", &length);
        }
        response.body = Body::Bytes(bytes::Bytes::new());
    }
    response
}

async fn answer(
    rt: Arc<dyn Runtime>,
    route: &'static Route,
    path: Vec<(String, String)>,
    request: Request,
) -> Response {
    let admitted = match auth::admit(&*rt, route, &request).await {
        Ok(admitted) => admitted,
        Err(response) => return *response,
    };
    let behind = reseal::behind(&*rt, &admitted.caller);
    let cx = Cx { rt: rt.clone(), request, route, caller: admitted.caller, path };
    let result: Result<Response> = (route.handler)(cx).await;
    if let Some(agent) = behind {
        reseal::passing_by(&*rt, &agent).await;
    }
    let mut response = result.unwrap_or_else(Response::error);
    if let Some(budget) = &admitted.budget {
        auth::budget_headers(&mut response, budget);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_routes_conflict() {
        let mut router = Router::new();
        let mut seen = std::collections::BTreeSet::new();
        for route in routes() {
            assert!(seen.insert((route.path, route.method.as_str())), "{} {} twice", route.method, route.path);
            let _ = router.insert(route.path, ());
        }
        for route in routes() {
            let found = router.at(route.path).unwrap_or_else(|_| panic!("{} is unreachable", route.path));
            let _ = found;
        }
    }
}
