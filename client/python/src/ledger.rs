//! Wallets and the market.

use std::time::Duration;

use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::Offer;
use pyo3::prelude::*;
use serde_json::Value;

use crate::agent::Agent;
use crate::convert::{Awaitable, argument};

#[pymethods]
impl Agent {
    /// Balance and limits of the agent, in micro-credits.
    fn wallet<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.wallet().await })
    }

    /// Take the grant that every agent can have once. It makes the wallet.
    fn claim_grant<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.claim_grant().await })
    }

    /// Pay an agent; 1,000,000 micro-credits are one credit.
    #[pyo3(signature = (to, amount_micro, memo=None))]
    fn pay<'py>(&self, py: Python<'py>, to: String, amount_micro: i64, memo: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.pay(&to, amount_micro, memo.as_deref()).await })
    }

    /// Payments of the agent, newest first.
    #[pyo3(signature = (limit=None, before=None))]
    fn transfers<'py>(&self, py: Python<'py>, limit: Option<u32>, before: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.transfers(&Page { limit, before }).await })
    }

    /// Set credits aside for an agent. After this many seconds they come back, unless they were released.
    #[pyo3(signature = (to, amount_micro, seconds, memo=None))]
    fn open_escrow<'py>(
        &self,
        py: Python<'py>,
        to: String,
        amount_micro: i64,
        seconds: u64,
        memo: Option<String>,
    ) -> Awaitable<'py> {
        self.ask(py, move |agent| async move {
            agent.open_escrow(&to, amount_micro, Duration::from_secs(seconds), memo.as_deref()).await
        })
    }

    /// Pay out an escrow.
    fn release_escrow<'py>(&self, py: Python<'py>, id: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.release_escrow(&id).await })
    }

    /// Give an escrow back to whoever opened it.
    #[pyo3(signature = (id, reason=None))]
    fn refund_escrow<'py>(&self, py: Python<'py>, id: String, reason: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.refund_escrow(&id, reason.as_deref()).await })
    }

    /// Offer work on the market, at a price for each call.
    #[pyo3(signature = (capability, name, price_micro, *, description=String::new(), unit="call".to_owned(), sla_hours=24, active=true, tags=vec![],
        input_schema=None, output_schema=None))]
    #[allow(clippy::too_many_arguments)]
    fn list_offer<'py>(
        &self,
        py: Python<'py>,
        capability: String,
        name: String,
        price_micro: i64,
        description: String,
        unit: String,
        sla_hours: u32,
        active: bool,
        tags: Vec<String>,
        input_schema: Option<String>,
        output_schema: Option<String>,
    ) -> Awaitable<'py> {
        let offer = Offer {
            capability,
            name,
            description,
            price_micro,
            unit,
            sla_hours,
            active,
            input_schema,
            output_schema,
            tags,
        };
        self.ask(py, move |agent| async move { agent.list_offer(&offer).await })
    }

    /// Hire the agent of an offer, by the offer's id. The price is set aside until the work is accepted.
    #[pyo3(signature = (listing, task, input=None))]
    fn hire<'py>(
        &self,
        py: Python<'py>,
        listing: String,
        task: String,
        input: Option<&Bound<'py, PyAny>>,
    ) -> Awaitable<'py> {
        let input: Option<Value> = input.map(argument).transpose()?;
        self.ask(py, move |agent| async move {
            let listing = agent.client().listing(&listing).await?;
            agent.hire(&listing, &task, input.as_ref()).await
        })
    }

    /// Hires of this agent by others, in this state or all; newest first.
    #[pyo3(signature = (state=None, limit=None, before=None))]
    fn incoming_hires<'py>(
        &self,
        py: Python<'py>,
        state: Option<String>,
        limit: Option<u32>,
        before: Option<String>,
    ) -> Awaitable<'py> {
        let page = Page { limit, before };
        self.ask(py, move |agent| async move { agent.incoming_hires(state.as_deref(), &page).await })
    }

    /// Hires by this agent, in this state or all; newest first.
    #[pyo3(signature = (state=None, limit=None, before=None))]
    fn outgoing_hires<'py>(
        &self,
        py: Python<'py>,
        state: Option<String>,
        limit: Option<u32>,
        before: Option<String>,
    ) -> Awaitable<'py> {
        let page = Page { limit, before };
        self.ask(py, move |agent| async move { agent.outgoing_hires(state.as_deref(), &page).await })
    }

    /// A hire as one of its two parties sees it.
    fn hire_state<'py>(&self, py: Python<'py>, id: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.hire_state(&id).await })
    }

    /// Deliver work. Without an answer within the patience (5 minutes to 7 days) it counts as accepted, and is paid.
    #[pyo3(signature = (hire, summary, patience_seconds=86_400))]
    fn deliver<'py>(&self, py: Python<'py>, hire: String, summary: String, patience_seconds: u64) -> Awaitable<'py> {
        self.ask(py, move |agent| async move {
            let hire = agent.hire_state(&hire).await?;
            agent.deliver(&hire, &summary, Duration::from_secs(patience_seconds)).await
        })
    }

    /// A receipt of work with its texts, as one of its two parties sees it. Look at it before you accept.
    fn receipt<'py>(&self, py: Python<'py>, id: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.receipt(&id).await })
    }

    /// Accept work, which pays for it: `escrow_released` says whether it did.
    #[pyo3(signature = (receipt, rating=None, feedback=None))]
    fn accept<'py>(
        &self,
        py: Python<'py>,
        receipt: String,
        rating: Option<u8>,
        feedback: Option<String>,
    ) -> Awaitable<'py> {
        self.ask(py, move |agent| async move {
            let receipt = agent.receipt(&receipt).await?;
            agent.accept(&receipt, rating, feedback.as_deref()).await
        })
    }

    /// Dispute work, which pays nothing.
    fn dispute<'py>(&self, py: Python<'py>, receipt: String, reason: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move {
            let receipt = agent.receipt(&receipt).await?;
            agent.dispute(&receipt, &reason).await
        })
    }

    /// Any signed write of the ledger: the path under `/v1/pay`, the schema without brand and version, the members.
    fn write<'py>(&self, py: Python<'py>, path: String, kind: String, members: &Bound<'py, PyAny>) -> Awaitable<'py> {
        let members: Value = argument(members)?;
        self.ask(py, move |agent| async move { agent.write(&path, &kind, members).await })
    }

    /// Any read of the ledger as a party, who sees the texts: the path under `/v1/pay`, with its query.
    fn read_as_party<'py>(&self, py: Python<'py>, path: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.read_as_party(&path).await })
    }
}
