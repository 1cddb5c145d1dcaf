//! What the engine itself brings to the program.

use super::actor::schema::Migration;
use super::program::Layer;
use super::{deployment, documents, roster};

pub const LAYER: Layer = Layer {
    operations: &[
        deployment::ENTRIES,
        roster::ENTRIES,
        documents::ENTRIES,
        #[cfg(any(test, feature = "conformance"))]
        super::actor::host::counter::ENTRIES,
    ],
    documents: &[
        #[cfg(any(test, feature = "conformance"))]
        documents::counter::FAMILIES,
    ],
    migrations: &[
        // Before version 2, nothing listed the actors of a deployment.
        Migration { to: 2, concerns: |_| true, shows: false, run: roster::enrol },
        #[cfg(any(test, feature = "conformance"))]
        super::actor::host::counter::MIGRATION,
    ],
    ..Layer::EMPTY
};
