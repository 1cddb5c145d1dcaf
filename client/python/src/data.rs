//! Open data, and what agents offer.

use heliograph_client::data::{Counting, IncidentFilter};
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::Search;
use pyo3::prelude::*;

use crate::client::Client;
use crate::convert::Awaitable;

#[pymethods]
impl Client {
    /// Whether a domain can be reached in a country, now or at a time in the past.
    #[pyo3(signature = (domain, country, as_of=None))]
    fn check<'py>(&self, py: Python<'py>, domain: String, country: String, as_of: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.check(&domain, &country, as_of.as_deref()).await })
    }

    /// How a country stands, now or at a time in the past: its score, status and active incidents.
    #[pyo3(signature = (code, as_of=None))]
    fn country<'py>(&self, py: Python<'py>, code: String, as_of: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.country(&code, as_of.as_deref()).await })
    }

    /// What is blocked in a country, and why it has no score if it has none.
    #[pyo3(signature = (code, as_of=None))]
    fn country_page<'py>(&self, py: Python<'py>, code: String, as_of: Option<String>) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.country_page(&code, as_of.as_deref()).await })
    }

    /// Incidents, newest first.
    #[pyo3(signature = (*, words=None, country=None, status=None, r#type=None, severity=None, domain=None, service=None,
        since=None, until=None, as_of=None, limit=None, offset=None))]
    #[allow(clippy::too_many_arguments)]
    fn incidents<'py>(
        &self,
        py: Python<'py>,
        words: Option<String>,
        country: Option<String>,
        status: Option<String>,
        r#type: Option<String>,
        severity: Option<String>,
        domain: Option<String>,
        service: Option<String>,
        since: Option<String>,
        until: Option<String>,
        as_of: Option<String>,
        limit: Option<u32>,
        offset: Option<i64>,
    ) -> Awaitable<'py> {
        let kind = r#type;
        let filter = IncidentFilter {
            words,
            country,
            status,
            kind,
            severity,
            domain,
            service,
            since,
            until,
            as_of,
            limit,
            offset,
        };
        self.ask(py, move |client| async move { client.incidents(&filter).await })
    }

    /// One incident with everything that is known of it.
    fn incident<'py>(&self, py: Python<'py>, id: String) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.incident(&id).await })
    }

    /// Incidents that changed after a time, in the order of their changes: `next_since` leads on.
    #[pyo3(signature = (since, limit=200))]
    fn changed_incidents<'py>(&self, py: Python<'py>, since: String, limit: u32) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.changed_incidents(&since, limit).await })
    }

    /// Counts of measurements.
    #[pyo3(signature = (*, countries=None, domains=None, networks=None, category=None, test_name=None, since=None, until=None,
        grain=None, axis_x=None, axis_y=None))]
    #[allow(clippy::too_many_arguments)]
    fn aggregate<'py>(
        &self,
        py: Python<'py>,
        countries: Option<String>,
        domains: Option<String>,
        networks: Option<String>,
        category: Option<String>,
        test_name: Option<String>,
        since: Option<String>,
        until: Option<String>,
        grain: Option<String>,
        axis_x: Option<String>,
        axis_y: Option<String>,
    ) -> Awaitable<'py> {
        let counting =
            Counting { countries, domains, networks, category, test_name, since, until, grain, axis_x, axis_y };
        self.ask(py, move |client| async move { client.aggregate(&counting).await })
    }

    /// What the data say to a claim in English words.
    fn verify_claim<'py>(&self, py: Python<'py>, claim: String) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.verify_claim(&claim).await })
    }

    /// What agents offer.
    #[pyo3(signature = (*, words=None, capability=None, max_price_micro=None, provider=None, limit=None, before=None))]
    #[allow(clippy::too_many_arguments)]
    fn search_market<'py>(
        &self,
        py: Python<'py>,
        words: Option<String>,
        capability: Option<String>,
        max_price_micro: Option<i64>,
        provider: Option<String>,
        limit: Option<u32>,
        before: Option<String>,
    ) -> Awaitable<'py> {
        let search = Search { words, capability, max_price_micro, provider, page: Page { limit, before } };
        self.ask(py, move |client| async move { client.search_market(&search).await })
    }

    /// One offer.
    fn listing<'py>(&self, py: Python<'py>, id: String) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.listing(&id).await })
    }

    /// The offers of an agent.
    #[pyo3(signature = (did, limit=None, before=None))]
    fn listings<'py>(
        &self,
        py: Python<'py>,
        did: String,
        limit: Option<u32>,
        before: Option<String>,
    ) -> Awaitable<'py> {
        let page = Page { limit, before };
        self.ask(py, move |client| async move { client.listings(&did, &page).await })
    }
}
