//! Versions of the protocol.
//!
//! Since 2026-07-28 there is no handshake: each request says in `_meta` which version it is of, and repeats the version, the
//! method and the name of what it wants in headers, which must agree. Before, a client began with `initialize`. Nothing is
//! remembered of that here, since nothing of what is served depends on it (decision mcp-without-sessions).

use serde_json::{Map, Value, json};

use super::message::{Failure, Request};
use super::{Answer, Scope};
use crate::crypto::encoding::decode_base64;
use crate::engine::http::Cx;

/// The version without a handshake.
const STATELESS: &str = "2026-07-28";
/// Versions with a handshake that `initialize` agrees to; the first is offered to who wants another one.
const WITH_HANDSHAKE: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// Also taken from the header, where it says no more than that there was a handshake.
const OLDER: &str = "2025-03-26";
/// All that are served.
pub const VERSIONS: [&str; 3] = [STATELESS, WITH_HANDSHAKE[0], WITH_HANDSHAKE[1]];

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// How long clients may keep what changes only with the program, in milliseconds.
pub const HOUR: u32 = 3_600_000;

/// What a model should know before it asks.
const INSTRUCTIONS: &str = "Censorship measurements: is a site blocked in a country, since when, how is it known, what \
may come. `unknown` means that too little was measured, never that a site is free. Name the confidence and cite `citation`. \
Countries are ISO 3166-1 alpha-2 codes such as KE; times are ISO 8601 in UTC.";

/// Which form of the protocol a request is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    Handshake,
    Stateless,
}

/// The form of a request. One whose headers and body disagree is refused.
pub fn era(cx: &Cx, request: &Request) -> Result<Era, Failure> {
    let meta = request.params.get("_meta");
    let stated = meta.and_then(|meta| meta.get(PROTOCOL_VERSION));
    let had_handshake = |version: &str| version == OLDER || WITH_HANDSHAKE.contains(&version);
    let header = cx.request.header("mcp-protocol-version").map(str::trim);
    let stated = match stated {
        None => None,
        Some(Value::String(version)) => Some(version.as_str()),
        Some(_) => return Err(Failure::meta(format!("`{PROTOCOL_VERSION}` must be text."))),
    };
    match (header, stated) {
        (None, None) => return Ok(Era::Handshake),
        (Some(version), None) if had_handshake(version) => return Ok(Era::Handshake),
        (Some(STATELESS), None) => {
            return Err(Failure::meta(format!("`params._meta` lacks `{PROTOCOL_VERSION}`.")));
        }
        (Some(version), None) => return Err(Failure::version(version)),
        (None, Some(_)) => return Err(Failure::header("The header MCP-Protocol-Version is missing.")),
        (Some(header), Some(stated)) if header != stated => {
            let message = format!("The header MCP-Protocol-Version and `{PROTOCOL_VERSION}` name different versions.");
            return Err(Failure::header(message));
        }
        (Some(_), Some(version)) if had_handshake(version) => return Ok(Era::Handshake),
        (Some(_), Some(version)) if version != STATELESS => return Err(Failure::version(version)),
        (Some(_), Some(_)) => {}
    }
    if !meta.and_then(|meta| meta.get(CLIENT_CAPABILITIES)).is_some_and(Value::is_object) {
        return Err(Failure::meta(format!("`params._meta` lacks `{CLIENT_CAPABILITIES}`, an object.")));
    }
    repeated(cx, "Mcp-Method", Some(&request.method))?;
    let named = match request.method.as_str() {
        "tools/call" | "prompts/get" => request.params.get("name"),
        "resources/read" => request.params.get("uri"),
        _ => return Ok(Era::Stateless),
    };
    repeated(cx, "Mcp-Name", named.and_then(Value::as_str))?;
    Ok(Era::Stateless)
}

/// Whether a header repeats a value of the body. A body without the value is judged by its method.
fn repeated(cx: &Cx, header: &'static str, value: Option<&str>) -> Result<(), Failure> {
    let Some(value) = value else { return Ok(()) };
    let given = cx.request.header(&header.to_ascii_lowercase()).map(str::trim);
    let given = given.ok_or_else(|| Failure::header(format!("The header {header} is missing or not in ASCII.")))?;
    match plain(given) {
        Some(given) if given == value => Ok(()),
        Some(_) => Err(Failure::header(format!("The header {header} differs from the body."))),
        None => Err(Failure::header(format!("The header {header} has base64 that cannot be read."))),
    }
}

/// The value of a header, which may be in base64: `=?base64?...?=`.
fn plain(header: &str) -> Option<String> {
    match header.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(text) => String::from_utf8(decode_base64("header", text).ok()?).ok(),
        None => Some(header.to_owned()),
    }
}

/// What this server is, as it says itself.
pub fn server_info() -> Value {
    json!({ "name": "heliograph", "title": "Heliograph", "version": env!("CARGO_PKG_VERSION") })
}

fn capabilities() -> Value {
    json!({ "tools": {}, "resources": {} })
}

/// `server/discover`.
pub fn discover() -> Answer {
    let result = Map::from_iter([
        ("supportedVersions".to_owned(), json!(VERSIONS)),
        ("capabilities".to_owned(), capabilities()),
        ("instructions".to_owned(), json!(INSTRUCTIONS)),
    ]);
    Answer::fresh(result, HOUR, Scope::Anybody)
}

/// `initialize`: the client's version if there is a handshake in it, else the newest one with a handshake.
pub fn initialize(params: &Map<String, Value>) -> Result<Answer, Failure> {
    let Some(wanted) = params.get("protocolVersion").and_then(Value::as_str) else {
        return Err(Failure::params("`protocolVersion` must be text."));
    };
    let agreed = WITH_HANDSHAKE.into_iter().find(|version| *version == wanted).unwrap_or(WITH_HANDSHAKE[0]);
    Ok(Answer::of(Map::from_iter([
        ("protocolVersion".to_owned(), json!(agreed)),
        ("capabilities".to_owned(), capabilities()),
        ("serverInfo".to_owned(), server_info()),
        ("instructions".to_owned(), json!(INSTRUCTIONS)),
    ])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_taken_literally_unless_it_is_whole_base64() {
        for (header, value) in [
            ("get_weather", Some("get_weather")),
            ("=?base64?SGVsbG8=?=", Some("Hello")),
            ("=?base64?SGVsbG8?=", None),
            ("=?base64?SGVs!!!bG8=?=", None),
            ("=?base64?SGVsbG8=", Some("=?base64?SGVsbG8=")),
            ("SGVsbG8=", Some("SGVsbG8=")),
        ] {
            assert_eq!(plain(header).as_deref(), value, "{header}");
        }
    }
}
