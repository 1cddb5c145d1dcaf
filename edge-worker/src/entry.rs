//! The Worker: every request enters here.

use heliograph_core::Error;
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{self as routes, Matched, Preflight};
use heliograph_core::engine::settings::Settings;
use worker::{Context, Env, Method, Request, Response, Result, ScheduleContext, ScheduledEvent, console_log, event};

use crate::errand::{self, CLIENT, ERRAND, HEAD};
use crate::runtime::EdgeRuntime;
use crate::shell::{self, Head};
use crate::{environment, sockets, work};

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    #[cfg(feature = "test-routes")]
    if request.path().starts_with(crate::test_routes::PREFIX) {
        return crate::test_routes::fetch(request, env).await;
    }
    let head = shell::head(&request)?;
    let settings = match environment::settings(&env) {
        Ok(settings) => settings,
        Err(error) => return refuse(error),
    };
    let line = settings.access_log.then(|| format!("{} {}", head.method, head.path));
    let response = answer(request, env, head, &settings).await?;
    if let Some(line) = line {
        console_log!("{line} {}", response.status_code());
    }
    Ok(response)
}

/// Runs once a minute. It makes one request to a source if fetching is switched on, and writes usage that no alarm has
/// written. Timers, messages and documents need no cron: the alarm of their object handles them.
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let done = match environment::started(&env).await {
        Ok(environment) => {
            // Makes one request of a fetch that the operator switched on; the next minute continues.
            let runtime = EdgeRuntime::shared(env.clone(), environment, None);
            let fetched = heliograph_core::intelligence::fetch::step(&*runtime).await.map(|step| {
                if let Some(warning) = step.warning {
                    worker::console_warn!("fetching {warning}");
                }
            });
            work::flush_isolate(&env).await.and(fetched)
        }
        Err(error) => Err(error),
    };
    if let Err(error) = done {
        worker::console_error!("cron: {error}");
    }
}

fn refuse(error: Error) -> Result<Response> {
    shell::response(shell::logged("start", routes::refusal(error)))
}

async fn answer(mut request: Request, env: Env, head: Head, settings: &Settings) -> Result<Response> {
    let matched = match routes::preflight(&PROGRAM, &head.method, &head.path, &head.headers, settings) {
        Preflight::Answer(response) => {
            shell::discard(&mut request).await;
            return shell::response(*response);
        }
        Preflight::Read(matched) => matched,
    };
    let environment = match environment::started(&env).await {
        Ok(environment) => environment,
        Err(error) => return refuse(error),
    };
    let runtime = EdgeRuntime::shared(env.clone(), environment, None);
    if sockets::is_upgrade(&head) {
        return sockets::connect(env, runtime, &head).await;
    }
    let route = format!("{} {}", head.method, head.path);
    let origin = head.origin(&runtime.environment().proxies);
    let mut asked = head.bodiless(&origin);
    asked.key = matched.home(&asked.headers, &*runtime);
    let answered = match &asked.key {
        Some(key) => {
            // The object looks whether the key stands, and only then reads the body: until then the body waits in
            // transit.
            let object = errand::object(&env, &key.actor);
            match object.and_then(|object| Ok((object, hand_on(&matched, &asked, &request)?))) {
                Ok((object, handed)) => object.fetch_with_request(handed).await.map_err(Error::unavailable),
                Err(error) => Err(error),
            }
        }
        None => {
            let answered = shell::answer(runtime, matched, asked, &mut request).await;
            return shell::response(shell::logged(&route, answered));
        }
    };
    answered.or_else(|error| shell::response(shell::logged(&route, routes::refusal(error))))
}

/// The same request for the object of its caller.
fn hand_on(matched: &Matched, asked: &routes::Request, request: &Request) -> heliograph_core::Result<Request> {
    // The platform gives a body, even one of 0 bytes, to every request with a length, but accepts none for these
    // methods.
    let body = match asked.method {
        http::Method::GET | http::Method::HEAD => None,
        _ => request.inner().body().map(Into::into),
    };
    let headers = errand::header(HEAD, &matched.hand_on(asked)?)?;
    errand::request(&format!("https://{ERRAND}{CLIENT}"), Method::from(asked.method.to_string()), headers, body)
}
