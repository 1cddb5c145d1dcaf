//! Formats of measurement sources and their importers: bytes in, judged measurements out.
//!
//! Pure: no storage and no clock. An importer reads one stream ([`input`] inflates gzip and limits the size), hands
//! every usable line to the caller as a [`Parsed`] and counts the rest in [`ImportCounts`]. Later stages keep a
//! measurement as a 24-byte [`Entry`] in one (target, network, day) cell. Entries of one measurement merge by
//! [`Entry::merge`], which is idempotent, commutative and associative, so repeats, chunk borders and row order change
//! nothing (decisions identity-of-measurements, order-of-data and repeatable-import-chunks). [`Outcome::evaluate`]
//! judges the merged state.
//!
//! | Module | What |
//! |---|---|
//! | [`domain`] | target keys: normal form of hosts, URLs and service names |
//! | [`outcome`] | the statement of one measurement about one target, its merge laws and its 24-byte entry |
//! | [`types`] | parsed measurements, identities, counts |
//! | [`failure`], [`facts`] | failure strings of the sources; one network attempt as endpoint facts |
//! | [`instrument`] | clients that are known to fail by themselves |
//! | [`page`], [`guards`] | pages and headers as text; pages of a site's own protection |
//! | [`input`], [`quotes`], [`rows`], [`json`] | bounded streams: gzip, lines, CSV rows, JSON documents |
//! | [`ooni_document`], [`web_connectivity`], [`web_document`], [`services`] | raw OONI documents |
//! | [`ooni_observations`], [`ooni_fastpath`], [`ooni_scores`] | OONI tables and the lists of its API |
//! | [`ooni_aggregation`] | OONI's counts of days, which never vote |
//! | [`day_counts`] | counts of a day that others published |
//! | [`censored_planet`] | Hyperquack and Satellite |
//! | [`fingerprints`], [`test_list`], [`blocklist`], [`asn`] | reference lists |
//! | `made` | measurements made up for tests |

pub mod asn;
pub mod blocklist;
pub mod censored_planet;
pub mod day_counts;
pub mod domain;
pub mod facts;
pub mod failure;
pub mod fingerprints;
pub mod guards;
pub mod input;
pub mod instrument;
pub mod json;
#[cfg(any(test, feature = "conformance"))]
pub mod made;
pub mod ooni_aggregation;
pub mod ooni_document;
pub mod ooni_fastpath;
pub mod ooni_observations;
pub mod ooni_scores;
pub mod outcome;
pub mod page;
pub mod quotes;
pub mod rows;
pub mod services;
pub mod test_list;
pub mod types;
pub mod web_connectivity;
pub mod web_document;

pub use day_counts::DayCounts;
pub use domain::{DomainError, Service, Target, TargetKey};
pub use fingerprints::Fingerprints;
pub use outcome::{ENTRY_LEN, EndpointSet, Entry, Judgement, Outcome};
pub use types::{Contribution, Form, ImportCounts, ImportError, Parsed, Witness};

#[cfg(test)]
mod tests;
