//! Test lists: sites with category codes, columns by header.

use std::io::BufRead;

use super::domain::{TargetKey, host_of};
use super::rows::for_each_row;
use super::types::{ImportCounts, ImportError, Rejection};
use crate::starter::categories::current_code;

/// One listed site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub target: TargetKey,
    /// A current code of [`crate::starter::categories`].
    pub category: &'static str,
}

/// Reads one list; `sink` returns whether the pair of site and category was new.
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
        let category = current_code(code).ok_or(Rejection::Unusable("unknown_category"))?;
        Ok(sink(Listed { target, category }))
    })?;
    Ok(counts)
}
