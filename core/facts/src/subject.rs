//! The subject of a question: a domain, a role, or a service with its roles (decision keys-and-roles).

use serde::{Deserialize, Serialize};

use crate::measurement::{Service, TargetKey};
use crate::starter::Platform;
use crate::{Error, Result};

/// One series to judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    pub key: String,
    /// The subject is blocked when an essential role is blocked.
    pub essential: bool,
}

/// A question in normal form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The domain in normal form, or the slug of the service.
    pub name: String,
    pub service: bool,
    pub roles: Vec<Role>,
}

impl Subject {
    /// Reads a domain, a URL, a service name or a role.
    pub fn parse(text: &str) -> Result<Subject> {
        let text = text.trim();
        if let Some(platform) = Platform::by_slug(text) {
            return Ok(Subject::platform(platform));
        }
        if let Some(service) = Service::from_name(text) {
            let main = service.main_key();
            let keys = service.endpoint_roles().iter().map(|role| TargetKey::service(service, role));
            let roles = keys.map(|key| Role { essential: key == main, key: key.as_str().to_owned() });
            return Ok(Subject { name: service.name().to_owned(), service: true, roles: roles.collect() });
        }
        let lower = text.to_ascii_lowercase();
        if let Ok(crate::measurement::Target::Domain(key)) = crate::measurement::Target::parse(&lower)
            && key.role().is_some()
        {
            return Ok(Subject::series(key.as_str()));
        }
        let key = TargetKey::from_url(text)
            .map_err(|error| Error::bad_request(format!("{text:?} names no domain or service: {error}.")))?;
        Ok(Subject::series(key.as_str()))
    }

    /// The names that a documented block may use: the subject itself, and its essential roles.
    pub fn named(&self) -> impl Iterator<Item = &str> {
        let roles = self.roles.iter().filter(|role| role.essential && role.key != self.name);
        std::iter::once(self.name.as_str()).chain(roles.map(|role| role.key.as_str()))
    }

    /// A single series.
    pub fn series(key: &str) -> Subject {
        Subject { name: key.to_owned(), service: false, roles: vec![Role { key: key.to_owned(), essential: true }] }
    }

    /// A platform with its roles.
    pub fn platform(platform: &'static Platform) -> Subject {
        let roles = platform.roles.iter().map(|role| Role { key: role.key.to_owned(), essential: role.essential });
        Subject { name: platform.slug.to_owned(), service: true, roles: roles.collect() }
    }
}

/// The other roles of the platform that a series belongs to.
pub fn siblings(key: &str) -> impl Iterator<Item = &'static str> {
    let owner = key.split_once('/').and_then(|(owner, _)| Platform::by_slug(owner));
    let roles = owner.or_else(|| Platform::by_domain(key)).into_iter().flat_map(|platform| &platform.roles);
    roles.map(|role| role.key).filter(move |role| *role != key)
}

/// True if a key is a role such as `telegram/pool`, which is measured by address and has no domain.
pub fn is_role(key: &str) -> bool {
    key.contains('/')
}

/// Verdicts on messaging services age faster (decision age-limit).
pub fn is_messaging(key: &str) -> bool {
    let owner = key.split_once('/').map(|(owner, _)| owner).or_else(|| Platform::by_domain(key).map(|p| p.slug));
    owner.and_then(Service::from_name).is_some_and(Service::is_messaging)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_urls_services_and_roles_lead_to_their_series() {
        for text in ["example.org", "EXAMPLE.org.", "https://www.example.org/a?b", "www.example.org"] {
            assert_eq!(Subject::parse(text).unwrap(), Subject::series("example.org"), "{text}");
        }
        let telegram = Subject::parse("Telegram").unwrap();
        assert!(telegram.service && telegram.roles.iter().any(|role| role.key == "telegram/pool" && role.essential));
        assert_eq!(Subject::parse("telegram/pool").unwrap(), Subject::series("telegram/pool"));
        let whatsapp = Subject::parse("whatsapp").unwrap();
        assert!(whatsapp.roles.iter().any(|role| role.key == "whatsapp/pool" && role.essential));
        let messenger = Subject::parse("facebook_messenger").unwrap();
        assert_eq!(messenger.roles, Subject::series("facebook_messenger/endpoints").roles);
        assert_eq!(Subject::parse("x").unwrap().name, "twitter");
        assert!(Subject::parse("psiphon").unwrap().service);
        for text in ["", "  ", "192.0.2.1", "localhost", "exa mple.org", "http://", "-.org"] {
            assert_eq!(Subject::parse(text).unwrap_err().code, engine::ErrorCode::BadRequest, "{text}");
        }
        assert!(is_messaging("telegram/pool") && is_messaging("web.telegram.org") && !is_messaging("example.org"));
    }
}
