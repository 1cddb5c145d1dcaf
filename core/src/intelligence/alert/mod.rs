//! Alerts: who subscribed hears of an incident by webhook.
//!
//! Subscriptions belong to the API key that made them, and live in its account actor beside the queue of deliveries
//! ([`crate::relay::webhook`]). When an incident changes, its actor decides, in the turn that stores the change,
//! whether subscribers hear of it ([`news`]) and hands that to the one actor of kind `alert` ([`desk`]), which knows
//! which keys want news of which countries and passes it on, some keys a turn, so that ten thousand subscribers hold up
//! nothing. Each account then chooses among its own subscriptions and has the body delivered.
//!
//! | Module | What |
//! |---|---|
//! | [`news`] | which change is told, and what is said |
//! | [`desk`] | who hears of it; public numbers |
//! | [`subscription`] | the subscriptions of one key, their deliveries |
//! | [`secret`] | the secret of a subscription, which is a key of its own |
//! | `routes` | `/api/alerts` |

pub mod desk;
pub mod news;
mod routes;
pub mod secret;
pub mod subscription;
#[cfg(test)]
mod tests;

use crate::engine::actor::{ActorId, Kind};
use crate::engine::time::DAY;

pub use routes::ROUTES;

/// Most subscriptions of one key; our choice.
pub const MAX_SUBSCRIPTIONS: usize = 100;
/// How long ago an incident may have begun or ended for its being recorded to be news, in microseconds (decision
/// incident-ids): importing old data pages nobody.
pub const RECENT: i64 = 7 * DAY;

/// The one actor that knows who subscribed to what.
pub fn actor() -> ActorId {
    ActorId::sole(Kind::Alert)
}
