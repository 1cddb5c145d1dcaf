//! Manifest and health.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::schema;
use crate::ACTOR;
use crate::Result;
use crate::book::{DAILY_CAP, MAX_AMOUNT, PER_TX_CAP};
use crate::envelope::MAX_TEXT;
use crate::reads::ReadHealth;
use crate::room::{Storage, Unknown};
use crate::rows::Micro;
use crate::submit::Prepare;
use engine::http::{Auth, Cx, Limit, Response, Route, handler};
use engine::runtime::{self, Late};

pub const ROUTES: &[Route] = &[
    pay_route(Route::get("/v1/pay/manifest.json", handler!(manifest)), Auth::None, Limit::PayRead)
        .returns::<Manifest>()
        .summary("The endpoints and limits of the ledger, and how to sign for it."),
    pay_route(Route::get("/v1/pay/health", handler!(health)), Auth::None, Limit::PayRead)
        .returns::<Health>()
        .summary("The state of the ledger, and the admin keys that govern it."),
];

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerManifest")]
pub struct Manifest {
    schema: String,
    service: &'static str,
    /// `Stage 1`
    stage: &'static str,
    description: &'static str,
    envelope_schema: String,
    signature_algorithm: &'static str,
    signature_encoding: &'static str,
    hash_algorithm: &'static str,
    amount_units: &'static str,
    defaults: Defaults,
    endpoints: Vec<Endpoint>,
    mcp_tools: Vec<Tool>,
    reliability_commitment: &'static str,
    invariants_doc: String,
    directive_doc: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerDefaults")]
pub struct Defaults {
    daily_cap_micro: Micro,
    per_tx_cap_micro: Micro,
    max_envelope_window_minutes: u32,
    max_memo_length: usize,
    max_amount_micro: Micro,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerEndpoint")]
pub struct Endpoint {
    method: String,
    path: &'static str,
    summary: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerTool")]
pub struct Tool {
    name: &'static str,
    params: Vec<&'static str>,
}

/// Core endpoints in the order of existing manifests. Endpoints of this list that are not built are left out.
const ORDER: &[(&str, &str)] = &[
    ("POST", "/v1/pay/wallet"),
    ("GET", "/v1/pay/wallet/{did}"),
    ("POST", "/v1/pay/transfer"),
    ("GET", "/v1/pay/transfer/{id}"),
    ("GET", "/v1/pay/history/{did}"),
    ("POST", "/v1/pay/admin/grant"),
    ("POST", "/v1/pay/admin/freeze"),
    ("POST", "/v1/pay/admin/cap"),
    ("POST", "/v1/pay/admin/freeze_all"),
    ("GET", "/v1/pay/health"),
    ("GET", "/v1/pay/manifest.json"),
    ("POST", "/v1/pay/escrow/open"),
    ("POST", "/v1/pay/escrow/release"),
    ("POST", "/v1/pay/escrow/refund"),
];

/// Beginning of the paths of routes that do not belong to the ledger, and are in no manifest.
const SESSIONS: &str = "/v1/pay/private-session/";

/// Tools of agents that speak the Model Context Protocol, with their parameters; `?` marks optional ones.
const TOOLS: &[(&str, &str)] = &[
    ("agent_wallet_balance", "did?"),
    ("agent_pay", "to_did amount_credits memo? expires_in_minutes?"),
    ("agent_payment_history", "did? limit? before?"),
    ("agent_pay_manifest", ""),
    ("agent_escrow_open", "to_did amount_credits deadline_hours? memo?"),
    ("agent_escrow_release", "escrow_id"),
    ("agent_escrow_refund", "escrow_id reason?"),
    ("agent_escrow_status", "escrow_id"),
    (
        "agent_work_claim",
        "task_id requester_did work_hash summary? escrow_id? acceptance_deadline_hours? auto_accept_on_timeout?",
    ),
    ("agent_work_accept", "receipt_id rating? feedback?"),
    ("agent_work_dispute", "receipt_id dispute_reason feedback?"),
    ("agent_receipt_status", "receipt_id"),
    (
        "agent_capability_list",
        "capability name description price_credits unit? sla_deadline_hours? input_schema? output_schema? tags? active?",
    ),
    ("agent_capability_search", "q? capability? max_price_credits? provider_did? limit?"),
    ("agent_hire", "capability_id input? task_id? delivery_deadline_hours?"),
    ("agent_hires_incoming", "state? limit?"),
    ("agent_hires_outgoing", "state? limit?"),
    ("agent_faucet", ""),
    ("agent_trust", "did?"),
    ("agent_pay_stats", ""),
];

/// Routes of the ledger: first the known ones in their order, then the others as they stand in the table.
fn endpoints(cx: &Cx) -> Vec<Endpoint> {
    let routes = cx.rt.environment().program.routes();
    let ours: Vec<&Route> =
        routes.filter(|route| route.path.starts_with("/v1/pay/") && !route.path.starts_with(SESSIONS)).collect();
    let known = |route: &Route| ORDER.iter().position(|(method, path)| route.method == *method && route.path == *path);
    let mut ordered: Vec<&Route> = ours;
    ordered.sort_by_key(|route| (known(route).unwrap_or(usize::MAX), route.extension));
    let entry = |route: &Route| Endpoint { method: route.method.to_string(), path: route.path, summary: route.summary };
    ordered.into_iter().map(entry).collect()
}

async fn manifest(cx: Cx) -> Result<Response> {
    let settings = cx.settings();
    let base = settings.base_url();
    let tool =
        |(name, params): &(&'static str, &'static str)| Tool { name, params: params.split_whitespace().collect() };
    let manifest = Manifest {
        schema: schema(&cx, "manifest"),
        service: "Heliograph credit ledger",
        stage: "Stage 1",
        description: "Signed transfers between agents, escrow, and a one-time grant. Every write is an Ed25519 signature \
                      over the canonical form of an envelope; identities are those of the agent relay.",
        envelope_schema: format!("{}-credit-transfer/v1", settings.brand),
        signature_algorithm: "Ed25519",
        signature_encoding: "base64",
        hash_algorithm: "SHA-256",
        amount_units: "micro-credits, whole numbers; 1 credit = 1,000,000 micro-credits",
        defaults: Defaults {
            daily_cap_micro: DAILY_CAP,
            per_tx_cap_micro: PER_TX_CAP,
            max_envelope_window_minutes: 60,
            max_memo_length: MAX_TEXT,
            max_amount_micro: MAX_AMOUNT,
        },
        endpoints: endpoints(&cx),
        mcp_tools: TOOLS.iter().map(tool).collect(),
        reliability_commitment: "A write is durable before it is answered.",
        invariants_doc: format!("{base}/openapi.json"),
        directive_doc: format!("{base}/openapi.json"),
    };
    Ok(Response::json(&manifest)?.with("cache-control", "public, max-age=300"))
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LedgerHealth")]
pub struct Health {
    schema: String,
    ok: bool,
    schema_version: u8,
    /// The `audience` of admin actions and, where they name one, of envelopes.
    deployment: String,
    /// The same id, under its name in `/health` and `/v1/relay/info`.
    deployment_id: String,
    system_frozen: bool,
    faucet_disabled: bool,
    counts: HealthCounts,
    storage: StorageBody,
    /// First 16 hexadecimal digits of the SHA-256 of each active admin key.
    admin_key_fingerprints: Vec<String>,
    generated_at: String,
}

#[derive(Serialize, JsonSchema)]
pub struct HealthCounts {
    wallets: u64,
    transfers_settled_24h: u64,
    active_admin_keys: usize,
}

/// Storage: natively the data file and its disk, on the edge the ledger's own object.
#[derive(Serialize, JsonSchema)]
pub struct StorageBody {
    bytes_used: Option<u64>,
    /// The bytes that there are, or fewer if the setting `ledger_storage_bytes` allows fewer.
    bytes_limit: Option<u64>,
    /// Whole days until the limit, by the growth of the last days.
    days_left: Option<u64>,
    /// Why `days_left` is null.
    days_unknown: Option<&'static str>,
    /// False from 90 % of the limit on: new wallets and listings are refused, while payments, releases and refunds
    /// work.
    takes_new: bool,
    /// Number of events in the log.
    events: u64,
    /// Number of these, from the first on, that are packed in sealed segments: those older than `ledger_seal_days`, 30
    /// days by default.
    sealed_events: u64,
    /// Number of the sealed events, from the first on, that were moved out of the ledger's own store; 0 natively.
    archived_events: u64,
}

impl StorageBody {
    fn new(storage: &Storage, (events, sealed_events, archived_events): (u64, u64, u64)) -> StorageBody {
        StorageBody {
            bytes_used: storage.used,
            bytes_limit: storage.limit,
            days_left: storage.days_left,
            days_unknown: storage.unknown.map(Unknown::as_str),
            takes_new: !storage.nearly_full,
            events,
            sealed_events,
            archived_events,
        }
    }
}

async fn health(cx: Cx) -> Result<Response> {
    let Late { value: view, at } = runtime::late(&*cx.rt, ACTOR, &ReadHealth).await?;
    // Whether the system is frozen is never answered from memory (decision shared-market-reads).
    let now = runtime::query(&*cx.rt, ACTOR, &Prepare { names: Vec::new() }).await?;
    let health = Health {
        schema: schema(&cx, "health"),
        ok: true,
        schema_version: 1,
        deployment: cx.rt.environment().deployment.clone(),
        deployment_id: cx.rt.environment().deployment.clone(),
        system_frozen: now.frozen,
        faucet_disabled: now.grants.is_none(),
        counts: HealthCounts {
            wallets: view.wallets,
            transfers_settled_24h: view.transfers_24h,
            active_admin_keys: view.admin_keys.len(),
        },
        storage: StorageBody::new(&view.storage, view.events),
        admin_key_fingerprints: view.admin_keys,
        generated_at: at.to_millis_text(),
    };
    Ok(Response::json(&health)?.with("cache-control", "no-store"))
}
