//! `GET /data/sources`: every source with licence, freshness, counts and errors (decision dumps-and-recompute). It is
//! an extension of the interface.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::fetch::{self, FetchRow, FetchRows, Job, SetAside};
use crate::import::ImportKind;
use crate::world::{self, ImportRow, SourceRows, SourceState};
use crate::{Result, Timestamp};
use engine::http::{Cx, Response};
use engine::runtime;
use engine::settings::Settings;
use engine::time::DAY;
use facts::measurement::ImportCounts;
use facts::source::Source;
use facts::source::{BLOCKLIST_LICENCE, TEST_LIST_LICENCE, licence_of};
use facts::starter;

/// The last import of a source. Its parts follow each other within two minutes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct LastImport {
    kind: String,
    began: String,
    ended: String,
    #[serde(flatten)]
    counts: ImportCounts,
}

/// A failure and its time.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct LastError {
    at: String,
    message: String,
}

/// The state of fetching a source, which this deployment does by itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourceFetching")]
struct Fetching {
    /// The name of the fetch in the setting `fetch_sources`.
    job: String,
    /// Whether that setting switches it on; it is off by default.
    enabled: bool,
    /// Where the next request begins; `null` before the first.
    position: Option<String>,
    last_success: Option<String>,
    /// Number of failures since the last success.
    failures: u32,
    last_error: Option<LastError>,
    /// There is no request before this time; `null` if fetching is off or nothing was fetched yet.
    next_try: Option<String>,
    /// Windows that failed so often that fetching went on without them, the latest last; at most 50.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set_aside: Vec<SetAsideBody>,
}

/// A window of time that was not read completely.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SetAsideBody {
    from: String,
    until: String,
    /// When the window was given up.
    at: String,
    /// The last failure.
    message: String,
}

impl From<SetAside> for SetAsideBody {
    fn from(window: SetAside) -> Self {
        let SetAside { from, until, at, error } = window;
        SetAsideBody { from: from.to_string(), until: until.to_string(), at: at.to_string(), message: error }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SourceState")]
struct SourceBody {
    id: String,
    name: String,
    /// What the source brings, in words.
    kind: String,
    /// SPDX expression: the operator's setting, otherwise the licence as far as it is known.
    license: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    url: Option<String>,
    /// Kinds of `POST /v1/admin/import/{kind}` that feed the source.
    import_kinds: Vec<String>,
    /// Measurements, events, days with counts, entries of lists, or rows of a table inside the binary.
    rows: u64,
    /// Countries with data of the source.
    countries: u32,
    /// The newest measurement, beginning of an event, or date of a list or table.
    last_seen: Option<String>,
    /// By the age of `lastSeen`: `live` to 2 days, `recent` to 30, `aging` to 180, then `stale`; `none` without data.
    freshness: String,
    last_import: Option<LastImport>,
    /// The last failure of an import.
    last_error: Option<LastError>,
    /// Present if the source has a public interface from which this deployment can fetch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    fetch: Option<Fetching>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourcesBody {
    generated: String,
    count: usize,
    /// All sources that can be read, with what is known of their data here.
    sources: Vec<SourceBody>,
}

fn freshness(newest: Option<Timestamp>, now: Timestamp) -> &'static str {
    match newest.map(|newest| now.since(newest) / DAY) {
        None => "none",
        Some(..=2) => "live",
        Some(3..=30) => "recent",
        Some(31..=180) => "aging",
        Some(_) => "stale",
    }
}

/// What a row of the list says in addition to the state of the source.
struct SourceDescription<'a> {
    id: &'a str,
    name: &'a str,
    kind: &'a str,
    licence: &'a str,
    url: Option<&'a str>,
    kinds: Vec<String>,
}

fn body(named: SourceDescription<'_>, rows: SourceRows, import: Option<&ImportRow>, cx: &Cx) -> SourceBody {
    let settings: &Settings = &cx.rt.environment().settings;
    SourceBody {
        id: named.id.to_owned(),
        name: named.name.to_owned(),
        kind: named.kind.to_owned(),
        license: licence_of(settings, named.id).unwrap_or(named.licence).to_owned(),
        url: named.url.map(str::to_owned),
        import_kinds: named.kinds,
        rows: rows.rows,
        countries: rows.countries,
        last_seen: rows.newest.map(|newest| newest.to_string()),
        freshness: freshness(rows.newest, cx.now()).to_owned(),
        last_import: import.map(|row| LastImport {
            kind: row.kind.clone(),
            began: row.began.to_string(),
            ended: row.ended.to_string(),
            counts: row.counts.clone(),
        }),
        last_error: import.and_then(|row| row.failed.clone()).map(error),
        fetch: None,
    }
}

fn error((at, message): (Timestamp, String)) -> LastError {
    LastError { at: at.to_string(), message }
}

/// The state of fetching a source.
fn fetching(source: Source, rows: &BTreeMap<String, FetchRow>, enabled: &[Job]) -> Option<Fetching> {
    let job = Job::ALL.into_iter().find(|job| job.kind().source() == Some(source))?;
    let (row, enabled) = (rows.get(job.as_str()), enabled.contains(&job));
    Some(Fetching {
        job: job.as_str().to_owned(),
        enabled,
        position: row.map(|row| row.cursor.to_string()),
        last_success: row.and_then(|row| row.success).map(|at| at.to_string()),
        failures: row.map_or(0, |row| row.failures),
        last_error: row.and_then(|row| row.error.clone()).map(error),
        next_try: row.filter(|_| enabled).map(|row| row.next.to_string()),
        set_aside: row.map(|row| row.set_aside.iter().cloned().map(Into::into).collect()).unwrap_or_default(),
    })
}

/// Lists that an operator imports: id, name, kind, licence as far as it is known.
const LISTS: [(ImportKind, &str, &str, &str); 6] = [
    (ImportKind::TestList, "Test lists", "sites with categories", TEST_LIST_LICENCE),
    (ImportKind::Fingerprints, "Blocking fingerprints", "texts and addresses of block pages", "NOASSERTION"),
    (ImportKind::Blocklist, "Block lists", "domains that lists name", BLOCKLIST_LICENCE),
    (ImportKind::Asn, "Network names", "names and addresses of networks", "CC-BY-4.0"),
    (ImportKind::Targets, "Target lists", "platforms and their hosts", "NOASSERTION"),
    (ImportKind::Elections, "Calendars of elections", "dates of elections", "NOASSERTION"),
];

pub async fn sources(cx: Cx) -> Result<Response> {
    let (mut rows, imports): (BTreeMap<String, SourceRows>, BTreeMap<String, ImportRow>) =
        runtime::query(&*cx.rt, world::actor().name, &SourceState).await?;
    let fetches = runtime::query(&*cx.rt, world::actor().name, &FetchRows).await?;
    let enabled = fetch::jobs(&cx.rt.environment().settings);
    let kinds = |source: Source| {
        let fed = ImportKind::ALL.into_iter().filter(|kind| kind.source() == Some(source));
        fed.map(|kind| kind.as_str().to_owned()).collect()
    };
    let mut sources = Vec::new();
    for source in Source::ALL {
        let (id, licence) = (source.id(), source.licence());
        let named = SourceDescription {
            id,
            name: source.name(),
            kind: source.kind(),
            licence,
            url: source.url(),
            kinds: kinds(source),
        };
        let body = body(named, rows.remove(id).unwrap_or_default(), imports.get(id), &cx);
        sources.push(SourceBody { fetch: fetching(source, &fetches, &enabled), ..body });
    }
    for (kind, name, what, licence) in LISTS {
        let id = kind.as_str();
        let import = imports.get(id);
        // Countries tell what block lists name there. Other lists are stored where they are needed, and nobody counts
        // them as a whole, so the result of the last import stands for them.
        let found = import.map(|row| row.counts.accepted + row.counts.duplicate).unwrap_or_default();
        let last = SourceRows { rows: found, countries: 0, newest: import.map(|row| row.ended) };
        let rows = rows.remove(id).unwrap_or(last);
        let named = SourceDescription { id, name, kind: what, licence, url: None, kinds: vec![id.to_owned()] };
        sources.push(body(named, rows, import, &cx));
    }
    for table in starter::sources() {
        let rows = SourceRows { rows: table.rows as u64, countries: 0, newest: Some(table.newest) };
        let named = SourceDescription {
            id: table.id,
            name: table.description,
            kind: "facts inside the binary",
            licence: table.licence,
            url: None,
            kinds: Vec::new(),
        };
        sources.push(body(named, rows, None, &cx));
    }
    Response::uncached(&SourcesBody { generated: cx.now().to_string(), count: sources.len(), sources })
}
