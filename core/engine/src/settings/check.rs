//! What the value of a setting must be, beyond its type.

use std::net::SocketAddr;

use http::HeaderName;

use super::{FETCH_SOURCES, LOG_FORMATS, LOG_LEVELS, Settings, listed};
use crate::http::{LARGEST_BODY, PageOrigin};
use crate::stream::PAGE_BYTES;
use crate::web::Networks;

/// A quarter of it, which one address has, takes the largest body of any route.
const LEAST_BODY_BYTES: u64 = 4 * LARGEST_BODY as u64;

/// What a brand looks like.
pub const BRAND_PATTERN: &str = "^[a-z][a-z0-9]{1,15}$";

/// An address with a port, or a name with one.
fn is_address(text: &str) -> bool {
    let of_name =
        |(host, port): (&str, &str)| !host.is_empty() && !host.contains([':', '/']) && port.parse::<u16>().is_ok();
    text.parse::<SocketAddr>().is_ok() || text.rsplit_once(':').is_some_and(of_name)
}

/// An address that links can begin with.
fn is_base(text: &str) -> bool {
    PageOrigin::of(text).is_some() && !text.contains(['?', '#'])
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), String> {
        self.check_brand()?;
        self.check_amounts()?;
        self.check_budgets()?;
        self.check_lists()?;
        self.check_words()?;
        self.check_addresses()?;
        self.check_tls()?;
        self.check_access()?;
        if !self.fetch_since.is_empty() && crate::Timestamp::parse(&self.fetch_since).is_none() {
            return Err("fetch_since must be a day such as 2026-01-31".to_owned());
        }
        Ok(())
    }

    fn check_brand(&self) -> Result<(), String> {
        let well_formed = |word: &str| {
            (2..=16).contains(&word.len())
                && word.starts_with(|c: char| c.is_ascii_lowercase())
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        if !well_formed(&self.brand) {
            return Err("brand must be 2 to 16 of a-z and 0-9, beginning with a letter".to_owned());
        }
        let extra = self.extra_header_prefix.to_ascii_lowercase();
        if !extra.is_empty() && !well_formed(&extra) {
            return Err("extra_header_prefix must be 2 to 16 of a-z and 0-9, beginning with a letter".to_owned());
        }
        Ok(())
    }

    fn check_amounts(&self) -> Result<(), String> {
        if self.stream_seconds == 0 || self.stream_seconds >= 60 {
            return Err("stream_seconds must be from 1 to 59: clients give up after 60".to_owned());
        }
        if self.memory_bytes == 0 {
            return Err("memory_bytes must be at least 1: clients divide by it".to_owned());
        }
        if self.memory_value_bytes > 1_800_000 {
            return Err("memory_value_bytes must be at most 1800000: a value is one row".to_owned());
        }
        if self.channels_per_agent > 1_000 {
            return Err("channels_per_agent must be at most 1000: they are read at once".to_owned());
        }
        if self.pay_reads_seconds > 30 {
            return Err("pay_reads_seconds must be at most 30".to_owned());
        }
        Ok(())
    }

    /// The settings that hold names or addresses, separated by commas, that requests are compared with.
    fn check_lists(&self) -> Result<(), String> {
        // A name that is written wrongly would fetch nothing and say nothing.
        let mut jobs = listed(&self.fetch_sources);
        if let Some(name) = jobs.find(|name| !FETCH_SOURCES.contains(name)) {
            let known = FETCH_SOURCES.join(", ");
            return Err(format!("fetch_sources takes {known}, by comma, not {name:?}"));
        }
        let contact = &self.security_contact;
        let is_contact = contact.starts_with("mailto:") || contact.starts_with("https://");
        if !contact.is_empty() && (!is_contact || contact.chars().any(|c| c.is_control() || c.is_whitespace())) {
            return Err("security_contact must be a mailto: or https: address".to_owned());
        }
        if let Some(text) = self.origins().find(|text| *text != "*" && PageOrigin::parse(text).is_none()) {
            return Err(format!(
                "allowed_origins takes origins such as https://app.example.org, by comma, not {text:?}"
            ));
        }
        Ok(())
    }

    /// The settings whose value is one word of a closed list.
    fn check_words(&self) -> Result<(), String> {
        if !matches!(self.agent_key_format.as_str(), "prefixed" | "hex") {
            return Err("agent_key_format must be prefixed or hex".to_owned());
        }
        if !LOG_LEVELS.contains(&self.log_level.as_str()) {
            return Err(format!("log_level must be one of {}, not {:?}", LOG_LEVELS.join(", "), self.log_level));
        }
        if !LOG_FORMATS.contains(&self.log_format.as_str()) {
            return Err(format!("log_format must be one of {}, not {:?}", LOG_FORMATS.join(", "), self.log_format));
        }
        Ok(())
    }

    fn check_addresses(&self) -> Result<(), String> {
        if !is_address(&self.listen) {
            return Err(format!(
                "listen must be an address with a port, such as 127.0.0.1:8787, not {:?}",
                self.listen
            ));
        }
        let link = &self.public_url;
        if !link.is_empty() && !is_base(link) {
            return Err(format!("public_url must be an address such as https://heliograph.example.org, not {link:?}"));
        }
        for (name, address) in [("metrics_listen", &self.metrics_listen), ("redirect_listen", &self.redirect_listen)] {
            if !address.is_empty() && address.parse::<SocketAddr>().is_err() {
                return Err(format!("{name} must be an address with a port, such as 127.0.0.1:9187, not {address:?}"));
            }
        }
        Ok(())
    }

    /// Who may read, administer, be sent requests, or speak for another address.
    fn check_access(&self) -> Result<(), String> {
        if !matches!(self.ledger_reads.as_str(), "open" | "parties") {
            return Err("ledger_reads must be open or parties".to_owned());
        }
        if self.admin_keys().is_none() {
            return Err("ledger_admin_keys must be base64 keys with roles, by comma: <base64>:all".to_owned());
        }
        if Networks::parse(&self.allow_outbound).is_none() {
            return Err("allow_outbound must be networks such as 127.0.0.0/8, by comma".to_owned());
        }
        if Networks::parse(&self.trusted_proxies).is_none() {
            return Err("trusted_proxies must be addresses or networks such as 10.0.0.0/8, by comma".to_owned());
        }
        if !self.client_address_header.is_empty() && HeaderName::try_from(&self.client_address_header).is_err() {
            return Err("client_address_header must be the name of a header".to_owned());
        }
        Ok(())
    }

    /// Each text by itself: which of them need each other is known when all of them are read.
    fn check_tls(&self) -> Result<(), String> {
        let is_name = |name: &str| {
            let label = |label: &str| {
                !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            };
            name.split('.').all(label)
        };
        if let Some(name) = listed(&self.acme_domains).find(|name| !is_name(name)) {
            return Err(format!("acme_domains takes names such as heliograph.example.org, by comma, not {name:?}"));
        }
        if let Some(contact) = listed(&self.acme_contact).find(|contact| !contact.starts_with("mailto:")) {
            return Err(format!(
                "acme_contact takes addresses such as mailto:operator@example.org, by comma, not {contact:?}"
            ));
        }
        if !self.acme_directory.starts_with("https://") {
            return Err("acme_directory must be an https: address".to_owned());
        }
        Ok(())
    }

    fn check_budgets(&self) -> Result<(), String> {
        // A budget of nothing would refuse everybody; less than one body or page would refuse those.
        let least = [
            ("streams_per_agent", u64::from(self.streams_per_agent), 1),
            ("streams", self.streams.into(), 1),
            ("connections", self.connections.into(), 1),
            ("connections_per_address", self.connections_per_address.into(), 1),
            ("heads", self.heads.into(), 4),
            ("http2_streams", self.http2_streams.into(), 1),
            ("stream_bytes", self.stream_bytes, 1_024),
            ("streams_bytes", self.streams_bytes, 1 << 20),
            ("body_bytes", self.body_bytes, LEAST_BODY_BYTES),
            ("head_bytes", self.head_bytes.into(), 8_192),
            ("http2_window_bytes", self.http2_window_bytes.into(), 65_535),
            ("client_seconds", self.client_seconds.into(), 1),
        ];
        if let Some((name, _, least)) = least.iter().find(|(_, value, least)| value < least) {
            return Err(format!("{name} must be at least {least}"));
        }
        let most = [
            ("stream_bytes", self.stream_bytes, PAGE_BYTES),
            ("head_bytes", self.head_bytes.into(), 1 << 20),
            ("http2_window_bytes", self.http2_window_bytes.into(), 16 << 20),
        ];
        match most.iter().find(|(_, value, most)| value > most) {
            Some((name, _, most)) => Err(format!("{name} must be at most {most}")),
            None => Ok(()),
        }
    }
}
