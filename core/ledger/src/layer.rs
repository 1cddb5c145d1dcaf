//! What the features of the ledger bring to the program. A new feature is named here.

use super::{computing, index, lent, notify, port, provider, routes, segment, start};
use engine::program::Layer;
use engine::runtime::Errand;

pub const LAYER: Layer = Layer {
    operations: &[super::ENTRIES, lent::ENTRIES, start::ENTRIES, index::ENTRIES],
    routes: &[
        routes::info::ROUTES,
        routes::payments::ROUTES,
        routes::batch::ROUTES,
        routes::statement::ROUTES,
        routes::audit::ROUTES,
        routes::escrows::ROUTES,
        routes::receipts::ROUTES,
        routes::market::ROUTES,
        routes::stats::ROUTES,
        routes::admin::ROUTES,
        notify::routes::ROUTES,
        provider::session::ROUTES,
        routes::metrics::ROUTES,
    ],
    computing: computing::LISTS,
    errands: &[
        Errand { key: provider::HIRE, asks_a_stranger: false, run: |rt, _, hire| Box::pin(provider::fulfil(rt, hire)) },
        Errand {
            key: notify::NOTICE,
            asks_a_stranger: false,
            run: |rt, actor, notice| Box::pin(async move { notify::write(&*rt, actor, notice).await }),
        },
        Errand {
            key: segment::keep::WISH,
            asks_a_stranger: false,
            run: |rt, _, _| Box::pin(async move { segment::keep::run(&*rt).await }),
        },
        Errand {
            key: start::WISH,
            asks_a_stranger: false,
            run: |rt, _, _| Box::pin(async move { start::run(&*rt).await }),
        },
    ],
    started: Some(start::ask),
    ports: &[&port::BOOKKEEPING],
    ..Layer::EMPTY
};
