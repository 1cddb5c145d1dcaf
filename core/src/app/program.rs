//! The one list of features: what they bring, in the order of the document that describes the routes.
//!
//! A new feature declares its lists beside its code and is named here.

use crate::engine::actor::schema::Migration;
use crate::engine::actor::{Entry, Kind};
use crate::engine::documents::Family;
use crate::engine::http::Route;
use crate::engine::program::{Parts, Program};
use crate::{intelligence, ledger, relay};

/// Heliograph, assembled.
pub static PROGRAM: Program = Program::new(Parts {
    operations: OPERATIONS,
    routes: ROUTES,
    documents: DOCUMENTS,
    migrations: MIGRATIONS,
    computing: super::computing::LISTS,
    gate: &super::gate::Keys,
    errands: super::errands::ERRANDS,
    started: ledger::start::ask,
    ports: &[&super::ports::RELAY],
});

/// What can be asked of actors.
const OPERATIONS: &[&[Entry]] = &[
    relay::agent::record::ENTRIES,
    relay::agent::create::ENTRIES,
    relay::agent::rotate::ENTRIES,
    relay::agent::access::ENTRIES,
    relay::agent::keyed::ENTRIES,
    relay::agent::waiting::ENTRIES,
    relay::agent::proof::ENTRIES,
    relay::agent::prekeys::ENTRIES,
    relay::agent::username::ENTRIES,
    relay::agent::listing::ENTRIES,
    relay::agent::reseal::ENTRIES,
    relay::agent::usage::ENTRIES,
    relay::agent::activity::ENTRIES,
    relay::agent::export::ENTRIES,
    relay::agent::moderation::ENTRIES,
    relay::agent::idempotency::ENTRIES,
    relay::agent::mailbox::ENTRIES,
    relay::agent::pins::ENTRIES,
    relay::agent::continuity::ENTRIES,
    relay::agent::consent::ENTRIES,
    relay::agent::memberships::ENTRIES,
    relay::agent::memory::ENTRIES,
    relay::agent::presence::ENTRIES,
    relay::agent::capabilities::ENTRIES,
    relay::agent::tasks::ENTRIES,
    relay::agent::broadcasts::ENTRIES,
    relay::agent::trust::ENTRIES,
    relay::webhook::ENTRIES,
    intelligence::alert::subscription::ENTRIES,
    intelligence::alert::desk::ENTRIES,
    relay::federation::ENTRIES,
    relay::channel::ENTRIES,
    relay::attestation::ENTRIES,
    intelligence::probe::ENTRIES,
    ledger::ENTRIES,
    ledger::lent::ENTRIES,
    ledger::start::ENTRIES,
    ledger::index::ENTRIES,
    relay::directory::ENTRIES,
    relay::directory::search::ENTRIES,
    relay::directory::capabilities::ENTRIES,
    relay::directory::leaderboard::ENTRIES,
    relay::directory::stats::ENTRIES,
    crate::engine::deployment::ENTRIES,
    crate::engine::roster::ENTRIES,
    relay::keys::ENTRIES,
    crate::engine::documents::ENTRIES,
    intelligence::country::ENTRIES,
    intelligence::world::ENTRIES,
    intelligence::analytics::ENTRIES,
    intelligence::reference::ENTRIES,
    intelligence::incidents::ENTRIES,
    intelligence::risk::ENTRIES,
    intelligence::forecast::ENTRIES,
    intelligence::elections::ENTRIES,
    intelligence::sentinel::ENTRIES,
    intelligence::anomaly::ENTRIES,
    intelligence::classifier::ENTRIES,
    #[cfg(any(test, feature = "conformance"))]
    crate::engine::actor::host::probe::ENTRIES,
];

/// Every route, by resource.
const ROUTES: &[&[Route]] = &[
    super::admin::ROUTES,
    super::dump::ROUTES,
    relay::keys::ROUTES,
    relay::agent::register::ROUTES,
    relay::agent::identity::ROUTES,
    relay::agent::profile::ROUTES,
    relay::agent::proof::ROUTES,
    relay::agent::rotate::ROUTES,
    relay::agent::api_key::ROUTES,
    relay::agent::prekeys::ROUTES,
    relay::agent::username::ROUTES,
    relay::agent::did_document::ROUTES,
    relay::directory::discover::ROUTES,
    relay::agent::send::ROUTES,
    relay::agent::receive::ROUTES,
    relay::agent::messages::ROUTES,
    relay::agent::verify::ROUTES,
    relay::agent::pins::ROUTES,
    relay::agent::consent::ROUTES,
    relay::agent::memory::ROUTES,
    relay::agent::presence::ROUTES,
    relay::agent::capabilities::ROUTES,
    relay::agent::tasks::routes::ROUTES,
    relay::agent::broadcasts::ROUTES,
    relay::agent::trust::routes::ROUTES,
    relay::agent::analytics::ROUTES,
    relay::agent::export::ROUTES,
    relay::agent::moderation::ROUTES,
    relay::directory::stats::ROUTES,
    relay::webhook::ROUTES,
    intelligence::alert::ROUTES,
    relay::federation::info::ROUTES,
    relay::federation::route::ROUTES,
    relay::federation::deliver::ROUTES,
    relay::federation::operate::ROUTES,
    relay::channel::routes::ROUTES,
    relay::attestation::routes::ROUTES,
    intelligence::probe::community::ROUTES,
    intelligence::probe::results::ROUTES,
    intelligence::probe::status::ROUTES,
    ledger::routes::info::ROUTES,
    ledger::routes::payments::ROUTES,
    ledger::routes::batch::ROUTES,
    ledger::routes::statement::ROUTES,
    ledger::routes::audit::ROUTES,
    ledger::routes::escrows::ROUTES,
    ledger::routes::receipts::ROUTES,
    ledger::routes::market::ROUTES,
    ledger::routes::stats::ROUTES,
    ledger::routes::admin::ROUTES,
    ledger::notify::routes::ROUTES,
    ledger::provider::session::ROUTES,
    ledger::routes::metrics::ROUTES,
    intelligence::country::ROUTES,
    intelligence::analytics::ROUTES,
    intelligence::incidents::ROUTES,
    intelligence::claims::ROUTES,
    intelligence::risk::ROUTES,
    intelligence::forecast::ROUTES,
    intelligence::elections::ROUTES,
    intelligence::sentinel::ROUTES,
    intelligence::anomaly::ROUTES,
    intelligence::classifier::ROUTES,
    intelligence::atlas::ROUTES,
    intelligence::incidents::topics::ROUTES,
    intelligence::forecast::CHANGELOG_ROUTES,
    intelligence::forecast::RECORD_ROUTES,
    intelligence::forecast::REPORTING_ROUTES,
    intelligence::import::ROUTES,
    super::openapi::ROUTES,
];

/// Every family of documents.
const DOCUMENTS: &[&[Family]] = &[
    intelligence::world::FAMILIES,
    intelligence::country::FAMILIES,
    intelligence::analytics::FAMILIES,
    intelligence::analytics::DUMPS,
    intelligence::incidents::FAMILIES,
    intelligence::incidents::topics::FAMILIES,
    intelligence::anomaly::FAMILIES,
    relay::directory::leaderboard::FAMILIES,
    relay::directory::stats::FAMILIES,
    intelligence::alert::desk::FAMILIES,
    intelligence::probe::status::FAMILIES,
    #[cfg(any(test, feature = "conformance"))]
    crate::engine::documents::probe::FAMILIES,
];

/// In the order of their versions.
const MIGRATIONS: &[&[Migration]] = &[&[
    // Nothing listed the actors of a deployment before.
    Migration { to: 2, concerns: |_| true, shows: false, run: crate::engine::roster::enrol },
    // Nothing counted agents before.
    Migration { to: 2, concerns: |kind| matches!(kind, Kind::Agent), shows: false, run: relay::agent::stats::begin },
    // What was made under an `Idempotency-Key` had an id that was derived from the key.
    Migration {
        to: 3,
        concerns: |kind| matches!(kind, Kind::Agent),
        shows: false,
        run: relay::agent::idempotency::begin,
    },
    // What silent senders have in a mailbox was a row of its own.
    Migration { to: 3, concerns: |kind| matches!(kind, Kind::Agent), shows: false, run: relay::agent::mailbox::begin },
    // Reports stood for longer, and nothing told whether a beginning was seen.
    Migration {
        to: 3,
        concerns: |kind| matches!(kind, Kind::Country),
        shows: false,
        run: intelligence::country::begin,
    },
    // Two names were one when their letters in lower case were.
    Migration {
        to: 3,
        concerns: |kind| matches!(kind, Kind::Directory),
        shows: false,
        run: relay::directory::rekey::begin,
    },
    #[cfg(any(test, feature = "conformance"))]
    Migration {
        to: 2,
        concerns: |kind| matches!(kind, Kind::Deployment),
        shows: true,
        run: crate::engine::actor::host::probe::migrate,
    },
]];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_operations_share_a_kind_and_a_name() {
        let mut seen = BTreeSet::new();
        for entry in OPERATIONS.iter().flat_map(|entries| entries.iter()) {
            assert!(seen.insert((entry.kind, entry.name)), "{} of {} twice", entry.name, entry.kind.as_str());
        }
    }

    #[test]
    fn no_two_routes_conflict() {
        let mut router = matchit::Router::new();
        let mut seen = BTreeSet::new();
        for route in PROGRAM.routes() {
            assert!(seen.insert((route.path, route.method.as_str())), "{} {} twice", route.method, route.path);
            let _ = router.insert(route.path, ());
        }
        for route in PROGRAM.routes() {
            assert!(router.at(route.path).is_ok(), "{} is unreachable", route.path);
        }
    }
}
