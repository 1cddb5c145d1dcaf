//! Open data of one country: `/data/country/{code}` and `/v1/censorship-index/{code}`.

use schemars::JsonSchema;
use serde::Serialize;

use super::active::{ActiveBody, active, outage};
use super::listed::{ListedBlock, ListedBlocks, listed_blocks};
use super::routes;
use super::summary;
use crate::world::index::level;
use crate::world::{
    self, ComponentBody, CountrySummary, LICENSE, OoniBody, Outage, SourceLicense, components, effective_license, ooni,
    outage_status, source_licenses,
};
use crate::{Error, Result, Timestamp};
use engine::actor::{Kind, View};
use engine::documents::{Family, Rendered};
use engine::settings::Settings;
use facts::sentence::Sentences;
use facts::starter::Country;

/// Prefixes of the keys of the two families; the country code follows.
pub const COUNTRY: &str = "data/country/";
pub const OVERVIEW: &str = "v1/censorship-index/";

/// Prefixes of the keys of the two tables, `/data/country/{code}/isps` and `/v1/accessibility/country/{code}/summary`;
/// the country code follows. The tables rest on the verdicts of all targets.
pub const ISPS: &str = "data/isps/";
pub const ACCESSIBILITY: &str = "v1/accessibility/";

const MAX_AGE: u32 = 60;

pub const FAMILIES: &[Family] = &[
    Family { prefix: COUNTRY, owner: Kind::Country, max_age: MAX_AGE, render: render_country },
    Family { prefix: OVERVIEW, owner: Kind::Country, max_age: MAX_AGE, render: render_overview },
    Family { prefix: ISPS, owner: Kind::Country, max_age: MAX_AGE, render: render_isps },
    Family { prefix: ACCESSIBILITY, owner: Kind::Country, max_age: MAX_AGE, render: render_accessibility },
];

fn render_country(view: &View<'_>, _: &str) -> Result<Rendered> {
    let rank = crate::analytics::rank::rank(view)?;
    let mut body = country(&summary::summary(view, None)?, rank, view.settings, view.now);
    body.go_on(active(view)?, outage(view)?);
    body.list(listed_blocks(view, None)?);
    Rendered::json(&body)
}

fn render_overview(view: &View<'_>, _: &str) -> Result<Rendered> {
    let mut body = overview(&summary::summary(view, None)?, view.settings);
    body.go_on(active(view)?, outage(view)?);
    Rendered::json(&body)
}

fn render_isps(view: &View<'_>, code: &str) -> Result<Rendered> {
    let (rows, summary) = (summary::latest(view)?, summary::summary(view, None)?);
    Rendered::json(&routes::isps_body(known(code)?, &rows, &summary, view.now, None))
}

fn render_accessibility(view: &View<'_>, code: &str) -> Result<Rendered> {
    let (rows, summary) = (summary::latest(view)?, summary::summary(view, None)?);
    let lists = listed_blocks(view, None)?;
    Rendered::json(&routes::summary_body(known(code)?, &rows, &summary, lists, view.now, None))
}

fn known(code: &str) -> Result<&'static Country> {
    Country::by_code(code).ok_or_else(|| Error::internal(format!("{code} is no country")))
}

/// `/data/country/{code}`
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "CountryPage")]
pub struct CountryBody {
    #[serde(rename = "@context")]
    context: &'static str,
    #[serde(rename = "@type")]
    kind: &'static str,
    name: String,
    identifier: String,
    /// 0-1; null when there is too little data.
    score: Option<f64>,
    reason: Option<String>,
    ooni: OoniBody,
    data: CountryData,
    license: &'static str,
    #[serde(rename = "sourceLicenses")]
    source_licenses: Vec<SourceLicense>,
    #[serde(rename = "effectiveLicense")]
    effective_license: String,
    #[serde(rename = "dateModified")]
    date_modified: String,
    generated: String,
    #[serde(rename = "staleSince", skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// The code of `reason`.
    #[serde(skip_serializing_if = "Sentences::is_empty")]
    sentences: Sentences,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CountryData {
    country: String,
    /// 0-100.
    score: Option<u32>,
    /// Place among the scored countries; 1 is the worst. Null without a score, and in answers about the past.
    rank: Option<u64>,
    status: &'static str,
    level: Option<&'static str>,
    risk_tier: u8,
    confidence_interval: Option<[u32; 2]>,
    grade: Option<String>,
    components: Vec<ComponentBody>,
    breadth_list: String,
    affected_services: Vec<String>,
    blocked_domains: Vec<String>,
    /// What lists and documented facts say is blocked where no measurement decides; at most 50.
    listed_blocked: Vec<ListedBlock>,
    /// Entries of lists and facts that count here, including those about sites that measurements decide.
    listed_count: u64,
    top_methods: Vec<String>,
    networks: u32,
    domains: u32,
    domains_blocked: u32,
    domains_accessible: u32,
    /// The active incidents, now or at the asked time; newest first, at most 20.
    active_incidents: Vec<ActiveBody>,
    ooni: OoniBody,
    last_checked: Option<String>,
}

impl CountryBody {
    /// Adds the active incidents. Beside one, the status is never `normal` (decision answers-lead-on).
    pub(super) fn go_on(&mut self, incidents: Vec<ActiveBody>, outage: Option<Outage>) {
        if let Some(outage) = outage {
            self.data.status = outage.as_str();
            self.data.ooni.status = outage.as_str();
            self.ooni.status = outage.as_str();
        }
        self.data.active_incidents = incidents;
    }

    /// Adds what lists name (decision answers-lead-on).
    pub(super) fn list(&mut self, lists: ListedBlocks) {
        self.data.listed_count = lists.count;
        self.data.listed_blocked = lists.shown;
    }
}

/// The measurements, or zeros if there are none, because clients read the numbers without a check.
fn measurements(summary: &CountrySummary) -> OoniBody {
    ooni(summary).unwrap_or(OoniBody {
        status: "unknown",
        anomaly_rate: 0.0,
        confirmed_rate: 0.0,
        measurement_count: 0,
        affected_services: Vec::new(),
        last_updated: summary.newest.unwrap_or(summary.at).to_string(),
    })
}

/// The page of a country.
pub fn country(summary: &CountrySummary, rank: Option<u64>, settings: &Settings, now: Timestamp) -> CountryBody {
    let index = &summary.index;
    let level = index.score.map(level);
    let source_licenses = source_licenses(std::iter::once(summary), &[], settings);
    CountryBody {
        context: "https://schema.org",
        kind: "Country",
        name: world::name(&summary.country),
        identifier: summary.country.clone(),
        score: index.score.map(|score| f64::from(score) / 100.0),
        sentences: Sentences::new().with("reason", index.why()),
        reason: index.reason.clone(),
        ooni: measurements(summary),
        data: CountryData {
            country: summary.country.clone(),
            score: index.score,
            rank: rank.filter(|_| index.score.is_some()),
            status: outage_status(summary, None),
            level: level.map(|(name, _)| name),
            risk_tier: level.map_or(0, |(_, tier)| tier),
            confidence_interval: index.interval.map(|(low, high)| [low, high]),
            grade: index.grade.clone(),
            components: components(summary),
            breadth_list: index.breadth_list.clone(),
            affected_services: summary.services.clone(),
            blocked_domains: summary.blocked.clone(),
            listed_blocked: Vec::new(),
            listed_count: 0,
            top_methods: summary.methods.clone(),
            networks: summary.networks,
            domains: summary.domains,
            domains_blocked: summary.domains_blocked,
            domains_accessible: summary.domains_accessible,
            active_incidents: Vec::new(),
            ooni: measurements(summary),
            last_checked: summary.newest.map(|newest| newest.to_string()),
        },
        license: LICENSE,
        effective_license: effective_license(&source_licenses),
        source_licenses,
        date_modified: summary.newest.unwrap_or(now).to_string(),
        generated: now.to_string(),
        stale_since: summary.stale_since().map(|since| since.to_string()),
        as_of: None,
    }
}

/// `/v1/censorship-index/{code}`
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CountryOverview {
    /// The country code.
    country: String,
    name: String,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ooni: Option<OoniBody>,
    score: Option<u32>,
    /// The incidents that are active now; absent in answers about the past.
    #[serde(rename = "activeIncidents")]
    active_incidents: Vec<ActiveBody>,
    license: &'static str,
    #[serde(rename = "sourceLicenses")]
    source_licenses: Vec<SourceLicense>,
    #[serde(rename = "effectiveLicense")]
    effective_license: String,
    /// Time of the newest measurement; null if there is none.
    #[serde(rename = "lastChecked")]
    last_checked: Option<String>,
    /// When the newest measurement became too old to count; absent while any counts.
    #[serde(rename = "staleSince", skip_serializing_if = "Option::is_none")]
    stale_since: Option<String>,
    timestamp: String,
    #[serde(rename = "as_of", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
}

impl CountryOverview {
    /// Like [`CountryBody::go_on`].
    pub(super) fn go_on(&mut self, incidents: Vec<ActiveBody>, outage: Option<Outage>) {
        if let Some(outage) = outage {
            self.status = outage.as_str();
            self.ooni.iter_mut().for_each(|ooni| ooni.status = outage.as_str());
        }
        self.active_incidents = incidents;
    }
}

pub fn overview(summary: &CountrySummary, settings: &Settings) -> CountryOverview {
    let source_licenses = source_licenses(std::iter::once(summary), &[], settings);
    CountryOverview {
        country: summary.country.clone(),
        name: world::name(&summary.country),
        status: outage_status(summary, None),
        ooni: ooni(summary),
        score: summary.index.score,
        active_incidents: Vec::new(),
        license: LICENSE,
        effective_license: effective_license(&source_licenses),
        source_licenses,
        last_checked: summary.newest.map(|newest| newest.to_string()),
        stale_since: summary.stale_since().map(|since| since.to_string()),
        timestamp: summary.at.to_string(),
        as_of: None,
    }
}
