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
/// How many objects inside each other are shown of a body.
const DEEPEST: u8 = 3;

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
    members: Vec<Member>,
    request: String,
    answers: Vec<Status>,
}

impl OperationPage {
    /// Whether a parameter or a member is marked as required.
    fn requires(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.required) || self.members.iter().any(|member| member.required)
    }
}

struct Parameter {
    name: String,
    place: String,
    required: bool,
    kind: String,
    about: String,
}

/// A member of the body, named with the members that it is inside of.
struct Member {
    name: String,
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
    let body = operation.pointer("/requestBody/content/application~1json");
    let mut members = Vec::new();
    if let Some(schema) = body.and_then(|media| media.get("schema")) {
        add_members(document, schema, "", DEEPEST, &mut members);
    }
    let body = body.map(example).unwrap_or_default();
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
        request: request(&cx.settings().base_url(), &line, &asked(operation, &line, &given), &keys, &body),
        members,
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
    Parameter {
        name: text(parameter, "name").to_owned(),
        place: text(parameter, "in").to_owned(),
        required: parameter.get("required").and_then(Value::as_bool).unwrap_or_default(),
        kind: parameter.get("schema").map(kind).unwrap_or_default(),
        about: text(parameter, "description").to_owned(),
    }
}

/// The schema that a reference, or a choice between one schema and null, stands for.
fn plain<'d>(document: &'d Answer<'_>, schema: &'d Value) -> &'d Value {
    let choices = schema.get("anyOf").and_then(Value::as_array);
    let chosen = choices.and_then(|choices| choices.iter().find(|choice| text(choice, "type") != "null"));
    resolved(document, chosen.unwrap_or(schema))
}

/// Adds the members of an object, and those of the objects inside of it so many steps down.
fn add_members(document: &Answer, schema: &Value, before: &str, depth: u8, out: &mut Vec<Member>) {
    let schema = plain(document, schema);
    if let Some(entry) = schema.get("items") {
        return add_members(document, entry, before, depth, out);
    }
    let Some(depth) = depth.checked_sub(1) else { return };
    let required = |name: &String| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|one| one == name.as_str()))
    };
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let of = plain(document, member);
        let about = Some(text(member, "description")).filter(|about| !about.is_empty());
        let path = format!("{before}{name}");
        out.push(Member {
            required: required(name),
            kind: kind(of),
            about: about.unwrap_or_else(|| text(of, "description")).to_owned(),
            name: path.clone(),
        });
        add_members(document, of, &format!("{path}."), depth, out);
    }
}

/// What a value must be, in words: its type, its bounds and its pattern.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ");
    }
    let types = schema.get("type").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let one = types.into_iter().find(|name| *name != "null").unwrap_or_else(|| text(schema, "type"));
    let mut out = [one, text(schema, "format")].join(" ").trim().to_owned();
    for (least, most, unit) in
        [("minLength", "maxLength", " characters"), ("minItems", "maxItems", " entries"), ("minimum", "maximum", "")]
    {
        if let Some(bounds) = bounds(schema.get(least), schema.get(most)) {
            out += &format!(", {bounds}{unit}");
        }
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        out += &format!(", pattern `{pattern}`");
    }
    match schema.get("items").map(kind).filter(|entry| !entry.is_empty()) {
        Some(entry) => format!("{out}; each: {entry}"),
        None => out,
    }
}

fn bounds(least: Option<&Value>, most: Option<&Value>) -> Option<String> {
    match (least, most) {
        (Some(least), Some(most)) if least == most => Some(least.to_string()),
        (Some(least), Some(most)) => Some(format!("{least} to {most}")),
        (Some(least), None) => Some(format!("{least} or more")),
        (None, Some(most)) => Some(format!("at most {most}")),
        (None, None) => None,
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

/// The address that was asked for the answer that is shown; where there is none, one made of the examples of parameters.
fn asked(operation: &Value, line: &Line, parameters: &[&Value]) -> String {
    match text(operation, "x-example-address") {
        "" => made(line, parameters),
        address => address.to_owned(),
    }
}

fn made(line: &Line, parameters: &[&Value]) -> String {
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
    format!("{path}{mark}{}", query.join("&"))
}

/// A request that can be pasted into a shell.
fn request(base: &str, line: &Line, address: &str, keys: &[String], body: &str) -> String {
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
    format!("{out} \\\n  '{base}{}'", address.replace('\'', "%27"))
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
    fn the_bounds_of_a_value_are_said_in_words() {
        for (schema, said) in [
            (json!({ "type": "string", "minLength": 3, "maxLength": 64 }), "string, 3 to 64 characters"),
            (
                json!({ "type": ["string", "null"], "maxLength": 9, "pattern": "^a" }),
                "string, at most 9 characters, pattern `^a`",
            ),
            (json!({ "type": "integer", "format": "int64", "minimum": 1 }), "integer int64, 1 or more"),
            (
                json!({ "type": "array", "maxItems": 5, "items": { "type": "string", "minLength": 2, "maxLength": 2 } }),
                "array, at most 5 entries; each: string, 2 characters",
            ),
            (json!({ "type": ["string", "null"], "enum": ["low", "high", null] }), "low | high"),
        ] {
            assert_eq!(kind(&schema), said);
        }
    }

    #[test]
    fn a_body_is_shown_with_the_objects_inside_of_it() {
        let document = Answer(std::borrow::Cow::Owned(json!({ "components": { "schemas": {
            "Whole": { "type": "object", "required": ["part"], "properties": {
                "part": { "anyOf": [{ "$ref": "#/components/schemas/Part" }, { "type": "null" }] },
                "rows": { "type": "array", "items": { "$ref": "#/components/schemas/Part" } },
            } },
            "Part": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 8 } } },
        } } })));
        let mut members = Vec::new();
        add_members(&document, &json!({ "$ref": "#/components/schemas/Whole" }), "", DEEPEST, &mut members);
        let shown: Vec<(&str, bool)> = members.iter().map(|member| (member.name.as_str(), member.required)).collect();
        assert_eq!(shown, [("part", true), ("part.name", false), ("rows", false), ("rows.name", false)]);
        assert_eq!(members[1].kind, "string, at most 8 characters");
    }

    #[test]
    fn a_request_can_be_pasted() {
        let line = Line {
            id: "getCountry".to_owned(),
            method: "GET".to_owned(),
            path: "/data/country/{code}".to_owned(),
            summary: String::new(),
        };
        let code = json!({ "name": "code", "in": "path", "example": "KE" });
        let text = request("https://h.example", &line, &made(&line, &[&code]), &["X-API-Key".to_owned()], "");
        assert_eq!(text, "curl \\\n  -H 'X-API-Key: YOUR_KEY' \\\n  'https://h.example/data/country/KE'");
        let words = json!({ "name": "q", "in": "query", "required": true, "example": "a b'&c" });
        let text = request("https://h.example", &line, &made(&line, &[&code, &words]), &[], "");
        assert!(text.ends_with("/data/country/KE?q=a%20b%27%26c'"), "{text}");
        let operation = json!({ "x-example-address": "/data/country/NO?as_of=2024-03-12" });
        assert_eq!(asked(&operation, &line, &[&code]), "/data/country/NO?as_of=2024-03-12");
    }
}
