//! Facts about censorship as pure functions: formats, rules, verdicts, change detection, and the facts that ship with
//! the program.
//!
//! | Module | What |
//! |---|---|
//! | [`brands`] | sites and services by the names that people write |
//! | [`change`] | when blocking began and ended |
//! | [`folding`] | text without case and accents, for searches |
//! | [`licence`] | which of several licences holds for an answer |
//! | [`measurement`] | formats of measurement sources and their importers |
//! | [`reported`] | outages, shutdowns and blocks that others report |
//! | [`sentence`] | what answers say in words: codes with parameters, and their English |
//! | [`source`] | the sources of data, and their licences |
//! | [`starter`] | the dated facts that ship inside the binary |
//! | [`subject`] | what a question is about: a site, a service, a platform and its parts |
//! | [`tracked`] | platforms that are judged as a whole |
//! | [`verdict`] | rules, votes, verdicts: from observations to blocked / accessible / unknown |

pub mod brands;
pub mod change;
pub mod folding;
pub mod licence;
pub mod measurement;
pub mod reported;
pub mod sentence;
pub mod source;
pub mod starter;
pub mod subject;
pub mod tracked;
pub mod verdict;

use engine::{Error, Result, Timestamp};
