//! Actors: named, single-writer units of state, and the machinery that every runtime runs them with.
//!
//! An [`Operation`] is a deterministic function of (the actor's key space, the time, a random seed, its arguments). It
//! returns a reply and changes rows; it never waits. What it wants to happen elsewhere it writes into its own space as
//! rows: messages to other actors ([`Turn::send`]), timers ([`Turn::schedule`]), documents to publish
//! ([`Turn::publish`]). A failed operation leaves nothing behind. A [`Query`] only reads.
//!
//! [`host`] turns calls into outcomes without knowing where the rows are kept; a runtime reads the space, applies the
//! outcome's batch atomically and moves the messages.
//!
//! | Module | What |
//! |---|---|
//! | `turn` | what an operation or a query sees: [`Turn`], [`View`] |
//! | [`host`] | runs the calls of an actor, the same for every runtime |
//! | [`registry`] | every operation and query by kind and name |
//! | `outbox`, `timers` | messages to other actors, and what an actor wants to do later, as rows |
//! | [`memo`] | answers that were computed lately |
//! | [`schema`] | which shape an actor's rows have, and how older ones get the present one |
//! | [`rows`] | all rows of an actor, for `dump` and `load` |
//! | [`tables`] | the numbers of tables, and which tables are derived |

pub mod host;
pub mod memo;
mod outbox;
pub mod registry;
pub mod rows;
pub mod schema;
pub mod tables;
mod timers;
mod turn;

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

pub use memo::Memo;
pub use outbox::{Delivery, OutboxSummary, Receipt, send, summary as outbox_summary};
pub use registry::{Entry, operation, query};
pub use turn::{Turn, View};

/// Tables below this number belong to the machinery of actors, the rest to their kind.
pub const FIRST_OWN_TABLE: u8 = 16;

/// What sort of thing an actor is. The names are part of stored object names: never change one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One per DID: identity, keys, mailbox.
    Agent,
    /// Shards of names: uniqueness and search.
    Directory,
    /// One per API key: tier and limits.
    Account,
    /// One per country code: measurements and verdicts.
    Country,
    /// One: summaries over all countries.
    World,
    /// One: imported reference data (networks, fingerprints, categories, lists).
    Reference,
    /// One: the deployment's own identity.
    Deployment,
    /// One: incidents, their evidence, numbers and order of changes.
    Incidents,
    /// One per channel: members, posts, invites.
    Channel,
    /// Sixteen shards by country: attestations and votes.
    Attestation,
    /// One: peers of the relay, what they said, its own key.
    Relay,
    /// One: wallets, transfers, escrows.
    Ledger,
    /// Eight shards of node ids: probes, their submissions and what they found.
    Probe,
    /// One: who is to hear of which incidents.
    Alert,
    /// One: what providers offer, in the orders that searches need.
    Market,
}

impl Kind {
    pub const ALL: [Kind; 15] = [
        Kind::Agent,
        Kind::Directory,
        Kind::Account,
        Kind::Country,
        Kind::World,
        Kind::Reference,
        Kind::Deployment,
        Kind::Incidents,
        Kind::Channel,
        Kind::Attestation,
        Kind::Relay,
        Kind::Ledger,
        Kind::Probe,
        Kind::Alert,
        Kind::Market,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Agent => "agent",
            Kind::Directory => "directory",
            Kind::Account => "account",
            Kind::Country => "country",
            Kind::World => "world",
            Kind::Reference => "reference",
            Kind::Deployment => "deployment",
            Kind::Incidents => "incidents",
            Kind::Channel => "channel",
            Kind::Attestation => "attestation",
            Kind::Relay => "relay",
            Kind::Ledger => "ledger",
            Kind::Probe => "probe",
            Kind::Alert => "alert",
            Kind::Market => "market",
        }
    }

    /// Whether answers of this kind are kept ([`memo`]), for which its changes are counted.
    pub const fn counts_revisions(self) -> bool {
        matches!(self, Kind::Country | Kind::World | Kind::Incidents)
    }

    /// Whether changes of derived tables ([`Table::derived`](crate::kv::Table::derived)) are counted too, for documents
    /// that rest on them ([`View::basis`]).
    pub const fn counts_derived(self) -> bool {
        matches!(self, Kind::Country)
    }

    pub fn parse(text: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

/// The name of one actor, written `kind/name`. On the edge it is the name of the Durable Object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ActorId {
    pub kind: Kind,
    pub name: String,
}

impl ActorId {
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        ActorId { kind, name: name.into() }
    }

    /// The single actor of a kind that has only one.
    pub fn sole(kind: Kind) -> Self {
        ActorId::new(kind, "main")
    }

    pub fn parse(text: &str) -> Option<ActorId> {
        let (kind, name) = text.split_once('/')?;
        (!name.is_empty()).then_some(ActorId::new(Kind::parse(kind)?, name))
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.name)
    }
}

/// A change of an actor's state. Arguments and reply travel and are stored in postcard encoding: only append members,
/// and only at the end, or give the operation a new name.
pub trait Operation: Serialize + DeserializeOwned {
    const ACTOR: Kind;
    /// Unique within the kind; stored in outboxes and timers, so never reused for something else.
    const NAME: &'static str;
    type Reply: Serialize + DeserializeOwned;

    fn run(self, turn: &mut Turn<'_>) -> Result<Self::Reply>;
}

/// A read of an actor's state; runs on a snapshot.
pub trait Query: Serialize + DeserializeOwned {
    const ACTOR: Kind;
    const NAME: &'static str;
    type Reply: Serialize + DeserializeOwned;

    /// Whether it reads or computes more than one answer about one thing takes: it then waits for [`room`](crate::apart::room)
    /// first. Any question about the past does.
    fn computes(&self) -> bool {
        false
    }

    fn run(self, view: &View<'_>) -> Result<Self::Reply>;
}

/// An operation or query on its way to an actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub actor: ActorId,
    pub name: String,
    pub arguments: Vec<u8>,
}

impl Call {
    pub fn operation<O: Operation>(name: impl Into<String>, operation: &O) -> Result<Call> {
        Call::new(O::ACTOR, name.into(), O::NAME, encode(operation))
    }

    pub fn query<Q: Query>(name: impl Into<String>, query: &Q) -> Result<Call> {
        Call::new(Q::ACTOR, name.into(), Q::NAME, encode(query))
    }

    fn new(kind: Kind, actor: String, name: &str, arguments: Result<Vec<u8>>) -> Result<Call> {
        Ok(Call { actor: ActorId::new(kind, actor), name: name.to_owned(), arguments: arguments? })
    }
}

/// Encodes arguments or a reply.
pub fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    // The way rows are encoded too, so that every type is compiled for it once.
    postcard::to_extend(value, Vec::new()).map_err(|error| unencodable(&error))
}

/// Decodes arguments or a reply.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    postcard::from_bytes(bytes).map_err(|error| undecodable(std::any::type_name::<T>(), &error))
}

#[cold]
fn unencodable(error: &postcard::Error) -> Error {
    Error::internal(format!("cannot encode: {error}"))
}

#[cold]
fn undecodable(name: &str, error: &postcard::Error) -> Error {
    Error::internal(format!("cannot decode {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_names_are_pinned() {
        let names: Vec<_> = Kind::ALL.into_iter().map(|kind| ActorId::new(kind, "x").to_string()).collect();
        assert_eq!(
            names,
            [
                "agent/x",
                "directory/x",
                "account/x",
                "country/x",
                "world/x",
                "reference/x",
                "deployment/x",
                "incidents/x",
                "channel/x",
                "attestation/x",
                "relay/x",
                "ledger/x",
                "probe/x",
                "alert/x",
                "market/x"
            ]
        );
        for name in names {
            assert_eq!(ActorId::parse(&name).unwrap().to_string(), name);
        }
        for bad in ["agent", "agent/", "nobody/x", ""] {
            assert_eq!(ActorId::parse(bad), None);
        }
    }
}
