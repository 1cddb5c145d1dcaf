//! Makes the ledger ready to serve: sets the configured admin keys (decision operator-keys), and lists the deployment's
//! own services (decision own-provider). The deployment's actor asks for this at each start with other such settings
//! than the last time. Doing it again changes nothing.

use serde::{Deserialize, Serialize};

use super::admin::{SyncAdminKeys, configured};
use super::{ACTOR, provider};
use crate::{Error, Result};
use crypto::hash::sha256;
use engine::actor::{Entry, Kind, Operation, Turn, operation};
use engine::deployment;
use engine::kv::{Row, Table};
use engine::runtime::{self, Runtime};
use engine::settings::Settings;
use engine::time::SECOND;

/// What the ledger was made ready for last; among the rows of the deployment.
const READY: Table<(), Ready> = Table::new(19);

pub const ENTRIES: &[Entry] = &[operation::<AskLedger>(), operation::<SetReady>()];

/// Key of the wish, and of the timer that repeats it.
pub const WISH: &str = "ledger";

/// Makes the ledger ready for the present settings.
pub async fn run(rt: &dyn Runtime) -> Result<()> {
    let settings = &rt.environment().settings;
    let keys = configured(settings).ok_or_else(|| Error::internal("admin keys of no form"))?;
    runtime::call(rt, ACTOR, &SyncAdminKeys { keys }).await?;
    provider::list(rt).await?;
    runtime::call(rt, deployment::actor().name, &SetReady(Ready::wanted(settings))).await
}

/// What settings ask of the ledger before it can serve.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The revision of the deployment's own services; 0 for none.
    pub services: u32,
    /// SHA-256 of the configured admin keys; zeros for none.
    pub keys: [u8; 32],
}
impl Row for Ready {}

impl Ready {
    /// What these settings ask for.
    pub fn wanted(settings: &Settings) -> Ready {
        let keys = settings.ledger_admin_keys.trim();
        Ready {
            services: if settings.first_party_services { provider::REVISION } else { 0 },
            keys: if keys.is_empty() { [0; 32] } else { sha256(keys.as_bytes()) },
        }
    }
}

/// How long one wish for the ledger stands before another is made, in microseconds.
const PATIENCE: i64 = 10 * SECOND;

/// Has the ledger made ready, where it was not for these settings. A wish may get lost, so a timer asks again;
/// meanwhile other starts, as each isolate of a Worker makes one, ask for nothing.
pub fn ask(turn: &mut Turn<'_>) -> Result<()> {
    if READY.get(turn, &())?.unwrap_or_default() == Ready::wanted(turn.settings) {
        return turn.cancel(WISH);
    }
    if turn.scheduled(WISH)?.is_some() {
        return Ok(());
    }
    turn.reach_out(WISH.to_owned());
    turn.schedule(WISH, turn.now.plus(PATIENCE), &AskLedger)
}

/// Asks again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AskLedger;

impl Operation for AskLedger {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "ask_ledger";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        ask(turn)
    }
}

/// The ledger was made ready for this.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetReady(pub Ready);

impl Operation for SetReady {
    const ACTOR: Kind = Kind::Deployment;
    const NAME: &'static str = "set_ready";
    type Reply = ();

    fn run(self, turn: &mut Turn<'_>) -> Result<()> {
        READY.put(turn, &(), &self.0)?;
        turn.cancel(WISH)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::testing::PROGRAM;
    use relay::testing::TestRuntime;

    /// The wish for the ledger is there as long as it was not made ready for these settings.
    #[test]
    fn a_start_asks_for_what_settings_want_of_the_ledger_until_it_is_there() {
        let rt = TestRuntime::start(&PROGRAM, &[("first_party_services", "true")]);
        let ready = || {
            let rows = rt.rows(&deployment::actor());
            rows.iter().any(|(key, _)| key.starts_with(&READY.range().start))
        };
        assert!(!ready());
        rt.lose_outgoing();
        // A wish that was lost comes again by timer.
        rt.advance(std::time::Duration::from_secs(11));
        rt.reach_out().now_or_never().expect("nothing waits in tests");
        assert!(ready());
        rt.advance(std::time::Duration::from_secs(600));
        assert_eq!(rt.lose_outgoing(), 0);
    }
}
