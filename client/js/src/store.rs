//! Stores that are written in JavaScript: objects with `read`, `write` and `remove`, which may be asynchronous.

use std::future::Future;
use std::pin::Pin;

use heliograph_client::store::{MemoryStore, Store};
use heliograph_client::{Error, Result};
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

type Work<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

struct Object(JsValue);

/// The store that was given, or one in memory.
pub fn of(object: JsValue) -> Box<dyn Store> {
    if object.is_object() { Box::new(Object(object)) } else { Box::new(MemoryStore::default()) }
}

impl Object {
    async fn call(&self, method: &str, arguments: &[JsValue]) -> Result<JsValue> {
        let call = || {
            let function: Function = Reflect::get(&self.0, &method.into())?
                .dyn_into()
                .map_err(|_| JsValue::from_str(&format!("it has no function `{method}`")))?;
            function.apply(&self.0, &arguments.iter().collect::<Array>())
        };
        let failed = |error: JsValue| Error::thrown_by_store(&error);
        let promise = Promise::resolve(&call().map_err(failed)?);
        JsFuture::from(promise).await.map_err(failed)
    }
}

impl Store for Object {
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let value = self.call("read", &[name.into()]).await?;
            Ok(value.is_object().then(|| Uint8Array::new(&value).to_vec()))
        })
    }

    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
        Box::pin(async move { self.call("write", &[name.into(), Uint8Array::from(value).into()]).await.map(|_| ()) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
        Box::pin(async move { self.call("remove", &[name.into()]).await.map(|_| ()) })
    }
}
