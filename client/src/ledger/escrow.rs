//! Money that is set aside until its sender releases it, takes it back, or its deadline passes.

use std::time::Duration;

use serde_json::json;

use super::answers::{EscrowAnswer, EscrowEnded, EscrowOpened, Escrows};
use super::envelope::Page;
use crate::http::{Client, Method};
use crate::relay::Agent;
use crate::{Result, platform};

impl Client {
    /// One escrow.
    pub async fn escrow(&self, id: &str) -> Result<EscrowAnswer> {
        self.pay(Method::Get, &["escrow", id]).send().await
    }
}

impl Agent {
    /// Sets money aside for an agent, for at most seven days.
    pub async fn open_escrow(
        &self,
        to: &str,
        amount_micro: i64,
        lasts: Duration,
        memo: Option<&str>,
    ) -> Result<EscrowOpened> {
        let members = json!({
            "from_did": self.did(),
            "to_did": to,
            "amount_micro": amount_micro,
            "nonce": platform::unique()?,
            "deadline_at": platform::time_in(lasts),
            "memo": memo,
        });
        self.act(&["escrow", "open"], "escrow-open", members).await
    }

    /// Pays what was set aside to its recipient.
    pub async fn release_escrow(&self, id: &str) -> Result<EscrowEnded> {
        let members = json!({ "escrow_id": id, "signer_did": self.did(), "action_nonce": platform::unique()? });
        self.act(&["escrow", "release"], "escrow-release", members).await
    }

    /// Takes back what was set aside.
    ///
    /// Errors: the reason `claim_pending` while the recipient's claim of work waits for an answer.
    pub async fn refund_escrow(&self, id: &str, reason: Option<&str>) -> Result<EscrowEnded> {
        let members = json!({
            "escrow_id": id, "signer_did": self.did(), "action_nonce": platform::unique()?, "reason": reason,
        });
        self.act(&["escrow", "refund"], "escrow-refund", members).await
    }

    /// Escrows of this agent, newest first.
    pub async fn escrows(&self, page: &Page) -> Result<Escrows> {
        page.add(self.read_pay(&["escrow", "history", &self.did()]).await?).send().await
    }
}
