//! Platforms and the roles they are made of (decision keys-and-roles).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::Country;

pub(super) const TEXT: &str = include_str!("platforms.tsv");

/// One part of a platform that is measured on its own.
#[derive(Debug, PartialEq, Eq)]
pub struct Role {
    /// Target key: a host without leading `www.`, or `platform/role` for a role that has addresses and no name.
    pub key: &'static str,
    /// The purpose of the role, in words.
    pub name: &'static str,
    /// A platform is blocked when an essential role is blocked.
    pub essential: bool,
    /// The operator's site, or the test specification that names the role.
    pub source: &'static str,
}

impl Role {
    /// True if the key is a host name.
    pub fn is_host(&self) -> bool {
        !self.key.contains('/')
    }
}

/// One of the 12 platforms that the API scores.
#[derive(Debug, PartialEq, Eq)]
pub struct Platform {
    pub slug: &'static str,
    /// Display name.
    pub label: &'static str,
    pub roles: Vec<Role>,
    aliases: &'static str,
}

/// Lookup tables from names to platforms. Every subject of a question is looked up here, and most are not found.
struct Names {
    /// The slugs and the other names, in lower case.
    slugs: BTreeMap<String, &'static Platform>,
    keys: BTreeMap<&'static str, (&'static Platform, &'static Role)>,
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = Names { slugs: BTreeMap::new(), keys: BTreeMap::new() };
        for platform in Platform::all() {
            for name in std::iter::once(platform.slug).chain(platform.aliases()) {
                names.slugs.entry(name.to_ascii_lowercase()).or_insert(platform);
            }
            for role in &platform.roles {
                names.keys.entry(role.key).or_insert((platform, role));
            }
        }
        names
    })
}

impl Platform {
    /// All platforms, in the order of the file.
    pub fn all() -> &'static [Platform] {
        static ALL: OnceLock<Vec<Platform>> = OnceLock::new();
        ALL.get_or_init(parse)
    }

    /// The platform of a slug or of another name (`x`), in any case.
    pub fn by_slug(slug: &str) -> Option<&'static Platform> {
        names().slugs.get(slug.to_ascii_lowercase().as_str()).copied()
    }

    /// The platform that lists a host among its roles. Parent domains do not count: `a.x.com` is not `x.com`.
    pub fn by_domain(host: &str) -> Option<&'static Platform> {
        let host = match host.split_at_checked(4) {
            Some((head, rest)) if head.eq_ignore_ascii_case("www.") => rest,
            _ => host,
        };
        let (platform, role) = names().keys.get(host.to_ascii_lowercase().as_str())?;
        role.is_host().then_some(*platform)
    }

    /// The platform and the role of a target key.
    pub fn by_key(key: &str) -> Option<(&'static Platform, &'static Role)> {
        names().keys.get(key).copied()
    }

    /// Every host of the platform, essential ones first.
    pub fn domains(&self) -> impl Iterator<Item = &'static str> {
        let hosts = |essential| self.roles.iter().filter(move |r| r.is_host() && r.essential == essential);
        hosts(true).chain(hosts(false)).map(|r| r.key)
    }

    /// The essential roles, which decide about the platform.
    pub fn essential_roles(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter().filter(|r| r.essential)
    }

    /// Other names of the platform.
    pub fn aliases(&self) -> impl Iterator<Item = &'static str> {
        self.aliases.split('|').filter(|a| !a.is_empty())
    }

    /// The documented block of this platform in a country, if there is one.
    pub fn known_block(&self, country: &Country) -> Option<&'static super::KnownBlock> {
        super::known_blocks::find(country.code, self.slug)
    }
}

fn parse() -> Vec<Platform> {
    let mut platforms: Vec<Platform> = Vec::new();
    for [slug, label, key, name, essential, source, aliases] in super::rows(TEXT) {
        let role = Role { key, name, essential: essential == "yes", source };
        match platforms.last_mut() {
            Some(last) if last.slug == slug => last.roles.push(role),
            _ => platforms.push(Platform { slug, label, roles: vec![role], aliases }),
        }
    }
    platforms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twelve_slugs_of_the_interface_are_there_once() {
        let mut slugs: Vec<_> = Platform::all().iter().map(|p| p.slug).collect();
        slugs.sort_unstable();
        let mut expected = vec![
            "twitter",
            "whatsapp",
            "telegram",
            "youtube",
            "signal",
            "facebook",
            "instagram",
            "tiktok",
            "wikipedia",
            "tor",
            "reddit",
            "medium",
        ];
        expected.sort_unstable();
        assert_eq!(slugs, expected);
    }

    #[test]
    fn every_platform_has_an_essential_role_and_each_key_one_platform() {
        let mut keys = Vec::new();
        for platform in Platform::all() {
            assert!(platform.essential_roles().count() > 0, "{}", platform.slug);
            assert!(platform.domains().count() > 0, "{}", platform.slug);
            assert!(!platform.label.is_empty());
            for role in &platform.roles {
                keys.push(role.key);
            }
        }
        let total = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), total);
        assert!(super::super::rows::<7>(TEXT).all(|row| matches!(row[4], "yes" | "no")));
    }

    #[test]
    fn roles_without_a_host_are_the_series_that_tests_write() {
        use crate::measurement::{Service, TargetKey};
        let keys = |service: &Service| {
            let service = *service;
            service.endpoint_roles().iter().map(move |role| TargetKey::service(service, role).as_str().to_owned())
        };
        let written: Vec<String> = Service::ALL.iter().flat_map(keys).collect();
        for role in Platform::all().iter().flat_map(|p| &p.roles).filter(|role| !role.is_host()) {
            assert!(written.iter().any(|key| key == role.key), "nothing measures {}", role.key);
        }
        let vpn = |key: &&String| ["psiphon/", "openvpn/", "riseupvpn/"].iter().any(|service| key.starts_with(service));
        for key in written.iter().filter(|key| !vpn(key)) {
            assert!(Platform::by_key(key).is_some(), "{key} belongs to no platform");
        }
        for (key, essential) in [("tor/bootstrap", true), ("tor/or_port", true), ("tor/obfs4", false)] {
            assert_eq!(Platform::by_key(key).unwrap().1.essential, essential, "{key}");
        }
    }

    #[test]
    fn names_hosts_and_keys_lead_to_the_platform() {
        assert_eq!(Platform::by_slug("X").unwrap().slug, "twitter");
        assert_eq!(Platform::by_slug("FB").unwrap().slug, "facebook");
        assert_eq!(Platform::by_domain("www.x.com").unwrap().slug, "twitter");
        assert_eq!(Platform::by_domain("WEB.telegram.org").unwrap().slug, "telegram");
        let (platform, role) = Platform::by_key("telegram/pool").unwrap();
        assert_eq!((platform.slug, role.essential, role.is_host()), ("telegram", true, false));
        for host in ["", "www.", "a.x.com", "example.org", "telegram/pool", "\u{e9}\u{e9}\u{e9}"] {
            assert_eq!(Platform::by_domain(host), None, "{host}");
        }
        assert_eq!(Platform::by_slug(""), None);
    }
}
