//! The answers of the services: at most 280 characters of JSON, with members in the order of existing providers. They
//! say what the public endpoints say at that moment, also where those say that nothing is known.

use std::sync::Arc;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::SERVICES;
use crate::envelope::MAX_TEXT;
use crate::{Error, Result};
use engine::http::{Body, Cx};
use engine::runtime::Runtime;

/// Members in their order.
type Fields = Vec<(&'static str, Value)>;
/// Most drivers of a forecast that are named.
const DRIVERS: usize = 3;
/// Most characters of an input that an error repeats.
const REPEATED: usize = 64;

/// The answer to an input. A wrong input is answered too. An error is a fault of this service, which may be temporary.
pub async fn answer(rt: &Arc<dyn Runtime>, capability: &str, input: Option<&str>) -> Result<String> {
    let brand = &rt.environment().settings.brand;
    let service = SERVICES.iter().find(|service| service.slug(brand) == capability);
    let fields = match (input_of(input), service.map(|service| service.word)) {
        (Err(error), _) => error,
        (Ok(input), Some("block_check")) => block_check(rt, &input).await?,
        (Ok(input), Some("risk_forecast")) => risk_forecast(rt, &input).await?,
        (Ok(_), _) => said("this provider has no such service"),
    };
    Ok(fitted(fields))
}

fn said(error: &str) -> Fields {
    vec![("error", json!(error))]
}

/// The input as an object.
fn input_of(text: Option<&str>) -> Result<Value, Fields> {
    let value: Option<Value> = text.and_then(|text| serde_json::from_str(text).ok());
    value.filter(Value::is_object).ok_or_else(|| said("input is not JSON"))
}

/// A text member without white space around it; `None` when nothing is left.
fn text(input: &Value, name: &str) -> Option<String> {
    let text = input.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Two upper-case letters, however they were written.
fn country(input: &Value) -> Option<Result<String, Fields>> {
    let code = text(input, "country")?.to_uppercase();
    let fits = code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    Some(if fits { Ok(code) } else { Err(said("country must be two letters")) })
}

async fn block_check(rt: &Arc<dyn Runtime>, input: &Value) -> Result<Fields> {
    let (Some(domain), Some(country)) = (text(input, "domain"), country(input)) else {
        return Ok(said("domain or country missing"));
    };
    let (domain, country) = match country {
        Ok(country) => (domain.to_lowercase(), country),
        Err(error) => return Ok(error),
    };
    let query = format!("domain={}&country={country}", utf8_percent_encode(&domain, NON_ALPHANUMERIC));
    let known = match asked(rt, "/v1/accessibility/check", &query).await? {
        Ok(known) => known,
        Err(status) => return Ok(said(&format!("HTTP {status} for {} in {country}", cut(&domain)))),
    };
    let of = |name: &str| known.get(name).cloned().unwrap_or(Value::Null);
    Ok(vec![
        ("accessible", of("accessible")),
        ("status", of("status")),
        ("domain", json!(domain)),
        ("country", json!(country)),
        ("confidence", of("confidence")),
        ("samples", of("samples")),
    ])
}

async fn risk_forecast(rt: &Arc<dyn Runtime>, input: &Value) -> Result<Fields> {
    let country = match country(input) {
        None => return Ok(said("country missing")),
        Some(Err(error)) => return Ok(error),
        Some(Ok(country)) => country,
    };
    let known = match asked(rt, &format!("/v1/forecast/{country}/7day"), "").await? {
        Ok(known) => known,
        Err(status) => return Ok(said(&format!("HTTP {status} for {country}"))),
    };
    let of = |pointer: &str| known.pointer(pointer).cloned().unwrap_or(Value::Null);
    let drivers = match of("/summary/key_drivers") {
        Value::Array(drivers) => Value::Array(drivers.into_iter().take(DRIVERS).collect()),
        _ => Value::Null,
    };
    Ok(vec![
        ("country", json!(country)),
        ("max_risk", of("/summary/max_risk")),
        ("max_risk_day", of("/summary/max_risk_day")),
        ("avg_risk", of("/summary/avg_risk")),
        ("key_drivers", drivers),
        ("confidence", of("/confidence")),
        ("model", of("/model_version")),
    ])
}

fn cut(text: &str) -> String {
    text.chars().take(REPEATED).collect()
}

/// The answer of one of the service's own endpoints, or the status of a refusal. A fault of the service is an error.
async fn asked(rt: &Arc<dyn Runtime>, path: &str, query: &str) -> Result<Result<Value, u16>> {
    let response = Box::pin(Cx::ask_ourselves(rt.clone(), path, query)).await?;
    let Body::Bytes(body) = &response.body else { return Err(Error::internal(format!("{path} is a stream"))) };
    match response.status.as_u16() {
        200 => serde_json::from_slice(body).map(Ok).map_err(Error::internal),
        status @ 400..=499 => Ok(Err(status)),
        status => Err(Error::unavailable(format!("{path} answered {status}"))),
    }
}

/// The JSON text. If it is too long for a claim, the last members are left out.
fn fitted(mut fields: Fields) -> String {
    loop {
        // Names need no escapes.
        let members: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        let text = format!("{{{}}}", members.join(","));
        if text.chars().count() <= MAX_TEXT || fields.pop().is_none() {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_too_long_loses_its_last_members_and_stays_json() {
        let fields = vec![("a", json!("x".repeat(200))), ("b", json!("é".repeat(60))), ("c", json!("y".repeat(40)))];
        let text = fitted(fields);
        assert!(text.chars().count() <= MAX_TEXT);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert!(value.get("b").is_some() && value.get("c").is_none());
        assert_eq!(fitted(vec![("a", json!("x".repeat(300)))]), "{}");
    }
}
