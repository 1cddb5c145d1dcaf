//! The OpenAPI 3.1 document, written from the route table.

use std::sync::LazyLock;

use crate::Result;
use crate::engine::documents;
use crate::engine::http::{Cx, Response, Route, handler};

pub const ROUTES: &[Route] =
    &[Route::get("/openapi.json", handler!(document)).extension().summary("This document, in OpenAPI 3.1.")];

/// The committed document without its white space (`build.rs`); a test holds it equal to the route table. Committing it
/// shows every change of the interface in the diff, and spares the Worker the generators.
const DOCUMENT: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

static TAG: LazyLock<String> = LazyLock::new(|| documents::etag(DOCUMENT.as_bytes()));

async fn document(cx: Cx) -> Result<Response> {
    Ok(cx.revalidated(Response::json_text(DOCUMENT), &TAG, 3_600))
}

#[cfg(not(target_arch = "wasm32"))]
pub use generate::generate;

#[cfg(not(target_arch = "wasm32"))]
mod generate {
    use schemars::SchemaGenerator;
    use schemars::generate::SchemaSettings;
    use serde_json::{Map, Value, json};

    use crate::ErrorCode;
    use crate::app::PROGRAM;
    use crate::engine::http::{Auth, BodyKind, Limit, Route};

    /// Writes the document from the route table.
    pub fn generate() -> Value {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let mut generator = settings.into_generator();
        let mut paths: Map<String, Value> = Map::new();
        for route in PROGRAM.routes() {
            let item = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
            if let Value::Object(item) = item {
                item.insert(route.method.as_str().to_lowercase(), operation(route, &mut generator));
            }
        }
        let mut schemas = generator.take_definitions(true);
        schemas.insert("Error".into(), error_schema());
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Heliograph",
                "summary": "Censorship intelligence and agent relay.",
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
            },
            "paths": paths,
            "components": {
                "schemas": schemas,
                "responses": { "Failure": failure() },
                "securitySchemes": {
                    "key": { "type": "apiKey", "in": "header", "name": "X-API-Key" },
                    "agent": { "type": "apiKey", "in": "header", "name": "X-Agent-Key" },
                    "admin": { "type": "apiKey", "in": "header", "name": "X-Admin-Key" },
                    "sentinel": { "type": "apiKey", "in": "header", "name": "X-Sentinel-Admin-Key" },
                },
            },
        })
    }

    fn error_schema() -> Value {
        let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        json!({
            "type": "object",
            "required": ["error", "message"],
            "properties": {
                "error": { "type": "string", "enum": codes },
                "message": { "type": "string" },
            },
        })
    }

    /// How every operation answers what it refuses or cannot do.
    fn failure() -> Value {
        json!({
            "description": "Failure; the body names the code.",
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
        })
    }

    fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
        let mut operation = Map::new();
        operation.insert("summary".into(), json!(route.summary));
        operation.insert("parameters".into(), Value::Array(parameters(route)));
        match route.body {
            BodyKind::None => {}
            BodyKind::Json => {
                let schema = route.request.map_or_else(|| json!({}), |of| of(generator).to_value());
                let content = json!({ "application/json": { "schema": schema } });
                operation.insert("requestBody".into(), json!({ "content": content }));
            }
            BodyKind::Raw => {
                let content = json!({ "application/octet-stream": {} });
                operation.insert("requestBody".into(), json!({ "content": content }));
            }
        }
        let body = match route.response {
            Some(of) => json!({
                "description": "Success.",
                "content": { "application/json": { "schema": of(generator).to_value() } },
            }),
            None => json!({ "description": "Success." }),
        };
        let failure = json!({ "$ref": "#/components/responses/Failure" });
        operation.insert(
            "responses".into(),
            json!({ route.success.to_string(): body, "4XX": failure.clone(), "5XX": failure }),
        );
        let scheme = match route.auth {
            // What is signed is in the body.
            Auth::None | Auth::Signed | Auth::SignedOrAdmin | Auth::SignedAdmin | Auth::Probe | Auth::Token => None,
            Auth::Key => Some("key"),
            Auth::Agent => Some("agent"),
            Auth::Admin => Some("admin"),
            Auth::Sentinel => Some("sentinel"),
        };
        operation.insert("security".into(), scheme.map_or_else(|| json!([]), |name| json!([{ name: [] }])));
        operation.insert("x-max-body-bytes".into(), json!(route.max_body));
        if route.limit != Limit::None {
            operation.insert("x-limit".into(), json!(format!("{:?}", route.limit)));
        }
        if route.extension {
            operation.insert("x-extension".into(), json!(true));
        }
        Value::Object(operation)
    }

    fn parameters(route: &Route) -> Vec<Value> {
        let in_path = route.path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*');
            Some(json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }))
        });
        let in_query = route.params.iter().map(|param| {
            json!({
                "name": param.name,
                "in": "query",
                "required": param.required,
                "description": param.doc,
                "schema": { "type": "string" },
            })
        });
        in_path.chain(in_query).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HELIOGRAPH_UPDATE_GOLDEN=1 cargo test -p heliograph-core openapi` writes the file anew.
    #[test]
    fn the_committed_document_is_the_route_table() {
        let committed = include_str!("../../openapi.json");
        let mut generated = serde_json::to_string_pretty(&generate()).unwrap();
        generated.push('\n');
        if std::env::var_os("HELIOGRAPH_UPDATE_GOLDEN").is_some() {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json"), &generated).unwrap();
        } else {
            assert!(generated == committed, "openapi.json is stale; run with HELIOGRAPH_UPDATE_GOLDEN=1 and review");
        }
    }

    #[test]
    fn the_document_that_is_served_says_what_the_committed_one_says() {
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(DOCUMENT), read(include_str!("../../openapi.json")));
        assert!(!DOCUMENT.contains('\n'));
    }

    #[test]
    fn every_route_says_what_it_is_for() {
        for route in crate::app::PROGRAM.routes() {
            assert!(!route.summary.is_empty(), "{} {}", route.method, route.path);
        }
    }
}
