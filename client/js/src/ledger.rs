//! Wallets, the market, proofs.

use std::time::Duration;

use heliograph_client::ledger::audit::Head;
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::{Offer, Search, Verdict};
use serde::Deserialize;
use serde_json::Value;
use wasm_bindgen::prelude::*;

use crate::agent::Agent;
use crate::client::Client;
use crate::convert::{Answer, argument, error, value};

/// An offer as JavaScript gives it.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct NewOffer {
    capability: String,
    name: String,
    description: String,
    price_micro: i64,
    unit: Option<String>,
    sla_hours: Option<u32>,
    active: Option<bool>,
    input_schema: Option<String>,
    output_schema: Option<String>,
    tags: Vec<String>,
}

impl NewOffer {
    fn offer(self) -> Offer {
        let usual = Offer::new(&self.capability, &self.name, self.price_micro);
        Offer {
            description: self.description,
            unit: self.unit.unwrap_or(usual.unit),
            sla_hours: self.sla_hours.unwrap_or(usual.sla_hours),
            active: self.active.unwrap_or(usual.active),
            input_schema: self.input_schema,
            output_schema: self.output_schema,
            tags: self.tags,
            ..usual
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Wanted {
    words: Option<String>,
    capability: Option<String>,
    max_price_micro: Option<i64>,
    provider: Option<String>,
    limit: Option<u32>,
    before: Option<String>,
}

/// Whole micro-credits that JavaScript counts exactly.
fn micro(amount: f64) -> Result<i64, JsValue> {
    match amount.fract() == 0.0 && amount.abs() < 9_007_199_254_740_992.0 {
        true => Ok(amount as i64),
        false => Err(js_sys::RangeError::new("an amount is a whole number of micro-credits").into()),
    }
}

#[wasm_bindgen]
impl Agent {
    pub async fn wallet(&self) -> Answer {
        value(&self.0.wallet().await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = claimGrant)]
    pub async fn claim_grant(&self) -> Answer {
        value(&self.0.claim_grant().await.map_err(error)?)
    }

    pub async fn pay(&self, to: &str, amount: f64, memo: Option<String>) -> Answer {
        value(&self.0.pay(to, micro(amount)?, memo.as_deref()).await.map_err(error)?)
    }

    pub async fn transfers(&self, limit: Option<u32>, before: Option<String>) -> Answer {
        value(&self.0.transfers(&Page { limit, before }).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = openEscrow)]
    pub async fn open_escrow(&self, to: &str, amount: f64, seconds: u32, memo: Option<String>) -> Answer {
        let lasts = Duration::from_secs(seconds.into());
        value(&self.0.open_escrow(to, micro(amount)?, lasts, memo.as_deref()).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = releaseEscrow)]
    pub async fn release_escrow(&self, id: &str) -> Answer {
        value(&self.0.release_escrow(id).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = refundEscrow)]
    pub async fn refund_escrow(&self, id: &str, reason: Option<String>) -> Answer {
        value(&self.0.refund_escrow(id, reason.as_deref()).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = listOffer)]
    pub async fn list_offer(&self, offer: JsValue) -> Answer {
        let offer = argument::<NewOffer>(&offer)?.offer();
        value(&self.0.list_offer(&offer).await.map_err(error)?)
    }

    pub async fn hire(&self, listing: &str, task: &str, input: JsValue) -> Answer {
        let listing = self.0.client().listing(listing).await.map_err(error)?;
        let input: Option<Value> = argument(&input)?;
        value(&self.0.hire(&listing, task, input.as_ref()).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = incomingHires)]
    pub async fn incoming_hires(&self, state: Option<String>) -> Answer {
        value(&self.0.incoming_hires(state.as_deref(), &Page::default()).await.map_err(error)?)
    }

    #[wasm_bindgen(js_name = hireState)]
    pub async fn hire_state(&self, id: &str) -> Answer {
        value(&self.0.hire_state(id).await.map_err(error)?)
    }

    pub async fn deliver(&self, hire: &str, summary: &str, patience_seconds: u32) -> Answer {
        let hire = self.0.hire_state(hire).await.map_err(error)?;
        let patience = Duration::from_secs(patience_seconds.into());
        value(&self.0.deliver(&hire, summary, patience).await.map_err(error)?)
    }

    pub async fn accept(&self, receipt: &str, rating: Option<u8>, feedback: Option<String>) -> Answer {
        let receipt = self.0.receipt(receipt).await.map_err(error)?;
        value(&self.0.judge(&receipt, &Verdict::Accept { rating, feedback }).await.map_err(error)?)
    }

    pub async fn dispute(&self, receipt: &str, reason: String) -> Answer {
        let receipt = self.0.receipt(receipt).await.map_err(error)?;
        value(&self.0.judge(&receipt, &Verdict::Dispute(reason)).await.map_err(error)?)
    }
}

#[wasm_bindgen]
impl Client {
    #[wasm_bindgen(js_name = searchMarket)]
    pub async fn search_market(&self, wanted: JsValue) -> Answer {
        let Wanted { words, capability, max_price_micro, provider, limit, before } = argument(&wanted)?;
        let search = Search { words, capability, max_price_micro, provider, page: Page { limit, before } };
        value(&self.0.search_market(&search).await.map_err(error)?)
    }

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
