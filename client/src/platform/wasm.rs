//! Time and waiting of JavaScript.

use std::time::Duration;

use js_sys::{Date, Function, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// What a value that was thrown says: the message of an error, or the value as text.
pub fn thrown(error: &JsValue) -> String {
    let message = Reflect::get(error, &"message".into()).ok().and_then(|text| text.as_string());
    message.or_else(|| error.as_string()).unwrap_or_else(|| format!("{error:?}"))
}

/// Milliseconds since 1970.
pub fn now() -> i64 {
    Date::now() as i64
}

/// ISO 8601 with milliseconds.
pub fn text_of(milliseconds: i64) -> String {
    // The largest time that JavaScript knows; a later one has no text.
    let milliseconds = milliseconds.min(8_640_000_000_000_000);
    Date::new(&JsValue::from_f64(milliseconds as f64)).to_iso_string().into()
}

/// A timer that is being waited for. When nobody waits any more it is cleared, because Node runs as long as it has one.
struct Timer {
    handle: JsValue,
    resolve: Function,
}

impl Drop for Timer {
    fn drop(&mut self) {
        let _ = global("clearTimeout").and_then(|clear| clear.call1(&JsValue::UNDEFINED, &self.handle));
        // What waits on the promise is freed once it is kept.
        let _ = self.resolve.call0(&JsValue::UNDEFINED);
    }
}

fn global(name: &str) -> Result<Function, JsValue> {
    Reflect::get(&js_sys::global(), &name.into())?.dyn_into()
}

/// Waits.
pub async fn pause(time: Duration) {
    let milliseconds = JsValue::from_f64(time.as_millis().min(i32::MAX as u128) as f64);
    let mut timer = None;
    let promise = Promise::new(&mut |resolve: Function, _: Function| {
        let set = global("setTimeout").and_then(|set| set.call2(&JsValue::UNDEFINED, &resolve, &milliseconds));
        timer = set.ok().map(|handle| Timer { handle, resolve });
    });
    let _ = JsFuture::from(promise).await;
    drop(timer);
}
