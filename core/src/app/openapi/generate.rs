//! The document as a whole.

use schemars::SchemaGenerator;
use schemars::generate::{Contract, SchemaSettings};
use serde_json::{Map, Value, json};

use super::{answers, operation, tags, tidy};
use crate::app::PROGRAM;
use crate::engine::http::{Route, SchemaOf};

/// The version of the interface's description that this document states, and of the one that it began with.
const VERSION: &str = "2.7.0";
const INTERFACE: &str = "2.6.0";

/// Schemas of bodies that are read and of bodies that are written. They are made apart, since what may be left out
/// differs: a member with a default is written always, and one that is empty may be left out.
pub struct Schemas {
    read: SchemaGenerator,
    written: SchemaGenerator,
}

fn generator(contract: Contract) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.contract = contract;
    });
    settings.into_generator()
}

impl Schemas {
    pub fn new() -> Schemas {
        Schemas { read: generator(Contract::Deserialize), written: generator(Contract::Serialize) }
    }

    /// The schema of a request.
    pub fn read(&mut self, of: SchemaOf) -> Value {
        of(&mut self.read).to_value()
    }

    /// The schema of an answer.
    pub fn written(&mut self, of: SchemaOf) -> Value {
        of(&mut self.written).to_value()
    }

    /// Whether a request cannot be an empty object.
    pub fn needs_members(&mut self, of: SchemaOf) -> bool {
        let schema = self.read(of);
        let name = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next()).unwrap_or_default();
        let known = self.read.definitions().get(name).unwrap_or(&schema);
        known["required"].as_array().is_some_and(|names| !names.is_empty())
    }

    /// All schemas by name. A type that is read and written, and differs in this, needs a type for each.
    fn take(mut self) -> Map<String, Value> {
        let mut all = self.written.take_definitions(true);
        for (name, schema) in self.read.take_definitions(true) {
            let known = all.entry(name.clone()).or_insert_with(|| schema.clone());
            if *known != schema {
                *known = tidy::joined(known, &schema).unwrap_or_else(|| unreachable(&name));
            }
        }
        all.into_iter().map(|(name, schema)| (name, tidy::tidied(schema))).collect()
    }
}

fn unreachable(name: &str) -> Value {
    json!({ "description": format!("{name} is read and written differently") })
}

/// Writes the document from the route table.
pub fn generate() -> Value {
    let mut schemas = Schemas::new();
    let mut paths: Map<String, Value> = Map::new();
    for route in PROGRAM.interface() {
        let item = paths.entry(path(route)).or_insert_with(|| json!({}));
        item[route.method.as_str().to_lowercase()] = tidy::tidied(operation::operation(route, &mut schemas));
    }
    let mut all = schemas.take();
    all.insert("ErrorAnswer".into(), answers::error_schema());
    json!({
        "openapi": "3.1.0",
        "info": info(),
        "servers": [{ "url": "/", "description": "The server that this document comes from." }],
        "tags": tags::all(),
        "paths": paths,
        "components": { "schemas": all, "responses": answers::components(), "securitySchemes": schemes() },
    })
}

fn path(route: &Route) -> String {
    route.path.replace("{*", "{")
}

fn info() -> Value {
    json!({
        "title": "Heliograph",
        "summary": "Censorship intelligence and agent relay.",
        "description": "Where the internet is blocked and shut down, by measurement, with the evidence; and messages, tasks \
            and payments between agents. Every failure has the body `ErrorAnswer`. Times are in UTC. A parameter that an \
            operation does not have is ignored, and a `limit` above the largest counts as the largest.",
        "version": VERSION,
        "x-interface-version": INTERFACE,
        "x-program-version": env!("CARGO_PKG_VERSION"),
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    })
}

fn schemes() -> Value {
    let key = |header: &str, description: &str| json!({ "type": "apiKey", "in": "header", "name": header, "description": description });
    json!({
        "key": key("X-API-Key", "An API key; `POST /api-keys/signup` gives one."),
        "agent": key("X-Agent-Key", "The key of an agent; `POST /v1/agent/register` gives one."),
        "admin": key("X-Admin-Key", "The operator's key."),
        "sentinel": key("X-Sentinel-Admin-Key", "A key that may report outcomes of forecasts."),
        "probe": {
            "type": "http",
            "scheme": "bearer",
            "description": "The token of a probe node; `POST /v1/community/register` gives one.",
        },
    })
}
