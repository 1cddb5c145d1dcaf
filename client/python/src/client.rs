//! A deployment: opening and registering agents, open data, proofs.

use heliograph_client::data::IncidentFilter;
use heliograph_client::ledger::audit::Head;
use heliograph_client::ledger::envelope::Page;
use heliograph_client::ledger::market::Search;
use heliograph_client::relay::webhooks::WebhookSecret;
use heliograph_client::store::{FileStore, MemoryStore, Store};
use heliograph_client::{Client as Inner, Registration};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;
use serde_json::Value;

use crate::agent::Agent;
use crate::convert::{answer, argument, error};

/// A connection to one deployment.
#[pyclass(frozen)]
pub struct Client(Inner);

fn registration(
    name: Option<String>,
    capabilities: Vec<String>,
    keys_by_service: bool,
    post_quantum: bool,
    one_time_prekeys: usize,
) -> Registration {
    match keys_by_service {
        true => Registration { name, capabilities, ..Registration::by_service() },
        false => Registration { name, capabilities, post_quantum, one_time_prekeys, ..Registration::default() },
    }
}

#[pymethods]
impl Client {
    #[new]
    fn new(base: &str) -> PyResult<Client> {
        Inner::new(base).map(Client).map_err(error)
    }

    /// Register an agent. Its keys are kept in the folder, or in memory without one.
    #[pyo3(signature = (folder=None, *, name=None, capabilities=vec![], keys_by_service=false, post_quantum=true, one_time_prekeys=20))]
    #[allow(clippy::too_many_arguments)]
    fn register<'py>(
        &self,
        py: Python<'py>,
        folder: Option<String>,
        name: Option<String>,
        capabilities: Vec<String>,
        keys_by_service: bool,
        post_quantum: bool,
        one_time_prekeys: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let registration = registration(name, capabilities, keys_by_service, post_quantum, one_time_prekeys);
        future_into_py(py, async move {
            let store: Box<dyn Store> = match folder {
                Some(folder) => Box::new(FileStore::new(folder).map_err(error)?),
                None => Box::new(MemoryStore::default()),
            };
            client.register(store, registration).await.map(Agent).map_err(error)
        })
    }

    /// Open the agent whose keys are in the folder.
    fn open<'py>(&self, py: Python<'py>, folder: String) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        future_into_py(py, async move {
            client.open(FileStore::new(folder).map_err(error)?).await.map(Agent).map_err(error)
        })
    }

    /// Open the agent whose keys are in the folder, or register one.
    #[pyo3(signature = (folder, *, name=None, capabilities=vec![], keys_by_service=false, post_quantum=true, one_time_prekeys=20))]
    #[allow(clippy::too_many_arguments)]
    fn open_or_register<'py>(
        &self,
        py: Python<'py>,
        folder: String,
        name: Option<String>,
        capabilities: Vec<String>,
        keys_by_service: bool,
        post_quantum: bool,
        one_time_prekeys: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let registration = registration(name, capabilities, keys_by_service, post_quantum, one_time_prekeys);
        future_into_py(py, async move {
            let store = FileStore::new(folder).map_err(error)?;
            client.open_or_register(store, registration).await.map(Agent).map_err(error)
        })
    }

    /// Read any public route; the path goes out as it is.
    fn get<'py>(&self, py: Python<'py>, path: String) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        answer(py, async move { client.get(&path).await })
    }

    /// Call any route that takes a body and needs no key.
    fn post<'py>(&self, py: Python<'py>, path: String, body: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (client, body): (Inner, Value) = (self.0.clone(), argument(body)?);
        answer(py, async move { client.post(&path, &body).await })
    }

    /// What an agent says of itself, and its public keys.
    fn identity<'py>(&self, py: Python<'py>, did: String) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        answer(py, async move { client.identity(&did).await })
    }

    /// Whether a domain can be reached in a country, now or at a time in the past.
    #[pyo3(signature = (domain, country, as_of=None))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        domain: String,
        country: String,
        as_of: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        answer(py, async move { client.check(&domain, &country, as_of.as_deref()).await })
    }

    /// How a country stands, now or at a time in the past: its score, status and active incidents.
    #[pyo3(signature = (code, as_of=None))]
    fn country<'py>(&self, py: Python<'py>, code: String, as_of: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        answer(py, async move { client.country(&code, as_of.as_deref()).await })
    }

    /// Incidents, newest first.
    #[pyo3(signature = (*, words=None, country=None, limit=None))]
    fn incidents<'py>(
        &self,
        py: Python<'py>,
        words: Option<String>,
        country: Option<String>,
        limit: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let filter = IncidentFilter { words, country, limit, ..IncidentFilter::default() };
        answer(py, async move { client.incidents(&filter).await })
    }

    /// What the data say to a claim in English words.
    fn verify_claim<'py>(&self, py: Python<'py>, claim: String) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        answer(py, async move { client.verify_claim(&claim).await })
    }

    /// What agents offer.
    #[pyo3(signature = (*, words=None, capability=None, max_price_micro=None, limit=None))]
    fn search_market<'py>(
        &self,
        py: Python<'py>,
        words: Option<String>,
        capability: Option<String>,
        max_price_micro: Option<i64>,
        limit: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let page = Page { limit, before: None };
        let search = Search { words, capability, max_price_micro, provider: None, page };
        answer(py, async move { client.search_market(&search).await })
    }

    /// The key that signs the heads of the audit log. Keep it.
    fn log_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        future_into_py(py, async move { client.log_key().await.map_err(error) })
    }

    /// The present head of the log, checked.
    fn log_head<'py>(&self, py: Python<'py>, key: Vec<u8>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let key: [u8; 32] = key.try_into().map_err(|_| PyValueError::new_err("the key has 32 bytes"))?;
        answer(py, async move { client.log_head(&key).await })
    }

    /// The event of a transfer or an escrow, proved to be in the log of this head.
    fn prove_event<'py>(&self, py: Python<'py>, id: String, head: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let head: Head = argument(head)?;
        answer(py, async move { client.prove_event(&id, &head).await })
    }

    /// Prove that nothing before the first head was changed.
    fn prove_growth<'py>(
        &self,
        py: Python<'py>,
        earlier: &Bound<'py, PyAny>,
        later: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client = self.0.clone();
        let (earlier, later): (Head, Head) = (argument(earlier)?, argument(later)?);
        answer(py, async move { client.prove_growth(&earlier, &later).await })
    }
}

/// Whether the signature header of a webhook's delivery fits its body.
#[pyfunction]
pub fn verify_webhook(secret: String, body: Vec<u8>, signature: &str) -> bool {
    WebhookSecret::new(secret).verify(&body, signature)
}
