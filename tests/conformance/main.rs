//! The conformance suite: the same tests over HTTP on every runtime.
//!
//! `cargo test -p heliograph-tests --test conformance` runs them on memory and native;
//! `HELIOGRAPH_TEST_TARGETS=memory,native,edge` chooses the runtimes. A word of a test's name after `--` runs only that
//! test.
//!
//! | Modules | What they ask |
//! |---|---|
//! | `detect`, `country`, `domain`, `accessibility`, `index`, `changes`, `measured` | what is blocked where, and since when |
//! | `incidents*` | incidents: lists, feeds, search, changes by operators |
//! | `forecasts*`, `risk`, `sentinel*`, `elections`, `classify` | what may happen, and how well that was said before |
//! | `imports`, `fetching`, `probes*`, `sweeps` | where measurements come from, and what an operator does with them |
//! | `relay_*`, `mailbox`, `messages`, `pins` | agents: identity, messages, channels, tasks, webhooks, federation |
//! | `ledger_*` | credit: transfers, escrows, hires, the log |
//! | `keys*`, `limits`, `rates`, `encodings`, `malformed` | what holds on every route |
//! | `dump_and_load` | a whole deployment out and in, and data of earlier versions |
//! | `pages`, `mcp` | pages for people; tools for language models |

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use heliograph_tests::client::Client;
use heliograph_tests::target::{Kind, Target};
use libtest_mimic::{Arguments, Trial};

mod accessibility;
mod agents;
mod aggregation;
mod alerts;
mod analytics;
mod atlas;
mod changes;
mod circumvention;
mod claims;
mod classify;
mod computing;
mod country;
mod detect;
mod domain;
mod dump_and_load;
mod elections;
mod encodings;
mod fetching;
mod forecasts;
mod forecasts_record;
mod imports;
mod incidents;
mod incidents_feeds;
mod incidents_operated;
mod incidents_search;
mod incidents_served;
mod index;
mod interop;
mod keys;
mod keys_first;
mod layouts;
mod ledger_audit;
mod ledger_batch;
mod ledger_escrows;
mod ledger_idempotency;
mod ledger_keys;
mod ledger_malformed;
mod ledger_market;
mod ledger_notices;
mod ledger_operators;
mod ledger_payments;
mod ledger_privacy;
mod ledger_provider;
mod ledger_races;
mod ledger_reasons;
mod ledger_room;
mod ledger_segments;
mod ledger_statement;
mod limits;
mod mailbox;
mod malformed;
mod mcp;
mod measured;
mod messages;
mod methodology;
mod pages;
mod pins;
mod probes;
mod rates;
mod recorded;
mod registration;
mod relay_api_keys;
mod relay_attest;
mod relay_capabilities;
mod relay_channels;
mod relay_consent;
mod relay_deliveries;
mod relay_federation;
mod relay_idempotency;
mod relay_identity;
mod relay_invites;
mod relay_key_changes;
mod relay_life;
mod relay_lists;
mod relay_mailbox;
mod relay_memory;
mod relay_names;
mod relay_proofs;
mod relay_receive;
mod relay_sealed;
mod relay_search;
mod relay_signed_texts;
mod relay_standing;
mod relay_tasks;
mod relay_transport;
mod relay_webhooks;
mod risk;
mod routes;
mod sentences;
mod sentinel;
mod services;
mod sources;
mod streams;
mod sweeps;
mod targets;
mod unknowns;
mod websockets;
mod welcome;
mod wire;

/// One test: its name and its function.
pub struct Case {
    pub name: &'static str,
    pub run: fn(&Suite),
}

/// Lists functions as cases under their own names.
#[macro_export]
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub const CASES: &[$crate::Case] = &[$($crate::Case { name: stringify!($name), run: $name }),*];
    };
}

const MODULES: &[(&str, &[Case])] = &[
    ("accessibility", accessibility::CASES),
    ("agents", agents::CASES),
    ("aggregation", aggregation::CASES),
    ("alerts", alerts::CASES),
    ("analytics", analytics::CASES),
    ("atlas", atlas::CASES),
    ("changes", changes::CASES),
    ("circumvention", circumvention::CASES),
    ("claims", claims::CASES),
    ("classify", classify::CASES),
    ("computing", computing::CASES),
    ("country", country::CASES),
    ("detect", detect::CASES),
    ("domain", domain::CASES),
    ("elections", elections::CASES),
    ("encodings", encodings::CASES),
    ("fetching", fetching::CASES),
    ("forecasts", forecasts::CASES),
    ("forecasts_record", forecasts_record::CASES),
    ("imports", imports::CASES),
    ("incidents", incidents::CASES),
    ("incidents_feeds", incidents_feeds::CASES),
    ("incidents_operated", incidents_operated::CASES),
    ("incidents_search", incidents_search::CASES),
    ("incidents_served", incidents_served::CASES),
    ("index", index::CASES),
    ("interop", interop::CASES),
    ("keys", keys::CASES),
    ("keys_first", keys_first::CASES),
    ("layouts", layouts::CASES),
    ("ledger_audit", ledger_audit::CASES),
    ("ledger_batch", ledger_batch::CASES),
    ("ledger_escrows", ledger_escrows::CASES),
    ("ledger_idempotency", ledger_idempotency::CASES),
    ("ledger_keys", ledger_keys::CASES),
    ("ledger_malformed", ledger_malformed::CASES),
    ("ledger_market", ledger_market::CASES),
    ("ledger_notices", ledger_notices::CASES),
    ("ledger_operators", ledger_operators::CASES),
    ("ledger_payments", ledger_payments::CASES),
    ("ledger_privacy", ledger_privacy::CASES),
    ("ledger_provider", ledger_provider::CASES),
    ("ledger_races", ledger_races::CASES),
    ("ledger_reasons", ledger_reasons::CASES),
    ("ledger_room", ledger_room::CASES),
    ("ledger_segments", ledger_segments::CASES),
    ("ledger_statement", ledger_statement::CASES),
    ("limits", limits::CASES),
    ("mailbox", mailbox::CASES),
    ("malformed", malformed::CASES),
    ("mcp", mcp::CASES),
    ("measured", measured::CASES),
    ("messages", messages::CASES),
    ("methodology", methodology::CASES),
    ("risk", risk::CASES),
    ("pages", pages::CASES),
    ("pins", pins::CASES),
    ("probes", probes::CASES),
    ("rates", rates::CASES),
    ("recorded", recorded::CASES),
    ("registration", registration::CASES),
    ("relay_capabilities", relay_capabilities::CASES),
    ("relay_attest", relay_attest::CASES),
    ("relay_channels", relay_channels::CASES),
    ("relay_consent", relay_consent::CASES),
    ("relay_deliveries", relay_deliveries::CASES),
    ("relay_federation", relay_federation::CASES),
    ("relay_idempotency", relay_idempotency::CASES),
    ("relay_mailbox", relay_mailbox::CASES),
    ("relay_memory", relay_memory::CASES),
    ("relay_names", relay_names::CASES),
    ("relay_receive", relay_receive::CASES),
    ("relay_sealed", relay_sealed::CASES),
    ("relay_life", relay_life::CASES),
    ("relay_lists", relay_lists::CASES),
    ("dump_and_load", dump_and_load::CASES),
    ("relay_proofs", relay_proofs::CASES),
    ("relay_api_keys", relay_api_keys::CASES),
    ("relay_identity", relay_identity::CASES),
    ("relay_invites", relay_invites::CASES),
    ("relay_key_changes", relay_key_changes::CASES),
    ("relay_search", relay_search::CASES),
    ("relay_signed_texts", relay_signed_texts::CASES),
    ("relay_standing", relay_standing::CASES),
    ("relay_tasks", relay_tasks::CASES),
    ("relay_transport", relay_transport::CASES),
    ("relay_webhooks", relay_webhooks::CASES),
    ("routes", routes::CASES),
    ("services", services::CASES),
    ("sentences", sentences::CASES),
    ("sentinel", sentinel::CASES),
    ("sources", sources::CASES),
    ("streams", streams::CASES),
    ("sweeps", sweeps::CASES),
    ("targets", targets::CASES),
    ("unknowns", unknowns::CASES),
    ("websockets", websockets::CASES),
    ("welcome", welcome::CASES),
    ("wire", wire::CASES),
];

/// One runtime with a deployment that all tests of the suite share.
pub struct Suite {
    pub kind: Kind,
    shared: OnceLock<Target>,
    rough: OnceLock<Target>,
    prepared: Mutex<HashMap<&'static str, Arc<OnceLock<Target>>>>,
}

impl Suite {
    pub fn client(&self) -> Client {
        self.shared.get_or_init(|| Target::start(self.kind, &[])).client()
    }

    /// A second shared deployment, for requests that no client should send. Its streams are short.
    pub fn rough(&self) -> heliograph_tests::client::Client {
        let settings = &[("stream_seconds", "1"), ("signups_per_day", "1000000")];
        self.rough.get_or_init(|| Target::start(self.kind, settings)).client()
    }

    /// A deployment that `prepare` filled and several tests share; they only read from it.
    pub fn prepared(&self, name: &'static str, prepare: fn(&Client)) -> Client {
        let target = self.prepared.lock().unwrap().entry(name).or_default().clone();
        target
            .get_or_init(|| {
                let target = Target::start(self.kind, &[]);
                prepare(&target.client());
                target
            })
            .client()
    }

    /// A new deployment for one test, with other settings.
    pub fn fresh(&self, settings: &[(&str, &str)]) -> Target {
        Target::start(self.kind, settings)
    }
}

const THREADS_OF_A_CORE: usize = 3;

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests mostly wait for timers of their servers, so many can run at once.
    arguments
        .test_threads
        .get_or_insert_with(|| THREADS_OF_A_CORE * std::thread::available_parallelism().map_or(2, usize::from));
    let suites: Vec<Arc<Suite>> = Kind::chosen()
        .into_iter()
        .map(|kind| {
            Arc::new(Suite { kind, shared: OnceLock::new(), rough: OnceLock::new(), prepared: Mutex::default() })
        })
        .collect();
    let mut trials = Vec::new();
    for suite in &suites {
        for (module, cases) in MODULES {
            for case in *cases {
                let suite = suite.clone();
                let name = format!("{}::{module}::{}", suite.kind.name(), case.name);
                trials.push(Trial::test(name, move || {
                    (case.run)(&suite);
                    Ok(())
                }));
            }
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // The servers end with their suites; `exit` would leave them running.
    drop(suites);
    if conclusion.has_failed() {
        std::process::exit(101);
    }
}
