//! `heliograph admin ledger grant`, `freeze`, `cap`, `freeze-all`, `release` and `refund`: actions that an admin key
//! signs here (decision ledger-for-clients).

use std::path::PathBuf;

use bytes::Bytes;
use clap::{Args, Subcommand};
use heliograph_core::engine::time::MINUTE;
use heliograph_core::ledger::json as canonical;
use http::Method;
use serde_json::{Map, Value, json};

use super::key::{AdminKey, text};
use crate::cli::args::Common;
use crate::cli::client::Client;
use crate::clock;

/// How long a signed action is valid, in microseconds. It is short because the action is sent at once.
const LIFE: i64 = 2 * MINUTE;

/// The key that signs the action, and the reason.
#[derive(Debug, Args)]
pub struct By {
    /// File of an admin key, as `admin ledger admin-key add` makes it.
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Reason; kept with the action.
    #[arg(long)]
    pub reason: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Act {
    /// Give new credit to a wallet, which is created if it does not exist.
    Grant {
        /// DID of the wallet.
        did: String,
        /// Amount in micro-credits; a credit has 1,000,000.
        micro: u64,
        #[command(flatten)]
        by: By,
    },
    /// Stop a wallet from paying.
    Freeze {
        /// DID of the wallet.
        did: String,
        /// Let the wallet pay again.
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        by: By,
    },
    /// Change the caps of a wallet, or limit whom it may pay.
    Cap {
        /// DID of the wallet.
        did: String,
        /// Most micro-credits that may leave it in 24 hours.
        #[arg(long, value_name = "MICRO")]
        daily: Option<u64>,
        /// Most micro-credits of one payment.
        #[arg(long, value_name = "MICRO")]
        per_tx: Option<u64>,
        /// Allow payments only to this DID; may be repeated.
        #[arg(long, value_name = "DID")]
        allow: Vec<String>,
        /// Allow payments to anybody again.
        #[arg(long, conflicts_with = "allow")]
        allow_anybody: bool,
        #[command(flatten)]
        by: By,
    },
    /// Stop every outflow of the whole ledger.
    FreezeAll {
        /// Let the ledger work again.
        #[arg(long)]
        undo: bool,
        /// Switch the faucet on or off; without this it stays as it is.
        #[arg(long, value_parser = ["on", "off"])]
        faucet: Option<String>,
        #[command(flatten)]
        by: By,
    },
    /// Force an escrow to pay out.
    Release {
        /// Id of the escrow.
        escrow: String,
        #[command(flatten)]
        by: By,
    },
    /// Force an escrow to be refunded.
    Refund {
        /// Id of the escrow.
        escrow: String,
        #[command(flatten)]
        by: By,
    },
}

impl Act {
    /// The path, the name of the action, its members, and its signer.
    fn parts(&self) -> (&'static str, &'static str, Value, &By) {
        match self {
            Act::Grant { did, micro, by } => {
                ("/v1/pay/admin/grant", "grant", json!({ "did": did, "amount_micro": micro }), by)
            }
            Act::Freeze { did, undo, by } => {
                ("/v1/pay/admin/freeze", "freeze", json!({ "did": did, "frozen": !undo }), by)
            }
            Act::Cap { did, daily, per_tx, allow, allow_anybody, by } => {
                let allowlist = match (allow_anybody, allow.is_empty()) {
                    (true, _) => json!("none"),
                    (false, false) => json!(allow),
                    (false, true) => Value::Null,
                };
                let members = json!({ "did": did, "daily_cap_micro": daily, "per_tx_cap_micro": per_tx,
                    "allowlist": allowlist });
                ("/v1/pay/admin/cap", "cap", members, by)
            }
            Act::FreezeAll { undo, faucet, by } => {
                let disabled = faucet.as_ref().map(|faucet| faucet == "off");
                let members = json!({ "frozen": !undo, "faucet_disabled": disabled });
                ("/v1/pay/admin/freeze_all", "freeze_all", members, by)
            }
            Act::Release { escrow, by } => {
                ("/v1/pay/escrow/release", "escrow_release", json!({ "escrow_id": escrow }), by)
            }
            Act::Refund { escrow, by } => {
                ("/v1/pay/escrow/refund", "escrow_refund", json!({ "escrow_id": escrow }), by)
            }
        }
    }
}

pub fn run(common: &Common, act: &Act) -> Result<(), String> {
    let (path, action, members, by) = act.parts();
    let key = AdminKey::load(&by.key)?;
    // The signature authorises the action, so no operator key is needed.
    let client = Client::open_public(common)?;
    let health: Value = client.get("/v1/pay/health")?;
    let brand = text(&health, "schema").split_once("-pay-").map(|(brand, _)| brand).unwrap_or_default();
    let now = clock::now();
    let nonce: [u8; 16] = clock::random()?;
    let mut body = json!({
        "schema": format!("{brand}-pay-admin-action/v1"),
        "action": action,
        "audience": text(&health, "deployment"),
        "action_nonce": heliograph_core::crypto::encoding::encode_hex(&nonce),
        "issued_at": now.to_millis_text(),
        "valid_until_ts": now.plus(LIFE).to_millis_text(),
        "reason": by.reason,
    });
    if let (Value::Object(body), Value::Object(members)) = (&mut body, members) {
        body.extend(members);
    }
    let body = without_nulls(body);
    let signed = canonical::parse(body.to_string().as_bytes(), canonical::MAX_DEPTH)
        .and_then(|value| value.canonical())
        .ok_or("the action has no canonical form, so it cannot be signed")?;
    let sent = json!({ "keyid": key.id(), "signature_base64": key.sign(&signed), "body": body });
    let answer = client.request(Method::POST, path, Bytes::from(sent.to_string()))?;
    if answer.status >= 300 {
        return Err(format!("{} {}: {}", answer.status, text(&answer.body, "reason"), text(&answer.body, "message")));
    }
    say!("{}", answer.body);
    Ok(())
}

/// Removes members that are null, because the signature does not include them.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>())
        }
        other => other,
    }
}
