//! The common form of texts that the holders of keys sign.
//!
//! A text consists of UTF-8 lines, joined by one line feed, without one at the end. The first line says what the
//! signature is for. The second names the deployment, so that a signature for one relay is worth nothing at another.
//! Keys are in padded standard base64; DID, timestamp and nonce are as they were sent. No line can contain a line feed,
//! so a text can be read in one way only.

use crate::Error;
use engine::http::Cx;

/// The text of these lines.
pub fn lines<const N: usize>(lines: [&str; N]) -> String {
    lines.join("\n")
}

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
