//! What the texts that holders of a key sign have in common.
//!
//! A text is UTF-8 lines, joined by one line feed, without one at the end. The first line says what is asked for, the second
//! names the deployment, so that what was signed for one relay asks nothing of another. Keys stand in padded standard
//! base64; DID, timestamp and nonce stand as they were sent. No line can hold a line feed, so a text has one reading.

use crate::http::Cx;
use crate::{Error, Result};

/// The text of these lines.
pub fn lines<const N: usize>(lines: [&str; N]) -> String {
    lines.join("\n")
}

/// Checks the shape of a nonce, named `field`: 16 to 64 of `A-Z a-z 0-9 _ -`.
pub fn check_nonce(field: &str, nonce: &str) -> Result<()> {
    let listed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    match (16..=64).contains(&nonce.len()) && nonce.bytes().all(listed) {
        true => Ok(()),
        false => Err(Error::bad_request(format!("`{field}` must be 16 to 64 of `A-Z a-z 0-9 _ -`."))),
    }
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
