//! The ledger: signed writes, reads as a party, proofs. What only names a route is in `package/surface.js`, since
//! a page loads every answer that is read here.

use heliograph_client::ledger::audit::Head;
use js_sys::Promise;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::agent::Agent;
use crate::client::Client;
use crate::convert::{argument, error, promise, value};

#[wasm_bindgen]
impl Agent {
    pub fn write(&self, path: String, kind: String, members: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let members: Value = argument(&members)?;
            value(&inner.write(&path, &kind, members).await.map_err(error)?)
        })
    }

    #[wasm_bindgen(js_name = readAsParty)]
    pub fn read_as_party(&self, path: String) -> Promise {
        let inner = self.0.clone();
        promise(async move { value(&inner.read_as_party(&path).await.map_err(error)?) })
    }
}

#[wasm_bindgen]
impl Client {
    #[wasm_bindgen(js_name = logKey)]
    pub fn log_key(&self) -> Promise {
        let inner = self.0.clone();
        promise(async move { inner.log_key().await.map(|key| key.to_vec().into()).map_err(error) })
    }

    #[wasm_bindgen(js_name = logHead)]
    pub fn log_head(&self, key: Vec<u8>) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let key = key.as_slice().try_into().map_err(|_| js_sys::TypeError::new("the key has 32 bytes"))?;
            value(&inner.log_head(key).await.map_err(error)?)
        })
    }

    #[wasm_bindgen(js_name = proveEvent)]
    pub fn prove_event(&self, id: String, head: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let head: Option<Head> = argument(&head)?;
            let head = head.ok_or_else(|| js_sys::TypeError::new("a head of the log is needed"))?;
            value(&inner.prove_event(&id, &head).await.map_err(error)?)
        })
    }

    #[wasm_bindgen(js_name = proveGrowth)]
    pub fn prove_growth(&self, earlier: JsValue, later: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let (earlier, later): (Option<Head>, Option<Head>) = (argument(&earlier)?, argument(&later)?);
            let (Some(earlier), Some(later)) = (earlier, later) else {
                return Err(js_sys::TypeError::new("two heads of the log are needed").into());
            };
            inner.prove_growth(&earlier, &later).await.map(|()| JsValue::UNDEFINED).map_err(error)
        })
    }
}

/// SHA-256 of a text in hex: of work that is delivered.
#[wasm_bindgen(js_name = sha256Hex)]
pub fn sha256_hex(text: &str) -> String {
    heliograph_client::ledger::market::work_hash(text)
}
