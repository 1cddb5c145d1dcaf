//! Sites and services by the names that people write.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::starter::{self, Platform};

const TABLE: &str = include_str!("starter/brands.tsv");

/// Names of sites and services that are no platform, each with the domain that it stands for.
pub fn sites() -> impl Iterator<Item = (&'static str, &'static str)> {
    starter::rows::<2>(TABLE).map(|[name, domain]| (name, domain))
}

/// Those, and the names of platforms, each with its slug.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let platform = |platform: &'static Platform| {
        let names = [platform.slug, platform.label].into_iter().chain(platform.aliases());
        names.map(|name| (name, platform.slug))
    };
    sites().chain(Platform::all().iter().flat_map(platform))
}

/// The domain or the slug of the platform for which a text stands that is a name and nothing else. Case, punctuation
/// and a possessive "'s" do not count.
pub fn named(text: &str) -> Option<&'static str> {
    static INDEX: OnceLock<BTreeMap<String, &'static str>> = OnceLock::new();
    let index = INDEX.get_or_init(|| names().map(|(name, stands_for)| (normal(name), stands_for)).collect());
    index.get(&normal(text)).copied()
}

/// The words of a name in lower case, with one space between them.
fn normal(text: &str) -> String {
    let separates = |letter: char| !(letter.is_alphanumeric() || matches!(letter, '.' | '\'' | '’'));
    let words = text.split(separates).map(|word| word.trim_matches(['.', '\'', '’'])).filter(|word| !word.is_empty());
    let plain = |word: &str| {
        let word = ["'s", "’s"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
        word.to_lowercase().replace('’', "'")
    };
    words.map(plain).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_its_site_however_it_is_written() {
        for text in ["Al Jazeera", "al-jazeera", "AL JAZEERA's"] {
            assert_eq!(named(text), Some("aljazeera.com"), "{text}");
        }
        assert_eq!(named("Telegram"), Some("telegram"));
        assert_eq!(named("Al Jazeera news"), None);
        assert_eq!(named(""), None);
    }
}
