//! The Worker: every request enters here.

use heliograph_core::Error;
use heliograph_core::app::PROGRAM;
use heliograph_core::engine::http::{self as routes, Origin, Preflight};
use heliograph_core::engine::settings::Settings;
use worker::{
    Context, Env, Headers, Method, Request, Response, Result, ScheduleContext, ScheduledEvent, console_log, event,
};

use crate::errand::{self, ADDRESS, CLIENT, PASSED_ON};
use crate::runtime::EdgeRuntime;
use crate::shell::{self, Head};
use crate::{environment, sockets, work};

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    #[cfg(feature = "probe")]
    if request.path().starts_with(crate::probe::PREFIX) {
        return crate::probe::fetch(request, env).await;
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
    let origin = head.origin(&runtime.environment().proxies);
    let route = format!("{} {}", head.method, head.path);
    if let Some(actor) = matched.home(&head.headers, &*runtime) {
        // The object checks the key, and only then reads the body: until then the body waits in transit.
        let forwarded = forward(&head, &request, &origin)?;
        let answered = match errand::object(&env, &actor) {
            Ok(object) => object.fetch_with_request(forwarded).await.map_err(Error::unavailable),
            Err(error) => Err(error),
        };
        return answered.or_else(|error| shell::response(shell::logged(&route, routes::refusal(error))));
    }
    let answered = shell::answer(runtime, matched, head.bodiless(&origin), &mut request).await;
    shell::response(shell::logged(&route, answered))
}

/// The same request for the object of its caller. Headers that only describe the connection are left out.
fn forward(head: &Head, request: &Request, origin: &Origin) -> Result<Request> {
    const CONNECTION: [&str; 6] = ["host", "connection", "content-length", "transfer-encoding", "upgrade", ADDRESS];
    let headers = Headers::new();
    for (name, value) in head.headers.iter().filter(|(name, _)| !CONNECTION.contains(&name.as_str())) {
        headers.append(name.as_str(), value.to_str().map_err(|error| error.to_string())?)?;
    }
    let passed_on = if origin.forwarded { PASSED_ON } else { "" };
    headers.set(ADDRESS, &format!("{}{passed_on}", origin.client))?;
    let query = if head.query.is_empty() { String::new() } else { format!("?{}", head.query) };
    // The platform gives a body, even one of 0 bytes, to every request with a length, but accepts none for these
    // methods.
    let body = match head.method {
        http::Method::GET | http::Method::HEAD => None,
        _ => request.inner().body().map(Into::into),
    };
    let url = format!("https://{CLIENT}{}{query}", head.path);
    errand::request(&url, Method::from(head.method.to_string()), headers, body)
        .map_err(|error| worker::Error::RustError(error.to_string()))
}
