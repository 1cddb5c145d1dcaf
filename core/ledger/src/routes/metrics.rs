//! Numbers of the ledger for its operator (decision ledger-for-clients), as JSON or in the text form that Prometheus
//! reads.

use std::collections::BTreeMap;
use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ACTOR;
use crate::metrics::ReadMetrics;
use crate::reason::Reason;
use crate::reason::RefusalCounts;
use crate::rows::Micro;
use crate::{Error, Result};
use engine::http::{Cx, METRICS_TEXT, Param, Response, Route, handler};
use engine::runtime;

pub const ROUTES: &[Route] = &[Route::get("/v1/admin/ledger/metrics", handler!(metrics))
    .admin()
    .extension()
    .answers(&["application/json", "text/plain"])
    .params(&[Param::optional("format", "`json` (default) or `prometheus`.")
        .one_of(&["json", "prometheus"])
        .default("json")])
    .returns::<MetricsBody>()
    .summary("Supply, locked money, refusals, how far behind the sweep is, and whether the books balance.")];

/// Numbers of the ledger. Amounts are whole micro-credits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct MetricsBody {
    /// All credit that was ever granted.
    pub supply_micro: Micro,
    pub wallets: u64,
    /// Sum over all wallets of what they can spend.
    pub balance_micro: Micro,
    /// Sum over all wallets of what they set aside.
    pub locked_micro: Micro,
    /// Credit that wallets hold beyond what was granted; must be 0.
    pub imbalance_micro: i64,
    /// Credit that wallets set aside beyond the amounts of open escrows; must be 0.
    pub locked_imbalance_micro: i64,
    /// Wallets with other balances than their last event left, among those that were checked lately; must be 0.
    pub wallets_off: u64,
    /// By reason: envelopes that the ledger took and refused, since it began.
    pub refusals: BTreeMap<String, u64>,
    /// By reason: requests that this process refused before the ledger took anything of them, since the process began.
    pub refusals_before_ledger: BTreeMap<String, u64>,
    /// How long the oldest due row has waited; grows when the sweep is stuck.
    pub oldest_unswept_seconds: f64,
}

fn by_reason(counts: Vec<(Reason, u64)>) -> BTreeMap<String, u64> {
    counts.into_iter().map(|(reason, count)| (reason.as_str().to_owned(), count)).collect()
}

async fn metrics(cx: Cx) -> Result<Response> {
    let text = match cx.query("format")?.as_deref() {
        None | Some("json") => false,
        Some("prometheus") => true,
        Some(_) => return Err(Error::bad_request("Query parameter `format` must be json or prometheus.")),
    };
    let read = runtime::query(&*cx.rt, ACTOR, &ReadMetrics).await?;
    let body = MetricsBody {
        supply_micro: read.supply,
        wallets: read.wallets,
        balance_micro: read.balance,
        locked_micro: read.locked,
        imbalance_micro: i64::try_from(read.imbalance()).unwrap_or(i64::MAX),
        locked_imbalance_micro: i64::try_from(read.locked_imbalance()).unwrap_or(i64::MAX),
        wallets_off: read.off,
        oldest_unswept_seconds: read.unswept as f64 / 1e6,
        refusals: by_reason(read.refusals),
        refusals_before_ledger: by_reason(RefusalCounts::of(cx.rt.environment()).all()),
    };
    match text {
        false => Response::json(&body),
        true => Ok(Response::new(http::StatusCode::OK, METRICS_TEXT, body.to_text())),
    }
}

impl MetricsBody {
    fn to_text(&self) -> String {
        let mut text = String::new();
        let mut gauge = |name: &str, help: &str, value: String| {
            // Writing to a text cannot fail.
            let _ = write!(
                text,
                "# HELP heliograph_ledger_{name} {help}\n# TYPE heliograph_ledger_{name} gauge\nheliograph_ledger_{name} {value}\n"
            );
        };
        gauge("supply_micro", "All credit that was ever granted.", self.supply_micro.to_string());
        gauge("wallets", "Wallets.", self.wallets.to_string());
        gauge("balance_micro", "Credit that wallets can spend.", self.balance_micro.to_string());
        gauge("locked_micro", "Credit that wallets set aside.", self.locked_micro.to_string());
        gauge("imbalance_micro", "Credit held beyond what was granted; must be 0.", self.imbalance_micro.to_string());
        gauge(
            "locked_imbalance_micro",
            "Credit set aside beyond the amounts of open escrows; must be 0.",
            self.locked_imbalance_micro.to_string(),
        );
        gauge("wallets_off", "Wallets that differ from their last event; must be 0.", self.wallets_off.to_string());
        gauge("oldest_unswept_seconds", "How long the oldest due row waits.", self.oldest_unswept_seconds.to_string());
        for (name, help, counts) in [
            ("refusals_total", "Refused by the ledger.", &self.refusals),
            ("refusals_before_ledger_total", "Refused before the ledger was asked.", &self.refusals_before_ledger),
        ] {
            let _ = write!(text, "# HELP heliograph_ledger_{name} {help}\n# TYPE heliograph_ledger_{name} counter\n");
            for (reason, count) in counts {
                let _ = writeln!(text, "heliograph_ledger_{name}{{reason=\"{reason}\"}} {count}");
            }
        }
        text
    }
}
