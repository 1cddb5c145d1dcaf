//! What is common to the texts that the holders of keys sign; [`crypto::texts`] makes them.

pub use crypto::texts::lines;

use crate::Error;
use engine::http::Cx;

/// The 400 for a signature over a text of the time before texts named the deployment.
///
/// `purpose` is the first line without its version, and `others` describes the other lines.
pub fn outdated(field: &str, purpose: &str, others: &str) -> Error {
    Error::bad_request(format!(
        "`{field}` is over `{purpose}/v1`, which names no deployment, so any relay could use it. Sign the lines \
         `{purpose}/v2`, {others}, joined by line feeds."
    ))
}

/// The brand and the deployment id, with which the texts of this request begin.
pub fn here(cx: &Cx) -> (&str, &str) {
    let environment = cx.rt.environment();
    (&environment.settings.brand, &environment.deployment)
}
