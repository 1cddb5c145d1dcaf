//! Open data: checks, countries, incidents, aggregation, claims. None of it needs a key.
//!
//! Other routes are read by [`Client::get`] as JSON; `/openapi.json` of the deployment has all of them.

pub mod answers;

use serde_json::json;

use answers::{Aggregation, Changes, Check, ClaimVerdict, Country, CountryPage, Incident, Incidents};

use crate::Result;
use crate::http::{Client, Method};

/// Which incidents are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentFilter {
    pub words: Option<String>,
    /// Two capital letters.
    pub country: Option<String>,
    /// `active`, `resolved`, `suspected` or `confirmed`.
    pub status: Option<String>,
    /// `censorship`, `disruption` or `mixed`.
    pub kind: Option<String>,
    /// `low`, `medium`, `high` or `critical`.
    pub severity: Option<String>,
    pub domain: Option<String>,
    pub service: Option<String>,
    pub since: Option<String>,
    pub until: Option<String>,
    /// A time in the past: the incidents as they were then. It cannot stand beside `status`.
    pub as_of: Option<String>,
    pub limit: Option<u32>,
    /// `next_offset` of the page before.
    pub offset: Option<i64>,
}

/// What is counted, and how it is grouped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counting {
    /// Two capital letters, or several with commas.
    pub countries: Option<String>,
    pub domains: Option<String>,
    /// Such as `AS3320`.
    pub networks: Option<String>,
    pub category: Option<String>,
    pub test_name: Option<String>,
    /// The first day.
    pub since: Option<String>,
    /// The day after the last one.
    pub until: Option<String>,
    /// `hour`, `day`, `week`, `month`, `year` or `auto`.
    pub grain: Option<String>,
    /// Such as `measurement_start_day`, `probe_cc`, `probe_asn` or `domain`.
    pub axis_x: Option<String>,
    pub axis_y: Option<String>,
}

impl Client {
    /// Whether a domain can be reached in a country, now or at a time in the past.
    pub async fn check(&self, domain: &str, country: &str, as_of: Option<&str>) -> Result<Check> {
        let call = self.call(Method::Get, &["v1", "accessibility", "check"]);
        call.query("domain", Some(domain)).query("country", Some(country)).query("as_of", as_of).send().await
    }

    /// How a country stands.
    pub async fn country(&self, code: &str, as_of: Option<&str>) -> Result<Country> {
        self.call(Method::Get, &["v1", "censorship-index", code]).query("as_of", as_of).send().await
    }

    /// What is blocked in a country, and why it has no score if it has none.
    pub async fn country_page(&self, code: &str, as_of: Option<&str>) -> Result<CountryPage> {
        self.call(Method::Get, &["data", "country", code]).query("as_of", as_of).send().await
    }

    /// Incidents, newest first.
    pub async fn incidents(&self, filter: &IncidentFilter) -> Result<Incidents> {
        let call = self.call(Method::Get, &["data", "incidents"]).query("q", filter.words.as_deref());
        let call = call.query("country", filter.country.as_deref()).query("status", filter.status.as_deref());
        let call = call.query("type", filter.kind.as_deref()).query("severity", filter.severity.as_deref());
        let call = call.query("domain", filter.domain.as_deref());
        let call = call.query("service", filter.service.as_deref()).query("since", filter.since.as_deref());
        let call = call.query("until", filter.until.as_deref()).query("as_of", filter.as_of.as_deref());
        call.query("limit", filter.limit).query("offset", filter.offset).send().await
    }

    /// One incident.
    pub async fn incident(&self, id: &str) -> Result<Incident> {
        self.call(Method::Get, &["data", "incidents", id]).send().await
    }

    /// Incidents that changed after a time, in the order of their changes: `next_since` leads on.
    pub async fn changed_incidents(&self, since: &str, limit: u32) -> Result<Changes> {
        let call = self.call(Method::Get, &["data", "incidents", "delta"]).query("since", Some(since));
        call.query("limit", Some(limit)).send().await
    }

    /// Counts of measurements.
    pub async fn aggregate(&self, counting: &Counting) -> Result<Aggregation> {
        let call = self.call(Method::Get, &["api", "v1", "aggregation"]);
        let call = call.query("probe_cc", counting.countries.as_deref()).query("domain", counting.domains.as_deref());
        let call = call.query("probe_asn", counting.networks.as_deref());
        let call = call.query("category_code", counting.category.as_deref());
        let call = call.query("test_name", counting.test_name.as_deref()).query("since", counting.since.as_deref());
        let call = call.query("until", counting.until.as_deref()).query("time_grain", counting.grain.as_deref());
        call.query("axis_x", counting.axis_x.as_deref()).query("axis_y", counting.axis_y.as_deref()).send().await
    }

    /// What the data say to a claim in words.
    pub async fn verify_claim(&self, claim: &str) -> Result<ClaimVerdict> {
        let body = json!({ "claim": claim });
        self.call(Method::Post, &["verify-claim"]).json(&body).repeatable().send().await
    }
}
