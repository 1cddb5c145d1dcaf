//! What the texts that holders of a key sign have in common.
//!
//! A text is UTF-8 lines, joined by one line feed, without one at the end. The first line says what is asked for, the second
//! names the deployment, so that what was signed for one relay asks nothing of another. Keys stand in padded standard
//! base64; DID, timestamp and nonce stand as they were sent. No line can hold a line feed, so a text has one reading.

use crate::Error;
use crate::engine::http::Cx;

/// The text of these lines.
pub fn lines<const N: usize>(lines: [&str; N]) -> String {
    lines.join("\n")
}

/// The answer to a signature over what was signed before texts named the deployment: 400.
///
/// `purpose` is the first line without its version, `others` what the other lines are.
pub fn outdated(field: &str, purpose: &str, others: &str) -> Error {
    Error::bad_request(format!(
        "`{field}` is over `{purpose}/v1`, which names no deployment, so any relay could use it. Sign the lines \
         `{purpose}/v2`, {others}, joined by line feeds."
    ))
}

/// The word and the deployment that a text of this request begins with.
pub fn here(cx: &Cx) -> (&str, &str) {
    let environment = cx.rt.environment();
    (&environment.settings.brand, &environment.deployment)
}
