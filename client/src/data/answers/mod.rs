//! What the routes of open data answer, as types. Members that this version does not know are left out.

mod checks;
mod claims;
mod incidents;

pub use checks::*;
pub use claims::*;
pub use incidents::*;
