//! `GET /data/incidents/{id}/evidence` and `GET /data/evidence/{id}`.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::detail::asked;
use crate::analytics::tabular::{Tabular, as_csv, wants_csv};
use crate::country::{CountWitnesses, MAX_WITNESSES, WitnessPage, WitnessPlace};
use crate::incidents::actor;
use crate::incidents::model::{EvidenceRow, Incident};
use crate::incidents::query::{EvidenceById, EvidenceOf};
use crate::{Error, Result, Timestamp, reference};
use engine::http::{self, Cx, Response};
use engine::runtime;
use engine::time::HOUR;
use facts::licence;
use facts::sentence::{Sentence, Sentences};

/// One piece of evidence.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceBody {
    pub id: String,
    pub source: String,
    pub kind: String,
    pub signal_type: Option<String>,
    /// https address of the record itself.
    pub permalink: Option<String>,
    /// https address of the context.
    pub source_url: Option<String>,
    pub source_ref: String,
    pub observed_at: String,
    /// Since when an incident rests on it.
    pub retrieved_at: Option<String>,
    /// 0 to 1.
    pub confidence: f64,
    pub domain: Option<String>,
    /// `AS<number>`.
    pub asn: Option<String>,
    pub license: String,
}

impl From<EvidenceRow> for EvidenceBody {
    fn from(row: EvidenceRow) -> Self {
        EvidenceBody {
            id: row.id,
            source: row.source,
            kind: row.kind,
            signal_type: row.signal_type,
            permalink: row.permalink,
            source_url: row.source_url,
            source_ref: row.source_ref,
            observed_at: row.observed_at.to_string(),
            retrieved_at: row.retrieved_at.map(|at| at.to_string()),
            confidence: row.confidence,
            domain: row.domain,
            asn: row.asn.map(|asn| format!("AS{asn}")),
            license: row.licence,
        }
    }
}

/// How far independent sources agree about an incident.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvidenceCorroboration")]
pub struct Corroboration {
    /// Two tests of one project are one source (decision incident-grades).
    pub independent_sources: usize,
    pub sources: Vec<String>,
    /// Number of sources among the rows.
    pub sampled_sources: usize,
    /// Share of the sources that have rows here, 0 to 1.
    pub agreement: f64,
}

/// Where all stored measurements of a subject in the time of an incident are, with their votes.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EvidenceMeasurements")]
pub struct Measurements {
    /// A domain or a service.
    pub target: String,
    /// Requests the measurements on the networks of the incident.
    pub url: String,
}

/// The evidence of an incident, with the members that both generations of clients read (conflict C2).
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidenceList {
    /// Also as `incidentId`.
    pub incident_id: String,
    #[serde(rename = "incidentId")]
    #[schemars(skip)]
    pub incident_id_camel: String,
    #[serde(rename = "readableId")]
    pub readable_id: String,
    /// Number of all evidence: votes for a block, and reports. It is the same on every page.
    pub count: u64,
    #[serde(rename = "evidenceCount")]
    pub count_camel: u64,
    /// Number of rows on all pages together; null if there are too many to count for one answer.
    pub listed: Option<u64>,
    /// Why `listed` is not `count`; null if the incident rests on no measurements of its own.
    pub note: Option<Sentence>,
    /// All stored measurements, with their votes: one address for each service or site.
    pub measurements: Vec<Measurements>,
    /// The first page has the rows that the incident keeps, oldest first: at most 50 of its own and 50 of each of eight
    /// parts. The following pages have the other rows, site by site.
    pub evidence: Vec<EvidenceBody>,
    /// Requests the next page; null on the last page.
    pub next_cursor: Option<String>,
    pub has_more: bool,
    pub corroboration: Corroboration,
    pub license: String,
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    pub sentences: Sentences,
}

/// Columns of the rows as CSV.
const TABLE: Tabular = Tabular {
    name: "evidence",
    list: "evidence",
    inner: None,
    columns: &[
        "id",
        "source",
        "kind",
        "signalType",
        "permalink",
        "sourceUrl",
        "sourceRef",
        "observedAt",
        "retrievedAt",
        "confidence",
        "domain",
        "asn",
    ],
};

/// The beginning of a page: a row among those that the incident keeps, or a cell of its country to continue after.
enum Cursor {
    Kept(usize),
    After(Option<WitnessPlace>),
}

/// What the text of a cursor looks like.
pub const CURSOR_PATTERN: &str = "^(k[0-9]{1,10}|m0|m[0-9]{1,10}([.][0-9]{1,10}){2}[.][0-9]{1,3})$";

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let (kind, rest) = text.split_at_checked(1)?;
        let numbers: Vec<u32> = rest.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(match (kind, numbers.as_slice()) {
            ("k", [at]) => Cursor::Kept(usize::try_from(*at).ok()?),
            ("m", [0]) => Cursor::After(None),
            ("m", [series, day, asn, source]) => {
                Cursor::After(Some((*series, *day, *asn, u8::try_from(*source).ok()?)))
            }
            _ => return None,
        })
    }

    fn text(&self) -> String {
        match self {
            Cursor::Kept(at) => format!("k{at}"),
            Cursor::After(None) => "m0".to_owned(),
            Cursor::After(Some((series, day, asn, source))) => format!("m{series}.{day}.{asn}.{source}"),
        }
    }
}

/// Rows of a page: the default and the maximum. The first page has all rows that the incident keeps, unless fewer are
/// requested.
const DEFAULT_ROWS: u32 = 50;
const MOST_ROWS: u32 = 200;

/// Addresses of measurements in an answer, and networks in one of them, at most.
const MOST_TARGETS: usize = 20;
const MOST_NETWORKS: usize = 20;

/// A page of the evidence.
#[derive(Default)]
struct Page {
    rows: Vec<EvidenceRow>,
    /// The beginning of the next page.
    next: Option<Cursor>,
    /// Rows that the incident keeps, and rows of all pages.
    kept: u64,
    listed: Option<u64>,
    /// Sources of the rows that the incident keeps.
    sampled: BTreeSet<String>,
    /// Whether the page has rows that no version of the incident keeps.
    is_loose: bool,
}

/// The series that an incident is about, and the names under which all of them can be asked for.
#[derive(Default)]
struct Subjects {
    series: Vec<String>,
    names: Vec<String>,
}

async fn subjects(cx: &Cx, incident: &Incident) -> Subjects {
    let draft = &incident.draft;
    let mut found = Subjects::default();
    if !is_measured(incident) {
        return found;
    }
    for name in std::iter::once(&draft.subject).chain(&draft.services).chain(&draft.domains) {
        if found.series.contains(name) || found.names.contains(name) {
            continue;
        }
        // A report may name what is no subject.
        let Ok(subject) = reference::subject(&*cx.rt, name).await else { continue };
        found.names.push(subject.name);
        found.series.extend(subject.roles.into_iter().map(|role| role.key));
    }
    found.series.extend(draft.domains.iter().cloned());
    found.series.sort();
    found.series.dedup();
    found
}

/// Whether it rests on measurements, and not only on what others report.
fn is_measured(incident: &Incident) -> bool {
    !incident.draft.networks.is_empty() && incident.draft.measurements > 0
}

async fn page(cx: &Cx, incident: &Incident, subjects: &Subjects) -> Result<Page> {
    let wrong = || Error::bad_request("Query parameter `cursor` must be the `next_cursor` of the page before.");
    let cursor = cx.query("cursor")?.map(|text| Cursor::parse(&text).ok_or_else(wrong)).transpose()?;
    let limit = cx.count("limit", DEFAULT_ROWS, MOST_ROWS)?;
    let ids = incident.draft.evidence_ids.clone();
    let mut kept = runtime::query(&*cx.rt, actor().name, &EvidenceOf { ids }).await?;
    kept.sort_by(|a, b| (a.observed_at, &a.id).cmp(&(b.observed_at, &b.id)));
    let sampled = kept.iter().map(|row| row.source.clone()).collect();
    let asked = is_measured(incident).then(|| question(incident, subjects, limit));
    let loose = match &asked {
        Some(all) => {
            let except = incident.draft.evidence_ids.iter().cloned().collect();
            let asked = CountWitnesses { all: all.clone(), except };
            runtime::query(&*cx.rt, incident.id.country.clone(), &asked).await?
        }
        None => Some(0),
    };
    let of_all = kept.len() as u64;
    let listed = loose.map(|loose| loose.saturating_add(of_all));
    let at = match (cursor, asked) {
        (Some(Cursor::After(after)), Some(asked)) => {
            let (rows, next) = measured(cx, incident, &kept, WitnessPage { after, ..asked }).await?;
            return Ok(Page { rows, next, kept: of_all, listed, sampled, is_loose: true });
        }
        (Some(Cursor::After(_)), None) => return Ok(Page { kept: of_all, listed, sampled, ..Page::default() }),
        (Some(Cursor::Kept(at)), _) => at,
        (None, _) => 0,
    };
    let most = if cx.query("limit")?.is_none() && at == 0 { kept.len() } else { limit as usize };
    let more = (kept.len() > at.saturating_add(most)).then(|| Cursor::Kept(at.saturating_add(most)));
    let others = (loose != Some(0)).then_some(Cursor::After(None));
    let rows = kept.into_iter().skip(at).take(most).collect();
    // The number of rows of all pages changes with the measurements of the country.
    Ok(Page { rows, next: more.or(others), kept: of_all, listed, sampled, is_loose: is_measured(incident) })
}

/// Asks for the measurements of the networks of an incident in its time.
fn question(incident: &Incident, subjects: &Subjects, limit: u32) -> WitnessPage {
    let day = |at: Option<Timestamp>| at.and_then(|at| u32::try_from(at.day()).ok());
    let (start, end) = (day(Some(incident.start())).unwrap_or(0), day(incident.end()).unwrap_or(u32::MAX - 1));
    let networks = incident.draft.networks.iter();
    let networks = networks.map(|of| (of.asn, day(of.first).unwrap_or(start), day(of.last).unwrap_or(end))).collect();
    WitnessPage { series: subjects.series.clone(), networks, after: None, limit }
}

/// A page of the measurements that the country can still show and the incident does not keep.
async fn measured(
    cx: &Cx,
    incident: &Incident,
    kept: &[EvidenceRow],
    asked: WitnessPage,
) -> Result<(Vec<EvidenceRow>, Option<Cursor>)> {
    let (found, next) = runtime::query(&*cx.rt, incident.id.country.clone(), &asked).await?;
    // How sure it is on a network is taken from the rows that the incident keeps.
    let like = |row: &EvidenceRow| {
        let of = kept.iter().filter(|known| known.asn == row.asn && known.kind == row.kind);
        of.clone().find(|known| known.domain == row.domain).or_else(|| of.clone().next())
    };
    let others = found.into_iter().filter(|row| !incident.draft.evidence_ids.contains(&row.id));
    let others = others.map(|row| EvidenceRow {
        retrieved_at: Some(incident.created),
        confidence: like(&row).map_or_else(|| incident.confidence(), |known| known.confidence),
        ..row
    });
    Ok((others.collect(), next.map(|place| Cursor::After(Some(place)))))
}

/// The addresses of all stored measurements of the subjects in the time of an incident, on its networks.
fn measurements(cx: &Cx, incident: &Incident, subjects: &Subjects) -> Vec<Measurements> {
    let networks = &incident.draft.networks;
    let asns: Vec<String> = networks.iter().map(|network| format!("AS{}", network.asn)).collect();
    let asns = (asns.len() <= MOST_NETWORKS).then(|| asns.join(","));
    let hour = |at: i64| Timestamp(at * HOUR).to_string();
    let first = networks.iter().filter_map(|network| network.first).fold(incident.start(), Timestamp::min);
    let (since, until) = (hour(first.hour()), incident.end().map(|end| hour(end.hour() + 1)));
    let address = |target: &String| {
        let query = http::query(&[
            ("country", Some(incident.id.country.as_str())),
            ("target", Some(target)),
            ("asn", asns.as_deref()),
            ("since", Some(&since)),
            ("until", until.as_deref()),
        ]);
        Measurements { target: target.clone(), url: format!("{}/data/measurements?{query}", cx.settings().base_url()) }
    };
    subjects.names.iter().take(MOST_TARGETS).map(address).collect()
}

/// What `count` is of, what the pages have of it, and where the rest is.
fn note(listed: Option<u64>) -> Sentence {
    let note = Sentence::new(if listed.is_some() { "evidence.listed" } else { "evidence.listed_some" });
    note.with("listed", listed).with("most", MAX_WITNESSES)
}

pub async fn list(cx: Cx) -> Result<Response> {
    let (incident, max_age) = asked(&cx).await?;
    let sources = &incident.draft.sources;
    let subjects = subjects(&cx, &incident).await;
    let Page { rows, next, kept, listed, sampled, is_loose } = page(&cx, &incident, &subjects).await?;
    let agreement =
        if sources.is_empty() { 0.0 } else { sampled.len() as f64 / sources.len().max(sampled.len()) as f64 };
    let corroboration = Corroboration {
        independent_sources: sources.len(),
        sampled_sources: sampled.len(),
        agreement: engine::number::round(agreement),
        sources: sources.clone(),
    };
    let license =
        licence::effective(rows.iter().map(|row| row.licence.as_str()).chain([incident.draft.licence.as_str()]));
    let count = incident.draft.evidence_total.max(kept);
    let note = is_measured(&incident).then(|| note(listed));
    let body = EvidenceList {
        sentences: Sentences::new().with("note", &note),
        note,
        listed,
        measurements: measurements(&cx, &incident, &subjects),
        incident_id: incident.hash.clone(),
        incident_id_camel: incident.hash,
        readable_id: incident.id.to_string(),
        count,
        count_camel: count,
        evidence: rows.into_iter().map(EvidenceBody::from).collect(),
        has_more: next.is_some(),
        next_cursor: next.map(|cursor| cursor.text()),
        corroboration,
        license,
    };
    let response = Response::json(&body)?;
    let mut response = if wants_csv(&cx)? { as_csv(&TABLE, &body.readable_id, &response)? } else { response };
    if let Some(next) = &body.next_cursor {
        cx.lead_on(&mut response, next);
    }
    cx.tagged(response, if is_loose { 0 } else { max_age })
}

/// One piece of evidence, and the incidents that rest on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvidencePage {
    #[serde(flatten)]
    pub evidence: EvidenceBody,
    /// The same as `signalType`.
    #[serde(rename = "signal_type")]
    #[schemars(skip)]
    pub signal_type_snake: Option<String>,
    pub country: String,
    /// Incidents whose newest versions rest on it.
    pub incident_ids: Vec<String>,
}

pub async fn one(cx: Cx) -> Result<Response> {
    let id = cx.path("id")?.trim().to_ascii_lowercase();
    let found = runtime::query(&*cx.rt, actor().name, &EvidenceById { id }).await?;
    let (found, country) = found.ok_or_else(|| Error::not_found("There is no such evidence."))?;
    let body = EvidencePage {
        signal_type_snake: found.row.signal_type.clone(),
        country,
        incident_ids: found.incidents.iter().map(ToString::to_string).collect(),
        evidence: found.row.into(),
    };
    cx.tagged(Response::json(&body)?, 0)
}
