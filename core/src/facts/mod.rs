//! Facts about censorship as pure functions: formats, rules, verdicts, change points, and the facts that ship with the program.
//!
//! | Module | What |
//! |---|---|
//! | [`change`] | when blocking began and ended |
//! | [`licence`] | which of several licences an answer stands under |
//! | [`measurement`] | formats of measurement sources and their importers |
//! | [`reported`] | outages, shutdowns and blocks that others report |
//! | [`starter`] | the dated facts that ship inside the binary |
//! | [`verdict`] | rules, votes, verdicts: from observations to blocked / accessible / unknown |

pub mod change;
pub mod licence;
pub mod measurement;
pub mod reported;
pub mod starter;
pub mod verdict;
