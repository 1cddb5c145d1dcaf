//! The endpoints of trust, and of the operator's endorsements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Endorse, Level, ReadTrust, TrustRecord, Trusted};
use crate::agent::authentication;
use crate::agent::record::ReadProfile;
use crate::agent::usage;
use crate::agent::wire;
use crate::directory::leaderboard::{self, Best, Leaderboard};
use crate::{Error, Result};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::number::round;
use engine::runtime;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/agent/trust/leaderboard", handler!(best))
        .params(&[
            Param::optional("limit", "Most entries of the answer: 1 to 100, default 25.")
                .count(leaderboard::DEFAULT_LIMIT, 100),
            Param::optional("min_level", "`new`, `low`, `medium`, `high` or `verified`.")
                .one_of(&["new", "low", "medium", "high", "verified"])
                .default("new"),
            Param::optional("period", "Accepted and ignored: trust has no period."),
        ])
        .returns::<Leaderboard>()
        .summary("Agents by trust, the most trusted first; up to a minute old."),
    Route::get("/v1/agent/trust/{did}", handler!(read))
        .returns::<Trust>()
        .summary("How much an agent is trusted, and why."),
    Route::post("/v1/admin/agents/{did}/endorse", handler!(endorse))
        .admin()
        .extension()
        .accepts::<Endorsement>()
        .returns::<Trust>()
        .summary("Endorse an agent at a trust level, or take the endorsement back."),
];

/// Parts of the score, 0 to 1 each; 0.5 when nothing is known.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "TrustComponents")]
pub struct Components {
    pub task_completion_rate: f64,
    /// Mean rating, weighted by the anchored weight of the agents that rated.
    pub task_quality_avg: f64,
    /// Share of settled attestations that measurements agreed with later.
    pub attestation_accuracy: f64,
    pub message_reliability: f64,
}

/// The agent's acts in numbers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Activity {
    pub tasks_completed: u32,
    pub tasks_failed: u32,
    pub attestations_made: u32,
    /// Escrows that agents with anchored weight of their own paid out to this agent.
    pub escrows_settled: u32,
    /// Null for everybody except the agent itself (decision private-activity).
    pub messages_sent: Option<u64>,
}

/// An agent's trust.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AgentTrust")]
pub struct Trust {
    pub agent: String,
    pub agent_did: String,
    pub name: Option<String>,
    /// 0 to 1.
    pub trust_score: f64,
    /// `new`, `low`, `medium`, `high` or `verified`.
    pub trust_level: &'static str,
    /// The weight that lifts an agent above `low`: from attestations that measurements agreed with, from escrows that
    /// agents with weight of their own paid, and from the operator.
    pub anchored_weight: f64,
    /// The level that the operator endorsed.
    pub endorsed: Option<&'static str>,
    pub components: Components,
    /// The components again.
    pub factors: Components,
    pub activity: Activity,
    pub member_since: String,
    /// Explanations of what trust is not based on.
    pub notes: Vec<&'static str>,
}

/// Explanations for readers that the numbers alone would mislead.
const NOTES: [&str; 2] = [
    "Escrows count for their recipient when an agent with anchored weight of its own released them or accepted the work: \
     less than one unit of weight from each such agent. Other escrows do not count.",
    "message_reliability is 0.5 for every agent: the delivery of mail says nothing about its sender, and reading \
     it is up to the reader.",
];

fn trust(did: String, known: Trusted, messages_sent: Option<u64>) -> Trust {
    let Trusted { name, created, standing } = known;
    let components = Components {
        task_completion_rate: round(standing.task_completion_rate()),
        task_quality_avg: round(standing.task_quality_avg()),
        attestation_accuracy: round(standing.attestation_accuracy()),
        message_reliability: round(standing.message_reliability()),
    };
    let (trust_score, trust_level) = (round(standing.score()), standing.level().as_str());
    let anchored_weight = round(standing.anchored());
    let TrustRecord { tasks_completed, tasks_failed, made, endorsed, escrows, .. } = standing;
    Trust {
        agent: did.clone(),
        agent_did: did,
        name,
        trust_score,
        trust_level,
        anchored_weight,
        endorsed: endorsed.map(Level::as_str),
        factors: components.clone(),
        components,
        activity: Activity {
            tasks_completed,
            tasks_failed,
            attestations_made: made,
            escrows_settled: escrows,
            messages_sent,
        },
        member_since: created.to_string(),
        notes: NOTES.to_vec(),
    }
}

async fn read(cx: Cx) -> Result<Response> {
    let did = cx.path("did")?.to_owned();
    let actor = wire::known_actor(cx.settings(), &did)?;
    let known = runtime::query(&*cx.rt, actor.as_str(), &ReadTrust).await?.ok_or_else(wire::unknown_agent)?;
    let mut messages = None;
    let pending = usage::pending(&*cx.rt, &actor);
    if authentication::recognized(&cx).await?.is_some_and(|caller| caller.actor == actor)
        && let Some(own) = runtime::query(&*cx.rt, actor.as_str(), &ReadProfile).await?
    {
        messages = Some(own.usage.with(&pending).messages);
    }
    Response::json(&trust(did, known, messages))
}

/// The level that the operator endorses.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Endorsement {
    /// `medium`, `high` or `verified`; null takes an endorsement back.
    #[schemars(extend("enum" = ["medium", "high", "verified", null]))]
    pub level: Option<String>,
}

async fn endorse(cx: Cx) -> Result<Response> {
    let Endorsement { level } = cx.json()?;
    let level = level
        .map(|text| Level::parse(&text).filter(|level| *level >= Level::Medium))
        .map(|level| level.ok_or_else(|| Error::bad_request("`level` must be `medium`, `high`, `verified` or null.")));
    let did = cx.path("did")?.to_owned();
    let actor = wire::known_actor(cx.settings(), &did)?;
    runtime::call(&*cx.rt, actor.as_str(), &Endorse { level: level.transpose()? }).await?;
    let known = runtime::query(&*cx.rt, actor.as_str(), &ReadTrust).await?.ok_or_else(wire::unknown_agent)?;
    Response::json(&trust(did, known, None))
}

/// The default page is a document; other pages are read from the rows.
async fn best(cx: Cx) -> Result<Response> {
    let limit = cx.count("limit", leaderboard::DEFAULT_LIMIT, 100)?;
    let least = cx.query("min_level")?;
    let least = least.map(|text| {
        let words = "Query parameter `min_level` must be new, low, medium, high or verified.";
        Level::parse(&text).ok_or_else(|| Error::bad_request(words))
    });
    let least = least.transpose()?;
    if limit == leaderboard::DEFAULT_LIMIT && least.is_none() {
        return cx.document(leaderboard::DOCUMENT).await;
    }
    let best = Best { limit, least: least.unwrap_or(Level::New) };
    Response::json(&leaderboard::body(cx.settings(), runtime::query(&*cx.rt, leaderboard::SHARD, &best).await?))
}
