//! What actors reach out for: work outside of their turns.

use crate::engine::runtime::Errand;
use crate::ledger::{notify, provider, segment, start};
use crate::relay::{federation, webhook};

/// By key; whatever has no other errand is a webhook.
pub const ERRANDS: &[Errand] = &[
    Errand {
        key: federation::queue::LANE,
        asks_a_stranger: true,
        run: |rt, actor, lane| Box::pin(async move { federation::send::attempt(&*rt, actor, lane).await }),
    },
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
    Errand {
        key: "",
        asks_a_stranger: true,
        run: |rt, actor, key| Box::pin(async move { webhook::attempt(&*rt, actor, key).await }),
    },
];
