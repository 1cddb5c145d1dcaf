//! Tests of the ledger.
mod vectors;
