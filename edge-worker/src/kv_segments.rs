//! Sealed segments of the ledger's log in Workers KV, beside the documents: bytes under names that contain their hash.
//!
//! KV shows a new value elsewhere up to a minute late. This does no harm: nothing reads a segment before it was read
//! back some minutes after it was written ([`heliograph_core::ledger::segment::keep`]), and no segment is ever
//! replaced.

use heliograph_core::engine::runtime::{Archive, BoxFuture};
use heliograph_core::{Error, Result};
use worker::KvStore;

use crate::kv_documents::{BINDING, unavailable};
use crate::runtime::EdgeRuntime;

impl EdgeRuntime {
    fn segments(&self) -> Result<KvStore> {
        self.env().kv(BINDING).map_err(Error::internal)
    }
}

impl Archive for EdgeRuntime {
    fn put<'a>(&'a self, name: &'a str, body: Vec<u8>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let put = self.segments()?.put_bytes(name, &body).map_err(unavailable)?;
            put.execute().await.map_err(unavailable)
        })
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>>> {
        Box::pin(async move { self.segments()?.get(name).bytes().await.map_err(unavailable) })
    }
}
