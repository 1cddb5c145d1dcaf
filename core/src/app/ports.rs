//! What lower layers need of higher ones, filled in.

use crate::engine::actor::Turn;
use crate::engine::runtime::{self, BoxFuture, Runtime};
use crate::intelligence::alert::{secret, subscription};
use crate::intelligence::country::attested::SetAttested;
use crate::ledger::book::name_of;
use crate::ledger::keys::{self, How, SetKey};
use crate::ledger::lent::SetLent;
use crate::ledger::listing::PauseListings;
use crate::ledger::{self, notify, provider};
use crate::relay::above::{Above, Account, Attested, KeyChange};
use crate::{Result, engine::settings::Settings};

/// What is above the relay: the ledger and the alerts.
pub const RELAY: Above = Above {
    check_name: provider::check_free,
    is_own_agent: |rt, did| Box::pin(provider::is_own_agent(rt, did)),
    keys_changed,
    holder_changed: |turn, did| {
        let name = ledger_name(turn.settings, did);
        turn.send(ledger::ACTOR, &PauseListings { name })
    },
    account: |rt, did| Box::pin(account(rt, did)),
    lent: |turn, did, vote| {
        let name = ledger_name(turn.settings, did);
        turn.send(ledger::ACTOR, &SetLent { name, vote })
    },
    events: &notify::EVENTS,
    webhooks_changed: notify::changed,
    webhooks_ended: notify::ended,
    tried: subscription::tried,
    given_up: subscription::given_up,
    account_ended: subscription::ended,
    reseal_account,
    attested,
};

/// The name of a DID in the ledger; empty for what is no DID.
fn ledger_name(settings: &Settings, did: &str) -> String {
    name_of(&settings.brand, did).unwrap_or_default().to_owned()
}

fn keys_changed(turn: &mut Turn<'_>, change: KeyChange) -> Result<()> {
    let KeyChange { did, version, proved, current, active, signer, silent, shown } = change;
    let name = ledger_name(turn.settings, &did);
    let how = How { signer, silent, proved: shown };
    turn.send(ledger::ACTOR, &SetKey { name, version, proved, current, active, how })
}

async fn account(rt: &dyn Runtime, did: &str) -> Result<Account> {
    let name = ledger_name(&rt.environment().settings, did);
    let known = runtime::query(rt, ledger::ACTOR, &keys::Standing { name }).await?;
    Ok(Account { key: known.key.map(|key| (key.version, key.active)), wallet: known.wallet })
}

fn reseal_account<'a>(rt: &'a dyn Runtime, account: &'a str) -> BoxFuture<'a, ()> {
    Box::pin(async move { drop(secret::reseal(rt, account).await) })
}

fn attested(turn: &mut Turn<'_>, country: &str, attested: Attested) -> Result<()> {
    let Attested { id, series, author, blocked, at, expires, support, refute } = attested;
    turn.send(country, &SetAttested { id, series, author, blocked, at, expires, support, refute })
}
