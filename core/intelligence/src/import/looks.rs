//! Recognizes the kind of some data by its columns or by the members of its first document, whatever kind it is said to
//! be.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::ImportKind;
use facts::measurement::blocklist;
use facts::measurement::input::strip_bom;
use facts::measurement::json;
use facts::measurement::quotes::separator_of;

/// The result of looking at some data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// Certainly of this kind: no other kind has these columns or members.
    Like(ImportKind),
    /// Perhaps of this kind: many lists look like this.
    Perhaps(ImportKind),
    /// A page of a web site, mostly an error page in place of the file.
    Page,
    /// No text at all, with what it is in words.
    NoText(&'static str),
    /// A text for people, such as a README.
    Prose,
    Unknown,
}

/// How files of other formats begin, and what they are.
const BEGINNINGS: [(&[u8], &str); 11] = [
    (b"\x89PNG", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"GIF89a", "an image"),
    (b"II*\0", "an image"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive, which must be unpacked first"),
    (b"BZh91AY", "a bzip2 archive, which must be unpacked first"),
    (b"\xfd7zXZ", "an xz archive, which must be unpacked first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive, which must be unpacked first"),
    (b"\xff\xfe", "a text in UTF-16, which must be saved as UTF-8 first"),
    (b"\xfe\xff", "a text in UTF-16, which must be saved as UTF-8 first"),
];

/// Readers inflate this by themselves.
const GZIP: &[u8] = b"\x1f\x8b";

/// Bytes that are looked at, and the part of control characters that no text has. A text may have single ones.
const BYTES: usize = 4 << 10;
const CONTROLS: usize = 16;

/// A line of so many words is no row of a list. A text has most of its lines so: of those looked at, at least half.
const WORDS_OF_PROSE: usize = 5;
const LINES_OF_PROSE: usize = 40;

/// What data are that are no text.
fn no_text(data: &[u8]) -> Option<&'static str> {
    let known = BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)).map(|(_, what)| *what);
    let head = data.get(..BYTES).unwrap_or(data);
    let controls = head.iter().filter(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace()).count();
    known.or_else(|| (controls * CONTROLS > head.len()).then_some("binary data"))
}

/// Whether most lines are sentences. Rows of tables have separators instead of spaces.
fn is_prose<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let lines = lines.filter(|line| !line.is_empty()).take(LINES_OF_PROSE);
    let (mut all, mut prose) = (0, 0);
    for line in lines {
        let words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).count();
        let table = line.iter().filter(|byte| matches!(byte, b',' | b';' | b'\t')).count() >= words;
        all += 1;
        prose += usize::from(words >= WORDS_OF_PROSE && !table);
    }
    prose > 0 && prose * 2 >= all
}

/// Bytes in which a first line is searched for.
const HEAD: usize = 256 << 10;

/// Looks at the beginning of some data, which must be inflated.
pub fn looks(data: &[u8]) -> Looks {
    if data.starts_with(GZIP) {
        return Looks::Unknown;
    }
    if let Some(what) = no_text(data) {
        return Looks::NoText(what);
    }
    let data = strip_bom(data);
    match in_text(data) {
        Looks::Unknown if is_prose(data.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii)) => Looks::Prose,
        found => found,
    }
}

fn in_text(data: &[u8]) -> Looks {
    let mut lines = data.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else { return Looks::Unknown };
    if json::begins(line) {
        let whole = || data.trim_ascii();
        let kind = kind_of(line).or_else(|| json::is_spread(line).then(|| kind_of(whole())).flatten());
        return kind.map_or(Looks::Unknown, Looks::Like);
    }
    if line.starts_with(b"<") {
        return Looks::Page;
    }
    match std::str::from_utf8(line.get(..HEAD).unwrap_or(line)) {
        Ok(line) => columns(line),
        Err(_) => Looks::Unknown,
    }
}

impl Looks {
    /// Whether data with this result is certainly not of a kind.
    pub fn contradict(self, kind: ImportKind) -> bool {
        match self {
            Looks::Like(other) => other != kind,
            Looks::Page | Looks::NoText(_) => true,
            Looks::Perhaps(_) | Looks::Prose | Looks::Unknown => false,
        }
    }

    /// The result in words. Empty for unknown data, and for data that looks like `kind`.
    pub fn words(self, kind: ImportKind) -> String {
        match self {
            Looks::Like(other) | Looks::Perhaps(other) if other != kind => {
                format!("it looks like `{}`", other.as_str())
            }
            Looks::Page => "it looks like a page of a web site".to_owned(),
            Looks::NoText(what) => format!("it looks like {what}"),
            Looks::Prose => "it looks like a text for people".to_owned(),
            _ => String::new(),
        }
    }
}

type Members<'a> = BTreeMap<&'a str, &'a RawValue>;

/// The kind of a document. In an array of documents the first one decides.
fn kind_of(text: &[u8]) -> Option<ImportKind> {
    let text = text.strip_suffix(b",").unwrap_or(text);
    if text.starts_with(b"[") {
        let items: Vec<&RawValue> = serde_json::from_slice(text).ok()?;
        return kind_of(items.first()?.get().as_bytes());
    }
    let members: Members<'_> = serde_json::from_slice(text).ok()?;
    let has = |names: &[&str]| names.iter().all(|name| members.contains_key(name));
    let inside = |name: &str, member: &str| {
        let inside: Option<Members<'_>> = members.get(name).and_then(|value| serde_json::from_str(value.get()).ok());
        inside.is_some_and(|inside| inside.contains_key(member))
    };
    let of_outages = members.get("type").is_some_and(|kind| kind.get().starts_with("\"outages"));
    Some(match () {
        () if has(&["test_keys", "test_name"]) => ImportKind::OoniMeasurements,
        () if has(&["scores", "test_name"]) || has(&["metadata", "results"]) => ImportKind::OoniFastpath,
        () if has(&["vp", "test_url"]) => ImportKind::CensoredPlanet,
        () if has(&["fingerprint", "pattern"]) => ImportKind::Fingerprints,
        () if has(&["incidents"]) || has(&["CCs", "start_time"]) => ImportKind::OoniIncidents,
        () if has(&["annotations"]) || inside("result", "annotations") => ImportKind::Radar,
        () if has(&["dimension_count", "result"]) || has(&["measurement_count", "ok_count"]) => {
            ImportKind::OoniAggregation
        }
        () if of_outages || has(&["datasource", "entity"]) || has(&["location", "duration"]) => ImportKind::Ioda,
        () if has(&["country", "kind", "start"]) => ImportKind::Outages,
        () => return None,
    })
}

/// Sets of columns that only one kind has.
const COLUMNS: [(&[&str], ImportKind); 15] = [
    (&["report_id", "measurement_start_time", "dns_failure"], ImportKind::OoniObservations),
    (&["report_id", "measurement_start_time", "tcp_success"], ImportKind::OoniObservations),
    (&["url", "category_code"], ImportKind::TestList),
    (&["name", "scope", "pattern"], ImportKind::Fingerprints),
    (&["measurement_count", "ok_count"], ImportKind::OoniAggregation),
    (&["start_date", "country", "shutdown_type"], ImportKind::Shutdowns),
    (&["start_date", "country", "geo_scope"], ImportKind::Shutdowns),
    (&["elec_year", "elec_month"], ImportKind::Elections),
    (&["country", "date", "election", "status"], ImportKind::Elections),
    (&["country", "date", "type", "source"], ImportKind::Elections),
    (&["asn", "ipv4_addresses"], ImportKind::Asn),
    (&["matcher_kind", "matcher"], ImportKind::Targets),
    (&["service", "role", "combination_rule"], ImportKind::Targets),
    (&["begin time", "end time", "country"], ImportKind::Ioda),
    (&["country", "kind", "start"], ImportKind::Outages),
];

fn columns(line: &str) -> Looks {
    let separator = char::from(separator_of(line.as_bytes()));
    let plain = |name: &str| name.trim().trim_matches('"').trim().to_ascii_lowercase();
    let names: Vec<String> = line.split(separator).map(plain).collect();
    let has = |wanted: &&&str| names.iter().any(|name| name == **wanted);
    if let Some((_, kind)) = COLUMNS.iter().find(|(wanted, _)| wanted.iter().all(|name| has(&name))) {
        return Looks::Like(*kind);
    }
    let list = blocklist::is_header(line.as_bytes()) || blocklist::is_entry(line);
    if list { Looks::Perhaps(ImportKind::Blocklist) } else { Looks::Unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_columns_or_members() {
        use ImportKind as K;
        for (text, looks_like) in [
            ("{\"test_name\":\"telegram\",\"test_keys\":{}}\n", Looks::Like(K::OoniMeasurements)),
            ("[\n{\"test_name\":\"telegram\",\"test_keys\":{}},\n", Looks::Unknown),
            ("[{\"test_name\":\"telegram\",\"test_keys\":{}}]", Looks::Like(K::OoniMeasurements)),
            ("{\"test_name\":\"telegram\",\"scores\":{}}", Looks::Like(K::OoniFastpath)),
            ("{\"metadata\":{},\"results\":[]}", Looks::Like(K::OoniFastpath)),
            ("{\n \"incidents\": [\n]}\n", Looks::Like(K::OoniIncidents)),
            ("{\"v\":0,\"dimension_count\":1,\"result\":[]}", Looks::Like(K::OoniAggregation)),
            ("{\"success\":true,\"result\":{\"annotations\":[]}}", Looks::Like(K::Radar)),
            ("{\"type\":\"outages.events\",\"data\":[]}", Looks::Like(K::Ioda)),
            ("{\"a\":1}", Looks::Unknown),
            ("\u{feff}url,category_code,notes\n", Looks::Like(K::TestList)),
            ("start_date,end_date,country,shutdown_type\n", Looks::Like(K::Shutdowns)),
            ("ccode,country,elec_year,elec_month\n", Looks::Like(K::Elections)),
            ("date,country,election,status\n", Looks::Like(K::Elections)),
            ("target_id\tservice\trole\tcombination_rule\n", Looks::Like(K::Targets)),
            ("# a list\none.example\n", Looks::Perhaps(K::Blocklist)),
            ("domain;date\n", Looks::Perhaps(K::Blocklist)),
            ("<!doctype html>\n<html>", Looks::Page),
            ("nothing that anybody knows\n", Looks::Unknown),
            ("", Looks::Unknown),
            ("# A tool\n\nThis is a tool that says what is blocked.\nIt is free for all to use.\n", Looks::Prose),
            (
                "# Sites that the court had blocked in the year 2020\n# in alphabetical order\none.example\n",
                Looks::Perhaps(K::Blocklist),
            ),
            ("\u{0}\u{1}\u{2}", Looks::NoText("binary data")),
            ("%PDF-1.7\n", Looks::NoText("a PDF document")),
        ] {
            assert_eq!(looks(text.as_bytes()), looks_like, "{text}");
        }
    }

    #[test]
    fn what_is_no_text_is_of_no_kind_and_a_text_is_named() {
        let image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\n\xff\xfe";
        for kind in ImportKind::ALL {
            assert!(looks(image).contradict(kind), "{}", kind.as_str());
            assert_eq!(looks(image).words(kind), "it looks like an image");
            let text = looks(b"This file says in some sentences what the others are for.\n");
            assert_eq!(text.words(kind), "it looks like a text for people");
        }
    }
}
