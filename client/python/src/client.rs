//! A deployment: opening and registering agents, proofs.

use heliograph_client::ledger::audit::Head;
use heliograph_client::relay::webhooks::WebhookSecret;
use heliograph_client::store::{FileStore, MemoryStore, Store};
use heliograph_client::{Client as Inner, Registration, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::convert::{Awaitable, answer, argument, error};

/// A connection to one deployment.
#[pyclass(frozen)]
pub struct Client(Inner);

impl Client {
    /// The one form of all calls that give JSON: Python waits for what `work` gives.
    pub fn ask<'py, T, W>(&self, py: Python<'py>, work: impl FnOnce(Inner) -> W) -> Awaitable<'py>
    where
        T: Serialize,
        W: Future<Output = Result<T>> + Send + 'static,
    {
        answer(py, work(self.0.clone()))
    }
}

fn registration(
    name: Option<String>,
    capabilities: Vec<String>,
    metadata: Option<&Bound<'_, PyAny>>,
    keys_by_service: bool,
    post_quantum: bool,
    one_time_prekeys: usize,
) -> PyResult<Registration> {
    let metadata: Map<String, Value> = metadata.map(argument).transpose()?.unwrap_or_default();
    Ok(match keys_by_service {
        true => Registration { name, capabilities, metadata, ..Registration::by_service() },
        false => {
            Registration { name, capabilities, metadata, post_quantum, one_time_prekeys, ..Registration::default() }
        }
    })
}

#[pymethods]
impl Client {
    #[new]
    fn new(base: &str) -> PyResult<Client> {
        Inner::new(base).map(Client).map_err(error)
    }

    /// Register an agent. Its keys are kept in the folder, or in memory without one.
    #[pyo3(signature = (folder=None, *, name=None, capabilities=vec![], metadata=None, keys_by_service=false,
        post_quantum=true, one_time_prekeys=20))]
    #[allow(clippy::too_many_arguments)]
    fn register<'py>(
        &self,
        py: Python<'py>,
        folder: Option<String>,
        name: Option<String>,
        capabilities: Vec<String>,
        metadata: Option<&Bound<'py, PyAny>>,
        keys_by_service: bool,
        post_quantum: bool,
        one_time_prekeys: usize,
    ) -> Awaitable<'py> {
        let client = self.0.clone();
        let registration = registration(name, capabilities, metadata, keys_by_service, post_quantum, one_time_prekeys)?;
        future_into_py(py, async move {
            let store: Box<dyn Store> = match folder {
                Some(folder) => Box::new(FileStore::new(folder).map_err(error)?),
                None => Box::new(MemoryStore::default()),
            };
            client.register(store, registration).await.map(Agent).map_err(error)
        })
    }

    /// Open the agent whose keys are in the folder.
    fn open<'py>(&self, py: Python<'py>, folder: String) -> Awaitable<'py> {
        let client = self.0.clone();
        future_into_py(py, async move {
            client.open(FileStore::new(folder).map_err(error)?).await.map(Agent).map_err(error)
        })
    }

    /// Open the agent whose keys are in the folder, or register one.
    #[pyo3(signature = (folder, *, name=None, capabilities=vec![], metadata=None, keys_by_service=false,
        post_quantum=true, one_time_prekeys=20))]
    #[allow(clippy::too_many_arguments)]
    fn open_or_register<'py>(
        &self,
        py: Python<'py>,
        folder: String,
        name: Option<String>,
        capabilities: Vec<String>,
        metadata: Option<&Bound<'py, PyAny>>,
        keys_by_service: bool,
        post_quantum: bool,
        one_time_prekeys: usize,
    ) -> Awaitable<'py> {
        let client = self.0.clone();
        let registration = registration(name, capabilities, metadata, keys_by_service, post_quantum, one_time_prekeys)?;
        future_into_py(py, async move {
            let store = FileStore::new(folder).map_err(error)?;
            client.open_or_register(store, registration).await.map(Agent).map_err(error)
        })
    }

    /// Read any public route; the path goes out as it is.
    fn get<'py>(&self, py: Python<'py>, path: String) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.get(&path).await })
    }

    /// Call any route that takes a body and needs no key.
    fn post<'py>(&self, py: Python<'py>, path: String, body: &Bound<'py, PyAny>) -> Awaitable<'py> {
        let body: Value = argument(body)?;
        self.ask(py, move |client| async move { client.post(&path, &body).await })
    }

    /// What an agent says of itself, and its public keys.
    fn identity<'py>(&self, py: Python<'py>, did: String) -> Awaitable<'py> {
        self.ask(py, move |client| async move { client.identity(&did).await })
    }

    /// The key that signs the heads of the audit log. Keep it.
    fn log_key<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        let client = self.0.clone();
        future_into_py(py, async move { client.log_key().await.map_err(error) })
    }

    /// The present head of the log, checked.
    fn log_head<'py>(&self, py: Python<'py>, key: Vec<u8>) -> Awaitable<'py> {
        let key: [u8; 32] = key.try_into().map_err(|_| PyValueError::new_err("the key has 32 bytes"))?;
        self.ask(py, move |client| async move { client.log_head(&key).await })
    }

    /// The event of a transfer or an escrow, proved to be in the log of this head.
    fn prove_event<'py>(&self, py: Python<'py>, id: String, head: &Bound<'py, PyAny>) -> Awaitable<'py> {
        let head: Head = argument(head)?;
        self.ask(py, move |client| async move { client.prove_event(&id, &head).await })
    }

    /// Prove that nothing before the first head was changed.
    fn prove_growth<'py>(
        &self,
        py: Python<'py>,
        earlier: &Bound<'py, PyAny>,
        later: &Bound<'py, PyAny>,
    ) -> Awaitable<'py> {
        let (earlier, later): (Head, Head) = (argument(earlier)?, argument(later)?);
        self.ask(py, move |client| async move { client.prove_growth(&earlier, &later).await })
    }
}

/// Whether the signature header of a webhook's delivery fits its body.
#[pyfunction]
pub fn verify_webhook(secret: String, body: Vec<u8>, signature: &str) -> bool {
    WebhookSecret::new(secret).verify(&body, signature)
}
