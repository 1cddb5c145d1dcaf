//! Countries: ISO 3166-1 alpha-2 codes, English short names, UN M49 regions.

use std::sync::OnceLock;

pub(super) const TEXT: &str = include_str!("countries.tsv");

/// A geographical region of UN M49 at the level below continents (for Africa and Latin America the intermediate one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subregion {
    /// M49 numeric code.
    pub m49: u16,
    pub name: &'static str,
    /// Africa, Americas, Asia, Europe, Oceania or Antarctica.
    pub region: &'static str,
}

const SUBREGIONS: [Subregion; 23] = {
    const fn subregion(m49: u16, name: &'static str, region: &'static str) -> Subregion {
        Subregion { m49, name, region }
    }
    [
        subregion(5, "South America", "Americas"),
        subregion(10, "Antarctica", "Antarctica"),
        subregion(11, "Western Africa", "Africa"),
        subregion(13, "Central America", "Americas"),
        subregion(14, "Eastern Africa", "Africa"),
        subregion(15, "Northern Africa", "Africa"),
        subregion(17, "Middle Africa", "Africa"),
        subregion(18, "Southern Africa", "Africa"),
        subregion(21, "Northern America", "Americas"),
        subregion(29, "Caribbean", "Americas"),
        subregion(30, "Eastern Asia", "Asia"),
        subregion(34, "Southern Asia", "Asia"),
        subregion(35, "South-eastern Asia", "Asia"),
        subregion(39, "Southern Europe", "Europe"),
        subregion(53, "Australia and New Zealand", "Oceania"),
        subregion(54, "Melanesia", "Oceania"),
        subregion(57, "Micronesia", "Oceania"),
        subregion(61, "Polynesia", "Oceania"),
        subregion(143, "Central Asia", "Asia"),
        subregion(145, "Western Asia", "Asia"),
        subregion(151, "Eastern Europe", "Europe"),
        subregion(154, "Northern Europe", "Europe"),
        subregion(155, "Western Europe", "Europe"),
    ]
};

/// One country or territory.
#[derive(Debug, PartialEq, Eq)]
pub struct Country {
    /// Two upper-case letters.
    pub code: &'static str,
    /// English short name, for display.
    pub name: &'static str,
    pub subregion: Subregion,
    aliases: &'static str,
}

impl Country {
    /// The country of a code, in either case. It knows the 249 ISO codes and `XK`; `ZZ`, `XX` and similar codes are not
    /// countries.
    pub fn by_code(code: &str) -> Option<&'static Country> {
        let code = code.to_ascii_uppercase();
        let all = Country::all();
        all.binary_search_by(|c| c.code.cmp(&code)).ok().and_then(|at| all.get(at))
    }

    /// The country of an English name, as sources write it, in any case.
    pub fn by_name(name: &str) -> Option<&'static Country> {
        let name = name.trim();
        Country::all().iter().find(|c| c.names().any(|n| n.eq_ignore_ascii_case(name)))
    }

    /// True if a code may be stored and asked for.
    pub fn is_valid_code(code: &str) -> bool {
        Country::by_code(code).is_some()
    }

    /// All countries, ordered by code.
    pub fn all() -> &'static [Country] {
        static ALL: OnceLock<Vec<Country>> = OnceLock::new();
        ALL.get_or_init(|| super::rows(TEXT).filter_map(Country::from_row).collect())
    }

    /// The display name, then every other name that is recognised.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.split('|').filter(|n| !n.is_empty()))
    }

    fn from_row([code, name, m49, aliases]: [&'static str; 4]) -> Option<Country> {
        let m49: u16 = m49.parse().ok()?;
        let subregion = *SUBREGIONS.iter().find(|s| s.m49 == m49)?;
        Some(Country { code, name, subregion, aliases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_found_in_either_case_and_others_are_not() {
        assert_eq!(Country::by_code("IR").unwrap().name, "Iran");
        assert_eq!(Country::by_code("us").unwrap().name, "United States");
        assert_eq!(Country::by_code("xk").unwrap().name, "Kosovo");
        for code in ["", "I", "IRN", "ZZ", "XX", "EU", "UK", "\u{130}R"] {
            assert!(!Country::is_valid_code(code), "{code}");
        }
    }

    #[test]
    fn there_are_249_iso_codes_and_kosovo() {
        // `XK` is user-assigned.
        assert_eq!(Country::all().iter().filter(|country| country.code != "XK").count(), 249);
        assert_eq!(Country::all().len(), 250);
        assert!(Country::all().is_sorted_by(|a, b| a.code < b.code));
        assert!(Country::all().iter().all(|c| c.code.len() == 2 && c.code.bytes().all(|b| b.is_ascii_uppercase())));
    }

    #[test]
    fn names_that_sources_write_lead_to_one_country() {
        for (name, code) in [
            ("Iran (Islamic Republic of)", "IR"),
            ("Russian Federation", "RU"),
            ("viet nam", "VN"),
            ("Turkiye", "TR"),
            ("Congo", "CG"),
            ("Democratic Republic of the Congo", "CD"),
            (" South Korea ", "KR"),
        ] {
            assert_eq!(Country::by_name(name).map(|c| c.code), Some(code), "{name}");
        }
        assert_eq!(Country::by_name(""), None);
        let mut names: Vec<String> = Country::all().iter().flat_map(Country::names).map(str::to_lowercase).collect();
        let total = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), total, "a name stands for two countries");
    }

    #[test]
    fn regions_follow_m49() {
        for (code, subregion, region) in [
            ("IR", "Southern Asia", "Asia"),
            ("TR", "Western Asia", "Asia"),
            ("CY", "Western Asia", "Asia"),
            ("EG", "Northern Africa", "Africa"),
            ("MX", "Central America", "Americas"),
            ("CU", "Caribbean", "Americas"),
            ("RU", "Eastern Europe", "Europe"),
            ("FJ", "Melanesia", "Oceania"),
            ("AQ", "Antarctica", "Antarctica"),
        ] {
            let found = Country::by_code(code).unwrap().subregion;
            assert_eq!((found.name, found.region), (subregion, region), "{code}");
        }
        for s in SUBREGIONS {
            assert!(Country::all().iter().any(|c| c.subregion == s), "{} is empty", s.name);
        }
    }
}
