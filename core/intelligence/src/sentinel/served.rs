//! The forecasts as their endpoints serve them, so that everything that mentions a forecast states the same numbers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result};
use engine::http::Cx;
use facts::sentence::Sentence;

/// From this risk on a country is called elevated.
pub const THRESHOLD: f64 = 0.5;

#[derive(Debug, Clone, Deserialize)]
pub struct Day {
    pub day: i32,
    pub date: String,
    pub risk: f64,
    pub drivers: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Summary {
    pub max_risk: f64,
    pub max_risk_day: i32,
    pub avg_risk: f64,
    pub risk_7day: f64,
    pub key_drivers: Vec<String>,
    #[serde(default)]
    sentences: Value,
}

impl Summary {
    pub fn drivers(&self) -> Vec<Sentence> {
        said(&self.key_drivers, &self.sentences, "key_drivers")
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Aci {
    pub empirical_coverage: Option<f64>,
}

/// The members of `GET /v1/forecast/{country}/7day` that are read here.
#[derive(Debug, Clone, Deserialize)]
pub struct Week {
    pub country: String,
    pub country_name: String,
    pub generated_at: String,
    pub forecast: Vec<Day>,
    pub summary: Summary,
    pub model_version: String,
    pub aci: Option<Aci>,
    /// Null for base rates.
    pub history_until: Option<String>,
    caveats: Vec<String>,
    pub license: String,
    #[serde(default)]
    sentences: Value,
}

impl Week {
    pub fn caveats(&self) -> Vec<Sentence> {
        said(&self.caveats, &self.sentences, "caveats")
    }

    /// Whether the forecast comes from a model, and not from base rates.
    pub fn is_learned(&self) -> bool {
        self.aci.is_some()
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Feature {
    pub name: String,
    pub contribution: f64,
    pub direction: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Horizon {
    pub probability: f64,
    pub interval_90: Option<[f64; 2]>,
    pub top_features: Vec<Feature>,
}

/// The members of `GET /v1/forecast/{country}/multi-horizon` that are read here.
#[derive(Debug, Clone, Deserialize)]
pub struct Horizons {
    pub horizons: BTreeMap<String, Horizon>,
}

impl Horizons {
    /// The horizon of seven days.
    pub fn week(&self) -> Option<&Horizon> {
        self.horizons.get("7d")
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct Ranked {
    pub country: String,
    pub country_name: String,
    pub max_risk: f64,
    pub max_risk_day: i32,
    pub risk_7day: f64,
    drivers: Vec<String>,
    #[serde(default)]
    sentences: Value,
}

impl Ranked {
    pub fn drivers(&self) -> Vec<Sentence> {
        said(&self.drivers, &self.sentences, "drivers")
    }

    /// The risk by which countries are selected (decision hazard-and-week-risk).
    pub fn most(&self) -> f64 {
        self.max_risk.max(self.risk_7day)
    }
}

/// `GET /v1/forecast/high-risk` for all countries; empty without a model.
#[derive(Debug, Clone, Deserialize)]
pub struct Everywhere {
    pub countries: Vec<Ranked>,
    /// Null without a model.
    pub model_version: Option<String>,
    caveats: Vec<String>,
    pub license: String,
    #[serde(default)]
    sentences: Value,
}

impl Everywhere {
    pub fn caveats(&self) -> Vec<Sentence> {
        said(&self.caveats, &self.sentences, "caveats")
    }
}

/// The texts of a list as the sentences that they are.
fn said(texts: &[String], sentences: &Value, member: &str) -> Vec<Sentence> {
    let coded = |at: usize| {
        let place = format!("/{member}/{at}");
        Sentence::from_json(sentences.as_array()?.iter().find(|said| said["text"] == place)?)
    };
    texts.iter().enumerate().map(|(at, text)| coded(at).unwrap_or_else(|| Sentence::written(text))).collect()
}

/// The answer of an endpoint of this service.
pub async fn ask<T: DeserializeOwned>(cx: &Cx, path: &str, query: &str) -> Result<T> {
    let body = Box::pin(cx.ask(path, query)).await?;
    serde_json::from_slice(&body).map_err(Error::internal)
}

/// The seven-day forecast of a country, by its code.
pub async fn week(cx: &Cx, code: &str) -> Result<Week> {
    ask(cx, &format!("/v1/forecast/{code}/7day"), "").await
}

/// The horizons of a country, by its code.
pub async fn horizons(cx: &Cx, code: &str) -> Result<Horizons> {
    ask(cx, &format!("/v1/forecast/{code}/multi-horizon"), "").await
}

/// All countries, those with the highest risk first.
pub async fn everywhere(cx: &Cx) -> Result<Everywhere> {
    ask(cx, "/v1/forecast/high-risk", "threshold=0").await
}
