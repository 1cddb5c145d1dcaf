//! Errands: the requests that one part of the Worker makes to an object, and their encoding.
//!
//! An errand is a POST to a host name that no client can ask for, because the Worker itself writes it. Bodies are
//! postcard, but for [`CLIENT`].

use heliograph_core::crypto::encoding::{decode_base64, encode_base64};
use heliograph_core::engine::actor::{ActorId, Call, Delivery, Receipt, decode, encode};
use heliograph_core::{Error, Result};
use serde::de::DeserializeOwned;
use worker::js_sys::Uint8Array;
use worker::wasm_bindgen::JsValue;
use worker::{Env, Headers, Method, Request, RequestInit, Response, Stub};

/// Host name of errands; the path names the errand.
pub const ERRAND: &str = "errand";

/// Answers a request of a client, whose head is in [`HEAD`]. Method and body are the client's.
pub const CLIENT: &str = "/client";

pub const CALL: &str = "/call";
pub const QUERY: &str = "/query";
pub const DELIVER: &str = "/deliver";
pub const WRITE_CHECK: &str = "/probe";
/// Makes a request to another host for another object.
pub const REACH: &str = "/reach";
/// Opens a WebSocket for the stream described in [`OPEN`].
pub const SOCKET: &str = "/socket";

/// Header with the head of a client's request (`Matched::hand_on`), in base64.
pub const HEAD: &str = "x-heliograph-head";
/// Header with the encoded stream to open, in base64.
pub const OPEN: &str = "x-heliograph-open";

/// Prefix of the names of objects that make requests to other hosts; no kind of actor has this name.
const LANE: &str = "lane";

/// Longest name of an object; the platform takes no more than 1,024 bytes.
const MAX_NAME: usize = 512;

/// The Durable Object of an actor. No actor has a name that is too long, so for such a name nothing is found.
pub fn object(env: &Env, actor: &ActorId) -> Result<Stub> {
    named(env, &actor.to_string())
}

fn named(env: &Env, name: &str) -> Result<Stub> {
    if name.len() > MAX_NAME {
        return Err(Error::not_found("There is no such thing."));
    }
    let namespace = env.durable_object("ACTOR").map_err(Error::internal)?;
    namespace.get_by_name(name).map_err(Error::unavailable)
}

/// Runs an operation on its actor.
pub async fn call(env: &Env, call: &Call) -> Result<Vec<u8>> {
    run::<Result<Vec<u8>>>(env, &call.actor.to_string(), CALL, encode(call)?).await?
}

/// Runs a query on its actor.
pub async fn query(env: &Env, call: &Call) -> Result<Vec<u8>> {
    run::<Result<Vec<u8>>>(env, &call.actor.to_string(), QUERY, encode(call)?).await?
}

/// Delivers a message to its target.
pub async fn deliver(env: &Env, delivery: &Delivery) -> Receipt {
    let carried = match encode(delivery) {
        Ok(body) => run::<Receipt>(env, &delivery.call.actor.to_string(), DELIVER, body).await,
        Err(error) => Err(error),
    };
    carried.unwrap_or_else(Receipt::Retry)
}

/// Has a request to another host made, which an actor asked for under a key.
///
/// An object has six connections for everything that it does. So six receivers that never answer would delay all others
/// of the same owner. Each receiver therefore has its own object, which stores nothing: it reads from the actor what to
/// send, and reports the result to it. It answers as soon as it has begun.
pub async fn reach(env: &Env, actor: &ActorId, key: &str) -> Result<()> {
    let lane = format!("{LANE}/{actor}/{key}");
    run::<()>(env, &lane, REACH, encode(&(actor, key))?).await
}

/// Proves that an object can write.
pub async fn write_check(env: &Env, actor: &ActorId) -> Result<()> {
    run::<Result<()>>(env, &actor.to_string(), WRITE_CHECK, Vec::new()).await?
}

async fn run<T: DeserializeOwned>(env: &Env, name: &str, errand: &str, body: Vec<u8>) -> Result<T> {
    let lost = |error: worker::Error| Error::unavailable(format!("object {name}: {error}"));
    let body = Uint8Array::from(body.as_slice());
    let request = request(&format!("https://{ERRAND}{errand}"), Method::Post, Headers::new(), Some(body.into()))?;
    let mut response = named(env, name)?.fetch_with_request(request).await.map_err(lost)?;
    if response.status_code() != 200 {
        return Err(Error::unavailable(format!("object {name} answered {}", response.status_code())));
    }
    decode(&response.bytes().await.map_err(lost)?)
}

/// A request to an object, with bytes or a stream of them as body.
pub fn request(url: &str, method: Method, headers: Headers, body: Option<JsValue>) -> Result<Request> {
    let mut init = RequestInit::new();
    init.with_method(method).with_headers(headers).with_body(body);
    Request::new_with_init(url, &init).map_err(Error::internal)
}

/// Headers with these bytes in one of them.
pub fn header(name: &str, bytes: &[u8]) -> Result<Headers> {
    let headers = Headers::new();
    headers.set(name, &encode_base64(bytes)).map_err(Error::internal)?;
    Ok(headers)
}

/// The bytes that [`header`] wrote.
pub fn bytes_in(request: &Request, name: &'static str) -> Result<Vec<u8>> {
    let text = request.headers().get(name).map_err(Error::internal)?.unwrap_or_default();
    decode_base64(name, &text).map_err(Error::internal)
}

/// The answer to an errand.
pub fn answer(value: &impl serde::Serialize) -> Result<Response> {
    Response::from_bytes(encode(value)?).map_err(Error::internal)
}
