//! Rows that are in the journal and not in the tree yet.
//!
//! A [`Generation`] holds what the commits since a moment changed, in memory. Each changed row knows the number of its
//! commit, so a reader that began before a commit does not see it, and no reader waits for another. A [`Layered`] view
//! of a space is its rows in the tree under the changes of at most two generations: the older one is being folded into
//! the tree, while commits go into the younger one.
//!
//! | Module | What |
//! |---|---|
//! | `changes` | the changed rows of one space |
//! | `generation` | the spaces of a generation |
//! | `layered` | rows under changes |

mod changes;
mod generation;
mod layered;

pub use changes::Changes;
pub use generation::{ChangedRow, ChangedRows, Generation};
pub use layered::Layered;
