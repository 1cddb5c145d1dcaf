//! The documents of the API: a page for each operation, made of the OpenAPI document. They are in English, as the API is.

use std::sync::OnceLock;

use askama::Template;
use engine::http::{Cx, encoded};
use engine::{Error, Result};
use serde_json::Value;

use crate::answer::{self, Answer};
use crate::page::{Frame, Page};
use crate::words::Words;

/// Characters of an example that are shown.
const LONGEST: usize = 4_000;

#[derive(Template)]
#[template(path = "docs.html")]
struct DocsPage {
    frame: Frame,
    version: String,
    groups: Vec<Group>,
}

struct Group {
    name: String,
    anchor: String,
    about: String,
    operations: Vec<Line>,
}

struct Line {
    id: String,
    method: String,
    path: String,
    summary: String,
}

#[derive(Template)]
#[template(path = "operation.html")]
struct OperationPage {
    frame: Frame,
    line: Line,
    about: String,
    tag: String,
    keys: Vec<String>,
    parameters: Vec<Parameter>,
    request: String,
    answers: Vec<Status>,
}

impl OperationPage {
    /// Whether a parameter is marked as required.
    fn requires(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.required)
    }
}

struct Parameter {
    name: String,
    place: String,
    required: bool,
    kind: String,
    about: String,
}

struct Status {
    code: String,
    about: String,
    media: String,
    example: String,
}

/// The document never changes while the program runs, so it is parsed once.
static DOCUMENT: OnceLock<Answer<'static>> = OnceLock::new();

async fn document(cx: &Cx) -> Result<&'static Answer<'static>> {
    if let Some(document) = DOCUMENT.get() {
        return Ok(document);
    }
    let document = answer::ask(cx, "/openapi.json", "").await?;
    Ok(DOCUMENT.get_or_init(|| document))
}

/// All operations: path, method, operation.
fn operations<'d>(document: &'d Answer<'_>) -> Vec<(&'d str, &'d str, &'d Value)> {
    const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
    let paths = document.0.get("paths").and_then(Value::as_object);
    let all = paths.into_iter().flatten().flat_map(|(path, item)| {
        METHODS.into_iter().filter_map(move |method| Some((path.as_str(), method, item.get(method)?)))
    });
    all.collect()
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn line((path, method, operation): (&str, &str, &Value)) -> Line {
    Line {
        id: text(operation, "operationId").to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(operation, "summary").to_owned(),
    }
}

fn tag(operation: &Value) -> &str {
    operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or("Other")
}

pub async fn page(cx: &Cx, w: Words) -> Result<Page> {
    let document = document(cx).await?;
    let all = operations(document);
    let mut groups: Vec<Group> = Vec::new();
    for described in document.list("tags") {
        let name = described.text("name");
        let of_tag = all.iter().filter(|(_, _, operation)| tag(operation) == name);
        let operations: Vec<Line> = of_tag.map(|operation| line(*operation)).collect();
        if !operations.is_empty() {
            let anchor = name.replace(' ', "-");
            groups.push(Group {
                name: name.to_owned(),
                anchor,
                about: described.text("description").to_owned(),
                operations,
            });
        }
    }
    let frame = Frame::new(cx, w, "/docs", w.t("docs.title")).english_only();
    Page::of(&DocsPage { frame, version: document.text("/info/version").to_owned(), groups })
}

/// The pieces of a text of the document, each with whether it is code, which stands between backticks.
pub fn pieces(text: &str) -> Vec<(bool, &str)> {
    text.split('`').enumerate().map(|(at, piece)| (at % 2 == 1, piece)).collect()
}

/// What a reference of the document stands for.
fn resolved<'d>(document: &'d Answer<'_>, value: &'d Value) -> &'d Value {
    let pointer = value.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    pointer.and_then(|pointer| document.0.pointer(pointer)).unwrap_or(value)
}

pub async fn operation(cx: &Cx, w: Words) -> Result<Page> {
    let id = cx.path("operation")?;
    let document = document(cx).await?;
    let all = operations(document);
    let found = all.into_iter().find(|(.., operation)| text(operation, "operationId") == id);
    let Some(found) = found else {
        return Err(Error::not_found("No operation has that name."));
    };
    let operation = found.2;
    let line = line(found);
    let given = operation.get("parameters").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let given: Vec<&Value> = given.iter().map(|parameter| resolved(document, parameter)).collect();
    let body = operation.pointer("/requestBody/content/application~1json").map(example).unwrap_or_default();
    let keys = keys(document, operation);
    let page = OperationPage {
        frame: Frame::new(cx, w, format!("/docs/{id}"), format!("{} {}", line.method, line.path))
            .about(line.summary.clone())
            .english_only(),
        about: Some(text(operation, "description"))
            .filter(|about| *about != line.summary)
            .unwrap_or_default()
            .to_owned(),
        tag: tag(operation).to_owned(),
        parameters: given.iter().map(|parameter| one_parameter(parameter)).collect(),
        request: request(&cx.settings().base_url(), &line, &given, &keys, &body),
        answers: statuses(document, operation),
        keys,
        line,
    };
    Page::of(&page)
}

/// The header of each key that the operation reads; any one of them is enough.
fn keys(document: &Answer, operation: &Value) -> Vec<String> {
    let schemes = operation.get("security").and_then(Value::as_array).into_iter().flatten();
    let names = schemes.filter_map(Value::as_object).flat_map(|scheme| scheme.keys());
    let header = |name: &String| {
        let scheme = document.part("components").part("securitySchemes").part(name).text("name").to_owned();
        if scheme.is_empty() { "Authorization".to_owned() } else { scheme }
    };
    let mut headers: Vec<String> = names.map(header).collect();
    headers.dedup();
    headers
}

fn one_parameter(parameter: &Value) -> Parameter {
    let schema = parameter.get("schema").cloned().unwrap_or_default();
    let kind = match schema.get("enum").and_then(Value::as_array) {
        Some(values) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        None => [text(&schema, "type"), text(&schema, "format")].join(" ").trim().to_owned(),
    };
    Parameter {
        name: text(parameter, "name").to_owned(),
        place: text(parameter, "in").to_owned(),
        required: parameter.get("required").and_then(Value::as_bool).unwrap_or_default(),
        kind,
        about: text(parameter, "description").to_owned(),
    }
}

/// The example of a media type, written for people and cut where it is long.
fn example(media: &Value) -> String {
    let of_examples = || media.get("examples")?.as_object()?.values().next()?.get("value");
    let Some(value) = media.get("example").or_else(of_examples) else { return String::new() };
    let written = match value {
        Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    match written.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}\n…", written.get(..end).unwrap_or_default()),
        None => written,
    }
}

/// A request that can be pasted into a shell.
fn request(base: &str, line: &Line, parameters: &[&Value], keys: &[String], body: &str) -> String {
    let mut path = line.path.clone();
    let mut query = Vec::new();
    for parameter in parameters {
        let name = text(parameter, "name");
        let known = parameter.get("example").or_else(|| parameter.pointer("/schema/default"));
        let value = known.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        match text(parameter, "in") {
            "path" => {
                let value = value.unwrap_or_else(|| name.to_uppercase());
                path = path.replace(&format!("{{{name}}}"), &encoded(&value));
            }
            "query" if parameter.get("required").and_then(Value::as_bool).unwrap_or_default() => {
                query.push(format!("{name}={}", encoded(&value.unwrap_or_else(|| name.to_uppercase()))));
            }
            _ => {}
        }
    }
    let mark = if query.is_empty() { "" } else { "?" };
    let mut out = String::from("curl");
    if line.method != "GET" {
        out += &format!(" -X {}", line.method);
    }
    match keys.first().map(String::as_str) {
        Some("Authorization") => out += " \\\n  -H 'Authorization: Bearer YOUR_KEY'",
        Some(key) => out += &format!(" \\\n  -H '{key}: YOUR_KEY'"),
        None => {}
    }
    if !body.is_empty() {
        out += &format!(" \\\n  -H 'Content-Type: application/json' \\\n  -d '{}'", body.replace('\'', "'\\''"));
    }
    format!("{out} \\\n  '{base}{path}{mark}{}'", query.join("&"))
}

fn statuses(document: &Answer, operation: &Value) -> Vec<Status> {
    let all = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
    let one = |(code, response): (&String, &Value)| {
        let response = resolved(document, response);
        let content = response.get("content").and_then(Value::as_object);
        let first = content.and_then(|content| content.iter().next());
        Status {
            code: code.clone(),
            about: text(response, "description").to_owned(),
            media: content.map(|content| content.keys().cloned().collect::<Vec<_>>().join(", ")).unwrap_or_default(),
            example: first.map(|(_, media)| example(media)).unwrap_or_default(),
        }
    };
    all.map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_can_be_pasted() {
        let line = Line {
            id: "getCountry".to_owned(),
            method: "GET".to_owned(),
            path: "/data/country/{code}".to_owned(),
            summary: String::new(),
        };
        let code = json!({ "name": "code", "in": "path", "example": "KE" });
        let text = request("https://h.example", &line, &[&code], &["X-API-Key".to_owned()], "");
        assert_eq!(text, "curl \\\n  -H 'X-API-Key: YOUR_KEY' \\\n  'https://h.example/data/country/KE'");
        let words = json!({ "name": "q", "in": "query", "required": true, "example": "a b'&c" });
        let text = request("https://h.example", &line, &[&code, &words], &[], "");
        assert!(text.ends_with("/data/country/KE?q=a%20b%27%26c'"), "{text}");
    }
}
