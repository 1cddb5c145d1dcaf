//! The program that tests of the ledger run.

use crate::engine::program::Program;

/// The ledger and what is below it.
pub static PROGRAM: Program =
    Program::new(&[&crate::engine::layer::LAYER, &crate::relay::layer::LAYER, &crate::ledger::layer::LAYER]);
