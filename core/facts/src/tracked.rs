//! Platforms that are judged as a whole: those of the project, and those of a target list.

use serde::{Deserialize, Serialize};

use crate::starter::{Country, KnownBlock, Platform, known_blocks};
use crate::subject::{Role, Subject};

/// A platform, of the project or of a target list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tracked {
    pub slug: String,
    /// Display name.
    pub label: String,
    /// Essential ones first. The platform is blocked when one of those is (decision keys-and-roles).
    pub roles: Vec<Role>,
}

impl From<&'static Platform> for Tracked {
    fn from(platform: &'static Platform) -> Tracked {
        let mut roles = Subject::platform(platform).roles;
        roles.sort_by_key(|role| !role.essential);
        Tracked { slug: platform.slug.to_owned(), label: platform.label.to_owned(), roles }
    }
}

impl Tracked {
    /// The project's own platforms.
    pub fn own() -> Vec<Tracked> {
        Platform::all().iter().map(Tracked::from).collect()
    }

    /// As a question.
    pub fn subject(&self) -> Subject {
        Subject { name: self.slug.clone(), service: true, roles: self.roles.clone() }
    }

    /// Hosts, essential ones first.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.roles.iter().map(|role| role.key.as_str()).filter(|key| !key.contains('/'))
    }

    pub fn has(&self, key: &str) -> bool {
        self.roles.iter().any(|role| role.key == key)
    }

    /// The documented block of this platform in a country, if there is one.
    pub fn known_block(&self, country: &Country) -> Option<&'static KnownBlock> {
        let roles = self.roles.iter().filter(|role| role.essential).map(|role| role.key.as_str());
        known_blocks::find_any(country.code, std::iter::once(self.slug.as_str()).chain(roles))
    }
}
