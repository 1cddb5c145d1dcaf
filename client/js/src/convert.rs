//! Values and errors between the two languages.

use heliograph_client::Error;
use js_sys::{JSON, Reflect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;

/// A promise of a value. Each type of future that is made one of its own is a kilobyte of code, so they share one.
pub fn promise(work: impl Future<Output = Answer> + 'static) -> js_sys::Promise {
    let work: std::pin::Pin<Box<dyn Future<Output = Answer>>> = Box::pin(work);
    wasm_bindgen_futures::future_to_promise(work)
}

pub type Answer = Result<JsValue, JsValue>;

/// A value as JavaScript has it.
pub fn value(value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value).map_err(|error| JsValue::from_str(&error.to_string()))?;
    JSON::parse(&text)
}

/// An argument; a missing one is the default.
pub fn argument<T: DeserializeOwned + Default>(value: &JsValue) -> Result<T, JsValue> {
    if value.is_undefined() || value.is_null() {
        return Ok(T::default());
    }
    let text = JSON::stringify(value)?.as_string().unwrap_or_default();
    serde_json::from_str(&text).map_err(|error| js_sys::TypeError::new(&error.to_string()).into())
}

/// An `Error` with the members `code`, `reason`, `status` and `retryAfter`, as far as they are known.
pub fn error(error: Error) -> JsValue {
    let shown = js_sys::Error::new(&error.to_string());
    shown.set_name("HeliographError");
    let set = |name: &str, value: JsValue| Reflect::set(&shown, &name.into(), &value);
    if let Error::Refused(refusal) = &error {
        let _ = set("code", refusal.code.as_str().into());
        let _ = set("status", refusal.status.into());
        if let Some(reason) = &refusal.reason {
            let _ = set("reason", reason.as_str().into());
        }
        if let Some(wait) = refusal.retry_after {
            let _ = set("retryAfter", JsValue::from_f64(wait.as_secs_f64()));
        }
    }
    shown.into()
}
