//! What the ledger answers, as types. Amounts are whole micro-credits, also in members whose names say credits.

mod audit;
mod market;
mod wallets;

pub use audit::*;
pub use market::*;
pub use wallets::*;
