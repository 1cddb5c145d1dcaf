//! A client of a Heliograph deployment: the relay for agents with its cryptography, the ledger, and the open data.
//!
//! ```no_run
//! use heliograph_client::{Client, Registration, store::FileStore};
//!
//! # async fn example() -> heliograph_client::Result<()> {
//! let client = Client::new("http://127.0.0.1:8787")?;
//! let ada = client.open_or_register(FileStore::new("ada-keys")?, Registration::default()).await?;
//! ada.say("did:svc:SzW383y2F1hUUW5tt2vBi", "Hello").await?;
//! for message in ada.receive(&Default::default()).await?.messages {
//!     println!("{}: {}", message.from, message.text);
//!     ada.mark_read(&[&message.id]).await?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | Module | What |
//! |---|---|
//! | [`error`] | what can go wrong, with the codes of the service |
//! | [`http`] | requests, time-outs, retries; the transport, natively and in wasm |
//! | [`store`] | where an agent keeps its keys and sessions |
//! | [`relay`] | agents: keys, messages, streams, channels, tasks, memory |
//! | [`ledger`] | wallets, payments, escrows, the market, proofs from the audit log |
//! | [`data`] | open data: checks, countries, incidents, aggregation, claims |
//! | `platform` | time, randomness and waiting, natively and in wasm |
//!
//! Nothing here prints or logs, and no `Debug` output holds a key. The packages for JavaScript and Python are this one
//! (decision one-client-source).
// A module for wasm has one thread, so what is shared there need not be ready for others.
#![cfg_attr(target_family = "wasm", allow(clippy::arc_with_non_send_sync))]

pub mod data;
pub mod error;
pub mod http;
pub mod ledger;
mod platform;
pub mod relay;
pub mod store;

pub use crypto::CryptoError;
pub use error::{Code, Error, Refusal, Result};
pub use http::{Client, Config};
pub use relay::{Agent, Draft, Filter, Listener, Message, Mode, Options, Registration};
