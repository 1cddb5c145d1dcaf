//! The ledger: wallets, payments, escrows, the market, proofs from the audit log.
//!
//! All amounts are whole micro-credits; [`CREDIT`] of them are one credit. Every write is an envelope that is signed
//! here and names the deployment, so that it settles nowhere else. A write is tried again by itself; the service does it
//! once.
//!
//! | Module | What |
//! |---|---|
//! | [`envelope`] | signing: the canonical form, the window of time, the proof of a reader |
//! | [`wallets`] | balance, transfers, batches, statements |
//! | [`escrow`] | money that is set aside |
//! | [`market`] | offers, hires, claims of work, acceptance, receipts |
//! | [`audit`] | signed heads of the log, proofs that something is in it and that it only grew |
//! | [`answers`] | types of the answers |

pub mod answers;
pub mod audit;
pub mod envelope;
pub mod escrow;
pub mod market;
pub mod wallets;

/// Micro-credits of one credit.
pub const CREDIT: i64 = 1_000_000;
