//! Documents to read: the method, and the report of each incident. They have the addresses that the Web has them under,
//! which are those that answers cite.

use serde_json::{Map, Value, json};

use super::asking::{Asking, Refusal, With};
use super::message::Failure;
use super::protocol::{Era, HOUR};
use super::{Answer, Scope, cursor, no_cursor};
use crate::engine::http::{encoded, query};

const METHOD: &str = "/data/methodology";
const INCIDENTS: &str = "/data/incidents";
const REPORT: &str = "/report";

/// Incidents on one page of the list.
const PAGE: u64 = 50;
/// How long clients may keep what changes with the data, in milliseconds.
const MINUTE: u32 = 60_000;

/// `resources/list`: the method, then incidents, newest first.
pub async fn list(asking: &Asking<'_>, params: &Map<String, Value>) -> Result<Answer, Failure> {
    let offset = cursor(params)?.unwrap_or(0);
    let (limit, skipped) = (PAGE.to_string(), offset.to_string());
    let asked = query(&[("limit", Some(&limit)), ("offset", Some(&skipped))]);
    let page = asking.get(INCIDENTS, &asked, With::Nothing).await.map_err(refused)?;
    let mut resources = Vec::new();
    if offset == 0 {
        resources.push(json!({
            "uri": asking.address(METHOD, ""),
            "name": "methodology",
            "title": "How statuses, incidents and forecasts are made",
            "mimeType": "application/json",
        }));
    }
    for incident in page.get("incidents").and_then(Value::as_array).into_iter().flatten() {
        let text = |name: &str| incident.get(name).and_then(Value::as_str).unwrap_or_default();
        resources.push(json!({
            "uri": asking.address(&report(text("readableId")), ""),
            "name": text("readableId"),
            "title": text("title"),
            "mimeType": "text/markdown",
            "annotations": { "lastModified": text("updatedAt") },
        }));
    }
    let mut result = Map::from_iter([("resources".to_owned(), Value::Array(resources))]);
    if let Some(next) = page.get("next_offset").and_then(Value::as_u64) {
        result.insert("nextCursor".into(), json!(next.to_string()));
    }
    Ok(Answer::fresh(result, MINUTE, Scope::Anybody))
}

/// `resources/templates/list`.
pub fn templates(asking: &Asking<'_>, params: &Map<String, Value>) -> Result<Answer, Failure> {
    no_cursor(params)?;
    let templates = json!([{
        "uriTemplate": format!("{}{INCIDENTS}/{{id}}{REPORT}", asking.base()),
        "name": "incident",
        "title": "The report of an incident, to cite, by an id such as KE-2023-0001",
        "mimeType": "text/markdown",
    }]);
    Ok(Answer::fresh(Map::from_iter([("resourceTemplates".to_owned(), templates)]), HOUR, Scope::Anybody))
}

/// `resources/read`.
pub async fn read(asking: &Asking<'_>, era: Era, params: &Map<String, Value>) -> Result<Answer, Failure> {
    let uri = params.get("uri").and_then(Value::as_str).ok_or_else(|| Failure::params("`uri` must be text."))?;
    let no_resource = || Failure::no_resource(era, uri);
    let path = uri.strip_prefix(&asking.base()).ok_or_else(no_resource)?;
    let (path, kind) = match path {
        METHOD => (METHOD.to_owned(), "application/json"),
        _ => (report_of(path).ok_or_else(no_resource)?, "text/markdown"),
    };
    let body = asking.text(&path, "", With::Nothing).await.map_err(|refusal| match refusal.code.as_str() {
        "NOT_FOUND" | "BAD_REQUEST" => no_resource(),
        _ => refused(refusal),
    })?;
    let text = String::from_utf8_lossy(&body);
    let contents = json!([{ "uri": uri, "mimeType": kind, "text": text }]);
    Ok(Answer::fresh(Map::from_iter([("contents".to_owned(), contents)]), MINUTE, Scope::Anybody))
}

fn report(id: &str) -> String {
    format!("{INCIDENTS}/{}{REPORT}", encoded(id))
}

/// The path of the report that a path names; ids are of letters, digits and hyphens.
fn report_of(path: &str) -> Option<String> {
    let id = path.strip_prefix(INCIDENTS)?.strip_prefix('/')?.strip_suffix(REPORT)?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_id.then(|| report(id))
}

fn refused(refusal: Refusal) -> Failure {
    let Refusal { code, message, retry_after } = refusal;
    Failure::route(&code, message, retry_after)
}
