//! `POST /v1/measurement/classify` (decision classify-one-document).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Result, reference};
use engine::http::{Cx, Response};
use facts::measurement::Fingerprints;
use facts::measurement::types::Rejection;
use facts::verdict::classify::classify_value;

/// Most documents of one request.
const MAX: usize = 50;

/// One raw OONI document, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct ClassifyRequest {
    measurement: Option<Value>,
    /// At most 50.
    measurements: Option<Vec<Value>>,
}

/// The classification of one document.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ClassifyResult {
    /// accessible, blocked, down or unknown.
    pub label: &'static str,
    /// `label` in the three states of the other endpoints, where down is unknown.
    pub status: &'static str,
    /// The deciding rule of each host or role.
    pub rules: Vec<&'static str>,
    /// Calibrated probability that the document shows blocking; null if it cannot be judged.
    pub probability: Option<f64>,
    pub method: Option<&'static str>,
    pub technique: Option<&'static str>,
    /// Layer of an interference that did not keep the site from working.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interference: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    pub model_version: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ClassifyBody {
    results: Vec<ClassifyResult>,
}

/// Classifies one document. A document that is no measurement is `unknown`, with the reason.
pub fn classify_one(document: Value, fingerprints: &Fingerprints) -> ClassifyResult {
    let model_version = format!("rules-{}", crate::country::RULES_VERSION);
    match classify_value(document, fingerprints) {
        Ok(found) => ClassifyResult {
            label: found.label.as_str(),
            status: found.label.status(),
            rules: found.rules.iter().map(|rule| rule.rule().name).collect(),
            probability: Some(engine::number::round(found.probability)),
            method: found.method(),
            technique: found.technique.map(|technique| technique.as_str()),
            interference: found.interference,
            reason: found.reason,
            model_version,
        },
        Err(rejection) => ClassifyResult {
            label: "unknown",
            status: "unknown",
            rules: Vec::new(),
            probability: None,
            method: None,
            technique: None,
            interference: None,
            reason: Some(match rejection {
                Rejection::Unsupported(reason) | Rejection::Unusable(reason) | Rejection::Refused(reason) => reason,
            }),
            model_version,
        },
    }
}

pub async fn classify(cx: Cx) -> Result<Response> {
    let request: ClassifyRequest = cx.json()?;
    let documents = match (request.measurement, request.measurements) {
        (Some(one), None) => vec![one],
        (None, Some(many)) => many,
        (Some(_), Some(_)) => return Err(Error::bad_request("Give `measurement` or `measurements`, not both.")),
        (None, None) => return Err(Error::bad_request("`measurement` or `measurements` is required.")),
    };
    if documents.is_empty() || documents.len() > MAX {
        return Err(Error::bad_request(format!("`measurements` takes 1 to {MAX} documents.")));
    }
    if !documents.iter().all(Value::is_object) {
        return Err(Error::bad_request("Each measurement must be a JSON object."));
    }
    let fingerprints = reference::fingerprints(&*cx.rt).await?;
    let results = documents.into_iter().map(|document| classify_one(document, &fingerprints)).collect();
    Response::json(&ClassifyBody { results })
}
