//! Estimates whether a day of a country looks like one with a shutdown or an ordered block.
//!
//! | Module | What |
//! |---|---|
//! | `train` | labels, training, and the test whether a model may be served |
//! | `store` | the classifier that is served, kept by the world |
//! | `routes` | the endpoints, including corroboration |
//! | `constants` | every number of the classifier |

pub mod constants;
mod routes;
mod store;
mod train;

pub use routes::ROUTES;
pub use store::{ClassifierChange, NAME, ReadClassifier, ReadClassifierChanges, named, soon};
pub use train::{Learned, labelled};

use engine::actor::{Entry, operation, query};

pub const ENTRIES: &[Entry] =
    &[operation::<store::Learn>(), query::<store::ReadClassifier>(), query::<store::ReadClassifierChanges>()];
