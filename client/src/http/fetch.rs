//! Requests by `fetch`: browsers, Node and Workers.

use std::time::Duration;

use js_sys::{Array, Function, JsString, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::transport::{Body, Request, Response, Transport};
use crate::platform::{Work, thrown};
use crate::{Error, Result};

/// The transport of JavaScript.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fetch;

impl Fetch {
    /// The global `fetch`.
    pub fn new() -> Result<Fetch> {
        Ok(Fetch)
    }
}

fn text_of(error: &JsValue) -> String {
    let cause = Reflect::get(error, &"cause".into()).ok().filter(|cause| cause.is_object());
    match cause {
        Some(cause) => format!("{}: {}", thrown(error), text_of(&cause)),
        None => thrown(error),
    }
}

fn failure(error: &JsValue, timeout: Option<Duration>) -> Error {
    let name = Reflect::get(error, &"name".into()).ok().and_then(|name| name.as_string());
    match timeout {
        Some(timeout) if name.as_deref() == Some("TimeoutError") => Error::TimedOut(timeout),
        _ => Error::Unreachable(text_of(error)),
    }
}

/// Calls the method of an object and waits for its promise.
fn call(object: &JsValue, method: &str, arguments: &[JsValue]) -> std::result::Result<JsValue, JsValue> {
    let function: Function = Reflect::get(object, &method.into())?.dyn_into()?;
    function.apply(object, &arguments.iter().collect::<Array>())
}

async fn wait(value: JsValue) -> std::result::Result<JsValue, JsValue> {
    JsFuture::from(Promise::resolve(&value)).await
}

/// Ends a request when it is dropped, also one that was not answered yet.
struct Abort(JsValue);

impl Abort {
    fn new() -> std::result::Result<Abort, JsValue> {
        let controllers: Function = Reflect::get(&js_sys::global(), &"AbortController".into())?.dyn_into()?;
        Reflect::construct(&controllers, &Array::new()).map(Abort)
    }

    fn signal(&self) -> std::result::Result<JsValue, JsValue> {
        Reflect::get(&self.0, &"signal".into())
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        let _ = call(&self.0, "abort", &[]);
    }
}

async fn fetch(request: &Request, abort: Option<&Abort>) -> std::result::Result<JsValue, JsValue> {
    let init = Object::new();
    let headers = Object::new();
    for (name, value) in &request.headers {
        Reflect::set(&headers, &name.into(), &value.into())?;
    }
    Reflect::set(&init, &"method".into(), &request.method.as_str().into())?;
    Reflect::set(&init, &"headers".into(), &headers)?;
    // A key must not go to another address.
    Reflect::set(&init, &"redirect".into(), &"manual".into())?;
    if let Some(body) = &request.body {
        Reflect::set(&init, &"body".into(), &Uint8Array::from(body.as_slice()))?;
    }
    let global: JsValue = js_sys::global().into();
    if let Some(timeout) = request.timeout {
        let signals = Reflect::get(&global, &"AbortSignal".into())?;
        let milliseconds = JsValue::from_f64(timeout.as_millis() as f64);
        Reflect::set(&init, &"signal".into(), &call(&signals, "timeout", &[milliseconds])?)?;
    }
    if let Some(abort) = abort {
        Reflect::set(&init, &"signal".into(), &abort.signal()?)?;
    }
    wait(call(&global, "fetch", &[request.url.as_str().into(), init.into()])?).await
}

/// The headers of an answer.
fn headers(answer: &JsValue) -> std::result::Result<Vec<(String, String)>, JsValue> {
    let entries = Array::from(&call(&Reflect::get(answer, &"headers".into())?, "entries", &[])?);
    let text = |pair: &JsValue, at: u32| {
        Reflect::get_u32(pair, at).ok().and_then(|text| text.dyn_into::<JsString>().ok()).map(String::from)
    };
    Ok(entries.iter().filter_map(|pair| Some((text(&pair, 0)?, text(&pair, 1)?))).collect())
}

struct Pieces {
    /// A reader of the body; `None` if there is no body.
    reader: Option<JsValue>,
    timeout: Option<Duration>,
    /// Of a stream, which no time-out ends.
    _abort: Option<Abort>,
}

impl Drop for Pieces {
    fn drop(&mut self) {
        // Ends the request of a stream that nobody reads to its end.
        if let Some(reader) = &self.reader
            && let Ok(promise) = call(reader, "cancel", &[])
            && let Ok(promise) = promise.dyn_into::<Promise>()
        {
            let ignore = wasm_bindgen::closure::Closure::once_into_js(|_: JsValue| ());
            if let Ok(ignore) = ignore.dyn_into::<Function>() {
                let _ = call(&promise, "catch", &[ignore.into()]);
            }
        }
    }
}

impl Body for Pieces {
    fn piece(&mut self) -> Work<'_, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let Some(reader) = &self.reader else { return Ok(None) };
            let read = async {
                let part = wait(call(reader, "read", &[])?).await?;
                let done = Reflect::get(&part, &"done".into())?.is_truthy();
                let value = Reflect::get(&part, &"value".into())?;
                Ok::<_, JsValue>((!done).then(|| Uint8Array::new(&value).to_vec()))
            };
            let piece = read.await.map_err(|error| failure(&error, self.timeout))?;
            if piece.is_none() {
                self.reader = None;
            }
            Ok(piece)
        })
    }
}

impl Transport for Fetch {
    fn send(&self, request: Request) -> Work<'_, Result<Response>> {
        Box::pin(async move {
            let timeout = request.timeout;
            let answered = async {
                let abort = if timeout.is_none() { Some(Abort::new()?) } else { None };
                let answer = fetch(&request, abort.as_ref()).await?;
                let status = Reflect::get(&answer, &"status".into())?.as_f64().unwrap_or_default() as u16;
                let body = Reflect::get(&answer, &"body".into())?;
                let reader = if body.is_object() { Some(call(&body, "getReader", &[])?) } else { None };
                Ok::<_, JsValue>((status, headers(&answer)?, reader, abort))
            };
            let (status, headers, reader, abort) = answered.await.map_err(|error| failure(&error, timeout))?;
            Ok(Response { status, headers, body: Box::new(Pieces { reader, timeout, _abort: abort }) })
        })
    }
}
