//! `localStorage` of a page.

use std::rc::Rc;

use futures_util::lock::Mutex;
use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::Store;
use crate::platform::{Work, thrown};
use crate::{Error, Result};

/// Milliseconds to wait for a page that is just being left, such as this one before it was loaded again.
const LEAVING: f64 = 2_000.0;

/// Keeps values in `localStorage`, as base64 under `<prefix>/<name>`. Every script of the page's origin can read them.
///
/// One store uses a prefix at a time, from its first use until it and its clones are dropped or its page ends: two that step
/// one session would use a key twice. Another one gets [`Error::Store`]. Browsers know such locks in pages from https and from
/// the own machine; elsewhere nothing keeps two pages apart.
#[derive(Debug, Clone)]
pub struct LocalStore {
    prefix: String,
    held: Rc<Mutex<Option<Held>>>,
}

/// A name that no other page of the origin holds at the same time; nothing where the browser knows no such locks.
#[derive(Debug)]
struct Held(Option<Function>);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(free) = &self.0 {
            let _ = free.call0(&JsValue::UNDEFINED);
        }
    }
}

fn method(object: &JsValue, name: &str) -> std::result::Result<Function, JsValue> {
    Reflect::get(object, &name.into())?.dyn_into()
}

/// A promise, and what keeps it.
fn pledge() -> (Promise, Option<Function>) {
    let mut keep = None;
    let promise = Promise::new(&mut |resolve, _| keep = Some(resolve));
    (promise, keep)
}

/// Holds a lock of the browser. `package/surface.js` of the package for JavaScript takes the same one.
async fn hold(prefix: &str) -> std::result::Result<Held, JsValue> {
    let global = js_sys::global();
    let navigator = Reflect::get(&global, &"navigator".into())?;
    let locks = if navigator.is_object() { Reflect::get(&navigator, &"locks".into())? } else { navigator };
    if !locks.is_object() {
        return Ok(Held(None));
    }
    let ((granted, grant), (held, free)) = (pledge(), pledge());
    // The browser holds the lock until the promise that this gives is kept.
    let callback = Closure::once_into_js(move |_lock: JsValue| {
        if let Some(grant) = grant {
            let _ = grant.call0(&JsValue::UNDEFINED);
        }
        JsValue::from(held)
    });
    let signals = Reflect::get(&global, &"AbortSignal".into())?;
    let signal = method(&signals, "timeout")?.call1(&signals, &LEAVING.into())?;
    let options = Object::new();
    Reflect::set(&options, &"signal".into(), &signal)?;
    let name = format!("heliograph:localStorage/{prefix}");
    let request = method(&locks, "request")?.call3(&locks, &name.into(), &options, &callback)?;
    // The request ends first only if it fails: else not before the lock is free again.
    JsFuture::from(Promise::race(&Array::of2(&granted, &request))).await?;
    Ok(Held(free))
}

fn call(name: &str, arguments: &[JsValue]) -> Result<JsValue> {
    let done = || {
        let storage = Reflect::get(&js_sys::global(), &"localStorage".into())?;
        method(&storage, name)?.apply(&storage, &arguments.iter().collect::<Array>())
    };
    done().map_err(|error: JsValue| Error::Store(format!("localStorage: {}", thrown(&error))))
}

impl LocalStore {
    /// A store whose names begin with this text.
    pub fn new(prefix: &str) -> LocalStore {
        LocalStore { prefix: prefix.to_owned(), held: Rc::default() }
    }

    fn name(&self, name: &str) -> JsValue {
        format!("{}/{name}", self.prefix).into()
    }

    /// The first use makes this store the owner of its prefix.
    async fn own(&self) -> Result<()> {
        let mut held = self.held.lock().await;
        if held.is_none() {
            let used = |_| Error::Store(format!("another page, or another store of this one, uses {}", self.prefix));
            *held = Some(hold(&self.prefix).await.map_err(used)?);
        }
        Ok(())
    }
}

impl Store for LocalStore {
    fn read<'a>(&'a self, name: &'a str) -> Work<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move {
            self.own().await?;
            let value = call("getItem", &[self.name(name)])?.as_string();
            value.map(|text| crypto::encoding::decode_base64("value", &text).map_err(Error::store)).transpose()
        })
    }

    fn write<'a>(&'a self, name: &'a str, value: &'a [u8]) -> Work<'a, Result<()>> {
        Box::pin(async move {
            self.own().await?;
            let text = crypto::encoding::encode_base64(value);
            call("setItem", &[self.name(name), text.into()]).map(|_| ())
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> Work<'a, Result<()>> {
        Box::pin(async move {
            self.own().await?;
            call("removeItem", &[self.name(name)]).map(|_| ())
        })
    }
}
