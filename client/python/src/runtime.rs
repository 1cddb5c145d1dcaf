//! The threads that do the work, and their end.
//!
//! A thread that asks for the interpreter while that ends would abort the process. So the end of the interpreter waits
//! for what is still under way (decision python-ends-after-its-threads).

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

/// How long the end of the interpreter waits. What waits for the network longer than that does not need it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Threads for work that blocks: looking up names, and handing results to the interpreter.
const BLOCKING: usize = 8;

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

/// Starts the threads, once, and arranges their end.
pub fn start(module: &Bound<'_, PyModule>) -> PyResult<()> {
    if RUNTIME.get().is_none() {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).max_blocking_threads(BLOCKING).enable_all().build()?;
        let _ = RUNTIME.set(runtime);
    }
    let runtime = RUNTIME.get().ok_or_else(|| PyRuntimeError::new_err("the runtime did not start"))?;
    // An error says only that it was given before.
    let _ = pyo3_async_runtimes::tokio::init_with_runtime(runtime);
    let settle = wrap_pyfunction!(settle, module)?;
    module.py().import("atexit")?.call_method1("register", (settle,))?;
    Ok(())
}

#[pyfunction]
fn settle(py: Python<'_>) {
    let Some(runtime) = RUNTIME.get() else { return };
    py.detach(|| {
        let until = Instant::now() + PATIENCE;
        while runtime.metrics().num_alive_tasks() > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        // A result is handed over by a thread that nothing waits for. When all of them meet here, each is done with what it
        // did before.
        let (met, (done, all_met)) = (Arc::new(Barrier::new(BLOCKING)), channel());
        for _ in 0..BLOCKING {
            let (met, done) = (met.clone(), done.clone());
            runtime.spawn_blocking(move || {
                met.wait();
                let _ = done.send(());
            });
        }
        let left = until.saturating_duration_since(Instant::now());
        let _ = all_met.recv_timeout(left);
    });
}
