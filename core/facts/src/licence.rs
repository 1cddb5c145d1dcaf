//! Decides which of several licences holds for an answer (decision licence-and-removal).

use crate::starter;

/// What a licence permits, the freest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Terms {
    /// Any use, at most with attribution.
    Free,
    /// Any use under the same terms.
    ShareAlike,
    /// No commercial use.
    NonCommercial,
    /// No derived works; but every answer is a derived work.
    Unchanged,
    /// For academic use only.
    Academic,
    /// The terms are unknown, so nothing may be assumed.
    Unknown,
}

/// SPDX identifiers, in lower case, that require attribution at most. An identifier with a version after it counts as
/// the one without.
const FREE: [&str; 21] = [
    "cc0",
    "cc-pddc",
    "cc-pdm",
    "pddl",
    "unlicense",
    "0bsd",
    "mit",
    "mit-0",
    "apache",
    "bsd",
    "isc",
    "zlib",
    "odc-by",
    "cc-by",
    "cdla-permissive",
    "ogl-uk",
    "etalab",
    "dl-de-by",
    "dl-de-zero",
    "nlod",
    "licenseref-public-domain",
];
const SAME_TERMS: [&str; 8] = ["cc-by-sa", "odbl", "gpl", "lgpl", "agpl", "mpl", "eupl", "cdla-sharing"];

/// The terms of one licence, by its SPDX identifier in any case.
fn terms_of(id: &str) -> Terms {
    let id = id.trim_matches(['(', ')', ' ']).to_ascii_lowercase();
    let id = id.split(" with ").next().unwrap_or_default();
    let is = |known: &[&str]| {
        known.iter().any(|known| {
            let rest = id.strip_prefix(known).map(|rest| rest.strip_prefix('-').unwrap_or(rest));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    // The name of a Creative Commons licence says what it forbids, whatever else it contains.
    let forbids = |what: &str| id.starts_with("cc-") && id.split('-').any(|part| part == what);
    match id {
        _ if forbids("nd") => Terms::Unchanged,
        _ if forbids("nc") => Terms::NonCommercial,
        _ if is(&SAME_TERMS) => Terms::ShareAlike,
        _ if is(&FREE) => Terms::Free,
        id if id.contains("academic") => Terms::Academic,
        _ => Terms::Unknown,
    }
}

/// The terms of an SPDX expression: the strictest of its parts with `AND`, the freest with `OR`.
fn terms(expression: &str) -> Terms {
    let freest = |part: &str| part.split(" OR ").map(terms_of).min().unwrap_or(Terms::Unknown);
    expression.split(" AND ").map(freest).max().unwrap_or(Terms::Unknown)
}

/// The strictest of some licences, by their terms. Unknown terms are stricter than all known ones. Of equally strict
/// licences the result is always the same, in whatever order they come. `None` if there is none.
pub fn strictest<'a>(licences: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let known = licences.into_iter().filter(|licence| !licence.is_empty());
    known.min_by_key(|licence| (std::cmp::Reverse(terms(licence)), *licence))
}

/// The licence of an answer that uses rows under these licences: the strictest one, or our own if no row has one.
pub fn effective<'a>(licences: impl IntoIterator<Item = &'a str>) -> String {
    strictest(licences).unwrap_or(starter::LICENCE).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_decide_and_not_the_order() {
        let (by, sa, nc) = ("CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-SA-4.0");
        let (academic, unknown) = ("LicenseRef-IODA-academic-use", "NOASSERTION");
        for (licences, expected) in [
            (vec![by, nc, sa], Some(nc)),
            (vec![nc, by], Some(nc)),
            (vec![sa, by], Some(sa)),
            (vec![nc, academic, by], Some(academic)),
            (vec!["", by], Some(by)),
            (vec!["MIT", by], Some(by)),
            (vec![by, unknown, "CC-BY-ND-4.0"], Some(unknown)),
            (vec![unknown, academic], Some(unknown)),
            (vec!["LicenseRef-no-redistribution", nc], Some("LicenseRef-no-redistribution")),
            (vec!["Whatever-1.0", nc], Some("Whatever-1.0")),
            (vec![nc, "CC-BY-ND-4.0", "CC-BY-NC-ND-4.0"], Some("CC-BY-NC-ND-4.0")),
            (vec![nc, "MIT OR NOASSERTION"], Some(nc)),
            (vec![nc, "MIT AND NOASSERTION"], Some("MIT AND NOASSERTION")),
            (vec![""], None),
            (vec![], None),
        ] {
            assert_eq!(strictest(licences.iter().copied()), expected);
            assert_eq!(strictest(licences.into_iter().rev()), expected);
        }
    }

    /// A licence that is not known to be free is not free: only the listed names are.
    #[test]
    fn only_named_licences_are_free() {
        for free in
            ["CC0-1.0", "cc-by-3.0", "CC-BY-4.0", "CC-BY-3.0-IGO", "MIT", "Apache-2.0", "BSD-3-Clause", "ODC-By-1.0"]
        {
            assert_eq!(terms(free), Terms::Free, "{free}");
        }
        for (licence, expected) in [
            ("ODbL-1.0", Terms::ShareAlike),
            ("GPL-3.0-or-later WITH Classpath-exception-2.0", Terms::ShareAlike),
            ("CC-BY-NC-4.0", Terms::NonCommercial),
            ("CC-BY-ND-4.0", Terms::Unchanged),
            ("CC-BY-NC-ND-3.0-IGO", Terms::Unchanged),
            ("LicenseRef-x", Terms::Unknown),
            ("CC-BYE", Terms::Unknown),
            ("MITNFA", Terms::Unknown),
            ("NONE", Terms::Unknown),
        ] {
            assert_eq!(terms(licence), expected, "{licence}");
        }
    }
}
