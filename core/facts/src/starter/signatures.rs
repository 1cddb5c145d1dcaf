//! Block page signatures that the project wrote itself. Imported sets of fingerprints add to them.

use std::sync::OnceLock;

use super::Country;
use engine::time::Timestamp;

pub(super) const TEXT: &str = include_str!("blockpage_signatures.tsv");

/// The place in which a pattern is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// The body of the answer.
    Body,
    /// The value of a header, by its name in lower case.
    Header(&'static str),
    /// An address or the last alias in a DNS answer.
    Dns,
}

/// The way a pattern is compared. All are case-sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternType {
    Contains,
    Prefix,
    Full,
    Regexp,
}

/// The reach of the entity behind a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The whole country.
    National,
    /// One provider.
    Isp,
    /// A filtering product, wherever it is installed.
    Product,
}

/// One signature.
#[derive(Debug, PartialEq, Eq)]
pub struct Signature {
    /// Stable identifier, quoted in evidence.
    pub id: &'static str,
    /// A match confirms a block only for measurements from one of these countries.
    pub countries: Vec<&'static str>,
    pub location: Location,
    pub pattern_type: PatternType,
    pub pattern: &'static str,
    pub scope: Scope,
    /// The entity that shows the page or answers with the address.
    pub entity: &'static str,
    pub source: &'static str,
    /// Midnight UTC.
    pub confirmed_on: Timestamp,
}

impl Signature {
    fn from_row(row: [&'static str; 9]) -> Option<Signature> {
        let [id, countries, location, pattern_type, pattern, scope, entity, source, confirmed_on] = row;
        Some(Signature {
            id,
            countries: countries.split('|').map(|c| Some(Country::by_code(c)?.code)).collect::<Option<_>>()?,
            location: match location {
                "body" => Location::Body,
                "dns" => Location::Dns,
                header => Location::Header(header.strip_prefix("header:")?),
            },
            pattern_type: match pattern_type {
                "contains" => PatternType::Contains,
                "prefix" => PatternType::Prefix,
                "full" => PatternType::Full,
                "regexp" => PatternType::Regexp,
                _ => return None,
            },
            pattern,
            scope: match scope {
                "nat" => Scope::National,
                "isp" => Scope::Isp,
                "prod" => Scope::Product,
                _ => return None,
            },
            entity,
            source,
            confirmed_on: super::date(confirmed_on)?,
        })
    }
}

/// The signatures, in the order of the file.
pub fn all() -> &'static [Signature] {
    static ALL: OnceLock<Vec<Signature>> = OnceLock::new();
    ALL.get_or_init(|| super::rows(TEXT).filter_map(Signature::from_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_20_signatures_parse_and_are_unique() {
        assert!(all().len() >= 20);
        assert_eq!(all().len(), super::super::lines(TEXT).count(), "a row does not parse");
        let mut ids: Vec<_> = all().iter().map(|s| s.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all().len());
    }

    #[test]
    fn a_signature_confirms_only_in_its_countries_and_never_matches_ordinary_text() {
        let dot = all().iter().find(|s| s.id == "in-dot").unwrap();
        assert!(dot.countries.contains(&"IN") && !dot.countries.contains(&"IT"));
        for s in all() {
            assert!(!s.countries.is_empty(), "{}", s.id);
            // A short or purely alphabetic pattern would match pages that write about censorship.
            assert!(s.pattern.len() >= 11 && s.pattern.contains(['.', '/', ' ']), "{}", s.id);
            match s.location {
                Location::Header(name) => assert_eq!(name, name.to_ascii_lowercase(), "{}", s.id),
                Location::Dns => assert_eq!(s.pattern_type, PatternType::Full, "{}", s.id),
                Location::Body => {}
            }
            if s.pattern_type == PatternType::Regexp {
                regex_lite::Regex::new(s.pattern).unwrap();
            }
        }
    }
}
