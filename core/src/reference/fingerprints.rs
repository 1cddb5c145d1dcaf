//! Block page fingerprints, kept as canonical CSV lines and rebuilt where documents are parsed.

use std::collections::BTreeSet;
use std::io::{BufRead, Read as _};

use serde::{Deserialize, Serialize};

use super::{Known, actor};
use crate::actor::{Kind, Operation, Query, Turn, View};
use crate::kv::{Direction, Row, Table};
use crate::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use crate::measurement::rows::for_each_row;
use crate::measurement::{ImportCounts, ImportError};
use crate::runtime::{self, Runtime};
use crate::starter::signatures::{self, Location, PatternType};
use crate::{Error, Result};

const COLUMNS: [&str; 6] = ["name", "scope", "location_found", "pattern_type", "pattern", "expected_countries"];

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lines(BTreeSet<String>);
impl Row for Lines {}

/// Lines by a part of their hash: each row stays small.
const LINES: Table<(u8,), Lines> = Table::new(17);
const SHARDS: u32 = 16;

fn shard(line: &str) -> u8 {
    u8::try_from(crc32fast::hash(line.as_bytes()) % SHARDS).unwrap_or(0)
}

/// The canonical lines of a CSV of fingerprints, those that are good, and the fate of every row.
pub fn fingerprint_lines(reader: &mut dyn BufRead, limit: u64) -> Result<(BTreeSet<String>, ImportCounts)> {
    let mut text = Vec::new();
    reader.take(limit).read_to_end(&mut text).map_err(crate::import::chunk::bad_request)?;
    let refuse = |error: ImportError| Error::bad_request(format!("The data cannot be read: {error}."));
    let counts = Fingerprints::default().import(&mut text.as_slice(), limit).map_err(refuse)?;
    let mut lines = BTreeSet::new();
    let mut ignored = ImportCounts::default();
    for_each_row(&mut text.as_slice(), limit, &[], &mut ignored, &mut |header, row| {
        let line = csv_line(COLUMNS.map(|name| header.get(row, name)));
        let mut probe = Fingerprints::default();
        let good = probe.import(&mut document([&line]).as_bytes(), limit).is_ok_and(|counts| counts.accepted == 1);
        Ok(good && lines.insert(line))
    })
    .map_err(refuse)?;
    Ok((lines, counts))
}

fn csv_line(fields: [&str; 6]) -> String {
    let quoted = fields.map(|field| format!("\"{}\"", field.replace('"', "\"\"")));
    quoted.join(",")
}

fn document<'a>(lines: impl IntoIterator<Item = &'a String>) -> String {
    let mut text = COLUMNS.join(",");
    for line in lines {
        text.push('\n');
        text.push_str(line);
    }
    text
}

/// Enters fingerprints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddFingerprints {
    /// Canonical lines.
    pub lines: Vec<String>,
    pub dry_run: bool,
}

impl Operation for AddFingerprints {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "add_fingerprints";
    type Reply = Known;

    fn run(self, turn: &mut Turn<'_>) -> Result<Known> {
        let mut known = 0;
        for number in 0..SHARDS {
            let number = u8::try_from(number).unwrap_or(0);
            let before = LINES.get(turn, &(number,))?.unwrap_or_default();
            let mut after = before.clone();
            for line in self.lines.iter().filter(|line| shard(line) == number) {
                known += u64::from(!after.0.insert(line.clone()));
            }
            if after != before && !self.dry_run {
                LINES.put(turn, &(number,), &after)?;
            }
        }
        Ok(Known { known })
    }
}

/// Every line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FingerprintSet;

impl Query for FingerprintSet {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "fingerprints";
    type Reply = Vec<String>;

    fn run(self, view: &View<'_>) -> Result<Vec<String>> {
        let rows = LINES.scan(view, &LINES.range(), Direction::Ascending, SHARDS as usize)?;
        Ok(rows.into_iter().flat_map(|(_, lines)| lines.0).collect())
    }
}

/// The imported fingerprints and the project's own signatures, ready to match.
pub async fn fingerprints(rt: &dyn Runtime) -> Result<Fingerprints> {
    let mut set = own();
    let lines = runtime::query(rt, actor().name, &FingerprintSet).await?;
    if !lines.is_empty() {
        set.import(&mut document(&lines).as_bytes(), u64::MAX).map_err(Error::internal)?;
    }
    Ok(set)
}

/// The signatures that ship with the project: they confirm in the countries they name only.
pub fn own() -> Fingerprints {
    let mut set = Fingerprints::default();
    for signature in signatures::all() {
        let countries: Vec<[u8; 2]> =
            signature.countries.iter().filter_map(|code| <[u8; 2]>::try_from(code.as_bytes()).ok()).collect();
        let place = match signature.location {
            Location::Dns => {
                set.add_answer(signature.id, Scope::Other, signature.pattern, &countries);
                continue;
            }
            Location::Body => Place::Body,
            Location::Header(name) => Place::Header(name.to_owned()),
        };
        let text = signature.pattern.to_owned();
        let pattern = match signature.pattern_type {
            PatternType::Contains => Pattern::Contains(text),
            PatternType::Prefix => Pattern::Prefix(text),
            PatternType::Full => Pattern::Full(text),
            PatternType::Regexp => match regex_lite::Regex::new(&text) {
                Ok(regex) => Pattern::Regex(regex),
                Err(_) => continue,
            },
        };
        set.add_page(signature.id, Scope::Other, place, pattern, &countries);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_canonical_and_bad_ones_are_counted_not_kept() {
        let csv = "name,scope,location_found,pattern_type,pattern,expected_countries\n\
                   a,nat,dns,full,192.0.2.1,IT\n\
                   b,nat,body,contains,\"say \"\"no\"\"\",IT\n\
                   c,nat,dns,full,not-an-address,IT\n\
                   a,nat,dns,full,192.0.2.1,IT\n";
        let (lines, counts) = fingerprint_lines(&mut csv.as_bytes(), 1 << 20).unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!((counts.refused, counts.lines()), (1, 4));
        let (again, _) = fingerprint_lines(&mut document(&lines).as_bytes(), 1 << 20).unwrap();
        assert_eq!(again, lines);
    }

    #[test]
    fn ruling_intelligence_36_own_signatures_are_there_before_any_import() {
        assert_eq!(own().len(), signatures::all().len());
    }
}
