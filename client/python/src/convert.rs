//! Values and errors between the two languages.

use std::future::Future;

use heliograph_client::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::future_into_py;
use serde::Serialize;
use serde::de::DeserializeOwned;

create_exception!(heliograph_client, HeliographError, PyException, "Why a call has no result.");

/// JSON text that becomes a value of Python.
pub struct Json(String);

impl Json {
    pub fn of(value: &impl Serialize) -> PyResult<Json> {
        serde_json::to_string(value).map(Json).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl<'py> IntoPyObject<'py> for Json {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.0,))
    }
}

/// An argument that Python's `json` can write.
pub fn argument<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let text: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A `HeliographError` with its members.
pub fn error(error: Error) -> PyErr {
    let shown = HeliographError::new_err(error.to_string());
    let refusal = match error {
        Error::Refused(refusal) => Some(refusal),
        _ => None,
    };
    Python::attach(|py| {
        let value = shown.value(py);
        let refusal = refusal.as_deref();
        let _ = value.setattr("code", refusal.map(|refusal| refusal.code.as_str().to_owned()));
        let _ = value.setattr("reason", refusal.and_then(|refusal| refusal.reason.clone()));
        let _ = value.setattr("status", refusal.map(|refusal| refusal.status));
        let _ = value
            .setattr("retry_after", refusal.and_then(|refusal| refusal.retry_after.map(|wait| wait.as_secs_f64())));
    });
    shown
}

/// What a call of Python gets at once.
pub type Awaitable<'py> = PyResult<Bound<'py, PyAny>>;

/// An awaitable of the JSON that `work` gives.
pub fn answer<'py, T: Serialize>(
    py: Python<'py>,
    work: impl Future<Output = heliograph_client::Result<T>> + Send + 'static,
) -> Awaitable<'py> {
    future_into_py(py, async move { Json::of(&work.await.map_err(error)?) })
}
