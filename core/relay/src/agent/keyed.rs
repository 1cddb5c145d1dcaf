//! Checks the API key of a request again in each step that the request takes in its own agent.
//!
//! A key is checked when a request begins. Its body, its budget or a long wait for mail may take so long that the
//! registration has given way to another one; the request would then read or write rows of the heir. So the request
//! asks its own agent through [`Keyed`]: the agent checks the key in the same step, before it does anything.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::record;
use crate::{Error, Result, Timestamp};
use engine::actor::{ActorId, Call, Entry, Kind, View, decode, encode, registry};
use engine::apart::Asker;
use engine::http::Ready;
use engine::runtime::{Archive, BoxFuture, ByteStream, Environment, Maintenance, Runtime, StorageHealth};
use engine::web::Incoming;
use engine::web::Outgoing;

const OPERATION: &str = "keyed/operation";
const QUERY: &str = "keyed/query";

pub const ENTRIES: &[Entry] = &[
    Entry {
        kind: Kind::Agent,
        name: OPERATION,
        run: registry::Run::Operation(|arguments, turn| {
            let under = KeyedCall::read(arguments, &turn.view())?;
            registry::operate(Kind::Agent, &under.name, &under.arguments, turn)
        }),
        kept: None,
    },
    Entry {
        kind: Kind::Agent,
        name: QUERY,
        run: registry::Run::Query(|arguments, view| {
            let under = KeyedCall::read(arguments, view)?;
            registry::ask(Kind::Agent, &under.name, &under.arguments, view)
        }),
        kept: None,
    },
];

/// An operation or query of an agent under an API key.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeyedCall {
    secret_hash: [u8; 32],
    name: String,
    arguments: Vec<u8>,
}

impl KeyedCall {
    /// The operation or query, if the key still opens the agent.
    fn read(arguments: &[u8], view: &View<'_>) -> Result<KeyedCall> {
        let under: KeyedCall = decode(arguments)?;
        match record::is_key(view, &under.secret_hash)? {
            true => Ok(under),
            false => Err(ended()),
        }
    }
}

/// The answer to a key that opens nothing any more.
pub fn ended() -> Error {
    Error::unauthorized("The agent key is not valid.")
}

/// The runtime for one request of an agent.
pub struct Keyed {
    inner: Arc<dyn Runtime>,
    agent: ActorId,
    secret_hash: [u8; 32],
}

impl Keyed {
    /// A runtime that puts the API key into each call to this agent.
    // On the edge a runtime stays on one thread.
    #[allow(clippy::arc_with_non_send_sync)]
    pub fn over(inner: Arc<dyn Runtime>, agent: &str, secret_hash: [u8; 32]) -> Arc<dyn Runtime> {
        Arc::new(Keyed { inner, agent: ActorId::new(Kind::Agent, agent), secret_hash })
    }

    /// The call as it is sent: a call to the request's own agent carries the key.
    fn under(&self, call: Call, name: &str) -> Result<Call> {
        if call.actor != self.agent {
            return Ok(call);
        }
        let Call { actor, name: inner, arguments } = call;
        let under = KeyedCall { secret_hash: self.secret_hash, name: inner, arguments };
        Ok(Call { actor, name: name.to_owned(), arguments: encode(&under)? })
    }
}

impl Runtime for Keyed {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        match self.under(call, OPERATION) {
            Ok(call) => self.inner.call(call),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn query(&self, call: Call) -> BoxFuture<'_, Result<Vec<u8>>> {
        match self.under(call, QUERY) {
            Ok(call) => self.inner.query(call),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn remembered(&self, call: &Call) -> Option<Vec<u8>> {
        self.inner.remembered(call)
    }

    fn apart<'a>(&'a self, asker: &'a Asker, work: BoxFuture<'static, ()>) -> BoxFuture<'a, Result<()>> {
        self.inner.apart(asker, work)
    }

    fn document<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Arc<Ready>>>> {
        self.inner.document(key)
    }

    /// A stream ends by itself when the key ends: [`super::stream::OpenStream::version`].
    fn stream(&self, open: super::stream::OpenStream) -> BoxFuture<'_, Result<ByteStream>> {
        self.inner.stream(open)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.inner.sleep(duration)
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn random(&self) -> [u8; 32] {
        self.inner.random()
    }

    fn environment(&self) -> &Environment {
        self.inner.environment()
    }

    fn write_check(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.write_check()
    }

    fn fetch(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Incoming>> {
        self.inner.fetch(outgoing)
    }

    fn archive(&self) -> Option<&dyn Archive> {
        self.inner.archive()
    }

    fn storage(&self) -> StorageHealth {
        self.inner.storage()
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.inner.maintenance()
    }
}
