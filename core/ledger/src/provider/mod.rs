//! The deployment's own provider: an agent whose keys the service holds. It lists [`SERVICES`], and answers every hire
//! of them at once from the data of the deployment (decisions own-provider and ledger-texts-for-parties).
//!
//! Its private keys are sealed in its agent's row, like those of every agent whose keys the service holds. The ledger
//! knows its name and nothing secret. A hire of it leaves a row in [`WAITING`], and the wish to answer it ([`fulfil`]),
//! because the answer is looked up and signed outside of any operation. A timer repeats the wish until the hire is
//! claimed, so a hire reaches `claimed` whatever is lost on the way. The requester's acceptance, or its silence until
//! the deadline, completes the hire.
//!
//! | Module | What |
//! |---|---|
//! | `answers` | the answers of the services |
//! | `fulfil` | answers a hire, and claims the work |
//! | `keys` | the provider's agent and its keys |
//! | `services` | the services, and their listings |
//! | [`session`] | the configuration of private sessions |
//!
//! Table numbers: 60 and 61.

pub mod answers;
mod fulfil;
mod keys;
mod services;
pub mod session;

use serde::{Deserialize, Serialize};

use super::book;
use super::envelope::{Content, Envelope};
use super::hire::{HIRES, Hire, HireState};
use super::rows::{ESCROWS, EscrowState, Id, Name, id_text};
use crate::{Result, Timestamp};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Read, Row, Table};
use engine::time::SECOND;

pub use fulfil::fulfil;
pub use keys::{ProviderKeys, agent_name, check_free, is_own_agent, own};
pub use services::{SERVICES, Service, list};

/// Version of [`SERVICES`]. When it changes, they are listed anew at the next start.
pub const REVISION: u32 = 1;
/// The part before the slash in the keys of wishes to answer a hire ([`Turn::reach_out`]).
pub const HIRE: &str = "hire/";
/// Key of the timer that repeats wishes.
const TIMER: &str = "own hires";
/// First and longest wait before a hire is tried again, in microseconds; each wait is twice the one before.
const FIRST_WAIT: i64 = 5 * SECOND;
const LAST_WAIT: i64 = 60 * SECOND;
/// Most hires that one run of the timer tries again.
const AT_ONCE: usize = 20;

/// The name of the provider's DID.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Provider {
    name: Name,
}
impl Row for Provider {}

/// A hire that nobody answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    /// How often it was tried.
    attempts: u32,
}
impl Row for Waiting {}

const PROVIDER: Table<(), Provider> = Table::new(60);
/// Hires that wait, by the time at which they are tried again.
const WAITING: Table<(Timestamp, Id), Waiting> = Table::new(61);

/// Whether a name is the provider's.
pub fn is_own(space: &(impl Read + ?Sized), name: &str) -> Result<bool> {
    Ok(PROVIDER.get(space, &())?.is_some_and(|provider| provider.name == name))
}

/// Reads the provider's name; `None` before there is a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadOwn;

impl Query for ReadOwn {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "own_provider";
    type Reply = Option<Name>;

    fn run(self, view: &View<'_>) -> Result<Option<Name>> {
        Ok(PROVIDER.get(view, &())?.map(|provider| provider.name))
    }
}

/// Makes an agent the provider, if there is none.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Adopt {
    pub name: Name,
}

impl Operation for Adopt {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "adopt_provider";
    /// The name of the provider that there is now.
    type Reply = Name;

    fn run(self, turn: &mut Turn<'_>) -> Result<Name> {
        if let Some(provider) = PROVIDER.get(turn, &())? {
            return Ok(provider.name);
        }
        PROVIDER.put(turn, &(), &Provider { name: self.name.clone() })?;
        Ok(self.name)
    }
}

/// Called for each new hire. A hire of the provider is answered as soon as it is durable, and tried again until it is
/// claimed.
pub fn hired(turn: &mut Turn<'_>, id: &Id, hire: &Hire) -> Result<()> {
    if hire.own {
        take_up(turn, id, 0)?;
        plan(turn)?;
    }
    Ok(())
}

/// Makes the wish to answer a hire, and notes when to try again.
fn take_up(turn: &mut Turn<'_>, id: &Id, attempts: u32) -> Result<()> {
    let wait = FIRST_WAIT.checked_shl(attempts.min(8)).unwrap_or(LAST_WAIT).min(LAST_WAIT);
    WAITING.put(turn, &(turn.now.plus(wait), *id), &Waiting { attempts: attempts.saturating_add(1) })?;
    turn.reach_out(format!("{HIRE}{}", id_text(id)));
    Ok(())
}

fn plan(turn: &mut Turn<'_>) -> Result<()> {
    match WAITING.first(turn, &WAITING.range())? {
        Some(((due, _), _)) => turn.schedule(TIMER, due.max(turn.now), &TakeUp),
        None => turn.cancel(TIMER),
    }
}

/// Tries hires again that are still not claimed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeUp;

impl Operation for TakeUp {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "take_up_own_hires";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        let over = WAITING.between(&(), &(turn.now.plus(1),));
        for (key, Waiting { attempts }) in WAITING.scan(turn, &over, Direction::Ascending, AT_ONCE)? {
            WAITING.delete(turn, &key);
            if is_open(turn, &key.1)? {
                take_up(turn, &key.1, attempts)?;
            }
        }
        plan(turn)
    }
}

/// Whether a hire waits for a claim and may still get one.
fn is_open(space: &impl Read, id: &Id) -> Result<bool> {
    let requested = HIRES.get(space, &(*id,))?.filter(|hire| hire.state == HireState::Requested);
    let Some(hire) = requested else { return Ok(false) };
    Ok(ESCROWS.get(space, &(hire.escrow,))?.is_some_and(|escrow| escrow.state == EscrowState::Open))
}

/// Reads the task of a hire of the provider; `None` when there is none, or it cannot be answered now.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReadTask {
    pub id: Id,
}

/// The answer to [`ReadTask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The slug.
    pub capability: String,
    pub requester: Name,
    pub escrow: Id,
    pub input: Option<String>,
    /// The time at which the escrow ends if the ledger is not frozen again.
    pub deadline: Timestamp,
}

impl Query for ReadTask {
    const ACTOR: Kind = Kind::Ledger;
    const NAME: &'static str = "own_task";
    type Reply = Option<Task>;

    fn run(self, view: &View<'_>) -> Result<Option<Task>> {
        let book = book::read(view)?;
        if book.frozen_since.is_some() || !is_open(view, &self.id)? {
            return Ok(None);
        }
        let Some(hire) = HIRES.get(view, &(self.id,))?.filter(|hire| hire.own) else { return Ok(None) };
        let Some(escrow) = ESCROWS.get(view, &(hire.escrow,))? else { return Ok(None) };
        let request = Envelope::read(&view.settings.brand, &hire.request.canonical).map(|envelope| envelope.content);
        let Some(Content::Hire(request)) = request else { return Ok(None) };
        let deadline = escrow.due().plus(book::frozen_for(&book, view.now));
        let Hire { requester, escrow, .. } = hire;
        Ok(Some(Task { capability: request.capability, requester, escrow, input: request.input, deadline }))
    }
}
