//! Answers about many countries at once: whom a body asks about, and answers that are put together from the pages of
//! single countries, which are rendered once for all who ask.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::http::{Cx, Response};
use crate::facts::starter::Country;
use crate::intelligence::country::routes::input;
use crate::{Error, Result};

/// Most countries of a batch.
const MOST: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchRequest {
    /// ISO 3166-1 alpha-2, up to 50.
    countries: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchError {
    country: String,
    error: &'static str,
    message: String,
}

/// Whom a body asks about.
#[derive(Debug)]
pub struct Asked {
    /// Each once, in the order in which they are named.
    pub countries: Vec<&'static Country>,
    /// What is no country.
    pub errors: Vec<BatchError>,
}

impl Asked {
    /// # Errors
    ///
    /// Refuses a body without countries, or with more than 50.
    pub fn read(cx: &Cx) -> Result<Asked> {
        let request: BatchRequest = cx.json()?;
        let named = request.countries.filter(|named| !named.is_empty());
        let named = named.ok_or_else(|| Error::bad_request("`countries` must name at least one."))?;
        if named.len() > MOST {
            return Err(Error::bad_request(format!("`countries` takes at most {MOST}.")));
        }
        let (mut asked, mut seen) = (Asked { countries: Vec::new(), errors: Vec::new() }, BTreeSet::new());
        for text in named {
            match input::known(&text) {
                Ok(country) if seen.insert(country.code) => asked.countries.push(country),
                Ok(_) => {}
                Err(error) => asked.errors.push(BatchError {
                    country: text,
                    error: error.code.as_str(),
                    message: error.into_details().message.into_owned(),
                }),
            }
        }
        Ok(asked)
    }

    /// Keeps the answer for a publish interval under what was asked for. One with errors repeats what a caller wrote,
    /// of any length: it is made for this request alone.
    pub async fn answer(&self, cx: &Cx, make: impl Future<Output = Result<Response>>) -> Result<Response> {
        let page = match self.errors.is_empty() {
            true => {
                let codes: Vec<&str> = self.countries.iter().map(|country| country.code).collect();
                cx.kept_as(&format!("{}?{}", cx.request.path, codes.join(",")), make).await?
            }
            false => make.await?,
        };
        Ok(page.with(CACHE_CONTROL, "no-store"))
    }
}

/// Rendered pages, as members of another answer.
pub fn parts(pages: &[Bytes]) -> Result<Vec<&RawValue>> {
    pages.iter().map(|page| serde_json::from_slice(page).map_err(Error::internal)).collect()
}
