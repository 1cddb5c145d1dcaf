//! What the relay needs of the intelligence, filled in.

use super::alert::{secret, subscription};
use super::country::attested::SetAttested;
use crate::Result;
use engine::actor::Turn;
use engine::runtime::{BoxFuture, Runtime};
use relay::above::{Attested, Subscriptions};

pub const SUBSCRIPTIONS: Subscriptions = Subscriptions {
    tried: subscription::tried,
    given_up: subscription::given_up,
    account_ended: subscription::ended,
    reseal_account,
    attested,
};

fn reseal_account<'a>(rt: &'a dyn Runtime, account: &'a str) -> BoxFuture<'a, ()> {
    Box::pin(async move { drop(secret::reseal(rt, account).await) })
}

fn attested(turn: &mut Turn<'_>, country: &str, attested: Attested) -> Result<()> {
    let Attested { id, series, author, blocked, at, expires, support, refute } = attested;
    turn.send(country, &SetAttested { id, series, author, blocked, at, expires, support, refute })
}
