//! Decides which changes of an incident are news for subscribers, and writes the news.

use serde::{Deserialize, Serialize};

use super::{RECENT, desk};
use crate::incidents::{Incident, Severity, Status, permalink, title, title_made};
use crate::{Error, Result, Timestamp, world};
use engine::actor::Turn;
use engine::kv::Table;
use facts::sentence::Sentences;

/// The kind of news about an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// Sent once: when the incident is first more than suspected.
    Created,
    /// Its status, severity or networks changed, or it was withdrawn or merged into another incident.
    Updated,
    Resolved,
    /// A test that the subscriber asked for.
    Test,
}

impl Event {
    pub const fn as_str(self) -> &'static str {
        match self {
            Event::Created => "incident.created",
            Event::Updated => "incident.updated",
            Event::Resolved => "incident.resolved",
            Event::Test => "incident.test",
        }
    }
}

/// News of one incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct News {
    pub event: Event,
    /// Two letters.
    pub country: String,
    pub severity: Severity,
    /// The whole payload as JSON. It is the same for every subscriber and at every attempt.
    pub body: String,
}

/// The payload.
#[derive(Serialize)]
struct Payload<'a> {
    event: &'static str,
    timestamp: String,
    incident: NewsIncident<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewsIncident<'a> {
    /// The hash id.
    id: &'a str,
    /// The readable id.
    hash_id: String,
    country: &'a str,
    country_name: String,
    title: String,
    severity: Severity,
    confidence: f64,
    status: Status,
    report_url: String,
    /// Why it was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    retracted: Option<&'a str>,
    /// The readable id of the incident that it was merged into.
    #[serde(skip_serializing_if = "Option::is_none")]
    merged_into: Option<String>,
    /// What the title says.
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

/// In the incident actor: incidents that subscribers have heard of.
const TOLD: Table<(String, u32, u32), ()> = Table::new(31);

/// Hands a change to the desk if it is news. It is called with every version that is stored, in the same turn.
pub fn tell(turn: &mut Turn<'_>, before: Option<&Incident>, incident: &Incident) -> Result<()> {
    let key = (incident.id.country.clone(), u32::from(incident.id.year), incident.id.sequence);
    let told = TOLD.contains(turn, &key)?;
    let Some(event) = event(told, before, incident).filter(|_| is_recent(before, incident, turn.now)) else {
        return Ok(());
    };
    if !told {
        TOLD.put(turn, &key, &())?;
    }
    let report = permalink(incident, turn.settings);
    let payload = Payload {
        event: event.as_str(),
        timestamp: incident.updated.to_string(),
        incident: NewsIncident {
            id: &incident.hash,
            hash_id: incident.id.to_string(),
            country: &incident.id.country,
            country_name: world::name(&incident.id.country),
            title: title(incident),
            severity: incident.severity(),
            confidence: incident.confidence(),
            status: incident.status(),
            report_url: format!("{report}/report?format=markdown"),
            retracted: incident.retracted(),
            merged_into: incident.merged_into().map(ToString::to_string),
            sentences: Sentences::new().with("title", title_made(incident)),
        },
    };
    let body = serde_json::to_string(&payload).map_err(Error::internal)?;
    let news = News { event, country: incident.id.country.clone(), severity: incident.severity(), body };
    turn.send(super::actor().name, &desk::Pass { news })
}

/// The body of a test. It looks like real news and is marked as a test in its title.
pub fn test(now: Timestamp, base_url: &str) -> Result<String> {
    let payload = Payload {
        event: Event::Test.as_str(),
        timestamp: now.to_string(),
        incident: NewsIncident {
            id: "000000000000",
            hash_id: "ZZ-2000-0000".to_owned(),
            country: "ZZ",
            country_name: "Nowhere".to_owned(),
            title: "Test of your webhook: no incident happened".to_owned(),
            severity: Severity::Low,
            confidence: 0.0,
            status: Status::Resolved,
            report_url: format!("{base_url}/data/methodology"),
            retracted: None,
            merged_into: None,
            sentences: Sentences::new(),
        },
    };
    serde_json::to_string(&payload).map_err(Error::internal)
}

/// The kind of news that a new version is, given whether subscribers heard of the incident before; `None` for no news.
fn event(told: bool, before: Option<&Incident>, incident: &Incident) -> Option<Event> {
    if !told {
        return (incident.is_shown() && incident.status() != Status::Suspected).then_some(Event::Created);
    }
    let before = before?;
    if !incident.is_shown() {
        return before.is_shown().then_some(Event::Updated);
    }
    let networks = |of: &Incident| {
        let mut asns: Vec<u32> = of.draft.networks.iter().map(|network| network.asn).collect();
        asns.sort_unstable();
        asns
    };
    let (was, is) = (before.status(), incident.status());
    if was != is && is == Status::Resolved {
        return Some(Event::Resolved);
    }
    let changed = was != is
        || !before.is_shown()
        || before.severity() != incident.severity()
        || networks(before) != networks(incident);
    changed.then_some(Event::Updated)
}

/// Whether an incident began or ended within [`RECENT`]. A new version of a known incident is also recent while it goes
/// on.
fn is_recent(before: Option<&Incident>, incident: &Incident, now: Timestamp) -> bool {
    let near = |at: Timestamp| now.since(at) <= RECENT;
    let goes_on = |of: &Incident| of.is_shown() && of.status() == Status::Active;
    near(incident.start())
        || incident.known_end().is_some_and(near)
        || before.is_some_and(|before| goes_on(before) || goes_on(incident))
}
