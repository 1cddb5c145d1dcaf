//! Receive streams: one task per listening agent serves its streams in opening order (ruling foundation-relay 8).

use heliograph_core::actor::ActorId;
use heliograph_core::agent::stream::Open;
use heliograph_core::runtime::ByteStream;
use heliograph_core::{Error, Result};

pub struct Streams {
    _store: std::sync::Arc<crate::store::Store>,
}

impl Streams {
    pub fn new(
        store: std::sync::Arc<crate::store::Store>,
        _settings: heliograph_core::settings::Settings,
    ) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Streams { _store: store })
    }

    pub async fn open(&self, _open: Open) -> Result<ByteStream> {
        Err(Error::unavailable("streams are not served yet"))
    }

    pub fn wake(&self, _actor: &ActorId) {}

    pub fn wake_all(&self) {}

    pub fn stop(&self) {}
}
