//! Routes that test the runtime below the application: the storage seam's conformance, what a panic does, a request
//! that never ends. They exist only in the bundle of feature `probe`, which is never deployed.
//!
//! `/__probe/panic` and `/__probe/hang` run in the Worker, `/__probe/object/<kind>/<name>/<what>` in an object.

use std::rc::Rc;

use heliograph_core::actor::host::probe::{Act, Read};
use heliograph_core::actor::{ActorId, Call, decode};
use heliograph_core::kv::conformance;
use serde_json::json;
use worker::{Env, Error, Request, Response, Result};

use crate::errand;
use crate::kv_documents::Documents;
use crate::space::Space;
use crate::sqlite::Sqlite;

pub const PREFIX: &str = "/__probe/";
pub const HOST: &str = "probe";

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
        ["panic"] => panic_now(),
        ["hang"] => std::future::pending().await,
        _ => Response::error("no such probe", 404),
    }
}

pub async fn object_fetch(space: &Rc<Space>, request: Request) -> Result<Response> {
    match request.path().trim_start_matches('/') {
        "size" => Response::ok(space.rows().database_size().to_string()),
        "panic" => panic_now(),
        "panic-in-transaction" => {
            let mut batch = heliograph_core::kv::Batch::default();
            batch.put(b"half".to_vec(), b"written".to_vec());
            let done = space.rows().transaction(|| {
                space.rows().apply(&batch)?;
                panic_now().map(|_| ()).map_err(|error| heliograph_core::kv::StoreError::Unavailable(error.to_string()))
            });
            done.map_err(|error| Error::RustError(error.to_string())).and_then(|()| Response::empty())
        }
        "half" => {
            let value = heliograph_core::kv::Read::get(space.rows(), b"half");
            Response::ok(format!("{:?}", value.map_err(|error| error.to_string())?))
        }
        "conformance" => {
            conformance::run(|| Sqlite::emptied(space.state.storage()));
            Response::ok("passed")
        }
        "count" => {
            let reply = Call::query(space.actor().name.clone(), &Read).and_then(|call| space.answer(&call));
            let (count, log): (u64, Vec<String>) = reply.and_then(|reply| decode(&reply)).map_err(text)?;
            Response::from_json(&json!({ "count": count, "log": log }))
        }
        _ => Response::error("no such probe", 404),
    }
}

fn text(error: heliograph_core::Error) -> Error {
    Error::RustError(error.to_string())
}

/// Kills the wasm instance in the middle of a request, as a bug would.
#[allow(clippy::panic)]
fn panic_now() -> Result<Response> {
    panic!("asked for by a test")
}
