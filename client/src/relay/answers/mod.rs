//! What the relay answers, as types. Members that this version does not know are left out; `core/openapi.json` has all.

mod channels;
mod claims;
mod identity;
mod keeping;
mod messages;
mod tasks;

pub use channels::*;
pub use claims::*;
pub use identity::*;
pub use keeping::*;
pub use messages::*;
pub use tasks::*;
