//! Offers, hires, claims of work, acceptance, receipts.

use std::time::Duration;

use crypto::{encoding, hash};
use serde::Serialize;
use serde_json::{Value, json};

use super::answers::{
    Found, Hire, HireAnswer, HireMade, Hires, Listing, ListingAnswer, ListingMade, Listings, Receipt, ReceiptAccepted,
    ReceiptAnswer, ReceiptClaimed, Receipts, Record, Stats,
};
use super::envelope::Page;
use crate::http::{Client, Method};
use crate::relay::Agent;
use crate::{Error, Result, platform};

/// What a provider offers. One with the same slug replaces the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// 1 to 64 of `a-z`, `0-9`, `.`, `_` and `-`.
    pub capability: String,
    /// At most 80 characters.
    pub name: String,
    /// At most 560 characters.
    pub description: String,
    /// 0 to 10^15. An offer for nothing cannot be hired.
    pub price_micro: i64,
    /// What is paid for, such as `call`; at most 24 characters.
    pub unit: String,
    /// How long the work may take: 1 to 168.
    pub sla_hours: u32,
    /// Whether it can be hired now.
    pub active: bool,
    /// JSON Schema as a text of at most 2,048 characters.
    pub input_schema: Option<String>,
    /// JSON Schema as a text of at most 2,048 characters.
    pub output_schema: Option<String>,
    pub tags: Vec<String>,
}

impl Offer {
    /// An active offer of calls that are answered within a day.
    pub fn new(capability: &str, name: &str, price_micro: i64) -> Offer {
        Offer {
            capability: capability.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            price_micro,
            unit: "call".to_owned(),
            sla_hours: 24,
            active: true,
            input_schema: None,
            output_schema: None,
            tags: Vec::new(),
        }
    }
}

/// What is searched for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Search {
    pub words: Option<String>,
    /// The slug.
    pub capability: Option<String>,
    pub max_price_micro: Option<i64>,
    pub provider: Option<String>,
    pub page: Page,
}

/// SHA-256 of the summary of work, in hex: what its provider signs beside the summary.
pub fn work_hash(summary: &str) -> String {
    encoding::encode_hex(&hash::sha256(summary.as_bytes()))
}

impl Client {
    /// Searches offers.
    pub async fn search_market(&self, search: &Search) -> Result<Found> {
        let call = self.read_list(&["capability", "search"], &search.page);
        let call = call.query("q", search.words.as_deref()).query("capability", search.capability.as_deref());
        let call = call.query("max_price_micro", search.max_price_micro);
        call.query("provider_did", search.provider.as_deref()).send().await
    }

    /// One offer.
    pub async fn listing(&self, id: &str) -> Result<Listing> {
        let answer: ListingAnswer = self.pay(Method::Get, &["capability", id]).send().await?;
        Ok(answer.capability)
    }

    /// The offers of a provider.
    pub async fn listings(&self, did: &str, page: &Page) -> Result<Listings> {
        self.read_list(&["capability", "did", did], page).send().await
    }

    /// What an agent did as a provider and as a requester.
    pub async fn record(&self, did: &str) -> Result<Record> {
        self.pay(Method::Get, &["trust", did]).send().await
    }

    /// Numbers over the whole market.
    pub async fn market_stats(&self) -> Result<Stats> {
        self.pay(Method::Get, &["stats"]).send().await
    }
}

impl Agent {
    /// Offers something, or changes the offer with this slug.
    pub async fn list_offer(&self, offer: &Offer) -> Result<ListingMade> {
        let tags = match offer.tags.is_empty() {
            true => None,
            false => Some(json!(offer.tags).to_string()),
        };
        let members = json!({
            "provider_did": self.did(),
            "capability": offer.capability,
            "name": offer.name,
            "description": offer.description,
            "price_per_call_micro": offer.price_micro,
            "unit": offer.unit,
            "sla_deadline_hours": offer.sla_hours,
            "active": offer.active,
            "nonce": platform::unique()?,
            "input_schema": offer.input_schema,
            "output_schema": offer.output_schema,
            "tags": tags,
        });
        self.act(&["capability", "list"], "capability-list", members).await
    }

    /// Hires a provider at the price of its offer, which is set aside until the work is accepted. `input` is any JSON of
    /// at most 2,048 characters; only the parties see it.
    pub async fn hire(&self, listing: &Listing, task: &str, input: Option<&impl Serialize>) -> Result<HireMade> {
        if listing.provider_did == self.did() {
            return Err(Error::usage("an agent cannot hire itself"));
        }
        let input = match input {
            Some(input) => Some(serde_json::to_string(input).map_err(|error| Error::usage(error.to_string()))?),
            None => None,
        };
        let members = json!({
            "capability_id": listing.id,
            "capability": listing.capability,
            "requester_did": self.did(),
            "provider_did": listing.provider_did,
            "price_micro": listing.price_per_call_micro,
            "task_id": task,
            "delivery_deadline_hours": listing.sla_deadline_hours,
            "nonce": platform::unique()?,
            "input_json": input,
        });
        self.act(&["hire"], "hire-request", members).await
    }

    /// One hire, with its input if this agent is a party of it.
    pub async fn hire_state(&self, id: &str) -> Result<Hire> {
        let answer: HireAnswer = self.read_pay(&["hire", id]).await?.send().await?;
        Ok(answer.hire)
    }

    /// Hires of this agent as a provider, in this state or all; newest first.
    pub async fn incoming_hires(&self, state: Option<&str>, page: &Page) -> Result<Hires> {
        let call = page.add(self.read_pay(&["hire", "incoming", &self.did()]).await?);
        call.query("state", state).send().await
    }

    /// Hires by this agent, in this state or all; newest first.
    pub async fn outgoing_hires(&self, state: Option<&str>, page: &Page) -> Result<Hires> {
        let call = page.add(self.read_pay(&["hire", "outgoing", &self.did()]).await?);
        call.query("state", state).send().await
    }

    /// Hands in the work of a hire: says what was done, in at most 280 characters. Without an answer of the requester
    /// within `patience` (5 minutes to 7 days, not beyond the deadline of the hire) the work counts as accepted.
    pub async fn deliver(&self, hire: &Hire, summary: &str, patience: Duration) -> Result<ReceiptClaimed> {
        // The escrow ends at the deadline of the delivery, and ISO 8601 texts of one form compare as times.
        let wanted = platform::time_in(patience);
        let deadline = if wanted.get(..19) < hire.delivery_deadline_at.get(..19) {
            wanted
        } else {
            hire.delivery_deadline_at.clone()
        };
        self.claim_work(&hire.requester_did, &hire.task_id, Some(&hire.escrow_id), summary, &deadline).await
    }

    /// Claims that work was done for an agent, on an escrow or without money. `deadline` is ISO 8601.
    pub async fn claim_work(
        &self,
        requester: &str,
        task: &str,
        escrow: Option<&str>,
        summary: &str,
        deadline: &str,
    ) -> Result<ReceiptClaimed> {
        let members = json!({
            "task_id": task,
            "from_did": requester,
            "to_did": self.did(),
            "work_hash": work_hash(summary),
            "summary": summary,
            "nonce": platform::unique()?,
            "acceptance_deadline_at": deadline,
            "auto_accept_on_timeout": true,
            "escrow_id": escrow,
        });
        self.act(&["receipt", "claim"], "work-claim", members).await
    }

    /// Accepts claimed work, which pays for it, with a rating from 1 to 5 and a text.
    ///
    /// Errors: [`Error::Usage`] if the summary is not the text whose hash the provider signed.
    pub async fn accept(
        &self,
        receipt: &Receipt,
        rating: Option<u8>,
        feedback: Option<&str>,
    ) -> Result<ReceiptAccepted> {
        if let (Some(summary), Some(signed)) = (&receipt.summary, &receipt.work_hash)
            && work_hash(summary) != *signed
        {
            return Err(Error::usage(
                "the summary is not the text whose hash the provider signed; look before accepting",
            ));
        }
        self.judge(receipt, json!({ "action": "accept", "rating": rating, "feedback": feedback })).await
    }

    /// Disputes claimed work, for this reason. It is not paid.
    pub async fn dispute(&self, receipt: &Receipt, reason: &str) -> Result<ReceiptAccepted> {
        self.judge(receipt, json!({ "action": "dispute", "dispute_reason": reason })).await
    }

    async fn judge(&self, receipt: &Receipt, mut members: Value) -> Result<ReceiptAccepted> {
        members["receipt_id"] = receipt.id.as_str().into();
        members["signer_did"] = self.did().into();
        members["action_nonce"] = platform::unique()?.into();
        self.act(&["receipt", "accept"], "work-acceptance", members).await
    }

    /// One receipt, with its texts if this agent is a party of it.
    pub async fn receipt(&self, id: &str) -> Result<Receipt> {
        let answer: ReceiptAnswer = self.read_pay(&["receipt", id]).await?.send().await?;
        Ok(answer.receipt)
    }

    /// Receipts of this agent, newest first.
    pub async fn receipts(&self, page: &Page) -> Result<Receipts> {
        page.add(self.read_pay(&["receipt", "did", &self.did()]).await?).send().await
    }
}
