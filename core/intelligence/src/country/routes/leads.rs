//! What an answer about a site leads on to (decision answers-lead-on): the platform that the site belongs to, with its
//! status, and the latest incident about either if the present status is unknown. Single answers, batches and claims all
//! have it from [`of`].

use schemars::JsonSchema;
use serde::Serialize;

use super::answer::{StatusCounts, SubjectQuestion};
use crate::country::{Detection, State, sentence};
use crate::incidents::{self, Incident, LatestAbout, LatestAboutEach, Then};
use crate::reference::{self, Owner};
use crate::{Result, Timestamp};
use engine::runtime::{self, Runtime};
use facts::sentence::{Sentence, Sentences};
use facts::subject::Subject;

/// The platform that a site belongs to, and its status in the asked country.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformLead {
    slug: String,
    label: String,
    /// The role of the site in the platform, such as `website`; null if a target list does not say.
    role: Option<&'static str>,
    /// Whether the platform is blocked when the site is.
    essential: bool,
    status: State,
    confidence: f64,
    basis: String,
    evidence_count: u32,
    last_checked: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    summary: Sentence,
    url: String,
    sentences: Sentences,
}

/// The platform that a site belongs to, and its status in all countries.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlatformEverywhere {
    slug: String,
    label: String,
    role: Option<&'static str>,
    essential: bool,
    /// The status that the page of the platform shows.
    status: &'static str,
    blocked_in_countries: usize,
    accessible_in_countries: usize,
    unknown_in_countries: usize,
    url: String,
}

impl PlatformEverywhere {
    pub fn new(owner: Owner, counts: &StatusCounts, base: &str) -> PlatformEverywhere {
        let url = page(base, &owner.platform.slug);
        PlatformEverywhere {
            slug: owner.platform.slug,
            label: owner.platform.label,
            role: owner.role,
            essential: owner.essential,
            status: super::domain::status(counts),
            blocked_in_countries: counts.blocked,
            accessible_in_countries: counts.accessible,
            unknown_in_countries: counts.unknown,
            url,
        }
    }
}

fn page(base: &str, slug: &str) -> String {
    format!("{base}/data/domain/{slug}")
}

/// An incident that an answer names.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentLead {
    /// The readable id.
    id: String,
    country: String,
    title: String,
    status: &'static str,
    start_time: String,
    /// Absent while the incident goes on. In answers about the past, absent while it went on then.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_time: Option<String>,
    /// True if no source said when it ended. Then `endTime` is when it was last said to go on.
    end_unknown: bool,
    summary: Sentence,
    url: String,
    sentences: Sentences,
}

impl IncidentLead {
    /// The incident as it was at a moment, at which it had begun.
    fn new(incident: &Incident, at: Timestamp, base: &str) -> Option<IncidentLead> {
        let Then { incident, summary } = incident.at(at)?;
        Some(IncidentLead {
            sentences: Sentences::new().with("title", incidents::title_made(&incident)).with("summary", &summary),
            id: incident.id.to_string(),
            country: incident.id.country.clone(),
            title: incidents::title(&incident),
            status: incident.status().as_str(),
            start_time: incident.start().to_string(),
            end_time: incident.end().filter(|end| *end <= at).map(|end| end.to_string()),
            end_unknown: incident.is_end_unknown(),
            summary,
            url: format!("{base}/data/incidents/{}", incident.id),
        })
    }
}

/// What an answer leads on to.
#[derive(Debug, Clone, Default)]
pub struct Leads {
    pub platform: Option<PlatformLead>,
    pub latest_incident: Option<IncidentLead>,
}

impl Leads {
    /// The summary, followed by what it leads on to in words.
    pub fn after(&self, summary: Sentence) -> Vec<Sentence> {
        let mut said = vec![summary];
        if let Some(platform) = &self.platform {
            let lead = Sentence::new("check.platform").with("platform", &platform.label);
            said.push(lead.with("summary", platform.summary.clone()));
        }
        if let Some(incident) = &self.latest_incident {
            let lead = Sentence::new("check.latest_incident").with("incident", &incident.id);
            said.push(lead.with("summary", incident.summary.clone()));
        }
        said
    }
}

/// An answer about one subject, and what it leads on to. `brief` leaves networks out.
pub async fn ask(
    rt: &dyn Runtime,
    question: &SubjectQuestion,
    subject: Subject,
    brief: bool,
) -> Result<(Detection, Leads)> {
    let mut answers = question.answers(rt, vec![subject.clone()], brief).await?;
    let answer = answers.pop().ok_or_else(|| crate::Error::internal("no answer to one question"))?;
    let asked = [Answered { subject: &subject, state: answer.state, also: Vec::new() }];
    let leads = of(rt, question, &asked).await?.pop().unwrap_or_default();
    Ok((answer, leads))
}

/// Answers about several subjects, without networks, and what each leads on to.
pub async fn ask_each(
    rt: &dyn Runtime,
    question: &SubjectQuestion,
    subjects: Vec<Subject>,
) -> Result<Vec<(Detection, Leads)>> {
    let answers = question.answers(rt, subjects.clone(), true).await?;
    let asked = subjects.iter().zip(&answers);
    let asked: Vec<Answered<'_>> =
        asked.map(|(subject, answer)| Answered { subject, state: answer.state, also: Vec::new() }).collect();
    let leads = of(rt, question, &asked).await?;
    Ok(answers.into_iter().zip(leads).collect())
}

/// A subject whose answer is known.
pub struct Answered<'a> {
    pub subject: &'a Subject,
    pub state: State,
    /// Other names that incidents may have for it.
    pub also: Vec<String>,
}

/// What answers in one country lead on to, in their order.
pub async fn of(rt: &dyn Runtime, question: &SubjectQuestion, asked: &[Answered<'_>]) -> Result<Vec<Leads>> {
    let subjects: Vec<&Subject> = asked.iter().map(|one| one.subject).collect();
    let owners = reference::owners(rt, &subjects).await?;
    let mut platforms: Vec<Subject> = Vec::new();
    for owner in owners.iter().flatten() {
        let subject = owner.platform.subject();
        if !platforms.contains(&subject) {
            platforms.push(subject);
        }
    }
    let of_platforms = match platforms.is_empty() {
        true => Vec::new(),
        false => question.without_explanation().answers(rt, platforms.clone(), true).await?,
    };
    let until = question.at.unwrap_or_else(|| rt.now());
    let unknown = || asked.iter().zip(&owners).filter(|(one, _)| one.state == State::Unknown);
    let latest = unknown().map(|(one, owner)| {
        let mut subjects = names(one.subject, owner.as_ref());
        subjects.extend(one.also.iter().cloned());
        LatestAbout { country: Some(question.code.clone()), subjects, until }
    });
    let latest: Vec<LatestAbout> = latest.collect();
    let mut found = match latest.is_empty() {
        true => Vec::new(),
        false => runtime::query(rt, incidents::actor().name, &LatestAboutEach(latest)).await?,
    }
    .into_iter();
    let base = rt.environment().settings.base_url();
    let each = asked.iter().zip(owners).map(|(one, owner)| {
        let platform = owner.and_then(|owner| {
            let at = platforms.iter().position(|known| *known == owner.platform.subject())?;
            Some(platform(question, owner, of_platforms.get(at)?.clone(), &base))
        });
        let latest = if one.state == State::Unknown { found.next().flatten() } else { None };
        let latest_incident = latest.and_then(|incident| IncidentLead::new(&incident, until, &base));
        Leads { platform, latest_incident }
    });
    Ok(each.collect())
}

fn platform(question: &SubjectQuestion, owner: Owner, of: Detection, base: &str) -> PlatformLead {
    let url = page(base, &owner.platform.slug);
    let summary = sentence(&of, &question.code);
    PlatformLead {
        sentences: Sentences::new().with("summary", &summary),
        summary,
        slug: owner.platform.slug,
        label: owner.platform.label,
        role: owner.role,
        essential: owner.essential,
        status: of.state,
        confidence: of.confidence,
        basis: of.basis,
        evidence_count: of.evidence_count,
        last_checked: of.last_checked.to_string(),
        stale_since: of.stale_since.map(|since| since.to_string()),
        url,
    }
}

/// The names that incidents may have for a subject: its own name, its roles, and the platform that it belongs to.
pub fn names(subject: &Subject, owner: Option<&Owner>) -> Vec<String> {
    let roles = subject.roles.iter().filter(|role| role.essential).map(|role| role.key.clone());
    let mut names: Vec<String> = std::iter::once(subject.name.clone()).chain(roles).collect();
    names.extend(owner.map(|owner| owner.platform.slug.clone()));
    names.dedup();
    names
}

/// The incident about any of these subjects that began last, in one country or anywhere, as far as is known at a time.
pub async fn latest(
    rt: &dyn Runtime,
    country: Option<&str>,
    subjects: Vec<String>,
    at: Option<Timestamp>,
) -> Result<Option<IncidentLead>> {
    let at = at.unwrap_or_else(|| rt.now());
    let asked = LatestAbout { country: country.map(str::to_owned), subjects, until: at };
    let found = runtime::query(rt, incidents::actor().name, &asked).await?;
    let base = rt.environment().settings.base_url();
    Ok(found.and_then(|incident| IncidentLead::new(&incident, at, &base)))
}
