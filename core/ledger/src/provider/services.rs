//! The services of the provider, and their listings.

use super::keys::{self, ProviderKeys};
use super::own;
use crate::ACTOR;
use crate::json::Json;
use crate::listing::Listing;
use crate::market::ListingsOf;
use crate::rows::Micro;
use crate::submit::Answer;
use crate::{Error, Result};
use engine::runtime::{self, Runtime};

/// One service.
pub struct Service {
    /// The part of its slug after the brand and a dot.
    pub word: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    /// Price of a call, in micro-credits.
    pub price: Micro,
    /// Tags besides the brand, which comes first.
    pub tags: &'static [&'static str],
    pub input: &'static str,
    pub output: &'static str,
}

/// Longest time that a hire of the provider may take, in hours, as listed.
const SLA_HOURS: u32 = 1;
/// The unit that is paid for.
const UNIT: &str = "call";

pub const SERVICES: [Service; 2] = [
    Service {
        word: "block_check",
        name: "Block check",
        description: "Whether a domain is blocked in a country, by what was measured there. Without measurements the \
                      status is unknown.",
        price: 5_000,
        tags: &["censorship", "oracle", "real-data"],
        input: r#"{"type":"object","required":["domain","country"],"properties":{"domain":{"type":"string"},"country":{"type":"string","description":"ISO 3166-1 alpha-2"}}}"#,
        output: r#"{"type":"object","properties":{"accessible":{"type":["boolean","null"]},"status":{"type":"string"},"domain":{"type":"string"},"country":{"type":"string"},"confidence":{"type":["number","null"]},"samples":{"type":["integer","null"]},"error":{"type":"string"}}}"#,
    },
    Service {
        word: "risk_forecast",
        name: "Shutdown risk forecast",
        description: "The risk that an internet shutdown begins in a country within a week. Without a model these are base \
                      rates, with confidence 0.",
        price: 10_000,
        tags: &["forecast", "predictive", "real-data", "sentinel"],
        input: r#"{"type":"object","required":["country"],"properties":{"country":{"type":"string","description":"ISO 3166-1 alpha-2"}}}"#,
        output: r#"{"type":"object","properties":{"country":{"type":"string"},"max_risk":{"type":["number","null"]},"max_risk_day":{"type":["integer","null"]},"avg_risk":{"type":["number","null"]},"key_drivers":{"type":["array","null"]},"confidence":{"type":["number","null"]},"model":{"type":["string","null"]},"error":{"type":"string"}}}"#,
    },
];

impl Service {
    pub fn slug(&self, brand: &str) -> String {
        format!("{brand}.{}", self.word)
    }

    /// JSON text of a list.
    fn tags(&self, brand: &str) -> String {
        let tags: Vec<&str> = std::iter::once(brand).chain(self.tags.iter().copied()).collect();
        // A list of texts always serializes.
        serde_json::to_string(&tags).unwrap_or_default()
    }

    fn is_listed_as(&self, listing: &Listing, brand: &str, active: bool) -> bool {
        let Listing { name, description, price, unit, sla_hours, tags, input_schema, output_schema, .. } = listing;
        listing.active == active
            && (name.as_str(), description.as_str(), unit.as_str()) == (self.name, self.description, UNIT)
            && (*price, *sla_hours) == (self.price, SLA_HOURS)
            && tags.as_deref() == Some(self.tags(brand).as_str())
            && (input_schema.as_deref(), output_schema.as_deref()) == (Some(self.input), Some(self.output))
    }

    async fn list(&self, rt: &dyn Runtime, own: &ProviderKeys, active: bool) -> Result<()> {
        let brand = &rt.environment().settings.brand;
        let slug = self.slug(brand);
        let text = |text: &str| Json::Text(text.to_owned());
        let number = |number: u64| Json::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let members = [
            ("provider_did", Json::Text(own.did.clone())),
            ("capability", Json::Text(slug)),
            ("name", text(self.name)),
            ("description", text(self.description)),
            ("price_per_call_micro", number(self.price)),
            ("unit", text(UNIT)),
            ("sla_deadline_hours", number(SLA_HOURS.into())),
            ("active", Json::Bool(active)),
            ("tags", Json::Text(self.tags(brand))),
            ("input_schema", text(self.input)),
            ("output_schema", text(self.output)),
            ("nonce", Json::Text(keys::nonce(rt))),
        ];
        match own.submit(rt, "capability-list", members).await? {
            Answer::Done(_) => Ok(()),
            Answer::Refused(reason, _) | Answer::Untaken(reason) => {
                Err(Error::unavailable(format!("a service is not listed: {}", reason.as_str())))
            }
            Answer::Reverify => Err(Error::unavailable("the provider's keys changed")),
        }
    }
}

/// Makes the provider if there is none and lists its services, or pauses them if the settings want none.
pub async fn list(rt: &dyn Runtime) -> Result<()> {
    let settings = &rt.environment().settings;
    let active = settings.first_party_services;
    let own = match own(rt).await? {
        Some(own) => own,
        None if active => keys::make(rt).await?,
        None => return Ok(()),
    };
    if active {
        own.take_name(rt).await?;
    }
    let listed = runtime::query(rt, ACTOR, &ListingsOf { name: own.name.clone() }).await?;
    for service in &SERVICES {
        let slug = service.slug(&settings.brand);
        let mut known = listed.iter().filter(|(_, listing)| listing.capability == slug);
        if !known.any(|(_, listing)| service.is_listed_as(listing, &settings.brand, active)) {
            service.list(rt, &own, active).await?;
        }
    }
    Ok(())
}
