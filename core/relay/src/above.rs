//! What the relay needs of the features above it, which it does not know: two ports that they fill in (decision
//! layers-and-ports).

use crate::Result;
use crate::Timestamp;
use crate::directory::Did;
use crate::webhook::{Id, Record};
use engine::actor::Turn;
use engine::program::Program;
use engine::runtime::{BoxFuture, Runtime};
use engine::settings::Settings;

/// What the ledger fills in.
pub struct Bookkeeping {
    /// Refuses a name of an agent that is kept for the deployment itself.
    pub check_name: fn(&Settings, &str) -> Result<()>,
    /// Whether the deployment itself is the agent of this DID.
    pub is_own_agent: for<'a> fn(&'a dyn Runtime, &'a str) -> BoxFuture<'a, Result<bool>>,
    /// An agent's keys are other ones, or it ended; told in the order of the changes, in the turn of the change.
    pub keys_changed: fn(&mut Turn<'_>, KeyChange) -> Result<()>,
    /// Another registration holds the DID from now on.
    pub holder_changed: fn(&mut Turn<'_>, &str) -> Result<()>,
    /// What the ledger knows of a DID.
    pub account: for<'a> fn(&'a dyn Runtime, &'a str) -> BoxFuture<'a, Result<Account>>,
    /// The word of the agent of this DID is worth so much from now on; 0 for nothing.
    pub lent: fn(&mut Turn<'_>, &str, f64) -> Result<()>,
    /// The words of the events that a webhook can want, beside messages.
    pub events: &'static [&'static str],
    /// The webhooks of an agent changed.
    pub webhooks_changed: fn(&mut Turn<'_>) -> Result<()>,
    /// The webhooks of an agent ended with its registration.
    pub webhooks_ended: fn(&mut Turn<'_>) -> Result<()>,
}

/// What the intelligence fills in.
pub struct Subscriptions {
    /// An attempt to deliver for an account was recorded; true when none follows.
    pub tried: fn(&mut Turn<'_>, &Record, bool) -> Result<()>,
    /// The queue switched a webhook of an account off.
    pub given_up: fn(&mut Turn<'_>, Id) -> Result<()>,
    /// The key of an account was revoked.
    pub account_ended: fn(&mut Turn<'_>) -> Result<()>,
    /// Moves what an account has sealed under the current master key. Not done is not an error.
    pub reseal_account: for<'a> fn(&'a dyn Runtime, &'a str) -> BoxFuture<'a, ()>,
    /// Tells a country of an attestation about it.
    pub attested: fn(&mut Turn<'_>, &str, Attested) -> Result<()>,
}

/// The keys of an agent changed, or it ended.
pub struct KeyChange {
    pub did: String,
    /// The generation this leads to.
    pub version: u64,
    /// The last key that was signed for.
    pub proved: [u8; 32],
    /// The agent's present key is that one, or the agent has ended and rotates no more.
    pub current: bool,
    pub active: bool,
    /// It came by a rotation that this key signed for.
    pub signer: Option<[u8; 32]>,
    /// The registration has signed nothing here.
    pub silent: bool,
    /// The holder of the signing key signed these keys for this deployment.
    pub shown: bool,
}

/// What the ledger knows of a DID.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// The generation of keys that it heard of last, and whether the agent was active.
    pub key: Option<(u64, bool)>,
    /// Micro-credits in the wallet, and whether it is frozen; `None` where there is no wallet.
    pub wallet: Option<(u64, bool)>,
}

/// What an attestation says, and how much trust stands behind it.
pub struct Attested {
    pub id: String,
    /// The series it is about.
    pub series: String,
    pub author: Did,
    pub blocked: bool,
    pub at: Timestamp,
    pub expires: Timestamp,
    pub support: f64,
    pub refute: f64,
}

impl Bookkeeping {
    /// The relay by itself: nobody keeps accounts.
    const NOBODY: Bookkeeping = Bookkeeping {
        check_name: |_, _| Ok(()),
        is_own_agent: |_, _| Box::pin(std::future::ready(Ok(false))),
        keys_changed: |_, _| Ok(()),
        holder_changed: |_, _| Ok(()),
        // Nobody has to hear of anything, so all was heard.
        account: |_, _| Box::pin(std::future::ready(Ok(Account { key: Some((u64::MAX, false)), wallet: None }))),
        lent: |_, _, _| Ok(()),
        events: &[],
        webhooks_changed: |_| Ok(()),
        webhooks_ended: |_| Ok(()),
    };

    /// The one of a program.
    pub fn of(program: &Program) -> &'static Bookkeeping {
        program.port().unwrap_or(&Bookkeeping::NOBODY)
    }
}

impl Subscriptions {
    /// The relay by itself: nobody subscribes to anything.
    const NOBODY: Subscriptions = Subscriptions {
        tried: |_, _, _| Ok(()),
        given_up: |_, _| Ok(()),
        account_ended: |_| Ok(()),
        reseal_account: |_, _| Box::pin(std::future::ready(())),
        attested: |_, _, _| Ok(()),
    };

    /// The one of a program.
    pub fn of(program: &Program) -> &'static Subscriptions {
        program.port().unwrap_or(&Subscriptions::NOBODY)
    }
}
