//! `GET /data/incidents/export`: all incidents. They are read page by page, so that memory stays bounded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::StatusCode;

use super::list::{filter, words};
use crate::incidents::body::IncidentBody;
use crate::incidents::documents::{MAX_AGE, dataset_version, generated};
use crate::incidents::query::{Filter, PageOf, ReadIncidents};
use crate::incidents::search::words::Words;
use crate::incidents::tables::IdKey;
use crate::incidents::{Incident, actor};
use crate::{Error, Result, Timestamp};
use engine::csv;
use engine::documents::etag;
use engine::http::{Body, Cx, Response, revalidated};
use engine::runtime::{self, Runtime};
use facts::licence;

/// Incidents that are read at a time.
const PAGE: u32 = 100;

/// How long a page may be unreadable before the export ends.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Jsonl,
    Json,
}

const COLUMNS: [&str; 30] = [
    "id",
    "readable_id",
    "country",
    "country_name",
    "title",
    "severity",
    "incident_type",
    "status",
    "confidence",
    "start_time",
    "end_time",
    "created_at",
    "updated_at",
    "sources",
    "affected_domains",
    "affected_asns",
    "blocking_methods",
    "evidence_count",
    "report_url",
    "affected_services",
    "networks_tested",
    "citable",
    "version",
    "summary",
    "license",
    "declared_time",
    "resolved_time",
    "start_unknown",
    "end_unknown",
    "last_confirmed_at",
];

pub async fn export(cx: Cx) -> Result<Response> {
    let (format, content_type, extension) = match cx.query("format")?.unwrap_or_default().to_ascii_lowercase().as_str()
    {
        "" | "json" => (Format::Json, "application/json", "json"),
        "jsonl" | "ndjson" => (Format::Jsonl, "application/x-ndjson", "jsonl"),
        "csv" => (Format::Csv, "text/csv; charset=utf-8", "csv"),
        _ => return Err(Error::bad_request("`format` must be csv, jsonl or json.")),
    };
    let (filter, words) = (filter(&cx).await?, words(&cx)?);
    let first = page(&*cx.rt, &filter, None).await?;
    let at = generated(cx.now(), first.changed);
    // An export of the same rows under the same filter is equivalent, but not equal to the byte, so the tag is weak.
    let tag = format!("W/{}", etag(format!("{format:?} {:?} {filter:?} {words:?}", first.changed).as_bytes()));
    let suffix = filter.country.as_ref().map(|country| format!("-{country}")).unwrap_or_default();
    let export = Export::new(&cx, format, (filter, words), first, at);
    let pieces = stream::unfold(export, |mut export| async move { Some((export.next().await?, export)) });
    let mut response = Response::new(StatusCode::OK, content_type, Bytes::new());
    response.body = Body::Stream(Box::pin(pieces));
    if format != Format::Json {
        response.set("content-disposition", &format!("attachment; filename=\"incidents{suffix}.{extension}\""));
    }
    Ok(revalidated(&cx.request, response, &tag, MAX_AGE))
}

async fn page(rt: &dyn Runtime, filter: &Filter, after: Option<IdKey>) -> Result<PageOf> {
    let query = ReadIncidents { filter: filter.clone(), after, limit: PAGE };
    runtime::query(rt, actor().name, &query).await
}

/// The part of an export that is still to be sent.
struct Export {
    rt: Arc<dyn Runtime>,
    format: Format,
    filter: Filter,
    words: Option<Words>,
    at: Timestamp,
    changed: Option<Timestamp>,
    rows: VecDeque<Incident>,
    after: Option<IdKey>,
    begun: bool,
    ended: bool,
    count: u64,
    licences: std::collections::BTreeSet<String>,
}

impl Export {
    fn new(cx: &Cx, format: Format, (filter, words): (Filter, Option<Words>), first: PageOf, at: Timestamp) -> Export {
        Export {
            rt: cx.rt.clone(),
            format,
            filter,
            words,
            at,
            changed: first.changed,
            rows: first.incidents.into(),
            after: first.next,
            begun: false,
            ended: false,
            count: 0,
            licences: Default::default(),
        }
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.begun, true) {
            self.head(&mut out);
        }
        if self.rows.is_empty()
            && let Some(after) = self.after.take()
        {
            let read =
                runtime::retry_unavailable(&*self.rt, PATIENCE, || page(&*self.rt, &self.filter, Some(after.clone())));
            match read.await {
                Ok(page) => {
                    self.rows = page.incidents.into();
                    self.after = page.next;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(self.broken(&error));
                }
            }
        }
        let rt = self.rt.clone();
        let settings = &rt.environment().settings;
        for incident in std::mem::take(&mut self.rows) {
            if self.words.as_ref().is_some_and(|words| !words.find(&incident, settings)) {
                continue;
            }
            let body = IncidentBody::new(&incident, settings);
            self.row(&mut out, &body);
        }
        if self.after.is_none() {
            self.ended = true;
            self.foot(&mut out);
        }
        Some(out.into())
    }

    fn head(&self, out: &mut Vec<u8>) {
        match self.format {
            Format::Csv => csv::record(out, COLUMNS),
            Format::Jsonl => {}
            Format::Json => {
                let version = dataset_version(self.changed, self.at);
                let head =
                    format!("{{\"dataset_version\":\"{version}\",\"generated_at_utc\":\"{}\",\"incidents\":[", self.at);
                out.extend_from_slice(head.as_bytes());
            }
        }
    }

    fn row(&mut self, out: &mut Vec<u8>, body: &IncidentBody) {
        self.licences.insert(body.license.clone());
        match self.format {
            Format::Csv => csv::record(out, cells(body)),
            Format::Jsonl | Format::Json => {
                if self.format == Format::Json && self.count > 0 {
                    out.push(b',');
                }
                // Strings, numbers and lists can always be serialized.
                out.extend(serde_json::to_vec(body).unwrap_or_default());
                if self.format == Format::Jsonl {
                    out.push(b'\n');
                }
            }
        }
        self.count += 1;
    }

    fn foot(&self, out: &mut Vec<u8>) {
        if self.format == Format::Json {
            let license = licence::effective(self.licences.iter().map(String::as_str));
            out.extend_from_slice(format!("],\"count\":{},\"license\":\"{license}\"}}", self.count).as_bytes());
        }
    }

    /// Says at the end of the body that the export is incomplete, since the status was already sent. In JSON the body
    /// cannot be parsed, which says the same.
    fn broken(&self, error: &Error) -> Bytes {
        match self.format {
            Format::Csv => format!("# incomplete: {}\r\n", error.code.as_str()).into(),
            Format::Jsonl => {
                format!("{{\"error\":\"{}\",\"message\":\"The export is incomplete.\"}}\n", error.code.as_str()).into()
            }
            Format::Json => Bytes::new(),
        }
    }
}

fn cells(body: &IncidentBody) -> [String; COLUMNS.len()] {
    [
        body.id.clone(),
        body.readable_id.clone(),
        body.country.clone(),
        body.country_name.clone(),
        body.title.clone(),
        body.severity.as_str().to_owned(),
        body.incident_type.as_str().to_owned(),
        body.status.as_str().to_owned(),
        body.confidence.to_string(),
        body.start_time.clone(),
        body.end_time.clone().unwrap_or_default(),
        body.created_at.clone(),
        body.updated_at.clone(),
        body.sources.join(";"),
        body.affected_domains.join(";"),
        body.affected_asns.join(";"),
        body.blocking_methods.join(";"),
        body.evidence_count.to_string(),
        body.report_url.clone(),
        body.affected_services.join(";"),
        body.networks_tested.to_string(),
        body.citable.to_string(),
        body.version.to_string(),
        body.summary.clone(),
        body.license.clone(),
        body.declared_time.clone().unwrap_or_default(),
        body.resolved_time.clone().unwrap_or_default(),
        body.start_unknown.to_string(),
        body.end_unknown.to_string(),
        body.last_confirmed_at.clone().unwrap_or_default(),
    ]
    .map(|cell| csv::harmless(&cell).into_owned())
}

/// Incidents as CSV in the columns of the export.
pub fn csv(incidents: impl Iterator<Item = IncidentBody>) -> Vec<u8> {
    let mut out = Vec::new();
    csv::record(&mut out, COLUMNS);
    incidents.for_each(|body| csv::record(&mut out, cells(&body)));
    out
}
