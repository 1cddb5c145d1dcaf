//! What the server counts of itself, for `/metrics` (decision metrics-of-a-process).
//!
//! Counting costs some atomic additions, nothing is locked and nothing is looked up by name. Labels are closed lists:
//! templates of routes, status codes, names of budgets and sources. So the text has a bounded length, and says nothing
//! about who asked for what.
//!
//! | Module | What |
//! |---|---|
//! | `counts` | counters, and times in buckets |
//! | `requests` | requests by route and status code |
//! | `process` | what the system says of the process |
//! | `text` | everything in the text format of Prometheus |
//! | `listener` | the listener that answers `/metrics` alone |

mod counts;
pub mod listener;
mod process;
mod requests;
mod text;

use heliograph_core::app::PROGRAM;
use heliograph_core::engine::runtime;
use heliograph_core::intelligence::classifier::ReadClassifier;
use heliograph_core::intelligence::fetch::FetchRows;
use heliograph_core::intelligence::forecast::ServedModel;
use heliograph_core::intelligence::world;
use heliograph_core::relay::agent::websocket;
use heliograph_core::relay::directory::stats;
use heliograph_core::{Error, Result};

pub use counts::{Counter, Times};
pub use requests::{Requests, Slot};

use crate::runtime::Native;

/// Path of the metrics.
pub const PATH: &str = "/metrics";

/// What is counted where requests are answered.
pub struct Metrics {
    pub requests: Requests,
    /// Where WebSockets are counted, which pass by the router.
    pub websockets: Slot,
    /// Requests to other hosts, by the first digit of the status of their answer; the first counts those without one.
    pub outgoing: [Counter; 6],
}

impl Default for Metrics {
    fn default() -> Self {
        let routes = PROGRAM.routes().map(|route| (route.method.to_string(), route.path));
        let websockets = PROGRAM.routes().position(|route| route.path == websocket::PATH);
        let websockets = websockets.map_or(Slot::None, Slot::Route);
        Metrics { requests: Requests::of(routes), websockets, outgoing: Default::default() }
    }
}

/// What the writer and the folding thread count.
#[derive(Debug, Default)]
pub struct StoreCounts {
    /// Commits that changed something.
    pub commits: Times,
    /// Operations, write checks and the like that were answered out of commits.
    pub answered: Counter,
    /// Commits that failed, with everything in them.
    pub failed: Counter,
    /// Folds of the journal into the tree.
    pub folds: Times,
}

/// The text of everything that is counted.
pub async fn text(native: &Native) -> Result<String> {
    let world = || world::actor().name;
    // What cannot be read now is left out; the other figures say why.
    let known = text::Known {
        sources: runtime::query(native, world(), &FetchRows).await.unwrap_or_default(),
        model: runtime::query(native, world(), &ServedModel).await.ok().and_then(|(served, _)| Some(served?.0.trained)),
        classifier: runtime::query(native, world(), &ReadClassifier { country: None })
            .await
            .ok()
            .and_then(|found| found.state.served.as_ref().map(|_| found.state.trained)),
        totals: runtime::query(native, stats::ACTOR, &stats::ReadTotals).await.ok(),
    };
    text::of(native, known).map_err(Error::internal)
}
