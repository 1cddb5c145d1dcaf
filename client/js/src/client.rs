//! A deployment: opening and registering agents, open data.

use heliograph_client::{Client as Inner, Registration};
use serde::Deserialize;
use serde_json::{Map, Value};
use wasm_bindgen::prelude::*;

use crate::agent::Agent;
use crate::convert::{Answer, argument, error, value};
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

#[wasm_bindgen]
impl Client {
    #[wasm_bindgen(constructor)]
    pub fn new(base: &str) -> Result<Client, JsValue> {
        Inner::new(base).map(Client).map_err(error)
    }

    pub async fn register(&self, store: JsValue, options: JsValue) -> Result<Agent, JsValue> {
        let registration = argument::<New>(&options)?.registration();
        self.0.register(store::of(store), registration).await.map(Agent).map_err(error)
    }

    pub async fn open(&self, store: JsValue) -> Result<Agent, JsValue> {
        self.0.open(store::of(store)).await.map(Agent).map_err(error)
    }

    #[wasm_bindgen(js_name = openOrRegister)]
    pub async fn open_or_register(&self, store: JsValue, options: JsValue) -> Result<Agent, JsValue> {
        let registration = argument::<New>(&options)?.registration();
        self.0.open_or_register(store::of(store), registration).await.map(Agent).map_err(error)
    }

    pub async fn get(&self, path: &str) -> Answer {
        value(&self.0.get(path).await.map_err(error)?)
    }

    pub async fn post(&self, path: &str, body: JsValue) -> Answer {
        let body: Value = argument(&body)?;
        value(&self.0.post(path, &body).await.map_err(error)?)
    }
}

/// Whether the signature header of a webhook's delivery fits its body.
#[wasm_bindgen(js_name = verifyWebhook)]
pub fn verify_webhook(secret: &str, body: &[u8], signature: &str) -> bool {
    heliograph_client::relay::webhooks::WebhookSecret::new(secret.to_owned()).verify(body, signature)
}
