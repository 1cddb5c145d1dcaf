//! The program that tests of the ledger run.

use engine::program::Program;

/// The ledger and what is below it.
pub static PROGRAM: Program = Program::new(&[&engine::layer::LAYER, &relay::layer::LAYER, &crate::layer::LAYER]);
