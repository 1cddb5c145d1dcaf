//! Test lists: sites with category codes, columns by header (methods 1.7).

use std::io::BufRead;

use super::domain::{TargetKey, host_of};
use super::rows::for_each_row;
use super::types::{ImportCounts, ImportError, Rejection};

/// The category codes of the test lists.
pub const CATEGORIES: &[&str] = &[
    "ALDR", "ANON", "COMM", "COMT", "CTRL", "CULTR", "DATE", "ECON", "ENV", "FILE", "GAME", "GMB", "GOVT", "GRP",
    "HACK", "HATE", "HOST", "HUMR", "IGO", "LGBT", "MILX", "MISC", "MMED", "NEWS", "POLR", "PORN", "PROV", "PUBH",
    "REL", "SRCH", "XED",
];

/// Retired codes and what replaced them (legend of the test lists).
const RETIRED: &[(&str, &str)] = &[
    ("BLGSERV", "HOST"),
    ("CACH", "CTRL"),
    ("CLOUD", "HOST"),
    ("DEV", "ECON"),
    ("EMAIL", "COMT"),
    ("FEXP", "NEWS"),
    ("FREL", "GOVT"),
    ("GAYL", "LGBT"),
    ("HAL", "CULTR"),
    ("KWRD", "MISC"),
    ("MINF", "HUMR"),
    ("MINR", "HUMR"),
    ("MSG", "COMT"),
    ("P2P", "FILE"),
    ("POLT", "POLR"),
    ("SELFHARM", "PUBH"),
    ("SFTWR", "FILE"),
    ("TRNS", "COMT"),
    ("USMIL", "GOVT"),
    ("VOIP", "COMT"),
    ("WOMR", "HUMR"),
    ("WRZ", "FILE"),
];

/// One listed site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub target: TargetKey,
    /// One of [`CATEGORIES`].
    pub category: &'static str,
}

/// The present code for a code, retired or not, whatever its case.
pub fn category(code: &str) -> Option<&'static str> {
    let code = code.trim().to_ascii_uppercase();
    let present = RETIRED.iter().find(|(old, _)| *old == code).map_or(code.as_str(), |(_, new)| new);
    CATEGORIES.iter().copied().find(|known| *known == present)
}

/// Reads one list; `sink` answers whether the pair of site and category was new.
pub fn import(
    reader: &mut dyn BufRead,
    limit: u64,
    sink: &mut dyn FnMut(Listed) -> bool,
) -> Result<ImportCounts, ImportError> {
    let mut counts = ImportCounts::default();
    for_each_row(reader, limit, &["url", "category_code"], &mut counts, &mut |header, row| {
        let host = host_of(header.get(row, "url")).trim_start_matches('.');
        let target = TargetKey::from_host(host).map_err(|error| Rejection::Unusable(error.reason()))?;
        let code = header.get(row, "category_code");
        let category = category(code).ok_or(Rejection::Unusable("unknown_category"))?;
        Ok(sink(Listed { target, category }))
    })?;
    Ok(counts)
}
