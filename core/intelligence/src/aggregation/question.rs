//! Reading a question. Everything is checked before anything is read.

use super::axis::Axis;
use super::count::TestName;
use super::grain::Grain;
use crate::analytics::network_number;
use crate::{Error, ErrorCode, Result, Timestamp, reference};
use engine::http::{Cx, known_time};
use engine::time::HOUR;
use facts::starter::Country;
use facts::starter::categories::current_code;

/// Entries of a list, at most.
pub const MAX_LIST: usize = 20;
/// Days of a range, at most.
pub const MAX_DAYS: i64 = 3_660;
/// Days of a range whose beginning is not given.
const DEFAULT_DAYS: i64 = 180;

/// A question about more than one answer may read or hold.
pub fn too_broad(message: String) -> Error {
    Error::new(ErrorCode::TooBroad, message)
}

/// A range of whole hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HourRange {
    /// Hours since the epoch: the first, and the first that is too late.
    pub from: i64,
    pub end: i64,
}

impl HourRange {
    pub const fn hours(self) -> i64 {
        self.end - self.from
    }

    pub fn since(self) -> Timestamp {
        Timestamp(self.from * HOUR)
    }

    pub fn until(self) -> Timestamp {
        Timestamp(self.end * HOUR)
    }

    /// Reads `since` and `until`. Without them it is the last half year up to the hour that it is now.
    pub fn read(cx: &Cx) -> Result<HourRange> {
        let range = HourRange::read_from(cx, (cx.now().day() - DEFAULT_DAYS) * 24, "half a year ago")?;
        if range.hours() > MAX_DAYS * 24 {
            return Err(too_broad(format!("A range has at most {MAX_DAYS} days. Ask for a part of it.")));
        }
        Ok(range)
    }

    /// Like [`HourRange::read`], but without `since` and `until` it is all time.
    pub fn read_open(cx: &Cx) -> Result<HourRange> {
        HourRange::read_from(cx, 0, "in 1970")
    }

    fn read_from(cx: &Cx, default: i64, when: &str) -> Result<HourRange> {
        let (since, until) = (hour(cx, "since")?, hour(cx, "until")?);
        let range = HourRange { from: since.unwrap_or(default), end: until.unwrap_or(cx.now().hour() + 1) };
        if range.hours() <= 0 {
            let hint = match since {
                Some(_) => "`since` is the first moment of the range, and `until` the first after it".to_owned(),
                None => format!("without `since` the range begins {when}"),
            };
            return Err(Error::bad_request(format!("`since` must be before `until`: {hint}.")));
        }
        Ok(range)
    }
}

/// A day or a full hour of the query, in hours since the epoch.
fn hour(cx: &Cx, name: &str) -> Result<Option<i64>> {
    let Some(time) = known_time(name, cx.time(name)?)? else { return Ok(None) };
    if time.0 % HOUR != 0 {
        let message = format!("`{name}` must be a day or a full hour: measurements are known by the hour.");
        return Err(Error::bad_request(message));
    }
    Ok(Some(time.hour()))
}

/// The entries of a list with commas, each once.
pub fn list(cx: &Cx, name: &str) -> Result<Vec<String>> {
    let Some(text) = cx.query(name)? else { return Ok(Vec::new()) };
    let mut entries: Vec<String> = Vec::new();
    for entry in text.split(',').map(str::trim) {
        if entry.is_empty() {
            return Err(Error::bad_request(format!("`{name}` has an empty entry.")));
        }
        if !entries.iter().any(|known| known == entry) {
            entries.push(entry.to_owned());
        }
        if entries.len() > MAX_LIST {
            return Err(too_broad(format!("`{name}` takes at most {MAX_LIST} entries.")));
        }
    }
    Ok(entries)
}

/// Countries by their codes.
pub fn countries(cx: &Cx, name: &str) -> Result<Vec<&'static Country>> {
    let known = |code: &String| {
        let country = Country::by_code(code).filter(|_| code.len() == 2);
        country.ok_or_else(|| {
            Error::bad_request(format!("`{name}` takes ISO 3166-1 alpha-2 codes such as KE: {code:?} is none."))
        })
    };
    let mut found = list(cx, name)?.iter().map(known).collect::<Result<Vec<_>>>()?;
    found.sort_by_key(|country| country.code);
    found.dedup_by_key(|country| country.code);
    Ok(found)
}

/// Networks by their numbers.
pub fn networks(cx: &Cx, name: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for text in list(cx, name)? {
        // Measurements whose network is withheld have the number 0.
        let withheld = ["0", "AS0"].iter().any(|zero| text.eq_ignore_ascii_case(zero));
        found.push(if withheld { 0 } else { network_number(&text)? });
    }
    Ok(found)
}

/// What an aggregation counts, and by what.
#[derive(Debug, Clone)]
pub struct AggregationQuestion {
    /// All that know one of the series, if there are none.
    pub countries: Vec<&'static Country>,
    /// All series of the countries, if there are none.
    pub series: Vec<String>,
    pub networks: Vec<u32>,
    pub tests: Vec<TestName>,
    pub categories: Vec<String>,
    pub range: HourRange,
    pub grain: Grain,
    pub axes: Vec<Axis>,
    pub csv: bool,
    pub download: bool,
}

impl AggregationQuestion {
    pub async fn read(cx: &Cx) -> Result<AggregationQuestion> {
        for name in ["input", "ooni_run_link_id"] {
            if cx.query(name)?.is_some() {
                let message = format!("`{name}` is not known here: measurements are kept by domain, not by address.");
                return Err(Error::bad_request(message));
            }
        }
        let range = HourRange::read(cx)?;
        let question = AggregationQuestion {
            countries: countries(cx, "probe_cc")?,
            series: series(cx).await?,
            networks: networks(cx, "probe_asn")?,
            tests: tests(cx)?,
            categories: categories(cx)?,
            range,
            grain: Grain::parse(cx.query("time_grain")?.as_deref(), range.hours())?,
            axes: axes(cx)?,
            csv: csv(cx)?,
            download: cx.flag("download")?.unwrap_or(false),
        };
        if question.countries.is_empty() && question.series.is_empty() {
            return Err(too_broad(
                "Name a country (`probe_cc`) or a domain (`domain`): all of them are too many.".into(),
            ));
        }
        Ok(question)
    }

    pub fn by(&self, axis: Axis) -> bool {
        self.axes.contains(&axis)
    }
}

/// The series of the domains and services that are asked for.
async fn series(cx: &Cx) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for text in list(cx, "domain")? {
        let subject = reference::subject(&*cx.rt, &text).await?;
        for role in subject.roles {
            if !found.contains(&role.key) {
                found.push(role.key);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn tests(cx: &Cx) -> Result<Vec<TestName>> {
    let known = |text: &String| {
        TestName::ALL.into_iter().find(|test| test.as_str() == text).ok_or_else(|| {
            let names = TestName::NAMES.join(", ");
            Error::bad_request(format!("`test_name` takes {names}: of others it is not known."))
        })
    };
    list(cx, "test_name")?.iter().map(known).collect()
}

fn categories(cx: &Cx) -> Result<Vec<String>> {
    let known = |text: &String| {
        let code = current_code(text).map(str::to_owned);
        code.ok_or_else(|| Error::bad_request(format!("`category_code` takes codes such as NEWS: {text:?} is none.")))
    };
    list(cx, "category_code")?.iter().map(known).collect()
}

fn axes(cx: &Cx) -> Result<Vec<Axis>> {
    let mut axes = Vec::new();
    for name in ["axis_x", "axis_y"] {
        if let Some(text) = cx.query(name)? {
            axes.push(Axis::parse(name, &text)?);
        }
    }
    match axes.as_slice() {
        [x, y] if x == y => Err(Error::bad_request("`axis_x` and `axis_y` must differ.")),
        _ => Ok(axes),
    }
}

fn csv(cx: &Cx) -> Result<bool> {
    match cx.query("format")?.unwrap_or_default().to_ascii_lowercase().as_str() {
        "" | "json" => Ok(false),
        "csv" => Ok(true),
        _ => Err(Error::bad_request("Query parameter `format` must be JSON or CSV.")),
    }
}
