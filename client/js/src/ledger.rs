//! The ledger: signed writes, reads as a party, proofs. What only names a route is in `package/surface.js`, since
//! a page loads every answer that is read here.

use heliograph_client::ledger::audit::Head;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::agent::Agent;
use crate::client::Client;
use crate::convert::{Answer, argument, error, value};

#[wasm_bindgen]
impl Agent {
    pub async fn write(&self, path: &str, kind: &str, members: JsValue) -> Answer {
        let members: Value = argument(&members)?;
        value(&self.0.write(path, kind, members).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = readAsParty)]
    pub async fn read_as_party(&self, path: &str) -> Answer {
        value(&self.0.read_as_party(path).await.map_err(error)?)
    }
}

#[wasm_bindgen]
impl Client {
    #[wasm_bindgen(js_name = logKey)]
    pub async fn log_key(&self) -> Result<Vec<u8>, JsValue> {
        self.0.log_key().await.map(|key| key.to_vec()).map_err(error)
    }

    #[wasm_bindgen(js_name = logHead)]
    pub async fn log_head(&self, key: &[u8]) -> Answer {
        let key = key.try_into().map_err(|_| js_sys::TypeError::new("the key has 32 bytes"))?;
        value(&self.0.log_head(key).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = proveEvent)]
    pub async fn prove_event(&self, id: &str, head: JsValue) -> Answer {
        let head: Option<Head> = argument(&head)?;
        let head = head.ok_or_else(|| js_sys::TypeError::new("a head of the log is needed"))?;
        value(&self.0.prove_event(id, &head).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = proveGrowth)]
    pub async fn prove_growth(&self, earlier: JsValue, later: JsValue) -> Result<(), JsValue> {
        let (earlier, later): (Option<Head>, Option<Head>) = (argument(&earlier)?, argument(&later)?);
        let (Some(earlier), Some(later)) = (earlier, later) else {
            return Err(js_sys::TypeError::new("two heads of the log are needed").into());
        };
        self.0.prove_growth(&earlier, &later).await.map_err(error)
    }
}

/// SHA-256 of a text in hex: of work that is delivered.
#[wasm_bindgen(js_name = sha256Hex)]
pub fn sha256_hex(text: &str) -> String {
    heliograph_client::ledger::market::work_hash(text)
}
