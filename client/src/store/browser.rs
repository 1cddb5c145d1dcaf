//! `localStorage` of a page.

use js_sys::{Function, Reflect};
use wasm_bindgen::{JsCast, JsValue};

use super::Store;
use crate::platform::{Work, thrown};
use crate::{Error, Result};

/// Keeps values in `localStorage`, as base64 under `<prefix>/<name>`. Every script of the page's origin can read them.
#[derive(Debug, Clone)]
pub struct LocalStore {
    prefix: String,
}

fn call(method: &str, arguments: &[JsValue]) -> Result<JsValue> {
    let done = || {
        let storage = Reflect::get(&js_sys::global(), &"localStorage".into())?;
        let function: Function = Reflect::get(&storage, &method.into())?.dyn_into()?;
        function.apply(&storage, &arguments.iter().collect::<js_sys::Array>())
    };
    done().map_err(|error: JsValue| Error::Store(format!("localStorage: {}", thrown(&error))))
}

impl LocalStore {
    /// A store whose names begin with this text.
    pub fn new(prefix: &str) -> LocalStore {
        LocalStore { prefix: prefix.to_owned() }
    }

    fn name(&self, name: &str) -> JsValue {
        format!("{}/{name}", self.prefix).into()
    }
}

impl Store for LocalStore {
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            let value = call("getItem", &[self.name(name)])?.as_string();
            value.map(|text| crypto::encoding::decode_base64("value", &text).map_err(Error::store)).transpose()
        })
    }

    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
        Box::pin(async move {
            let text = crypto::encoding::encode_base64(value);
            call("setItem", &[self.name(name), text.into()]).map(|_| ())
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
        Box::pin(async move { call("removeItem", &[self.name(name)]).map(|_| ()) })
    }
}
