//! Agents: messages, memory, other routes.

use std::sync::Arc;

use heliograph_client::http::Method;
use heliograph_client::{Agent as Inner, Draft, Filter, Listener as Stream, Mode};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::Value;
use tokio::sync::Mutex;

use crate::convert::{answer, argument, error};

/// An agent: its keys, sessions and wallet.
#[pyclass(frozen)]
pub struct Agent(pub Inner);

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
    fn profile<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.profile().await })
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
        thread_id: Option<&str>,
        reply_to: Option<&str>,
        content_type: Option<&str>,
        message_type: Option<&str>,
        ttl: Option<u32>,
        r#box: bool,
        prekeys: bool,
        sealed: bool,
        deniable: bool,
        unpadded: bool,
        classical: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut draft = Draft::to(to, text);
        let steps: [(bool, fn(Draft) -> Draft); 6] = [
            (r#box, |draft| draft.mode(Mode::Box)),
            (sealed, Draft::sealed),
            (deniable, Draft::deniable),
            (unpadded, Draft::unpadded),
            (classical, Draft::classical),
            (prekeys, Draft::from_prekeys),
        ];
        for (_, step) in steps.into_iter().filter(|(wanted, _)| *wanted) {
            draft = step(draft);
        }
        let texts: [(Option<&str>, fn(Draft, &str) -> Draft); 4] = [
            (thread_id, Draft::thread),
            (reply_to, Draft::reply_to),
            (content_type, Draft::content_type),
            (message_type, Draft::message_type),
        ];
        for (text, step) in texts {
            if let Some(text) = text {
                draft = step(draft, text);
            }
        }
        if let Some(ttl) = ttl {
            draft = draft.ttl(ttl);
        }
        let agent = self.0.clone();
        answer(py, async move { agent.send(&draft).await })
    }

    /// Messages that came, oldest first. They come again until `mark_read`.
    #[pyo3(signature = (*, since=None, sender=None, thread_id=None, message_type=None, read_too=false, limit=None, wait=None))]
    #[allow(clippy::too_many_arguments)]
    fn receive<'py>(
        &self,
        py: Python<'py>,
        since: Option<String>,
        sender: Option<String>,
        thread_id: Option<String>,
        message_type: Option<String>,
        read_too: bool,
        limit: Option<u32>,
        wait: Option<u32>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = Filter { since, from: sender, thread_id, message_type, content_type: None, read_too, limit, wait };
        let agent = self.0.clone();
        answer(py, async move { agent.receive(&filter).await.map(|inbox| inbox.messages) })
    }

    /// Say that messages are done, so that they do not come again.
    fn mark_read<'py>(&self, py: Python<'py>, ids: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move {
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
    fn rotate_keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.rotate_keys().await })
    }

    /// Publish a new signed prekey and this many one-time prekeys, 0 to 100, for senders with `prekeys`.
    fn publish_prekeys<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.publish_prekeys(count).await })
    }

    /// Remember the present keys of an agent. A change of them is shown from then on; `accept` takes it.
    #[pyo3(signature = (did, accept=false))]
    fn pin<'py>(&self, py: Python<'py>, did: String, accept: bool) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.pin(&did, accept).await })
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
    ) -> PyResult<Bound<'py, PyAny>> {
        let (agent, value): (Inner, Value) = (self.0.clone(), argument(value)?);
        answer(py, async move { agent.remember_value(&namespace, &name, &value, ttl).await })
    }

    /// What `remember` stored, or None.
    fn recall<'py>(&self, py: Python<'py>, namespace: String, name: String) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.recall(&namespace, &name).await })
    }

    /// End the agent for ever. Nobody can write to it any more.
    fn deactivate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let agent = self.0.clone();
        answer(py, async move { agent.deactivate().await })
    }

    /// Call any other route with the agent's key.
    #[pyo3(signature = (method, path, body=None))]
    fn request<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: String,
        body: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete];
        let method = all.into_iter().find(|known| known.as_str() == method.to_ascii_uppercase());
        let method = method.ok_or_else(|| PyValueError::new_err("the method is not one of HTTP"))?;
        let body: Option<Value> = body.map(argument).transpose()?;
        let agent = self.0.clone();
        answer(py, async move { agent.request(method, &path, body.as_ref()).await })
    }
}

/// Messages as they come, over any number of connections. Each comes once.
#[pyclass(frozen)]
pub struct Listener(Arc<Mutex<Stream>>);

#[pymethods]
impl Listener {
    fn __aiter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let stream = self.0.clone();
        answer(py, async move { stream.lock().await.next().await })
    }
}
