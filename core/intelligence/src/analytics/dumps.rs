//! `/data/dumps`: monthly aggregates per country as files (decision dumps-and-recompute).
//!
//! A file is made page by page while it is sent, from the data that is stored at that moment. `dataset_version` and the
//! tag identify the state of the data. The checksum of a file is in a file of the same name with `.sha256` appended.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;
use http::header::CONTENT_DISPOSITION;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::reports::{MAX_AGE, csv};
use crate::country::routes::{input, measured};
use crate::country::{Dump, DumpPage, DumpRow, dump_span};
use crate::{Error, Result, Timestamp, world};
use crypto::encoding::encode_hex;
use engine::actor::{Kind, View};
use engine::documents::{self, Family, Rendered};
use engine::http::{Body, Cx, Response};
use engine::runtime::{self, Runtime};
use engine::time::DAY;
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::starter::Country;

/// Columns of a file and their meaning.
const CODEBOOK: &[(&str, &str)] = &[
    ("country", "ISO 3166-1 alpha-2 code of the place of the probe"),
    ("month", "YYYY-MM, UTC"),
    ("target", "domain without leading www., or service/role"),
    ("asn", "number of the network; 0 when it is withheld or the source measures from outside"),
    ("source", "where the measurements come from; `sources` says what they are"),
    ("measurements", "measurements, each once for every target it says something about"),
    ("sessions", "different voters: network, resolver, platform, software version and hour"),
    ("blocked", "measurements that say blocked"),
    ("clear", "measurements that say accessible"),
    ("needs_control", "failures that count only while a control works"),
    ("down", "measurements where the site itself fails"),
    ("masked", "measurements that say nothing"),
    ("rules", "measurements by the rule that judged them; rules are listed at /data/methodology"),
    ("license", "licence of the rows, that of their source"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Jsonl,
}

impl Format {
    const fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Jsonl => "jsonl",
        }
    }
}

/// One file.
#[derive(Debug, Clone, Copy)]
struct File {
    country: &'static Country,
    year: i64,
    month: i64,
    format: Format,
    checksum: bool,
}

/// What names of files look like, in any case of the country.
pub const FILE_PATTERN: &str =
    "^([A-Za-z]{2}-(19[7-9]|[2-9][0-9]{2})[0-9]-(0[1-9]|1[0-2])[.](csv|jsonl)([.]sha256)?|codebook[.]json)$";

impl File {
    /// Reads `<CC>-<YYYY>-<MM>.<csv|jsonl>[.sha256]`.
    fn parse(name: &str) -> Option<File> {
        let (name, checksum) = name.strip_suffix(".sha256").map_or((name, false), |name| (name, true));
        let (stem, extension) = name.split_once('.')?;
        let format = [Format::Csv, Format::Jsonl].into_iter().find(|format| format.extension() == extension)?;
        let mut parts = stem.split('-');
        let country = Country::by_code(parts.next()?)?;
        let mut digits = |length: usize| {
            let part = parts.next().filter(|p| p.len() == length && p.bytes().all(|b| b.is_ascii_digit()))?;
            part.parse::<i64>().ok()
        };
        let (year, month) = (digits(4)?, digits(2)?);
        let valid = (1..=12).contains(&month) && year >= 1970 && parts.next().is_none();
        valid.then_some(File { country, year, month, format, checksum })
    }

    fn name(&self) -> String {
        format!("{}-{}.{}", self.country.code, self.label(), self.format.extension())
    }

    fn label(&self) -> String {
        format!("{:04}-{:02}", self.year, self.month)
    }

    fn begin(&self) -> Result<Timestamp> {
        start_of(self.year, self.month)
    }

    fn end(&self) -> Result<Timestamp> {
        if self.month == 12 { start_of(self.year + 1, 1) } else { start_of(self.year, self.month + 1) }
    }

    fn header(&self) -> Result<Bytes> {
        match self.format {
            Format::Csv => Ok(csv(&columns(), &[], "").into()),
            Format::Jsonl => Ok(Bytes::new()),
        }
    }

    fn lines(&self, rows: &[DumpRow]) -> Result<Bytes> {
        let mut out = Vec::new();
        for row in rows {
            let row = self.row(row);
            match self.format {
                Format::Csv => {
                    let license = row.get("license").and_then(Value::as_str).unwrap_or_default().to_owned();
                    let text = csv(&columns(), &[row], &license);
                    // Leaves out the header line.
                    let begin = text.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                    out.extend_from_slice(text.get(begin..).unwrap_or_default());
                }
                Format::Jsonl => {
                    serde_json::to_writer(&mut out, &row).map_err(Error::internal)?;
                    out.push(b'\n');
                }
            }
        }
        Ok(out.into())
    }

    fn row(&self, row: &DumpRow) -> Value {
        json!({
            "country": self.country.code, "month": self.label(), "target": row.target, "asn": row.asn,
            "source": row.source, "measurements": row.measurements, "sessions": row.sessions,
            "blocked": row.blocked, "clear": row.clear, "needs_control": row.needs_control, "down": row.down,
            "masked": row.masked, "rules": row.rules, "license": row.licence,
        })
    }
}

/// Columns before the licence, which is the last column of every table here.
fn columns() -> Vec<&'static str> {
    CODEBOOK.iter().map(|(name, _)| *name).filter(|name| *name != "license").collect()
}

fn start_of(year: i64, month: i64) -> Result<Timestamp> {
    Timestamp::parse(&format!("{year:04}-{month:02}-01T00:00:00Z"))
        .ok_or_else(|| Error::internal(format!("no month {year}-{month}")))
}

#[derive(Debug, Serialize, JsonSchema)]
struct DumpFile {
    file: String,
    path: String,
    /// Path of the file with the SHA-256 of this file.
    checksum_path: String,
    month: String,
    format: &'static str,
    /// False while the month has not ended.
    complete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DumpCountry {
    country: &'static str,
    country_name: &'static str,
    /// Path of the list of the country's files.
    path: String,
}

/// `/data/dumps`
#[derive(Debug, Serialize, JsonSchema)]
pub struct DumpsBody {
    generated_at: String,
    country: Option<&'static str>,
    /// Version of the data of the country that was asked about; null without one.
    dataset_version: Option<String>,
    countries: Vec<DumpCountry>,
    files: Vec<DumpFile>,
    codebook: &'static str,
    caveat: Sentence,
    license: String,
    sentences: Sentences,
}

/// Prefix of the keys of a country's list of files; the country code follows.
const PREFIX: &str = "data/dumps/";

pub const FAMILIES: &[Family] = &[Family { prefix: PREFIX, owner: Kind::Country, max_age: MAX_AGE, render }];

fn render(view: &View<'_>, code: &str) -> Result<Rendered> {
    let country = Country::by_code(code).ok_or_else(|| Error::internal(format!("{code} is no country")))?;
    let (span, version) = dump_span(view)?;
    let files = files(country, span, view.now)?;
    Rendered::json(&DumpsBody { country: Some(country.code), dataset_version: Some(version), files, ..empty(view.now) })
}

fn empty(now: Timestamp) -> DumpsBody {
    DumpsBody {
        generated_at: now.to_string(),
        country: None,
        dataset_version: None,
        countries: Vec::new(),
        files: Vec::new(),
        codebook: "/data/dumps/codebook.json",
        caveat: Sentence::new("report.dumps"),
        license: "per row".to_owned(),
        sentences: Sentences::new().with("caveat", Sentence::new("report.dumps")),
    }
}

/// Countries with measurements, or the files of one.
pub async fn list(cx: Cx) -> Result<Response> {
    if let Some(country) = input::query_country(&cx, "country")? {
        return cx.document(&[PREFIX, country.code].concat()).await;
    }
    let known = measured(&cx).await?;
    let countries = known.iter().filter_map(|code| Country::by_code(code)).map(listed).collect();
    let body = DumpsBody { countries, ..empty(super::tabular::generated(&cx, None)) };
    cx.tagged(Response::json(&body)?, MAX_AGE)
}

fn listed(country: &'static Country) -> DumpCountry {
    DumpCountry {
        country: country.code,
        country_name: country.name,
        path: format!("/data/dumps?country={}", country.code),
    }
}

fn files(country: &'static Country, span: Option<(u32, u32)>, now: Timestamp) -> Result<Vec<DumpFile>> {
    let Some((first, last)) = span else { return Ok(Vec::new()) };
    let month_of = |day: u32| {
        let text = Timestamp(i64::from(day) * DAY).to_date_text();
        let mut parts = text.split('-').filter_map(|part| part.parse::<i64>().ok());
        (parts.next().unwrap_or(1970), parts.next().unwrap_or(1))
    };
    let ((mut year, mut month), end) = (month_of(first), month_of(last));
    let mut files = Vec::new();
    while (year, month) <= end {
        for format in [Format::Csv, Format::Jsonl] {
            let file = File { country, year, month, format, checksum: false };
            let name = file.name();
            files.push(DumpFile {
                path: format!("/data/dumps/{name}"),
                checksum_path: format!("/data/dumps/{name}.sha256"),
                month: file.label(),
                format: format.extension(),
                complete: file.end()? <= now,
                file: name,
            });
        }
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    Ok(files)
}

/// A page of a file.
async fn page(rt: &dyn Runtime, file: &File, after: Option<String>) -> Result<DumpPage> {
    let dump = Dump { from: file.begin()?, to: file.end()?, after };
    runtime::query(rt, file.country.code, &dump).await
}

/// Answers with a file, its checksum, or the meaning of the columns.
pub async fn file(cx: Cx) -> Result<Response> {
    let name = cx.path("file")?;
    if name == "codebook.json" {
        let columns: Vec<Value> =
            CODEBOOK.iter().map(|(name, text)| json!({ "name": name, "meaning": text })).collect();
        let settings = &cx.rt.environment().settings;
        let sources: Vec<Value> = Source::OF_VOTES
            .into_iter()
            .map(|source| {
                let license = source.licence_under(settings);
                json!({ "id": source.id(), "name": source.name(), "license": license, "url": source.url().unwrap_or_default() })
            })
            .collect();
        let body = json!({
            "columns": columns, "sources": sources, "license": world::LICENSE, "formats": ["csv", "jsonl"],
        });
        return cx.tagged(Response::json(&body)?, MAX_AGE);
    }
    let file = File::parse(name).ok_or_else(|| {
        Error::not_found(format!("{name:?} is not a dump; names look like NO-2024-03.csv, see /data/dumps."))
    })?;
    let first = page(&*cx.rt, &file, None).await?;
    let version = first.version.clone();
    let tag = documents::etag(format!("{name} {version}").as_bytes());
    let mut response = if file.checksum {
        let sum = checksum(&*cx.rt, &file, first).await?;
        Response::new(StatusCode::OK, "text/plain; charset=utf-8", format!("{sum}  {}\n", file.name()))
    } else {
        let content_type = match file.format {
            Format::Csv => "text/csv; charset=utf-8",
            Format::Jsonl => "application/x-ndjson",
        };
        let mut response = Response::new(StatusCode::OK, content_type, "");
        response.set(CONTENT_DISPOSITION, &format!("attachment; filename=\"{}\"", file.name()));
        response.body = Body::Stream(Box::pin(pieces(cx.rt.clone(), file, first)?));
        response
    };
    response.set("x-dataset-version", &version);
    Ok(cx.revalidated(response, &tag, MAX_AGE))
}

/// The part of a file that is not yet sent.
enum UnsentPart {
    Page(DumpPage),
    After(String),
    Nothing,
}

fn pieces(
    rt: Arc<dyn Runtime>,
    file: File,
    first: DumpPage,
) -> Result<impl futures_util::Stream<Item = Bytes> + use<>> {
    let header = file.header()?;
    let version = first.version.clone();
    let rows = stream::unfold(UnsentPart::Page(first), move |rest| {
        let (rt, version) = (rt.clone(), version.clone());
        async move {
            let page = match rest {
                UnsentPart::Nothing => return None,
                UnsentPart::Page(page) => page,
                // A file that ends early does not match its checksum, and neither does a file whose data changed
                // meanwhile.
                UnsentPart::After(target) => {
                    page(&*rt, &file, Some(target)).await.ok().filter(|page| page.version == version)?
                }
            };
            let lines = file.lines(&page.rows).ok()?;
            Some((lines, page.next.map_or(UnsentPart::Nothing, UnsentPart::After)))
        }
    });
    Ok(futures_util::StreamExt::chain(stream::iter([header]), rows))
}

async fn checksum(rt: &dyn Runtime, file: &File, first: DumpPage) -> Result<String> {
    let mut digest = Sha256::new();
    digest.update(file.header()?);
    let mut page = first;
    loop {
        digest.update(file.lines(&page.rows)?);
        let Some(next) = page.next else { return Ok(encode_hex(&digest.finalize())) };
        page = self::page(rt, file, Some(next)).await?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_read_strictly() {
        let file = File::parse("NO-2024-12.jsonl.sha256").unwrap();
        assert_eq!((file.name().as_str(), file.checksum), ("NO-2024-12.jsonl", true));
        assert_eq!(file.end().unwrap().to_date_text(), "2025-01-01");
        for name in [
            "",
            "NO",
            "NO-2024-03",
            "ZZ-2024-03.csv",
            "NO-2024-13.csv",
            "NO-24-03.csv",
            "NO-2024-03.xml",
            "NO-2024-03-1.csv",
        ] {
            assert!(File::parse(name).is_none(), "{name}");
        }
    }

    #[test]
    fn every_member_of_a_row_is_in_the_codebook() {
        let file = File::parse("NO-2024-03.csv").unwrap();
        let row = file.row(&DumpRow::default());
        let named: Vec<&str> = CODEBOOK.iter().map(|(name, _)| *name).collect();
        assert_eq!(row.as_object().unwrap().len(), named.len());
        assert!(row.as_object().unwrap().keys().all(|key| named.contains(&key.as_str())));
    }

    #[test]
    fn the_months_between_the_first_and_the_last_day_have_files() {
        let country = Country::by_code("NO").unwrap();
        let day = |text: &str| u32::try_from(Timestamp::parse(text).unwrap().day()).unwrap();
        let now = Timestamp::parse("2024-01-20T00:00:00Z").unwrap();
        let files = files(country, Some((day("2023-11-30"), day("2024-01-01"))), now).unwrap();
        let months: Vec<(&str, bool)> = files.iter().map(|file| (file.month.as_str(), file.complete)).collect();
        assert_eq!(months[0], ("2023-11", true));
        assert_eq!((months.len(), months[5]), (6, ("2024-01", false)));
    }
}
