//! `/data/domain/{domain}`, and what is known about a site without asking every country.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::accessibility::{SubjectFactsIn, ask_all, known_of};
use super::answer::{StatusCounts, SubjectQuestion, license};
use super::leads::{self, IncidentLead, PlatformEverywhere};
use crate::analytics::tabular::{self, Tabular};
use crate::country::{Detection, ExplanationBody, NetworkAnswer, State, sentence};
use crate::world::Glance;
use crate::{Result, Timestamp, reference};
use engine::http::{Cx, Response};
use facts::sentence::{Sentence, Sentences};
use facts::source::Source;
use facts::subject::Subject;
use facts::subject::is_messaging;
use facts::verdict::window::Ageing;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainIsp")]
struct IspRow {
    asn: String,
    name: String,
    block_rate: f64,
    measurements: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainBlockedIn")]
struct BlockedIn {
    country: String,
    country_name: String,
    confidence: f64,
    basis: String,
    methods: Vec<String>,
    last_checked: String,
    summary: Sentence,
    isps: Vec<IspRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<ExplanationBody>,
    sentences: Sentences,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DomainCounts")]
struct DomainSummary {
    blocked_in_countries: usize,
    accessible_in_countries: usize,
    unknown_in_countries: usize,
    /// Networks that block, including those in countries that are not blocked as a whole.
    total_blocking_isps: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct DomainBody {
    domain: String,
    generated: String,
    period: &'static str,
    /// `blocked` if any country blocks it, `accessible` if no country blocks it and one is decided, otherwise
    /// `unknown`.
    status: &'static str,
    #[serde(flatten)]
    freshness: Freshness,
    summary: DomainSummary,
    blocked_in: Vec<BlockedIn>,
    /// Codes of the countries in which it is accessible.
    accessible_in: Vec<String>,
    /// Codes of the countries where it was measured or is listed, and no verdict holds now.
    unknown_in: Vec<String>,
    /// The platform that the domain belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<PlatformEverywhere>,
    /// The latest incident about the domain or its platform anywhere, if the status is unknown.
    #[serde(rename = "latestIncident", skip_serializing_if = "Option::is_none")]
    latest_incident: Option<IncidentLead>,
    license: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// When a subject was last measured (decision answers-about-a-time).
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DomainFreshness")]
pub(super) struct Freshness {
    /// Time of the newest measurement anywhere, or date of the newest list that decided; null if there is neither.
    last_checked: Option<String>,
    /// When that became too old to count; absent while anything counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
}

impl Freshness {
    /// Made from what the survey knows and what the suspects answered, as of a time.
    pub fn new(
        subject: &Subject,
        measured: Option<Timestamp>,
        answers: &[(SubjectQuestion, Detection)],
        at: Timestamp,
    ) -> Freshness {
        let newest = answers.iter().filter_map(|(_, answer)| answer.seen()).chain(measured).max();
        let decided = answers.iter().any(|(_, answer)| answer.state != State::Unknown);
        let limit = subject.roles.iter().map(|role| Ageing::of(is_messaging(&role.key)).limit).max().unwrap_or(0);
        let stale = newest.map(|newest| newest.plus(limit)).filter(|stale| !decided && *stale <= at);
        Freshness {
            last_checked: newest.map(|newest| newest.to_string()),
            stale_since: stale.map(|stale| stale.to_string()),
        }
    }
}

const PERIOD: &str = "30 days (messaging services 14 days)";

pub(super) fn status(counts: &StatusCounts) -> &'static str {
    match (counts.blocked, counts.accessible) {
        (0, 0) => "unknown",
        (0, _) => "accessible",
        _ => "blocked",
    }
}

/// A page as CSV: a line for each blocking network. A country without one has a line without a number.
const DOMAIN_TABLE: Tabular = Tabular {
    name: "domain",
    list: "blocked_in",
    inner: Some("isps"),
    columns: &[
        "country",
        "country_name",
        "basis",
        "confidence",
        "methods",
        "last_checked",
        "asn",
        "name",
        "block_rate",
        "measurements",
    ],
};

pub(super) async fn subject(cx: &Cx) -> Result<Subject> {
    reference::subject(&*cx.rt, cx.path("domain")?).await
}

pub async fn domain(cx: Cx) -> Result<Response> {
    let page = cx.kept(domain_page(&cx)).await?;
    tabular::send(&cx, &DOMAIN_TABLE, &subject(&cx).await?.name, page)
}

async fn domain_page(cx: &Cx) -> Result<Response> {
    let subject = subject(cx).await?;
    let at = cx.as_of()?;
    let explain = cx.flag("explain")?.unwrap_or(false);
    let survey = survey(cx, &subject, at).await?;
    let mut answers = ask_all(cx, &subject, survey.suspects(), at, false).await?;
    let freshness = Freshness::new(&subject, survey.measured(), &answers, at.unwrap_or_else(|| cx.now()));
    let counts = survey.counts(&answers);
    let (accessible_in, unknown_in) =
        (survey.all_in(State::Accessible, &answers), survey.all_in(State::Unknown, &answers));
    let Survey { mut blocking, licences, .. } = survey;
    let mut licences: Vec<String> = licences.into_iter().collect();
    licences.extend(answers.iter().flat_map(|(_, answer)| answer.licences.clone()));
    blocking += answers.iter().map(|(_, answer)| blocking_networks(answer).count()).sum::<usize>();
    answers.retain(|(_, answer)| answer.state == State::Blocked);
    let mut blocked_in = Vec::with_capacity(answers.len());
    for (question, mut answer) in answers {
        if explain {
            let question = SubjectQuestion::new(&question.code, at, true)?;
            answer.explanation =
                question.ask_briefly(&*cx.rt, vec![subject.clone()]).await?.pop().and_then(|answer| answer.explanation);
        }
        blocked_in.push(blocked(&question, answer));
    }
    let status = status(&counts);
    let (platform, latest_incident) = leads(cx, &subject, status, at).await?;
    Response::json(&DomainBody {
        domain: subject.name.clone(),
        generated: tabular::generated(cx, at).to_string(),
        period: PERIOD,
        status,
        freshness,
        summary: DomainSummary {
            blocked_in_countries: counts.blocked,
            accessible_in_countries: counts.accessible,
            unknown_in_countries: counts.unknown,
            total_blocking_isps: blocking,
        },
        blocked_in,
        accessible_in,
        unknown_in,
        platform,
        latest_incident,
        license: license(&licences),
        as_of: at.map(|at| at.to_string()),
    })
}

/// The platform and the incident that the page leads on to.
async fn leads(
    cx: &Cx,
    subject: &Subject,
    status: &str,
    at: Option<Timestamp>,
) -> Result<(Option<PlatformEverywhere>, Option<IncidentLead>)> {
    let owner = reference::owner(&*cx.rt, subject).await?;
    let names = leads::names(subject, owner.as_ref());
    let platform = match owner {
        Some(owner) => {
            let counts = counts(cx, &owner.platform.subject(), at).await?;
            Some(PlatformEverywhere::new(owner, &counts, &cx.settings().base_url()))
        }
        None => None,
    };
    let latest = match status {
        "unknown" => leads::latest(&*cx.rt, None, names, at).await?,
        _ => None,
    };
    Ok((platform, latest))
}

/// The numbers of countries in which a subject is blocked, accessible, and neither.
async fn counts(cx: &Cx, subject: &Subject, at: Option<Timestamp>) -> Result<StatusCounts> {
    let survey = survey(cx, subject, at).await?;
    let answers = ask_all(cx, subject, survey.suspects(), at, true).await?;
    Ok(survey.counts(&answers))
}

/// What is known about a subject without asking every country, since a popular site is measured in every country and
/// blocked in few. Only questions about the past go to every country.
#[derive(Default)]
pub(super) struct Survey {
    /// All countries that know something, ordered by code.
    pub countries: Vec<Surveyed>,
    /// Number of networks that block in those countries.
    pub blocking: usize,
    /// Licences of the sources in those countries.
    pub licences: BTreeSet<String>,
}

/// A country that knows something about a subject.
pub(super) struct Surveyed {
    pub code: String,
    /// The state by its latest summary; `None` if it may block the subject, and so must be asked.
    state: Option<State>,
    /// When the subject was last measured there; `None` if it never was.
    measured: Option<Timestamp>,
}

impl Survey {
    /// A survey of this country alone.
    pub fn one(code: &str) -> Survey {
        Survey { countries: vec![Surveyed::suspect(code.to_owned())], ..Survey::default() }
    }

    /// When the subject was last measured anywhere, as far as the survey knows.
    pub fn measured(&self) -> Option<Timestamp> {
        self.countries.iter().filter_map(|country| country.measured).max()
    }

    /// The countries that may block the subject.
    pub fn suspects(&self) -> Vec<String> {
        let suspects = self.countries.iter().filter(|country| country.state.is_none());
        suspects.map(|country| country.code.clone()).collect()
    }

    /// The states of all countries, with the answers of the suspects.
    pub fn counts(&self, answers: &[(SubjectQuestion, Detection)]) -> StatusCounts {
        let mut counts = StatusCounts::count(answers.iter().map(|(_, answer)| answer));
        for state in self.countries.iter().filter_map(|country| country.state) {
            match state {
                State::Accessible => counts.accessible += 1,
                _ => counts.unknown += 1,
            }
        }
        counts
    }

    /// The codes of all countries in a state, with the answers of the suspects.
    fn all_in(&self, state: State, answers: &[(SubjectQuestion, Detection)]) -> Vec<String> {
        let asked = answers.iter().filter(|(_, answer)| answer.state == state).map(|(question, _)| &question.code);
        let known = self.countries.iter().filter(|country| country.state == Some(state)).map(|country| &country.code);
        let codes: BTreeSet<&String> = asked.chain(known).collect();
        codes.into_iter().cloned().collect()
    }
}

impl Surveyed {
    fn suspect(code: String) -> Surveyed {
        Surveyed { code, state: None, measured: None }
    }

    /// Whether the country may know anything from this day on. A country that was last measured before the day has no
    /// measurements from then on. A list has a date of its own, so a country that may have one is asked.
    pub fn may_know_since(&self, day: i64) -> bool {
        self.state.is_none() || self.measured.is_some_and(|last| last.day() >= day)
    }
}

pub(super) async fn survey(cx: &Cx, subject: &Subject, at: Option<Timestamp>) -> Result<Survey> {
    let known = known_of(cx, subject).await?;
    let known = known.countries();
    if at.is_some() {
        let countries = known.into_iter().map(|known| Surveyed::suspect(known.code.to_owned())).collect();
        return Ok(Survey { countries, ..Survey::default() });
    }
    let mut survey = Survey { countries: Vec::with_capacity(known.len()), ..Survey::default() };
    let mut sources: BTreeSet<Source> = BTreeSet::new();
    for SubjectFactsIn { code, listed, seen } in known {
        let essential = |glance: &&Glance| subject.roles.get(glance.series).is_some_and(|role| role.essential);
        let seen = || seen.iter().filter(essential);
        let suspect = listed || seen().any(|glance| glance.state == State::Blocked);
        let measured = seen().map(|glance| glance.last_checked).max();
        let state = match seen().any(|glance| glance.state == State::Accessible) {
            true => State::Accessible,
            false => State::Unknown,
        };
        let state = (!suspect).then_some(state);
        survey.countries.push(Surveyed { code: code.to_owned(), state, measured });
        if suspect {
            continue;
        }
        let blocking: BTreeSet<u32> = seen().flat_map(|glance| &glance.blocking).copied().collect();
        survey.blocking += blocking.len();
        sources.extend(seen().flat_map(|glance| &glance.sources));
    }
    survey.licences = sources.into_iter().map(|source| source.licence_under(cx.settings()).to_owned()).collect();
    Ok(survey)
}

fn blocking_networks(answer: &Detection) -> impl Iterator<Item = &NetworkAnswer> {
    answer.networks.iter().filter(|network| network.state == State::Blocked)
}

fn blocked(question: &SubjectQuestion, answer: Detection) -> BlockedIn {
    let summary = sentence(&answer, &question.code);
    BlockedIn {
        sentences: Sentences::new().with("summary", &summary),
        summary,
        country: question.code.clone(),
        country_name: question.name.clone(),
        confidence: answer.confidence,
        isps: blocking_networks(&answer)
            .map(|network| IspRow {
                asn: format!("AS{}", network.asn),
                name: network.name.clone().unwrap_or_else(|| format!("AS{}", network.asn)),
                block_rate: network.block_rate,
                measurements: network.measurements,
            })
            .collect(),
        basis: answer.basis,
        methods: answer.methods,
        last_checked: answer.last_checked.to_string(),
        explanation: answer.explanation.map(ExplanationBody::from),
    }
}
