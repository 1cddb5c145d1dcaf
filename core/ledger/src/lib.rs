//! The credit ledger: wallets, signed transfers, escrows, a one-time grant, and the actions of operators.
//!
//! | Module | What |
//! |---|---|
//! | [`json`] | strict JSON, and the canonical bytes that are signed (in `crypto`, since clients need it too) |
//! | [`envelope`] | the texts that can be signed, member by member |
//! | [`reason`] | the reasons for which something is refused |
//! | [`rows`] | the stored rows, and ids |
//! | [`book`] | the open books: wallets, order of events, caps, the clock of deadlines |
//! | [`submit`] | the one operation that takes signed envelopes |
//! | [`pay`], [`batch`], [`escrow`], [`admin`] | transfers and the faucet; many at once; escrows; operators |
//! | [`log`], [`form`], [`merkle`], [`auditor`] | every event in one order; what of it is public; the tree over them; checking all from outside |
//! | [`statement`] | what happened to the money of a wallet |
//! | [`listing`], [`hire`], [`receipt`] | what providers offer, hires, claims of work and what requesters say |
//! | [`tally`], [`market`] | counts of each agent's past, questions about the market |
//! | [`index`] | searches: an actor of its own, which the ledger tells of offers |
//! | [`keys`] | whose key counts, as agents tell; wallets |
//! | [`lent`] | what the word of agents is worth that pay escrows out |
//! | [`sweep`] | what happens by time |
//! | [`room`] | how full the store is, and what is refused first |
//! | [`idempotency`] | the first answer again for a repeated envelope |
//! | [`provider`], [`start`] | the deployment's own services; making the ledger ready at a start |
//! | [`notify`], [`metrics`] | notices to the parties; numbers for the operator |
//! | [`reads`], [`routes`] | questions; endpoints |
//! | [`segment`] | packed runs of old events |
//! | [`layer`], `port`, `computing` | what the ledger brings to the program, and which of its routes compute |
//! | `client`, `model`, `mutation` | for tests: a client, a model of the rules about money, wrong bodies |
//!
//! All money is in one actor. A transfer changes two wallets, an escrow changes three rows and a clock. In one actor
//! each of these is one atomic batch, so each single operation can guarantee that no money is made or lost.

pub mod admin;
pub mod auditor;
pub mod batch;
pub mod book;
#[cfg(any(test, feature = "conformance"))]
pub mod client;
mod computing;
pub mod envelope;
pub mod escrow;
pub mod form;
pub mod hire;
pub mod idempotency;
pub mod index;
pub mod keys;
pub mod layer;
pub mod lent;
pub mod listing;
pub mod log;
pub mod market;
pub mod merkle;
pub mod metrics;
#[cfg(any(test, feature = "conformance"))]
pub mod model;
#[cfg(any(test, feature = "conformance"))]
pub mod mutation;
pub mod notify;
pub mod pay;
mod port;
pub mod provider;
pub mod reads;
pub mod reason;
pub mod receipt;
pub mod room;
pub mod routes;
pub mod rows;
pub mod segment;
pub mod start;
pub mod statement;
pub mod submit;
pub mod sweep;
pub mod tally;
#[cfg(any(test, feature = "conformance"))]
pub mod testing;

#[cfg(test)]
mod tests;

pub use crypto::json;
use engine::{Error, ErrorCode, Result, Timestamp};

use engine::actor::{Entry, operation, query};
use segment::open::AskLog;

/// The name of the one ledger.
pub const ACTOR: &str = "main";

pub const ENTRIES: &[Entry] = &[
    query::<submit::Prepare>(),
    operation::<submit::Submit>(),
    operation::<keys::SetKey>(),
    operation::<listing::PauseListings>(),
    operation::<keys::OpenWallet>(),
    query::<keys::Standing>(),
    query::<keys::ReadWallet>(),
    operation::<sweep::Sweep>(),
    query::<admin::FindKey>(),
    query::<admin::ReadKeys>(),
    operation::<admin::SetAdminKey>(),
    operation::<admin::SyncAdminKeys>(),
    operation::<admin::Direct>(),
    query::<AskLog<reads::ReadTransfer>>(),
    query::<reads::ReadEscrow>(),
    query::<AskLog<reads::History>>(),
    query::<reads::EscrowHistory>(),
    query::<reads::ReadHealth>(),
    query::<market::ReadListing>(),
    query::<market::ReadListings>(),
    query::<market::ListingsOf>(),
    query::<market::ReadHire>(),
    query::<market::HiresOf>(),
    query::<market::ReadReceipt>(),
    query::<market::ReceiptsOf>(),
    query::<market::ReadTrust>(),
    query::<market::ReadStats>(),
    query::<provider::ReadOwn>(),
    operation::<provider::Adopt>(),
    operation::<provider::TakeUp>(),
    query::<provider::ReadTask>(),
    query::<metrics::ReadMetrics>(),
    operation::<notify::Want>(),
    operation::<notify::Tell>(),
    operation::<notify::TakeUp>(),
    operation::<notify::Written>(),
    operation::<notify::SetNotices>(),
    query::<notify::ReadNotice>(),
    query::<notify::ReadNotices>(),
    query::<log::ReadHead>(),
    query::<AskLog<log::Prove>>(),
    query::<log::Compare>(),
    query::<AskLog<log::Export>>(),
    query::<log::Balances>(),
    query::<AskLog<statement::ReadStatement>>(),
    query::<segment::keep::Waiting>(),
    query::<segment::keep::ReadBody>(),
    operation::<segment::keep::DeleteArchivedSegments>(),
    query::<segment::keep::Elsewhere>(),
];
