//! Rankings as answers. Present and past reports take the same way from facts to JSON and CSV.
//!
//! A report is identified by a name, at most one parameter, and its format; the name of its document is
//! `analytics/<name>[/<parameter>][.csv]`. Reports without a parameter are published when facts change. The others are
//! rendered from the same rows when they are first read in a period, and kept until one of these rows changes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::constants::{CONFIRMED_NETWORKS, WINDOW_DAYS};
use super::facts::{DecidedSite, Facts, Isp};
use super::{isps, measurement, platforms, quality, store, tools, topics};
use crate::country::strictest;
use crate::world::{SourceLicense, SourceSummary};
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, View};
use engine::csv;
use engine::documents::{Family, Rendered};
use facts::sentence::{self, Sentence, Sentences};
use facts::starter;
use facts::tracked::Tracked;

/// Prefix of the name of every report's document.
const PREFIX: &str = "analytics/";
/// Seconds for which a reader may treat a ranking as fresh.
pub const MAX_AGE: u32 = 60;

pub const CO_BLOCKING: &str = "co-blocking";
pub const WORST: &str = "worst";
/// Networks in the list of the worst, unless the request states another number.
pub const WORST_DEFAULT: u32 = 20;

/// Reports that are rendered anew whenever facts change.
pub const PUBLISHED: [&str; 8] = [
    "summary",
    "intent-profile",
    "most-blocked-domains",
    "network-depth",
    "quality",
    "techniques",
    "by-region",
    "platforms",
];

pub const FAMILIES: &[Family] = &[Family { prefix: PREFIX, owner: Kind::World, max_age: MAX_AGE, render }];

/// The name of the document.
pub fn key(name: &str, parameter: Option<&str>, csv: bool) -> String {
    let parameter = parameter.map(|parameter| format!("/{parameter}")).unwrap_or_default();
    format!("{PREFIX}{name}{parameter}{}", if csv { ".csv" } else { "" })
}

fn render(view: &View<'_>, rest: &str) -> Result<Rendered> {
    let (path, csv) = rest.strip_suffix(".csv").map_or((rest, false), |path| (path, true));
    let (name, parameter) = path.split_once('/').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let worst = if name == WORST { store::worst(view, isps::limit(parameter))? } else { Vec::new() };
    let world = World {
        facts: match name {
            // Only the countries that the list names, since it states the licences of these alone.
            WORST => store::facts_of(view, worst.iter().map(|(country, _)| country))?,
            _ => store::all_facts(view)?,
        },
        sites: if name == CO_BLOCKING { store::all_sites(view)? } else { Vec::new() },
        platforms: store::all_platforms(view)?,
        worst,
        at: view.now,
        generated: view.now,
        as_of: None,
    };
    make(&ReportQuestion { name, parameter, csv }, &world)
}

/// A report that somebody asks for.
#[derive(Debug, Clone, Copy)]
pub struct ReportQuestion<'a> {
    pub name: &'a str,
    pub parameter: Option<&'a str>,
    pub csv: bool,
}

/// The data that reports are made from.
#[derive(Debug, Default)]
pub struct World {
    pub facts: Vec<Facts>,
    pub sites: Vec<(String, Vec<DecidedSite>)>,
    pub worst: Vec<(String, Isp)>,
    pub platforms: Vec<Tracked>,
    /// The time at which ages are computed.
    pub at: Timestamp,
    pub generated: Timestamp,
    /// Set when the report is about the past.
    pub as_of: Option<Timestamp>,
}

impl World {
    pub fn stamp(&self) -> Stamp {
        self.stamp_of(&self.facts.iter().collect::<Vec<_>>())
    }

    /// The stamp of an answer that is about these countries alone.
    pub fn stamp_of(&self, facts: &[&Facts]) -> Stamp {
        let sources = facts.iter().flat_map(|facts| facts.sources.clone()).collect();
        Stamp::new(sources, self.generated, self.as_of)
    }
}

/// When an answer was made, which time it is about, and its licence.
#[derive(Debug)]
pub struct Stamp {
    pub license: String,
    pub source_licenses: Vec<SourceLicense>,
    pub generated: Timestamp,
    pub as_of: Option<Timestamp>,
}

impl Stamp {
    /// Takes the strictest licence of these sources (decision licence-and-removal).
    pub fn new(sources: Vec<SourceSummary>, generated: Timestamp, as_of: Option<Timestamp>) -> Stamp {
        let license = strictest(&sources);
        let mut found: BTreeMap<String, String> = BTreeMap::from([("starter".to_owned(), starter::LICENCE.to_owned())]);
        found.extend(sources.into_iter().map(|source| (source.source, source.licence)));
        let source_licenses = found.into_iter().map(|(source, license)| SourceLicense { source, license }).collect();
        Stamp { license, source_licenses, generated, as_of }
    }
}

/// Makes a report.
pub fn make(asked: &ReportQuestion<'_>, world: &World) -> Result<Rendered> {
    match asked.name {
        "summary" => measurement::summary(asked, world),
        "intent-profile" => measurement::intent_profile(asked, world),
        "category-leaders" => measurement::category_leaders(asked, world),
        CO_BLOCKING => measurement::co_blocking(asked, world),
        "most-blocked-domains" => measurement::most_blocked(asked, world),
        "network-depth" => quality::network_depth(asked, world),
        "quality" => quality::quality(asked, world),
        "techniques" => measurement::techniques(asked, world),
        "by-region" => measurement::by_region(asked, world),
        "platforms" => platforms::scores(asked, world),
        "platform" => platforms::risk(asked, world),
        "topic" => topics::index(asked, world),
        "tools" => tools::accessibility(asked, world),
        WORST => isps::worst_report(asked, world),
        name => Err(Error::internal(format!("no report is named {name}"))),
    }
}

/// Reports whose parameter is a country.
const ABOUT_COUNTRIES: [&str; 3] = ["intent-profile", "network-depth", "techniques"];

/// The facts of the country that a report is about, or of all countries.
pub fn chosen<'a>(asked: &ReportQuestion<'_>, world: &'a World) -> Vec<&'a Facts> {
    let country = asked.parameter.filter(|_| ABOUT_COUNTRIES.contains(&asked.name));
    world.facts.iter().filter(|facts| country.is_none_or(|code| code == facts.country)).collect()
}

/// The list in a body that becomes the rows of the CSV, and its columns.
pub struct Table {
    pub list: &'static str,
    pub columns: &'static [&'static str],
}

/// The members around every body of the measurement group.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Answer")]
pub struct Answer<T> {
    schema: String,
    generated_at: String,
    window_days: u32,
    confirmation_rule: String,
    /// How these numbers must not be read, and which time they are about.
    caveat: String,
    /// Countries with measurements inside the window, among those that the answer is about.
    countries_measured: usize,
    /// Measurements of these countries inside the window, each counted once.
    measurements: u64,
    /// False when there are no measurements inside the window.
    available: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Sentence>,
    license: String,
    source_licenses: Vec<SourceLicense>,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    sentences: Sentences,
    #[serde(flatten)]
    body: T,
}

/// The members around every body of the groups that write names in camel case.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "{T}Answer")]
pub struct CamelAnswer<T> {
    #[serde(flatten)]
    body: T,
    generated_at: String,
    window_days: u32,
    caveat: String,
    license: String,
    source_licenses: Vec<SourceLicense>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
    sentences: Sentences,
}

/// The time that the numbers are about. It ends every caveat.
pub const WINDOW: Sentence = Sentence::new("report.window");

/// A caveat, followed by the time that the numbers are about.
pub fn caveat(caveat: Sentence) -> [Sentence; 2] {
    [caveat, WINDOW]
}

/// The sentences of a report.
pub struct Notes {
    caveat: Sentence,
    /// What the body says beside the caveat. Both are members of one object.
    body: Sentences,
    /// The time that the numbers are about.
    window: Sentence,
}

impl Notes {
    pub fn new(caveat: Sentence, body: Sentences) -> Notes {
        Notes { caveat, body, window: WINDOW }
    }

    /// The same for numbers that are not about the time before the answer, or not all of them.
    pub fn about(self, window: Sentence) -> Notes {
        Notes { window, ..self }
    }
}

impl From<Sentence> for Notes {
    fn from(caveat: Sentence) -> Notes {
        Notes::new(caveat, Sentences::new())
    }
}

/// Stated when an answer is empty.
pub const NOTHING: Sentence = Sentence::new("report.nothing");

/// Like [`NOTHING`], for an answer about one thing that has no measurements.
pub fn nothing_in_window(place: &str) -> String {
    format!(
        "Nothing was measured {place} in the {WINDOW_DAYS} days before this answer; `as_of` asks about another time."
    )
}

/// Renders a body of the measurement group with the members around it, or its table as CSV.
pub fn snake<T: Serialize>(
    asked: &ReportQuestion<'_>,
    world: &World,
    notes: impl Into<Notes>,
    table: &Table,
    body: T,
) -> Result<Rendered> {
    let stamp = world.stamp_of(&chosen(asked, world));
    match asked.csv {
        true => tabulate(asked, table, &stamp.license, serde_json::to_value(&body)),
        false => joined(around_snake(asked, world, stamp, notes.into()), Rendered::json(&body)),
    }
}

/// Apart from the body, so that it is compiled once and not for every type of body.
fn around_snake(asked: &ReportQuestion<'_>, world: &World, stamp: Stamp, notes: Notes) -> Result<Rendered> {
    let Stamp { license, source_licenses, generated, as_of } = stamp;
    let said = [notes.caveat, notes.window];
    let facts = chosen(asked, world);
    let measurements = facts.iter().map(|facts| facts.recent).sum();
    let reason = (measurements == 0).then_some(NOTHING);
    Rendered::json(&Answer {
        schema: format!("heliograph.measurement.{}/1", asked.name),
        generated_at: generated.to_string(),
        window_days: WINDOW_DAYS,
        confirmation_rule: format!("{CONFIRMED_NETWORKS} networks"),
        caveat: sentence::text(&said),
        countries_measured: facts.iter().filter(|facts| facts.recent > 0).count(),
        measurements,
        available: measurements > 0,
        sentences: notes.body.with_text("caveat", &said).with("reason", &reason),
        reason,
        license,
        source_licenses,
        as_of: as_of.map(|at| at.to_string()),
        body: (),
    })
}

/// Renders a body in camel case with the members around it, or its table as CSV.
pub fn camel<T: Serialize>(
    asked: &ReportQuestion<'_>,
    stamp: Stamp,
    notes: impl Into<Notes>,
    table: &Table,
    body: T,
) -> Result<Rendered> {
    match asked.csv {
        true => tabulate(asked, table, &stamp.license, serde_json::to_value(&body)),
        false => joined(Rendered::json(&body), around_camel(stamp, notes.into())),
    }
}

/// Like [`around_snake`], for names in camel case.
fn around_camel(stamp: Stamp, notes: Notes) -> Result<Rendered> {
    let said = [notes.caveat, notes.window];
    let Stamp { license, source_licenses, generated, as_of } = stamp;
    Rendered::json(&CamelAnswer {
        body: (),
        generated_at: generated.to_string(),
        window_days: WINDOW_DAYS,
        caveat: sentence::text(&said),
        license,
        source_licenses,
        as_of: as_of.map(|at| at.to_string()),
        sentences: notes.body.with_text("caveat", &said),
    })
}

/// One object with the members of both objects. Neither may be empty.
fn joined(first: Result<Rendered>, second: Result<Rendered>) -> Result<Rendered> {
    let (mut whole, second) = (first?, second?);
    whole.body.pop_if(|last| *last == b'}');
    whole.body.push(b',');
    whole.body.extend_from_slice(second.body.get(1..).unwrap_or_default());
    Ok(whole)
}

/// Renders an answer that has no members around it, or its table as CSV.
pub fn finish(asked: &ReportQuestion<'_>, table: &Table, license: &str, answer: &impl Serialize) -> Result<Rendered> {
    match asked.csv {
        true => tabulate(asked, table, license, serde_json::to_value(answer)),
        false => Rendered::json(answer),
    }
}

fn tabulate(
    asked: &ReportQuestion<'_>,
    table: &Table,
    license: &str,
    answer: serde_json::Result<Value>,
) -> Result<Rendered> {
    let answer = answer.map_err(Error::internal)?;
    let rows = answer.get(table.list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let parameter = asked.parameter.map(|parameter| format!("-{parameter}")).unwrap_or_default();
    Ok(Rendered::csv(csv(table.columns, rows, license), &format!("{}{parameter}.csv", asked.name)))
}

/// Rows as CSV: the named members (`a.b` is member `b` of `a`), then the licence, which a row may state itself. Lists
/// are joined with `;`. The members of an object are written as `name=value`, joined with `;` or, inside a list, with a
/// space.
pub fn csv(columns: &[&str], rows: &[Value], license: &str) -> Vec<u8> {
    let mut out = Vec::new();
    csv::record(&mut out, columns.iter().copied().chain(["license"]));
    for row in rows {
        let member = |column: &&str| column.split('.').try_fold(row, |value, name| value.get(name));
        let cells = columns.iter().map(|column| member(column).map(cell).unwrap_or_default());
        let license = row.get("license").and_then(Value::as_str).unwrap_or(license);
        csv::record(&mut out, cells.chain([license.to_owned()]));
    }
    out
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // Anybody may choose the name of a network, so it might contain a formula.
        Value::String(text) => csv::harmless(text).into_owned(),
        Value::Array(values) => {
            let one = |value: &Value| value.as_object().map_or_else(|| cell(value), |object| members(object, " "));
            values.iter().map(one).collect::<Vec<_>>().join(";")
        }
        Value::Object(object) => members(object, ";"),
        other => other.to_string(),
    }
}

fn members(object: &serde_json::Map<String, Value>, separator: &str) -> String {
    object.iter().map(|(name, value)| format!("{name}={}", cell(value))).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If `;` separated both the objects of a list and their members, a reader could not tell them apart.
    #[test]
    fn objects_in_a_list_stay_apart() {
        let rows =
            [serde_json::json!({ "top": [{ "domain": "a.example", "n": 1 }, { "domain": "b.example", "n": 2 }] })];
        let text = String::from_utf8(csv(&["top"], &rows, "CC0")).unwrap();
        assert_eq!(text, "top,license\r\ndomain=a.example n=1;domain=b.example n=2,CC0\r\n");
    }

    #[test]
    fn a_csv_has_the_named_columns_and_quotes_what_would_break_a_row() {
        let rows = [
            serde_json::json!({ "name": "a,\"b\"", "list": ["x", 1], "map": { "k": 0.5 }, "none": null }),
            serde_json::json!({ "name": "=1+1", "other": true }),
        ];
        let text = String::from_utf8(csv(&["name", "list", "map", "none"], &rows, "CC0")).unwrap();
        assert_eq!(text, "name,list,map,none,license\r\n\"a,\"\"b\"\"\",x;1,k=0.5,,CC0\r\n'=1+1,,,,CC0\r\n");
    }

    /// Rankings are made from verdicts, so every caveat names the time that verdicts look back (decision age-limit).
    #[test]
    fn every_caveat_names_the_window_that_verdicts_have() {
        use engine::time::DAY;
        use facts::verdict::constants::{AGE_LIMIT, AGE_LIMIT_MESSAGING};
        assert_eq!(i64::from(WINDOW_DAYS) * DAY, AGE_LIMIT);
        assert!(
            WINDOW
                .english()
                .contains(&format!("the {WINDOW_DAYS} days (messaging services: {} days)", AGE_LIMIT_MESSAGING / DAY))
        );
        assert!(sentence::text(&caveat(NOTHING)).contains(". Numbers are of the 30 days"));
    }

    /// After a first start there is no data, and every report says so.
    #[test]
    fn every_report_of_nothing_is_empty_and_not_an_error() {
        let world = World { at: Timestamp::from_seconds(1_700_000_000), platforms: Tracked::own(), ..World::default() };
        let parameters = [("category-leaders", "NEWS"), ("platform", "telegram"), ("topic", "news")];
        let plain = PUBLISHED.iter().chain(&[CO_BLOCKING, WORST, "tools"]).map(|name| (*name, None));
        for (name, parameter) in plain.chain(parameters.map(|(name, parameter)| (name, Some(parameter)))) {
            for csv in [false, true] {
                let rendered = make(&ReportQuestion { name, parameter, csv }, &world).unwrap();
                let text = String::from_utf8(rendered.body).unwrap();
                assert!(csv || text.contains("CC-BY-4.0") && !text.contains("NaN"), "{name}: {text}");
            }
        }
    }
}
