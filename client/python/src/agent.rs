//! Agents: messages, memory, other routes.

use std::sync::Arc;

use heliograph_client::http::Method;
use heliograph_client::relay::Choices;
use heliograph_client::{Agent as Inner, Draft, Filter, Listener as Stream, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::convert::{Awaitable, answer, argument, error};

/// An agent: its keys, sessions and wallet.
#[pyclass(frozen)]
pub struct Agent(pub Inner);

impl Agent {
    /// The one form of all calls that go out: Python waits for what `work` gives.
    pub fn ask<'py, T, W>(&self, py: Python<'py>, work: impl FnOnce(Inner) -> W) -> Awaitable<'py>
    where
        T: Serialize,
        W: Future<Output = Result<T>> + Send + 'static,
    {
        answer(py, work(self.0.clone()))
    }
}

#[pymethods]
impl Agent {
    /// The agent's identifier, by which others write to it.
    #[getter]
    fn did(&self) -> String {
        self.0.did()
    }

    /// The key of the service for this agent. Whoever has it can act as the agent.
    fn api_key(&self) -> String {
        self.0.api_key().expose().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("Agent({})", self.0.did())
    }

    /// What the service knows of the agent: its name, capabilities, keys.
    fn profile<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.profile().await })
    }

    #[pyo3(signature = (to, text, *, thread_id=None, reply_to=None, content_type=None, message_type=None, ttl=None,
        r#box=false, prekeys=false, sealed=false, deniable=false, unpadded=false, classical=false))]
    /// Send an encrypted text. Without options it goes as the public clients send it.
    #[allow(clippy::too_many_arguments)]
    fn send<'py>(
        &self,
        py: Python<'py>,
        to: &str,
        text: &str,
        thread_id: Option<String>,
        reply_to: Option<String>,
        content_type: Option<String>,
        message_type: Option<String>,
        ttl: Option<u32>,
        r#box: bool,
        prekeys: bool,
        sealed: bool,
        deniable: bool,
        unpadded: bool,
        classical: bool,
    ) -> Awaitable<'py> {
        let choices = Choices {
            thread_id,
            reply_to,
            content_type,
            message_type,
            ttl,
            r#box,
            prekeys,
            sealed,
            deniable,
            unpadded,
            classical,
        };
        let draft = Draft::chosen(to, text, &choices);
        self.ask(py, move |agent| async move { agent.send(&draft).await })
    }

    /// Messages that came, oldest first, in `messages`. They come again until `mark_read`.
    #[pyo3(signature = (*, since=None, sender=None, thread_id=None, message_type=None, content_type=None, read_too=false,
        limit=None, wait=None))]
    #[allow(clippy::too_many_arguments)]
    fn receive<'py>(
        &self,
        py: Python<'py>,
        since: Option<String>,
        sender: Option<String>,
        thread_id: Option<String>,
        message_type: Option<String>,
        content_type: Option<String>,
        read_too: bool,
        limit: Option<u32>,
        wait: Option<u32>,
    ) -> Awaitable<'py> {
        let filter = Filter { since, from: sender, thread_id, message_type, content_type, read_too, limit, wait };
        self.ask(py, move |agent| async move { agent.receive(&filter).await })
    }

    /// Say that messages are done, so that they do not come again.
    fn mark_read<'py>(&self, py: Python<'py>, ids: Vec<String>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            agent.mark_read(&ids).await
        })
    }

    /// Messages as they come: `async for message in agent.listen()`.
    #[pyo3(signature = (sender=None, since=None))]
    fn listen(&self, sender: Option<&str>, since: Option<&str>) -> PyResult<Listener> {
        let stream = self.0.listen(sender, since).map_err(error)?;
        Ok(Listener(Arc::new(Mutex::new(stream))))
    }

    /// Take new keys, which the earlier ones sign. What was sent before still opens.
    fn rotate_keys<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.rotate_keys().await })
    }

    /// Publish a new signed prekey and this many one-time prekeys, 0 to 100, for senders with `prekeys`.
    fn publish_prekeys<'py>(&self, py: Python<'py>, count: usize) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.publish_prekeys(count).await })
    }

    /// Remember the present keys of an agent. A change of them is shown from then on; `accept` takes it.
    #[pyo3(signature = (did, accept=false))]
    fn pin<'py>(&self, py: Python<'py>, did: String, accept: bool) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.pin(&did, accept).await })
    }

    /// Store any JSON with the service, encrypted here.
    #[pyo3(signature = (namespace, name, value, ttl=None))]
    fn remember<'py>(
        &self,
        py: Python<'py>,
        namespace: String,
        name: String,
        value: &Bound<'py, PyAny>,
        ttl: Option<u32>,
    ) -> Awaitable<'py> {
        let value: Value = argument(value)?;
        self.ask(py, move |agent| async move { agent.remember(&namespace, &name, &value, ttl).await })
    }

    /// What `remember` stored, or None.
    fn recall<'py>(&self, py: Python<'py>, namespace: String, name: String) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.recall(&namespace, &name).await })
    }

    /// End the agent for ever. Nobody can write to it any more.
    fn deactivate<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        self.ask(py, move |agent| async move { agent.deactivate().await })
    }

    /// Call any other route with the agent's key.
    #[pyo3(signature = (method, path, body=None))]
    fn request<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: String,
        body: Option<&Bound<'py, PyAny>>,
    ) -> Awaitable<'py> {
        let method = Method::of(method).ok_or_else(|| PyValueError::new_err("the method is not one of HTTP"))?;
        let body: Option<Value> = body.map(argument).transpose()?;
        self.ask(py, move |agent| async move { agent.request(method, &path, body.as_ref()).await })
    }
}

/// Messages as they come, over any number of connections. Each comes once. Its connection ends with the loop, and with a task
/// that waits here and is cancelled.
#[pyclass(frozen)]
pub struct Listener(Arc<Mutex<Stream>>);

#[pymethods]
impl Listener {
    fn __aiter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> Awaitable<'py> {
        let stream = self.0.clone();
        answer(py, async move { stream.lock().await.next().await })
    }
}
