//! Alerts: subscribers hear of incidents by webhook.
//!
//! Subscriptions belong to the API key that made them. They are kept in its account actor, beside the queue of
//! deliveries ([`relay::webhook`]). When an incident changes, the incident actor decides in the same turn
//! whether subscribers hear of the change ([`news`]). It hands the news to the one actor of kind `alert` ([`desk`]),
//! which knows which keys want news of which countries. That actor passes it on to some keys a turn, so that ten
//! thousand subscribers hold up nothing. Each account then chooses among its own subscriptions and queues the
//! deliveries.
//!
//! | Module | What |
//! |---|---|
//! | [`news`] | which changes are news, and what the news says |
//! | [`desk`] | passing news on to the keys that want it; public numbers |
//! | [`subscription`] | the subscriptions of one key, their deliveries |
//! | [`secret`] | the secret of a subscription, which also names its account |
//! | [`authentication`] | who may ask for alerts |
//! | `routes` | `/api/alerts` |

pub mod authentication;
pub mod desk;
pub mod news;
mod routes;
pub mod secret;
pub mod subscription;
#[cfg(test)]
mod tests;

use engine::actor::{ActorId, Kind};
use engine::time::DAY;

pub use routes::ROUTES;

/// Subscriptions of one key, at most; our choice.
pub const MAX_SUBSCRIPTIONS: usize = 100;
/// How long ago an incident may have begun or ended to be news when it is recorded, in microseconds (decision
/// incident-ids). Importing old data thus alerts nobody.
pub const RECENT: i64 = 7 * DAY;

/// The one actor that knows what each key subscribed to.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Alert)
}
