//! `POST /verify-claim` (interface 4.1, spec intelligence 2.8).

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{Judgement, Verdict, Why, together};
use super::gather::{self, Found, Period};
use super::parse::{Claim, parse};
use crate::country::{Detection, State, plain_date, sentence};
use crate::http::{Cx, Response, Route, handler};
use crate::incidents::{self, EvidenceOf, Incident, IncidentBody, Status};
use crate::reference::{self, ListedPlatforms};
use crate::{Error, Result, licence, runtime};

/// Most characters of a claim. Our choice: a long paragraph.
const MOST_CHARACTERS: usize = 2_000;
/// Topics of one claim that are checked.
const MOST_TOPICS: usize = 5;
/// Rows of evidence in one answer.
const MOST_EVIDENCE: usize = 20;

pub const ROUTES: &[Route] = &[Route::post("/verify-claim", handler!(verify))
    .limit(crate::http::Limit::Data)
    .accepts::<ClaimRequest>()
    .returns::<ClaimBody>()
    .summary("Check a claim in words against measurements and incidents.")];

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ClaimRequest {
    /// One sentence, at most 2,000 characters.
    claim: Option<String>,
    /// `true` adds `evidence`.
    require_evidence: Option<bool>,
}

/// What was understood.
#[derive(Debug, Serialize, JsonSchema)]
struct ParsedBody {
    country: Option<String>,
    country_code: Option<String>,
    /// A platform slug, a domain, or `internet`.
    service: Option<String>,
    /// All that the claim names.
    services: Vec<String>,
    /// The day, when it is one.
    date: Option<String>,
    date_range: Option<DateRange>,
    /// `block`, `throttling` or `shutdown`.
    kind: Option<&'static str>,
    /// The claim is that it is not, or no longer, so.
    negated: bool,
    /// Other countries that are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_countries: Vec<&'static str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DateRange {
    start: String,
    end: String,
}

impl From<&Claim> for ParsedBody {
    fn from(claim: &Claim) -> Self {
        let services: Vec<String> = claim.topics.iter().map(|topic| topic.name().to_owned()).collect();
        ParsedBody {
            country: claim.country.map(|country| country.name.to_owned()),
            country_code: claim.country.map(|country| country.code.to_owned()),
            service: services.first().cloned(),
            services,
            date: claim.when.filter(|when| when.is_one_day()).map(|when| when.first.to_string()),
            date_range: claim
                .when
                .filter(|when| !when.is_one_day())
                .map(|when| DateRange { start: when.first.to_string(), end: when.last.to_string() }),
            kind: claim.stance.map(|stance| stance.kind.as_str()),
            negated: claim.stance.is_some_and(|stance| stance.negated),
            other_countries: claim.others.clone(),
        }
    }
}

/// An incident that bears on the claim.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct IncidentRow {
    id: String,
    title: String,
    #[serde(rename = "type")]
    kind: incidents::IncidentType,
    severity: incidents::Severity,
    confidence: f64,
    status: incidents::Status,
    start_time: String,
    permalink: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClaimEvidence")]
struct EvidenceBody {
    source: String,
    kind: String,
    permalink: Option<String>,
    observed_at: String,
    /// What this row says.
    claim: String,
    confidence: f64,
}

/// What the data say to one of several topics.
#[derive(Debug, Serialize, JsonSchema)]
struct TopicBody {
    service: String,
    verdict: Verdict,
    confidence: f64,
    contradicted: bool,
    reason: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ClaimBody {
    claim: String,
    verdict: Verdict,
    /// How sure the verdict is, 0 to 1; 0 without data.
    confidence: f64,
    /// The data decide the opposite of the claim.
    contradicted: bool,
    /// One sentence.
    reason: String,
    parsed: ParsedBody,
    topics: Vec<TopicBody>,
    incidents: Vec<IncidentRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Vec<EvidenceBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    citation: Option<String>,
    license: String,
    generated_at: String,
}

async fn verify(cx: Cx) -> Result<Response> {
    let request: ClaimRequest = cx.json()?;
    let text = request.claim.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Error::bad_request("`claim` is required."))?;
    if text.chars().count() > MOST_CHARACTERS {
        return Err(Error::bad_request(format!("`claim` takes at most {MOST_CHARACTERS} characters.")));
    }
    let listed = runtime::query(&*cx.rt, reference::actor().name, &ListedPlatforms).await?;
    let claim = parse(text, cx.now(), &listed);
    let found = check(&cx, &claim).await?;
    let parts: Vec<Judgement> = found.iter().map(|found| found.judgement).collect();
    let overall = together(&parts);
    let evidence = match request.require_evidence.unwrap_or(false) {
        true => Some(evidence(&cx, &claim, &found).await?),
        false => None,
    };
    let settings = cx.settings();
    Response::json(&ClaimBody {
        claim: text.to_owned(),
        verdict: overall.map_or(Verdict::InsufficientData, |overall| overall.verdict),
        confidence: overall.map_or(0.0, |overall| crate::country::round(overall.confidence)),
        contradicted: overall.is_some_and(|overall| overall.contradicted),
        reason: match overall {
            Some(overall) => found
                .iter()
                .find(|found| found.judgement == overall)
                .map(|found| reason(&claim, found, cx.now()))
                .unwrap_or_default(),
            None => missing(&claim).to_owned(),
        },
        parsed: ParsedBody::from(&claim),
        topics: found
            .iter()
            .map(|found| TopicBody {
                service: found.topic.name().to_owned(),
                verdict: found.judgement.verdict,
                confidence: crate::country::round(found.judgement.confidence),
                contradicted: found.judgement.contradicted,
                reason: reason(&claim, found, cx.now()),
            })
            .collect(),
        incidents: found
            .iter()
            .flat_map(|found| &found.incidents)
            .map(|incident| IncidentBody::new(incident, settings))
            .map(|body| IncidentRow {
                id: body.hash_id,
                title: body.title,
                kind: body.incident_type,
                severity: body.severity,
                confidence: body.confidence,
                status: body.status,
                start_time: body.start_time,
                permalink: body.permalink,
            })
            .collect(),
        evidence,
        citation: overall.map(|overall| citation(&cx, text, overall)),
        license: stands_under(&found),
        generated_at: cx.now().to_string(),
    })
}

/// One judgement per topic; none when the claim lacks what a check needs.
async fn check(cx: &Cx, claim: &Claim) -> Result<Vec<Found>> {
    let (Some(country), Some(stance)) = (claim.country, claim.stance) else { return Ok(Vec::new()) };
    let ahead = claim.when.is_some_and(|when| when.start() > cx.now());
    if ahead {
        return Ok(Vec::new());
    }
    let period = Period::of(claim, cx.now());
    let mut found = Vec::with_capacity(claim.topics.len().min(MOST_TOPICS));
    for topic in claim.topics.iter().take(MOST_TOPICS) {
        found.push(gather::find(&*cx.rt, country.code, topic.clone(), stance, period).await?);
    }
    Ok(found)
}

/// What a claim lacks.
fn missing(claim: &Claim) -> &'static str {
    if claim.country.is_none() {
        "The claim names no country that we recognise."
    } else if claim.topics.is_empty() {
        "The claim names no service, site or network that we recognise."
    } else if claim.stance.is_none() {
        "The claim does not say that anything is blocked, slowed, cut off or reachable."
    } else {
        "The claim speaks of a time that lies ahead."
    }
}

/// One sentence for people.
fn reason(claim: &Claim, found: &Found, now: crate::Timestamp) -> String {
    let country = claim.country.map_or("", |country| country.name);
    let name = gather::label(&found.topic);
    let when = match claim.when {
        Some(when) if when.is_one_day() => format!(" on {}", plain_date(when.start())),
        Some(when) => format!(" between {} and {}", plain_date(when.start()), plain_date(when.end().plus(-1).min(now))),
        None => String::new(),
    };
    let measured = |fallback: &str| match &found.detection {
        Some((_, detection)) if detection.state != State::Unknown => sentence(detection, country),
        _ => fallback.to_owned(),
    };
    match found.judgement.why {
        why @ (Why::Incident | Why::Suspected) => {
            deciding(found, why == Why::Suspected).map(incidents::sentence).unwrap_or_default()
        }
        Why::Ended if claim.when.is_some() => {
            format!("{name} was blocked in {country} before, and not any more{when} or within days after it.")
        }
        Why::Ended => format!("{name} was blocked in {country} before, and is not any more."),
        Why::Blocked | Why::Accessible | Why::Partly | Why::Listed => measured(""),
        Why::OtherKind => format!("Interference with {name} is known in {country}{when}, but not as throttling."),
        Why::TooLittle => format!("There are measurements of {name} in {country}{when}, too few to decide."),
        Why::Nothing => match &found.detection {
            // Measured, and too long ago to speak for today.
            Some((_, detection)) if claim.when.is_none() && detection.stale_since.is_some() => {
                sentence(detection, country)
            }
            _ => format!("Nothing is measured or recorded about {name} in {country}{when}."),
        },
    }
}

/// The incident whose confidence the answer gives; of equal ones that about the topic itself, then the newest.
fn deciding(found: &Found, suspected: bool) -> Option<&Incident> {
    let of_kind = found.incidents.iter().filter(|incident| (incident.status() == Status::Suspected) == suspected);
    let about = |incident: &Incident| incident.draft.subject == found.topic.name();
    of_kind.reduce(|best, next| match next.confidence().total_cmp(&best.confidence()) {
        Ordering::Greater => next,
        Ordering::Equal if about(next) && !about(best) => next,
        _ => best,
    })
}

async fn evidence(cx: &Cx, claim: &Claim, found: &[Found]) -> Result<Vec<EvidenceBody>> {
    let country = claim.country.map_or("", |country| country.name);
    let mut rows = Vec::new();
    for found in found {
        let name = gather::label(&found.topic);
        for incident in &found.incidents {
            let ids: Vec<String> = incident.draft.evidence_ids.iter().take(MOST_EVIDENCE).cloned().collect();
            for row in runtime::query(&*cx.rt, incidents::actor().name, &EvidenceOf { ids }).await? {
                let network = row.asn.map(|asn| format!(" on AS{asn}")).unwrap_or_default();
                let what = row.signal_type.unwrap_or_else(|| row.kind.clone());
                rows.push(EvidenceBody {
                    claim: format!("{what} of {} in {country}{network}", row.domain.as_deref().unwrap_or(&name)),
                    source: row.source,
                    kind: row.kind,
                    permalink: row.permalink.or(row.source_url),
                    observed_at: row.observed_at.to_string(),
                    confidence: row.confidence,
                });
            }
        }
        rows.extend(found.detection.iter().flat_map(|(_, detection)| witnesses(detection, &name, country)));
    }
    let mut seen = std::collections::BTreeSet::new();
    rows.retain(|row| row.permalink.is_none() || seen.insert(row.permalink.clone()));
    rows.truncate(MOST_EVIDENCE);
    Ok(rows)
}

/// Measurements and lists behind a verdict.
fn witnesses(detection: &Detection, name: &str, country: &str) -> Vec<EvidenceBody> {
    let explained = detection.explanation.iter().flat_map(|explanation| &explanation.roles);
    let links = explained.flat_map(|role| &role.witnesses).map(|witness| EvidenceBody {
        source: detection.sources.first().cloned().unwrap_or_default(),
        kind: "measurement".to_owned(),
        permalink: Some(witness.link.clone()),
        observed_at: witness.day.clone(),
        claim: format!("{name} blocked in {country} on AS{}", witness.asn),
        confidence: detection.confidence,
    });
    let lists = detection.lists.iter().filter_map(|list| {
        Some(EvidenceBody {
            source: "known_list".to_owned(),
            kind: list.kind.clone(),
            permalink: Some(list.source.clone()?),
            observed_at: list.date.clone(),
            claim: format!("{name} listed as blocked in {country}"),
            confidence: detection.confidence,
        })
    });
    links.chain(lists).collect()
}

/// How to cite the answer.
fn citation(cx: &Cx, claim: &str, overall: Judgement) -> String {
    let today = cx.now().to_date_text();
    let base = cx.settings().base_url();
    format!(
        "Heliograph. Claim check: \"{claim}\" ({}). {base}/verify-claim, retrieved {today}.",
        overall.verdict.as_str()
    )
}

/// The strictest licence of what the answer rests on.
fn stands_under(found: &[Found]) -> String {
    let detections = found.iter().flat_map(|found| &found.detection).flat_map(|(_, detection)| &detection.licences);
    let incidents = found.iter().flat_map(|found| &found.incidents).map(|incident| &incident.draft.licence);
    licence::effective(detections.chain(incidents).map(String::as_str))
}
