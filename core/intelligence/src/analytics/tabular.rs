//! CSV and validators for JSON answers that contain a table and are not documents. The same rules hold for all of them.

use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::{Map, Value};

pub use super::reports::MAX_AGE;
use super::reports::csv;
use crate::{Error, Result, Timestamp};
use engine::http::{Body, Cx, Response};
use engine::runtime;
use engine::time::SECOND;

/// Which part of a JSON answer becomes the CSV.
pub struct Tabular {
    /// The beginning of the file name.
    pub name: &'static str,
    /// The name of the list whose entries are the rows.
    pub list: &'static str,
    /// A list or map inside each row. If set, every entry of it is a row that begins with the members around it. The
    /// name of a map's entry becomes its `country`.
    pub inner: Option<&'static str>,
    /// Members of a row; `a.b` is member `b` of `a`.
    pub columns: &'static [&'static str],
}

/// Whether a request asks for CSV.
pub fn wants_csv(cx: &Cx) -> Result<bool> {
    match cx.query("format")?.as_deref() {
        None | Some("json") => Ok(false),
        Some("csv") => Ok(true),
        Some(_) => Err(Error::bad_request("Query parameter `format` must be json or csv.")),
    }
}

/// The begin of the current period, so that answers within one period are equal. For an answer about the past it is
/// now.
pub fn generated(cx: &Cx, at: Option<Timestamp>) -> Timestamp {
    let now = cx.now();
    if at.is_some() { now } else { Timestamp(now.0 - now.0.rem_euclid(i64::from(MAX_AGE) * SECOND)) }
}

/// Sends a JSON answer, or its table as CSV, with its own tag. Answers about the past must not be stored.
pub fn send(cx: &Cx, table: &Tabular, about: &str, json: Response) -> Result<Response> {
    let response = if wants_csv(cx)? { as_csv(table, about, &json)? } else { json };
    match cx.as_of()? {
        Some(_) => Ok(response.with(CACHE_CONTROL, "no-store")),
        None => cx.tagged(response, MAX_AGE),
    }
}

/// A published JSON document about the present or the answer of `past` about the past, or its table as CSV.
pub async fn published(
    cx: &Cx,
    table: &Tabular,
    about: &str,
    key: &str,
    past: impl Future<Output = Result<Response>>,
) -> Result<Response> {
    let csv = wants_csv(cx)?;
    if cx.as_of()?.is_some() {
        return send(cx, table, about, past.await?);
    }
    match csv {
        true => of_document(cx, table, about, key).await,
        false => cx.document(key).await,
    }
}

/// The table of a document as CSV. It is made once for each version of the document.
pub async fn of_document(cx: &Cx, table: &Tabular, about: &str, key: &str) -> Result<Response> {
    let document = runtime::document(&*cx.rt, key).await?;
    let made = async { Ok(Response::new(StatusCode::OK, CSV, text(table, document.body())?)) };
    let mut response = cx.kept_by(&("table", key, document.etag()), MAX_AGE, made).await?;
    if response.status == StatusCode::OK {
        response.set(CONTENT_TYPE, CSV);
    }
    Ok(response.with(CONTENT_DISPOSITION, &disposition(table.name, about)))
}

const CSV: &str = "text/csv; charset=utf-8";

/// The table of a JSON answer as CSV.
pub fn as_csv(table: &Tabular, about: &str, json: &Response) -> Result<Response> {
    let Body::Bytes(body) = &json.body else { return Err(Error::internal("a stream is no table")) };
    Ok(csv_answer(table.name, about, text(table, body)?))
}

fn text(table: &Tabular, json: &[u8]) -> Result<Vec<u8>> {
    let body: Value = serde_json::from_slice(json).map_err(Error::internal)?;
    let license = body.get("license").and_then(Value::as_str).unwrap_or_default();
    Ok(csv(table.columns, &rows(&body, table), license))
}

/// A table as a file that is named after its topic.
pub fn csv_answer(name: &str, about: &str, text: Vec<u8>) -> Response {
    Response::new(StatusCode::OK, CSV, text).with(CONTENT_DISPOSITION, &disposition(name, about))
}

fn disposition(name: &str, about: &str) -> String {
    let dash = if about.is_empty() { "" } else { "-" };
    // A role has a slash in its name, which a file name must not have.
    format!("attachment; filename=\"{name}{dash}{}.csv\"", about.replace('/', "-"))
}

fn rows(body: &Value, table: &Tabular) -> Vec<Value> {
    let list = body.get(table.list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let Some(inner) = table.inner else { return list.to_vec() };
    let mut rows = Vec::new();
    for outer in list.iter().filter_map(Value::as_object) {
        let mut add = |name: Option<&String>, entry: &Map<String, Value>| {
            let mut row = outer.clone();
            row.remove(inner);
            row.extend(name.map(|name| ("country".to_owned(), name.as_str().into())));
            row.extend(entry.clone());
            rows.push(Value::Object(row));
        };
        match outer.get(inner) {
            Some(Value::Array(entries)) if !entries.is_empty() => {
                entries.iter().filter_map(Value::as_object).for_each(|entry| add(None, entry));
            }
            Some(Value::Object(entries)) => {
                entries.iter().filter_map(|(name, entry)| Some((name, entry.as_object()?))).for_each(
                    |(name, entry)| {
                        add(Some(name), entry);
                    },
                );
            }
            // A row without entries remains a row.
            _ => add(None, &Map::new()),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Tabular = Tabular { name: "t", list: "list", inner: Some("in"), columns: &["a", "country", "n.m"] };

    fn text(body: &Value, table: &Tabular) -> String {
        let json = Response::json(body).unwrap();
        let response = as_csv(table, "telegram/pool", &json).unwrap();
        assert_eq!(response.headers[CONTENT_DISPOSITION], "attachment; filename=\"t-telegram-pool.csv\"");
        let Body::Bytes(bytes) = response.body else { panic!("a stream") };
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[test]
    fn entries_of_lists_and_maps_become_rows_with_what_stands_around_them() {
        let body = serde_json::json!({ "license": "CC0", "list": [
            { "a": 1, "in": { "NO": { "n": { "m": 2 } }, "SE": {} } },
            { "a": 3, "country": "FI", "in": [{ "n": { "m": 4 } }, { "n": { "m": 5 } }] },
            { "a": 6, "country": "DK", "in": [] },
        ] });
        let expected = "a,country,n.m,license\r\n1,NO,2,CC0\r\n1,SE,,CC0\r\n3,FI,4,CC0\r\n3,FI,5,CC0\r\n6,DK,,CC0\r\n";
        assert_eq!(text(&body, &TABLE), expected);
        let flat = Tabular { inner: None, ..TABLE };
        assert_eq!(text(&body, &flat).lines().count(), 4);
        assert_eq!(text(&serde_json::json!({}), &TABLE), "a,country,n.m,license\r\n");
    }
}
