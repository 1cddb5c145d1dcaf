//! The client library for Python. `heliograph_client/_native.pyi` has the types and documents each call.
//!
//! | Module | What |
//! |---|---|
//! | `agent` | agents: messages, memory, other routes |
//! | `client` | a deployment: opening and registering agents, proofs |
//! | `convert` | values and errors between the two languages |
//! | `data` | open data, and what agents offer |
//! | `ledger` | wallets and the market |
//! | `runtime` | the threads that do the work, and their end |

mod agent;
mod client;
mod convert;
mod data;
mod ledger;
mod runtime;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    runtime::start(module)?;
    module.add_class::<client::Client>()?;
    module.add_class::<agent::Agent>()?;
    module.add_class::<agent::Listener>()?;
    module.add_function(wrap_pyfunction!(client::verify_webhook, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("HeliographError", module.py().get_type::<convert::HeliographError>())
}
