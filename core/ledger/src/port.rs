//! What the relay needs of the ledger, filled in.

use super::book::own_name;
use super::keys::{self, How, SetKey};
use super::lent::SetLent;
use super::listing::PauseListings;
use super::{ACTOR, notify, provider};
use crate::Result;
use engine::actor::Turn;
use engine::runtime::{self, Runtime};
use relay::above::{Account, Bookkeeping, KeyChange};

pub const BOOKKEEPING: Bookkeeping = Bookkeeping {
    check_name: provider::check_free,
    is_own_agent: |rt, did| Box::pin(provider::is_own_agent(rt, did)),
    keys_changed,
    holder_changed: |turn, did| {
        let name = own_name(&turn.settings.brand, did)?;
        turn.send(ACTOR, &PauseListings { name })
    },
    account: |rt, did| Box::pin(account(rt, did)),
    lent: |turn, did, vote| {
        let name = own_name(&turn.settings.brand, did)?;
        turn.send(ACTOR, &SetLent { name, vote })
    },
    events: &notify::EVENTS,
    webhooks_changed: notify::changed,
    webhooks_ended: notify::ended,
};

fn keys_changed(turn: &mut Turn<'_>, change: KeyChange) -> Result<()> {
    let KeyChange { did, version, proved, current, active, signer, silent, shown } = change;
    let name = own_name(&turn.settings.brand, &did)?;
    let how = How { signer, silent, proved: shown };
    turn.send(ACTOR, &SetKey { name, version, proved, current, active, how })
}

async fn account(rt: &dyn Runtime, did: &str) -> Result<Account> {
    let name = own_name(&rt.environment().settings.brand, did)?;
    let known = runtime::query(rt, ACTOR, &keys::Standing { name }).await?;
    Ok(Account { key: known.key.map(|key| (key.version, key.active)), wallet: known.wallet })
}
