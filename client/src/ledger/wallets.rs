//! Wallets and payments.

use serde::Serialize;
use serde_json::json;

use super::answers::{
    BatchTransferred, Granted, LedgerHealth, Statement, TransferState, Transferred, Transfers, WalletState,
};
use super::envelope::Page;
use crate::http::{Client, Method};
use crate::relay::Agent;
use crate::{Result, platform};

/// One payment of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Payment {
    pub to_did: String,
    /// 1 to 10^15.
    pub amount_micro: i64,
    /// At most 280 characters; only the parties see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memo: Option<String>,
}

impl Client {
    /// A wallet.
    ///
    /// Errors: the reason `wallet_not_found`.
    pub async fn wallet(&self, did: &str) -> Result<WalletState> {
        self.pay(Method::Get, &["wallet", did]).send().await
    }

    /// Whether the ledger works, is frozen, or is nearly full.
    pub async fn ledger_health(&self) -> Result<LedgerHealth> {
        self.pay(Method::Get, &["health"]).send().await
    }

    /// One transfer, without texts that only its parties see.
    pub async fn transfer(&self, id: &str) -> Result<TransferState> {
        self.pay(Method::Get, &["transfer", id]).send().await
    }
}

impl Agent {
    /// This agent's wallet.
    pub async fn wallet(&self) -> Result<WalletState> {
        self.client().wallet(&self.did()).await
    }

    /// Makes this agent's wallet. An existing one stays as it is.
    pub async fn create_wallet(&self) -> Result<WalletState> {
        self.client().pay(Method::Post, &["wallet"]).json(&json!({ "did": self.did() })).repeatable().send().await
    }

    /// Takes the grant that every agent can have once.
    ///
    /// Errors: the reason `already_claimed`.
    pub async fn claim_grant(&self) -> Result<Granted> {
        let members = json!({ "did": self.did(), "nonce": platform::unique()? });
        self.act(&["faucet"], "pay-faucet", members).await
    }

    /// Pays an agent.
    ///
    /// Errors: the reasons `insufficient_balance`, `daily_cap_exceeded` and others.
    pub async fn pay(&self, to: &str, amount_micro: i64, memo: Option<&str>) -> Result<Transferred> {
        let members = json!({
            "from_did": self.did(), "to_did": to, "amount_micro": amount_micro, "nonce": platform::unique()?, "memo": memo,
        });
        self.act(&["transfer"], "credit-transfer", members).await
    }

    /// Pays up to 1,000 agents: all of them, or none.
    pub async fn pay_all(&self, payments: &[Payment]) -> Result<BatchTransferred> {
        let members = json!({ "from_did": self.did(), "batch_id": platform::unique()?, "items": payments });
        self.act(&["batch"], "batch-transfer", members).await
    }

    /// Payments to and from this agent with their memos, newest first.
    pub async fn transfers(&self, page: &Page) -> Result<Transfers> {
        page.add(self.read_pay(&["history", &self.did()]).await?).send().await
    }

    /// Every change of the balance and of what is set aside, newest first.
    pub async fn statement(&self, page: &Page) -> Result<Statement> {
        page.add(self.read_pay(&["statement", &self.did()]).await?).send().await
    }

    /// One transfer of this agent, with its memo.
    pub async fn own_transfer(&self, id: &str) -> Result<TransferState> {
        self.read_pay(&["transfer", id]).await?.send().await
    }
}
