//! The operator's routes to create, amend, restore, merge and retract incidents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{
    self, ASN_PATTERN, LINK_PATTERN, MAX_LINK, METHOD_PATTERN, asn, domain, line, link, prose, share, sorted, subject,
    time,
};
use super::detail::find;
use crate::country::routes::input;
use crate::incidents::body::IncidentBody;
use crate::incidents::model::{
    AffectedNetwork, Draft, EvidenceRow, IncidentType, MAX_EVIDENCE, ONGOING, Overrides, Severity, Status,
};
use crate::incidents::operate::{Create, Deed, Field, OperateIncident, Versions};
use crate::incidents::{INCIDENT_ID, Unknown, actor, text};
use crate::{Error, Result, Timestamp};
use engine::http::{COUNTRY_PATTERN, Cx, LINE, PROSE, Response};
use engine::runtime;
use engine::time::known_time_pattern;
use facts::licence;
use facts::reported::AHEAD;
use facts::starter::Platform;

/// Most characters of a title, an area and an occasion.
const MAX_TITLE: usize = 200;
/// Most characters of a description, and of the reason of a change.
const MAX_DESCRIPTION: usize = 4_000;
const MAX_REASON: usize = 1_000;
/// Most characters of a word such as the id of a source, and of what a source calls a record.
const MAX_WORD: usize = 64;
const MAX_REF: usize = 500;
const MAX_AREAS: usize = 50;

/// The kinds of evidence that an operator may give.
const KINDS: [&str; 5] = ["measurement", "outage", "shutdown", "block", "report"];

fn kind_pattern() -> String {
    format!("^({})$", KINDS.join("|"))
}

/// A new incident.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["country", "subject", "reason", "start"]))]
pub struct NewIncident {
    /// ISO 3166-1 alpha-2.
    #[schemars(regex(pattern = COUNTRY_PATTERN))]
    pub country: String,
    /// A platform, a domain, or `internet`.
    #[schemars(length(min = 1))]
    pub subject: String,
    /// The reason for making it, kept with the version.
    #[schemars(length(min = 1, max = MAX_REASON), regex(pattern = PROSE))]
    pub reason: String,
    #[schemars(length(max = MAX_TITLE), regex(pattern = LINE))]
    pub title: Option<String>,
    #[schemars(length(max = MAX_DESCRIPTION), regex(pattern = PROSE))]
    pub description: Option<String>,
    /// Default `censorship`.
    #[serde(rename = "type")]
    pub kind: Option<IncidentType>,
    /// Default: `critical` for `internet`, `high` for `internet` with `areas`, else `medium`.
    pub severity: Option<Severity>,
    /// Default: `suspected` for one source and one network, else `active`, or `resolved` when it is over.
    pub status: Option<Status>,
    /// 0 to 1; default 0.5.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    /// ISO 8601.
    #[schemars(regex(pattern = known_time_pattern()))]
    pub start: String,
    /// ISO 8601. A bare date stands for the end of that day.
    #[schemars(regex(pattern = known_time_pattern()))]
    pub end: Option<String>,
    #[schemars(inner(length(min = 1)))]
    pub services: Vec<String>,
    #[schemars(inner(length(min = 1)))]
    pub domains: Vec<String>,
    /// `AS64496` or `64496`.
    #[schemars(inner(regex(pattern = ASN_PATTERN)))]
    pub asns: Vec<String>,
    /// Names as in measurements: `dns-poison`, `tls-reset`, `blockpage`, `throttling` ...
    #[schemars(inner(regex(pattern = METHOD_PATTERN)))]
    pub methods: Vec<String>,
    /// At most 50.
    #[schemars(length(max = MAX_AREAS), inner(length(max = MAX_TITLE), regex(pattern = LINE)))]
    pub areas: Vec<String>,
    #[schemars(length(max = MAX_TITLE), regex(pattern = LINE))]
    pub occasion: Option<String>,
    /// At most 50.
    #[schemars(length(max = MAX_EVIDENCE))]
    pub evidence: Vec<NewEvidence>,
}

/// A piece of evidence of a new incident.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["observed_at", "source"]))]
pub struct NewEvidence {
    /// The source, such as `ooni`, in lower case.
    #[schemars(length(min = 1, max = MAX_WORD), regex(pattern = LINE))]
    pub source: String,
    /// `measurement`, `outage`, `shutdown`, `block` or `report` (default).
    #[schemars(regex(pattern = kind_pattern()))]
    pub kind: Option<String>,
    #[schemars(length(max = MAX_WORD), regex(pattern = LINE))]
    pub signal_type: Option<String>,
    /// The record within its source. The default is the permalink.
    #[schemars(length(max = MAX_REF), regex(pattern = LINE))]
    pub source_ref: Option<String>,
    /// https address of the record itself.
    #[schemars(length(max = MAX_LINK), regex(pattern = LINK_PATTERN))]
    pub permalink: Option<String>,
    /// https address of the context.
    #[schemars(length(max = MAX_LINK), regex(pattern = LINK_PATTERN))]
    pub source_url: Option<String>,
    /// ISO 8601.
    #[schemars(regex(pattern = known_time_pattern()))]
    pub observed_at: String,
    /// 0 to 1; default 0.5.
    #[schemars(range(min = 0, max = 1))]
    pub confidence: Option<f64>,
    #[schemars(length(min = 1))]
    pub domain: Option<String>,
    #[schemars(regex(pattern = ASN_PATTERN))]
    pub asn: Option<String>,
    /// SPDX identifier of the licence that the source gives. It may be absent for sources that are imported.
    #[schemars(length(max = MAX_WORD), regex(pattern = LINE))]
    pub license: Option<String>,
}

pub async fn create(cx: Cx) -> Result<Response> {
    let wanted: NewIncident = cx.json()?;
    let unknown = |code: String| Error::bad_request(format!("{code} is not an ISO 3166-1 country code."));
    let country = input::country(&wanted.country)?.map_err(unknown)?.code.to_owned();
    let overrides = Overrides {
        title: line("title", wanted.title.as_deref(), MAX_TITLE)?,
        description: prose("description", wanted.description.as_deref(), MAX_DESCRIPTION)?,
        ..Overrides::default()
    };
    let (by, reason) = who(&cx, &wanted.reason)?;
    let draft = draft(&cx, wanted).await?;
    let create = Create { country, draft, overrides, by, reason };
    let made = runtime::call(&*cx.rt, actor().name, &create).await?;
    Response::created(&IncidentBody::new(&made, cx.settings()))
}

/// Checks that the beginning is not further ahead than sources may announce.
fn begins(cx: &Cx, start: Option<Timestamp>) -> Result<Option<Timestamp>> {
    match start {
        Some(start) if start > cx.now().plus(AHEAD) => {
            Err(Error::bad_request("`start` must be at most a year in the future."))
        }
        start => Ok(start),
    }
}

/// The services, domains and networks of a new incident.
async fn affected(cx: &Cx, wanted: &NewIncident, subject: &str) -> Result<(Vec<String>, Vec<String>, Vec<u32>)> {
    let platform = Platform::by_slug(subject);
    let mut services: Vec<String> = Vec::with_capacity(wanted.services.len());
    for text in &wanted.services {
        services.push(check::subject(cx, text).await?);
    }
    let mut domains: Vec<String> = wanted.domains.iter().map(|text| domain(text)).collect::<Result<_>>()?;
    match platform {
        Some(platform) => services.push(platform.slug.to_owned()),
        // A name without a dot is a service from a target list.
        None if !subject.contains('.') && subject != text::INTERNET => services.push(subject.to_owned()),
        None if subject != text::INTERNET => domains.push(subject.to_owned()),
        None => {}
    }
    sorted(&mut services, 50, "services")?;
    sorted(&mut domains, 200, "domains")?;
    let mut networks: Vec<u32> = wanted.asns.iter().map(|text| asn(text)).collect::<Result<_>>()?;
    sorted(&mut networks, 500, "asns")?;
    Ok((services, domains, networks))
}

fn areas(texts: &[String]) -> Result<Vec<String>> {
    if texts.len() > MAX_AREAS {
        return Err(Error::bad_request(format!("`areas` takes at most {MAX_AREAS} names.")));
    }
    let lines = texts.iter().map(|text| line("areas", Some(text), MAX_TITLE));
    Ok(lines.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The evidence of a new incident by time, each row once.
fn evidence_rows(cx: &Cx, rows: Vec<NewEvidence>, subject: &str) -> Result<Vec<EvidenceRow>> {
    if rows.len() > MAX_EVIDENCE {
        return Err(Error::bad_request(format!("`evidence` takes at most {MAX_EVIDENCE} rows.")));
    }
    let mut evidence = Vec::new();
    for row in rows {
        let row = evidence_row(cx, row, subject)?;
        if !evidence.iter().any(|known: &EvidenceRow| known.id == row.id) {
            evidence.push(row);
        }
    }
    evidence.sort_by(|a, b| (a.observed_at, &a.id).cmp(&(b.observed_at, &b.id)));
    Ok(evidence)
}

async fn draft(cx: &Cx, mut wanted: NewIncident) -> Result<Draft> {
    let subject = subject(cx, &wanted.subject).await?;
    let (services, domains, networks) = affected(cx, &wanted, &subject).await?;
    let network = |asn: u32| AffectedNetwork { asn, name: None, first: None, last: None, blocked: 0, votes: 0 };
    let evidence = evidence_rows(cx, std::mem::take(&mut wanted.evidence), &subject)?;
    let mut sources: Vec<String> = evidence.iter().map(|row| row.source.clone()).collect();
    sorted(&mut sources, MAX_EVIDENCE, "evidence")?;
    let (start, end) = (time("start", Some(&wanted.start))?, check::end(wanted.end.as_deref())?);
    let start = begins(cx, start)?.ok_or_else(|| Error::bad_request("`start` is required."))?;
    if end.is_some_and(|end| end < start) {
        return Err(Error::bad_request("`end` must not be before `start`."));
    }
    // Severity by decision incident-grades where nothing is measured: a shutdown of the whole country is critical, one
    // of some areas or networks is less severe.
    let usual = match (subject == text::INTERNET, wanted.areas.is_empty(), networks.is_empty()) {
        (true, true, true) => Severity::Critical,
        (true, false, _) => Severity::High,
        _ => Severity::Medium,
    };
    Ok(Draft {
        kind: wanted.kind.unwrap_or(IncidentType::Censorship),
        severity: wanted.severity.unwrap_or(usual),
        status: wanted.status.unwrap_or(match end.is_some_and(|end| end <= cx.now()) {
            // A single source on a single network is only suspected (decision incident-grades).
            _ if sources.len() <= 1 && networks.len() == 1 => Status::Suspected,
            true => Status::Resolved,
            false => Status::Active,
        }),
        confidence: share("confidence", wanted.confidence)?.unwrap_or(0.5),
        start,
        end,
        services,
        domains,
        networks: networks.into_iter().map(network).collect(),
        networks_tested: 0,
        weight: 0.0,
        methods: check::methods(&wanted.methods)?,
        areas: areas(&wanted.areas)?,
        occasion: line("occasion", wanted.occasion.as_deref(), MAX_TITLE)?,
        pattern: None,
        schedule: None,
        declared: None,
        resolved: None,
        measurements: 0,
        anomaly_rate: 0.0,
        evidence_ids: Vec::new(),
        evidence_total: evidence.len() as u64,
        licence: licence::effective(evidence.iter().map(|row| row.licence.as_str())),
        unknown: Unknown::NOTHING,
        evidence,
        sources,
        subject,
    })
}

fn evidence_row(cx: &Cx, row: NewEvidence, subject: &str) -> Result<EvidenceRow> {
    let source = line("source", Some(&row.source), MAX_WORD)?.unwrap_or_default().to_lowercase();
    if source.is_empty() {
        return Err(Error::bad_request("Each row of `evidence` needs a `source`."));
    }
    let kind = row.kind.unwrap_or_else(|| "report".to_owned());
    if !KINDS.contains(&kind.as_str()) {
        return Err(Error::bad_request(format!("`kind` must be one of {}.", KINDS.join(", "))));
    }
    let permalink = link("permalink", row.permalink)?;
    let source_ref = line("source_ref", row.source_ref.as_deref(), MAX_REF)?.or_else(|| permalink.clone());
    let source_ref = source_ref
        .ok_or_else(|| Error::bad_request("Each row of `evidence` needs a `source_ref` or a `permalink`."))?;
    let imported = facts::source::Source::ALL.into_iter().find(|known| known.id() == source);
    let licence = imported.map(|source| source.licence_under(&cx.rt.environment().settings).to_owned()).or(line(
        "license",
        row.license.as_deref(),
        MAX_WORD,
    )?);
    let licence = licence
        .ok_or_else(|| Error::bad_request(format!("Evidence of {source} needs a `license`, such as CC-BY-4.0.")))?;
    let domain = row.domain.as_deref().map(domain).transpose()?;
    let observed_at = time("observed_at", Some(&row.observed_at))?;
    Ok(EvidenceRow {
        id: EvidenceRow::id_of(&source, &source_ref, domain.as_deref().unwrap_or(subject)),
        kind,
        signal_type: line("signal_type", row.signal_type.as_deref(), MAX_WORD)?,
        source_ref,
        permalink,
        source_url: link("source_url", row.source_url)?,
        observed_at: observed_at.ok_or_else(|| Error::bad_request("`observed_at` is required."))?,
        retrieved_at: Some(cx.now()),
        confidence: share("confidence", row.confidence)?.unwrap_or(0.5),
        domain,
        asn: row.asn.as_deref().map(asn).transpose()?,
        licence,
        source,
    })
}

/// A time from 1970 on, or `ongoing`.
fn end_pattern() -> String {
    format!("{}|^[Oo][Nn][Gg][Oo][Ii][Nn][Gg]$", known_time_pattern())
}

/// Changes to an incident. Absent members stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
// Beside the reason, something to amend.
#[schemars(extend("required" = ["reason"], "minProperties" = 2))]
pub struct Amendment {
    /// The reason, kept with the version.
    #[schemars(length(min = 1, max = MAX_REASON), regex(pattern = PROSE))]
    pub reason: String,
    /// Refuses the change (409) when the incident has another version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_TITLE), regex(pattern = LINE))]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_DESCRIPTION), regex(pattern = PROSE))]
    pub description: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<IncidentType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = known_time_pattern()))]
    pub start: Option<String>,
    /// ISO 8601, where a bare date stands for the end of that day. Or `ongoing`: the incident goes on, whatever the
    /// data say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = end_pattern()))]
    pub end: Option<String>,
}

pub async fn amend(cx: Cx) -> Result<Response> {
    let members: serde_json::Map<String, serde_json::Value> = cx.json()?;
    // Null could mean that a member stays or that it is taken back, so it is refused.
    if let Some((name, _)) = members.iter().find(|(_, value)| value.is_null()) {
        return Err(Error::bad_request(format!(
            "`{name}` must not be null: leave out what stays, give `end` as `ongoing`, or take it back by .../restore."
        )));
    }
    let wanted: Amendment = cx.json()?;
    let patch = Overrides {
        title: line("title", wanted.title.as_deref(), MAX_TITLE)?,
        description: prose("description", wanted.description.as_deref(), MAX_DESCRIPTION)?,
        kind: wanted.kind,
        severity: wanted.severity,
        status: wanted.status,
        confidence: share("confidence", wanted.confidence)?,
        start: begins(&cx, time("start", wanted.start.as_deref())?)?,
        end: match wanted.end.as_deref().map(str::trim) {
            Some(word) if word.eq_ignore_ascii_case("ongoing") => Some(ONGOING),
            written => check::end(written)?,
        },
        ..Overrides::default()
    };
    if patch == Overrides::default() {
        return Err(Error::bad_request(
            "Nothing to amend: give title, description, type, severity, status, confidence, start or end.",
        ));
    }
    operate(&cx, Deed::Amend(Box::new(patch)), wanted.version, &wanted.reason).await
}

/// The amendments to take back.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["reason"]))]
pub struct Restoration {
    /// The reason, kept with the version.
    #[schemars(length(min = 1, max = MAX_REASON), regex(pattern = PROSE))]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// All amendments when empty.
    pub fields: Vec<Field>,
}

pub async fn restore(cx: Cx) -> Result<Response> {
    let wanted: Restoration = cx.json()?;
    operate(&cx, Deed::Restore(wanted.fields), wanted.version, &wanted.reason).await
}

/// The incident to merge into.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["reason", "into"]))]
pub struct Merging {
    /// The reason, kept with the version.
    #[schemars(length(min = 1, max = MAX_REASON), regex(pattern = PROSE))]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Either of the two ids of an incident in the same country.
    #[schemars(regex(pattern = INCIDENT_ID))]
    pub into: String,
}

pub async fn merge(cx: Cx) -> Result<Response> {
    let wanted: Merging = cx.json()?;
    if wanted.into.trim().is_empty() {
        return Err(Error::bad_request("`into` is required."));
    }
    operate(&cx, Deed::Merge(wanted.into), wanted.version, &wanted.reason).await
}

/// The withdrawal of an incident.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["reason"]))]
pub struct Retraction {
    /// The reason, which is public.
    #[schemars(length(min = 1, max = MAX_REASON), regex(pattern = PROSE))]
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

pub async fn retract(cx: Cx) -> Result<Response> {
    let wanted: Retraction = cx.json()?;
    operate(&cx, Deed::Retract, wanted.version, &wanted.reason).await
}

async fn operate(cx: &Cx, deed: Deed, version: Option<u32>, reason: &str) -> Result<Response> {
    let (by, reason) = who(cx, reason)?;
    let operate = OperateIncident { id: cx.path("id")?.to_owned(), version, deed, by, reason };
    let incident = runtime::call(&*cx.rt, actor().name, &operate).await?;
    Response::json(&IncidentBody::new(&incident, cx.settings()))
}

/// The versions of an incident.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct VersionsBody {
    pub id: String,
    /// Newest first, at most 200.
    pub versions: Vec<VersionBody>,
}

/// One version.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct VersionBody {
    pub version: u32,
    /// ISO 8601.
    pub at: String,
    /// `created`, `amended`, `restored`, `merged` or `retracted`.
    pub action: String,
    /// Id of the operator's key; null when the data changed.
    pub by: Option<String>,
    pub reason: Option<String>,
}

pub async fn versions(cx: Cx) -> Result<Response> {
    let id = find(&cx, cx.path("id")?, false).await?.id;
    let versions = runtime::query(&*cx.rt, actor().name, &Versions { id: id.clone() }).await?;
    let body = |row: crate::incidents::operate::Version| VersionBody {
        version: row.version,
        at: row.at.to_micros_text(),
        action: row.change.action.as_str().to_owned(),
        by: row.change.by,
        reason: row.change.reason,
    };
    Response::json(&VersionsBody { id: id.to_string(), versions: versions.into_iter().map(body).collect() })
}

/// Id of the operator's key, and the reason, which is required.
fn who(cx: &Cx, reason: &str) -> Result<(String, String)> {
    let reason = prose("reason", Some(reason), MAX_REASON)?;
    let reason = reason.ok_or_else(|| Error::bad_request("`reason` is required: it is kept with the version."))?;
    Ok((cx.rt.environment().secrets.admin_key_id(), reason))
}
