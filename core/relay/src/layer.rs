//! What the features of the relay bring to the program. A new feature is named here.

use super::{agent, attestation, channel, computing, directory, federation, keys, webhook};
use engine::actor::Kind;
use engine::actor::schema::Migration;
use engine::http::{Auth, Check};
use engine::program::Layer;
use engine::runtime::Errand;

pub const LAYER: Layer = Layer {
    operations: &[
        agent::record::ENTRIES,
        agent::create::ENTRIES,
        agent::rotate::ENTRIES,
        agent::access::ENTRIES,
        agent::keyed::ENTRIES,
        agent::waiting::ENTRIES,
        agent::proof::ENTRIES,
        agent::prekeys::ENTRIES,
        agent::username::ENTRIES,
        agent::listing::ENTRIES,
        agent::reseal::ENTRIES,
        agent::usage::ENTRIES,
        agent::activity::ENTRIES,
        agent::export::ENTRIES,
        agent::moderation::ENTRIES,
        agent::idempotency::ENTRIES,
        agent::mailbox::ENTRIES,
        agent::pins::ENTRIES,
        agent::continuity::ENTRIES,
        agent::consent::ENTRIES,
        agent::memberships::ENTRIES,
        agent::memory::ENTRIES,
        agent::presence::ENTRIES,
        agent::capabilities::ENTRIES,
        agent::tasks::ENTRIES,
        agent::broadcasts::ENTRIES,
        agent::trust::ENTRIES,
        webhook::ENTRIES,
        federation::ENTRIES,
        channel::ENTRIES,
        attestation::ENTRIES,
        directory::ENTRIES,
        directory::search::ENTRIES,
        directory::capabilities::ENTRIES,
        directory::leaderboard::ENTRIES,
        directory::stats::ENTRIES,
        keys::ENTRIES,
    ],
    routes: &[
        keys::ROUTES,
        keys::admin::ROUTES,
        agent::register::ROUTES,
        agent::identity::ROUTES,
        agent::profile::ROUTES,
        agent::proof::ROUTES,
        agent::rotate::ROUTES,
        agent::api_key::ROUTES,
        agent::prekeys::ROUTES,
        agent::username::ROUTES,
        agent::did_document::ROUTES,
        directory::discover::ROUTES,
        agent::send::ROUTES,
        agent::receive::ROUTES,
        agent::messages::ROUTES,
        agent::verify::ROUTES,
        agent::pins::ROUTES,
        agent::consent::ROUTES,
        agent::memory::ROUTES,
        agent::presence::ROUTES,
        agent::capabilities::ROUTES,
        agent::tasks::routes::ROUTES,
        agent::broadcasts::ROUTES,
        agent::trust::routes::ROUTES,
        agent::analytics::ROUTES,
        agent::export::ROUTES,
        agent::moderation::ROUTES,
        directory::stats::ROUTES,
        webhook::ROUTES,
        federation::info::ROUTES,
        federation::route::ROUTES,
        federation::deliver::ROUTES,
        federation::operate::ROUTES,
        channel::routes::ROUTES,
        attestation::routes::ROUTES,
    ],
    documents: &[directory::leaderboard::FAMILIES, directory::stats::FAMILIES],
    computing: computing::LISTS,
    migrations: &[
        // Before version 2, nothing counted agents.
        Migration { to: 2, concerns: |kind| matches!(kind, Kind::Agent), shows: false, run: agent::stats::begin },
        // Before version 3, the id of what was made under an `Idempotency-Key` was derived from the key.
        Migration { to: 3, concerns: |kind| matches!(kind, Kind::Agent), shows: false, run: agent::idempotency::begin },
        // Before version 3, what silent senders have in a mailbox was one row.
        Migration { to: 3, concerns: |kind| matches!(kind, Kind::Agent), shows: false, run: agent::mailbox::begin },
        // Before version 3, two names were one when their letters in lower case were.
        Migration {
            to: 3,
            concerns: |kind| matches!(kind, Kind::Directory),
            shows: false,
            run: directory::rekey::begin,
        },
    ],
    checks: &[
        Check {
            auth: Auth::Agent,
            admit: |rt, route, request| Box::pin(agent::authentication::admit(rt, route, request)),
        },
        Check { auth: Auth::Key, admit: |rt, _, request| Box::pin(keys::authentication::admit(rt, request)) },
    ],
    gate: Some(&agent::authentication::Agents),
    errands: &[
        Errand {
            key: federation::queue::LANE,
            asks_a_stranger: true,
            run: |rt, actor, lane| Box::pin(async move { federation::send::attempt(&*rt, actor, lane).await }),
        },
        // Whatever has no other errand is a webhook.
        Errand {
            key: "",
            asks_a_stranger: true,
            run: |rt, actor, key| Box::pin(async move { webhook::attempt(&*rt, actor, key).await }),
        },
    ],
    ..Layer::EMPTY
};
