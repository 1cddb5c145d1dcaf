//! `POST /verify-claim`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;
use crate::country::routes::leads::{IncidentLead, PlatformLead};
use crate::incidents::{EvidenceOf, IncidentBody};
use crate::reference::{ListedPlatforms, Names};
use engine::http::{Cx, Param, Response, Route, handler};
use engine::settings::Settings;
use facts::licence;
use facts::sentence::{Parameter, Sentence as Said, Sentences};
use facts::source::Source;

/// Most characters of a claim. Our choice: a long paragraph.
pub const MOST_CHARACTERS: usize = 2_000;
/// Checks of one claim: each of one topic in one country.
const MOST_CHECKS: usize = 20;
/// Rows of evidence in one answer.
const MOST_EVIDENCE: usize = 20;

pub const ROUTES: &[Route] = &[Route::post("/verify-claim", handler!(verify))
    .limit(engine::http::Limit::Data)
    .params(&[
        Param::optional("explain", "`true` or `1` adds `evidence`.").boolean().default("false"),
        Param::optional("require_evidence", "The same as `explain`.").boolean().default("false"),
    ])
    .accepts::<ClaimRequest>()
    .returns::<ClaimBody>()
    .summary("Check a claim in words against measurements and incidents.")];

#[derive(Debug, Deserialize, JsonSchema)]
pub struct ClaimRequest {
    /// One sentence, at most 2,000 characters.
    #[schemars(required, length(min = 1, max = 2000))]
    claim: Option<String>,
    /// `true` or `1` adds `evidence`.
    require_evidence: Option<Flag>,
    /// The same.
    explain: Option<Flag>,
}

/// `true` or `false`; `1` and `0` too, as numbers or as text, as in a query.
#[derive(Debug, Clone, Copy, JsonSchema)]
#[schemars(transparent)]
#[schemars(rename = "ClaimFlag")]
struct Flag(bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Flag, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_str().map_or_else(|| value.to_string(), str::to_owned).as_str() {
            "true" | "1" => Ok(Flag(true)),
            "false" | "0" => Ok(Flag(false)),
            _ => Err(serde::de::Error::custom(format!("{value} is neither true nor false (1 and 0 will do)"))),
        }
    }
}

/// What was understood.
#[derive(Debug, Serialize, JsonSchema)]
struct ParsedBody {
    /// English name of the country that the claim names.
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
    /// Networks that the claim is about; empty when it is about the whole country.
    networks: Vec<Network>,
    /// Other countries that are named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_countries: Vec<&'static str>,
}

/// The networks of all statements, each once: as they were found, else as they were read.
fn networks(claim: &Claim, found: &[CheckedClaim<'_>]) -> Vec<Network> {
    let known = found.iter().filter_map(|found| found.network.as_ref()).map(OnNetwork::known);
    let read = claim.readings.iter().flat_map(|reading| &reading.networks).cloned();
    each_once(known.chain(read), |known, read| match (read.asn, known.asn) {
        (Some(asn), Some(other)) => asn == other,
        // Read by its name, and found by its number.
        _ => known.name == read.name,
    })
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClaimDateRange")]
struct DateRange {
    start: String,
    end: String,
}

impl ParsedBody {
    fn new(claim: &Claim, found: &[CheckedClaim<'_>]) -> Self {
        let services: Vec<String> = claim.topics.iter().map(|topic| topic.name().to_owned()).collect();
        let (start, end) = claim.when.map(|when| (when.first.to_string(), when.last.to_string())).unzip();
        let day = claim.when.is_some_and(When::is_one_day);
        ParsedBody {
            country: claim.country.map(|country| country.name.to_owned()),
            country_code: claim.country.map(|country| country.code.to_owned()),
            service: services.first().cloned(),
            services,
            date: start.clone().filter(|_| day),
            date_range: start.zip(end).filter(|_| !day).map(|(start, end)| DateRange { start, end }),
            kind: claim.stance.map(|stance| stance.kind.as_str()),
            negated: claim.stance.is_some_and(|stance| stance.negated),
            networks: networks(claim, found),
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
    /// It was there when it was first measured: it began before `startTime`.
    start_unknown: bool,
    /// Nobody said when it ended: it is known to have gone on until `lastConfirmedAt`.
    end_unknown: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_confirmed_at: Option<String>,
    permalink: String,
    /// The code of `title`, unless an operator wrote it.
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

impl IncidentRow {
    fn new(incident: &Incident, settings: &Settings) -> IncidentRow {
        let body = IncidentBody::new(incident, settings);
        IncidentRow {
            sentences: Sentences::new().with("title", incidents::title_made(incident)),
            id: body.hash_id,
            title: body.title,
            kind: body.incident_type,
            severity: body.severity,
            confidence: body.confidence,
            status: body.status,
            start_time: body.start_time,
            start_unknown: body.start_unknown,
            end_unknown: body.end_unknown,
            last_confirmed_at: body.last_confirmed_at,
            permalink: body.permalink,
        }
    }
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
    claim: Said,
    confidence: f64,
    sentences: Sentences,
}

/// What the data say to one of several topics, countries and statements.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ClaimTopic")]
struct TopicBody {
    service: String,
    country_code: &'static str,
    /// The network that was looked at, when the statement is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    /// The statement is that it is not, or no longer, so.
    negated: bool,
    verdict: Verdict,
    confidence: f64,
    contradicted: bool,
    reason: Said,
    /// The platform that the subject belongs to, where nothing is known of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformLead>,
    /// The latest incident about the subject or its platform in the country, where nothing is known of now.
    #[serde(rename = "latestIncident", skip_serializing_if = "Option::is_none")]
    latest_incident: Option<IncidentLead>,
    sentences: Sentences,
}

impl TopicBody {
    fn new(found: &CheckedClaim<'_>, now: Timestamp) -> TopicBody {
        let judgement = found.judgement;
        let reason = reason::reason(found, now);
        TopicBody {
            service: found.claim.topic.name().to_owned(),
            country_code: found.claim.country.code,
            network: found.network.as_ref().map(OnNetwork::known),
            negated: found.claim.stance.negated,
            verdict: judgement.verdict,
            confidence: round(judgement.confidence),
            contradicted: judgement.contradicted,
            sentences: Sentences::new().with("reason", &reason),
            reason,
            platform: found.leads.platform.clone(),
            latest_incident: found.leads.latest_incident.clone(),
        }
    }
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
    reason: Said,
    /// What of the claim nobody checked, in its words: with any, `verdict` is `unconfirmed` at best.
    unchecked: Vec<String>,
    /// The verdict on the rest of the claim, where something is unchecked and nothing is contradicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    core: Option<Core>,
    parsed: ParsedBody,
    topics: Vec<TopicBody>,
    incidents: Vec<IncidentRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Vec<EvidenceBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    citation: Option<String>,
    license: String,
    generated_at: String,
    sentences: Sentences,
}

async fn verify(cx: Cx) -> Result<Response> {
    let request: ClaimRequest = cx.json()?;
    let text = request.claim.as_deref().map(str::trim).unwrap_or_default();
    if text.is_empty() {
        return Err(Error::bad_request("`claim` is required."));
    }
    if text.chars().count() > MOST_CHARACTERS {
        return Err(Error::bad_request(format!("`claim` takes at most {MOST_CHARACTERS} characters.")));
    }
    let asked = [request.explain, request.require_evidence].into_iter().flatten().any(|Flag(flag)| flag);
    let explain = asked | cx.flag("explain")?.unwrap_or(false) | cx.flag("require_evidence")?.unwrap_or(false);
    let listed = runtime::query(&*cx.rt, reference::actor().name, &ListedPlatforms).await?;
    let mut claim = parse(text, cx.now(), &listed);
    locate(&cx, &mut claim).await?;
    let checked = check(&*cx.rt, &claim, cx.now()).await?;
    let (found, unread) = (&checked.found, checked.unread);
    // A part that was not checked keeps all from being confirmed.
    let overall = checked.conclusion(&claim).filter(|whole| unread.is_none() || whole.contradicted);
    let reason = match (&overall, unread) {
        (Some(whole), _) => checked.reason(whole, cx.now()),
        (None, Some(unread)) => Said::new(unread),
        (None, None) => reason::missing(&claim),
    };
    let citation = overall.as_ref().map(|whole| citation(&cx, text, whole.verdict));
    let whole = overall.unwrap_or_default();
    let evidence = if explain { Some(evidence(&cx, found).await?) } else { None };
    // The strictest licence of what the answer rests on.
    let table = checked.counted.iter().map(|_| Source::AccessNow.licence());
    let detections = found.iter().flat_map(|found| &found.detection).flat_map(|(_, detection)| &detection.licences);
    let incidents = found.iter().flat_map(CheckedClaim::shown).map(|incident| &incident.draft.licence);
    let license = licence::effective(detections.chain(incidents).map(String::as_str).chain(table));
    let settings = cx.settings();
    Response::json(&ClaimBody {
        claim: text.to_owned(),
        verdict: whole.verdict,
        confidence: whole.confidence,
        contradicted: whole.contradicted,
        sentences: Sentences::new().with("reason", &reason),
        reason,
        unchecked: whole.unchecked,
        core: whole.core,
        parsed: ParsedBody::new(&claim, found),
        topics: found.iter().map(|found| TopicBody::new(found, cx.now())).collect(),
        incidents: each_once(found.iter().flat_map(CheckedClaim::shown), |a, b| a.id == b.id)
            .into_iter()
            .map(|incident| IncidentRow::new(incident, settings))
            .collect(),
        evidence,
        citation,
        license,
        generated_at: cx.now().to_string(),
    })
}

/// A claim that names a network by its number, and no country, is of the country of that network.
async fn locate(cx: &Cx, claim: &mut Claim) -> Result<()> {
    let networks = || claim.readings.iter().flat_map(|reading| &reading.networks).filter_map(|network| network.asn);
    if claim.country.is_some() || networks().next().is_none() {
        return Ok(());
    }
    let names = runtime::query(&*cx.rt, reference::actor().name, &Names { networks: networks().collect() }).await?;
    let of =
        |asn: u32| names.iter().find(|(known, _)| *known == asn).and_then(|(_, entry)| networks::home(&entry.name));
    for reading in claim.readings.iter_mut().filter(|reading| reading.countries.is_empty()) {
        reading.countries = reading.networks.iter().filter_map(|network| of(network.asn?)).take(1).collect();
        claim.country = claim.country.or(reading.countries.first().copied());
    }
    Ok(())
}

/// What was checked of a claim, and why not all of it.
pub struct Checked<'c> {
    pub found: Vec<CheckedClaim<'c>>,
    /// What it counts, where a table answers that.
    counted: Option<(Judgement, Said)>,
    /// A code of the table of sentences.
    unread: Option<&'static str>,
}

impl Checked<'_> {
    pub fn conclusion(&self, claim: &Claim) -> Option<Conclusion> {
        match (&self.counted, &claim.count) {
            (Some((judgement, _)), Some(count)) => Some(check::counted(claim, count, *judgement)),
            _ => check::conclude(claim, &self.found),
        }
    }

    pub fn reason(&self, whole: &Conclusion, now: Timestamp) -> Said {
        let said = match (&self.counted, self.found.get(whole.deciding)) {
            (Some((_, reason)), _) => reason.clone(),
            (None, Some(deciding)) => reason::overall(deciding, &self.found, now),
            (None, None) => Said::new("claim.nothing_checked"),
        };
        reason::unchecked_too(said, &whole.unchecked)
    }
}

/// One judgement per statement, country and topic; none when the claim lacks what a check needs.
pub async fn check<'c>(rt: &'c dyn Runtime, claim: &'c Claim, now: Timestamp) -> Result<Checked<'c>> {
    let mut checked = Checked { found: Vec::new(), counted: None, unread: None };
    if let Some(count) = &claim.count {
        checked.counted = counts::check(rt, count).await?;
        if checked.counted.is_some() {
            return Ok(checked);
        }
    }
    let ready =
        |reading: &&Reading| reading.stance.is_some() && !reading.countries.is_empty() && !reading.topics.is_empty();
    let readings = || claim.readings.iter().filter(ready);
    let parts = |reading: &Reading| reading.countries.len() * reading.topics.len() * reading.networks.len().max(1);
    if readings().map(parts).sum::<usize>() > MOST_CHECKS {
        checked.unread = Some("claim.too_many");
        return Ok(checked);
    }
    for reading in readings() {
        let ahead = reading.when.is_some_and(|when| when.start() > now);
        let why = reading.unread.or(match reading.mood {
            Mood::Fact if ahead => Some("claim.time_ahead"),
            Mood::Fact => None,
            Mood::Ahead => Some("claim.not_fact"),
            Mood::Account => Some("claim.account"),
        });
        checked.unread = checked.unread.or(why);
        let (Some(stance), None) = (reading.stance, why) else { continue };
        for country in &reading.countries {
            for topic in &reading.topics {
                checked.found.extend(gather::find(rt, country, topic, (reading, stance), now).await?);
            }
        }
    }
    Ok(checked)
}

async fn evidence(cx: &Cx, found: &[CheckedClaim<'_>]) -> Result<Vec<EvidenceBody>> {
    let mut rows: Vec<EvidenceBody> = Vec::new();
    for found in found {
        let country = found.claim.country.code;
        let what = reason::what(found);
        for incident in found.shown() {
            let ids: Vec<String> = incident.draft.evidence_ids.iter().take(MOST_EVIDENCE).cloned().collect();
            for row in runtime::query(&*cx.rt, incidents::actor().name, &EvidenceOf { ids }).await? {
                let signal = row.signal_type.unwrap_or_else(|| row.kind.clone());
                let claim = Said::new("claim.evidence.signal").with("signal", signal).with("domain", row.domain);
                let claim = claim.with("what", what.clone()).with("country", country);
                let claim = claim.with("asn", row.asn.map(Parameter::network));
                rows.push(EvidenceBody {
                    sentences: Sentences::new().with("claim", &claim),
                    claim,
                    source: row.source,
                    kind: row.kind,
                    permalink: row.permalink.or(row.source_url),
                    observed_at: row.observed_at.to_string(),
                    confidence: row.confidence,
                });
            }
        }
        let asns = found.network.as_ref().map(|on| on.asns.as_slice());
        rows.extend(found.detection.iter().flat_map(|(_, detection)| witnesses(detection, &what, country, asns)));
    }
    let mut rows = each_once(rows, |a, b| a.permalink.is_some() && a.permalink == b.permalink);
    rows.truncate(MOST_EVIDENCE);
    Ok(rows)
}

/// Measurements and lists behind a verdict; of some networks alone when they are given.
fn witnesses(detection: &Detection, what: &Said, country: &str, asns: Option<&[u32]>) -> Vec<EvidenceBody> {
    let confidence = detection.confidence;
    let explained = detection.explanation.iter().flat_map(|explanation| &explanation.roles);
    let witnesses = explained.flat_map(|role| &role.witnesses);
    let witnesses = witnesses.filter(|witness| asns.is_none_or(|asns| asns.contains(&witness.asn)));
    let says = |code| Said::new(code).with("what", what.clone()).with("country", country);
    let links = witnesses
        .map(|witness| (says("claim.evidence.measurement").with("asn", Parameter::network(witness.asn)), witness));
    let links = links.map(|(claim, witness)| EvidenceBody {
        sentences: Sentences::new().with("claim", &claim),
        claim,
        source: detection.sources.first().cloned().unwrap_or_default(),
        kind: "measurement".to_owned(),
        permalink: Some(witness.link.clone()),
        observed_at: witness.day.clone(),
        confidence,
    });
    // A list speaks of the country.
    let lists = detection.lists.iter().filter(|list| asns.is_none() && list.source.is_some());
    let lists = lists.map(|list| EvidenceBody {
        sentences: Sentences::new().with("claim", says("claim.evidence.list")),
        claim: says("claim.evidence.list"),
        source: "known_list".to_owned(),
        kind: list.kind.clone(),
        permalink: list.source.clone(),
        observed_at: list.date.clone(),
        confidence,
    });
    links.chain(lists).collect()
}

fn citation(cx: &Cx, claim: &str, verdict: Verdict) -> String {
    let today = cx.now().to_date_text();
    let base = cx.settings().base_url();
    format!("Heliograph. Claim check: \"{claim}\" ({}). {base}/verify-claim, retrieved {today}.", verdict.as_str())
}
