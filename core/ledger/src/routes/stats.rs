//! Counts of agents' pasts and of the market. Nothing is derived from them but a rate; there is no score.

use crate::routes::pay_route;
use schemars::JsonSchema;
use serde::Serialize;

use super::act::{did, path_name, schema};
use super::market::{ListingBody, listing_body};
use crate::ACTOR;
use crate::market::{ReadStats, ReadTrust, Trust};
use crate::rows::{Micro, id_text};
use crate::tally::{AgentTally, rating};
use crate::{Result, Timestamp};
use engine::http::{Auth, Cx, Limit, Response, Route, handler};
use engine::runtime::{self, Late};

pub const ROUTES: &[Route] = &[
    pay_route(Route::get("/v1/pay/trust/{did}", handler!(trust)), Auth::None, Limit::PayRead)
        .returns::<TrustAnswer>()
        .summary("Counts of an agent's hires and listings."),
    pay_route(Route::get("/v1/pay/stats", handler!(stats)), Auth::None, Limit::PayRead)
        .returns::<StatsAnswer>()
        .summary("Counts of wallets, listings and hires."),
];

#[derive(Serialize, JsonSchema)]
pub struct TrustAnswer {
    schema: String,
    did: String,
    as_provider: AsProvider,
    as_requester: AsRequester,
    wallet: TrustWallet,
    notes: Vec<&'static str>,
    generated_at: String,
}

#[derive(Serialize, JsonSchema)]
pub struct AsProvider {
    total_hires: u64,
    total_completed: u64,
    total_disputed: u64,
    total_in_flight: u64,
    total_expired: u64,
    /// Share of completed hires among those that ended, 0 to 1; 1 when none has ended.
    completion_rate: f64,
    rating_sum: u64,
    rating_count: u64,
    rating_avg: Option<f64>,
    total_earned_micro: Micro,
    active_capabilities: u64,
    total_capabilities: u64,
    first_listed_at: Option<String>,
    last_listed_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AsRequester {
    total_hires_posted: u64,
    total_accepted: u64,
    total_disputed: u64,
    total_expired: u64,
    total_in_flight: u64,
    total_spent_micro: Micro,
}

#[derive(Serialize, JsonSchema)]
pub struct TrustWallet {
    exists: bool,
    balance_micro: Micro,
    locked_micro: Micro,
    frozen: bool,
    created_at: Option<String>,
}

fn as_provider(tally: &AgentTally) -> AsProvider {
    let side = tally.provided;
    AsProvider {
        total_hires: side.hires,
        total_completed: side.completed,
        total_disputed: side.disputed,
        total_in_flight: side.in_flight(),
        total_expired: side.expired,
        completion_rate: side.completion_rate(),
        rating_sum: tally.rating_sum,
        rating_count: tally.rating_count,
        rating_avg: rating(tally.rating_sum, tally.rating_count),
        total_earned_micro: side.value,
        active_capabilities: tally.active_listings,
        total_capabilities: tally.listings,
        first_listed_at: tally.first_listed.map(Timestamp::to_micros_text),
        last_listed_at: tally.last_listed.map(Timestamp::to_micros_text),
    }
}

async fn trust(cx: Cx) -> Result<Response> {
    let asked = cx.path("did")?.to_owned();
    let Late { value: Trust { tally, wallet }, at } = match path_name(&cx)? {
        Some(name) => runtime::late(&*cx.rt, ACTOR, &ReadTrust { name }).await?,
        None => Late { value: Trust { tally: AgentTally::default(), wallet: None }, at: cx.now() },
    };
    let side = tally.requested;
    let mut notes = vec!["Counts of hires and nothing else; no score is derived from them."];
    if tally.provided.hires == 0 {
        notes.push("Nobody has hired this agent yet.");
    }
    let answer = TrustAnswer {
        schema: schema(&cx, "trust"),
        did: asked,
        as_provider: as_provider(&tally),
        as_requester: AsRequester {
            total_hires_posted: side.hires,
            total_accepted: side.completed,
            total_disputed: side.disputed,
            total_expired: side.expired,
            total_in_flight: side.in_flight(),
            total_spent_micro: side.value,
        },
        wallet: TrustWallet {
            exists: wallet.is_some(),
            balance_micro: wallet.as_ref().map_or(0, |wallet| wallet.balance),
            locked_micro: wallet.as_ref().map_or(0, |wallet| wallet.locked),
            frozen: wallet.as_ref().is_some_and(|wallet| wallet.frozen),
            created_at: wallet.map(|wallet| wallet.created.to_micros_text()),
        },
        notes,
        generated_at: at.to_millis_text(),
    };
    Ok(Response::json(&answer)?.with("cache-control", "public, max-age=30"))
}

#[derive(Serialize, JsonSchema)]
pub struct StatsAnswer {
    schema: String,
    generated_at: String,
    wallets: StatsWallets,
    capabilities: StatsCapabilities,
    hires: StatsHires,
    value_settled: StatsValue,
    /// The listings that were hired most often first.
    top_capabilities: Vec<ListingBody>,
    top_providers_by_earnings: Vec<TopProvider>,
    /// The newest 20.
    recent_hires: Vec<RecentHire>,
}

#[derive(Serialize, JsonSchema)]
pub struct StatsWallets {
    total: u64,
    /// Wallets whose money moved.
    active_24h: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct StatsCapabilities {
    total: u64,
    /// Listings that can be hired.
    active: u64,
    distinct_providers: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct StatsHires {
    total: u64,
    total_completed: u64,
    total_disputed: u64,
    total_in_flight: u64,
    last_24h: u64,
    last_1h: u64,
}

/// Prices of completed hires.
#[derive(Serialize, JsonSchema)]
pub struct StatsValue {
    total_micro: Micro,
    last_24h_micro: Micro,
}

#[derive(Serialize, JsonSchema)]
pub struct TopProvider {
    did: String,
    total_earned_micro: Micro,
    total_completed: u64,
    active_capabilities: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct RecentHire {
    id: String,
    capability: String,
    price_micro: Micro,
    state: &'static str,
    created_at: String,
    completed_at: Option<String>,
}

async fn stats(cx: Cx) -> Result<Response> {
    let Late { value: stats, at } = runtime::late(&*cx.rt, ACTOR, &ReadStats).await?;
    let (market, hires) = (stats.market, stats.market.hires);
    let provider = |(name, tally): &(String, AgentTally)| TopProvider {
        did: did(&cx, name),
        total_earned_micro: tally.provided.value,
        total_completed: tally.provided.completed,
        active_capabilities: tally.active_listings,
    };
    let recent = stats.recent.into_iter().map(|(id, hire, capability)| RecentHire {
        id: id_text(&id),
        capability,
        price_micro: hire.price,
        state: hire.state.as_str(),
        created_at: hire.created.to_micros_text(),
        completed_at: hire.completed.map(Timestamp::to_micros_text),
    });
    Response::json(&StatsAnswer {
        schema: schema(&cx, "stats"),
        generated_at: at.to_millis_text(),
        wallets: StatsWallets { total: stats.wallets, active_24h: stats.day.wallets },
        capabilities: StatsCapabilities {
            total: market.listings,
            active: market.active_listings,
            distinct_providers: market.providers,
        },
        hires: StatsHires {
            total: hires.hires,
            total_completed: hires.completed,
            total_disputed: hires.disputed,
            total_in_flight: hires.in_flight(),
            last_24h: stats.day.hires,
            last_1h: stats.hires_hour,
        },
        value_settled: StatsValue { total_micro: hires.value, last_24h_micro: stats.day.value },
        top_capabilities: stats.top_listings.iter().map(|(id, listing)| listing_body(&cx, id, listing)).collect(),
        top_providers_by_earnings: stats.top_providers.iter().map(provider).collect(),
        recent_hires: recent.collect(),
    })
}
