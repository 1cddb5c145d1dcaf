//! Answers about many countries at once: which countries a body names, and answers combined from the pages of single
//! countries, which are rendered once for all requests.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::country::routes::input;
use crate::{Error, Result};
use engine::http::{Cx, Response};
use facts::starter::Country;

/// Countries of a batch, at most.
const MOST: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct BatchRequest {
    /// ISO 3166-1 alpha-2, up to 50.
    #[schemars(required, length(min = 1, max = 50))]
    countries: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchError {
    /// The country as it was asked for.
    country: String,
    error: &'static str,
    message: String,
}

/// The countries that a body asks about.
#[derive(Debug)]
pub struct BatchCountries {
    /// Each country once, in the order of the body.
    pub countries: Vec<&'static Country>,
    /// Texts that name no country.
    pub errors: Vec<BatchError>,
}

impl BatchCountries {
    /// # Errors
    ///
    /// Refuses a body without countries, or with more than 50.
    pub fn read(cx: &Cx) -> Result<BatchCountries> {
        let request: BatchRequest = cx.json()?;
        let named = request.countries.filter(|named| !named.is_empty());
        let named = named.ok_or_else(|| Error::bad_request("`countries` must name at least one country."))?;
        if named.len() > MOST {
            return Err(Error::bad_request(format!("`countries` takes at most {MOST} countries.")));
        }
        let (mut asked, mut seen) = (BatchCountries { countries: Vec::new(), errors: Vec::new() }, BTreeSet::new());
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

    /// Keeps the answer for a publish interval under the requested countries. An answer with errors repeats texts of
    /// the caller, of any length, so it is not kept.
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

/// Rendered pages, in the form of members of another answer.
pub fn parts(pages: &[Bytes]) -> Result<Vec<&RawValue>> {
    pages.iter().map(|page| serde_json::from_slice(page).map_err(Error::internal)).collect()
}
