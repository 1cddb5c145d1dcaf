//! What the ledger needs of its deployment before it can serve: the configured admin keys (decision operator-keys), and
//! the deployment's own services (decision own-provider). The deployment's actor asks for it at each start whose
//! settings want something else than the last time; doing it again changes nothing.

use super::admin::{SyncAdminKeys, parse_keys};
use super::{ACTOR, provider};
use crate::engine::deployment::{self, Ready, SetReady};
use crate::engine::runtime::{self, Runtime};
use crate::{Error, Result};

/// Key of the wish, and of the timer that repeats it.
pub const WISH: &str = "ledger";

/// Makes the ledger ready for the present settings.
pub async fn run(rt: &dyn Runtime) -> Result<()> {
    let settings = &rt.environment().settings;
    let keys = parse_keys(&settings.ledger_admin_keys).ok_or_else(|| Error::internal("admin keys of no form"))?;
    runtime::call(rt, ACTOR, &SyncAdminKeys { keys }).await?;
    provider::list(rt).await?;
    runtime::call(rt, deployment::actor().name, &SetReady(Ready::wanted(settings))).await
}
