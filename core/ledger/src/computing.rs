//! The routes of this layer, by whether answering them computes: whoever adds a route says here what it costs. A route
//! that is on no list, or on two, fails a test.

use engine::http::Computes;

pub const LISTS: &[(Computes, &[&str])] = &[(Computes::Always, ALWAYS), (Computes::Never, NEVER)];

/// Read or compute much, whatever is kept: they wait for room before their handler begins.
const ALWAYS: &[&str] = &["GET /v1/pay/audit/log"];

/// Read few rows, or write. Lists among them come in pages, and a search reads what it shows.
const NEVER: &[&str] = &[
    "GET /v1/admin/ledger/keys",
    "POST /v1/admin/ledger/keys",
    "GET /v1/admin/ledger/metrics",
    "GET /v1/agent/ledger-notices",
    "PUT /v1/agent/ledger-notices",
    "POST /v1/pay/admin/cap",
    "POST /v1/pay/admin/freeze",
    "POST /v1/pay/admin/freeze_all",
    "POST /v1/pay/admin/grant",
    "GET /v1/pay/audit/balances",
    "GET /v1/pay/audit/consistency",
    "GET /v1/pay/audit/head",
    "GET /v1/pay/audit/proof/{id}",
    "POST /v1/pay/batch",
    "GET /v1/pay/capability/did/{did}",
    "POST /v1/pay/capability/list",
    "GET /v1/pay/capability/search",
    "GET /v1/pay/capability/{id}",
    "GET /v1/pay/escrow/history/{did}",
    "POST /v1/pay/escrow/open",
    "POST /v1/pay/escrow/refund",
    "POST /v1/pay/escrow/release",
    "POST /v1/pay/escrow/sweep",
    "GET /v1/pay/escrow/{id}",
    "POST /v1/pay/faucet",
    "GET /v1/pay/health",
    "POST /v1/pay/hire",
    "GET /v1/pay/hire/incoming/{did}",
    "GET /v1/pay/hire/outgoing/{did}",
    "GET /v1/pay/hire/{id}",
    "GET /v1/pay/history/{did}",
    "GET /v1/pay/manifest.json",
    "GET /v1/pay/private-session/config",
    "POST /v1/pay/receipt/accept",
    "POST /v1/pay/receipt/claim",
    "GET /v1/pay/receipt/did/{did}",
    "GET /v1/pay/receipt/escrow/{escrow_id}",
    "POST /v1/pay/receipt/sweep",
    "GET /v1/pay/receipt/{id}",
    "GET /v1/pay/statement/{did}",
    "GET /v1/pay/stats",
    "POST /v1/pay/transfer",
    "GET /v1/pay/transfer/{id}",
    "GET /v1/pay/trust/{did}",
    "POST /v1/pay/wallet",
    "GET /v1/pay/wallet/{did}",
];
