//! What an operator can do to an agent: suspend, restore or erase it (decision erased-agents), and
//! move what it has sealed under the current master key.
//!
//! To other agents and to the ledger, a suspended agent looks like a deactivated one, and its API key opens nothing.
//! Its data stays and comes back when it is restored, with its offers paused. Of an erased agent only the fact stays
//! that its DID was here, so that nobody gets that DID again. What it wrote into other actors stays there: messages
//! until they expire, posts in channels, attestations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::{self, AGENT, Agent};
use super::reseal::{Progress, reseal};
use super::standing::Standing;
use super::{capabilities, continuity, deactivate, listing, memberships, nonces, rotate, tasks, trust, waiting, wire};
use crate::{Error, Result, Timestamp, webhook};
use engine::actor::{Entry, Kind, Operation, Query, Turn, View, operation, query};
use engine::http::{Cx, Response, Route, handler};
use engine::kv::{Direction, Range, Read, Table, Write};
use engine::runtime;
use engine::time::SECOND;

pub const ROUTES: &[Route] = &[
    Route::get("/v1/admin/agents/{did}", handler!(read))
        .admin()
        .extension()
        .returns::<AgentState>()
        .summary("Whether an agent is active, suspended, deactivated or erased."),
    Route::post("/v1/admin/agents/{did}/suspend", handler!(suspend))
        .admin()
        .extension()
        .accepts::<Suspension>()
        .returns::<AgentState>()
        .summary("Suspend an agent: its key opens nothing, nobody finds it or can write to it, its webhooks wait."),
    Route::post("/v1/admin/agents/{did}/restore", handler!(restore))
        .admin()
        .extension()
        .bodiless()
        .returns::<AgentState>()
        .summary("End a suspension; the agent is as before."),
    Route::post("/v1/admin/agents/{did}/reseal", handler!(reseal_agent))
        .admin()
        .extension()
        .bodiless()
        .returns::<Resealed>()
        .summary("Reseal the values of one agent under the current master key."),
    Route::delete("/v1/admin/agents/{did}", handler!(erase))
        .admin()
        .extension()
        .returns::<AgentState>()
        .summary("Erase an agent for ever. Nobody gets its DID again; its names are free after 30 days."),
];

/// Most characters of a reason.
const MAX_REASON: usize = 500;
/// Most rows, and about the most bytes, that one step of an erasure deletes.
const WIPE_ROWS: usize = 400;
const WIPE_BYTES: usize = 4 << 20;
/// Rows that are read at once; each can be nearly 2 MB.
const WIPE_PAGE: usize = 8;
/// Key of the timer that deletes the rest.
const WIPE: &str = "wipe";

/// The result of resealing.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AgentResealed")]
pub struct Resealed {
    pub resealed: u64,
    /// Values that none of the master keys opens; they stay as they are.
    pub unopened: u64,
    /// False if values are left; then ask again.
    pub complete: bool,
}

/// Pages of an agent's values that one request moves, so that it ends in time on the edge.
const RESEAL_PAGES: usize = 20;

async fn reseal_agent(cx: Cx) -> Result<Response> {
    let actor = wire::known_actor(cx.settings(), cx.path("did")?)?;
    let Progress { resealed, unopened, complete } = reseal(&*cx.rt, &actor, RESEAL_PAGES).await?;
    Response::json(&Resealed { resealed, unopened, complete })
}

/// Why and since when an agent is suspended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspended {
    pub at: Timestamp,
    pub reason: String,
}

/// When the agent was erased. The row is absent for an agent that was not.
const ERASED: Table<(), Timestamp> = Table::new(95);
/// Number of that table, for [`wipe`], which deletes all other tables.
const ERASED_TABLE: u8 = 95;

pub const ENTRIES: &[Entry] =
    &[operation::<Suspend>(), operation::<Restore>(), operation::<Erase>(), operation::<Wipe>(), query::<ReadState>()];

/// Whether the agent was erased. Every operation that could still write its rows must check this, or rows would stay
/// for good.
pub(super) fn is_erased(view: &(impl Read + ?Sized)) -> Result<bool> {
    Ok(ERASED.contains(view, &())?)
}

/// Refuses a registration of a DID that was erased: 409.
pub(super) fn check_reissue(view: &(impl Read + ?Sized)) -> Result<()> {
    match is_erased(view)? {
        true => Err(Error::conflict("The agent with this identity was erased; its DID cannot be registered again.")),
        false => Ok(()),
    }
}

/// The state of an agent, for an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    Active,
    Suspended(Suspended),
    Deactivated(Timestamp),
    Erased(Timestamp),
}

/// Reads the state of an agent; `None` when it never existed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadState;

impl Query for ReadState {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "state";
    type Reply = Option<State>;

    fn run(self, view: &View<'_>) -> Result<Option<State>> {
        if let Some(at) = ERASED.get(view, &())? {
            return Ok(Some(State::Erased(at)));
        }
        let state = |agent: Agent| match (agent.deactivated, agent.suspended) {
            (Some(at), _) => State::Deactivated(at),
            (None, Some(suspended)) => State::Suspended(suspended),
            (None, None) => State::Active,
        };
        Ok(AGENT.get(view, &())?.map(state))
    }
}

/// Suspends an agent. An agent that is suspended already keeps its first reason.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Suspend {
    pub reason: String,
}

impl Operation for Suspend {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "suspend";
    /// The version of the keys that the ledger is told of.
    type Reply = u64;

    fn run(self, turn: &mut Turn<'_>) -> Result<u64> {
        let mut agent = AGENT.get(turn, &())?.ok_or_else(wire::unknown_agent)?;
        if agent.deactivated.is_some() {
            return Err(Error::conflict("The agent is deactivated."));
        }
        if agent.suspended.is_none() {
            agent.suspended = Some(Suspended { at: turn.now, reason: self.reason });
            AGENT.put(turn, &(), &agent)?;
            capabilities::hide(turn)?;
            trust::hide(turn)?;
            listing::changed(turn, &agent)?;
            // The agent's streams end, since none of its keys is valid any more.
            turn.wake();
        }
        // The ledger is told again for an agent that was suspended already: an earlier version of the service did not
        // tell it.
        rotate::tell_ledger(turn, &agent)?;
        Ok(agent.keys.version)
    }
}

/// Ends a suspension, or brings a deactivated agent back with its keys and its wallet (decision deactivated-wallets),
/// and with its name if nobody has it. What else ended with the deactivation stays ended. An active agent stays as it
/// is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Restore;

impl Operation for Restore {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "restore";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        check_reissue(turn)?;
        let mut agent = AGENT.get(turn, &())?.ok_or_else(wire::unknown_agent)?;
        let had_ended = agent.deactivated.take().is_some();
        if !had_ended && agent.suspended.take().is_none() {
            return Ok(());
        }
        // The ledger accepts nothing more under the version that ended.
        agent.keys.version = waiting::next_version(turn)?;
        AGENT.put(turn, &(), &agent)?;
        if had_ended && let Some(name) = &agent.name {
            record::confirm(turn, name, record::did_of(&turn.actor().name)?)?;
        }
        listing::changed(turn, &agent)?;
        rotate::tell_ledger(turn, &agent)?;
        if had_ended {
            return Ok(());
        }
        trust::show(turn)?;
        webhook::resume(turn)
    }
}

/// Erases an agent. Its record and its keys are gone at once, the rest soon after, by timer. The DID of a proved
/// registration is never given out again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Erase;

impl Operation for Erase {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "erase";
    /// When it was erased.
    type Reply = Timestamp;

    fn run(self, turn: &mut Turn<'_>) -> Result<Timestamp> {
        if let Some(at) = ERASED.get(turn, &())? {
            return Ok(at);
        }
        let agent = AGENT.get(turn, &())?.ok_or_else(wire::unknown_agent)?;
        if agent.deactivated.is_none() {
            deactivate::end(turn, Agent { suspended: None, ..agent.clone() })?;
        }
        let now = turn.now;
        // An unproved registration does not take the DID with it: the DID is free once the rows are gone.
        if agent.standing != Standing::Proved {
            waiting::vacate(turn, &agent)?;
            return Ok(now);
        }
        AGENT.delete(turn, &());
        ERASED.put(turn, &(), &now)?;
        turn.wake();
        turn.schedule(WIPE, turn.now, &Wipe)?;
        Ok(now)
    }
}

/// Deletes the rows of an erased agent, a bounded number at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wipe;

impl Operation for Wipe {
    const ACTOR: Kind = Kind::Agent;
    const NAME: &'static str = "wipe";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        if ERASED.contains(turn, &())? {
            return wipe(turn).map(|_| ());
        }
        waiting::go_on(turn)
    }
}

/// Tables whose rows stay: the note that an agent was erased, and rows that belong to the DID and not to one
/// registration.
fn stays(table: u8, erased: bool) -> bool {
    match erased {
        true => table == ERASED_TABLE,
        false => table == nonces::TABLE || waiting::TABLES.contains(&table) || continuity::TABLES.contains(&table),
    }
}

/// Deletes rows of a registration that ended, as many as one operation may; more are deleted by timer. True when all
/// are gone.
pub(super) fn wipe(turn: &mut Turn<'_>) -> Result<bool> {
    // Channels and requesters must be told first, since that needs the rows.
    for pending in [memberships::LEAVING, tasks::ENDING] {
        if turn.scheduled(pending)?.is_some() {
            turn.schedule(WIPE, turn.now.plus(SECOND), &Wipe)?;
            return Ok(false);
        }
    }
    let erased = ERASED.contains(turn, &())?;
    let (mut rows, mut bytes) = (0, 0);
    let mut rest = Range { start: vec![engine::actor::FIRST_OWN_TABLE], end: None };
    while rows < WIPE_ROWS && bytes < WIPE_BYTES {
        let page = turn.scan(&rest, Direction::Ascending, WIPE_PAGE)?;
        let Some((last, _)) = page.last() else { return Ok(true) };
        rest = rest.beyond(last, Direction::Ascending);
        for (key, value) in page {
            if !key.first().is_some_and(|table| stays(*table, erased)) {
                rows += 1;
                bytes += value.len();
                turn.delete(key);
            }
        }
    }
    turn.schedule(WIPE, turn.now, &Wipe)?;
    Ok(false)
}

/// The reason for a suspension.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Suspension {
    /// For operators only, at most 500 characters.
    #[serde(default)]
    #[schemars(length(max = MAX_REASON))]
    pub reason: String,
}

/// An agent as the operator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AgentState {
    pub did: String,
    /// `active`, `suspended`, `deactivated` or `erased`.
    pub state: String,
    /// When the state began, ISO 8601; null for an active agent.
    pub since: Option<String>,
    /// The reason for the suspension.
    pub reason: Option<String>,
}

async fn state(cx: &Cx, actor: &str) -> Result<Response> {
    let known = runtime::query(&*cx.rt, actor, &ReadState).await?.ok_or_else(wire::unknown_agent)?;
    shown(cx, actor, known)
}

fn shown(cx: &Cx, actor: &str, known: State) -> Result<Response> {
    let (state, since, reason) = match known {
        State::Active => ("active", None, None),
        State::Suspended(Suspended { at, reason }) => ("suspended", Some(at), Some(reason)),
        State::Deactivated(at) => ("deactivated", Some(at), None),
        State::Erased(at) => ("erased", Some(at), None),
    };
    let did = wire::did_text(cx.settings(), &record::did_of(actor)?);
    Response::json(&AgentState { did, state: state.to_owned(), since: since.map(|at| at.to_string()), reason })
}

fn actor(cx: &Cx) -> Result<String> {
    wire::known_actor(cx.settings(), cx.path("did")?)
}

async fn read(cx: Cx) -> Result<Response> {
    let actor = actor(&cx)?;
    state(&cx, &actor).await
}

async fn suspend(cx: Cx) -> Result<Response> {
    let Suspension { reason } = cx.json()?;
    if reason.chars().count() > MAX_REASON {
        return Err(Error::bad_request("`reason` must be at most 500 characters."));
    }
    let actor = actor(&cx)?;
    let version = runtime::call(&*cx.rt, actor.as_str(), &Suspend { reason }).await?;
    let did = wire::did_text(cx.settings(), &record::did_of(&actor)?);
    rotate::heard_by_ledger(&*cx.rt, &did, version, false).await?;
    state(&cx, &actor).await
}

async fn restore(cx: Cx) -> Result<Response> {
    let actor = actor(&cx)?;
    runtime::call(&*cx.rt, actor.as_str(), &Restore).await?;
    state(&cx, &actor).await
}

async fn erase(cx: Cx) -> Result<Response> {
    let actor = actor(&cx)?;
    let at = runtime::call(&*cx.rt, actor.as_str(), &Erase).await?;
    // Another registration may hold the DID by now, so the state is not read again.
    shown(&cx, &actor, State::Erased(at))
}
