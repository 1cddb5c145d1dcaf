//! Block page fingerprints. They are stored as canonical CSV lines, and a reader builds its matcher from these lines.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{KnownRows, actor};
use crate::{Error, Result};
use engine::actor::{Kind, Operation, Query, Turn, View};
use engine::kv::{Direction, Row, Table};
use engine::runtime::{self, Runtime};
use facts::measurement::fingerprints::{Fingerprints, Pattern, Place, Scope};
use facts::measurement::input::strip_bom;
use facts::measurement::json::{self, text_of, whole};
use facts::measurement::rows::for_each_row;
use facts::measurement::types::Rejection;
use facts::measurement::{ImportCounts, ImportError};
use facts::starter::Country;
use facts::starter::signatures::{self, Location, PatternType};

const COLUMNS: [&str; 6] = ["name", "scope", "location_found", "pattern_type", "pattern", "expected_countries"];

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lines(BTreeSet<String>);
impl Row for Lines {}

/// The lines are spread over 16 rows by their CRC-32, so that each row stays small.
const LINES: Table<(u8,), Lines> = Table::new(17);
const SHARDS: u32 = 16;

fn shard(line: &str) -> u8 {
    u8::try_from(crc32fast::hash(line.as_bytes()) % SHARDS).unwrap_or(0)
}

/// Reads fingerprints from CSV, or from signatures as JSON lines, whose `list` must be named. Returns the valid rows as
/// canonical lines, and counts the fate of every row.
pub fn fingerprint_lines(
    reader: &mut dyn BufRead,
    limit: u64,
    list: Option<&str>,
) -> Result<(BTreeSet<String>, ImportCounts)> {
    let refuse = |error: ImportError| Error::bad_request(format!("The data cannot be read: {error}."));
    let mut text = whole(reader, limit).map_err(refuse)?;
    let mut damaged = ImportCounts::default();
    if json::begins(&text) {
        text = signature_lines(&text, list, &mut damaged)?.into_bytes();
    }
    let mut counts = Fingerprints::default().import(&mut text.as_slice(), u64::MAX).map_err(refuse)?;
    counts.add(&damaged);
    let mut lines = BTreeSet::new();
    let mut ignored = ImportCounts::default();
    for_each_row(&mut text.as_slice(), u64::MAX, &[], &mut ignored, &mut |header, row| {
        let line = csv_line(COLUMNS.map(|name| header.get(row, name)));
        let mut probe = Fingerprints::default();
        let good = probe.import(&mut document([&line]).as_bytes(), u64::MAX).is_ok_and(|counts| counts.accepted == 1);
        Ok(good && lines.insert(line))
    })
    .map_err(refuse)?;
    Ok((lines, counts))
}

/// Turns the signatures of Censored Planet (`{"fingerprint", "pattern"}`, one per line) into the CSV that the rest of
/// the import reads. Two such files are published, and the lines do not say which file they are from. A known false
/// positive that is taken for a block page would confirm blocks instead of masking them, so the caller must name the
/// file.
fn signature_lines(text: &[u8], list: Option<&str>, counts: &mut ImportCounts) -> Result<String> {
    let trusted = match list {
        Some("blockpage_signatures") => false,
        Some("false_positive_signatures") => true,
        _ => {
            return Err(Error::bad_request(
                "Signatures as JSON lines need `list`: blockpage_signatures or false_positive_signatures.",
            ));
        }
    };
    let mut lines = Vec::new();
    for line in strip_bom(text).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let (name, pattern) = (text_of(&value, "fingerprint"), text_of(&value, "pattern"));
        if name.is_empty() || pattern.is_empty() {
            counts.reject(Rejection::Refused(if value.is_null() { "bad_json" } else { "bad_pattern" }));
            continue;
        }
        let (scope, country) = if trusted { ("fp", None) } else { origin(name) };
        // A pattern is for a whole response. In a response only a header begins like this.
        let header = ["location", "server", "set-cookie"].into_iter().find_map(|header| {
            let (first, value) = pattern.split_once(": ")?;
            first.eq_ignore_ascii_case(header).then(|| (format!("header.{header}"), value))
        });
        let (place, pattern) = header.unwrap_or_else(|| ("body".to_owned(), pattern));
        let (kind, pattern) = match literal(pattern) {
            Some(plain) => ("contains", plain),
            None => ("regexp", format!("(?s){pattern}")),
        };
        lines.push(csv_line([name, scope, &place, kind, &pattern, country.unwrap_or_default()]));
    }
    Ok(document(&lines))
}

/// The scope and the country that the name of a signature gives. `b_nat_ir_...` is national, `c_isp_in_...` is of a
/// provider. Pages of no known owner confirm a block in the country where they were seen. Pages of products and
/// institutions confirm a block nowhere; they are only evidence.
fn origin(name: &str) -> (&'static str, Option<&'static str>) {
    let mut parts = name.split('_').skip(1);
    let (owner, place) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let code = if place == "uk" { "GB" } else { place };
    let country = Country::by_code(code).filter(|_| code.len() == 2).map(|country| country.code);
    match owner {
        "nat" => ("nat", country),
        "isp" => ("isp", country),
        "unk" | "gen" => ("vbw", country),
        "corp" => ("inst", None),
        _ => ("prod", None),
    }
}

/// The plain text of a pattern that needs no regular expression; otherwise `None`.
fn literal(pattern: &str) -> Option<String> {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => plain.push(rest.next().filter(|escaped| !escaped.is_ascii_alphanumeric())?),
            '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
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

/// Adds fingerprints.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddFingerprints {
    /// Canonical lines.
    pub lines: Vec<String>,
    pub dry_run: bool,
}

impl Operation for AddFingerprints {
    const ACTOR: Kind = Kind::Reference;
    const NAME: &'static str = "add_fingerprints";
    type Reply = KnownRows;

    fn run(self, turn: &mut Turn<'_>) -> Result<KnownRows> {
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
        Ok(KnownRows { known })
    }
}

/// Reads every line.
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

/// The signatures that ship with the project. Each confirms blocks only in the countries that it names.
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
        let (lines, counts) = fingerprint_lines(&mut csv.as_bytes(), 1 << 20, None).unwrap();
        assert_eq!(lines.len(), 2);
        assert_eq!((counts.refused, counts.lines()), (1, 4));
        let (again, _) = fingerprint_lines(&mut document(&lines).as_bytes(), 1 << 20, None).unwrap();
        assert_eq!(again, lines);
    }

    const SIGNATURES: &str = concat!(
        "{\"fingerprint\":\"b_nat_uk_order\",\"pattern\":\"say \\\"no\\\" \\\\(by order\\\\)\\\\.\"}\n\n",
        "{\"fingerprint\":\"e_unk_ru_gate\",\"pattern\":\"URL .* Gate\"}\r\n",
        "{\"fingerprint\":\"d_corp_ru_school\",\"pattern\":\"Location: http://stop\\\\.example\"}\n",
        "{\"fingerprint\":\"a_prod_in_box\",\"pattern\":\"Server: Box/1.0\"}\n",
        "{\"fingerprint\":\"x_\",\"pattern\":\"\"}\n",
        "{\"fingerprint\"\n",
    );

    fn read(text: &str, list: &str) -> (Fingerprints, ImportCounts) {
        let (lines, counts) = fingerprint_lines(&mut text.as_bytes(), 1 << 20, Some(list)).unwrap();
        let mut set = Fingerprints::default();
        set.import(&mut document(&lines).as_bytes(), u64::MAX).unwrap();
        (set, counts)
    }

    /// The traps of these lists: patterns for whole answers, escapes, blank lines, owners and countries in names.
    #[test]
    fn signatures_as_json_lines_become_fingerprints() {
        let (set, counts) = read(SIGNATURES, "blockpage_signatures");
        assert_eq!((set.len(), counts.accepted, counts.refused), (4, 4, 2), "{counts:?}");
        let none = |_: &str| None;
        let name = |page: facts::measurement::fingerprints::PageMatch| (page.confirmed, page.suspected);
        let national = set.page("<p>say \"no\" (by order).", &none, *b"FR");
        assert_eq!(name(national), (Some("b_nat_uk_order".to_owned()), false), "national pages confirm abroad too");
        assert_eq!(name(set.page("URL a\nb Gate", &none, *b"RU")), (Some("e_unk_ru_gate".to_owned()), false));
        assert_eq!(name(set.page("URL a Gate", &none, *b"DE")), (None, true));
        let location = |name: &str| (name == "location").then_some("http://stop.example/?x");
        assert_eq!(name(set.page("", &location, *b"RU")), (None, true), "an institution proves nothing");
        let server = |name: &str| (name == "server").then_some("Box/1.0");
        assert_eq!(name(set.page("", &server, *b"IN")), (None, true), "a product is in no country");
        assert!(set.page("location: http://stop.example", &none, *b"RU") == Default::default());
    }

    #[test]
    fn every_published_signature_is_read() {
        for (list, lines) in [("blockpage_signatures", 622), ("false_positive_signatures", 460)] {
            let Some(text) = engine::testing::real_data(&format!("censoredplanet/{list}.json")) else { return };
            let (set, counts) = read(std::str::from_utf8(&text).unwrap(), list);
            assert_eq!((counts.lines(), counts.refused, counts.unsupported), (lines, 0, 0), "{counts:?}");
            assert!(set.len() as u64 > lines - 20, "{} of {lines}", set.len());
        }
    }

    #[test]
    fn known_false_positives_mask_and_the_file_must_be_named() {
        let (set, counts) = read(SIGNATURES, "false_positive_signatures");
        assert_eq!(counts.accepted, 4);
        let page = set.page("URL a Gate", &|_| None, *b"RU");
        assert!(page.false_positive && page.confirmed.is_none() && !page.suspected);
        for list in [None, Some("global")] {
            let error = fingerprint_lines(&mut SIGNATURES.as_bytes(), 1 << 20, list).unwrap_err();
            assert!(error.message.contains("blockpage_signatures"), "{error:?}");
        }
    }

    #[test]
    fn own_signatures_are_there_before_any_import() {
        assert_eq!(own().len(), signatures::all().len());
    }
}
