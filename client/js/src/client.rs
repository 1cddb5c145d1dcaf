//! A deployment: opening and registering agents, open data.

use heliograph_client::{Client as Inner, Registration};
use js_sys::Promise;
use serde::Deserialize;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

use crate::agent::Agent;
use crate::convert::{argument, error, promise, value};
use crate::store;

#[wasm_bindgen]
pub struct Client(pub(crate) Inner);

/// What a new agent says of itself.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct New {
    name: Option<String>,
    capabilities: Vec<String>,
    metadata: Map<String, Value>,
    keys_by_service: bool,
    post_quantum: Option<bool>,
    one_time_prekeys: Option<usize>,
}

impl New {
    fn registration(self) -> Registration {
        let usual = if self.keys_by_service { Registration::by_service() } else { Registration::default() };
        Registration {
            name: self.name,
            capabilities: self.capabilities,
            metadata: self.metadata,
            post_quantum: self.post_quantum.unwrap_or(usual.post_quantum),
            one_time_prekeys: self.one_time_prekeys.unwrap_or(usual.one_time_prekeys),
            ..usual
        }
    }
}

/// An agent as JavaScript has it.
fn shown(agent: heliograph_client::Agent) -> JsValue {
    Agent(agent).into()
}

#[wasm_bindgen]
impl Client {
    // Without types, a missing address is the first mistake of many programs.
    #[wasm_bindgen(constructor)]
    pub fn new(base: JsValue) -> Result<Client, JsValue> {
        Inner::new(&base.as_string().unwrap_or_default()).map(Client).map_err(error)
    }

    pub fn register(&self, store: JsValue, options: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let registration = argument::<New>(&options)?.registration();
            inner.register(store::of(store), registration).await.map(shown).map_err(error)
        })
    }

    pub fn open(&self, store: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move { inner.open(store::of(store)).await.map(shown).map_err(error) })
    }

    #[wasm_bindgen(js_name = openOrRegister)]
    pub fn open_or_register(&self, store: JsValue, options: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let registration = argument::<New>(&options)?.registration();
            inner.open_or_register(store::of(store), registration).await.map(shown).map_err(error)
        })
    }

    pub fn get(&self, path: String) -> Promise {
        let inner = self.0.clone();
        promise(async move { value(&inner.get(&path).await.map_err(error)?) })
    }

    pub fn post(&self, path: String, body: JsValue) -> Promise {
        let inner = self.0.clone();
        promise(async move {
            let body: Value = argument(&body)?;
            value(&inner.post(&path, &body).await.map_err(error)?)
        })
    }
}

/// Whether the signature header of a webhook's delivery fits its body.
#[wasm_bindgen(js_name = verifyWebhook)]
pub fn verify_webhook(secret: &str, body: &[u8], signature: &str) -> bool {
    heliograph_client::relay::webhooks::WebhookSecret::new(secret.to_owned()).verify(body, signature)
}
