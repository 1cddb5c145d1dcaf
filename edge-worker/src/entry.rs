//! The Worker: every request enters here.

use worker::{Context, Env, Request, Response, Result, ScheduleContext, ScheduledEvent, event};

use crate::probe;

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> Result<Response> {
    match request.path().as_str() {
        "/healthz" => Response::ok("ok"),
        path if path.starts_with(probe::PREFIX) && probe::enabled(&env) => probe::fetch(request, env).await,
        _ => Response::error("no such route", 404),
    }
}

#[event(scheduled)]
async fn scheduled(event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    if probe::enabled(&env)
        && let Err(error) = probe::scheduled(&event.cron(), &env).await
    {
        worker::console_error!("cron: {error}");
    }
}
