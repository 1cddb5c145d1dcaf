//! Routes that test the runtime below the application: conformance of the storage, a panic, a request that never ends.
//! They exist only in the bundle of the feature `test-routes`, which is never deployed.
//!
//! `/__test/panic` and `/__test/hang` run in the Worker, `/__test/object/<kind>/<name>/<what>` in an object,
//! `/__test/count/<name>/<operation>` on a counter actor. `/__test/reach?url=` makes a request that the core has not
//! checked.

use std::rc::Rc;
use std::time::Duration;

use heliograph_core::engine::actor::ActorId;
use heliograph_core::engine::actor::host::counter::{Add, Forward, Later, Panic, ReadCounter};
use heliograph_core::engine::kv::conformance;
use heliograph_core::engine::web::Networks;
use heliograph_core::engine::web::Outgoing;
use heliograph_core::{ErrorCode, engine::runtime};
use serde_json::json;
use worker::{Env, Error, Request, Response, Result};

use crate::kv_documents::Documents;
use crate::runtime::EdgeRuntime;
use crate::space::Space;
use crate::sqlite::Sqlite;
use crate::{environment, errand, web};

pub const PREFIX: &str = "/__test/";
pub const HOST: &str = "test";

pub async fn fetch(request: Request, env: Env) -> Result<Response> {
    let path = request.path();
    let parts: Vec<&str> = path.trim_start_matches(PREFIX).split('/').collect();
    match parts.as_slice() {
        ["object", kind, name, what] => {
            let actor = ActorId::parse(&format!("{kind}/{name}")).ok_or("no such actor")?;
            let object = errand::object(&env, &actor).map_err(text)?;
            object.fetch_with_str(&format!("https://{HOST}/{what}")).await
        }
        ["document", key @ ..] => match Documents::new(&env).map_err(text)?.get(&key.join("/")).await.map_err(text)? {
            Some(document) => Response::from_json(&json!({
                "etag": document.etag,
                "generation": document.generation,
                "body": String::from_utf8_lossy(&document.body),
            })),
            None => Response::error("no such document", 404),
        },
        ["count", name, operation] => count(&request, env.clone(), name, operation).await,
        ["reach"] => reach(&request).await,
        ["panic"] => panic_now(),
        ["hang"] => std::future::pending().await,
        _ => Response::error("no such test route", 404),
    }
}

/// The body at `url`, or 503 if the runtime lets no request go there.
async fn reach(request: &Request) -> Result<Response> {
    let url = request.url()?.query_pairs().find(|(key, _)| key == "url").map(|(_, value)| value.into_owned());
    let outgoing = Outgoing {
        url: url.unwrap_or_default(),
        headers: Vec::new(),
        body: None,
        timeout: Duration::from_secs(3),
        max_bytes: 1_000,
        beyond: Networks::all(),
    };
    match web::send(outgoing).await {
        Ok(incoming) => Response::from_bytes(incoming.body.to_vec()),
        Err(error) => Response::error(error.message.to_string(), 503),
    }
}

/// Runs an operation of the core's counter for tests of runtimes, from the Worker as a handler would.
async fn count(request: &Request, env: Env, name: &str, operation: &str) -> Result<Response> {
    let url = request.url()?;
    let text_of = |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
    let number = |name: &str| text_of(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or(0);
    let fail = text_of("fail").and_then(|code| ErrorCode::ALL.iter().copied().find(|known| known.as_str() == code));
    let add = Add { amount: number("amount"), note: text_of("note").unwrap_or_default(), fail };
    let runtime = EdgeRuntime::shared(env.clone(), environment::started(&env).await.map_err(text)?, None);
    let done = match operation {
        "add" => runtime::call(&*runtime, name, &add).await.map(|count| count.to_string()),
        "forward" => {
            let forward = Forward { to: text_of("to").unwrap_or_default(), count: number("count"), fail };
            runtime::call(&*runtime, name, &forward).await.map(|()| "forwarded".to_owned())
        }
        "later" => {
            let due = runtime.now().plus(number("in_ms") as i64 * 1_000);
            let later = Later { key: add.note.clone(), due, add };
            runtime::call(&*runtime, name, &later).await.map(|()| "scheduled".to_owned())
        }
        "panic" => runtime::call(&*runtime, name, &Panic).await.map(|()| "survived".to_owned()),
        "read" => {
            runtime::query(&*runtime, name, &ReadCounter).await.map(|(count, log)| json!([count, log]).to_string())
        }
        _ => return Response::error("no such operation", 404),
    };
    match done {
        Ok(text) => Response::ok(text),
        Err(error) => Response::error(error.code.as_str(), error.code.status().as_u16()),
    }
}

pub async fn object_fetch(space: &Rc<Space>, request: Request) -> Result<Response> {
    match request.path().trim_start_matches('/') {
        "size" => Response::ok(space.rows().database_size().to_string()),
        "panic" => panic_now(),
        "panic-in-transaction" => {
            let mut batch = heliograph_core::engine::kv::Batch::default();
            batch.put(b"half".to_vec(), b"written".to_vec());
            let done = space.rows().transaction(|| {
                space.rows().apply(&batch)?;
                panic_now()
                    .map(|_| ())
                    .map_err(|error| heliograph_core::engine::kv::StoreError::Unavailable(error.to_string()))
            });
            done.map_err(|error| Error::RustError(error.to_string())).and_then(|()| Response::empty())
        }
        "half" => {
            let value = heliograph_core::engine::kv::Read::get(space.rows(), b"half");
            Response::ok(format!("{:?}", value.map_err(|error| error.to_string())?))
        }
        "conformance" => {
            conformance::run(|| Sqlite::emptied(space.state.storage()));
            Response::ok("passed")
        }
        _ => Response::error("no such test route", 404),
    }
}

fn text(error: heliograph_core::Error) -> Error {
    Error::RustError(error.to_string())
}

/// Stops the wasm instance in the middle of a request, as a bug would.
#[allow(clippy::panic)]
fn panic_now() -> Result<Response> {
    panic!("asked for by a test")
}
