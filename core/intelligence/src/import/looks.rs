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
    Unknown,
}

/// Bytes in which a first line is searched for.
const HEAD: usize = 256 << 10;

/// Looks at the beginning of some data, which must be inflated.
pub fn looks(data: &[u8]) -> Looks {
    let data = strip_bom(data);
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
            Looks::Page => true,
            Looks::Perhaps(_) | Looks::Unknown => false,
        }
    }

    /// The result in words. Empty for unknown data, and for data that looks like `kind`.
    pub fn words(self, kind: ImportKind) -> String {
        match self {
            Looks::Like(other) | Looks::Perhaps(other) if other != kind => {
                format!("it looks like `{}`", other.as_str())
            }
            Looks::Page => "it looks like a page of a web site".to_owned(),
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
            ("\u{0}\u{1}\u{2}", Looks::Unknown),
        ] {
            assert_eq!(looks(text.as_bytes()), looks_like, "{text}");
        }
    }
}
